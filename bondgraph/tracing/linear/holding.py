"""Equations of active ideal elements: a part of a linear system while all elements are active, and masks for released elements.

The mode of an ideal element decides its equation: a row of A w = b while the element is active, else w_i = o_i, which sets its
unknown to a number. So in any mode the active equations form a principal submatrix of A: rows and columns of released elements
are masked.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.equations import bordered
from bondgraph.tracing.linear.ideal_reactions import Ideal, RowGate
from bondgraph.tracing.linear.solve import distinct_samples, matrices_of, rows_of
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.discontinuities import is_discontinuous
from bondgraph.tracing.on_tape.values import Entries, nonzero, through
from screws.scalars import absolute, where

LEAST_DEFINITE = 2.0**-9
"""Minimum eigenvalue of A + A^T, in natural sizes, with which diagonal pivots are accurate although A is partly skew."""


@dataclass(frozen=True)
class CircuitTerm:
    """Equation slopes . w + offset = 0 of a circuit while the circuit `holds`, and the factor of this equation in each other
    equation."""

    holds: Any
    slopes: Mapping[int, Any]
    offset: Any
    factors: Mapping[int, Any]
    misfit: Mapping[int, Any]
    """Part of the contradiction that is subtracted from the right-hand side of each equation."""


@dataclass(frozen=True)
class ActiveEquations:
    """Equations of a part while all its elements are active, and the equations that replace them for released elements."""

    entries: Entries
    right: Sequence[Any]
    holds: Mapping[int, Any]
    """Condition under which an equation is active; an equation without an entry is always active."""
    released: Mapping[int, Any]
    """Value of an equation's unknown while the equation is inactive; zero while it is active."""
    never: frozenset[int]
    """Equations that are never active in the mode that an event sets."""
    factors: Sequence[Any]

    @property
    def coupled(self) -> Entries:
        return {(i, j): value for (i, j), value in self.entries.items() if i == j or i not in self.never}

    def multiplied(self, factors: Sequence[Any]) -> ActiveEquations:
        entries = {(i, j): value * factors[i] for (i, j), value in self.entries.items()}
        right = [b * factor for b, factor in zip(self.right, factors, strict=True)]
        return replace(self, entries=entries, right=right, factors=[a * b for a, b in zip(self.factors, factors, strict=True)])

    def right_without(self, i: int, released: Iterable[int]) -> Any:
        value = self.right[i]
        for j in released:
            if (i, j) in self.entries and not _is_zero(self.released[j]):
                value = value - self.entries[i, j] * self.released[j]
        return value

    def masked(self, sizes: Sequence[Any], terms: Sequence[CircuitTerm] = ()) -> tuple[Entries, list[Any]]:
        """Return entries and right-hand sides in all modes, with the terms of circuits; an inactive equation sets its unknown
        instead, scaled by the unknown's size in `sizes` (n,)."""
        entries: dict[tuple[int, int], Any] = {(i, i): 0.0 for i in range(len(self.right))}
        right = list(self.right)

        def add(i: int, j: int, value: Any, *conditions: Any) -> None:
            conditions = (*conditions, self.holds.get(i))
            if j in self.released and i != j and not _is_zero(self.released[j]):
                right[i] = right[i] - masked(value, *conditions) * self.released[j]
            entries[i, j] = entries.get((i, j), 0.0) + masked(value, *conditions, self.holds.get(j))

        for (i, j), value in self.entries.items():
            add(i, j, value)
        for term in terms:
            for i, part in term.misfit.items():
                right[i] = right[i] - masked(part, term.holds)
            for i, part in term.factors.items():
                right[i] = right[i] - masked(part, term.holds) * term.offset
                for j, slope in term.slopes.items():
                    add(i, j, part * slope, term.holds)
        for i, condition in self.holds.items():
            entries[i, i] = where(condition, entries[i, i], sizes[i])
            right[i] = where(condition, right[i], sizes[i] * self.released[i])
        return entries, right

    def masked_border(self, rows: Sequence[Mapping[int, Any]], sizes: Sequence[Any]) -> tuple[Entries, list[Any]]:
        """Return entries and right-hand sides in all modes for the `rows` of a matrix in which steps remain unknowns; `sizes`
        as in `masked`."""
        entries: dict[tuple[int, int], Any] = {}
        right = [*self.right, *([0.0] * (len(rows) - len(self.right)))]
        for i, row in enumerate(rows):
            condition = self.holds.get(i)
            entries |= {(i, j): masked(value, condition) for j, value in row.items() if i == j or j not in self.never}
            if condition is not None:
                entries[i, i] = where(condition, row.get(i, 0.0), sizes[i])
                right[i] = where(condition, right[i], sizes[i] * self.released[i])
        return entries, right


