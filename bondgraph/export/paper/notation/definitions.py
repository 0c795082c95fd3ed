"""Function definitions: a name for each operation that is not a plain formula, and its formula, which is written once.

The operation is recorded on a tape, as in compilation, so that the document prints the actual computation. A part that occurs
more than once, or is too long to read in one piece, gets a name and a separate line. Local letters are marked: Latin letters are
sans-serif, Greek letters bold.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bondgraph.model.ops import Op, sources_of
from bondgraph.output.tex import decimal_latex
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import table_values
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import scalars_of, shaped

SIGNIFICANT = 6
CHOICE, SUM, RATIO, PRODUCT, POWER, ATOM = range(6)
"""Precedence of a piece; a piece of lower precedence gets parentheses inside one of higher precedence."""


@dataclass(frozen=True)
class Piece:
    latex: str
    strength: int = ATOM

    def within(self, strength: int) -> str:
        return self.latex if self.strength >= strength else f"({self.latex})"

    @property
    def negative(self) -> bool:
        return self.latex.startswith("-")


def number(value: float, digits: int) -> Piece:
    for below in range(2, 13) if np.isfinite(value) and abs(value) < 100 else ():
        above = round(value * below)
        if above / below == value and 0 < abs(above) < 100 and value != round(value) and repr(value) != f"{value:.4g}":
            return Piece(rf"{'-' if above < 0 else ''}\tfrac{{{abs(above)}}}{{{below}}}", SUM if above < 0 else ATOM)
    if not np.isfinite(value):
        return Piece(r"\mathrm{NaN}" if np.isnan(value) else r"\infty" if value > 0 else r"-\infty", SUM if value < 0 else ATOM)
    text = decimal_latex(value, digits)
    strength = SUM if value < 0 else PRODUCT if r"\cdot" in text else POWER if "^" in text else ATOM
    return Piece(text, strength)


def plus(a: Piece, b: Piece) -> Piece:
    if b.negative and b.strength >= SUM:
        return Piece(f"{a.within(SUM)} - {b.latex[1:]}", SUM)
    return Piece(f"{a.within(SUM)} + {b.within(SUM)}", SUM)


def minus(a: Piece, b: Piece) -> Piece:
    if b.negative and b.latex[1:].replace(".", "").isdigit():
        return plus(a, Piece(b.latex[1:]))
    return Piece(f"{a.within(SUM)} - {b.within(PRODUCT)}", SUM)


def opposite(a: Piece) -> Piece:
    return Piece(f"-{a.within(PRODUCT)}", SUM)


def times(a: Piece, b: Piece) -> Piece:
    if b.latex[0].isdigit() and not a.latex[0].isdigit() and b.strength >= PRODUCT:
        a, b = b, a
    reciprocal = re.fullmatch(r"\\frac\{1\}\{((?:[^{}]|\{[^{}]*\})*)\}", b.latex)
    if reciprocal and r"\frac" not in a.latex and not a.negative and width(a.latex) <= _MAX_FRACTION_WIDTH:
        return Piece(rf"\frac{{{a.latex}}}{{{reciprocal[1]}}}", POWER)
    sign = r"\cdot " if b.latex[0].isdigit() else r"\,"
    return Piece(f"{a.within(PRODUCT)}{sign}{b.within(PRODUCT)}", PRODUCT)


def over(a: Piece, b: Piece, widest: int) -> Piece:
    """Return a / b as a fraction if it is narrow, not nested and not negative, else inline, where it may be broken."""
    if max(width(a.latex), width(b.latex)) <= widest and r"\frac" not in a.latex + b.latex and not a.negative:
        return Piece(rf"\frac{{{a.latex}}}{{{b.latex}}}", POWER)
    return Piece(f"{a.within(PRODUCT)} / {b.within(POWER)}", RATIO)


def to_power(a: Piece, exponent: str) -> Piece:
    bare = a.strength == ATOM and "^" not in a.latex and "frac" not in a.latex
    return Piece(f"{a.latex if bare else f'({a.latex})'}^{{{exponent}}}", POWER)


def function_call(function: str, *arguments: Piece) -> Piece:
    return Piece(f"{function}({', '.join(a.latex for a in arguments)})", ATOM)


def conditional(condition: Piece, held: Piece, otherwise: Piece) -> Piece:
    words = rf"\text{{ if }} {condition.latex} \text{{, else }}"
    return Piece(f"{held.within(SUM)} {words} {otherwise.within(CHOICE)}", CHOICE)


_INVISIBLE = re.compile(r"\\(mathsf|mathrm|text|mathcal|bar|hat|dot|tilde|left|right|operatorname)\b|[{}_^\\]|(?<=\\)[,;]|\s")


def width(latex: str) -> float:
    small = sum(
        len(_INVISIBLE.sub("", scripts)) for scripts in re.findall(r"[_^]\{([^{}]*)\}|[_^](\w)", latex) for scripts in scripts
    )
    seen = len(re.sub(r"\\[a-zA-Z]+", "x", _INVISIBLE.sub("", re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1", latex))))
    return seen - 0.35 * small


SHARED = "s"
_MAX_REPEATED_WIDTH = 3.0
"""Maximum width, in letters, of a subexpression that is repeated, not named."""
_MAX_UNNAMED_WIDTH = 70.0
"""Maximum width, in letters, of an unnamed subexpression that occurs once."""
_MAX_LISTED_ZEROS = 4
_MAX_FRACTION_WIDTH = 16
"""Maximum width, in letters, of a numerator or denominator."""


@dataclass(frozen=True)
class Recorded:
    """Operation on arguments of these shapes, as steps; equal records compute the same values."""

    shapes: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[Any, ...], ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Formula:
    """LaTeX of a recorded operation: equations of the shared parts, in order, and of the results."""

    parts: tuple[str, ...]
    results: tuple[str, ...]
    others_zero: bool = False
    """True if all components that are not among the results are zero."""


def record(operation: Op, shapes: Sequence[tuple[int, ...]]) -> Recorded:
    """Record the steps of an operation; any error that it raises for tape scalars (`TraceError`, `TypeError`, ...) is passed
    on."""
    tape = Tape()
    blocks = tuple((f"a{k}", int(np.prod(shape))) for k, shape in enumerate(shapes))
    arguments = [shaped(list(tape.inputs(name, size)), shape) for (name, size), shape in zip(blocks, shapes, strict=True)]
    result = operation(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    outputs = tuple(scalar for each in results for scalar in scalars_of(each))
    code: Listing = listing(Routine("formula", tape, blocks, outputs))
    return Recorded(tuple(shapes), tuple(np.shape(each) for each in results), code.steps, code.outputs)


def components(letter: str, shape: tuple[int, ...]) -> list[str]:
    if not shape:
        return [letter]
    indices = [[k + 1 for k in index] for index in np.ndindex(*shape)]
    comma = "," if len(shape) > 1 and max(shape) > 9 else ""
    return [f"{letter}_{{{comma.join(map(str, index))}}}" for index in indices]


def formula_latex(code: Recorded, arguments: Sequence[str], results: Sequence[str], shared: str, digits: int) -> Formula:
    """Return the LaTeX of the results in terms of the letters of the arguments; shared parts are `shared_1`, `shared_2`, ..."""
    writer = _FormulaWriter(code, arguments, shared, digits)
    right = [writer.piece(position).latex for position in code.outputs]
    left = [letter for name, shape in zip(results, code.results, strict=True) for letter in components(name, shape)]
    equal: dict[str, list[str]] = {}
    for one, other in zip(left, right, strict=True):
        equal.setdefault(other, []).append(one)
    zeros = equal.pop("0", []) if equal.get("0", []) != left and len(equal.get("0", [])) > _MAX_LISTED_ZEROS else []
    lines = [f"{' = '.join(letters)} = {formula}" for formula, letters in equal.items()]
    return Formula(tuple(writer.parts), tuple(lines), bool(zeros))


class _FormulaWriter:
    def __init__(self, code: Recorded, arguments: Sequence[str], shared: str, digits: int):
        self.code, self.shared, self.digits = code, shared, digits
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
        return self._pieces[position]

    def _named(self, position: int, piece: Piece) -> Piece:
        code = self.code.steps[position][0]
        if code <= op.INPUT:
            return piece
        uses, size = self._uses[position], width(piece.latex)
        again = (uses > 1 and size > _MAX_REPEATED_WIDTH) or (uses > 0 and position in self._last and size > _MAX_REPEATED_WIDTH)
        awkward = uses > 0 and (piece.strength == CHOICE or size > _MAX_UNNAMED_WIDTH)
        if not (again or awkward):
            return piece
        name = Piece(f"{self.shared}_{{{len(self.parts) + 1}}}")
        self.parts.append(f"{name.latex} = [{piece.latex}]" if code in op.CONDITIONS else f"{name.latex} = {piece.latex}")
        return name

    def _piece(self, step: tuple[Any, ...]) -> Piece:
        code = int(step[0])
        if code == op.CONSTANT:
            return number(float(step[1]), self.digits)
        if code == op.INPUT:
            return Piece(self._letters[int(step[1])][int(step[2])])
        if code == op.TABLE:
            return _table([number(float(value), self.digits).latex for value in table_values(step)])
        if code == op.TABLE_OF_INPUTS:
            first, count = int(step[2]), int(step[3])
            return _table(self._letters[int(step[1])][first : first + count])
        operands = [self._pieces[int(position)] for position in step[1:]]
        for k in range(op.OPERATIONS[code].truths, len(operands)):
            if int(self.code.steps[int(step[1 + k])][0]) in op.CONDITIONS and not operands[k].latex.startswith(self.shared):
                operands[k] = Piece(f"[{operands[k].latex}]")
        return FORMS[code](*operands)


def _table(entries: Sequence[str]) -> Piece:
    return Piece(rf"({entries[0]}, {entries[1]}, \ldots, {entries[-1]})")


def _product(a: Piece, b: Piece) -> Piece:
    return to_power(a, "2") if a == b else times(a, b)


def _power(a: Piece, b: Piece) -> Piece:
    return to_power(a, b.latex)


def _function(name: str) -> Callable[..., Piece]:
    return lambda *arguments: function_call(name, *arguments)


def _between(sign: str) -> Callable[[Piece, Piece], Piece]:
    return lambda a, b: Piece(f"{a.within(SUM)} {sign} {b.within(SUM)}", CHOICE)


FORMS: Mapping[int, Callable[..., Piece]] = {
    op.ADD: plus,
    op.SUBTRACT: minus,
    op.MULTIPLY: _product,
    op.DIVIDE: lambda a, b: over(a, b, _MAX_FRACTION_WIDTH),
    op.NEGATIVE: opposite,
    op.RECIPROCAL: lambda a: over(Piece("1"), a, _MAX_FRACTION_WIDTH),
    op.POWER: _power,
    op.SIN: _function(r"\sin"),
    op.COS: _function(r"\cos"),
    op.TAN: _function(r"\tan"),
    op.ASIN: _function(r"\arcsin"),
    op.ACOS: _function(r"\arccos"),
    op.ATAN: _function(r"\arctan"),
    op.ATAN2: _function(r"\operatorname{atan2}"),
    op.SQRT: lambda a: Piece(rf"\sqrt{{{a.latex}}}") if width(a.latex) <= _MAX_FRACTION_WIDTH else to_power(a, "1/2"),
    op.EXP: _function(r"\exp"),
    op.EXPM1: lambda a: minus(function_call(r"\exp", a), Piece("1")),
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
    op.BOTH: lambda a, b: Piece(f"{a.within(SUM)} \\wedge {b.within(SUM)}", CHOICE),
    op.EITHER: lambda a, b: Piece(f"{a.within(SUM)} \\vee {b.within(SUM)}", CHOICE),
    op.OPPOSITE: lambda a: Piece(f"\\neg {a.within(ATOM)}", CHOICE),
    op.WHERE: conditional,
    op.SEARCHSORTED: _function(r"\operatorname{searchsorted}"),
    op.TAKE: _function(r"\operatorname{take}"),
}
_KNOWN = re.compile(
    r"#\d+|\\(?:tfrac|frac|cdot|times|left|right|min|max|sin|cos|exp|ln|det|top|le|mathrm\{(?:Ad|ad|tr)\}|tilde|mathbf\{1\})(?![a-zA-Z])"
    r"|\\(?:begin|end)\{bmatrix\}|\\[,;!|\\]|\^T(?![a-zA-Z])|_[xyz](?![a-zA-Z])|[\d\s+\-*/^_{}()\[\]|,.<>=&]"
)
"""Signs that need no explanation."""
_TOKEN = re.compile(
    r"\\mathrm\{\w+\}|\\mathbf\{\w+\}|\\(?:begin|end)\{\w+\}|\\[a-zA-Z]+|\^T(?![a-zA-Z])|_[xyz](?![a-zA-Z])|.", re.DOTALL
)


@dataclass(frozen=True)
class LatexParts:
    """Right-hand sides with #1, #2, ... for the arguments, and equations that explain other letters."""

    lines: tuple[str, ...]
    remarks: tuple[str, ...]


