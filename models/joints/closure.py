"""Closures of joints: rows [h, w_tau, w_f] of seven scalars.

H = H_A_B is the pose of the joint's axes on body b (frame B) as seen from those on body a (frame A). h vanishes where the joint
is closed, and dh/dt = w_tau . omega + w_f . v exactly, closed or not, for the twist [omega; v] = T_A_A_B. What is off therefore
decays as the stabilised constraint says.
"""

from __future__ import annotations

import numpy as np

from screws.rotations import tilde
from screws.scalars import Scalar, array, atan2, cos, sin

Row = np.ndarray


def shift(H: np.ndarray, k: int) -> np.ndarray:
    """Closure p . e_k = 0 of the origin of B."""
    p = H[:3, 3]
    return array([p[k], *tilde(p)[:, k], *np.eye(3)[k]])


def turn(H: np.ndarray, i: int, j: int) -> np.ndarray:
    """Closure e_i . b_j = 0 of axis i of A and axis j of B; its moment is b_j x e_i."""
    b = H[:3, j]
    return array([b[i], *tilde(b)[:, i], 0.0, 0.0, 0.0])


def parallel(H: np.ndarray) -> list[np.ndarray]:
    """z of B along z of A, two closures: moments about x and y."""
    return [-turn(H, 1, 2), turn(H, 0, 2)]


def aligned(H: np.ndarray) -> list[np.ndarray]:
    """All axes of B along those of A, three closures: the skew part of R."""
    return [0.5 * (turn(H, (k + 2) % 3, (k + 1) % 3) - turn(H, (k + 1) % 3, (k + 2) % 3)) for k in range(3)]


def crossing(H: np.ndarray, psi: Scalar) -> np.ndarray:
    """First axis of A and second axis of B at the angle psi: moment about their common normal."""
    c, s = cos(psi), sin(psi)
    row = (-1.0 / s) * (c * turn(H, 0, 0) + s * turn(H, 0, 1))
    return array([row[0] + c / s, *row[1:]])


def nut(H: np.ndarray, pitch: Scalar) -> np.ndarray:
    """p_z = pitch * angle, on whichever turn is nearest: h = pitch * (p_z / pitch - angle), brought into -pi to pi."""
    about, along = angle(H), shift(H, 2)
    phase = along[0] / pitch - about[0]
    return array([pitch * atan2(sin(phase), cos(phase)), *(along[1:] - pitch * about[1:])])


def angle(H: np.ndarray) -> np.ndarray:
    """Angle of B about z of A, and the row of its rate."""
    s, c = turn(H, 1, 0) - turn(H, 0, 1), turn(H, 0, 0) + turn(H, 1, 1)
    rate = (c[0] * s[1:] - s[0] * c[1:]) / (c[0] * c[0] + s[0] * s[0])
    return array([atan2(s[0], c[0]), *rate])