def active_equations(
    context: TracingContext, entries: Entries, right: Sequence[Any], gates: Mapping[int, RowGate]
) -> ActiveEquations | None:
    """Return the equations of A w = b while all elements are active, or None if elements of one automaton are active in different
    states, a released equation contains other unknowns, or an active equation depends on modes."""
    tape = context.tape
    rows = rows_of(entries, len(right))
    varying = {i: gate for i, gate in gates.items() if tape.scalar(gate.holds).value != 1.0}
    states: dict[tuple[str, int], float] = {}
    for gate in varying.values():
        if states.setdefault(("m", gate.slot), float(gate.active[0])) not in gate.active:
            return None
    held: dict[tuple[int, int], Any] = {}
    left: list[Any] = list(right)
    holds, released = dict[int, Any](), dict[int, Any]()
    for i, row in enumerate(rows):
        values = list(row.values())
        if i in varying:
            gate = varying[i]
            offs = [specialise(tape, [right[i], *values], {("m", gate.slot): float(state)}) for state in gate.others]
            if any(set(nonzero(dict(zip(row, off[1:], strict=True)))) != {i} for off in offs):
                return None
            holds[i] = gate.holds
            released[i] = 0.0 if all(off[0].value == 0.0 for off in offs) else where(gate.holds, 0.0, right[i] / row[i])
        left[i], *values = specialise(tape, [right[i], *values], states)
        held |= nonzero({(i, j): tape.scalar(value) for j, value in zip(row, values, strict=True)})
    if {mode.index for mode in context.inputs["m"]} & context.reached(list(held.values())):
        return None
    never = frozenset(i for i, condition in holds.items() if tape.scalar(condition).value == 0.0)
    for (i, j), value in held.items():
        if j in never and i != j:
            left[i] = left[i] - value * released[j]
    kept = {(i, j): value for (i, j), value in held.items() if i == j or j not in never}
    return ActiveEquations(kept, left, holds, released, never, [1.0] * len(left))


@dataclass(frozen=True)
class Border:
    """Rows of a matrix whose last unknowns, its border, are intermediate steps; sizes of its unknowns, and the condition under
    which the rows are correct."""

    rows: list[dict[int, Any]]
    late: list[int]
    """Unknowns whose pivots a run chooses."""
    sizes: list[Any]
    is_correct: Any


