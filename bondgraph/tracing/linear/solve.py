"""Linear systems on a tape: A w = b by elimination with pivots that are chosen before, from sample values, or while it runs."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from screws.scalars import absolute, less, maximum, where

THRESHOLD = 1e-2
"""A pivot must be at least this part of the largest entry of its row, at every sample."""

SINGULAR = 1e-10
"""Pivots below this part of the largest entry that their equation had count as zero, at any sample."""

CANDIDATES = 64
"""Equations, shortest first, among which a pivot is sought."""


class SingularSystem(Exception):
    """No pivot is left: the remaining equations depend on the others, or the remaining unknowns have no equation."""

    def __init__(self, equations: Sequence[int], unknowns: Sequence[int]):
        self.equations = tuple(equations)
        self.unknowns = tuple(unknowns)
        super().__init__(f"equations {self.equations} do not determine unknowns {self.unknowns}")


@dataclass(frozen=True)
class Eliminated:
    """A linear system after elimination: its triangular part, and what no pivot was left for."""

    order: tuple[tuple[int, int], ...]
    """(equation, unknown) of the pivots."""
    rows: Sequence[Mapping[int, Any]]
    right: Sequence[Any]
    steps: tuple[tuple[int, int, Any], ...]
    """(equation, pivot's equation, factor): what was subtracted from an equation, in order."""
    equations: tuple[int, ...]
    """Those that depend on the others."""
    unknowns: tuple[int, ...]
    """Those that no equation decides."""
    least: float
    """Size of the smallest pivot, as a part of the largest entry that its equation had, at the worst sample."""
    left: float
    """Size of the largest entry that no pivot was found among, likewise."""

    def solution(self, free: Mapping[int, Any]) -> list[Any]:
        """The unknowns, with those that no equation decides given."""
        return self._back(self.right, free)

    def null_vector(self, unknown: int) -> list[Any]:
        """What solves the system without right sides, with this undecided unknown at 1 and the others at 0."""
        return self._back([0.0] * len(self.rows), {unknown: 1.0})

    def combination(self, equation: int) -> dict[int, Any]:
        """How much of each equation was added up to leave nothing of this one: a left null vector."""
        found: dict[int, Any] = {equation: 1.0}
        for k, i, factor in reversed(self.steps):
            if k in found:
                found[i] = found.get(i, 0.0) - found[k] * factor
        return found

    def _back(self, right: Sequence[Any], free: Mapping[int, Any]) -> list[Any]:
        w: list[Any] = [free.get(j, 0.0) for j in range(len(self.rows))]
        for i, j in reversed(self.order):
            rest = right[i]
            for column, value in self.rows[i].items():
                if column != j:
                    rest = rest - value * w[column]
            w[j] = rest / self.rows[i][j]
        return w


def rows_of(matrix: Mapping[tuple[int, int], Any], n: int) -> list[dict[int, Any]]:
    """Column -> entry, for each row of a matrix."""
    rows: list[dict[int, Any]] = [{} for _ in range(n)]
    for (i, j), value in matrix.items():
        rows[i][j] = value
    return rows


def solve(
    matrix: Mapping[tuple[int, int], Any],
    right: Sequence[Any],
    samples: Mapping[tuple[int, int], np.ndarray],
    ones_first: bool = False,
) -> list[Any]:
    """Solution w (n,) of A w = b as scalars of the tape; `SingularSystem` where there is none.

    Pivots are taken where few entries arise (Markowitz) among those that are large enough at all samples; zeros of the
    pattern cost nothing. The order is part of the code, so an A that is regular at the samples but singular with this
    order elsewhere gives no finite number there.

    Parameters
    ----------
    matrix : (equation, unknown) -> scalar, structurally nonzero entries only.
    right : b, one scalar for each equation.
    samples : values (k,) of the same entries at k states and modes.
    ones_first : whether of pivots that are as good one is preferred that is the number 1 or -1, by which nothing is divided.
    """
    found = eliminate(matrix, right, samples, ones_first)
    if found.equations:
        raise SingularSystem(found.equations, found.unknowns)
    return found.solution({})


def eliminate(
    matrix: Mapping[tuple[int, int], Any],
    right: Sequence[Any],
    samples: Mapping[tuple[int, int], np.ndarray],
    ones_first: bool = False,
) -> Eliminated:
    """Elimination of A w = b as far as there are pivots; arguments as of `solve`."""
    n = len(right)
    rows, numbers = rows_of(matrix, n), rows_of({place: np.array(samples[place], dtype=float) for place in matrix}, n)
    scale = [np.max([np.abs(v) for v in row.values()], axis=0) if row else np.zeros(1) for row in numbers]
    b = list(right)
    sizes = [_sizes(row, size) for row, size in zip(numbers, scale, strict=True)]
    ready = _Shortest([len(row) for row in rows])
    columns: list[set[int]] = [set() for _ in range(n)]
    for i, row in enumerate(rows):
        for j in row:
            columns[j].add(i)

    def is_one(i: int, j: int) -> bool:
        value = rows[i][j]
        return getattr(value, "value", value) in (1.0, -1.0)

    dear = (lambda i, j: not is_one(i, j)) if ones_first else (lambda i, j: False)
    order: list[tuple[int, int]] = []
    steps: list[tuple[int, int, Any]] = []
    least = 1.0
    while len(order) < n:
        first = ready.first(CANDIDATES)
        pivot = _pivot(first, sizes, columns, dear) or _pivot(ready.others(first), sizes, columns, dear)
        if pivot is None:
            break
        i, j = pivot
        order.append(pivot)
        least = min(least, sizes[i][j])
        ready.leave(i)
        for column in rows[i]:
            columns[column].discard(i)
        for k in sorted(columns[j]):
            factor, number = rows[k].pop(j) / rows[i][j], numbers[k].pop(j) / numbers[i][j]
            b[k] = b[k] - factor * b[i]
            steps.append((k, i, factor))
            for column, value in rows[i].items():
                if column == j:
                    continue
                known = rows[k].get(column, 0.0)
                rows[k][column] = known - factor * value
                numbers[k][column] = numbers[k].get(column, 0.0) - number * numbers[i][column]
                columns[column].add(k)
            sizes[k] = _sizes(numbers[k], scale[k])
            ready.change(k, len(rows[k]))
    equations = sorted(ready.lengths)
    unknowns = sorted(set(range(n)) - {j for _, j in order})
    left = max((float(_relative(numbers[i], scale[i]).max()) for i in equations if numbers[i]), default=0.0)
    return Eliminated(tuple(order), rows, b, tuple(steps), tuple(equations), tuple(unknowns), least, left)


class _Shortest:
    """Rows that are left, the shortest first, of equal ones the first."""

    def __init__(self, lengths: Sequence[int]):
        self.lengths = dict(enumerate(lengths))
        self._heap = [(length, i) for i, length in self.lengths.items()]
        heapq.heapify(self._heap)

    def first(self, count: int) -> list[int]:
        """The first ones, so many at most."""
        found: dict[int, None] = {}
        while self._heap and len(found) < count:
            length, i = heapq.heappop(self._heap)
            if self.lengths.get(i) == length:
                found[i] = None
        for i in found:
            heapq.heappush(self._heap, (self.lengths[i], i))
        return list(found)

    def others(self, first: Sequence[int]) -> list[int]:
        """All others in their order."""
        return sorted(self.lengths.keys() - set(first), key=lambda i: (self.lengths[i], i))

    def leave(self, i: int) -> None:
        """Row i is a pivot's."""
        del self.lengths[i]

    def change(self, i: int, length: int) -> None:
        """Row i has another length."""
        self.lengths[i] = length
        heapq.heappush(self._heap, (length, i))


def _relative(row: Mapping[int, np.ndarray], scale: np.ndarray) -> np.ndarray:
    """Sizes of entries (entries, samples) as parts of the largest one that the row had at each sample."""
    with np.errstate(invalid="ignore"):  # where a number has overflown its size is none, and no pivot
        return np.abs(np.array(list(row.values()))) / np.where(scale > 0.0, scale, 1.0)


def _sizes(row: Mapping[int, np.ndarray], scale: np.ndarray) -> dict[int, float]:
    """Unknown -> the smallest of these sizes over the samples."""
    return dict(zip(row, _relative(row, scale).min(axis=1).tolist(), strict=True)) if row else {}


def _pivot(
    ready: list[int], sizes: list[dict[int, float]], columns: list[set[int]], dear: Callable[[int, int], bool]
) -> tuple[int, int] | None:
    best, cost = None, (0, False, 0, 0)
    for i in ready:
        row = sizes[i]
        largest = max(row.values(), default=0.0)
        if not largest > SINGULAR:
            continue
        for j, size in row.items():
            if size >= THRESHOLD * largest:
                price = ((len(row) - 1) * (len(columns[j]) - 1), dear(i, j), i, j)
                if best is None or price < cost:
                    best, cost = (i, j), price
        if best is not None and cost[0] == 0:
            break
    return best


def solve_pivoted(matrix: Mapping[tuple[int, int], Any], right: Sequence[Any]) -> list[Any]:
    """As `solve`, with the largest entry of each column as pivot, chosen by `where` when the code runs.

    For an A whose zeros come and go. Rows are scaled by their largest entries first. A singular A gives no finite number.
    """
    n = len(right)
    rows = rows_of(matrix, n)
    for row, value in zip(rows, right, strict=True):
        largest: Any = functools.reduce(maximum, map(absolute, row.values()), 0.0)
        for j in row:
            row[j] = row[j] / largest
        row[n] = value / largest
    for k in range(n):
        below = [i for i in range(k + 1, n) if k in rows[i]]
        for i in below:
            other = less(absolute(rows[k].get(k, 0.0)), absolute(rows[i][k]))
            for j in sorted(rows[k].keys() | rows[i].keys()):
                if j >= k:
                    a, b = rows[k].get(j, 0.0), rows[i].get(j, 0.0)
                    rows[k][j], rows[i][j] = where(other, b, a), where(other, a, b)
        for i in below:
            factor = rows[i].pop(k) / rows[k][k]
            for j in sorted(rows[k]):
                if j > k:
                    rows[i][j] = rows[i].get(j, 0.0) - factor * rows[k][j]
    w: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        rest = rows[k].get(n, 0.0)
        for j in sorted(rows[k]):
            if k < j < n:
                rest = rest - rows[k][j] * w[j]
        w[k] = rest / rows[k][k]
    return w
