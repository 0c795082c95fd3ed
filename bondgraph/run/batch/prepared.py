"""Prepared program: check settings once, then execute single runs with a `Result` each, or a batch in one call."""

from __future__ import annotations

import os
import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bondgraph.emit.cached_build import LatestBuild
from bondgraph.errors import Problem, RoundingWarning, RunEndedWarning, RunError, UnreliableRunWarning, caller_depth, caller_place
from bondgraph.output.progress import Progress
from bondgraph.run import settings as checks
from bondgraph.run.batch.collect import EndedRun, blocks_of
from bondgraph.run.batch.results import BatchResult, RunOutcome
from bondgraph.run.batch.validity.rank_screen import screens
from bondgraph.run.batch.workers import BatchLauncher, BatchRunner, RunDuration, WorkerPool
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.crossing.singular_positions import RunPart, pass_singular_positions
from bondgraph.run.hybrid import Hybrid, result_of
from bondgraph.run.measures import Measure
from bondgraph.run.program import Program
from bondgraph.run.results.result import Result
from bondgraph.run.settings import Settings
from bondgraph.run.status import Status
from bondgraph.run.steppers.choose import choose
from bondgraph.run.steppers.segment import Selection
from bondgraph.run.streaming.run import KeptRuns, kept_runs
from bondgraph.run.validation.checked_result import checked_result, checked_times, has_constraints, rank_loss
from bondgraph.run.validation.concerns import validity_concerns
from bondgraph.run.validation.impact_friction import friction_concerns
from bondgraph.run.validation.lost_solution import find_lost_solution
from bondgraph.run.validation.surface_contacts import contact_concerns, watched_contacts
from bondgraph.run_arguments import DEFAULTS, SETTINGS, KeepOptions, RunSettings
from screws.names import answer_old_names

if TYPE_CHECKING:
    from bondgraph.run.batch.workspace import Workspace


def checked_settings(program: Program, t_end: float, settings: RunSettings) -> tuple[Settings, tuple[np.ndarray, np.ndarray]]:
    start, end = checks.run_interval(settings["t_start"], t_end)
    since, dates = checks.sample_times(settings["samples"], start, end)
    relative, absolute = checks.tolerances(program, settings["rtol"], settings["atol"])
    is_checked = has_constraints(program) or bool(watched_contacts(program))
    watched, max_steps = checked_times(is_checked, since, end - start), checks.count("max_steps", settings["max_steps"])
    checked = Settings(
        x=np.zeros(program.states),
        p=np.zeros(program.parameters),
        m=np.zeros(program.modes),
        t_start=start,
        span=end - start,
        t_end=end,
        times=watched,
        dates=dates if watched is since else start + watched,
        method=checks.method_of(settings["method"]),
        rtol=relative,
        atol=absolute,
        max_step=checks.longest_step(settings["max_step"], end - start, max_steps),
        max_events=checks.count("max_events", settings["max_events"]),
        max_steps=max_steps,
        linear=checks.one_of("linear", settings["linear"], ("auto", "dense", "band", "sparse")),
        impacts=checks.one_of("impacts", settings["impacts"], ("simultaneous", "sequential")),
        singular=checks.one_of("singular", settings["singular"], ("end", "keep")),
    )
    return checked, (since, dates)


# A run warns if the rounding errors of its rates limit more than this fraction of its steps.
_NOISY = 0.01
_BLOCKS = (("x", "E308"), ("p", "E309"), ("m", "E310"))
_ALL = KeepOptions()


