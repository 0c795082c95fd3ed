"""Natural scales of states: rates and their Jacobian -> how large each state is where its coupling to the others makes it count.
Of work, where nothing is stored: powers -> what flows over the run.

A state at zero has no size yet that errors could be compared with. What drives it gives it one: its rate, or the scale of a
coupled state, over the fastest rate at which it is coupled; carried from state to state this fades along weak couplings, as the
states themselves do. With states in other units the scales change as the states do.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.accuracy.reference import balancing as reference
from bondgraph.run.accuracy.reference.balancing import JacobianCouplings
from bondgraph.run.bound import Bound

AHEAD = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
"""How far ahead (in longest steps) what has no scale yet is looked for."""
PART = 0.1
"""Of its scales: so far a state is displaced where its rate, or what it drives, is zero where it is."""
DECADE = 10.0
"""From one look at what drives a state from outside to the next."""
WAY = (*(2.0**-k for k in range(20, 0, -1)), 0.75, 1.0)
"""Parts of a run after which powers are looked at."""
UNDRIVEN = 1e-150
"""What the error may be of what nothing drives: none counts, and squares of errors over it are numbers."""


def natural_scales(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    """Scale of each state (n,), in its unit; 0 where nothing drives it.

    Parameters
    ----------
    t, x, m : where the run is; size : how large each state has been (n,); longest : step, s.
    """
    with np.errstate(all="ignore"):
        scales = _spread(bound, t, x, m, size, longest)
        for ahead in (0.0, *AHEAD):
            missing = ~(scales > 0.0)
            if not missing.any():
                break
            later = _spread(bound, t + ahead * longest, x + PART * scales, m, scales, longest)
            if bound.program.autonomous and np.array_equal(later[missing], scales[missing]):
                break  # whatever comes later is the same again
            scales = np.where(missing, later, scales)
    return scales


def column_scales(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, columns: np.ndarray, rates: np.ndarray, longest: float
) -> np.ndarray:
    """Scales of columns (k, n) of changes of the states at x, with their rates (k, n): of what they are and what drives them,
    carried along the couplings; 0 where nothing does."""
    with np.errstate(all="ignore"):
        couplings = bound.jacobian_couplings(t, x, m)
        speed = _speeds(couplings, longest)
        driven = np.where(np.abs(rates) < np.inf, np.abs(rates), 0.0) / speed
        return np.array([reference.carried(couplings, speed, scale) for scale in np.fmax(np.abs(columns), driven)])


def work_scales(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, known: np.ndarray) -> np.ndarray:
    """What flows over the run at the largest powers on its way, (quadratures,), J: the measure of work where nothing is stored
    and no energy is one. States go on by their rates, as far as they are `known` (n,) to go."""
    largest = np.zeros(bound.quadratures)
    if not largest.size:
        return largest
    with np.errstate(all="ignore"):
        rates = bound.rates(t, x, m)
        for part in (0.0, *WAY):
            moved = np.clip(part * bound.span * rates, -known, known)
            found = bound.span * np.abs(
                bound.powers(t + part * (bound.span - t), x + np.where(np.isfinite(moved), moved, 0.0), m)
            )
            np.fmax(largest, found, out=largest, where=found < np.inf)
    return largest


def _driven(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Largest rate of each state now and soon: a part of its own time 1 / speed later, when what drives it from outside may have
    begun to. For longer the other states must not be taken for fixed."""
    found = np.abs(bound.rates(t, x, m))
    ahead = PART / speed
    wait, longest = float(np.minimum.reduce(ahead, initial=np.inf)), float(np.maximum.reduce(ahead, initial=0.0))
    while wait <= longest and not bound.program.autonomous:
        later = np.abs(bound.rates(t + wait, x, m))
        now = (ahead >= wait) & (ahead < DECADE * wait) & (later < np.inf)
        np.fmax(found, later, out=found, where=now)
        wait *= DECADE
    return np.where(found < np.inf, found, 0.0)


def _spread(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    """Scales by the rates and couplings at one state."""
    couplings = bound.jacobian_couplings(t, x, m)
    speed = _speeds(couplings, longest)
    scales = np.fmax(size, _driven(bound, t, x, m, speed) / speed)
    return reference.carried(couplings, speed, scales)


def _speeds(couplings: JacobianCouplings, longest: float) -> np.ndarray:
    """Fastest rate at which each state is coupled (n,), 1/s; what is coupled slowly, or by an entry that happens to vanish here,
    counts as far as a longest step may carry it."""
    fastest = reference.fastest(couplings)
    return np.fmax(np.where(fastest < np.inf, fastest, 0.0), 1.0 / longest)
