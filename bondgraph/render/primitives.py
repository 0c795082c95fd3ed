"""Primitives: the SVG text of a diagram in; its outlines and lines of text, each above the one before, out.

Only what `glyphs` writes is understood: groups that are shifted, rectangles, paths of straight lines and parabolas, and text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

Place = tuple[float, float]
"""(x, y) in px of the whole picture, y downwards."""
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin")
_STEP = re.compile(r"([MLQHZ])([^MLQHZ]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Outline:
    """A closed or open line: steps M, L (straight), Q (a parabola: control point and end) and Z (closing), with their places."""

    steps: tuple[tuple[str, tuple[Place, ...]], ...]
    style: Mapping[str, str]
    """Attributes of SVG."""

    def cubics(self) -> Iterator[tuple[str, tuple[Place, ...]]]:
        """The steps with every parabola as the cubic C (two control points and end) that it is."""
        x, y = 0.0, 0.0
        for letter, places in self.steps:
            if letter == "Q":
                (a, b), (u, v) = places
                first, second = ((x + 2 / 3 * (a - x), y + 2 / 3 * (b - y)), (u + 2 / 3 * (a - u), v + 2 / 3 * (b - v)))
                yield "C", (first, second, (u, v))
            else:
                yield letter, places
            if places:
                x, y = places[-1]


@dataclass(frozen=True)
class Lettering:
    """One line of text at a place, by its anchor."""

    words: str
    at: Place
    style: Mapping[str, str]
    """Attributes of SVG."""

    @property
    def bold(self) -> bool:
        """Whether its letters are heavy."""
        return int(self.style.get("font-weight", 400)) >= 600


def primitives(root: ElementTree.Element) -> Iterator[Outline | Lettering]:
    """What is seen of a picture, the ground too."""
    size = (float(root.attrib["width"]), float(root.attrib["height"]))
    yield from _group(root, {}, (0.0, 0.0), size)


def _group(group: ElementTree.Element, style: Mapping[str, str], shift: Place, size: Place) -> Iterator[Outline | Lettering]:
    """The children of a group, with what they inherit."""
    style = {**style, **{key: group.attrib[key] for key in _INHERITED if key in group.attrib}}
    moved = re.fullmatch(r"translate\((\S+) (\S+)\)", group.get("transform", "translate(0 0)"))
    assert moved is not None
    shift = (shift[0] + float(moved[1]), shift[1] + float(moved[2]))
    for child in group:
        own = {**style, **child.attrib}
        match child.tag.rpartition("}")[2]:
            case "g":
                yield from _group(child, style, shift, size)
            case "path":
                yield Outline(tuple(_path(child.attrib["d"], shift)), own)
            case "rect":
                yield Outline(tuple(_rectangle(child, shift, size)), own)
            case "text":
                at = (float(own["x"]) + shift[0], float(own["y"]) + shift[1])
                yield Lettering("".join(child.itertext()), at, own)


def _path(text: str, shift: Place) -> Iterator[tuple[str, tuple[Place, ...]]]:
    """Straight lines and parabolas."""
    height = 0.0
    for letter, given in _STEP.findall(text):
        numbers = [float(number) for number in _NUMBER.findall(given)]
        if letter == "H":
            numbers = [numbers[0], height]
        places = list(zip(numbers[::2], numbers[1::2], strict=True))
        height = places[-1][1] if places else height
        moved = tuple((x + shift[0], y + shift[1]) for x, y in places)
        if letter == "Q" or not moved:
            yield letter, moved
        else:
            for k, place in enumerate(moved):
                yield ("M" if letter == "M" and k == 0 else "L"), (place,)


def _rectangle(child: ElementTree.Element, shift: Place, size: Place) -> Iterator[tuple[str, tuple[Place, ...]]]:
    """A rectangle with round corners, or the ground."""
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
