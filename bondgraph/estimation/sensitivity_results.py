"""Forward sensitivities of a run: derivatives of every quantity over time with respect to parameters and start values.

A finished run is integrated again together with S = dx/dp, so that the run itself keeps the steps that it has without
sensitivities. Between events, x and S are integrated together, with separate error control of S; at each event, x takes the value
of the run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import Problem, RunError, UnreliableRunWarning, caller_depth, refusal, unknown_name
from bondgraph.estimation.free_parameters import FreeParameters, free_parameters_of, start_slopes
from bondgraph.estimation.jumps.impulse_derivatives import PrecedingSegment, RunKernels, SensitivityState
from bondgraph.estimation.jumps.rate_jumps import RateJumps
from bondgraph.estimation.jumps.transitions import ClockJumps, EventJumps
from bondgraph.estimation.variational import SensitivityWeights, Variational, variational_of
from bondgraph.methods import METHODS, START
from bondgraph.model.ops import Frozen
from bondgraph.output.cells import cell, line, table
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import SAME_TIME, ClockSchedule
from bondgraph.run.events.records import Event
from bondgraph.run.results.result import Result
from bondgraph.run.settings import Settings
from bondgraph.run.status import Status
from bondgraph.run.steppers.choose import build
from bondgraph.run.steppers.segment import Integrator, Selection
from bondgraph.run_arguments import DEFAULTS, Initial, RunSettings, StartValues, spelled_settings, start_values_of
from screws.errors import plural
from screws.names import answer_old_names
from screws.numeric_arguments import shown

SCALE_SAMPLES = 32

MAX_DIFFERENCE = 1e3
"""Largest difference between x in the two runs at the end of a segment, in units of the run's rtol times the size of x."""


class _SensitivityIntegration:
    """Integration of x and S along a finished run, `result`; `rows` holds both at each sample."""

    def __init__(self, variational: Variational, result: Result, rtol: float, max_step: float):
        program, origin = variational.compiled.program, float(result.t[0])
        self.variational, self.result, self.rtol, self.max_step = variational, result, rtol, max_step
        self.p = result.p[: len(result.p) - int(variational.compiled.prepare.n_out)]
        self.end = float(result.since[-1])
        self.bound = Bound(program, result.p, origin, self.end)
        # all ticks within the run; a sample at its end precedes the ticks at this time
        self.ticks = ClockSchedule(self.bound, origin, origin + self.end, np.inf)
        self.numbers = variational.varied.values(self.p, result.x[0])
        self.sizes = np.max(np.abs(result.x), axis=0, initial=0.0)
        self.kernels = RunKernels(variational, self.bound, self.p, rtol, self.sizes)
        self.event_jumps, self.clock_jumps = EventJumps(self.kernels), ClockJumps(self.kernels, self.ticks)
        self.rate_jumps = RateJumps(self.kernels)
        self.rows = np.empty((len(result.since), variational.n * (1 + variational.k)))
        self.written = 0
        self.doubts: dict[str, None] = {}

    def run(self, x: np.ndarray, m: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
        """Integrate to the last sample from the run's initial x (n,) and modes, and S (n, k).

        Return S (samples, n, k), and reasons not to trust it.

        Raises `RunError` E373 for a guard that only touches zero or a motion that stays where rates jump, E374 for a collision
        without a derivative, E375 if S cannot be integrated.
        """
        bound, ticks, event_jumps, clock_jumps = self.bound, self.ticks, self.event_jumps, self.clock_jumps
        at = SensitivityState(0.0, bound.consistent(0.0, x, m)[0], S, m.copy())
        at.S = self.kernels.solved(at, at.S, np.zeros(S.shape[1]))
        groups = self._groups()
        group = next(groups, None)
        before, timed = PrecedingSegment(), len(ticks) > 0
        if ticks.due(0.0):
            before.tick_guards = clock_jumps.tick(at)
        if group is not None and group[0].since <= 0.0:
            event_jumps.events(at, group, before)
            group = next(groups, None)
        self.rows[0], self.written = np.concatenate([at.x, at.S.T.ravel()]), 1
        with closing(self._integrator()) as integrator:
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
                    break  # events at the end come after the last sample
                if timed and ticks.due(at.t) and tick <= event + SAME_TIME * abs(tick):
                    before.tick_guards = clock_jumps.tick(at)
                if group is not None and event <= at.t + SAME_TIME * abs(at.t):
                    self._compare(at, group[0], before)
                    self.rate_jumps.until(at, group[0].x_before)
                    event_jumps.events(at, group, before)
                    group = next(groups, None)
        n = self.variational.n
        S = self.rows[: self.written, n:].reshape(self.written, self.variational.k, n).transpose(0, 2, 1)
        return S, (*self.doubts, *clock_jumps.doubts, *self.rate_jumps.doubts)

    def _groups(self) -> Iterator[Sequence[Event]]:
        for _, group in groupby(self.result.events, key=lambda event: event.since):
            yield tuple(group)

    def _integrator(self) -> Integrator:
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
            singular="end",
        )
        model_weights = ErrorWeights(self.bound, self.rtol, None, self.max_step)
        self.weights = SensitivityWeights(bound, model_weights, result.x, self._expected(bound))
        ticks = ClockSchedule(bound, self.bound.origin, self.bound.origin + self.end)
        return build(bound, settings, Selection(entry), ticks, self.weights, None)

    def _expected(self, bound: Bound) -> np.ndarray:
        """Return the expected size of each column of S (k,), relative to the sizes of the states: its largest growth from zero in
        the longest step, over some samples of the run."""
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
        n, none = self.variational.n, np.zeros(0)
        y = np.concatenate([at.x, at.S.T.ravel()])
        integrator.restart(at.t, y, none, at.m, self.rate_jumps.levels())
        since = self.result.since
        until = int(np.searchsorted(since, stop, side="right"))
        while True:
            segment = integrator.advance(since[self.written : until], self.rows[self.written :], stop)
            self.written += segment.written
            if segment.status.failed:
                title = f"the sensitivities cannot be integrated beyond {self.bound.origin + segment.t:.6g} s"
                cures = ('method="rodas5p" for a stiff model', "a larger rtol")
                raise RunError(Problem("E375", title, (segment.reason,), cures=cures))
            if segment.status == Status.STOP:
                break
            if segment.status == Status.EVENT:
                at.t, at.x, at.S = segment.t, segment.x[:n], segment.x[n:].reshape(-1, n).T.copy()
                self.rate_jumps.cross(at, segment.fired, stop)
                integrator.restart(at.t, np.concatenate([at.x, at.S.T.ravel()]), none, at.m, self.rate_jumps.levels())
        at.t, at.x, at.S = stop, segment.x[:n], segment.x[n:].reshape(-1, n).T.copy()
        if self.weights.unresolved(self.rtol, self.numbers):
            self.doubts["S is known only to within the rounding error of its rates, which exceeds the tolerance"] = None

    def _compare(self, at: SensitivityState, event: Event, before: PrecedingSegment) -> None:
        different = np.abs(at.x - event.x_before) > MAX_DIFFERENCE * self.rtol * self.weights.state_sizes
        if before.tick_guards is None and different.any() and different[self.bound.true_states].any():
            self.doubts["x diverges from the run within a segment: the motion is unstable, and so are its sensitivities"] = None


