"""Ideal elements run next to nonlinear relations, with no state between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from bondgraph import J0, J1, C, Diode, Friction, Graph, I, R, Se, Sf, compile_model, simulate
from bondgraph.export import document
from screws.scalars import absolute, exp, sin, sqrt

PEAK, OMEGA = 10.0, 2 * np.pi
SATURATION, THERMAL = 1e-12, 0.026
LOAD = 10.0


def drive(unit: float = 1.0) -> Any:
    return Se("u", lambda t: unit * PEAK * sin(OMEGA * t), signals=["time"])


def exponential(name: str = "x", unit: float = 1.0) -> Any:
    return R(name, flow=lambda e: unit * SATURATION * (exp(e / (unit * THERMAL)) - 1.0))


def orifice(name: str = "x", unit: float = 1.0) -> Any:
    return R(name, flow=lambda e: unit * 0.1 * e / unit / sqrt(absolute(e / unit) + 0.01))


def cubic(name: str = "x", unit: float = 1.0) -> Any:
    return R(name, effort=lambda f: unit * (5.0 * f / unit + (f / unit) ** 3))


DROPS: dict[str, tuple[Callable[..., Any], Callable[[float], float]]] = {
    "exponential": (exponential, lambda f: THERMAL * float(np.log1p(f / SATURATION))),
    "orifice": (orifice, lambda f: float(brentq(lambda e: 0.1 * e / np.sqrt(abs(e) + 0.01) - f, 0.0, 1e9, xtol=1e-15))),
    "cubic": (cubic, lambda f: 5.0 * f + f**3),
}
"""Resistors, each with the effort (V) at a non-negative flow (A)."""


def rectified(drop: Callable[[float], float], effort: float, load: float = LOAD) -> float:
    if effort <= 0.0:
        return 0.0
    return float(brentq(lambda f: drop(f) + load * f - effort, 0.0, effort / load, xtol=1e-15))


def series(*parts: Any) -> Graph:
    graph, loop = Graph("series"), J1("loop")
    graph.connect(parts[0], loop)
    for part in parts[1:]:
        graph.connect(loop, part)
    return graph


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-6])
@pytest.mark.parametrize("name", DROPS)
def test_a_diode_in_series_with_a_nonlinear_resistor_conducts_half_of_the_time(name: str, unit: float) -> None:
    make, drop = DROPS[name]
    result = simulate(series(drive(unit), Diode("d"), make(unit=unit), R("load", LOAD)), 2.0)
    assert result.ok and len(result.events) == 4
    want = [rectified(drop, PEAK * np.sin(OMEGA * t)) for t in result.t]
    assert result["load.flow"] == pytest.approx(unit * np.array(want), abs=1e-9 * unit)
    assert result["d.effort"] == pytest.approx(unit * np.minimum(PEAK * np.sin(OMEGA * result.t), 0.0), abs=1e-8 * unit)


@pytest.mark.parametrize("name", DROPS)
def test_a_bridge_of_ideal_diodes_rectifies_for_a_nonlinear_load(name: str) -> None:
    make, drop = DROPS[name]
    graph = Graph("bridge")
    a, b, plus, minus = (J0(node, domain="electrical") for node in ("a", "b", "plus", "minus"))
    graph.between(a, b, drive())
    for k, (start, stop) in enumerate([(a, plus), (b, plus), (minus, a), (minus, b)]):
        graph.between(start, stop, Diode(f"d{k}"))
    graph.between(plus, minus, make(), R("load", LOAD)).between(minus, None, R("earth", 1e6))
    result = simulate(graph, 1.0)
    assert result.ok
    want = [rectified(drop, abs(PEAK * np.sin(OMEGA * t))) for t in result.t]
    assert result["load.flow"] == pytest.approx(np.array(want), abs=1e-8)


def test_a_diode_parallel_to_a_nonlinear_resistor_conducts_forward() -> None:
    graph, node = Graph("clamp"), J0("node", domain="electrical")
    graph.connect(Sf("i", lambda t: sin(OMEGA * t), signals=["time"]), node)
    graph.between(node, None, Diode("d")).between(node, None, cubic())
    result = simulate(graph, 1.0)
    flow = np.sin(OMEGA * result.t)
    assert result.ok and len(result.events) == 2
    assert result["x.effort"] == pytest.approx(np.where(flow < 0.0, 5.0 * flow + flow**3, 0.0), abs=1e-9)
    assert result["d.flow"] == pytest.approx(np.maximum(flow, 0.0), abs=1e-9)


def test_a_rectifier_with_two_kinds_of_diodes_charges_a_capacitor() -> None:
    result = simulate(series(drive(), Diode("d"), orifice(), C("c", capacitance=0.02)), 2.0)

    def charging(t: float, q: np.ndarray) -> np.ndarray:
        effort = max(PEAK * np.sin(OMEGA * t) - q[0] / 0.02, 0.0)
        return np.array([0.1 * effort / np.sqrt(effort + 0.01)])

    reference = solve_ivp(charging, (0.0, 2.0), [0.0], rtol=1e-10, atol=1e-12, max_step=1e-3, dense_output=True)
    assert result.ok
    assert result["c.q"] == pytest.approx(reference.sol(result.t)[0], abs=1e-6)


def test_dry_friction_in_series_with_a_nonlinear_damper_sticks_and_slips() -> None:
    result = simulate(series(drive(), Friction("f", 2.0), cubic()), 1.0)
    effort = PEAK * np.sin(OMEGA * result.t)
    beyond = np.sign(effort) * np.maximum(np.abs(effort) - 2.0, 0.0)
    assert result.ok and len(result.events) == 4
    assert 5.0 * result["x.flow"] + result["x.flow"] ** 3 == pytest.approx(beyond, abs=1e-8)


def test_two_branches_of_ideal_diodes_share_a_node_with_nonlinear_resistors() -> None:
    graph, node = Graph("branches"), J0("node", domain="electrical")
    graph.between(None, node, drive(), R("s", 10.0)).between(node, None, exponential())
    graph.between(node, None, Diode("d"), R("a", 5.0)).between(node, None, Diode("back"), orifice("y"))
    result = simulate(graph, 1.0)
    assert result.ok

    def balance(e: float, u: float) -> float:
        forward = max(e, 0.0)
        taken = SATURATION * np.expm1(e / THERMAL) + forward / 5.0 + 0.1 * forward / np.sqrt(forward + 0.01)
        return float((u - e) / 10.0 - taken)

    want = [brentq(balance, -11.0, 2.0, args=(u,), xtol=1e-14) for u in PEAK * np.sin(OMEGA * result.t)]
    assert result["x.effort"] == pytest.approx(np.array(want), abs=1e-8)


def test_a_coil_upstream_keeps_its_flow_while_ideal_and_nonlinear_parts_share_it() -> None:
    graph, node = Graph("coil"), J0("node", domain="electrical")
    graph.between(None, node, drive(), I("coil", inductance=0.1)).between(node, None, Diode("d"), R("a", 2.0))
    graph.between(node, None, cubic())
    result = simulate(graph, 1.0)

    def effort(flow: float) -> float:
        return float(brentq(lambda e: max(e, 0.0) / 2.0 + inverse(e) - flow, -1e4, 1e4, xtol=1e-14))

    def inverse(e: float) -> float:
        return float(brentq(lambda f: 5.0 * f + f**3 - e, -1e3, 1e3, xtol=1e-15))

    reference = solve_ivp(
        lambda t, p: [PEAK * np.sin(OMEGA * t) - effort(p[0] / 0.1)], (0.0, 1.0), [0.0], rtol=1e-9, atol=1e-11, dense_output=True
    )
    assert result.ok
    assert result["coil.p"] == pytest.approx(reference.sol(result.t)[0], abs=1e-5)


def test_the_document_writes_ideal_elements_in_loops() -> None:
    compiled = compile_model(series(drive(), Diode("d"), orifice(), Friction("f", 2.0)), progress=False)
    text = str(document(compiled))
    assert all(name in text for name in ("Diode", "friction"))
