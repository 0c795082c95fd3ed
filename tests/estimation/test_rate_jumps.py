"""Sensitivities of runs whose rates or guards jump where a comparison, `sign` or `floor` of states changes, against complex steps
through closed forms and differences of runs."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, Automaton, Block, C, Graph, I, R, Se, Transition, by_mode, signals
from bondgraph.errors import RunError
from bondgraph.estimation import estimate, run_sensitivities
from screws.scalars import floor, less, searchsorted, sign, take, where
from tests.estimation.differences import differences

STEP = 1e-30
PUSH, BRAKE = 0.3, -0.7


def carriage(*force):
    """Return a mass of 1 kg that starts at 1 m/s under these forces, with its position."""
    graph, v = Graph("carriage"), J1("v", domain="translation")
    graph.connect(v, I("m", 1.0, initial=1.0)).add(signals.integrator("x", "m.flow"))
    for part in force:
        graph.connect(part, v)
    return graph


def position(speed, goal, end):
    """Return the position of the carriage that PUSH drives up to `goal` and BRAKE beyond it."""
    there = np.sqrt(speed**2 + 2.0 * PUSH * goal)
    late = end - (there - speed) / PUSH
    return goal + there * late + 0.5 * BRAKE * late**2


def braking():
    force = Se("f", lambda x, goal: where(less(goal, x), BRAKE, PUSH), signals=["x.y"], parameters={"goal": 1.0})
    return carriage(force)


def braking_by_event(guard):
    graph = carriage(Se("force", by_mode("a", {"push": PUSH, "brake": BRAKE})))
    graph.add(Block("f", [("ahead", guard, ["x", "goal"])], inputs={"x": "x.y"}, parameters={"goal": 1.0}))
    switch = Transition("push", "brake", lambda ahead: ahead, ("f.ahead",))
    return graph.add_automaton(Automaton("a", ("push", "brake"), "push", (switch,)))


def braking_by_table():
    """A table of 20 entries that jumps from PUSH to BRAKE at the sixth of its points, 0, goal / 5 ..."""
    values = [PUSH] * 6 + [BRAKE] * 14

    def force(x, goal):
        return take(values, searchsorted(np.arange(20.0), 5.0 * x / goal))

    return carriage(Se("f", force, signals=["x.y"], parameters={"goal": 1.0}))


@pytest.mark.parametrize(
    "graph",
    [
        braking(),
        braking_by_table(),
        braking_by_event(lambda x, goal: sign(x - goal)),
        braking_by_event(lambda x, goal: where(less(goal, x), 1.0, -1.0) + 0.1 * x),
        braking_by_event(lambda x, goal: floor(x / goal) - 0.5),
    ],
    ids=["rates", "table", "sign", "where", "floor"],
)
@pytest.mark.parametrize("method", ["dop853", "rodas5p"])
def test_a_state_that_passes_a_jump(graph, method):
    found = run_sensitivities(graph.compile(), ["f.goal", "m.p"], 2.0, rtol=1e-9, method=method, progress=False)
    wanted = [position(1.0, 1.0 + 1j * STEP, 2.0), position(1.0 + 1j * STEP, 1.0, 2.0)]
    np.testing.assert_allclose(found["x.y"][-1], np.imag(wanted) / STEP, rtol=1e-6)


def test_a_relay_with_hysteresis():
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("f", lambda u: u, signals=["relay.y"]), v).connect(v, I("m", 0.5)).connect(v, R("r", 0.8))
    graph.connect(v, C("k", stiffness=200.0)).add(signals.hysteresis("relay", "k.q", -2e-3, 2e-3, low=1.0, high=-1.0))
    compiled, names = graph.compile(), ["m.inertia", "relay.upper", "r.resistance"]
    found = run_sensitivities(compiled, names, 0.5, rtol=1e-10, progress=False)
    assert len(found.result.events) >= 4
    for name in names:
        wanted = differences(compiled, name, 0.5, ["k.q", "m.flow"], 1e-3, rtol=1e-11, progress=False)
        for column, output in enumerate(("k.q", "m.flow")):
            assert abs(found[output, name][-1] - wanted[-1, column]) < 1e-5 * np.abs(wanted[:, column]).max()


def test_a_motion_that_stays_at_a_jump_is_refused():
    graph = carriage(R("dry", effort=lambda f, limit: limit * sign(f), parameters={"limit": 0.5}))
    compiled = graph.compile()
    passing = run_sensitivities(compiled, ["dry.limit"], 1.5, progress=False)
    assert passing["x.y"][-1] == pytest.approx([-(1.5**2) / 2.0])
    with pytest.raises(RunError, match="E373"):
        run_sensitivities(compiled, ["dry.limit"], 2.1, progress=False)


def test_a_threshold_from_data():
    compiled = braking().compile()
    t = np.linspace(0.0, 2.0, 41)
    data = {"x.y": (t, compiled.simulate(2.0, samples=t, parameters={"f.goal": 1.1})["x.y"], 1e-3)}
    found = estimate(compiled, {"f.goal": (0.5, 0.9, 1.5)}, data)
    assert found.values == pytest.approx([1.1], rel=1e-5)
    at = found.values[0]
    slopes = np.imag([position(1.0, at + 1j * STEP, end) for end in t if at < position(1.0, at, end)]) / STEP / 1e-3
    assert found.standard_errors == pytest.approx([1.0 / np.sqrt(np.sum(slopes**2))], rel=0.1)
