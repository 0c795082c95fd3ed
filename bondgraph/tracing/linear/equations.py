"""Equations: residuals that are linear in unknowns, as a tape computes them -> their matrix, or a larger and sparser one.

Masses on levers have one acceleration in common, so that the matrix of their forces is full, although the tape needs few
operations a mass. Where that is so, steps on the way from unknowns to residuals stay unknowns of their own:

    v - sum_a c_a v_a = k        for a step v that follows from others with the slopes c_a and the offset k.

Solved in an order that adds few entries, the system of a tree of levers then costs as many operations as it has levers, as when
inertias are reflected from lever to lever. Without the steps it is the matrix itself.
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
from bondgraph.tracing.on_tape.context import Ground
from bondgraph.tracing.on_tape.values import Entries, nonzero, partials, through

SPARSER = 4
"""How many times the entries of the larger matrix the operations must be that elimination of A takes, for it to be solved."""


@dataclass(frozen=True, eq=False)
class SparseEquations:
    """A w = b for `count` unknowns w; `steps` is the larger matrix, whose first rows and columns are these; None where it is no
    better, and then `size` is the count of its rows. `offsets` are its right side for what the tape computes: those of the steps
    themselves, so that b, of which large terms may leave little, is never formed."""

    count: int
    matrix: Callable[[], Entries]
    steps: Entries | None = None
    size: int = 0
    offsets: Sequence[Any] | None = None

    @cached_property
    def entries(self) -> Entries:
        """A, (equation, unknown) -> scalar; of those with steps not to be asked for without need."""
        return self.matrix()

    def through(self, function: Callable[[Sequence[Any]], Sequence[Any]]) -> SparseEquations:
        """With all entries passed through a function, and those left out that become zero: for a right side of its own."""
        steps = None if self.steps is None else nonzero(through(function, self.steps))
        return SparseEquations(self.count, lambda: nonzero(through(function, self.entries)), steps, self.size)

    @property
    def scalars(self) -> list[Any]:
        """Entries that all others follow from."""
        return list((self.entries if self.steps is None else self.steps).values())


def given_equations(entries: Entries, count: int) -> SparseEquations:
    """Equations by their matrix."""
    return SparseEquations(count, lambda: entries)


def equations_of(ground: Ground, residuals: Sequence[Any], w: Sequence[TapeScalar]) -> SparseEquations:
    """The equations by which residuals vanish, in terms of unknowns w. Whether they are linear is for the caller to ask."""
    tape = ground.tape
    columns, _ = sparsity_pattern(residuals, list(w))
    operations = np.sum(np.diff(columns).astype(float) ** 2) / 3.0  # without new entries
    if operations > SPARSER * len(w):
        steps, offsets = _steps(tape, residuals, w)
        if operations > SPARSER * len(steps):
            return SparseEquations(len(w), lambda: partials(residuals, w), steps, len(offsets), offsets)
    return SparseEquations(len(w), lambda: partials(residuals, w))


def _steps(
    tape: Tape, residuals: Sequence[Any], w: Sequence[TapeScalar]
) -> tuple[dict[tuple[int, int], Any], tuple[TapeScalar, ...]]:
    """Residuals and the steps to them as rows, unknowns and steps as columns; and the right side of each row."""
    roots = [tape.scalar(residual).index for residual in residuals]
    seeds = {scalar.index: column for column, scalar in enumerate(w)}
    order = [position for position in active_nodes(tape, roots, seeds) if position not in seeds]
    active = seeds.keys() | set(order)
    own = {position: _Combination.of(tape, position, active) for position in order}
    users = Counter([*roots, *(a for row in own.values() for a in row.slopes)])
    rows: dict[int, _Combination] = {}
    passing: dict[int, _Combination] = {}
    for position, row in own.items():
        row = row.with_steps(tape, passing)
        single = len(row.slopes) == 1 and users[position] == 1  # follows from one and is used once: no step of its own
        (passing if single else rows)[position] = row
    one, zero = tape.constant(1.0), tape.constant(0.0)
    ends = [_Combination({root: one}, zero).with_steps(tape, passing) for root in roots]
    place = {position: len(w) + k for k, position in enumerate(rows)} | seeds
    found = {(i, place[a]): c for i, end in enumerate(ends) for a, c in end.slopes.items()}
    found |= {(place[position], place[position]): one for position in rows}
    found |= {(place[position], place[a]): tape.negative(c) for position, row in rows.items() for a, c in row.slopes.items()}
    right = [*(tape.negative(end.offset) for end in ends), *(row.offset for row in rows.values())]
    return nonzero({key: TapeScalar(tape, c) for key, c in found.items()}), tuple(TapeScalar(tape, c) for c in right)


@dataclass(frozen=True)
class _Combination:
    """What a step is: the sum of others by their slopes, and an offset; all as positions on the tape."""

    slopes: Mapping[int, int]
    offset: int

    @staticmethod
    def of(tape: Tape, position: int, active: Collection[int]) -> _Combination:
        """That of a node, in terms of those that are active."""
        code, *arguments = tape.nodes[position]
        found: dict[int, int] = {}
        for argument, slope in slopes(tape, position):
            if argument in active:
                found[argument] = tape.add(found[argument], slope) if argument in found else slope
        return _Combination(found, tape.apply(code, *[tape.constant(0.0) if a in active else a for a in arguments]))

    def with_steps(self, tape: Tape, known: Mapping[int, _Combination]) -> _Combination:
        """With some of the steps put in."""
        found, offset = dict[int, int](), self.offset
        for argument, slope in self.slopes.items():
            inner = known.get(argument, _Combination({argument: tape.constant(1.0)}, tape.constant(0.0)))
            offset = tape.add(offset, tape.multiply(slope, inner.offset))
            for a, factor in inner.slopes.items():
                term = tape.multiply(slope, factor)
                found[a] = tape.add(found[a], term) if a in found else term
        return _Combination(found, offset)
