"""Batch execution of runs in chunks: a thread pool with a work queue, and SIMD lanes in each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from numbers import Integral
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bondgraph.emit.kernel import LANES, MANY
from bondgraph.errors import Problem, RunError
from bondgraph.output.progress import Progress
from bondgraph.run.batch.chunk_size import ChunkTarget, chunk_size
from bondgraph.run.batch.collect import BatchCollector, EndedRun, RunBatch
from bondgraph.run.batch.results import BatchResult, KeptOfRun, kept_of
from bondgraph.run.batch.validity.rank_screen import screens
from bondgraph.run.measures import Measure
from bondgraph.run.program import Program
from bondgraph.run.results.result import Result
from bondgraph.run.settings import Settings
from bondgraph.run.status import Status
from bondgraph.run.steppers.segment import Selection
from bondgraph.run.validation.checked_result import has_constraints
from bondgraph.run.validation.surface_contacts import watched_contacts

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel, LaneKernels
    from bondgraph.run.batch.workspace import Workspace


MAX_CALL_SECONDS = 0.3
"""Longest intended duration of a call, s, because a call cannot be interrupted."""
MIN_CALL_SECONDS, MIN_THREAD_SECONDS = 1e-3, 5e-3
"""Minimum durations of a call and of a thread's work, s, many times the overhead of Python."""


class RunDuration:
    def __init__(self) -> None:
        self.each = 0.0


class WorkQueue:
    def __init__(self, runs: int, least: int, duration: RunDuration, called_off: threading.Event):
        self.taken, self._runs, self._duration, self._called_off = 0, runs, duration, called_off
        self._target = ChunkTarget(MAX_CALL_SECONDS, MIN_CALL_SECONDS, least)
        self._threads, self._lock = 1, threading.Lock()

    def share(self, threads: int) -> int:
        most = (self._runs - self.taken) * self._duration.each / MIN_THREAD_SECONDS
        self._threads = max(1, min(threads, int(most)) if self._duration.each else threads)
        return self._threads

    def first_chunks(self) -> Iterator[slice]:
        """Yield growing slices of runs, starting with one run, until the duration of a run is known; the first run also builds
        objects that later runs reuse."""
        count, enough = 1, MAX_CALL_SECONDS
        while not self._duration.each and (chunk := self._taken(count)):
            begin = perf_counter()
            yield chunk
            seconds = perf_counter() - begin
            if seconds > enough:
                self._duration.each = seconds / count
            count, enough = (2 * count if enough == MIN_CALL_SECONDS else 1), MIN_CALL_SECONDS

    def remaining_chunks(self) -> Iterator[slice]:
        while chunk := self._taken():
            begin = perf_counter()
            yield chunk
            self._duration.each = (perf_counter() - begin) / (chunk.stop - chunk.start)

    def _taken(self, count: int | None = None) -> slice | None:
        with self._lock:
            first = self.taken
            if first >= self._runs or self._called_off.is_set():
                return None
            count = count or chunk_size(self._target, self._duration.each, self._runs - first, self._threads)
            self.taken = min(first + count, self._runs)
            return slice(first, self.taken)


MIN_RUNS_PER_LANE = 4
"""Minimum number of runs per lane in a call, so that few lanes idle at the end."""


@dataclass(frozen=True)
class WorkerPool:
    """Thread pool for runs, with `lanes` SIMD lanes in each thread (None for the width of the processor's vectors), and a shared
    measured duration of one run."""

    threads: int
    lanes: int | None
    duration: RunDuration

    @contextmanager
    def map_over_threads(self, called_off: Event) -> Iterator[Callable[..., Iterable[Any]]]:
        if self.threads == 1:
            yield map
            return
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                with cancelling(called_off):
                    yield pool.map
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@contextmanager
def cancelling(called_off: Event) -> Iterator[None]:
    try:
        yield
    except BaseException:
        called_off.set()
        raise


class BatchLauncher(Protocol):
    @property
    def name(self) -> str: ...

    def fill(
        self,
        blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
        kept: Sequence[KeptOfRun],
        outputs: Kernel | None,
        check_rank: bool,
        batch: RunBatch,
        report: Callable[[int], object],
    ) -> np.ndarray:
        """Run all rows of p, x and m, and store the results in `batch`; return the indices of the runs that the CPU must repeat,
        whatever their status. `report` is called with the number of finished runs."""


