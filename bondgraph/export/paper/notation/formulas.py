"""Written-out formulas: LaTeX of an operation's results and of their shared parts.

The operation is recorded on a tape, as in compilation: the document prints what is computed. A part that occurs more than once,
or is too long to read in one piece, gets a name.
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
"""Letter of shared parts."""
_MAX_REPEATED_WIDTH = 3.0
"""Maximum width of a part that is repeated wherever it occurs."""
_MAX_UNNAMED_WIDTH = 70.0
"""Maximum width of a part without a name, if it occurs once."""
_MAX_LISTED_ZEROS = 4
"""Maximum number of zeros that are listed one by one."""
_MAX_FRACTION_WIDTH = 16
"""Maximum width of a numerator or denominator."""


@dataclass(frozen=True)
class Recorded:
    """Operation on arguments of certain shapes, as steps; equal ones compute the same."""

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
    """True if all components that are not among the results are zero."""


def record(operation: Op, shapes: Sequence[tuple[int, ...]]) -> Recorded:
    """Record the steps of an operation; raises the operation's errors with scalars of a tape (`TraceError`, `TypeError`, ...)."""
    tape = Tape()
    blocks = tuple((f"a{k}", int(np.prod(shape))) for k, shape in enumerate(shapes))
    arguments = [shaped(list(tape.inputs(name, size)), shape) for (name, size), shape in zip(blocks, shapes, strict=True)]
    result = operation(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    outputs = tuple(scalar for each in results for scalar in scalars_of(each))
    code: Listing = listing(Routine("formula", tape, blocks, outputs))
    return Recorded(tuple(shapes), tuple(np.shape(each) for each in results), code.steps, code.outputs)


def components(letter: str, shape: tuple[int, ...]) -> list[str]:
    """Return letters of the scalars of a value, in row-major order, with indices from 1."""
    if not shape:
        return [letter]
    indices = [[k + 1 for k in index] for index in np.ndindex(*shape)]
    comma = "," if len(shape) > 1 and max(shape) > 9 else ""
    return [f"{letter}_{{{comma.join(map(str, index))}}}" for index in indices]


def formula_latex(code: Recorded, arguments: Sequence[str], results: Sequence[str], shared: str) -> Formula:
    """Return LaTeX of the results, in the arguments' letters; shared parts are `shared_1`, `shared_2`, ..."""
    writer = _FormulaWriter(code, arguments, shared)
    right = [writer.piece(position).latex for position in code.outputs]
    left = [letter for name, shape in zip(results, code.results, strict=True) for letter in components(name, shape)]
    equal: dict[str, list[str]] = {}
    for one, other in zip(left, right, strict=True):
        equal.setdefault(other, []).append(one)
    zeros = equal.pop("0", []) if equal.get("0", []) != left and len(equal.get("0", [])) > _MAX_LISTED_ZEROS else []
    lines = [f"{' = '.join(letters)} = {formula}" for formula, letters in equal.items()]
    return Formula(tuple(writer.parts), tuple(lines), bool(zeros))


class _FormulaWriter:
    """Turns steps into text, from the first to the last."""

    def __init__(self, code: Recorded, arguments: Sequence[str], shared: str):
        self.code, self.shared = code, shared
        self.parts: list[str] = []
        self._letters = [components(letter, shape) for letter, shape in zip(arguments, code.shapes, strict=True)]
        self._uses = np.zeros(len(code.steps), dtype=int)
        for step in code.steps:
            if step[0] > op.INPUT:
                for position in step[1:]:
                    self._uses[int(position)] += 1
        self._last = set(code.outputs)
        self._pieces: list[Piece] = []
        for position, step in enumerate(code.steps):
            self._pieces.append(self._named(position, self._piece(step)))

    def piece(self, position: int) -> Piece:
        """Return the text of a step: its formula, or the name of the part."""
        return self._pieces[position]

    def _named(self, position: int, piece: Piece) -> Piece:
        code = self.code.steps[position][0]
        if code in (op.CONSTANT, op.INPUT):
            return piece
        uses, size = self._uses[position], width(piece.latex)
        again = (uses > 1 and size > _MAX_REPEATED_WIDTH) or (uses > 0 and position in self._last and size > _MAX_REPEATED_WIDTH)
        awkward = uses > 0 and (piece.strength == pieces.CHOICE or size > _MAX_UNNAMED_WIDTH)
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
        operands = [self._pieces[int(position)] for position in step[1:]]
        for k in range(op.OPERATIONS[code].truths, len(operands)):
            if int(self.code.steps[int(step[1 + k])][0]) in op.CONDITIONS and not operands[k].latex.startswith(self.shared):
                operands[k] = Piece(f"[{operands[k].latex}]")
        return FORMS[code](*operands)


def _product(a: Piece, b: Piece) -> Piece:
    return pieces.raised(a, "2") if a == b else pieces.times(a, b)


def _power(a: Piece, b: Piece) -> Piece:
    return pieces.raised(a, b.latex)


def _function(name: str) -> Callable[..., Piece]:
    return lambda *arguments: pieces.called(name, *arguments)


def _between(sign: str) -> Callable[[Piece, Piece], Piece]:
    return lambda a, b: Piece(f"{a.within(pieces.SUM)} {sign} {b.within(pieces.SUM)}", pieces.CHOICE)


FORMS: Mapping[int, Callable[..., Piece]] = {
    op.ADD: pieces.plus,
    op.SUBTRACT: pieces.minus,
    op.MULTIPLY: _product,
    op.DIVIDE: lambda a, b: pieces.over(a, b, _MAX_FRACTION_WIDTH),
    op.NEGATIVE: pieces.opposite,
    op.RECIPROCAL: lambda a: pieces.over(Piece("1"), a, _MAX_FRACTION_WIDTH),
    op.POWER: _power,
    op.SIN: _function(r"\sin"),
    op.COS: _function(r"\cos"),
    op.TAN: _function(r"\tan"),
    op.ASIN: _function(r"\arcsin"),
    op.ACOS: _function(r"\arccos"),
    op.ATAN: _function(r"\arctan"),
    op.ATAN2: _function(r"\operatorname{atan2}"),
    op.SQRT: lambda a: Piece(rf"\sqrt{{{a.latex}}}") if width(a.latex) <= _MAX_FRACTION_WIDTH else pieces.raised(a, "1/2"),
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
"""Formula of each instruction."""
