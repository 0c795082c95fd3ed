"""Glyphs: SVG text of bonds, strokes, signals, elements and boxes; coordinates in px, y downwards."""

from __future__ import annotations

import re
from html import escape

import numpy as np

from bondgraph.render.layout.line import Route
from bondgraph.render.palette import Palette
from bondgraph.render.reproducible import dot
from bondgraph.render.sketch import (
    DIGIT_SIZE,
    ICON_SIZE,
    KIND_SIZE,
    LABEL_SIZE,
    NAME_SIZE,
    VALUE_LINE,
    VALUE_SIZE,
    SketchNode,
    text_width,
)

FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
DOUBLE = 2.1
"""Half the distance between the two lines of a vector bond, px."""
BARB_BACK, BARB_OUT, STROKE_HALF = 12.0, 7.0, 8.0


def flow_side(along: np.ndarray) -> np.ndarray:
    """Return the normal that points to a bond's flow side: below a horizontal bond, to the right of a vertical one."""
    normal = np.array([-along[1], along[0]])
    return normal if dot(normal, np.array([0.45, 1.0])) > 0 else -normal


def xml_text(text: str) -> str:
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def attributes(name: str, attribute: str = "data-name") -> str:
    return f'{attribute}="{escape(xml_text(name), quote=True)}"'


def text(x: float, y: float, content: str, size: float, fill: str, anchor: str = "middle", extra: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}" font-size="{size:g}" fill="{fill}" text-anchor="{anchor}"'
        f"{' ' + extra if extra else ''}>{escape(xml_text(content), quote=False)}</text>"
    )


def _path(points: list[np.ndarray], colour: str, width: float = 1.5, extra: str = "") -> str:
    line = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<path d="M{line}" stroke="{colour}" stroke-width="{width:g}"{" " + extra if extra else ""}/>'


def _curve(route: Route) -> str:
    steps = [f"M{route.start[0]:.1f},{route.start[1]:.1f}"]
    for a, c, b in route.pieces:
        straight = abs(float(a[0] + b[0] - 2 * c[0])) + abs(float(a[1] + b[1] - 2 * c[1])) < 1e-6
        steps.append(f"L{b[0]:.1f},{b[1]:.1f}" if straight else f"Q{c[0]:.1f},{c[1]:.1f} {b[0]:.1f},{b[1]:.1f}")
    return " ".join(steps)


def flow_hand(route: Route) -> float:
    """Return 1 if the flow side at the middle of a bond is to the right of its direction, -1 if it is to the left."""
    along = route.direction(route.middle)
    return 1.0 if dot(flow_side(along), np.array([-along[1], along[0]])) > 0 else -1.0


def bond_lines(route: Route, dimension: int, palette: Palette) -> str:
    along, hand = route.direction(1.0), flow_hand(route)
    side = hand * np.array([-along[1], along[0]])
    apart = DOUBLE * hand if dimension > 1 else 0.0
    tip = route.end + abs(apart) * side
    barb = tip - BARB_BACK * along + BARB_OUT * side
    each = [route.offset(distance) for distance in ((apart, -apart) if dimension > 1 else (0.0,))]
    lines = [f'<path class="line" d="{_curve(line)}" stroke="{palette.ink}" stroke-width="1.5"/>' for line in each]
    return "".join([*lines, _path([tip, barb], palette.ink, 1.7)])


def causal_stroke(route: Route, at_head: bool, palette: Palette) -> str:
    along = route.direction(1.0 if at_head else 0.0)
    across = np.array([-along[1], along[0]])
    end = route.end + 1.2 * along if at_head else route.start - 1.2 * along
    ends = [end - STROKE_HALF * across, end + STROKE_HALF * across]
    return _path(ends, palette.stroke, 2.4, 'class="stroke"')


def signal_line(route: Route, palette: Palette) -> str:
    along = route.direction(1.0)
    across = np.array([-along[1], along[0]])
    base = route.end - 8.0 * along
    head = " L".join(f"{x:.1f},{y:.1f}" for x, y in (route.end, base + 3.0 * across, base - 3.0 * across))
    return (
        f'<path d="{_curve(route)}" stroke="{palette.signal}" stroke-width="1.1" stroke-dasharray="5 3.5"/>'
        f'<path d="M{head} Z" fill="{palette.signal}" stroke="none"/>'
    )


def rounded_rectangle(left: float, top: float, right: float, bottom: float, radius: float, style: str) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="{radius:g}" {style}/>'


