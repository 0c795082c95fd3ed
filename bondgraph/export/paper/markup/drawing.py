"""Drawing in LaTeX: the SVG of a diagram as a `picture`, with its lines as PDF operators and its text as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from bondgraph.export.paper.markup.content import Figure
from bondgraph.output.tex import escape_latex
from bondgraph.render.primitives import Lettering, Outline, Point, primitives

PAGE_WIDTH = 490.0
"""Width of a page, points (bp)."""
MAX_SCALE = 0.66
"""Maximum number of points per px."""


def drawing(figure: Figure) -> str:
    """Return the figure for pdflatex, at most as wide as the page."""
    root = ElementTree.fromstring(figure.svg)
    scale = min(MAX_SCALE, PAGE_WIDTH / figure.width)
    pen = _Pen(figure.height, scale)
    seen = [each for each in primitives(root) if each.style.get("width") != "100%"]  # the page is the background
    lines = [pen.outline(each) if isinstance(each, Outline) else pen.text(each) for each in seen]
    size = f"({figure.width * scale:.1f},{figure.height * scale:.1f})"
    return "\n".join([r"{\setlength{\unitlength}{1bp}\noindent\begin{picture}" + size, *lines, r"\end{picture}}"])


_STEPS = {"M": "m", "L": "l", "C": "c", "Z": "h"}
"""Step of an outline -> PDF operator, which follows its points."""


@dataclass(frozen=True)
class _Pen:
    """Writes primitives in points, upwards."""

    height: float
    scale: float

    def _at(self, point: Point) -> str:
        return f"{point[0] * self.scale:.2f} {(self.height - point[1]) * self.scale:.2f}"

    def outline(self, outline: Outline) -> str:
        """Return operators of PDF."""
        steps = [" ".join([*map(self._at, points), _STEPS[letter]]) for letter, points in outline.cubics()]
        return (
            rf"\put(0,0){{\pdfliteral{{q {' '.join([*self._state(outline.style), *steps, _PAINT[_inked(outline.style)]])} Q}}}}"
        )

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
        """Return one line of text."""
        size = float(text.style["font-size"]) * self.scale * 0.95
        anchor = {"start": "[bl]", "middle": "[b]", "end": "[br]"}[text.style["text-anchor"]]
        weight = r"\bfseries" if text.bold else ""
        x, y = self._at(text.at).split()
        colour = _colour(text.style["fill"]).replace(" ", ",")
        face = rf"\color[rgb]{{{colour}}}\sffamily{weight}\fontsize{{{size:.1f}}}{{{size:.1f}}}\selectfont"
        return rf"\put({x},{y}){{\makebox(0,0){anchor}{{{face} \smash{{{escape_latex(text.words)}}}}}}}"


_PAINT = {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}
"""Paint operator of a path, by whether it is filled and stroked."""


def _inked(style: Mapping[str, str]) -> tuple[bool, bool]:
    return style.get("fill", "none") != "none", style.get("stroke", "none") != "none"


def _colour(hexadecimal: str) -> str:
    digits = hexadecimal.lstrip("#")
    return " ".join(f"{int(digits[k : k + 2], 16) / 255:.3f}" for k in (0, 2, 4))
