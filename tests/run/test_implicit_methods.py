"""Both implicit methods have their observed orders, solve stiff problems, and treat events and ticks alike."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bondgraph.errors import RunError
from bondgraph.methods import METHODS
from screws import scalars as s
from tests.inner.run import prepare, simulate
from tests.run.problems import bumper, decay, oscillator, program, robertson, vanderpol

Run = Callable[..., Any]


@pytest.fixture(params=["radau5", "rodas5p"])
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(method: str) -> Run:
    return functools.partial(simulate, method=method, progress=False)


def test_observed_orders_of_a_nonlinear_problem_that_depends_on_time(run: Run, method: str) -> None:
    """The order is 5 at the ends of steps, 4 within steps, and 5 for integrals."""
    driven = program(
        lambda t, x, p, m: [x[1], -s.sin(x[0]) - 0.2 * x[1] ** 3 + s.sin(2.0 * t)],
        (2, 0, 0),
        powers=lambda t, x, p, m: [x[1] * s.sin(2.0 * t), 0.2 * x[1] ** 4],
        energies=lambda t, x, p, m: [0.5 * x[1] * x[1], 1.0 - s.cos(x[0])],
        roles=["supplied", "dissipated"],
    )
    start, samples = [0.5, 1.0], np.linspace(0.0, 2.0, 1001)
    exact = simulate(driven, start, [], [], 2.0, rtol=1e-12, samples=samples, method="dop853", progress=False)
    errors = []
    for h in (0.05, 0.025, 0.0125) if method == "radau5" else (0.1, 0.05, 0.025):
        found = run(driven, start, [], [], 2.0, rtol=1e-1, atol=1e6, max_step=h, samples=samples)
        assert found.statistics.rejected == 0
        at_end, inside = np.abs(found.x - exact.x)[-1].max(), np.abs(found.x - exact.x).max()
        errors.append([at_end, inside, np.abs(found.integrals - exact.integrals)[-1].max()])
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    # The first steps are shorter; halving the remaining steps does not divide the error exactly.
    assert np.all(orders[:, 0] > 4.6) and np.all(orders[:, 2] > (4.3 if method == "radau5" else 4.6))
    assert np.all(orders[:, 1] > 3.8)


# -- stiff problems


def test_van_der_pol_against_published_values(run: Run) -> None:
    """The value of eps x'' = (1 - x^2) x' - x at t = 2 for eps = 1e-6 is from Mazzia and Magherini, Test Set for IVP Solvers
    (VDPOL)."""
    found = run(vanderpol(), [2.0, 0.0], [1e6, 1e6], [], 2.0, rtol=1e-9, samples=[2.0])
    np.testing.assert_allclose(found.x[-1], [0.1706167732170483e1, -0.8928097010247975], rtol=1e-7)
    assert found.statistics.steps < 6000 and found.statistics.jacobians <= found.statistics.steps + 1


def test_robertson_against_published_values(run: Run) -> None:
    """The values at 1e11 s are from Mazzia and Magherini, Test Set for IVP Solvers (ROBER)."""
    found = run(robertson(), [1.0, 0.0, 0.0], [], [], 1e11, rtol=1e-9, samples=[0.4, 40.0, 4e3, 4e5, 1e11])
    published = [
        [9.8517e-01, 3.3864e-05, 1.4794e-02],
        [7.1582e-01, 9.1851e-06, 2.8417e-01],
        [1.8320e-01, 8.9423e-07, 8.1680e-01],
        [4.9387e-03, 1.9850e-08, 9.9506e-01],
    ]
    np.testing.assert_allclose(found.x[1:5], published, rtol=1e-4)
    np.testing.assert_allclose(found.x[5], [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050], rtol=1e-6)
    np.testing.assert_allclose(found.x.sum(axis=1), 1.0, atol=1e-12)


def test_prothero_and_robinson(run: Run, method: str) -> None:
    """For x' = -L (x - cos t) - sin t, error and number of steps do not grow with L."""
    made = program(lambda t, x, p, m: [-p[0] * (x[0] - s.cos(t)) - s.sin(t)], (1, 1, 0))
    for fast in (1e2, 1e5, 1e9):
        found = run(made, [1.0], [fast], [], 10.0, rtol=1e-7)
        assert np.abs(found.x[:, 0] - np.cos(found.t)).max() < 1e-7
        assert found.statistics.steps < (900 if method == "radau5" else 500)


