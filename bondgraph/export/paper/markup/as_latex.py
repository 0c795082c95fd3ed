"""LaTeX of a document: source for pdflatex that uses only packages of every TeX distribution and draws each diagram in a
`picture` environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from bondgraph.export.paper.markup.content import Block, Equations, Figure, Paper, Paragraph, Section, TableBlock, Words, markup
from bondgraph.output.tex import escape_latex
from bondgraph.render.primitives import Lettering, Outline, Point, primitives


def drawing(figure: Figure) -> str:
    root, scale = ElementTree.fromstring(figure.svg), figure.scale
    pen = _Pen(figure.height, scale)
    seen = [each for each in primitives(root) if each.style.get("width") != "100%"]  # the page is the background
    lines = [pen.outline(each) if isinstance(each, Outline) else pen.text(each) for each in seen]
    size = f"({figure.width * scale:.1f},{figure.height * scale:.1f})"
    begin, end = (r"\rotatebox{90}{", "}") if figure.is_turned else (r"\noindent", "")
    picture = r"{\setlength{\unitlength}{1bp}" + begin + r"\begin{picture}"
    return "\n".join([picture + size, *lines, r"\end{picture}" + end + "}"])


_STEPS = {"M": "m", "L": "l", "C": "c", "Z": "h"}
"""PDF operator of each step of an outline, written after the step's points."""


@dataclass(frozen=True)
class _Pen:
    """Writer of primitives, in points, with y upwards."""

    height: float
    scale: float

    def _at(self, point: Point) -> str:
        return f"{point[0] * self.scale:.2f} {(self.height - point[1]) * self.scale:.2f}"

    def outline(self, outline: Outline) -> str:
        steps = [" ".join([*map(self._at, points), _STEPS[letter]]) for letter, points in outline.cubics()]
        operators = " ".join([*self._state(outline.style), *steps, _PAINT[_inked(outline.style)]])
        return rf"\put(0,0){{\pdfliteral{{q {operators} Q}}}}"

    def _state(self, style: Mapping[str, str]) -> list[str]:
        fill, stroke = _inked(style)
        dashes = [f"{float(part) * self.scale:.2f}" for part in style.get("stroke-dasharray", "").split()]
        return [
            f"{float(style.get('stroke-width', 1.0)) * self.scale:.2f} w",
            *([f"{_colour(style['fill'])} rg"] if fill else []),
            *([f"{_colour(style['stroke'])} RG"] if stroke else []),
            *([f"[{' '.join(dashes)}] 0 d"] if dashes else []),
            *(["1 J"] if style.get("stroke-linecap") == "round" else []),
        ]

    def text(self, text: Lettering) -> str:
        size = float(text.style["font-size"]) * self.scale * 0.95
        anchor = {"start": "[bl]", "middle": "[b]", "end": "[br]"}[text.style["text-anchor"]]
        weight = r"\bfseries" if text.bold else ""
        x, y = self._at(text.at).split()
        colour = _colour(text.style["fill"]).replace(" ", ",")
        face = rf"\color[rgb]{{{colour}}}\sffamily{weight}\fontsize{{{size:.1f}}}{{{size:.1f}}}\selectfont"
        return rf"\put({x},{y}){{\makebox(0,0){anchor}{{{face} \smash{{{escape_latex(text.words)}}}}}}}"


_PAINT = {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}
"""Paint operator of a path, by (filled, stroked)."""


def _inked(style: Mapping[str, str]) -> tuple[bool, bool]:
    return style.get("fill", "none") != "none", style.get("stroke", "none") != "none"


def _colour(hexadecimal: str) -> str:
    digits = hexadecimal.lstrip("#")
    return " ".join(f"{int(digits[k : k + 2], 16) / 255:.3f}" for k in (0, 2, 4))


_HEAD = Path(__file__).with_name("latex_head.txt").read_text(encoding="utf-8")