@dataclass(frozen=True, eq=False)
class BatchRunner:
    program: Program
    settings: Settings
    choice: Selection
    requested: tuple[np.ndarray, np.ndarray]
    checked_run_and_end: Callable[..., tuple[Result, EndedRun]]
    workspace: Callable[[], AbstractContextManager[Workspace]]

    def run(
        self,
        blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
        keep: Mapping[str, str | Measure],
        machine: bool,
        pool: WorkerPool,
        watch: bool,
        progress: bool,
        gpu: BatchLauncher | None = None,
    ) -> BatchResult:
        """Return the ends of the runs with values p, x and m (runs or 1, values). Machine code computes them if `machine` and
        if it can also check them, on the `gpu` if one is given; other runs, and runs that it cannot finish, are computed one
        by one."""
        p, x0, m0 = blocks
        runs = max(map(len, blocks))
        kept, outputs = kept_of(self.program, keep)
        watched = watch and has_constraints(self.program)
        collected = BatchCollector(self.program, self.settings, self.requested, self.checked_run_and_end, (x0, p, m0), kept)
        machine = machine and (outputs is None or outputs.is_machine_code)
        machine = machine and (not watched or screens(self.program)) and not watched_contacts(self.program)
        machine = machine and not self.program.impact_frictions
        lane_kernels = self._in_lanes(pool.lanes, runs) if machine else None
        remaining: Sequence[int] = range(runs)
        batch = collected.batch
        called_off = Event()
        with Progress(self.program.name, runs, progress) as bar, pool.map_over_threads(called_off) as each:
            if machine:
                part, rows = batch, blocks
                if gpu is not None and runs:
                    left = gpu.fill(blocks, kept, outputs, watched, batch, bar.show)
                    collected.note_gpu(gpu.name, batch.status == Status.STOP)
                    p, x0, m0 = (block if len(block) == 1 else block[left] for block in blocks)
                    part, rows = batch.like(len(left)), (p, x0, m0)
                least = 1 if lane_kernels is None else MIN_RUNS_PER_LANE * lane_kernels.lanes
                queue = WorkQueue(len(part.status), least, pool.duration, called_off)

                def work(chunks: Iterator[slice], work_kernels: LaneKernels | None) -> None:
                    with self.workspace() as space, cancelling(called_off):
                        for chunk in chunks:
                            space.many(rows, chunk, watched, part, kept, outputs, work_kernels, called_off)
                            bar.show(queue.taken)

                if pool.threads > 1:
                    work(queue.first_chunks(), None)
                if (workers := queue.share(pool.threads)) == 1:
                    work(queue.remaining_chunks(), lane_kernels)
                else:
                    for _ in each(work, [queue.remaining_chunks() for _ in range(workers)], [lane_kernels] * workers):
                        continue
                if part is not batch:
                    batch.put(left, part)
                for block in blocks:  # refuse values that are not finite, even if nothing depends on them
                    if not np.isfinite(block).all():
                        batch.status[np.broadcast_to(~np.isfinite(block).all(axis=1), runs)] = Status.NOT_STARTED
                remaining = collected.unfinished()
            else:
                collected.reset(slice(None))
            for done, _ in enumerate(each(collected.run_single, remaining), 1):
                bar.show(runs - len(remaining) + done)
        return collected.result()

    def _in_lanes(self, lanes: int | None, runs: int) -> LaneKernels | None:
        """Return the kernels for runs in SIMD lanes; None if the model, the method or so few runs do not use them. Raises
        `RunError` E306 for an invalid number of lanes."""
        if lanes is not None and not (isinstance(lanes, Integral) and lanes in (1, *LANES)):
            allowed = ", ".join(map(str, (1, *LANES)))
            raise RunError(Problem("E306", f"lanes cannot be {lanes!r}", (f"allowed: {allowed}",)))
        program = self.program
        alone = program.transitions or program.clocks or program.breaks or program.loops
        if alone or lanes == 1 or program.in_lanes is None or (lanes is None and runs < MANY):
            return None
        if not self.choice.entry.load().runs_in_lanes:
            return None
        from bondgraph.emit.machine import vector_width

        wide = vector_width() if lanes is None else lanes
        return program.in_lanes(wide) if 2 * runs > wide else None
