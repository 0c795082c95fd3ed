"""A task for many jobs, in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def each(task: Callable[[Job], Found], jobs: Sequence[Job], processes: int) -> Iterator[Found]:
    """Results of a task as they come; here where `processes` is 0, else in as many besides this one.

    Each of those has one thread: the matrices are small, and threads of linear algebra in several processes wait for one
    another (twice the time on two cores). An interrupt ends them in silence, so that what has been found can be told.
    """
    if not processes:
        yield from map(task, jobs)
        return
    os.environ.update({name: os.environ.get(name, "1") for name in _THREADS})  # read where NumPy is first imported
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it would be ignored
    ignored = signal.SIGINT, signal.SIG_IGN
    with multiprocessing.get_context("spawn").Pool(processes, signal.signal, ignored) as pool:
        yield from pool.imap_unordered(task, jobs, chunksize=8)
