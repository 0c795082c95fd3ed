"""The motion of a hand's reference, computed a second time by sums of smooth steps instead of piecewise polynomials."""

from __future__ import annotations

import numpy as np
from screwbond.models.hand import HandScenario

from screws.rotations import quaternion_product, rotation


def smooth_step(t: float, begin: float, end: float) -> tuple[float, float]:
    """Return a quintic step from 0 to 1 and its rate, 1/s."""
    x = min(max((t - begin) / (end - begin), 0.0), 1.0)
    rest = 1.0 - x
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x), 30.0 * x * x * rest * rest / (end - begin)


def reference(given: HandScenario, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose (7,), quaternion and position, and [angular velocity; velocity of the origin] (6,) in world axes."""
    q, p = np.array(given.parameters.object_quaternion), np.array(given.parameters.object_position)
    omega, v = np.zeros(3), np.zeros(3)
    for step in given.steps:
        s, rate = smooth_step(t, step.begin, step.end)
        p, v = p + s * np.array(step.shift), v + rate * np.array(step.shift)
        angle = float(np.linalg.norm(step.turn))
        if angle > 0.0:
            half, axis = 0.5 * angle * s, np.array(step.turn) / angle
            turn = np.array([np.cos(half), *(np.sin(half) * axis)])
            q = np.asarray(quaternion_product(turn, q), dtype=float)
            omega = np.asarray(rotation(turn), dtype=float) @ omega + rate * np.array(step.turn)
    return np.concatenate([q, p]), np.concatenate([omega, v])
