"""Acceptance cases of models that must be refused, with the words that explain the reason."""

from __future__ import annotations

import pytest

from bondgraph import J0, J1, Automaton, C, Constraint, Graph, I, ModelError, R, Se, Sf, Switch
from tests.acceptance.entries import Entries, Found, compiled, joined

ENTRIES = Entries()


def refused(graph: Graph, code: str, *words: str) -> Found:
    with pytest.raises(ModelError) as caught:
        compiled(graph)
    text = str(caught.value)
    return [([p.code for p in caught.value.problems], [code], 0.0), ([w for w in words if w not in text], [], 0.0)]


@ENTRIES.add("error: two Se on a 0-junction")
def two_efforts() -> Found:
    graph = joined(J0("node"), Se("a", 1.0), Se("b", 2.0), R("r", 1.0))
    return refused(graph, "E203", 'Se "a" and Se "b"', "a -> node, b -> node", "an I or R between them", "Sf instead")


@ENTRIES.add("error: two Sf on a 1-junction")
def two_flows() -> Found:
    graph = joined(J1("loop"), Sf("a", 1.0), Sf("b", 2.0), R("r", 1.0))
    return refused(graph, "E203", 'Sf "a" and Sf "b"', "a -> loop, b -> loop", "a C or R between them", "Se instead")


@ENTRIES.add("error: unconnected R")
def unconnected() -> Found:
    graph = joined(J1("loop"), C("c", capacitance=1.0), I("l", 1.0))
    graph.add(R("alone", 1.0))
    return refused(graph, "E104", 'R "alone"', "connect it to a junction, or remove the element")


@ENTRIES.add("error: redundant loop of ideal constraints")
def redundant() -> Found:
    """Three bodies are each fixed to the other two, so the third constraint follows from the first two."""
    graph = Graph("triangle")
    bodies = [J1(f"v{k}") for k in range(3)]
    for k, body in enumerate(bodies):
        graph.connect(body, I(f"m{k}", 1.0))
    for k in range(3):
        force, gap = J0(f"f{k}"), J1(f"g{k}")
        graph.connect(bodies[k], force).connect(force, bodies[(k + 1) % 3]).connect(force, gap)
        graph.connect(gap, Constraint(f"hold{k}"))
    return refused(graph, "E208", "redundant constraints", 'constraint "hold', "leave one of them out")


@ENTRIES.add("error: a mode without valid causality")
def shorted() -> Found:
    graph = joined(J0("node"), Se("u", 1.0), R("r", 1.0), Switch("short", automaton="lever", closed=["on"]))
    graph.add_automaton(Automaton("lever", ("off", "on"), "off", ()))
    return refused(graph, "E212", 'mode "on" of "lever"', 'Sw "short"', "an R (a resistance) in series")
