"""Hybrid simulation: segments of integration, with event handling at the end of each.

Loops, from a step to a sweep; each is inside the next
----------------------------------------------------------
stages     of a step      `steppers.explicit`, `steppers.rosenbrock`: rates at the stages, error estimate
steps      of a segment   `steppers.driver`: propose a step size, attempt the step, check its error; event detection in the step,
                          location of the first zero crossing and a step that lands on it; samples, acceptance, next step size
segments   of a run       `steppers.driver.run` in machine code; `Hybrid` here at ticks that solve algebraic loops
rounds     at an event    `events.iteration` (event iteration), which calls Python if necessary (`events.questions`)
pages      of samples     `streaming.run`: only if a run keeps only some quantities
runs       of a batch     `batch.loop` one after another, `batch.simd.lane_loop` several simultaneously in SIMD lanes
chunks     of a batch     `batch.workers`: each thread takes the next chunk of runs
chunks     of a sweep     `sweeps.tasks`: a worker takes the next chunk and returns rows

Order of operations at an instant, with reasons
-----------------------------------------------
1. Clocks tick (`steppers.sample_clocks`). Sampled blocks read the state that integration has reached; a tick that makes a guard
   positive causes an event.
2. Samples up to the instant are written: a sample at the time of an event, after the start, is the limit from the left.
3. Transitions whose guards crossed zero fire in order of name; simultaneous collisions are solved as one problem of impulses
   (`events.impacts`) unless `impacts="sequential"`, because an order would decide where momentum goes. Friction whose flow passes
   zero by itself changes direction instead of sticking (`events.dead_centres`).
4. The modes of all dry friction elements in a connected part are found together if they are certain (`events.modes`). If
   transitions cycle through modes, consistent modes are searched for (`events.mode_search`).
5. Algebraic loops are solved at the new state (`algebraic_loops`), because guards depend on their unknowns.
6. Guards are evaluated again, and steps 3 to 5 are repeated until no guard fires. A guard must fall below its rounding error
   before it can fire again (`events.guards`), so that bodies that have just separated do not collide.
7. A switch whose events accumulate (Zeno) comes to rest, if it has a state of rest (`events.accumulation`), and guards are
   evaluated again.
8. The run takes over the state, the modes and the supplied energy; the log receives the rows; error weights are restarted,
   because a jump changes the sizes of states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.methods import MethodEntry
from bondgraph.output.progress import Progress
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.handler import EventHandler, RunPoint
from bondgraph.run.events.iteration import handle_event
from bondgraph.run.events.log import Log
from bondgraph.run.events.records import Events
from bondgraph.run.results.failure import SERIES_CURES, Failure, cause, describe, event_failure, fastest_rate, not_finite
from bondgraph.run.results.result import MACHINE_CODE, Result, Statistics
from bondgraph.run.samples import SampleRows
from bondgraph.run.settings import Settings
from bondgraph.run.status import Status
from bondgraph.run.steppers.choose import build, event_function, event_handler, selection_after_stiffness, tolerances
from bondgraph.run.steppers.segment import Effort, Integrator, Segment, Selection, too_many_steps
from bondgraph.run.table import FieldTable
from bondgraph.run.validation.chattering import sliding_mode
from bondgraph.run.validation.fastest_mode import fastest_mode
from bondgraph.run.validation.lost_solution import LostSolution, find_lost_solution
from bondgraph.run_arguments import DEFAULTS
from screws.errors import plural

if TYPE_CHECKING:
    from bondgraph.run.steppers.integrator import OneStep


@dataclass(frozen=True, eq=False)
class RunCheckpoint:
    """Checkpoint of a run that machine code left unfinished, or whose validity it cannot check.

    Parameters
    ----------
    integrator, weights, handler : objects that use the tables of the run; handler is None for a model without events and loops.
    samples : sample rows, the first of which are filled.
    logged : rows of past events, in chunks (k, width).
    start_energies : energy per storage before any event, J.
    """

    integrator: OneStep
    weights: ErrorWeights
    handler: EventHandler | None
    status: Status
    samples: SampleRows
    logged: tuple[np.ndarray, ...]
    start_energies: np.ndarray


class Hybrid:
    """Run in progress: its state, samples and events. Times are measured from the start, s.

    `x` are the states (n,), `m` the modes (modes,), and `q` the integrated powers (quadratures,). Machine code handles events
    between segments (`steppers.driver.run`). In a `reference` run, CPython runs the same functions after each segment.
    """

    def __init__(
        self,
        bound: Bound,
        settings: Settings,
        ticks: ClockSchedule,
        bar: Progress,
        reference: bool = False,
        samples: SampleRows | None = None,
    ):
        self.bound, self.settings, self.ticks, self.bar = bound, settings, ticks, bar
        self.weights = ErrorWeights(bound, settings.rtol, settings.atol, settings.max_step)
        self.t, self.m, self.q = 0.0, settings.m.copy(), np.zeros(bound.program.quadratures)
        x = settings.x if ticks.delays is None else ticks.delays.initial_states(settings.x, self.m)
        self.x, _ = bound.consistent(self.t, x, self.m)
        self.samples = samples or SampleRows(len(settings.times), len(self.x), len(self.q), len(self.m))
        self.start_energies = bound.energies(self.t, self.x, self.m)
        self.log = Log(bound.program, settings.t_start)
        self.failure: Failure | None = None
        self.effort, self.methods = Effort(), list[MethodEntry]()
        self._reference = reference
        self._handler: EventHandler | None = None

    def run(self, choice: Selection) -> None:
        if self.ticks.due(self.t):
            _, self.x = self.ticks.tick(self.t, self.x, self.m)
        self._handler = event_handler(self.bound, self.settings)
        if self._handler is not None:
            self._handler.bind_log(self.log, self.samples)
        levels = self._handle_event(choice, (), self.t)
        self.samples.start(self.x, self.q, self.m)
        self._run_segments(choice, levels)

    def resume(self, choice: Selection, checkpoint: RunCheckpoint) -> None:
        self.weights, self.samples, self.start_energies = checkpoint.weights, checkpoint.samples, checkpoint.start_energies
        for rows in checkpoint.logged:
            self.log.take(rows)
        if checkpoint.handler is not None:
            self._handler = checkpoint.handler
            self._handler.bind_log(self.log, self.samples)
        segment = checkpoint.integrator.segment(checkpoint.status)
        self._run_segments(choice, np.zeros(0) if segment.start is None else segment.start.levels, checkpoint.integrator, segment)

    def _run_segments(
        self, choice: Selection, levels: np.ndarray, begun: Integrator | None = None, segment: Segment | None = None
    ) -> None:
        selection: Selection | None = choice
        while selection is not None and self.failure is None:
            self.methods.append(selection.entry)
            handler = None if self._reference else self._handler
            integrator = begun or build(self.bound, self.settings, selection, self.ticks, self.weights, handler)
            try:
                selection, levels = self._integrate(integrator, selection, levels, segment)
            finally:
                self.effort = self.effort + integrator.effort()
                integrator.close()
            begun = segment = None

    def _handle_event(self, choice: Selection, fired: tuple[int, ...], segment_start: float) -> np.ndarray:
        handler, levels = self._handler, np.zeros(0)
        if handler is not None:
            function = _in_cpython if self._reference else event_function(choice.entry)
            point = RunPoint(self.t, self.x, self.q, self.m, self.weights.size)
            after = handler.handle_event(function, point, fired, segment_start)
            self.x, self.q, self.m, levels = after.x, after.q, after.m, handler.segment_start[1]
            if not handler.is_consistent:
                self._fail(*event_failure(handler, self.x))
        elif not np.isfinite(self.x).all():
            self._fail(*not_finite(self.bound.program, "start", self.x))
        return levels

    @property
    def events_in_python(self) -> int:
        return 0 if self._handler is None else self._handler.consultations

    def _record_states(self, count: int) -> None:
        if self._handler is not None:
            self._handler.history.record_states(self.samples.free_rows[:count, : len(self.x)])

    def _fail(self, kind: str, reason: str, suspect: str, cures: tuple[str, ...] = ()) -> None:
        self.failure = describe(self.bound.program, kind, reason, self.settings.t_start + self.t, self.x, suspect, cures)

    def _integrate(
        self, integrator: Integrator, choice: Selection, levels: np.ndarray, first: Segment | None
    ) -> tuple[Selection | None, np.ndarray]:
        """Integrate segments until the end, a failure, or a change of method; return the selection of the new method, or None,
        and the `levels` (2 k,) at the start of the last segment."""
        settings, samples = self.settings, self.samples
        restart, segment_start = first is None, self.t
        while self.failure is None:
            if restart:
                integrator.restart(self.t, self.x, self.q, self.m, levels)
                segment_start = self.t
            remaining = settings.times[samples.written :], samples.free_rows
            segment = first or integrator.advance(*remaining, settings.span, self._next_page)
            first = None
            self.t, self.x, self.q = segment.t, segment.x, segment.q
            if segment.start is not None:
                segment_start, self.m, levels = segment.start.time, segment.start.m, segment.start.levels
            self._record_states(segment.written)
            samples.add(segment.written, self.m, segment.held)
            self.bar.show(self.t, f"t = {self.t:.6g} s, {plural(len(self.log), 'event')}")
            restart = segment.status == Status.EVENT
            if segment.status == Status.STOP:
                return None, levels
            if segment.status == Status.STIFF:
                return selection_after_stiffness(self.bound.program, choice), levels
            if segment.status.failed:
                why = cause(self.bound, segment.reason, self.t, self.x, self.m, settings.span, self.weights.state_sizes)
                self._fail(*why, SERIES_CURES if choice.entry.needs_series and why[0] == "not finite" else ())
            elif segment.status == Status.PAUSE and (too_many := self._too_many(integrator.effort().steps)):
                self._fail("too many steps", too_many, *self._cause_of_small_steps(choice.entry, integrator.effort().steps))
            elif segment.status == Status.PAUSE and (pace := integrator.slow_pace()) > 0.0:
                self._fail_if_chattering(pace)
            elif segment.status == Status.EVENT_ENDS and self._handler is not None:
                self._fail(*event_failure(self._handler, self.x))
            elif restart:
                levels = self._handle_event(choice, segment.fired, segment_start)
        return None, levels

    def _fail_if_chattering(self, pace: float) -> None:
        """End the run if it creeps, with a mean step of `pace` s, along a surface across which rates jump."""
        sides = sliding_mode(self.bound, self.t, self.x, self.m, self.weights.state_sizes, pace)
        if sides is not None:
            endless = sides.explained(self.bound, self.t, self.m)
            self._fail(endless.kind, endless.reason, endless.suspect, endless.cures)

    def _next_page(self, count: int, m: np.ndarray, held: int) -> np.ndarray:
        samples = self.samples
        self._record_states(count)
        samples.add(count, m, held)
        samples.flush()
        return samples.free_rows

    def _too_many(self, steps: int) -> str:
        max_steps, progress = self.settings.max_steps, self.t / self.settings.span
        if steps > max_steps:
            return f"more than {plural(max_steps, 'step')} of integration"
        if not too_many_steps(steps, max_steps, progress):
            return ""
        total = f"about {steps / progress:.1g} steps" if progress > 0.0 else "endlessly many steps"
        return f"{steps} steps have covered {progress:.1g} of the run: the whole run would take {total}; the limit is {max_steps}"

    def _cause_of_small_steps(self, method: MethodEntry, steps: int) -> tuple[str, tuple[str, ...]]:
        """Return the suspects of a run that takes too many steps, and what to try."""
        pace = self.t / steps
        needed = 2.0 * self.settings.span / pace if pace > 0.0 else np.inf
        point = self.t, self.x, self.m, self.weights.state_sizes
        mode = fastest_mode(self.bound, *point, pace, self.bound.true_states.tolist())
        if mode is not None:
            return ", ".join(mode.states), mode.cures(method.stiff, needed)
        more = (f"max_steps={needed:.0e}", "a looser rtol") if needed < DEFAULTS["max_steps"] else ()
        return fastest_rate(self.bound, *point), more

    def examine(self) -> None:
        samples, dates = self.samples, self.settings.dates[: self.samples.written]
        lost = find_lost_solution(self.bound.program, dates, self.bound.p, samples.x, samples.m, samples.q, self.settings.rtol)
        if lost is not None:
            samples.written = max(lost.sample, 1)
            self.end_before(lost)

    def end_before(self, lost: LostSolution) -> None:
        time = float(self.settings.times[lost.sample])
        if self.failure is not None and time >= self.t:
            return
        self.t, self.x = time, lost.x
        self.log.until(self.t)
        self._fail(lost.kind, lost.reason, lost.suspect)


def _in_cpython(table: FieldTable) -> bool:
    with np.errstate(all="ignore"):
        return handle_event(table.view())


def result_of(run: Hybrid, choice: Selection, wall_time: float) -> Result:
    settings, samples = run.settings, run.samples
    return Result(
        program=run.bound.program,
        p=settings.p,
        t=settings.dates[: samples.written],
        since=settings.times[: samples.written],
        x=samples.x,
        m=samples.m,
        integrals=samples.q,
        start_energies=run.start_energies,
        events=Events.of(run.bound.program, settings.p, settings.t_start, run.log),
        failure=run.failure,
        statistics=statistics_of(run, choice, wall_time),
    )


def statistics_of(run: Hybrid, choice: Selection, wall_time: float) -> Statistics:
    effort, settings = run.effort, run.settings
    used = list(dict.fromkeys(run.methods)) or [choice.entry]
    local = tolerances(settings, used[-1]).relative
    return Statistics(
        solver=MACHINE_CODE,
        method=", ".join(entry.name for entry in used),
        steps=effort.steps,
        rejected=effort.rejected,
        rates=effort.rates,
        jacobians=effort.jacobians,
        guards=effort.guards,
        events=len(run.log),
        events_in_python=run.events_in_python,
        ticks=run.ticks.count,
        wall_time=wall_time,
        integration_time=effort.seconds,
        local_rtol=local,
        rounding=run.weights.rounding(effort.noisy, local, run.t, run.x, run.m),
    )
