"""Stages: sorted System -> which of its statements come before all time derivatives and which wait for them, by index.

What runs the statements, on a tape (`bondgraph.tracing`) or with symbols (`bondgraph.export`), follows these stages.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.assembly.system import Loop, Statement, System, Unknown
from bondgraph.model.ops import TIME_DERIVATIVE, Choice


@dataclass(frozen=True)
class Step:
    """Statements that are run together, in order: one, or those of an algebraic loop."""

    statements: tuple[int, ...]
    loop: Loop | None


@dataclass(frozen=True)
class Stages:
    """The statements that wanted values follow from."""

    early: tuple[Step, ...]
    """Those that need no time derivative."""
    late: tuple[int, ...]
    """Those that are time derivatives, or need one."""
    yielding: frozenset[str]
    """Elements at which what vanishes depends on the unknowns themselves: where one acts on it, it is not differentiated."""
    gates: Mapping[str, Statement]
    """Residual -> the statement that chooses it by a mode: (mode, while it holds, while it does not)."""

    @property
    def statements(self) -> frozenset[int]:
        """All of them."""
        return frozenset(index for step in self.early for index in step.statements) | set(self.late)

    def acts(self, unknown: Unknown, values: Mapping[str, Any]) -> Any:
        """1 where an unknown acts, 0 in modes that make it zero themselves; in terms of the values of modes."""
        gate = self.gates.get(unknown.residual)
        zero_else = gate is not None and gate.args[2] == unknown.value
        return gate.op(values[gate.args[0]], 1.0, 0.0) if gate is not None and zero_else else 1.0


def stages_of(system: System, wanted: Iterable[str] | None = None, known: Container[str] = ()) -> Stages:
    """Stages of the statements that the wanted values follow from, of all statements without these; what is known already, such
    as what comes from outside of a part, follows from nothing."""
    producer = {out: index for index, s in enumerate(system.statements) for out in s.outs if out not in known}
    derivatives = {index for index, s in enumerate(system.statements) if s.op is TIME_DERIVATIVE}
    needs = [[producer[arg] for arg in s.args if arg in producer] for s in system.statements]
    kept = range(len(needs)) if wanted is None else sorted(_needed(system, wanted, producer, derivatives, known))
    late = _that_need(needs, derivatives)
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


def _that_need(needs: Sequence[Sequence[int]], seeds: Iterable[int]) -> set[int]:
    """The seeds, and all that need one of them."""
    found = set(seeds)
    for index, before in enumerate(needs):
        if not found.isdisjoint(before):
            found.add(index)
    return found


def _needed(
    system: System, wanted: Iterable[str], producer: Mapping[str, int], derivatives: Collection[int], known: Container[str]
) -> set[int]:
    """What wanted values follow from: solving for one unknown takes all of its set, a time derivative all rates."""
    sought = [system.unknowns, *(loop.unknowns for loop in system.loops)]
    open_sets = [[u for u in unknowns if u.value not in known] for unknowns in sought]
    sets = {u.value: unknowns for unknowns in open_sets for u in unknowns}
    rates = [state.rate for state in system.states if state.name not in system.guesses and state.name not in known]
    todo, seen, found = list(wanted), set[str](), set[int]()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += [unknown.residual for unknown in sets.get(name, ())]
        index = producer.get(name)
        if index is not None and index not in found:
            found.add(index)
            todo += system.statements[index].args
            todo += rates if index in derivatives else ()
    return found
