"""Robust loss functions for estimation: weights of residuals over sigma, and the covariance for data with outliers.

A loss sums rho(r) instead of r^2 / 2, with psi = rho'. A robust psi is bounded, and so is the influence of outliers.
At the minimum, for independent noise and many data, the covariance of the parameters is Huber's sandwich

    covariance = M^-1 B M^-1,    M = J^T diag(psi') J,    B = J^T diag(psi^2) J

References
----------
P. J. Huber, E. M. Ronchetti, "Robust statistics", 2nd edition, Wiley (2009), chapters 6 and 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

MARGIN = 1.345
"""Ratio of residual to sigma near which robust losses change from quadratic to linear: for normal noise, Huber's loss is 95 %
efficient."""

NORMAL = 1.4826
"""Ratio of the standard deviation of normal noise to the median of its magnitude."""


class Squares:
    """Least squares, psi(r) = r: outliers count quadratically."""

    name: ClassVar = "linear"
    robust: ClassVar = False

    def psi(self, residuals: np.ndarray) -> np.ndarray:
        return residuals

    def slope(self, residuals: np.ndarray) -> np.ndarray:
        return np.ones_like(residuals)

    def scale(self, residuals: np.ndarray, share: float) -> float:
        """Return the standard deviation of the noise from residuals (rows,), whose variance is `share` times the noise
        variance."""
        return float(np.sqrt(np.sum(residuals**2) / (share * residuals.size)))

    def root_information(self, residuals: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        return slopes


@dataclass(frozen=True)
class RobustLoss:
    """Loss in which outliers have bounded influence: its name in SciPy, psi and psi' of residuals (rows,)."""

    name: str
    psi: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    robust: ClassVar = True

    def scale(self, residuals: np.ndarray, share: float) -> float:
        """Return the standard deviation of the noise from the median of residuals (rows,), whose variance is `share` times the
        noise variance."""
        return float(NORMAL * np.median(np.abs(residuals)) / np.sqrt(share))

    def root_information(self, residuals: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return a square root of the inverse covariance, from residuals (rows,) and their derivatives (rows, k)."""
        U, s, V = np.linalg.svd(slopes, full_matrices=False)
        acts = s > np.finfo(float).eps * max(slopes.shape) * s.max(initial=0.0)
        U, n = U[:, acts], len(residuals)
        if n <= acts.sum():  # without free residuals, only sigma describes the scatter
            return slopes
        share = (n - int(acts.sum())) / n
        M = (U.T * self.slope(residuals)) @ U
        spread, vectors = np.linalg.eigh((U.T * self.psi(residuals) ** 2) @ U / share)
        least = np.finfo(float).eps * spread.max(initial=0.0)
        root = vectors / np.sqrt(np.maximum(spread, least or 1.0))
        return np.asarray(root.T @ M @ (s[acts, None] * V[acts]))


Loss = Squares | RobustLoss


def _soft_weight(r: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / np.sqrt(1.0 + (r / MARGIN) ** 2))


_ALL: tuple[Loss, ...] = (
    Squares(),
    RobustLoss("soft_l1", lambda r: r * _soft_weight(r), lambda r: _soft_weight(r) ** 3),
    RobustLoss("huber", lambda r: np.clip(r, -MARGIN, MARGIN), lambda r: np.where(np.abs(r) <= MARGIN, 1.0, 0.0)),
)
LOSSES = {loss.name: loss for loss in _ALL}
"""Losses by name; 2 rho(r) is r^2 for "linear", 2 c^2 (sqrt(1 + (r / c)^2) - 1) for "soft_l1", and r^2 with a linear continuation
beyond c for "huber", with c = `MARGIN`."""
