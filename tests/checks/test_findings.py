"""All errors are reported together, each cause once, and a refused graph can be corrected."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    MGY,
    TF,
    Automaton,
    Block,
    C,
    Constraint,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Transition,
    by_mode,
    compile_model,
    signals,
)
from tests.checks.small_graphs import loop, provoke, with_automaton


def test_all_problems_at_once() -> None:
    graph = Graph("wrong")
    graph.connect(loop_ := J1("loop"), C("c", capacitance=float("nan"))).connect(loop_, R("r", -1.0))
    graph.connect(loop_, Se("u", lambda x: x, signals=["nothing"])).connect(loop_, C("c", capacitance=1.0))
    graph.connect(loop_, TF("t", 1.0)).connect(J0("lonely"), I("i", 0.0))
    graph.add(Block("b", [("x", lambda y: y, ["y"])]))
    graph.add_automaton(Automaton("a", ("on",), "off", ()))
    error = provoke(lambda: graph)
    assert {p.code for p in error.problems} == {"E101", "E104", "E106", "E113", "E117", "E118", "E119"}
    assert str(error).startswith(f'{len(error.problems)} problems in "wrong"')


def test_each_cause_is_reported_once() -> None:
    """A wrong end leaves a junction short of bonds, but this consequence is not reported."""
    error = provoke(lambda: Graph("g").connect(J1("v"), Graph("part")).connect(J1("w"), R("r", 1.0)))
    assert [p.code for p in error.problems].count("E111") == 1
    assert "E115" not in {p.code for p in error.problems}


def test_nothing_is_left_behind_by_an_error() -> None:
    graph = loop(C("c", capacitance=1.0, initial=2.0))
    with pytest.raises(ModelError):
        graph.freeze()
    graph.connect(graph.parts["loop"], R("r", 1.0))
    assert len(compile_model(graph, backend="numpy").system.states) == 1


def test_modulated_gyrator_names_are_its_own() -> None:
    graph = loop(I("m", 1.0, initial=1.0))
    graph.connect(graph.parts["loop"], g := MGY("g", lambda a: a, parameters={"a": 2.0}, signals=[]))
    graph.connect(g, I("n", 1.0))
    assert compile_model(graph, backend="numpy").program.layout["g.a"].block == "p"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"f.limit": 0.8}, "stick_limit 0.4, limit 0.8"),
        ({"f.viscous": -0.1}, "viscous must be non-negative"),
        ({"stop.restitution": 1.1}, "restitution must be between 0 and 1"),
        ({"stop.alpha1": -1.0}, "alpha1 must be non-negative"),
    ],
)
def test_changed_numbers_are_checked_as_those_of_the_model(changes: dict[str, float], words: str) -> None:
    stop = Constraint("stop", initial=1.0, automaton="a", active="held", restitution=0.5)
    graph = loop(I("m", 1.0), stop).add_automaton(Automaton("a", ("free", "held"), "free", ()))
    graph.connect(other := J1("other"), I("n", 1.0)).connect(other, Friction("f", 0.4))
    model = compile_model(graph, backend="numpy")
    with pytest.raises(ModelError, match="E151") as caught:
        model.parameters(changes)
    assert words in str(caught.value)
    assert np.all(np.isfinite(model.parameters({"f.limit": 0.8, "f.stick_limit": 0.9})))


def test_a_value_by_mode_is_checked_when_it_is_changed() -> None:
    graph = with_automaton().replace("r", R("r", by_mode("relay", {"a": 1.0, "b": 2.0})))
    with pytest.raises(ModelError, match=r"E119.*resistance in b must be positive"):
        compile_model(graph, backend="numpy").parameters({"r.resistance in b": -1.0})


def test_one_name_stands_for_a_list_of_one() -> None:
    hit = Transition("free", "free", lambda h: -h, "stop.h", (("m.p", lambda p: -p, "m.p"),), impact="stop")
    stop = Constraint("stop", initial=1.0, automaton="contact", active="held", restitution=0.5)
    graph = loop(I("m", 1.0), stop, Se("wind", lambda t: t, signals="time"))
    graph.add_automaton(Automaton("contact", ("free", "held"), "free", hit))
    graph.add(Block("travel", [("rate", lambda v: v, "v")], inputs={"v": "m.flow"}, states={"x": 2}, rates={"x": "rate"}))
    graph.add(signals.logic("still", "not", "travel.x"))
    model = compile_model(graph, backend="numpy").model
    assert model.elements["wind"].signals == ("time",)
    assert model.elements["stop"].law.active == ("held",)
    assert model.automata["contact"].transitions[0].signals == ("stop.h",)
    assert model.automata["contact"].transitions[0].impact == ("stop",)
    assert model.elements["travel"].law.states()["x"].initial == 2.0
