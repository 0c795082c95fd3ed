"""Line: corners in px -> the line of an edge through them, rounded at its corners; places and directions along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bondgraph.render.reproducible import dot, length

STEP = 7.0
"""From one place of a line to the next where it is looked at, px."""


@dataclass(frozen=True)
class Route:
    """A line through corners (k, 2) in px, from the tail of an edge to its head; `reach` is how far before and after a corner
    it bends, as a parabola."""

    corners: np.ndarray
    reach: float = 0.0

    @property
    def start(self) -> np.ndarray:
        """Its first place."""
        return self.corners[0]

    @property
    def end(self) -> np.ndarray:
        """Its last place."""
        return self.corners[-1]

    @cached_property
    def pieces(self) -> np.ndarray:
        """(m, 3, 2): start, control point and end of parabolas; those of straight pieces have it in the middle."""
        corners, last = self.corners, len(self.corners) - 1
        found, before = [], corners[0]
        for i in range(1, last):
            steps = corners[[i - 1, i + 1]] - corners[i]
            rooms = length(steps) * np.array([1.0 if i == 1 else 0.5, 1.0 if i == last - 1 else 0.5])
            near = [corners[i] + _cut(step, min(self.reach, float(room))) for step, room in zip(steps, rooms, strict=True)]
            if float(length(near[0] - before)) > 1e-6:
                found.append((before, (before + near[0]) / 2, near[0]))
            found.append((near[0], corners[i], near[1]))
            before = near[1]
        if float(length(corners[last] - before)) > 1e-6 or not found:
            found.append((before, (before + corners[last]) / 2, corners[last]))
        return np.array(found)

    @cached_property
    def _lengths(self) -> np.ndarray:
        """About how long the pieces are: the mean of chord and corner."""
        a, c, b = np.moveaxis(self.pieces, 1, 0)
        return (length(b - a) + length(c - a) + length(b - c)) / 2

    @property
    def length(self) -> float:
        """About how long it is."""
        return float(self._lengths.sum())

    def _place(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Piece and parameter in it of parameters (k,) in 0..1."""
        ends = np.cumsum(self._lengths)
        along = np.clip(s, 0.0, 1.0) * ends[-1]
        piece = np.minimum((along[:, None] >= ends[:-1]).sum(axis=1), len(ends) - 1)
        return piece, 1.0 - (ends[piece] - along) / np.maximum(self._lengths[piece], 1e-9)

    def at(self, s: np.ndarray) -> np.ndarray:
        """Points (k, 2) at parameters s (k,) in 0..1."""
        piece, t = self._place(s)
        a, c, b = np.moveaxis(self.pieces[piece], 1, 0)
        t = t[:, None]
        return (1 - t) * (1 - t) * a + 2 * t * (1 - t) * c + t * t * b

    def direction(self, s: float) -> np.ndarray:
        """Unit tangent, from start to end."""
        piece, t = self._place(np.array([s]))
        a, c, b = self.pieces[piece[0]]
        along = (1 - t[0]) * (c - a) + t[0] * (b - c)
        return along / max(float(length(along)), 1e-9)

    @cached_property
    def leaving(self) -> np.ndarray:
        """Unit tangent at its start."""
        return self.direction(0.0)

    @cached_property
    def arriving(self) -> np.ndarray:
        """Unit tangent at its end."""
        return self.direction(1.0)

    @cached_property
    def places(self) -> np.ndarray:
        """Points (k, 2) along it, a few px apart."""
        return self.at(np.linspace(0.0, 1.0, max(12, int(self.length / STEP))))

    @cached_property
    def chords(self) -> np.ndarray:
        """A polyline (k, 2) near it."""
        return self.corners if len(self.corners) == 2 else self.at(np.linspace(0.0, 1.0, 9 if len(self.corners) == 3 else 25))

    @cached_property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        (left, top), (right, bottom) = self.chords.min(axis=0).tolist(), self.chords.max(axis=0).tolist()
        return left, top, right, bottom

    @property
    def middle(self) -> float:
        """The parameter in the middle of its longest piece."""
        ends, piece = np.cumsum(self._lengths), int(np.argmax(self._lengths.round(3)))
        return float((ends[piece] - self._lengths[piece] / 2) / max(float(ends[-1]), 1e-9))

    @property
    def longest(self) -> float:
        """How much of it its longest piece is."""
        return float(self._lengths.max()) / max(self.length, 1e-9)

    def beside(self, distance: float) -> Route:
        """The line at a distance to its right, as one goes along it."""
        if distance == 0.0:
            return self
        steps = self.corners[1:] - self.corners[:-1]
        along = steps / np.maximum(length(steps), 1e-9)[:, None]
        right = np.stack([-along[:, 1], along[:, 0]], axis=1)
        before, after = right[[0, *range(len(right))]], right[[*range(len(right)), -1]]
        mitre = (before + after) / np.maximum(1.0 + dot(before, after), 0.2)[:, None]
        return Route(self.corners + distance * mitre, self.reach)


def _cut(along: np.ndarray, distance: float) -> np.ndarray:
    return along * (distance / max(float(length(along)), 1e-9))


def straight(start: np.ndarray, end: np.ndarray) -> Route:
    """A straight line."""
    return Route(np.array([start, end]))


def through(corners: Sequence[np.ndarray], reach: float) -> Route:
    """A line through corners without those that it passes straight on."""
    kept = [np.asarray(corners[0], dtype=float)]
    for k in range(1, len(corners) - 1):
        a, b = corners[k] - kept[-1], corners[k + 1] - corners[k]
        if abs(float(a[0] * b[1] - a[1] * b[0])) > 1e-6 * max(float(length(a) * length(b)), 1e-9):
            kept.append(np.asarray(corners[k], dtype=float))
    return Route(np.array([*kept, corners[-1]]), reach)
