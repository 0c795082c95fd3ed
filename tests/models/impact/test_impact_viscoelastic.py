"""The viscoelastic impact agrees with high-precision values and integration."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from screwbond.models.impact import ViscoelasticImpact, identify, restitution

from bondgraph import ModelError

PAPER = ViscoelasticImpact(8.07e5, 4.60e7, 3.453, 0.1754)
KEPT = {"k": 1.0, "c": 1.0, "m": 1.0, "v0": 1.0}


def exact_restitution(w0: float) -> mpmath.mpf:
    """Return e by bisection of ln(1 - y) + y = ln(1 + w0) - w0, where y = e w0, with 60 digits.

    The substitution y = 1 - exp(-z) keeps the digits of values near 1.
    """
    with mpmath.workdps(60):
        w = mpmath.mpf(w0)
        level = w - mpmath.log1p(w)
        low, high = mpmath.mpf(0), w + 2
        for _ in range(260):
            z = (low + high) / 2
            low, high = (low, z) if z + mpmath.expm1(-z) > level else (z, high)
        return -mpmath.expm1(-low) / w


@pytest.mark.parametrize("w0", [*np.logspace(-8.0, 6.0, 29), 0.0999, 0.1001, 0.4999, 0.5001, 5.0])
def test_restitution_is_exact_over_fourteen_decades(w0: float) -> None:
    exact = exact_restitution(float(w0))
    assert abs(restitution(1.0, float(w0), 1.0) / exact - 1) < 1e-12


def test_restitution_of_one_and_five() -> None:
    assert mpmath.nstr(exact_restitution(1.0), 18) == "0.593624260040040092"
    assert mpmath.nstr(exact_restitution(5.0), 18) == "0.196980245280518885"
    assert abs(restitution(1.0, 1.0, 1.0) - 0.593624260040040092) < 1e-12
    assert abs(restitution(1.0, 1.0, 5.0) - 0.196980245280518885) < 1e-12


def test_restitution_takes_many_speeds_and_knows_no_units() -> None:
    speeds = np.logspace(-3.0, 1.0, 7)
    e = restitution(2e5, 3e6, speeds)
    assert e.shape == (7,) and np.all(np.diff(e) < 0.0)
    # The same in millimetres and grams: k in g/s^2, c in g/(mm s), v in mm/s.
    assert restitution(2e5 * 1e3, 3e6, speeds * 1e3) == pytest.approx(e, rel=1e-14)


def integrated(impact: ViscoelasticImpact) -> tuple[float, np.ndarray, object]:
    def rates(_: float, x: np.ndarray) -> list[float]:
        s, u, _ = x
        return [u, -(impact.k * s + impact.c * s * u) / impact.m, impact.c * s * u * u]

    def back(_: float, x: np.ndarray) -> float:
        return float(x[0])

    back.terminal, back.direction = True, -1.0
    scale = np.sqrt(impact.m / impact.k)
    ends = (0.0, 1e4 * scale)
    run = solve_ivp(rates, ends, [0.0, impact.v0, 0.0], "DOP853", rtol=1e-12, atol=1e-16, events=back, dense_output=True)
    return run.t_events[0][0], run.y_events[0][0], run.sol


@pytest.mark.parametrize("w0", [0.05, 1.0, 5.0, 40.0])
def test_course_against_integration(w0: float) -> None:
    impact = ViscoelasticImpact(3.0e4, 3.0e4 * w0 / 0.4, 2.0, 0.4)
    t, x, solution = integrated(impact)
    assert impact.duration == pytest.approx(t, rel=1e-9)
    assert impact.restitution == pytest.approx(-x[1] / impact.v0, rel=1e-9)
    course = impact.history(200)
    s, u, lost = solution(course.t)
    assert np.abs(s - course.compression).max() < 1e-8 * impact.largest_compression
    assert np.abs(u - course.rate).max() < 1e-8 * impact.v0
    assert np.abs(lost - course.dissipated).max() < 1e-8 * impact.m * impact.v0**2
    assert course.compression[0] == course.compression[-1] == course.force[-1] == 0.0
    assert np.all(np.diff(course.t) > 0.0)


@pytest.mark.parametrize("w0", [1e-4, 0.3, 3.0, 300.0])
def test_energy_account_20_closes_along_the_solution(w0: float) -> None:
    impact = ViscoelasticImpact(1.0, w0, 1.0, 1.0)
    course = impact.history()
    total = course.kinetic + course.stored + course.dissipated
    assert np.abs(total / 0.5 - 1.0).max() < 1e-12
    assert course.stored == pytest.approx(0.5 * course.compression**2, abs=1e-13)
    assert course.kinetic == pytest.approx(0.5 * course.rate**2, abs=1e-13)
    assert np.all(np.diff(course.dissipated) > -1e-14)


@pytest.mark.parametrize("w0", [1e-3, 0.5, 5.0, 1e3])
def test_peak_force_comes_before_the_largest_compression(w0: float) -> None:
    impact = ViscoelasticImpact(1.0, w0, 1.0, 1.0)
    course = impact.history(20000)
    at = int(np.argmax(course.force))
    assert course.force[at] <= impact.peak_force * (1.0 + 1e-12)
    assert course.force[at] == pytest.approx(impact.peak_force, rel=1e-5)
    assert course.compression.max() == pytest.approx(impact.largest_compression, rel=1e-5)
    assert course.rate[at] > 0.0 and at < int(np.argmax(course.compression))
    assert np.all(course.force >= 0.0)


def test_the_invariant_line_is_never_reached() -> None:
    """No impact rebounds as fast as |s'| = k/c, whatever its approach speed."""
    for speed in (0.1, 1.0, 10.0, 30.0):
        impact = ViscoelasticImpact(1.0, 1.0, 1.0, speed)
        assert impact.history().rate.min() > -impact.invariant_speed


