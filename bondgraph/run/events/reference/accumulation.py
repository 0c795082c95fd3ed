"""Detection of accumulating (Zeno) events by their times, and the limit of these times."""

from __future__ import annotations

import numpy as np

WINDOW, HISTORY, RATIOS = 50, 1000, 8
"""Number of the last events that are tested for chattering; number of events remembered; number of ratios of intervals."""
CHATTER_ROUNDING, CHATTER_SPAN = 64.0 * WINDOW * 2.3e-16, 1e-10
"""Fractions of their time, and of the run, within which `WINDOW` events chatter."""
REST_SPAN, MAX_SHRINKAGE = 1e-5, 0.95
"""Fraction of the run within which `HISTORY` events mean rest if there is a state of rest, and if their intervals do not shrink
below the second fraction."""
RATIO_SPREAD = 0.05
"""Relative difference that the ratios of a geometric series may have."""


class AccumulationDetector:
    """Detector of accumulating events, which remembers the times of recent events per transition.

    `times` (transitions, HISTORY) holds each time at its number in the sequence, modulo its length; `counts` (transitions,) are
    the numbers of events, reduced to stay below twice that length. Machine code shares both.
    """

    def __init__(self, transitions: int, span: float, rtol: float):
        self._span, self._rtol = span, rtol
        self.times, self.counts = np.zeros((transitions, HISTORY)), np.zeros(transitions, dtype=np.int64)

    def _last(self, transition: int, most: int) -> np.ndarray:
        """Return the last times of a transition, at most `most`."""
        count = int(self.counts[transition])
        return self.times[transition, np.arange(max(count - min(most, HISTORY), 0), count) % HISTORY]

    def add(self, time: float, transition: int, may_rest: bool = False) -> str:
        """Note an event of a transition; return "chattering", "Zeno", or "" if there is no pattern.

        If a state of rest follows such events (`may_rest`), "Zeno" also includes events without a limit that are too many for the
        run to reach its end, as of a ball whose floor rises as slowly as its bounces decay.
        """
        ring, before = self.times[transition], int(self.counts[transition])
        ring[before % HISTORY] = time
        number = before if before + 1 < 2 * HISTORY else before - HISTORY
        self.counts[transition] = number + 1
        brief = max(CHATTER_SPAN * self._span, CHATTER_ROUNDING * abs(time))
        if number + 1 >= WINDOW and time - ring[(number + 1 - WINDOW) % HISTORY] <= brief:
            return "chattering"
        if may_rest and number + 1 >= HISTORY and time - ring[(number + 1) % HISTORY] <= REST_SPAN * self._span:
            steps = np.diff(self._last(transition, HISTORY))
            if _ordered_sum(steps[-WINDOW:]) >= MAX_SHRINKAGE * _ordered_sum(steps[:WINDOW]):
                return "chattering"
        if number + 1 < RATIOS + 2:
            return ""
        steps = np.diff(self._last(transition, RATIOS + 2))
        if np.all(steps > 0.0) and np.all(steps[1:] < steps[:-1]):
            ratios = steps[1:] / steps[:-1]
            ratio = _ordered_sum(ratios) / RATIOS
            left = float(steps[-1]) * ratio / (1.0 - ratio)
            if ratios.max() - ratios.min() < RATIO_SPREAD * ratio and left < self._rtol * self._span:
                return "Zeno"
        return ""

    def limit(self, transition: int) -> float:
        """Return the limit of the times of a transition's last events, as a geometric series; the last time if there is none.
        Forget these times."""
        times = self._last(transition, RATIOS + 2)
        self.counts[transition] = 0
        steps = np.diff(times)
        if len(steps) < 2 or not np.all(steps > 0.0):
            return float(times[-1]) if len(times) else 0.0
        ratio = float((steps[-1] / steps[0]) ** (1.0 / (len(steps) - 1)))
        return float(times[-1]) + (float(steps[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else 0.0)

    def shrinking(self, transition: int) -> bool:
        """Return True if the times between the last events of a transition shrink."""
        steps = np.diff(self._last(transition, WINDOW))
        steps = steps[steps > 0.0]
        return len(steps) > 4 and bool(steps[-1] < 0.1 * steps[:-1].max())


def _ordered_sum(terms: np.ndarray) -> float:
    """Return the sum of terms (k,), one after the other from the first, as a loop in machine code computes it; 0 for none."""
    return float(np.add.accumulate(terms)[-1]) if len(terms) else 0.0
