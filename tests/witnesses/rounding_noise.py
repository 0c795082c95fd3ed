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
    scales, width = np.fmax(np.abs(x), size), len(x) + bound.program.quadratures
    sigma, unbroken, broken = np.zeros(width), np.zeros(width), np.zeros(width, dtype=bool)
    for span in rules.SPANS:
        later = max(span * max(abs(t), longest), rules.CLOCK_SPAN * abs(bound.origin + t))
        shortest = span == rules.SPANS[0]
        estimate, rest, interval = _noise_estimates(bound, t, x, m, span * scales, later, shortest)
        rough, higher = estimate > 0.0, estimate > rules.HIGHER * sigma
        if span == rules.SPANS[-1]:
            broken &= ~rough | (interval == 0)
            break
        first, again = rough & (interval >= 0) & higher, rough & (interval == 0) & broken & ~higher
        unbroken = np.where(first, np.fmax(sigma, rest), np.where(again, np.fmax(unbroken, rest), unbroken))
        broken = first | again | (broken & ~rough)
        sigma = np.fmax(sigma, estimate)
    return np.where(broken, unbroken, sigma)


def _noise_estimates(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, apart: np.ndarray, later: float, shortest: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimate the noise by third and fourth differences, from states `apart` (n,) and times `later` (s) apart; 0 if it is none.
    Also return the estimate beside the first interval without whose differences the values are smooth, and this interval or
    -1."""
    apart = apart * rules.directions(len(x))
    k, program = np.arange(float(rules.POINTS)), bound.program
    times, states = bound.clock(t + later * rules.TIME_PART * k), x + k[:, None] * apart
    kernels = [kernel for kernel in (program.rates, program.powers) if kernel is not None]
    with np.errstate(all="ignore"):
        rows = np.concatenate([kernel.many(times, states, bound.p, m) for kernel in kernels], axis=1)
        third = np.diff(rows, 3, axis=0)
        fourth = np.diff(third, axis=0)
        thirds, fourths = (np.sqrt(np.mean(each * each, axis=0)) for each in (third, fourth))
        thirds, fourths = thirds / rules.THIRD, fourths / rules.FOURTH
        counts = np.isfinite(thirds) & np.isfinite(fourths) & ((fourths > rules.NOISE_RATIO * thirds) | shortest)
        rest, interval = thirds.copy(), np.full(len(thirds), -1)
        for number in reversed(range(rules.POINTS - 1)):
            smooth_rows = third[[row for row in range(len(third)) if not row <= number < row + 3]]
            without = np.sqrt(np.mean(smooth_rows * smooth_rows, axis=0)) / rules.THIRD
            smooth = (thirds > 0.0) & (without <= rules.BREAK * thirds)
            rest, interval = np.where(smooth, without, rest), np.where(smooth, number, interval)
    return np.where(counts, np.fmin(thirds, fourths), 0.0), rest, interval
