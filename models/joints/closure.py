"""How far two bodies are off a joint, and in which directions it holds them: both from one list of closure equations.

H = H_A_B is the pose of the joint's axes on body b (frame B) as seen from its axes on body a (frame A): z along the axis or
normal; universal: x of A along the first axis, the second axis fixed to B, at the angle `psi` to x in its plane of x and y.
A closure is a row [h, w_tau, w_f] of seven scalars: h vanishes when the joint is closed, and dh/dt = w_tau . omega + w_f . v
exactly, closed or not, for the twist [omega; v] = T_A_A_B. What is off therefore decays as the stabilised constraint says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from screws.scalars import Scalar, array, atan2, cos, sin

KINDS = ("revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar", "free", "fixed")

NUMBERS: dict[str, str] = {"helical": "pitch", "universal": "psi"}
"""Kinds that have a number of their own: the pitch in m/rad, the angle between the axes in rad."""


def _shift(H: np.ndarray, k: int) -> np.ndarray:
    """Closure p . e_k = 0 of the origin of B."""
    p = H[:3, 3]
    lever = [[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]][k]
    return array([p[k], *lever, *np.eye(3)[k]])


def _turn(H: np.ndarray, i: int, j: int) -> np.ndarray:
    """Closure e_i . b_j = 0 of axis i of A and axis j of B; its moment is b_j x e_i."""
    b = H[:3, j]
    moment = [[0.0, b[2], -b[1]], [-b[2], 0.0, b[0]], [b[1], -b[0], 0.0]][i]
    return array([b[i], *moment, 0.0, 0.0, 0.0])


def _parallel(H: np.ndarray) -> list[np.ndarray]:
    """z of B along z of A, two closures: moments about x and y."""
    return [-_turn(H, 1, 2), _turn(H, 0, 2)]


def _aligned(H: np.ndarray) -> list[np.ndarray]:
    """All axes of B along those of A, three closures: the skew part of R."""
    return [0.5 * (_turn(H, (k + 2) % 3, (k + 1) % 3) - _turn(H, (k + 1) % 3, (k + 2) % 3)) for k in range(3)]


def _crossing(H: np.ndarray, psi: Scalar) -> np.ndarray:
    """First axis of A and second axis of B at the angle psi: moment about their common normal."""
    c, s = cos(psi), sin(psi)
    row = (-1.0 / s) * (c * _turn(H, 0, 0) + s * _turn(H, 0, 1))
    return array([row[0] + c / s, *row[1:]])


def _nut(H: np.ndarray, pitch: Scalar) -> np.ndarray:
    """p_z = pitch * angle, on whichever turn is nearest: h = pitch * (p_z / pitch - angle), brought into -pi to pi."""
    about, along = _angle(H), _shift(H, 2)
    phase = along[0] / pitch - about[0]
    return array([pitch * atan2(sin(phase), cos(phase)), *(along[1:] - pitch * about[1:])])


def _angle(H: np.ndarray) -> np.ndarray:
    """Angle of B about z of A, and the row of its rate."""
    s, c = _turn(H, 1, 0) - _turn(H, 0, 1), _turn(H, 0, 0) + _turn(H, 1, 1)
    rate = (c[0] * s[1:] - s[0] * c[1:]) / (c[0] * c[0] + s[0] * s[0])
    return array([atan2(s[0], c[0]), *rate])


_CLOSURES: dict[str, Callable[..., list[np.ndarray]]] = {
    "revolute": lambda H: [*_parallel(H), *(_shift(H, k) for k in range(3))],
    "prismatic": lambda H: [*_aligned(H), _shift(H, 0), _shift(H, 1)],
    "helical": lambda H, pitch: [*_parallel(H), _shift(H, 0), _shift(H, 1), _nut(H, pitch)],
    "cylindrical": lambda H: [*_parallel(H), _shift(H, 0), _shift(H, 1)],
    "universal": lambda H, psi: [_crossing(H, psi), *(_shift(H, k) for k in range(3))],
    "spherical": lambda H: [_shift(H, k) for k in range(3)],
    "planar": lambda H: [*_parallel(H), _shift(H, 2)],
    "free": lambda H: [],
    "fixed": lambda H: [*_aligned(H), *(_shift(H, k) for k in range(3))],
}


def violation(kind: str, H: np.ndarray, *numbers: Scalar) -> np.ndarray:
    """h (6 - n,): angles in rad (to first order), then lengths in m, by which H_A_B misses the joint."""
    return array([row[0] for row in _CLOSURES[kind](H, *numbers)])


def held(kind: str, H: np.ndarray, *numbers: Scalar) -> np.ndarray:
    """W (6 - n, 6) with dh/dt = W @ T_A_A_B: each row is a wrench that the joint transmits, in A."""
    return array([list(row[1:]) for row in _CLOSURES[kind](H, *numbers)])


def left_free(kind: str, H: np.ndarray, *numbers: Scalar) -> np.ndarray:
    """F (n, 6), or (6,) for one freedom: rates of the joint's motions = F @ T_A_A_B.

    F.T @ torque is a motor's wrench on b, in A. Rates: angular velocities about the axes, velocities along them, in the order
    of the joint's screws; spherical and free: omega (and the velocity of the point of b at the origin of A) along the axes of A.
    """
    unit = np.eye(6)
    if kind in ("revolute", "helical"):
        return unit[2]
    if kind == "prismatic":
        return unit[5]
    if kind == "cylindrical":
        return unit[[2, 5]]
    if kind == "universal":
        (psi,) = numbers
        c, s = cos(psi), sin(psi)
        first, second = unit[0, :3], H[:3, 0] * c + H[:3, 1] * s
        scale = 1.0 / (s * s)
        rows = [(first - c * second) * scale, (second - c * first) * scale]
        return array([[*row, 0.0, 0.0, 0.0] for row in rows])
    if kind == "spherical":
        return unit[:3]
    if kind == "planar":
        return array([list(_shift(H, 0)[1:]), list(_shift(H, 1)[1:]), list(unit[2])])
    return unit


def coordinates(kind: str, H: np.ndarray, *numbers: Scalar) -> Any:
    """Joint coordinates (n,), or a scalar, from the pose: angles in (-pi, pi] (helical: all turns), lengths in m.

    Spherical: the three independent entries of the skew part of R, sin(angle) times the axis.
    """
    p = H[:3, 3]
    if kind == "revolute":
        return atan2(H[1, 0] - H[0, 1], H[0, 0] + H[1, 1])
    if kind == "helical":
        return p[2] / numbers[0]
    if kind == "prismatic":
        return p[2]
    if kind == "cylindrical":
        return array([atan2(H[1, 0] - H[0, 1], H[0, 0] + H[1, 1]), p[2]])
    if kind == "universal":
        return _universal_angles(H, numbers[0])
    if kind == "planar":
        return array([p[0], p[1], atan2(H[1, 0] - H[0, 1], H[0, 0] + H[1, 1])])
    skew = array([0.5 * (H[2, 1] - H[1, 2]), 0.5 * (H[0, 2] - H[2, 0]), 0.5 * (H[1, 0] - H[0, 1])])
    return skew if kind == "spherical" else array([*skew, *p])


def _universal_angles(H: np.ndarray, psi: Scalar) -> np.ndarray:
    """Turn of the second axis about the first, and of B about the second: H = exp(x q1) exp(axis2 q2)."""
    c, s = cos(psi), sin(psi)
    second = H[:3, 0] * c + H[:3, 1] * s
    # The first axis in B, against its part across the second axis (c, s, 0) and their normal (0, 0, -s).
    x, y, z = H[0, 0], H[0, 1], H[0, 2]
    across = (x - c * (c * x + s * y)) * (s * s) + (y - s * (c * x + s * y)) * (-c * s)
    return array([atan2(second[2], second[1]), atan2(z * s, across)])
