"""Generalised contact kinematics (Visser 2002, section 3, corrected): rates of the contact coordinates from the
relative twist, and their drift."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screws.poses import inverse, product
from screws.scalars import Scalar, absolute, array, cos, maximum, minimum, sin
from screws.surfaces.frames import Geometry
from screws.vectors import dot


def contact_pose(alpha: Scalar, d: Scalar) -> np.ndarray:
    """Return the pose H_C1_C2 (4, 4) of Gauss frame 2 in Gauss frame 1 (Visser 2002, eq. 12-14).

    R = [[cos a, -sin a], [-sin a, -cos a]]; the printed sign of the last entry of eq. 14 is wrong: z2 = -z1 needs a
    reflection. alpha is Montana's angle, about z2.
    """
    c, s = cos(alpha), sin(alpha)
    return array([[c, -s, 0.0, 0.0], [-s, -c, 0.0, 0.0], [0.0, 0.0, -1.0, d], [0.0, 0.0, 0.0, 1.0]])


def relative_pose(g1: Geometry, g2: Geometry, alpha: Scalar, d: Scalar) -> np.ndarray:
    """Return the pose H_O1_O2 (4, 4) of object 2 in object 1 from the six contact coordinates."""
    return product(product(g1.H, contact_pose(alpha, d)), inverse(g2.H))


def relative_curvature(g1: Geometry, g2: Geometry, alpha: Scalar, d: Scalar) -> tuple[tuple[Scalar, ...], ...]:
    """Return A = R K1 R, B = d A + I and S = K2 B + A, each as its entries (11, 12, 21, 22).

    S is regular wherever the contact coordinates are; det S > 0 for a strictly convex pair at every d >= 0.
    """
    c, s = cos(alpha), sin(alpha)
    double_sine, double_cosine = 2.0 * c * s, 1.0 - 2.0 * s * s
    mean, half = 0.5 * (g1.K[0, 0] + g1.K[1, 1]), 0.5 * (g1.K[0, 0] - g1.K[1, 1])
    swing = half * double_cosine - g1.K[0, 1] * double_sine
    a11, a22 = mean + swing, mean - swing
    a12 = -(half * double_sine + g1.K[0, 1] * double_cosine)
    b11, b12, b22 = d * a11 + 1.0, d * a12, d * a22 + 1.0
    k11, k12, k22 = g2.K[0, 0], g2.K[0, 1], g2.K[1, 1]
    return (
        (a11, a12, a12, a22),
        (b11, b12, b12, b22),
        (k11 * b11 + k12 * b12 + a11, k11 * b12 + k12 * b22 + a12, k12 * b11 + k22 * b12 + a12, k12 * b12 + k22 * b22 + a22),
    )


def contact_rates(
    g1: Geometry, g2: Geometry, alpha: Scalar, d: Scalar, T: Sequence[Scalar] | np.ndarray
) -> tuple[np.ndarray, np.ndarray, Scalar, Scalar]:
    """Return the rates of the contact coordinates for a relative twist, with a gap of either sign.

    Parameters
    ----------
    g1, g2 : geometry of both surfaces at the contact coordinates.
    alpha : Montana's angle from x1 to x2 about z2 = -z1, rad.
    d : gap z1 . (p2 - p1), m; negative in penetration.
    T : T_{O2}^{C2,O1} (6,): twist of object 2 relative to object 1, expressed in Gauss frame C2.

    Returns (q1dot (2,), q2dot (2,), alphadot (rad/s), ddot (m/s)).

    Source: Visser 2002, eq. (18)-(21), corrected: with A = R K1 R, B = d A + I, w = (-wy, wx), v = (vx, vy),
    M1 q1' = R y with (K2 B + A) y = w + K2 v, and M2 q2' = B y - v, which equals (B K2 + A)^-1 (B w - A v) since A and
    B commute; alpha' = wz + T1 M1 q1' + T2 M2 q2'; d' = -vz.
    """
    _, (b11, b12, _, b22), (s11, s12, s21, s22) = relative_curvature(g1, g2, alpha, d)
    vx, vy = T[3], T[4]
    r1 = g2.K[0, 0] * vx + g2.K[0, 1] * vy - T[1]
    r2 = g2.K[0, 1] * vx + g2.K[1, 1] * vy + T[0]
    inverse_determinant = 1.0 / (s11 * s22 - s12 * s21)
    y1, y2 = (s22 * r1 - s12 * r2) * inverse_determinant, (s11 * r2 - s21 * r1) * inverse_determinant
    c, s = cos(alpha), sin(alpha)
    m1, n1 = c * y1 - s * y2, -(s * y1 + c * y2)
    m2, n2 = b11 * y1 + b12 * y2 - vx, b12 * y1 + b22 * y2 - vy
    v1, v2 = n1 / g1.M[1, 1], n2 / g2.M[1, 1]
    # The surface formulas have computed 1 / |c_u| already.
    u1 = (m1 - g1.M[0, 1] * v1) * (1.0 / g1.M[0, 0])
    u2 = (m2 - g2.M[0, 1] * v2) * (1.0 / g2.M[0, 0])
    alphadot = T[2] + (g1.T[0] * m1 + g1.T[1] * n1) + (g2.T[0] * m2 + g2.T[1] * n2)
    return array([u1, v1]), array([u2, v2]), alphadot, -T[5]


def drift(H_0_C1: np.ndarray, H_0_C2: np.ndarray, alpha: Scalar, d: Scalar) -> np.ndarray:
    """Return the small displacement (6,) of body 2 from the pose of its contact coordinates to its actual pose, in C2: rad, m.

    Parameters
    ----------
    H_0_C1, H_0_C2 : Gauss frames (4, 4) in the world: pose of the body times the frame at its coordinates.
    alpha, d : contact angle and gap from integration.

    The displacement is the logarithm, to first order, of contact_pose(alpha, d)^-1 H_0_C1^-1 H_0_C2. It is zero if the contact
    coordinates match the poses of the bodies.
    """
    x1, z1 = ([H_0_C1[i, k] for i in range(3)] for k in (0, 2))
    x2, y2 = ([H_0_C2[i, k] for i in range(3)] for k in (0, 1))
    between = [H_0_C2[i, 3] - H_0_C1[i, 3] for i in range(3)]
    height, tilt_x, tilt_y = dot(z1, between), -dot(z1, y2), dot(z1, x2)
    return array(
        [
            tilt_x,
            tilt_y,
            -(dot(x1, y2) * cos(alpha) + dot(x1, x2) * sin(alpha)),
            dot(x2, between) - tilt_y * height,
            dot(y2, between) + tilt_x * height,
            d - height,
        ]
    )


FAR, VERY_FAR = 8.0, 1000.0
"""`FAR` is the gap times relative curvature above which the gap limits corrections of contact coordinates; sliding gets less
weight above `FAR` x `VERY_FAR`."""


def motion_rate(g1: Geometry, g2: Geometry, alpha: Scalar, d: Scalar, T: Sequence[Scalar] | np.ndarray) -> Scalar:
    """Return the rate of rotation plus the rate at which sliding turns the normals, rad/s; independent of the unit of length.

    It is |omega| + |v| |S| for the twist T of body 2 relative to body 1 in C2 and the relative curvature S = K2 B + A; |.| is the
    sum of absolute values (for S, of its diagonal entries).
    Contact coordinates drift in proportion to the motion; a correction at this rate removes an error within one radian of the
    motion.

    At gaps of several radii, d |S| > `FAR`, nothing turns that fast: |S| grows with the gap, so the rate would make the equations
    of distant bodies stiff. There |omega| + (|v| + |v_z|) `FAR` / d replaces it: an error in length decays as the gap
    to the power `FAR` while the bodies approach. Very far away, |v| / d, the rate at which the direction from body to body turns,
    replaces |v| `FAR` / d: if body 1 turns, |v| is its rate times the gap.
    """
    s11, _, _, s22 = relative_curvature(g1, g2, alpha, d)[2]
    turning = absolute(T[0]) + absolute(T[1]) + absolute(T[2])
    curvature = absolute(s11) + absolute(s22)
    near = 1.0 / maximum(1.0, d * curvature * (1.0 / FAR))
    sliding = (absolute(T[3]) + absolute(T[4])) * maximum(1.0 / FAR, minimum(1.0, near * VERY_FAR))
    return turning + (sliding + absolute(T[5]) * (1.0 - near)) * (curvature * near)
