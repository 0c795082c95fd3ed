"""Independent event detection: which guards are positive, or about to be, beyond their rounding errors."""

from __future__ import annotations

import numpy as np

from tests.inner.run import Bound, GuardHistory, event_guards, guard_history

MIN_LOOK_AHEAD, MAX_LOOK_AHEAD, RATIO = guard_history.MIN_LOOK_AHEAD, guard_history.MAX_LOOK_AHEAD, guard_history.LOOK_AHEAD_RATIO
ACCUMULATED, CLEAR, MARGIN = event_guards.ACCUMULATED, event_guards.CLEAR, guard_history.MARGIN
PERTURBATION, TRIALS, REVERSAL_RATIO = guard_history.PERTURBATION, guard_history.TRIALS, guard_history.REVERSAL_RATIO
rounding_error, trial_changes = guard_history.rounding_error, guard_history.trial_changes
_LOOKS = 1 + int(np.log(MAX_LOOK_AHEAD / MIN_LOOK_AHEAD) / np.log(RATIO))


class FiringGuards(GuardHistory):
    def __init__(self, bound: Bound, span: float):
        super().__init__(bound, span)
        self.guard_sizes = np.zeros(len(bound.program.transitions))
        """Largest magnitude so far of each guard (k,) at events of the run."""

    def firing_guards(self, t: float, x: np.ndarray, m: np.ndarray, probe: float) -> np.ndarray:
        """Find the guards (k,) that are positive and stay so for `probe` s, or are zero up to rounding and grow along the
        motion.

        The positive guard of a bounce fires unless it is falling below zero, so that a body that leaves is not thrown back.
        """
        active, shift, was = self._active(m), self._instant(t), self._bound.guards(t, x, m)
        start, here = t + shift, x  # after jumps at this time
        x = x + shift * self._bound.rates(start, x, m)
        now = self._bound.guards(start, x, m)
        zero = self.zero(start, x, m)
        clear = active & (zero <= CLEAR * np.abs(now))
        self.guard_sizes[clear] = np.fmax(self.guard_sizes, np.abs(now))[clear]
        zero = self._accumulated(zero)
        if np.any(active & (np.abs(now) > zero) & (np.abs(was) <= np.abs(now - was))):  # nonzero only because of the shift
            zero = zero + self._noise_ahead(t, here, m, np.array([shift]), (now - was)[None])[0]
        near, firm = active & (np.abs(now) <= zero), active & (now > zero)
        last = np.array([edge.last for edge in self._bound.program.transitions], dtype=bool)
        ending = active & last & (now <= zero)
        if not (near | firm | ending).any():
            return near
        if firm.any() or ending.any():
            soon = self.ahead(start, x, m, np.array([probe]))[0]
            firm &= soon > 0.0
            if np.any(soon[ending] > 0.0):
                firm |= active & ~last & (soon > zero)
        bounce = np.array([(near[i] or firm[i]) and self.is_bounce(i, t, x, m) for i in range(len(active))])
        return (firm & ~bounce) | self._growing(start, x, m, now, near | (firm & bounce), bounce)

    def is_bounce(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        """Return True if a transition leads into its own state and reverses the rate of its guard, as an impact does, without
        lowering it."""
        if self.bounces[index] < 0:
            after = self._bound.reset(index, t, x, m)
            lowered = self._bound.guards(t, after, m)[index] < -ACCUMULATED * self.zero(t, after, m)[index]
            self.bounces[index] = not lowered and self._turns_round(index, t, x, m)
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
        """Return guards (s, k) after the times `steps` (s,), in seconds, along the motion, to second order (Heun)."""
        return self._ahead(t, x, self._bound.p, m, steps)

    def _ahead(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, steps: np.ndarray) -> np.ndarray:
        guards = self._bound.program.guards
        assert guards is not None
        return guards.many(self._bound.clock(t + steps), self._states(t, x, p, m, steps), p, m)

    def _states(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, steps: np.ndarray) -> np.ndarray:
        h, kernel = steps[:, None], self._bound.program.rates
        rates = kernel.many(np.full(len(steps), self._bound.clock(t)), x, p, m)
        return x + 0.5 * h * (rates + kernel.many(self._bound.clock(t + steps), x + h * rates, p, m))

    def _growing(
        self, t: float, x: np.ndarray, m: np.ndarray, now: np.ndarray, candidates: np.ndarray, bounce: np.ndarray
    ) -> np.ndarray:
        """Find the guards among the `candidates` that grow, by the shortest look-ahead in which they change by more than
        their rounding errors."""
        growing, open_ = np.zeros(len(now), dtype=bool), candidates.copy()
        if not open_.any():
            return growing
        first = max(MIN_LOOK_AHEAD * self.span, self._instant(t))
        longer = np.multiply.accumulate(np.full(_LOOKS, RATIO)) / RATIO
        steps = first * longer[: max(int(np.sum(first * longer <= MAX_LOOK_AHEAD * self.span)), 1)]
        changes = self.ahead(t, x, m, steps) - now
        still = self._accumulated(self._noise(t, x, m, np.abs(x), now))
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
        """Return the part of the rounding error of the guards' `changes` (s, k) in `steps` (s,) that comes from the rates."""
        guards, time = self._bound.program.guards, self._bound.clock(t)
        assert guards is not None
        y, points = x * (1.0 + self.by_x), len(self.by_x)
        now = guards.many(np.full(points, time), y, self.p, m)
        every = np.repeat(np.arange(points), len(steps))
        soon = self._ahead(t, y[every], self.p[every], m, np.tile(steps, points)).reshape(points, len(steps), -1)
        return rounding_error(changes, soon - now[:, None])

    def _accumulated(self, errors: np.ndarray) -> np.ndarray:
        """Return accumulated rounding errors of guards (k,), except for bounces and ends of the run."""
        ends = np.array([edge.error is not None for edge in self._bound.program.transitions], dtype=bool)
        most = ACCUMULATED * np.fmax(errors, self.guard_sizes * (MARGIN * PERTURBATION))
        return np.where(ends | (self.bounces == 1), errors, most)

    def _active(self, m: np.ndarray) -> np.ndarray:
        return np.array([m[edge.slot] == edge.source for edge in self._bound.program.transitions])

    def _instant(self, t: float) -> float:
        """Return the shortest distinguishable time interval, with a margin, s."""
        return 4.0 * PERTURBATION * (abs(self._bound.origin) + abs(t)) + MIN_LOOK_AHEAD * self.span

    def _noise(self, t: float, x: np.ndarray, m: np.ndarray, sizes: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Return the rounding error of each guard (k,) for states of `sizes` (n,)."""
        kernel = self._bound.program.guards
        assert kernel is not None
        times = self._bound.clock(t + (abs(self._bound.origin) + abs(t)) * self.later)
        return rounding_error(now, kernel.many(times, x + self.by_x * sizes, self.p, m))
