"""Pages can be read: letters of 9 px on a desktop and on a phone, no label on another, panes that are used; small values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.pictures import page

from bondgraph import J0, J1, C, Graph, I, R, Se, simulate
from tests.browser import Browser, browser, needs_chromium
from tests.inner.render import diagram
from tests.models.pictures.test_pages import curve_of, data_of

SIZES = {1300: 850, 390: 844}
LETTERS = """(() => { const scale = drawing.getScreenCTM().a;
    return Math.min(...[...drawing.querySelectorAll('text')].map(n => scale * parseFloat(getComputedStyle(n).fontSize)))})()"""
"""Size of the smallest letters of the drawing, px."""
OVERLAPS = """(() => { const boxes = [...drawing.querySelectorAll('text')].filter(n => n.textContent.trim())
    .map(n => [n.textContent, n.getBoundingClientRect()]), found = [];
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    const x = Math.min(p.right, q.right) - Math.max(p.left, q.left), y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (x > 2 && y > .35 * Math.min(p.height, q.height)) found.push([a, b]); }));
  return found})()"""
"""Pairs of texts of the drawing that lie on one another."""
SHARE = """(() => { const pane = drawing.getBoundingClientRect(), seen = b => b.right > pane.left && b.left < pane.right
    && b.bottom > pane.top && b.top < pane.bottom;
  const boxes = [...drawing.querySelectorAll('text, path.line')].map(n => n.getBoundingClientRect()).filter(seen);
  const span = (low, high, from, to) => (Math.min(to, Math.max(...high)) - Math.max(from, Math.min(...low))) / (to - from);
  return Math.max(span(boxes.map(b => b.left), boxes.map(b => b.right), pane.left, pane.right),
    span(boxes.map(b => b.top), boxes.map(b => b.bottom), pane.top, pane.bottom))})()"""
"""Part of the pane's width or height that the drawing takes, whichever is larger."""


def ladder(sections: int) -> Graph:
    """Resistors and capacitors between a source and an open end: 4 n + 1 nodes, none of them nested."""
    graph, before = Graph(f"ladder of {sections}"), Se("source", 10.0)
    for k in range(sections):
        line, node = J1(f"line {k}"), J0(f"node {k}")
        graph.connect(before, line).connect(line, R(f"r{k}", 10.0)).connect(line, node)
        before = graph.connect(node, C(f"c{k}", capacitance=1e-4)) and node
    return graph


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser(webgl=False) as found:
        yield found


@pytest.mark.thorough
@needs_chromium
@pytest.mark.parametrize("sections", [1, 8, 15, 37])
def test_a_flat_graph_opens_legible(sections: int, window: Browser, tmp_path: Path) -> None:
    """5, 33, 61 and 149 nodes."""
    path = page(simulate(ladder(sections), 0.1, progress=False)).write(tmp_path / "page.html")
    for width, height in SIZES.items():
        window.open(path, width, height)
        assert window.run(LETTERS) > 8.99, width
        assert window.run(OVERLAPS) == [], width
        assert window.run(SHARE) > 0.7, width
        window.run("zoom(0)")
        assert not window.run("isPart()")
    assert window.complaints == []


def test_sections_of_a_ladder_are_drawn_alike() -> None:
    """In rows, each section as wide and as high as the others of its row; the drawing is wider than high."""
    drawn = diagram(ladder(15))
    at = {name: np.array(place) for name, place in drawn.positions.items()}
    assert 1.0 < drawn.width / drawn.height < 3.0
    rows = {round(at[f"line {k}"][1]) for k in range(15)}
    assert len(rows) == 3
    above = [at[f"line {k}"] - at[f"r{k}"] for k in range(15) if at[f"line {k}"][0] == at[f"r{k}"][0]]
    assert len(above) >= 13 and np.ptp(above, axis=0).max() < 1e-9 and above[0][1] > 0.0
    assert at["source"][0] < at["line 0"][0]


def test_small_values_are_drawn_as_they_are() -> None:
    """A current of 1 nA beside one of 1 kA."""
    graph = Graph("motor and sensor")
    for name, voltage, resistance in (("motor", 1e3, 1.0), ("sensor", 1e-6, 1e3)):
        loop = J1(f"{name} loop")
        graph.connect(Se(f"{name} source", voltage, domain="electrical"), loop).connect(loop, R(name, resistance))
        graph.connect(loop, I(f"{name} coil", inductance=1e-3))
    data = data_of(page(simulate(graph, 1.0, progress=False)))
    first = next(first for name, _, first, _ in data["quantities"] if name == "sensor.flow")
    assert curve_of(data, first)[-1] == pytest.approx(1e-9, rel=1e-3)


def test_the_residual_of_the_account_is_drawn_on_demand() -> None:
    data = data_of(page(simulate(ladder(1), 0.1, progress=False)))
    assert [(plot["title"], plot["on_demand"]) for plot in data["plots"]] == [
        ("energy (mJ)", False),
        ("energy ledger residual (J)", True),
    ]


def test_pages_play_in_real_time_where_that_can_be_watched() -> None:
    seconds = [data_of(page(simulate(ladder(1), end, progress=False)))["seconds"] for end in (0.1, 1.0, 30.0, 100.0)]
    assert seconds == [10.0, 1.0, 30.0, 10.0]
