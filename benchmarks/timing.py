"""Timing on a shared machine: alternating calls, medians, and ratios of adjacent calls."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.emit.kernel import Kernel


def interleaved(calls: Mapping[str, Callable[[], Any]], rounds: int, inner: int = 1) -> dict[str, np.ndarray]:
    """Return the seconds per call, (rounds,) for each function; calls alternate (A B A B ...), so that a disturbance affects all
    functions."""
    seconds = {name: np.empty(rounds) for name in calls}
    for call in calls.values():
        call()
    for k in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(inner):
                call()
            seconds[name][k] = (time.perf_counter() - begin) / inner
    return seconds


@contextmanager
def without_cache() -> Iterator[None]:
    before = os.environ.get("SCREWBOND_CACHE")
    os.environ["SCREWBOND_CACHE"] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ["SCREWBOND_CACHE"]
        else:
            os.environ["SCREWBOND_CACHE"] = before


def machine_loop(kernel: Kernel, *blocks: np.ndarray, out: np.ndarray) -> Callable[[], None]:
    """Return the kernel's loop of machine code over samples, as a function without arguments.

    `Kernel.many` checks its blocks at every call, which takes microseconds; hand-written C gets addresses, and so does this loop.
    Blocks are (samples, length), or (length,) for values that all samples share; `out` is (samples, outputs).
    """
    kernel.many(*blocks, out=out)  # refuses arrays of the wrong size
    strides = [block.shape[1] if block.ndim == 2 else 0 for block in blocks]
    addresses = [block.ctypes.data for block in (*blocks, out)]
    loop, keep = kernel.loop, (kernel, blocks, out)
    assert loop is not None, "the kernel is not machine code"
    return lambda: (loop(len(out), *strides, *addresses), keep)[0]


def ratio(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Return the median and the quartiles of a / b, round by round."""
    low, middle, high = np.percentile(a / b, [25, 50, 75])
    return {"median": float(middle), "quartile 1": float(low), "quartile 3": float(high)}


def median(values: Sequence[float] | np.ndarray) -> float:
    return float(np.median(values))


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for the terminal; raises `ValueError` without rows."""
    if not rows:
        raise ValueError(f"nothing was measured: {title}")
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        return "  " + "  ".join(cells).rstrip()

    return "\n".join([title, line(head), *(line(row) for row in rows)])
