"""A program and the settings of a run, bound once -> run after run: a `Result` each, or the ends of many in one call."""

from __future__ import annotations

import os
import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bondgraph.errors import Problem, RoundingWarning, RunDoubtWarning, RunEndedWarning, RunError, caller_depth, caller_place
from bondgraph.output.progress import Progress
from bondgraph.run import settings as checks
from bondgraph.run.bound import Bound
from bondgraph.run.hybrid import Hybrid, result_of
from bondgraph.run.instants.events import Events
from bondgraph.run.instants.log import Log
from bondgraph.run.integrators.choose import choose, tolerances
from bondgraph.run.integrators.leg import Selection
from bondgraph.run.kept.run import KeptRuns, kept_runs
from bondgraph.run.outcome.doubts import doubts_of
from bondgraph.run.outcome.judge import judged
from bondgraph.run.outcome.lost import first_lost
from bondgraph.run.outcome.result import Result, Statistics
from bondgraph.run.program import Program
from bondgraph.run.repeated.checked import checked_settings
from bondgraph.run.repeated.collected import Collected, RunBatch, blocks_of, parts
from bondgraph.run.repeated.ends import RunEnd, RunEnds, kept_of
from bondgraph.run.settings import Settings
from bondgraph.run.ticks import Ticks
from bondgraph.run_arguments import DEFAULTS, SETTINGS, KeepAsked, RunSettings

if TYPE_CHECKING:
    from bondgraph.run.repeated.workspace import MachineRun, Workspace

# Part of the steps at the rounding of the rates from which a run says so.
_NOISY = 0.01
_BLOCKS = (("x", "E308"), ("p", "E309"), ("m", "E310"))
_ALL = KeepAsked()


