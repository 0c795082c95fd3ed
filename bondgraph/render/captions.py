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
    rooms: dict[int, np.ndarray] = {}
    for _ in range(ROUNDS):
        for i in named:
            node, others = sketch.nodes[i], np.array([*blocked, *(room for k, room in rooms.items() if k != i)]).reshape(-1, 4)
            places = np.array(_places(node, where[i]))
            half = np.array([node.below / 2, HEIGHT / 2])
            rectangles = np.concatenate([places - half, places + half], axis=1)
            price = 0.5 * np.arange(len(places)) + 30.0 * _overlaps(rectangles, others).sum(axis=1)
            price += 8.0 * _inside(strokes, rectangles, 1.0)
            price += 6.0 * _inside(bonds, rectangles, 2.5) + 1.0 * _inside(signals, rectangles, 1.0)
            if node.group in home:
                price += np.where(_within(rectangles, home[node.group]), 0.0, 5.0)
            best = int(np.argmin(price.round(9)))
            found[i], rooms[i] = _pair(places[best]), rectangles[best]
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


def _pair(place: np.ndarray) -> tuple[float, float]:
    return float(place[0]), float(place[1])


def _overlaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1 to 2 where rectangles (n, 4) overlap others (k, 4), else 0: (n, k)."""
    low, high = np.maximum(a[:, None, :2], b[:, :2]), np.minimum(a[:, None, 2:], b[:, 2:])
    width, height = high[..., 0] - low[..., 0] + 2.0, high[..., 1] - low[..., 1] + 1.0
    area = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + 1.0
    return np.where((width <= 0) | (height <= 0), 0.0, 1.0 + width * height / area[:, None])


def _inside(points: np.ndarray, rectangles: np.ndarray, margin: float) -> np.ndarray:
    """How many points (k, 2) lie in each rectangle (n, 4) or nearer to it than a margin: (n,)."""
    low, high = rectangles[:, :2] - margin, rectangles[:, 2:] + margin
    x, y = points[np.all((points > low.min(axis=0)) & (points < high.max(axis=0)), axis=1)].T
    inside = (x > low[:, :1]) & (x < high[:, :1]) & (y > low[:, 1:]) & (y < high[:, 1:])
    return np.asarray(inside.sum(axis=1))


def _within(inner: np.ndarray, outer: Rectangle) -> np.ndarray:
    """Whether rectangles (n, 4) lie inside of one."""
    return np.all((inner[:, :2] > outer[:2]) & (inner[:, 2:] < outer[2:]), axis=1)


def title_place(title: str, frame: Rectangle, lines: Sequence[Route]) -> Rectangle:
    """Room of a box's title: at the top left, or at the top right or middle where a line passes on the left."""
    left, top, right, _ = frame
    width = text_width(title, LABEL_SIZE) + 12.0
    points = _along(lines)
    starts = (left + 4.0, right - width - 4.0, (left + right - width) / 2)
    rooms = [(start, top + 3.0, start + width, top + 21.0) for start in starts]
    return rooms[int(np.argmin(_inside(points, np.array(rooms), 2.0)))]
