"""Paint: the SVG text of a diagram -> the same picture as a PDF or a PNG, drawn by Matplotlib.

Only what `glyphs` writes is understood: groups that are shifted, rectangles, paths of straight lines and parabolas, and text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bondgraph.output.extras import required

POINTS = 0.75
"""Points of a px, of which 96 are an inch."""
SHARPNESS = 2.0
"""Pixels of a PNG for a px."""
FONT = "DejaVu Sans"
"""The last of the fonts that the SVG names; Matplotlib brings it, so that the picture is the same everywhere."""
NARROWER = {"normal": 0.90, "bold": 0.84}
"""Its letters are that much wider than Helvetica's, for which the picture was laid out."""
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin")
_STEP = re.compile(r"([MLQHZ])([^MLQHZ]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def paint(svg: str, path: Path, title: str) -> None:
    """Write the picture of `svg` to a path that ends in .pdf or .png; E416 where Matplotlib is not installed."""
    required("a PDF or PNG of a diagram", "matplotlib")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    pdf = path.suffix.lower() == ".pdf"
    # No dates: the same model gives the same file.
    about = {"Title": title, "CreationDate": None} if pdf else {"Title": title, "Software": None}
    with matplotlib.rc_context({"pdf.fonttype": 42, "font.family": FONT, "path.simplify": False}):
        figure = Figure(figsize=(width * POINTS / 72.0, height * POINTS / 72.0))
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, width), ylim=(height, 0.0))
        axes.set_axis_off()
        _Painter(axes, width, height).group(root, {}, (0.0, 0.0))
        figure.savefig(path, dpi=72.0 / POINTS * SHARPNESS, metadata=about)


class _Painter:
    """Draws elements of an SVG in axes whose units are px, each above the one before."""

    def __init__(self, axes: Any, width: float, height: float):
        self.axes, self.width, self.height = axes, width, height
        self.count = 0

    def group(self, group: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """The children of a group, with what they inherit."""
        style = {**style, **{key: group.attrib[key] for key in _INHERITED if key in group.attrib}}
        moved = re.fullmatch(r"translate\((\S+) (\S+)\)", group.get("transform", "translate(0 0)"))
        assert moved is not None
        shift = (shift[0] + float(moved[1]), shift[1] + float(moved[2]))
        kinds = {"g": self.group, "path": self.path, "rect": self.rectangle, "text": self.text}
        for child in group:
            self.count += 1
            kind = child.tag.rpartition("}")[2]
            if kind != "title":  # what is not seen
                kinds[kind](child, {**style, **child.attrib}, shift)

    def path(self, child: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """Straight lines and parabolas."""
        from matplotlib.path import Path as Outline

        points: list[tuple[float, float]] = []
        codes: list[int] = []
        for letter, given in _STEP.findall(child.attrib["d"]):
            numbers = [float(number) for number in _NUMBER.findall(given)]
            if letter == "H":
                numbers = [numbers[0], points[-1][1]]
            places = list(zip(numbers[::2], numbers[1::2], strict=True)) or points[:1]
            code = {"M": Outline.MOVETO, "Q": Outline.CURVE3, "Z": Outline.CLOSEPOLY}.get(letter, Outline.LINETO)
            points += places
            codes += [int(code)] * len(places)
        self._add(Outline([(x + shift[0], y + shift[1]) for x, y in points], codes), style)

    def rectangle(self, child: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """A rectangle with round corners, or the ground."""
        from matplotlib.patches import BoxStyle

        if child.get("width") == "100%":
            left, top, width, height = 0.0, 0.0, self.width, self.height
        else:
            left, top, width, height = (float(child.attrib[key]) for key in ("x", "y", "width", "height"))
        round_off = min(float(child.get("rx", 0.0)), width / 2, height / 2)
        outline = BoxStyle.Round(pad=0.0, rounding_size=round_off)(left + shift[0], top + shift[1], width, height, 1.0)
        self._add(outline, style)

    def text(self, child: ElementTree.Element, style: Mapping[str, str], shift: tuple[float, float]) -> None:
        """One line of text."""
        weight = "bold" if int(style.get("font-weight", 400)) >= 600 else "normal"
        anchors = {"start": "left", "middle": "center", "end": "right"}
        self.axes.text(
            float(style["x"]) + shift[0],
            float(style["y"]) + shift[1],
            "".join(child.itertext()),
            fontsize=float(style["font-size"]) * POINTS * NARROWER[weight],
            color=style["fill"],
            fontweight=weight,
            ha=anchors[style["text-anchor"]],
            va="baseline",
            fontstyle=style.get("font-style", "normal"),
            parse_math=False,
            zorder=self.count,
        )

    def _add(self, outline: Any, style: Mapping[str, str]) -> None:
        from matplotlib.patches import PathPatch

        width = float(style.get("stroke-width", 1.0)) * POINTS
        dashes = [float(part) * POINTS for part in style.get("stroke-dasharray", "").split()]
        self.axes.add_patch(
            PathPatch(
                outline,
                facecolor=style.get("fill", "none"),
                edgecolor=style.get("stroke", "none"),
                zorder=self.count,
                linewidth=width,
                linestyle=(0.0, tuple(part / width for part in dashes)) if dashes else "solid",
                capstyle="round" if style.get("stroke-linecap") == "round" else "butt",
                joinstyle="round" if style.get("stroke-linejoin") == "round" else "miter",
                clip_on=False,
            )
        )
