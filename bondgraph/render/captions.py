"""Captions: a free place for the name of every junction, near it and clear of lines and of other texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.render.glyphs import STROKE_HALF
from bondgraph.render.layout.line import Route
from bondgraph.render.layout.spacing import BESIDE
from bondgraph.render.sketch import LABEL_SIZE, Mark, Sketch, text_width

HEIGHT = LABEL_SIZE + 2.0
ROUNDS = 3
"""How often each name looks for its place: first in view of those before it, then of all others."""
Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom in px."""


def captions(
    sketch: Sketch, where: np.ndarray, lines: Sequence[Route], frames: Sequence[Rectangle] = (), taken: Sequence[Rectangle] = ()
) -> dict[int, tuple[float, float]]:
    """Node -> centre (x, y) of its name; beneath it unless something is in the way. `frames` are those of the boxes,
    `taken` places of other texts."""
    bonds = _along([line for edge, line in zip(sketch.edges, lines, strict=True) if edge.bond])
    strokes = _across([line for edge, line in zip(sketch.edges, lines, strict=True) if edge.bond])
    signals = _along([line for edge, line in zip(sketch.edges, lines, strict=True) if not edge.bond])
    blocked = [_body(node, where[i]) for i, node in enumerate(sketch.nodes)]
    blocked += [title_place(box.title, frame, lines) for box, frame in zip(sketch.boxes, frames, strict=True)]
    blocked += taken
    home = {box.path: frame for box, frame in zip(sketch.boxes, frames, strict=True)}
    named = [i for i, node in enumerate(sketch.nodes) if node.below]
    found: dict[int, tuple[float, float]] = {}
    rooms: dict[int, Rectangle] = {}
    for _ in range(ROUNDS):
        for i in named:
            node, others = sketch.nodes[i], [*blocked, *(room for k, room in rooms.items() if k != i)]
            best = np.inf
            for choice, (x, y) in enumerate(_places(node, where[i])):
                rectangle = (x - node.below / 2, y - HEIGHT / 2, x + node.below / 2, y + HEIGHT / 2)
                price = 0.5 * choice + 30.0 * sum(_overlap(rectangle, other) for other in others)
                price += 8.0 * _inside(strokes, rectangle, 1.0)
                price += 6.0 * _inside(bonds, rectangle, 2.5) + 1.0 * _inside(signals, rectangle, 1.0)
                if node.group in home and not _within(rectangle, home[node.group]):
                    price += 5.0
                if price < best - 1e-9:
                    best, found[i], rooms[i] = price, (x, y), rectangle
    return found


def _along(lines: Sequence[Route]) -> np.ndarray:
    """Points (k, 2) on all lines."""
    return np.concatenate([line.places for line in lines] or [np.zeros((0, 2))])


def _across(lines: Sequence[Route]) -> np.ndarray:
    """Points (k, 2) on the causal strokes that may stand at both ends of lines."""
    ends = [(end, along) for line in lines for end, along in ((line.start, line.leaving), (line.end, line.arriving))]
    shares = (-1.0, -0.5, 0.0, 0.5, 1.0)
    return np.array(
        [end + share * STROKE_HALF * np.array([-along[1], along[0]]) for end, along in ends for share in shares]
    ).reshape(-1, 2)


def _body(node: Mark, centre: np.ndarray) -> Rectangle:
    x, y = float(centre[0]), float(centre[1])
    return x - node.half_width, y - node.half_height, x + node.half_width, y + node.half_height


def _places(node: Mark, centre: np.ndarray) -> list[tuple[float, float]]:
    """Where a name may stand: beneath, then beneath to a side, above to a side, above, beside, farther."""
    x, y = float(centre[0]), float(centre[1])
    half, down = node.below / 2, node.half_height + HEIGHT / 2 + 1.0
    up = down + 1.0
    side, beside = half + BESIDE, node.half_width + half + 6.0
    moves = [(0.0, down), (side, down), (-side, down), (side, -up), (-side, -up), (0.0, -up), (beside, 0.0), (-beside, 0.0)]
    moves += [(side, down + 9.0), (-side, down + 9.0)]
    far = side + 2 * BESIDE
    moves += [(far, down), (-far, down), (far, -up), (-far, -up)]
    near = half + 4.0
    rows = (down + 9.0, -up - 9.0, down + 20.0, -up - 20.0)
    moves += [(along, across) for across in rows for along in (0.0, near, -near, side, -side)]
    return [(x + along, y + across) for along, across in moves]


def _overlap(a: Rectangle, b: Rectangle) -> float:
    """1 to 2 where two rectangles overlap, else 0."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + 2.0
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1.0
    return 0.0 if width <= 0 or height <= 0 else 1.0 + width * height / ((a[2] - a[0]) * (a[3] - a[1]) + 1.0)


def _inside(points: np.ndarray, rectangle: Rectangle, margin: float) -> int:
    low = np.array(rectangle[:2]) - margin
    high = np.array(rectangle[2:]) + margin
    return int(np.count_nonzero(np.all((points > low) & (points < high), axis=1)))


def _within(inner: Rectangle, outer: Rectangle) -> bool:
    return inner[0] > outer[0] and inner[1] > outer[1] and inner[2] < outer[2] and inner[3] < outer[3]


def title_place(title: str, frame: Rectangle, lines: Sequence[Route]) -> Rectangle:
    """Room of a box's title: at the top left, or at the top right or middle where a line passes on the left."""
    left, top, right, _ = frame
    width = text_width(title, LABEL_SIZE) + 12.0
    points = _along(lines)
    starts = (left + 4.0, right - width - 4.0, (left + right - width) / 2)
    rooms = [(start, top + 3.0, start + width, top + 21.0) for start in starts]
    return min(rooms, key=lambda room: _inside(points, room, 2.0))
