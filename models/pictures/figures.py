"""Figures: a path whose ending says the format -> a Matplotlib figure in the common style, written there at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from bondgraph.output.extras import lacking, required
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


def can_plot() -> bool:
    """Whether plots can be made; where not, one line on standard error says what to install."""
    missing = lacking("matplotlib")
    if missing:
        print(f"no plots: {missing}", file=sys.stderr)
    return not missing


@contextmanager
def plot_file(
    path: str | os.PathLike[str] | IO[bytes],
    size: tuple[float, float],
    *,
    dpi: int = 160,
    layout: Any = None,
    style: Mapping[str, Any] | None = None,
) -> Iterator[Any]:
    """A figure of a size (inches) that is written to `path` when the block ends: a png, svg or pdf, or a stream that takes a PNG.

    Raises
    ------
    FileError
        E415 for another ending, E414 where the file cannot be written.
    ExtraError
        E416 where Matplotlib is not installed.
    """
    stream = hasattr(path, "write")
    if not stream:
        known_ending(path, *PLOTS)  # type: ignore[arg-type]
    required("plots", "matplotlib")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, **(style or {})}):
        figure = Figure(figsize=size, layout=layout)
        FigureCanvasAgg(figure)
        yield figure
        if stream:
            figure.savefig(path, dpi=dpi)
            return
        with whole_file(path) as part:  # type: ignore[arg-type]
            figure.savefig(part, dpi=dpi)


def save_image(image: Any, path: str | os.PathLike[str]) -> None:
    """Write a Pillow image as png or jpg; E415 for another ending, E414 where it cannot be written."""
    known_ending(path, *IMAGES)
    with whole_file(path) as part:
        image.save(part)
