"""The delta robot in the joints of a multibody engine: one hinge at the motor, two at the elbow, closed at the tips.

The arm's coordinates phi2 and phi3 are measured from fixed axes. A universal joint has two hinges of its own: `a` about the
motor's axis, relative to the proximal link, and `b` across the rod. The direction of the distal link is (sin phi2 sin phi3, cos
phi2, sin phi2 cos phi3) = Rx(phi1 + a) Rz(b) e2. The engines' robot has no damping, since the paper's damping acts on phi, not on
these hinges. As in the paper, each arm carries a third of the end effector at its tip.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from screwbond.models.delta.kinematics.closure import ROTATIONS
from screwbond.models.delta.kinematics.parameters import DeltaParameters


@dataclass(frozen=True)
class Rod:
    """Link and the parts fixed to it: mass (kg), distance of the centre of mass from the upper joint (m), transverse moment of
    inertia about the centre of mass (kg m^2)."""

    mass: float
    centre: float
    inertia: float


def rods(p: DeltaParameters) -> tuple[Rod, Rod]:
    """Return the proximal link, and the distal link with a third of the end effector at its end."""
    mass = p.M2 + p.M3
    centre = (p.M2 * p.LC2 + p.M3 * p.L2) / mass
    inertia = p.J2 + p.M2 * (p.LC2 - centre) ** 2 + p.M3 * (p.L2 - centre) ** 2
    return Rod(p.M1, p.LC1, p.J1), Rod(mass, centre, inertia)


def undamped(p: DeltaParameters) -> DeltaParameters:
    return replace(p, DAMPING=0.0)


def hinges(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hinge angles and rates (9,), ordered (phi1, a, b) by arm, from the paper's q and v (9,)."""
    angles, rates = np.empty(9), np.empty(9)
    for i in range(3):
        (p1, p2, p3), (v1, v2, v3) = q[3 * i : 3 * i + 3], v[3 * i : 3 * i + 3]
        s2, c2, s3, c3 = np.sin(p2), np.cos(p2), np.sin(p3), np.cos(p3)
        lx, ly, lz = s2 * s3, c2, s2 * c3
        dx, dy, dz = c2 * s3 * v2 + s2 * c3 * v3, -s2 * v2, c2 * c3 * v2 - s2 * s3 * v3
        b = -np.arcsin(lx)
        angles[3 * i : 3 * i + 3] = p1, np.arctan2(lz, ly) - p1, b
        rates[3 * i : 3 * i + 3] = v1, (ly * dz - lz * dy) / (ly * ly + lz * lz) - v1, -dx / np.cos(b)
    return angles, rates


def angles_of(hinge: np.ndarray) -> np.ndarray:
    """Return the paper's q (9,), with phi2 between 0 and pi, from hinge angles (9,)."""
    q = np.empty(9)
    for i in range(3):
        p1, a, b = hinge[3 * i : 3 * i + 3]
        lx, ly, lz = -np.sin(b), np.cos(b) * np.cos(p1 + a), np.cos(b) * np.sin(p1 + a)
        q[3 * i : 3 * i + 3] = p1, np.arctan2(np.hypot(lx, lz), ly), np.arctan2(lx, lz)
    return q


def shafts(p: DeltaParameters) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return position (3,) and rotation (3, 3) of each motor; the tips meet at one point, so L3 is subtracted from the base."""
    return [(R @ np.array([0.0, p.L0 - p.L3, 0.0]), R) for R in ROTATIONS]
