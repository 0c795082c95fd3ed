"""Clocks of a run: which tick comes next and when, and x after it."""

from __future__ import annotations

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.run.bound import Bound
from bondgraph.run.program import Clock

TOGETHER = 16.0 * 2.220446049250313e-16
"""Ticks whose times differ by less, relative to these, are at one time."""
AHEAD = 4.0 * 2.220446049250313e-16
"""So much before a break (relative to its time) the integration stops, so that no step sees what follows it."""
MOST = 1e9


class Ticks:
    """Clocks at the parameters of a run. The arrays (clocks,) are shared with machine code, which counts on in them.

    `following` are the times of the next ticks, s; `index` their numbers; `silent` clocks change no state.
    """

    def __init__(self, bound: Bound, t_start: float, t_end: float):
        clocks = bound.program.clocks
        self._bound = bound
        self.period = np.array([_seconds(bound, clock.period) for clock in clocks], dtype=float)
        self.offset = np.array([_seconds(bound, clock.offset) for clock in clocks], dtype=float)
        self.silent = np.array([clock.kernel is None for clock in clocks], dtype=bool)
        for clock, period, offset in zip(clocks, self.period, self.offset, strict=True):
            _check(clock, float(period), float(offset), t_start, t_end)
        first = np.zeros(len(clocks))
        periodic = np.isfinite(self.period)
        first[periodic] = np.maximum(np.floor((t_start - self.offset[periodic]) / self.period[periodic]), 0.0)
        self.index = first.astype(np.int64)
        self.following = self._times()
        slack = TOGETHER * np.maximum(abs(t_start), np.abs(self.following))
        self.index[periodic & (self.following < t_start - slack)] += 1
        self.following = self._times()
        # What ticks or breaks only once does so at the start where its time has gone by.
        self.following[~periodic & (self.following < t_start)] = t_start
        self._first = self.index.copy()

    def _times(self) -> np.ndarray:
        periodic = np.where(np.isfinite(self.period), self.period, 0.0)
        once = np.where(self.index > 0, np.inf, self.offset)
        return np.where(np.isfinite(self.period), self.offset + self.index * periodic, once)

    def __len__(self) -> int:
        return len(self.period)

    @property
    def count(self) -> int:
        """Ticks so far, breaks not counted."""
        return int(np.sum((self.index - self._first)[~self.silent]))

    def next(self) -> float:
        """Time of the next tick, s."""
        return float(np.min(self.following, initial=np.inf))

    def target(self) -> float:
        """Time at which the integration stops for the next tick, s."""
        ahead = self.following[np.isfinite(self.following)]
        early = ahead - np.where(self.silent[np.isfinite(self.following)], AHEAD * np.abs(ahead), 0.0)
        return float(np.min(early, initial=np.inf))

    def due(self, t: float) -> bool:
        """Whether a tick is due at t."""
        following = self.next()
        return following - t <= TOGETHER * max(abs(t), abs(following)) if following < np.inf else False

    def tick(self, t: float, x: np.ndarray, m: np.ndarray) -> tuple[float, np.ndarray]:
        """Time and x after all ticks that are due at t, in the order of the clocks."""
        first = self.next()
        due = np.flatnonzero(self.following <= first + TOGETHER * max(abs(t), abs(first)))
        time = max(t, float(self.following[due].max()))
        for clock in due.tolist():
            x = self._bound.tick(clock, time, x, m)
            self.index[clock] += 1
        self.following[due] = self._times()[due]
        return time, x


def _seconds(bound: Bound, place: float | int) -> float:
    return float(bound.p[place]) if isinstance(place, int) else float(place)


def _check(clock: Clock, period: float, offset: float, t_start: float, t_end: float) -> None:
    """Raises `RunError` E330 for a clock that cannot run."""
    if not period > 0.0:
        why = f"its period is {period:g} s"
    elif not np.isfinite(offset):
        why = f"its first tick is at {offset:g} s"
    elif (t_end - t_start) / period > MOST or period <= 64.0 * TOGETHER * max(abs(t_start), abs(t_end)):
        why = f"a period of {period:g} s makes {(t_end - t_start) / period:.3g} ticks"
    else:
        return
    cures = ("a positive period, in s, and a finite offset",)
    raise RunError(Problem("E330", f'the clock of "{clock.name}" cannot run', (why,), cures=cures))
