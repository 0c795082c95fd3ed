"""Command `screwbond maze`: run the ball maze or map its gains, and write files and pictures."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.maze.analysis import Margins, analyse
from screwbond.models.maze.graph import MazeParameters, read_maze
from screwbond.models.maze.pictures import (
    figure5,
    figure7,
    figure9,
    figure10,
    figure11,
    maze_scene,
    path_figure,
    robustness_figure,
)
from screwbond.models.maze.run import T_END, MazeRun, robustness, run_maze
from screwbond.models.pictures import Scene, movie, save_scene, still
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.studies.fields import check_record, number
from screwbond.models.studies.reading import make_from_input
from screwbond.models.studies.tasks import (
    Outcome,
    Picture,
    Table,
    Task,
    add_fields,
    add_solver,
    complex_pairs,
    cost_line,
    graph_files,
    plot,
    record_of,
    study_command,
)

PICTURES = ("figure5.png", "figure7.png", "figure9.png", "figure10.png", "figure11.png", "path.png", "maze.png", "scene.glb")
MOVIES = ("movie.mp4", "movie.gif")


def pictures_of(run: MazeRun) -> dict[str, Picture]:
    @cache
    def scene() -> Scene:
        return maze_scene(run)

    return {
        "figure5.png": plot(lambda path: figure5(run.maze, path)),
        "figure7.png": plot(lambda path: figure7(run.maze, path)),
        "figure9.png": plot(lambda path: figure9(run.maze, path)),
        "figure10.png": plot(lambda path: figure10(run, path)),
        "figure11.png": plot(lambda path: figure11(run, path)),
        "path.png": plot(lambda path: path_figure(run, path)),
        "scene.glb": Picture(lambda path: save_scene(scene(), path, seconds=12.0)),
        "maze.png": Picture(lambda path: still(scene(), path, float(run.t[-1]), size=(1280, 960)), rendering_problem, 3.0),
        "movie.mp4": Picture(
            lambda path, progress: movie(scene(), path, seconds=12.0, fps=24, progress=progress),
            rendering_problem,
            50.0,
            bar=True,
        ),
    }


def save_maze(run: MazeRun, out: Path, *, render: bool = True, only: Collection[str] = (), progress: bool = True) -> str:
    """Write the files of a run, or those in `only`, to the folder `out`; return the main figures as text."""
    return RUN.save(_outcome(run), out, render=render, only=only, progress=progress)


def _outcome(run: MazeRun) -> Outcome:
    rings, summary = [analyse(run.maze, i) for i in run.maze.rings], run.summary()
    summary["rings"] = {
        str(ring.i): {
            "poles": complex_pairs(ring.poles),
            "zeros_to_the_maze": complex_pairs(ring.maze.zeros),
            "closed_loop_poles": complex_pairs(ring.closed),
            "margins": {"hold": _margins(ring.hold), "turn": _margins(ring.turn), "both": _margins(ring.both)},
        }
        for ring in rings
    }
    files = {
        "trajectory.npz": run.trajectory,
        "events.json": run.event_table(),
        "maze.json": asdict(run.maze),
        **graph_files(run.compiled),
    }
    lines = [
        cost_line("ball maze", summary),
        *(f"  {kind} at {time:.6f} s" for kind, time in summary["events"].items()),
        f"  {'the ball is in the centre' if run.reached_centre else 'the ball has not reached the centre'};"
        f" ledger residual {summary['ledger_residual']:.1e} of the energy scale",
    ]
    for ring in rings:
        p, z, rightmost = ring.poles.real.max(), ring.maze.zeros.real.max(), ring.closed[-1].real
        lines.append(
            f"  ring {ring.i}: poles +-{p:.6g}, zeros +-{z:.6g}; with both loops, the rightmost pole is at {rightmost:.6g} 1/s"
        )
    return Outcome(summary, files, lines, pictures_of(run), run.notes, run.result.failure)


def _margins(margins: Margins | None) -> dict[str, Any] | None:
    return None if margins is None else asdict(margins)


def _maze(options: Namespace) -> MazeParameters:
    maze = MazeParameters() if options.maze is None else read_maze(options.maze)
    gains = {name: value for name in ("k1", "k2") if (value := getattr(options, name)) is not None}
    return make_from_input(lambda: replace(maze, **gains))


def _shared(parser: Any) -> None:
    parser.add_argument("--maze", type=Path, metavar="FILE.json", help="parameters (default: the maze of the paper)")
    parser.add_argument("--k1", type=float, metavar="K1", help="gain that holds the ball, N (default: from the maze)")
    parser.add_argument("--k2", type=float, metavar="K2", help="gain that turns the maze, N m/rad (default: from the maze)")


def _run_arguments(group: Any) -> None:
    group.add_argument("--t-end", type=float, default=T_END, help="end of the run, s (default %(default)g)")
    add_solver(group, 1e-10)


@dataclass(frozen=True)
class GainGrid:
    """Grid of a gain map: each gain ranges from the maze's gain divided by `spread` to the gain times `spread`."""

    points: int = number("", "number of values of each gain", 13, integer=True, least=2, most=200)
    spread: float = number("", "largest factor by which each gain is multiplied or divided", 3.0, above=1.0)
    until: float = number("s", "end of each run", 100.0, above=0.0)

    def __post_init__(self) -> None:
        check_record(self, "E533", "gain map", name="ball maze")

    def around(self, gain: float) -> np.ndarray:
        return gain * self.spread ** np.linspace(-1.0, 1.0, self.points)


