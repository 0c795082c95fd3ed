"""Typst of a document: source for the Typst compiler without packages, with its figures inside."""

from __future__ import annotations

import re

from bondgraph.export.paper.markup.as_latex import MAX_SCALE, PAGE_WIDTH
from bondgraph.export.paper.markup.content import (
    Equations,
    Figure,
    InlineCode,
    Math,
    Paper,
    Paragraph,
    Section,
    TableBlock,
    Words,
)
from bondgraph.export.paper.markup.typst_math import PREAMBLE, quoted, typst_math

_HEAD = r"""#set page(paper: "a4", margin: 18mm, numbering: "1")
#set text(font: "New Computer Modern", size: 10pt)
#set par(justify: true, leading: 0.5em, spacing: 0.6em)
#show math.equation: set text(top-edge: "bounds", bottom-edge: "bounds") // lines make room for what is raised and lowered
#show raw: set text(size: 1em)
// Names may be broken after some signs, and long ones anywhere.
#let parted(name) = { show regex("[.)_/-]|[^.)_/\s-]{14}"): piece => piece + sym.zws; name }
#show raw: parted
#show regex("\S{25,}"): parted
#show heading: set block(above: 1.2em, below: 0.7em)
#let small(body) = { set text(size: 8.5pt); set par(justify: false, leading: 0.4em); body }
// The number stands at the right end of the last line, or of a line of its own.
#let equation(number, body) = par(justify: false, hanging-indent: 2.4em, spacing: 0.5em)[
  #body #box()\u{2060}#h(1fr)\u{2060}#box(number)
]
#let rows(widths, heads, ..cells) = {
  set text(size: 8.5pt)
  set par(justify: false, leading: 0.5em)
  show math.equation: set text(top-edge: "cap-height", bottom-edge: "baseline") // cells of a row have one base line
  table(
    columns: widths, stroke: none, inset: (x: 2pt, y: 2.8pt), align: left + top,
    table.header(..heads.map(strong), table.hline(stroke: 0.4pt)), ..cells,
  )
}
"""


def as_typst(paper: Paper) -> str:
    """Return the source of a whole document; raise `ModelError` E280 for a formula of the user's that Typst cannot express."""
    title = _plain(paper.title)
    head = [_HEAD + PREAMBLE, f"#set document(title: [{title}])", f"#align(center, text(size: 1.44em, weight: 700)[{title}])"]
    return "\n\n".join(["\n".join(head), *map(_block, paper.blocks)]) + "\n"


def _block(block: object) -> str:
    match block:
        case Section(title, level):
            return f"{'=' * level} {_plain(title)}"
        case Paragraph(words, title, small):
            text = (f"*{_plain(title)}* " if title else "") + _words(words)
            return f"#small[{text}]" if small else text
        case Equations(items):
            return "\n".join(
                f"#equation[({f'{_plain(each.source)}, ' if each.source else ''}{each.number})]"
                f"[{f'{_words(each.lead)}#h(1em)' if each.lead else ''}{_formula(each.latex)}]"
                for each in items
            )
        case TableBlock(heads, widths, rows):
            columns = ", ".join(f"{100 * width / sum(widths):.1f}%" for width in widths)
            lines = ["  " + " ".join(f"[{_words(cell)}]," for cell in row) for row in rows]
            headings = " ".join(f"[{_plain(head)}]," for head in heads)
            return "\n".join([f"#rows(({columns}), ({headings}),", *lines, ")"])
        case Figure(svg, caption, width, height):
            scale = min(MAX_SCALE, PAGE_WIDTH / width)
            size = f"width: {width * scale:.1f}pt, height: {height * scale:.1f}pt"
            image = f'#image(bytes({quoted(svg)}), format: "svg", {size})'
            return (
                f"#align(center)[\n{image}\n{_words(caption)}\n]" if caption else f"#align(center, block(sticky: true)[{image}])"
            )
    raise TypeError(f"{type(block).__name__} is no block of a document")


def _formula(latex: str) -> str:
    return f"${typst_math(latex)}$"


def _words(words: Words) -> str:
    out = []
    for piece in words:
        match piece:
            case Math(latex):
                out.append(_formula(latex))
            case InlineCode(text):
                out.append(f"#raw({quoted(text)})")
            case _:
                out.append(_plain(piece))
    # Text right after a name is no argument.
    return re.sub(r"(#raw\(\"(?:[^\"\\]|\\.)*\"\))(?=[(\[.])", r"\1;", "".join(out))


def _plain(words: str) -> str:
    """Escape all signs of Typst."""
    words = re.sub(r"[\\#$*_`<>@~\[\]\"']", r"\\\g<0>", words)
    words = re.sub(r"(?<=[-/.])[-/*.]", r"\\\g<0>", words)  # signs of their own, comments, addresses
    return re.sub(r"(?m)^(\s*)([-+=/]|\d+\.)", _no_item, words)


def _no_item(match: re.Match[str]) -> str:
    """Escape the begin of a line that would be an item of a list."""
    return f"{match[1]}{match[2][:-1]}\\{match[2][-1]}"
