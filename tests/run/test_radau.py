"""The coefficients of the Radau IIA method have their orders, and the method solves stiff problems."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

from bondgraph import compile_model
from bondgraph.errors import RunError
from bondgraph.methods import METHODS
from screws import scalars as s
from tests.inner.run import prepare, quadrature, radau, simulate
from tests.run.problems import bumper, decay, oscillator, program
from tests.run.test_growing_modes import ONSET, column_run, onsets
from tests.run.test_rosenbrock import driven, robertson, rod, temperatures, vanderpol

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


# -- observed orders


def test_observed_orders_of_a_nonlinear_problem_that_depends_on_time():
    """The order is 5 at the ends of steps, 4 within steps, and 5 for integrals."""
    start, samples = [0.5, 1.0], np.linspace(0.0, 2.0, 1001)
    exact = simulate(driven(), start, [], [], 2.0, rtol=1e-12, samples=samples, method="dop853", progress=False)
    errors = []
    for h in (0.05, 0.025, 0.0125):
        found = run(driven(), start, [], [], 2.0, rtol=1e-1, atol=1e6, max_step=h, samples=samples)
        assert found.statistics.rejected == 0
        at_end, inside = np.abs(found.x - exact.x)[-1].max(), np.abs(found.x - exact.x).max()
        errors.append([at_end, inside, np.abs(found.integrals - exact.integrals)[-1].max()])
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(orders[:, 0] > 4.6) and np.all(orders[:, 2] > 4.3)
    assert np.all(orders[:, 1] > 3.8)


# -- stiff problems


def test_van_der_pol_and_robertson_against_published_values():
    """The values are from Mazzia and Magherini, Test Set for IVP Solvers (VDPOL, ROBER)."""
    found = run(vanderpol(), [2.0, 0.0], [1e6, 1e6], [], 2.0, rtol=1e-9, samples=[2.0])
    np.testing.assert_allclose(found.x[-1], [0.1706167732170483e1, -0.8928097010247975], rtol=1e-7)
    found = run(robertson(), [1.0, 0.0, 0.0], [], [], 1e11, rtol=1e-8, samples=[1e11])
    np.testing.assert_allclose(found.x[-1], [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050], rtol=1e-6)


def test_prothero_and_robinson():
    """For x' = -L (x - cos t) - sin t, error and number of steps do not grow with L."""
    made = program(lambda t, x, p, m: [-p[0] * (x[0] - s.cos(t)) - s.sin(t)], (1, 1, 0))
    for fast in (1e2, 1e5, 1e9):
        found = run(made, [1.0], [fast], [], 10.0, rtol=1e-7)
        assert np.abs(found.x[:, 0] - np.cos(found.t)).max() < 1e-7 and found.statistics.steps < 900


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


@pytest.mark.parametrize("damping", [0.0, 1.0, 1e6])
def test_account_of_energy(damping):
    found = run(oscillator(), [1.0, 0.0], [100.0, damping], [], 5.0, rtol=1e-7)
    assert found.ok and found.ledger.relative_residual < 1e-7
    assert found.integrals[-1, 0] == pytest.approx(50.0 - found.ledger.stored[-1], rel=1e-6) if damping else True


def test_stiff_contact_opens_and_closes():
    given = ([-1.0, 1.0], [1e6, 100.0], [0.0], 3.0)
    ours, theirs = (simulate(bumper(), *given, method=method, rtol=1e-9, progress=False) for method in ("radau5", "dop853"))
    assert [event.kind for event in ours.events] == ["contact on", "contact off"]
    np.testing.assert_allclose(ours.events.times, theirs.events.times, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(ours.x[-1], theirs.x[-1], rtol=1e-7)


def test_a_state_follows_a_value_that_ticks_change():
    """Between ticks, x' = -1000 (x - u) has the solution u + (x0 - u) exp(-1000 t), with x = x0 and t = 0 at the last tick."""
    made = program(
        lambda t, x, p, m: [-1000.0 * (x[0] - x[1]), 0.0], (2, 0, 0), ticks=[(0.1, 0.0, lambda t, x, p, m: [x[0], x[1] + 1.0])]
    )
    found = run(made, [0.0, 0.0], [], [], 0.35, rtol=1e-8, samples=[0.05, 0.0999, 0.15, 0.3499])
    np.testing.assert_allclose(found.x[1:], [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [4.0, 4.0]], atol=1e-8)
    assert found.statistics.ticks == 4


def test_a_branch_is_left_when_it_becomes_unstable():
    """Jacobians are at most ten steps old, so a mode that starts to grow is noticed."""
    exact = onsets(*column_run(1e-4, 1e-6, method="dop853", rtol=1e-9))
    late = onsets(*column_run(1e-4, 1e-6, method="radau5", rtol=1e-5))
    np.testing.assert_allclose(late, exact, rtol=0.0, atol=0.05 * (exact[0] - ONSET))


@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_a_root_that_begins_at_zero_has_no_slope_there(rtol):
    """The solution of x' = 1 - sqrt x from 0 is t = -2 (sqrt x + ln(1 - sqrt x))."""
    found = run(program(lambda t, x, p, m: [1.0 - s.sqrt(x[0])], (1, 0, 0)), [0.0], [], [], 2.0, rtol=rtol, samples=0.1)
    roots = np.sqrt(found.x[:, 0])
    assert found.ok and np.abs(-2.0 * (roots + np.log1p(-roots)) - found.t).max() < 10.0 * rtol


def test_many_runs_in_machine_code_are_those_of_single_ones():
    made, stiff = vanderpol(), np.array([[mu, 1.0] for mu in (10.0, 1000.0)])
    prepared = prepare(made, 20.0, method="radau5", progress=False, samples=1.0)
    ends = prepared.run_many(stiff, [2.0, 0.0], [], threads=2)
    assert prepared.in_machine_code and ends.ok.all()
    for row, x, steps in zip(stiff, ends.x, ends.steps, strict=True):
        single = run(made, [2.0, 0.0], row, [], 20.0, samples=1.0)
        assert np.array_equal(single.x[-1], x) and single.statistics.steps == steps


def test_unsupported_settings_of_radau_are_refused():
    assert METHODS["radau5"].needs_jacobian and not METHODS["radau5"].load().runs_in_lanes
    with pytest.raises(RunError, match="E304"):
        run(dataclasses.replace(decay(), differentiate=None), [1.0], [1.0], [], 1.0)
