"""Lines drawn so far, as arrays: the cost of a further line that crosses or crowds them, and the points in each street."""

from __future__ import annotations

import numpy as np

from bondgraph.render.layout.line import Route
from bondgraph.render.reproducible import dot
from bondgraph.render.sketch import Edge, Sketch

CROSSING_COST, CROWDING_COST = 60.0, 120.0
"""Costs of each crossing, and of each line in almost the same direction at a node, px."""
LANE_WIDTH = 5.0
"""Distance from a street below which points of a line count as in it, px."""
_LEFT, _TOP, _RIGHT, _BOTTOM, _TAIL, _HEAD, _WEIGHT = range(7)
_LEAVING, _ARRIVING = slice(7, 9), slice(9, 11)


class DrawnLines:
    """Routes of edges in the order of drawing, with one row of numbers for each."""

    def __init__(self, sketch: Sketch) -> None:
        self._sketch = sketch
        self._routes: list[Route] = []
        self._rows = np.zeros((64, 11))
        self._chords, self._line_of, self._chord_count = np.zeros((64, 4)), np.zeros(64, dtype=int), 0
        self._counts: tuple[np.ndarray, np.ndarray] | None = None
        self._counted = 0

    def add(self, index: int, route: Route) -> None:
        count, edge = len(self._routes), self._sketch.edges[index]
        if count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        weight = 1.0 if edge.bond is not None else 0.4
        self._rows[count] = (*route.extent, edge.tail, edge.head, weight, *route.leaving, *route.arriving)
        self._routes.append(route)
        chords = np.concatenate([route.chords[:-1], route.chords[1:]], axis=1)
        first, end = self._chord_count, self._chord_count + len(chords)
        while end > len(self._chords):
            self._chords = np.concatenate([self._chords, np.zeros_like(self._chords)])
            self._line_of = np.concatenate([self._line_of, np.zeros_like(self._line_of)])
        self._chords[first:end], self._line_of[first:end], self._chord_count = chords, count, end

    def _numbers(self) -> np.ndarray:
        return self._rows[: len(self._routes)]

    def cost(self, route: Route, edge: Edge) -> float:
        """Return the cost of the crossings of a route with these lines and of its almost equal directions at their nodes."""
        rows = self._numbers()
        left, top, right, bottom = route.extent
        apart = (rows[:, _LEFT] > right) | (rows[:, _RIGHT] < left) | (rows[:, _TOP] > bottom) | (rows[:, _BOTTOM] < top)
        weights = rows[:, _WEIGHT] if edge.bond is not None else 0.4 * rows[:, _WEIGHT] + 0.1
        costs = [
            CROSSING_COST * weights * self._crossed(route, ~apart),
            CROWDING_COST * weights * self._closeness(edge.tail, route.leaving),
            CROWDING_COST * weights * self._closeness(edge.head, -route.arriving),
        ]
        terms = np.stack(costs, axis=1)
        return float(sum(terms[terms > 0.0].tolist()))

    def _crossed(self, route: Route, near: np.ndarray) -> np.ndarray:
        """Return the number of crossings of a route with each of the lines, 0 for lines that are not near."""
        line_of = self._line_of[: self._chord_count]
        there = np.flatnonzero(near[line_of])
        r, s = self._chords[there, :2].T, self._chords[there, 2:].T
        crossed = _crossings(route.chords[:-1].T[:, :, None], route.chords[1:].T[:, :, None], r[:, None], s[:, None])
        counts = np.zeros(len(near))
        np.add.at(counts, line_of[there], crossed.sum(axis=0))
        return counts

    def _closeness(self, node: int, direction: np.ndarray) -> np.ndarray:
        """Return how close each line's direction at a node is to a direction; 0 for lines that do not end there."""
        rows = self._numbers()
        at_tail, at_head = rows[:, _TAIL] == node, rows[:, _HEAD] == node
        outward = np.where(at_tail[:, None], rows[:, _LEAVING], -rows[:, _ARRIVING])
        return np.where(at_tail | at_head, _direction_closeness(direction, outward), 0.0)

    def crowding(self, node: int, directions: np.ndarray) -> list[float]:
        """Return for each direction (k, 2) at a node the sum of the closeness of the lines that end there."""
        rows = self._numbers()
        rows = rows[(rows[:, _TAIL] == node) | (rows[:, _HEAD] == node)]
        outward = np.where((rows[:, _TAIL] == node)[:, None], rows[:, _LEAVING], -rows[:, _ARRIVING])
        closeness = _direction_closeness(directions[:, None], outward[None])
        return [float(sum(row[row > 0.0].tolist())) for row in closeness]

    def occupancy(self, xs: np.ndarray, ys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the points of the lines in each section of the streets at xs and ys, always the same streets."""
        if self._counts is None:
            self._counts = (np.zeros((len(xs) - 1, len(ys))), np.zeros((len(xs), len(ys) - 1)))
        for route, weight in zip(self._routes[self._counted :], self._numbers()[self._counted :, _WEIGHT].tolist(), strict=True):
            for kind, (counts, along, across) in enumerate(((self._counts[0], xs, ys), (self._counts[1], ys, xs))):
                here, there = route.points[:, kind], route.points[:, 1 - kind]
                section = np.searchsorted(along, here) - 1
                for side in (0, 1):
                    street = np.searchsorted(across, there) - side
                    good = (section >= 0) & (section < len(along) - 1) & (street >= 0) & (street < len(across))
                    good &= np.abs(across[np.clip(street, 0, len(across) - 1)] - there) < LANE_WIDTH
                    pair = (section[good], street[good]) if kind == 0 else (street[good], section[good])
                    np.add.at(counts, pair, weight)
        self._counted = len(self._routes)
        return self._counts


def _direction_closeness(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the closeness of directions, 0 to 1; 0 above about 35 degrees."""
    return np.maximum((dot(one, other) - 0.82) / 0.18, 0.0)


def _crossings(p: np.ndarray, q: np.ndarray, r: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return True where the interiors of segments pq and rs cross; arrays (2, ...), coordinates first, are broadcast."""
    dx, dy, ex, ey = q[0] - p[0], q[1] - p[1], s[0] - r[0], s[1] - r[1]
    one = (dx * (r[1] - p[1]) - dy * (r[0] - p[0])) * (dx * (s[1] - p[1]) - dy * (s[0] - p[0]))
    two = (ex * (p[1] - r[1]) - ey * (p[0] - r[0])) * (ex * (q[1] - r[1]) - ey * (q[0] - r[0]))
    return (one < -1e-9) & (two < -1e-9)