@cache
def latex_parts(operation: Op, results: int) -> LatexParts | None:
    """Return the parts of an operation's LaTeX for this number of results; None if the LaTeX is missing or not self-contained."""
    lines = operation.latex.split("\n")
    if not operation.latex or len(lines) < results:
        return None
    *right, last = lines[:results]
    first, *remarks = last.split(r",\; ")
    remarks += [remark for line in lines[results:] for remark in line.split(r",\; ")]
    new_letters = {letter for remark in remarks for letter in _letters(remark.partition("=")[0])}
    if any(_letters(left) & _letters(right) for left, _, right in (remark.partition("=") for remark in remarks)):
        return None  # a remark gives a letter in terms of itself
    marked = [_marked(text, new_letters) for text in (*right, first, *remarks)]
    if any(_KNOWN.sub("", re.sub(r"\\mathsf\{\w\}|\\boldsymbol\{\\\w+\}", "", text)) for text in marked):
        return None
    return LatexParts(tuple(marked[:results]), tuple(marked[results:]))


def local(letter: str) -> str:
    return rf"\boldsymbol{{{letter}}}" if letter.startswith("\\") else rf"\mathsf{{{letter}}}"


def _letters(left: str) -> set[str]:
    return {token for token in _TOKEN.findall(left) if re.fullmatch(r"[A-Za-z]|\\[a-z]{2,}", token)}


