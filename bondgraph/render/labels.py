"""Labels: the bonds of a drawing and their lines in; their dimensions, efforts and flows as lines of text with places, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.model.domains import CHEMICAL, ELECTRICAL, HYDRAULIC, ROTATION, SCREW, THERMAL, TRANSLATION
from bondgraph.model.model import Bond
from bondgraph.render.glyphs import flow_side
from bondgraph.render.layout.line import Route
from bondgraph.render.sketch import Sketch, text_width

SIZE = 10.5
"""Of letters, px."""
APART = 5.0
"""From a bond to its labels, px."""
LETTERS: Mapping[str, tuple[str, str]] = {
    ELECTRICAL.name: ("u", "i"),
    TRANSLATION.name: ("F", "v"),
    ROTATION.name: ("\N{GREEK SMALL LETTER TAU}", "\N{GREEK SMALL LETTER OMEGA}"),
    HYDRAULIC.name: ("p", "Q"),
    THERMAL.name: ("T", "\N{LATIN CAPITAL LETTER S WITH DOT ABOVE}"),
    CHEMICAL.name: ("\N{GREEK SMALL LETTER MU}", "\N{LATIN SMALL LETTER N WITH DOT ABOVE}"),
    SCREW.name: ("W", "T"),
}
"""Domain -> the usual letters of effort and flow; e and f elsewhere."""
_DIGITS = str.maketrans("0123456789", "".join(chr(0x2080 + digit) for digit in range(10)))


@dataclass(frozen=True)
class Label:
    """One line of text about a bond, with its middle (x, y) in px."""

    kind: str
    """"dimension", "effort" or "flow"."""
    words: str
    x: float
    y: float

    @property
    def rectangle(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom in px."""
        half = text_width(self.words, SIZE) / 2
        return self.x - half, self.y - SIZE / 2, self.x + half, self.y + SIZE / 2


def labels(drawn: Sketch, lines: Sequence[Route], named: bool) -> dict[int, tuple[Label, ...]]:
    """Edge -> its labels: the dimension of a vector bond on the effort side; where bonds are `named`, effort and flow on their
    sides, with the number of the bond, counted from 1 in the order of the model."""
    return {
        k: tuple(_of_bond(edge.bond, line, edge.number if named else 0))
        for k, (edge, line) in enumerate(zip(drawn.edges, lines, strict=True))
        if edge.bond is not None
    }


def _of_bond(bond: Bond, line: Route, number: int) -> list[Label]:
    along = line.direction(line.middle)
    side, middle = flow_side(along), line.at(np.array([line.middle]))[0]
    dimension = [str(bond.dimension)] if bond.dimension > 1 else []
    if not number:
        return [Label("dimension", words, *_plain(middle - 9.5 * side)) for words in dimension]
    effort, flow = (letter + str(number).translate(_DIGITS) for letter in LETTERS.get(bond.domain.name, ("e", "f")))
    back = along * (8.0 if dimension else 0.0)
    found = [
        Label("effort", effort, *_beside(middle - back, -side, effort)),
        Label("flow", flow, *_beside(middle - back, side, flow)),
    ]
    return found + [Label("dimension", words, *_beside(middle + 1.6 * back, -side, words)) for words in dimension]


def _beside(point: np.ndarray, side: np.ndarray, words: str) -> tuple[float, float]:
    """The middle of words on one side of a point of a line, clear of it."""
    half = np.array([text_width(words, SIZE) / 2, SIZE / 2])
    return _plain(point + side * (APART + float((half * np.abs(side)).sum())))


def _plain(point: np.ndarray) -> tuple[float, float]:
    return float(point[0]), float(point[1])
