"""Jumping relations make an algebraic loop nonlinear, and have no time derivative, although their derivatives do not show the
jump."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import Graph, I, ModelError, R, Se, Sf, UnreliableRunWarning, compile_model, signals
from bondgraph.signals import curve
from screws.scalars import floor, interpolate, less, searchsorted, sign, sin, take, where
from tests.inner.tracing import evaluate

LAWS = {
    "sign": (lambda i: 0.6 * sign(i), 0.04),
    "where": (lambda i: where(i > 0.0, 0.6, 0.0), 0.04),
    "floor": (lambda i: floor(24.0 * i) / 2.0, 0.05),
    "comparison": (lambda i: 0.6 * less(0.0, i), 0.04),
    "where of a line": (lambda i: where(i > 0.01, 10.0 * i, 0.0), 0.05),
    "in a step": (lambda i: 0.6 * sign(2.0 * sign(i)), 0.04),
}
"""Voltage as a function of current, A, and the current in series with 10 ohm at 1 V."""

POINTS, VALUES = np.linspace(0.1, 0.9, 12), np.sin(10.0 * np.arange(13.0))
STEPS = {
    "floor": lambda t: floor(4.0 * t),
    "count": lambda t: searchsorted(POINTS, t),
    "entry": lambda t: take(VALUES, 12.0 * t),
    "entry of a count": lambda t: 2.0 - take(VALUES, searchsorted(POINTS, t)),
    "smaller entry": lambda t: where(t > 0.5, take(VALUES, 12.0 * t), 1.0),
    "ramp and entry": lambda t: t + take(VALUES, searchsorted(POINTS, t)),
    "ramp and one entry of many": lambda t: t + take(np.arange(50.0) == 31.0, searchsorted(np.arange(49.0) / 50.0, t)),
    "ramp and step": lambda t: t + 1e-3 * where(t > 1e-6, 1.0, 0.0),
    "one ramp, then another": lambda t: where(t > 0.4, t + 1.0, t),
    "sawtooth": lambda t: t - floor(t),
    "wave and its sign": lambda t: sin(7.0 * t) + less(0.3, sin(7.0 * t)),
}
"""Functions of time that jump."""
CONTINUOUS = {
    "modulus": lambda t: (t - 0.3) * sign(t - 0.3),
    "kink": lambda t: where(t > 0.4, 2.0 * t - 0.4, t),
    "arcs": lambda t: (t - floor(t)) * (1.0 - t + floor(t)),
    "ramp and interpolation": lambda t: t + interpolate(1e6 * t, 1e6 * POINTS, VALUES[1:]),
    "steep ramp": lambda t: interpolate(t, np.array([0.0, 0.5, 0.5 + 1e-6, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])),
}


def circuit(law) -> Graph:
    graph = Graph("loop")
    graph.series(Se("u", 1.0), R("load", 10.0), R("law", effort=law))
    return graph


@pytest.mark.parametrize(("law", "current"), LAWS.values(), ids=LAWS)
def test_the_loop_is_solved(law, current) -> None:
    run = compile_model(circuit(law), progress=False).simulate(0.1, progress=False)
    assert run.ok and run["load.flow"] == pytest.approx(current, rel=1e-9)


def test_an_account_without_storages_is_checked(monkeypatch) -> None:
    monkeypatch.setattr(evaluate, "jumps", lambda *of_a_loop: False)
    compiled = compile_model(circuit(LAWS["sign"][0]), progress=False)
    with pytest.warns(UnreliableRunWarning, match=r"off by 0\.23 of the energy scale"):
        assert not compiled.simulate(1.0, progress=False).ok


def driven(velocity, reads=("time",)) -> Graph:
    graph = Graph("driven")
    graph.series(Sf("drive", velocity, signals=[*reads]), I("m", mass=2.0))
    return graph


@pytest.mark.parametrize("velocity", STEPS.values(), ids=STEPS)
def test_a_mass_does_not_follow_a_step(velocity) -> None:
    with pytest.raises(ModelError, match="E209"):
        compile_model(driven(velocity), progress=False)


@pytest.mark.parametrize("velocity", CONTINUOUS.values(), ids=CONTINUOUS)
def test_a_mass_follows_a_function_with_kinks(velocity) -> None:
    run = compile_model(driven(velocity), progress=False).simulate(0.9, progress=False)
    assert run.ok and run["m.flow"] == pytest.approx([velocity(t) for t in run.t], abs=1e-12)


def test_a_mass_follows_a_short_table() -> None:
    graph = driven(lambda y: y, ["table.y"])
    graph.add(signals.table("table", "time", [0.0, 0.2, 0.5, 1.0], [0.0, 1.0, 0.0, 2.0]))
    assert compile_model(graph, progress=False).simulate(0.9, progress=False).ok


def test_a_mass_follows_an_interpolated_velocity() -> None:
    through = curve(POINTS, VALUES[1:])
    run = compile_model(driven(through), progress=False).simulate(0.64, progress=False)
    slope = (through(0.66) - through(0.62)) / 0.04
    assert run.ok and run["m.effort"][-1] == pytest.approx(2.0 * slope, rel=1e-6)