def as_latex(paper: Paper) -> str:
    lines = [_HEAD, r"\begin{document}", rf"\begin{{center}}\Large\bfseries {_named(paper.title)}\end{{center}}"]
    return "\n".join([*lines, *map(_block, paper.blocks), r"\end{document}", ""])


def _block(block: Block) -> str:
    match block:
        case Section(title, level):
            return rf"\needspace\{'sub' * (level - 1)}section*{{{_named(title)}}}"
        case Paragraph(words, title, small):
            head = rf"\textbf{{{_named(title)}}}\ " if title else ""
            size = r"\footnotesize\raggedright " if small else ""
            return rf"{{{size}{head}{_words(words)}\par}}"
        case Equations(items, small):
            lines = "\n".join(
                rf"\numbered{{{_words(each.lead) + chr(92) + 'quad ' if each.lead else ''}}}{{{breakable(each.latex)}}}"
                rf"{{{escape_latex(each.source) + ', ' if each.source else ''}{each.number}}}"
                for each in items
            )
            return rf"{{\footnotesize {lines}}}" if small else lines
        case TableBlock():
            return _table(block)
        case Figure(_, caption):
            begin, end = (
                (r"\begin{figure}[p]\centering", "figure") if block.is_turned else (r"\needspace\begin{center}", "center")
            )
            below = rf"{{\small {_words(caption)}}}"
            return "\n".join([begin, drawing(block), r"\par\nopagebreak", below, rf"\end{{{end}}}"])


def _table(table: TableBlock) -> str:
    share = 0.995 - 0.0125 * len(table.widths)
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{width * share:.3f}\linewidth}}" for width in table.widths)
    head = " & ".join(rf"\textbf{{{escape_latex(each)}}}" for each in table.heads)
    rows = [" & ".join(_words(cell) for cell in row) + r" \\" for row in table.rows]
    begin = rf"\needspace{{\smallskip\footnotesize {_words(table.caption)}\par\nopagebreak"
    head = rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}" + "\n" + rf"{head} \\ \hline\noalign{{\vskip 1.5pt}} \endhead"
    return "\n".join([begin, head, *rows, r"\end{longtable}}"])


def _words(words: Words) -> str:
    return markup(words, lambda latex: f"${breakable(latex)}$", lambda text: rf"\code{{{_named(text)}}}", _spoken)


def _spoken(words: str) -> str:
    return " ".join(_named(word) if len(word) > _LONG else escape_latex(word) for word in words.split(" "))


def _named(name: str) -> str:
    pieces = re.split(r"(?<=[.)_\-/ ])(?=.)", name)
    pieces = [piece[k : k + _LONG] for piece in pieces for k in range(0, len(piece), _LONG)]
    return r"\allowbreak ".join(map(escape_latex, pieces))


_LONG = 14


def _parted(match: re.Match[str]) -> str:
    pieces = re.findall(r"(?:\\_|[^_ ])*(?:\\_| |$)", match[1])
    return r"\allowbreak ".join(rf"\text{{{piece}}}" for piece in pieces if piece)


def breakable(latex: str) -> str:
    latex = re.sub(r"\\text\{((?:[^{}$\\]|\\_){20,})\}", _parted, latex)
    depth, out = 0, []
    for token in re.findall(r"\\begin\{[a-z]+\}|\\end\{[a-z]+\}|\\left|\\right|\\[a-zA-Z]+|\\.|, |.", latex, re.DOTALL):
        if (token.startswith((r"\begin", r"\left")) and token not in (r"\leftarrow",)) or token == "{":
            depth += 1
        elif (token.startswith((r"\end", r"\right")) and token not in (r"\rightarrow",)) or token == "}":
            depth -= 1
        out.append(token + (r"\allowbreak " if depth == 0 and token in (", ", r"\,", ";") else ""))
        if depth == 0 and token == "}" and "".join(out[-12:]).endswith((r"\text{ if }", r"\text{, else }", r"\text{ or }")):
            out.append(r"\allowbreak ")
    return "".join(out)
