"""Where rates jump at a state, a run keeps its tolerance and does not mistake the jump for rounding noise."""

import itertools
import warnings

import numpy as np
import pytest

from bondgraph import Block, Graph
from bondgraph.estimation import run_sensitivities
from screws import scalars as s
from tests.inner.run import Bound, ErrorWeights, simulate
from tests.run.problems import program

METHODS = ("dop853", "dopri5", "rodas5p", "radau5")


def staircase():
    """Return x' = 1 + floor(x) / 2 from 0, and its solution, which is linear between integers."""
    levels = np.arange(200.0)
    rates = 1.0 + 0.5 * levels
    times = np.concatenate([[0.0], np.cumsum(1.0 / rates)])
    return lambda t, x, p, m: [1.0 + s.floor(x[0]) * 0.5], [0.0], lambda t: np.interp(t, times, np.arange(201.0))


def clocked_by_a_cosine():
    """Return x'' = -x from 1 and y' = sign(x), and y, a triangle wave."""
    solution = lambda t: np.abs((t - 0.5 * np.pi) % (2.0 * np.pi) - np.pi) - 0.5 * np.pi  # noqa: E731
    return lambda t, x, p, m: [s.sign(x[1]), x[2], -x[1]], [0.0, 1.0, 0.0], solution


def bang_bang():
    """Return x'' = -sign(x) from 1, and x: parabolas of the duration 2 sqrt(2)."""

    def solution(t):
        number = np.round(t / np.sqrt(8.0))
        return (1.0 - (t - np.sqrt(8.0) * number) ** 2 / 2.0) * (-1.0) ** number

    return lambda t, x, p, m: [x[1], -s.sign(x[0])], [1.0, 0.0], solution


def spring_with_preload():
    """Return x'' = -1e6 (x + sign(x) / 2) from 1, and x, cosines about -1/2 and 1/2."""

    def solution(t):
        quarter = np.arccos(1.0 / 3.0)
        number = np.round(1e3 * t / (2.0 * quarter))
        return (1.5 * np.cos(1e3 * t - 2.0 * quarter * number) - 0.5) * (-1.0) ** number

    return lambda t, x, p, m: [x[1], -1e6 * (x[0] + 0.5 * s.sign(x[0]))], [1.0, 0.0], solution


CASES = {
    "staircase": (staircase, 4.0),
    "clocked by a cosine": (clocked_by_a_cosine, 20.0),
    "bang bang": (bang_bang, 20.0),
    "spring with preload": (spring_with_preload, 0.02),
}


@pytest.mark.parametrize("rtol", [1e-9, 1e-11, 1e-13])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_a_jump_costs_no_more_than_the_tolerance(name, method, rtol):
    make, duration = CASES[name]
    rates, start, solution = make()
    size = len(start)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = simulate(program(rates, (size, 0, 0)), start, [], [], duration, method=method, rtol=rtol)
    exact, resolved = solution(run.t), 80.0 * np.finfo(float).eps * duration**2  # by steps that time can resolve
    assert run.ok and np.abs(run.x[:, 0] - exact).max() < max(100.0 * rtol, 7.0 * resolved) * np.abs(exact).max()


SINGULAR = {
    "root": (lambda t, x, p, m: [-1.0 / x[0]], [1.0]),
    "fourth root": (lambda t, x, p, m: [-1.0 / (x[0] * x[0] * x[0])], [1.0]),
    "fall into a centre": (lambda t, x, p, m: [x[1], -1.0 / (x[0] * x[0])], [1.0, 0.0]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "rtol"), [*itertools.product(("root", "fourth root"), (1e-8, 1e-10, 1e-12)), ("fall into a centre", 1e-10)]
)
def test_a_run_ends_at_a_singularity(name, method, rtol):
    """The state reaches zero with infinite speed, where the solution ends; a jump of the rates is no such place."""
    rates, start = SINGULAR[name]
    run = simulate(program(rates, (len(start), 0, 0)), start, [], [], 2.0, method=method, rtol=rtol)
    assert run.failure is not None and run.t[-1] < 1.2


@pytest.mark.parametrize("place", [0.0, 0.9])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_noise_beside_a_jump_or_kink_is_that_of_the_smooth_rates(side, place):
    """Jumps and a kink at x = `place` leave only errors in the last three digits, at any distance."""

    def rates(t, x, p, m):
        past = x[0] - place
        return [-x[1] - 0.5 * s.sign(past), x[0] + s.absolute(past), s.sign(past) * x[1] * x[1] + 0.1 * x[2]]

    weights = ErrorWeights(Bound(program(rates, (3, 0, 0)), np.zeros(0), 0.0, 1.0), 1e-12, None, 1.0)
    random = np.random.default_rng(5)
    for exponent in random.uniform(-18.0, -6.0, 3000):
        x = np.array([place + side * 10.0**exponent, *random.uniform(0.0, 2.0, 2)])
        assert weights.noise_of_rates(5.0, x, np.zeros(0), np.ones(3), 0.1).max() < 1e-13


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
def test_sensitivities_pass_a_jump_at_any_tolerance(rtol, method):
    """dx/dx(0) of an autonomous x' = f(x) is f(x) / f(x(0)), here 7/2 beyond x = 5."""
    graph, rate = Graph("staircase"), ("rate", lambda x: 1.0 + 0.5 * s.floor(x), ["x"])
    graph.add(Block("s", [rate], inputs={"x": "s.y"}, states={"y": 0.0}, rates={"y": "rate"}))
    run = run_sensitivities(graph.compile(), ["s.y"], 3.0, rtol=rtol, method=method)
    assert run.result.ok and run["s.y"][-1] == pytest.approx(3.5, rel=100.0 * rtol)


def test_a_law_that_chatters_still_ends_the_run():
    """x' = -sign(x) reaches zero at 1 s, and no step leads on from there."""
    run = simulate(program(lambda t, x, p, m: [-s.sign(x[0] - 0.1) + 0.1], (1, 0, 0)), [1.0], [], [], 3.0, rtol=1e-9)
    assert run.failure is not None and run.t[-1] < 1.0 + 1e-6


def test_noise_of_a_late_start_is_that_of_the_clock():
    """At 1e9 s the time of the formulas rounds to multiples of 2^-23 s."""
    made, origin, m = program(lambda t, x, p, m: [s.cos(t - 1e9)], (1, 0, 0)), 1e9, np.zeros(0)
    weights, unit = ErrorWeights(Bound(made, m, origin, 10.0), 1e-9, None, 0.1), np.spacing(origin) / np.sqrt(12.0)
    for t in (0.5, 1.0, 2.0, 4.0):
        sigma = weights.noise_of_rates(t, np.ones(1), m, np.ones(1), 0.1)[0]
        assert 0.5 < sigma / (unit * abs(np.sin(t))) < 2.0
