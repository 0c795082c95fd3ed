"""Routes: centres of nodes -> the line of every edge, straight where it can be, bent round what stands in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.render.layout.cost import crossings
from bondgraph.render.reproducible import length
from bondgraph.render.sketch import Mark, Sketch

GAP = 5.0
"""Free room between a node's text and the end of an edge, px."""
_ALONG = np.linspace(0.0, 1.0, 33)


@dataclass(frozen=True)
class Route:
    """A quadratic Bezier curve in px; a straight line has its control point in the middle."""

    start: np.ndarray
    control: np.ndarray
    end: np.ndarray

    def at(self, s: np.ndarray) -> np.ndarray:
        """Points (k, 2) at parameters s (k,) in 0..1."""
        s = s[:, None]
        return (1 - s) ** 2 * self.start + 2 * s * (1 - s) * self.control + s**2 * self.end

    @property
    def straight(self) -> bool:
        """Whether the control point is on the line."""
        return bool(np.allclose(2 * self.control, self.start + self.end, atol=1e-6))

    def direction(self, s: float) -> np.ndarray:
        """Unit tangent, from start to end."""
        along = (1 - s) * (self.control - self.start) + s * (self.end - self.control)
        return along / max(float(length(along)), 1e-9)


def clip(node: Mark, centre: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """Where an edge from a node's centre leaves the room around its text."""
    along = towards - centre
    along = along / max(float(length(along)), 1e-9)
    if node.shape == "junction":
        return centre + along * (max(node.half_width, node.half_height) + GAP)
    half = np.array([node.half_width + GAP, node.half_height + GAP])
    return centre + along * float(np.min(half / np.maximum(np.abs(along), 1e-9)))


def routes(sketch: Sketch, where: np.ndarray) -> tuple[Route, ...]:
    """One route per edge, bonds first decided, then signals around them."""
    found: dict[int, Route] = {}
    drawn: list[np.ndarray] = []
    pairs: dict[frozenset[int], int] = {}
    rooms = np.array([(max(node.half_width, node.below / 2) + 4, node.half_height + 17) for node in sketch.nodes]).reshape(-1, 2)
    for index in sorted(range(len(sketch.edges)), key=lambda i: (sketch.edges[i].bond is None, i)):
        edge = sketch.edges[index]
        ends = frozenset((edge.tail, edge.head))
        used = pairs.get(ends, 0)
        pairs[ends] = used + 1
        choices = [_bent(sketch, where, edge.tail, edge.head, bulge) for bulge in _bulges(used, edge.bond is None)]
        prices = [_price(route, k, sketch, where, rooms, edge.tail, edge.head, drawn) for k, route in enumerate(choices)]
        found[index] = choices[int(np.argmin(prices))]
        drawn.append(found[index].at(_ALONG[::4]))
    return tuple(found[i] for i in range(len(sketch.edges)))


def _bulges(used: int, signal: bool) -> Sequence[float]:
    """Bulges to try, as parts of the edge's length, the most wanted first; parallel edges leave the line free."""
    if used:
        side = 1.0 if used % 2 else -1.0
        first = 0.16 * ((used + 1) // 2) * side
        return (first, first * 1.6, first * 2.4)
    steps = (0.12, 0.2, 0.3, 0.42) if signal else (0.14, 0.24, 0.36)
    return (0.0, *(bulge * side for bulge in steps for side in (1.0, -1.0)))


def _bent(sketch: Sketch, where: np.ndarray, tail: int, head: int, bulge: float) -> Route:
    a, b = where[tail], where[head]
    across = np.array([a[1] - b[1], b[0] - a[0]])
    control = (a + b) / 2 + 2 * bulge * across
    start, end = clip(sketch.nodes[tail], a, control), clip(sketch.nodes[head], b, control)
    return Route(start, (start + end) / 2 if bulge == 0 else control, end)


def _price(
    route: Route,
    choice: int,
    sketch: Sketch,
    where: np.ndarray,
    rooms: np.ndarray,
    tail: int,
    head: int,
    drawn: Sequence[np.ndarray],
) -> float:
    points = route.at(_ALONG)
    price = 0.9 * choice
    low, high = points.min(axis=0), points.max(axis=0)
    near = np.all((where > low - rooms) & (where < high + rooms), axis=1)
    for i in np.flatnonzero(near).tolist():
        node = sketch.nodes[i]
        half = np.array([node.half_width + 4, node.half_height + 4])
        inner = points[3:-3] if i in (tail, head) else points
        price += 3.0 * np.count_nonzero(np.all(np.abs(inner - where[i]) < half, axis=1))
        if node.below and i not in (tail, head):
            label = where[i] + (0.0, node.half_height + 9)
            price += 0.8 * np.count_nonzero(np.all(np.abs(points - label) < (node.below / 2 + 2, 8.0), axis=1))
    if drawn:
        lines = np.array(drawn)
        price += 1.2 * _crossings(points[::4], lines)
    return price


def _crossings(points: np.ndarray, lines: np.ndarray) -> int:
    """How often a polyline (k, 2) crosses other polylines (m, j, 2)."""
    p, q = points[:-1].T[:, :, None, None], points[1:].T[:, :, None, None]
    other = np.moveaxis(lines, 2, 0)[:, None]
    return int(crossings(p, q, other[:, :, :, :-1], other[:, :, :, 1:]).sum())
