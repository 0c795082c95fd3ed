"""Schedule of the ticks of clocks and the time breaks of a run, in times measured from the start of the run."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.run.bound import Bound
from bondgraph.run.delays.buffer import DelayBuffer

EPSILON = 2.220446049250313e-16
SAME_TIME = 16.0 * EPSILON
"""Relative difference of times below which ticks are simultaneous."""
BREAK_MARGIN = 64.0 * EPSILON
"""Distance from a break, relative to its time on the clock of the user's formulas, within which rounding may put the formulas on
either side of the break."""
MAX_TICKS = 1e9


@dataclass(frozen=True)
class _Row:
    """Ticks of the clock with this number, or breaks (None), at `first` + n `period`, in s since the start of the run; the period
    of a single tick or break is infinite."""

    name: str
    first: float
    period: float
    clock: int | None = None


class ClockSchedule:
    """Clocks and breaks at the parameters of a run. The arrays (rows,) are shared with machine code, which updates them.

    Each clock and each periodic break has a row; all single breaks (at times `breaks`) share a row, and so do the breaks of each
    delay. `following` are the times of the next ticks, s; `index` are their numbers; `silent` rows change no state.
    """

    def __init__(self, bound: Bound, t_start: float, t_end: float, most: float = MAX_TICKS):
        self._bound, span, most = bound, t_end - t_start, min(most, MAX_TICKS)
        rows: list[_Row] = []
        for number, clock in enumerate(bound.program.clocks):
            period, offset = _seconds(bound, clock.period), _seconds(bound, clock.offset)
            _check(clock.name, period, offset, span, most)
            rows.append(_Row(clock.name, _first(offset, period, t_start), period, number))
        once: list[float] = []
        for name, offset, period in bound.breaks():
            if not np.isfinite(offset) or not period > 0.0:
                continue
            if np.isfinite(period):
                _check_count(f'"{name}" has too many breaks', "breaks", period, span, most)
                rows.append(_Row(name, _first(offset, period, t_start, -np.inf), period))
            elif t_start <= offset < t_end:
                once.append(offset)
        self.breaks = np.array([*_distinct_breaks(sorted(once), t_start), np.inf])
        if once:
            rows.append(_Row("", float(self.breaks[0]), np.inf))
        self.once = len(rows) - 1 if once else -1
        delays, first = bound.program.delays, len(rows)
        rows += [_Row(delay.name, np.inf, np.inf) for delay in delays]
        self.clocks = [row.clock for row in rows]
        self.silent = np.array([row.clock is None for row in rows], dtype=bool)
        self.period = np.array([row.period for row in rows])
        self.offset = np.array([row.first for row in rows])
        self.index = np.zeros(len(rows), dtype=np.int64)
        self.following = self.offset.copy()
        self.delays = DelayBuffer(bound.program, bound.p, bound.origin, first, self.following[first:]) if delays else None

    def __len__(self) -> int:
        return len(self.period)

    @property
    def count(self) -> int:
        return int(np.sum(self.index[~self.silent])) if len(self) else 0

    def next(self) -> float:
        return float(np.min(self.following, initial=np.inf))

    def due(self, t: float) -> bool:
        following = self.next()
        return following - t <= SAME_TIME * max(abs(t), abs(following)) if following < np.inf else False

    def tick(self, t: float, x: np.ndarray, m: np.ndarray) -> tuple[float, np.ndarray]:
        """Carry out all ticks due at t in the order of the clocks, and advance to the next break of each row with a break at t;
        return the time and x afterwards."""
        first = self.next()
        due = np.flatnonzero(self.following <= first + SAME_TIME * max(abs(t), abs(first)))
        time = max(t, float(self.following[due].max()))
        if self.silent[due].any():
            self._bound.window[0] = self._time_off_break(time, 1.0)
        self._bound.window[1] = np.inf
        for row in due.tolist():
            clock = self.clocks[row]
            x = x if clock is None else self._bound.tick(clock, time, x, m)
            self.index[row] += 1
            number = self.index[row]
            later = self.offset[row] + number * self.period[row]
            self.following[row] = self.breaks[number] if row == self.once else later
        return time, x

    def look_ahead(self) -> None:
        """Limit the time that formulas see to before the next break, whatever the rounding error of time."""
        following = float(np.min(self.following[self.silent], initial=np.inf))
        self._bound.window[1] = self._time_off_break(following, -1.0) if following < np.inf else np.inf

    def _time_off_break(self, time: float, side: float) -> float:
        on_clock = self._bound.origin + time
        return on_clock + side * BREAK_MARGIN * (abs(on_clock) + 1e-6 * self._bound.span)


def _distinct_breaks(times: list[float], t_start: float) -> list[float]:
    since_start: list[float] = []
    last = -np.inf
    for time in times:
        if time - last > 2.0 * SAME_TIME * max(abs(time), abs(last)) or not since_start:
            since_start.append(float(Fraction(time) - Fraction(t_start)))
            last = time
    return since_start


def _seconds(bound: Bound, seconds_or_index: float | int) -> float:
    return float(bound.p[seconds_or_index]) if isinstance(seconds_or_index, int) else float(seconds_or_index)


def _first(offset: float, period: float, t_start: float, earliest: float = 0.0) -> float:
    """Return the first tick at or after the start of the run, within `SAME_TIME`, among offset + n period, n >= `earliest`, in s
    since the start, by exact arithmetic; return 0 for a single tick (infinite period) before the start."""
    since = Fraction(offset) - Fraction(t_start)
    if not np.isfinite(period):
        return max(float(since), 0.0)
    number = max(-(since // Fraction(period)), earliest)
    before = since + (int(number) - 1) * Fraction(period)
    slack = SAME_TIME * max(abs(t_start), abs(offset))
    if number > earliest and before >= -Fraction(slack):
        return max(float(before), 0.0)
    return float(since + int(number) * Fraction(period))


def _check(name: str, period: float, offset: float, span: float, most: float) -> None:
    title = f'the clock of "{name}" cannot run'
    if not period > 0.0 or not np.isfinite(offset):
        why = f"its first tick is at {offset:g} s" if period > 0.0 else f"its period is {period:g} s"
        raise RunError(Problem("E330", title, (why,), cures=("a positive period, in s, and a finite offset",)))
    _check_count(title, "ticks", period, span, most)


def _check_count(title: str, instants: str, period: float, span: float, most: float) -> None:
    if span / period > most:
        why = f"a period of {period:g} s makes {span / period:.3g} {instants} in {span:g} s; the limit is {most:.3g}"
        cures = ("a longer period", "a shorter run", *(("a larger max_steps",) if span / period <= MAX_TICKS else ()))
        raise RunError(Problem("E330", title, (why,), cures=cures))
