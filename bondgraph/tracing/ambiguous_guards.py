"""Check that no two transitions from one state have the same guard and different targets (E217): which one fires is ambiguous.

Guards, unless constant, are compared as recorded formulas: two functions that perform the same operations are the same guard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bondgraph.assembly.system import LoweredTransition, Statement, System
from bondgraph.errors import Problem
from bondgraph.model.model import Model
from bondgraph.tape import opcodes as op
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import Untraceable, Values, carry_out, shaped


def ambiguous_guards(system: System, model: Model) -> list[Problem]:
    groups: dict[tuple[int, int], list[LoweredTransition]] = {}
    for event in system.events:
        if not event.added_by_tracing:
            groups.setdefault((event.slot, event.source), []).append(event)
    several = [group for group in groups.values() if len({event.target for event in group}) > 1]
    if not several:
        return []
    guards = {event.guard for group in several for event in group}
    written = {name: statement for statement in system.statements for name in statement.outs if name in guards}
    return [_problem(pair, model) for group in several for pair in _conflicting_pairs(group, written, system)]


def _conflicting_pairs(
    group: Sequence[LoweredTransition], written: dict[str, Statement], system: System
) -> Iterator[tuple[LoweredTransition, LoweredTransition]]:
    tape = Tape()
    inputs: Values = {}
    first: dict[int, LoweredTransition] = {}
    for event in group:
        statement = written.get(event.guard)
        if statement is None or any(system.values[arg].shape is None for arg in statement.args):
            continue
        for arg in statement.args:
            if arg not in inputs:
                shape = system.values[arg].shape or ()
                inputs[arg] = shaped(list(tape.inputs(f"input_{len(inputs)}", int(np.prod(shape)))), shape)
        values = {arg: inputs[arg] for arg in statement.args}
        try:
            carry_out(statement, values)
        except Untraceable:
            continue
        guard = tape.scalar(values[event.guard]).index
        earlier = first.setdefault(guard, event)
        if earlier.target != event.target and tape.nodes[guard][0] != op.CONSTANT:
            yield earlier, event


def _problem(pair: tuple[LoweredTransition, LoweredTransition], model: Model) -> Problem:
    automaton = model.automata[pair[0].automaton]
    ends = [f'"{automaton.states[event.target]}"' for event in pair]
    return Problem(
        "E217",
        f'automaton "{automaton.name}": two transitions from "{automaton.states[pair[0].source]}" have the same guard',
        (f"they lead to {ends[0]} and to {ends[1]}: which one fires is ambiguous",),
        (automaton.place,),
        (
            "only one of these transitions",
            "guards that are never positive at the same time, such as minimum(guard, other) and minimum(guard, -other)",
        ),
    )
