"""Impulses of collisions with friction, within friction cones (Signorini-Coulomb complementarity problem).

With impulses z = (L, F) of constraints and friction elements, and flows a = A z + q after the impact (constraint flows include
restitution):

    L >= 0,  a_L >= 0,  one of them zero;        |F| <= b,  F = -b a_F / |a_F| if a_F is not zero,    b = B z

Friction stops the slip if it can, and otherwise opposes it.

Source: Moreau 1988; equations as projections: Alart and Curnier 1991.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# Numbers of gradient steps, of Newton steps and of rounds of both; tolerance of the residual; number of bisections of the
# fraction of restitution.
_STEPS, _NEWTON_STEPS, _ROUNDS, _TOLERANCE, _HALVINGS = 100, 20, 12, 1e-13, 40


@dataclass(frozen=True)
class Cones:
    """Problem of impulses: `response` A (n, n), first for `count` scalars of constraints, then for friction elements with
    `groups` scalars each; `bounds` B (groups, n)."""

    response: np.ndarray
    count: int
    groups: tuple[int, ...]
    bounds: np.ndarray

    def scaled(self) -> tuple[Cones, np.ndarray]:
        diagonal = np.abs(np.diag(self.response)).copy()
        for friction in self.slices():
            diagonal[friction] = diagonal[friction].mean()
        root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        sizes = np.array([root[friction.start] for friction in self.slices()])
        bounds = self.bounds * sizes[:, None] / root if len(sizes) else self.bounds
        return Cones(self.response / np.outer(root, root), self.count, self.groups, bounds), root

    def slices(self) -> list[slice]:
        ends = self.count + np.cumsum(self.groups, dtype=int)
        return [slice(int(end) - size, int(end)) for end, size in zip(ends, self.groups, strict=True)]

    def solve(self, offset: np.ndarray) -> np.ndarray | None:
        unit, root = self.scaled()
        start = offset / root
        size = float(np.abs(start).max(initial=0.0))
        if size == 0.0:
            return np.zeros(len(offset))
        impulses = unit._iterated(start / size)
        if impulses is None:
            return None
        impulses[: self.count] = np.maximum(impulses[: self.count], 0.0)
        return size * impulses / root

    def _iterated(self, start: np.ndarray) -> np.ndarray | None:
        step = 1.0 / max(float(np.linalg.norm(self.response, 2)), 1.0)
        z = np.zeros(len(start))
        for _ in range(_ROUNDS):
            for _ in range(_STEPS):
                z = self._projected(z, z - step * (self.response @ z + start))
            near = self._newton(z, start)
            if near is not None:
                return near
        return None

    def _projected(self, z: np.ndarray, trial: np.ndarray) -> np.ndarray:
        out = trial.copy()
        out[: self.count] = np.maximum(trial[: self.count], 0.0)
        bounds = np.maximum(self.bounds @ np.concatenate([out[: self.count], z[self.count :]]), 0.0)
        for friction, bound in zip(self.slices(), bounds, strict=True):
            size = np.linalg.norm(trial[friction])
            out[friction] = trial[friction] if size <= bound else trial[friction] * (bound / size)
        return out

    def _newton(self, z: np.ndarray, start: np.ndarray) -> np.ndarray | None:
        for _ in range(_NEWTON_STEPS):
            residual, slope = self._equations(z, start)
            size = float(np.linalg.norm(residual))
            if size <= _TOLERANCE:
                return z
            change, part = np.linalg.lstsq(slope, -residual, rcond=1e-12)[0], 1.0
            while part > 1e-3 and not np.linalg.norm(self._equations(z + part * change, start)[0]) < size:
                part *= 0.5
            z = z + part * change
        return None

    def _equations(self, z: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual (n,), z minus the projection of a step from z against the flow, and its derivative (n, n)."""
        flow, n = self.response @ z + start, len(z)
        residual, slope, unit = flow.copy(), self.response.copy(), np.eye(n)
        free = np.flatnonzero(z[: self.count] - flow[: self.count] <= 0.0)
        residual[free], slope[free] = z[free], unit[free]
        for friction, row in zip(self.slices(), self.bounds, strict=True):
            trial, bound = z[friction] - flow[friction], float(row @ z)
            size = float(np.linalg.norm(trial))
            if size <= max(bound, 0.0):
                continue
            along, most = trial / size, max(bound, 0.0)
            turn = (most / size) * (np.eye(friction.stop - friction.start) - np.outer(along, along))
            residual[friction] = z[friction] - most * along
            slope[friction] = (
                unit[friction]
                - turn @ (unit[friction] - self.response[friction])
                - (np.outer(along, row) if bound > 0.0 else 0.0)
            )
        return residual, slope


def with_restitution(
    solve: Callable[[float], np.ndarray | None], gained: Callable[[np.ndarray], float], least: float
) -> tuple[np.ndarray | None, float]:
    """Find by bisection the largest fraction of the restitutions for which impulses exist and the energy `gained` is at most the
    rounding error `least`; return these impulses, None if there are none, and the fraction. `solve` finds the impulses for a
    fraction.

    Newton's law of restitution with friction may gain energy (Kane and Levinson 1985), or have no solution for redundant
    contacts. Without restitution a solution exists and never gains energy (Moreau 1988).
    """

    def without_gain(part: float) -> np.ndarray | None:
        impulses = solve(part)
        return impulses if impulses is not None and gained(impulses) <= least else None

    kept, low, high = without_gain(1.0), 0.0, 1.0
    if kept is not None:
        return kept, 1.0
    kept = solve(0.0)
    for _ in range(_HALVINGS if kept is not None else 0):
        middle = 0.5 * (low + high)
        trial = without_gain(middle)
        low, high, kept = (middle, high, trial) if trial is not None else (low, middle, kept)
    return kept, low


def split(flow: np.ndarray, count: int, groups: Sequence[int]) -> list[np.ndarray]:
    return np.split(flow[count:], np.cumsum(groups)[:-1]) if groups else []
