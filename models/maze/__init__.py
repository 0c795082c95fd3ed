"""Ball maze: graph with state machine and control loops, runs, linear analysis of each ring, and a gain map."""

from screwbond.models.maze.analysis import Margins, RingAnalysis, analyse, closed_loop_poles, linearise_maze, margins, root_locus
from screwbond.models.maze.command import save_maze
from screwbond.models.maze.graph import MazeParameters, maze_automaton, maze_graph, read_maze
from screwbond.models.maze.run import MazeRun, RobustnessMap, robustness, run_maze

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "Margins",
    "MazeParameters",
    "MazeRun",
    "RingAnalysis",
    "RobustnessMap",
    "analyse",
    "closed_loop_poles",
    "maze_automaton",
    "linearise_maze",
    "margins",
    "maze_graph",
    "read_maze",
    "robustness",
    "root_locus",
    "run_maze",
    "save_maze",
]

check_calls(__name__)
answer_old_names(__name__)
