"""Thermal parts agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from screwbond.models import parts

from bondgraph import J0, Graph, R, Se, Sf, compile_model
from tests.models.parts.checks import checks

t = parts.thermal


def between_bodies(part, hot: float, cold: float, time: float) -> tuple[float, float, float]:
    graph = Graph("g")
    for port, start in (("1", hot), ("2", cold)):
        node = J0(f"node {port}", domain="thermal")
        graph.connect(node, t.heat_capacity(f"body {port}", T0=start)).connect(node, part.port(port))
    run = compile_model(graph, progress=False).simulate(time, rtol=1e-9, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9
    made = run["body 1.q"][-1] + run["body 2.q"][-1]
    return float(run["body 1.effort"][-1]), float(run["body 2.effort"][-1]), float(made)


@checks("thermal.heat_capacity", "thermal.conductance", "thermal.convection")
@pytest.mark.parametrize("make", [lambda: t.conductance("c", 2.0), lambda: t.convection("c", h=4.0, A=0.5)])
def test_two_bodies_level_out(make) -> None:
    """The temperature difference decays at the rate 2 G / c, and each body's entropy changes by c ln(T / T0)."""
    hot, cold, made = between_bodies(make(), 400.0, 300.0, 25.0)
    left = 100.0 * np.exp(-1.0)
    assert (hot, cold) == pytest.approx((350 + left / 2, 350 - left / 2))
    assert made == pytest.approx(100 * np.log(hot / 400) + 100 * np.log(cold / 300)) and made > 0


@checks("thermal.radiation")
def test_radiation() -> None:
    def rate(_, T):
        heat = 5.670374419e-8 * 0.5 * 2.0 * (T[0] ** 4 - T[1] ** 4) / 100.0
        return [-heat, heat]

    solved = solve_ivp(rate, (0, 50), [600.0, 300.0], rtol=1e-10, atol=1e-8).y[:, -1]
    assert between_bodies(t.radiation("r", epsilon=0.5, A=2.0), 600.0, 300.0, 50.0)[:2] == pytest.approx(solved)


@checks("thermal.exchanger")
@pytest.mark.parametrize(
    ("k", "C1", "C2"), [(100.0, 100.0, 200.0), (100.0, 200.0, 100.0), (150.0, 100.0, 100.0), (1e4, 100.0, 200.0)]
)
def test_exchanger(k, C1, C2) -> None:
    ratio, units = min(C1, C2) / max(C1, C2), k / min(C1, C2)
    gone = np.exp(-units * (1 - ratio))
    part = (1 - gone) / (1 - ratio * gone) if ratio < 1 else units / (1 + units)
    graph, hot, cold = Graph("g"), J0("hot", domain="heat"), J0("cold", domain="heat")
    graph.connect(Se("inlet 1", 360.0), hot).connect(Se("inlet 2", 300.0), cold).between(hot, cold, t.exchanger("x", k, C1, C2))
    run = compile_model(graph, progress=False).simulate(1.0, progress=False)
    assert run["x.flow"][-1] == pytest.approx(part * min(C1, C2) * 60.0, rel=1e-9)


@checks("thermal.peltier")
def test_peltier_element_cools() -> None:
    """In steady state alpha i Tc = R i^2 / 2 + K (Th - Tc)."""
    graph, part, cold, hot = Graph("g"), t.peltier("p"), J0("cold", domain="thermal"), J0("hot", domain="thermal")
    graph.connect(Sf("i", 3.0), part.port("current")).connect(part.port("cold"), cold).connect(part.port("hot"), hot)
    graph.connect(Se("sink", 300.0), hot).connect(cold, t.heat_capacity("body", c=10.0, T0=300.0))
    run = compile_model(graph, progress=False).simulate(600.0, progress=False)
    T = (0.5 * 300 + 9 * 2 / 2) / (0.05 * 3 + 0.5)
    assert run["body.effort"][-1] == pytest.approx(T) and run.ledger.relative_residual < 1e-9
    assert run["i.effort"][-1] == pytest.approx(0.05 * (300 - T) + 2 * 3)


@checks("thermal.phase_change")
def test_phase_change_keeps_its_temperature_while_it_melts() -> None:
    """The block takes 20 J to warm by 10 K and 100 J to melt, so at 5 W the plateau lasts from 4 s to 24 s."""
    block = t.phase_change("ice", cs=2.0, cl=4.0, L=100.0)
    graph = Graph("g").connect(Sf("heater", 5.0, domain="heat"), block)
    run = compile_model(graph, progress=False).simulate(40.0, samples=[2.0, 4.0, 14.0, 24.0, 40.0], progress=False)
    assert run["ice.effort"][1:] == pytest.approx([268.15, 273.15, 273.15, 273.15, 293.15])
    assert run["ice.energy"][-1] - run["ice.energy"][0] == pytest.approx(200.0)


def test_a_resistor_warms_a_body() -> None:
    """A heater of 20 W warms a body of 100 J/K by a fifth of a kelvin per second; no heat is counted twice."""
    graph, heater = Graph("kettle"), R("heater", 5.0, heat=True)
    graph.series(Se("u", 10.0), heater)
    graph.connect(heater.port("heat"), t.heat_capacity("water", T0=300.0))
    run = compile_model(graph, progress=False).simulate(100.0, progress=False)
    assert run["water.effort"][-1] == pytest.approx(320.0) and run.ledger.relative_residual < 1e-9
    assert run.ledger.summary()["supplied"] == pytest.approx(2000.0)


@pytest.mark.parametrize("opening", [0.5, -1.0])
def test_valves_warm_the_oil(opening) -> None:
    """At a pressure drop p the heat is K x p^1.5; the orifice has the supply pressure, and each of the two open lands in series
    half of it."""
    graph, oil = Graph("valves"), J0("oil", domain="thermal")
    high, low, loop = (J0(name, domain="hydraulic") for name in ("high", "low", "loop"))
    valve = parts.hydraulic.spool_valve("valve", K=1e-7, opening=opening, heat=True)
    orifice = parts.hydraulic.orifice("orifice", K=1e-7, heat=True)
    graph.connect(Se("supply", 8e6), high).connect(Se("tank", 0.0), low).between(high, low, orifice)
    for port, node in (("P", high), ("A", loop), ("B", loop), ("T", low)):
        graph.connect(*((node, valve.port(port)) if port in "PB" else (valve.port(port), node)))
    for hot in (valve, orifice):
        graph.connect(hot.port("heat"), oil)
    run = graph.connect(oil, t.heat_capacity("body", c=1e3, T0=300.0)).simulate(10.0, progress=False)
    power = 8e6 * 1e-7 * (abs(opening) * np.sqrt(4e6) + np.sqrt(8e6))
    assert run["oil.effort"][-1] - 300.0 == pytest.approx(power * 10.0 / 1e3, rel=1e-5)
    assert not run.warnings and run.ledger.relative_residual < 1e-9
