"""Wrapper that adds sample clocks to an integrator without clocks: it stops the integrator at every tick and restarts it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import SAME_TIME, ClockSchedule
from bondgraph.run.samples import NextPage
from bondgraph.run.status import Status
from bondgraph.run.steppers.integrator import Page
from bondgraph.run.steppers.segment import Effort, Integrator, Segment

_TICKS = 50
"""Number of ticks after which a segment pauses to update a progress bar: a count, not a time, because the end of a run may
depend on the pauses."""


class SampleTimeWrapper(Integrator):
    def __init__(self, bound: Bound, integrator: Integrator, ticks: ClockSchedule):
        self._bound, self._integrator, self._ticks = bound, integrator, ticks

    def restart(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray, levels: np.ndarray) -> None:
        self._t, self._x, self._q = t, x.copy(), q.copy()
        self._m, self._levels = m.copy(), levels.copy()
        self._integrator.restart(t, x, q, m, levels)

    def advance(self, times: np.ndarray, rows: np.ndarray, stop: float, following: NextPage | None = None) -> Segment:
        ticks, page, ticked = self._ticks, Page(rows, self._m, following), 0
        end = stop - SAME_TIME * abs(stop)
        while True:
            inside = ticks.next() < end
            ticks.look_ahead()
            if inside and ticks.due(self._t):
                reached = int(np.searchsorted(times[page.total :], ticks.next(), side="right"))
                row = np.concatenate([self._x, self._q])
                page.put(np.broadcast_to(row, (reached, len(row))))
                event_segment = self._tick()
                self._see_break(page, times, row)
                if event_segment is not None:
                    return replace(event_segment, written=page.written)
                ticked += 1
                if ticked == _TICKS:
                    return Segment(Status.PAUSE, self._t, self._x, self._q, page.written)
                continue
            until = ticks.next() if inside else stop
            ahead = times[page.total :]
            ahead = ahead[: int(np.searchsorted(ahead, until, side="right"))]
            segment = self._integrator.advance(ahead, page.free_rows, until, page.next)
            self._t, self._x, self._q = segment.t, segment.x, segment.q
            page.count_rows(segment.written)
            if segment.status != Status.STOP or not inside:
                return replace(segment, written=page.written)

    def _see_break(self, page: Page, times: np.ndarray, before: np.ndarray) -> None:
        """Replace the loop unknowns in a sample at a break by their values after the break, where the sample's formulas are
        evaluated."""
        true_states = self._bound.true_states
        sampled = page.written > 0 and times[page.total - 1] >= self._t
        if sampled and np.array_equal(before[true_states], self._x[true_states]):
            page.filled[-1, : len(self._x)] = self._x

    def _tick(self) -> Segment | None:
        bound, before = self._bound, self._guards(self._t, self._x)
        self._t, x = self._ticks.tick(self._t, self._x, self._m)
        self._x, unsolved = bound.consistent(self._t, x, self._m)
        if unsolved is not None:
            loop = ", ".join(unsolved.elements)
            text = f"algebraic loop: Newton's method finds no solution for the algebraic loop through {loop} after a tick"
            return Segment(Status.NOT_FINITE, self._t, self._x, self._q, 0, reason=text)
        after = self._guards(self._t, self._x)
        jumped = np.flatnonzero((before < 0.0) & (after >= 0.0))
        if jumped.size:
            return Segment(Status.EVENT, self._t, self._x, self._q, 0, tuple(int(i) for i in jumped))
        self._integrator.restart(self._t, self._x, self._q, self._m, self._levels)
        return None

    def _guards(self, t: float, x: np.ndarray) -> np.ndarray:
        raw = self._bound.guards(t, x, self._m)
        levels, depths = self._levels.reshape(2, -1)
        levels[raw < -depths] = 0.0
        return raw - levels

    def slow_pace(self) -> float:
        return self._integrator.slow_pace()

    def effort(self) -> Effort:
        return self._integrator.effort()

    def close(self) -> None:
        self._integrator.close()
