"""TikZ of a diagram: a LaTeX document that stands alone or is included in another."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from bondgraph.output.tex import escape_latex
from bondgraph.render.primitives import Lettering, Outline, Point, primitives

POINT = 0.75
"""Points (bp) per px, of which 96 are an inch."""


NARROWER_BY_LATEX = {"normal": 0.95, "bold": 0.90}
"""Scale of the letters: Computer Modern's sans serif is wider than Helvetica, for which the picture was laid out."""


def tikz(svg: str) -> str:
    """Return a document of the class `standalone`: pdflatex makes a page of the size of the picture, and `\\input` a figure
    with the package of that name; the environment `tikzpicture` can be copied as it stands."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    seen = [each for each in primitives(root) if each.style.get("width") != "100%"]  # the page is the background
    used = {each.style.get(key, "none") for each in seen for key in ("fill", "stroke")} - {"none"}
    lines = [
        r"\documentclass[tikz]{standalone}",
        r"\usepackage[utf8]{inputenc}",
        r"\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}",  # has letters of every size
        r"\begin{document}",
        rf"\begin{{tikzpicture}}[x={POINT}bp, y=-{POINT}bp, inner sep=0pt, outer sep=0pt]",
        *(rf"\definecolor{{{_name(colour)}}}{{HTML}}{{{colour[1:].upper()}}}" for colour in sorted(used)),
        rf"\path[use as bounding box] (0,0) rectangle ({width:.0f},{height:.0f});",
        *(_outline(each) if isinstance(each, Outline) else _lettering(each) for each in seen),
        r"\end{tikzpicture}",
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"


def _name(colour: str) -> str:
    return f"c{colour[1:].lower()}"


def _at(point: Point) -> str:
    return f"({point[0]:.1f},{point[1]:.1f})"


_STEPS = {"M": "{}", "L": "-- {}", "C": ".. controls {} and {} .. {}", "Z": "-- cycle"}
"""Step of an outline -> TikZ, with its points."""


def _outline(outline: Outline) -> str:
    steps = [_STEPS[letter].format(*map(_at, points)) for letter, points in outline.cubics()]
    return rf"\path[{', '.join(_style(outline.style))}] {' '.join(steps)};"


def _style(style: Mapping[str, str]) -> list[str]:
    fill, stroke = style.get("fill", "none"), style.get("stroke", "none")
    dashes = [f"{float(part) * POINT:.2f}bp" for part in style.get("stroke-dasharray", "").split()]
    return [
        *([f"fill={_name(fill)}"] if fill != "none" else []),
        *(
            [f"draw={_name(stroke)}, line width={float(style.get('stroke-width', 1.0)) * POINT:.2f}bp"]
            if stroke != "none"
            else []
        ),
        *([f"dash pattern=on {dashes[0]} off {dashes[1]}"] if dashes else []),
        *(["line cap=round"] if style.get("stroke-linecap") == "round" else []),
        *(["line join=round"] if style.get("stroke-linejoin") == "round" else []),
    ]


def _lettering(text: Lettering) -> str:
    """Return one line of text."""
    size = float(text.style["font-size"]) * POINT * NARROWER_BY_LATEX["bold" if text.bold else "normal"]
    anchor = {"start": "base west", "middle": "base", "end": "base east"}[text.style["text-anchor"]]
    face = (r"\bfseries" if text.bold else "") + (r"\itshape" if text.style.get("font-style") == "italic" else "")
    font = rf"\sffamily{face}\fontsize{{{size:.1f}bp}}{{{size:.1f}bp}}\selectfont"
    style = f"anchor={anchor}, text={_name(text.style['fill'])}, font={font}"
    return rf"\node[{style}] at {_at(text.at)} {{{escape_latex(text.words)}}};"
