"""Functions: operations as they are met in; a name for each that is no plain formula, and its formula written out once, out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.export.paper.notation.formulas import SHARED, Formula, Recorded, recorded, written
from bondgraph.export.paper.notation.told import local
from bondgraph.model.ops import Op, sources_of
from bondgraph.tape import opcodes

_SHORT = 24
"""Most steps of an operation on scalars that is written where it stands."""


@dataclass(frozen=True)
class Definition:
    """A function of the document: its number, its name, and its arguments and results in local letters."""

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
        """What it computes."""
        return written(self.code, self.arguments, self.results, local(SHARED))

    @property
    def reads(self) -> tuple[bool, ...]:
        """Which of its arguments it depends on."""
        blocks = {int(step[1]) for step in self.code.steps if step[0] == opcodes.INPUT}
        return tuple(k in blocks for k in range(len(self.arguments)))


class Functions:
    """Gives names to operations, each one once; equal ones share a name."""

    def __init__(self) -> None:
        self.found: dict[Recorded, Definition] = {}
        self.whole: set[int] = set()
        """Numbers of those that are called with all arguments, also those that they do not read."""

    def plain(self, operation: Op, shapes: Sequence[tuple[int, ...]], letters: Sequence[str]) -> str:
        """The formula of an operation on scalars in these letters, if it is short; else ""."""
        if any(shapes):
            return ""
        code = recorded(operation, shapes)
        if code.results != ((),) or len(code.steps) > _SHORT:
            return ""
        found = written(code, letters, ("y",), SHARED)
        return "" if found.parts else found.results[0].removeprefix("y = ")

    def of(self, operation: Op, shapes: Sequence[tuple[int, ...]], letters: Sequence[str], results: Sequence[str]) -> Definition:
        """The definition of an operation on arguments of these shapes; the letters are those of its first use."""
        code = recorded(operation, shapes)
        known = self.found.get(code)
        if known is None:
            number = len(self.found) + 1
            function = rf"\mathrm{{{_word(operation.name)}}}_{{{number}}}"
            own = _local([*letters, *results])
            arguments, outs = tuple(own[: len(letters)]), tuple(own[len(letters) :])
            known = Definition(number, operation.name, function, arguments, outs, code, sources_of(operation), operation.note)
            self.found[code] = known
        return known


def _word(name: str) -> str:
    """The first word of a name."""
    words = re.findall(r"[A-Za-z]+", name)
    return words[0] if words else "f"


def _local(letters: Sequence[str]) -> list[str]:
    """A local letter for each: its own; with a hat or so, where an earlier one has it already."""
    taken, found = {local(SHARED)}, list[str]()
    for letter in letters:
        own = re.search(r"\\[a-z]+|[A-Za-z]", re.sub(r"\\(?:bar|hat|tilde|d+ot|math[a-z]+|text)(?![a-z])", "", letter))
        first = own[0] if own else "a"
        marked = (mark.format(local(first)) for mark in _MARKS)
        free = next((each for each in marked if each not in taken), None)
        free = free or next(local(c) for c in "abcdefghijklmnopqrtuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if local(c) not in taken)
        taken.add(free)
        found.append(free)
    return found


_MARKS = ("{}", r"\hat{{{}}}", r"\check{{{}}}", r"\bar{{{}}}")
