"""Time events: times at which values that depend only on time and parameters jump or have a kink, as a routine of the parameters.

An integration step must not cross such a time, or it may miss the change. The times at which a comparison or a selecting
function changes are computed in closed form (`Roots`). If that is impossible, error control of the steps must find the change.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System, environment
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import table_values
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tracing.on_tape.values import Values, carry_out, scalars_of
from screws import scalars as s

MAX_PIECES = 32
"""Maximum number of polynomials between which nested selections choose in a value whose roots are computed."""


@dataclass(frozen=True)
class Root:
    """Time of a root and the period of its repetition (infinite for a single root), as scalars of the tape."""

    time: TapeScalar
    period: TapeScalar


Piece = tuple[TapeScalar, ...]
"""Coefficients of a polynomial in time, lowest first."""


_TIME, _FOREIGN = 1, 2


class Roots:
    """Root finding in time for values of a tape that depend only on time and parameters.

    Closed forms exist for (piecewise) polynomials in time up to the second degree whose coefficients depend on parameters, for
    zeros of their products, for some monotone functions of them, and for sines, cosines, tangents and integer parts of linear
    functions of time. Other roots are missed, and roots of a piece also count outside this piece.
    """

    def __init__(self, tape: Tape):
        self.tape = tape
        self._once = tape.scalar(math.inf)
        self._reach: list[int] = []
        self._pieces: dict[int, tuple[Piece, ...] | None] = {}

    def _at(self, position: int) -> TapeScalar:
        return TapeScalar(self.tape, position)

    def _depends(self, position: int) -> int:
        if position < len(self._reach):
            return self._reach[position]
        nodes, blocks = self.tape.nodes, list(self.tape.blocks)
        for node in nodes[len(self._reach) : position + 1]:
            if node[0] in op.OF_BLOCKS:
                self._reach.append({"t": _TIME, "p": 0}.get(blocks[node[1]], _FOREIGN))
            else:
                arguments = node[1:] if node[0] > op.INPUT else ()
                self._reach.append(functools.reduce(operator.or_, [self._reach[a] for a in arguments], 0))
        return self._reach[position]

    def is_free_of_states(self, position: int) -> bool:
        return not self._depends(position) & _FOREIGN

    def varies_with_time(self, position: int) -> bool:
        return self._depends(position) == _TIME

    def single(self, time: Any) -> Root:
        return Root(self.tape.scalar(time), self._once)

    def switch_times(self, position: int) -> list[Root]:
        """Return the times in closed form at which the instruction at a position may change its selection."""
        code, *arguments = self.tape.nodes[position]
        zero = self.tape.scalar(0.0)
        if code in (op.ABSOLUTE, op.SIGN):
            return self.solved(self._at(arguments[0]), zero)
        if code == op.FLOOR:
            return self._integer_times(self._at(arguments[0]))
        if code in (op.LESS, op.LESS_EQUAL, op.MINIMUM, op.MAXIMUM):
            return self.solved(self._at(arguments[0]) - self._at(arguments[1]), zero)
        if code == op.SEARCHSORTED:
            return self._table_times(self._at(arguments[0]), arguments[1])
        return []

    def _table_times(self, value: TapeScalar, table: int) -> list[Root]:
        pieces, leaf = self.pieces(value.index) or (), self.tape.nodes[table]
        numbers = [c.value for piece in pieces for c in piece if c.value is not None]
        if leaf[0] == op.TABLE and len(pieces) == 1 and len(numbers) == len(pieces[0]) == 2:
            c0, c1 = numbers  # a long table of measured values: all times together
            return [self.single(time) for time in ((table_values(leaf) - c0) / c1).tolist()]
        points = [self._at(point) for point in self.tape.entries_of(table)]
        return [root for point in points for root in self.solved(value, point)]

    def solved(self, value: TapeScalar, goal: TapeScalar) -> list[Root]:
        """Return the times in closed form at which a value may equal `goal`, a scalar that depends only on parameters."""
        if not self.varies_with_time(value.index):
            return []
        code, *operands = self.tape.nodes[value.index]
        a, b, *more = [self._at(k) for k in operands] + [value] * 2
        if code == op.NEGATIVE:
            return self.solved(a, -goal)
        if code == op.MULTIPLY and goal.value == 0.0:
            return [*self.solved(a, goal), *self.solved(b, goal)]
        pieces = self.pieces(value.index)
        if pieces is not None:
            return [root for piece in pieces for root in self._polynomial(piece, goal)]
        steps = self._line_and_steps(value)
        if steps is not None:
            return self._stepped(*steps, goal)
        if code in (op.ADD, op.SUBTRACT):
            fixed, other = (b, a) if self.varies_with_time(a.index) else (a, b)
            if self.varies_with_time(fixed.index):
                return []
            if code == op.ADD:
                return self.solved(other, goal - fixed)
            return self.solved(other, goal + fixed if other is a else fixed - goal)
        if code == op.MULTIPLY:
            if self.varies_with_time(a.index) and self.varies_with_time(b.index):
                return []
            fixed, other = (b, a) if self.varies_with_time(a.index) else (a, b)
            return self.solved(other, goal / fixed)
        if code == op.ABSOLUTE:
            return [*self.solved(a, goal), *self.solved(a, -goal)]
        if code in (op.MINIMUM, op.MAXIMUM):
            return [*self.solved(a, goal), *self.solved(b, goal)]
        if code == op.WHERE:
            return [*self.solved(b, goal), *self.solved(more[0], goal)]
        if code in (op.SIN, op.COS, op.TAN):
            return self._periodic(code, a, goal)
        return self.solved(a, _INVERSE[code](goal)) if code in _INVERSE else []

    def pieces(self, position: int) -> tuple[Piece, ...] | None:
        """Return the pieces of a piecewise polynomial in time, up to the second degree, or None for other values and for more
        than `MAX_PIECES`."""
        if position not in self._pieces:
            pieces = self._polynomial_pieces(position)
            if pieces is not None:
                pieces = tuple({tuple(c.index for c in piece): piece for piece in pieces}.values())
            self._pieces[position] = None if pieces is None or len(pieces) > MAX_PIECES else pieces
        return self._pieces[position]

    def _polynomial_pieces(self, position: int) -> tuple[Piece, ...] | None:
        code, *operands = self.tape.nodes[position]
        if not self.varies_with_time(position):
            return ((self._at(position),),)
        if code == op.INPUT:
            return ((self.tape.scalar(0.0), self.tape.scalar(1.0)),)
        if code in op.CONDITIONS or code == op.SIGN:
            values = (0.0, 1.0) if code in op.CONDITIONS else (-1.0, 0.0, 1.0)
            return tuple((self.tape.scalar(value),) for value in values)
        if code not in _POLYNOMIAL:
            return None
        parts = [self.pieces(k) for k in (operands[1:] if code == op.WHERE else operands)]
        if any(part is None for part in parts):
            return None
        first, *others = [part for part in parts if part is not None]
        if code in (op.MINIMUM, op.MAXIMUM, op.WHERE):
            return (*first, *others[0])
        if code in (op.NEGATIVE, op.ABSOLUTE):
            negated = tuple(tuple(-c for c in piece) for piece in first)
            return negated if code == op.NEGATIVE else (*first, *negated)
        if len(first) * len(others[0]) > MAX_PIECES:
            return None
        results = tuple(_POLYNOMIAL[code](left, right) for left in first for right in others[0])
        return results if all(len(piece) <= 3 for piece in results) else None

    def _polynomial(self, piece: Piece, goal: TapeScalar) -> list[Root]:
        if len(piece) == 1:
            return []
        c0, c1, *square = piece[0] - goal, *piece[1:]
        straight = self.single(-(c0 / c1))
        if not square:
            return [straight]
        (c2,) = square
        spread = s.sqrt(c1 * c1 - 4.0 * c0 * c2)
        # Vieta: no difference of nearly equal numbers. If c2 is zero, the first root is infinite and never happens.
        far = -0.5 * (c1 + s.where(s.less(c1, 0.0), -1.0, 1.0) * spread)
        return [self.single(far / c2), self.single(c0 / far)]

    def _line_and_steps(self, value: TapeScalar) -> tuple[Piece, TapeScalar] | None:
        """Return (polynomial, factor) if a value is a polynomial plus the factor times one integer part, else None."""
        steps: dict[int, TapeScalar] = {}
        line: Piece = (self.tape.scalar(0.0),)
        pending = [(value, self.tape.scalar(1.0))]
        while pending:
            part, factor = pending.pop()
            code, *operands = self.tape.nodes[part.index]
            pieces = self.pieces(part.index)
            if code == op.FLOOR and self.varies_with_time(part.index):
                steps[part.index] = steps.get(part.index, self.tape.scalar(0.0)) + factor
            elif pieces is not None and len(pieces) == 1:
                line = _sum(line, tuple(factor * c for c in pieces[0]))
            elif code in (op.ADD, op.SUBTRACT):
                pending += [(self._at(operands[0]), factor), (self._at(operands[1]), factor if code == op.ADD else -factor)]
            elif code == op.NEGATIVE:
                pending.append((self._at(operands[0]), -factor))
            elif code == op.MULTIPLY and not (self.varies_with_time(operands[0]) and self.varies_with_time(operands[1])):
                fixed, other = (operands[1], operands[0]) if self.varies_with_time(operands[0]) else (operands[0], operands[1])
                pending.append((self._at(other), factor * self._at(fixed)))
            else:
                return None
        return (line, *steps.values()) if len(steps) == 1 else None  # type: ignore[return-value]

    def _stepped(self, line: Piece, factor: TapeScalar, goal: TapeScalar) -> list[Root]:
        if len(line) != 2:
            return []
        c0, c1 = line
        return [Root(self.tape.scalar((goal - c0) / c1), self.tape.scalar(s.absolute(factor / c1)))]

    def _lines(self, inner: TapeScalar) -> list[Piece]:
        pieces = self.pieces(inner.index) or ()
        return [piece for piece in pieces if len(piece) == 2] if all(len(piece) < 3 for piece in pieces) else []

    def _periodic(self, code: int, angle: TapeScalar, goal: TapeScalar) -> list[Root]:
        if code == op.TAN:
            angles, turn = [s.atan(goal)], math.pi
        elif code == op.SIN:
            angles, turn = [s.asin(goal), math.pi - s.asin(goal)], 2.0 * math.pi
        else:
            angles, turn = [s.acos(goal), -s.acos(goal)], 2.0 * math.pi
        return [
            Root(self.tape.scalar((at - c0) / c1), self.tape.scalar(turn / s.absolute(c1)))
            for c0, c1 in self._lines(angle)
            for at in angles
        ]

    def _integer_times(self, value: TapeScalar) -> list[Root]:
        if not self.varies_with_time(value.index):
            return []
        return [Root(self.tape.scalar(-(c0 / c1)), self.tape.scalar(1.0 / s.absolute(c1))) for c0, c1 in self._lines(value)]


def _sum(left: Piece, right: Piece) -> Piece:
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    return (*(a + b for a, b in zip(longer, shorter, strict=False)), *longer[len(shorter) :])


def _product(left: Piece, right: Piece) -> Piece:
    tape = left[0].tape
    out = [tape.scalar(0.0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            out[i + j] = out[i + j] + a * b
    return tuple(out)


_POLYNOMIAL: dict[int, Any] = {
    op.ADD: _sum,
    op.SUBTRACT: lambda left, right: _sum(left, tuple(-c for c in right)),
    op.MULTIPLY: _product,
    **dict.fromkeys((op.NEGATIVE, op.ABSOLUTE, op.MINIMUM, op.MAXIMUM, op.WHERE)),
}
"""Instructions that map piecewise polynomials to piecewise polynomials, each with the formula for the coefficients of its result;
None for those that are treated separately."""

_INVERSE: dict[int, Any] = {
    op.RECIPROCAL: lambda y: 1.0 / y,
    op.EXP: s.log,
    op.EXPM1: lambda y: s.log(1.0 + y),
    op.LOG: s.exp,
    op.SQRT: lambda y: y * y,
    op.TANH: lambda y: 0.5 * s.log((1.0 + y) / (1.0 - y)),
    op.ATAN: s.tan,
    op.ASIN: s.sin,
    op.ACOS: s.cos,
}


@dataclass(frozen=True)
class Breaks:
    """The element or automaton of each time event, and a routine of the parameters: the time of each (s, not finite if the event
    never happens), then the period of each (s, infinite for a single event)."""

    elements: tuple[str, ...]
    routine: Routine


def breaks_of(system: System) -> Breaks | None:
    if not system.clocks and not system.events and not any("time" in s.args for s in system.statements):
        return None
    values = _ValuesOfTime(system)
    distinct: dict[tuple[int, int], tuple[Root, str]] = {}
    for element, root in values.roots():
        distinct.setdefault((root.time.index, root.period.index), (root, element))
    if not distinct:
        return None
    roots = [root for root, _ in distinct.values()]
    block = (("p", values.tape.blocks["p"]),)
    routine = Routine("breaks", values.tape, block, tuple([r.time for r in roots] + [r.period for r in roots]))
    return Breaks(tuple(element for _, element in distinct.values()), routine)


@dataclass
class _ValuesOfTime:
    """Values that depend on time, on a separate tape; values that depend on other inputs become inputs of this tape."""

    system: System
    tape: Tape = field(default_factory=Tape)

    def __post_init__(self) -> None:
        count = sum(int(np.size(value)) for value in self.system.parameters.values())
        time, numbers = self.tape.inputs("t", 1)[0], self.tape.inputs("p", count)
        self.tape.inputs("other", 0)
        self.of_time: Values = environment(replace(self.system, states=(), modes={}), time, (), numbers, ())
        self.foreign: Values = {}
        self.solver = Roots(self.tape)

    def roots(self) -> Iterator[tuple[str, Root]]:
        for clock in self.system.clocks:
            if not clock.updates:
                for at in scalars_of(self.of_time[clock.offset]):
                    yield clock.element, self.solver.single(at)
        moving = {"time"}
        for statement, needed in self._statements(moving):
            first = len(self.tape)
            for earlier in needed:
                carry_out(earlier, self.of_time)
            env = {arg: self._value(arg) for arg in statement.args}
            carry_out(statement, env)
            self._keep(statement, env, moving)
            for position in range(first, len(self.tape)):
                for root in self.solver.switch_times(position):
                    yield statement.element, root
        guards = {event.guard: event.automaton for event in self.system.events}
        for name in guards.keys() & self.of_time.keys():
            for root in self.solver.solved(self.tape.scalar(self.of_time[name]), self.tape.scalar(0.0)):
                yield guards[name], root

    def _statements(self, moving: set[str]) -> Iterator[tuple[Statement, list[Statement]]]:
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
        if name in self.of_time:
            return self.of_time[name]
        if name not in self.foreign:
            shape = self.system.values[name].shape or ()
            inputs = self._new_inputs(math.prod(shape))
            self.foreign[name] = inputs.reshape(shape) if shape else inputs[0]
        return self.foreign[name]

    def _new_inputs(self, count: int) -> np.ndarray:
        blocks, start = self.tape.blocks, self.tape.blocks["other"]
        blocks["other"] += count
        number, scalars = list(blocks).index("other"), np.empty(count, dtype=object)
        for k in range(count):
            scalars[k] = TapeScalar(self.tape, self.tape.intern((op.INPUT, number, start + k)))
        return scalars

    def _keep(self, statement: Statement, env: Values, moving: set[str]) -> None:
        for out in statement.outs:
            scalars = [self.tape.scalar(scalar) for scalar in scalars_of(env[out])]
            if all(self.solver.is_free_of_states(scalar.index) for scalar in scalars):
                self.of_time[out] = env[out]
                if any(self.solver.varies_with_time(scalar.index) for scalar in scalars):
                    moving.add(out)


def _needed(names: Sequence[str], fixed: dict[str, Statement], done: set[int]) -> list[Statement]:
    statements: list[Statement] = []
    for name in names:
        statement = fixed.get(name)
        if statement is not None and id(statement) not in done:
            done.add(id(statement))
            statements += [*_needed(statement.args, fixed, done), statement]
    return statements
