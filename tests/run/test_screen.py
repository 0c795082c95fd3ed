"""The cheap check of constraints in many runs misses nothing that single runs find."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot

from bondgraph import RunEndedWarning, compile_model
from tests.inner.run import (
    MIN_CHECKED,
    BatchCollector,
    _suspects,
    bounds,
    checked_result,
    checked_times,
    envelope,
    integral,
    prepared,
)
from tests.models.test_loops import cranks


@pytest.fixture
def singles(monkeypatch):
    done, single = [], BatchCollector.run_single
    monkeypatch.setattr(BatchCollector, "run_single", lambda self, run: (done.append(run), single(self, run)))
    return done


@pytest.mark.parametrize("seed", range(40))
def test_changes_below_the_bounds_are_never_suspected(seed):
    random = np.random.default_rng(seed)
    t = np.cumsum(10.0 ** random.uniform(-4.0, 0.0, 40))
    falls, rises = bounds(t)
    lowest, highest = falls[1:], 1.0 / np.where(rises[1:] > 0.0, rises[1:], 1e-3)
    parts = np.where(random.random(39) < 0.5, lowest * (1.0 + 1e-6), highest * (1.0 - 1e-6))
    parts[parts <= 0.0] = 0.01
    roots = np.sqrt(np.cumprod(np.append(1.0, parts)))
    assert _suspects(t.tolist(), roots.tolist()) == []


def test_the_bounds_are_barely_stricter_than_the_screen():
    """If a square root changes slightly faster than its bound, its linear extrapolation reaches zero within one and a half
    intervals."""
    t = np.cumsum([0.0, 1.0, 0.7, 1.3, 1.0])
    falls, rises = bounds(t)
    fall = np.array([1.0, 1.0, np.sqrt(falls[2] * 0.995), 1.0, 1.0])
    assert 2 in _suspects(t[:4].tolist(), [*fall[:3], fall[2]])
    rise = [1.0, np.sqrt(rises[2] * 0.995), 1.0]
    assert 0 in _suspects(t[:3].tolist(), [rise[1], rise[1], 1.0])
    assert bounds(np.arange(5.0))[0][2] == pytest.approx(0.36, rel=2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_elimination_fills_nothing_outside_of_the_envelope(seed):
    random, n = np.random.default_rng(seed), 24
    near, block = np.abs(np.subtract.outer(range(n), range(n))) < 2, np.equal.outer(np.arange(n) // 6, np.arange(n) // 6)
    some = random.random((n, n)) < 0.01 * seed
    matrix = np.where(near | (block & (seed > 1)) | some | some.T, random.random((n, n)), 0.0)
    matrix = matrix + matrix.T + 4 * n * np.eye(n)
    leftmost, lowest = envelope(n, *np.nonzero(matrix))
    factor, i = np.linalg.cholesky(matrix), np.arange(n)
    assert not factor[i < leftmost[:, None]].any() and np.array_equal(matrix[i, leftmost] != 0.0, np.full(n, True))
    for column in range(n):
        assert not factor[lowest[column] :, column].any()
        assert leftmost[lowest[column] - 1] <= column


def test_samples_separated_by_rounding_are_never_safe():
    falls, rises = bounds(np.array([0.0, 0.1, 0.1 + 1e-12, 0.2, 0.3]))
    assert np.isinf(falls[[1, 2]]).all() and np.isinf(rises[[2, 3]]).all() and np.isfinite(falls[3])


def test_times_that_are_watched_are_not_doubled_by_rounding():
    since = 0.1 * np.arange(11)
    times = checked_times(True, since, 1.0)
    assert np.isin(since, times).all() and np.diff(times).min() > 0.9e-3 and len(times) == MIN_CHECKED


@pytest.mark.parametrize("lanes", [1, 8])
def test_many_runs_find_singular_positions_as_single_runs_do(singles, lanes):
    compiled = compile_model(cranks((1.0, 1.0), start=2.0))
    run = compiled.prepare_run(0.5, samples=0.1, progress=False)
    angles = np.linspace(1.7, 3.1, 15)
    x, p, m = run.start_values()
    starts = np.tile(x, (15, 1))
    place = compiled.program.layout["parts.q"].start
    starts[:, place : place + 5] = np.stack([angles, angles, np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    ends = run.run_many(p, starts, m, {"turned": "parts.q[0]"}, lanes=lanes, threads=1)
    assert run.program.in_machine_code and set(ends.failures) <= set(singles) and 3 <= len(ends.failures) < len(angles)
    assert len(singles) <= len(ends.failures) + 2, "most runs need no second check"
    for k, start in enumerate(starts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunEndedWarning)
            alone = run.program.checked_run(start, p, m)
        assert str(ends.failures.get(k)) == str(alone.failure)
        assert np.array_equal(ends.x[k], alone.x[-1]) and ends.steps[k] == alone.statistics.steps
        course = alone["parts.q[0]"]
        assert np.array_equal(ends["turned"][k, : len(course)], course) and np.isnan(ends["turned"][k, len(course) :]).all()


def test_a_delta_robot_is_watched_in_machine_code(singles):
    compiled = DeltaRobot(DeltaParameters.fit()).compiled
    run = compiled.prepare_run(0.2, samples=0.05, progress=False)
    masses = compiled.parameters["arm 1.mechanism.M2"].value * np.array([0.9, 1.0, 1.1])
    keep = {"turned": "arm 1.mechanism.q[0]", "swung": integral("arm 1.mechanism.q[0]")}
    ends = run.run_many(*run.start_values_many({"arm 1.mechanism.M2": masses}), keep)
    assert ends.ok.all() and not singles
    for k, mass in enumerate(masses):
        alone = compiled.simulate(0.2, samples=0.05, parameters={"arm 1.mechanism.M2": mass}, progress=False)
        assert np.array_equal(ends.x[k], alone.x[-1]) and np.array_equal(ends["turned"][k], alone["arm 1.mechanism.q[0]"])
        assert ends.rates[k] == alone.statistics.rates
        assert ends["swung"][k] == pytest.approx(np.trapezoid(alone["arm 1.mechanism.q[0]"], alone.t), rel=1e-12)
    unwatched = run.run_many(*run.start_values_many({"arm 1.mechanism.M2": masses}), keep, check_rank=False)
    assert np.array_equal(unwatched["turned"], ends["turned"]) and np.all(unwatched.rates <= ends.rates)


def test_constraints_that_repeat_each_other_are_watched_by_single_runs(singles):
    compiled = compile_model(cranks())
    run = compiled.prepare_run(0.1, samples=[0.1], progress=False)
    x, p, m = run.start_values()
    ends = run.run_many(np.tile(p, (2, 1)), x, m)
    assert ends.ok.all() and singles == [0, 1]
    run.run_many(np.tile(p, (2, 1)), x, m, check_rank=False)
    assert singles == [0, 1]


def test_single_runs_are_looked_at_once_more_only_where_machine_code_suspects_something(monkeypatch):
    compiled, searched = DeltaRobot(DeltaParameters.fit()).compiled, []
    monkeypatch.setattr(prepared, "checked_result", lambda *given: (searched.append(given), checked_result(*given))[1])
    mass = {"arm 1.mechanism.M2": compiled.parameters["arm 1.mechanism.M2"].value * 1.02}
    found = compiled.simulate(0.2, samples=0.07, parameters=mass, progress=False)
    assert found.ok and not searched
    monkeypatch.setattr(prepared, "screens", lambda program: False)
    other = compiled.prepare_run(0.2, samples=0.07, progress=False)(parameters=mass)
    assert searched and other.ok
    for name in ("t", "since", "x", "m", "integrals", "start_energies"):
        np.testing.assert_array_equal(getattr(found, name), getattr(other, name), err_msg=name)
    end = compiled.prepare_run(0.2, samples=0.07, progress=False).run(found.p, found.x[0], found.m[0])
    np.testing.assert_array_equal(end.rows, np.hstack([found.x, found.integrals]))


def test_a_single_run_that_machine_code_suspects_ends_where_it_did(monkeypatch):
    compiled = compile_model(cranks((1.0, 1.0), start=2.0))
    with pytest.warns(RunEndedWarning, match="singular position"):
        found = compiled.simulate(2.0, samples=0.5, progress=False)
    monkeypatch.setattr(prepared, "screens", lambda program: False)
    with pytest.warns(RunEndedWarning, match="singular position"):
        other = compile_model(cranks((1.0, 1.0), start=2.0)).simulate(2.0, samples=0.5, progress=False)
    assert str(found.failure) == str(other.failure)
    np.testing.assert_array_equal(found.x, other.x)
