"""Integrated contact coordinates do not drift from the closest points of the poses in long runs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import attach_contact, contact

from bondgraph import Graph, compile_model
from screws import inverse, pose_from_state
from screws.contact import closest_points, contact_pose, contact_rates, drift, motion_rate
from screws.surfaces import ellipsoid, plane, sphere
from tests.models.independent import rotation

R, M, K, G = 0.02, 0.1, 2e4, 9.81
TILTED = np.array([0.8, 0.3, 0.4, 0.33]) / np.linalg.norm([0.8, 0.3, 0.4, 0.33])
SLANTED = np.array([0.5, 0.1, -0.7, 0.3]) / np.linalg.norm([0.5, 0.1, -0.7, 0.3])
SKIN = ellipsoid((0.03, 0.02, 0.025))


@cache
def gliding(unit: float = 1.0) -> Any:
    """Return a spinning ball that glides without friction down a tilted floor; lengths are in units of `unit` m."""
    A = rotation(TILTED)
    graph, floor = Graph("glide"), ground("floor", surface=plane(), quaternion=TILTED)
    ball = rigid_body(
        "ball",
        mass=M,
        inertia=(0.4 * M * R * R / unit**2,) * 3,
        surface=sphere(R / unit),
        position=A @ [0.0, 0.0, (R - M * G / K) / unit],
        quaternion=np.array([0.9, 0.2, 0.3, 0.1]) / np.sqrt(0.95),
        velocity=A @ [10.0 / unit, 0.0, 0.0],
        angular_velocity=A @ [3.0, 4.0, -2.0],
        gravity=A @ [0.0, 0.0, -G / unit],
    )
    touching = contact("contact", floor, ball, constrained="v_z", normal_stiffness=K, normal_damping=30.0)
    attach_contact(graph, touching, floor, ball)
    return compile_model(graph)


@pytest.mark.parametrize("method", ["dop853", "rodas5p"])
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_a_glide_of_100_m(method, unit):
    result = gliding(unit).simulate(10.0, samples=0.1, rtol=1e-9, method=method, progress=False)
    height = unit * ((result["ball.pose"][:, 4:] @ rotation(TILTED))[:, 2] - R / unit)
    assert np.abs(unit * result["contact.gap"] - height).max() < 1e-12
    assert np.abs(height + M * G / K).max() < 1e-9
    assert result.ledger.relative_residual < 1e-8


def test_errors_of_contact_coordinates_decay():
    """Errors of 1e-6 rad and 3e-8 m in the initial coordinates vanish within a few radians of motion."""
    compiled = gliding()
    plain = compiled.simulate(1e-3, samples=1e-3, progress=False)
    off = {}
    for name, size in (("q1", 3e-8), ("q2", 1e-6), ("alpha", 1e-6), ("d", 3e-8)):
        off[f"contact.kinematics.{name}"] = plain[f"contact.kinematics.{name}"][0] + size
    result = compiled.simulate(0.2, samples=0.1, rtol=1e-11, initial=off, progress=False)
    keys = [f"contact.kinematics.{name}" for name in ("H_0_C1", "H_0_C2", "alpha", "d")]
    errors = np.abs([drift(*(result[key][k] for key in keys)) for k in (0, -1)])
    assert np.all(errors[0] > 1e-8) and np.all(errors[1] < 1e-5 * errors[0])


def _pose(random: np.random.Generator) -> np.ndarray:
    q = random.normal(size=4)
    return np.asarray(pose_from_state([*(q / np.linalg.norm(q)), *random.normal(size=3)]), dtype=float)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gap", [-0.002, 0.01])
def test_drift_equals_the_newton_correction(seed, gap):
    random = np.random.default_rng(seed)
    other = ellipsoid((0.02, 0.035, 0.022))
    H_0_1, turn = _pose(random), _pose(random)
    g1, g2 = SKIN.geometry((1.2, 0.3)), other.geometry((1.0, -0.7))
    H_1_2 = g1.H @ contact_pose(0.4, gap) @ inverse(g2.H)
    exact = closest_points(SKIN, other, H_1_2)
    H_0_2 = H_0_1 @ H_1_2

    def off(q1, q2, alpha, d):
        a, b = SKIN.geometry(q1, exact.chart1), other.geometry(q2, exact.chart2)
        return a, b, drift(H_0_1 @ a.H, H_0_2 @ b.H, alpha, d)

    assert np.abs(off(exact.q1, exact.q2, exact.alpha, exact.d)[2]).max() < 1e-12
    e = 1e-5 * random.normal(size=6) * [1, 1, 1, 1, 1, 0.03]
    a, b, found = off(exact.q1 + e[:2], exact.q2 + e[2:4], exact.alpha + e[4], exact.d + e[5])
    q1, q2, alpha, d = contact_rates(a, b, exact.alpha + e[4], exact.d + e[5], found)
    assert np.allclose([*q1, *q2, alpha, d], -e, rtol=0.0, atol=1e-8)
    assert np.linalg.norm(turn[:3, 3]) > 0.0


def test_the_rate_of_motion_knows_no_length():
    rates = []
    for unit in (1.0, 1e-3):
        a, b = (ellipsoid(np.array(axes) / unit).geometry((1.0, 0.2)) for axes in ((0.03, 0.02, 0.025), (0.02, 0.03, 0.04)))
        T = np.array([1.0, -2.0, 0.5, 0.1 / unit, 0.2 / unit, 9.0 / unit])
        rates.append(motion_rate(a, b, 0.3, -1e-4 / unit, T))
        assert motion_rate(a, b, 0.3, -1e-4 / unit, np.zeros(6)) == 0.0
        assert motion_rate(a, b, 0.3, -1e-4 / unit, np.array([0, 0, 0, 0.1, 0, 0])) > 0.0
    assert np.isclose(*rates, rtol=1e-12)


def test_the_rate_of_motion_is_that_of_the_gap_far_away():
    """The rate is continuous in the gap d, and equals (|v_x| + |v_y| + 8 |v_z|) / d very far away."""
    a, b = SKIN.geometry((1.0, 0.2)), sphere(0.02).geometry((1.0, 0.2))
    T = np.array([0.0, 0.0, 0.0, 3.0, -4.0, 5.0])
    rates = [float(motion_rate(a, b, 0.3, d, T)) for d in np.geomspace(1e-3, 1e6, 4000)]
    assert np.abs(np.diff(np.log(rates))).max() < 0.02
    assert np.isclose(rates[-1], (7.0 + 8.0 * 5.0) / 1e6, rtol=1e-6)
    assert np.isclose(motion_rate(a, plane().geometry((0.0, 0.0)), 0.3, 1e6, T), (7.0 + 8.0 * 5.0) / 1e6, rtol=1e-6)


def flight(
    distance: float,
    other: Any,
    radius: float = R,
    unit: float = 1.0,
    turned: Any = (1, 0, 0, 0),
    pace: float = 1.0,
    spin: Any = (0, 0, 0),
    graze: float = 1e-5,
    swapped: bool = False,
) -> tuple[Any, float]:
    """Return the run of a ball that flies at 10 m/s and grazes a body halfway, and the contact time in closed form.

    Lengths are in units of `unit` m, times in s / `pace`; the ball is body 1 of the contact if `swapped`.
    """
    graph, still = Graph("flight"), ground("still", surface=other)
    across = {"sphere": (1.0 - graze) * (radius + R), "plane": 0.0}[other.name]
    velocity = np.array([10.0, 0.0, -10.0 if other.name == "plane" else 0.0])
    ball = flying_ball(distance, across, velocity, unit, turned, pace, spin)
    pair = (ball, still) if swapped else (still, ball)
    attach_contact(graph, contact("contact", *pair, normal_stiffness=K * pace**2), *pair)
    t_end = 0.2 * distance / pace
    run = compile_model(graph).simulate(t_end, samples=[0.0, t_end], progress=False, max_steps=2000)
    return run, (distance - np.sqrt((radius + R) ** 2 - across**2 if across else 0.0)) / (10.0 * pace)


def flying_ball(distance: float, across: float, velocity: Any, unit: float, turned: Any, pace: float, spin: Any) -> Any:
    """Return a ball that passes x = 0 at y = `across` halfway through its flight, or lands there."""
    middle = np.array([-distance, across, distance + R if velocity[2] else 0.0])
    inertia = (0.4 * M * (R / unit) ** 2,) * 3
    start = {"position": middle / unit, "velocity": velocity / unit * pace, "quaternion": turned}
    spinning = {"angular_velocity": np.array(spin) * pace}
    return rigid_body("ball", mass=M, inertia=inertia, surface=sphere(R / unit), **start, **spinning)


def assert_touch(run: Any, time: float, tolerance: float) -> None:
    events = [event for event in run.events if not event.internal]
    assert run.ok and [event.kind for event in events] == ["contact on", "contact off"]
    assert abs(events[0].time - time) < tolerance


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("distance", "radius", "unit"),
    [(2.0, R, 1.0), (200.3, R, 1.0), (2000.3, R, 1e-3), (2e4, R, 1.0), (200.3, 0.002, 1.0), (20.0, 0.2, 1.0)],
)
def test_a_flight_from_far_away_costs_few_steps(distance, radius, unit):
    run, touch = flight(distance, sphere(radius / unit), radius, unit)
    assert run.statistics.steps <= 300
    assert_touch(run, touch, 1e-9 * distance)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pace", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize(("distance", "turned"), [(2000.3, TILTED), (2e4, TILTED), (2e4, SLANTED)])
def test_a_flight_in_turned_axes_costs_few_steps(distance, turned, pace):
    """Rounding changes the length of the quaternion."""
    run, touch = flight(distance, sphere(R), turned=turned, pace=pace)
    assert run.statistics.steps <= 300
    assert_touch(run, touch, 1e-9 * distance / pace)


AXES = {"along": (1.0, 0.0, 0.0), "slanted": (0.48, -0.6, 0.64), "across": (-0.1, 0.3, 0.95)}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("distance", "spin", "axis", "turned", "pace", "swapped"),
    [
        (2e4, 1e-3, "slanted", (1, 0, 0, 0), 1.0, False),
        (2e4, 1e-3, "across", TILTED, 1e3, True),
        (2000.3, 1e-2, "across", SLANTED, 1e-3, False),
        (2000.3, 1e-2, "along", TILTED, 1.0, True),
        (200.3, 0.1, "slanted", SLANTED, 1.0, True),
        (20.0, 1.0, "across", (1, 0, 0, 0), 1e3, False),
    ],
)
def test_a_flight_with_slow_spin_costs_few_steps(distance, spin, axis, turned, pace, swapped):
    run, touch = flight(distance, sphere(R), turned=turned, pace=pace, spin=spin * np.array(AXES[axis]), swapped=swapped)
    assert run.statistics.steps <= 300
    assert_touch(run, touch, 1e-9 * distance / pace)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("distance", "spin"), [(2e4, 0.01), (2000.3, 0.1)])
@pytest.mark.parametrize(("axis", "swapped"), [("slanted", False), ("across", True)])
def test_a_contact_adds_few_steps_to_a_spinning_flight(distance, spin, axis, swapped):
    turns = spin * np.array(AXES[axis])
    run, touch = flight(distance, sphere(R), spin=turns, graze=1e-3, swapped=swapped)
    graph = Graph("alone")
    graph.add(flying_ball(distance, 2.0 * R, np.array([10.0, 0.0, 0.0]), 1.0, (1, 0, 0, 0), 1.0, turns))
    alone = compile_model(graph).simulate(0.2 * distance, samples=[0.0, 0.2 * distance], progress=False)
    assert alone.ok and run.statistics.steps <= alone.statistics.steps + 200
    assert_touch(run, touch, 1e-7 * distance)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("distance", [2.0, 2000.0])
def test_a_slanted_fall_from_far_away_costs_few_steps(distance):
    run, touch = flight(distance, plane(), 0.0)
    assert run.statistics.steps <= 300
    assert_touch(run, touch, 1e-9 * distance)
