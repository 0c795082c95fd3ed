"""LaTeX of operations, in parts: a line for each result, and remarks on further letters; or None if it needs an explanation.

Letters that remarks introduce hold in these lines alone and are set as such: Latin ones without serifs, Greek ones bold.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from bondgraph.model.ops import Op

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
