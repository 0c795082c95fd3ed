"""Robust losses reduce the effect of outliers on estimates and their uncertainty."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph.errors import ModelError
from bondgraph.estimation import estimate
from tests.estimation.test_estimate import NOISE, RANGES, TIMES, TRUTH, drive, measured
from tests.inner.estimation import LOSSES, MARGIN


def spoilt(seed, known=True):
    rng, found = np.random.default_rng(seed), {}
    for name, sigma in NOISE.items():
        size = np.where(rng.random(len(TIMES)) < 0.1, 20.0 * sigma, sigma)
        y = measured()[name] + size * rng.normal(size=len(TIMES))
        found[name] = (TIMES, y, sigma) if known else (TIMES, y)
    return found


def test_losses_are_those_of_scipy():
    """`psi` is the derivative of half of SciPy's rho, and `slope` the derivative of `psi`."""
    from scipy.optimize import least_squares

    r = np.array([-5.0, -1.0, 0.3, 1.2, 4.0])
    for name, loss in LOSSES.items():
        step = 1e-6
        assert loss.slope(r) == pytest.approx((loss.psi(r + step) - loss.psi(r - step)) / (2.0 * step), abs=1e-8)
        data = np.array([0.0, 0.4, -0.3, 0.2, 9.0])
        found = least_squares(lambda x, data=data: x - data, [0.0], loss=name, f_scale=MARGIN, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert np.sum(loss.psi(found.x - data)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("loss", ["soft_l1", "huber"])
def test_outliers_barely_change_a_robust_fit(loss):
    for seed in range(2):
        found = estimate(drive(), RANGES, spoilt(seed), loss=loss, progress=False)
        assert found.mahalanobis_distance(TRUTH) < 4.5 and any(
            "from the fit by more than 5 sigma" in text for text in found.findings
        )
    assert estimate(drive(), RANGES, spoilt(0), progress=False).mahalanobis_distance(TRUTH) > found.mahalanobis_distance(TRUTH)


@pytest.mark.parametrize("loss", ["soft_l1", "huber"])
def test_the_covariance_is_the_sandwich(loss):
    rng = np.random.default_rng(3)
    J, r, own = rng.normal(size=(40, 3)), 2.0 * rng.standard_t(2, size=40), LOSSES[loss]
    M, B = (J.T * own.slope(r)) @ J, (J.T * own.psi(r) ** 2) @ J * 40.0 / 37.0
    seen = own.root_information(r, J)
    np.testing.assert_allclose(np.linalg.inv(seen.T @ seen), np.linalg.inv(M) @ B @ np.linalg.inv(M), rtol=1e-9)
    idle = own.root_information(r, np.column_stack([J, np.zeros(40)]))
    assert np.all(idle[:, 3] == 0.0) and np.linalg.matrix_rank(idle) == 3


def test_noise_that_nobody_knows_is_that_without_outliers():
    found = estimate(drive(), RANGES, spoilt(5, known=False), loss="huber", progress=False)
    for name, sigma in NOISE.items():
        assert found.sigma[name][0][0, 0] == pytest.approx(sigma, rel=0.5)
    one = {"rotor.flow": spoilt(5, known=False)["rotor.flow"]}
    assert estimate(drive(), RANGES, one, loss="huber", progress=False).sigma["rotor.flow"][0][0, 0] == pytest.approx(
        1.0, rel=0.5
    )


@pytest.mark.parametrize("loss", ["soft_l1", "huber"])
def test_a_robust_fit_of_as_many_data_as_parameters_equals_least_squares(loss):
    """One data point with known noise leaves no residual that could show the scatter."""
    name, at = "rotor.flow", slice(5, 6)
    one = {name: (TIMES[at], measured()[name][at] + 0.3, NOISE[name])}
    asked = {"winding.resistance": RANGES["winding.resistance"]}
    found, plain = (estimate(drive(), asked, one, loss=how, progress=False) for how in (loss, "linear"))
    np.testing.assert_allclose(found.standard_errors, plain.standard_errors, rtol=1e-4)


def test_outliers_alone_tell_nothing_of_a_number_that_acts():
    name = "rotor.flow"
    far = {name: (TIMES, measured()[name] + 1e6, NOISE[name])}
    found = estimate(drive(), {"winding.resistance": RANGES["winding.resistance"]}, far, loss="huber", progress=False)
    assert np.isinf(found.standard_errors).all() and not any("does not act" in text for text in found.findings)
    assert '"winding.resistance" is not identifiable from the data' in found.findings


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("off, noise", [(0.3, (1e-160,)), (1e200, (1.0,)), (1e200, ()), (0.3, (1e200,))])
def test_data_with_overflowing_squares_are_refused(loss, off, noise):
    name = "rotor.flow"
    y = np.where(np.arange(len(TIMES)) == 3, measured()[name] + off, measured()[name])
    with pytest.raises(ModelError, match=r'E376(.|\n)*"rotor.flow"'):
        estimate(
            drive(), {"winding.resistance": RANGES["winding.resistance"]}, {name: (TIMES, y, *noise)}, loss=loss, progress=False
        )


def test_an_unknown_loss_is_refused():
    with pytest.raises(ModelError, match="E380"):
        estimate(drive(), RANGES, spoilt(0), loss="absolute", progress=False)
