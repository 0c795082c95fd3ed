"""Lines of large diagrams are found in a number of steps that hardly grows with the diagram."""

from __future__ import annotations

import heapq
from types import SimpleNamespace

import pytest

from bondgraph import J1, Graph, R, Se
from tests.inner.render import drawn_lines, routes


def star(count: int) -> Graph:
    graph, centre = Graph("star"), J1("j")
    graph.connect(Se("u", 1.0), centre)
    for i in range(count):
        graph.connect(centre, R(f"r{i}", 1.0))
    return graph


class Counted:
    """A function that counts its calls."""

    def __init__(self, function) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


def test_searches_for_detours_end_when_their_steps_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pop = Counted(heapq.heappop)
    monkeypatch.setattr(routes, "heapq", SimpleNamespace(heappop=pop, heappush=heapq.heappush))
    star(40).diagram()
    assert 500 < pop.calls < routes.MAX_STEPS
    monkeypatch.setattr(routes, "MAX_STEPS", 500)
    pop.calls = 0
    svg = star(40).diagram().svg
    assert pop.calls == 500 and all(f"r{i}" in svg for i in range(40))


def test_a_line_is_compared_with_all_drawn_lines_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    price, crossings = Counted(routes.price), Counted(drawn_lines._crossings)
    monkeypatch.setattr(routes, "price", price)
    monkeypatch.setattr(drawn_lines, "_crossings", crossings)
    star(30).diagram()
    assert 0 < crossings.calls <= price.calls <= 30 * 12
