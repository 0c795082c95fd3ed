"""One arm of a delta robot: kinematics, inertia, Coriolis, gravity and friction terms as formulas for any scalar type.

The coordinates theta = (theta1, theta2, theta3) are the motor's angle, the angle of the distal link in the plane of the arm, and
its angle out of that plane; velocities are v = theta'. theta1 and theta2 turn about x1 from x2, like hinges along the motor's
shaft; x3 points down. The coordinates are singular only where cos(theta3) = 0, with the rod along the shaft; there the two rods
of a real arm lie on one line and do not hold the end effector.

The angles phi of Bortoff 2018 are singular at ordinary poses, where the rod lies along x2. The rod's direction in the arm's axes
is n = (s3, c3 c2, c3 s2) in theta and n = (sin phi2 sin phi3, cos phi2, sin phi2 cos phi3) in phi, and phi1 = theta1. phi2 is in
[0, pi], phi3 in (-pi, pi]; where sin phi2 = 0, phi3, phi2' and phi3' are undefined and set to zero. Conversions between theta and
phi also take arrays of numbers (3, k).

Functions take the parameters as a record: a `DeltaParameters`, or `Constants` of any scalar type, which can stay run-time
parameters of compiled code.

Source: Bortoff 2018, eq. (1) to (8) in other coordinates, with the offset L0 - L3 that eq. (4) lacks, and M3 a third of the end
effector's mass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from screwbond.models.delta.kinematics.parameters import DeltaParameters

from screws.scalars import Scalar, array, atan2, cos, less, maximum, sin, sqrt, where


class Constants(NamedTuple):
    """Fields of `DeltaParameters` as any scalar type, in the same order, without checks."""

    L0: Scalar
    L1: Scalar
    L2: Scalar
    L3: Scalar
    LC1: Scalar
    LC2: Scalar
    M1: Scalar
    M2: Scalar
    M3: Scalar
    J1: Scalar
    J2: Scalar
    g: Scalar
    DAMPING: Scalar


ArmParameters = DeltaParameters | Constants


CONE = 1e-2
"""Sine of the angle to x2 below which the rod's friction is bounded (see `friction_rates`)."""


def elbow(theta: Any, p: ArmParameters) -> np.ndarray:
    """Return the elbow (3,) in m, in the arm's own axes, shifted inwards by L3 as `tip` is."""
    return array([0.0, p.L1 * cos(theta[0]) + (p.L0 - p.L3), p.L1 * sin(theta[0])])


def direction(theta: Any) -> np.ndarray:
    """Return the unit vector (3,) along the distal link, from the elbow to the tip."""
    c3 = cos(theta[2])
    return array([sin(theta[2]), c3 * cos(theta[1]), c3 * sin(theta[1])])


def tip(theta: Any, p: ArmParameters) -> np.ndarray:
    """Return the tip psi (3,) in m, shifted inwards by L3 to the end effector's centre: Bortoff 2018, eq. (4), with the offset
    L0 - L3."""
    c3 = cos(theta[2])
    return array(
        [
            p.L2 * sin(theta[2]),
            p.L1 * cos(theta[0]) + p.L2 * c3 * cos(theta[1]) + (p.L0 - p.L3),
            p.L1 * sin(theta[0]) + p.L2 * c3 * sin(theta[1]),
        ]
    )


def tip_jacobian(theta: Any, p: ArmParameters) -> np.ndarray:
    """Return the derivative dpsi (3, 3) of `tip` with respect to the angles, m."""
    (s1, s2, s3), (c1, c2, c3) = _sines(theta), _cosines(theta)
    return array(
        [[0.0, 0.0, p.L2 * c3], [-p.L1 * s1, -p.L2 * c3 * s2, -p.L2 * s3 * c2], [p.L1 * c1, p.L2 * c3 * c2, -p.L2 * s3 * s2]]
    )


def inertia(theta: Any, p: ArmParameters) -> np.ndarray:
    """Return the inertia matrix m (3, 3), kg m^2, including a third of the end effector. It is singular where cos(theta3) = 0."""
    shaft, coupling, rod = _moments(p)
    s3, c3 = sin(theta[2]), cos(theta[2])
    across, along = _elbow_bend(theta)
    m12, m13 = coupling * c3 * along, -(coupling * s3 * across)
    return array([[shaft, m12, m13], [m12, rod * c3 * c3, 0.0], [m13, 0.0, rod]])


def potential_energy(theta: Any, p: ArmParameters) -> Scalar:
    """Return the potential energy V, J, zero at the height of the shafts: Bortoff 2018, eq. (5) with the whole mass M3."""
    shaft, beyond = _weights(p)
    return -(shaft * sin(theta[0]) + beyond * cos(theta[2]) * sin(theta[1]))


def gravity_torque(theta: Any, p: ArmParameters) -> np.ndarray:
    """Return the gradient G (3,) of the potential energy with respect to the angles, N m."""
    shaft, beyond = _weights(p)
    s2, c2 = sin(theta[1]), cos(theta[1])
    return array([-shaft * cos(theta[0]), -beyond * cos(theta[2]) * c2, beyond * sin(theta[2]) * s2])


def coriolis_torque(theta: Any, v: Any, p: ArmParameters) -> np.ndarray:
    """Return the Coriolis and centripetal torques c (3,), N m: the driving torque of the arm is m v' + c + G + friction."""
    _, coupling, rod = _moments(p)
    s3, c3 = sin(theta[2]), cos(theta[2])
    across, along = _elbow_bend(theta)
    square = v[1] * v[1] + v[2] * v[2]
    return array(
        [
            -coupling * (c3 * across * square + 2.0 * s3 * along * v[1] * v[2]),
            coupling * c3 * across * v[0] * v[0] - 2.0 * rod * s3 * c3 * v[1] * v[2],
            coupling * s3 * along * v[0] * v[0] + rod * s3 * c3 * v[1] * v[1],
        ]
    )


