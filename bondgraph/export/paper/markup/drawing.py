"""A drawing in LaTeX: the SVG of a diagram in; a `picture` with its lines as PDF operators and its text as text, out.

Only what diagrams consist of is understood: groups that are shifted, rectangles, paths of straight lines and parabolas, and text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree

from bondgraph.export.paper.markup.content import Figure
from bondgraph.export.symbols import escaped

WIDEST = 490.0
"""Points (bp) of the width of a page."""
LARGEST = 0.66
"""Points of a px, where there is room."""
_STEP = re.compile(r"([MLQHZ])([^MLQHZ]*)")
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap")


def drawing(figure: Figure) -> str:
    """The figure for pdflatex, as wide as the page at most."""
    root = ElementTree.fromstring(figure.svg)
    scale = min(LARGEST, WIDEST / figure.width)
    pen = _Pen(figure.height, scale)
    pen.group(root, {}, (0.0, 0.0))
    size = f"({figure.width * scale:.1f},{figure.height * scale:.1f})"
    return "\n".join([r"{\setlength{\unitlength}{1bp}\noindent\begin{picture}" + size, *pen.lines, r"\end{picture}}"])


class _Pen:
    """Writes one element after the other, each above the one before."""

    def __init__(self, height: float, scale: float):
        self.height, self.scale, self.lines = height, scale, list[str]()

    def group(self, group: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """The children of a group, with what they inherit."""
        style = {**style, **{key: group.attrib[key] for key in _INHERITED if key in group.attrib}}
        moved = re.fullmatch(r"translate\((\S+) (\S+)\)", group.get("transform", "translate(0 0)"))
        assert moved is not None
        shift = (shift[0] + float(moved[1]), shift[1] + float(moved[2]))
        kinds = {"g": self.group, "path": self.path, "rect": self.rectangle, "text": self.text}
        for child in group:
            kind = child.tag.rpartition("}")[2]
            if kind != "title" and child.get("width") != "100%":  # what is not seen
                kinds[kind](child, {**style, **child.attrib}, shift)

    def _at(self, x: float, y: float) -> str:
        return f"{x * self.scale:.2f} {(self.height - y) * self.scale:.2f}"

    def path(self, child: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """Straight lines and parabolas."""
        steps, at = [], (0.0, 0.0)
        for letter, given in _STEP.findall(child.attrib["d"]):
            numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", given)]
            if letter == "Z":
                steps.append("h")
                continue
            if letter == "H":
                numbers = [numbers[0], at[1] - shift[1]]
            places = [(x + shift[0], y + shift[1]) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            if letter == "Q":
                control, end = places
                cubic = [tuple(a + 2 / 3 * (c - a) for a, c in zip(side, control, strict=True)) for side in (at, end)]
                steps.append(f"{self._at(*cubic[0])} {self._at(*cubic[1])} {self._at(*end)} c")
            else:
                steps += [f"{self._at(*place)} {'m' if letter == 'M' else 'l'}" for place in places]
            at = places[-1]
        self._draw(steps, style)

    def rectangle(self, child: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """A rectangle with round corners."""
        left, top, width, height = (float(child.attrib[key]) for key in ("x", "y", "width", "height"))
        left, top, r = left + shift[0], top + shift[1], float(child.get("rx", 0.0))
        right, bottom, k = left + width, top + height, 0.45 * float(child.get("rx", 0.0))
        steps = [f"{self._at(left + r, top)} m {self._at(right - r, top)} l"]
        for a, b, end, line in (
            ((right - k, top), (right, top + k), (right, top + r), (right, bottom - r)),
            ((right, bottom - k), (right - k, bottom), (right - r, bottom), (left + r, bottom)),
            ((left + k, bottom), (left, bottom - k), (left, bottom - r), (left, top + r)),
            ((left, top + k), (left + k, top), (left + r, top), (left + r, top)),
        ):
            steps.append(f"{self._at(*a)} {self._at(*b)} {self._at(*end)} c {self._at(*line)} l")
        self._draw([*steps, "h"], style)

    def _draw(self, steps: list[str], style: Mapping[str, str]) -> None:
        fill, stroke = style.get("fill", "none"), style.get("stroke", "none")
        state = [f"{float(style.get('stroke-width', 1.0)) * self.scale:.2f} w"]
        state += [f"{_colour(fill)} rg"] if fill != "none" else []
        state += [f"{_colour(stroke)} RG"] if stroke != "none" else []
        dashes = [f"{float(part) * self.scale:.2f}" for part in style.get("stroke-dasharray", "").split()]
        state += [f"[{' '.join(dashes)}] 0 d"] if dashes else []
        state += ["1 J"] if style.get("stroke-linecap") == "round" else []
        paint = {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}[fill != "none", stroke != "none"]
        self.lines.append(rf"\put(0,0){{\pdfliteral{{q {' '.join([*state, *steps, paint])} Q}}}}")

    def text(self, child: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """One line of text."""
        size = float(style["font-size"]) * self.scale * 0.95
        anchor = {"start": "[bl]", "middle": "[b]", "end": "[br]"}[style["text-anchor"]]
        weight = r"\bfseries" if int(style.get("font-weight", 400)) >= 600 else ""
        x, y = self._at(float(style["x"]) + shift[0], float(style["y"]) + shift[1]).split()
        words = escaped("".join(child.itertext()))
        colour = _colour(style["fill"]).replace(" ", ",")
        face = rf"\color[rgb]{{{colour}}}\sffamily{weight}\fontsize{{{size:.1f}}}{{{size:.1f}}}\selectfont"
        self.lines.append(rf"\put({x},{y}){{\makebox(0,0){anchor}{{{face} \smash{{{words}}}}}}}")


def _colour(hexadecimal: str) -> str:
    digits = hexadecimal.lstrip("#")
    return " ".join(f"{int(digits[k : k + 2], 16) / 255:.3f}" for k in (0, 2, 4))