@answer_old_names
@dataclass(frozen=True, eq=False, repr=False)
class RunSensitivities(Frozen):
    """Derivatives of all quantities of a run with respect to the varied numbers, at fixed times.

    Parameters
    ----------
    result : the same run as without sensitivities.
    labels, units, values : labels, units and values of the numbers (k,).
    S : dx / dp at the samples, (samples, n, k).
    warnings : reasons not to trust the sensitivities.
    """

    result: Result
    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    S: np.ndarray = field(repr=False)
    warnings: tuple[str, ...]
    variational: Variational = field(repr=False)

    @property
    def t(self) -> np.ndarray:
        """Sample times (samples,), s."""
        return self.result.t

    @property
    def ok(self) -> bool:
        """True if the run is ok and there are no warnings."""
        return self.result.ok and not self.warnings

    def __getitem__(self, name: str | tuple[str, str]) -> np.ndarray:
        """Return d name / d p over time, (samples, *shape, k); for a pair (name, varied number), (samples, *shape).

        Raises `ModelError` E251 for an unknown name, KeyError for a number that is not varied.
        """
        if not isinstance(name, str) and not (isinstance(name, tuple) and len(name) == 2):
            cure = f'run["mass.flow"], or a pair, run["mass.flow", "{self.labels[0]}"]'
            title = f"{shown(name)} is neither a name nor a pair of names"
            raise refusal("E150", title, cure, about=self.result.program.name)
        quantity, by = (name, None) if isinstance(name, str) else name
        shape = self.result.program.layout[quantity].shape if quantity in self.result.program.layout else ()
        slopes = self.of([quantity]).reshape(len(self.t), *shape, len(self.labels))
        return slopes if by is None else slopes[..., self._index(by)]

    def _index(self, label: str) -> int:
        if label not in self.labels:
            raise unknown_name("varied number", label, self.labels)
        return self.labels.index(label)

    def of(self, names: str | Sequence[str]) -> np.ndarray:
        """Return the derivatives (samples, components, k) of the components of several quantities, in order; raise E251 for an
        unknown name."""
        labels, prepared = self.variational.outputs([names] if isinstance(names, str) else list(names))
        count, k = len(self.t), len(self.labels)
        y = np.concatenate([self.result.x, self.S.transpose(0, 2, 1).reshape(count, -1)], axis=1)
        p = self.result.p[: prepared.kernel.sizes[2] - prepared.prepare.n_out]
        out = prepared.kernel.many(self.t, y, prepared.parameters(p), self.result.m)
        return np.ascontiguousarray(out[:, len(labels) :].reshape(count, k, len(labels)).transpose(0, 2, 1))

    def relative(self, name: str) -> np.ndarray:
        """Return p dy/dp divided by the largest |y| of the run, (samples, *shape, k): the effect of a change of p by 1 %, in per
        cent of this |y|; nan if y is zero."""
        largest = np.max(np.abs(self.result[name]), initial=0.0)
        return np.asarray(self[name] * self.values / (largest or np.nan))

    def __repr__(self) -> str:
        end = "ok" if self.ok else "in doubt"
        return (
            f'RunSensitivities("{self.result.program.name}", by {", ".join(self.labels)}, {plural(len(self.t), "sample")}, {end})'
        )

    def _repr_html_(self) -> str:
        rows = [(label, f"{value:.6g}", unit) for label, value, unit in zip(self.labels, self.values, self.units, strict=True)]
        return cell(line("sensitivities of a run", self.result.program.name), table(("varied", "value", "unit"), rows))