def friction_rates(theta: Any) -> np.ndarray:
    """Return the matrix S (4, 3): viscous damping of the angles phi of Bortoff 2018 acts on S v, since |S v|^2 = |phi'|^2.

    Row 1 gives phi1', rows 2 and 3 the rate n' of the rod's direction, and row 4 cos(phi2) phi3', since phi2'^2 + phi3'^2 =
    |n'|^2 + (cos(phi2) phi3')^2. Near x2, where sin(phi2) < `CONE`, row 4 has a constant divisor: it stays bounded, and vanishes
    on the axis.
    """
    (_, s2, s3), (_, c2, c3) = _sines(theta), _cosines(theta)
    n2, n3 = c3 * c2, c3 * s2
    share = n2 / maximum(s3 * s3 + n3 * n3, CONE * CONE)
    return array([[1.0, 0.0, 0.0], [0.0, c3, 0.0], [0.0, 0.0, 1.0], [0.0, -(share * s3 * n2), share * s2]])


def friction_torque(theta: Any, v: Any, p: ArmParameters) -> np.ndarray:
    """Return torques (3,) of viscous damping, N m, with the power DAMPING |S v|^2; see `friction_rates`."""
    S = friction_rates(theta)
    return S.T @ (S @ v) * p.DAMPING


def _sines(theta: Any) -> tuple[Scalar, Scalar, Scalar]:
    return sin(theta[0]), sin(theta[1]), sin(theta[2])


def _cosines(theta: Any) -> tuple[Scalar, Scalar, Scalar]:
    return cos(theta[0]), cos(theta[1]), cos(theta[2])


def _elbow_bend(theta: Any) -> tuple[Scalar, Scalar]:
    (s1, s2, _), (c1, c2, _) = _sines(theta), _cosines(theta)
    return s2 * c1 - c2 * s1, c1 * c2 + s1 * s2


def _moments(p: ArmParameters) -> tuple[Scalar, Scalar, Scalar]:
    """Return the inertia about the shaft with all masses beyond the elbow lumped at the elbow, the coupling of the two links, and
    the inertia about the elbow, kg m^2."""
    beyond = p.LC2 * p.M2 + p.L2 * p.M3
    return (
        p.J1 + p.LC1 * p.LC1 * p.M1 + p.L1 * p.L1 * (p.M2 + p.M3),
        p.L1 * beyond,
        p.J2 + p.LC2 * p.LC2 * p.M2 + p.L2 * p.L2 * p.M3,
    )


def _weights(p: ArmParameters) -> tuple[Scalar, Scalar]:
    """Return weight times lever arm, N m, of what the shaft carries, and of what the elbow carries."""
    return p.g * (p.LC1 * p.M1 + p.L1 * (p.M2 + p.M3)), p.g * (p.LC2 * p.M2 + p.L2 * p.M3)


def phi_of(theta: Any) -> np.ndarray:
    s3, n2, n3 = sin(theta[2]), cos(theta[2]) * cos(theta[1]), cos(theta[2]) * sin(theta[1])
    return _stacked([theta[0], atan2(sqrt(s3 * s3 + n3 * n3), n2), atan2(s3, n3)])


def phi_rate(theta: Any, v: Any) -> np.ndarray:
    s2, c2, s3, c3 = sin(theta[1]), cos(theta[1]), sin(theta[2]), cos(theta[2])
    n3 = c3 * s2
    square = s3 * s3 + n3 * n3
    safe_square = where(less(0.0, square), square, 1.0)
    return _stacked([v[0], (n3 * v[1] + s3 * c2 * v[2]) / sqrt(safe_square), (s2 * v[2] - s3 * c3 * c2 * v[1]) / safe_square])


def theta_of(phi: Any) -> np.ndarray:
    """Return theta (3,) in rad at phi (3,), theta3 in [-pi/2, pi/2]."""
    n1, n2, n3 = sin(phi[1]) * sin(phi[2]), cos(phi[1]), sin(phi[1]) * cos(phi[2])
    return _stacked([phi[0], atan2(n3, n2), atan2(n1, sqrt(n2 * n2 + n3 * n3))])


def theta_rate(phi: Any, rate: Any) -> np.ndarray:
    """Return theta' (3,) in rad/s at phi (3,) and phi' = rate (3,). It is infinite, or nan, where cos(theta3) = 0."""
    s2, c2, s3, c3 = sin(phi[1]), cos(phi[1]), sin(phi[2]), cos(phi[2])
    n3 = s2 * c3
    square = c2 * c2 + n3 * n3
    return _stacked(
        [rate[0], (c3 * rate[1] - s2 * c2 * s3 * rate[2]) / square, (c2 * s3 * rate[1] + n3 * rate[2]) / sqrt(square)]
    )


def _stacked(entries: list[Any]) -> np.ndarray:
    return np.array(entries) if all(isinstance(entry, np.ndarray) for entry in entries) else array(entries)


def by_arms(function: Callable[..., np.ndarray], *rows: np.ndarray) -> np.ndarray:
    """Apply a function of one arm to all arms in one call: angles (and rates) are (..., 3 n), arm after arm."""
    parts = [np.moveaxis(row.reshape(*row.shape[:-1], row.shape[-1] // 3, 3), -1, 0) for row in rows]
    return np.moveaxis(function(*parts), 0, -1).reshape(rows[0].shape)
