"""PDF and PNG of a diagram: its SVG drawn by Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bondgraph.output.extras import require_package
from bondgraph.render.primitives import Lettering, Outline, primitives

POINTS = 0.75
"""Points per px, of which 96 are an inch."""


SHARPNESS = 2.0
"""Pixels of a PNG per px."""


PRINT_FONT = "DejaVu Sans"
"""Last of the fonts that the SVG names; Matplotlib includes it, so that the picture is the same everywhere."""


NARROWER = {"normal": 0.90, "bold": 0.84}
"""Scale of its letters, which are wider than Helvetica's, for which the picture was laid out."""


def paint(svg: str, path: Path, title: str) -> None:
    """Write the picture of `svg` to a path that ends in .pdf or .png; E416 if Matplotlib is not installed."""
    require_package("a PDF or PNG of a diagram", "matplotlib")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    pdf = path.suffix.lower() == ".pdf"
    # No dates: the same model gives the same file.
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
    """Draw an outline in axes whose units are px."""
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
    """Draw one line of text."""
    weight, style = "bold" if text.bold else "normal", text.style
    axes.text(
        *text.at,
        text.words,
        fontsize=float(style["font-size"]) * POINTS * NARROWER[weight],
        color=style["fill"],
        fontweight=weight,
        ha={"start": "left", "middle": "center", "end": "right"}[style["text-anchor"]],
        va="baseline",
        fontstyle=style.get("font-style", "normal"),
        parse_math=False,
        zorder=order,
    )
