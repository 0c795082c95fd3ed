"""Formulas, captions and numbers of Bortoff 2020 (BO20), as printed and as corrected."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from screwbond.models.delta import TouchPlan
from screwbond.models.maze import MazeParameters, analyse, maze_graph

from bondgraph import R, compile_model, simulate
from bondgraph.analysis import linearise
from examples.bouncing_ball import on_constraint
from tests.inner.models_maze import AT_GATE, DISTANCE, ROLLING

MASS, GRAVITY = 1.0, 9.81
A0, A2 = 100.0, 1e6


@cache
def bouncing(a1, a0=A0):
    return simulate(on_constraint(a1, a0), 8.0, samples=1e-3, rtol=1e-9)


def contacts(run, kind="touches"):
    return [event for event in run.events if event.kind == kind]


def heights(run):
    """Return the greatest height before each contact, m, from the energy at that contact."""
    slot = run.program.layout
    speeds = np.array([event.x_before[slot["ball.p"].start] / MASS for event in contacts(run)])
    return speeds**2 / (2.0 * GRAVITY)


def spring(h):
    return A0 * h + A2 * h**3


def fifth_contact():
    """Return, for a1 = 0, the time at which h passes through zero after the fifth contact, lambda at that time, and the
    time at which lambda passes through zero."""
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
    """lambda = m (g - a1 h' - a0 h - a2 h^3), from m h'' = lambda - m g; the printed m (g + a0 h + a2 h^3) would pull."""
    for a1 in (0.0, 10.0):
        run = bouncing(a1)
        h, force = run["floor.h"], run["floor.multiplier"]
        deep = (force > 0.0) & (h < 0.3 * h.min())
        assert deep.sum() > 5
        right = MASS * (GRAVITY - a1 * run["velocity.flow"] - spring(h))
        assert np.allclose(force[deep], right[deep], rtol=1e-9)
        assert np.all(MASS * (GRAVITY + spring(h))[deep] < 0.0)


def test_captions_of_figures_2_and_3_name_alpha_0_alpha_1():
    """The first "alpha_1", 100, is alpha_0, since the ball gains height with alpha_1 = 0 (fig. 3) and stays on the floor with
    100."""
    assert np.all(np.diff(heights(bouncing(0.0))) > 0.01)
    assert len(contacts(bouncing(100.0))) == 1
    assert bouncing(100.0)["floor.h"][-1] == pytest.approx(0.0, abs=1e-5)


def test_caption_of_figure_2_has_another_alpha_1():
    """Four bounces before rest require a1 = 10. With 1, as printed, the fourth bounce is still 0.8 m high."""
    run = bouncing(10.0)
    assert len(contacts(run, "lets go")) == 4 and run.events[-1].kind == "touches"
    assert run["floor.multiplier"][-1] == pytest.approx(MASS * GRAVITY, rel=1e-8)
    longer = bouncing(1.0)
    assert heights(longer)[4] > 0.75 and len(contacts(longer, "lets go")) > 8


def test_times_of_figure_4():
    """h passes zero first, at 4.3576 s with lambda = m g, and lambda at 4.3620 s; the paper prints 4.356 s after 4.262 s."""
    back, force, gone = fifth_contact()
    assert back == pytest.approx(4.3576, abs=1e-4) and force == pytest.approx(MASS * GRAVITY, abs=0.1)
    assert gone == pytest.approx(4.3620, abs=1e-4) and gone > back
    let_go = contacts(bouncing(0.0), "lets go")[4].time
    assert let_go == pytest.approx(gone, abs=2e-5)
    assert abs(let_go - 4.262) > 0.05
    assert contacts(bouncing(0.0))[4].time > 4.262


def test_a_ball_that_is_off_when_it_is_let_go_is_free_at_once():
    """In state 2 the listing waits for an edge of h > 0, which never comes if h is already positive (fig. 3 and 4)."""
    run = bouncing(0.0)
    slot = run.program.layout
    let_go, off = contacts(run, "lets go"), contacts(run, "is off")
    assert len(let_go) > 3
    assert all(event.x_before[slot["floor.h"].start] > 0.0 for event in let_go)
    assert [event.time for event in let_go] == [event.time for event in off]


def test_distance_of_figure_13():
    """ "Within 5 mm" at 2.5 s must mean 1.9 mm, at 0.2 mm/s and with contact at 12 s; from 5 mm, contact would occur at 27.5
    s."""
    plan = TouchPlan()
    assert (plan.arrive, plan.contact, plan.speed) == (2.5, 12.0, 2e-4)
    assert plan.near == pytest.approx(1.9e-3, rel=1e-12)
    assert TouchPlan(contact=27.5).near == pytest.approx(5e-3, rel=1e-12)


# --- the ball maze, section 3 -----------------------------------------------------------------------------------------

MAZE = MazeParameters()


def on_ring(i, theta, q1=0.3, q4=-0.7):
    """Return q of a ball that touches ring i from outside, at an angle from the top to the right."""
    r = MAZE.radii[i - 1] + MAZE.ball_radius
    return np.array([q1, r * np.sin(theta), r * np.cos(theta), q4])


def test_equation_9a_is_the_distance_from_the_ring():
    """Equation (9a) is zero where a ball of radius r_b touches a ring of radius r_i from outside; the paper prints + (r_i +
    r_b)^2."""
    for i in MAZE.rings:
        r, b = MAZE.radii[i - 1], MAZE.ball_radius
        for theta in (-0.4, 0.0, 0.9):
            q = on_ring(i, theta)
            assert abs(DISTANCE(r, b, q[1:3])) < 1e-12
            assert DISTANCE(r, b, 1.01 * q[1:3]) > 0.0 > DISTANCE(r, b, 0.99 * q[1:3])
            assert q[0] ** 2 + q[1] ** 2 + (r + b) ** 2 > 1.0


def slip(i, q, v):
    """Return the velocity at which the ball slips along the ring."""
    centre, out = np.array([q[1], q[2], 0.0]), np.array([q[1], q[2], 0.0]) / np.hypot(q[1], q[2])
    point = centre - MAZE.ball_radius * out
    of_ball = np.array([v[1], v[2], 0.0]) + np.cross([0.0, 0.0, v[3]], point - centre)
    of_ring = np.cross([0.0, 0.0, v[0]], point)
    along = np.array([out[1], -out[0], 0.0])
    return float(along @ (of_ball - of_ring))


def test_equation_9b_needs_the_radius_of_the_balls_centre():
    """The rate of (9b) is the slip if the angle's rate is multiplied by r_i + r_b, not r_i; atan of q2 / q3 jumps where q3 =
    0."""
    for i in MAZE.rings:
        r, b = MAZE.radii[i - 1], MAZE.ball_radius
        q, zero = on_ring(i, 0.5), np.array([0.0, 0.0, 1.0, 0.0])
        spinning = 0.8 * np.array([q[2], -q[1]])  # along the ring
        v = np.array([0.4, *spinning, -1.3])

        def h2(q, r=r, b=b, zero=zero):
            return ROLLING(r, b, q[0], q[1:3], q[3], zero[0], zero[1:3], zero[3])

        def printed(q, r=r, b=b):
            return b * q[3] + r * q[0] + r * np.arctan(q[1] / q[2])

        step = 1e-6
        rates = [(h(q + step * v) - h(q - step * v)) / (2.0 * step) for h in (h2, printed)]
        assert rates[0] == pytest.approx(slip(i, q, v), rel=1e-8)
        assert abs(rates[1] - slip(i, q, v)) == pytest.approx(b * 0.8, rel=1e-8)


def test_equation_10_has_radii_too_many():
    """Equation (10) is zero where the gate of the turned maze is under the ball; with a radius in metres as a factor, the
    equation is zero elsewhere."""
    start = 0.0
    for i, gate in zip(MAZE.rings, MAZE.gates, strict=True):
        sense = 1 if gate > start else -1
        for theta in (-0.2, 0.1):
            q1 = gate - theta
            ball = on_ring(i, theta)[1:3]
            at = 0.5 * np.pi - gate + q1  # the gate, counterclockwise from the right
            assert np.allclose(np.array([np.cos(at), np.sin(at)]) * np.hypot(*ball), ball)
            turns = 0.0 if sense > 0 else 2.0 * np.pi
            assert abs(AT_GATE(q1, ball, gate, turns)) < 1e-12
            assert AT_GATE(q1 + 0.01 * sense, ball, gate, turns) == pytest.approx(0.01)
            printed = sense * (q1 + MAZE.radii[i - 1] * np.arctan(ball[0] / ball[1]) - gate)
            assert abs(printed) > 0.07
        start = gate


def test_poles_of_the_maze_come_in_pairs():
    """The sum of the poles other than those of the constraints is zero without damping and negative with damping; that of the
    printed poles, 1.4 and -1.1, is positive."""
    for i in MAZE.rings:
        poles = analyse(MAZE, i).poles
        own = np.sort(poles[np.abs(poles + 5.0) > 1e-2].real)
        assert len(own) == 4 and np.allclose(own, -own[::-1], atol=1e-6) and np.allclose(own[1:3], 0.0, atol=1e-6)
    assert own.max() > 1.4 and analyse(MAZE, 1).poles.real.max() == pytest.approx(1.4, abs=1e-6)
    damped = maze_graph()
    damped.connect(damped.parts["maze"], R("bearing", 2e-3)).connect(damped.parts["spin"], R("air", 1e-5))
    top = {"q.ball": (0.0, 4.1), "landing.ball": (0.0, 4.1)}
    linear = linearise(compile_model(damped), initial=top, parameters={"u1.k": 0.0, "u2.k": 0.0}, modes={"course": "ring 1"})
    bodies = [k for k, name in enumerate(linear.states) if not name.startswith("lead")]
    assert np.trace(linear.A[np.ix_(bodies, bodies)]) + 4.0 * 5.0 < -0.1
