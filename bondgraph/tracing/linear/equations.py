"""Linear equations from the residuals on a tape: their matrix, or a larger, sparser one with intermediate steps as unknowns.

Masses on levers share one acceleration, so the matrix of their forces is full, although the tape needs few operations per mass.
In such cases the steps between unknowns and residuals remain separate unknowns:

    v - sum_a c_a v_a = k        for a step v that depends on other steps with the slopes c_a and the offset k.

Solved in an order that causes little fill-in, the system of a tree of levers then costs a number of operations proportional to
the number of levers, as when inertias are reflected from lever to lever.
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
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries, nonzero, partials, through

MIN_WORK_RATIO = 4
"""Ratio of the operations that eliminate A to the entries of the larger matrix, above which the larger matrix is solved."""


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
