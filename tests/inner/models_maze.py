"""Internal names of `screwbond.models.maze` that tests use."""

# ruff: noqa: F401

from screwbond.models.maze.command import MAP, MOVIES, PICTURES, RUN, TASKS, GainGrid
from screwbond.models.maze.graph import AT_GATE, DISTANCE, ROLLING, MazeParameters
from screwbond.models.maze.pictures import (
    arc,
    figure5,
    figure7,
    figure9,
    figure10,
    figure11,
    gate_half_angle,
    maze_mesh,
    maze_scene,
    path_figure,
)
