"""Bond labels: dimension, effort and flow of each bond as text, placed clear of other things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.model.domains import CHEMICAL, ELECTRICAL, HYDRAULIC, ROTATION, SCREW, THERMAL, TRANSLATION
from bondgraph.model.model import Bond
from bondgraph.render.glyphs import flow_side
from bondgraph.render.layout.line import Route
from bondgraph.render.sketch import Sketch, text_width

SIZE = 10.5
"""Font size, px."""
LABEL_DISTANCE = 5.0
"""Distance from a bond to its labels, px."""
INTERACTION_DISTANCE = 30.0
"""Distance beyond which a line does not affect labels of a bond, px."""
LETTERS: Mapping[str, tuple[str, str]] = {
    ELECTRICAL.name: ("u", "i"),
    TRANSLATION.name: ("F", "v"),
    ROTATION.name: ("\N{GREEK SMALL LETTER TAU}", "\N{GREEK SMALL LETTER OMEGA}"),
    HYDRAULIC.name: ("p", "Q"),
    THERMAL.name: ("T", "\N{LATIN CAPITAL LETTER S WITH DOT ABOVE}"),
    CHEMICAL.name: ("\N{GREEK SMALL LETTER MU}", "\N{LATIN SMALL LETTER N WITH DOT ABOVE}"),
    SCREW.name: ("W", "T"),
}
"""Domain -> the usual letters of effort and flow; e and f otherwise."""
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
        """Return left, top, right, bottom in px."""
        half = text_width(self.words, SIZE) / 2
        return self.x - half, self.y - SIZE / 2, self.x + half, self.y + SIZE / 2


def labels(drawn: Sketch, where: np.ndarray, lines: Sequence[Route], named: bool) -> dict[int, tuple[Label, ...]]:
    """Return edge -> its labels, with the least overlap: the dimension of a vector bond on the effort side if there is room; if
    bonds are `named`, effort and flow on their sides, with the number of the bond, counted from 1 in the order of the model."""
    half = np.array([(node.half_width + 1.0, node.half_height) for node in drawn.nodes]).reshape(-1, 2)
    rooms = np.concatenate([where - half, where + half], axis=1)
    labels_of: dict[int, tuple[Label, ...]] = {}
    for k, (edge, line) in enumerate(zip(drawn.edges, lines, strict=True)):
        if edge.bond is None:
            continue
        choices = list(_choices(edge.bond, line, edge.number if named else 0))
        nearby = [other.points for i, other in enumerate(lines) if i != k and _meet(line, other)]
        points = np.concatenate(nearby or [np.zeros((0, 2))])
        prices = [1.0 * i + sum(_price(label, points, line, rooms) for label in choice) for i, choice in enumerate(choices)]
        labels_of[k] = tuple(choices[int(np.argmin(prices))])
        rooms = np.concatenate([rooms, np.array([label.rectangle for label in labels_of[k]]).reshape(-1, 4)])
    return labels_of


def _meet(line: Route, other: Route) -> bool:
    """Return True if one line comes near labels of another."""
    (left, top, right, bottom), (west, north, east, south) = line.extent, other.extent
    return (
        right + INTERACTION_DISTANCE > west
        and east + INTERACTION_DISTANCE > left
        and bottom + INTERACTION_DISTANCE > north
        and south + INTERACTION_DISTANCE > top
    )


def _price(label: Label, points: np.ndarray, line: Route, rooms: np.ndarray) -> float:
    """Return the cost of the overlaps of a label: points of lines, among them its own, and rectangles of nodes and texts."""
    left, top, right, bottom = label.rectangle
    low, high = np.array([left - 1.5, top - 0.5]), np.array([right + 1.5, bottom + 0.5])
    on = np.count_nonzero(np.all((points > low) & (points < high), axis=1))
    on_line = np.count_nonzero(np.all((line.points > low + 1.0) & (line.points < high - 1.0), axis=1))
    over = (rooms[:, 0] < high[0]) & (rooms[:, 2] > low[0]) & (rooms[:, 1] < high[1]) & (rooms[:, 3] > low[1])
    return 12.0 * on + 12.0 * on_line + 40.0 * np.count_nonzero(over)


def _choices(bond: Bond, line: Route, number: int) -> Iterator[list[Label]]:
    """Yield labels of a bond at positions along it, the best first; a dimension alone may stand on either side."""
    for step in (0.0, 0.1, -0.1, 0.2, -0.2, 0.28, -0.28):
        yield _labels_at(bond, line, number, step, 1.0)
        if not number:
            yield _labels_at(bond, line, number, step, -1.0)


def _labels_at(bond: Bond, line: Route, number: int, step: float, hand: float) -> list[Label]:
    """Return labels of a bond at a position shifted by a part `step` of its longest piece from the middle of that."""
    s = line.middle + step * line.longest
    along = line.direction(s)
    side, middle = flow_side(along), line.at(np.array([s]))[0]
    dimension = [str(bond.dimension)] if bond.dimension > 1 else []
    if not number:
        return [Label("dimension", words, *_plain(middle - hand * 9.5 * side)) for words in dimension]
    effort, flow = (letter + str(number).translate(_DIGITS) for letter in LETTERS.get(bond.domain.name, ("e", "f")))
    back = along * (8.0 if dimension else 0.0)
    variables = [
        Label("effort", effort, *_next_to(middle - back, -side, effort)),
        Label("flow", flow, *_next_to(middle - back, side, flow)),
    ]
    return variables + [Label("dimension", words, *_next_to(middle + 1.6 * back, -side, words)) for words in dimension]


def _next_to(point: np.ndarray, side: np.ndarray, words: str) -> tuple[float, float]:
    """Return the middle of a text on one side of a point of a line, clear of it."""
    half = np.array([text_width(words, SIZE) / 2, SIZE / 2])
    return _plain(point + side * (LABEL_DISTANCE + float((half * np.abs(side)).sum())))


def _plain(point: np.ndarray) -> tuple[float, float]:
    return float(point[0]), float(point[1])
