"""Evaluation of guards for event detection: which guards are positive, or about to be, beyond their rounding errors.

The rounding error of a guard is measured (`rounding_error`) at states, parameters and times next to the present ones.
"""

from __future__ import annotations

import functools

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.program import RunTransition

PERTURBATION = 2.0**-50
"""Distance of the points, relative to each number."""

PAIRS = 4
"""Pairs of points; the two points of a pair lie on opposite sides."""

MARGIN = 4.0
"""Ratio of the bound to the measured rounding error."""


@functools.lru_cache(maxsize=64)
def perturbations(count: int) -> np.ndarray:
    """Return relative changes (2 PAIRS, count) of `count` numbers, read-only and equal at every call; row k + PAIRS is opposite
    to row k."""
    rng = np.random.default_rng(0)
    half = rng.choice([-1.0, 1.0], (PAIRS, count)) * rng.uniform(0.5, 1.0, (PAIRS, count))
    changes = PERTURBATION * np.concatenate([half, -half])
    changes.flags.writeable = False
    return changes


def rounding_error(value: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return a bound on the rounding error of `value` (...), which is `near` (2 PAIRS, ...) at the points of `perturbations`. The
    nearer value of two opposite points counts, since a law may jump here."""
    off = np.abs(near - value)
    return np.asarray(MARGIN * np.fmax.reduce(np.fmin(off[:PAIRS], off[PAIRS:]), axis=0))


# Look-ahead times, as fractions of the run: the first, the longest, and the ratio of two.
MIN_LOOK_AHEAD, MAX_LOOK_AHEAD, LOOK_AHEAD_RATIO = 1e-15, 1e-6, 8.0
_LOOKS = 1 + int(np.log(MAX_LOOK_AHEAD / MIN_LOOK_AHEAD) / np.log(LOOK_AHEAD_RATIO))
# Trial states around a state: how many, and how far away relative to its size.
TRIALS, _AROUND = 12, 1e-3
# Fraction of the rate of a guard that a bounce may leave unchanged.
REVERSAL_RATIO = 0.01


@functools.lru_cache(maxsize=64)
def trial_changes(count: int) -> np.ndarray:
    """Return changes (TRIALS, count) of `count` states as fractions of their sizes, read-only and equal at every call."""
    changes = np.random.default_rng(1).uniform(-_AROUND, _AROUND, (TRIALS, count))
    changes.flags.writeable = False
    return changes


class GuardHistory:
    """Guards of one run that spans `span` s; `sizes` (n,) holds the largest magnitude of each state in it, at samples, events and
    the ends of all steps."""

    def __init__(self, bound: Bound, span: float):
        self._bound, self.span = bound, span
        self.sizes = np.zeros(bound.program.states)
        self.by_x, self.p_factors = perturbations(bound.program.states), 1.0 + perturbations(len(bound.p))
        self.p = bound.p * self.p_factors
        self.later = PERTURBATION * np.tile(np.arange(1.0, PAIRS + 1.0) / PAIRS, 2)
        bounces = [_known_bounce(edge, bound.resets(i)) for i, edge in enumerate(bound.program.transitions)]
        self.known_bounces = np.array(bounces, dtype=np.int64)
        self.bounces = self.known_bounces.copy()
        """Flags of transitions that are bounces: 1, 0, or -1 if not tested yet; initially those that are known before a run."""
        self._last = np.array([edge.last for edge in bound.program.transitions], dtype=bool)
        """Transitions that end the run because their mode contradicts itself."""

    def record_states(self, rows: np.ndarray) -> None:
        """Record states (k, n) that the run has reached."""
        if rows.size:
            np.fmax(self.sizes, np.fmax.reduce(np.abs(rows), axis=0), out=self.sizes)

    def firing_guards(self, t: float, x: np.ndarray, m: np.ndarray, probe: float) -> np.ndarray:
        """Find the guards (k,) that are positive and stay so for `probe` s, or are zero to rounding and grow along the motion; in
        a mode that contradicts itself by then, also the guards that resolve this.

        The positive guard of a bounce fires unless it is falling below zero: a body that leaves is not thrown back, and one that
        only reverses does not leave.
        """
        active, shift, was = self._active(m), self._instant(t), self._bound.guards(t, x, m)
        start, here = t + shift, x  # after jumps at this time
        x = x + shift * self._bound.rates(start, x, m)
        now = self._bound.guards(start, x, m)
        zero = self.zero(start, x, m)
        if np.any(active & (np.abs(now) > zero) & (np.abs(was) <= np.abs(now - was))):  # nonzero only by the shift
            zero = zero + self._noise_ahead(t, here, m, np.array([shift]), (now - was)[None])[0]
        near, firm = active & (np.abs(now) <= zero), active & (now > zero)
        ending = active & self._last & (now <= zero)
        if not (near | firm | ending).any():
            return near
        if firm.any() or ending.any():
            soon = self.ahead(start, x, m, np.array([probe]))[0]
            firm &= soon > 0.0
            if np.any(soon[ending] > 0.0):
                firm |= active & ~self._last & (soon > zero)
        bounce = np.array([(near[i] or firm[i]) and self.is_bounce(i, t, x, m) for i in range(len(active))])
        return (firm & ~bounce) | self._growing(start, x, m, now, near | (firm & bounce), bounce)

    def zero(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the rounding error of each guard (k,), for states as large as they have been in the run."""
        return self._noise(t, x, m, np.fmax(self.sizes, np.abs(x)), self._bound.guards(t, x, m))

    def is_bounce(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        """Return True if a transition leads into its own state and reverses the rate of its guard, as an impact does, unlike a
        mark or a kick; resets are tried once, at states around x."""
        if self.bounces[index] < 0:
            self.bounces[index] = self._turns_round(index, t, x, m)
        return bool(self.bounces[index])

    def _turns_round(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        size = np.fmax(np.fmax(self.sizes, np.abs(x)), np.abs(self._bound.rates(t, x, m)) * self.span)
        step, turned = np.array([MAX_LOOK_AHEAD * self.span]), []
        for part in trial_changes(len(x)):
            change = part * np.where(size > 0.0, size, 1.0)
            rises = []
            for y in (x + change, x - change):
                after = self._bound.reset(index, t, y, m)
                rises.append([self.ahead(t, z, m, step)[0, index] - self._bound.guards(t, z, m)[index] for z in (y, after)])
            before, past = rises[0][0] - rises[1][0], rises[0][1] - rises[1][1]
            turned.append(before != 0.0 and past * np.sign(before) < REVERSAL_RATIO * abs(before))
        return sum(turned) > TRIALS // 2

    def ahead(self, t: float, x: np.ndarray, m: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return guards (s, k) after `steps` (s,) s along the motion, to second order (Heun)."""
        return self._ahead(t, x, self._bound.p, m, steps)

    def _ahead(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return `ahead` from states (n,) or (s, n) at parameters (p,) or (s, p)."""
        guards = self._bound.program.guards
        assert guards is not None
        return guards.many(self._bound.clock(t + steps), self._states(t, x, p, m, steps), p, m)

    def _states(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return states (s, n) after `steps` (s,) s along the motion, to second order (Heun)."""
        h, kernel = steps[:, None], self._bound.program.rates
        rates = kernel.many(np.full(len(steps), self._bound.clock(t)), x, p, m)
        return x + 0.5 * h * (rates + kernel.many(self._bound.clock(t + steps), x + h * rates, p, m))

    def _growing(
        self, t: float, x: np.ndarray, m: np.ndarray, now: np.ndarray, candidates: np.ndarray, bounce: np.ndarray
    ) -> np.ndarray:
        """Find the guards among the `candidates` that grow, by the shortest look ahead in which they change more than rounding;
        of bounces, those that grow or pass below zero.

        A guard that neither moves nor has a rounding error is constant here: later it can only jump, which is a later event.
        """
        growing, open_ = np.zeros(len(now), dtype=bool), candidates.copy()
        if not open_.any():
            return growing
        first = max(MIN_LOOK_AHEAD * self.span, self._instant(t))
        longer = np.multiply.accumulate(np.full(_LOOKS, LOOK_AHEAD_RATIO)) / LOOK_AHEAD_RATIO
        steps = first * longer[: max(int(np.sum(first * longer <= MAX_LOOK_AHEAD * self.span)), 1)]
        changes = self.ahead(t, x, m, steps) - now
        still = self._noise(t, x, m, np.abs(x), now)
        ahead = self._noise_ahead(t, x, m, steps, changes)
        noise = np.where(np.abs(changes) <= still, still, still + ahead)
        states = self._states(t, x, self._bound.p, m, steps)
        open_ &= (changes[0] != 0.0) | (still != 0.0)
        for step, y, change, least in zip(steps, states, changes, noise, strict=True):
            rises = open_ & (change > least)
            if rises.any():  # and by more than the accumulated rounding error
                rises &= change > self._noise(t + step, y, m, np.abs(y), now + change)
            growing |= rises
            open_ &= ~growing & np.isfinite(change) & ((change >= -least) | (bounce & (now + change >= 0.0)))
        return growing

    def _noise_ahead(self, t: float, x: np.ndarray, m: np.ndarray, steps: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Return the rounding error of the `changes` (s, k) of guards in `steps` (s,), caused by the rates."""
        guards, time = self._bound.program.guards, self._bound.clock(t)
        assert guards is not None
        y, points = x * (1.0 + self.by_x), len(self.by_x)
        now = guards.many(np.full(points, time), y, self.p, m)
        every = np.repeat(np.arange(points), len(steps))
        soon = self._ahead(t, y[every], self.p[every], m, np.tile(steps, points)).reshape(points, len(steps), -1)
        return rounding_error(changes, soon - now[:, None])

    def _active(self, m: np.ndarray) -> np.ndarray:
        return np.array([m[edge.slot] == edge.source for edge in self._bound.program.transitions])

    def _instant(self, t: float) -> float:
        """Return the shortest distinguishable time interval, with a margin, s."""
        return 4.0 * PERTURBATION * (abs(self._bound.origin) + abs(t)) + MIN_LOOK_AHEAD * self.span

    def _noise(self, t: float, x: np.ndarray, m: np.ndarray, sizes: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Return the rounding error of each guard (k,) for states of `sizes` (n,), at later times only."""
        kernel = self._bound.program.guards
        assert kernel is not None
        times = self._bound.clock(t + (abs(self._bound.origin) + abs(t)) * self.later)
        return rounding_error(now, kernel.many(times, x + self.by_x * sizes, self.p, m))


def _known_bounce(edge: RunTransition, resets: bool) -> int:
    """Return 1 for a transition that is a bounce by definition, 0 for one that cannot be, such as one without `resets`, -1 if it
    has to be tried."""
    return int(edge.impact) or -int(resets) if edge.source == edge.target else 0
