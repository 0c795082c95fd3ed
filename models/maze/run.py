"""Run of a ball maze, with its events, forces and the ball's path in the rotating maze; map of runs and poles over the gains
k1 and k2."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.maze.analysis import GAINS, closed_loop_poles, compiled_maze, rightmost
from screwbond.models.maze.graph import MazeParameters
from screwbond.models.studies.tasks import cost_summary, end_summary, wall_times

from bondgraph import Compiled
from bondgraph.errors import RunEndedWarning, refusal
from bondgraph.output.progress import track
from bondgraph.run.events.records import Event
from bondgraph.run.results.result import Result
from screws.names import answer_old_names
from screws.numeric_arguments import reals, shown

T_END = 45.0
"""Default end of a run, s: in the maze of the paper, the ball has fallen through the last gate but has not met the inner side of
the last ring."""


@answer_old_names
@dataclass(frozen=True, eq=False)
class MazeRun:
    """Run of a maze; `run["q.ball"]` returns a quantity by name.

    Parameters
    ----------
    maze : the maze, with the gains of the run.
    result : result with the names of the graph.
    """

    maze: MazeParameters
    result: Result
    compiled: Compiled = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.result[name]

    @property
    def t(self) -> np.ndarray:
        """Sample times (k,), s."""
        return self.result.t

    @property
    def events(self) -> tuple[Event, ...]:
        """Landings and passages through gates, excluding an event that ended the run."""
        return tuple(event for event in self.result.events if not np.array_equal(event.m_before, event.m_after))

    @property
    def reached_centre(self) -> bool:
        """True if the ball has fallen through the last gate."""
        return bool(len(self.events) == len(self.maze.states) - 1)

    @cached_property
    def states(self) -> list[str]:
        """Name of the state of `course` at each sample."""
        names = list(self.maze.states)
        return [names[int(mode)] for mode in self["course.mode"]]

    @cached_property
    def distance(self) -> np.ndarray:
        """Distance between the centres of the maze and a ball on the current ring, at each sample (k,), m."""
        return self["normal.radius"] + self.maze.ball_radius

    @cached_property
    def force(self) -> np.ndarray:
        """Normal force of the ring on the ball (k,), N: 2 |q| lambda_1 at the ball's position q, since |dh_1 / dq| = 2 |q|."""
        return 2.0 * np.linalg.norm(self["q.ball"], axis=1) * self["normal.multiplier"]

    @cached_property
    def gap(self) -> np.ndarray:
        """Distance of the ball from the current ring (k,), m, negative inside it."""
        return np.linalg.norm(self["q.ball"], axis=1) - self.distance

    @cached_property
    def on_ring(self) -> np.ndarray:
        """True while the ball is on a ring (k,)."""
        return np.array([state.startswith("ring") for state in self.states])

    @cached_property
    def path(self) -> np.ndarray:
        """Positions of the ball in the axes of the maze (k, 2), m."""
        return in_the_maze(self["q.ball"], self["q.maze"])

    @cached_property
    def trajectory(self) -> dict[str, np.ndarray]:
        """Arrays over the sample times t (k,), SI units.

        Arrays
        ------
        q, v : (k, 4) angle of the maze, position of the ball to the right and up, its spin, and their rates.
        h, lambda : (k, 2) values and multipliers of both constraints.
        force, gap : (k,) normal force, and distance of the ball from its ring.
        mode : (k,) index of the state of the course.
        reference : (k,) desired angle of the maze.
        torque, torques : (k,) of the motor, and (k, 2) of the two loops.
        path : (k, 2) position of the ball in the maze's axes.
        """
        stack = np.column_stack
        return {
            "t": self.t,
            "q": stack([self["q.maze"], self["q.ball"], self["q.spin"]]),
            "v": stack([self["maze.flow"], self["ball.flow"], self["spin.flow"]]),
            "h": stack([self["normal.h"], self["rolling.h"]]),
            "lambda": stack([self["normal.multiplier"], self["rolling.multiplier"]]),
            "force": self.force,
            "gap": self.gap,
            "mode": self["course.mode"],
            "reference": self["reference.y"],
            "torque": self["motor.effort"],
            "torques": stack([self["u1.y"], self["u2.y"]]),
            "path": self.path,
        }

    def event_table(self) -> list[dict[str, Any]]:
        """Return time, kind, maze angle and ball position of every event, the ball's velocity before it, and states and forces
        before and after it."""
        names, table = list(self.maze.states), []
        for event in self.events:
            mode, ball, maze, speed, factor = (
                self.result.at_event(event, name)
                for name in ("course.mode", "q.ball", "q.maze", "ball.flow", "normal.multiplier")
            )
            table.append(
                {
                    "time": event.time,
                    "kind": event.kind,
                    "from": names[int(mode[0])],
                    "to": names[int(mode[1])],
                    "maze": float(maze[0]),
                    "ball": ball[0].tolist(),
                    "ball_in_maze": in_the_maze(ball[0], maze[0]).tolist(),
                    "velocity": speed[0].tolist(),
                    "force_before": float(2.0 * np.linalg.norm(ball[0]) * factor[0]),
                    "force_after": float(2.0 * np.linalg.norm(ball[1]) * factor[1]),
                }
            )
        return table

    def summary(self) -> dict[str, Any]:
        """Return the content of summary.json: progress of the ball, forces, depths, closed-loop poles, energy and cost."""
        poles = {str(i): float(closed_loop_poles(self.maze, i).real.max()) for i in self.maze.rings}
        return {
            **end_summary(self.result),
            "finished": self.reached_centre,
            "state": self.states[-1],
            "events": {event.kind: event.time for event in self.events},
            "largest_force": float(self.force.max()),
            "weight": self.maze.ball_mass * self.maze.gravity,
            "deepest": float(max(-self.gap[self.on_ring].min(initial=0.0), 0.0)),
            "largest_torque": float(np.abs(self["motor.effort"]).max()),
            "rightmost_closed_loop_pole": poles,
            **cost_summary(self.result, wall_times(self.compiled, self.result)),
        }

    @property
    def notes(self) -> list[str]:
        """Warnings about rings on which the loops do not hold the ball."""
        poles = ((i, closed_loop_poles(self.maze, i)[-1]) for i in self.maze.rings)
        gains = f"k1 = {self.maze.k1:g} and k2 = {self.maze.k2:g}"
        return [
            f"with {gains} the ball does not stay on ring {i}: a pole is at {pole_text(pole)} 1/s"
            for i, pole in poles
            if pole.real >= 0.0
        ]


