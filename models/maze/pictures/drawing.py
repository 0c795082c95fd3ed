"""Drawing of a maze in the plane: rings with gates, the ball, its path and a scale bar."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.maze.parameters import QUARTER, MazeParameters
from screwbond.models.pictures.style import AMBER, BLUE, round_number

from bondgraph.output.plot_style import INK, MUTED, SMALL

RING, BALL_COLOUR, PATH_COLOUR = BLUE[1], AMBER[0], AMBER[1]

GATE_WIDTH = 1.6
"""Width of a gate over the ball's diameter, in pictures; in the model it is a point."""


def gate_half_angle(maze: MazeParameters, i: int) -> float:
    """Return half the angle of the gate of ring i, rad."""
    return float(np.arcsin(min(GATE_WIDTH * maze.ball_radius / maze.radii[i - 1], 0.9)))


def arc(maze: MazeParameters, i: int) -> np.ndarray:
    """Return angles (k,) of ring i in the maze's own axes, from one side of its gate round to the other, rad."""
    half = gate_half_angle(maze, i)
    return QUARTER - maze.gates[i - 1] + np.linspace(half, 2.0 * np.pi - half, 181)


def draw_maze(
    axes: Any,
    maze: MazeParameters,
    angle: float,
    ball: np.ndarray | None = None,
    spin: float = 0.0,
    *,
    path: np.ndarray | None = None,
    scale: bool = True,
    room: float | None = None,
) -> None:
    """Draw a maze turned by an angle (rad), the ball at its position (2,) turned by `spin`, a `path` (k, 2) in world axes, and a
    `scale` bar; to `room` (m) on all sides of the centre, by default as far as maze and ball reach."""
    from matplotlib.patches import Circle

    for i, radius in enumerate(maze.radii, start=1):
        at = arc(maze, i) + angle
        axes.plot(radius * np.cos(at), radius * np.sin(at), color=RING, linewidth=1.8, solid_capstyle="butt")
    # A cross in the axes of the maze shows how it has turned.
    mark = 0.22 * maze.radii[-1]
    for turn, colour in ((0.0, INK), (QUARTER, MUTED)):
        axes.plot([0.0, mark * np.cos(angle + turn)], [0.0, mark * np.sin(angle + turn)], color=colour, linewidth=1.4)
    if path is not None:
        axes.plot(*path.T, color=PATH_COLOUR, linewidth=0.9)
    if ball is not None:
        axes.add_patch(Circle(tuple(ball), maze.ball_radius, facecolor=BALL_COLOUR, edgecolor=INK, linewidth=0.8, zorder=5))
        tip = ball + maze.ball_radius * np.array([np.cos(spin), np.sin(spin)])
        axes.plot(*np.stack([ball, tip]).T, color=INK, linewidth=0.8, zorder=6)
    if room is None:
        room = 1.06 * max(maze.radii[0], 0.0 if ball is None else float(np.linalg.norm(ball)) + maze.ball_radius)
    if scale:
        _scale(axes, room)
    axes.set(xlim=(-room, room), ylim=(-room, room), aspect="equal")
    axes.set_axis_off()


def _scale(axes: Any, room: float) -> None:
    """Draw a scale bar of a round length in the lower left corner of a square from -room to room, m."""
    length = round_number(0.3 * room)
    at = np.array([-0.97 * room, -0.97 * room + length]), np.full(2, -0.96 * room)
    axes.plot(*at, color=INK, linewidth=1.4, solid_capstyle="butt", marker="|", markersize=6.0)
    axes.annotate(
        f"{length:g} m", (float(np.mean(at[0])), at[1][0]), (0, 4), textcoords="offset points", ha="center", fontsize=SMALL
    )
