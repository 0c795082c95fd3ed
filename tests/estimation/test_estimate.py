"""Estimates from noisy data and their uncertainty are correct, and undetermined numbers and failures are reported."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from bondgraph import Compiled, RunError, compile_model
from bondgraph.analysis import operating_point
from bondgraph.errors import ModelError
from bondgraph.estimation import Experiment, estimate, run_sensitivities, uncertainty
from examples.bouncing_ball import with_restitution
from tests.analysis.models import motor

TRUTH = {"winding.resistance": 4.0, "emf.ratio": 0.00954, "friction.resistance": 1e-6}
RANGES = {name: (0.3 * value, 3.0 * value) for name, value in TRUTH.items()}
TIMES = np.linspace(0.0, 0.1, 51)[1:]
NOISE = {"rotor.flow": 1.0, "armature.flow": 0.01}


@functools.cache
def drive() -> Compiled:
    return compile_model(motor())


@functools.cache
def measured():
    result = drive().simulate(TIMES[-1], samples=TIMES, progress=False)
    return {name: result[name][1:] for name in NOISE}


def data(seed, known=True, noise=NOISE):
    rng = np.random.default_rng(seed)
    rows = {name: measured()[name] + sigma * rng.normal(size=len(TIMES)) for name, sigma in noise.items()}
    return {name: (TIMES, y, noise[name]) if known else (TIMES, y) for name, y in rows.items()}


@pytest.mark.parametrize("seed", range(3))
def test_a_motor_is_found_within_its_covariance(seed):
    found = estimate(drive(), RANGES, data(seed), progress=False)
    assert found.mahalanobis_distance(TRUTH) < 4.5 and found.degrees_of_freedom == 2 * len(TIMES) - 3
    assert found.chi2 == pytest.approx(found.degrees_of_freedom, rel=0.5) and not found.estimated_sigmas and found.findings == ()
    assert np.all(found.standard_errors / found.values < 0.2)
    assert found.correlation.diagonal() == pytest.approx(np.ones(3))
    assert np.allclose(found.covariance, found.covariance.T)
    assert found.results[0].ok and set(found.residuals) == set(NOISE)


def test_unknown_noise_is_estimated_by_channel():
    found = estimate(drive(), RANGES, data(7, known=False), progress=False)
    assert set(found.estimated_sigmas) == set(NOISE) and found.chi2 == pytest.approx(found.degrees_of_freedom, rel=0.1)
    for name, sigma in NOISE.items():
        assert found.sigma[name][0][0, 0] == pytest.approx(sigma, rel=0.5)
    assert found.mahalanobis_distance(TRUTH) < 5.0 and "estimated" in str(found)


def test_covariance_is_that_of_the_linear_problem():
    """At the best fit the covariance is (J^T J / sigma^2)^-1."""
    found = estimate(drive(), RANGES, data(1, noise={"rotor.flow": 1.0}), progress=False)
    run = run_sensitivities(drive(), list(TRUTH), TIMES[-1], parameters=found.parameters, samples=TIMES, progress=False)
    J = run["rotor.flow"][1:]
    size = found.values
    wanted = np.linalg.inv((J * size).T @ (J * size)) * np.outer(size, size)
    np.testing.assert_allclose(found.covariance, wanted, rtol=1e-4)
    gradient = (J * size).T @ found.residuals["rotor.flow"][0][:, 0]
    assert np.abs(gradient).max() < 1e-2 * np.linalg.norm(J * size, axis=0).max()


def test_undetermined_parameters_are_named():
    """The steady speed determines only a combination of supply voltage and gyrator ratio."""
    numbers = {"supply.value": (2.0, 10.0), "emf.ratio": (0.004, 0.02), "winding.resistance": (2.0, 8.0)}
    steady = {"rotor.flow": (np.array([5.0, 6.0]), np.full(2, measured()["rotor.flow"][-1]), 1.0)}
    found = estimate(drive(), numbers, steady, progress=False)
    said = " ".join(found.findings)
    assert "is not identifiable" in said or "known only to within" in said
    assert '"supply.value"' in said and '"emf.ratio"' in said
    assert not np.any(found.standard_errors < 0.1 * found.values)

    ball = compile_model(with_restitution())
    t = np.linspace(0.05, 0.4, 20)  # before the first bounce
    heights = 1.0 - 9.81 * t**2 / 2.0
    free = estimate(
        ball, {"weight.value": (-12.0, -8.0), "floor.restitution": (0.5, 0.9)}, {"floor.h": (t, heights, 1e-3)}, progress=False
    )
    assert '"floor.restitution" does not affect the data' in free.findings
    assert np.isinf(free.standard_errors[1]) and free["weight.value"] == pytest.approx(-9.81, abs=1e-3)


def test_fewer_data_than_parameters_identify_none():
    """One height in free fall determines one combination of start height and weight."""
    ball, t = compile_model(with_restitution()), np.array([0.1])
    numbers = {"floor.h": (0.5, 1.5), "weight.value": (-12.0, -8.0)}
    found = estimate(ball, numbers, {"floor.h": (t, 1.0 - 9.81 * t**2 / 2.0, 1e-3)}, progress=False)
    assert np.all(np.isinf(found.standard_errors)) and not found.degrees_of_freedom
    assert np.abs(found.directions[-1]).min() < 0.1
    assert all(f'"{name}"' in found.findings[0] for name in numbers)


def test_data_without_noise_leave_rounding():
    data, value = {name: (TIMES, y) for name, y in measured().items()}, TRUTH["winding.resistance"]
    found, near = (estimate(drive(), {"winding.resistance": begin}, data, progress=False) for begin in (value, 1.05 * value))
    assert found.chi2 == 0.0 and "rounding" in found.findings[0] and not any("rounding" in finding for finding in near.findings)
    for estimated in (found, near):
        assert estimated.estimated_sigmas and estimated.standard_errors[0] < 1e-9 * estimated.values[0]


def test_noise_is_not_known_where_nothing_is_left():
    found = estimate(drive(), RANGES, {"rotor.flow": (TIMES[10:13], measured()["rotor.flow"][10:13])}, progress=False)
    assert found.degrees_of_freedom == 0 and np.all(np.isinf(found.standard_errors))
    assert any("the noise is unknown" in text for text in found.findings)


@pytest.mark.parametrize("seed", range(2))
def test_a_ball_is_found_through_its_bounces(seed):
    ball, truth = compile_model(with_restitution()), {"weight.value": -9.81, "floor.restitution": 0.8, "floor.h": 1.0}
    t = np.linspace(0.0, 2.0, 81)[1:]
    y = ball.simulate(2.0, samples=t, progress=False)["floor.h"][1:] + 5e-3 * np.random.default_rng(seed).normal(size=len(t))
    ranges = {"weight.value": (-12.0, -8.0), "floor.restitution": (0.6, 0.95), "floor.h": (0.8, 1.2)}
    found = estimate(ball, ranges, {"floor.h": (t, y, 5e-3)}, progress=False)
    assert found.mahalanobis_distance(truth) < 4.5 and found.standard_errors[1] < 2e-3


def test_several_experiments_tell_more_than_one():
    def experiment(voltage, seed):
        result = drive().simulate(TIMES[-1], samples=TIMES, parameters={"supply.value": voltage}, progress=False)
        y = result["rotor.flow"][1:] + np.random.default_rng(seed).normal(size=len(TIMES))
        return Experiment({"rotor.flow": (TIMES, y, 1.0)}, parameters={"supply.value": voltage})

    numbers = {name: RANGES[name] for name in ("winding.resistance", "emf.ratio")}
    alone = estimate(drive(), numbers, experiment(5.0, 0), progress=False)
    both = estimate(drive(), numbers, [experiment(5.0, 0), experiment(10.0, 1)], progress=False)
    assert np.all(both.standard_errors < alone.standard_errors / 2.0) and both.mahalanobis_distance(TRUTH) < 4.0
    assert len(both.results) == 2 and len(both.residuals["rotor.flow"]) == 2


def test_runs_that_fail_inside_the_search_are_stepped_back_from():
    ranges = {"winding.resistance": (-100.0, 40.0, 100.0), "friction.resistance": (-1e-4, 1e-6, 1e-4)}
    found = estimate(drive(), ranges, data(0), progress=False)
    assert found.failures and all("E119" in reason for reason in found.failures)
    assert found["friction.resistance"] >= 0.0 and found["winding.resistance"] < 40.0
    assert any("bounds can keep it away" in finding for finding in found.findings)


def test_an_unbounded_search_keeps_to_valid_parameters():
    found = estimate(drive(), {"winding.resistance": 40.0, "friction.resistance": 1e-6}, data(0), progress=False)
    assert found["winding.resistance"] == pytest.approx(4.0, rel=0.01) and not found.failures and not found.findings


def test_an_inconsistent_sigma_is_reported():
    rows = data(3, noise={"rotor.flow": 5.0})
    t, y, _ = rows["rotor.flow"]
    found = estimate(drive(), {"emf.ratio": (0.005, 0.02)}, {"rotor.flow": (t, y, 1.0)}, progress=False)
    assert any("times sigma" in finding for finding in found.findings)
    loose = estimate(drive(), {"emf.ratio": (0.005, 0.02)}, {"rotor.flow": (t, y, 50.0)}, progress=False)
    assert any("sigma is too large" in finding for finding in loose.findings)


def test_a_parameter_at_its_bound_is_reported():
    found = estimate(drive(), {"emf.ratio": (0.01, 0.02)}, data(0), progress=False)
    assert any("lies at its bound" in finding for finding in found.findings)


def test_words_and_pictures():
    found = estimate(drive(), RANGES, data(0), progress=False)
    assert "winding.resistance" in str(found) and "+-" in str(found) and "Ohm" in found._repr_html_()
    assert repr(found).startswith("Estimate(winding.resistance=")
    pytest.importorskip("matplotlib").use("Agg")
    assert len(found.plot()) == 2 and len(found.plot("rotor.flow")) == 1
    with pytest.raises(KeyError, match=r'no channel "rotor\.speed"'):
        found.plot("rotor.speed")
    with pytest.raises(KeyError, match="E318 no estimated number"):
        found["coil.inertia"]


@pytest.mark.parametrize(
    ("numbers", "given", "code"),
    [
        ({"emf.ratios": (0.01, 0.02)}, data, "E370"),
        ({"emf.ratio": (0.02, 0.01)}, data, "E377"),
        ({"emf.ratio": "large"}, data, "E377"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"speed": (TIMES, TIMES, 1.0)}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"rotor.flow": (TIMES, TIMES[1:], 1.0)}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"rotor.flow": (TIMES, TIMES, -1.0)}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"rotor.flow": (TIMES - 1.0, TIMES, 1.0)}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"rotor.flow": (TIMES, np.nan * TIMES, 1.0)}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"rotor.flow": "speed"}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"rotor.flow": (TIMES, TIMES, TIMES[1:])}, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: Experiment(TIMES, {"rotor.flow": TIMES}), "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: 5, "E376"),
        ({"emf.ratio": (0.01, 0.02)}, lambda: {"winding.resistance": (TIMES, TIMES, 1.0)}, "E376.*is a parameter"),
        (
            {"emf.ratio": (0.01, 0.02)},
            lambda: Experiment({"rotor.flow": (TIMES, TIMES, 1.0)}, parameters={"emf.ratio": 0.01}),
            "E376.*is estimated, but an experiment sets it",
        ),
        (
            {"emf.ratio": (0.01, 0.02)},
            lambda: Experiment(
                {"rotor.flow": (TIMES, TIMES, 1.0)}, initial=operating_point(drive(), parameters={"emf.ratio": 0.01})
            ),
            "E376.*is estimated, but an experiment sets it",
        ),
        (["emf.ratio"], data, "E321"),
        (None, data, "E370"),
        ({"winding.resistance": (-2.0, -1.0)}, data, "E378"),
    ],
)
def test_inconsistent_data_are_refused(numbers, given, code):
    with pytest.raises(ModelError, match=code):
        estimate(drive(), numbers, given(0) if given is data else given(), progress=False)


@pytest.mark.parametrize("setting", ["t_end", "tol"])
def test_settings_that_no_run_has_are_refused(setting):
    with pytest.raises(RunError, match=f'E322.*"{setting}"'):
        estimate(drive(), {"emf.ratio": (0.01, 0.02)}, data(0), progress=False, **{setting: 1.0})


def test_uncertainty_against_many_runs():
    deviations = {"winding.resistance": 0.04, "emf.ratio": 1e-4}
    run = run_sensitivities(drive(), list(deviations), 0.05, samples=[0.01, 0.05], progress=False)
    found = uncertainty(run, deviations)
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(150):
        drawn = {name: TRUTH[name] + sigma * rng.normal() for name, sigma in deviations.items()}
        rows.append(drive().simulate(0.05, samples=[0.01, 0.05], parameters=drawn, progress=False)["rotor.flow"])
    assert found["rotor.flow"][0] == 0.0
    assert found["rotor.flow"][1:] == pytest.approx(np.std(rows, axis=0)[1:], rel=0.2)  # of 150 samples: 6 % is one deviation
    assert found.variance_shares("rotor.flow")[1:].sum(axis=1) == pytest.approx(np.ones(2))
    known = estimate(drive(), RANGES, data(0), progress=False)
    whole = uncertainty(run, known)
    assert whole["rotor.flow"][2] > 0.0 and "+-" in repr(whole)
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.collections import PolyCollection

    for panels in (found.plot("rotor.flow", ("coil.p", "inertia.p")), found.plot()):
        assert all(any(isinstance(each, PolyCollection) for each in panel.collections) for panel in panels)


WRONG = [{"emf.ratio": 1.0}, {"winding.resistance": np.inf}, np.eye(2), {"winding.resistance": "much"}]
WRONG += [{}, {"winding.resistance": -1.0}, [[-1.0]]]


@pytest.mark.parametrize("known", WRONG)
def test_deviations_that_do_not_fit(known):
    run = run_sensitivities(drive(), "winding.resistance", 0.01, progress=False)
    with pytest.raises(ModelError, match="E379") as refused:
        uncertainty(run, known)
    assert ("given: {'winding.resistance': 'much'}" in str(refused.value)) == ("much" in str(known))


@pytest.mark.parametrize("known", [[[1.0, 2e-3], [2e-3, 1e-6]], [[1.0, 1e-4], [2e-4, 1e-6]], [[0.0, 1e-4], [1e-4, 1e-6]]])
def test_an_indefinite_matrix_is_refused_as_covariance(known):
    run = run_sensitivities(drive(), ["winding.resistance", "emf.ratio"], 0.01, progress=False)
    with pytest.raises(ModelError, match="E379"):
        uncertainty(run, known)
    assert uncertainty(run, [[1.0, 1e-3], [1e-3, 1e-6]])["rotor.flow"].shape == run["rotor.flow", "emf.ratio"].shape
