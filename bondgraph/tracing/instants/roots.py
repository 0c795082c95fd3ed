"""Roots: a scalar on a tape that time and parameters decide, and a goal -> the times at which it is that, as scalars of the tape.

Exact for polynomials in time up to the second degree with parameters as coefficients (also piecewise), for products of them,
for monotone functions of them, and for sines, cosines and whole parts of straight lines in time, which repeat.
"""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import Any

from bondgraph.tape import opcodes as op
from bondgraph.tape.scalar import Tape, TapeScalar
from screws import scalars as s

MOST_PIECES = 32
"""A value with more pieces than this (nested choices between lines) is not taken apart further."""


@dataclass(frozen=True)
class Root:
    """A time, and the period after which it comes again; scalars of the tape."""

    time: TapeScalar
    period: TapeScalar


Piece = tuple[TapeScalar, ...]
"""Coefficients of a polynomial in time, lowest first."""


_TIME, _FOREIGN = 1, 2


class Roots:
    """Times at which values of a tape that depend on time and parameters alone take other values."""

    def __init__(self, tape: Tape):
        self.tape = tape
        self._reach: list[int] = []
        self._pieces: dict[int, tuple[Piece, ...] | None] = {}

    def _at(self, position: int) -> TapeScalar:
        return TapeScalar(self.tape, position)

    def _depends(self, position: int) -> int:
        if position < len(self._reach):
            return self._reach[position]
        nodes, blocks = self.tape.nodes, list(self.tape.blocks)
        for node in nodes[len(self._reach) : position + 1]:
            if node[0] == op.INPUT:
                self._reach.append({"t": _TIME, "p": 0}.get(blocks[node[1]], _FOREIGN))
            else:
                arguments = node[1:] if node[0] > op.INPUT else ()
                self._reach.append(functools.reduce(operator.or_, [self._reach[a] for a in arguments], 0))
        return self._reach[position]

    def alone(self, position: int) -> bool:
        """Whether nothing but time and parameters decides a value."""
        return not self._depends(position) & _FOREIGN

    def moving(self, position: int) -> bool:
        """Whether time decides a value, and nothing but parameters besides."""
        return self._depends(position) == _TIME

    def once(self, time: Any) -> Root:
        return Root(self.tape.scalar(time), self.tape.scalar(math.inf))

    def switching(self, position: int) -> list[Root]:
        """Where the instruction at a position changes what it selects."""
        code, *arguments = self.tape.nodes[position]
        zero = self.tape.scalar(0.0)
        if code in (op.ABSOLUTE, op.SIGN):
            return self.solved(self._at(arguments[0]), zero)
        if code == op.FLOOR:
            return self._whole(self._at(arguments[0]))
        if code in (op.LESS, op.LESS_EQUAL, op.MINIMUM, op.MAXIMUM):
            return self.solved(self._at(arguments[0]) - self._at(arguments[1]), zero)
        return []

    def solved(self, value: TapeScalar, goal: TapeScalar) -> list[Root]:
        """Times at which a value is `goal`, a scalar of parameters alone."""
        if not self.moving(value.index):
            return []
        code, *rest = self.tape.nodes[value.index]
        a, b, *more = [self._at(k) for k in rest] + [value] * 2
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
            fixed, other = (b, a) if self.moving(a.index) else (a, b)
            if self.moving(fixed.index):
                return []
            if code == op.ADD:
                return self.solved(other, goal - fixed)
            return self.solved(other, goal + fixed if other is a else fixed - goal)
        if code == op.MULTIPLY:
            if self.moving(a.index) and self.moving(b.index):
                return []
            fixed, other = (b, a) if self.moving(a.index) else (a, b)
            return self.solved(other, goal / fixed)
        if code == op.ABSOLUTE:
            return [*self.solved(a, goal), *self.solved(a, -goal)]
        if code in (op.MINIMUM, op.MAXIMUM):
            return [*self.solved(a, goal), *self.solved(b, goal)]
        if code == op.WHERE:
            return [*self.solved(b, goal), *self.solved(more[0], goal)]
        if code in (op.SIN, op.COS, op.TAN):
            return self._turning(code, a, goal)
        return self.solved(a, _INVERSE[code](goal)) if code in _INVERSE else []

    def pieces(self, position: int) -> tuple[Piece, ...] | None:
        """The polynomials in time, up to the second degree, that a value is made of; None where it is made of others."""
        if position not in self._pieces:
            found = self._made_of(position)
            if found is not None:
                found = tuple({tuple(c.index for c in piece): piece for piece in found}.values())
            self._pieces[position] = None if found is None or len(found) > MOST_PIECES else found
        return self._pieces[position]

    def _made_of(self, position: int) -> tuple[Piece, ...] | None:
        code, *rest = self.tape.nodes[position]
        if not self.moving(position):
            return ((self._at(position),),)
        if code == op.INPUT:
            return ((self.tape.scalar(0.0), self.tape.scalar(1.0)),)
        if code in op.CONDITIONS or code == op.SIGN:
            values = (0.0, 1.0) if code in op.CONDITIONS else (-1.0, 0.0, 1.0)
            return tuple((self.tape.scalar(value),) for value in values)
        if code not in _POLYNOMIAL:
            return None
        parts = [self.pieces(k) for k in (rest[1:] if code == op.WHERE else rest)]
        if any(part is None for part in parts):
            return None
        first, *others = [part for part in parts if part is not None]
        if code in (op.MINIMUM, op.MAXIMUM, op.WHERE):
            return (*first, *others[0])
        if code in (op.NEGATIVE, op.ABSOLUTE):
            turned = tuple(tuple(-c for c in piece) for piece in first)
            return turned if code == op.NEGATIVE else (*first, *turned)
        if len(first) * len(others[0]) > MOST_PIECES:
            return None
        made = tuple(_POLYNOMIAL[code](left, right) for left in first for right in others[0])
        return made if all(len(piece) <= 3 for piece in made) else None

    def _polynomial(self, piece: Piece, goal: TapeScalar) -> list[Root]:
        if len(piece) == 1:
            return []
        c0, c1, *square = piece[0] - goal, *piece[1:]
        straight = self.once(-(c0 / c1))
        if not square:
            return [straight]
        (c2,) = square
        spread = s.sqrt(c1 * c1 - 4.0 * c0 * c2)
        # Vieta: no difference of nearly equal numbers, and no division by a c2 that is zero.
        far = -0.5 * (c1 + s.where(s.less(c1, 0.0), -1.0, 1.0) * spread)
        return [self.once(far / c2), self.once(c0 / far)]

    def _line_and_steps(self, value: TapeScalar) -> tuple[Piece, TapeScalar] | None:
        """A line and a factor where a value is that line plus so many times the whole part of another one."""
        steps: dict[int, TapeScalar] = {}
        line: Piece = (self.tape.scalar(0.0),)
        todo = [(value, self.tape.scalar(1.0))]
        while todo:
            part, factor = todo.pop()
            code, *rest = self.tape.nodes[part.index]
            pieces = self.pieces(part.index)
            if code == op.FLOOR and self.moving(part.index):
                steps[part.index] = steps.get(part.index, self.tape.scalar(0.0)) + factor
            elif pieces is not None and len(pieces) == 1:
                line = _sum(line, tuple(factor * c for c in pieces[0]))
            elif code in (op.ADD, op.SUBTRACT):
                todo += [(self._at(rest[0]), factor), (self._at(rest[1]), factor if code == op.ADD else -factor)]
            elif code == op.NEGATIVE:
                todo.append((self._at(rest[0]), -factor))
            elif code == op.MULTIPLY and not (self.moving(rest[0]) and self.moving(rest[1])):
                fixed, other = (rest[1], rest[0]) if self.moving(rest[0]) else (rest[0], rest[1])
                todo.append((self._at(other), factor * self._at(fixed)))
            else:
                return None
        return (line, *steps.values()) if len(steps) == 1 else None  # type: ignore[return-value]

    def _stepped(self, line: Piece, factor: TapeScalar, goal: TapeScalar) -> list[Root]:
        """Times at which a line in time plus `factor` times some whole number is `goal`."""
        if len(line) != 2:
            return []
        c0, c1 = line
        return [Root(self.tape.scalar((goal - c0) / c1), self.tape.scalar(s.absolute(factor / c1)))]

    def _lines(self, inner: TapeScalar) -> list[Piece]:
        pieces = self.pieces(inner.index) or ()
        return [piece for piece in pieces if len(piece) == 2] if all(len(piece) < 3 for piece in pieces) else []

    def _turning(self, code: int, angle: TapeScalar, goal: TapeScalar) -> list[Root]:
        """Times at which the sine, cosine or tangent of straight lines in time is `goal`."""
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

    def _whole(self, value: TapeScalar) -> list[Root]:
        """Times at which straight lines in time pass whole numbers."""
        if not self.moving(value.index):
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
"""Instructions that make polynomials of polynomials, with the formula of those with two arguments that compute."""

_INVERSE: dict[int, Any] = {
    op.RECIPROCAL: lambda y: 1.0 / y,
    op.EXP: s.log,
    op.LOG: s.exp,
    op.SQRT: lambda y: y * y,
    op.TANH: lambda y: 0.5 * s.log((1.0 + y) / (1.0 - y)),
    op.ATAN: s.tan,
    op.ASIN: s.sin,
    op.ACOS: s.cos,
}
"""Monotone functions of one argument: that argument from the result."""
