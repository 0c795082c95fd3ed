"""Figures: a path whose ending says the format -> a Matplotlib figure in the common style, written there at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bondgraph.output.extras import required
from bondgraph.output.files import known_ending, whole_file
from models.pictures.style import INK, MUTED, RULE

PLOTS = (".png", ".svg", ".pdf")
IMAGES = (".png", ".jpg", ".jpeg")
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "mathtext.fontset": "stix",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
}


@contextmanager
def plot_file(
    path: str | os.PathLike[str],
    size: tuple[float, float],
    *,
    dpi: int = 160,
    layout: Any = None,
    title: str = "",
    style: Mapping[str, Any] | None = None,
) -> Iterator[Any]:
    """A figure of a size (inches) that is written to `path`, a png, svg or pdf, when the block ends.

    A title needs a `layout` that makes room for it.

    Raises `FileError` E415 for another ending, E414 where the file cannot be written; `ExtraError` E416 where Matplotlib is not
    installed.
    """
    known_ending(path, *PLOTS)
    required("plots", "matplotlib")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, **(style or {})}):
        figure = Figure(figsize=size, layout=layout)
        FigureCanvasAgg(figure)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=12.5, fontweight="bold")
        yield figure
        with whole_file(path) as part:
            figure.savefig(part, dpi=dpi)


def legend_above(axes: Any, columns: int, **look: Any) -> None:
    """A legend in one row above the right end of a panel."""
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "borderaxespad": 0.1}
    axes.legend(ncols=columns, **{"fontsize": 8.5, **place, **look})


def save_image(image: Any, path: str | os.PathLike[str]) -> None:
    """Write a Pillow image as png or jpg; E415 for another ending, E414 where it cannot be written."""
    known_ending(path, *IMAGES)
    with whole_file(path) as part:
        image.save(part)
