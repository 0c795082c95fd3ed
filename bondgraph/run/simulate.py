"""Hybrid simulation: legs of integration between events, transitions at events -> a Result."""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bondgraph.errors import Problem, RoundingWarning, RunDoubtWarning, RunEndedWarning, RunError, caller_place
from bondgraph.run import settings as checks
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.weights import Weights
from bondgraph.run.integrators import leg as legs
from bondgraph.run.integrators.choose import build, choose, sundials_reason, tolerances
from bondgraph.run.integrators.leg import Effort, Integrator, Selection
from bondgraph.run.outcome.doubts import doubts_of, first_lost
from bondgraph.run.outcome.failure import Failure, cause, describe, fastest_rate
from bondgraph.run.outcome.judge import judged, watched_times
from bondgraph.run.outcome.result import Result, Statistics
from bondgraph.run.program import Program
from bondgraph.run.progress import Progress
from bondgraph.run.settings import Settings
from bondgraph.run.switching.accumulation import Watch
from bondgraph.run.switching.course import Courses
from bondgraph.run.switching.events import Event, dated
from bondgraph.run.switching.settling import How, Settled, rest, settle
from bondgraph.run.ticks import Ticks

_PIECES = 100
# After so many steps a run is given up that would need so many times its largest count of steps at its pace.
_PATIENCE, _HOPELESS = 100_000, 1e6
# How far ahead guards are looked at after an event, at most, in lengths of the run.
_PROBE = 1e-9
# Part of the steps at the rounding of the rates from which a run says so.
_NOISY = 0.01
# Collisions whose times, or states, differ by so little are one event: parts of rtol.
_WITHIN = 1e-3


