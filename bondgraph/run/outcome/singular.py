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

from bondgraph.run.bound import Bound
from bondgraph.run.program import Program

RANK = 1e-9
"""Eigenvalues below this part of the largest are zero: constraints that repeat others wherever they hold."""

TOUCHES = 1e-3
"""The root of an eigenvalue that falls to this part of what it is at the samples around it touches zero."""

CONTRADICTS = 1e-4
"""What redundant constraints may leave of their accelerations, as a part of these, before they contradict each other."""

BEYOND = 0.5
"""Part of an interval beyond its ends within which straight courses that meet zero are suspected."""

SHARE = 0.3
"""Part of the largest component of a null vector from which a constraint has a share in it."""


@dataclass(frozen=True)
class LostRank:
    """Where constraints stop to decide the motion: the time (s), the elements, and whether they contradict each other there."""

    time: float
    elements: tuple[str, ...]
    contradiction: bool = False


class ClosingMatrix:
    """The matrix of the constraints of a program at fixed parameters, along a run; times are those since its `origin`, s."""

    def __init__(self, program: Program, p: np.ndarray, origin: float = 0.0):
        assert program.closing is not None and program.closures is not None
        self.closing, self.kernel, self.bound = program.closing, program.closures, Bound(program, p, origin)
        self.rows, self.columns = np.array(self.closing.pattern, dtype=int).reshape(-1, 2).T

    def along(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A (k, n, n), and of rows that repeat others the right sides and what is left of them, at samples (k, ...)."""
        values = self.kernel.many(self.bound.origin + t[:, None], x, self.bound.p, m)[:, len(self.closing.flows) :]
        n, entries, count = len(self.closing.owners), len(self.rows), len(self.closing.repeating)
        A = np.zeros((len(t), n, n))
        A[:, self.rows, self.columns] = values[:, :entries]
        return A, values[:, entries : entries + count], values[:, entries + count :]

    def contradictions(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is left of the accelerations of constraints that repeat others, as a part of these, (k,), and where, (k, rows)."""
        places = list(self.closing.repeating)
        A, right, left = self.along(t, x, m)
        sizes = np.sqrt(np.abs(A[:, places, places]))
        left, right = np.abs(left / sizes), np.abs(right / sizes)
        # At rest there is no acceleration to compare with; what is stored gives the size, in times of a second.
        stored = [np.abs(self.bound.energies(float(a), b, c)).sum() for a, b, c in zip(t, x, m, strict=True)]
        floor = 1e-6 * np.sqrt(np.array(stored)) + 1e-300
        return np.linalg.norm(left, axis=1) / np.maximum(np.linalg.norm(right, axis=1), floor), left

    def owners(self, places: Sequence[int], shares: np.ndarray) -> tuple[str, ...]:
        """Elements of the rows with a share."""
        large = shares > SHARE * shares.max(initial=0.0)
        return tuple(dict.fromkeys(self.closing.owners[k] for k, own in zip(places, large, strict=True) if own))


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
    measure = _Measure(closures.along(t, x, m)[0])
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
            A = measure.scaled(closures.along(np.array([place.time]), place.state[None], m[k : k + 1])[0])[0]
            shares = np.abs(np.linalg.eigh(A)[1][:, len(A) - measure.rank])
            return LostRank(place.time, closures.owners(range(len(A)), shares))
    return None


class _Measure:
    """Rows measured by their largest diagonal entries in a run, the rank that the constraints have there at most, and the roots
    `along` the run (k,)."""

    def __init__(self, matrices: np.ndarray):
        diagonals = np.diagonal(matrices, axis1=1, axis2=2)
        largest = np.abs(diagonals).max(axis=0)
        self.scale = 1.0 / np.sqrt(np.where(largest > 0.0, largest, 1.0))
        self.signs = np.where(diagonals.sum(axis=0) < 0.0, -1.0, 1.0)
        values = np.linalg.eigvalsh(self.scaled(matrices))
        self.rank = int((values > RANK * values[:, -1:]).sum(axis=1).max())
        self.along = self._roots(values)

    def scaled(self, matrices: np.ndarray) -> np.ndarray:
        """The same matrices, symmetric and without units."""
        scaled = (self.signs * self.scale)[:, None] * matrices * self.scale
        return (scaled + scaled.transpose(0, 2, 1)) / 2.0

    def roots(self, matrices: np.ndarray) -> np.ndarray:
        """Root of the smallest eigenvalue that is not zero throughout, (k,)."""
        return self._roots(np.linalg.eigvalsh(self.scaled(matrices)))

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
