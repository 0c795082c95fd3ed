"""A run followed a second time with its sensitivities: a result and S at its start in; S at all samples out.

The run itself is not touched, so its steps are what they would be without sensitivities. Between its events x and S are
integrated together, with error control of S of its own; at each event x is what the run had there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.allowances import Allowances
from bondgraph.estimation.instants.chain import Chain
from bondgraph.estimation.instants.passing import Before, Passing, RunKernels
from bondgraph.estimation.instants.ticking import Ticking
from bondgraph.estimation.shared_allowances import allowances_of
from bondgraph.estimation.variational import Variational
from bondgraph.methods import METHODS, START
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.instants.events import Event
from bondgraph.run.integrators import leg as legs
from bondgraph.run.integrators.choose import build
from bondgraph.run.integrators.leg import Integrator, Selection
from bondgraph.run.outcome.result import Result
from bondgraph.run.settings import Settings
from bondgraph.run.ticks import TOGETHER, Ticks

LOOKS = 32
"""Samples at which the variational equations are looked at for how large S will be."""

APART = 1e3
"""Times the run's rtol by which x of both runs may differ at the end of a leg, in its sizes, before there is a doubt."""


@dataclass(frozen=True)
class Followed:
    """S (samples, n, k) of a run, and why it cannot be trusted."""

    S: np.ndarray
    doubts: tuple[str, ...]


def followed(
    variational: Variational, result: Result, start: tuple[np.ndarray, np.ndarray, np.ndarray], rtol: float, max_step: float
) -> Followed:
    """Sensitivities of a run.

    Parameters
    ----------
    result : what `simulate` gave, of the same parameters.
    start : x (n,) and modes as the run was given them, and S (n, k) there.
    rtol : of the run; max_step : s.

    Raises `RunError` E373 where an event is none for a little less, E374 where a collision has no derivative, E375 where S
    cannot be integrated.
    """
    return _Following(variational, result, rtol, max_step).go(*start)


