"""Twists and wrenches are dual, and the kinetic energy is the same in every frame."""

from __future__ import annotations

import numpy as np
import pytest

from screws import inertia, poses, twists
from screws.errors import GeometryError
from screws.poses import Ad

RNG = np.random.default_rng(7)


def body():
    points = RNG.normal(size=(30, 3))
    masses = RNG.uniform(0.1, 1.0, size=30)
    return points, masses


def test_power_is_the_same_in_every_frame():
    H, T, W = poses.exp(RNG.normal(size=6)), RNG.normal(size=6), RNG.normal(size=6)
    T_a, W_a = twists.transform_twist(H, T), twists.transform_wrench(H, W)
    assert np.allclose(T_a, Ad(H) @ T) and np.allclose(W_a, Ad(poses.inverse(H)).T @ W)
    assert np.isclose(twists.power(W_a, T_a), W @ T) and np.isclose(twists.power(W, T), W @ T)


def test_changes_of_frame_and_back():
    H, T, W = poses.exp(RNG.normal(size=6)), RNG.normal(size=6), RNG.normal(size=6)
    assert np.allclose(twists.transform_twist_back(H, T), np.linalg.solve(Ad(H), T))
    assert np.allclose(twists.transform_wrench_back(H, W), Ad(H).T @ W)
    assert np.allclose(twists.transform_twist_back(H, twists.transform_twist(H, T)), T)
    assert np.allclose(twists.transform_wrench_back(H, twists.transform_wrench(H, W)), W)


def test_unit_screws():
    axis, point, turn = np.array([0.0, 0.6, 0.8]), np.array([1.0, -2.0, 0.5]), 0.7
    H = poses.exp(turn * twists.revolute(axis, point))
    assert np.allclose(H @ np.append(point + 3.0 * axis, 1.0), np.append(point + 3.0 * axis, 1.0))
    H = poses.exp(turn * twists.helical(axis, point, 0.2))
    assert np.allclose(H @ np.append(point, 1.0), np.append(point + turn * 0.2 * axis, 1.0))
    H = poses.exp(turn * twists.prismatic(axis))
    assert np.allclose(H[:3, 3], turn * axis) and np.allclose(H[:3, :3], np.eye(3))


def test_point_velocity_and_force_are_dual():
    T, force, point = RNG.normal(size=6), RNG.normal(size=3), RNG.normal(size=3)
    power = force @ twists.point_velocity(T, point)
    assert np.isclose(power, twists.power(twists.wrench_of_force(force, point), T))


def test_inertia_against_point_masses_in_two_frames():
    points, masses = body()
    mass, centre = masses.sum(), masses @ points / masses.sum()
    arms = points - centre
    J = sum(m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, arms, strict=True))
    M_b = inertia.spatial_inertia(mass, J, centre)
    T_b, H_a_b = RNG.normal(size=6), poses.exp(RNG.normal(size=6))
    energy = 0.5 * sum(m * np.sum(twists.point_velocity(T_b, p) ** 2) for m, p in zip(masses, points, strict=True))
    assert np.isclose(inertia.kinetic_energy(M_b, T_b), energy, rtol=1e-13)
    M_a = inertia.inertia_in(poses.inverse(H_a_b), M_b)
    assert np.isclose(inertia.kinetic_energy(M_a, Ad(H_a_b) @ T_b), energy, rtol=1e-13)
    linear = sum(m * twists.point_velocity(T_b, p) for m, p in zip(masses, points, strict=True))
    assert np.allclose(inertia.momentum(M_b, T_b)[3:], linear)
    assert np.allclose(M_a, M_a.T) and np.all(np.linalg.eigvalsh(M_a) > 0)


@pytest.mark.parametrize(
    ("code", "mass", "rotational"),
    [
        ("G111", 0.0, (1.0, 1.0, 1.0)),
        ("G111", float("nan"), (1.0, 1.0, 1.0)),
        ("G112", 1.0, (1.0, 1.0, 0.0)),
        ("G112", 1.0, ((1.0, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))),
        ("G112", 1.0, ((1.0, 2.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 1.0))),
        ("G113", 1.0, (1.0, 1.0, 2.1)),
        ("G114", 1.0, (1.0, float("inf"), 1.0)),
        ("G114", 1.0, ((1.0, 0.0), (0.0, 1.0))),
    ],
)
def test_impossible_bodies(code, mass, rotational):
    with pytest.raises(GeometryError) as error:
        inertia.check_inertia(mass, rotational, "the egg")
    assert error.value.code == code and error.value.cure and "the egg" in str(error.value)


def test_flat_body_is_allowed_and_numbers_are_checked_on_the_way():
    inertia.check_inertia(1.0, (1.0, 1.0, 2.0))
    with pytest.raises(GeometryError, match="G113"):
        inertia.spatial_inertia(1.0, (1.0, 1.0, 5.0))
