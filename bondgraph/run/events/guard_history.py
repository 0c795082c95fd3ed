"""Points at which guards are evaluated: neighbouring points for rounding errors (`rounding_error`), and points further away for
the test for bounces."""

from __future__ import annotations

import functools

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import RunTransition

PERTURBATION = 2.0**-50
"""Largest relative change of a component from a point to a neighbouring point."""

PAIRS = 4
"""Number of pairs of neighbouring points; the two points of a pair lie on opposite sides."""

MARGIN = 4.0
"""Ratio of the bound on a rounding error to the measured error."""

RESTING, MOVED = 64.0, 2.0**26
"""Sizes of a state relative to the rounding error that its rate causes in a run (`drift`). Up to RESTING, the state is
zero within rounding error, because it has not moved; above MOVED, it has certainly moved."""

SAMPLES_AHEAD = (0.0, 0.381966, 0.618034, 0.854102)
"""Fractions of the remaining run at which rounding errors of rates are measured, because a source may be zero now."""


@functools.lru_cache(maxsize=64)
def perturbations(count: int) -> np.ndarray:
    """Return relative changes (2 PAIRS, count) of `count` values, read-only and equal at every call; row k + PAIRS is opposite to
    row k."""
    rng = np.random.default_rng(0)
    half = rng.choice([-1.0, 1.0], (PAIRS, count)) * rng.uniform(0.5, 1.0, (PAIRS, count))
    changes = PERTURBATION * np.concatenate([half, -half])
    changes.flags.writeable = False
    return changes


def rounding_error(value: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return a bound on the rounding error of `value` (...) from the values `near` (2 PAIRS, ...) at the points of
    `perturbations`. Of two opposite points, only the point with the nearer value is used, because a law may jump here."""
    off = np.abs(near - value)
    return np.asarray(MARGIN * np.fmax.reduce(np.fmin(off[:PAIRS], off[PAIRS:]), axis=0))


# Look-ahead times: the shortest and the longest, as fractions of the run, and the ratio of successive times.
MIN_LOOK_AHEAD, MAX_LOOK_AHEAD, LOOK_AHEAD_RATIO = 1e-15, 1e-6, 8.0
# Number of trial states around a state, and their relative distance.
TRIALS, _AROUND = 12, 1e-3
# Fraction of the rate of a guard below which its rate after a reset counts as reversed.
REVERSAL_RATIO = 0.01


@functools.lru_cache(maxsize=64)
def trial_changes(count: int) -> np.ndarray:
    changes = np.random.default_rng(1).uniform(-_AROUND, _AROUND, (TRIALS, count))
    changes.flags.writeable = False
    return changes


class GuardHistory:
    """Guards of one run of `span` s; `sizes` (n,) are the largest magnitudes of the states so far, at samples, events and the
    ends of all steps."""

    def __init__(self, bound: Bound, span: float):
        self._bound, self.span = bound, span
        self.sizes = np.zeros(bound.program.states)
        self.by_x, self.p_factors = perturbations(bound.program.states), 1.0 + perturbations(len(bound.p))
        self.p = bound.p * self.p_factors
        self.later = PERTURBATION * np.tile(np.arange(1.0, PAIRS + 1.0) / PAIRS, 2)
        bounces = [_known_bounce(edge, bound.has_reset(i)) for i, edge in enumerate(bound.program.transitions)]
        self.known_bounces = np.array(bounces, dtype=np.int64)
        self.bounces = self.known_bounces.copy()
        """Flags of transitions that are bounces: 1, 0, or -1 if not tested yet; initially as known before a run."""
        self.drift = np.zeros(bound.program.states)
        """Rounding errors (n,) that rates can cause during the run in states that have not moved."""
        self.moved = np.full(bound.program.states, int(self.known_bounces.any()))
        """Flags of states (n,) that have been well above `drift`; all states if a transition is or may be a bounce, because a gap
        as small as its rounding error means that bodies touch."""

    def record_states(self, rows: np.ndarray) -> None:
        if rows.size:
            np.fmax(self.sizes, np.fmax.reduce(np.abs(rows), axis=0), out=self.sizes)

    def zero(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the rounding error of each guard (k,), measured at neighbouring points."""
        kernel, drift = self._bound.program.guards, np.where(self.sizes <= RESTING * self.drift, self.drift, 0.0)
        sizes = np.fmax(np.fmax(self.sizes, np.abs(x)), drift / PERTURBATION)
        assert kernel is not None
        times = self._bound.clock(t + (abs(self._bound.origin) + abs(t)) * self.later)
        return rounding_error(self._bound.guards(t, x, m), kernel.many(times, x + self.by_x * sizes, self.p, m))


def _known_bounce(edge: RunTransition, resets: bool) -> int:
    """Return 1 for a transition that is a bounce by definition, 0 for one that cannot be a bounce, and -1 for one whose
    reset must be tried."""
    return int(edge.impact) or -int(resets) if edge.source == edge.target else 0
