"""What a finished run says of itself: results are cut off where its constraints no longer decided the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph.run.program import Program
from bondgraph.run.results.failure import describe
from bondgraph.run.results.result import Result
from bondgraph.run.validation.constraint_matrix import ClosingMatrix
from bondgraph.run.validation.constraint_rank import LostRank, lost_rank

GRID = 501
"""Times at least at which constraints are looked at."""

MOST = 5000
"""Times at most, of longer results every so many."""

SAME = 1e-3
"""Part of the distance of these times within which one is another that is asked for, but for rounding."""


def is_watched(program: Program) -> bool:
    """Whether constraints are looked at along a run: whether they lose rank, or contradict each other."""
    return program.closing is not None and bool(program.closing.owners)


def watched_times(program: Program, since: np.ndarray, span: float) -> np.ndarray:
    """Sample times of a run, since its start: those that are wanted, and more where constraints are watched between them."""
    if not is_watched(program) or len(since) >= GRID:
        return since
    grid = np.linspace(0.0, span, GRID)
    after = np.searchsorted(since, grid)
    apart = np.minimum(np.abs(grid - since[np.maximum(after - 1, 0)]), np.abs(grid - since[np.minimum(after, len(since) - 1)]))
    return np.union1d(since, grid[apart > SAME * span / GRID])


def stride_of(times: int) -> int:
    """Of so many times every how many are looked at."""
    return -(-times // MOST)


def judged(result: Result, origin: float, wanted: tuple[np.ndarray, np.ndarray], end: tuple[float, np.ndarray]) -> Result:
    """The result of a run that began at `origin`, up to where its constraints lose rank.

    Parameters
    ----------
    wanted : sample times since the start, and on the user's clock; the result may have more.
    end : time since the start and state where the run ended.
    """
    lost = _lost(result, origin, *end)
    if lost is not None:
        result = _cut(result, origin, lost)
    since, dates = wanted
    if len(result.since) <= len(since) and np.array_equal(since[: len(result.since)], result.since):
        return result
    rows = np.flatnonzero(np.isin(result.since, since))
    result = _with_rows(result, rows)
    return replace(result, t=dates[: len(rows)].copy())


def _with_rows(result: Result, rows: np.ndarray) -> Result:
    return replace(
        result,
        t=result.t[rows],
        since=result.since[rows],
        x=np.ascontiguousarray(result.x[rows]),
        m=result.m[rows],
        integrals=np.ascontiguousarray(result.integrals[rows]),
    )


def _lost(result: Result, origin: float, t: float, x: np.ndarray) -> LostRank | None:
    program = result.program
    if not is_watched(program) or len(result.since) < 3:
        return None
    stride = stride_of(len(result.since))
    course = result.since[::stride], result.x[::stride], result.m[::stride]
    if t > result.since[-1] and np.isfinite(x).all():
        course = np.append(course[0], t), np.vstack([course[1], x]), np.vstack([course[2], course[2][-1:]])
    closures = ClosingMatrix(program, result.p, origin)
    return lost_rank(closures, *course, result.events.times - origin)


def _cut(result: Result, origin: float, lost: LostRank) -> Result:
    """The result up to what was lost, less the step across it."""
    named = " and ".join(f'"{path}"' for path in lost.elements)
    step = 2.0 * (result.since[-1] - result.since[0]) / max(result.statistics.steps, 1)
    count = max(int(np.searchsorted(result.since, lost.time - (0.0 if lost.contradiction else step))), 1)
    if lost.contradiction:
        kind, reason = "contradiction", f"constraints that repeat each other contradict each other here: {named}"
    else:
        kind = "singular position"
        reason = f"the constraints lose rank in a singular position: {named}; more than one motion goes on from there"
    place = min(int(np.searchsorted(result.since, lost.time)), len(result.since) - 1)
    time, suspect = origin + lost.time, lost.elements[0] if lost.elements else ""
    failure = describe(result.program, kind, reason, time, result.x[place], suspect)
    events = result.events.select(result.events.times <= time)
    return replace(_with_rows(result, np.arange(count)), events=events, failure=failure)
