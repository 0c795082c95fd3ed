"""Ideal contacts that start closed, on floors of any orientation, agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body
from screwbond.models.contacts import Impact, ThreeState

from bondgraph import Graph, RunEndedWarning, compile_model, simulate
from screws.surfaces import plane, sphere

RADIUS, G = 0.1, 9.81
UP = np.array([[0.0, 0.0, 1.0], [0.13, -0.55, 0.82], [-0.74, 0.6, -0.3], [0.3, 0.9, -0.1]])
UP /= np.linalg.norm(UP, axis=1)[:, None]


def turned_to(up):
    """Return the quaternion (w, x, y, z) of the shortest rotation from z to `up`."""
    q = np.array([1.0 + up[2], -up[1], up[0], 0.0])
    return q / np.linalg.norm(q)


def on_a_floor(up, law, velocity, off=(0.0, 0.0, 0.0)):
    graph, floor = Graph("start"), ground("floor", surface=plane(), position=tuple(off), quaternion=tuple(turned_to(up)))
    ball = rigid_body(
        "ball",
        mass=1.0,
        inertia=(0.4 * RADIUS**2,) * 3,
        surface=sphere(RADIUS),
        position=tuple(off + RADIUS * up),
        velocity=tuple(velocity),
        gravity=tuple(-G * up),
    )
    attach_contact(graph, contact("touch", floor, ball, law=law), floor, ball)
    return graph


@pytest.mark.parametrize(("up", "restitution"), [*zip(UP, (0.7, 1.0, 0.0, 1.0), strict=True)])
def test_a_ball_that_touches_stays(up, restitution):
    """Rounding errors of the gap and its rate cause a few events at the start, and none later."""
    off = np.array([0.37, -1.21, 0.58])
    run = simulate(on_a_floor(up, Impact(restitution, friction=0.3), np.zeros(3), off), 0.5, progress=False)
    assert run.ok, run.failure
    assert len(run.events) < 8 and all(event.time == 0.0 for event in run.events)
    assert np.abs(run["touch.gap"]).max() < 1e-12
    np.testing.assert_allclose(run["touch.normal force"], G, rtol=1e-9)


@pytest.mark.parametrize(("up", "restitution"), [*zip(UP[1:], (0.5, 1.0, 0.0), strict=True)])
def test_a_ball_that_touches_and_slides_comes_to_roll(up, restitution):
    """A ball that slides at the speed v with friction mu rolls after 2 v / (7 mu g), with 5/7 of its speed."""
    mu, velocity = 0.2, np.cross(up, [0.3, 1.0, 0.2])
    speed = np.linalg.norm(velocity)
    run = simulate(on_a_floor(up, Impact(restitution, friction=mu), velocity), 0.5, progress=False)
    assert run.ok, run.failure
    (stuck,) = (event.time for event in run.events if event.kind == "stick")
    assert stuck == pytest.approx(2.0 * speed / (7.0 * mu * G), rel=1e-7)
    spin, linear = run["ball.twist"][-1][:3], run["ball.twist"][-1][3:]
    assert np.linalg.norm(linear) == pytest.approx(5.0 / 7.0 * speed, rel=1e-7)
    assert np.linalg.norm(spin) == pytest.approx(5.0 / 7.0 * speed / RADIUS, rel=1e-7)


def test_a_ball_that_touches_and_rolls_keeps_rolling():
    """The speed of approach is a rounding error, which differs with the place of the ball."""
    rng, floor = np.random.default_rng(1), ground("floor", surface=plane())
    ball = rigid_body(
        "ball",
        mass=1.0,
        inertia=(0.4 * RADIUS**2,) * 3,
        surface=sphere(RADIUS),
        position=(0.0, 0.0, RADIUS),
        gravity=(0.0, 0.0, -G),
    )
    compiled = compile_model(attach_contact(Graph("roll"), contact("touch", floor, ball, law=Impact(0.5, friction=0.5))))
    for x, y, *spin in rng.normal(size=(12, 5)):
        velocity, pose = np.cross(spin, [0.0, 0.0, RADIUS]), np.array([1.0, 0.0, 0.0, 0.0, x, y, RADIUS])
        momentum = np.concatenate([0.4 * RADIUS**2 * np.array(spin), velocity])
        run = compiled.simulate(0.1, initial={"ball.inertia.p": momentum, "ball.pose.H": pose}, progress=False)
        assert run.ok, run.failure
        assert run["ball.pose"][-1, 4:] == pytest.approx(pose[4:] + 0.1 * velocity, abs=1e-12)


def leaning(yaw):
    """Return the quaternion of a rod that is inclined at atan(2)."""
    lean = np.arctan(2.0)
    turn, tip = np.array([np.cos(yaw / 2.0), 0.0, 0.0, np.sin(yaw / 2.0)]), np.array([np.cos(lean / 2.0), np.sin(-lean / 2.0)])
    return turn[0] * tip[0], -turn[3] * tip[1], turn[0] * tip[1], turn[3] * tip[0]


def rod(law, yaw, speed=1.0, exchanged=False, end=1e-6, half=0.5):
    """Return a rod of 1 kg, inclined at atan(2), which slides on its round end away from the side to which it leans."""
    moment = half**2 / 3.0
    graph, floor = Graph("rod"), ground("floor", surface=plane())
    body = rigid_body(
        "rod",
        mass=1.0,
        inertia=(1e-3 * moment, moment, moment),
        centre_of_mass=(half, 0.0, 0.0),
        surface=sphere(end),
        position=(0.0, 0.0, end),
        quaternion=leaning(yaw),
        velocity=(-speed * np.cos(yaw), -speed * np.sin(yaw), 0.0),
        gravity=(0.0, 0.0, -G),
    )
    pair = (body, floor) if exchanged else (floor, body)
    return attach_contact(graph, contact("touch", *pair, law=law))


def normal_force_of_rod(mu):
    """Return the normal force of the rod, G / (1 + 3 cos a (cos a - mu sin a)) at tan a = 2."""
    return G / (1.6 - 1.2 * mu)


@pytest.mark.parametrize("yaw", [0.0, 1.1])
def test_the_rod_of_painleve_in_space(yaw):
    """At mu = 4/3 the normal force of the closed form is infinite; a run above it ends."""
    compiled, coefficient = compile_model(rod(Impact(0.0, friction=1.0), yaw)), "touch.friction cone.coefficient"
    for mu in (1.0, 1.3):
        run, force = compiled.simulate(1e-5, parameters={coefficient: mu}, progress=False), normal_force_of_rod(mu)
        assert run.ok, run.failure
        assert len(run.events) < 8 and run["touch.normal force"][0] == pytest.approx(force, rel=1e-4)
    with pytest.warns(RunEndedWarning, match="E324"):
        run = compiled.simulate(1e-5, parameters={coefficient: 1.35}, progress=False)
    assert run.failure is not None and run.failure.time < 1e-12
    assert 'the parameter "touch.friction cone.coefficient", 1.0 unless' in run.failure.reason


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("law", [Impact(0.0, friction=1.5), ThreeState(20.0, 100.0, friction=1.5)], ids=["Impact", "ThreeState"])
def test_the_rod_of_painleve_that_rests_sticks(law, exchanged):
    """A rod at rest turns about its end, with the normal force G (1 - 3/4 cos(a)^2), at any friction that holds the end; the
    slip is a rounding error, of any direction. A rod that slides, however slowly, has no solution."""
    compiled = compile_model(rod(law, 0.0, 0.0, exchanged))
    for yaw in (0.0, 1.1, 4.4):
        start = {"rod.pose.H": [*leaning(yaw), 0.0, 0.0, 1e-6]}
        for mu in (1.5, 3.0):
            parameters = {"touch.friction cone.coefficient": mu}
            run = compiled.simulate(1e-4, initial=start, parameters=parameters, progress=False)
            assert run.ok, run.failure
            assert run["touch.normal force"][-1] == pytest.approx(0.85 * G, rel=1e-6)
            assert run["touch.friction.mode"][-1] == 0.0
    with pytest.warns(RunEndedWarning, match="E324"):
        assert not simulate(rod(law, 4.4, 1e-6, exchanged), 1e-4, progress=False).ok
