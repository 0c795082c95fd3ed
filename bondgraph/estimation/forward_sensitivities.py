"""Forward sensitivity integration: S = dx/dp at all samples of a finished run, which is integrated again together with S.

The run itself keeps the steps that it has without sensitivities. Between its events x and S are integrated together, with
separate error control of S; at each event x takes the value of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.error_weights import SensitivityWeights, sensitivity_weights
from bondgraph.estimation.jumps.clocks import ClockJumps
from bondgraph.estimation.jumps.context import PrecedingSegment, RunKernels, SensitivityState
from bondgraph.estimation.jumps.transitions import EventJumps
from bondgraph.estimation.variational import Variational
from bondgraph.methods import METHODS, START
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import SAME_TIME, ClockSchedule
from bondgraph.run.events.records import Event
from bondgraph.run.results.result import Result
from bondgraph.run.settings import Settings
from bondgraph.run.status import Status
from bondgraph.run.steppers.choose import build
from bondgraph.run.steppers.segment import Integrator, Selection

SCALE_SAMPLES = 32
"""Number of samples at which the variational equations are evaluated for the scale of S."""

MAX_DIFFERENCE = 1e3
"""Largest difference of x in both runs at the end of a segment, in units of the run's rtol times the size of x."""


@dataclass(frozen=True)
class StateSensitivities:
    """Sensitivities S (samples, n, k) of a run, and reasons not to trust them."""

    S: np.ndarray
    warnings: tuple[str, ...]


def integrate_sensitivities(
    variational: Variational, result: Result, start: tuple[np.ndarray, np.ndarray, np.ndarray], rtol: float, max_step: float
) -> StateSensitivities:
    """Integrate the sensitivities of a run.

    Parameters
    ----------
    result : of `simulate`, with the same parameters.
    start : x (n,) and modes as given to the run, and S (n, k) there.
    rtol : of the run; max_step : s.

    Raises `RunError` E373 for an event whose guard only touches zero, E374 for a collision without a derivative, E375 where S
    cannot be integrated."""
    return _SensitivityIntegration(variational, result, rtol, max_step).run(*start)


