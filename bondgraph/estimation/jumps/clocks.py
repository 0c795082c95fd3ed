"""Jump conditions of sensitivities at clock ticks and breaks of time: S after one, and the derivative dt/dp of its time."""

from __future__ import annotations

import numpy as np

from bondgraph.estimation.jumps.context import RunKernels, SensitivityState, agree
from bondgraph.run.clock_schedule import SAME_TIME, ClockSchedule


class ClockJumps:
    """Jumps of S at the clock ticks and breaks of one run, in their order."""

    def __init__(self, kernels: RunKernels, ticks: ClockSchedule):
        self._kernels, self._ticks = kernels, ticks
        self.doubts: dict[str, None] = {}

    def tick(self, at: SensitivityState) -> tuple[np.ndarray, np.ndarray]:
        """Carry out the due ticks and breaks, in place; return the guards before them, and their dt."""
        kernels, bound, ticks = self._kernels, self._kernels.bound, self._ticks
        first = ticks.next()
        due = np.flatnonzero(ticks.following <= first + SAME_TIME * max(abs(at.t), abs(first)))
        guards, f = bound.guards(at.t, at.x, at.m), kernels.rates(at)
        clocks = [clock for clock in (ticks.clocks[row] for row in due) if clock is not None]
        times = [self._clock_slope(clock, bound.origin + first) for clock in clocks]
        breaks = self._break_slopes(bound.origin + first) if ticks.silent[due].any() else []
        at.t, after = ticks.tick(at.t, at.x, at.m)
        for dt in breaks[:1]:
            at.S += np.outer(f - kernels.rates(at), dt)
        slopes = [*breaks, *times]
        if any(not agree(dt, slopes[0]) for dt in slopes):
            self.doubts["ticks or jumps of sources coincide that another value of a parameter would take apart"] = None
        for clock, dt in zip(clocks, times, strict=True):
            D = at.S + np.outer(kernels.rates(at), dt)
            if bound.program.clocks[clock].kernel is not None:
                out = kernels.values(kernels.variational.tick(clock), at, D, dt, np.zeros(len(at.x)))
                at.x, D = out[: len(at.x)], out[len(at.x) :].reshape(len(dt), -1).T
            at.S = D - np.outer(kernels.rates(at), dt)
        at.x = bound.consistent(at.t, after, at.m)[0]
        nothing = np.zeros(at.S.shape[1])
        at.S = kernels.solved(at, at.S, nothing)
        return guards, slopes[0] if slopes else nothing

    def _clock_slope(self, number: int, date: float) -> np.ndarray:
        """Return d tick / dp (k,) of a clock that ticks at a date."""
        kernels = self._kernels
        clock, varied = kernels.bound.program.clocks[number], np.array(kernels.variational.varied.parameters)
        slope = np.zeros(len(varied))
        if isinstance(clock.offset, int):
            slope += varied == clock.offset
        if isinstance(clock.period, int) and np.isfinite(period := float(kernels.p[clock.period])):
            offset = float(kernels.p[clock.offset]) if isinstance(clock.offset, int) else clock.offset
            slope += np.round((date - offset) / period) * (varied == clock.period)
        return slope

    def _break_slopes(self, date: float) -> list[np.ndarray]:
        """Return d break / dp (k,) of each break at a date, equal ones once."""
        kernels = self._kernels
        kernel = kernels.variational.break_times
        assert kernel is not None
        with np.errstate(all="ignore"):
            values, *slopes = kernel(kernels.p).reshape(1 + kernels.variational.k, 2, -1)
        distinct: list[np.ndarray] = []
        for b, (time, period) in enumerate(values.T):
            if not np.isfinite(time) or not period > 0.0:
                continue
            number = np.round((date - time) / period) if np.isfinite(period) else 0.0
            off = date - time - (number * period if number else 0.0)
            if abs(off) <= 4.0 * SAME_TIME * (abs(date) + abs(time) + 1e-6 * kernels.bound.span):
                slope = np.array([s[0, b] + (number * s[1, b] if number else 0.0) for s in slopes])
                if not any(agree(slope, other) for other in distinct):
                    distinct.append(slope)
        return distinct or [np.zeros(kernels.variational.k)]
