"""Stages of a sorted system: the statements to evaluate before all time derivatives, and the statements that depend on
derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import Loop, Statement, System, Unknown
from bondgraph.model.ops import TIME_DERIVATIVE, Choice


@dataclass(frozen=True)
class Step:
    """Statements that are evaluated together, in order: a single statement, or all statements of an algebraic loop."""

    statements: tuple[int, ...]
    loop: Loop | None


@dataclass(frozen=True)
class Stages:
    """The statements that target values depend on."""

    early: tuple[Step, ...]
    """Statements that need no time derivative."""
    late: tuple[int, ...]
    """Time derivatives, and the statements that need one."""
    yielding: frozenset[str]
    """Elements whose vanishing quantity depends on the unknowns themselves; it is not differentiated while such an unknown is
    active."""
    gates: Mapping[str, Statement]
    """Statement that selects each residual by a mode: (mode, value in active modes, value in all other modes)."""

    @property
    def statements(self) -> frozenset[int]:
        return frozenset(index for step in self.early for index in step.statements) | set(self.late)

    def acts(self, unknown: Unknown, values: Mapping[str, Any]) -> Any:
        """Return 1 if an unknown is active and 0 in modes that make it zero, as an expression of the modes."""
        gate = self.gates.get(unknown.residual)
        zero_else = gate is not None and gate.args[2] == unknown.value
        return gate.op(values[gate.args[0]], 1.0, 0.0) if gate is not None and zero_else else 1.0


def stages_of(system: System, targets: Iterable[str] | None = None, inputs: Container[str] = ()) -> Stages:
    """Return the stages of the statements that the targets depend on, by default of all statements.

    Values in `inputs`, such as values from outside a part, depend on nothing.
    """
    producer = {out: index for index, s in enumerate(system.statements) for out in s.outs if out not in inputs}
    derivatives = {index for index, s in enumerate(system.statements) if s.op is TIME_DERIVATIVE}
    needs = [[producer[arg] for arg in s.args if arg in producer] for s in system.statements]
    kept = range(len(needs)) if targets is None else sorted(_needed(system, targets, producer, derivatives, inputs))
    late = _dependents(needs, derivatives)
    loops = {index: loop for loop in system.loops for index in range(loop.start, loop.stop)}
    early = itertools.groupby(
        (index for index in kept if index not in late), lambda index: loops[index].start if index in loops else index
    )
    return Stages(
        tuple(Step(tuple(group), loops.get(first)) for first, group in early),
        tuple(index for index in kept if index in late),
        frozenset(u.element for u in system.unknowns if u.algebraic),
        {s.outs[0]: s for s in system.statements if isinstance(s.op, Choice)},
    )


def _dependents(needs: Sequence[Sequence[int]], seeds: Iterable[int]) -> set[int]:
    dependents = set(seeds)
    for index, before in enumerate(needs):
        if not dependents.isdisjoint(before):
            dependents.add(index)
    return dependents


def _needed(
    system: System, targets: Iterable[str], producer: Mapping[str, int], derivatives: Collection[int], inputs: Container[str]
) -> set[int]:
    """Return the statements that targets depend on: an unknown needs all unknowns of its set, and a time derivative needs all
    rates."""
    all_sets = [system.unknowns, *(loop.unknowns for loop in system.loops)]
    open_sets = [[u for u in unknowns if u.value not in inputs] for unknowns in all_sets]
    sets = {u.value: unknowns for unknowns in open_sets for u in unknowns}
    rates = [state.rate for state in system.states if state.name not in system.guesses and state.name not in inputs]
    pending, seen, statements = list(targets), set[str](), set[int]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        pending += [unknown.residual for unknown in sets.get(name, ())]
        index = producer.get(name)
        if index is not None and index not in statements:
            statements.add(index)
            pending += system.statements[index].args
            pending += rates if index in derivatives else ()
    return statements
