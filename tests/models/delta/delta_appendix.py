"""The terms m, c1 ... c6 and G of Bortoff 2018 (appendix), in his angles phi: a second derivation of `kinematics.arm`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.inner.models_delta import DeltaParameters


def _moments(p: DeltaParameters) -> tuple[float, float, float]:
    """Return the inertia about the shaft with rod and tip as point masses at the elbow, the coupling, and the inertia of rod
    and tip about the elbow."""
    beyond = p.LC2 * p.M2 + p.L2 * p.M3
    return (
        p.J1 + p.LC1 * p.LC1 * p.M1 + p.L1 * p.L1 * (p.M2 + p.M3),
        p.L1 * beyond,
        p.J2 + p.LC2 * p.LC2 * p.M2 + p.L2 * p.L2 * p.M3,
    )


def inertia(phi: Any, p: DeltaParameters) -> np.ndarray:
    """Return the inertia matrix m (3, 3), kg m^2, including a third of the end effector; m is singular where sin(phi2) = 0."""
    (s1, s2, s3), (c1, c2, c3) = (
        (np.sin(phi[0]), np.sin(phi[1]), np.sin(phi[2])),
        (np.cos(phi[0]), np.cos(phi[1]), np.cos(phi[2])),
    )
    shaft, coupling, rod = _moments(p)
    m12 = coupling * (c1 * c2 * c3 + s1 * s2)
    m13 = -(coupling * c1 * s2 * s3)
    return np.array([[shaft, m12, m13], [m12, rod, 0.0], [m13, 0.0, rod * s2 * s2]])


def gravity_torque(phi: Any, p: DeltaParameters) -> np.ndarray:
    """Return the gradient G (3,) of the gravitational potential energy with respect to the angles, N m."""
    beyond = p.g * (p.LC2 * p.M2 + p.L2 * p.M3)
    shaft = p.g * (p.LC1 * p.M1 + p.L1 * (p.M2 + p.M3))
    s2 = np.sin(phi[1])
    return np.array([-shaft * np.cos(phi[0]), -beyond * np.cos(phi[1]) * np.cos(phi[2]), beyond * s2 * np.sin(phi[2])])


def coriolis_vectors(phi: Any, p: DeltaParameters) -> tuple[np.ndarray, ...]:
    """Return the vectors c1 ... c6, (3,), kg m^2, of the appendix, the factors of v1^2, v2^2, v3^2, v1 v2, v2 v3 and v1 v3."""
    (s1, s2, s3), (c1, c2, c3) = (
        (np.sin(phi[0]), np.sin(phi[1]), np.sin(phi[2])),
        (np.cos(phi[0]), np.cos(phi[1]), np.cos(phi[2])),
    )
    _, coupling, rod = _moments(p)
    none = np.array([0.0, 0.0, 0.0])
    return (
        np.array([0.0, coupling * (c1 * s2 - c2 * c3 * s1), coupling * s1 * s2 * s3]),
        np.array([coupling * (c2 * s1 - c1 * c3 * s2), 0.0, 0.0]),
        np.array([-(coupling * c3 * c1 * s2), -(rod * c2 * s2), 0.0]),
        none,
        np.array([-2.0 * coupling * c1 * c2 * s3, 0.0, 2.0 * rod * s2 * c2]),
        none,
    )
