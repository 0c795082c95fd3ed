"""Restitution of contact laws agrees with closed forms, at every speed down to zero."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import lambertw
from screwbond.models.contacts import ContactLaw, Impact, Maxwell, VirtualSpring, Viscoelastic

from bondgraph import simulate
from tests.inner.run import Result
from tests.models.contacts.drops import FALL, MASS, dropped, times


@cache
def struck(law: ContactLaw, speed: float) -> Result:
    return simulate(
        dropped(law, height=1e-3, gravity=0.0, speed=speed),
        1e-3 / speed + 0.3,
        rtol=1e-12,
        samples=1e-3 / speed + 0.3,
        progress=False,
    )


def rebound(law: ContactLaw, speed: float = 1.3) -> float:
    run = struck(law, speed)
    assert run.ok and run.ledger.relative_residual < 1e-10
    v = float(run["touch.kinematics.d'"][-1])
    loss = run.ledger.dissipated[-1] + run.ledger.lost[-1] - run.ledger.supplied[-1]
    assert run.ledger.stored[0] - run.ledger.stored[-1] == pytest.approx(loss, abs=1e-11)
    return v / speed


@pytest.mark.parametrize("w0", [0.1, 1.0, 5.0])
def test_restitution_of_the_viscoelastic_law(w0: float) -> None:
    """With Lambert's W and w0 = c |v0| / k, e = (1 + W0(-exp(ln(1 + w0) - w0 - 1))) / w0."""
    k, speed = 1e5, 1.3
    exact = (1.0 + lambertw(-np.exp(-w0 + np.log(1.0 + w0) - 1.0)).real) / w0
    assert rebound(Viscoelastic(k, w0 * k / speed), speed) == pytest.approx(exact, rel=1e-10)


def test_the_viscoelastic_law_never_pulls() -> None:
    """The force is zero where an external force separates the bodies faster than v = k/c, which the law alone never reaches."""
    law = Viscoelastic(1e5, 1e6)
    run = simulate(dropped(law, height=1e-3, gravity=0.0, speed=0.5), 0.05, rtol=1e-12, samples=1e-5, progress=False)
    inside = run["touch.gap"] < 0.0
    assert run["touch.normal force"].min() >= 0.0
    assert (run["touch.normal force"][inside][1:-1] > 0.0).all()
    assert run["touch.kinematics.d'"].max() < law.k / law.c
    # An upward weight, 1000 m/s^2, starting inside: k s (1 - c/k v) would be negative from v = 0.1 m/s.
    lifted = simulate(dropped(law, height=-1e-2, gravity=-1e4), 2e-3, rtol=1e-10, samples=1e-5, progress=False)
    inside, rate = lifted["touch.gap"] < 0.0, lifted["touch.kinematics.d'"]
    fast = inside & (rate > 1.01 * law.k / law.c)
    assert fast.any() and not lifted["touch.normal force"][fast].any() and lifted["touch.normal force"].min() >= 0.0
    assert lifted.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("e", [0.2, 0.7, 1.0])
def test_the_virtual_spring(e: float) -> None:
    """Contact lasts a quarter period of k plus a quarter period of k/e^2, and ends at the penetration (1 - e^2) v0 / omega."""
    law, speed, omega = VirtualSpring(1e5, e), 1.3, np.sqrt(1e5 / MASS)
    assert rebound(law, speed) == pytest.approx(e, rel=1e-9)
    run, start = struck(law, speed), 1e-3 / speed
    (top,), (released,) = times(run, "end of compression"), times(run, "contact off")
    assert top - start == pytest.approx(0.5 * np.pi / omega, rel=1e-8)
    assert released - top == pytest.approx(e * 0.5 * np.pi / omega, rel=1e-8)
    (event,) = (event for event in run.events if event.kind == "contact off")
    depth = -event.x_before[run.program.layout["touch.kinematics.d"].start]
    assert depth == pytest.approx((1.0 - e * e) * speed / omega, abs=1e-10)
    before, after = run.at_events("touch.normal force")
    (place,) = (i for i, event in enumerate(run.events) if event.kind == "end of compression")
    assert before[place] == pytest.approx(speed * omega * MASS, rel=1e-9) and after[place] == pytest.approx(
        before[place], rel=1e-9
    )


@pytest.mark.parametrize("damping", [2e2, 1e3, 1e4])
def test_the_maxwell_model(damping: float) -> None:
    """At every speed e = exp(-pi delta / omega_d), and contact lasts pi / omega_d."""
    law, k = Maxwell(1e5, damping), 1e5
    delta = 0.5 * k / damping
    omega = np.sqrt(k / MASS - delta**2)
    for speed in (0.5, 1.3):
        assert rebound(law, speed) == pytest.approx(np.exp(-np.pi * delta / omega), rel=1e-8)
        (released,) = times(struck(law, speed), "contact off")
        assert released - 1e-3 / speed == pytest.approx(np.pi / omega, rel=1e-8)


def test_an_overdamped_maxwell_model_never_lets_go() -> None:
    run = simulate(dropped(Maxwell(1e5, 1e2), height=1e-3, gravity=0.0, speed=0.5), 0.3, rtol=1e-10, progress=False)
    assert [event.kind for event in run.events] == ["contact on"] and run.ok
    assert 0.0 <= -run["touch.kinematics.d'"][-1] < 1e-6 and run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("e", [0.0, 1.0])
def test_restitution_of_nothing_and_of_all(e: float) -> None:
    run = simulate(dropped(Impact(e)), 3.0, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-12
    if e:
        assert times(run, "impact") == pytest.approx([FALL, 3.0 * FALL, 5.0 * FALL], abs=1e-12)
    else:
        assert np.abs(run["touch.gap"][run.t > FALL]).max() < 1e-12