@spelled_settings
def run_sensitivities(
    model: Compilable,
    names: str | Sequence[str],
    t_end: float,
    *,
    parameters: Mapping[str, Any] | None = None,
    initial: Initial | None = None,
    **settings: Unpack[RunSettings],
) -> RunSensitivities:
    """Run a model, and differentiate the run with respect to parameters and start values: forward sensitivities S' = f_x S + f_p
    from the tape of the model's formulas, with jump conditions at ticks, events, and jumps of the rates in time or at a state.

    Parameters
    ----------
    model : compiled, or a graph.
    names : names of parameters ("winding.resistance") and of states whose start values vary ("rotor.p"), or of their components.
    t_end, parameters, initial, settings : as for `simulate`.

    Raises `ModelError` E335 for delays, E693 for FMUs, E370 for invalid names, E371 for a start without a derivative, E372 for
    too large a model; `RunError` E373 for a guard that only touches zero or a motion that stays where rates jump, E374 for a
    collision without a derivative, E375 if S cannot be integrated; and the errors of `simulate`.
    """
    compiled = compiled_form(model, "run_sensitivities")
    variational = variational_of(compiled, free_parameters_of(compiled, names))
    sensitivities = sensitivities_along(variational, t_end, parameters, initial, settings)
    for text in sensitivities.warnings:
        warnings.warn(f'"{compiled.model.name}": {text}', UnreliableRunWarning, stacklevel=caller_depth())
    return sensitivities


def sensitivities_along(
    variational: Variational,
    t_end: float,
    parameters: Mapping[str, Any] | None,
    initial: Initial | None,
    settings: Mapping[str, Any],
) -> RunSensitivities:
    compiled = variational.compiled
    starts, changes = changes_by_name(compiled, initial, parameters)
    options: dict[str, Any] = {**DEFAULTS, **settings}
    begin = options["t_start"]
    start = compiled.starting_point(starts, changes, begin)
    slopes = start_slopes(compiled, variational.varied, changes, starts, begin)
    if not compiled.system.starts:
        slopes = variational.with_conversions(starts, slopes, begin, start)
    result = compiled.simulate(t_end, parameters=changes, initial=starts, **settings)
    longest = options["max_step"] or (t_end - begin) / 100.0
    S, doubts = _SensitivityIntegration(variational, result, float(options["rtol"]), float(longest)).run(*start[:2], slopes)
    varied: FreeParameters = variational.varied
    return RunSensitivities(result, varied.labels, varied.units, varied.values(result.p, start[0]), S, doubts, variational)


def changes_by_name(
    compiled: Compiled, initial: Initial | None, parameters: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    begin = start_values_of(initial)
    solved = begin.parameters if isinstance(begin, StartValues) else {}
    for what, changes in (("initial", begin), ("parameters", parameters)):
        if changes is not None and not isinstance(changes, Mapping):
            raise refusal("E321", f"{what} must be a dictionary of values by name", about=compiled.model.name)
    return dict(begin or {}), {**solved, **dict(parameters or {})}
