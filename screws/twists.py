"""Twists T = [omega; v] and wrenches W = [tau; f]: transforms, power, unit screws of joints."""

from __future__ import annotations

import numpy as np

from screws.arrays import Pose, Twist, Vector3, Wrench
from screws.scalars import Scalar, array
from screws.vectors import cross


def transform_twist(H_a_b: Pose, T_b: Twist) -> np.ndarray:
    """Transform a twist (6,) from b to a: Ad(H_a_b) @ T_b without forming the matrix."""
    R, p = H_a_b[:3, :3], H_a_b[:3, 3]
    omega = R @ array([T_b[0], T_b[1], T_b[2]])
    return array([*omega, *(R @ array([T_b[3], T_b[4], T_b[5]]) + cross(p, omega))])


def transform_wrench(H_a_b: Pose, W_b: Wrench) -> np.ndarray:
    """Transform a wrench (6,) from b to a: Ad(H_b_a).T @ W_b without forming the matrix; the power is unchanged."""
    R, p = H_a_b[:3, :3], H_a_b[:3, 3]
    force = R @ array([W_b[3], W_b[4], W_b[5]])
    return array([*(R @ array([W_b[0], W_b[1], W_b[2]]) + cross(p, force)), *force])


def transform_twist_back(H_a_b: Pose, T_a: Twist) -> np.ndarray:
    """Transform a twist (6,) from a to b: Ad(H_a_b)^-1 @ T_a without forming the matrix."""
    R, p = H_a_b[:3, :3], H_a_b[:3, 3]
    omega = array([T_a[0], T_a[1], T_a[2]])
    return array([*(R.T @ omega), *(R.T @ (array([T_a[3], T_a[4], T_a[5]]) - cross(p, omega)))])


def transform_wrench_back(H_a_b: Pose, W_a: Wrench) -> np.ndarray:
    """Transform a wrench (6,) from a to b: Ad(H_a_b).T @ W_a without forming the matrix; the power is unchanged."""
    R, p = H_a_b[:3, :3], H_a_b[:3, 3]
    force = array([W_a[3], W_a[4], W_a[5]])
    return array([*(R.T @ (array([W_a[0], W_a[1], W_a[2]]) - cross(p, force))), *(R.T @ force)])


def power(W: Wrench, T: Twist) -> Scalar:
    """Return the power W . T (W) of a wrench and a twist that are expressed in the same frame."""
    return sum(W[k] * T[k] for k in range(1, 6)) + W[0] * T[0]


def point_velocity(T: Twist, point: Vector3) -> np.ndarray:
    """Return the velocity (3,) of the body-fixed point that is now at `point`: v + omega x point."""
    return array([T[3], T[4], T[5]]) + cross(T[:3], point)


def wrench_of_force(force: Vector3, point: Vector3) -> np.ndarray:
    """Return the wrench (6,) of a force (N) whose line of action passes through `point` (m)."""
    return array([*cross(point, force), force[0], force[1], force[2]])


def revolute(axis: Vector3, point: Vector3 = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Return the unit screw (6,) of a rotation about a line with unit direction `axis` through `point` (m)."""
    return array([axis[0], axis[1], axis[2], *cross(point, axis)])


def prismatic(axis: Vector3) -> np.ndarray:
    """Return the unit screw (6,) of a translation along the unit direction `axis`."""
    return array([0.0, 0.0, 0.0, axis[0], axis[1], axis[2]])


def helical(axis: Vector3, point: Vector3 = (0.0, 0.0, 0.0), pitch: Scalar = 0.0) -> np.ndarray:
    """Return the unit screw (6,) about a line with unit direction `axis` through `point` (m), pitch in m/rad."""
    moment = cross(point, axis)
    return array([axis[0], axis[1], axis[2], *[moment[k] + pitch * axis[k] for k in range(3)]])
