"""Kinds of joints, one record each: constrained and free directions, coordinates, and the error of a pose in the joint.

H = H_A_B is the pose of the joint's axes on body b (frame B) as seen from its axes on body a (frame A): z along the axis or
normal. Universal joint: x of A along the first axis; the second axis is fixed to B, at the angle `psi` to x in B's plane of x and
y.

A joint is closed by rows [h, w_tau, w_f] of seven scalars: h vanishes where it is closed, and dh/dt = w_tau . omega + w_f . v
exactly, closed or not, for the twist [omega; v] = T_A_A_B. A violation therefore decays as the stabilised constraint prescribes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from screws import rotations
from screws.joints import Joint
from screws.rotations import tilde
from screws.scalars import Scalar, array, atan2, cos, sin

Formula = Callable[..., Any]
Row = np.ndarray


@dataclass(frozen=True)
class KindNumber:
    name: str
    unit: str
    symbol: str
    of: Callable[[Joint], float]


@dataclass(frozen=True)
class Kind:
    """Formulas of a kind of joint: functions of the pose H, for `tilt` of its rotation, and of the number of the kind, if any."""

    closures: Callable[..., list[Row]]
    """Rows [h, w_tau, w_f], with h zero where the joint is closed: angles first, then lengths."""
    free: Formula
    """Matrix F (n, 6), or (6,) for one freedom, with F @ T_A_A_B the rates of the joint's motions in the order of its screws:
    angular velocities about the axes and velocities along them. F.T @ torque is the wrench of a motor on b, in A."""
    coordinates: Formula
    """Joint coordinates (n,), or a scalar: lengths in m; angles in (-pi, pi], or with all turns in a helical joint; for
    rotations in space, sin(angle) times the axis."""
    angles: int
    """Number of the first rows of `closures` that are angles."""
    tilt: Callable[..., float]
    number: KindNumber | None = None

    def violation(self, H: np.ndarray, *numbers: Any) -> Any:
        """Return h (6 - n,), a scalar for n = 5: the angles in rad (to first order), then the lengths in m, by which H_A_B
        violates the joint."""
        h = [row[0] for row in self.closures(H, *numbers)]
        return h[0] if len(h) == 1 else array(h)

    def constraint_matrix(self, H: np.ndarray, *numbers: Any) -> np.ndarray:
        """Return W^T (6 - n, 6), (6,) for n = 5, with dh/dt = W^T @ T_A_A_B: each column of W is a wrench that the joint
        transmits, in A."""
        rows = [list(row[1:]) for row in self.closures(H, *numbers)]
        return array(rows[0] if len(rows) == 1 else rows)

    def gap_and_tilt(self, H: np.ndarray, *numbers: float) -> tuple[float, float]:
        """Return the length (m) and the angle (rad) by which a pose H_A_B violates the joint."""
        lengths = np.atleast_1d(np.asarray(self.violation(H, *numbers), dtype=float))[self.angles :]
        return float(np.linalg.norm(lengths)), float(self.tilt(np.asarray(H, dtype=float)[:3, :3], *numbers))


def shift(H: np.ndarray, k: int) -> np.ndarray:
    """Return the closure condition p . e_k = 0 of the origin of B."""
    p = H[:3, 3]
    return array([p[k], *tilde(p)[:, k], *np.eye(3)[k]])


def turn(H: np.ndarray, i: int, j: int) -> np.ndarray:
    """Return the closure condition e_i . b_j = 0 of axis i of A and axis j of B; its moment is b_j x e_i."""
    b = H[:3, j]
    return array([b[i], *tilde(b)[:, i], 0.0, 0.0, 0.0])


def parallel(H: np.ndarray) -> list[np.ndarray]:
    """Return two closure conditions, which align z of B with z of A and transmit moments about x and y."""
    return [-turn(H, 1, 2), turn(H, 0, 2)]


def aligned(H: np.ndarray) -> list[np.ndarray]:
    """Return three closure conditions, the skew part of R, which align the axes of B with those of A."""
    return [0.5 * (turn(H, (k + 2) % 3, (k + 1) % 3) - turn(H, (k + 1) % 3, (k + 2) % 3)) for k in range(3)]


def crossing(H: np.ndarray, psi: Scalar) -> np.ndarray:
    """Return the closure condition that keeps the first axis (of A) and the second axis (of B) at the angle psi, and transmits a
    moment about their common normal."""
    c, s = cos(psi), sin(psi)
    row = (-1.0 / s) * (c * turn(H, 0, 0) + s * turn(H, 0, 1))
    return array([row[0] + c / s, *row[1:]])


def helical_closure(H: np.ndarray, pitch: Scalar) -> np.ndarray:
    """Return the closure condition p_z = pitch * angle on the nearest turn: h = pitch * (p_z / pitch - angle), with this
    difference wrapped to (-pi, pi]."""
    about, along = angle(H), shift(H, 2)
    phase = along[0] / pitch - about[0]
    return array([pitch * atan2(sin(phase), cos(phase)), *(along[1:] - pitch * about[1:])])


def angle(H: np.ndarray) -> np.ndarray:
    s, c = turn(H, 1, 0) - turn(H, 0, 1), turn(H, 0, 0) + turn(H, 1, 1)
    rate = (c[0] * s[1:] - s[0] * c[1:]) / (c[0] * c[0] + s[0] * s[0])
    return array([atan2(s[0], c[0]), *rate])


UNIT = np.eye(6)


def _skew(H: np.ndarray) -> np.ndarray:
    return rotations.untilde(H[:3, :3])


def _turn(H: np.ndarray, *_: Any) -> Any:
    return atan2(H[1, 0] - H[0, 1], H[0, 0] + H[1, 1])


def _universal_rates(H: np.ndarray, psi: Any) -> np.ndarray:
    c, s = cos(psi), sin(psi)
    first, second = UNIT[0, :3], H[:3, 0] * c + H[:3, 1] * s
    scale = 1.0 / (s * s)
    rows = [(first - c * second) * scale, (second - c * first) * scale]
    return array([[*row, 0.0, 0.0, 0.0] for row in rows])


def _universal_angles(H: np.ndarray, psi: Any) -> np.ndarray:
    """Return the angles q1 of the second axis about the first and q2 of B about the second, with H = exp(x q1) exp(axis2 q2)."""
    c, s = cos(psi), sin(psi)
    second = H[:3, 0] * c + H[:3, 1] * s
    # The first axis in B, by its components across the second axis (c, s, 0) and along their normal (0, 0, -s).
    x, y, z = H[0, 0], H[0, 1], H[0, 2]
    across = (x - c * (c * x + s * y)) * (s * s) + (y - s * (c * x + s * y)) * (-c * s)
    return array([atan2(second[2], second[1]), atan2(z * s, across)])


def _pitch(joint: Joint) -> float:
    omega, v = joint.screws[:3, 0], joint.screws[3:, 0]
    return float(omega @ v)  # the moment of a screw about its own line is the pitch along it


def _angle_between(joint: Joint) -> float:
    return float(np.arccos(float(joint.screws[:3, 0] @ joint.screws[:3, 1])))


def _off_axis(R: np.ndarray, *_: float) -> float:
    return float(np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2]))


def _rotation_angle(R: np.ndarray) -> float:
    return float(np.linalg.norm(np.asarray(rotations.log(R), dtype=float)))


def _off_psi(R: np.ndarray, psi: float) -> float:
    second = R @ np.array([np.cos(psi), np.sin(psi), 0.0])
    return abs(float(np.arccos(np.clip(second[0], -1.0, 1.0))) - psi)


def _no_tilt(R: np.ndarray, *_: float) -> float:
    return 0.0


def _coaxial(H: np.ndarray) -> list[Row]:
    return [*parallel(H), shift(H, 0), shift(H, 1)]


def _at_point(H: np.ndarray) -> list[Row]:
    return [shift(H, k) for k in range(3)]


def _rod(H: np.ndarray, length: Scalar) -> Row:
    """Return the closure condition that keeps B's origin at the distance `length` from the point (0, 0, -length) of A:
    p_z + p . p / (2 length) = 0."""
    x, y, z = (shift(H, k) for k in range(3))
    row = z + (x[0] * x + y[0] * y + z[0] * z) / length
    return array([z[0] + (x[0] * x[0] + y[0] * y[0] + z[0] * z[0]) / (2.0 * length), *row[1:]])


def _swings(rows: Callable[[np.ndarray], np.ndarray]) -> Formula:
    def formula(H: np.ndarray, length: Scalar) -> np.ndarray:
        x, y, *turns = rows(H)
        swings = [-y / length, x / length]
        return array([*swings, *(turn - swing for turn, swing in zip(turns, [*swings, 0.0 * x], strict=True))])

    return formula


def _length(joint: Joint) -> float:
    a, b = (joint.screws[:, k] for k in (0, 2))  # the same turn about either end
    return float(np.linalg.norm(a[3:] - b[3:]))


def _point_rates(H: np.ndarray) -> np.ndarray:
    return array([list(shift(H, 0)[1:]), list(shift(H, 1)[1:]), *(list(row) for row in UNIT[:3])])


def _point_coordinates(H: np.ndarray) -> np.ndarray:
    return array([H[0, 3], H[1, 3], *_skew(H)])


KINDS: dict[str, Kind] = {
    "revolute": Kind(lambda H: [*parallel(H), *_at_point(H)], lambda H: UNIT[2], _turn, 2, _off_axis),
    "prismatic": Kind(
        lambda H: [*aligned(H), shift(H, 0), shift(H, 1)], lambda H: UNIT[5], lambda H: H[2, 3], 3, _rotation_angle
    ),
    "helical": Kind(
        lambda H, pitch: [*_coaxial(H), helical_closure(H, pitch)],
        lambda H, pitch: UNIT[2],
        lambda H, pitch: H[2, 3] / pitch,  # all turns
        2,
        _off_axis,
        KindNumber("pitch", "m/rad", "p", _pitch),
    ),
    "cylindrical": Kind(_coaxial, lambda H: UNIT[[2, 5]], lambda H: array([_turn(H), H[2, 3]]), 2, _off_axis),
    "universal": Kind(
        lambda H, psi: [crossing(H, psi), *_at_point(H)],
        _universal_rates,
        _universal_angles,
        1,
        _off_psi,
        KindNumber("psi", "rad", r"\psi", _angle_between),
    ),
    "spherical": Kind(_at_point, lambda H: UNIT[:3], _skew, 0, _no_tilt),
    "planar": Kind(
        lambda H: [*parallel(H), shift(H, 2)],
        lambda H: array([list(shift(H, 0)[1:]), list(shift(H, 1)[1:]), list(UNIT[2])]),
        lambda H: array([H[0, 3], H[1, 3], _turn(H)]),
        2,
        _off_axis,
    ),
    "inline": Kind(
        lambda H: [shift(H, 0), shift(H, 1)],
        lambda H: array([list(shift(H, 2)[1:]), *(list(row) for row in UNIT[:3])]),
        lambda H: array([H[2, 3], *_skew(H)]),
        0,
        _no_tilt,
    ),
    "inplane": Kind(lambda H: [shift(H, 2)], _point_rates, _point_coordinates, 0, _no_tilt),
    "rod": Kind(
        lambda H, length: [_rod(H, length)],
        _swings(_point_rates),
        _swings(_point_coordinates),
        0,
        _no_tilt,
        KindNumber("length", "m", r"\ell", _length),
    ),
    "free": Kind(lambda H: [], lambda H: UNIT, lambda H: array([*_skew(H), *H[:3, 3]]), 0, _no_tilt),
    "fixed": Kind(lambda H: [*aligned(H), *_at_point(H)], lambda H: UNIT[:0], lambda H: array([]), 3, _rotation_angle),
}


def joint_error(kind: str, H: np.ndarray, *numbers: float) -> tuple[float, float]:
    """Return the length (m) and the angle (rad) by which a pose H_A_B violates a joint of a kind in `KINDS`.

    `numbers` : the pitch (m/rad) of a helical, `psi` (rad) of a universal, the length (m) of a rod joint; none for other kinds.
    """
    return KINDS[kind].gap_and_tilt(H, *numbers)
