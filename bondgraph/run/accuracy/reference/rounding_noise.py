"""Rounding noise of rates and powers, measured by differences at states that differ by little more than rounding.

Along a line of states some 2^-45 of their size apart, the rates are smooth far below their own rounding. Third and fourth
differences remove the smooth part; independent errors of size sigma leave sqrt(20) sigma and sqrt(70) sigma (binomial weights).
The result includes the rounding inside the formulas and that of the states they are evaluated at. Rounding of numbers much larger
than the states is coarser and shows only at larger distances; there smooth values are distinguished from noise by fourth
differences far smaller than the third.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.bound import Bound

SPANS = (2.0**-45, 2.0**-39, 2.0**-33)
POINTS, TIME_PART, NOISE_RATIO = 9, 0.7, 0.25
"""Number of states, and their spacing in time; ratio of fourth to third differences in pure noise."""
THIRD, FOURTH = float(np.sqrt(20.0)), float(np.sqrt(70.0))
_GOLDEN = 0.6180339887498949


def directions(n: int) -> np.ndarray:
    """Return the displacement of each of n states, relative to its own: different for each, equal in every run."""
    return np.asarray(0.5 + (_GOLDEN * (1.0 + np.arange(n))) % 1.0)


def rounding(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    """Return the standard deviation of the rounding of each rate and each power, (n + quadratures,), per second in their units;
    `size` (n,) are the sizes of the states, `longest` is the longest step, s."""
    scales = np.fmax(np.abs(x), size)
    sigma = np.zeros(len(x) + bound.quadratures)
    for span in SPANS:
        third, fourth = _noise_estimates(bound, t, x, m, span * scales, span * max(abs(t), longest))
        noisy = np.isfinite(third) & np.isfinite(fourth) & ((fourth > NOISE_RATIO * third) | (span == SPANS[0]))
        sigma = np.where(noisy, np.fmax(sigma, np.fmin(third, fourth)), sigma)
    return sigma


def _noise_estimates(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, apart: np.ndarray, later: float
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the noise by third and by fourth differences, from states `apart` (n,) and times `later` (s) apart."""
    apart = apart * directions(len(x))
    k, program = np.arange(float(POINTS)), bound.program
    times, states = bound.clock(t + later * TIME_PART * k), x + k[:, None] * apart
    kernels = [kernel for kernel in (program.rates, program.powers) if kernel is not None]
    with np.errstate(all="ignore"):
        rows = np.concatenate([kernel.many(times, states, bound.p, m) for kernel in kernels], axis=1)
        third = np.diff(rows, 3, axis=0)
        fourth = np.diff(third, axis=0)
        return np.sqrt(np.mean(third * third, axis=0)) / THIRD, np.sqrt(np.mean(fourth * fourth, axis=0)) / FOURTH
