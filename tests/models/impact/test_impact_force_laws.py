"""Three force laws with equal impulse and duration have the energies that integration gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, solve_ivp
from screwbond.models.impact import MaxwellImpact, SpringImpact, equivalent_laws

from bondgraph import ModelError

LAWS = ("viscoelastic", "virtual spring", "Maxwell")


@pytest.mark.parametrize("e", [0.1, 0.6, 0.95])
@pytest.mark.parametrize("law", LAWS)
def test_what_is_alike(law: str, e: float) -> None:
    impact = equivalent_laws(0.1754, 0.6662, 10.4e-3, e)[law]
    course = impact.history(4000)
    assert impact.restitution == pytest.approx(e, rel=1e-12)
    assert impact.duration == pytest.approx(10.4e-3, rel=1e-12) == pytest.approx(course.t[-1], rel=1e-12)
    assert impact.impulse == pytest.approx(0.6662, rel=1e-12)
    assert np.trapezoid(course.force, course.t) == pytest.approx(0.6662, rel=1e-5)
    assert course.rate[[0, -1]] == pytest.approx([0.1754, -e * 0.1754], rel=1e-9)
    assert course.force.max() == pytest.approx(impact.peak_force, rel=1e-5)
    assert course.compression.max() == pytest.approx(impact.largest_compression, rel=1e-5)
    assert course.force[-1] == 0.0


@pytest.mark.parametrize("law", LAWS)
def test_newton_and_the_account_of_the_energy(law: str) -> None:
    """Motion agrees with quadrature of m u' = -f and s' = u."""
    impact = equivalent_laws(0.2, 0.5, 8e-3, 0.3)[law]
    course = impact.history(40000)
    assert impact.m * (impact.v0 - course.rate) == pytest.approx(
        cumulative_trapezoid(course.force, course.t, initial=0.0), abs=1e-7
    )
    assert course.compression == pytest.approx(cumulative_trapezoid(course.rate, course.t, initial=0.0), abs=1e-9)
    total = course.kinetic + course.stored + course.dissipated
    assert total == pytest.approx(0.5 * impact.m * impact.v0**2, rel=1e-12)
    taken = cumulative_trapezoid(course.force * course.rate, course.t, initial=0.0)
    assert 0.5 * impact.m * impact.v0**2 - course.kinetic == pytest.approx(taken, abs=1e-7)
    assert np.all(np.diff(course.dissipated) > -1e-12)


def test_maxwell_by_integration() -> None:
    impact = MaxwellImpact(3e4, 200.0, 2.0, 0.5)

    def rates(_: float, x: np.ndarray) -> list[float]:
        _, u, f, _ = x
        return [u, -f / impact.m, impact.k * (u - f / impact.c), f * f / impact.c]

    def gone(t: float, x: np.ndarray) -> float:
        return float(x[2]) if t > 0.0 else 1.0

    gone.terminal, gone.direction = True, -1.0
    run = solve_ivp(rates, (0.0, 1.0), [0.0, 0.5, 0.0, 0.0], "DOP853", rtol=1e-11, atol=1e-13, events=gone, dense_output=True)
    course = impact.history(500)
    s, u, f, lost = run.sol(course.t)
    assert run.t_events[0][0] == pytest.approx(impact.duration, rel=1e-9)
    for mine, theirs in ((course.compression, s), (course.rate, u), (course.force, f), (course.dissipated, lost)):
        assert mine == pytest.approx(theirs, rel=1e-8, abs=1e-8 * np.abs(theirs).max())


def test_only_the_viscoelastic_restitution_depends_on_the_speed() -> None:
    slow, fast = (equivalent_laws(0.1, 0.4, 0.01, 0.3)[law] for law in ("viscoelastic", "Maxwell"))
    assert type(slow)(slow.k, slow.c, slow.m, 0.4).restitution < 0.5 * slow.restitution
    assert type(fast)(fast.k, fast.c, fast.m, 0.4).restitution == pytest.approx(fast.restitution, rel=1e-13)


def test_peaks_in_and_out_of_phase() -> None:
    """Only under the spring's law do force and compression peak together; otherwise the force peaks first."""
    for law, impact in equivalent_laws(0.2, 0.5, 8e-3, 0.3).items():
        course = impact.history(4000)
        ahead = course.t[np.argmax(course.compression)] - course.t[np.argmax(course.force)]
        assert ahead == 0.0 if law == "virtual spring" else ahead > 1e-4


def test_an_inelastic_spring_keeps_its_compression() -> None:
    course = SpringImpact(1e4, 0.0, 1.0, 1.0).history()
    assert course.rate[-1] == 0.0 and course.dissipated[-1] == 0.5 and course.kinetic[-1] == 0.0
    assert course.compression[-1] == pytest.approx(0.01)


def test_numbers_of_no_law_are_refused() -> None:
    with pytest.raises(ModelError, match=r"E540 e of an impact is 1\.5"):
        SpringImpact(1.0, 1.5, 1.0, 1.0)
    with pytest.raises(ModelError, match="E540 k"):
        SpringImpact(0.0, 0.5, 1.0, 1.0)
    with pytest.raises(ModelError, match="E540 c"):
        MaxwellImpact(1.0, float("nan"), 1.0, 1.0)
    with pytest.raises(ModelError, match="never leaves"):
        MaxwellImpact(4.0, 1.0, 1.0, 1.0)