def test_small_damping_is_a_half_sine() -> None:
    impact = ViscoelasticImpact(4.0e4, 1e-6, 1.0, 1.0)
    assert impact.duration == pytest.approx(np.pi * np.sqrt(1.0 / 4.0e4), rel=1e-9)
    assert impact.peak_force == pytest.approx(np.sqrt(4.0e4), rel=1e-9)


def test_parameters_of_the_paper_are_identified() -> None:
    k, c, m = identify(0.1754, 0.6662, 10.4e-3, 0.1)
    assert (k, c, m) == pytest.approx((8.07e5, 4.60e7, 3.453), rel=5e-4)
    t, x, _ = integrated(ViscoelasticImpact(k, c, m, 0.1754))
    assert t == pytest.approx(10.4e-3, rel=1e-9) and -x[1] / 0.1754 == pytest.approx(0.1, rel=1e-9)
    assert m * (0.1754 - x[1]) == pytest.approx(0.6662, rel=1e-9)
    assert PAPER.duration == pytest.approx(10.4e-3, rel=5e-4) and PAPER.restitution == pytest.approx(0.1, rel=5e-4)


@pytest.mark.parametrize("e", [1e-6, 1e-3, 0.1, 0.5936, 0.9, 0.999999])
def test_identify_inverts(e: float) -> None:
    impact = ViscoelasticImpact(*identify(0.2, 0.5, 5e-3, e), 0.2)
    assert impact.restitution == pytest.approx(e, rel=1e-12)
    assert impact.duration == pytest.approx(5e-3, rel=1e-12) and impact.impulse == pytest.approx(0.5, rel=1e-12)


BAD = [0.0, -1.0, float("nan"), float("inf"), "1", None, True]


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("name", KEPT)
def test_numbers_of_no_impact_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ModelError, match=rf"E540 {name} of an impact is"):
        ViscoelasticImpact(**{**KEPT, name: value})
    if name != "m":
        with pytest.raises(ModelError, match=rf"E540 {name} of an impact is"):
            restitution(**{key: kept for key, kept in {**KEPT, name: value}.items() if key != "m"})


@pytest.mark.parametrize("value", [*BAD, 1.0, 1.5], ids=repr)
def test_restitutions_of_no_viscoelastic_impact_are_refused(value: object) -> None:
    with pytest.raises(ModelError, match="E540"):
        identify(0.1, 0.5, 0.01, value)


@pytest.mark.parametrize(("k", "c", "v0"), [(1e-200, 1e200, 1.0), (1e200, 1e-200, 1.0), (1.0, 1e-170, 1.0), (1.0, 1.0, 1e160)])
def test_numbers_beyond_arithmetic_are_refused(k: float, c: float, v0: float) -> None:
    """The squares of these values overflow or underflow."""
    with pytest.raises(ModelError, match="E540 c v0 / k of an impact is"):
        ViscoelasticImpact(k, c, 1.0, v0)
    with pytest.raises(ModelError, match="E540 c v0 / k of an impact is"):
        restitution(k, c, [0.5 * v0, v0])


@pytest.mark.parametrize("w0", [1e-149, 1e149])
def test_extreme_numbers_give_limiting_impacts(w0: float) -> None:
    """For small w0 the impact is that of an undamped spring; for large w0 the damper alone stops the mass, at
    s = sqrt(2 m v0 / c)."""
    impact = ViscoelasticImpact(1.0, w0, 1.0, 1.0)
    if w0 < 1.0:
        assert (impact.peak_force, impact.largest_compression, impact.duration) == pytest.approx((1.0, 1.0, np.pi), rel=1e-9)
    else:
        assert impact.largest_compression == pytest.approx(np.sqrt(2.0 / w0), rel=1e-9)
        assert impact.restitution == pytest.approx(1.0 / w0, rel=1e-12)


def test_a_restitution_too_small_to_be_made_is_refused() -> None:
    with pytest.raises(ModelError, match="E540 c v0 / k"):
        identify(0.1, 0.5, 0.01, 1e-300)


def test_invalid_parameters_are_refused_at_construction() -> None:
    with pytest.raises(ModelError, match="2 problems"):
        ViscoelasticImpact(-1.0, 1.0, 1.0, 0.0)
    with pytest.raises(ModelError, match="E540 v0"):
        restitution(1.0, 1.0, np.array([0.1, -0.1]))
    with pytest.raises(ModelError, match="E540 v0"):
        restitution(1.0, 1.0, ["fast", 0.1])
