"""Legend: one line, wrapped where it must be, that explains what occurs in a diagram and nothing else."""

from __future__ import annotations

import numpy as np

from bondgraph.render import glyphs
from bondgraph.render.layout.routes import Route
from bondgraph.render.sketch import text_width

SIZE, LINE, GLYPH = 11.0, 22.0, 34.0


def legend(kinds: set[str], left: float, top: float, width: float) -> tuple[str, float]:
    """SVG text and its height; `kinds` says which of "bond vector stroke derivative switch signal folded" occur."""
    words = {
        "bond": "half arrow: positive power, barb on the flow's side",
        "vector": "vector bond with its dimension",
        "stroke": "causal stroke: effort is imposed at this end",
        "derivative": "storage in derivative causality",
        "switch": "switched by the automaton named in it",
        "signal": "signal",
        "folded": "nested graph, folded",
    }
    parts, x, y = [], left, top + LINE / 2
    for kind, says in words.items():
        if kind not in kinds:
            continue
        advance = GLYPH + 8 + text_width(says, SIZE) + 18
        if x > left and x + advance - 18 > left + width:
            x, y = left, y + LINE
        parts.append(_glyph(kind, x, y) + glyphs.text(x + GLYPH + 8, y, says, SIZE, glyphs.MUTED, "start"))
        x += advance
    return f'<g class="legend" fill="none" stroke-linecap="round">{"".join(parts)}</g>', y + LINE / 2 - top


def _glyph(kind: str, x: float, y: float) -> str:
    start, end = np.array([x, y]), np.array([x + GLYPH - 2, y])
    route = Route(start, (start + end) / 2, end)
    if kind == "bond":
        return glyphs.bond_lines(route, 1)
    if kind == "vector":
        return glyphs.bond_lines(route, 2) + glyphs.text(x + GLYPH / 2 - 2, y - 8.5, "n", 10, glyphs.MUTED)
    if kind == "stroke":
        line = f'<path d="M{x:.1f},{y:.1f} H{x + GLYPH - 4:.1f}" stroke="{glyphs.INK}" stroke-width="1.5"/>'
        return line + glyphs.causal_stroke(route, True)
    if kind == "signal":
        return glyphs.signal_line(route)
    if kind == "switch":
        style = f'fill="#fff8ec" stroke="{glyphs.SWITCH}" stroke-width="1.3" stroke-dasharray="4 3"'
        return glyphs.rounded(x + 3, y - 8, x + GLYPH - 3, y + 8, 5, style)
    if kind == "folded":
        style = f'fill="{glyphs.BOX_FILLS[1]}" stroke="{glyphs.MUTED}" stroke-width="1.2"'
        return glyphs.rounded(x + 3, y - 7, x + GLYPH - 3, y + 7, 4, style)
    style = f'stroke="{glyphs.STROKE}" stroke-width="1.4" stroke-dasharray="3 2"'
    return f'<path d="M{x + 4:.1f},{y + 4:.1f} H{x + GLYPH - 4:.1f}" {style}/>'
