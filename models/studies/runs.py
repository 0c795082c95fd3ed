"""Runs of a study: sample times, and the summary of the end and cost of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph import Compiled
from bondgraph.run.results.result import Result

MAX_SAMPLES = 1e7
"""Largest number of samples of a result that fits into memory."""


def sample_times(t_end: float, step: float) -> np.ndarray:
    """Return 0, step, 2 step ... and t_end."""
    count = int(np.floor(t_end / step * (1.0 + 1e-12)))
    times = step * np.arange(count + 1)
    return np.minimum(times, t_end) if t_end - times[-1] <= 1e-9 * t_end else np.append(times, t_end)


def compile_times(compiled: Compiled) -> dict[str, float]:
    """Return the times of build (graph to equations) and compile (trace and machine code), s."""
    timings = compiled.timings
    return {"build": timings["build"], "compile": timings["trace"] + timings["compile"]}


def wall_times(compiled: Compiled, result: Result) -> dict[str, float]:
    """Return the times of build, compile and run, s."""
    return {**compile_times(compiled), "run": result.statistics.wall_time}


def end_summary(result: Result) -> dict[str, Any]:
    """Return end time and failure of a run, for its summary."""
    failure = result.failure
    return {"t_end": float(result.t[-1]), "completed": failure is None, "failure": None if failure is None else str(failure)}


def cost_summary(result: Result, wall: Mapping[str, float]) -> dict[str, Any]:
    """Return energy and cost of a run, for its summary; `wall` are times in s."""
    ledger, statistics = result.ledger, result.statistics
    return {
        "energy": ledger.summary(),
        "ledger_residual": ledger.relative_residual,
        "solver": {
            "solver": statistics.solver,
            "method": statistics.method,
            "steps": statistics.steps,
            "right_hand_sides": statistics.rates,
            "seconds_per_right_hand_side": statistics.time_per_rate,
        },
        "wall_time": dict(wall),
        "peak_memory_bytes": peak_memory(),
    }


def peak_memory() -> int | None:
    """Return the peak resident memory of this process, bytes; None if unknown."""
    try:
        import resource
    except ImportError:
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
