"""Breaks: times at which what depends on time and parameters alone jumps or bends -> a routine of the parameters.

A step of integration must not lead across such a time, or it may miss what happens there. Each comparison, and each function
that selects, is solved for the time at which it changes (`roots`). What has no such form is left to the error of the steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.assembly.execute import environment
from bondgraph.assembly.system import Statement, System
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tracing.instants.roots import Root, Roots
from bondgraph.tracing.on_tape.values import Values, carry_out, scalars_of


@dataclass(frozen=True)
class Breaks:
    """Elements by path, one for each break, and a routine of the parameters: a time for each (s, not finite where there is
    none), then a period for each (s, infinite where it comes once)."""

    elements: tuple[str, ...]
    routine: Routine


def breaks_of(system: System) -> Breaks | None:
    """All breaks of a system whose shapes are known; None where there are none."""
    if not system.clocks and not system.events and not any("time" in s.args for s in system.statements):
        return None
    cone = _Cone(system)
    found: dict[tuple[int, int], tuple[Root, str]] = {}
    for element, root in cone.roots():
        found.setdefault((root.time.index, root.period.index), (root, element))
    if not found:
        return None
    roots = [root for root, _ in found.values()]
    block = (("p", cone.tape.blocks["p"]),)
    routine = Routine("breaks", cone.tape, block, tuple([r.time for r in roots] + [r.period for r in roots]))
    return Breaks(tuple(element for _, element in found.values()), routine)


@dataclass
class _Cone:
    """What depends on time, on a tape of its own: values of time and parameters as they are, all others as inputs."""

    system: System
    tape: Tape = field(default_factory=Tape)

    def __post_init__(self) -> None:
        count = sum(int(np.size(value)) for value in self.system.parameters.values())
        time, numbers = self.tape.inputs("t", 1)[0], self.tape.inputs("p", count)
        self.tape.inputs("other", 0)
        self.known: Values = environment(replace(self.system, states=(), modes={}), time, (), numbers, ())
        self.foreign: Values = {}
        self.solver = Roots(self.tape)

    def roots(self) -> Iterator[tuple[str, Root]]:
        """Breaks with the elements that they come from."""
        for clock in self.system.clocks:
            if not clock.updates:
                for at in scalars_of(self.known[clock.offset]):
                    yield clock.element, self.solver.once(at)
        moving = {"time"}
        for statement, needed in self._statements(moving):
            first = len(self.tape)
            for earlier in needed:
                carry_out(earlier, self.known)
            env = {arg: self._value(arg) for arg in statement.args}
            carry_out(statement, env)
            self._keep(statement, env, moving)
            for position in range(first, len(self.tape)):
                for root in self.solver.switching(position):
                    yield statement.element, root
        guards = {event.guard: event.automaton for event in self.system.events}
        for name in guards.keys() & self.known.keys():
            for root in self.solver.solved(self.tape.scalar(self.known[name]), self.tape.scalar(0.0)):
                yield guards[name], root

    def _statements(self, moving: set[str]) -> Iterator[tuple[Statement, list[Statement]]]:
        """Statements with an argument that depends on time alone, each with those of parameters alone that it needs first."""
        fixed: dict[str, Statement] = {}
        done: set[int] = set()
        numbers = set(self.system.parameters)
        for statement in self.system.statements:
            if statement.op is TIME_DERIVATIVE:
                continue
            if all(arg in numbers for arg in statement.args):
                numbers.update(statement.outs)
                fixed.update(dict.fromkeys(statement.outs, statement))
            elif any(arg in moving for arg in statement.args):
                yield statement, _needed(statement.args, fixed, done)

    def _value(self, name: str) -> Any:
        """A value that is known by time and parameters, else inputs in its place."""
        if name in self.known:
            return self.known[name]
        if name not in self.foreign:
            shape = self.system.values[name].shape or ()
            inputs = self._others(math.prod(shape))
            self.foreign[name] = inputs.reshape(shape) if shape else inputs[0]
        return self.foreign[name]

    def _others(self, count: int) -> np.ndarray:
        """So many inputs (count,) more of one block, for values that are known neither by time nor by parameters."""
        blocks, start = self.tape.blocks, self.tape.blocks["other"]
        blocks["other"] += count
        number, scalars = list(blocks).index("other"), np.empty(count, dtype=object)
        for k in range(count):
            scalars[k] = TapeScalar(self.tape, self.tape.intern((op.INPUT, number, start + k)))
        return scalars

    def _keep(self, statement: Statement, env: Values, moving: set[str]) -> None:
        """Results that depend on time and parameters alone."""
        for out in statement.outs:
            scalars = [self.tape.scalar(scalar) for scalar in scalars_of(env[out])]
            if all(self.solver.alone(scalar.index) for scalar in scalars):
                self.known[out] = env[out]
                if any(self.solver.moving(scalar.index) for scalar in scalars):
                    moving.add(out)


def _needed(names: Sequence[str], fixed: dict[str, Statement], done: set[int]) -> list[Statement]:
    """Statements of parameters alone that give these values, in their order, each once."""
    found: list[Statement] = []
    for name in names:
        statement = fixed.get(name)
        if statement is not None and id(statement) not in done:
            done.add(id(statement))
            found += [*_needed(statement.args, fixed, done), statement]
    return found