class _Following:
    """One run that is followed: where it is, and the rows that it fills."""

    def __init__(self, variational: Variational, result: Result, rtol: float, max_step: float):
        program, origin = variational.compiled.program, float(result.t[0])
        self.variational, self.result, self.rtol, self.max_step = variational, result, rtol, max_step
        self.p = result.p[: len(result.p) - int(variational.compiled.prepare.n_out)]
        self.end = float(result.since[-1])
        self.bound = Bound(program, result.p, origin, self.end)
        # all ticks within the run, and those that a sample at its end stands before
        self.ticks = Ticks(self.bound, origin, origin + self.end, np.inf)
        self.numbers = variational.varied.values(self.p, result.x[0])
        self.sizes = np.max(np.abs(result.x), axis=0, initial=0.0)
        self.kernels = RunKernels(variational, self.bound, self.p, rtol, self.sizes)
        self.chain, self.ticking = Chain(self.kernels), Ticking(self.kernels, self.ticks)
        self.rows = np.empty((len(result.since), variational.n * (1 + variational.k)))
        self.written = 0
        self.doubts: dict[str, None] = {}

    def go(self, x: np.ndarray, m: np.ndarray, S: np.ndarray) -> Followed:
        """From the start to the last sample."""
        bound, ticks, chain, ticking = self.bound, self.ticks, self.chain, self.ticking
        at = Passing(0.0, bound.consistent(0.0, x, m)[0], S, m.copy())
        at.S = self.kernels.solved(at, at.S, np.zeros(S.shape[1]))
        groups = self._groups()
        group = next(groups, None)
        before, timed = Before(), len(ticks) > 0
        if ticks.due(0.0):
            before.ticked = ticking.tick(at)
        if group is not None and group[0].since <= 0.0:
            chain.events(at, group, before)
            group = next(groups, None)
        self._write(np.concatenate([at.x, at.S.T.ravel()])[None])
        with closing(self._flow()) as integrator:
            while at.t < self.end:
                tick, event = np.inf, np.inf if group is None else group[0].since
                if timed:
                    ticks.look_ahead()
                    tick = ticks.next()
                stop = min(self.end, tick, event)
                before = Before(stop - at.t, at.x.copy())
                if stop > at.t:
                    self._advance(integrator, at, stop)
                if at.t >= self.end:
                    break  # what happens there comes after the last sample
                if timed and ticks.due(at.t) and tick <= event + TOGETHER * abs(tick):
                    before.ticked = ticking.tick(at)
                if group is not None and event <= at.t + TOGETHER * abs(at.t):
                    self._compare(at, group[0], before)
                    chain.events(at, group, before)
                    group = next(groups, None)
        n = self.variational.n
        found = self.rows[: self.written, n:].reshape(self.written, self.variational.k, n).transpose(0, 2, 1)
        return Followed(found, (*self.doubts, *ticking.doubts))

    def _groups(self) -> Iterator[Sequence[Event]]:
        """Events of one instant each."""
        for _, group in groupby(self.result.events, key=lambda event: event.since):
            yield tuple(group)

    def _flow(self) -> Integrator:
        """What integrates x and S, by the method of the run."""
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
            simultaneous="together",
        )
        own = SharedWeights(self.bound, self.rtol, None, self.max_step)
        self.allowances: Allowances = allowances_of(bound, own, result.x, self._driven(bound))
        ticks = Ticks(bound, self.bound.origin, self.bound.origin + self.end)
        return build(bound, settings, Selection(entry), ticks, self.allowances, None)

    def _driven(self, bound: Bound) -> np.ndarray:
        """How far each number that is varied drives the states in a longest step, in parts of their sizes (k,): the most that is
        met at some samples of the run."""
        n, k, result = self.variational.n, self.variational.k, self.result
        chosen = np.unique(np.linspace(0, len(result.t) - 1, LOOKS).astype(int))
        y = np.zeros((len(chosen), n * (1 + k)))
        y[:, :n] = result.x[chosen]
        driven = bound.program.rates.many(result.t[chosen], y, bound.p, result.m[chosen])[:, n:].reshape(-1, k, n)
        moving = self.sizes > 0.0
        with np.errstate(all="ignore"):
            shares = np.abs(driven[..., moving]) * self.max_step / self.sizes[moving]
        return np.max(np.where(shares < np.inf, shares, 0.0), axis=(0, 2), initial=0.0)

    def _advance(self, integrator: Integrator, at: Passing, stop: float) -> None:
        """On to a time, in place."""
        n, none = self.variational.n, np.zeros(0)
        y = np.concatenate([at.x, at.S.T.ravel()])
        integrator.restart(at.t, y, none, at.m, none)
        since = self.result.since
        until = int(np.searchsorted(since, stop, side="right"))
        while True:
            leg = integrator.advance(since[self.written : until], self.rows[self.written :], stop)
            self.written += leg.written
            if leg.status == legs.FAILED:
                title = f"the sensitivities cannot be integrated beyond {self.bound.origin + leg.t:.6g} s"
                cures = ('method="rodas5p" where the model is stiff', "a larger rtol")
                raise RunError(Problem("E375", title, (leg.reason,), cures=cures))
            if leg.status == legs.STOP:
                break
        at.t, at.x, at.S = stop, leg.x[:n], leg.x[n:].reshape(-1, n).T.copy()
        if self.allowances.unresolved(self.rtol, self.numbers):
            self.doubts["S is known to the rounding of its rates only, which is more than the tolerance"] = None

    def _compare(self, at: Passing, event: Event, before: Before) -> None:
        """Whether x at the end of a leg is what the run had there."""
        apart = np.abs(at.x - event.x_before) > APART * self.rtol * self.allowances.known
        if before.ticked is None and apart.any() and apart[self.bound.kept].any():
            self.doubts["x moves apart from the run within a leg: the motion is unstable, and so are its sensitivities"] = None

    def _write(self, rows: np.ndarray) -> None:
        self.rows[self.written : self.written + len(rows)] = rows
        self.written += len(rows)
