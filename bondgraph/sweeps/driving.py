"""Driving: numbers of runs and an executor in; their rows, a chunk at a time, handed on as they come."""

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
from bondgraph.sweeps.tasks import Row

CHUNK = 0.2
"""How long a chunk is to take, s: long beside what sending one takes, short beside what anybody waits."""
_MOST, _FASTER = 10_000, 4
"""Runs of a chunk at most, and by which factor chunks grow at most."""
_WAIT = 0.5

Submit = Callable[[Executor, np.ndarray], "Future[tuple[list[Row], float]]"]
"""Sends some runs to an executor."""


def workers_of(executor: Executor) -> int:
    """How many tasks an executor does at a time, as far as it tells: pools of Python and MPI, Dask; else the processors here."""
    told = getattr(executor, "num_workers", None) or getattr(executor, "_max_workers", None)
    cores = getattr(getattr(executor, "_client", None), "ncores", None)
    if told is None and callable(cores):
        told = sum(cores().values())
    return told if isinstance(told, int) and told > 0 else processors()


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def executor_or_threads(executor: Executor | None) -> Iterator[Executor]:
    """The user's executor, which is left open; without one, threads, which end with the block."""
    if executor is not None:
        if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
            cures = ("ThreadPoolExecutor(4) of concurrent.futures", "executor=None, for threads")
            raise RunError(Problem("E367", f"executor={executor!r:.60} takes no tasks", (), (), cures))
        yield executor
        return
    own = ThreadPoolExecutor(processors(), "sweep")
    try:
        yield own
    finally:
        own.shutdown(wait=True, cancel_futures=True)


def drive(executor: Executor, runs: np.ndarray, submit: Submit, take: Callable[[list[Row]], None]) -> None:
    """Send all runs in chunks of about `CHUNK` seconds, at most two for each worker at a time, and `take` the rows of each.

    Whatever ends it, an interrupt too, what was not begun is called off, and what has come is taken.

    Raises what a chunk raises; `RunError` E367 where a worker died, or the executor did not take a chunk.
    """
    ready: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    under_way, most = set[Future[Any]](), 2 * workers_of(executor)
    first, size, mean = 0, 1, 0.0
    try:
        while first < len(runs) or under_way:
            while first < len(runs) and len(under_way) < most:
                future = _sent(submit, executor, runs[first : first + size])
                first += size
                under_way.add(future)
                future.add_done_callback(ready.put)
            try:
                future = ready.get(timeout=_WAIT)
            except queue.Empty:  # only to let an interrupt through, which some systems keep from a wait without end
                continue
            under_way.discard(future)
            rows, seconds = _result(future)
            take(rows)
            mean = seconds / len(rows) if mean == 0.0 else 0.5 * (mean + seconds / len(rows))
            size = int(np.clip(CHUNK / max(mean, 1e-9), 1, min(_FASTER * size, _MOST)))
            # a multiple of what may go side by side: fewer lanes are idle while the last runs of a chunk are done
            size -= size % max(LANES) if size > max(LANES) else 0
    except BaseException:
        for future in under_way:
            future.cancel()
        for future in under_way:
            if future.done() and not future.cancelled() and future.exception() is None:
                take(future.result()[0])
        raise


def _sent(submit: Submit, executor: Executor, runs: np.ndarray) -> Future[Any]:
    try:
        return submit(executor, runs)
    except ScrewbondError:
        raise
    except Exception as error:
        raise _lost(error) from error


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except ScrewbondError:
        raise
    except (Exception, CancelledError) as error:
        raise _lost(error) from error


def _lost(error: BaseException) -> RunError:
    said = str(error).strip().splitlines()
    why = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
    cures = ("the same call again, with a new executor: it goes on with what is stored", "fewer workers, if memory ran out")
    return RunError(Problem("E367", "a worker could not do its part of a sweep", (why,), (), cures))


def speed(begin: float, done: int) -> str:
    """Runs per second since a time of `time.perf_counter()`, as they are told.

    >>> speed(time.perf_counter() - 10.0, 1234)[:4]
    '123 '
    """
    rate = done / max(time.perf_counter() - begin, 1e-9)
    return f"{rate:.3g} runs/s" if rate < 1000.0 else f"{rate:.0f} runs/s"
