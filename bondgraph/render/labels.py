"""Labels of bonds and captions of junctions: each near its bond or junction and, if possible, clear of lines and other text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.model.domains import CHEMICAL, ELECTRICAL, HEAT, HYDRAULIC, MAGNETIC, ROTATION, SCREW, THERMAL, TRANSLATION
from bondgraph.model.model import Bond
from bondgraph.render.glyphs import BARB_OUT, STROKE_HALF, flow_side
from bondgraph.render.layout.line import Route
from bondgraph.render.layout.spacing import NAME_GAP
from bondgraph.render.sketch import LABEL_SIZE, Sketch, SketchNode, text_width

BOND_LABEL_SIZE = 10.5
"""Font size, px."""
LABEL_DISTANCE = 5.0
"""Distance from a bond to its labels, px."""
MAX_SHORT_WIDTH = 24.0
"""Largest width of a label that stays clear of the barb of its half arrow, px."""
INTERACTION_DISTANCE = 30.0
"""Distance above which a line does not affect the labels of a bond, px."""
LETTERS: Mapping[str, tuple[str, str]] = {
    ELECTRICAL.name: ("u", "i"),
    TRANSLATION.name: ("F", "v"),
    ROTATION.name: ("\N{GREEK SMALL LETTER TAU}", "\N{GREEK SMALL LETTER OMEGA}"),
    HYDRAULIC.name: ("p", "Q"),
    THERMAL.name: ("T", "\N{LATIN CAPITAL LETTER S WITH DOT ABOVE}"),
    HEAT.name: ("T", "q"),
    MAGNETIC.name: ("M", "\N{GREEK CAPITAL LETTER PHI}'"),
    CHEMICAL.name: ("\N{GREEK SMALL LETTER MU}", "\N{LATIN SMALL LETTER N WITH DOT ABOVE}"),
    SCREW.name: ("W", "T"),
}
_DIGITS = str.maketrans("0123456789", "".join(chr(0x2080 + digit) for digit in range(10)))


Texts = tuple[str, str]
Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom in px."""


def letters_of(bond: Bond, number: int) -> Texts:
    effort, flow = (letter + str(number).translate(_DIGITS) for letter in LETTERS.get(bond.domain.name, ("e", "f")))
    return effort, flow


@dataclass(frozen=True)
class Label:
    """Line of text beside a bond, with its middle (x, y) in px."""

    kind: str
    """"dimension", "effort", "flow" or "port"."""
    words: str
    x: float
    y: float

    @property
    def rectangle(self) -> tuple[float, float, float, float]:
        half = text_width(self.words, BOND_LABEL_SIZE) / 2
        return self.x - half, self.y - BOND_LABEL_SIZE / 2, self.x + half, self.y + BOND_LABEL_SIZE / 2


def with_label_widths(sketch: Sketch, texts: Mapping[str, Texts]) -> Sketch:
    edges = []
    for edge in sketch.edges:
        words = texts.get(edge.bond.name, ("", "")) if edge.bond is not None else ("", "")
        width = max(text_width(each, BOND_LABEL_SIZE) for each in words)
        edges.append(replace(edge, label_width=width if width > MAX_SHORT_WIDTH else 0.0))
    return replace(sketch, edges=tuple(edges))


def labels(
    drawn: Sketch, where: np.ndarray, lines: Sequence[Route], texts: Mapping[str, Texts], titles: Sequence[Rectangle] = ()
) -> dict[int, tuple[Label, ...]]:
    half = np.array([(node.half_width + 1.0, node.half_height) for node in drawn.nodes]).reshape(-1, 2)
    occupied = np.concatenate([np.concatenate([where - half, where + half], axis=1), np.array(titles).reshape(-1, 4)])
    labels_of: dict[int, tuple[Label, ...]] = {}
    for k, (edge, line) in enumerate(zip(drawn.edges, lines, strict=True)):
        if edge.bond is None:
            continue
        choices = list(_choices(edge.bond, line, texts.get(edge.bond.name, ("", ""))))
        nearby = [other.points for i, other in enumerate(lines) if i != k and _are_near(line, other)]
        points = np.concatenate(nearby or [np.zeros((0, 2))])
        placed: list[Label] = []
        for group in (choices, *(list(_beside_the_end(name, line, head)) for head, name in enumerate(edge.ports) if name)):
            prices = [1.0 * i + sum(_price(label, points, line, occupied) for label in choice) for i, choice in enumerate(group)]
            chosen = group[int(np.argmin(prices))]
            placed += chosen
            occupied = np.concatenate([occupied, np.array([label.rectangle for label in chosen]).reshape(-1, 4)])
        labels_of[k] = tuple(placed)
    return labels_of


