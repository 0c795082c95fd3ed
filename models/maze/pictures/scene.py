"""3-D scene of a ball maze's run: rings on a disc that turns, the rolling ball, and its path on the disc."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from screwbond.models.maze.parameters import MazeParameters
from screwbond.models.maze.pictures.drawing import arc
from screwbond.models.maze.run import MazeRun
from screwbond.models.pictures import Curve, EventMark, Look, Panel, Scene, Solid, Trail
from screwbond.models.pictures.interpolation import Array, unrotated_poses
from screwbond.models.pictures.shapes.meshes import Mesh, circle, globe, joined, polyline, sheet
from screwbond.models.pictures.shapes.tubes import path_tube
from screwbond.models.pictures.style import AMBER, BLUE, FORCE, INK, MUTED, PATHS, rgb

VIEW, UP = np.array([0.10, -0.22, 0.97]), np.array([0.0, 1.0, 0.0])
"""Direction to the viewer, and up; axes to the right, up, and out of the plane of the maze."""

DISC, LINES = "#eef1f5", "#d5d9e0"
TUBE = 0.4
"""Radius of the rings' tubes over that of the ball."""


def maze_scene(run: MazeRun, title: str = "Ball maze") -> Scene:
    """Return the scene of a run, in slow motion from each gate to the landing behind it."""
    maze, t, count = run.maze, run.t, len(run.t)
    out = np.tile([0.0, 0.0, 1.0], (count, 1))
    ball = np.column_stack([run["q.ball"], np.zeros(count)])
    path = np.column_stack([run.path, np.full(count, -0.8 * maze.ball_radius)])
    solids = (
        Solid("maze", turned(np.zeros((count, 3)), run["q.maze"]), maze_mesh(maze), BLUE[0], look=Look.OPAQUE),
        Solid("ball", turned(ball, run["q.spin"]), _ball_mesh(maze.ball_radius), AMBER[0], look=Look.OPAQUE),
    )
    angles = (Curve("maze $q_1$", run["q.maze"], PATHS[1]), Curve("reference", run["reference.y"], MUTED, 1))
    return Scene(
        title,
        t,
        solids,
        paths=(Trail(path, out, AMBER[1], "path of the ball in the maze", on=0, thick=2.2),),
        panels=(
            Panel("angle", "rad", angles, key=True),
            Panel("ball aside", "m", (Curve("$q_2$", run["q.ball"][:, 0], PATHS[0]),), level=True),
            Panel("force of the ring", "N", (Curve("", run.force, FORCE),)),
        ),
        event_marks=tuple(EventMark(e.time, f"{e.kind} at {e.time:.2f} s", e.internal) for e in run.events),
        size=0.25 * maze.radii[0],
        view=VIEW,
        up=UP,
        slow_motion=_slow(run),
        result=run.result,
    )


def _slow(run: MazeRun, before: float = 0.1, after: float = 0.5) -> tuple[tuple[float, float], ...]:
    """Return the intervals from each gate to the landing behind it, s."""
    times = [event.time for event in run.events[1:]]
    ends = [*times[1::2], *([float(run.t[-1])] if len(times) % 2 else [])]
    return tuple((start - before, min(end + after, float(run.t[-1]))) for start, end in zip(times[::2], ends, strict=True))


def turned(positions: Array, angle: Array) -> Array:
    """Return poses (k, 4, 4) at positions (k, 3), turned by angles (k,) about the axis of the maze."""
    H = unrotated_poses(positions)
    c, s = np.cos(angle), np.sin(angle)
    H[:, 0, 0], H[:, 0, 1], H[:, 1, 0], H[:, 1, 1] = c, -s, s, c
    return H


def maze_mesh(maze: MazeParameters) -> Mesh:
    """Return the mesh of rings with their gates on a disc with spokes."""
    thick, behind = TUBE * maze.ball_radius, -1.05 * maze.ball_radius
    edge = maze.distance(1) + 2.0 * maze.ball_radius
    rings = [_ring(maze, i, thick) for i in maze.rings]
    spokes = []
    for angle in np.arange(12) * np.pi / 6.0:
        reach = np.array([0.3 * maze.radii[-1], edge])
        ends = np.column_stack([reach * np.cos(angle), reach * np.sin(angle), np.full(2, 0.98 * behind)])
        spokes.append(polyline(ends).painted(LINES))
    return joined(sheet(circle(edge, behind, 160)).painted(DISC), *spokes, *(ring.painted(BLUE[1]) for ring in rings))


def _ring(maze: MazeParameters, i: int, thick: float) -> Mesh:
    """Return a tube whose outer side is the ring that the ball rolls on."""
    at, radius = arc(maze, i), maze.radii[i - 1] - thick
    points = np.stack([radius * np.cos(at), radius * np.sin(at), np.zeros_like(at)], axis=1)
    return Mesh(*path_tube(points, np.tile([0.0, 0.0, 1.0], (len(at), 1)), np.full(len(at), thick)))


def _ball_mesh(radius: float) -> Mesh:
    """Return a ball in two colours, four sectors, which show that it rolls."""
    ball = globe(radius, rings=20, sides=48)
    sector = np.floor(4.0 * np.arctan2(ball.normals[:, 1], ball.normals[:, 0]) / (2.0 * np.pi)).astype(int) % 2
    return replace(ball, colours=np.array([rgb(AMBER[0]), rgb(INK)])[sector] / 255.0)