class _SensitivityIntegration:
    """Integration of x and S along one run, and the rows that it fills."""

    def __init__(self, variational: Variational, result: Result, rtol: float, max_step: float):
        program, origin = variational.compiled.program, float(result.t[0])
        self.variational, self.result, self.rtol, self.max_step = variational, result, rtol, max_step
        self.p = result.p[: len(result.p) - int(variational.compiled.prepare.n_out)]
        self.end = float(result.since[-1])
        self.bound = Bound(program, result.p, origin, self.end)
        # all ticks within the run; a sample at its end comes before ticks there
        self.ticks = ClockSchedule(self.bound, origin, origin + self.end, np.inf)
        self.numbers = variational.varied.values(self.p, result.x[0])
        self.sizes = np.max(np.abs(result.x), axis=0, initial=0.0)
        self.kernels = RunKernels(variational, self.bound, self.p, rtol, self.sizes)
        self.event_jumps, self.clock_jumps = EventJumps(self.kernels), ClockJumps(self.kernels, self.ticks)
        self.rows = np.empty((len(result.since), variational.n * (1 + variational.k)))
        self.written = 0
        self.doubts: dict[str, None] = {}

    def run(self, x: np.ndarray, m: np.ndarray, S: np.ndarray) -> StateSensitivities:
        """Integrate from the start to the last sample."""
        bound, ticks, event_jumps, clock_jumps = self.bound, self.ticks, self.event_jumps, self.clock_jumps
        at = SensitivityState(0.0, bound.consistent(0.0, x, m)[0], S, m.copy())
        at.S = self.kernels.solved(at, at.S, np.zeros(S.shape[1]))
        groups = self._groups()
        group = next(groups, None)
        before, timed = PrecedingSegment(), len(ticks) > 0
        if ticks.due(0.0):
            before.ticked = clock_jumps.tick(at)
        if group is not None and group[0].since <= 0.0:
            event_jumps.events(at, group, before)
            group = next(groups, None)
        self._write(np.concatenate([at.x, at.S.T.ravel()])[None])
        with closing(self._flow()) as integrator:
            while at.t < self.end:
                tick, event = np.inf, np.inf if group is None else group[0].since
                if timed:
                    ticks.look_ahead()
                    tick = ticks.next()
                stop = min(self.end, tick, event)
                before = PrecedingSegment(stop - at.t, at.x.copy())
                if stop > at.t:
                    self._advance(integrator, at, stop)
                if at.t >= self.end:
                    break  # events there come after the last sample
                if timed and ticks.due(at.t) and tick <= event + SAME_TIME * abs(tick):
                    before.ticked = clock_jumps.tick(at)
                if group is not None and event <= at.t + SAME_TIME * abs(at.t):
                    self._compare(at, group[0], before)
                    event_jumps.events(at, group, before)
                    group = next(groups, None)
        n = self.variational.n
        S = self.rows[: self.written, n:].reshape(self.written, self.variational.k, n).transpose(0, 2, 1)
        return StateSensitivities(S, (*self.doubts, *clock_jumps.doubts))

    def _groups(self) -> Iterator[Sequence[Event]]:
        """Yield the events of each instant."""
        for _, group in groupby(self.result.events, key=lambda event: event.since):
            yield tuple(group)

    def _flow(self) -> Integrator:
        """Return the integrator of x and S, by the method of the run."""
        result, variational = self.result, self.variational
        names = result.statistics.method.split(", ")
        entry = next((METHODS[name] for name in names if name in METHODS and METHODS[name].stiff), START)
        program, prepare = variational.implicit if entry.stiff else variational.explicit
        p = np.concatenate([self.p, prepare(self.p)])
        bound = Bound(program, p, self.bound.origin, self.end)
        bound.window = self.bound.window
        settings = Settings(
            x=np.zeros(program.states),
            p=p,
            m=result.m[0],
            t_start=self.bound.origin,
            span=self.end,
            t_end=self.bound.origin + self.end,
            times=result.since,
            dates=result.t,
            method=entry,
            rtol=self.rtol,
            atol=None,
            max_step=self.max_step,
            max_events=1,
            max_steps=2**53,
            linear="auto",
            impacts="simultaneous",
        )
        model_weights = SharedWeights(self.bound, self.rtol, None, self.max_step)
        self.weights: SensitivityWeights = sensitivity_weights(bound, model_weights, result.x, self._expected(bound))
        ticks = ClockSchedule(bound, self.bound.origin, self.bound.origin + self.end)
        return build(bound, settings, Selection(entry), ticks, self.weights, None)

    def _expected(self, bound: Bound) -> np.ndarray:
        """Return the expected size of each column of S (k,), relative to the sizes of the states: its largest growth in a longest
        step, at some samples of the run."""
        n, k, result = self.variational.n, self.variational.k, self.result
        chosen = np.unique(np.linspace(0, len(result.t) - 1, SCALE_SAMPLES).astype(int))
        y = np.zeros((len(chosen), n * (1 + k)))
        y[:, :n] = result.x[chosen]
        growth = bound.program.rates.many(result.t[chosen], y, bound.p, result.m[chosen])[:, n:].reshape(-1, k, n)
        moving = self.sizes > 0.0
        with np.errstate(all="ignore"):
            shares = np.abs(growth[..., moving]) * self.max_step / self.sizes[moving]
        return np.max(np.where(shares < np.inf, shares, 0.0), axis=(0, 2), initial=0.0)

    def _advance(self, integrator: Integrator, at: SensitivityState, stop: float) -> None:
        """Integrate to a time, in place."""
        n, none = self.variational.n, np.zeros(0)
        y = np.concatenate([at.x, at.S.T.ravel()])
        integrator.restart(at.t, y, none, at.m, none)
        since = self.result.since
        until = int(np.searchsorted(since, stop, side="right"))
        while True:
            segment = integrator.advance(since[self.written : until], self.rows[self.written :], stop)
            self.written += segment.written
            if segment.status.failed:
                title = f"the sensitivities cannot be integrated beyond {self.bound.origin + segment.t:.6g} s"
                cures = ('method="rodas5p" where the model is stiff', "a larger rtol")
                raise RunError(Problem("E375", title, (segment.reason,), cures=cures))
            if segment.status == Status.STOP:
                break
        at.t, at.x, at.S = stop, segment.x[:n], segment.x[n:].reshape(-1, n).T.copy()
        if self.weights.unresolved(self.rtol, self.numbers):
            self.doubts["S is known to the rounding of its rates only, which is more than the tolerance"] = None

    def _compare(self, at: SensitivityState, event: Event, before: PrecedingSegment) -> None:
        """Compare x at the end of a segment with the run; note a doubt where they differ."""
        different = np.abs(at.x - event.x_before) > MAX_DIFFERENCE * self.rtol * self.weights.known
        if before.ticked is None and different.any() and different[self.bound.true_states].any():
            self.doubts["x moves apart from the run within a leg: the motion is unstable, and so are its sensitivities"] = None

    def _write(self, rows: np.ndarray) -> None:
        self.rows[self.written : self.written + len(rows)] = rows
        self.written += len(rows)
