"""Colours, typefaces and scales of scenes, in addition to those of plots."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

from bondgraph.output.plot_style import CYCLE, DASHES, INK, MUTED, PAPER, RULE

__all__ = [
    "AMBER",
    "AXES",
    "BLUE",
    "CYCLE",
    "DASHES",
    "ENERGIES",
    "FORCE",
    "INK",
    "MUTED",
    "PAPER",
    "PATHS",
    "RULE",
    "SOLIDS",
    "blend",
    "font",
    "force_scale",
    "rgb",
    "round_number",
]

AMBER, BLUE = ("#e6a756", CYCLE[1]), ("#6aa5d8", CYCLE[0])
SOLIDS = (AMBER, BLUE, ("#7fb69a", "#166534"), ("#b79bd1", "#6b21a8"), ("#9aa3b2", "#334155"))
"""Colours of solids, each with that of contact paths on it; the first two are those of the two bodies of a contact."""

PATHS = AMBER[1], BLUE[1]
FORCE = "#9c27b0"
AXES = ("#d1383d", "#17a398", "#3550c8")
"""Colours of x, y and z; distinguishable with red-green blindness too."""

ENERGIES = CYCLE


@lru_cache(maxsize=64)
def font(size: int, weight: str = "regular") -> Any:
    """Load a typeface `size` pixels high, "regular", "bold" or "math" (italic with serifs); Matplotlib provides it, so that it is
    identical everywhere."""
    import matplotlib
    from PIL import ImageFont

    file = {"regular": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf", "math": "STIXGeneralItalic.ttf"}[weight]
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / file), size)


def rgb(colour: str) -> tuple[int, int, int]:
    """Convert "#rrggbb" to red, green, blue (0 to 255)."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def blend(colour: str, other: str, part: float) -> str:
    """Return a colour between two: the first at 0, the other at 1."""
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
    """Return the scale of forces for bodies of a size (m): newtons per metre, unit length (m), and its text.

    >>> force_scale(0.285, 0.056)[2]
    '1 cm = 0.05 N'
    """
    length, unit = next(((v, u) for v, u in ((1.0, "m"), (0.01, "cm")) if v <= 0.5 * size), (0.001, "mm"))
    if largest <= 0.0:
        return 1.0 / length, length, f"1 {unit} = 1 N"
    # The longest arrow is between 0.6 and 1.5 times the body's size.
    newtons = round_number(largest * length / (0.6 * size))
    return newtons / length, length, f"1 {unit} = {newtons:g} N"
