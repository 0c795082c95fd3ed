"""Formulas written out: an operation and the letters of its arguments in; LaTeX of its results and of what they share, out.

The operation is recorded on a tape, as it is when it is compiled: what is printed is what is computed.
What occurs more than once, or is too long to be read in one piece, gets a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.export.paper.notation import pieces
from bondgraph.export.paper.notation.pieces import Piece, width
from bondgraph.model.ops import Op
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import scalars_of, shaped

SHARED = "s"
"""The letter of shared parts."""
_NARROW = 3.0
"""A part of this width is written again wherever it occurs."""
_WIDE = 70.0
"""A part wider than this is named although it occurs once."""
_FEW = 4
"""So many zeros are told one by one."""
_FRACTION = 16
"""The widest numerator or denominator."""


@dataclass(frozen=True)
class Recorded:
    """An operation on arguments of certain shapes, as steps; equal ones compute the same."""

    shapes: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[float | int, ...], ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Formula:
    """LaTeX of a recorded operation: equations of the shared parts in order, then of the results."""

    parts: tuple[str, ...]
    results: tuple[str, ...]
    others_zero: bool = False
    """Whether all components that are not among the results are zero."""


def recorded(operation: Op, shapes: Sequence[tuple[int, ...]]) -> Recorded:
    """The steps of an operation; raises what the operation does with scalars of a tape (`TraceError`, `TypeError`, ...)."""
    tape = Tape()
    blocks = tuple((f"a{k}", int(np.prod(shape))) for k, shape in enumerate(shapes))
    given = [shaped(list(tape.inputs(name, size)), shape) for (name, size), shape in zip(blocks, shapes, strict=True)]
    result = operation(*given)
    several = result if isinstance(result, tuple) else (result,)
    outputs = tuple(scalar for each in several for scalar in scalars_of(each))
    code: Listing = listing(Routine("formula", tape, blocks, outputs))
    return Recorded(tuple(shapes), tuple(np.shape(each) for each in several), code.steps, code.outputs)


def components(letter: str, shape: tuple[int, ...]) -> list[str]:
    """Letters of the scalars of a value, in row-major order, with indices from 1."""
    if not shape:
        return [letter]
    places = [[k + 1 for k in index] for index in np.ndindex(*shape)]
    comma = "," if len(shape) > 1 and max(shape) > 9 else ""
    return [f"{letter}_{{{comma.join(map(str, place))}}}" for place in places]


def written(code: Recorded, arguments: Sequence[str], results: Sequence[str], shared: str) -> Formula:
    """LaTeX of the results named `results`, with the arguments' letters; shared parts are `shared_1`, `shared_2`, ..."""
    writer = _Scribe(code, arguments, shared)
    right = [writer.piece(place).latex for place in code.outputs]
    left = [letter for name, shape in zip(results, code.results, strict=True) for letter in components(name, shape)]
    equal: dict[str, list[str]] = {}
    for one, other in zip(left, right, strict=True):
        equal.setdefault(other, []).append(one)
    zeros = equal.pop("0", []) if equal.get("0", []) != left and len(equal.get("0", [])) > _FEW else []
    lines = [f"{' = '.join(letters)} = {formula}" for formula, letters in equal.items()]
    return Formula(tuple(writer.parts), tuple(lines), bool(zeros))


