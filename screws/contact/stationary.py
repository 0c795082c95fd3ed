"""Newton on the stationarity of the gap: offset along the normal of body 1, normals opposite; and what was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from screws.contact.starts import Bodies, Pair
from screws.surfaces.frames import Geometry
from screws.surfaces.nearest import moved


@dataclass(frozen=True)
class Stationary:
    """A pair of surface points seen in object 1: tangential offset and tilt (0 at a solution), gap, curvatures."""

    pair: Pair
    M1: np.ndarray
    M2: np.ndarray
    K1: np.ndarray
    K2: np.ndarray
    p1: np.ndarray
    p2: np.ndarray
    across: np.ndarray
    """[x1 y1]^T [x2 y2] (2, 2)."""
    offset: np.ndarray
    """[x1 y1]^T (p2 - p1) (2,), m."""
    tilt: np.ndarray
    """[x1 y1]^T z2 (2,)."""
    gap: float
    facing: float
    """z1 . z2, -1 at the solution."""

    def miss(self, length: float) -> float:
        """Size of the residual, without dimension."""
        return float(np.sqrt(self.offset @ self.offset / length**2 + self.tilt @ self.tilt))

    def curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """K1 and K2 (2, 2), both in the tangent axes of Gauss frame 1."""
        return self.K1, self.across @ self.K2 @ self.across.T


def seen(bodies: Bodies, pair: Pair) -> Stationary:
    """Residual and curvatures of a pair of surface points."""
    g1: Geometry = bodies.surface1.geometry(pair.q1, pair.chart1)
    g2: Geometry = bodies.surface2.geometry(pair.q2, pair.chart2)
    F1, F2 = np.asarray(g1.H, dtype=float), bodies.H_1_2 @ np.asarray(g2.H, dtype=float)
    tangents, z1 = F1[:3, :2].T, F1[:3, 2]
    delta = F2[:3, 3] - F1[:3, 3]
    return Stationary(
        pair,
        np.asarray(g1.M, dtype=float),
        np.asarray(g2.M, dtype=float),
        np.asarray(g1.K, dtype=float),
        np.asarray(g2.K, dtype=float),
        F1[:3, 3],
        F2[:3, 3],
        tangents @ F2[:3, :2],
        tangents @ delta,
        tangents @ F2[:3, 2],
        float(z1 @ delta),
        float(z1 @ F2[:3, 2]),
    )


def polished(bodies: Bodies, start: Pair, steps: int = 60) -> Stationary | None:
    """Stationary pair reached from a start by Newton with a line search, to rounding; None without convergence."""
    surface1, surface2, length = bodies.surface1, bodies.surface2, bodies.length
    now = seen(bodies, start)
    for _ in range(steps):
        miss = now.miss(length)
        if not np.isfinite(miss):
            return None
        if miss == 0.0:
            return now
        a, b = _newton_step(now, length)
        longest = max(np.hypot(*a) / surface1.size, np.hypot(*b) / surface2.size, 1e-300)
        fraction = min(1.0, 0.4 / longest)
        best = None
        for _ in range(9):
            q1, chart1 = moved(surface1, now.pair.q1, now.pair.chart1, now.M1, fraction * a)
            q2, chart2 = moved(surface2, now.pair.q2, now.pair.chart2, now.M2, fraction * b)
            trial = seen(bodies, Pair(q1, chart1, q2, chart2))
            if best is None or trial.miss(length) < best.miss(length):
                best = trial
            if trial.miss(length) < (1.0 - 0.25 * fraction) * miss or miss < 1e-9:
                break
            fraction *= 0.4
        assert best is not None
        if best.miss(length) >= miss:
            return now if _converged(now, length) else None
        now = best
    return now if _converged(now, length) else None


def _converged(now: Stationary, length: float) -> bool:
    # Rounding of the positions limits the offset; a curvature limit nearby costs half of the digits.
    rounding = float(np.max(np.abs([now.p1, now.p2]))) / length
    return now.miss(length) < 1e-11 * max(1.0, rounding)


def _newton_step(now: Stationary, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Tangential steps (2,), (2,) in m on both surfaces, along their Gauss frames' axes."""
    J = np.zeros((4, 4))
    J[:2, :2] = -(np.eye(2) + now.gap * now.K1) / length
    J[:2, 2:] = now.across / length
    J[2:, :2] = -now.facing * now.K1
    J[2:, 2:] = now.across @ now.K2
    # Residuals without dimension; steps in lengths, so that the least-squares cut-off means what it says.
    F = np.concatenate([now.offset / length, now.tilt])
    step = -np.linalg.lstsq(J * length, F, rcond=1e-12)[0] * length
    return step[:2], step[2:]
