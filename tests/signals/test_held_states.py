"""States of a block that change only when an automaton resets them add no poles."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, Automaton, Block, C, Graph, I, StateSpec, Transition, compile_model
from bondgraph.analysis import linearise, operating_point
from bondgraph.errors import ModelError
from bondgraph.export import latex, state_equations
from screws.scalars import cos

MASS, STIFFNESS = 2.0, 8.0


def recorder(reset: bool = True) -> Graph:
    graph, v = Graph("recorder"), J1("v", domain="translation")
    graph.connect(v, I("mass", MASS)).connect(v, C("spring", stiffness=STIFFNESS, initial=0.1))
    graph.add(Block("kept", [], states={"speed": StateSpec(0.0, unit="m/s"), "at": np.zeros(2)}))
    kept = (("kept.speed", lambda f: f, ("v.flow",)), ("kept.at", lambda t: np.array([t, cos(t)]), ("time",)))
    passes = Transition("right", "left", lambda q: -q, ("spring.q",), kept[: 2 if reset else 1], kind="passes")
    back = Transition("left", "right", lambda q: q, ("spring.q",), kept[: 2 if reset else 1], kind="comes back")
    return graph.add_automaton(Automaton("side", ("right", "left"), "right", (passes, back)))


def inside(graph: Graph) -> Graph:
    whole = Graph("whole")
    whole.add(graph)
    return whole


@pytest.mark.parametrize("make", [recorder, lambda: inside(recorder())], ids=["alone", "nested"])
def test_held_states_keep_the_last_reset_value(make):
    run = compile_model(make()).simulate(4.0, rtol=1e-10, samples=0.01)
    prefix = "" if "kept.at" in run else "recorder."
    omega = np.sqrt(STIFFNESS / MASS)
    passages = (np.arange(3) + 0.5) * np.pi / omega
    assert np.allclose([event.time for event in run.events], passages[passages < 4.0], atol=1e-9)
    speed, at = run[f"{prefix}kept.speed"], run[f"{prefix}kept.at"]
    for low, high, sign in zip(passages, (*passages[1:], 4.0), (-1.0, 1.0, -1.0), strict=True):
        between = (run.t > low) & (run.t <= high)
        assert np.allclose(speed[between], sign * 0.1 * omega, rtol=1e-9) and np.ptp(speed[between]) == 0.0
        assert np.allclose(at[between], [low, np.cos(low)], atol=1e-9)
    assert np.all(speed[run.t <= passages[0]] == 0.0)


def test_a_linear_system_does_not_have_them():
    linear = linearise(recorder())
    assert linear.states == ("mass.p", "spring.q")
    assert np.allclose(sorted(linear.poles().imag), [-2.0, 2.0]) and np.allclose(linear.poles().real, 0.0)
    point = operating_point(recorder(), {"spring.q": 0.3})
    assert point.states == linear.states and np.allclose(point.x, 0.0)
    with pytest.raises(ModelError, match=r'E261 "kept\.speed" is not a state that moves'):
        operating_point(recorder(), fixed=["kept.speed"])


def test_exports():
    text = latex(recorder())
    assert r"\text{speed}_{\text{kept}} := f_{\text{v}}" in text and r"\tfrac{d}{dt} \text{speed}" not in text
    assert str(state_equations(recorder())).count("kept.speed' = 0") == 1


def test_held_states_without_resets_are_refused():
    with pytest.raises(ModelError, match='E118 block "kept" has no rate for its state at\n') as caught:
        recorder(reset=False).freeze()
    assert "a transition that resets it" in str(caught.value)
