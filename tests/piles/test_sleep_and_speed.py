"""Bodies sleep and wake, and bodies that move more than their size in a step do not pass through each other."""

import numpy as np
import pytest
from screwbond.models import ground, prescribed_body, rigid_body

from screws.scalars import maximum
from screws.shapes import Box, Capsule, HalfSpace
from tests.inner.stepping import free_body_stepper
from tests.piles.bodies import G, ball, cuboid, floor, graph_of, refused


def test_a_tower_sleeps_until_a_ball_strikes_it():
    runs = []
    for sleep in (0.0, 1e-3):
        stack = [cuboid(f"box {k}", position=(0, 0, 0.1 * k + 0.05)) for k in range(3)]
        far = [cuboid("far", position=(1.0, 0, 0.05)), ball("ball", 0.03, position=(-1.2, 0, 0.25), velocity=(2.0, 0, 1.5))]
        made = free_body_stepper(graph_of(floor(), *stack, *far, friction=0.5), sleep=sleep)
        runs.append(made.simulate(0.7, step=0.005))
    awake, slept = runs
    assert not awake.asleep.any() and slept.asleep.max() == 4 and slept.asleep[-1] == 1
    resting = np.flatnonzero(slept.asleep == 4)
    pose = slept["box 2.pose"][resting]
    assert np.array_equal(pose, np.broadcast_to(pose[0], pose.shape)) and not slept["box 2.twist"][resting].any()
    for name in ("box 0", "box 2", "far", "ball"):
        assert np.allclose(slept[f"{name}.pose"], awake[f"{name}.pose"], atol=2e-3)
    assert np.linalg.norm(slept["box 2.twist"][-1]) > 0.1 and slept.ledger.relative_residual < 1e-12


def test_a_sleeping_box_wakes_when_its_belt_starts():
    belt = prescribed_body("belt", twist=lambda t: (0, 0, 0, 10.0 * maximum(t - 0.3, 0.0), 0, 0), shape=HalfSpace())
    made = free_body_stepper(graph_of(belt, cuboid("box", position=(0, 0, 0.05)), friction=0.4), sleep=1e-3)
    run = made.simulate(0.5, step=0.005)
    assert run.asleep[50] == 1 and run.asleep[-1] == 0
    assert run["box.twist"][-1, 3] == pytest.approx(0.4 * G * 0.2, rel=0.03)


def test_bodies_that_cannot_sleep():
    capsule = rigid_body("capsule", mass=1.0, inertia=(1, 1, 1), shape=Capsule(0.1, 0.2), position=(0, 0, 1))
    refused("balls and boxes", lambda: free_body_stepper(graph_of(floor(), capsule), sleep=1e-3).simulate(0.1, step=0.01))
    in_python = free_body_stepper(graph_of(floor(), ball("a", position=(0, 0, 1))), sleep=1e-3, backend="numpy")
    refused('backend="llvm"', lambda: in_python.simulate(0.1, step=0.01))
    refused("E551", lambda: free_body_stepper(graph_of(floor(), ball("a", position=(0, 0, 1))), sleep=-1.0))


@pytest.mark.parametrize("is_fixed, step, angle", [(True, 0.005, 0.0), (False, 0.001, 60.0)])
def test_a_bullet_does_not_pass_a_thin_plate(is_fixed, step, angle):
    way = np.array([np.sin(np.radians(angle)), 0.0, -np.cos(np.radians(angle))])
    bullet = ball("bullet", 0.005, 0.004, (0, 0, 0), position=-0.73 * way, velocity=300.0 * way)
    plate = ground("plate", shape=Box(4, 4, 0.001)) if is_fixed else cuboid("plate", (4, 4, 0.001), 125.0, (0, 0, 0))
    run = free_body_stepper(graph_of(plate, bullet, friction=0.3)).simulate(0.02, step=step)
    height = run["bullet.pose"][:, 6] - (0.0 if is_fixed else run["plate.pose"][:, 6])
    assert run.contact_count.max() == 1 and height.min() > 0.005


@pytest.mark.parametrize("miss", [0.0, 0.005, 0.02])
def test_bullets_meet_or_pass(miss):
    still = (0.0, 0.0, 0.0)
    one = ball("one", 0.005, 0.004, still, position=(-1.03, 0, 0), velocity=(300.0, 0, 0))
    other = ball("other", 0.005, 0.004, still, position=(1.0, miss, 0), velocity=(-300.0, 0, 0))
    run = free_body_stepper(graph_of(one, other)).simulate(0.02, step=0.005)
    ways = np.array([run[f"{name}.pose"][-1, 4] for name in ("one", "other")])
    if miss > 0.01:
        assert run.contact_count.max() == 0 and np.allclose(ways, (4.97, -5.0), rtol=1e-12)
    else:
        speeds = [np.linalg.norm(run[f"{name}.twist"][-1, 3:]) for name in ("one", "other")]
        assert run.contact_count.max() == 1 and run.penetration.max() < 1e-9 and max(speeds) < 290.0
        assert miss > 0.0 or np.allclose(ways, (-0.02, -0.01), atol=1e-9)


@pytest.mark.parametrize("spin, step", [(20.0, 0.005), (200.0, 5e-4)])
def test_a_rod_that_spins_strikes_a_ball(spin, step):
    """A rod 1 m long and 2 cm thick turns by a tenth of a radian per step."""
    still, at, mass = (0.0, 0.0, 0.0), 0.45, 0.05
    rod = cuboid("rod", (1.0, 0.02, 0.02), 1.0, still, angular_velocity=(0, 0, spin))
    struck = ball("ball", 0.02, mass, still, position=(at * np.cos(0.3), at * np.sin(0.3), 0))
    run = free_body_stepper(graph_of(rod, struck)).simulate(0.4 / spin, step=step)
    inertia = (1.0 + 4e-4) / 12.0
    assert np.linalg.norm(run["ball.twist"][-1, 3:]) == pytest.approx(spin * inertia * at / (inertia + mass * at**2), rel=0.08)