def pole_text(pole: complex) -> str:
    return f"{pole.real:.4g}" + (f" +- {abs(pole.imag):.4g}j" if abs(pole.imag) > 1e-9 * abs(pole) else "")


def in_the_maze(ball: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return positions (..., 2) in the axes of a maze that has turned by angles (...) counterclockwise."""
    (x, y), c, s = np.moveaxis(ball, -1, 0), np.cos(angle), np.sin(angle)
    return np.stack([c * x + s * y, c * y - s * x], axis=-1)


def run_maze(
    maze: MazeParameters | None = None,
    *,
    t_end: float = T_END,
    samples: float = 0.01,
    rtol: float = 1e-10,
    gains: tuple[float, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> MazeRun:
    """Run a maze. The compiled graph is cached and reused for other gains and graph `parameters`.

    Parameters
    ----------
    maze : by default the maze of the paper.
    t_end, samples : end of the run and time between samples, s; the end is a sample too.
    gains : k1 and k2 that replace the maze's, N and N m/rad.
    parameters, rtol, settings : as for `simulate`, but without a progress bar by default.

    If the ball leaves its ring, the run ends with a `result.failure`, not an exception. Raises `ModelError` E533 for gains that
    are not two finite numbers.
    """
    maze = maze or MazeParameters()
    compiled = compiled_maze(maze)
    if gains is not None:
        maze = _with_gains(maze, gains)
    changed = {**dict(zip(GAINS, (maze.k1, maze.k2), strict=True)), **(parameters or {})}
    result = compiled.simulate(t_end, samples=samples, rtol=rtol, parameters=changed, **{"progress": False, **settings})
    return MazeRun(maze, result, compiled)


def _with_gains(maze: MazeParameters, gains: Any) -> MazeParameters:
    pair = reals(gains, 2)
    if pair is None:
        title = f"gains = {shown(gains)} are not k1 and k2"
        raise refusal("E533", title, "two finite numbers, in N and N m/rad: gains=(0.32, 0.04)", about="ball maze", places=())
    return replace(maze, k1=float(pair[0]), k2=float(pair[1]))


@answer_old_names
@dataclass(frozen=True, eq=False)
class RobustnessMap:
    """Closed-loop poles and runs over gains k1 (n,) and k2 (m,).

    Parameters
    ----------
    rightmost : largest real part of the closed-loop poles on each ring (n, m, rings), 1/s.
    passed : number of events in a run (n, m); a complete run has two for each ring.
    end : time at which the ball falls through the last gate (n, m), s; nan if it does not.
    """

    maze: MazeParameters
    k1: np.ndarray
    k2: np.ndarray
    rightmost: np.ndarray
    passed: np.ndarray
    end: np.ndarray

    @property
    def worst(self) -> np.ndarray:
        """Largest real part of the closed-loop poles on any ring (n, m), 1/s."""
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
    """Map the poles on every ring, and runs of `t_end` s, over pairs of gains, N and N m/rad.

    Raises `ModelError` E533 for invalid gains.

    Stable loops on all rings do not imply that the ball finishes, since the jump of the reference may throw it off; nor do
    unstable loops imply the opposite, since with a slow pole the ball may reach the gate in time.
    """
    gains = [_gains(name, values) for name, values in (("k1", k1), ("k2", k2))]
    shape = (len(gains[0]), len(gains[1]))
    passed, end = np.zeros(shape, dtype=int), np.full(shape, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunEndedWarning)
        for at in track([*np.ndindex(shape)], "runs over both gains", progress=progress):
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
        title = f"{name} = {values!r} is not a list of gains"
        raise refusal("E533", title, "at least one finite number", about="ball maze", places=())
    return gains
