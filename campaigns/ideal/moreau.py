"""Moreau's time stepping for masses with dry friction, which gives velocities with error bounds.

    M (v+ - v) = h (f - D (v+ + v) / 2) - G^T p,   |p_k| <= h F_k,   p_k = h F_k sign(G_k v+) in slip

These relations are the optimality conditions of a least-squares problem with bounds, min |L^-1 G^T p - L^T v*|, solved by an
active-set method (Stark and Parker, BVLS). A step first tries the modes of the preceding step. Source: Moreau 1988; forces at
half steps.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from campaigns.ideal.halving import Reference, Trajectory, halved
from campaigns.ideal.records import Masses

ROUNDING = 1e-11
"""Fraction of an impulse's bound, and of the largest velocity, that counts as zero."""
NOTHING = 1e-6
"""Velocity (m/s) that counts as zero; typical velocities are of order one."""


def slips(masses: Masses) -> np.ndarray:
    """Return the matrix G (friction elements, masses) that maps velocities to slip velocities."""
    matrix = np.zeros((len(masses.frictions), len(masses.masses)))
    for k, friction in enumerate(masses.frictions):
        matrix[k, friction.a] += friction.ratio if friction.b is None else 1.0
        if friction.b is not None:
            matrix[k, friction.b] -= friction.ratio
    return matrix


def stepped(masses: Masses, samples: np.ndarray, step: float = 1e-3) -> Reference:
    """Return the velocities at sample times that are multiples of the step."""
    return halved(lambda h: _trajectory(masses, samples, h), samples, step, NOTHING)


def _trajectory(masses: Masses, samples: np.ndarray, h: float) -> Trajectory:
    G, limits = slips(masses), h * np.array([friction.limit for friction in masses.frictions])
    damping = np.array([mass.damping for mass in masses.masses])
    inertia = np.array([mass.inertia for mass in masses.masses])
    implicit = inertia + 0.5 * h * damping
    root = np.sqrt(implicit)
    half = G.T / root[:, None]
    waves = [mass.force for mass in masses.masses]
    v = np.array([mass.velocity for mass in masses.masses])
    modes, inverses = np.zeros(len(limits)), dict[bytes, np.ndarray]()
    at = {round(t / h) for t in samples}
    rows = [v] if 0 in at else []
    largest = float(np.abs(v).max())
    for k in range(1, round(samples[-1] / h) + 1):
        force = np.array([wave.at((k - 0.5) * h) for wave in waves])
        free = ((inertia - 0.5 * h * damping) * v + h * force) / implicit
        sticks = modes == 0.0
        key = sticks.tobytes()
        if key not in inverses:
            inverses[key] = np.linalg.pinv(half[:, sticks])
        impulse = limits * modes
        impulse[sticks] = inverses[key] @ (root * free - half @ impulse)
        v = free - half @ impulse / root
        slip = G @ v
        fine = np.abs(impulse) <= limits * (1.0 + ROUNDING)
        if not (np.all(fine) and np.all(slip * modes >= -ROUNDING * largest)):
            if np.all(limits > 0.0):
                answer = lsq_linear(half, root * free, bounds=(-limits, limits), method="bvls", tol=1e-15, max_iter=1000)
                impulse = answer.x
            v = free - half @ impulse / root
            modes = np.sign(impulse) * (np.abs(impulse) >= limits * (1.0 - ROUNDING))
        largest = max(largest, float(np.abs(v).max()))
        if k in at:
            rows.append(v)
    return Trajectory(np.array(rows))
