"""State diagrams show every state and transition once, without overlaps."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.export.documented import MODELS, compiled, page, paper
from tests.inner.export import (
    HALF_HEIGHT,
    NAME_SIZE,
    Arrows,
    Figure,
    TableBlock,
    as_latex,
    as_typst,
    drawing,
    lanes,
    state_diagram,
    state_order,
)

NAMES = ("free", "contact", "a state of many words", "x", "Größe & <0>", "six", "seven")
Machine = tuple[list[str], str, list[tuple[int, int | None]]]


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    states = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=7, unique=True))
    ends = st.tuples(st.integers(0, len(states) - 1), st.none() | st.integers(0, len(states) - 1))
    return states, draw(st.sampled_from(states)), draw(st.lists(ends, min_size=1, max_size=9))


def elements(figure: Figure, kind: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(figure.svg).iter() if each.tag.rpartition("}")[2] == kind]


def boxes(figure: Figure) -> dict[str, tuple[float, float, float, float]]:
    found = [r for r in elements(figure, "rect") if r.get("height") == f"{2 * HALF_HEIGHT:.1f}"]
    names = [t.text or "" for t in elements(figure, "text") if t.get("font-size") == f"{NAME_SIZE:g}"]
    sides = [[float(r.attrib[key]) for key in ("x", "y", "width", "height")] for r in found]
    return {name: (x, y, x + w, y + h) for name, (x, y, w, h) in zip(names, sides, strict=True)}


def labels(figure: Figure) -> list[ElementTree.Element]:
    return [t for t in elements(figure, "text") if t.get("font-size") != f"{NAME_SIZE:g}"]


@settings(max_examples=30)
@given(machines())
def test_every_state_and_transition_is_there(machine: Machine) -> None:
    states, _, transitions = machine
    figure = state_diagram(*machine)
    assert set(boxes(figure)) == set(states)
    numbers = [int(k) for label in labels(figure) for k in (label.text or "").split(", ")]
    assert sorted(numbers) == list(range(1, len(transitions) + 1))
    assert len(labels(figure)) == len(set(transitions))
    assert drawing(figure).count(r"\makebox") == len(states) + len(labels(figure))


@settings(max_examples=30)
@given(machines())
def test_nothing_lies_on_anything_else(machine: Machine) -> None:
    figure = state_diagram(*machine)
    places = boxes(figure)
    ordered = sorted(places.values())
    assert all(one[2] + 10.0 < other[0] for one, other in pairwise(ordered))
    spots = {(t.attrib["x"], t.attrib["y"]) for t in labels(figure)}
    assert len(spots) == len(labels(figure))
    for text in labels(figure):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        assert 0.0 < x < figure.width and 7.0 < y < figure.height
        assert not any(left < x < right and top < y - 3.5 < bottom for left, top, right, bottom in places.values())
    for path in elements(figure, "path"):
        numbers = [float(k) for k in re.findall(r"-?\d+\.\d", path.attrib["d"])]
        assert all(-0.1 <= x <= figure.width + 0.1 for x in numbers[::2])
        assert all(-0.1 <= y <= figure.height + 0.1 for y in numbers[1::2])


def heads(figure: Figure) -> list[tuple[float, float]]:
    closed = [path.attrib["d"] for path in elements(figure, "path") if path.attrib["d"].endswith("Z")]
    return [(float(x), float(y)) for x, y in (re.findall(r"(-?[\d.]+),(-?[\d.]+)", d)[0] for d in closed)]


@settings(max_examples=30)
@given(machines())
def test_arrows_end_at_their_states(machine: Machine) -> None:
    states, start, transitions = machine
    figure = state_diagram(*machine)
    for name, (left, top, right, bottom) in boxes(figure).items():
        ends = [1 for x, y in heads(figure) if left - 0.2 <= x <= right + 0.2 and top - 0.2 <= y <= bottom + 0.2]
        assert len(ends) == len({ends for ends in transitions if ends[1] == states.index(name)}) + (name == start)
    rings = [r for r in elements(figure, "rect") if r.get("width") == "7.2"]
    assert len(rings) == len({a for a, b in transitions if b is None})


@settings(max_examples=30)
@given(machines())
def test_arcs_that_meet_lie_apart(machine: Machine) -> None:
    states, start, transitions = machine
    arrows = dict.fromkeys(transitions, "")
    rank = {state: k for k, state in enumerate(state_order(len(states), states.index(start), arrows))}
    for side in lanes(arrows, rank):
        for one, lane in side.items():
            for other, level in side.items():
                between = set(range(*sorted(rank[k] for k in one))) & set(range(*sorted(rank[k] for k in other)))
                assert one == other or lane != level or not between


@pytest.mark.parametrize(
    ("count", "start", "arrows", "order"),
    [
        (2, 1, {(0, 1): ""}, (1, 0)),
        (3, 0, {(0, 1): "", (1, 0): "", (0, 2): "", (2, 0): ""}, (1, 0, 2)),
        (3, 0, {(0, 2): "", (2, 1): ""}, (0, 2, 1)),
        (8, 3, {(0, 7): ""}, (3, 0, 1, 2, 4, 5, 6, 7)),
    ],
)
def test_neighbours_stand_next_to_each_other(count: int, start: int, arrows: Arrows, order: object) -> None:
    assert state_order(count, start, arrows) == order


@pytest.mark.parametrize("name", MODELS)
def test_documents_have_them(name: str) -> None:
    model, blocks = compiled(name), paper(name).blocks
    shown = [k for k, block in enumerate(blocks) if isinstance(block, Figure) and "States of " in block.caption]
    acting = {event.automaton for event in model.system.events if not event.internal}
    assert bool(shown) == bool(acting) and len(shown) <= len(acting)
    for k in shown:
        figure, table = blocks[k], blocks[k + 1]
        assert isinstance(figure, Figure) and isinstance(table, TableBlock) and figure.height <= 55.0
        rows = [row[0][0] for row in table.rows]
        numbers = {number for label in labels(figure) for number in (label.text or "").split(", ")}
        assert set(rows) == numbers and len(rows) == len(numbers)
    if shown:
        assert page(name).count("data:image/svg+xml") == 1 + len(shown)
        assert as_latex(paper(name)).count(r"\begin{picture}") == 1 + len(shown)
        assert as_typst(paper(name)).count("image(bytes(") == 1 + len(shown)
