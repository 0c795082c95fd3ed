"""Head-on impacts, a ball on an incline, and a ball that leaves another ball agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from tests.inner.models_two_bodies import run_scenario
from tests.models.cases import PLANE, fixed, free, frictionless, scenario, sphere, uniform

G = 9.81
# About z turned onto y: the body's z axis is the axis of rolling in the x-z plane, and its contact points lie on u = pi/2,
# where the polar frame does not turn and no chart ends.
LYING = (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)
STICKING = ["v_x", "v_y", "v_z"]


def spheres(c_n: float, m1: float = 0.3, m2: float = 0.2, k: float = 5e4, speed: float = 0.8):
    one = free(sphere(0.03), m1, (0, 0, 0), v=(0.1, 0, 0))
    two = free(sphere(0.02), m2, (0.06, 0, 0), (0.5, 0.3, 0.2, 0.7), v=(0.1 - speed, 0, 0))
    return (run_scenario(scenario(0.03, 0.001, one, two, frictionless(k, c_n)), progress=False), m1 * m2 / (m1 + m2), k, speed)


def test_elastic_impact_of_spheres():
    """The duration is pi sqrt(m_r / k), and the peak force sqrt(k m_r) v."""
    run, mass, k, speed = spheres(0.0)
    ((on, off),) = run.contact_intervals()
    assert on == pytest.approx(0.01 / speed, abs=1e-12)
    assert off - on == pytest.approx(np.pi * np.sqrt(mass / k), abs=1e-11)
    when, peak = run.peak_force()
    assert peak == pytest.approx(speed * np.sqrt(k * mass), rel=1e-8)
    assert when == pytest.approx(0.5 * (on + off), abs=1e-6)
    v1, v2 = run.trajectory["v1"][-1], run.trajectory["v2"][-1]
    assert np.abs(v2 - v1 - [speed, 0, 0]).max() < 1e-10
    assert np.abs(0.3 * v1 + 0.2 * v2 - [0.3 * 0.1 + 0.2 * (0.1 - speed), 0, 0]).max() < 1e-14
    assert np.abs(run.trajectory["w1_body"]).max() < 1e-10 and np.abs(run.trajectory["w2_body"]).max() < 1e-10


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8, 2.0])
def test_restitution_of_a_damped_spring(share):
    """With delta = c / (2 m_r) and w0^2 = k / m_r, restitution is the speed at t* over the speed at impact.

    At t* the force is zero, and it stays zero where spring and damper together would pull.
    """
    k, mass = 5e4, 0.12
    c = 2.0 * share * np.sqrt(k * mass)
    run, mass, k, speed = spheres(c)
    delta = 0.5 * c / mass
    root = np.emath.sqrt(k / mass - delta**2)
    # x follows an oscillator with unit initial speed; in complex arithmetic the overdamped case has the same formula.
    if share < 1.0:
        t_star = np.arctan2(2.0 * delta * root, delta**2 - root**2) / root
    else:
        s = abs(root)
        t_star = np.arctanh(2.0 * delta * s / (delta**2 + s**2)) / s
    expected = np.exp(-delta * t_star) * (delta / root * np.sin(root * t_star) - np.cos(root * t_star)).real
    v = run.trajectory["v2"][:, 0] - run.trajectory["v1"][:, 0]
    assert v[0] == pytest.approx(-speed, rel=1e-14)
    assert float(v[-1] / speed) == pytest.approx(float(np.real(expected)), abs=1e-9)
    assert run.trajectory["fn"].min() >= 0.0
    ledger = run.result.ledger
    assert ledger.relative_residual < 1e-9
    lost = 0.5 * mass * speed**2 * (1.0 - float(np.real(expected)) ** 2)
    assert ledger.dissipated[-1] == pytest.approx(lost, rel=1e-8)
    assert abs(ledger.lost[-1]) < 1e-15, "the spring is relaxed when the contact ends"


@pytest.mark.parametrize("rolls", [True, False])
def test_sphere_on_an_incline(rolls):
    """The acceleration is 5/7 g sin(theta) in rolling and g sin(theta) without friction."""
    theta, k, r, m = np.radians(20.0), 1e5, 0.02, 0.1
    incline = fixed(PLANE, (0.3, -0.2, 0.1), (np.cos(theta / 2), 0.0, np.sin(theta / 2), 0.0))
    normal, down = np.array([np.sin(theta), 0, np.cos(theta)]), np.array([np.cos(theta), 0, -np.sin(theta)])
    depth = m * G * np.cos(theta) / k
    start = np.array([0.3, -0.2, 0.1]) + (r - depth) * normal
    law = {"constrained": STICKING, "k_n": k, "c_n": 60.0, "k_t": k, "r_t": 60.0} if rolls else frictionless(k)
    ball = free(sphere(r), m, start, LYING)
    run = run_scenario(scenario(0.4, 0.01, incline, ball, law, uniform(0, 0, -G)), progress=False)
    v, t = run.trajectory["v2"] @ down, run.trajectory["t"]
    late = t > 0.15
    slope = np.polyfit(t[late], v[late], 1)[0]
    assert slope == pytest.approx((5.0 / 7.0 if rolls else 1.0) * G * np.sin(theta), rel=1e-8)
    assert np.abs(run.trajectory["v2"] @ normal).max() < 1e-8
    spin = run.trajectory["w2_body"][-1, 2] * r
    assert spin == pytest.approx(v[-1] if rolls else 0.0, abs=1e-5)
    if rolls:
        friction = np.linalg.norm(run.trajectory["force_on_2_world"] - run.trajectory["fn"][:, None] * normal, axis=1)
        assert friction[-1] == pytest.approx(2.0 / 7.0 * m * G * np.sin(theta), rel=1e-7)


@pytest.mark.parametrize(("rolls", "share"), [(False, 2.0 / 3.0), (True, 10.0 / 17.0)])
def test_sphere_leaves_a_fixed_sphere(rolls, share):
    """The sphere starts at rest at theta0 and leaves where cos(theta) = `share` cos(theta0), in the limit of a stiff
    contact."""
    R, r, m, k = 0.1, 0.02, 0.1, 1e6
    theta0 = np.radians(15.0)
    depth = m * G * np.cos(theta0) / k
    start = (R + r - depth) * np.array([np.sin(theta0), 0, np.cos(theta0)])
    law = {"constrained": STICKING, "k_n": k, "c_n": 0.0, "k_t": k, "r_t": 60.0} if rolls else frictionless(k)
    ball = free(sphere(r), m, start, LYING)
    run = run_scenario(scenario(0.5, 0.001, fixed(sphere(R)), ball, law, uniform(0, 0, -G)), progress=False)
    ((_, off),) = run.contact_intervals()
    sides, _ = run.result.at_events("sphere 2.pose")
    p = next(s[4:] for s, e in zip(sides, run.result.events, strict=True) if e.kind == "contact off")
    assert 0.1 < off < 0.5
    assert p[2] / np.linalg.norm(p) == pytest.approx(share * np.cos(theta0), abs=2e-4)
    assert run.result.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("depth", [1e-6, 1e-8])
@pytest.mark.parametrize("flight", [0.0953, 3.953])
def test_grazing_contact_is_not_missed(depth, flight):
    """A ball grazes another for 2 sqrt(2 R depth) / v, with the impulse 2/3 k depth times this duration."""
    R, speed, k, m = 0.05, 1.0, 1e5, 0.1
    ball = free(sphere(0.02), m, (-flight, R - depth, 0), v=(speed, 0, 0))
    run = run_scenario(scenario(flight + 1.0, 0.1, fixed(sphere(0.03)), ball, frictionless(k)), progress=False)
    ((on, off),) = run.contact_intervals()
    duration = 2.0 * np.sqrt(2.0 * R * depth) / speed
    # The push lifts the ball off early, by a fraction of order depth k / (m v^2 / R).
    share = k * depth * R / (m * speed**2)
    assert off - on == pytest.approx(duration, rel=max(1e-3, 2.0 * share))
    impulse = k * depth * duration * 2.0 / 3.0
    assert run.trajectory["v2"][-1, 1] * m == pytest.approx(impulse, rel=max(2e-3, 2.0 * share))


def test_start_exactly_touching_and_at_rest():
    k, m = 1e4, 0.1
    ball = free(sphere(0.02), m, (0, 0, 0.02))
    run = run_scenario(scenario(0.5, 0.01, fixed(PLANE), ball, frictionless(k, 25.0), uniform(0, 0, -G)), progress=False)
    assert run.contact_intervals()[0][0] < 1e-9
    assert run.trajectory["gap"][-1] == pytest.approx(-m * G / k, abs=1e-10)
