"""The explicit method of order 5 serves short segments between ticks and events."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from benchmarks.events import boost
from bondgraph import compile_model
from tests.inner.run import TABLEAU, simulate
from tests.run.order_conditions import most_missed, trees
from tests.run.problems import ball, oscillator, program

run = functools.partial(simulate, method="dopri5", progress=False)


def full(row):
    return np.array([row.get(stage, 0.0) for stage in range(len(TABLEAU.a))])


A, B, E, D = np.array([full(row) for row in TABLEAU.a]), full(TABLEAU.a[-1]), full(TABLEAU.errors[0]), full(TABLEAU.dense[0])


def misses(b, order, theta=1.0):
    return most_missed(b, A, A, order, theta)


def test_trees_are_all_there():
    assert [len(list(trees(order))) for order in range(1, 7)] == [1, 1, 2, 4, 9, 20]


def test_order_conditions():
    assert max(misses(B, order) for order in range(1, 6)) < 1e-14 < misses(B, 6)
    assert max(misses(B - E, order) for order in range(1, 5)) < 1e-14 < misses(B - E, 5)
    np.testing.assert_allclose(A.sum(axis=1), TABLEAU.c, atol=1e-14)


@pytest.mark.parametrize("theta", [0.1, 0.5, 0.9])
def test_order_conditions_of_the_dense_output(theta):
    start, end, rest = np.eye(7)[0], np.eye(7)[6], 1.0 - theta
    b = theta * (B + rest * (start - B + theta * (2.0 * B - start - end + rest * D)))
    assert max(misses(b, order, theta) for order in range(1, 5)) < 1e-14


def test_observed_order():
    """For x' = -2 t x^2, halving the step divides errors by 32 at the ends of steps and by 16 within steps."""
    made, samples = program(lambda t, x, p, m: [-2.0 * t * x[0] * x[0]], (1, 0, 0)), np.linspace(0.0, 2.0, 1001)
    errors = []
    for h in (0.1, 0.05, 0.025):
        found = run(made, [1.0], [], [], 2.0, rtol=1e-1, atol=1e6, max_step=h, samples=samples)
        off = np.abs(found.x[:, 0] - 1.0 / (1.0 + samples**2))
        errors.append([off[-1], off.max()])
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(orders[:, 0] > 4.5) and np.all(orders[:, 1] > 3.8)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_account_of_energy(damping):
    found = run(oscillator(), [1.0, 0.0], [1.0, damping], [], 50.0, rtol=1e-7)
    assert found.ok and found.ledger.relative_residual < 1e-7


def test_bounces_have_the_times_of_free_fall():
    found = run(ball(), [1.0, 0.0], [9.81, 0.8], [0.0], 3.0, rtol=1e-9)
    first = np.sqrt(2.0 / 9.81)
    times = first + np.concatenate([[0.0], np.cumsum(2.0 * first * 0.8 ** np.arange(1, len(found.events)))])
    np.testing.assert_allclose(found.events.times, times, rtol=1e-9)


def test_a_converter_takes_fewer_evaluations_than_by_dop853():
    compiled = compile_model(boost())
    ours, theirs = (compiled.simulate(2e-3, method=method, progress=False) for method in ("dopri5", "dop853"))
    assert len(ours.events) == len(theirs.events) == 199 and ours.statistics.events_in_python == 0
    np.testing.assert_allclose(ours["c.effort"], theirs["c.effort"], rtol=1e-7)
    assert ours.ledger.relative_residual < 1e-7
    assert ours.statistics.rates < 0.7 * theirs.statistics.rates


def test_a_state_follows_a_value_that_ticks_change():
    made = program(lambda t, x, p, m: [x[1] - x[0], 0.0], (2, 0, 0), ticks=[(1e-3, 0.0, lambda t, x, p, m: [x[0], x[1] + 1e-3])])
    ours, theirs = (simulate(made, [0.0, 0.0], [], [], 1.0, method=method, progress=False) for method in ("dopri5", "dop853"))
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-10, atol=1e-15)
    assert ours.statistics.ticks == theirs.statistics.ticks >= 1000
    assert ours.statistics.rates < 0.6 * theirs.statistics.rates
