"""Notebook cells: build HTML, for light and dark pages, and LaTeX from text, tables, code and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from screws.errors import plural

MAX_ROWS = 24
"""Number of table rows or list lines before the line "and ... more", which replaces at least two."""
MAX_LATEX_LENGTH = 12_000
"""Maximum number of characters of LaTeX that a notebook typesets."""
_CODE_LINES = 60
_SPACING = re.compile(r"\\(?:[,;:!]|quad|qquad|[td]frac)")
_MAX_SPACING = 300
"""Maximum number of spacing commands: KaTeX expands each command, and gives up at 1000 expansions."""


class Typeset:
    """Record with `latex()` and plain text: notebooks typeset the LaTeX, or show the text if the LaTeX is too long."""

    def latex(self) -> str:
        """Return an `align*` or `gather*` environment."""
        raise NotImplementedError

    def _repr_latex_(self) -> str | None:
        return typeset(self.latex())

    def _repr_html_(self) -> str | None:
        if typeset(self.latex()) is not None:
            return None
        return cell(collapsible(f"{getattr(self, 'name', type(self).__name__)}: equations as text", code(str(self), limit=None)))


def cell(*blocks: str) -> str:
    return f'<div class="screwbond">{"".join(blocks)}</div>'


def line(title: str, text: str = "") -> str:
    return f"<p><b>{escape(title)}</b>{': ' if text else ''}{escape(text)}</p>"


def collapsible(title: str, *blocks: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{''.join(blocks)}</details>"


def items(entries: Sequence[str], limit: int | None = MAX_ROWS) -> str:
    shown = entries if limit is None or len(entries) <= limit + 1 else entries[:limit]
    more = f"<li>and {len(entries) - len(shown)} more</li>" if len(shown) < len(entries) else ""
    return f"<ul>{''.join(f'<li>{escape(entry)}</li>' for entry in shown)}{more}</ul>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], limit: int | None = MAX_ROWS) -> str:
    rows = list(rows)
    shown = rows if limit is None or len(rows) <= limit + 1 else rows[:limit]
    sides = ["left" if isinstance(entry, str) else "right" for entry in (rows[0] if rows else head)]
    top = "".join(f'<th style="text-align:{side}">{escape(name)}</th>' for side, name in zip(sides, head, strict=True))
    body = "".join(f"<tr>{''.join(map(_table_cell, row))}</tr>" for row in shown)
    if len(shown) < len(rows):
        body += f'<tr><td colspan="{len(head)}" style="text-align:left">and {len(rows) - len(shown)} more</td></tr>'
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def code(text: str, limit: int | None = _CODE_LINES) -> str:
    lines = text.rstrip("\n").split("\n")
    shown = lines if limit is None or len(lines) <= limit else [*lines[:limit], f"... and {len(lines) - limit} more lines"]
    return f'<pre style="overflow-x:auto">{escape(chr(10).join(shown))}</pre>'


def files(name: str, texts: Mapping[str, str]) -> str:
    limit = max(_CODE_LINES // len(texts), 8)
    shown = (collapsible(f"{file} ({plural(text.count(chr(10)), 'line')})", code(text, limit)) for file, text in texts.items())
    return cell(line(name, "write(folder) writes the files"), *shown)


def number(value: Any) -> str:
    """Return a number with five digits and a typographic minus sign; an array by its entries, or by its shape if it is large.

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
    r"""Return an `align*` or `gather*` environment as one displayed formula for MathJax and KaTeX; None if it is too long.

    >>> typeset(r"\begin{align*}x &= 1\end{align*}")
    '$$\\begin{aligned}x &= 1\\end{aligned}$$'
    """
    if len(latex) > MAX_LATEX_LENGTH or len(_SPACING.findall(latex)) > _MAX_SPACING:
        return None
    body = latex.strip().replace("{align*}", "{aligned}").replace("{gather*}", "{gathered}").replace("\\allowbreak", "")
    return f"$${_TEXT_WITH_UNDERSCORE.sub(_split_text, body)}$$"


_TEXT_WITH_UNDERSCORE = re.compile(r"\\(text|textrm|mathrm|textbf)\{([^{}]*\\_[^{}]*)\}")


def _split_text(match: re.Match[str]) -> str:
    """Move underscores out of text commands: MathJax would print the backslash, and KaTeX refuses an underscore without one."""
    return r"\_".join(rf"\{match[1]}{{{word}}}" if word else "" for word in match[2].split(r"\_"))


def _table_cell(value: Any) -> str:
    if isinstance(value, str):
        return f'<td style="text-align:left">{escape(value)}</td>'
    return f'<td style="text-align:right">{escape(number(value))}</td>'
