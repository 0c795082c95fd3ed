"""The Rosenbrock method satisfies its order conditions, has the expected observed orders, and solves stiff problems."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, R, Se, compile_model
from screws import scalars as s
from tests.inner.run import coefficients, quadrature, simulate
from tests.run.order_conditions import most_missed
from tests.run.problems import ball, program, robertson, top
from tests.run.reference_solvers import by_scipy

run = functools.partial(simulate, method="rodas5p", progress=False)

# -- the coefficients


def in_products() -> dict[str, np.ndarray]:
    """Return coefficients of k_i = h f(y + sum alpha_ij k_j) + h J sum gamma_ij k_j, with beta = alpha + gamma."""
    count = coefficients.STAGES
    a, c = np.zeros((count, count)), np.zeros((count, count))
    rows = [*coefficients.A, (*coefficients.A[-1], 1.0), (*coefficients.A[-1], 1.0, 1.0)]
    for i, (row, lower) in enumerate(zip(rows, coefficients.C, strict=True)):
        a[i, : len(row)], c[i, : len(lower)] = row, lower
    gamma = np.linalg.inv(np.eye(count) / coefficients.GAMMA - c)
    ends = np.array([*coefficients.A[-1], 1.0, 1.0, 1.0])
    alpha = a @ gamma
    found = {"alpha": alpha, "gamma": gamma, "beta": alpha + gamma, "b": ends @ gamma, "H": np.array(coefficients.H) @ gamma}
    return found | {"embedded": np.array([*ends[:-1], 0.0]) @ gamma}


def misses(b: np.ndarray, order: int, theta: float = 1.0) -> float:
    """Return the largest residual of the order conditions (Hairer and Wanner, IV.7)."""
    method = in_products()
    return most_missed(b, method["beta"], method["alpha"], order, theta)


def test_order_conditions():
    method = in_products()
    assert max(misses(method["b"], order) for order in range(1, 6)) < 1e-13 < misses(method["b"], 6)
    assert max(misses(method["embedded"], order) for order in range(1, 5)) < 1e-13 < misses(method["embedded"], 5)


@pytest.mark.parametrize("theta", [0.1, 0.5, 0.9])
def test_order_conditions_of_the_dense_output(theta):
    method, h = in_products(), in_products()["H"]
    b = theta * (method["b"] + (1.0 - theta) * (h[0] + theta * (h[1] + theta * h[2])))
    assert max(misses(b, order, theta) for order in range(1, 5)) < 1e-13


def test_times_of_the_stages_are_sums():
    method = in_products()
    np.testing.assert_allclose(method["alpha"].sum(axis=1), coefficients.ALPHA, atol=1e-13)
    np.testing.assert_allclose(method["gamma"].sum(axis=1), coefficients.SLOPES, atol=1e-13)


def test_stiff_accuracy_and_damping_of_infinitely_fast_modes():
    """b is the last row of beta, so R(infinity) = 1 - b beta^-1 1 = 0, as for the embedded method; |R(iw)| <= 1."""
    method = in_products()
    one, beta = np.ones(coefficients.STAGES), method["beta"]
    np.testing.assert_allclose(method["b"], beta[-1], atol=1e-14)
    assert abs(1.0 - method["b"] @ np.linalg.solve(beta, one)) < 1e-12
    assert abs(1.0 - method["embedded"] @ np.linalg.solve(beta, one)) < 1e-12
    for z in 1j * np.logspace(-2, 6, 400):
        growth = 1.0 + z * method["b"] @ np.linalg.solve(np.eye(len(one)) - z * beta, one)
        assert abs(growth) < 1.0 + 1e-10


def test_rule_of_the_powers():
    """The rule is exact for polynomials of degree 7, and its integrals over part of a step for polynomials of degree 4."""
    rule = quadrature.LOBATTO
    nodes, weights = np.array(rule.nodes), np.array(rule.weights)
    for degree in range(8):
        assert abs(weights @ nodes**degree - 1.0 / (degree + 1)) < 1e-15
    assert abs(weights @ nodes**8 - 1.0 / 9.0) > 1e-6
    for degree in range(4):
        assert abs(np.array(rule.error) @ nodes**degree) < 1e-15
    assert abs(np.array(rule.error) @ nodes**4) > 1e-3
    for theta in (0.3, 1.0):
        inside = [
            sum(term * theta ** (k + 1) for k, term in enumerate(terms))
            for terms in quadrature.lagrange_integrals(quadrature.LOBATTO.nodes)
        ]
        for degree in range(5):
            assert abs(inside @ nodes**degree - theta ** (degree + 1) / (degree + 1)) < 1e-14


# -- stiff problems


@pytest.mark.parametrize("scales", [[2.0**40, 2.0**-10, 2.0**3], [2.0**-60, 2.0**60, 1.0]])
def test_units_do_not_matter(scales):
    """The formula of the Jacobian changes with the units, so results differ by its rounding error."""
    plain = run(robertson(), [1.0, 0.0, 0.0], [], [], 4e5, rtol=1e-6)
    other = run(robertson(scales=scales), [scales[0], 0.0, 0.0], [], [], 4e5, rtol=1e-6)
    np.testing.assert_allclose(other.x / scales, plain.x, rtol=1e-9, atol=1e-30)
    assert other.statistics.steps == plain.statistics.steps


def rod(cells: int, order: np.ndarray | None = None, unit: float = 1.0) -> Graph:
    graph = Graph("rod")
    nodes = [J0(f"n{i}") for i in range(cells)]
    for i in np.arange(cells) if order is None else order:
        graph.connect(nodes[i], C(f"c{i}", capacitance=unit / cells))
    before: Any = Se("hot", lambda t: 1.0 + 0.5 * s.sin(3.0 * t), signals=["time"])
    for i, node in enumerate(nodes):
        flow = J1(f"q{i}")
        graph.connect(before, flow).connect(flow, R(f"r{i}", 1.0 / cells / unit)).connect(flow, node)
        before = node
    return graph


def temperatures(result: Any, cells: int) -> np.ndarray:
    return np.stack([result[f"c{i}.effort"] for i in range(cells)])


def test_a_rod_is_a_band_in_whatever_order_it_is_written():
    cells = 40
    shuffled = np.random.default_rng(0).permutation(cells)
    model = compile_model(rod(cells))
    times = np.linspace(0.0, 1.0, 11)
    ode = model.ode(sparse=True)
    places = [ode.states.index(f"c{i}.q") for i in range(cells)]
    plain = cells * by_scipy(ode, times, "Radau", rtol=1e-10, atol=1e-14)[:, places].T
    found, settings = {}, {"method": "rodas5p", "rtol": 1e-7, "samples": times, "progress": False}
    for linear in ("dense", "band", "sparse", "auto"):
        for order in (None, shuffled):
            result = compile_model(rod(cells, order)).simulate(1.0, linear=linear, **settings)
            assert result.ok and abs(result.ledger.relative_residual) < 1e-7
            found[linear, order is None] = temperatures(result, cells)
    for values in found.values():
        assert np.abs(values - plain).max() < 1e-7


def test_values_far_from_the_source_are_zero_not_subnormal():
    """Explicit steps leave subnormal numbers, which are slow to compute with, ahead of the front."""
    compiled, smallest = compile_model(rod(500)), np.finfo(float).tiny
    start = compiled.simulate(4e-6, method="dop853", rtol=1e-6, samples=[4e-6], progress=False).x[-1]
    assert np.any((start != 0.0) & (np.abs(start) < smallest))
    x, _ = compiled.initial()
    states = dict(zip(compiled.ode().states, start, strict=True))
    result = compiled.simulate(4e-5, initial=states, method="rodas5p", rtol=1e-6, samples=[4e-5], progress=False)
    found = np.abs(result.x[-1])
    assert result.ok and len(x) == 500 and not np.any((found > 0.0) & (found < smallest)) and np.any(found == 0.0)


def test_units_of_a_rod_do_not_matter():
    plain, tiny = (compile_model(rod(20, unit=unit)).simulate(1.0, method="rodas5p", progress=False) for unit in (1.0, 1e-12))
    assert abs(plain.statistics.steps - tiny.statistics.steps) <= 2
    np.testing.assert_allclose(temperatures(tiny, 20), temperatures(plain, 20), atol=1e-9)


def test_free_top_keeps_energy_and_momentum():
    inertia = np.array([1.0, 2.0, 3.0])
    found = run(top(), [0.1, 100.0, 0.1, 1, 0, 0, 0], inertia, [], 0.5, rtol=1e-7)
    momentum = np.linalg.norm(found.x[:, :3] * inertia, axis=1)
    assert found.ledger.relative_residual < 1e-7 and np.max(np.abs(momentum / momentum[0] - 1.0)) < 1e-7


# -- events, clocks, many runs


def test_bounces_have_the_times_of_free_fall():
    """After a rebound at speed v_k, the next impact follows after 2 v_k / g."""
    found = run(ball(), [1.0, 0.0], [9.81, 0.8], [0.0], 3.0, rtol=1e-9)
    first = np.sqrt(2.0 / 9.81)
    times = first + np.concatenate([[0.0], np.cumsum(2.0 * first * 0.8 ** np.arange(1, len(found.events)))])
    np.testing.assert_allclose(found.events.times, times, rtol=1e-9)
    assert len(found.events) >= 5 and found.statistics.events_in_python == 0


def rectifier() -> Graph:
    from bondgraph import Diode

    graph, line, node = Graph("rectifier"), J1("line"), J0("node")
    graph.connect(Se("mains", lambda t: 10.0 * s.sin(314.0 * t), signals=["time"]), line).connect(line, I("l", inductance=1e-6))
    graph.connect(line, R("r", 1.0)).connect(line, Diode("d")).connect(line, node)
    return graph.connect(node, C("c", capacitance=1e-3)).connect(node, R("load", 100.0))


def test_diode_that_switches_in_a_stiff_circuit():
    compiled = compile_model(rectifier())
    ours, theirs = (compiled.simulate(0.05, method=method, rtol=1e-7, progress=False) for method in ("rodas5p", "dop853"))
    # When a diode begins to conduct, rounding may let it open and close once more at the same instant.
    times = [np.unique(np.round(run.events.times, 7)) for run in (ours, theirs)]
    assert ours.ok and len(times[0]) == 6
    np.testing.assert_allclose(times[0], times[1], atol=2e-7)
    np.testing.assert_allclose(ours["c.effort"], theirs["c.effort"], atol=1e-5)
    assert ours.statistics.steps < 0.2 * theirs.statistics.steps and ours.statistics.events_in_python == 0


@pytest.mark.filterwarnings("ignore")
def test_nonfinite_values_end_a_run_with_a_reason():
    found = run(program(lambda t, x, p, m: [x[0] * x[0]], (1, 0, 0)), [1.0], [], [], 2.0)
    assert found.failure is not None and found.failure.kind in ("not finite", "step too small")
    assert found.failure.time == pytest.approx(1.0, abs=1e-6)
