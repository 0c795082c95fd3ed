"""Where a wave enters parts at rest, tiny states ahead of the wave cost no steps."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from tests.inner.run import STEP, Program, balance_strong_cycles, fastest_rates, simulate
from tests.run.problems import beam, program
from tests.run.test_error_control import coupled

LINKS = 20
METHODS = ("dop853", "rodas5p")


@functools.cache
def long_beam() -> Program:
    return beam(LINKS)


@pytest.mark.parametrize(("method", "most"), [("dop853", 1600), ("rodas5p", 3500)])
def test_regions_ahead_of_a_wave_cost_few_steps(method, most):
    run = simulate(long_beam(), np.zeros(2 * LINKS), [LINKS**4, 100.0], [], 1.0, method=method, rtol=1e-8)
    assert run.ok and run.statistics.steps <= most


@pytest.mark.parametrize("method", METHODS)
def test_a_state_close_to_the_wave_keeps_its_digits(method):
    settings = {"rtol": 1e-11, "method": "dop853"}, {"rtol": 1e-8, "method": method}
    fine, run = (simulate(long_beam(), np.zeros(2 * LINKS), [LINKS**4, 100.0], [], 0.1, **each) for each in settings)
    reached = np.abs(fine.x[-1]) > 1e-6 * np.abs(fine.x[-1]).max()
    assert reached.sum() > LINKS
    assert np.abs(run.x[-1] / fine.x[-1] - 1.0)[reached].max() < 1e-5


def test_tiny_states_that_matter_keep_their_digits():
    """A slow state exp(-t) drives a fast state, about 1e-12 times as large, which drives z' = 1e12 y."""
    made = program(lambda t, x, p, m: [-x[0], 1e-8 * x[0] - 1e4 * x[1], 1e12 * x[1]], (3, 0, 0))
    run = simulate(made, [1.0, 0.0, 0.0], [], [], 2.0, method="rodas5p", rtol=1e-8)
    fast = 1e-8 / (1e4 - 1.0) * (np.exp(-run.t) - np.exp(-1e4 * run.t))
    assert np.abs(run.x[1:, 1] / fast[1:] - 1.0).max() < 1e-7
    assert abs(run.x[-1, 2] / (1.0 - np.exp(-2.0)) - 1.0) < 2e-4


def line(n: int, rate: float, weak: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    units = 2.0 ** random.integers(-30, 31, n)
    beside = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    matrix = np.where(beside == 1, rate, np.where(beside > 1, weak * 10.0 ** random.uniform(-40.0, 0.0, (n, n)), 0.0))
    return matrix * units[:, None] / units, units


@pytest.mark.parametrize("weak", [1e-20, 1e-55])
def test_weak_couplings_do_not_determine_the_fastest_rates(weak):
    random = np.random.default_rng(3)
    for n in (3, 12, 40):
        rates = fastest_rates(coupled(line(n, 5.0, weak, random)[0]), 1e3)
        assert np.all((rates > 5.0 / STEP) & (rates < 5.0 * 100.0))  # a uniform ramp of scales along the line may remain


def scales_of(matrix, start):
    found = coupled(matrix)
    structure, n = found.structure, len(matrix)
    graph = SimpleNamespace(rows=structure.rows, columns=structure.columns, inner=structure.inner)
    graph.inners, graph.states = len(structure.inner), n
    room = SimpleNamespace(cluster=[0] * n, driver=[0] * n, mark=[0] * n, scale=[0.0] * n, marks=0)
    scales = [float(each) for each in start]
    balance_strong_cycles(graph, room, [float(each) for each in found.values], scales)
    return np.array(scales)


def test_scales_that_balance_strong_cycles_change_with_the_units_to_the_last_bit():
    random = np.random.default_rng(4)
    matrix = line(9, 5.0, 1e-20, random)[0]
    units = 2.0 ** random.integers(-40, 41, 9)
    start = random.uniform(0.1, 10.0, 9)
    there = scales_of(matrix * units[:, None] / units, start * units)
    assert np.array_equal(there, scales_of(matrix, start) * units)


def strongest_mean(flows):
    """Return the largest geometric mean of the couplings along a cycle, by Karp's maximum mean cycle theorem."""
    n, logs = len(flows), np.full(flows.shape, -np.inf)
    np.log(flows, out=logs, where=flows > 0.0)
    walks = [np.zeros(n)]
    for _ in range(n):
        walks.append((logs + walks[-1]).max(axis=1))
    means = [min((walks[n][i] - walks[k][i]) / (n - k) for k in range(n)) for i in range(n) if walks[n][i] > -np.inf]
    return np.exp(max(means))


def test_no_coupling_is_much_faster_than_the_strongest_cycle_through_all_states():
    random = np.random.default_rng(5)
    for _ in range(20):
        n = int(random.integers(2, 9))
        matrix = 10.0 ** random.uniform(-25.0, 25.0, (n, n)) * (random.random((n, n)) < 0.7)
        matrix[np.arange(n), np.arange(n) - 1] = 10.0 ** random.uniform(-25.0, 25.0, n)
        np.fill_diagonal(matrix, 0.0)
        scales = scales_of(matrix, np.ones(n))
        flows = matrix * scales / scales[:, None]
        strongest = strongest_mean(matrix)
        assert strongest / STEP < flows.max() < strongest * STEP
