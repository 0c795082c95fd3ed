"""Collisions of a cradle, a wedge and a ball with spin agree with closed forms."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body

from bondgraph import Graph, compile_model
from screws.surfaces import plane, sphere
from tests.inner.models_contacts import Impact

RADIUS, MASS = 0.1, 2.0


def ball(name, position, **start):
    moment = 0.4 * MASS * RADIUS**2 * np.ones(3)
    return rigid_body(name, mass=MASS, inertia=moment, surface=sphere(RADIUS), position=position, **start)


def touching(graph, name, a, b, law):
    part = contact(name, a, b, law=law)
    attach_contact(graph, part, a, b)


def velocity(run, name):
    return run[f"{name}.world twist.flow"][-1][3:] + np.cross(
        run[f"{name}.world twist.flow"][-1][:3], run[f"{name}.pose"][-1][4:]
    )


@functools.cache
def cradle(count):
    graph = Graph("cradle")
    along = np.array([0.6, 0.0, 0.8])
    balls = [
        ball(f"ball {k}", (2.0 * RADIUS * k + (0.05 if k else 0.0)) * along, velocity=along if k == 0 else np.zeros(3))
        for k in range(count)
    ]
    for part in balls:
        graph.add(part)
    for k in range(count - 1):
        touching(graph, f"touch {k}", balls[k], balls[k + 1], Impact(1.0))
    return compile_model(graph), along


@pytest.mark.parametrize(("how", "expected"), [("simultaneous", (-1 / 3, 2 / 3, 2 / 3)), ("sequential", (0.0, 0.0, 1.0))])
def test_a_cradle_of_three_balls(how, expected):
    compiled, along = cradle(3)
    run = compiled.simulate(0.1, impacts=how, progress=False)
    assert run.ok, run.failure
    for k, speed in enumerate(expected):
        np.testing.assert_allclose(velocity(run, f"ball {k}"), speed * along, atol=1e-9)
    assert sum(event.lost for event in run.events) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("first", ["left", "right"])
def test_a_ball_falls_straight_into_a_wedge(first):
    """Both sides of the wedge act simultaneously, whichever side is defined first, and throw the ball straight up."""
    graph, tilt = Graph("wedge"), np.pi / 6.0
    lower = RADIUS / np.cos(tilt)
    part = ball("ball", (0.0, 0.0, lower + 0.05), velocity=(0.0, 0.0, -1.0))
    graph.add(part)
    sides = {
        name: ground(name, surface=plane(5.0), quaternion=(np.cos(tilt / 2.0), 0.0, sense * np.sin(tilt / 2.0), 0.0))
        for name, sense in (("left", 1.0), ("right", -1.0))
    }
    for name in sorted(sides, reverse=first == "right"):
        graph.add(sides[name])
        touching(graph, f"on {name}", part, sides[name], Impact(0.5))
    run = compile_model(graph).simulate(0.1, progress=False)
    assert run.ok, run.failure
    hits = [event for event in run.events if event.kind.startswith("impact")]
    assert len(hits) == 1 and len(hits[0].simultaneous) == 2 and hits[0].time == pytest.approx(0.05)
    after = velocity(run, "ball")
    np.testing.assert_allclose(after[:2], 0.0, atol=1e-9)
    np.testing.assert_allclose(run["ball.twist"][-1][:3], 0.0, atol=1e-8)
    assert after[2] == pytest.approx(0.5, abs=1e-9)
    assert hits[0].lost > 0.0


def test_a_ball_with_spin_bounces_and_rolls_in_space():
    """The centre loses 2/7 of the initial velocity of the lowest point, as for a sliding sphere."""
    graph, v, w = Graph("drop"), np.array([0.5, -0.2]), np.array([3.0, -30.0])
    floor = ground("floor", surface=plane(5.0))
    part = ball("ball", (0.0, 0.0, RADIUS + 0.3), velocity=(*v, 0.0), angular_velocity=(*w, 0.0), gravity=(0.0, 0.0, -9.81))
    for body in (floor, part):
        graph.add(body)
    touching(graph, "touch", part, floor, Impact(0.5, friction=0.2))
    run = compile_model(graph).simulate(2.0, progress=False)
    assert run.ok, run.failure
    flow = v + RADIUS * np.array([-w[1], w[0]])
    np.testing.assert_allclose(velocity(run, "ball")[:2], v - 2.0 / 7.0 * flow, atol=1e-9)
    assert min(event.lost for event in run.events) > -1e-9 and run.ledger.relative_residual < 1e-7
