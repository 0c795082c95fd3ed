"""Functions of start values are correct for every change, and called only if an argument has changed."""

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, C, Compiled, Graph, I, R, Switch, compile_model
from bondgraph.errors import ModelError
from examples import rolling_eggs


@pytest.fixture(scope="module")
def springs():
    graph, v, calls = Graph("springs"), J1("v"), []
    graph.connect(v, I("m", 1.0)).connect(v, C("b", stiffness=2.0, initial=1.0)).connect(v, R("r", 1.0))
    graph.connect(v, C("a", stiffness=1.0)).connect(v, C("c", stiffness=3.0))

    def noted(name, function):
        def start(*values):
            calls.append(name)
            return (function(*values),)

        return start

    graph.start(noted("a", lambda b: 2.0 * b), ["b.q"], ["a.q"])
    graph.start(noted("c", lambda a, k: a + k), ["a.q", "c.stiffness"], ["c.q"])
    return compile_model(graph, backend="numpy"), calls


CASES = [
    ({}, {}, [], (1.0, 2.0, 5.0)),
    ({}, {"m.inertia": 2.0}, [], (1.0, 2.0, 5.0)),
    ({}, {"b.stiffness": 7.0}, [], (1.0, 2.0, 5.0)),
    ({}, {"c.stiffness": 4.0}, ["c"], (1.0, 2.0, 6.0)),
    ({"b.q": 3.0}, {}, ["a", "c"], (3.0, 6.0, 9.0)),
    ({"a.q": 5.0}, {}, ["c"], (1.0, 5.0, 8.0)),
    ({"c.q": 0.0}, {}, [], (1.0, 2.0, 0.0)),
    ({"b.q": 3.0, "a.q": 2.0}, {}, ["a"], (3.0, 2.0, 5.0)),
    ({}, {}, [], (1.0, 2.0, 5.0)),
]


def test_only_changed_starts_are_computed_again(springs):
    compiled, calls = springs
    for initial, parameters, called, expected in CASES:
        calls.clear()
        x, _ = compiled.initial(initial, parameters)
        found = dict(zip([state.name for state in compiled.system.states], x, strict=True))
        assert (found["b.q"], found["a.q"], found["c.q"]) == expected
        assert calls == called, (initial, parameters)
        x[:] = np.nan  # a copy, so that the next call does not see the change


def test_start_points_of_contacts_are_found_once(monkeypatch):
    compiled = compile_model(rolling_eggs.build()[0])
    whole, _ = compiled.initial()
    searches = []
    from tests.inner.models_contacts import contact_graph

    search = contact_graph.closest_points
    monkeypatch.setattr(
        contact_graph, "closest_points", lambda *given, **more: (searches.append(given), search(*given, **more))[1]
    )
    name = "contact.spring.stiffness"
    stiff, _ = compiled.initial(parameters={name: 1.5 * compiled.system.parameters[name]})
    assert not searches and np.array_equal(stiff, whole)
    pose = compiled.system.states[[state.name for state in compiled.system.states].index("egg 2.pose.H")]
    moved = np.array(pose.initial)
    moved[4:] *= 1.0 + 1e-6
    compiled.initial({pose.name: moved})
    assert len(searches) == 1


def test_switches_consistent_with_their_start_are_not_examined_singly(monkeypatch):
    lever = Automaton("lever", ("off", "on"), "off", ())
    graph = Graph("switched").add_automaton(lever).connect(node := J0("node"), Switch("s", automaton="lever", closed="on"))
    compiled = graph.connect(node, C("c", capacitance=1.0, initial=3.0)).connect(node, R("r", 1.0)).compile()
    looked, evaluate = [], Compiled.evaluate
    monkeypatch.setattr(Compiled, "evaluate", lambda *given: (looked.append(given), evaluate(*given))[1])
    run = compiled.prepare_run(1e-3, progress=False)
    for initial in ({"c.q": 2.0}, {"c.q": 0.0, "lever": "on"}):
        assert run(parameters={"c.capacitance": 2.0}, initial=initial).ok and not looked
    with pytest.raises(ModelError, match="E214"):
        run(initial={"lever": "on"})
    assert looked
