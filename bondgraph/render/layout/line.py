"""Route of an edge: a line through corners in px, rounded at the corners; points and directions along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bondgraph.render.reproducible import dot, length

POINT_SPACING = 7.0
"""Approximate distance between sampled points of a line, px; points of short lines are closer."""


@dataclass(frozen=True)
class Route:
    """Line through corners (k, 2) in px, from tail to head of an edge; within `reach` of a corner it follows a parabola."""

    corners: np.ndarray
    reach: float = 0.0

    @property
    def start(self) -> np.ndarray:
        return self.corners[0]

    @property
    def end(self) -> np.ndarray:
        return self.corners[-1]

    @cached_property
    def pieces(self) -> np.ndarray:
        """Return start, control point and end of parabolas, (m, 3, 2); the control point of straight pieces is in the middle."""
        corners, last = self.corners, len(self.corners) - 1
        result, before = [], corners[0]
        for i in range(1, last):
            steps = corners[[i - 1, i + 1]] - corners[i]
            limits = length(steps) * np.array([1.0 if i == 1 else 0.5, 1.0 if i == last - 1 else 0.5])
            near = [corners[i] + _cut(step, min(self.reach, float(limit))) for step, limit in zip(steps, limits, strict=True)]
            if float(length(near[0] - before)) > 1e-6:
                result.append((before, (before + near[0]) / 2, near[0]))
            result.append((near[0], corners[i], near[1]))
            before = near[1]
        if float(length(corners[last] - before)) > 1e-6 or not result:
            result.append((before, (before + corners[last]) / 2, corners[last]))
        return np.array(result)

    @cached_property
    def _lengths(self) -> np.ndarray:
        """Return the approximate lengths of the pieces: the mean of the chord and the path through the control point."""
        a, c, b = np.moveaxis(self.pieces, 1, 0)
        return (length(b - a) + length(c - a) + length(b - c)) / 2

    @property
    def length(self) -> float:
        return float(self._lengths.sum())

    def _locate(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = np.cumsum(self._lengths)
        along = np.clip(s, 0.0, 1.0) * ends[-1]
        piece = np.minimum((along[:, None] >= ends[:-1]).sum(axis=1), len(ends) - 1)
        return piece, 1.0 - (ends[piece] - along) / np.maximum(self._lengths[piece], 1e-9)

    def at(self, s: np.ndarray) -> np.ndarray:
        piece, t = self._locate(s)
        a, c, b = np.moveaxis(self.pieces[piece], 1, 0)
        t = t[:, None]
        return (1 - t) * (1 - t) * a + 2 * t * (1 - t) * c + t * t * b

    def direction(self, s: float) -> np.ndarray:
        piece, t = self._locate(np.array([s]))
        a, c, b = self.pieces[piece[0]]
        along = (1 - t[0]) * (c - a) + t[0] * (b - c)
        return along / max(float(length(along)), 1e-9)

    @cached_property
    def leaving(self) -> np.ndarray:
        return self.direction(0.0)

    @cached_property
    def arriving(self) -> np.ndarray:
        return self.direction(1.0)

    @cached_property
    def points(self) -> np.ndarray:
        return self.at(np.linspace(0.0, 1.0, max(12, int(self.length / POINT_SPACING))))

    @cached_property
    def chords(self) -> np.ndarray:
        return self.corners if len(self.corners) == 2 else self.at(np.linspace(0.0, 1.0, 9 if len(self.corners) == 3 else 25))

    @cached_property
    def extent(self) -> tuple[float, float, float, float]:
        (left, top), (right, bottom) = self.chords.min(axis=0).tolist(), self.chords.max(axis=0).tolist()
        return left, top, right, bottom

    @property
    def middle(self) -> float:
        ends, piece = np.cumsum(self._lengths), int(np.argmax(self._lengths.round(3)))
        return float((ends[piece] - self._lengths[piece] / 2) / max(float(ends[-1]), 1e-9))

    @property
    def longest(self) -> float:
        """Return the longest piece as a fraction of the total length."""
        return float(self._lengths.max()) / max(self.length, 1e-9)

    def offset(self, distance: float) -> Route:
        """Return the line shifted by a distance to the right of its direction."""
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
    return Route(np.array([start, end]))


def through(corners: Sequence[np.ndarray], reach: float) -> Route:
    kept = [np.asarray(corners[0], dtype=float)]
    for k in range(1, len(corners) - 1):
        a, b = corners[k] - kept[-1], corners[k + 1] - corners[k]
        if abs(float(a[0] * b[1] - a[1] * b[0])) > 1e-6 * max(float(length(a) * length(b)), 1e-9):
            kept.append(np.asarray(corners[k], dtype=float))
    return Route(np.array([*kept, corners[-1]]), reach)
