"""Colours, typefaces and scales of scenes; Matplotlib figures in this style, and image files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from bondgraph.output.files import atomic_file, known_ending
from bondgraph.output.plot_style import CYCLE, TITLE, styled

AMBER, BLUE = ("#e6a756", CYCLE[1]), ("#6aa5d8", CYCLE[0])
SOLIDS = (AMBER, BLUE, ("#7fb69a", "#166534"), ("#b79bd1", "#6b21a8"), ("#9aa3b2", "#334155"))
"""Colours of solids, each with a colour for contact paths on it; the first two are for the two bodies of a contact."""

PATHS = AMBER[1], BLUE[1]
FORCE = "#9c27b0"
AXES = ("#d1383d", "#17a398", "#3550c8")
"""Colours of x, y and z, which people with red-green blindness can distinguish too."""

ENERGIES = CYCLE

GAUSS = 0.30
"""Length of a Gauss frame's axes, relative to the unit of the scene."""

RADIUS = 0.011
"""Radius of a Gauss frame's axes, relative to the unit of the scene."""

TUBE = 0.8
"""Radius of a path, relative to the radius of a Gauss frame's axes."""

SLENDER = 0.3
"""Smallest unit length from which the radius of arrow shafts follows, relative to the longest arrow."""

ARROW = 0.62
"""Radius of a force arrow's shaft, relative to the radius of a Gauss frame's axes."""

HEAD = 9.0, 3.2
"""Length and radius of an arrow's head, relative to the radius of its shaft."""

SHORTEST, OVERLAP = 1.2, 0.9
"""Minimum length of a drawn arrow, and length covered by its head, relative to the head's length."""


@lru_cache(maxsize=64)
def font(size: int, weight: str = "regular") -> Any:
    """Load a typeface `size` pixels high, "regular", "bold" or "math" (italic with serifs); Matplotlib provides it, so that it is
    identical everywhere."""
    import matplotlib
    from PIL import ImageFont

    file = {"regular": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf", "math": "STIXGeneralItalic.ttf"}[weight]
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / file), size)


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def blend(colour: str, other: str, part: float) -> str:
    mixed = (round((1 - part) * a + part * b) for a, b in zip(rgb(colour), rgb(other), strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def round_number(value: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is not above a positive value.

    >>> [round_number(v) for v in (0.13, 0.9, 49.0, 50.0)]
    [0.1, 0.5, 20.0, 50.0]
    """
    power = 10.0 ** math.floor(math.log10(value) + 1e-12)
    return power * max(step for step in (1.0, 2.0, 5.0) if step * power <= value * (1 + 1e-12))


def force_scale(largest: float, size: float) -> tuple[float, float, str]:
    """Return the scale of forces for bodies of this size (m): newtons per metre, unit length (m), and text.

    >>> force_scale(0.285, 0.056)[2]
    '1 cm = 0.05 N'
    """
    units = ((1.0, "1 m"), (0.1, "10 cm"), (0.01, "1 cm"))
    length, words = next(((v, u) for v, u in units if v <= 0.5 * size), (0.001, "1 mm"))
    if largest <= 0.0:
        return 1.0 / length, length, f"{words} = 1 N"
    # The longest arrow is between 0.6 and 1.5 times the body's size.
    newtons = round_number(largest * length / (0.6 * size))
    return newtons / length, length, f"{words} = {newtons:g} N"


PLOTS = (".png", ".svg", ".pdf")
IMAGES = (".png", ".jpg", ".jpeg")
EDGE = 0.1
"""Distance of a title from the left edge of a figure, inches."""


@contextmanager
def plot_file(
    path: str | os.PathLike[str], size: tuple[float, float], *, dpi: int = 160, layout: Any = None, title: str = ""
) -> Iterator[Any]:
    """Open a figure of this size (inches) that is written to `path`, a png, svg or pdf, when the block ends.

    The title is in the upper left corner, shrunk to the width of the picture; without a `layout` that makes space for it, the
    panels must leave 0.45 inches free.

    Raises `FileError` E415 for another extension, E414 if the file cannot be written; `ExtraError` E416 without Matplotlib.
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
            available, width = (size[0] - 2.0 * EDGE) * figure.dpi, heading.get_window_extent().width
            heading.set_fontsize(TITLE * available / max(available, width))
        yield figure
        with atomic_file(path) as part:
            figure.savefig(part, dpi=dpi)


def legend_above(axes: Any, columns: int, **look: Any) -> None:
    position = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "borderaxespad": 0.1}
    axes.legend(ncols=columns, **{**position, **look})


def plain_numbers(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def save_image(image: Any, path: str | os.PathLike[str]) -> None:
    known_ending(path, *IMAGES)
    with atomic_file(path) as part:
        image.save(part)
