"""Runs continue after accumulating events (Zeno), and after transitions into the same state."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, Block, C, Constraint, Graph, I, Se, Sf, StateSpec, compile_model
from bondgraph.errors import ModelError
from screws.scalars import absolute, equal, sin, where
from tests.inner.model import Automaton, Transition
from tests.inner.run import RunTransition, Slot, simulate
from tests.run.problems import program

METHODS = ["dop853", "rodas5p"]
G = 9.81


def ball(restitution=0.8, edges=(), **weight):
    bounce = Transition(
        "flight",
        "flight",
        lambda x: -x,
        ("height.x",),
        (("ball.p", lambda p: -restitution * p, ("ball.p",)),),
        kind="impact",
        accumulates="contact",
    )
    graph, v = Graph("ball"), J1("v")
    graph.connect(Se("weight", lambda g, mode: where(equal(mode, 0.0), -g, 0.0), parameters={"g": G}, signals=["floor.mode"]), v)
    graph.connect(v, I("ball", 1.0))
    graph.add(Block("height", [], inputs={"v": "ball.flow"}, states={"x": StateSpec(1.0)}, rates={"x": "v"}))
    return graph.add_automaton(Automaton("floor", ("flight", "contact"), "flight", (bounce, *edges)))


def stop(p="ball.p"):
    return Transition("flight", "contact", lambda: -1.0, (), ((p, lambda q: 0.0 * q, (p,)),))


@pytest.mark.parametrize(("restitution", "end"), [(0.8, 4.063713), (0.5, None), (0.9, None)])
def test_a_ball_comes_to_rest_where_its_impacts_accumulate(restitution, end):
    exact = np.sqrt(2.0 / G) * (1.0 + restitution) / (1.0 - restitution)
    run = compile_model(ball(restitution, [stop()])).simulate(20.0, samples=0.01, rtol=1e-9)
    last = run.events[-1]
    assert run.ok and last.kind == "impact: accumulation" and last.name == "floor"
    assert last.accumulation == pytest.approx(exact, abs=1e-9)
    assert end is None or last.accumulation == pytest.approx(end, abs=5e-7)
    assert 0.0 <= last.accumulation - last.time < 2.1e-8
    assert all(event.kind == "impact" and event.accumulation is None for event in run.events[:-1])
    assert run["floor.mode"][-1] == 1.0 and run["ball.p"][-1] == 0.0 and run.t[-1] == 20.0
    assert abs(run["height.x"][-1]) < 1e-12
    resting = sum(event.lost for event in run.events)
    assert resting == pytest.approx(G, rel=1e-9)  # potential energy at the start: 1 m, 1 kg


def test_a_body_leaves_its_floor_where_the_force_passes_zero():
    """On the floor q = 0.07 m + 0.1 m cos(w t), and the force m q'' + k q is zero at cos(w t) = -0.7 k / (k - m w^2)."""
    graph, v, gap = Graph("lift"), J1("v", domain="translation"), J0("gap", domain="translation")
    graph.connect(v, I("mass", 1.0)).connect(v, C("spring", stiffness=100.0, initial=0.17))
    sinking = Sf("sinking", lambda t, w: 0.1 * w * sin(w * t), signals=["time"], parameters={"w": 5.0})
    floor = Constraint("floor", automaton="touch", active=["closed"], restitution=0.0)
    graph.connect(v, gap).connect(sinking, gap).connect(gap, floor)
    edges = (
        Transition("open", "open", lambda h: -h, ("floor.h",), kind="impact", impact="floor", accumulates="closed"),
        Transition("closed", "open", lambda force: -force, ("floor.multiplier",), kind="off"),
    )
    compiled = compile_model(graph.add_automaton(Automaton("touch", ("open", "closed"), "closed", edges)))
    for w in np.linspace(4.0, 5.4, 4):
        run = compiled.simulate(0.65, parameters={"sinking.w": w}, rtol=1e-7)
        assert run.ok and [event.kind for event in run.events] == ["off"]
        assert run.events[0].time == pytest.approx(np.arccos(-70.0 / (100.0 - w * w)) / w, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_state_of_rest_needs_no_edge_that_leads_to_it(method):
    run = compile_model(ball(0.6)).simulate(10.0, method=method, rtol=1e-8)
    assert run.ok and run.events[-1].kind == "impact: accumulation"
    assert run["floor.mode"][-1] == 1.0 and abs(run["ball.p"][-1]) < 1e-5


def test_dense_impacts_on_a_rising_floor_become_rest():
    """A slowly rising floor restores the energy of each impact, so the run would have about 1e11 impacts."""
    graph, rising = ball(0.5, [stop()]), [("over", lambda v: v - 1e-10, ["v"])]
    graph.replace("height", Block("height", rising, inputs={"v": "ball.flow"}, states={"x": StateSpec(0.0)}, rates={"x": "over"}))
    run = compile_model(graph).simulate(2.0, progress=False)
    assert run.ok and run.events[-1].kind == "impact: accumulation"
    assert len(run.events) < 1100 and run.events[-1].time < 1e-6 and run["floor.mode"][-1] == 1.0


@pytest.mark.parametrize("state", ["contact", "flight"])
def test_a_rest_that_is_left_at_once_ends_the_run(state):
    """Two accumulating edges lead to each other at the same instant, which must not overflow Python's stack."""
    up = Transition("contact", "flight", lambda: 1.0, (), (), kind="up", accumulates=state)
    run = compile_model(ball(0.5, [stop(), up])).simulate(12.0)
    assert run.failure.kind == "chattering" and run.failure.suspect == "floor" and len(run.events) < 200


