"""Guards that rise to zero in a step that is already taken, and maybe fall again before its end -> the first such crossing.

What `crossings` does in machine code while a step is taken, here for integrators that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.run.events.root_finding import EPSILON, PLACES

_GRID, _ZOOMS, _SURE = 17, 14, 2


@dataclass(frozen=True)
class Crossing:
    """Time at which guards rise to zero, s, and which do."""

    time: float
    guards: tuple[int, ...]


Course = Callable[[np.ndarray], np.ndarray]
"""Times (k,) -> values (k, ...)."""


def first_crossing(
    guards: Course, ends: tuple[float, float], at_ends: tuple[np.ndarray, np.ndarray], levels: np.ndarray
) -> tuple[Crossing | None, np.ndarray]:
    """The first time in a step at which a guard rises through its level, None where none does; and the levels after the step.

    Parameters
    ----------
    guards : in the step, (k, guards); ends, at_ends : the times of its ends, s, and the guards there, (guards,).
    levels : (guards,); each counts until its guard has been below both zero and it.
    """
    start, end = ends
    times = start + (end - start) * np.array(PLACES)
    values = np.vstack([at_ends[0], guards(times[1:-1]), at_ends[1]])
    times[-1] = end
    held = np.where(np.logical_or.accumulate(values < -np.abs(levels), axis=0), 0.0, levels)
    values = values - held
    found: list[tuple[float, int]] = []
    for i in range(len(levels)):
        for k, rises in _suspects(values[:, i]):
            low, high = float(times[k if rises else k - 1]), float(times[k + 1])
            if found and low > min(found)[0]:
                break
            at = _rise(lambda t, i=i, level=held[k, i]: guards(t)[:, i] - level, low, high, rises)  # type: ignore[misc]
            if at is not None:
                found.append((at, i))
                break
    if not found:
        return None, held[-1]
    first = min(found)[0]
    near = 32.0 * EPSILON * max(abs(first), end - start)
    return Crossing(first, tuple(sorted(i for at, i in found if at <= first + near))), held[-1]


def _suspects(values: np.ndarray) -> list[tuple[int, bool]]:
    """Places (k,) below zero around which a guard has a crest, or after which it is not (True), in order."""
    rises = (values[:-1] < 0.0) & (values[1:] >= 0.0)
    left, middle, right = values[:-2], values[1:-1], values[2:]
    high = middle - np.minimum(left, right) > 8.0 * EPSILON * np.abs(middle)
    crests = (middle < 0.0) & (middle >= left) & (middle >= right) & high
    places = [*np.flatnonzero(rises).tolist(), *(np.flatnonzero(crests) + 1).tolist()]
    return sorted((k, bool(rises[k])) for k in places)


def _rise(guard: Course, low: float, high: float, rises: bool) -> float | None:
    """Where a guard rises to zero in an interval: by ever finer grids, around its highest value until it is known that it
    `rises`."""
    sure = 0
    for _ in range(_ZOOMS):
        grid = np.linspace(low, high, _GRID)
        values = guard(grid)
        up = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
        if len(up):
            low, high, rises = float(grid[up[0]]), float(grid[up[0] + 1]), True
            if high - low <= 2.0 * np.spacing(high):
                return high
            continue
        if rises:
            return high  # at an end of the step, where the course is off by rounding
        if values.max() >= 0.0:
            return None  # positive from the start: it has risen before
        top = int(np.argmax(values))
        before, after = max(top - 1, 0), min(top + 1, _GRID - 1)
        rise = float(values[top] - min(values[before], values[after]))
        sure = sure + 1 if values[top] + 2.0 * rise < 0.0 else 0
        if sure >= _SURE and np.all(np.diff(values, 2) <= 0.0):
            return None
        low, high = float(grid[before]), float(grid[after])
    return high if rises else None