def _marked(text: str, new_letters: Collection[str]) -> str:
    return "".join(f"{{{local(token)}}}" if token in new_letters else token for token in _TOKEN.findall(text)).replace(
        "^T", r"^{\top}"
    )


_MAX_INLINE_STEPS = 24


@dataclass(frozen=True)
class Definition:
    """Function of the document: its number and name, and its arguments and results in local letters."""

    number: int
    title: str
    function: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    code: Recorded
    formula: Formula
    source: str = ""
    note: str = ""

    @property
    def reads(self) -> tuple[bool, ...]:
        blocks = {int(step[1]) for step in self.code.steps if step[0] in op.OF_BLOCKS}
        return tuple(k in blocks for k in range(len(self.arguments)))


class Functions:
    """Names of operations; equal operations share a name. Numbers have `digits` significant digits."""

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.definitions: dict[Recorded, Definition] = {}
        self.with_all_arguments: set[int] = set()
        """Numbers of functions that are called with all arguments, including unused arguments."""

    def plain(self, operation: Op, shapes: Sequence[tuple[int, ...]], letters: Sequence[str]) -> str:
        if any(shapes):
            return ""
        code = record(operation, shapes)
        if code.results != ((),) or len(code.steps) > _MAX_INLINE_STEPS:
            return ""
        formula = formula_latex(code, letters, ("y",), SHARED, self.digits)
        return "" if formula.parts else formula.results[0].removeprefix("y = ")

    def of(self, operation: Op, shapes: Sequence[tuple[int, ...]], letters: Sequence[str], results: Sequence[str]) -> Definition:
        code = record(operation, shapes)
        definition = self.definitions.get(code)
        if definition is None:
            number = len(self.definitions) + 1
            word = next(iter(re.findall(r"[A-Za-z]+", operation.name)), "f")
            function = rf"\mathrm{{{word}}}_{{{number}}}"
            local_letters = _local([*letters, *results])
            arguments, outs = tuple(local_letters[: len(letters)]), tuple(local_letters[len(letters) :])
            formula = formula_latex(code, arguments, outs, local(SHARED), self.digits)
            source = sources_of(operation)
            definition = Definition(number, operation.name, function, arguments, outs, code, formula, source, operation.note)
            self.definitions[code] = definition
        return definition


def _local(letters: Sequence[str]) -> list[str]:
    taken, results = {local(SHARED)}, list[str]()
    for letter in letters:
        match = re.search(r"\\[a-z]+|[A-Za-z]", re.sub(r"\\(?:bar|hat|tilde|d+ot|math[a-z]+|text)(?![a-z])", "", letter))
        first = match[0] if match else "a"
        marked = (mark.format(local(first)) for mark in _MARKS)
        free = next(each for each in itertools.chain(marked, _any_letter()) if each not in taken)
        taken.add(free)
        results.append(free)
    return results


def _any_letter() -> Iterator[str]:
    """Yield all letters, then all letters with one mark, then with two marks, and so on."""
    for count in itertools.count():
        for marks in itertools.product(_MARKS[1:], repeat=count):
            for letter in "abcdefghijklmnopqrtuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ":
                yield functools.reduce(lambda text, mark: mark.format(text), marks, local(letter))


_MARKS = ("{}", r"\hat{{{}}}", r"\check{{{}}}", r"\bar{{{}}}")
