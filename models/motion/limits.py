"""Limits of velocity, acceleration and jerk: violations of a motion, and the time scaling that satisfies the limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from screwbond.models.motion.polynomials import QUANTITIES, Array, Motion, numbers, refuse

LIMIT_TOLERANCE = 1e-9
"""Relative excess of a limit that is still accepted."""


def limit_values(shape: tuple[int, ...], velocity: Any, acceleration: Any, jerk: Any) -> dict[int, Array]:
    """Return limits by order of derivative (1, 2, 3), each of the shape of r; infinite where the argument is None.

    Raises `ModelError` E470 for limits that are not positive or do not fit the axes.
    """
    limits = {}
    for order, limit in ((1, velocity), (2, acceleration), (3, jerk)):
        if limit is None:
            limits[order] = np.full(shape, np.inf)
            continue
        value = numbers(f"the limit of {QUANTITIES[order]}", limit)
        if value.shape not in ((), shape) or not np.all(value > 0.0):
            title = f"the limit of {QUANTITIES[order]} is {limit!r}"
            refuse("E470", title, f"the motion has the shape {shape}", "a positive number, or one for each axis")
        limits[order] = np.broadcast_to(value, shape)
    return limits


def time_factor(peak: Callable[[int], Array], limits: dict[int, Array]) -> float:
    """Return the time scaling factor with which a motion from rest to rest just reaches a limit, from the peaks of its
    derivatives; 0 without finite limits."""
    return max(float(np.max(peak(k) / limit)) ** (1.0 / k) for k, limit in limits.items())


def limit_ratio(motion: Motion, limits: dict[int, Array]) -> float:
    """Return the largest ratio of a peak to its limit: above 1, the limit is exceeded."""
    return max(float(np.max(motion.peak(k) / limit)) for k, limit in limits.items())


def violations(motion: Motion, limits: dict[int, Array]) -> tuple[str, ...]:
    """Return one line for each exceeded limit: the peak, its axis and its time."""
    lines = []
    for order, limit in limits.items():
        low, low_at, high, high_at = motion.extremes(order)
        peak = np.maximum(-low, high)
        ratio = np.atleast_1d(peak / limit)
        axis = int(np.argmax(ratio))
        if ratio[axis] > 1.0 + LIMIT_TOLERANCE:
            when = np.atleast_1d(np.where(-low > high, low_at, high_at))[axis]
            along = f" along axis {axis}" if motion.shape else ""
            lines.append(
                f"{QUANTITIES[order]}{along} reaches {np.atleast_1d(peak)[axis]:.6g} at {when:.6g} s, "
                f"limit {np.atleast_1d(limit)[axis]:.6g}"
            )
    return tuple(lines)


def check_limits(motion: Motion, limits: dict[int, Array], shortest: float | None = None) -> None:
    """Refuse a motion whose given times exceed a limit (E473); the message lists the violations."""
    lines = violations(motion, limits)
    if lines:
        cure = "leave the times out, and they are chosen" if shortest is None else f"a duration of {shortest:.6g} s or more"
        refuse("E473", "the given times of a motion exceed its limits", lines, cure)
