"""Rounding noise of rates and powers, measured by differences at states that differ by little more than rounding errors.

Along a line of states some 2^-45 of their size apart, third and fourth differences remove the smooth part of the rates;
independent errors of size sigma leave sqrt(20) sigma and sqrt(70) sigma (binomial weights). Coarser rounding, of numbers much
larger than the states, shows only at larger distances.
"""

from __future__ import annotations

import numpy as np

from tests.inner.run import Bound
from tests.inner.run import rounding_noise as rules


def rounding(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    """Return the standard deviation of the rounding error of each rate and each power, (n + quadratures,), in the
    units of states and energies per second."""
    scales = np.fmax(np.abs(x), size)
    sigma = np.zeros(len(x) + bound.program.quadratures)
    for span in rules.SPANS:
        third, fourth = _noise_estimates(bound, t, x, m, span * scales, span * max(abs(t), longest))
        noisy = np.isfinite(third) & np.isfinite(fourth) & ((fourth > rules.NOISE_RATIO * third) | (span == rules.SPANS[0]))
        sigma = np.where(noisy, np.fmax(sigma, np.fmin(third, fourth)), sigma)
    return sigma


def _noise_estimates(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, apart: np.ndarray, later: float
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the noise by third and by fourth differences, from states `apart` (n,) and times `later` (s) apart."""
    apart = apart * rules.directions(len(x))
    k, program = np.arange(float(rules.POINTS)), bound.program
    times, states = bound.clock(t + later * rules.TIME_PART * k), x + k[:, None] * apart
    kernels = [kernel for kernel in (program.rates, program.powers) if kernel is not None]
    with np.errstate(all="ignore"):
        rows = np.concatenate([kernel.many(times, states, bound.p, m) for kernel in kernels], axis=1)
        third = np.diff(rows, 3, axis=0)
        fourth = np.diff(third, axis=0)
        thirds, fourths = (np.sqrt(np.mean(each * each, axis=0)) for each in (third, fourth))
        return thirds / rules.THIRD, fourths / rules.FOURTH
