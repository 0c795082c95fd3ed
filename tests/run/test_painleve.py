"""The run of Painleve's rod is ended where sliding friction has no solution, or several.

Let a be the angle between rod and floor, and let the lower end slide away from the side to which the rod leans. The floor's
force N obeys (1 + 3 cos a (cos a - mu sin a)) N = m (g - l w^2 sin a), with l half the length: for mu = 4/3, the bracket is
smallest at tan a = 2, where it is zero.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    MTF,
    TF,
    Automaton,
    Block,
    Constraint,
    Friction,
    Graph,
    I,
    RunEndedWarning,
    Se,
    StateSpec,
    Transition,
    compile_model,
)
from screws.scalars import cos, sin

HALF, GRAVITY, CRITICAL = 0.5, 9.81, np.arctan(2.0)


def rod_graph(dimension=1, push=0.0):
    """Return a uniform rod of 1 kg with its lower end on a floor; `dimension` 2 makes the floor a plane."""
    graph, w = Graph("rod"), J1("w", domain="rotation")
    vx, vy = J1("vx", domain="translation"), J1("vy", domain="translation")
    graph.connect(Se("push", lambda t: push * t, signals=["time"]), vx).connect(vx, I("mx", 1.0)).connect(
        Se("weight", -GRAVITY), vy
    ).connect(vy, I("my", 1.0))
    graph.connect(w, I("J", HALF**2 / 3.0))
    angle = {"angle": StateSpec(CRITICAL)}
    graph.add(Block("rod", [("turn", lambda w: w, ["w"])], inputs={"w": "w.flow"}, states=angle, rates={"angle": "turn"}))
    along, up = J0("along", domain="translation"), J0("up", domain="translation")
    for centre, node, lever in ((vx, along, lambda a: HALF * sin(a)), (vy, up, lambda a: -HALF * cos(a))):
        arm = MTF(f"lever {node.name}", lever, signals=["rod.angle"])
        graph.connect(centre, node).connect(w, arm).connect(arm, node)
    graph.connect(up, Constraint("floor", automaton="contact", active=["on"]))
    lifts = Transition("on", "off", lambda n: -n, ("floor.multiplier",), kind="lifts off")
    graph.add_automaton(Automaton("contact", ("off", "on"), "on", lifts))
    rubs = Friction("rubs", 1.0, scale=lambda n: n, signals=["floor.multiplier"], dimension=dimension)
    if dimension == 1:
        return graph.connect(along, rubs)
    side, plane = J1("side", domain="translation"), J0("plane", dimension=2, domain="translation")
    graph.connect(side, I("mz", 1.0))
    for node, row in ((along, (0.6, 0.8)), (side, (-0.8, 0.6))):
        graph.connect(node, axis := TF(f"axis {node.name}", np.array([row]).T)).connect(axis, plane)
    return graph.connect(plane, rubs)


@functools.cache
def rod():
    return compile_model(rod_graph())


def slides(mu, angle, speed=-1.0, until=0.01, **start):
    given = {"rubs.limit": mu, "rubs.stick_limit": mu}
    return rod().simulate(until, initial={"mx.p": speed, "rod.angle": angle, **start}, parameters=given, progress=False)


@pytest.mark.parametrize("close", [1e-9, 1e-3, 0.5])
def test_it_is_reported_from_four_thirds_on(close):
    with pytest.warns(RunEndedWarning, match=r"E324 friction \"rubs\" with constraint \"floor\".*Painleve"):
        run = slides(4.0 / 3.0 * (1.0 + close), CRITICAL)
    assert run.failure is not None and run.failure.time == 0.0 and "rubs.limit" in run.failure.reason
    assert slides(4.0 / 3.0 * (1.0 - close), CRITICAL).ok
    assert slides(4.0 / 3.0 * (1.0 + close), CRITICAL, speed=1.0).ok, "sliding in the other direction has one solution"


@pytest.mark.filterwarnings("ignore::bondgraph.RunEndedWarning")
@pytest.mark.parametrize("mu", [0.5, 1.3, 1.4, 1.8, 2.5])
def test_it_is_reported_where_the_factor_of_the_normal_force_is_negative(mu):
    reported = []
    for angle in np.linspace(0.1, 1.5, 15):
        bracket = 1.0 + 3.0 * np.cos(angle) * (np.cos(angle) - mu * np.sin(angle))
        run = slides(mu, angle)
        assert (run.failure is not None) == (bracket < 0.0), (angle, bracket)
        reported.append(bracket < 0.0)
        if bracket > 0.0 and run["rubs.mode"][0] == 2.0 and run["contact.mode"][0] == 1.0:
            assert run["floor.multiplier"][0] == pytest.approx(GRAVITY / bracket, rel=1e-9)
    assert any(reported) == (mu > 4.0 / 3.0)


def test_it_is_reported_where_slipping_begins():
    given = {"rubs.limit": 2.0, "rubs.stick_limit": 2.0}
    with pytest.warns(RunEndedWarning, match="E324"):
        run = compile_model(rod_graph(push=-400.0)).simulate(2.0, parameters=given, progress=False)
    assert run.failure is not None and run.failure.time > 0.0 and run["rubs.mode"][-1] == 0.0


@pytest.mark.parametrize("close", [1e-6, 0.1])
def test_it_is_the_same_in_a_plane_with_other_axes(close):
    compiled = compile_model(rod_graph(dimension=2))
    for mu, wrong in ((4.0 / 3.0 * (1.0 + close), True), (4.0 / 3.0 * (1.0 - close), False)):
        given = {"initial": {"mx.p": -1.0}, "parameters": {"rubs.limit": mu, "rubs.stick_limit": mu}, "progress": False}
        if not wrong:
            assert compiled.simulate(0.01, **given).ok
            continue
        with pytest.warns(RunEndedWarning, match="E324"):
            assert compiled.simulate(0.01, **given).failure.time == 0.0


def test_a_model_that_may_end_so_is_linearised():
    system = rod().linearise(inputs=[], outputs=["w.flow"])
    assert system.A.shape == (5, 5) and np.isfinite(system.A).all()
