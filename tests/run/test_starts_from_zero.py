"""Runs start where everything is zero and states rise as powers of time that no look-ahead detects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondgraph import J0, J1, C, Diode, Graph, R, Se, compile_model
from screws.scalars import sin
from tests.inner.run import Result

CAPACITANCE, LEAK = 1e-2, 50.0


def ladder(sections: int, start: float) -> Graph:
    graph, before = Graph("ladder"), J1("in")
    graph.connect(Se("wave", lambda t: 10.0 * sin(6.0 * t), signals=["time"]), before).connect(before, R("lead", 1.0))
    for k in range(sections):
        node = J0(f"n{k}")
        if k:
            path = J1(f"j{k}")
            graph.connect(before, path).connect(path, Diode(f"d{k}")).connect(path, R(f"r{k}", 1.0))
            before = path
        graph.connect(before, node).connect(node, R(f"leak{k}", LEAK))
        graph.connect(node, C(f"c{k}", capacitance=CAPACITANCE * (1.0 + 0.1 * (k % 3)), initial=start))
        before = node
    return graph


def by_complementarity(sections: int, end: float) -> np.ndarray:
    """Return the final charges, with max(0, v) / r as the current through an ideal diode and its resistor."""
    capacitance = CAPACITANCE * (1.0 + 0.1 * (np.arange(sections) % 3))

    def rates(t: float, q: np.ndarray) -> np.ndarray:
        v = q / capacitance
        into = np.concatenate([[10.0 * np.sin(6.0 * t) - v[0]], np.maximum(v[:-1] - v[1:], 0.0)])
        return into - np.append(into[1:], 0.0) - v / LEAK

    return solve_ivp(rates, (0.0, end), np.zeros(sections), method="LSODA", rtol=1e-10, atol=1e-14).y[:, -1]


@pytest.mark.parametrize("sections", [7, 12, 40])
def test_a_ladder_of_diodes_starts_from_zero(sections: int) -> None:
    """The k-th voltage grows as t^(k + 2), and rounding of the dense output must not make a diode open repeatedly."""
    result = compile_model(ladder(sections, 0.0)).simulate(1.0, rtol=1e-9)
    assert result.ok, result.failure
    charges = np.array([result[f"c{k}.q"][-1] for k in range(sections)])
    expected = by_complementarity(sections, 1.0)
    assert charges == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())
    assert result.ledger.relative_residual < 1e-9
    nearly = compile_model(ladder(sections, 1e-9)).simulate(1.0, rtol=1e-9)
    assert charges == pytest.approx(np.array([nearly[f"c{k}.q"][-1] for k in range(sections)]), abs=1e-8)


def spreading(stores: int, method: str) -> Result:
    graph, before = Graph("spreading"), None
    for k in range(stores):
        node = J0(f"n{k}")
        graph.connect(node, C(f"c{k}", capacitance=1.0, initial=0.0 if k else 1.0))
        if before is not None:
            path = J1(f"j{k}")
            graph.connect(before, path).connect(path, R(f"r{k}", conductance=3e-36)).connect(path, node)
        before = node
    return compile_model(graph).simulate(1.0, method=method)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
def test_subnormal_values_cost_no_steps(method: str) -> None:
    """The squared ratio of the error to the size of a subnormal state must not overflow, which would shorten the steps or end the
    run."""
    near, far = (spreading(stores, method) for stores in (3, 10))
    assert near.ok
    assert far.ok
    assert far.statistics.steps == near.statistics.steps
    assert far["c2.q"][-1] == pytest.approx(4.5e-72, rel=1e-6)
