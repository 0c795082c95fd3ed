"""Function definitions: a name for each operation that is no plain formula, and its formula, written once."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

from bondgraph.export.paper.notation.formulas import SHARED, Formula, Recorded, formula_latex, record
from bondgraph.model.ops import Op, sources_of
from bondgraph.tape import opcodes

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
    """Right-hand sides with #1, #2, ... for the arguments, and equations of further letters."""

    lines: tuple[str, ...]
    remarks: tuple[str, ...]


@cache
def latex_parts(operation: Op, results: int) -> LatexParts | None:
    """Return the parts of an operation's LaTeX for its results; None if it needs an explanation."""
    lines = operation.latex.split("\n")
    if not operation.latex or len(lines) < results:
        return None
    *right, last = lines[:results]
    first, *remarks = last.split(r",\; ")
    remarks += [remark for line in lines[results:] for remark in line.split(r",\; ")]
    new_letters = {letter for remark in remarks for letter in _letters(remark.partition("=")[0])}
    if any(_letters(left) & _letters(right) for left, _, right in (remark.partition("=") for remark in remarks)):
        return None  # a letter for what has no formula of its own
    marked = [_marked(text, new_letters) for text in (*right, first, *remarks)]
    if any(_KNOWN.sub("", re.sub(r"\\mathsf\{\w\}|\\boldsymbol\{\\\w+\}", "", text)) for text in marked):
        return None
    return LatexParts(tuple(marked[:results]), tuple(marked[results:]))


def local(letter: str) -> str:
    """Return a letter that holds only where it is defined."""
    return rf"\boldsymbol{{{letter}}}" if letter.startswith("\\") else rf"\mathsf{{{letter}}}"


def _letters(left: str) -> set[str]:
    return {token for token in _TOKEN.findall(left) if re.fullmatch(r"[A-Za-z]|\\[a-z]{2,}", token)}


def _marked(text: str, new_letters: Collection[str]) -> str:
    return "".join(f"{{{local(token)}}}" if token in new_letters else token for token in _TOKEN.findall(text)).replace(
        "^T", r"^{\top}"
    )


_MAX_INLINE_STEPS = 24
"""Maximum number of steps of an operation on scalars that is written inline."""


@dataclass(frozen=True)
class Definition:
    """Function of the document: its number, its name, and its arguments and results in local letters."""

    number: int
    title: str
    function: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    code: Recorded
    source: str = ""
    note: str = ""

    @property
    def formula(self) -> Formula:
        """Return its formula."""
        return formula_latex(self.code, self.arguments, self.results, local(SHARED))

    @property
    def reads(self) -> tuple[bool, ...]:
        """Return for each argument whether the function depends on it."""
        blocks = {int(step[1]) for step in self.code.steps if step[0] in opcodes.OF_BLOCKS}
        return tuple(k in blocks for k in range(len(self.arguments)))


class Functions:
    """Gives names to operations, each one once; equal ones share a name."""

    def __init__(self) -> None:
        self.definitions: dict[Recorded, Definition] = {}
        self.with_all_arguments: set[int] = set()
        """Numbers of functions that are called with all arguments, including those that they do not read."""

    def plain(self, operation: Op, shapes: Sequence[tuple[int, ...]], letters: Sequence[str]) -> str:
        """Return the formula of an operation on scalars in these letters, if it is short; else ""."""
        if any(shapes):
            return ""
        code = record(operation, shapes)
        if code.results != ((),) or len(code.steps) > _MAX_INLINE_STEPS:
            return ""
        formula = formula_latex(code, letters, ("y",), SHARED)
        return "" if formula.parts else formula.results[0].removeprefix("y = ")

    def of(self, operation: Op, shapes: Sequence[tuple[int, ...]], letters: Sequence[str], results: Sequence[str]) -> Definition:
        """Return the definition of an operation on arguments of these shapes; the letters are those of its first use."""
        code = record(operation, shapes)
        definition = self.definitions.get(code)
        if definition is None:
            number = len(self.definitions) + 1
            function = rf"\mathrm{{{_word(operation.name)}}}_{{{number}}}"
            local_letters = _local([*letters, *results])
            arguments, outs = tuple(local_letters[: len(letters)]), tuple(local_letters[len(letters) :])
            definition = Definition(
                number, operation.name, function, arguments, outs, code, sources_of(operation), operation.note
            )
            self.definitions[code] = definition
        return definition


def _word(name: str) -> str:
    """Return the first word of a name."""
    words = re.findall(r"[A-Za-z]+", name)
    return words[0] if words else "f"


def _local(letters: Sequence[str]) -> list[str]:
    """Return a local letter for each: its own; with a hat or another mark if an earlier one has it already."""
    taken, results = {local(SHARED)}, list[str]()
    for letter in letters:
        match = re.search(r"\\[a-z]+|[A-Za-z]", re.sub(r"\\(?:bar|hat|tilde|d+ot|math[a-z]+|text)(?![a-z])", "", letter))
        first = match[0] if match else "a"
        marked = (mark.format(local(first)) for mark in _MARKS)
        free = next((each for each in marked if each not in taken), None)
        free = free or next(local(c) for c in "abcdefghijklmnopqrtuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if local(c) not in taken)
        taken.add(free)
        results.append(free)
    return results


_MARKS = ("{}", r"\hat{{{}}}", r"\check{{{}}}", r"\bar{{{}}}")