def _beside_the_end(words: str, line: Route, head: int) -> Iterator[list[Label]]:
    along = -line.direction(1.0) if head else line.direction(0.0)
    end, side = (line.end if head else line.start), flow_side(along)
    for distance in (14.0, 22.0, 30.0):
        for hand in (-1.0, 1.0):
            yield [Label("port", words, *_next_to(end + distance * along, hand * side, words))]


def _are_near(line: Route, other: Route) -> bool:
    (left, top, right, bottom), (west, north, east, south) = line.extent, other.extent
    return (
        right + INTERACTION_DISTANCE > west
        and east + INTERACTION_DISTANCE > left
        and bottom + INTERACTION_DISTANCE > north
        and south + INTERACTION_DISTANCE > top
    )


def _price(label: Label, points: np.ndarray, line: Route, occupied: np.ndarray) -> float:
    left, top, right, bottom = label.rectangle
    low, high = np.array([left - 1.5, top - 0.5]), np.array([right + 1.5, bottom + 0.5])
    on = np.count_nonzero(np.all((points > low) & (points < high), axis=1))
    on_line = np.count_nonzero(np.all((line.points > low + 1.0) & (line.points < high - 1.0), axis=1))
    over = (occupied[:, 0] < high[0]) & (occupied[:, 2] > low[0]) & (occupied[:, 1] < high[1]) & (occupied[:, 3] > low[1])
    return 12.0 * on + 12.0 * on_line + 40.0 * np.count_nonzero(over)


def _choices(bond: Bond, line: Route, texts: Texts) -> Iterator[list[Label]]:
    """Yield the labels of a bond at positions along it, best first; a dimension alone may be on either side."""
    for step in (0.0, 0.1, -0.1, 0.2, -0.2, 0.28, -0.28):
        yield _labels_at(bond, line, texts, step, 1.0)
        if not any(texts):
            yield _labels_at(bond, line, texts, step, -1.0)


def _labels_at(bond: Bond, line: Route, texts: Texts, step: float, hand: float) -> list[Label]:
    """Return the labels of a bond at the middle of its longest piece, shifted by the fraction `step` of that piece."""
    s = line.middle + step * line.longest
    along = line.direction(s)
    side, middle = flow_side(along), line.at(np.array([s]))[0]
    dimension = [str(bond.dimension)] if bond.dimension > 1 else []
    if not any(texts):
        return [Label("dimension", words, *_pair(middle - hand * 9.5 * side)) for words in dimension]
    back = along * (8.0 if dimension else 0.0)
    variables = [
        Label(kind, words, *_next_to(middle - back + (hand * _past_the_barb(kind, words)) * side, hand * side, words))
        for kind, words, hand in zip(("effort", "flow"), texts, (-1.0, 1.0), strict=True)
        if words
    ]
    width = text_width(texts[0], BOND_LABEL_SIZE)
    past = max(12.8, abs(float(along[0])) * (width / 2 + LABEL_DISTANCE) - 4.0)
    return variables + [Label("dimension", words, *_next_to(middle + past * along, -side, words)) for words in dimension]


def _past_the_barb(kind: str, words: str) -> float:
    return BARB_OUT if kind == "flow" and text_width(words, BOND_LABEL_SIZE) > MAX_SHORT_WIDTH else 0.0


def _next_to(point: np.ndarray, side: np.ndarray, words: str) -> tuple[float, float]:
    half = np.array([text_width(words, BOND_LABEL_SIZE) / 2, BOND_LABEL_SIZE / 2])
    return _pair(point + side * (LABEL_DISTANCE + float((half * np.abs(side)).sum())))


HEIGHT = LABEL_SIZE + 2.0
ROUNDS = 3
"""Number of placement rounds: the first round considers only earlier names, later rounds consider all names."""


