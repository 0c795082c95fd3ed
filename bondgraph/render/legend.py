"""Legend: one line, wrapped if needed, that explains the signs of a diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.render import glyphs
from bondgraph.render.layout.line import Route, straight
from bondgraph.render.palette import Palette
from bondgraph.render.sketch import text_width

SIZE, LINE, GLYPH = 11.0, 22.0, 34.0


@dataclass(frozen=True)
class Sign:
    """Sign of a diagram: its meaning, and its drawing at the left end (x, y) px of a short route."""

    words: str
    drawn: Callable[[Route, float, float, Palette], str]


def _vector(route: Route, x: float, y: float, palette: Palette) -> str:
    return glyphs.bond_lines(route, 2, palette) + glyphs.text(x + GLYPH / 2 - 2, y - 8.5, "n", 10, palette.muted)


def _labels(route: Route, x: float, y: float, palette: Palette) -> str:
    above, beneath = (
        glyphs.text(x + GLYPH / 2 - 2, y + side, letter, 10, palette.ink) for side, letter in ((-8.0, "e"), (8.5, "f"))
    )
    return glyphs.bond_lines(route, 1, palette) + above + beneath


def _stroke(route: Route, x: float, y: float, palette: Palette) -> str:
    line = f'<path d="M{x:.1f},{y:.1f} H{x + GLYPH - 4:.1f}" stroke="{palette.ink}" stroke-width="1.5"/>'
    return line + glyphs.causal_stroke(route, True, palette)


def _derivative(route: Route, x: float, y: float, palette: Palette) -> str:
    style = f'stroke="{palette.stroke}" stroke-width="1.4" stroke-dasharray="3 2"'
    return f'<path d="M{x + 4:.1f},{y + 4:.1f} H{x + GLYPH - 4:.1f}" {style}/>'


def _switch(route: Route, x: float, y: float, palette: Palette) -> str:
    style = f'fill="{palette.switched}" stroke="{palette.switch}" stroke-width="1.3" stroke-dasharray="4 3"'
    return glyphs.rounded(x + 3, y - 8, x + GLYPH - 3, y + 8, 5, style)


def _folded(route: Route, x: float, y: float, palette: Palette) -> str:
    style = f'fill="{palette.box_inside}" stroke="{palette.muted}" stroke-width="1.2"'
    return glyphs.rounded(x + 3, y - 7, x + GLYPH - 3, y + 7, 4, style)


SIGNS = {
    "bond": Sign(
        "half arrow: positive power, barb on the flow's side", lambda route, x, y, palette: glyphs.bond_lines(route, 1, palette)
    ),
    "vector": Sign("vector bond with its dimension", _vector),
    "labels": Sign("effort, and flow on the barb's side, with the number of the bond", _labels),
    "stroke": Sign("causal stroke: effort is imposed at this end", _stroke),
    "derivative": Sign("storage in derivative causality", _derivative),
    "switch": Sign("switched by the automaton named in it", _switch),
    "signal": Sign("signal", lambda route, x, y, palette: glyphs.signal_line(route, palette)),
    "folded": Sign("nested graph, folded", _folded),
}
"""All signs of a diagram, in the order of the legend."""


def legend(kinds: set[str], left: float, top: float, width: float, palette: Palette) -> tuple[str, float]:
    """Return SVG text and its height; `kinds` are the `SIGNS` that occur."""
    if unknown := kinds - SIGNS.keys():
        raise ValueError(f"signs without an entry in the legend: {', '.join(sorted(unknown))}")
    parts, x, y = [], left, top + LINE / 2
    for sign in (SIGNS[kind] for kind in SIGNS if kind in kinds):
        advance = GLYPH + 8 + text_width(sign.words, SIZE) + 18
        if x > left and x + advance - 18 > left + width:
            x, y = left, y + LINE
        start, end = np.array([x, y]), np.array([x + GLYPH - 2, y])
        parts.append(sign.drawn(straight(start, end), x, y, palette))
        parts.append(glyphs.text(x + GLYPH + 8, y, sign.words, SIZE, palette.muted, "start"))
        x += advance
    return f'<g class="legend" fill="none" stroke-linecap="round">{"".join(parts)}</g>', y + LINE / 2 - top
