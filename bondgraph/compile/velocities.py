"""Velocities that fit constraints: how far given ones are off, and the nearest ones that fit.

A constraint that holds has no flow. Where the start velocities give it one, stabilisation would take it away while it goes on
pushing, and give or take energy. The nearest velocities that fit are those of an impulse: the least change in the kinetic metric,

    minimise dx^T G dx / 2  with  f(x + dx) = 0,   G = d2E / dx2,

over the states x of inertias that are not kept. Both f and dE/dx are linear in these (or close to it), so that differences
of any size give their derivatives. All is scaled by G, so that units do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Values = Callable[[np.ndarray], np.ndarray]
"""States (k, n) -> rows of values."""

AGREES = 1e-6
"""Part of the speeds, in the kinetic metric, up to which start velocities fit: as exact as start values of six digits."""

RANK = 1e-9
"""Singular values below this part of the largest count as zero: constraints that repeat others."""

STEPS = 20
"""Newton steps for velocities whose inertia is not constant."""


@dataclass(frozen=True)
class Motion:
    """Velocities of a compiled model at one place: what depends on its states x (n,)."""

    flows: Values
    """The flows of all constraints that hold."""
    energy: Values
    """The energy of each storage, J."""
    sizes: np.ndarray
    """Usual sizes of the states, (n,)."""
    moving: np.ndarray
    """Places of the states that an impulse of these constraints moves."""


@dataclass(frozen=True)
class Misfit:
    """What the flows of constraints are off: `flows` (k,); the kinetic energy of the nearest change that removes them, that of
    all motion, and all that is stored, J."""

    flows: np.ndarray
    energy: float
    whole: float
    stored: float

    @property
    def fits(self) -> bool:
        """Whether it is no more than rounding, or start values of six digits, leave."""
        return not self.energy > AGREES**2 * max(self.whole, self.stored)


def misfit(motion: Motion, x: np.ndarray) -> Misfit:
    """How far start velocities are from those that fit."""
    flows = motion.flows(x[None])[0]
    if not np.any(flows):
        return Misfit(flows, 0.0, 0.0, 0.0)
    metric, strides = _metric(motion, x)
    change, slopes = _step(motion, x, metric, strides, np.arange(len(motion.moving)))
    speeds = x[motion.moving]
    left = flows + slopes @ change
    size = max(float(np.abs(flows).max()), float((np.abs(slopes) @ np.abs(speeds)).max()))
    unmet = float(np.abs(left).max()) > AGREES * size
    energy = np.inf if unmet else change @ metric @ change / 2
    stored = float(np.abs(motion.energy(x[None])).sum())
    return Misfit(flows, float(energy), float(speeds @ metric @ speeds / 2), stored)


def fitting(motion: Motion, x: np.ndarray, kept: Sequence[int]) -> np.ndarray | None:
    """States with the nearest velocities that fit, those at the places `kept` unchanged; None where there are none."""
    x = x.copy()
    free = np.flatnonzero(~np.isin(motion.moving, list(kept)))
    metric, strides = _metric(motion, x)
    first = float(np.abs(motion.flows(x[None])).max(initial=0.0))
    for _ in range(STEPS):
        change, slopes = _step(motion, x, metric, strides, free)
        size = float(np.abs(slopes * x[motion.moving]).sum(axis=1).max(initial=0.0)) + first
        x[motion.moving] += change
        left = float(np.abs(motion.flows(x[None])).max(initial=0.0))
        if not left > 1e-13 * size:
            return x
    return x if left <= AGREES**2 * size else None


def _step(
    motion: Motion, x: np.ndarray, metric: np.ndarray, strides: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least change of the moving states, all but the `free` ones zero, that removes the flows; and df/dx (k, moving)."""
    steps = strides[:, None] * np.eye(len(x))[motion.moving]
    found = motion.flows(np.vstack([x[None], x + steps, x - steps]))
    count = 1 + len(steps)
    flows, slopes = found[0], ((found[1:count] - found[count:]) / (2.0 * strides)[:, None]).T
    change, inert = np.zeros(len(motion.moving)), ~(np.diag(metric) > 0.0)
    free = free[~inert[free]]
    if len(free):
        root = np.linalg.cholesky(metric[np.ix_(free, free)])
        normal = np.linalg.solve(root, slopes[:, free].T).T  # f = normal @ y, |y|^2 twice the energy
        rows = np.linalg.norm(normal, axis=1)
        scale = 1.0 / np.where(rows > 0.0, rows, 1.0)
        least = np.linalg.lstsq(normal * scale[:, None], -flows * scale, rcond=RANK)[0]
        change[free] = np.linalg.solve(root.T, least)
    return change, slopes


def _metric(motion: Motion, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d2E/dx2 over the moving states (moving, moving), by differences: exact where the energy is quadratic; and their strides."""
    unit = np.eye(len(x))[motion.moving]
    strides = np.maximum(np.abs(x), motion.sizes)[motion.moving]

    def total(moves: np.ndarray) -> np.ndarray:
        return motion.energy(x + moves).sum(axis=1)

    here = total(np.zeros((1, len(x))))[0]
    low = np.full(len(strides), True)
    while low.any():  # as long as it takes for the energy of the motion to stand out from what else is stored
        moves = strides[low, None] * unit[low]
        low[low] = (total(moves) + total(-moves) - 2.0 * here < 1e-2 * abs(here)) & (strides[low] < 1e150)
        strides[low] *= 100.0
    G = np.empty((len(unit), len(unit)))
    moves = strides[:, None] * unit
    for i, one in enumerate(moves):
        both, against = total(one + moves[: i + 1]), total(one - moves[: i + 1])
        back, neither = total(moves[: i + 1] - one), total(-one - moves[: i + 1])
        G[i, : i + 1] = G[: i + 1, i] = (both - against - back + neither) / (4.0 * strides[i] * strides[: i + 1])
    return G, strides
