"""Matplotlib figures in the common style, written to png, svg or pdf; and image files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bondgraph.output.files import atomic_file, known_ending
from bondgraph.output.plot_style import TITLE, styled

PLOTS = (".png", ".svg", ".pdf")
IMAGES = (".png", ".jpg", ".jpeg")
EDGE, HEADING = 0.1, 0.45
"""Distance of a title from the left, and height reserved for it, inches."""


@contextmanager
def plot_file(
    path: str | os.PathLike[str], size: tuple[float, float], *, dpi: int = 160, layout: Any = None, title: str = ""
) -> Iterator[Any]:
    """Open a figure of a size (inches) that is written to `path`, a png, svg or pdf, when the block ends.

    A title stands in the upper left corner, shrunk to the width of the picture; without a `layout` that makes room for it, the
    panels must leave `HEADING` free.

    Raises `FileError` E415 for another ending, E414 if the file cannot be written; `ExtraError` E416 without Matplotlib.
    """
    known_ending(path, *PLOTS)
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout=layout)
        FigureCanvasAgg(figure)
        if title:
            position = {} if layout else {"y": 1.0 - 0.12 / size[1], "va": "top"}
            heading = figure.suptitle(title, x=EDGE / size[0], ha="left", **position)
            room, width = (size[0] - 2.0 * EDGE) * figure.dpi, heading.get_window_extent().width
            heading.set_fontsize(TITLE * room / max(room, width))
        yield figure
        with atomic_file(path) as part:
            figure.savefig(part, dpi=dpi)


def legend_above(axes: Any, columns: int, **look: Any) -> None:
    """Add a legend in one row above the right end of a panel."""
    position = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "borderaxespad": 0.1}
    axes.legend(ncols=columns, **{**position, **look})


def plain_numbers(axis: Any) -> None:
    """Write the numbers along a logarithmic axis of one or two decades in plain form."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def save_image(image: Any, path: str | os.PathLike[str]) -> None:
    """Write a Pillow image as png or jpg; E415 for another ending, E414 if it cannot be written."""
    known_ending(path, *IMAGES)
    with atomic_file(path) as part:
        image.save(part)
