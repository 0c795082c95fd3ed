"""Nonlinear algebraic loops have the same outcome and solution in all units of current, voltage and time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from bondgraph import J0, J1, C, Graph, R, RunEndedWarning, Se
from screws.scalars import exp, less, log, sin, where

SATURATION, THERMAL = 1e-12, 0.02585
"""Saturation current of a diode in the unit of current, and its thermal voltage in the unit of voltage."""

UNITS = [tuple(10.0 ** np.random.default_rng(seed).uniform(-12.0, 12.0, 3)) for seed in range(3)]


def diode(name: str, amperes: float = 1.0, volts: float = 1.0, **inverse: Any) -> Any:
    return R(name, flow=lambda e: amperes * SATURATION * (exp(e / (volts * THERMAL)) - 1.0), **inverse)


def bridge(amperes: float, volts: float, source: Any) -> Graph:
    ohms, line = volts / amperes, J1("line")
    a, b, plus, minus = (J0(name) for name in ("a", "b", "plus", "minus"))
    drive = Se("source", source, signals=["time"]) if callable(source) else Se("source", source * volts)
    graph = Graph("bridge").connect(drive, line).connect(line, R("r", ohms))
    graph.connect(b, line).connect(line, a).connect(minus, R("ground", 1e6 * ohms))
    for k, (tail, head) in enumerate(((a, plus), (b, plus), (minus, a), (minus, b))):
        arm = J1(f"arm {k}")
        graph.connect(tail, arm).connect(arm, diode(f"d{k}", amperes, volts)).connect(arm, head)
    load = J1("load")
    return graph.connect(plus, load).connect(load, R("load r", 100.0 * ohms)).connect(load, minus)


@pytest.mark.parametrize(
    ("amperes", "volts", "source"),
    [(1.0, 1.0, 325.0), (1e-12, 1.0, 0.0), (1.0, 1e9, 10.0), (1e-12, 1e-9, 1.0), (1e12, 1e-3, 1.0), (1e-4, 1.0, 0.0)],
)
def test_a_bridge_has_its_solution_in_all_units(amperes: float, volts: float, source: float) -> None:
    flow = bridge(amperes, volts, source).compile().evaluate()["load.flow"] / amperes

    def off(i: float) -> float:
        return float(101.0 * i + 2.0 * THERMAL * np.log1p(i / SATURATION) - source)

    assert flow == pytest.approx(brentq(off, 0.0, 4.0, xtol=1e-16), rel=1e-5, abs=1e-11)


def test_natural_sizes_follow_the_units() -> None:
    def sizes(amperes: float, volts: float) -> list[float]:
        program = bridge(amperes, volts, 10.0).compile().program
        (loop,) = program.loops
        units = [amperes if "flow" in program.layout.label("x", place) else volts for place in loop.states]
        return [size / unit for size, unit in zip(loop.sizes, units, strict=True)]

    assert sizes(2.0**-40, 1.0) == sizes(1.0, 2.0**30) == sizes(1.0, 1.0)


def rectifier(amperes: float, volts: float, seconds: float) -> Graph:
    ohms, line, node, out = volts / amperes, J1("line"), J0("node"), J1("out")
    source = Se("source", lambda t: volts * sin(t / seconds), signals=["time"])
    graph = Graph("rectifier").connect(source, line).connect(line, R("r", ohms)).connect(line, node)
    graph.connect(node, R("leak", 100.0 * ohms)).connect(node, out).connect(out, diode("d", amperes, volts))
    return graph.connect(out, C("c", capacitance=10.0 * seconds / ohms))


@pytest.mark.parametrize(("amperes", "volts", "seconds"), [*UNITS, (1.0, 1.0, 1e6)])
def test_a_rectifier_runs_alike_in_all_units(amperes: float, volts: float, seconds: float) -> None:
    def run(*units: float) -> tuple[np.ndarray, int]:
        result = rectifier(*units).simulate(10.0 * units[2], samples=units[2], rtol=1e-9, progress=False)
        return np.array([result["c.effort"] / units[1], result["d.flow"] / units[0]]), result.statistics.steps

    (values, steps), (expected, expected_steps) = run(amperes, volts, seconds), run(1.0, 1.0, 1.0)
    np.testing.assert_allclose(values, expected, atol=1e-8)
    assert steps <= 1.1 * expected_steps


def chain(source: Any, **inverse: Any) -> Graph:
    line, node, out = J1("line"), J0("node"), J1("out")
    graph = Graph("chain").connect(Se("source", source, signals=["time"]), line).connect(line, R("r", 1.0))
    graph.connect(line, node).connect(node, R("leak", 100.0)).connect(node, out)
    return graph.connect(out, diode("d", **inverse))


def test_a_diode_given_by_its_effort_fails_and_the_advice_works() -> None:
    """The logarithm of a diode's `effort` is undefined below minus its saturation current, which a run reaches."""

    def source(t: Any) -> Any:
        return 325.0 * sin(3.0 * t)

    with pytest.warns(RunEndedWarning):
        ended = chain(source, effort=lambda f: THERMAL * log(1.0 + f / SATURATION)).simulate(2.0, progress=False)
    assert ended.failure is not None and "d" in ended.failure.suspect.split(", ")
    assert "only flow=" in ended.failure.cures[0] and "small storage" in ended.failure.cures[1]
    assert chain(source).simulate(2.0, progress=False).failure is None


def test_a_small_storage_in_the_loop_is_a_cure() -> None:
    """A jump of the source makes Newton's method overflow; with a capacitor the voltage rises continuously."""

    def jump(t: Any) -> Any:
        return where(less(t, 0.5), 0.0, 325.0)

    with pytest.warns(RunEndedWarning):
        ended = bridge(1.0, 1.0, jump).simulate(1.0, progress=False)
    assert ended.failure is not None and "a small storage (C or I) in the loop" in ended.failure.cures
    smoothed, smooth = bridge(1.0, 1.0, jump), J1("smooth")
    smoothed.connect(smoothed["plus"], smooth).connect(smooth, C("c", capacitance=1e-6)).connect(smooth, smoothed["minus"])
    assert smoothed.simulate(1.0, progress=False)["load.flow"][-1] == pytest.approx(3.20308, rel=1e-5)
