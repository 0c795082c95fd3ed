"""Workspace of a thread: successive runs of a program in the same tables and arrays, and their checkpoints."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event
from typing import NamedTuple

import numpy as np

from bondgraph.emit.cached_build import LatestBuild
from bondgraph.emit.kernel import AT_SAMPLE, Kernel, LaneKernels, address_of
from bondgraph.errors import RunError
from bondgraph.output.progress import Progress
from bondgraph.run.accuracy.table import ErrorWeights, Rounding
from bondgraph.run.batch import loop
from bondgraph.run.batch.collect import RunBatch
from bondgraph.run.batch.results import KeptOfRun
from bondgraph.run.batch.simd import lane_loop
from bondgraph.run.batch.simd.tables import RUNS_PER_LANE, lane_table, reset_lanes
from bondgraph.run.batch.tables import put_runs, table_of
from bondgraph.run.batch.validity.rank_screen import screens
from bondgraph.run.batch.validity.sample_check import row_table
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.impacts.fired_transitions import EventLabel
from bondgraph.run.events.records import Events
from bondgraph.run.hybrid import RunCheckpoint
from bondgraph.run.program import Program
from bondgraph.run.python_callbacks import check_each
from bondgraph.run.results.result import MACHINE_CODE, Result, Statistics
from bondgraph.run.samples import SampleRows
from bondgraph.run.settings import Settings
from bondgraph.run.status import STATUSES, Status
from bondgraph.run.steppers.choose import event_handler, in_machine_code, tolerances
from bondgraph.run.steppers.segment import Effort, Selection, too_many_steps
from bondgraph.run.table import FieldTable
from screws.errors import plural


class RunCost(NamedTuple):
    choice: Selection
    local_rtol: float
    rounding: Rounding
    wall_time: float


@dataclass(frozen=True, eq=False)
class MachineRun:
    """Run in machine code.

    Parameters
    ----------
    status : last status of the integrator, or `Status.NOT_STARTED`.
    t, x, q, m : values at the end of the run.
    rows, modes : values at the samples, (samples, n + quadratures) and (samples, modes).
    logged : rows of the log, in chunks (k, width).
    labels : labels that the rows refer to.
    events_in_python : number of instants at which Python solved collisions, or an event ended the run.
    """

    status: Status
    t: float
    x: np.ndarray
    q: np.ndarray
    m: np.ndarray
    rows: np.ndarray
    modes: np.ndarray
    logged: tuple[np.ndarray, ...]
    labels: Sequence[EventLabel]
    events_in_python: int
    ticks: int
    effort: Effort

    @property
    def done(self) -> bool:
        return self.status == Status.STOP

    @property
    def events(self) -> int:
        return sum(map(len, self.logged))

    def at(self, samples: np.ndarray) -> MachineRun:
        return replace(self, rows=self.rows[samples], modes=self.modes[samples])

    def result(self, program: Program, settings: Settings, start_energies: np.ndarray, spent: RunCost) -> Result:
        effort, choice, n = self.effort, spent.choice, program.states
        statistics = Statistics(
            solver=MACHINE_CODE,
            method=choice.method,
            steps=effort.steps,
            rejected=effort.rejected,
            rates=effort.rates,
            jacobians=effort.jacobians,
            guards=effort.guards,
            events=self.events,
            events_in_python=self.events_in_python,
            ticks=self.ticks,
            wall_time=spent.wall_time,
            integration_time=effort.seconds,
            local_rtol=spent.local_rtol,
            rounding=spent.rounding,
        )
        return Result(
            program=program,
            p=settings.p,
            t=settings.dates,
            since=settings.times,
            x=np.ascontiguousarray(self.rows[:, :n]),
            m=self.modes,
            integrals=np.ascontiguousarray(self.rows[:, n:]),
            start_energies=start_energies,
            events=Events.from_machine_code(program, settings.p, settings.t_start, self.logged, self.labels),
            failure=None,
            statistics=statistics,
        )


class Schedules:
    """Clocks of the runs of one workspace; `share` passes them to its integrator."""

    def __init__(self, bound: Bound, settings: Settings, share: Callable[[ClockSchedule], None]):
        self._bound, self._settings, self._share = bound, settings, share
        clocks, breaks = bound.program.clocks, bound.program.breaks
        slots = {slot for clock in clocks for slot in (clock.period, clock.offset) if isinstance(slot, int)}
        self._places, self._front = sorted(slots), 0 if breaks is None else breaks.sizes[0]
        self.fixed = not self._places and breaks is None
        self._key: bytes | None = None
        self.ticks: ClockSchedule

    def runs_by_clocks(self, p: np.ndarray, runs: slice) -> list[tuple[bytes, slice]]:
        if self.fixed or len(p) == 1:
            return [(self.keys(p[:1])[0], runs)]
        groups, first = list[tuple[bytes, slice]](), runs.start
        for key, equal in itertools.groupby(self.keys(p[runs])):
            stop = first + len(list(equal))
            groups.append((key, slice(first, stop)))
            first = stop
        return groups

    def values(self, p: np.ndarray) -> np.ndarray:
        """Return the values that determine the clocks of each run, (runs, k), for parameters p (runs, parameters)."""
        if self.fixed:
            return np.empty((len(p), 0))
        values, breaks = p[:, self._places], self._bound.program.breaks
        if breaks is not None:
            with np.errstate(all="ignore"):
                values = np.hstack([values, breaks.many(p[:, : self._front])])
        return values

    def keys(self, p: np.ndarray) -> list[bytes]:
        return [row.tobytes() for row in self.values(p)]

    def follow_parameters(self, p: np.ndarray) -> None:
        self.follow(b"" if self.fixed else self.keys(p[None])[0])

    def follow(self, key: bytes) -> None:
        """Switch to the clocks with this key, which must belong to the bound parameters. Raises `RunError` E330 for a clock that
        cannot run."""
        if key == self._key:
            return
        start, span, self._key = self._settings.t_start, self._settings.span, None
        self.ticks = ClockSchedule(self._bound, start, start + span, self._settings.max_steps)
        self._share(self.ticks)
        self._key = key


STEPS, LARGE = 4_000, 100
"""After STEPS attempted steps, or fewer above LARGE states, a run is checked for too many steps and updates the progress bar."""


class Workspace:
    """Tables and arrays for runs by one method in machine code, to be used by one thread at a time.

    `requested` are the `PreparedProgram.requested_times`; `settings` may have further times, for checks of the constraints.
    """

    def __init__(self, program: Program, settings: Settings, choice: Selection, requested: tuple[np.ndarray, np.ndarray]):
        self.settings, self.requested = settings, requested
        self.bound = Bound(program, np.zeros(program.parameters), settings.t_start, settings.span)
        self.weights = ErrorWeights(self.bound, settings.rtol, settings.atol, settings.max_step)
        self.handler = event_handler(self.bound, settings)
        self.integrator = in_machine_code(self.bound, settings, choice, self.weights, None, self.handler)
        self.schedules = Schedules(self.bound, settings, self.integrator.share)
        self.table = self.integrator.table
        self.table["stop"] = settings.span
        library, pointer, integer = self.integrator.library, ctypes.c_void_p, ctypes.c_int64
        begin, advance = library.address("begin_run"), library.address("advance_run" if self.handler is None else "run")
        self._begin = ctypes.CFUNCTYPE(integer, *[pointer] * 5, integer)(begin)
        self._advance = ctypes.CFUNCTYPE(integer, pointer)(advance)
        code = loop.machine_code()
        self._many = ctypes.CFUNCTYPE(integer, pointer)(code.address("run_many"))
        self._check_run = ctypes.CFUNCTYPE(integer, pointer, pointer)(code.address("check_run"))
        self._addresses, self._open = (begin, advance), library.address("open_run")
        self._width = program.states + program.quadratures
        self._budget = max(1, STEPS * LARGE // max(program.states, LARGE))
        self._place = self.table.address
        self._choice, self._local = choice, tolerances(settings, choice.entry).relative
        self._lane_spaces: list[Workspace] = []
        self._sample_checks: dict[tuple[bool, LaneKernels | None], FieldTable] = {}
        self._last_many, self._last_lanes = LatestBuild[FieldTable](), LatestBuild[FieldTable]()

    def run(self, p: np.ndarray, x: np.ndarray, m: np.ndarray, times: np.ndarray, bar: Progress | None = None) -> MachineRun:
        """Run once with parameters p (parameters,) from x (n,) in the modes m (modes,), sampled at these times since its start
        (samples,), all contiguous arrays of floats. Raises `RunError` E330 for a clock that cannot run."""
        settings, table, handler, n = self.settings, self.table, self.handler, self.bound.program.states
        samples = len(times)
        self.bound.p[:] = p
        self.schedules.follow_parameters(p)
        rows, chunks = np.empty((samples, self._width)), list[np.ndarray]()
        modes = np.empty((samples, len(m)))
        if handler is not None:
            handler.ready()
            handler.table.point("all_held", address_of(modes))
        table["budget"] = self._budget
        start = time.perf_counter()
        operands = *map(address_of, (x, m, times, rows)), samples
        begun = self._begin(self._place, *operands)
        if not begun:
            self._check()
        status = self._advanced() if begun else Status.NOT_STARTED
        while status in (Status.PAUSE, Status.LOG_FULL):
            if status == Status.LOG_FULL:
                assert handler is not None
                chunks.append(handler.take_rows())
            elif table["pace"] > 0.0 or too_many_steps(int(table["steps"]), settings.max_steps, table["t"] / settings.span):
                break
            table["tried"] = 0
            if bar is not None:
                happened = "" if handler is None else f", {plural(sum(map(len, chunks)) + int(handler.table['logged']), 'event')}"
                bar.show(table["t"], f"t = {table['t']:.6g} s{happened}")
            status = self._advanced()
        seconds = time.perf_counter() - start
        self.integrator.seconds = seconds
        y, last = table.arrays["y"].copy(), table.arrays["m"].copy()
        if handler is None:
            modes[:] = last
        elif status == Status.STOP:
            chunks.append(handler.end_run(last, modes))
        labels, asked = ((), 0) if handler is None else (handler.labels, int(handler.table["consultations"]))
        of_events = tuple(chunks), labels, asked
        ticks = self.schedules.ticks.count
        return MachineRun(status, float(table["t"]), y[:n], y[n:], last, rows, modes, *of_events, ticks, self.integrator.effort())

    def _advanced(self) -> Status:
        status = STATUSES[self._advance(self._place)]
        self._check()
        return status

    def _check(self) -> None:
        self.weights.check()
        if self.handler is not None and self.handler.has_failed:
            self.handler.check()

    def result(self, machine_run: MachineRun, settings: Settings, begin: float) -> Result:
        rounding = self.weights.rounding(machine_run.effort.noisy, self._local, machine_run.t, machine_run.x, machine_run.m)
        spent = RunCost(self._choice, self._local, rounding, time.perf_counter() - begin)
        return machine_run.result(self.bound.program, settings, self.start_energies(settings.p, settings.m), spent)

    def checkpoint(self, machine_run: MachineRun, p: np.ndarray, m: np.ndarray) -> RunCheckpoint:
        samples = SampleRows.over(machine_run.rows, np.array(machine_run.modes), self.bound.program.states)
        tables = self.integrator, self.weights, self.handler
        return RunCheckpoint(*tables, machine_run.status, samples, machine_run.logged, self.start_energies(p, m))

    def reconnect_events(self) -> None:
        if self.handler is not None:
            self.handler.use_arrays(self.table.arrays)

    def is_sound(self, machine_run: MachineRun, m: np.ndarray) -> bool:
        """Return True if the last run, which has reached its end from the modes m, is certainly valid: its values are finite at
        the samples, its loops are solved, its energy account closes well within the limit, and its constraints, if machine code
        can check them (`screens`), keep their rank. Otherwise Python has to check."""
        if len(machine_run.logged) > 1:
            return False
        table = self._check_table
        table.point("rows", address_of(machine_run.rows))
        if self.handler is not None:
            table.point("modes", address_of(machine_run.modes))
            self.handler.table["logged"] = len(machine_run.logged[0])
        return not self._check_run(table.address, address_of(m))

    @cached_property
    def _check_table(self) -> FieldTable:
        samples = self.settings.times, self.settings.dates
        table = self._table_of_many(samples, (), None)
        table.point("event_counts", np.zeros(1, dtype=np.int64))
        if screens(self.bound.program):
            table.point("sample_check", self._sample_check(True, None, *samples).address)
        return table

    def _table_of_many(
        self, samples: tuple[np.ndarray, np.ndarray], kept: Sequence[KeptOfRun], outputs: Kernel | None
    ) -> FieldTable:
        table = table_of(self.bound, self.settings, samples, self.requested[0], kept, outputs)
        table.point("table", self._place)
        for name, address in zip(("begin", "advance"), self._addresses, strict=True):
            table.point(name, address)
        if self.handler is None:
            table.point("modes", self.table.arrays["m"])
            table["mode_stride"] = 0
        return table

    def start_energies(self, p: np.ndarray, m: np.ndarray) -> np.ndarray:
        if self._energies is None:
            return np.zeros(0)
        call, own_p, own_m, out = self._energies
        own_p[:], own_m[:] = p, m
        call()
        return out.copy()

    @cached_property
    def _energies(self) -> tuple[Callable[[], object], np.ndarray, np.ndarray, np.ndarray] | None:
        program = self.bound.program
        if program.energies is None:
            return None
        start, p, m = np.array([self.settings.t_start]), np.zeros(program.parameters), np.zeros(program.modes)
        out = np.zeros(program.energies.n_out)
        return program.energies.bind(start, self.table.arrays["y_begun"][: program.states], p, m, out=out), p, m, out

    def many(
        self,
        blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
        runs: slice,
        watch: bool,
        batch: RunBatch,
        kept: Sequence[KeptOfRun],
        outputs: Kernel | None,
        lanes: LaneKernels | None,
        called_off: Event,
    ) -> None:
        """Run these rows of p (runs or 1, parameters), x (runs or 1, n), m (runs or 1, modes), and store the results in
        `batch`; abandon unfinished runs when the work is `called_off`. Constraints are checked along a run if `watch`; with
        kernels in `lanes`, several runs advance simultaneously."""
        samples = (self.settings.times, self.settings.dates) if watch else self.requested
        kind, p = (watch, tuple(kept), outputs, lanes), blocks[0]
        table = self._last_many.made(kind, lambda: self._table_for(samples, *kind))
        if self.handler is not None:
            self.handler.ready()
            self.handler.table.point("all_held", address_of(table.arrays["modes"]))
        self.table["budget"] = self._budget
        for key, group in self.schedules.runs_by_clocks(p, runs):
            self.bound.p[:] = p[group.start if len(p) > 1 else 0]
            try:
                self.schedules.follow(key)
            except RunError:
                batch.status[group] = Status.NOT_STARTED
            else:
                put_runs(table, blocks, group, batch)
                go_on = self._one_by_one if lanes is None else self._in_lanes(lanes, key, len(samples[0]))
                while go_on(table.address) and not called_off.is_set():
                    continue

    def batch_table(self, watch: bool, kept: Sequence[KeptOfRun], outputs: Kernel | None) -> FieldTable:
        table = self._table_for(
            (self.settings.times, self.settings.dates) if watch else self.requested, watch, kept, outputs, None
        )
        if self.handler is not None:
            self.handler.table.point("all_held", table.arrays["modes"])
        return table

    def _one_by_one(self, many: int) -> int:
        more = int(self._many(many))
        self._check()
        return more

    def _table_for(
        self,
        samples: tuple[np.ndarray, np.ndarray],
        watch: bool,
        kept: Sequence[KeptOfRun],
        outputs: Kernel | None,
        lanes: LaneKernels | None,
    ) -> FieldTable:
        table, count = self._table_of_many(samples, kept, outputs), len(samples[0])
        if lanes is not None:
            table.point("begin", self._open)
        table.point("sample_check", self._sample_check(watch, lanes, *samples).address if watch or lanes is not None else 0)
        table.point("rows", np.zeros(count * self._width))
        if self.handler is not None:
            table.point("modes", np.zeros(count * len(self.table.arrays["m"])))
        return table

    def _in_lanes(self, lanes: LaneKernels, key: bytes, samples: int) -> Callable[[int], int]:
        others, address = RUNS_PER_LANE * lanes.lanes - 1, ctypes.c_void_p
        while len(self._lane_spaces) < others:
            self._lane_spaces.append(Workspace(self.bound.program, self.settings, self._choice, self.requested))
        spaces = [self, *self._lane_spaces[:others]]
        for space in spaces:
            space.weights.use_lanes(lanes)
            space.schedules.follow(key)
            space.table["budget"] = self._budget
        integrators, weights = [space.integrator for space in spaces], [space.weights.table for space in spaces]
        lane_tables = self._last_lanes.made(
            (lanes, samples), lambda: lane_table(lanes, self.bound.program, integrators, weights, samples)
        )
        code = lane_loop.machine_code(lanes.lanes, self.integrator.method.coefficients).address("run_side_by_side")
        run, table_address = ctypes.CFUNCTYPE(ctypes.c_int64, address, address)(code), reset_lanes(lane_tables).address

        def go_on(many: int) -> int:
            more = int(run(many, table_address))
            check_each(space.weights.check for space in spaces)
            return more

        return go_on

    def _sample_check(self, watch: bool, lanes: LaneKernels | None, times: np.ndarray, dates: np.ndarray) -> FieldTable:
        if (watch, lanes) not in self._sample_checks:
            program, matrix = self.bound.program, self.bound.program.closing_matrix if watch else None
            alone = 0 if matrix is None else matrix.address or 0
            count, kernel = (1, alone) if lanes is None else (lanes.lanes, lanes.addresses[AT_SAMPLE])
            self._sample_checks[watch, lanes] = row_table(program, kernel, count, times, dates, watch, self.settings.span)
        return self._sample_checks[watch, lanes]