def node_text(
    node: SketchNode, x: float, y: float, caption: tuple[float, float] | None, derivative: bool, palette: Palette
) -> str:
    bold = 'font-weight="700"'
    parts = []
    if node.shape in ("junction", "switch"):
        if node.shape == "switch":
            style = f'fill="{palette.switched}" stroke="{palette.switch}" stroke-width="1.4" stroke-dasharray="4 3"'
            parts.append(
                rounded_rectangle(x - node.half_width, y - node.half_height, x + node.half_width, y + node.half_height, 6, style)
            )
            italic = 'font-style="italic" class="automaton"'
            parts.append(text(x, y + 14, node.note, LABEL_SIZE - 0.5, palette.switch, extra=italic))
            y -= 7
        parts.append(text(x, y, node.kind, DIGIT_SIZE, palette.ink, extra=bold))
        if caption:
            parts.append(text(*caption, node.label, LABEL_SIZE, palette.muted))
        return "".join(parts)
    core = y - VALUE_LINE / 2 * len(node.values) + (ICON_SIZE / 2 if node.icon else 0.0)
    first = y + node.half_height - VALUE_LINE * (len(node.values) - 0.5) - (3.0 if node.shape == "block" else 0.0)
    values = "".join(
        text(x, first + k * VALUE_LINE, line, VALUE_SIZE, palette.muted, extra='class="value"')
        for k, line in enumerate(node.values)
    )
    if node.shape in ("block", "automaton"):
        dash = ' stroke-dasharray="4 3"' if node.shape == "automaton" else ""
        colour = palette.switch if dash else palette.signal
        style = f'fill="{palette.block}" stroke="{colour}" stroke-width="1.1"{dash}'
        parts.append(
            rounded_rectangle(x - node.half_width, y - node.half_height, x + node.half_width, y + node.half_height, 5, style)
        )
        return "".join([*parts, text(x, core, node.label, LABEL_SIZE, palette.muted), values])
    if node.shape == "folded":
        return _folded(node, x, y, palette)
    colour = palette.of_kind(node.kind)
    picture = icon(node.icon, x, y - node.half_height + ICON_SIZE / 2, palette.ink) if node.icon else ""
    if node.stacked:
        parts = [
            text(x, core - 8, node.kind, KIND_SIZE, colour, extra=bold),
            text(x, core + 8, node.label, NAME_SIZE, palette.ink),
        ]
    else:
        # Both are anchored at the colon, so that they do not overlap in any font.
        middle = x + (text_width(node.kind, KIND_SIZE) - text_width(node.label, NAME_SIZE)) / 2
        parts = [
            text(middle - 4.5, core, node.kind, KIND_SIZE, colour, "end", bold),
            text(middle, core - 0.5, ":", NAME_SIZE, palette.muted),
            text(middle + 4.5, core, node.label, NAME_SIZE, palette.ink, "start"),
        ]
    if derivative:
        kind, name = text_width(node.kind, KIND_SIZE), text_width(node.label, NAME_SIZE)
        half, level = (kind / 2 + 1, core - 1.0) if node.stacked else ((kind + 9 + name) / 2, core + 9.0)
        ends = [np.array([x - half, level]), np.array([x + half, level])]
        parts.append(_path(ends, palette.stroke, 1.4, 'stroke-dasharray="3 2" class="derivative"'))
    return "".join([*parts, values, picture])


def icon(path: str, x: float, y: float, colour: str) -> str:
    """Return an icon from path data in a unit box, centred at (x, y)."""
    steps = []
    for letter, numbers in re.findall(r"([MLQZ])([^MLQZ]*)", path):
        points = (np.array(numbers.split(), dtype=float).reshape(-1, 2) - 0.5) * ICON_SIZE + (x, y)
        steps.append(letter + " ".join(f"{a:.1f},{b:.1f}" for a, b in points))
    style = f'fill="none" stroke="{colour}" stroke-width="1.2" stroke-linecap="round" stroke-linejoin="round"'
    return f'<path d="{" ".join(steps)}" {style} class="icon"/>'


def _folded(node: SketchNode, x: float, y: float, palette: Palette) -> str:
    style = f'fill="{palette.box_inside}" stroke="{palette.muted}" stroke-width="1.3"'
    outline = rounded_rectangle(x - node.half_width, y - node.half_height, x + node.half_width, y + node.half_height, 8, style)
    if node.icon:
        title = text(x, y + node.half_height - 11, node.label, NAME_SIZE, palette.ink, extra='font-weight="600"')
        return outline + title + icon(node.icon, x, y - node.half_height + ICON_SIZE / 2 + 5, palette.ink)
    title = text(x, y - 7, node.label, NAME_SIZE, palette.ink, extra='font-weight="600"')
    return outline + title + text(x, y + 10, node.note, LABEL_SIZE - 1.0, palette.muted)
