"""Tables and pictures of the page of parts, from their records: `python -m docs.parts` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from screwbond.models import parts
from screwbond.models.parts.icons import CURVES
from screwbond.models.parts.record import Part, Shelf

from bondgraph import Element
from bondgraph.model.laws import Resistor
from bondgraph.render.glyphs import icon

PAGE = Path(__file__).parent / "parts.md"
PICTURES = PAGE.parent / "icons"
SHELVES: dict[str, Shelf] = {name: getattr(parts, name).SHELF for name in parts.__all__}
HEAD = "| icon | part | parameters | equation | source |\n|---|---|---|---|---|\n"
WIDTH, HEIGHT = 120.0, 48.0
"""Size of a picture, px: the icon on the left, the characteristic curve of a resistor on the right."""


def picture(part: Part) -> str:
    """The icon of a part, and the curve of flow over effort, or of effort over flow, where its law is one formula."""
    curve = _curve(part) if part.name in CURVES else ""
    width = WIDTH if curve else HEIGHT
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{HEIGHT:g}" viewBox="0 0 {width:g} {HEIGHT:g}">'
    return f"{frame}{icon(part.icon, HEIGHT / 2, HEIGHT / 2, '#1d2b3a')}{curve}</svg>\n"


def _curve(part: Part) -> str:
    low, high = CURVES[part.name]
    element = part.make("part")
    assert isinstance(element, Element)
    law = element.law_as(Resistor)
    op = law.flow or law.effort
    assert op is not None
    x = np.linspace(low, high, 121)
    y = np.array([float(op(value, *(each.value for each in element.parameters.values()))) for value in x])
    left, top, right, bottom = HEIGHT + 6.0, 4.0, WIDTH - 4.0, HEIGHT - 4.0
    across = left + (right - left) * (x - low) / (high - low)
    y_low, y_high = min(y.min(), 0.0), max(y.max(), 0.0)
    down = bottom - (bottom - top) * (y - y_low) / (y_high - y_low)
    zero = left - (right - left) * low / (high - low), bottom + (bottom - top) * y_low / (y_high - y_low)
    axes = f"M{left:.1f},{zero[1]:.1f} L{right:.1f},{zero[1]:.1f} M{zero[0]:.1f},{top:.1f} L{zero[0]:.1f},{bottom:.1f}"
    line = " L".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    return (
        f'<path d="{axes}" fill="none" stroke="#9aa5b1" stroke-width="0.8"/>'
        f'<path d="M{line}" fill="none" stroke="#c8374b" stroke-width="1.4"/>'
    )


def table(shelf: Shelf) -> str:
    """The parts of a domain as a table in Markdown."""
    return HEAD + "".join(map(_row, shelf.parts.values()))


def _row(part: Part) -> str:
    values = ", ".join(f"{word} = {each!r}" for word, each in part.parameters.items())
    shown = f"![{part.name}](icons/{part.name}.svg)"
    return f"| {shown} | `{part.name}`: {part.summary} | {values} | ${part.equation}$ | {part.source} |\n"


def with_tables(page: str) -> str:
    """The text of the page with the tables of today in the place of those that it shows."""
    for name, shelf in SHELVES.items():
        pattern = rf"(## {name.capitalize()}\n(?:[^#|\n].*\n|\n)*)(?:\|.*\n)*"
        page = re.sub(pattern, lambda match, shelf=shelf: match[1] + table(shelf), page)
    return page


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for shelf in SHELVES.values():
        for part in shelf.parts.values():
            (PICTURES / f"{part.name}.svg").write_text(picture(part), encoding="utf-8")
