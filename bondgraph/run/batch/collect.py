"""Collect the runs of a batch as they end, in chunks or singly, and return them all in the order of their points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bondgraph.errors import Problem, ProblemError, RunError
from bondgraph.quantities import real
from bondgraph.run.batch.results import BatchResult, KeptOfRun
from bondgraph.run.program import Program
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.run.results.result import Result
from bondgraph.run.settings import Settings


@dataclass(frozen=True, eq=False)
class RunBatch:
    status: np.ndarray
    ends: np.ndarray
    modes_end: np.ndarray
    times_end: np.ndarray
    step_counts: np.ndarray
    rejected_counts: np.ndarray
    rate_counts: np.ndarray
    event_counts: np.ndarray
    kept: np.ndarray
    series: np.ndarray

    @staticmethod
    def of(runs: int, width: int, modes: int, samples: int, kept: int, series: int) -> RunBatch:
        status, steps, rejected, rates, events = (np.zeros(runs, dtype=np.int64) for _ in range(5))
        ends, modes_end, times = np.zeros((runs, width)), np.zeros((runs, modes)), np.zeros(runs)
        numbers, courses = np.empty((runs, kept)), np.empty((runs, samples, series))
        return RunBatch(status, ends, modes_end, times, steps, rejected, rates, events, numbers, courses)

    def arrays(self) -> dict[str, np.ndarray]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def like(self, runs: int) -> RunBatch:
        return RunBatch(**{name: np.zeros((runs, *array.shape[1:]), array.dtype) for name, array in self.arrays().items()})

    def put(self, runs: np.ndarray, part: RunBatch) -> None:
        for name, array in self.arrays().items():
            array[runs] = getattr(part, name)


def blocks_of(program: Program, p: Any, x0: Any, m0: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return parameters, states and modes of many runs as contiguous rows of floats; raise E305 if their shapes do not match."""
    lengths = (program.parameters, program.states, program.modes)
    blocks = [_rows(argument) for argument in (p, x0, m0)]
    counts = {len(block) for block in blocks if block is not None} - {1}
    fits = all(block is not None and block.ndim == 2 and block.shape[1] == n for block, n in zip(blocks, lengths, strict=True))
    if not fits or len(counts) > 1:
        shown = ("no numbers" if block is None else block.shape for block in blocks)
        shapes = ", ".join(f"{name} {block}" for name, block in zip(("p", "x0", "m0"), shown, strict=True))
        title = f"runs take blocks (runs, {lengths[0]}), (runs, {lengths[1]}) and (runs, {lengths[2]})"
        raise RunError(Problem("E305", title, (f"given: {shapes}",), cures=("a row for each run, or one row for all runs",)))
    rows = [block[:0] if counts == {0} else block for block in blocks if block is not None]
    return rows[0], rows[1], rows[2]


def _rows(argument: Any) -> np.ndarray | None:
    array = argument if isinstance(argument, np.ndarray) and argument.dtype.kind == "f" else real(argument)
    return None if array is None else np.atleast_2d(np.ascontiguousarray(array, dtype=float))


@dataclass(frozen=True)
class EndedRun:
    """Result of a run, and the actual end of the run: time t since the start, s; states x (n,); modes m (modes,); integrated
    powers q (powers,). `sound` is True if the run is certainly valid."""

    result: Result
    t: float
    x: np.ndarray
    m: np.ndarray
    q: np.ndarray
    sound: bool = False


class BatchCollector:
    """Collector of the ends of many runs, in a `batch` whose arrays machine code may fill.

    `blocks` are the rows x, p and m of all runs; `checked_run_and_end` computes a single run from its rows;
    `requested` are the `PreparedProgram.requested_times`.
    """

    def __init__(
        self,
        program: Program,
        settings: Settings,
        requested: tuple[np.ndarray, np.ndarray],
        checked_run_and_end: Callable[..., tuple[Result, EndedRun]],
        blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
        kept: Sequence[KeptOfRun],
    ):
        self._settings, self._run_with_end, self._blocks, self._kept = settings, checked_run_and_end, blocks, kept
        runs, samples, n = max(map(len, blocks)), len(requested[0]), program.states
        sizes = {over_time: sum(item.size for item in kept if item.over_time is over_time) for over_time in (False, True)}
        self.batch = batch = RunBatch.of(runs, n + program.quadratures, program.modes, samples, sizes[False], sizes[True])
        self._rows = {"x": batch.ends[:, :n], "m": batch.modes_end, "integrals": batch.ends[:, n:]}
        counts = batch.step_counts, batch.rejected_counts, batch.rate_counts, batch.event_counts
        self._counts = dict(zip(("steps", "rejected", "rates", "events"), counts, strict=True))
        self._found, places = dict[str, np.ndarray](), {False: 0, True: 0}
        for item in kept:
            block, at = batch.series if item.over_time else batch.kept, places[item.over_time]
            self._found[item.name] = block[..., at : at + item.size].reshape(*block.shape[:-1], *item.shape)
            places[item.over_time] += item.size
        self._failures: dict[int, Failure] = {}
        self._doubts: dict[int, tuple[ValidityConcern, ...]] = {}
        self._refused: dict[int, ProblemError] = {}
        self._by_gpu: tuple[str, np.ndarray] | None = None

    def note_gpu(self, name: str, runs: np.ndarray) -> None:
        self._by_gpu = name, runs

    def unfinished(self) -> list[int]:
        """Reset the results of the runs that machine code has not finished, and return their indices; convert the end times of
        all runs to the user's clock."""
        self.batch.times_end[:] = self._date(self.batch.times_end)
        unfinished = np.flatnonzero(self.batch.status)
        if self._by_gpu is not None:
            self._by_gpu[1][unfinished] = False
        if len(unfinished):
            self.reset(unfinished)
        return unfinished.tolist()

    def reset(self, runs: np.ndarray | slice) -> None:
        self.batch.ends[runs] = np.nan
        self.batch.modes_end[runs] = self._blocks[2][runs if len(self._blocks[2]) > 1 else 0]
        self.batch.times_end[runs] = self._settings.t_start
        for counts in self._counts.values():
            counts[runs] = 0
        for values in self._found.values():
            values[runs] = np.nan

    def run_single(self, run: int) -> None:
        row = [block[run if len(block) > 1 else 0] for block in self._blocks]
        try:
            result, end = self._run_with_end(*row)
        except ProblemError as refused:
            self._refused[run] = refused
            return
        if result.failure is None:
            self.batch.times_end[run], at = self._date(end.t), {"x": end.x, "m": end.m, "integrals": end.q}
        else:  # values after the last valid sample are ignored
            self.batch.times_end[run], at = result.t[-1], {name: getattr(result, name)[-1] for name in self._rows}
        for name, values in self._rows.items():
            values[run] = at[name]
        for name, counts in self._counts.items():
            counts[run] = getattr(result.statistics, name)
        if result.failure is not None:
            self._failures[run] = result.failure
        elif result.warnings:
            self._doubts[run] = result.warnings
        for item in self._kept:
            measured = item.measured(result)
            if item.over_time:
                self._found[item.name][run, : len(measured)] = measured
            else:
                self._found[item.name][run] = measured

    def _date(self, since: Any) -> Any:
        return np.where(since == self._settings.span, self._settings.t_end, self._settings.t_start + since)

    def result(self) -> BatchResult:
        x, m, integrals = self._rows.values()
        steps, rejected, rates, events = self._counts.values()
        issues = self._failures, self._doubts, self._refused
        times = self.batch.times_end
        return BatchResult(times, x, m, integrals, steps, rejected, rates, events, self._found, *issues, self._by_gpu)
