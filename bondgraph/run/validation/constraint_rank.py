"""Singular positions of a run, where its constraints lose rank or contradict each other.

Where a linkage is stretched or folded flat, its constraints become dependent for an instant. Two motions are possible from
there, and the equations on both sides do not determine which: a step across it may continue on either branch. The smallest
eigenvalue of the matrix of the constraints, A = J M^-1 J^T, scaled so that each diagonal entry is at most 1 in the run,
then vanishes like the square of the time to that instant; its square root consists of two straight lines that meet there. The
search covers the intervals between samples, with states interpolated by their rates, and, because a run may leave on a branch
other than the one on which it arrived, extrapolations from both sides. The search does not affect the integration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bondgraph.run.validation.constraint_matrix import ConstraintMatrix, RowScaling

RANK_TOLERANCE = 1e-9
"""Fraction of the largest eigenvalue below which an eigenvalue counts as zero; an eigenvalue that is zero throughout a run comes
from redundant constraints."""

TOUCH_RATIO = 1e-3
"""Fraction of the largest neighbouring sample below which the square root of an eigenvalue counts as zero."""

MAX_CONTRADICTION = 1e-4
"""Largest residual acceleration of redundant constraints, relative to their accelerations, that does not count as a
contradiction."""

EXTRAPOLATION = 0.5
"""Largest distance beyond the ends of a suspect interval, as a fraction of its length, at which an extrapolated line may reach
zero."""


@dataclass(frozen=True)
class RankLoss:
    time: float
    elements: tuple[str, ...]
    contradiction: bool = False


def find_rank_loss(
    constraints: ConstraintMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray, jumps: np.ndarray, arrival: bool = False
) -> RankLoss | None:
    """Find the first of the samples t (k,), x (k, n), m (k, modes) at which constraints contradict each other, or the first
    position at which they lose rank: if the run reaches this position earlier, contradictions only follow from it. Events happen
    at the times `jumps` (s); with `arrival`, the motion after such a position is ignored."""
    wrong, lost = _contradiction(constraints, t, x, m), _singular_position(constraints, t, x, m, jumps, arrival)
    return lost if wrong is None or (lost is not None and t[1] < lost.time < wrong.time) else wrong


def _contradiction(constraints: ConstraintMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> RankLoss | None:
    if not constraints.closing.repeating:
        return None
    parts, shares = constraints.contradictions(t, x, m)
    wrong = np.flatnonzero(~(parts < MAX_CONTRADICTION))
    if not len(wrong):
        return None
    k = int(wrong[0])
    return RankLoss(float(t[k]), constraints.owners(constraints.closing.repeating, shares[k]), contradiction=True)


def _singular_position(
    constraints: ConstraintMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray, jumps: np.ndarray, arrival: bool
) -> RankLoss | None:
    measure = _ScaledRoots(constraints, constraints.entries(t, x, m))
    roots = measure.at_samples
    for k in _suspects(t.tolist(), roots.tolist(), arrival):
        if np.any((t[k] <= jumps) & (jumps <= t[k + 1])):
            continue
        # A run that ended early may have ended shortly before the singular position.
        beyond = 0.5 * (t[k + 1] - t[k]) if k + 2 == len(t) else 0.0
        zero = TOUCH_RATIO * roots[max(k - 1, 0) : k + 3].max()
        closest_points: dict[int, _ClosestPoint] = {}
        for i in (k - 1, k, k + 1):
            if 0 <= i < len(t) - 1 and not np.any((t[i] <= jumps) & (jumps <= t[i + 1])):
                curve = _StateCurve(constraints, t[i : i + 2], x[i : i + 2], m[k])
                closest_points[i] = _closest(constraints, measure, curve, t[k], t[k + 1] + beyond * (i != k))
        touching = [i for i, point in closest_points.items() if point.root < zero]
        others = [i for i in closest_points if i != k and not (arrival and i > k)]
        if k in touching or (others and [i for i in touching if i in others] == others):
            point = closest_points[touching[0]]  # on the side of arrival, not departure
            entries = constraints.at_samples(np.array([point.time]), point.state[None], m[k : k + 1])[0]
            A = measure.scaling.scaled(constraints.full.dense_of(entries))[0]
            shares = np.abs(np.linalg.eigh(A)[1][:, len(A) - measure.rank])
            return RankLoss(point.time, constraints.owners(range(len(A)), shares))
    return None


def roots_along(constraints: ConstraintMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> np.ndarray:
    return _ScaledRoots(constraints, constraints.entries(t, x, m)).at_samples


class _ScaledRoots:
    """Square roots of the smallest eigenvalue that is not zero throughout a run, scaled so that each diagonal entry is at most 1
    in the run."""

    def __init__(self, constraints: ConstraintMatrix, entries: np.ndarray):
        diagonals = constraints.diagonals(entries)
        largest = np.abs(diagonals).max(axis=0)
        scale = 1.0 / np.sqrt(np.where(largest > 0.0, largest, 1.0))
        self.scaling = RowScaling(scale, np.where(diagonals.sum(axis=0) < 0.0, -1.0, 1.0))
        self._constraints = constraints
        values = constraints.eigenvalues(entries, self.scaling)
        self.rank = int((values > RANK_TOLERANCE * values[:, -1:]).sum(axis=1).max())
        self.at_samples = self._roots(values)

    def roots(self, entries: np.ndarray) -> np.ndarray:
        return self._roots(self._constraints.eigenvalues(entries, self.scaling))

    def _roots(self, values: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(values[:, values.shape[1] - self.rank], 0.0))


def _suspects(t: Sequence[float], s: Sequence[float], arrival: bool = False) -> list[int]:
    """Return the intervals between samples within `EXTRAPOLATION` of which the lines through neighbouring samples of the square
    root s reach zero: every line that falls towards the interval, at least one; with `arrival`, only the earlier line counts."""
    intervals = []
    for k in range(len(t) - 1):
        falling_end = rising_end = None
        length = t[k + 1] - t[k]
        if k > 0 and s[k - 1] > s[k]:
            falling_end = t[k] + s[k] * (t[k] - t[k - 1]) / (s[k - 1] - s[k])
        if not arrival and k + 2 < len(t) and s[k + 2] > s[k + 1]:
            rising_end = t[k + 1] - s[k + 1] * (t[k + 2] - t[k + 1]) / (s[k + 2] - s[k + 1])
        ends = [end for end in (falling_end, rising_end) if end is not None]
        if ends and all(t[k] - EXTRAPOLATION * length <= end <= t[k + 1] + EXTRAPOLATION * length for end in ends):
            intervals.append(k)
    return intervals


class _StateCurve:
    """States between and beyond two samples (2, n), on the cubic through both samples with their rates."""

    def __init__(self, constraints: ConstraintMatrix, t: np.ndarray, x: np.ndarray, m: np.ndarray):
        self.t, self.x, self.m, self.length = t, x, m, t[1] - t[0]
        self.start, self.end = (constraints.bound.rates(float(a), b, m) for a, b in zip(t, x, strict=True))

    def state_at(self, t: float) -> np.ndarray:
        b = (t - self.t[0]) / self.length
        a, change = 1.0 - b, self.x[1] - self.x[0]
        bend = (b - a) * change + self.length * (a * self.start - b * self.end)
        return np.asarray(a * self.x[0] + b * self.x[1] + a * b * bend)


class _ClosestPoint(NamedTuple):
    time: float
    state: np.ndarray
    root: float


def _closest(constraints: ConstraintMatrix, measure: _ScaledRoots, curve: _StateCurve, low: float, high: float) -> _ClosestPoint:
    for _ in range(8):
        times = np.linspace(low, high, 17)
        states = np.array([curve.state_at(float(t)) for t in times])
        roots = measure.roots(constraints.entries(times, states, np.tile(curve.m, (len(times), 1))))
        best = int(roots.argmin())
        low, high = float(times[max(best - 1, 0)]), float(times[min(best + 1, 16)])
    return _ClosestPoint(float(times[best]), states[best], float(roots[best]))
