"""Inner names of `screwbond.models.maze` that tests look into."""

# ruff: noqa: F401

from screwbond.models.maze.command import MAP, MOVIES, PICTURES, RUN, TASKS, GainGrid
from screwbond.models.maze.graph import DISTANCE, ROLLING
from screwbond.models.maze.machine import AT_GATE
from screwbond.models.maze.parameters import MazeParameters
from screwbond.models.maze.pictures.drawing import arc, gate_half_angle
from screwbond.models.maze.pictures.figures import figure5, figure7, figure9, figure10, figure11, path_figure
from screwbond.models.maze.pictures.scene import maze_mesh, maze_scene
