"""Natural scales of states, from rates and their Jacobian: how large each state is where its coupling to the others makes it
count. Scales of work, from powers, where nothing is stored.

A state at zero has no size yet that errors could be compared with. Its source gives it one: its rate, or the scale of a
coupled state, over the fastest rate at which it is coupled; propagated from state to state this fades along weak couplings, as
the states themselves do. With states in other units the scales change as the states do.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.accuracy.reference import balancing as reference
from bondgraph.run.accuracy.reference.balancing import JacobianCouplings
from bondgraph.run.bound import Bound

LOOK_AHEAD = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
"""Times ahead (in longest steps) at which states without a scale are looked at."""
DISPLACEMENT = 0.1
"""Displacement of a state, in parts of its scale, where its rate, or what it drives, is zero."""
DECADE = 10.0
"""Factor from one look at a source to the next."""
RUN_PARTS = (*(2.0**-k for k in range(20, 0, -1)), 0.75, 1.0)
"""Parts of a run after which powers are looked at."""
MIN_ERROR = 1e-150
"""Error allowed of a state that nothing drives: none counts, and squares of errors over it are numbers."""


def natural_scales(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    """Return the scale of each state (n,), in its unit; 0 where nothing drives it.

    Parameters
    ----------
    t, x, m : where the run is; size : how large each state has been (n,); longest : step, s.
    """
    with np.errstate(all="ignore"):
        scales = _propagated_scales(bound, t, x, m, size, longest)
        for ahead in (0.0, *LOOK_AHEAD):
            missing = ~(scales > 0.0)
            if not missing.any():
                break
            later = _propagated_scales(bound, t + ahead * longest, x + DISPLACEMENT * scales, m, scales, longest)
            if bound.program.autonomous and np.array_equal(later[missing], scales[missing]):
                break  # whatever comes later is the same again
            scales = np.where(missing, later, scales)
    return scales


def column_scales(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, columns: np.ndarray, rates: np.ndarray, longest: float
) -> np.ndarray:
    """Return scales of columns (k, n) of changes of the states at x, with their rates (k, n), propagated along the couplings; 0
    where nothing drives them."""
    with np.errstate(all="ignore"):
        couplings = bound.jacobian_couplings(t, x, m)
        speed = _fastest_rates(couplings, longest)
        moved = np.where(np.abs(rates) < np.inf, np.abs(rates), 0.0) / speed
        return np.array([reference.propagated(couplings, speed, scale) for scale in np.fmax(np.abs(columns), moved)])


def work_scales(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return the work of the largest powers over the run, (quadratures,), J: the measure of work where nothing is stored and no
    energy is one. States go on by their rates, up to the `limit` (n,)."""
    largest = np.zeros(bound.quadratures)
    if not largest.size:
        return largest
    with np.errstate(all="ignore"):
        rates = bound.rates(t, x, m)
        for part in (0.0, *RUN_PARTS):
            moved = np.clip(part * bound.span * rates, -limit, limit)
            work = bound.span * np.abs(bound.powers(t + part * (bound.span - t), x + np.where(np.isfinite(moved), moved, 0.0), m))
            np.fmax(largest, work, out=largest, where=work < np.inf)
    return largest


def _source_rates(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Return the largest rate of each state now and soon: a part of its own time 1 / speed later, when its source may have begun
    to act. For longer the other states must not be taken for fixed."""
    largest = np.abs(bound.rates(t, x, m))
    ahead = DISPLACEMENT / speed
    wait, longest = float(np.minimum.reduce(ahead, initial=np.inf)), float(np.maximum.reduce(ahead, initial=0.0))
    while wait <= longest and not bound.program.autonomous:
        later = np.abs(bound.rates(t + wait, x, m))
        now = (ahead >= wait) & (ahead < DECADE * wait) & (later < np.inf)
        np.fmax(largest, later, out=largest, where=now)
        wait *= DECADE
    return np.where(largest < np.inf, largest, 0.0)


def _propagated_scales(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, longest: float) -> np.ndarray:
    """Return scales by the rates and couplings at one state."""
    couplings = bound.jacobian_couplings(t, x, m)
    speed = _fastest_rates(couplings, longest)
    scales = np.fmax(size, _source_rates(bound, t, x, m, speed) / speed)
    return reference.propagated(couplings, speed, scales)


def _fastest_rates(couplings: JacobianCouplings, longest: float) -> np.ndarray:
    """Return the fastest rate at which each state is coupled (n,), 1/s; a state that is coupled slowly, or by an entry that
    happens to vanish here, counts as far as a longest step may carry it."""
    fastest = reference.fastest(couplings)
    return np.fmax(np.where(fastest < np.inf, fastest, 0.0), 1.0 / longest)