class _Scribe:
    """Turns steps into text, from the first to the last."""

    def __init__(self, code: Recorded, arguments: Sequence[str], shared: str):
        self.code, self.shared = code, shared
        self.parts: list[str] = []
        self._letters = [components(letter, shape) for letter, shape in zip(arguments, code.shapes, strict=True)]
        self._uses = np.zeros(len(code.steps), dtype=int)
        for step in code.steps:
            if step[0] > op.INPUT:
                for place in step[1:]:
                    self._uses[int(place)] += 1
        self._last = set(code.outputs)
        self._known: list[Piece] = []
        for place, step in enumerate(code.steps):
            self._known.append(self._named(place, self._piece(step)))

    def piece(self, place: int) -> Piece:
        """The text of a step: its formula, or the name of the part."""
        return self._known[place]

    def _named(self, place: int, piece: Piece) -> Piece:
        code = self.code.steps[place][0]
        if code in (op.CONSTANT, op.INPUT):
            return piece
        uses, size = self._uses[place], width(piece.latex)
        again = (uses > 1 and size > _NARROW) or (uses > 0 and place in self._last and size > _NARROW)
        awkward = uses > 0 and (piece.strength == pieces.CHOICE or size > _WIDE)
        if not (again or awkward):
            return piece
        name = Piece(f"{self.shared}_{{{len(self.parts) + 1}}}")
        self.parts.append(f"{name.latex} = [{piece.latex}]" if code in op.CONDITIONS else f"{name.latex} = {piece.latex}")
        return name

    def _piece(self, step: tuple[float | int, ...]) -> Piece:
        code = int(step[0])
        if code == op.CONSTANT:
            return pieces.number(float(step[1]))
        if code == op.INPUT:
            return Piece(self._letters[int(step[1])][int(step[2])])
        given = [self._known[int(place)] for place in step[1:]]
        for k in range(op.OPERATIONS[code].truths, len(given)):
            if int(self.code.steps[int(step[1 + k])][0]) in op.CONDITIONS and not given[k].latex.startswith(self.shared):
                given[k] = Piece(f"[{given[k].latex}]")
        return FORMS[code](*given)


def _product(a: Piece, b: Piece) -> Piece:
    return pieces.raised(a, "2") if a == b else pieces.times(a, b)


def _power(a: Piece, b: Piece) -> Piece:
    return pieces.raised(a, b.latex)


def _function(name: str) -> Callable[..., Piece]:
    return lambda *given: pieces.called(name, *given)


def _between(sign: str) -> Callable[[Piece, Piece], Piece]:
    return lambda a, b: Piece(f"{a.within(pieces.SUM)} {sign} {b.within(pieces.SUM)}", pieces.CHOICE)


FORMS: Mapping[int, Callable[..., Piece]] = {
    op.ADD: pieces.plus,
    op.SUBTRACT: pieces.minus,
    op.MULTIPLY: _product,
    op.DIVIDE: lambda a, b: pieces.over(a, b, _FRACTION),
    op.NEGATIVE: pieces.opposite,
    op.RECIPROCAL: lambda a: pieces.over(Piece("1"), a, _FRACTION),
    op.POWER: _power,
    op.SIN: _function(r"\sin"),
    op.COS: _function(r"\cos"),
    op.TAN: _function(r"\tan"),
    op.ASIN: _function(r"\arcsin"),
    op.ACOS: _function(r"\arccos"),
    op.ATAN: _function(r"\arctan"),
    op.ATAN2: _function(r"\operatorname{atan2}"),
    op.SQRT: lambda a: Piece(rf"\sqrt{{{a.latex}}}") if width(a.latex) <= _FRACTION else pieces.raised(a, "1/2"),
    op.EXP: _function(r"\exp"),
    op.LOG: _function(r"\ln"),
    op.TANH: _function(r"\tanh"),
    op.ABSOLUTE: lambda a: Piece(f"|{a.latex}|"),
    op.SIGN: _function(r"\operatorname{sign}"),
    op.FLOOR: lambda a: Piece(rf"\lfloor {a.latex}\rfloor"),
    op.MINIMUM: _function(r"\min"),
    op.MAXIMUM: _function(r"\max"),
    op.LESS: _between("<"),
    op.LESS_EQUAL: _between(r"\le"),
    op.EQUAL: _between("="),
    op.BOTH: lambda a, b: Piece(f"{a.within(pieces.SUM)} \\wedge {b.within(pieces.SUM)}", pieces.CHOICE),
    op.EITHER: lambda a, b: Piece(f"{a.within(pieces.SUM)} \\vee {b.within(pieces.SUM)}", pieces.CHOICE),
    op.OPPOSITE: lambda a: Piece(f"\\neg {a.within(pieces.ATOM)}", pieces.CHOICE),
    op.WHERE: pieces.chosen,
}
"""How each instruction is written."""
