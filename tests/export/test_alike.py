"""Parts with the same structure are written once if equations, automata and impacts agree; numbers may differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bondgraph import J1, X0, Automaton, C, Graph, I, R, Se, Transition, compile_model
from bondgraph.export import document
from tests.export.reading.page import Page
from tests.export.test_readers import Read, same_rates


def coupled(name: str, **own: Any) -> Graph:
    graph, v = Graph(name), J1("v")
    states, start = ("open", "closed"), own.get("start", "open")
    goal, level = own.get("goal", "closed"), own.get("level", 0.5)
    reset = ("spring.q", lambda q: own.get("factor", 0.5) * q, ("spring.q",))
    close = Transition("open", goal, lambda p: p - level, ("mass.p",), (reset,) if own.get("resets", True) else ())
    graph.add_automaton(Automaton("clutch", states, start, (close,)))
    gate = X0("gate", automaton="clutch", active=[own.get("active", "closed")])
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", own.get("mass", 2.0))).connect(v, gate)
    return graph.connect(gate, C("spring", stiffness=3.0, initial=0.1)).connect(gate, R("slip", 4.0))


def page(*parts: Graph) -> str:
    whole = Graph("several")
    for part in parts:
        whole.add(part)
    return document(compile_model(whole, backend="numpy"), style="markdown")


@pytest.mark.parametrize("own", [{}, {"mass": 5.0}, {"level": 0.7}, {"factor": 0.25}], ids=str)
def test_differing_numbers_and_functions_are_tabulated(own: Mapping[str, Any]) -> None:
    text = page(coupled("one"), coupled("two", **own))
    assert "one, two have the same structure" in text


@pytest.mark.parametrize(
    "own", [{"active": "open"}, {"start": "closed"}, {"goal": "open"}, {"resets": False}], ids=lambda own: next(iter(own))
)
def test_differing_parts_are_written_separately(own: Mapping[str, Any]) -> None:
    assert "have the same structure" not in page(coupled("one"), coupled("two", **own))


@pytest.mark.parametrize("own", [{"mass": 5.0}, {"level": 0.7}, {"factor": 0.25}, {"active": "open"}], ids=str)
def test_a_reader_finds_every_member(own: Mapping[str, Any]) -> None:
    whole = Graph("several")
    for part in (coupled("one"), coupled("two", **own), coupled("three")):
        whole.add(part)
    compiled = compile_model(whole, backend="numpy")
    same_rates(Read(compiled, Page(document(compiled, style="markdown", digits=17))), 4, 8)
    assert np.size(compiled.initial()[0]) == 6