def simulate(
    program: Program,
    x0: Sequence[float] | np.ndarray,
    parameters: Sequence[float] | np.ndarray,
    modes0: Sequence[float] | np.ndarray,
    t_end: float,
    *,
    t_start: float = 0.0,
    samples: float | Sequence[float] | np.ndarray | None = None,
    method: str = "auto",
    solver: str = "auto",
    rtol: float = 1e-7,
    atol: float | Sequence[float] | np.ndarray | None = None,
    max_step: float | None = None,
    max_events: int = 100_000,
    max_steps: int = 10_000_000,
    iteration: str = "auto",
    linear: str = "auto",
    simultaneous: str = "together",
    progress: bool = True,
    strict: bool = False,
) -> Result:
    """Run a compiled model.

    Parameters
    ----------
    program : what the compiler made.
    x0, parameters, modes0 : start states (n,), parameters (parameters,), modes (modes,), in the program's units.
    t_end, t_start : s.
    samples : sample step in s, or ascending sample times; 1001 equidistant ones by default. The start is sampled too.
    method : "auto" (dop853; bdf from where the model turns out stiff), "dop853" (explicit Runge-Kutta of order 8),
        "adams", "bdf" (multistep), "radau", "lsoda" (SciPy only).
    solver : "auto", "machine code", "sundials" or "scipy".
    rtol : bound on the error of the run relative to the energy in play, 1e-13 to 1e-1; the integrators work with a
        smaller tolerance per step (`choose.SAFETY`).
    atol : error that does not count, per state or for all, in the states' units; by default what a state's couplings to the
        others make of rtol while it is small (`weights`).
    max_step : longest step, s; a hundredth of the run by default.
    max_events, max_steps : the run ends with a failure after so many transitions, or steps of integration (checked
        now and then).
    iteration : "newton" or "fixed point", for adams and bdf.
    linear : "dense" or "sparse" algebra in the Newton iteration; by size if "auto".
    simultaneous : collisions at the same time, to a thousandth of rtol, are one problem of impulses, "together", or follow
        one another, "sequence", the first by name first.
    progress : show a bar on a terminal when a run takes longer than two seconds.
    strict : raise where the result would not be `ok`.

    Returns
    -------
    Result; a run that could not reach its end has a `failure` and what was computed up to there, and gives a
    `RunEndedWarning`; one that reached its end and cannot be trusted has `doubts`, and gives a `RunDoubtWarning`. Where the
    tolerance lies below the rounding of the rates, a `RoundingWarning` says what was reached.

    Raises
    ------
    RunError
        E301 times, E302 tolerances, E303 samples, E304 unknown choice, E305 wrong count of start values,
        E306 other settings, E330 clocks, E307 solver not installed, E308 start values, E309 parameters, E310 modes not finite,
        E323 a run that is not ok, where it is to be `strict`.
    """
    begin = time.perf_counter()
    start, end = checks.span_of(t_start, t_end)
    since, dates = checks.sample_times(samples, start, end)
    relative, absolute = checks.tolerances(program, rtol, atol)
    name, by = checks.method_of(method, solver)
    watched = watched_times(program, since, end - start)
    settings = Settings(
        x=checks.block(program, "x", x0, program.states, "E308"),
        p=checks.block(program, "p", parameters, program.parameters, "E309"),
        m=checks.block(program, "m", modes0, program.modes, "E310"),
        t_start=start,
        span=end - start,
        times=watched,
        dates=dates if watched is since else start + watched,
        method=name,
        solver=by,
        rtol=relative,
        atol=absolute,
        max_step=checks.positive("max_step", (end - start) / _PIECES if max_step is None else max_step),
        max_events=checks.count("max_events", max_events),
        max_steps=checks.count("max_steps", max_steps),
        iteration=checks.one_of("iteration", iteration, ("auto", "newton", "fixed point")),
        linear=checks.one_of("linear", linear, ("auto", "dense", "sparse")),
        simultaneous=checks.one_of("simultaneous", simultaneous, ("together", "sequence")),
    )
    bound = Bound(program, settings.p, start, settings.span)
    choice = choose(bound, settings)
    bar = Progress(program.name, 0.0, settings.span, progress)
    try:
        run = _Run(bound, settings, choice, bar, Ticks(bound, start, end, settings.max_steps))
        run.go()
    finally:
        bar.close()
    run.examine()
    result = judged(run.result(time.perf_counter() - begin), start, (since, dates), (run.t, run.x))
    if result.failure is None:
        result = replace(result, doubts=doubts_of(result, result.account(), settings.rtol))
    found = [*([] if result.failure is None else [str(result.failure)]), *map(str, result.doubts)]
    if strict and found:
        title = f'the run of "{program.name}" is not ok'
        raise RunError(Problem("E323", title, tuple("\n".join(found).splitlines()), (caller_place(),)))
    for text in found:
        kind = RunDoubtWarning if result.failure is None else RunEndedWarning
        warnings.warn(f'"{program.name}": {text}', kind, stacklevel=_depth())
    if result.failure is None and (noise := result.statistics.rounding).steps > _NOISY * result.statistics.steps:
        named = ", ".join(f'"{name}"' for name in noise.states[:4]) + (" ..." if len(noise.states) > 4 else "")
        text = f"the tolerance lies below the rounding of the rates of {named}: {noise.steps} of {result.statistics.steps}"
        text += f" steps were controlled to an rtol of {noise.rtol:.2g}, not {settings.rtol:g}"
        warnings.warn(f'"{program.name}": {text}', RoundingWarning, stacklevel=_depth())
    return result


SETTINGS = tuple(name for name, given in inspect.signature(simulate).parameters.items() if given.kind is given.KEYWORD_ONLY)
"""Names of all settings of a run."""


def _depth() -> int:
    """How many calls above this module the user's own line is."""
    here, depth = caller_place(), 1
    frame = sys._getframe(1)
    while here is not None and frame.f_back is not None and (frame.f_code.co_filename, frame.f_lineno) != (here.file, here.line):
        frame, depth = frame.f_back, depth + 1
    return depth


