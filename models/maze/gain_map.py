"""Robustness of a ball maze over both gains: closed-loop poles, and runs that reach the centre."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from screwbond.models.maze.analysis import rightmost
from screwbond.models.maze.parameters import MazeParameters
from screwbond.models.maze.run import T_END, run_maze

from bondgraph.errors import RunEndedWarning, refusal
from bondgraph.output.progress import track
from screws.renamed import answer_old_names


@answer_old_names
@dataclass(frozen=True, eq=False)
class RobustnessMap:
    """Closed-loop poles and runs over gains k1 (n,) and k2 (m,).

    Parameters
    ----------
    rightmost : largest real part of the closed loop's poles on each ring (n, m, rings), 1/s.
    passed : number of events in a run (n, m); a complete run has two for each ring.
    end : time at which the ball falls through the last gate (n, m), s; nan without.
    """

    maze: MazeParameters
    k1: np.ndarray
    k2: np.ndarray
    rightmost: np.ndarray
    passed: np.ndarray
    end: np.ndarray

    @property
    def worst(self) -> np.ndarray:
        """Largest real part on any ring (n, m), 1/s."""
        return np.asarray(self.rightmost.max(axis=2))

    @property
    def reached_centre(self) -> np.ndarray:
        """True where the ball reaches the centre (n, m)."""
        return np.isfinite(self.end)


def robustness(
    maze: MazeParameters,
    k1: Sequence[float] | np.ndarray,
    k2: Sequence[float] | np.ndarray,
    *,
    t_end: float = T_END,
    progress: bool = True,
) -> RobustnessMap:
    """Map the poles on every ring, and a run of `t_end` s, over pairs of gains, N and N m/rad. Raise E533 for invalid gains.

    Stable loops on all rings do not prove that the ball finishes, since the jump of the reference may throw it off; unstable ones
    do not prove the opposite: with a slow pole the ball may reach the gate in time.
    """
    gains = [_gains(name, values) for name, values in (("k1", k1), ("k2", k2))]
    shape = (len(gains[0]), len(gains[1]))
    passed, end = np.zeros(shape, dtype=int), np.full(shape, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunEndedWarning)
        for at in track([*np.ndindex(shape)], "courses over both gains", progress=progress):
            pair = float(gains[0][at[0]]), float(gains[1][at[1]])
            run = run_maze(maze, gains=pair, t_end=t_end, samples=t_end, rtol=1e-8)
            passed[at] = len(run.events)
            end[at] = run.events[-1].time if run.reached_centre else np.nan
    return RobustnessMap(maze, gains[0], gains[1], rightmost(maze, *gains), passed, end)


def _gains(name: str, values: Sequence[float] | np.ndarray) -> np.ndarray:
    try:
        gains = np.array(values, dtype=float)
    except (TypeError, ValueError):
        gains = np.empty(0)
    if gains.ndim != 1 or not len(gains) or not np.all(np.isfinite(gains)):
        title = f"{name} = {values!r} is no list of gains"
        raise refusal("E533", title, "finite numbers, one or more", about="ball maze", places=())
    return gains
