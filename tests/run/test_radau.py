"""The coefficients of the Radau IIA method have their orders, and the method solves stiff problems."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from bondgraph import compile_model
from tests.inner.run import quadrature, radau, simulate
from tests.run.problems import program
from tests.run.test_growing_modes import ONSET, column_run, onsets
from tests.run.test_rosenbrock import rod, temperatures

run = functools.partial(simulate, method="radau5", progress=False)

# -- the coefficients


def matrix() -> np.ndarray:
    rows = quadrature.lagrange_integrals(radau.NODES)
    return np.array([[sum(term * node ** (k + 1) for k, term in enumerate(row)) for row in rows] for node in radau.NODES])


def test_newton_iterations_fall_into_a_real_and_a_complex_system():
    forward, back = np.array(radau.T), np.array(radau.INVERSE)
    np.testing.assert_allclose(forward @ back, np.eye(3), atol=1e-14)
    blocks = [[radau.REAL, 0.0, 0.0], [0.0, radau.PAIR, radau.TURN], [0.0, -radau.TURN, radau.PAIR]]
    np.testing.assert_allclose(back @ np.linalg.inv(matrix()) @ forward, blocks, atol=1e-12)


def test_order_of_quadrature_and_damping_of_infinitely_fast_modes():
    nodes, weights, a = np.array(radau.NODES), np.array(radau.RULE.weights)[1:], matrix()
    np.testing.assert_allclose(a[-1], weights, atol=1e-15)
    for degree in range(5):
        assert abs(weights @ nodes**degree - 1.0 / (degree + 1)) < 1e-15
    assert abs(weights @ nodes**5 - 1.0 / 6.0) > 1e-4
    for z in 1j * np.logspace(-2, 8, 100):
        growth = 1.0 + z * weights @ np.linalg.solve(np.eye(3) - z * a, np.ones(3))
        assert abs(growth) < 1.0 + 1e-9 and (abs(z) < 1e7 or abs(growth) < 1e-6)


def test_error_estimates_have_order_3_and_the_dense_output_4():
    """For y' = g, powers and states have the same error estimate, and the correction makes polynomials of degree 4 exact."""
    nodes, error = np.array(radau.NODES), np.array(radau.ERROR)
    for degree in range(5):
        z = matrix() @ nodes**degree
        start = 1.0 if degree == 0 else 0.0
        estimate = (start + error @ z) * radau.REAL_GAMMA
        values = np.array([start, *(nodes**degree)])
        assert np.array(radau.RULE.error) @ values == pytest.approx(estimate, abs=1e-14)
        assert (abs(estimate) < 1e-14) == (degree < 3)
        if degree < 4:
            for theta in (0.1, 0.5, 0.9):
                powers = theta ** np.arange(1, 5)
                inside = np.array(radau.POLYNOMIAL) @ z @ powers[:3] - 10.0 * radau.REAL * estimate * (radau.BEND @ powers)
                assert inside == pytest.approx(theta ** (degree + 1) / (degree + 1), abs=1e-14)


# -- stiff problems


def two_oscillators(fast: float) -> Any:
    return program(lambda t, x, p, m: [x[1], -x[0], x[3], -p[0] * x[2]], (4, 1, 0)), [1.0, 0.0, 1e-14, 0.0], [fast**2]


def test_undamped_fast_modes_far_below_the_tolerance_do_not_bind_its_steps():
    counts = []
    for fast in (2.0, 1e6):
        made, start, p = two_oscillators(fast)
        found = run(made, start, p, [], 20.0, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.x[:, 0], np.cos(found.t), atol=1e-5)
        counts.append(found.statistics.steps)
    assert counts[1] < 1.2 * counts[0] and counts[1] / 11 <= found.statistics.jacobians < 0.2 * counts[1]


def test_a_rod_has_the_same_temperatures_by_every_algebra():
    cells, found = 40, {}
    model = compile_model(rod(cells))
    exact = temperatures(model.simulate(1.0, method="rodas5p", rtol=1e-9, samples=0.1, progress=False), cells)
    for linear in ("dense", "band", "sparse", "auto"):
        result = model.simulate(1.0, method="radau5", rtol=1e-6, samples=0.1, progress=False, linear=linear)
        assert result.ok and abs(result.ledger.relative_residual) < 1e-6
        found[linear] = temperatures(result, cells)
        assert np.abs(found[linear] - exact).max() < 1e-6


# -- powers, events, clocks


def test_a_branch_is_left_when_it_becomes_unstable():
    """Jacobians are at most ten steps old, so a mode that starts to grow is noticed."""
    exact = onsets(*column_run(1e-4, 1e-6, method="dop853", rtol=1e-9))
    late = onsets(*column_run(1e-4, 1e-6, method="radau5", rtol=1e-5))
    np.testing.assert_allclose(late, exact, rtol=0.0, atol=0.05 * (exact[0] - ONSET))
