"""Natural scales of states, the sizes above which states matter through their couplings to other states.

A state at zero has no size yet to compare errors with. Its source gives it a scale: the rate of the state, or the scale of a
coupled state, divided by the fastest rate at which the state is coupled.
"""

from __future__ import annotations

import numpy as np

from tests.inner.run import Bound, JacobianCouplings
from tests.inner.run import natural_scales as rules
from tests.witnesses import balancing as reference


def natural_scales(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    """Return the scale of each state (n,), in its unit; 0 where nothing drives it.

    `size` (n,) is the largest size of each state so far, and `longest` is the longest step, s.
    """
    with np.errstate(all="ignore"):
        scales = _propagated_scales(bound, t, x, m, size, longest)
        for ahead in (0.0, *rules.LOOK_AHEAD):
            missing = ~(scales > 0.0)
            if not missing.any():
                break
            later = _propagated_scales(bound, t + ahead * longest, x + rules.DISPLACEMENT * scales, m, scales, longest)
            if bound.program.autonomous and np.array_equal(later[missing], scales[missing]):
                break  # all later rounds give the same
            scales = np.where(missing, later, scales)
    return scales


def column_scales(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, columns: np.ndarray, rates: np.ndarray, longest: float
) -> np.ndarray:
    """Return scales for changes of the states at x, `columns` (k, n) with `rates` (k, n); 0 where nothing drives a state."""
    with np.errstate(all="ignore"):
        couplings = bound.jacobian_couplings(t, x, m)
        speed = _fastest_rates(couplings, longest)
        moved = np.where(np.abs(rates) < np.inf, np.abs(rates), 0.0) / speed
        return np.array([reference.propagated(couplings, speed, scale) for scale in np.fmax(np.abs(columns), moved)])


def _source_rates(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Return the larger of each state's rate now and its rate a fraction of its own time 1 / speed later, when its source may
    have begun to act."""
    largest = np.abs(bound.rates(t, x, m))
    ahead = rules.DISPLACEMENT / speed
    wait, longest = float(np.minimum.reduce(ahead, initial=np.inf)), float(np.maximum.reduce(ahead, initial=0.0))
    while wait <= longest and not bound.program.autonomous:
        later = np.abs(bound.rates(t + wait, x, m))
        now = (ahead >= wait) & (ahead < rules.DECADE * wait) & (later < np.inf)
        np.fmax(largest, later, out=largest, where=now)
        wait *= rules.DECADE
    return np.where(largest < np.inf, largest, 0.0)


def _propagated_scales(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    couplings = bound.jacobian_couplings(t, x, m)
    speed = _fastest_rates(couplings, longest)
    scales = np.fmax(size, _source_rates(bound, t, x, m, speed) / speed)
    return reference.propagated(couplings, speed, scales)


def _fastest_rates(couplings: JacobianCouplings, longest: float) -> np.ndarray:
    """Return the fastest rate at which each state is coupled (n,), 1/s, but at least 1 / longest."""
    fastest = reference.fastest(couplings)
    return np.fmax(np.where(fastest < np.inf, fastest, 0.0), 1.0 / longest)
