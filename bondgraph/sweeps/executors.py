"""Run the chunks of a sweep on an executor (threads, processes, Dask, MPI) and hand on their rows as they arrive."""

from __future__ import annotations

import contextlib
import os
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from bondgraph.emit.kernel import LANES
from bondgraph.errors import Problem, RunError, ScrewbondError
from bondgraph.run.batch.chunk_size import ChunkTarget, chunk_size
from bondgraph.sweeps.tasks import Row

CHUNK_SECONDS = 0.2
"""Duration that a chunk aims at, s: long against the cost of sending one, short against a user's patience."""
_MAX_CHUNK, _MAX_GROWTH = 10_000, 4
"""Largest number of runs of a chunk, and largest growth factor from one chunk to the next."""
_WAIT = 0.5

Submit = Callable[[Executor, np.ndarray], "Future[tuple[list[Row], float]]"]
"""Function that sends some runs to an executor."""


def workers_of(executor: Executor) -> int:
    """Return the number of workers of an executor: of pools of Python and MPI, and of Dask; else the processors here."""
    count = getattr(executor, "num_workers", None) or getattr(executor, "_max_workers", None)
    cores = getattr(getattr(executor, "_client", None), "ncores", None)
    if count is None and callable(cores):
        count = sum(cores().values())
    return count if isinstance(count, int) and count > 0 else processors()


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def executor_or_threads(executor: Executor | None) -> Iterator[Executor]:
    """Yield the user's executor, which stays open; without one, threads, which end with the block."""
    if executor is not None:
        if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
            cures = ("ThreadPoolExecutor(4) of concurrent.futures", "executor=None, for threads")
            raise RunError(Problem("E367", f"executor={executor!r:.60} takes no tasks", (), (), cures))
        yield executor
        return
    pool = ThreadPoolExecutor(processors(), "sweep")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run_chunks(executor: Executor, runs: np.ndarray, submit: Submit, take: Callable[[list[Row]], None]) -> None:
    """Run all chunks, of about `CHUNK_SECONDS` seconds, at most two for each worker at a time, and `take` the rows of each.

    At any end, an interrupt too, chunks that have not begun are cancelled, and finished ones are taken.

    Raises what a chunk raises; `RunError` E367 where a worker died, or the executor did not take a chunk.
    """
    ready: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    pending, most = set[Future[Any]](), 2 * workers_of(executor)
    first, size, mean = 0, 1, 0.0
    target = ChunkTarget(CHUNK_SECONDS, most=_MAX_CHUNK, growth=_MAX_GROWTH, multiple=max(LANES))
    try:
        while first < len(runs) or pending:
            while first < len(runs) and len(pending) < most:
                future = _submitted(submit, executor, runs[first : first + size])
                first += size
                pending.add(future)
                future.add_done_callback(ready.put)
            try:
                future = ready.get(timeout=_WAIT)
            except queue.Empty:  # only to let an interrupt through, which some systems block in an unlimited wait
                continue
            pending.discard(future)
            rows, seconds = _result(future)
            take(rows)
            mean = seconds / len(rows) if mean == 0.0 else 0.5 * (mean + seconds / len(rows))
            size = chunk_size(target, max(mean, 1e-9), len(runs) - first, last=size)
    except BaseException:
        for future in pending:
            future.cancel()
        for future in pending:
            if future.done() and not future.cancelled() and future.exception() is None:
                take(future.result()[0])
        raise


def _submitted(submit: Submit, executor: Executor, runs: np.ndarray) -> Future[Any]:
    try:
        return submit(executor, runs)
    except ScrewbondError:
        raise
    except Exception as error:
        raise _worker_error(error) from error


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except ScrewbondError:
        raise
    except (Exception, CancelledError) as error:
        raise _worker_error(error) from error


def _worker_error(error: BaseException) -> RunError:
    lines = str(error).strip().splitlines()
    why = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    cures = ("the same call again, with a new executor: it goes on with what is stored", "fewer workers, if memory ran out")
    return RunError(Problem("E367", "a worker could not do its part of a sweep", (why,), (), cures))


def speed(begin: float, done: int) -> str:
    """Format runs per second since a time of `time.perf_counter()`.

    >>> speed(time.perf_counter() - 10.0, 1234)[:4]
    '123 '
    """
    rate = done / max(time.perf_counter() - begin, 1e-9)
    return f"{rate:.3g} runs/s" if rate < 1000.0 else f"{rate:.0f} runs/s"