# -- powers, events, clocks, many runs


@pytest.mark.parametrize("damping", [0.0, 1.0, 1e3, 1e6])
def test_account_of_energy(run: Run, damping: float) -> None:
    found = run(oscillator(), [1.0, 0.0], [100.0, damping], [], 5.0, rtol=1e-7)
    assert found.ok and found.ledger.relative_residual < 1e-7
    assert found.integrals[-1, 0] == pytest.approx(50.0 - found.ledger.stored[-1], rel=1e-6) if damping else True


def test_stiff_contact_opens_and_closes(method: str) -> None:
    given = ([-1.0, 1.0], [1e6, 100.0], [0.0], 3.0)
    ours, theirs = (simulate(bumper(), *given, method=each, rtol=1e-9, progress=False) for each in (method, "dop853"))
    assert [event.kind for event in ours.events] == ["contact on", "contact off"]
    np.testing.assert_allclose(ours.events.times, theirs.events.times, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(ours.x[-1], theirs.x[-1], rtol=1e-7)
    assert ours.ledger.relative_residual < 1e-8


def test_a_state_follows_a_value_that_ticks_change(run: Run) -> None:
    """Between ticks, x' = -1000 (x - u) has the solution u + (x0 - u) exp(-1000 t), with x = x0 and t = 0 at the last tick."""
    made = program(
        lambda t, x, p, m: [-1000.0 * (x[0] - x[1]), 0.0], (2, 0, 0), ticks=[(0.1, 0.0, lambda t, x, p, m: [x[0], x[1] + 1.0])]
    )
    found = run(made, [0.0, 0.0], [], [], 0.35, rtol=1e-8, samples=[0.05, 0.0999, 0.15, 0.3499])
    np.testing.assert_allclose(found.x[1:], [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [4.0, 4.0]], atol=1e-8)
    assert found.statistics.ticks == 4


@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_a_root_that_begins_at_zero_has_no_slope_there(run: Run, rtol: float) -> None:
    """The solution of x' = 1 - sqrt x from 0 is t = -2 (sqrt x + ln(1 - sqrt x))."""
    found = run(program(lambda t, x, p, m: [1.0 - s.sqrt(x[0])], (1, 0, 0)), [0.0], [], [], 2.0, rtol=rtol, samples=0.1)
    roots = np.sqrt(found.x[:, 0])
    assert found.ok and np.abs(-2.0 * (roots + np.log1p(-roots)) - found.t).max() < 10.0 * rtol


def test_many_runs_in_machine_code_are_those_of_single_ones(run: Run, method: str) -> None:
    made, stiff = vanderpol(), np.array([[mu, 1.0] for mu in (10.0, 100.0, 1000.0)])
    prepared = prepare(made, 20.0, method=method, progress=False, samples=1.0)
    ends = prepared.run_many(stiff, [2.0, 0.0], [], threads=2)
    assert prepared.in_machine_code and ends.ok.all()
    for row, x, steps in zip(stiff, ends.x, ends.steps, strict=True):
        single = run(made, [2.0, 0.0], row, [], 20.0, samples=1.0)
        assert np.array_equal(single.x[-1], x) and single.statistics.steps == steps
        assert np.array_equal(prepared.run(row, np.array([2.0, 0.0]), np.zeros(0)).x, x)


def test_unsupported_settings_are_refused(run: Run, method: str) -> None:
    assert METHODS[method].needs_jacobian and not METHODS[method].load().runs_in_lanes
    for lacking in (dataclasses.replace(decay(), differentiate=None), decay(with_jacobian=False)):
        with pytest.raises(RunError, match="E304"):
            run(lacking, [1.0], [1.0], [], 1.0)
