"""A task for many jobs in several processes, progress lines, and limits on time and memory."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")

_PAUSE = 10.0
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def each(task: Callable[[Job], Found], jobs: Sequence[Job], processes: int, chunk: int = 8) -> Iterator[Found]:
    """Yield the results of a task as soon as they are known, `chunk` at a time; with 0 `processes`, in this process.

    Each worker has one thread, because the matrices are small and threads of linear algebra in several processes wait
    for one another (twice the time on two cores). An interrupt ends the workers silently, so that the results so far
    can be reported.
    """
    if not processes:
        yield from map(task, jobs)
        return
    os.environ.update({name: os.environ.get(name, "1") for name in _THREADS})  # read where NumPy is first imported
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it would be ignored
    ignored = signal.SIGINT, signal.SIG_IGN
    with multiprocessing.get_context("spawn").Pool(processes, signal.signal, ignored) as pool:
        yield from pool.imap_unordered(task, jobs, chunksize=chunk)


class Progress:
    """Progress lines of a campaign on standard error: one every ten seconds, one at the end, and each finding immediately."""

    def __init__(self, count: int, what: str, *, shown: bool = True):
        self.count, self.what, self.shown = count, what, shown
        self.done = self.failures = 0
        self.last = time.monotonic()

    def add(self, failure: str = "") -> None:
        self.done += 1
        self.failures += bool(failure)
        now = time.monotonic()
        if failure:
            self.say(failure)
        if failure or self.done == self.count or now - self.last > _PAUSE:
            self.last = now
            self.say(f"{self.done}/{self.count} {self.what}, {self.failures} wrong")

    def say(self, line: str) -> None:
        if self.shown:
            print(line, file=sys.stderr, flush=True)


def limit_time(interrupted: float, ended: float) -> None:
    """Interrupt this process, as a user would, after `interrupted` s of CPU time, and terminate it `ended` s later.

    A wall-clock limit would act earlier on a busy machine. On systems without CPU timers, the process is not limited.
    """
    if not hasattr(signal, "setitimer"):
        return
    import resource  # not on Windows

    signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_PROF, interrupted)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(interrupted + ended), resource.getrlimit(resource.RLIMIT_CPU)[1]))


def limit_addresses(more: int) -> None:
    """Let this process take `more` bytes of address space in addition to its present ones, if the system counts them.

    A limit below the present ones, which may be many libraries, leaves no space for the stack to grow: the first deep
    recursion would end in a segmentation fault instead of a refusal.
    """
    counted = Path("/proc/self/statm")
    if not counted.exists():
        return
    import resource  # not on Windows

    has = int(counted.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (has + more, resource.getrlimit(resource.RLIMIT_AS)[1]))
