"""Drawing primitives: outlines and lines of text in the SVG of a diagram, from back to front.

Only the SVG of a `Diagram` is understood: shifted groups, rectangles, paths of straight lines and parabolas, and text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

Point = tuple[float, float]
"""(x, y) in px of the whole picture, y downwards."""
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin")
_STEP = re.compile(r"([MLQHZ])([^MLQHZ]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Outline:
    """Closed or open line: steps M, L (straight), Q (a parabola: control point and end) and Z (closing), with their points."""

    steps: tuple[tuple[str, tuple[Point, ...]], ...]
    style: Mapping[str, str]

    def cubics(self) -> Iterator[tuple[str, tuple[Point, ...]]]:
        """Yield the steps, with every parabola as a cubic C (two control points and end)."""
        x, y = 0.0, 0.0
        for letter, points in self.steps:
            if letter == "Q":
                (a, b), (u, v) = points
                first, second = ((x + 2 / 3 * (a - x), y + 2 / 3 * (b - y)), (u + 2 / 3 * (a - u), v + 2 / 3 * (b - v)))
                yield "C", (first, second, (u, v))
            else:
                yield letter, points
            if points:
                x, y = points[-1]


@dataclass(frozen=True)
class Lettering:
    words: str
    at: Point
    style: Mapping[str, str]

    @property
    def bold(self) -> bool:
        return int(self.style.get("font-weight", 400)) >= 600


def primitives(root: ElementTree.Element) -> Iterator[Outline | Lettering]:
    size = (float(root.attrib["width"]), float(root.attrib["height"]))
    yield from _group(root, {}, (0.0, 0.0), size)


def _group(group: ElementTree.Element, style: Mapping[str, str], shift: Point, size: Point) -> Iterator[Outline | Lettering]:
    style = {**style, **{key: group.attrib[key] for key in _INHERITED if key in group.attrib}}
    moved = re.fullmatch(r"translate\((\S+) (\S+)\)", group.get("transform", "translate(0 0)"))
    assert moved is not None
    shift = (shift[0] + float(moved[1]), shift[1] + float(moved[2]))
    for child in group:
        attributes = {**style, **child.attrib}
        match child.tag.rpartition("}")[2]:
            case "g":
                yield from _group(child, style, shift, size)
            case "path":
                yield Outline(tuple(_path(child.attrib["d"], shift)), attributes)
            case "rect":
                yield Outline(tuple(_rectangle(child, shift, size)), attributes)
            case "text":
                at = (float(attributes["x"]) + shift[0], float(attributes["y"]) + shift[1])
                yield Lettering("".join(child.itertext()), at, attributes)


def _path(text: str, shift: Point) -> Iterator[tuple[str, tuple[Point, ...]]]:
    height = 0.0
    for letter, arguments in _STEP.findall(text):
        numbers = [float(number) for number in _NUMBER.findall(arguments)]
        if letter == "H":
            numbers = [numbers[0], height]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        height = points[-1][1] if points else height
        moved = tuple((x + shift[0], y + shift[1]) for x, y in points)
        if letter == "Q" or not moved:
            yield letter, moved
        else:
            for k, point in enumerate(moved):
                yield ("M" if letter == "M" and k == 0 else "L"), (point,)


def _rectangle(child: ElementTree.Element, shift: Point, size: Point) -> Iterator[tuple[str, tuple[Point, ...]]]:
    if child.get("width") == "100%":
        left, top, (right, bottom) = 0.0, 0.0, size
    else:
        left, top, width, height = (float(child.attrib[key]) for key in ("x", "y", "width", "height"))
        left, top = left + shift[0], top + shift[1]
        right, bottom = left + width, top + height
    r = min(float(child.get("rx", 0.0)), (right - left) / 2, (bottom - top) / 2)
    yield "M", ((left + r, top),)
    for before, corner, after in (
        ((right - r, top), (right, top), (right, top + r)),
        ((right, bottom - r), (right, bottom), (right - r, bottom)),
        ((left + r, bottom), (left, bottom), (left, bottom - r)),
        ((left, top + r), (left, top), (left + r, top)),
    ):
        yield "L", (before,)
        yield "Q", (corner, after)
    yield "Z", ()