def captions(
    sketch: Sketch,
    where: np.ndarray,
    lines: Sequence[Route],
    frames: Sequence[Rectangle] = (),
    titles: Sequence[Rectangle] = (),
    occupied: Sequence[Rectangle] = (),
) -> dict[int, tuple[float, float]]:
    """Return the centre (x, y) of each junction's name, by the index of its node."""
    bonds = _along([line for edge, line in zip(sketch.edges, lines, strict=True) if edge.bond])
    strokes = _across([line for edge, line in zip(sketch.edges, lines, strict=True) if edge.bond])
    signals = _along([line for edge, line in zip(sketch.edges, lines, strict=True) if not edge.bond])
    blocked = [_body(node, where[i]) for i, node in enumerate(sketch.nodes)]
    blocked += [*titles, *occupied]
    home = {box.path: frame for box, frame in zip(sketch.boxes, frames, strict=True)}
    captioned = [i for i, node in enumerate(sketch.nodes) if node.below]
    centres: dict[int, tuple[float, float]] = {}
    placed: dict[int, np.ndarray] = {}
    for _ in range(ROUNDS):
        for i in captioned:
            node = sketch.nodes[i]
            others = np.array([*blocked, *(rectangle for k, rectangle in placed.items() if k != i)]).reshape(-1, 4)
            candidates = np.array(_candidates(node, where[i]))
            half = np.array([node.below / 2, HEIGHT / 2])
            rectangles = np.concatenate([candidates - half, candidates + half], axis=1)
            price = 0.5 * np.arange(len(candidates)) + 30.0 * _overlaps(rectangles, others).sum(axis=1)
            price += 8.0 * _count_inside(strokes, rectangles, 1.0)
            price += 6.0 * _count_inside(bonds, rectangles, 2.5) + 4.0 * _count_inside(signals, rectangles, 1.0)
            if node.group in home:
                price += np.where(_within(rectangles, home[node.group]), 0.0, 5.0)
            best = int(np.argmin(price.round(9)))
            centres[i], placed[i] = _pair(candidates[best]), rectangles[best]
    return centres


def _along(lines: Sequence[Route]) -> np.ndarray:
    return np.concatenate([line.points for line in lines] or [np.zeros((0, 2))])


def _across(lines: Sequence[Route]) -> np.ndarray:
    """Return points (k, 2) on the causal strokes that may be at either end of lines."""
    ends = [(end, along) for line in lines for end, along in ((line.start, line.leaving), (line.end, line.arriving))]
    shares = (-1.0, -0.5, 0.0, 0.5, 1.0)
    return np.array(
        [end + share * STROKE_HALF * np.array([-along[1], along[0]]) for end, along in ends for share in shares]
    ).reshape(-1, 2)


def _body(node: SketchNode, centre: np.ndarray) -> Rectangle:
    x, y = float(centre[0]), float(centre[1])
    return x - node.half_width, y - node.half_height, x + node.half_width, y + node.half_height


def _candidates(node: SketchNode, centre: np.ndarray) -> list[tuple[float, float]]:
    x, y = float(centre[0]), float(centre[1])
    half, down = node.below / 2, node.half_height + HEIGHT / 2 + 1.0
    up = down + 1.0
    side, lateral = half + NAME_GAP, node.half_width + half + 6.0
    moves = [(0.0, down), (side, down), (-side, down), (side, -up), (-side, -up), (0.0, -up), (lateral, 0.0), (-lateral, 0.0)]
    moves += [(side, down + 9.0), (-side, down + 9.0)]
    far = side + 2 * NAME_GAP
    moves += [(far, down), (-far, down), (far, -up), (-far, -up)]
    near = half + 4.0
    rows = (down + 9.0, -up - 9.0, down + 20.0, -up - 20.0)
    moves += [(along, across) for across in rows for along in (0.0, near, -near, side, -side)]
    return [(x + along, y + across) for along, across in moves]


def _pair(point: np.ndarray) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def _overlaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return overlaps (n, k) of rectangles (n, 4) with rectangles (k, 4): 0 if none, else 1 or more, by their size."""
    low, high = np.maximum(a[:, None, :2], b[:, :2]), np.minimum(a[:, None, 2:], b[:, 2:])
    width, height = high[..., 0] - low[..., 0] + 2.0, high[..., 1] - low[..., 1] + 1.0
    area = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + 1.0
    return np.where((width <= 0) | (height <= 0), 0.0, 1.0 + width * height / area[:, None])


def _count_inside(points: np.ndarray, rectangles: np.ndarray, margin: float) -> np.ndarray:
    low, high = rectangles[:, :2] - margin, rectangles[:, 2:] + margin
    x, y = points[np.all((points > low.min(axis=0)) & (points < high.max(axis=0)), axis=1)].T
    inside = (x > low[:, :1]) & (x < high[:, :1]) & (y > low[:, 1:]) & (y < high[:, 1:])
    return np.asarray(inside.sum(axis=1))


def _within(inner: np.ndarray, outer: Rectangle) -> np.ndarray:
    return np.all((inner[:, :2] > outer[:2]) & (inner[:, 2:] < outer[2:]), axis=1)


def title_rectangle(title: str, frame: Rectangle, lines: Sequence[Route]) -> Rectangle:
    left, top, right, _ = frame
    width = text_width(title, LABEL_SIZE) + 12.0
    points = _along(lines)
    starts = (left + 4.0, right - width - 4.0, (left + right - width) / 2)
    rectangles = [(start, top + 3.0, start + width, top + 21.0) for start in starts]
    return rectangles[int(np.argmin(_count_inside(points, np.array(rectangles), 2.0)))]
