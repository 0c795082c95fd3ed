"""PDF, PNG and TikZ of a diagram from its SVG, the first two drawn by Matplotlib.

The TikZ is a LaTeX document that can stand alone or be included in another.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bondgraph.output.extras import require_package
from bondgraph.output.tex import escape_latex
from bondgraph.render.primitives import Lettering, Outline, Point, primitives

POINTS = 0.75
"""Points per px; 96 px are an inch."""
SHARPNESS = 2.0
"""PNG pixels per px."""
PRINT_FONT = "DejaVu Sans"
"""Font of PDF and PNG; Matplotlib includes it, so the picture is the same everywhere."""
FONT_SCALES = {"normal": 0.90, "bold": 0.84}
"""Scale of `PRINT_FONT`, whose letters are wider than those of Helvetica, for which the picture is laid out."""


def paint(svg: str, path: Path, title: str) -> None:
    require_package("a PDF or PNG of a diagram", "matplotlib")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    pdf = path.suffix.lower() == ".pdf"
    # Without dates, the same model gives the same file.
    metadata = {"Title": title, "CreationDate": None} if pdf else {"Title": title, "Software": None}
    with matplotlib.rc_context({"pdf.fonttype": 42, "font.family": PRINT_FONT, "path.simplify": False}):
        figure = Figure(figsize=(width * POINTS / 72.0, height * POINTS / 72.0))
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, width), ylim=(height, 0.0))
        axes.set_axis_off()
        for order, primitive in enumerate(primitives(root)):
            if isinstance(primitive, Outline):
                _draw(axes, primitive, order)
            else:
                _write(axes, primitive, order)
        figure.savefig(path, dpi=72.0 / POINTS * SHARPNESS, metadata=metadata)


def _draw(axes: Any, outline: Outline, order: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Line

    codes = {"M": Line.MOVETO, "L": Line.LINETO, "Q": Line.CURVE3, "Z": Line.CLOSEPOLY}
    start = outline.steps[0][1]
    vertices = [point for _, points in outline.steps for point in points or start]
    kinds = [int(codes[letter]) for letter, points in outline.steps for _ in points or start]
    style = outline.style
    width = float(style.get("stroke-width", 1.0)) * POINTS
    dashes = [float(part) * POINTS for part in style.get("stroke-dasharray", "").split()]
    axes.add_patch(
        PathPatch(
            Line(vertices, kinds),
            facecolor=style.get("fill", "none"),
            edgecolor=style.get("stroke", "none"),
            zorder=order,
            linewidth=width,
            linestyle=(0.0, tuple(part / width for part in dashes)) if dashes else "solid",
            capstyle="round" if style.get("stroke-linecap") == "round" else "butt",
            joinstyle="round" if style.get("stroke-linejoin") == "round" else "miter",
            clip_on=False,
        )
    )


def _write(axes: Any, text: Lettering, order: int) -> None:
    weight, style = "bold" if text.bold else "normal", text.style
    axes.text(
        *text.at,
        text.words,
        fontsize=float(style["font-size"]) * POINTS * FONT_SCALES[weight],
        color=style["fill"],
        fontweight=weight,
        ha={"start": "left", "middle": "center", "end": "right"}[style["text-anchor"]],
        va="baseline",
        fontstyle=style.get("font-style", "normal"),
        parse_math=False,
        zorder=order,
    )


LATEX_FONT_SCALES = {"normal": 0.95, "bold": 0.90}
"""Scale of Computer Modern's sans serif, which is wider than Helvetica, for which the picture is laid out."""


def tikz(svg: str) -> str:
    """Return a document of the class `standalone`, from which pdflatex makes a page of the picture's size. With the package
    `standalone`, `\\input` includes it as a figure; the environment `tikzpicture` can also be copied."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    seen = [each for each in primitives(root) if each.style.get("width") != "100%"]  # the page itself is the background
    used = {each.style.get(key, "none") for each in seen for key in ("fill", "stroke")} - {"none"}
    lines = [
        r"\documentclass[tikz]{standalone}",
        r"\usepackage[utf8]{inputenc}",
        r"\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}",  # a font that scales to any size
        r"\begin{document}",
        rf"\begin{{tikzpicture}}[x={POINTS}bp, y=-{POINTS}bp, inner sep=0pt, outer sep=0pt]",
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


def _outline(outline: Outline) -> str:
    steps = [_STEPS[letter].format(*map(_at, points)) for letter, points in outline.cubics()]
    return rf"\path[{', '.join(_style(outline.style))}] {' '.join(steps)};"


def _style(style: Mapping[str, str]) -> list[str]:
    fill, stroke = style.get("fill", "none"), style.get("stroke", "none")
    dashes = [f"{float(part) * POINTS:.2f}bp" for part in style.get("stroke-dasharray", "").split()]
    return [
        *([f"fill={_name(fill)}"] if fill != "none" else []),
        *(
            [f"draw={_name(stroke)}, line width={float(style.get('stroke-width', 1.0)) * POINTS:.2f}bp"]
            if stroke != "none"
            else []
        ),
        *([f"dash pattern=on {dashes[0]} off {dashes[1]}"] if dashes else []),
        *(["line cap=round"] if style.get("stroke-linecap") == "round" else []),
        *(["line join=round"] if style.get("stroke-linejoin") == "round" else []),
    ]


def _lettering(text: Lettering) -> str:
    size = float(text.style["font-size"]) * POINTS * LATEX_FONT_SCALES["bold" if text.bold else "normal"]
    anchor = {"start": "base west", "middle": "base", "end": "base east"}[text.style["text-anchor"]]
    face = (r"\bfseries" if text.bold else "") + (r"\itshape" if text.style.get("font-style") == "italic" else "")
    font = rf"\sffamily{face}\fontsize{{{size:.1f}bp}}{{{size:.1f}bp}}\selectfont"
    style = f"anchor={anchor}, text={_name(text.style['fill'])}, font={font}"
    return rf"\node[{style}] at {_at(text.at)} {{{escape_latex(text.words)}}};"