@answer_old_names
@dataclass(frozen=True)
class PreparedProgram:
    """Program with the settings of its runs. Several threads may use it simultaneously.

    `requested_times` are the sample times, measured from the start and on the user's clock, (k,) each; `settings` has zeros
    for the values of a run (p, x, m), and perhaps further sample times for checks of constraints and contacts. `kept` selects the
    quantities that single runs keep; None keeps all.
    """

    program: Program
    settings: Settings
    choice: Selection
    requested_times: tuple[np.ndarray, np.ndarray]
    progress: bool
    strict: bool
    kept: KeptRuns | None = None
    _workspaces: deque[Workspace] = field(default_factory=deque, repr=False, compare=False)
    last_gpu_kernel: LatestBuild[Any] = field(default_factory=LatestBuild, repr=False, compare=False)
    _duration: RunDuration = field(default_factory=RunDuration, repr=False, compare=False)

    @cached_property
    def in_machine_code(self) -> bool:
        program = self.program
        ticks = bool(program.clocks or program.breaks)
        made = all(loop.kernel.is_machine_code for loop in program.loops)
        apart = program.delays or any(clock.library for clock in program.clocks)
        return program.is_machine_code and made and not (ticks and program.loops) and not apart

    @cached_property
    def _is_checked_in_machine_code(self) -> bool:
        checks_rank = not has_constraints(self.program) or screens(self.program)
        return checks_rank and not watched_contacts(self.program) and not self.program.impact_frictions

    @property
    def _passes_singular_positions(self) -> bool:
        return self.settings.singular == "keep"

    @cached_property
    def _requested_indices(self) -> np.ndarray | None:
        times, requested = self.settings.times, self.requested_times[0]
        return None if times is requested else np.flatnonzero(np.isin(times, requested))

    def numbers(self, x0: Any, p: Any, m0: Any) -> Settings:
        """Return the settings with the values p, x and m of a run. Raises `RunError` E305 for a wrong number of values, and E308,
        E309, E310 for values that are not finite."""
        blocks = {
            name: checks.block(self.program, name, argument, length, code)
            for (name, code), argument, length in zip(_BLOCKS, (x0, p, m0), self._lengths, strict=True)
        }
        return self._with_times(self.settings.of_run(**blocks), (self.settings.times, self.settings.dates))

    @cached_property
    def _lengths(self) -> tuple[int, int, int]:
        return self.program.states, self.program.parameters, self.program.modes

    def _with_times(self, settings: Settings, samples: tuple[np.ndarray, np.ndarray]) -> Settings:
        return settings.of_run(times=samples[0].copy(), dates=samples[1].copy())

    def result(self, x0: Any, p: Any, m0: Any) -> Result:
        """Run once, and warn of an early end, of doubtful validity, or of a tolerance below rounding errors; if `strict`,
        raise E323 instead of the first two warnings."""
        result = self.checked_run(x0, p, m0, self.progress) if self.kept is None else self._kept_result(self.kept, x0, p, m0)
        if result.ok and not result.statistics.rounding.steps:
            return result
        rtol, name = self.settings.rtol, self.program.name
        messages = [*([] if result.failure is None else [str(result.failure)]), *map(str, result.warnings)]
        if self.strict and messages:
            title = f'the run of "{name}" is not ok'
            raise RunError(Problem("E323", title, tuple("\n".join(messages).splitlines()), (caller_place(),)))
        for text in messages:
            kind = UnreliableRunWarning if result.failure is None else RunEndedWarning
            warnings.warn(f'"{name}": {text}', kind, stacklevel=caller_depth())
        noise = result.statistics.rounding
        reached, chosen = f"{noise.rtol:.2g}", f"{rtol:.2g}"
        if result.failure is None and noise.steps > _NOISY * result.statistics.steps and reached != chosen:
            named = ", ".join(f'"{state}"' for state in noise.states[:4]) + (" ..." if len(noise.states) > 4 else "")
            text = (
                f"the tolerance is below the rounding error of the rates of {named}: {noise.steps} of {result.statistics.steps}"
            )
            text += f" steps were controlled only to an rtol of up to {reached}, not {chosen}"
            warnings.warn(f'"{name}": {text}', RoundingWarning, stacklevel=caller_depth())
        return result

    def checked_run(self, x0: Any, p: Any, m0: Any, progress: bool = False) -> Result:
        return self.checked_run_and_end(x0, p, m0, progress)[0]

    def checked_run_and_end(self, x0: Any, p: Any, m0: Any, progress: bool = False) -> tuple[Result, EndedRun]:
        begin, settings = time.perf_counter(), self.numbers(x0, p, m0)
        with Progress(self.program.name, settings.span, progress) as bar:
            end = self._single_run(settings, begin, bar)
        if end.sound and self._is_checked_in_machine_code:
            return end.result, end
        if not self._passes_singular_positions:
            lost = rank_loss(end.result, settings.t_start, end.t, end.x)
        else:
            part = RunPart(end.result, end.t, end.x, end.m, end.q)
            with Progress(self.program.name, settings.span, progress) as bar:
                part, lost = pass_singular_positions(part, settings, self.choice, bar)
            end = EndedRun(part.result, part.t, part.x, part.m, part.q)
        result = checked_result(end.result, settings.t_start, self.requested_times, lost)
        balanced = end.sound or result.failure is not None
        concerns = () if balanced else validity_concerns(result, result.account(), settings.rtol)
        concerns = (*concerns, *contact_concerns(end.result, settings.rtol), *friction_concerns(end.result))
        statistics = replace(result.statistics, wall_time=time.perf_counter() - begin)
        return replace(result, warnings=concerns, statistics=statistics), end

    def _kept_result(self, kept: KeptRuns, x0: Any, p: Any, m0: Any) -> Result:
        begin, settings = time.perf_counter(), self.numbers(x0, p, m0)
        with Progress(self.program.name, settings.span, self.progress) as bar:
            return kept.result(settings, bar, begin)

    def _single_run(self, settings: Settings, begin: float, bar: Progress) -> EndedRun:
        end = self._in_machine_code(settings, begin, bar) if self.in_machine_code else None
        return end or self._in_python(settings, begin, bar)

    def _in_python(self, settings: Settings, begin: float, bar: Progress) -> EndedRun:
        bound = Bound(self.program, settings.p, settings.t_start, settings.span)
        run = Hybrid(
            bound, settings, ClockSchedule(bound, settings.t_start, settings.t_start + settings.span, settings.max_steps), bar
        )
        run.run(self.choice)
        run.examine()
        return EndedRun(result_of(run, self.choice, time.perf_counter() - begin), run.t, run.x, run.m, run.q)

    def _in_machine_code(self, settings: Settings, begin: float, bar: Progress) -> EndedRun | None:
        """Run once in machine code, and continue in Python if machine code stops early or the samples are not valid; return
        None if only Python can begin the run."""
        with self._workspace() as space:
            machine_run = space.run(settings.p, settings.x, settings.m, settings.times, bar)
            if machine_run.status == Status.NOT_STARTED:
                return None
            if machine_run.done:
                sound = space.is_sound(machine_run, settings.m)
                if sound and self._is_checked_in_machine_code and self._requested_indices is not None:
                    machine_run, settings = (
                        machine_run.at(self._requested_indices),
                        self._with_times(settings, self.requested_times),
                    )
                result = space.result(machine_run, settings, begin)
                if sound or self._has_valid_samples(result):
                    return EndedRun(result, machine_run.t, machine_run.x, machine_run.m, machine_run.q, sound)
            run = Hybrid(space.bound, settings, space.schedules.ticks, bar)
            try:
                run.resume(self.choice, space.checkpoint(machine_run, settings.p, settings.m))
            finally:
                space.reconnect_events()
            run.examine()
            return EndedRun(result_of(run, self.choice, time.perf_counter() - begin), run.t, run.x, run.m, run.q)

    def _has_valid_samples(self, result: Result) -> bool:
        values = result.t, result.p, result.x, result.m, result.integrals
        return find_lost_solution(self.program, *values, self.settings.rtol) is None

    def run(self, p: np.ndarray, x0: np.ndarray, m0: np.ndarray) -> RunOutcome:
        """Run once, without warnings, from contiguous arrays of floats p (parameters,), x0 (n,), m0 (modes,), of which only the
        lengths are checked (E305). If machine code cannot execute or finish the run, `checked_run_and_end` does (slower)."""
        try:
            lengths = x0.size, p.size, m0.size
        except AttributeError:
            lengths = None
        if lengths != self._lengths:  # lists, or wrong lengths
            checked = self.numbers(x0, p, m0)
            x0, p, m0 = checked.x, checked.p, checked.m
        if self.in_machine_code and self._compiled and not self._passes_singular_positions:
            with self._workspace() as space:
                machine_run = space.run(p, x0, m0, self.requested_times[0])
            if machine_run.done:
                at, effort = (machine_run.t, machine_run.x, machine_run.m, machine_run.q), machine_run.effort
                return RunOutcome(True, *at, machine_run.rows, machine_run.modes, effort.steps, effort.rates, machine_run.events)
        result, end = self.checked_run_and_end(x0, p, m0)
        rows, spent = np.hstack([result.x, result.integrals]), result.statistics
        at = (end.t, end.x, end.m, end.q)
        if result.failure is not None:  # discard values after the last valid sample
            at = (float(result.since[-1]), result.x[-1], result.m[-1], result.integrals[-1])
        return RunOutcome(result.failure is None, *at, rows, result.m, spent.steps, spent.rates, spent.events)

    @cached_property
    def _compiled(self) -> bool:
        """True after all code that events may need is compiled."""
        program = self.program
        for kernel in (*program.resets, *program.supplies, *program.pushes):
            assert kernel is None or kernel.address is not None
        return True

    @answer_old_names
    def run_many(
        self,
        p: Any,
        x0: Any,
        m0: Any,
        keep: Mapping[str, str | Measure] | None = None,
        *,
        threads: int | None = None,
        check_rank: bool = True,
        lanes: int | None = None,
        gpu: BatchLauncher | None = None,
    ) -> BatchResult:
        """Run a batch with parameters p (runs, parameters) from x0 (runs, n) in the modes m0 (runs, modes); a vector or a single
        row applies to all runs.

        Parameters
        ----------
        keep : further quantities to record for each run, {"top": peak("rotor.flow")}: a measure of `bondgraph.measures`, or the
            name of a quantity to record at all samples.
        threads : number of threads, by default one per processor.
        check_rank : True to check along each run for positions where its constraints lose rank, as single runs do; False skips
            the check and its cost, and does not report these runs.
        lanes : number of runs in the lanes of the processor's vectors, 1, 2, 4, 8 or 16; by default as many as a vector holds, if
            the batch has at least `MANY` runs and the model and the method allow it.
        gpu : launcher of runs on a GPU; the CPU by default. The CPU repeats runs whose validity a GPU cannot check.

        Every run is bitwise equal to a single run, for all threads, lanes and devices. Runs in machine code (`in_machine_code`)
        advance a chunk per call without the interpreter's lock; a run that ends early or may be invalid is repeated as a single
        run, which reports the reason. Runs that need Python, for instance to check redundant constraints, are executed singly.

        Raises `RunError` E305 for blocks whose shapes do not match each other or the program, E306 for invalid counts of lanes or
        threads, E345 for quantities that cannot be kept; with `gpu`, the errors of `GPULauncher.fill`.
        """
        blocks = blocks_of(self.program, p, x0, m0)
        pool = WorkerPool((os.cpu_count() or 1) if threads is None else checks.count("threads", threads), lanes, self._duration)
        runner = BatchRunner(
            self.program, self.settings, self.choice, self.requested_times, self.checked_run_and_end, self._workspace
        )
        machine = self.in_machine_code and self._compiled
        return runner.run(blocks, keep or {}, machine, pool, check_rank, self.progress, gpu)

    def clocks_of(self, p: np.ndarray) -> bytes:
        with self._workspace() as space:
            return space.schedules.keys(p[:1])[0]

    @contextmanager
    def _workspace(self) -> Iterator[Workspace]:
        try:
            space = self._workspaces.pop()
        except IndexError:
            from bondgraph.run.batch.workspace import Workspace

            space = Workspace(self.program, self.settings, self.choice, self.requested_times)
        try:
            yield space
        finally:
            self._workspaces.append(space)


def prepare(program: Program, t_end: float, kept: KeepOptions = _ALL, **settings: Unpack[RunSettings]) -> PreparedProgram:
    """Check the settings and choose the method. Raises `RunError` as `simulate` does, except for the values p, x and m of a
    run."""
    checks.check_names(settings, SETTINGS)
    all_settings: RunSettings = {**DEFAULTS, **settings}
    checked, requested = checked_settings(program, t_end, all_settings)
    choice = choose(program, checked)
    keeping = kept_runs(program, choice, requested, kept)
    if keeping is not None and checked.singular == "keep":
        why = "finding singular positions needs the whole run, but keep= and sink= keep only some quantities"
        cures = ("omit keep= and sink=: take the quantities from the result",)
        raise RunError(Problem("E306", 'singular="keep" excludes keep= and sink=', (why,), cures=cures))
    progress, strict = (checks.flag(what, all_settings[what]) for what in ("progress", "strict"))
    return PreparedProgram(program, checked, choice, requested, progress, strict, keeping)
