"""Linear equations from the residuals on a tape: their matrix, or a larger, sparser one with intermediate steps as unknowns.

Masses on levers share one acceleration, so the matrix of their forces is full, although the tape needs few operations per mass.
In such cases the steps between unknowns and residuals remain separate unknowns:

    v - sum_a c_a v_a = k        for a step v that depends on other steps with the slopes c_a and the offset k.

Solved in an order that causes little fill-in, the system of a tree of levers then costs a number of operations proportional to
the number of levers, as when inertias are reflected from lever to lever.

Where pivots depend on modes, only a few steps remain unknowns, in the border of the matrix. Through each of them, many unknowns
act on many equations, like the currents of all branches on the voltage behind a common resistor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.tape.differentiate import active_nodes, slopes, sparsity_pattern
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tracing.linear.solve import equilibrated, matrices_of, rows_of
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries, nonzero, partials, through
from screws.scalars import absolute, equal

MIN_WORK_RATIO = 4
"""Ratio of the operations that eliminate A to the entries of the larger matrix, above which the larger matrix is solved."""

LEAST_SLOPE = 1e-9
"""Derivative, in natural sizes, up to which a step counts as independent of an unknown."""


@dataclass(frozen=True, eq=False)
class SparseEquations:
    """Linear equations A w = b for `count` unknowns w.

    `steps` is the larger matrix with `size` rows, whose first `count` rows and columns belong to w; None if A itself is used.
    `offsets` is the right-hand side from the tape, so that b, in which large terms may cancel, is never formed.
    """

    count: int
    matrix: Callable[[], Entries]
    steps: Entries | None = None
    size: int = 0
    offsets: Sequence[Any] | None = None

    @cached_property
    def entries(self) -> Entries:
        """Matrix A, as a scalar for each (equation, unknown), which takes long to compute for equations with steps."""
        return self.matrix()

    def through(self, function: Callable[[Sequence[Any]], Sequence[Any]]) -> SparseEquations:
        steps = None if self.steps is None else nonzero(through(function, self.steps))
        return SparseEquations(self.count, lambda: nonzero(through(function, self.entries)), steps, self.size)

    @property
    def scalars(self) -> list[Any]:
        """Entries of the matrix that is solved, on which all entries of A depend."""
        return list((self.entries if self.steps is None else self.steps).values())


def given_equations(entries: Entries, count: int) -> SparseEquations:
    return SparseEquations(count, lambda: entries)


def equations_of(context: TracingContext, residuals: Sequence[Any], w: Sequence[TapeScalar]) -> SparseEquations:
    """Return the equations residuals = 0 in the unknowns w; the caller checks that they are linear."""
    tape = context.tape
    columns, _ = sparsity_pattern(residuals, list(w))
    operations = np.sum(np.diff(columns).astype(float) ** 2) / 3.0  # without fill
    if operations > MIN_WORK_RATIO * len(w):
        steps, offsets = _steps(tape, residuals, w)
        if operations > MIN_WORK_RATIO * len(steps):
            return SparseEquations(len(w), lambda: partials(residuals, w), steps, len(offsets), offsets)
    return SparseEquations(len(w), lambda: partials(residuals, w))


def _steps(
    tape: Tape, residuals: Sequence[Any], w: Sequence[TapeScalar]
) -> tuple[dict[tuple[int, int], Any], tuple[TapeScalar, ...]]:
    roots = [tape.scalar(residual).index for residual in residuals]
    seeds = {scalar.index: column for column, scalar in enumerate(w)}
    order = [position for position in active_nodes(tape, roots, seeds) if position not in seeds]
    active = seeds.keys() | set(order)
    combinations = {position: _Combination.of(tape, position, active) for position in order}
    users = Counter([*roots, *(a for row in combinations.values() for a in row.slopes)])
    rows: dict[int, _Combination] = {}
    inlined: dict[int, _Combination] = {}
    for position, row in combinations.items():
        row = row.with_steps(tape, inlined)
        single = len(row.slopes) == 1 and users[position] == 1  # depends on one step and is used once: not a separate step
        (inlined if single else rows)[position] = row
    one, zero = tape.constant(1.0), tape.constant(0.0)
    ends = [_Combination({root: one}, zero).with_steps(tape, inlined) for root in roots]
    index = {position: len(w) + k for k, position in enumerate(rows)} | seeds
    entries = {(i, index[a]): c for i, end in enumerate(ends) for a, c in end.slopes.items()}
    entries |= {(index[position], index[position]): one for position in rows}
    entries |= {(index[position], index[a]): tape.negative(c) for position, row in rows.items() for a, c in row.slopes.items()}
    right = [*(tape.negative(end.offset) for end in ends), *(row.offset for row in rows.values())]
    return nonzero({key: TapeScalar(tape, c) for key, c in entries.items()}), tuple(TapeScalar(tape, c) for c in right)


def bordered(context: TracingContext, entries: Entries, count: int) -> tuple[list[dict[int, Any]], Any]:
    """Return the rows of a matrix with steps, in which only the `count` unknowns w and a few steps, the border, remain
    unknowns, and the condition under which the rows are correct; all other steps are eliminated.

    Slopes that depend only on parameters and are zero at the samples, also with other parameters, are left out. The condition is
    that they are zero.
    """
    numbers, others, inputs = context.sampled(entries), context.sampled.with_other_parameters()(entries), context.inputs
    changing = {scalar.index for block in ("t", "x", "m") for scalar in inputs[block]}
    zero = [key for key in entries if not (np.any(numbers[key]) or np.any(others[key]))]
    absent = {key for key in zero if not changing & context.reached([entries[key]])}
    rows = rows_of({key: value for key, value in entries.items() if key not in absent}, 1 + max(i for i, _ in entries))
    border = _border({key: numbers[key] for key in entries if key not in absent}, len(rows), count)
    position = {step: count + k for k, step in enumerate(border)}
    sums: list[dict[int, Any]] = [{k: 1.0} for k in range(count)]

    def summed(row: Mapping[int, Any], sign: float) -> dict[int, Any]:
        total: dict[int, Any] = {}
        for j, slope in row.items():
            for k, value in sums[j].items():
                total[k] = total.get(k, 0.0) + sign * slope * value
        return {k: value for k, value in total.items() if getattr(value, "value", value) != 0.0}

    last = list[dict[int, Any]]()
    for step in range(count, len(rows)):
        combination = summed({j: slope for j, slope in rows[step].items() if j != step}, -1.0)
        if step in position:
            last.append({position[step]: 1.0} | {k: -value for k, value in combination.items()})
            combination = {position[step]: 1.0}
        sums.append(combination)
    left_out = sum((absolute(entries[key]) for key in sorted(absent)), 0.0)
    return [*(summed(row, 1.0) for row in rows[:count]), *last], equal(left_out, 0.0)


def _border(numbers: Mapping[tuple[int, int], np.ndarray], size: int, count: int) -> list[int]:
    """Return, in ascending order, the steps to keep as unknowns, chosen one by one so that A has the fewest entries at the last
    sample."""
    scaled = {key: values[-1:] for key, values in equilibrated(numbers, size, size).items()}
    matrix, border, steps = matrices_of(scaled, size)[0], list[int](), list(range(count, size))
    while steps:
        inverse = np.linalg.inv(matrix[np.ix_(steps, steps)])
        above, below = inverse @ matrix[steps, :count], matrix[:count, steps] @ inverse
        full = matrix[:count, :count] - matrix[:count, steps] @ above
        paths = zip((below / inverse.diagonal()).T, above, strict=True)
        left = np.array([_count(full + np.outer(column, row)) + _count(column) + _count(row) for column, row in paths])
        k = int(np.argmin(left))
        if left[k] >= _count(full):
            break
        border.append(steps.pop(k))
    return sorted(border)


def _count(slopes: np.ndarray) -> int:
    return int((np.abs(slopes) > LEAST_SLOPE).sum())


@dataclass(frozen=True)
class _Combination:
    """A step as a sum of other steps times slopes, plus an offset; all are positions on the tape."""

    slopes: Mapping[int, int]
    offset: int

    @staticmethod
    def of(tape: Tape, position: int, active: Collection[int]) -> _Combination:
        code, *arguments = tape.nodes[position]
        total: dict[int, int] = {}
        for argument, slope in slopes(tape, position):
            if argument in active:
                total[argument] = tape.add(total[argument], slope) if argument in total else slope
        return _Combination(total, tape.apply(code, *[tape.constant(0.0) if a in active else a for a in arguments]))

    def with_steps(self, tape: Tape, steps: Mapping[int, _Combination]) -> _Combination:
        total, offset = dict[int, int](), self.offset
        for argument, slope in self.slopes.items():
            inner = steps.get(argument, _Combination({argument: tape.constant(1.0)}, tape.constant(0.0)))
            offset = tape.add(offset, tape.multiply(slope, inner.offset))
            for a, factor in inner.slopes.items():
                term = tape.multiply(slope, factor)
                total[a] = tape.add(total[a], term) if a in total else term
        return _Combination(total, offset)
