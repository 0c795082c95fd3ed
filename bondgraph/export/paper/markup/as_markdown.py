"""Markdown of a document: a page for KaTeX or MathJax, with embedded figures."""

from __future__ import annotations

import base64

from bondgraph.export.paper.markup.content import Block, Equations, Figure, Paper, Paragraph, Section, TableBlock, Words, markup


def as_markdown(paper: Paper) -> str:
    return "\n\n".join([f"# {_plain(paper.title)}", *map(_block, paper.blocks)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Section(title, level):
            return f"{'#' * (level + 1)} {_plain(title)}"
        case Paragraph(words, title, _):
            return (f"**{_plain(title)}** " if title else "") + _words(words)
        case Equations(items, _):
            return "\n\n".join(
                (f"{_words(each.lead)} &emsp; " if each.lead else "&emsp; ")
                + f"${each.latex}$ &emsp; ({f'{_plain(each.source)}, ' if each.source else ''}{each.number})"
                for each in items
            )
        case TableBlock(heads, _, rows, caption):
            lines = [f"{_words(caption)}\n", _row([_plain(head) for head in heads]), _row(["---"] * len(heads))]
            return "\n".join([*lines, *(_row([_cell(cell) for cell in row]) for row in rows)])
        case Figure(svg, caption, _, _):
            inside = base64.b64encode(svg.encode()).decode()
            return f"![{_words(caption)}](data:image/svg+xml;base64,{inside})\n\n{_words(caption)}"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(words: Words) -> str:
    return _words(words).replace(r"\|", r"\Vert ").replace("|", r"\vert ")


def _words(words: Words) -> str:
    return markup(words, lambda latex: f"${latex}$", lambda text: f"`{text}`", _plain)


def _plain(words: str) -> str:
    for sign in "\\`*_{}[]<>#|$":
        words = words.replace(sign, f"\\{sign}")
    return words