def bordered_equations(
    context: TracingContext, held: ActiveEquations, ideal: Ideal, steps: Entries, scale: np.ndarray
) -> Border | None:
    """Return the matrix in which only a few steps, its border, remain unknowns; None if it depends on modes, or if a run would
    have to choose too many of its pivots.

    All other pivots belong to elements that dissipate enough without the border. The symmetric part of their matrix is positive
    definite, and so is that of each principal submatrix: in no mode do their diagonal pivots vanish.
    """
    n, holding = len(scale), {("m", gate.slot): float(gate.active[0]) for gate in ideal.gates.values()}
    entries = nonzero(through(functools.partial(specialise, context.tape, fixed=holding), steps))
    rows, is_correct = bordered(context, entries, n)
    rows = [{j: value * held.factors[i] for j, value in row.items()} for i, row in enumerate(rows[:n])] + rows[n:]
    if {mode.index for mode in context.inputs["m"]} & context.reached([value for row in rows for value in row.values()]):
        return None
    numbers = context.sampled({(i, j): value for i, row in enumerate(rows) for j, value in row.items()})
    matrices, natural = matrices_of(distinct_samples(numbers), len(rows)), list(scale)
    for k in range(n, len(rows)):
        natural.append(max(np.abs(matrices[:, k, j]).max() * natural[j] for j in rows[k] if j != k))
    scaled = matrices[:, :n, :n] * scale * scale[:, None]
    early = np.flatnonzero(np.diagonal(scaled, axis1=1, axis2=2).min(axis=0) > LEAST_DEFINITE)
    inner = scaled[:, early[:, None], early]
    is_definite = np.linalg.eigvalsh(inner + inner.transpose(0, 2, 1)).min(initial=np.inf) > LEAST_DEFINITE
    late = [k for k in range(len(rows)) if k not in early]
    if not is_definite or 2 * len(late) > n:
        return None
    sizes = [sum(absolute(a) * float(natural[j] / scale[i]) for j, a in row.items()) for i, row in enumerate(rows[:n])]
    return Border(rows, late, [*sizes, *([0.0] * (len(rows) - n))], is_correct)


@dataclass(frozen=True)
class Levels:
    """Equations of a part while all its elements are active, at two levels: an implicit step of a short length h has the matrix
    A0 + h A1, where A0 are the derivatives of vanishing quantities with respect to the unknowns, and A1 the derivatives of their
    rates."""

    every: ActiveEquations
    """Equations of vanishing quantities on which unknowns act, and of the rates of the other vanishing quantities."""
    values: ActiveEquations
    """Equations of vanishing quantities, A0; the equations of rates are empty."""
    rated: frozenset[int]
    """Equations of the rates; empty if no unknown of level A0 acts on the rates, because both levels are then solved as one."""
    rates: Entries
    """A1 up to factors of its rows, which start at row n; empty if `rated` is empty."""

    @property
    def separate(self) -> Entries:
        return {(i, j): value for (i, j), value in self.every.entries.items() if (i in self.rated) == (j in self.rated)}


def levels_of(context: TracingContext, held: ActiveEquations, ideal: Ideal) -> Levels:
    """Separate active equations by their levels.

    All equations count as one level if no unknown of level A0 acts on the rates, or if a vanishing quantity jumps with time or
    depends on an unknown whose own equation is that of a rate.
    """
    rated, n = ideal.rated, len(held.right)
    acting = {key for key, numbers in context.sampled(held.entries).items() if np.any(numbers != 0.0)} if held.entries else ()
    others, one_level = [i for i in range(n) if i not in rated], Levels(held, held, frozenset(), {})
    if not any(i in rated and j not in rated for i, j in acting):
        return one_level
    if any(j in rated and i not in rated for i, j in acting) or is_discontinuous(context, [held.right[i] for i in others]):
        return one_level
    entries = {(i, j): value for (i, j), value in held.entries.items() if i not in rated and j not in rated}
    right = [0.0 if i in rated else value for i, value in enumerate(held.right)]
    derived = ideal.derived([{i: held.factors[i]} for i in others], [held.right[i] for i in others])
    rates = {(n + i, j): value for (i, j), value in held.entries.items() if i in rated}
    rates |= {(n + i, j): slope for i, (row, _) in zip(others, derived, strict=True) for j, slope in row.items()}
    holding = {("m", gate.slot): float(gate.active[0]) for gate in ideal.gates.values()}
    rates = nonzero(through(functools.partial(specialise, context.tape, fixed=holding), rates))
    return Levels(held, replace(held, entries=entries, right=right), rated, rates)


def masked(value: Any, *conditions: Any) -> Any:
    distinct = list(dict.fromkeys(condition for condition in conditions if condition is not None))
    return where(functools.reduce(operator.and_, distinct), value, 0.0) if distinct else value


def _is_zero(value: Any) -> bool:
    return bool(getattr(value, "value", value) == 0.0)
