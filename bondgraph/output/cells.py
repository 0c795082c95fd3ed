"""Cells of notebooks: words, tables, code and formulas in; HTML, for light and dark pages, and LaTeX out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

ROWS = 24
"""Rows of a table and lines of a list, at most; what is left out is counted."""
LONGEST = 12_000
"""Characters of LaTeX, at most, that a notebook is asked to typeset."""
_CODE = 60
_MOVES = re.compile(r"\\(?:[,;:!]|quad|qquad|[td]frac)")
_MOST_MOVES = 300
"""Spaces and the like, which KaTeX expands: it gives up at 1000 expansions."""


class Typeset:
    """A record with `latex()` and a text: notebooks typeset it, or show its text where that would be long."""

    def latex(self) -> str:
        """An `align*` or `gather*` environment."""
        raise NotImplementedError

    def _repr_latex_(self) -> str | None:
        return typeset(self.latex())

    def _repr_html_(self) -> str | None:
        if typeset(self.latex()) is not None:
            return None
        return cell(folded(f"{getattr(self, 'name', type(self).__name__)}: equations as text", code(str(self), most=None)))


def cell(*blocks: str) -> str:
    """Blocks, one below the other."""
    return f'<div class="screwbond">{"".join(blocks)}</div>'


def plural(count: int, word: str) -> str:
    """A count and what is counted.

    >>> plural(1, "state"), plural(0, "input")
    ('1 state', '0 inputs')
    """
    return f"{count} {word}{'' if count == 1 else 's'}"


def line(title: str, words: str = "") -> str:
    """A title in bold, and what is said of it."""
    return f"<p><b>{escape(title)}</b>{': ' if words else ''}{escape(words)}</p>"


def folded(title: str, *blocks: str, opened: bool = False) -> str:
    """Blocks behind a title that opens and closes them."""
    return f"<details{' open' if opened else ''}><summary>{escape(title)}</summary>{''.join(blocks)}</details>"


def items(entries: Sequence[str], most: int | None = ROWS) -> str:
    """A list."""
    shown = entries if most is None or len(entries) <= most + 1 else entries[:most]
    more = f"<li>and {len(entries) - len(shown)} more</li>" if len(shown) < len(entries) else ""
    return f"<ul>{''.join(f'<li>{escape(entry)}</li>' for entry in shown)}{more}</ul>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], most: int | None = ROWS) -> str:
    """A table: numbers to the right with five digits, words to the left."""
    rows = list(rows)
    shown = rows if most is None or len(rows) <= most + 1 else rows[:most]
    sides = ["left" if isinstance(entry, str) else "right" for entry in (rows[0] if rows else head)]
    top = "".join(f'<th style="text-align:{side}">{escape(name)}</th>' for side, name in zip(sides, head, strict=True))
    body = "".join(f"<tr>{''.join(map(_place, row))}</tr>" for row in shown)
    if len(shown) < len(rows):
        body += f'<tr><td colspan="{len(head)}" style="text-align:left">and {len(rows) - len(shown)} more</td></tr>'
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def code(text: str, most: int | None = _CODE) -> str:
    """Text as it is, its first lines."""
    lines = text.rstrip("\n").split("\n")
    shown = lines if most is None or len(lines) <= most else [*lines[:most], f"... and {len(lines) - most} lines more"]
    return f'<pre style="overflow-x:auto">{escape(chr(10).join(shown))}</pre>'


def files(name: str, texts: Mapping[str, str]) -> str:
    """The first lines of every file, each behind its name."""
    most = max(_CODE // len(texts), 8)
    shown = (folded(f"{file} ({text.count(chr(10))} lines)", code(text, most)) for file, text in texts.items())
    return cell(line(name, "write(folder) writes the files"), *shown)


def number(value: Any) -> str:
    """A number with five digits, with a minus sign where there is one; an array by its entries, or its shape where they are many.

    >>> number(-0.25), number(3 - 2j), number([1.0, 2.0]), number([[1, 0], [0, 1]])
    ('−0.25', '3 − 2j', '1, 2', '2 × 2')
    """
    array = np.asarray(value)
    if array.ndim == 1 and 0 < array.size <= 4:
        return ", ".join(number(entry) for entry in array)
    if array.ndim:
        return " × ".join(map(str, array.shape))
    entry = array[()]
    if np.iscomplexobj(array):
        real, imaginary = float(entry.real), float(entry.imag)
        return number(real) if imaginary == 0.0 else f"{number(real)} {'−' if imaginary < 0 else '+'} {number(abs(imaginary))}j"
    return f"{entry + 0.0:.5g}".replace("-", "−")


def typeset(latex: str) -> str | None:
    r"""LaTeX of an `align*` or `gather*` environment as one displayed formula that MathJax and KaTeX accept; None if it is long.

    >>> typeset(r"\begin{align*}x &= 1\end{align*}")
    '$$\\begin{aligned}x &= 1\\end{aligned}$$'
    """
    if len(latex) > LONGEST or len(_MOVES.findall(latex)) > _MOST_MOVES:
        return None
    body = latex.strip().replace("{align*}", "{aligned}").replace("{gather*}", "{gathered}").replace("\\allowbreak", "")
    return f"$${_TEXT.sub(_apart, body)}$$"


_TEXT = re.compile(r"\\(text|textrm|mathrm|textbf)\{([^{}]*\\_[^{}]*)\}")


def _apart(found: re.Match[str]) -> str:
    """Underscores outside of words: MathJax would print their backslash, KaTeX refuses them without."""
    return r"\_".join(rf"\{found[1]}{{{word}}}" if word else "" for word in found[2].split(r"\_"))


def _place(value: Any) -> str:
    if isinstance(value, str):
        return f'<td style="text-align:left">{escape(value)}</td>'
    return f'<td style="text-align:right">{escape(number(value))}</td>'
