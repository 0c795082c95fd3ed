"""What a finished run says of itself: results are cut off where its constraints no longer decided the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph.run.failure import describe
from bondgraph.run.program import Program
from bondgraph.run.result import Result
from bondgraph.run.singular import Lost, lost_rank

GRID = 501
"""Times at least at which constraints are looked at."""


def watched_times(program: Program, times: np.ndarray, end: float) -> np.ndarray:
    """Sample times of a run: those that are wanted, and more where constraints are to be watched between them."""
    if program.closing is None or not program.closing.owners or len(times) >= GRID:
        return times
    return np.union1d(times, np.linspace(times[0], end, GRID))


def judged(result: Result, times: np.ndarray, t: float, x: np.ndarray) -> Result:
    """The result at the `times` that are wanted, up to where constraints lose rank; (t, x) is where the run ended."""
    lost = _lost(result, t, x)
    if lost is not None:
        result = _cut(result, lost)
    if len(times) == len(result.t) and np.array_equal(times, result.t):
        return result
    rows = np.flatnonzero(np.isin(result.t, times))
    return replace(
        result, t=result.t[rows], x=np.ascontiguousarray(result.x[rows]), m=result.m[rows],
        integrals=np.ascontiguousarray(result.integrals[rows]),
    )  # fmt: skip


def _lost(result: Result, t: float, x: np.ndarray) -> Lost | None:
    program = result.program
    if program.closing is None or not program.closing.owners or len(result.t) < 3:
        return None
    course = result.t, result.x, result.m
    if t > result.t[-1] and np.isfinite(x).all():
        course = np.append(result.t, t), np.vstack([result.x, x]), np.vstack([result.m, result.m[-1:]])
    return lost_rank(program, result.p, *course, [event.time for event in result.events])


def _cut(result: Result, lost: Lost) -> Result:
    """The result up to what was lost, less the step across it."""
    named = " and ".join(f'"{path}"' for path in lost.elements)
    step = 2.0 * (result.t[-1] - result.t[0]) / max(result.statistics.steps, 1)
    count = max(int(np.searchsorted(result.t, lost.time - (0.0 if lost.contradiction else step))), 1)
    if lost.contradiction:
        kind, reason = "contradiction", f"constraints that repeat each other contradict each other here: {named}"
    else:
        kind = "singular position"
        reason = f"the constraints lose rank in a singular position: {named}; more than one motion goes on from there"
    place = min(max(int(np.searchsorted(result.t, lost.time)), 0), len(result.t) - 1)
    failure = describe(
        result.program, kind, reason, lost.time, result.x[place], lost.elements[0] if lost.elements else ""
    )
    return replace(
        result, t=result.t[:count], x=result.x[:count], m=result.m[:count], integrals=result.integrals[:count],
        events=tuple(event for event in result.events if event.time <= lost.time), failure=failure,
    )  # fmt: skip
