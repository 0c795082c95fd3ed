"""A single trace finds all obstacles to solving a system."""

from __future__ import annotations

import pytest

from bondgraph import J0, J1, Automaton, Constraint, Graph, I, R, Se, Switch
from tests.inner.assembly import System
from tests.inner.compile import equations
from tests.inner.tracing import Traced, TraceObstacles, Unsolvable, break_loops, context_of, evaluate_system


def clamp() -> Graph:
    graph, coil, node, tie = Graph("clamp"), J1("coil"), J0("node"), J1("tie")
    graph.add_automaton(Automaton("lever", ("off", "on"), "off", ()))
    graph.connect(Se("u", 3.0), coil).connect(coil, I("L", 2.0)).connect(coil, R("r", 0.5)).connect(coil, node)
    graph.connect(node, Constraint("hold")).connect(node, tie).connect(tie, R("lead", effort=lambda f: 4.0 * f))
    return graph.connect(tie, Switch("s", automaton="lever", closed=["on"]))


def curved(graph: Graph, count: int) -> Graph:
    for k in range(count):
        node = J1(f"node {k}")
        graph.connect(I(f"x{k}", 1.0, initial=1.0 + k), node).connect(node, R(f"r{k}", flow=lambda e: e**3 + e))
    return graph


def system_of(graph: Graph) -> System:
    return equations(graph.freeze())


def test_loops_are_eased_before_tied_values() -> None:
    system, found = system_of(curved(clamp(), 3)), []
    while isinstance(outcome := evaluate_system(context_of(system)), TraceObstacles):
        found.append(outcome)
        system = break_loops(system, outcome)
    first, *others = found
    assert len(first.nonlinear) == 3 and not first.algebraic
    assert [other.nonlinear for other in others] == [()] * len(others)
    assert frozenset().union(*(other.algebraic for other in others)) == {"hold", "s"}
    assert isinstance(outcome, Traced) and len(outcome.newton_iterations) == 3


def test_easing_changes_nothing_else() -> None:
    system = system_of(curved(Graph("many"), 3))
    outcome = evaluate_system(context_of(system))
    assert isinstance(outcome, TraceObstacles) and outcome.nonlinear == system.loops
    easy = break_loops(system, outcome)
    assert easy.statements == system.statements and easy.unknowns == system.unknowns
    assert easy.states[: len(system.states)] == system.states
    assert [loop.guesses for loop in easy.loops] == [(f"{loop.unknowns[0].value}~",) for loop in system.loops]
    assert break_loops(system, TraceObstacles()) == system


def test_incurable_systems_end_with_a_message() -> None:
    """Two constraints prescribe one flow."""
    graph, node = Graph("no cure"), J1("node")
    graph.connect(Se("u", 1.0), node).connect(node, Constraint("one")).connect(node, Constraint("two"))
    with pytest.raises(Unsolvable) as stuck:
        evaluate_system(context_of(system_of(graph.connect(node, I("m", 1.0)))))
    assert stuck.value.reason == "singular" and {"one", "two"}.issuperset(stuck.value.suspects) and stuck.value.suspects
