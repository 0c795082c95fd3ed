"""Pictures of a ball maze's run: a run in; its figures, a still and a movie, as they can be drawn, out."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from screwbond.models.maze.pictures.figures import figure5, figure7, figure9, figure10, figure11, path_figure
from screwbond.models.maze.pictures.scene import maze_scene
from screwbond.models.maze.run import MazeRun
from screwbond.models.pictures import Scene, movie, still
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.studies.artefacts import Picture, plot

PICTURES = ("figure5.png", "figure7.png", "figure9.png", "figure10.png", "figure11.png", "path.png", "maze.png")
MOVIES = ("movie.mp4", "movie.gif")


def pictures_of(run: MazeRun) -> dict[str, Picture]:
    """`PICTURES` and a movie."""

    @cache
    def scene() -> Scene:
        return maze_scene(run)

    def film(path: Path, progress: bool) -> None:
        movie(scene(), path, seconds=12.0, fps=24, progress=progress)

    return {
        "figure5.png": plot(lambda path: figure5(run.maze, path)),
        "figure7.png": plot(lambda path: figure7(run.maze, path)),
        "figure9.png": plot(lambda path: figure9(run.maze, path)),
        "figure10.png": plot(lambda path: figure10(run, path)),
        "figure11.png": plot(lambda path: figure11(run, path)),
        "path.png": plot(lambda path: path_figure(run, path)),
        "maze.png": Picture(lambda path: still(scene(), path, float(run.t[-1]), size=(1280, 960)), rendering_problem, 3.0),
        "movie.mp4": Picture(film, rendering_problem, 50.0, bar=True),
    }