def test_a_resting_body_may_move_again():
    thrown = Transition(
        "contact",
        "flight",
        lambda t: 0.05 - absolute(t - 8.05),
        ("time",),
        (("ball.p", lambda p: p + 1.0, ("ball.p",)),),
        kind="throw",
    )
    run = compile_model(ball(0.5, [stop(), thrown])).simulate(12.0)
    ends = [event.accumulation for event in run.events if event.accumulation is not None]
    first = 3.0 * np.sqrt(2.0 / G)
    assert run.ok and ends == pytest.approx([first, 8.0 + 2.0 / G / 0.5], abs=1e-7)
    assert [event.time for event in run.events if event.kind == "throw"] == pytest.approx([8.0], abs=1e-9)


def test_an_ideal_constraint_carries_the_ball_at_rest():
    bounce = Transition("flight", "flight", lambda x: -x, ("height.x",), kind="impact", impact=("floor",), accumulates="contact")
    graph, v = Graph("ball"), J1("v")
    floor = Constraint(
        "floor", position=lambda x: x, signals=["height.x"], automaton="touch", active=("contact",), restitution=0.8
    )
    graph.connect(Se("weight", -G), v).connect(v, I("ball", 1.0)).connect(v, floor)
    graph.add(Block("height", [], inputs={"v": "ball.flow"}, states={"x": StateSpec(1.0)}, rates={"x": "v"}))
    graph.add_automaton(Automaton("touch", ("flight", "contact"), "flight", (bounce,)))
    run = compile_model(graph).simulate(20.0)
    last = run.events[-1]
    assert run.ok and last.accumulation == pytest.approx(9.0 * np.sqrt(2.0 / G), abs=1e-9)
    assert last.x_after[0] == 0.0 and run["floor.multiplier"][-1] == pytest.approx(G)
    assert run.ledger.relative_residual < 1e-9


def test_an_unknown_state_of_rest_is_refused():
    graph = ball(0.5)
    graph.automata["floor"] = Automaton(
        "floor", ("flight",), "flight", (Transition("flight", "flight", lambda x: -x, ("height.x",), accumulates="rest"),)
    )
    with pytest.raises(ModelError, match="E117"):
        graph.freeze()


def wave(resets=(), **options):
    """Return a program of x = sin t with a counter in x[2]; a transition into the same state fires at every upward crossing of
    1/2."""
    return program(
        lambda t, x, p, m: [x[1], -x[0], 0.0],
        (3, 0, 1),
        guards=lambda t, x, p, m: [x[0] - 0.5],
        resets=resets,
        transitions=[RunTransition("mark", 0, 0.0, 0.0, "up")],
        slots={"count": Slot("x", 2)},
        **options,
    )


UP = np.arcsin(0.5) + 2.0 * np.pi * np.arange(5)


@pytest.mark.parametrize("options", [{"method": name} for name in METHODS], ids=str)
@pytest.mark.parametrize("counted", [False, True])
def test_a_transition_into_its_own_state_fires_once_per_crossing(options, counted):
    made = wave([lambda t, x, p, m: [x[0], x[1], x[2] + 1.0]] if counted else ())
    run = simulate(made, [0.0, 1.0, 0.0], [], [0.0], 30.0, **options)
    assert run.ok
    assert [event.time for event in run.events] == pytest.approx(UP, abs=1e-7)
    assert run["count"][-1] == (5.0 if counted else 0.0)


def test_one_that_is_true_at_the_start_fires_there_and_at_the_next_crossing():
    run = simulate(wave(), [1.0, 0.0, 0.0], [], [0.0], 6.0)
    assert run.ok and [event.time for event in run.events] == pytest.approx([0.0, 2.0 * np.pi - np.arccos(0.5)], abs=1e-9)