@dataclass(frozen=True)
class PreparedProgram:
    """A program with the settings of its runs. May be used by several threads at once.

    `wanted` are the sample times that are asked for, since the start and as dates, (k,) each; `settings` has none of the numbers
    of a run, and more sample times where constraints are watched between these. `kept` is what single runs keep, if not all.
    """

    program: Program
    settings: Settings
    choice: Selection
    wanted: tuple[np.ndarray, np.ndarray]
    progress: bool
    strict: bool
    kept: KeptRuns | None = None
    _spaces: deque[Workspace] = field(default_factory=deque, repr=False, compare=False)

    @cached_property
    def in_machine_code(self) -> bool:
        """Whether a whole run needs no Python: by the explicit method, without events, clocks, and loops to be solved."""
        program = self.program
        events = program.guards is not None or program.transitions
        return self.choice.solver == "machine code" and not (events or program.clocks or program.loops or program.breaks)

    @property
    def watched(self) -> bool:
        """Whether constraints are looked at along a run: whether they lose rank, or contradict each other."""
        return self.program.closing is not None and bool(self.program.closing.owners)

    def numbers(self, x0: Any, p: Any, m0: Any) -> Settings:
        """The settings with the numbers of a run; E305 counts that do not fit, E308, E309, E310 what is not finite."""
        program = self.program
        lengths = (program.states, program.parameters, program.modes)
        blocks = {
            name: checks.block(program, name, given, length, code)
            for (name, code), given, length in zip(_BLOCKS, (x0, p, m0), lengths, strict=True)
        }
        return replace(self.settings, **blocks)  # type: ignore[arg-type]

    def result(self, x0: Any, p: Any, m0: Any) -> Result:
        """One run, with warnings where it ended early or cannot be trusted; see `simulate`."""
        result = self.judged(x0, p, m0, self.progress) if self.kept is None else self._keeping(self.kept, x0, p, m0)
        rtol, name = self.settings.rtol, self.program.name
        found = [*([] if result.failure is None else [str(result.failure)]), *map(str, result.doubts)]
        if self.strict and found:
            title = f'the run of "{name}" is not ok'
            raise RunError(Problem("E323", title, tuple("\n".join(found).splitlines()), (caller_place(),)))
        for text in found:
            kind = RunDoubtWarning if result.failure is None else RunEndedWarning
            warnings.warn(f'"{name}": {text}', kind, stacklevel=caller_depth())
        if result.failure is None and (noise := result.statistics.rounding).steps > _NOISY * result.statistics.steps:
            named = ", ".join(f'"{state}"' for state in noise.states[:4]) + (" ..." if len(noise.states) > 4 else "")
            text = f"the tolerance lies below the rounding of the rates of {named}: {noise.steps} of {result.statistics.steps}"
            text += f" steps were controlled to an rtol of {noise.rtol:.2g}, not {rtol:g}"
            warnings.warn(f'"{name}": {text}', RoundingWarning, stacklevel=caller_depth())
        return result

    def judged(self, x0: Any, p: Any, m0: Any, progress: bool = False) -> Result:
        """One run with its failure or doubts, and without a word of them."""
        begin, settings = time.perf_counter(), self.numbers(x0, p, m0)
        with Progress(self.program.name, settings.span, progress) as bar:
            found = self._alone(settings, begin, bar) if self.in_machine_code else None
            result, end = found if found is not None else self._stepwise(settings, begin, bar)
        result = judged(result, settings.t_start, self.wanted, end)
        if result.failure is None:
            result = replace(result, doubts=doubts_of(result, result.account(), settings.rtol))
        return result

    def _keeping(self, kept: KeptRuns, x0: Any, p: Any, m0: Any) -> Result:
        """One run that keeps some names alone, judged too."""
        begin, settings = time.perf_counter(), self.numbers(x0, p, m0)
        with Progress(self.program.name, settings.span, self.progress) as bar:
            return kept.result(settings, bar, begin)

    def _stepwise(self, settings: Settings, begin: float, bar: Progress) -> tuple[Result, tuple[float, np.ndarray]]:
        """A run leg by leg, and where it ended."""
        bound = Bound(self.program, settings.p, settings.t_start, settings.span)
        run = Hybrid(bound, settings, Ticks(bound, settings.t_start, settings.t_start + settings.span, settings.max_steps), bar)
        run.go(self.choice)
        run.examine()
        return result_of(run, self.choice, time.perf_counter() - begin), (run.t, run.x)

    def _alone(self, settings: Settings, begin: float, bar: Progress) -> tuple[Result, tuple[float, np.ndarray]] | None:
        """A run in machine code, and where it ended; None for one that does not reach its end by itself."""
        with self._workspace() as space:
            course = space.run(settings.p, settings.x, settings.m, bar)
            if not course.done:
                return None
            result = self._result(settings, space, course, begin)
        rtol, (t, x) = settings.rtol, (result.t, result.x)
        lost = first_lost(self.program, t, settings.p, x, result.m, result.integrals, rtol)
        return None if lost is not None else (result, (course.t, course.x))

    def _result(self, settings: Settings, space: Workspace, course: MachineRun, begin: float) -> Result:
        effort, n = course.effort, self.program.states
        local = tolerances(settings, self.choice.method).relative
        rounding = space.weights.rounding(effort.noisy, local, course.t, course.x, settings.m)
        energies = space.bound.energies(0.0, settings.x, settings.m)
        statistics = Statistics(
            solver=self.choice.solver,
            method=self.choice.method,
            steps=effort.steps,
            rejected=effort.rejected,
            rates=effort.rates,
            jacobians=0,
            guards=0,
            events=0,
            wall_time=time.perf_counter() - begin,
            integration_time=effort.seconds,
            local_rtol=local,
            rounding=rounding,
        )
        return Result(
            program=self.program,
            p=settings.p,
            t=settings.dates,
            since=settings.times,
            x=np.ascontiguousarray(course.rows[:, :n]),
            m=np.tile(settings.m, (len(settings.times), 1)),
            integrals=np.ascontiguousarray(course.rows[:, n:]),
            start_energies=energies,
            events=Events.of(self.program, settings.p, settings.t_start, Log(self.program, settings.t_start)),
            failure=None,
            statistics=statistics,
        )

    def go(self, p: np.ndarray, x0: np.ndarray, m0: np.ndarray) -> RunEnd:
        """One run from contiguous arrays of floats, p (parameters,), x0 (n,), m0 (modes,), which are not looked at, with
        nothing said of its end. What cannot be done in machine code is done by `judged`, at its price."""
        if self.in_machine_code:
            with self._workspace() as space:
                course = space.run(p, x0, m0)
            if course.done:
                return RunEnd(True, course.t, course.x, course.q, course.rows, course.effort.steps, course.effort.rates)
        result = self.judged(x0, p, m0)
        rows, spent = np.hstack([result.x, result.integrals]), result.statistics
        reached, at = result.failure is None, float(result.since[-1])
        return RunEnd(reached, at, result.x[-1], result.integrals[-1], rows, spent.steps, spent.rates)

    def many(
        self,
        p: Any,
        x0: Any,
        m0: Any,
        keep: Mapping[str, tuple[str, str]] | None = None,
        *,
        threads: int | None = None,
        watch: bool = True,
    ) -> RunEnds:
        """Runs with parameters p (runs, parameters) from x0 (runs, n) in the modes m0 (runs, modes); one row, or a vector, is the
        same for all.

        Parameters
        ----------
        keep : what is kept of each run besides its end, {"peak": ("max", "rotor.flow")}: "last", "max", "min", "integral" (by
            trapezoids), "mean" or "course" of a quantity at the samples.
        threads : how many work at it; as many as there are processors by default. The numbers do not depend on it.
        watch : whether to look along each run for positions in which its constraints lose rank, as single runs do; without, such
            a run is not told from others.

        Every run has the numbers of a single one, to the last bit. Runs in machine code (`in_machine_code`) go a chunk in a call,
        without the interpreter's lock; one that ends early or is in doubt is done again as a single one, which says why. Others
        are single runs.

        Raises `RunError` E305 for blocks that do not fit each other or the program, E345 for what cannot be kept.
        """
        p, x0, m0 = blocks_of(self.program, p, x0, m0)
        runs, width = max(map(len, (p, x0, m0))), self.program.states
        kept, outputs = kept_of(self.program, keep or {})
        crew = max(1, threads or os.cpu_count() or 1)
        collected = Collected(self.program, self.settings, len(self.wanted[0]), self.judged, (x0, p, m0), kept)
        machine = self.in_machine_code and not (watch and self.watched) and (outputs is None or outputs.address is not None)
        left: Sequence[int] = range(runs)
        with Progress(self.program.name, runs, self.progress) as bar, ThreadPoolExecutor(crew) as pool:
            if machine:
                counts = [sum(own.slot.size for own in kept if own.course is course) for course in (False, True)]
                batch = RunBatch.of(runs, width + self._powers, len(self.settings.times), *counts)

                def chunk(part: slice) -> int:
                    with self._workspace() as space:
                        space.many(p, x0, m0, part, batch, kept, outputs)
                    return part.stop

                for done in pool.map(chunk, parts(runs, crew)):
                    bar.show(done)
                collected.take(batch)
                left = np.flatnonzero(batch.status).tolist()
            for done, _ in enumerate(pool.map(collected.single, left)):
                bar.show(runs - len(left) + done)
        return collected.ends()

    @property
    def _powers(self) -> int:
        return 0 if self.program.powers is None else int(self.program.powers.n_out)

    @contextmanager
    def _workspace(self) -> Iterator[Workspace]:
        """A workspace that nobody else has."""
        from bondgraph.run.repeated.workspace import Workspace

        try:
            space = self._spaces.pop()
        except IndexError:
            space = Workspace(self.program, self.settings, self.choice.watch_stiffness)
        try:
            yield space
        finally:
            self._spaces.append(space)


def prepare(program: Program, t_end: float, kept: KeepAsked = _ALL, **settings: Unpack[RunSettings]) -> PreparedProgram:
    """Check the settings of a run, and choose its method. Raises `RunError` as `simulate`, but for the numbers of a run."""
    checks.known(settings, SETTINGS)
    given: RunSettings = {**DEFAULTS, **settings}
    checked, wanted = checked_settings(program, t_end, given)
    choice = choose(program, checked)
    keeping = kept_runs(program, choice, wanted, kept)
    return PreparedProgram(program, checked, choice, wanted, given["progress"], given["strict"], keeping)
