"""Gaussian elimination of linear systems A w = b on a tape, with pivots chosen before the run, from sample values, or at run
time.

Natural sizes make the results independent of units: factors of rows and columns bring the entries of a matrix close to one, and
the rounding error of a value is measured relative to the magnitudes of its terms.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from screws.scalars import absolute, equal, less, maximum, where

PIVOT_THRESHOLD = 1e-2
"""Minimum size of a pivot as a fraction of the largest size in its row; a size is the smallest over the samples."""

SINGULAR = 1e-10
"""Fraction of the largest original entry of its equation below which a pivot counts as zero, at any sample."""

MAX_CANDIDATES = 64
"""Number of shortest equations that are searched for a pivot; all other equations are searched only if these have none."""


class SingularSystem(Exception):
    """Error for a system without a further pivot: the remaining equations depend on the eliminated equations, or no equation
    contains the remaining unknowns."""

    def __init__(self, equations: Sequence[int], unknowns: Sequence[int]):
        self.equations = tuple(equations)
        self.unknowns = tuple(unknowns)
        super().__init__(f"equations {self.equations} do not determine unknowns {self.unknowns}")


@dataclass(frozen=True)
class Elimination:
    order: tuple[tuple[int, int], ...]
    """(equation, unknown) of the pivots."""
    rows: Sequence[Mapping[int, Any]]
    right: Sequence[Any]
    steps: tuple[tuple[int, int, Any], ...]
    """Row operations (equation, pivot's equation, factor), in order: the pivot's equation times the factor is subtracted."""
    equations: tuple[int, ...]
    unknowns: tuple[int, ...]
    least: float
    """Size of the smallest pivot, as a fraction of the largest original entry of its equation, at the worst sample."""
    remaining: float
    """Size of the largest entry left without a pivot, measured like the smallest pivot."""

    def solution(self, free: Mapping[int, Any]) -> list[Any]:
        return self._back(self.right, free)

    def null_vector(self, unknown: int) -> list[Any]:
        """Return the null vector with this free unknown at 1 and the other free unknowns at 0."""
        return self._back([0.0] * len(self.rows), {unknown: 1.0})

    def combination(self, equation: int) -> dict[int, Any]:
        """Return the left null vector of a dependent equation: the combination of equations that cancels."""
        factors: dict[int, Any] = {equation: 1.0}
        for k, i, factor in reversed(self.steps):
            if k in factors:
                factors[i] = factors.get(i, 0.0) - factors[k] * factor
        return factors

    def _back(self, right: Sequence[Any], free: Mapping[int, Any]) -> list[Any]:
        w: list[Any] = [free.get(j, 0.0) for j in range(len(self.rows))]
        for i, j in reversed(self.order):
            total = right[i]
            for column, value in self.rows[i].items():
                if column != j:
                    total = total - value * w[column]
            w[j] = total / self.rows[i][j]
        return w


def rows_of(matrix: Mapping[tuple[int, int], Any], n: int) -> list[dict[int, Any]]:
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
    """Solve A w = b for w (n,) as scalars of the tape; raises `SingularSystem` if A is singular.

    Of the pivots that are large enough at all samples, the pivot with the least fill-in (Markowitz) is chosen; structural zeros
    cost nothing. The order of pivots is fixed in the code: where a pivot vanishes at run time, the result is not finite.

    Parameters
    ----------
    matrix : scalar of each (equation, unknown), structurally nonzero entries only.
    right : b, one scalar for each equation.
    samples : values (k,) of the same entries at k states and modes.
    ones_first : among equally good pivots, prefer the numbers 1 and -1, to avoid divisions.
    """
    eliminated = eliminate(matrix, right, samples, ones_first)
    if eliminated.equations:
        raise SingularSystem(eliminated.equations, eliminated.unknowns)
    return eliminated.solution({})


def eliminate(
    matrix: Mapping[tuple[int, int], Any],
    right: Sequence[Any],
    samples: Mapping[tuple[int, int], np.ndarray],
    ones_first: bool = False,
) -> Elimination:
    """Eliminate A w = b until no pivots are left; arguments as in `solve`."""
    n = len(right)
    rows, numbers = rows_of(matrix, n), rows_of({entry: np.array(samples[entry], dtype=float) for entry in matrix}, n)
    scale = [np.max([np.abs(v) for v in row.values()], axis=0) if row else np.zeros(1) for row in numbers]
    b = list(right)
    sizes = [_sizes(row, size) for row, size in zip(numbers, scale, strict=True)]
    ready = _RowQueue([len(row) for row in rows])
    columns: list[set[int]] = [set() for _ in range(n)]
    for i, row in enumerate(rows):
        for j in row:
            columns[j].add(i)

    def is_one(i: int, j: int) -> bool:
        value = rows[i][j]
        return getattr(value, "value", value) in (1.0, -1.0)

    needs_division = (lambda i, j: not is_one(i, j)) if ones_first else (lambda i, j: False)
    order: list[tuple[int, int]] = []
    steps: list[tuple[int, int, Any]] = []
    least = 1.0
    while len(order) < n:
        first = ready.first(MAX_CANDIDATES)
        pivot = _pivot(first, sizes, columns, needs_division) or _pivot(ready.others(first), sizes, columns, needs_division)
        if pivot is None:
            break
        i, j = pivot
        order.append(pivot)
        least = min(least, sizes[i][j])
        ready.remove(i)
        for column in rows[i]:
            columns[column].discard(i)
        for k in sorted(columns[j]):
            factor, number = rows[k].pop(j) / rows[i][j], numbers[k].pop(j) / numbers[i][j]
            b[k] = b[k] - factor * b[i]
            steps.append((k, i, factor))
            for column, value in rows[i].items():
                if column == j:
                    continue
                rows[k][column] = rows[k].get(column, 0.0) - factor * value
                numbers[k][column] = numbers[k].get(column, 0.0) - number * numbers[i][column]
                columns[column].add(k)
            sizes[k] = _sizes(numbers[k], scale[k])
            ready.change(k, len(rows[k]))
    equations = sorted(ready.lengths)
    unknowns = sorted(set(range(n)) - {j for _, j in order})
    remaining = max((float(_relative(numbers[i], scale[i]).max()) for i in equations if numbers[i]), default=0.0)
    return Elimination(tuple(order), rows, b, tuple(steps), tuple(equations), tuple(unknowns), least, remaining)


class _RowQueue:
    def __init__(self, lengths: Sequence[int]):
        self.lengths = dict(enumerate(lengths))
        self._heap = [(length, i) for i, length in self.lengths.items()]
        heapq.heapify(self._heap)

    def first(self, count: int) -> list[int]:
        rows: dict[int, None] = {}
        while self._heap and len(rows) < count:
            length, i = heapq.heappop(self._heap)
            if self.lengths.get(i) == length:
                rows[i] = None
        for i in rows:
            heapq.heappush(self._heap, (self.lengths[i], i))
        return list(rows)

    def others(self, first: Sequence[int]) -> list[int]:
        return sorted(self.lengths.keys() - set(first), key=lambda i: (self.lengths[i], i))

    def remove(self, i: int) -> None:
        del self.lengths[i]

    def change(self, i: int, length: int) -> None:
        self.lengths[i] = length
        heapq.heappush(self._heap, (length, i))


def _relative(row: Mapping[int, np.ndarray], scale: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # a number that overflowed becomes nan, never a pivot
        return np.abs(np.array(list(row.values()))) / np.where(scale > 0.0, scale, 1.0)


def _sizes(row: Mapping[int, np.ndarray], scale: np.ndarray) -> dict[int, float]:
    return dict(zip(row, _relative(row, scale).min(axis=1).tolist(), strict=True)) if row else {}


def _pivot(
    ready: list[int], sizes: list[dict[int, float]], columns: list[set[int]], needs_division: Callable[[int, int], bool]
) -> tuple[int, int] | None:
    best, cost = None, (0, False, 0, 0)
    for i in ready:
        row = sizes[i]
        largest = max(row.values(), default=0.0)
        if not largest > SINGULAR:
            continue
        for j, size in row.items():
            if size >= PIVOT_THRESHOLD * largest:
                price = ((len(row) - 1) * (len(columns[j]) - 1), needs_division(i, j), i, j)
                if best is None or price < cost:
                    best, cost = (i, j), price
        if best is not None and cost[0] == 0:
            break
    return best


def solve_pivoted(matrix: Mapping[tuple[int, int], Any], right: Sequence[Any], filled: bool = False) -> list[Any]:
    return factorised_in_run(matrix, len(right), filled)(right)


def factorised_in_run(
    matrix: Mapping[tuple[int, int], Any], n: int, filled: bool = False
) -> Callable[[Sequence[Any]], list[Any]]:
    """Factorise a matrix A (n, n) with partial pivoting at run time, and return its solver.

    This suits a matrix whose zeros change with modes. Rows are scaled by their largest entries. Columns with the fewest entries
    come first; in each column, `where` selects the largest entry as the pivot. A singular A gives no finite result, unless
    missing pivots are `filled` with 1: an undetermined unknown is then the residual of its equation, zero if the equation is
    satisfied.
    """
    rows, largest = rows_of(matrix, n), list[Any]()
    for row in rows:
        largest.append(functools.reduce(maximum, map(absolute, row.values()), 0.0))
        if filled:
            largest[-1] = where(equal(largest[-1], 0.0), 1.0, largest[-1])
        for j in row:
            row[j] = row[j] / largest[-1]
    remaining, columns = set(range(n)), set(range(n))
    steps = list[tuple[int, int, list[tuple[int, Any, Any]]]]()
    while columns:
        counts = {j: sum(j in rows[i] for i in remaining) for j in columns}
        column = min(columns, key=lambda j: (counts[j], j))
        first, *others = sorted((i for i in remaining if column in rows[i]), key=lambda i: (len(rows[i]), i)) or [min(remaining)]
        remaining.discard(first)
        columns.discard(column)
        changes = []
        for i in others:
            larger = less(absolute(rows[first].get(column, 0.0)), absolute(rows[i][column]))
            for j in sorted(rows[first].keys() | rows[i].keys()):
                a, b = rows[first].get(j, 0.0), rows[i].get(j, 0.0)
                rows[first][j], rows[i][j] = where(larger, b, a), where(larger, a, b)
            changes.append((i, larger))
        if filled:
            pivot = rows[first].get(column, 0.0)
            rows[first][column] = where(less(absolute(pivot), NEGLIGIBLE), 1.0, pivot)
        factors = []
        for i in others:
            factors.append(rows[i].pop(column) / rows[first][column])
            for j in sorted(rows[first]):
                if j != column:
                    rows[i][j] = rows[i].get(j, 0.0) - factors[-1] * rows[first][j]
        steps.append((first, column, [(i, larger, factor) for (i, larger), factor in zip(changes, factors, strict=True)]))

    def solved(right: Sequence[Any]) -> list[Any]:
        b, w = [value / size for value, size in zip(right, largest, strict=True)], [0.0] * n
        for first, _, changes in steps:
            for i, larger, _ in changes:
                b[first], b[i] = where(larger, b[i], b[first]), where(larger, b[first], b[i])
            for i, _, factor in changes:
                b[i] = b[i] - factor * b[first]
        for first, column, _ in reversed(steps):
            total = b[first]
            for j in sorted(rows[first]):
                if j != column:
                    total = total - rows[first][j] * w[j]
            w[column] = total / rows[first][column]
        return w

    return solved


NEGLIGIBLE = 1e-13
"""Fraction of the product of row and column size below which an entry counts as rounding error and is ignored."""

_ROUNDS = 3

MAX_DENSE_ENTRIES = 2**18


def natural_sizes(samples: Mapping[tuple[int, int], np.ndarray], rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return factors r (rows,) and c (columns,) such that r_i |a_ij| c_j is close to one on average, in logarithms.

    A change of the unit of an equation or unknown changes no product r_i |a_ij| c_j; the order of rows and columns is irrelevant.

    Parameters
    ----------
    samples : values (k,) of the entries at k states; zeros are ignored.

    Source: Curtis and Reid 1972, On the automatic scaling of matrices for Gaussian elimination.
    """
    logs = {key: value for key, value in zip(samples, _mean_logs(samples), strict=True) if np.isfinite(value)}
    factors: np.ndarray = np.zeros(rows + columns)
    for _ in range(_ROUNDS):
        if not logs:
            break
        pairs = np.array([(i, rows + j) for i, j in logs])
        factors = _least_squares(pairs, -np.array(list(logs.values())), rows + columns)
        kept = {(i, j): v for (i, j), v in logs.items() if v + factors[i] + factors[rows + j] > np.log(NEGLIGIBLE)}
        if len(kept) == len(logs):
            break
        logs = kept
    return np.exp(factors[:rows]), np.exp(factors[rows:])


def _least_squares(pairs: np.ndarray, right: np.ndarray, count: int) -> np.ndarray:
    """Return the least-norm least-squares solution f (count,) of f[i] + f[j] = right for `pairs` (k, 2) of i and j."""
    if count * len(right) <= MAX_DENSE_ENTRIES:
        table = np.zeros((len(right), count))
        table[np.arange(len(right)), pairs[:, 0]] = table[np.arange(len(right)), pairs[:, 1]] = 1.0
        return np.asarray(np.linalg.lstsq(table, right, rcond=None)[0])

    def gathered(values: np.ndarray) -> np.ndarray:
        return np.bincount(pairs[:, 0], values, count) + np.bincount(pairs[:, 1], values, count)

    f, residual = np.zeros(count), gathered(right)
    direction, size = residual.copy(), float(residual @ residual)
    tolerance = 1e-20 * size
    for _ in range(count):
        if size <= tolerance:
            break
        image = gathered(direction[pairs].sum(axis=1))
        step = size / float(direction @ image)
        f, residual = f + step * direction, residual - step * image
        size, before = float(residual @ residual), size
        direction = residual + size / before * direction
    return f


def equilibrated(samples: Mapping[tuple[int, int], np.ndarray], rows: int, columns: int) -> dict[tuple[int, int], np.ndarray]:
    r, c = natural_sizes(samples, rows, columns)
    return {(i, j): np.asarray(values) * (r[i] * c[j]) for (i, j), values in samples.items()}


def matrices_of(samples: Mapping[tuple[int, int], np.ndarray], n: int) -> np.ndarray:
    """Return samples of a sparse matrix as dense matrices (k, n, n)."""
    matrices = np.zeros((len(next(iter(samples.values()))), n, n))
    for (i, j), values in samples.items():
        matrices[:, i, j] = values
    return matrices


def distinct_samples(samples: Mapping[tuple[int, int], np.ndarray]) -> dict[tuple[int, int], np.ndarray]:
    table = np.array(list(samples.values())).T
    kept = list({row.tobytes(): k for k, row in reversed(list(enumerate(table)))}.values())
    return dict(zip(samples, table[sorted(kept)].T, strict=True))


def _mean_logs(samples: Mapping[tuple[int, int], np.ndarray]) -> list[float]:
    if not samples:
        return []
    sizes = np.abs(np.array([np.asarray(values, dtype=float) for values in samples.values()]))
    counts = np.isfinite(sizes) & (sizes > 0.0)
    totals = np.log(np.where(counts, sizes, 1.0)).sum(axis=1)
    number = counts.sum(axis=1)
    return np.where(number > 0, totals / np.maximum(number, 1), -np.inf).tolist()  # type: ignore[no-any-return]


def magnitudes(tape: Tape, values: Sequence[Any]) -> list[TapeScalar]:
    """Return each value with all its terms taken as positive, so that none cancel.

    Sums and differences become |a| + |b|; products, numerators, negations and selections are followed; any other function has
    its absolute value. A sum that is zero except for rounding errors is about 1e-16 of this magnitude, whatever the units.
    """
    roots = [tape.scalar(value).index for value in values]
    sizes: dict[int, TapeScalar] = {}
    for position in reachable(tape, roots):
        node, scalar = tape.nodes[position], TapeScalar(tape, position)
        kind = node[0]
        if kind in (op.ADD, op.SUBTRACT):
            sizes[position] = sizes[node[1]] + sizes[node[2]]
        elif kind == op.MULTIPLY:
            sizes[position] = sizes[node[1]] * sizes[node[2]]
        elif kind == op.NEGATIVE:
            sizes[position] = sizes[node[1]]
        elif kind == op.WHERE:
            sizes[position] = where(TapeScalar(tape, node[1]), sizes[node[2]], sizes[node[3]])
        elif kind in op.CONDITIONS:
            sizes[position] = scalar
        else:
            sizes[position] = tape.scalar(absolute(scalar))
    return [sizes[root] for root in roots]
