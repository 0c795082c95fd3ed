"""One arm of a delta robot: kinematics, inertia, Coriolis and gravity terms as plain formulas over any scalar.

The arm's coordinates are phi = (phi1, phi2, phi3): the motor's angle, and the direction of the distal link. All angles
are measured against fixed axes: phi1 and phi2 about x1 from x2, phi3 about x2 from the plane of x2 and x3. x3 points
down. Velocities are v = phi'. Every function takes the parameters as a record with the names of `DeltaParameters`:
that record itself, or `Constants` of any scalars, so that they can stay run-time parameters of compiled code.

Source: Bortoff 2018, eq. (1) to (8) and appendix, with the offset L0 - L3 that eq. (4) lacks, and M3 a third of the end
effector's mass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from models.delta.parameters import DeltaParameters
from screws.scalars import Scalar, array, cos, sin


class Constants(NamedTuple):
    """The parameters of `DeltaParameters` as scalars of any kind, in the same order, without checks."""

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


def elbow(phi: Any, p: ArmParameters) -> np.ndarray:
    """Elbow (3,) in m, in the arm's own axes."""
    return array([0.0, p.L1 * cos(phi[0]) + (p.L0 - p.L3), p.L1 * sin(phi[0])])


def direction(phi: Any) -> np.ndarray:
    """Unit vector (3,) along the distal link, from the elbow to the tip."""
    s2 = sin(phi[1])
    return array([s2 * sin(phi[2]), cos(phi[1]), s2 * cos(phi[2])])


def tip(phi: Any, p: ArmParameters) -> np.ndarray:
    """Tip psi (3,) in m, moved inwards by L3: where the arm puts the end effector's centre. Eq. (4), with the offset."""
    s2 = sin(phi[1])
    return array(
        [
            p.L2 * s2 * sin(phi[2]),
            p.L1 * cos(phi[0]) + p.L2 * cos(phi[1]) + (p.L0 - p.L3),
            p.L1 * sin(phi[0]) + p.L2 * s2 * cos(phi[2]),
        ]
    )


def tip_jacobian(phi: Any, p: ArmParameters) -> np.ndarray:
    """Derivative dpsi (3, 3) of `tip` by the angles, m."""
    (s1, s2, s3), (c1, c2, c3) = (sin(phi[0]), sin(phi[1]), sin(phi[2])), (cos(phi[0]), cos(phi[1]), cos(phi[2]))
    return array(
        [
            [0.0, p.L2 * c2 * s3, p.L2 * s2 * c3],
            [-p.L1 * s1, -p.L2 * s2, 0.0],
            [p.L1 * c1, p.L2 * c2 * c3, -p.L2 * s2 * s3],
        ]
    )


def _moments(p: ArmParameters) -> tuple[Scalar, Scalar, Scalar]:
    """Inertia about the shaft with all masses beyond the elbow in it, coupling, inertia of the rest about the elbow."""
    beyond = p.LC2 * p.M2 + p.L2 * p.M3
    return (
        p.J1 + p.LC1 * p.LC1 * p.M1 + p.L1 * p.L1 * (p.M2 + p.M3),
        p.L1 * beyond,
        p.J2 + p.LC2 * p.LC2 * p.M2 + p.L2 * p.L2 * p.M3,
    )


def inertia(phi: Any, p: ArmParameters) -> np.ndarray:
    """Inertia matrix m (3, 3), kg m^2; a third of the end effector is part of it. Singular where sin(phi2) = 0."""
    (s1, s2, s3), (c1, c2, c3) = (sin(phi[0]), sin(phi[1]), sin(phi[2])), (cos(phi[0]), cos(phi[1]), cos(phi[2]))
    shaft, coupling, rod = _moments(p)
    m12 = coupling * (c1 * c2 * c3 + s1 * s2)
    m13 = -(coupling * c1 * s2 * s3)
    return array([[shaft, m12, m13], [m12, rod, 0.0], [m13, 0.0, rod * s2 * s2]])


def kinetic_energy(phi: Any, v: Any, p: ArmParameters) -> Scalar:
    """Kinetic energy T of eq. (1), J."""
    m = inertia(phi, p)
    crossed = v[0] * (m[0, 1] * v[1] + m[0, 2] * v[2])
    return 0.5 * (m[0, 0] * v[0] * v[0] + m[1, 1] * v[1] * v[1] + m[2, 2] * v[2] * v[2]) + crossed


def potential_energy(phi: Any, p: ArmParameters) -> Scalar:
    """Energy V of the weight, eq. (5), J; zero at the height of the shafts."""
    beyond = p.LC2 * p.M2 + p.L2 * p.M3
    shaft = p.LC1 * p.M1 + p.L1 * (p.M2 + p.M3)
    return -p.g * (shaft * sin(phi[0]) + beyond * sin(phi[1]) * cos(phi[2]))


def gravity_torque(phi: Any, p: ArmParameters) -> np.ndarray:
    """Gradient G (3,) of the weight's energy by the angles, N m."""
    beyond = p.g * (p.LC2 * p.M2 + p.L2 * p.M3)
    shaft = p.g * (p.LC1 * p.M1 + p.L1 * (p.M2 + p.M3))
    s2 = sin(phi[1])
    return array([-shaft * cos(phi[0]), -beyond * cos(phi[1]) * cos(phi[2]), beyond * s2 * sin(phi[2])])


def coriolis_vectors(phi: Any, p: ArmParameters) -> tuple[np.ndarray, ...]:
    """Vectors c1 ... c6, (3,) each in kg m^2, of the appendix: the factors of v1^2, v2^2, v3^2, v1 v2, v2 v3 and v1 v3."""
    (s1, s2, s3), (c1, c2, c3) = (sin(phi[0]), sin(phi[1]), sin(phi[2])), (cos(phi[0]), cos(phi[1]), cos(phi[2]))
    _, coupling, rod = _moments(p)
    none = array([0.0, 0.0, 0.0])
    return (
        array([0.0, coupling * (c1 * s2 - c2 * c3 * s1), coupling * s1 * s2 * s3]),
        array([coupling * (c2 * s1 - c1 * c3 * s2), 0.0, 0.0]),
        array([-(coupling * c3 * c1 * s2), -(rod * c2 * s2), 0.0]),
        none,
        array([-2.0 * coupling * c1 * c2 * s3, 0.0, 2.0 * rod * s2 * c2]),
        none,
    )


def coriolis_torque(phi: Any, v: Any, p: ArmParameters) -> np.ndarray:
    """Coriolis and centripetal torques c (3,), N m: with it m v' + c + G + DAMPING v is what drives the arm."""
    first, second, third, _, fifth, _ = coriolis_vectors(phi, p)
    return first * (v[0] * v[0]) + second * (v[1] * v[1]) + third * (v[2] * v[2]) + fifth * (v[1] * v[2])
