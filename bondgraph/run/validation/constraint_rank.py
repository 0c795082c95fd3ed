"""Singular positions: the course of a run -> where its constraints lose rank on the way, or contradict each other.

Where a linkage is stretched or folded flat, constraints become dependent for an instant. Two motions go on from there, and
equations that are solved on both sides do not tell which: a step across may leave on either. The smallest eigenvalue of the
matrix of the constraints, A = J M^-1 J^T with each row measured by its largest diagonal entry in the run, then passes through
zero like the square of the time to that instant; its root has two straight sides that meet there. It is looked for between
samples, in states interpolated by their rates, and, since a run may leave on another branch than it came on, in those of either
side continued. Nothing of it enters into the integration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bondgraph.run.validation.constraint_matrix import ClosingMatrix, Sizes

RANK = 1e-9
"""Eigenvalues below this part of the largest are zero: constraints that repeat others wherever they hold."""

TOUCHES = 1e-3
"""The root of an eigenvalue that falls to this part of what it is at the samples around it touches zero."""

CONTRADICTS = 1e-4
"""What redundant constraints may leave of their accelerations, as a part of these, before they contradict each other."""

BEYOND = 0.5
"""Part of an interval beyond its ends within which straight courses that meet zero are suspected."""


@dataclass(frozen=True)
class LostRank:
    """Where constraints stop to decide the motion: the time (s), the elements, and whether they contradict each other there."""

    time: float
    elements: tuple[str, ...]
    contradiction: bool = False


def lost_rank(closures: ClosingMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray, jumps: np.ndarray) -> LostRank | None:
    """The first place of a run, given at times t (k,), states x (k, n) and modes m (k, modes), where constraints contradict each
    other, or else lose rank; `jumps` (s) are the times of events."""
    return _contradiction(closures, t, x, m) or _singular_position(closures, t, x, m, jumps)


def _contradiction(closures: ClosingMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> LostRank | None:
    if not closures.closing.repeating:
        return None
    parts, shares = closures.contradictions(t, x, m)
    wrong = np.flatnonzero(~(parts < CONTRADICTS))
    if not len(wrong):
        return None
    k = int(wrong[0])
    return LostRank(float(t[k]), closures.owners(closures.closing.repeating, shares[k]), contradiction=True)


def _singular_position(
    closures: ClosingMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray, jumps: np.ndarray
) -> LostRank | None:
    """Where the root touches zero: between two samples, or where the courses of both sides continued meet."""
    measure = _Measure(closures, closures.along(t, x, m)[0])
    roots = measure.along
    for k in _suspects(t.tolist(), roots.tolist()):
        if np.any((t[k] <= jumps) & (jumps <= t[k + 1])):
            continue
        # A run that ended on the way may have ended shortly before.
        beyond = 0.5 * (t[k + 1] - t[k]) if k + 2 == len(t) else 0.0
        zero = TOUCHES * roots[max(k - 1, 0) : k + 3].max()
        places: dict[int, _Place] = {}
        for i in (k - 1, k, k + 1):
            if 0 <= i < len(t) - 1 and not np.any((t[i] <= jumps) & (jumps <= t[i + 1])):
                course = _Course(closures, t[i : i + 2], x[i : i + 2], m[k])
                places[i] = _closest(closures, measure, course, t[k], t[k + 1] + beyond * (i != k))
        touching = [i for i, place in places.items() if place.root < zero]
        if k in touching or (len(places) > 1 and touching == [i for i in places if i != k]):
            place = places[touching[0]]  # as it comes, rather than as it leaves
            entries = closures.along(np.array([place.time]), place.state[None], m[k : k + 1])[0]
            A = measure.sizes.scaled(closures.whole.dense(entries))[0]
            shares = np.abs(np.linalg.eigh(A)[1][:, len(A) - measure.rank])
            return LostRank(place.time, closures.owners(range(len(A)), shares))
    return None


class _Measure:
    """Rows measured by their largest diagonal entries in a run, the rank that the constraints have there at most, and the roots
    `along` the run (k,)."""

    def __init__(self, closures: ClosingMatrix, entries: np.ndarray):
        diagonals = closures.diagonals(entries)
        largest = np.abs(diagonals).max(axis=0)
        scale = 1.0 / np.sqrt(np.where(largest > 0.0, largest, 1.0))
        self.sizes = Sizes(scale, np.where(diagonals.sum(axis=0) < 0.0, -1.0, 1.0))
        self._closures = closures
        values = closures.eigenvalues(entries, self.sizes)
        self.rank = int((values > RANK * values[:, -1:]).sum(axis=1).max())
        self.along = self._roots(values)

    def roots(self, entries: np.ndarray) -> np.ndarray:
        """Root of the smallest eigenvalue that is not zero throughout, (k,)."""
        return self._roots(self._closures.eigenvalues(entries, self.sizes))

    def _roots(self, values: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(values[:, values.shape[1] - self.rank], 0.0))


def _suspects(t: Sequence[float], s: Sequence[float]) -> list[int]:
    """Intervals between samples in which a root that falls and rises in straight lines meets zero from both sides."""
    found = []
    for k in range(len(t) - 1):
        left = right = None
        length = t[k + 1] - t[k]
        if k > 0 and s[k - 1] > s[k]:
            left = t[k] + s[k] * (t[k] - t[k - 1]) / (s[k - 1] - s[k])
        if k + 2 < len(t) and s[k + 2] > s[k + 1]:
            right = t[k + 1] - s[k + 1] * (t[k + 2] - t[k + 1]) / (s[k + 2] - s[k + 1])
        ends = [end for end in (left, right) if end is not None]
        if ends and all(t[k] - BEYOND * length <= end <= t[k + 1] + BEYOND * length for end in ends):
            found.append(k)
    return found


class _Course:
    """States between two samples (2, n), and beyond them, by the cubic that has their rates."""

    def __init__(self, closures: ClosingMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray):
        self.t, self.x, self.m, self.length = t, x, m, t[1] - t[0]
        self.start, self.end = (closures.bound.rates(float(a), b, m) for a, b in zip(t, x, strict=True))

    def at(self, t: float) -> np.ndarray:
        b = (t - self.t[0]) / self.length
        a, change = 1.0 - b, self.x[1] - self.x[0]
        bend = (b - a) * change + self.length * (a * self.start - b * self.end)
        return np.asarray(a * self.x[0] + b * self.x[1] + a * b * bend)


class _Place(NamedTuple):
    """Time (s) and state (n,) of a course where the root is smallest, and the root there."""

    time: float
    state: np.ndarray
    root: float


def _closest(closures: ClosingMatrix, measure: _Measure, course: _Course, low: float, high: float) -> _Place:
    """The place of a course between the times `low` and `high` that is nearest to a singular position."""
    for _ in range(8):
        times = np.linspace(low, high, 17)
        states = np.array([course.at(float(t)) for t in times])
        roots = measure.roots(closures.along(times, states, np.tile(course.m, (len(times), 1)))[0])
        best = int(roots.argmin())
        low, high = float(times[max(best - 1, 0)]), float(times[min(best + 1, 16)])
    return _Place(float(times[best]), states[best], float(roots[best]))
