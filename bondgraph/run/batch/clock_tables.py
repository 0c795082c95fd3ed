"""Clocks and breaks of run after run: parameters in; the integrator's clocks, made anew only where they are others, out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.settings import Settings


class Schedules:
    """The clocks of the runs of one workspace; `share` lets its integrator have them."""

    def __init__(self, bound: Bound, settings: Settings, share: Callable[[ClockSchedule], None]):
        self._bound, self._settings, self._share = bound, settings, share
        clocks, breaks = bound.program.clocks, bound.program.breaks
        given = {place for clock in clocks for place in (clock.period, clock.offset) if isinstance(place, int)}
        self._places, self._front = sorted(given), 0 if breaks is None else breaks.sizes[0]
        self.fixed = not self._places and breaks is None
        """Whether they are the same in all runs."""
        self._key: bytes | None = None
        self.ticks: ClockSchedule

    def keys(self, p: np.ndarray) -> list[bytes]:
        """What the clocks of runs with parameters p (runs, parameters) follow from, for each."""
        if self.fixed:
            return [b""] * len(p)
        found, breaks = p[:, self._places], self._bound.program.breaks
        if breaks is not None:
            with np.errstate(all="ignore"):
                found = np.hstack([found, breaks.many(p[:, : self._front])])
        return [row.tobytes() for row in found]

    def follow(self, key: bytes) -> None:
        """Have the clocks of this key, that of the parameters which are bound now. Raises `RunError` E330 for a clock that cannot
        run."""
        if key == self._key:
            return
        start, span, self._key = self._settings.t_start, self._settings.span, None
        self.ticks = ClockSchedule(self._bound, start, start + span, self._settings.max_steps)
        self._share(self.ticks)
        self._key = key
