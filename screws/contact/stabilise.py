"""Drift of integrated contact coordinates from the poses of the bodies, and the rate at which they are drawn back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screws.contact.kinematics import relative_curvature
from screws.scalars import Scalar, absolute, array, cos, sin
from screws.surfaces.frames import Geometry
from screws.vectors import dot


def drift(H_0_C1: np.ndarray, H_0_C2: np.ndarray, alpha: Scalar, d: Scalar) -> np.ndarray:
    """Small displacement (6,) of body 2 from where its contact coordinates say to where it is, in C2: rad, m.

    Parameters
    ----------
    H_0_C1, H_0_C2 : Gauss frames (4, 4) in the world: pose of the body times the frame at its coordinates.
    alpha, d : contact angle and gap as they were integrated.

    Notes
    -----
    The logarithm, to first order, of contact_pose(alpha, d)^-1 H_0_C1^-1 H_0_C2. Zero at the closest points of the poses.
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


def motion_rate(g1: Geometry, g2: Geometry, alpha: Scalar, d: Scalar, T: Sequence[Scalar] | np.ndarray) -> Scalar:
    """How fast the bodies turn, and pass along each other over their curvature, rad/s: it knows no unit of length.

    |omega| + |v| |S| of the twist T of body 2 relative to body 1 in C2, sums of sizes, S = K2 B + A the relative curvature.
    What drifts does so by motion; drawn back at this rate, an error is forgotten within a radian of it.
    """
    s11, _, _, s22 = relative_curvature(g1, g2, alpha, d)[2]
    turning = absolute(T[0]) + absolute(T[1]) + absolute(T[2])
    return turning + (absolute(T[3]) + absolute(T[4])) * (absolute(s11) + absolute(s22))
