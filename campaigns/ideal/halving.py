"""Step halving: the result of a program that accepts any step size, with an estimate of the error.

The error is of first order with a factor that depends on where events lie between steps, so extrapolation does not help. The
larger of twice the last difference and the difference before it bounds the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SMALL = 1e-5
"""Error, relative to the largest value, that is always allowed."""
LARGE = 0.005
"""Largest difference of the last two results of a converged reference, relative to the largest value."""


@dataclass(frozen=True)
class Trajectory:
    """Values at the sample times (samples, channels) of a run with one step size, and the time after which there is no
    solution."""

    values: np.ndarray
    ends: float = np.inf


@dataclass(frozen=True)
class Reference:
    """Result of a reference program.

    values : (samples, channels), up to the time `ends`, after which there is no solution.
    error : (channels,) bounds of the errors.
    converged : False if the results do not converge as the step size decreases.
    """

    values: np.ndarray
    error: np.ndarray
    ends: float
    converged: bool


def halved(simulate: Callable[[float], Trajectory], samples: np.ndarray, step: float, least: float) -> Reference:
    """Halve the step size until two results agree well, at most down to a sixteenth; values below `least` count as zero."""
    finest = step / 16.0
    trajectories = [simulate(step), simulate(step / 2.0)]
    while True:
        step /= 2.0
        trajectories = [*trajectories[-2:], simulate(step / 2.0)]
        ends = min(each.ends for each in trajectories)
        before, coarse, fine = (each.values[samples < ends] for each in trajectories)
        size = float(np.abs(fine).max(initial=0.0))
        far, near = (np.abs(a - b).max(axis=0, initial=0.0) for a, b in ((before, coarse), (coarse, fine)))
        apart = max(each.ends for each in trajectories) - ends
        together = np.isinf(ends) or apart < 10.0 * step
        settles = together and bool(np.all(near <= np.maximum(0.75 * far, SMALL * size)) and np.all(near <= LARGE * size + least))
        if settles or step / 2.0 <= finest:
            return Reference(fine, np.maximum(2.0 * near, far) + SMALL * size + least, ends, settles)
