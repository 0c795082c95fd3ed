"""Bortoff 2020 (BO20): the bouncing ball's captions and formula, and the times of the soft touch, as printed and as right."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bondgraph import simulate
from examples.bouncing_ball import on_constraint
from models.delta import TouchPlan

MASS, GRAVITY = 1.0, 9.81
A0, A2 = 100.0, 1e6


@cache
def bouncing(a1, a0=A0):
    return simulate(on_constraint(a1, a0), 8.0, samples=1e-3, rtol=1e-9)


def contacts(run, kind="touches"):
    return [event for event in run.events if event.kind == kind]


def heights(run):
    """Highest place before each contact, m, from the energy at it."""
    slot = run.program.layout
    speeds = np.array([event.x_before[slot["ball.p"].start] / MASS for event in contacts(run)])
    return speeds**2 / (2.0 * GRAVITY)


def spring(h):
    return A0 * h + A2 * h**3


def fifth_contact():
    """Times from the fifth contact, a1 = 0, until h, and until lambda, pass zero: classical Runge-Kutta, 1e-5 s a step."""
    touch = contacts(bouncing(0.0))[4]
    speed = touch.x_before[bouncing(0.0).program.layout["ball.p"].start] / MASS
    x, t, dt, rows = np.array([0.0, speed]), touch.time, 1e-5, []

    def rate(x):
        return np.array([x[1], -spring(x[0])])

    while t < touch.time + 0.06:
        a = rate(x)
        b = rate(x + 0.5 * dt * a)
        c = rate(x + 0.5 * dt * b)
        x, t = x + dt / 6.0 * (a + 2.0 * b + 2.0 * c + rate(x + dt * c)), t + dt
        rows.append((t, x[0], MASS * (GRAVITY - spring(x[0]))))
    t, h, force = np.array(rows).T
    back = int(np.argmax(h > 0.0))
    gone = int(np.argmax(force < 0.0))
    return t[back], force[back], t[gone]


def test_force_of_the_ball_has_other_signs():
    """lambda = m (g - a1 h' - a0 h - a2 h^3), from m h'' = lambda - m g; printed is m (g + a0 h + a2 h^3), which pulls."""
    for a1 in (0.0, 10.0):
        run = bouncing(a1)
        h, force = run["floor.h"], run["floor.multiplier"]
        deep = (force > 0.0) & (h < 0.3 * h.min())
        assert deep.sum() > 5
        right = MASS * (GRAVITY - a1 * run["velocity.flow"] - spring(h))
        assert np.allclose(force[deep], right[deep], rtol=1e-9)
        assert np.all(MASS * (GRAVITY + spring(h))[deep] < 0.0)


def test_captions_of_figures_2_and_3_name_alpha_0_alpha_1():
    """The first "alpha_1", 100, is alpha_0: with alpha_1 = 0 the ball gains height (fig. 3), with 100 it stays on the floor."""
    assert np.all(np.diff(heights(bouncing(0.0))) > 0.01)
    assert len(contacts(bouncing(100.0))) == 1
    assert bouncing(100.0)["floor.h"][-1] == pytest.approx(0.0, abs=1e-5)


def test_caption_of_figure_2_has_another_alpha_1():
    """Four bounces, then rest: so with alpha_1 = 10. With 1, as printed, the fourth bounce is still 0.8 m high."""
    run = bouncing(10.0)
    assert len(contacts(run, "lets go")) == 4 and run.events[-1].kind == "touches"
    assert run["floor.multiplier"][-1] == pytest.approx(MASS * GRAVITY, rel=1e-8)
    longer = bouncing(1.0)
    assert heights(longer)[4] > 0.75 and len(contacts(longer, "lets go")) > 8


def test_times_of_figure_4():
    """h passes zero first, at 4.3576 s with lambda = m g, then lambda, at 4.3620 s; printed is 4.356 after 4.262."""
    back, force, gone = fifth_contact()
    assert back == pytest.approx(4.3576, abs=1e-4) and force == pytest.approx(MASS * GRAVITY, abs=0.1)
    assert gone == pytest.approx(4.3620, abs=1e-4) and gone > back
    let_go = contacts(bouncing(0.0), "lets go")[4].time
    assert let_go == pytest.approx(gone, abs=2e-5)
    assert abs(let_go - 4.262) > 0.05
    assert contacts(bouncing(0.0))[4].time > 4.262


def test_a_ball_that_is_off_when_it_is_let_go_is_free_at_once():
    """The listing waits in its state 2 for an edge of h > 0, which never comes where h > 0 holds already (fig. 3 and 4)."""
    run = bouncing(0.0)
    slot = run.program.layout
    let_go, off = contacts(run, "lets go"), contacts(run, "is off")
    assert len(let_go) > 3
    assert all(event.x_before[slot["floor.h"].start] > 0.0 for event in let_go)
    assert [event.time for event in let_go] == [event.time for event in off]


def test_distance_of_figure_13():
    """What is "within 5 mm" at 2.5 s are 1.9 mm, with 0.2 mm/s then and contact at 12 s; 5 mm away it came at 27.5 s."""
    plan = TouchPlan()
    assert (plan.arrive, plan.contact, plan.speed) == (2.5, 12.0, 2e-4)
    assert plan.near == pytest.approx(1.9e-3, rel=1e-12)
    assert TouchPlan(contact=27.5).near == pytest.approx(5e-3, rel=1e-12)
