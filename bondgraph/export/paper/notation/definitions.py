"""Definitions: operations as they are met in; a name for each that is no plain formula, and its formula written out once, out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.export.paper.notation.formulas import SHARED, Formula, Recorded, recorded, written
from bondgraph.model.ops import Op

_SAYS_NOTHING_ELSE = re.compile(
    r"#\d+|\\(?:tfrac\d\d?|tfrac|frac|cdot|left|right|min|max|sin|cos|exp|ln|top|le|mathrm\{Ad\}|mathrm\{ad\}|tilde)(?![a-zA-Z])"
    r"|\\[,;!|]|\^T|[\d\s+\-*/^_{}()\[\]|,.<>=]"
)
"""What the LaTeX of an operation may hold that needs no explanation."""


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

    @property
    def formula(self) -> Formula:
        """What it computes."""
        return written(self.code, self.arguments, self.results, rf"\mathsf{{{SHARED}}}")


def says_all(operation: Op) -> bool:
    """Whether the LaTeX of an operation tells what it computes in letters of its arguments alone."""
    return bool(operation.latex) and "\n" not in operation.latex and not _SAYS_NOTHING_ELSE.sub("", operation.latex)


class Definitions:
    """Gives names to operations, each one once; equal ones share a name."""

    def __init__(self) -> None:
        self.found: dict[Recorded, Definition] = {}

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
            local = _local([*letters, *results])
            arguments, outs = tuple(local[: len(letters)]), tuple(local[len(letters) :])
            known = Definition(number, operation.name, function, arguments, outs, code, operation.source)
            self.found[code] = known
        return known


def _word(name: str) -> str:
    """The first words of a name that make a short name of a function."""
    words = re.findall(r"[A-Za-z]+", name)
    return words[0] if words else "f"


def _local(letters: Sequence[str]) -> list[str]:
    """A local letter for each, upright and without serifs: that which it begins with, or the next that is free."""
    free = [c for c in "abcdefghijklmnopqrtuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if c != SHARED]
    found: list[str] = []
    for letter in letters:
        own = re.sub(r"\\[a-zA-Z]+", "", letter)
        first = next((c for c in own if c in free), free[0]) if own else free[0]
        free.remove(first)
        found.append(rf"\mathsf{{{first}}}")
    return found
