"""se(3) and SE(3): poses H (4, 4) and twists T = [omega; v] (6,), plain formulas over any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from screws import rotations
from screws.arrays import Matrix4, Matrix6, Pose, PoseState, Rotation, Twist, Vector3
from screws.numeric_arguments import floats
from screws.rotations import series, tilde
from screws.scalars import array, less, where


def pose(R: Rotation, p: Vector3) -> Pose:
    """Return the pose H (4, 4) from rotation (3, 3) and position (3,), m."""
    return array([[R[i][0], R[i][1], R[i][2], p[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]])


def is_pose(H: Any, tolerance: float = 1e-6) -> bool:
    """Return True if H is a real matrix (4, 4) with a right-handed rotation, orthonormal within the tolerance."""
    matrix = floats(H, (4, 4))
    if matrix is None or not np.allclose(matrix[3], [0.0, 0.0, 0.0, 1.0], rtol=0.0):
        return False
    R = matrix[:3, :3]
    return bool(np.allclose(R.T @ R, np.eye(3), rtol=0.0, atol=tolerance) and np.linalg.det(R) > 0.0)


def rotation_of(H: Pose) -> Rotation:
    """Return the rotation R_a_b (3, 3) of a pose H_a_b."""
    return H[:3, :3]


def position_of(H: Pose) -> np.ndarray:
    """Return the position p_a_b (3,) of the origin of b in a, m."""
    return H[:3, 3]


def inverse(H: Pose) -> Pose:
    """Return the pose H_b_a from H_a_b, by transposition."""
    R = H[:3, :3].T
    return pose(R, -(R @ H[:3, 3]))


def product(H_a_b: Pose, H_b_c: Pose) -> Pose:
    """Return the pose H_a_c = H_a_b @ H_b_c, without multiplying by the constant last row."""
    R = H_a_b[:3, :3]
    return pose(R @ H_b_c[:3, :3], R @ H_b_c[:3, 3] + H_a_b[:3, 3])


def Ad(H: Pose) -> Matrix6:
    """Return the adjoint (6, 6) of a pose: T_a = Ad(H_a_b) @ T_b, and W_b = Ad(H_a_b).T @ W_a (Visser 2002, eq. 4).

    [[R, 0], [tilde(p) R, R]]; the printed p R in (4) means tilde(p) R.
    """
    R, p = H[:3, :3], H[:3, 3]
    upper = [[R[i, 0], R[i, 1], R[i, 2], 0.0, 0.0, 0.0] for i in range(3)]
    moment = tilde(p) @ R
    lower = [[moment[i, 0], moment[i, 1], moment[i, 2], R[i, 0], R[i, 1], R[i, 2]] for i in range(3)]
    return array(upper + lower)


def Ad_of_inverse(H: Pose) -> Matrix6:
    """Return Ad(inverse(H)) (6, 6): T_b = Ad_of_inverse(H_a_b) @ T_a, with fewer products.

    [[R^T, 0], [-R^T tilde(p), R^T]]
    """
    R, p = H[:3, :3], H[:3, 3]
    upper = [[R[0, i], R[1, i], R[2, i], 0.0, 0.0, 0.0] for i in range(3)]
    moment = [[p[j - 2] * R[j - 1, i] - p[j - 1] * R[j - 2, i] for j in range(3)] for i in range(3)]
    lower = [[*moment[i], R[0, i], R[1, i], R[2, i]] for i in range(3)]
    return array(upper + lower)


def ad(T: Twist) -> Matrix6:
    """Return the matrix (6, 6) of the Lie bracket: ad(T1) @ T2 = [T1, T2]; d/dt Ad(H_a_b) = Ad(H_a_b) @ ad(T_b_a_b)."""
    w, v = tilde(T[:3]), tilde(T[3:])
    zero = [0.0, 0.0, 0.0]
    return array([[*w[i], *zero] for i in range(3)] + [[*v[i], *w[i]] for i in range(3)])


def hat(T: Twist) -> Matrix4:
    """Return the matrix (4, 4) of a twist: hat(T_b_a_b) = inverse(H_a_b) @ dH_a_b/dt."""
    w = tilde(T[:3])
    return array([[w[i, 0], w[i, 1], w[i, 2], T[3 + i]] for i in range(3)] + [[0.0, 0.0, 0.0, 0.0]])


def vee(matrix: Matrix4) -> np.ndarray:
    """Return the twist (6,) of a matrix (4, 4) in se(3)."""
    return array([*rotations.untilde(matrix[:3, :3]), matrix[0, 3], matrix[1, 3], matrix[2, 3]])


def exp(T: Twist) -> Pose:
    """Return the pose (4, 4) reached by the constant twist T (6,) in unit time; any scalar, any angle."""
    w, v = T[:3], T[3:]
    a, b, c = rotations.exp_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    skew = tilde(w)
    square = skew @ skew
    eye = np.eye(3)
    return pose(eye + a * skew + b * square, (eye + b * skew + c * square) @ array([v[0], v[1], v[2]]))


HALF_COT = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600, 3617 / 10670622842880000)
"""Coefficients of (1 - h cot h) / (2 h)^2 in (2 h)^2."""


def log(H: Pose) -> np.ndarray:
    """Return the twist (6,) with exp(T) = H and an angle in [0, pi]; any scalar, accurate near 0 and near pi."""
    w = rotations.log(H[:3, :3])
    s = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    a, b, _ = rotations.exp_coefficients(s)
    small = less(s, 0.5)
    far = (1.0 - 0.5 * a / where(small, 0.5, b)) / where(small, 1.0, s)
    skew = tilde(w)
    v = (np.eye(3) - 0.5 * skew + where(small, series(s, HALF_COT), far) * (skew @ skew)) @ H[:3, 3]
    return array([w[0], w[1], w[2], v[0], v[1], v[2]])


def pose_from_state(x: PoseState | Pose) -> Pose:
    """Return the pose (4, 4) of a state [qw, qx, qy, qz, px, py, pz] (m); the quaternion need not be exactly unit.

    A pose (4, 4) is returned unchanged, since a body without a pose state passes its pose instead.
    """
    if isinstance(x, np.ndarray) and x.shape == (4, 4):
        return x
    return pose(rotations.rotation(x[:4]), x[4:])


def pose_state(H: Pose) -> np.ndarray:
    """Return the state (7,) [qw, qx, qy, qz, px, py, pz] of a pose, with qw >= 0."""
    return array([*rotations.quaternion(H[:3, :3]), H[0, 3], H[1, 3], H[2, 3]])


def pose_rate(x: PoseState, T: Twist, kappa: float = 1.0) -> np.ndarray:
    """Return the rate (7,) of a pose state that moves with the body twist T_b_a_b (6,).

    q' = q (0, omega) / 2 + kappa n (1 - q.q) q / 8 with a norm n of omega, and p' = R v; see `screws.rotations.quaternion_rate`.
    """
    velocity = rotations.rotation(x[:4]) @ array([T[3], T[4], T[5]])
    return array([*rotations.quaternion_rate(x[:4], T[:3], kappa), *velocity])
