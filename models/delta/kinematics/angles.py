"""Conversion between the angles phi of Bortoff 2018 and the coordinates theta of `arm`, and of their rates.

The rod's direction in the arm's axes is n = (s3, c3 c2, c3 s2) of theta and n = (sin phi2 sin phi3, cos phi2,
sin phi2 cos phi3) of phi: phi2 is its angle to x2, phi3 its turn about x2. phi1 = theta1. theta follows from every phi. The
other way, phi2 is in [0, pi] and phi3 in (-pi, pi]; where the rod lies along x2 (sin phi2 = 0, an ordinary pose of the
robot) phi3, phi2' and phi3' are undefined and set to zero.

All functions take any scalars, or arrays of numbers (3, k).

Source: Bortoff 2018, eq. (4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from screws.scalars import array, atan2, cos, less, sin, sqrt, where


def phi_of(theta: Any) -> np.ndarray:
    """Return phi (3,) in rad at theta (3,)."""
    s3, n2, n3 = sin(theta[2]), cos(theta[2]) * cos(theta[1]), cos(theta[2]) * sin(theta[1])
    return _stacked([theta[0], atan2(sqrt(s3 * s3 + n3 * n3), n2), atan2(s3, n3)])


def phi_rate(theta: Any, v: Any) -> np.ndarray:
    """Return phi' (3,) in rad/s at theta (3,) and theta' = v (3,)."""
    s2, c2, s3, c3 = sin(theta[1]), cos(theta[1]), sin(theta[2]), cos(theta[2])
    n3 = c3 * s2
    square = s3 * s3 + n3 * n3
    safe_square = where(less(0.0, square), square, 1.0)
    return _stacked([v[0], (n3 * v[1] + s3 * c2 * v[2]) / sqrt(safe_square), (s2 * v[2] - s3 * c3 * c2 * v[1]) / safe_square])


def theta_of(phi: Any) -> np.ndarray:
    """Return theta (3,) in rad at phi (3,), theta3 in [-pi/2, pi/2]."""
    n1, n2, n3 = sin(phi[1]) * sin(phi[2]), cos(phi[1]), sin(phi[1]) * cos(phi[2])
    return _stacked([phi[0], atan2(n3, n2), atan2(n1, sqrt(n2 * n2 + n3 * n3))])


def theta_rate(phi: Any, rate: Any) -> np.ndarray:
    """Return theta' (3,) in rad/s at phi (3,) and phi' = rate (3,); infinite, or nan, where cos(theta3) = 0."""
    s2, c2, s3, c3 = sin(phi[1]), cos(phi[1]), sin(phi[2]), cos(phi[2])
    n3 = s2 * c3
    square = c2 * c2 + n3 * n3
    return _stacked(
        [rate[0], (c3 * rate[1] - s2 * c2 * s3 * rate[2]) / square, (c2 * s3 * rate[1] + n3 * rate[2]) / sqrt(square)]
    )


def _stacked(entries: list[Any]) -> np.ndarray:
    """Return the three entries as an array of scalars (3,), or of numbers (3, ...)."""
    return np.array(entries) if all(isinstance(entry, np.ndarray) for entry in entries) else array(entries)


def by_arms(function: Callable[..., np.ndarray], *rows: np.ndarray) -> np.ndarray:
    """Apply one of these functions to all arms at once: to angles (..., 3 n), and rates, arm after arm; (..., 3 n)."""
    parts = [np.moveaxis(row.reshape(*row.shape[:-1], row.shape[-1] // 3, 3), -1, 0) for row in rows]
    return np.moveaxis(function(*parts), 0, -1).reshape(rows[0].shape)