@dataclass
class _Run:
    """A run in progress: where it is, and the rows so far. Its times are those since the start."""

    bound: Bound
    settings: Settings
    choice: Selection
    bar: Progress
    ticks: Ticks
    modes: list[tuple[np.ndarray, int]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    failure: Failure | None = None
    effort: Effort = field(default_factory=Effort)
    methods: list[str] = field(default_factory=list)
    written: int = 0

    def go(self) -> None:
        settings, bound = self.settings, self.bound
        self.t, self.x, self.m = 0.0, settings.x.copy(), settings.m.copy()
        self.q = np.zeros(bound.quadratures)
        self.weights = Weights(bound, settings.rtol, settings.atol, settings.max_step)
        self.watch, self.probe = Watch(settings.span, settings.rtol), _PROBE * settings.span
        self.courses = Courses(bound, settings.span)
        self.x, _ = bound.consistent(self.t, self.x, self.m)
        self.start_energies = bound.energies(self.t, self.x, self.m).copy()
        if self.ticks.due(self.t):
            _, self.x = self.ticks.tick(self.t, self.x, self.m)
        choice: Selection | None = self.choice
        settled = self._settle((), self.probe)
        self.rows = np.empty((len(settings.times), bound.program.states + bound.quadratures))
        self.rows[0] = np.concatenate([self.x, self.q])
        self._record(1)
        while choice is not None and self.failure is None:
            self.methods.append(choice.method)
            integrator = build(bound, settings, choice, self.ticks, self.weights)
            try:
                choice, settled = self._integrate(integrator, choice, settled)
            finally:
                self.effort = self.effort + integrator.effort()
                integrator.close()

    def _record(self, count: int) -> None:
        if count:
            self.written += count
            self.modes.append((self.m.copy(), count))

    def _settle(self, fired: tuple[int, ...], probe: float) -> Settled:
        self.courses.see(self.x[None])
        settings = self.settings
        how = How(probe, _WITHIN * settings.rtol, settings.simultaneous == "together")
        settled = settle(self.bound, self.courses, self.t, self.x, self.m, fired, how)
        self.m = settled.m
        self.x, unsolved = self.bound.consistent(self.t, settled.x, settled.m)
        resting = dict.fromkeys(i for i in settled.stuck if self._accumulates(i))
        for event in settled.events:
            self.events.append(event)
            self.q = self.q + event.supplied
            for transition in event.transitions:
                pattern = self.watch.add(event.time, transition)
                if pattern and self._accumulates(transition):
                    resting[transition] = None
                elif pattern and self.failure is None:
                    self._fail(pattern, f'the events "{event.kind}" of "{event.name}" accumulate ({pattern})', event.name)
        if settled.looping and self._accumulates(settled.events[-1].transition):
            resting[settled.events[-1].transition] = None
        elif settled.looping or not set(settled.stuck) <= set(resting):
            self._without_end(settled)
        elif settled.ended is not None:
            edge = settled.ended
            self._fail("ended", str(edge.error), edge.name)
        elif len(self.events) > self.settings.max_events:
            self._fail("too many events", f"more than {self.settings.max_events} events", self.events[-1].name)
        if unsolved is not None and self.failure is None:
            named = ", ".join(unsolved.elements)
            self._fail("algebraic loop", f"Newton's method finds no solution of the algebraic loop through {named}", named)
        if not np.isfinite(self.x).all() and self.failure is None:
            bad = np.flatnonzero(~np.isfinite(self.x))
            label = self.bound.program.layout.label("x", int(bad[0]))
            kind = settled.events[-1].kind if settled.events else "start"
            self._fail("not finite", f'the reset at "{kind}" gives a state that is not finite', label)
        return settled if not resting or self.failure is not None else self._rest(tuple(resting), settled, probe)

    def _without_end(self, settled: Settled) -> None:
        last = settled.events[-1]
        pattern = "Zeno" if self.watch.shrinking(last.transition) else "chattering"
        if settled.stuck:
            text = f'after "{last.kind}" of "{last.name}" its guard grows on, so that it would fire again at once ({pattern})'
        else:
            text = f'the transitions of "{last.name}" follow one another without end ({pattern})'
        self._fail(pattern, text, last.name)

    def _accumulates(self, transition: int) -> bool:
        return self.bound.program.transitions[transition].accumulates is not None

    def _rest(self, resting: tuple[int, ...], settled: Settled, probe: float) -> Settled:
        """Go on after events that accumulate, in the states that hold there."""
        events = []
        for transition in resting:
            event = rest(self.bound, transition, self.t, self.x, self.m, self.watch.limit(transition))
            if event is not None:
                events.append(event)
                self.x, self.m = event.x_after, event.m_after
        self.events += events
        if not events:
            if settled.looping or settled.stuck:
                self._without_end(settled)
            return settled
        after = self._settle((), probe)
        return replace(after, events=(*settled.events, *events, *after.events))

    def _fail(self, kind: str, reason: str, suspect: str) -> None:
        self.failure = describe(self.bound.program, kind, reason, self.settings.t_start + self.t, self.x, suspect)

    def _integrate(self, integrator: Integrator, choice: Selection, settled: Settled) -> tuple[Selection | None, Settled]:
        """Legs until the end, a failure, or a change of method (returned)."""
        settings, times = self.settings, self.settings.times
        restart = True
        while self.failure is None:
            if restart:
                integrator.restart(self.t, self.x, self.q, self.m, settled.levels)
            before = self.t
            leg = integrator.advance(times[self.written :], self.rows[self.written :], settings.span)
            self.t, self.x, self.q = leg.t, leg.x, leg.q
            self.courses.see(self.rows[self.written : self.written + leg.written, : len(self.x)])
            self._record(leg.written)
            self.bar.show(self.t, len(self.events))
            restart = leg.status == legs.EVENT
            if leg.status == legs.STOP:
                return None, settled
            if leg.status == legs.STIFF:
                if sundials_reason():
                    return replace(choice, watch_stiffness=False), settled
                return Selection("sundials", "bdf"), settled
            if leg.status == legs.FAILED:
                self._failed(leg.reason)
            elif leg.status == legs.PAUSE and (many := self._too_many(integrator.effort().steps)):
                self._fail("too many steps", many, fastest_rate(self.bound, self.t, self.x, self.m, self.weights.known))
            elif restart:
                probe = min(self.probe, 1e-3 * (self.t - before)) if self.t > before else self.probe
                settled = self._settle(leg.fired, max(probe, 16.0 * np.spacing(abs(settings.t_start) + self.t)))
        return None, settled

    def _too_many(self, steps: int) -> str:
        """What to say of a run that takes too many steps, or has made so little way that it certainly will."""
        most = self.settings.max_steps
        if steps > most:
            return f"more than {most} steps of integration"
        way = self.t / self.settings.span
        if steps < _PATIENCE or way * most * _HOPELESS > steps:
            return ""
        total = f"about {steps / way:.1g} steps" if way > 0.0 else "no end of steps"
        return f"{steps} steps have made {way:.1g} of the way: to its end the run would take {total}, not {most}"

    def _failed(self, reason: str) -> None:
        self._fail(*cause(self.bound, reason, self.t, self.x, self.m, self.settings.span, self.weights.known))

    def examine(self) -> None:
        """End the run before the first sample at which a value is lost (`first_lost`), unless it has ended there by itself."""
        n, count = self.bound.program.states, self.written
        x, q = np.ascontiguousarray(self.rows[:count, :n]), np.ascontiguousarray(self.rows[:count, n:])
        dates = self.settings.dates[:count]
        lost = first_lost(self.bound.program, dates, self.bound.p, x, self._modes(), q, self.settings.rtol)
        if lost is None:
            return
        self.written = max(lost.sample, 1)
        if self.failure is not None and self.settings.times[lost.sample] >= self.t:
            return
        self.t, self.x = float(self.settings.times[lost.sample]), x[lost.sample]
        self.events = [event for event in self.events if event.time <= self.t]
        self._fail(lost.kind, lost.reason, lost.suspect)

    def _modes(self) -> np.ndarray:
        """Modes at the samples, (written, modes)."""
        return np.concatenate([np.tile(m, (count, 1)) for m, count in self.modes])[: self.written]

    def result(self, wall_time: float) -> Result:
        n, rows = self.bound.program.states, self.rows[: self.written]
        effort, used = self.effort, list(dict.fromkeys(self.methods)) or [self.choice.method]
        local = tolerances(self.settings, used[-1]).relative
        statistics = Statistics(
            solver=self.choice.solver,
            method=", ".join(used),
            steps=effort.steps,
            rejected=effort.rejected,
            rates=effort.rates,
            jacobians=effort.jacobians,
            guards=effort.guards,
            events=len(self.events),
            ticks=self.ticks.count,
            wall_time=wall_time,
            integration_time=effort.seconds,
            local_rtol=local,
            rounding=self.weights.rounding(effort.noisy, local, self.t, self.m),
        )
        return Result(
            program=self.bound.program,
            p=self.settings.p,
            t=self.settings.dates[: len(rows)],
            since=self.settings.times[: len(rows)],
            x=np.ascontiguousarray(rows[:, :n]),
            m=self._modes(),
            integrals=np.ascontiguousarray(rows[:, n:]),
            start_energies=self.start_energies,
            events=tuple(dated(event, self.settings.t_start) for event in self.events),
            failure=self.failure,
            statistics=statistics,
        )
