"""Labels of frames and ghosts on pictures, drawn with Pillow, clear of each other, of axes, and of other bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.style import font

from bondgraph.output.plot_style import INK, PAPER

Box = tuple[float, float, float, float]

Side = tuple[float, float]
"""Distance of a label from its point, relative to the least distance, and its angle (rad) from the preferred side."""

DISTANCES = (1.0, 1.6, 2.4, 3.4)
TURNS = (0.0, 0.35, -0.35, 0.7, -0.7, 1.2, -1.2, 1.8, -1.8, 2.6, -2.6)

OVERLAP_COST = 40.0
"""Cost of covering another label or a moving body; turning a label by 4 rad costs 1."""

AT_REST = 0.05
"""Cost of a label on a body at rest, relative to a moving body."""


@dataclass(frozen=True)
class Label:
    """Name with a subscript at a pixel, placed on the side that `away` points to; it may cover the solids with the
    indices `on`."""

    text: str
    index: str
    at: tuple[float, float]
    away: tuple[float, float]
    colour: str = INK
    on: tuple[int, ...] = ()


def is_word(text: str) -> bool:
    return len(text) > 1


def _side(a: Array, b: Array, points: Array) -> Array:
    return np.asarray(
        (b[..., 0] - a[..., 0]) * (points[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (points[..., 0] - a[..., 0])
    )


def _covers(hull: Array, box: Box) -> bool:
    if np.any(hull.max(axis=0) <= box[:2]) or np.any(hull.min(axis=0) >= box[2:]):
        return False
    corners = np.array([(box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])])
    return not np.any(np.all(_side(hull, np.roll(hull, -1, axis=0), corners[:, None]) < 0.0, axis=0))


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _label_box(label: Label, size: tuple[float, float], distance: float, turn: float) -> Box:
    angle = float(np.arctan2(label.away[1], label.away[0])) + turn
    x = label.at[0] + np.cos(angle) * (distance + 0.5 * size[0])
    y = label.at[1] + np.sin(angle) * (distance + 0.5 * size[1])
    return (x - 0.5 * size[0], y - 0.5 * size[1], x + 0.5 * size[0], y + 0.5 * size[1])


def place_labels(
    labels: Sequence[Label],
    sizes: Sequence[tuple[float, float]],
    avoid: NDArray[Any],
    occupied: Sequence[Box],
    bodies: Sequence[tuple[Array, float]],
    reach: float,
    sides: dict[str, Side],
) -> list[Box]:
    """Return a box of the given size for each label near its point, clear of other labels, `occupied` boxes, `avoid` points
    (k, 2) and other bodies.

    Parameters
    ----------
    bodies : convex hull (j, 2) of each solid, and the cost of covering it with a label; covering another label costs 1.
    reach : minimum distance from a point.
    sides : sides by label in the previous frame of a movie, updated in place; a label keeps a side that is free.
    """
    placed: list[Box] = []
    last = dict(sides)
    sides.clear()
    for label, size in zip(labels, sizes, strict=True):
        name, others = label.text + label.index, [body for i, body in enumerate(bodies) if body[1] and i not in label.on]
        best, best_cost = (1.0, 0.0), np.inf
        for side in (*([last[name]] if name in last else []), *((distance, turn) for distance in DISTANCES for turn in TURNS)):
            box = _label_box(label, size, side[0] * reach, side[1])
            covered = sum(_overlap(box, other) for other in (*placed, *occupied)) / (size[0] * size[1])
            covered += sum(cost for hull, cost in others if _covers(hull, box))
            if side == last.get(name) and covered <= AT_REST:
                best = side
                break
            inside = (avoid > np.array(box[:2]) - 2.0) & (avoid < np.array(box[2:]) + 2.0)
            cost = 0.25 * abs(side[1]) + 0.5 * side[0] + OVERLAP_COST * covered + 0.7 * float(inside.all(axis=1).sum())
            if cost < best_cost:
                best, best_cost = side, cost
        sides[name] = best
        placed.append(_label_box(label, size, best[0] * reach, best[1]))
    return placed


def draw_labels(
    image: Any,
    labels: Sequence[Label],
    avoid: NDArray[Any],
    occupied: Sequence[Box],
    scale: float,
    *,
    bodies: Sequence[tuple[Array, float]] = (),
    sides: dict[str, Side] | None = None,
) -> None:
    from PIL import ImageDraw

    draw = ImageDraw.Draw(image)
    symbol, small, text = font(round(25 * scale), "math"), font(round(16 * scale), "math"), font(round(14 * scale))
    larger = [text if is_word(k.text) else symbol for k in labels]
    sizes = [
        (large.getlength(k.text) + small.getlength(k.index) + 3 * scale, 24 * scale)
        for k, large in zip(labels, larger, strict=True)
    ]
    halo = max(2, round(2.5 * scale))
    boxes = place_labels(labels, sizes, avoid, occupied, bodies, 9 * scale, {} if sides is None else sides)
    for label, box, large in zip(labels, boxes, larger, strict=True):
        at = (box[0], box[3] - 3 * scale)
        style: dict[str, Any] = {"fill": label.colour, "stroke_width": halo, "stroke_fill": PAPER, "anchor": "ls"}
        draw.text(at, label.text, font=large, **style)
        draw.text((at[0] + large.getlength(label.text) + scale, at[1] + 5 * scale), label.index, font=small, **style)
