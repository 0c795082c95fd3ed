"""so(3), SO(3) and unit quaternions (w, x, y, z): plain formulas over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screws.arrays import Matrix3, Quaternion, Rotation, Vector3
from screws.errors import GeometryError
from screws.scalars import Scalar, absolute, array, atan2, less, sin, sqrt, where

# Below this square of an angle the coefficients come from their series; both branches hold full precision there.
_SMALL = 0.5


def tilde(v: Vector3) -> Matrix3:
    """Return the skew-symmetric matrix (3, 3) of a vector: tilde(v) @ w = v x w."""
    return array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def untilde(matrix: Matrix3) -> np.ndarray:
    """Return the vector (3,) of a skew-symmetric matrix; the symmetric part is ignored."""
    return array([(matrix[2, 1] - matrix[1, 2]) * 0.5, (matrix[0, 2] - matrix[2, 0]) * 0.5, (matrix[1, 0] - matrix[0, 1]) * 0.5])


def series(s: Scalar, coefficients: Sequence[float]) -> Scalar:
    """Return the sum of coefficients[k] s^k by Horner's rule; 0 without coefficients."""
    total: Scalar = 0.0
    for coefficient in reversed(coefficients):
        total = total * s + coefficient
    return total


def exp_coefficients(s: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return coefficients sin(a)/a, (1 - cos a)/a^2 and (a - sin a)/a^3 as functions of s = a^2, smooth at 0."""
    small = less(s, _SMALL)
    angle = sqrt(where(small, 1.0, s))
    half = sin(angle * 0.5) / angle
    factorials = [float(value) for value in np.cumprod([1.0, *range(1, 20)])]
    first, second, third = ([(-1.0) ** k / factorials[2 * k + power] for k in range(8)] for power in (1, 2, 3))
    return (
        where(small, series(s, first), sin(angle) / angle),
        where(small, series(s, second), 2.0 * half * half),
        where(small, series(s, third), (angle - sin(angle)) / (angle * angle * angle)),
    )


def exp(w: Vector3) -> Rotation:
    """Return the rotation (3, 3) by the rotation vector w (3,), rad; any scalar, any angle (Rodrigues)."""
    a, b, _ = exp_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    skew = tilde(w)
    return np.eye(3) + a * skew + b * (skew @ skew)


def log(R: Rotation) -> np.ndarray:
    """Return the rotation vector (3,) of a rotation, rad, angle in [0, pi]; any scalar, accurate near 0 and near pi."""
    w, x, y, z = quaternion(R)
    s = x * x + y * y + z * z
    small = less(s, 0.01)
    n = sqrt(where(small, 1.0, s))
    # The quaternion has w >= 0, so w is near 1 where s is small.
    w_safe = where(small, w, 1.0)
    ratio = s / (w_safe * w_safe)
    near = series(ratio, [(-1.0) ** k / (2.0 * k + 1.0) for k in range(8)]) / w_safe
    factor = 2.0 * where(small, near, atan2(n, w) / n)
    return array([x * factor, y * factor, z * factor])


def rotation(q: Quaternion) -> Rotation:
    """Return the rotation (3, 3) of the quaternion q / |q|, without a square root; raise G117 for q = 0."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    square = w * w + x * x + y * y + z * z
    if isinstance(square, (int, float)) and square == 0.0:
        raise GeometryError("G117", "the quaternion is zero", "a unit quaternion (w, x, y, z), such as (1, 0, 0, 0)")
    s = 2.0 / square
    sx, sy, sz = s * x, s * y, s * z
    wx, wy, wz = w * sx, w * sy, w * sz
    xx, xy, xz = x * sx, x * sy, x * sz
    yy, yz, zz = y * sy, y * sz, z * sz
    return array([[1.0 - (yy + zz), xy - wz, xz + wy], [xy + wz, 1.0 - (xx + zz), yz - wx], [xz - wy, yz + wx, 1.0 - (xx + yy)]])


def quaternion(R: Rotation) -> np.ndarray:
    """Return the unit quaternion (4,) of a rotation, w >= 0, from its largest component (Shepperd 1978); any scalar."""
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = (
        (1.0 + xx + yy + zz, a, b, c),
        (a, 1.0 + xx - yy - zz, d, e),
        (b, d, 1.0 - xx + yy - zz, f),
        (c, e, f, 1.0 - xx - yy + zz),
    )
    row, largest = rows[0], rows[0][0]
    for k in (1, 2, 3):
        larger = less(largest, rows[k][k])
        row = tuple(where(larger, new, old) for new, old in zip(rows[k], row, strict=True))
        largest = where(larger, rows[k][k], largest)
    factor = 0.5 / sqrt(largest) * where(less(row[0], 0.0), -1.0, 1.0)
    return array([entry * factor for entry in row])


def quaternion_product(p: Quaternion, q: Quaternion) -> np.ndarray:
    """Return the Hamilton product (4,): rotation(p q) = rotation(p) @ rotation(q)."""
    return array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
            p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
        ]
    )


def quaternion_rate(q: Quaternion, omega: Vector3, kappa: float = 1.0) -> np.ndarray:
    """Return the rate (4,) of a quaternion that follows the body angular velocity omega (3,), rad/s.

    q' = q (0, omega) / 2 + kappa n (1 - q.q) q / 8; the last term causes no rotation and returns |q| to 1 at the rate kappa n
    / 4. n is the sum of the absolute values of the components of omega, a norm that automatic differentiation can treat even
    at rest: the length is corrected as fast as the quaternion turns, whatever the unit of time, and the correction does not limit
    the step size of a body that flies without spin.
    """
    w, x, y, z = q[0], q[1], q[2], q[3]
    a, b, c = omega[0] * 0.5, omega[1] * 0.5, omega[2] * 0.5
    turning = absolute(a) + absolute(b) + absolute(c)
    pull = 0.25 * kappa * turning * (1.0 - (w * w + x * x + y * y + z * z))
    return array(
        [
            pull * w - (x * a + y * b + z * c),
            pull * x + w * a + y * c - z * b,
            pull * y + w * b + z * a - x * c,
            pull * z + w * c + x * b - y * a,
        ]
    )
