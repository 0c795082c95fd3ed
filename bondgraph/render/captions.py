"""Caption placement: a free position for the name of every junction, near it and clear of lines and other texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.render.glyphs import STROKE_HALF
from bondgraph.render.layout.line import Route
from bondgraph.render.layout.spacing import NAME_GAP
from bondgraph.render.sketch import LABEL_SIZE, Mark, Sketch, text_width

HEIGHT = LABEL_SIZE + 2.0
ROUNDS = 3
"""Number of placement rounds: the first sees only earlier names, the others all names."""
Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom in px."""


def captions(
    sketch: Sketch,
    where: np.ndarray,
    lines: Sequence[Route],
    frames: Sequence[Rectangle] = (),
    occupied: Sequence[Rectangle] = (),
) -> dict[int, tuple[float, float]]:
    """Return node -> centre (x, y) of its name, clear of box `frames` and `occupied` rectangles; beneath it if possible."""
    bonds = _along([line for edge, line in zip(sketch.edges, lines, strict=True) if edge.bond])
    strokes = _across([line for edge, line in zip(sketch.edges, lines, strict=True) if edge.bond])
    signals = _along([line for edge, line in zip(sketch.edges, lines, strict=True) if not edge.bond])
    blocked = [_body(node, where[i]) for i, node in enumerate(sketch.nodes)]
    blocked += [title_rectangle(box.title, frame, lines) for box, frame in zip(sketch.boxes, frames, strict=True)]
    blocked += occupied
    home = {box.path: frame for box, frame in zip(sketch.boxes, frames, strict=True)}
    captioned = [i for i, node in enumerate(sketch.nodes) if node.below]
    centres: dict[int, tuple[float, float]] = {}
    rooms: dict[int, np.ndarray] = {}
    for _ in range(ROUNDS):
        for i in captioned:
            node, others = (
                sketch.nodes[i],
                np.array([*blocked, *(rectangle for k, rectangle in rooms.items() if k != i)]).reshape(-1, 4),
            )
            candidates = np.array(_candidates(node, where[i]))
            half = np.array([node.below / 2, HEIGHT / 2])
            rectangles = np.concatenate([candidates - half, candidates + half], axis=1)
            price = 0.5 * np.arange(len(candidates)) + 30.0 * _overlaps(rectangles, others).sum(axis=1)
            price += 8.0 * _count_inside(strokes, rectangles, 1.0)
            price += 6.0 * _count_inside(bonds, rectangles, 2.5) + 1.0 * _count_inside(signals, rectangles, 1.0)
            if node.group in home:
                price += np.where(_within(rectangles, home[node.group]), 0.0, 5.0)
            best = int(np.argmin(price.round(9)))
            centres[i], rooms[i] = _pair(candidates[best]), rectangles[best]
    return centres


def _along(lines: Sequence[Route]) -> np.ndarray:
    """Return points (k, 2) on all lines."""
    return np.concatenate([line.points for line in lines] or [np.zeros((0, 2))])


def _across(lines: Sequence[Route]) -> np.ndarray:
    """Return points (k, 2) on the causal strokes that may stand at both ends of lines."""
    ends = [(end, along) for line in lines for end, along in ((line.start, line.leaving), (line.end, line.arriving))]
    shares = (-1.0, -0.5, 0.0, 0.5, 1.0)
    return np.array(
        [end + share * STROKE_HALF * np.array([-along[1], along[0]]) for end, along in ends for share in shares]
    ).reshape(-1, 2)


def _body(node: Mark, centre: np.ndarray) -> Rectangle:
    x, y = float(centre[0]), float(centre[1])
    return x - node.half_width, y - node.half_height, x + node.half_width, y + node.half_height


def _candidates(node: Mark, centre: np.ndarray) -> list[tuple[float, float]]:
    """Return candidate positions of a name: beneath, then beneath to a side, above to a side, above, beside, farther."""
    x, y = float(centre[0]), float(centre[1])
    half, down = node.below / 2, node.half_height + HEIGHT / 2 + 1.0
    up = down + 1.0
    side, lateral = half + NAME_GAP, node.half_width + half + 6.0
    moves = [(0.0, down), (side, down), (-side, down), (side, -up), (-side, -up), (0.0, -up), (lateral, 0.0), (-lateral, 0.0)]
    moves += [(side, down + 9.0), (-side, down + 9.0)]
    far = side + 2 * NAME_GAP
    moves += [(far, down), (-far, down), (far, -up), (-far, -up)]
    near = half + 4.0
    rows = (down + 9.0, -up - 9.0, down + 20.0, -up - 20.0)
    moves += [(along, across) for across in rows for along in (0.0, near, -near, side, -side)]
    return [(x + along, y + across) for along, across in moves]


def _pair(point: np.ndarray) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def _overlaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (n, k): 1 to 2 if rectangles (n, 4) overlap others (k, 4), else 0."""
    low, high = np.maximum(a[:, None, :2], b[:, :2]), np.minimum(a[:, None, 2:], b[:, 2:])
    width, height = high[..., 0] - low[..., 0] + 2.0, high[..., 1] - low[..., 1] + 1.0
    area = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + 1.0
    return np.where((width <= 0) | (height <= 0), 0.0, 1.0 + width * height / area[:, None])


def _count_inside(points: np.ndarray, rectangles: np.ndarray, margin: float) -> np.ndarray:
    """Return the number of points (k, 2) in each rectangle (n, 4), widened by a margin: (n,)."""
    low, high = rectangles[:, :2] - margin, rectangles[:, 2:] + margin
    x, y = points[np.all((points > low.min(axis=0)) & (points < high.max(axis=0)), axis=1)].T
    inside = (x > low[:, :1]) & (x < high[:, :1]) & (y > low[:, 1:]) & (y < high[:, 1:])
    return np.asarray(inside.sum(axis=1))


def _within(inner: np.ndarray, outer: Rectangle) -> np.ndarray:
    """Return (n,): True for rectangles (n, 4) inside of one."""
    return np.all((inner[:, :2] > outer[:2]) & (inner[:, 2:] < outer[2:]), axis=1)


def title_rectangle(title: str, frame: Rectangle, lines: Sequence[Route]) -> Rectangle:
    """Return the rectangle of a box's title: at the top left, or at the top right or middle if a line passes on the left."""
    left, top, right, _ = frame
    width = text_width(title, LABEL_SIZE) + 12.0
    points = _along(lines)
    starts = (left + 4.0, right - width - 4.0, (left + right - width) / 2)
    rooms = [(start, top + 3.0, start + width, top + 21.0) for start in starts]
    return rooms[int(np.argmin(_count_inside(points, np.array(rooms), 2.0)))]