FLAGS = {"--points": "points", "--spread": "spread", "--until": "until"}


def _map(maze: MazeParameters, options: Namespace) -> Outcome:
    grid = record_of(GainGrid, options, FLAGS)
    result = robustness(maze, grid.around(maze.k1), grid.around(maze.k2), t_end=grid.until)
    stable = result.worst < 0.0
    k1, k2 = (axis.ravel() for axis in np.meshgrid(result.k1, result.k2, indexing="ij"))
    rows = np.column_stack([k1, k2, result.rightmost.reshape(len(k1), -1), result.passed.ravel(), result.end.ravel()])
    heads = ("k1", "k2", *(f"rightmost_ring_{i}" for i in maze.rings), "events", "in_the_centre_at")
    summary = {
        "points": result.worst.size,
        "until": grid.until,
        "stable": int(stable.sum()),
        "finished": int(result.reached_centre.sum()),
        "stable_but_not_finished": int((stable & ~result.reached_centre).sum()),
        "finished_but_not_stable": int((~stable & result.reached_centre).sum()),
    }
    lines = [
        f"ball maze with {summary['points']} pairs of gains: {summary['stable']} are stable on all rings,"
        f" {summary['finished']} bring the ball to the centre within {grid.until:g} s",
        f"  {summary['stable_but_not_finished']} are stable but do not bring the ball there,"
        f" {summary['finished_but_not_stable']} bring the ball there but are not stable",
    ]
    pictures = {"robustness.png": plot(lambda path: robustness_figure(result, path))}
    return Outcome(summary, {"robustness.csv": Table(heads, rows)}, lines, pictures)


RUN = Task(
    "run of the ball through the maze, and analysis of every ring",
    _maze,
    lambda maze, options: _outcome(run_maze(maze, t_end=options.t_end, rtol=options.rtol, method=options.method)),
    files=("trajectory.npz", "events.json", "maze.json", "graph.svg", "equations.tex"),
    pictures=(*PICTURES, *MOVIES),
    arguments=_run_arguments,
    fields={"FILE.json": MazeParameters},
)
MAP = Task(
    "poles and runs over both gains",
    _maze,
    _map,
    files=("robustness.csv",),
    pictures=("robustness.png",),
    arguments=lambda group: add_fields(group, GainGrid, FLAGS),
)
TASKS = {"course": RUN, "gains": MAP}

MAZE_COMMAND = study_command("maze", TASKS, help="let a ball roll through a maze under control", arguments=_shared)
