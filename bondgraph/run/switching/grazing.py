"""Guards that rise to zero and fall again between the ends of steps that are already taken -> the first such crossing.

What `crossings` does in machine code while a step is taken, here for integrators whose events look at the ends of steps only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph.run.switching.crossings import EPSILON, PLACES

_GRID, _ZOOMS, _SURE = 17, 14, 2


@dataclass(frozen=True)
class Crossing:
    """Time at which guards rise to zero, s, and which do."""

    time: float
    guards: tuple[int, ...]


Guards = Callable[[np.ndarray], np.ndarray]
"""Times (k,) -> guards (k, guards)."""


def hidden_crossing(guards: Guards, ends: np.ndarray, levels: np.ndarray) -> Crossing | None:
    """The first time within steps, whose ends (k,) ascend, at which a guard rises through its level; None if there is none.

    A level (guards,) counts until its guard has been below both zero and it.
    """
    if not len(levels) or len(ends) < 2:
        return None
    starts, lengths = ends[:-1, None], np.diff(ends)[:, None]
    times = np.append((starts + lengths * np.array(PLACES[:-1])).ravel(), ends[-1])
    values = guards(times)
    ended = np.logical_or.accumulate(values < -np.abs(levels), axis=0)
    values = values - np.where(ended, 0.0, levels)
    found: list[tuple[float, int]] = []
    for i in range(values.shape[1]):
        level = np.where(ended[:, i], 0.0, levels[i])
        for k in _suspects(values[:, i]):
            if found and times[max(k - 1, 0)] > min(found)[0]:
                break
            at = _rise(functools.partial(_above, guards, i, float(level[k])), times[max(k - 1, 0) : k + 2])
            if at is not None:
                found.append((at, i))
                break
    if not found:
        return None
    first = min(found)[0]
    near = 32.0 * EPSILON * max(abs(first), float(ends[-1] - ends[0]))
    return Crossing(first, tuple(sorted(i for at, i in found if at <= first + near)))


def _above(guards: Guards, index: int, level: float, times: np.ndarray) -> np.ndarray:
    return guards(times)[:, index] - level


def _suspects(values: np.ndarray) -> list[int]:
    """Places (k,) below zero after which a guard is not, or around which it has a crest, in order."""
    rises = (values[:-1] < 0.0) & (values[1:] >= 0.0)
    left, middle, right = values[:-2], values[1:-1], values[2:]
    high = middle - np.minimum(left, right) > 8.0 * EPSILON * np.abs(middle)
    crests = (middle < 0.0) & (middle >= left) & (middle >= right) & high
    return sorted({*np.flatnonzero(rises).tolist(), *(np.flatnonzero(crests) + 1).tolist()})


def _rise(guard: Callable[[np.ndarray], np.ndarray], around: np.ndarray) -> float | None:
    """Where a guard rises to zero in an interval: by ever finer grids, around its highest value until that is not negative."""
    low, high, sure = float(around[0]), float(around[-1]), 0
    for _ in range(_ZOOMS):
        grid = np.linspace(low, high, _GRID)
        values = guard(grid)
        up = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
        if len(up):
            low, high = float(grid[up[0]]), float(grid[up[0] + 1])
            if high - low <= 2.0 * np.spacing(high):
                return high
            continue
        if values.max() >= 0.0:
            return None  # positive from the start: it has risen before
        top = int(np.argmax(values))
        before, after = max(top - 1, 0), min(top + 1, _GRID - 1)
        rise = float(values[top] - min(values[before], values[after]))
        sure = sure + 1 if values[top] + 2.0 * rise < 0.0 else 0
        if sure >= _SURE and np.all(np.diff(values, 2) <= 0.0):
            return None
        low, high = float(grid[before]), float(grid[after])
    return high if guard(np.array([low]))[0] < 0.0 <= guard(np.array([high]))[0] else None
