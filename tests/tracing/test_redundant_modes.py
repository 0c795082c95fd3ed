"""Beside redundant constraints, switching elements follow the motion of one coordinate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondgraph import (
    IC,
    J0,
    J1,
    TF,
    Automaton,
    Constraint,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    Sf,
    Switch,
    Transition,
    compile_model,
)
from screws.scalars import asin, sin, where

A, B, START, SPEED = 2.0, 0.7, 0.3, 1.5
"""Masses of the two bodies, and initial position and velocity of the first."""


def tied(unit: float = 1.0) -> tuple[Graph, dict[str, J1]]:
    """Return the graph of two bodies held at b = sin(a) by two constraints, and the bodies' junctions; `unit` scales the
    masses."""
    graph, at = Graph("tied"), {name: J1(f"at {name}") for name in "ab"}
    for name, mass, position, velocity in (("a", A * unit, START, SPEED), ("b", B * unit, np.sin(START), SPEED * np.cos(START))):
        graph.connect(at[name], IC(name, inertia=lambda q, mass=mass: mass, position=position, velocity=velocity))
    for k, relation in enumerate((lambda a, b: b - sin(a), lambda a, b: 0.4 * (asin(b) - a))):
        tie = Constraint(f"tie {k}", position=relation, coordinates=["a.q", "b.q"])
        graph.connect(at["a"], tie.port("1")).connect(at["b"], tie.port("2"))
    return graph, at


def one_coordinate(end, dry=(0.0, 0.0), viscous=lambda f: 0.0, stop=None, start=(START, SPEED), time=0.0, more=0.0):
    """Return the position and velocity of `a` at `end`, found by SciPy, with friction limits `dry` at `a` and `b`, and a `stop`
    (position, restitution); `more` is added to the mass of `b`."""
    b_mass = B + more

    def rate(_, y):
        inertia, slope = A + b_mass * np.cos(y[0]) ** 2, -2.0 * b_mass * np.cos(y[0]) * np.sin(y[0])
        load = dry[0] * np.sign(y[1]) + dry[1] * abs(np.cos(y[0])) * np.sign(y[1]) + viscous(y[1])
        return [y[1], -(load + 0.5 * slope * y[1] ** 2) / inertia]

    rests = lambda _, y: y[1] - 1e-12 if any(dry) else 1.0  # noqa: E731
    hits = lambda _, y: y[0] - stop[0] if stop else 1.0  # noqa: E731
    rests.terminal, hits.terminal, hits.direction = True, True, 1.0
    run = solve_ivp(rate, (time, end), start, events=(rests, hits), rtol=1e-11, atol=1e-13)
    a, v = run.y[:, -1]
    if len(run.t_events[0]):
        return a, 0.0
    if len(run.t_events[1]):
        return one_coordinate(end, dry, viscous, None, (a, -stop[1] * v), run.t[-1])
    return a, v


def braked(*places):
    def add(graph, at):
        for name, limit in places:
            graph.connect(at[name], Friction(f"brake {name}", limit))

    return add


def stopped(graph, at):
    hit = Transition("free", "free", lambda h: h, ("stop.h",), impact=("stop",))
    graph.add_automaton(Automaton("contact", ("free", "rest"), "free", (hit,)))
    graph.connect(at["a"], Constraint("stop", initial=START - 0.6, automaton="contact", active=["rest"], restitution=0.5))


def locked(element):
    def add(graph, at):
        graph.add_automaton(Automaton("lock", ("off", "on"), "off", Transition("off", "on", lambda t: t - 0.2, "time")))
        graph.connect(at["b"], element())

    return add


def geared(graph, at):
    """Add a flywheel, a dependent storage, behind a gear at b."""
    gear, shaft = TF("gear", 20.0), J1("shaft")
    graph.connect(at["b"], gear).connect(gear, shaft).connect(shaft, I("flywheel", 1e-3))


def leaky(f):
    return where(f < 0.0, 5.0 * f, 0.8 * f)


CASES = {
    "slips to rest": (braked(("a", 4.0)), {"dry": (4.0, 0.0)}),
    "slips": (braked(("b", 1.0)), {"dry": (0.0, 1.0)}),
    "two frictions": (braked(("a", 2.0), ("b", 3.0)), {"dry": (2.0, 3.0)}),
    "stop": (stopped, {"stop": (0.6, 0.5)}),
    "lock": (locked(lambda: Constraint("latch", holds="velocity", automaton="lock", active=["on"])), None),
    "switch": (locked(lambda: Switch("latch", automaton="lock", closed=["off"])), None),
    "flywheel": (geared, {"more": 20.0**2 * 1e-3}),
    "one-way resistance": (lambda g, at: g.connect(at["a"], R("leak", effort=leaky)), {"viscous": lambda f: 0.8 * f}),
}


@pytest.mark.parametrize("case", CASES)
def test_elements_switch_in_a_loop_whose_constraints_repeat_each_other(case):
    add, options = CASES[case]
    graph, at = tied()
    add(graph, at)
    run = compile_model(graph, backend="numpy").simulate(0.5, rtol=1e-10, progress=False)
    assert run.ok
    if options is None:
        a, v = one_coordinate(0.2)[0], 0.0
    else:
        a, v = one_coordinate(0.5, **options)
    assert run["a.q"][-1] == pytest.approx(a, abs=1e-8)
    assert run["a.v"][-1] == pytest.approx(v, abs=1e-8)
    assert run["b.q"][-1] == pytest.approx(np.sin(a), abs=1e-8)
    assert run.ledger.relative_residual < 1e-9 and np.abs(run.ledger.injected).max() < 1e-9 * run.ledger.in_play


def test_two_frictions_hold_such_a_loop_in_any_unit():
    places = []
    for unit in (1e-9, 1e9):
        graph, at = tied(unit)
        braked(("a", 1.0 * unit), ("b", 3.0 * unit))(graph, at)
        run = compile_model(graph, backend="numpy").simulate(2.0, samples=0.1, rtol=1e-9, progress=False)
        assert run.ok and abs(run["a.v"][-1]) < 1e-12
        places.append(run["a.q"][-1])
    np.testing.assert_allclose(places, one_coordinate(2.0, (1.0, 3.0))[0], rtol=1e-8)


def driven(graph, at, place, speed):
    slip = J0(f"slip {place}")
    graph.connect(at[place], slip).connect(slip, Sf(f"speed {place}", speed)).connect(slip, Constraint(f"drive {place}"))
    return graph


def test_a_constraint_drives_such_a_loop_and_two_that_contradict_each_other_are_refused():
    graph, at = tied()
    run = compile_model(driven(graph, at, "a", SPEED), backend="numpy").simulate(0.5, samples=0.1, rtol=1e-9, progress=False)
    q = START + SPEED * run.t
    assert run.ok and run["a.q"] == pytest.approx(q, abs=1e-8)
    assert np.abs(run["drive a.effort"]) == pytest.approx(B * SPEED**2 * np.abs(np.cos(q) * np.sin(q)), abs=1e-6)
    graph, at = tied()
    with pytest.raises(ModelError, match="E208"):
        compile_model(driven(driven(graph, at, "a", SPEED), at, "b", 1.0))
