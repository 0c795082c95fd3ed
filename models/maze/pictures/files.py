"""Pictures of a ball maze's run: a run and a folder in; every picture that can be made in it, and what is missing, out."""

from __future__ import annotations

from pathlib import Path

from bondgraph.output.extras import lacking
from models.maze.pictures.figures import figure5, figure7, figure9, figure10, figure11, path_figure
from models.maze.pictures.scene import maze_scene
from models.maze.run import MazeRun
from models.pictures import movie, rendering, still

PICTURES = ("figure5.png", "figure7.png", "figure9.png", "figure10.png", "figure11.png", "path.png", "maze.png")
MOVIES = ("movie.mp4", "movie.gif")


def write_pictures(run: MazeRun, folder: Path) -> str:
    """Write `PICTURES` and a movie. Returns one line that says what is missing and why, or ""."""
    missing = lacking("matplotlib")
    if missing:
        return f"no pictures: {missing}"
    figure5(run.maze, folder / "figure5.png")
    figure7(run.maze, folder / "figure7.png")
    figure9(run.maze, folder / "figure9.png")
    figure10(run, folder / "figure10.png")
    figure11(run, folder / "figure11.png")
    path_figure(run, folder / "path.png")
    works, reason = rendering()
    if not works:
        return f"no pictures of the scene: {reason}"
    scene = maze_scene(run)
    still(scene, folder / "maze.png", float(run.t[-1]), size=(1280, 960))
    movie(scene, folder / "movie.mp4", seconds=18.0, fps=12)
    return ""
