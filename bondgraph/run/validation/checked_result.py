"""Result of a run, cut off where its constraints no longer determine the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph.run.program import Program
from bondgraph.run.results.failure import describe
from bondgraph.run.results.result import Result
from bondgraph.run.validation.constraint_matrix import ConstraintMatrix
from bondgraph.run.validation.constraint_rank import RankLoss, find_rank_loss

MIN_CHECKED = 501

MAX_CHECKED = 5000
"""Maximum number of times at which constraints are checked; longer results are checked with a stride."""

SAME_TIME = 1e-3
"""Fraction of the distance between checked times below which a checked time counts as equal to a requested time."""


def has_constraints(program: Program) -> bool:
    return program.closing is not None and bool(program.closing.owners)


def checked_times(checked: bool, since: np.ndarray, span: float) -> np.ndarray:
    """Return the sample times of a run since its start: the requested times and, if `checked` and these are fewer than
    `MIN_CHECKED`, further times for the checks of constraints or contacts."""
    if not checked or len(since) >= MIN_CHECKED:
        return since
    grid = np.linspace(0.0, span, MIN_CHECKED)
    after = np.searchsorted(since, grid)
    distance = np.minimum(np.abs(grid - since[np.maximum(after - 1, 0)]), np.abs(grid - since[np.minimum(after, len(since) - 1)]))
    return np.union1d(since, grid[distance > SAME_TIME * span / MIN_CHECKED])


def check_stride(times: int) -> int:
    return -(-times // MAX_CHECKED)


def checked_result(result: Result, origin: float, requested: tuple[np.ndarray, np.ndarray], lost: RankLoss | None) -> Result:
    """Return the requested samples of a run that began at `origin`, up to the loss of rank `lost`, if any.

    Parameters
    ----------
    requested : sample times since the start and on the user's clock, (k,) s each; `result` may have more samples.
    """
    if lost is not None:
        result = _truncated(result, origin, lost)
    since, dates = requested
    if len(result.since) <= len(since) and np.array_equal(since[: len(result.since)], result.since):
        return result
    rows = np.flatnonzero(np.isin(result.since, since))
    result = result.rows(rows)
    return replace(result, t=dates[: len(rows)].copy())


def rank_loss(result: Result, origin: float, t: float, x: np.ndarray, arrival: bool = False) -> RankLoss | None:
    """Return the first loss of rank in a run that began at `origin` and ended t s later in the state x (n,); None if none is
    found. With `arrival`, the motion after a singular position is ignored."""
    program = result.program
    if not has_constraints(program) or len(result.since) < 3:
        return None
    stride = check_stride(len(result.since))
    samples = result.since[::stride], result.x[::stride], result.m[::stride]
    if t > result.since[-1] and np.isfinite(x).all():
        samples = np.append(samples[0], t), np.vstack([samples[1], x]), np.vstack([samples[2], samples[2][-1:]])
    constraints = ConstraintMatrix(program, result.p, origin)
    return find_rank_loss(constraints, *samples, result.events.times - origin, arrival)


def _truncated(result: Result, origin: float, lost: RankLoss) -> Result:
    named = " and ".join(f'"{path}"' for path in lost.elements)
    step = 2.0 * (result.since[-1] - result.since[0]) / max(result.statistics.steps, 1)
    count = max(int(np.searchsorted(result.since, lost.time - (0.0 if lost.contradiction else step))), 1)
    if lost.contradiction:
        kind, reason = "contradiction", f"redundant constraints contradict each other here: {named}"
    else:
        kind = "singular position"
        reason = f"the constraints lose rank in a singular position: {named}; more than one motion is possible from there"
    index = min(int(np.searchsorted(result.since, lost.time)), len(result.since) - 1)
    time, suspect = origin + lost.time, lost.elements[0] if lost.elements else ""
    failure = describe(result.program, kind, reason, time, result.x[index], suspect)
    events = result.events.select(result.events.times <= time)
    return replace(result.rows(np.arange(count)), events=events, failure=failure)
