"""Scenes of robots: links as solids at joint coordinates, for stills, movies and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.chains import Tree
from screwbond.models.chains.checks import as_floats
from screwbond.models.pictures import Frame, Look, Scene, Solid
from screwbond.models.pictures.from_results.links import LINKS, link_poses
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh, joined
from screwbond.models.urdf.link_visuals import LinkVisual
from screwbond.models.urdf.robot import Robot

from bondgraph.errors import caller_place, refusal

VIEW_DIRECTION = (0.72, -0.62, 0.32)


def robot_scene(
    robot: Robot, q: ArrayLike, t: ArrayLike | None = None, title: str = "", *, frames: Sequence[str] = (), **fields: Any
) -> Scene:
    """Return a scene of a robot's links with their meshes.

    Parameters
    ----------
    q : joint coordinates (n,) of one pose, or (k, n) over times; a result has them as `result["<graph>.mechanism.q"]`.
    t : (k,) s; 0, 1, ... where None.
    title : heading; the robot's name where "".
    frames : links whose frames are shown, with their names.
    fields : further fields of the scene, such as `view`, `panels` or `event_marks`.

    Raises `ModelError` E529 for coordinates or times of wrong shape, or a frame that is no link; E527 with nothing to draw.
    """
    coordinates = as_floats(q)
    # A result has one coordinate as (k,).
    rows = (
        np.atleast_2d(coordinates)
        if coordinates.ndim != 1
        else coordinates[:, None]
        if robot.tree.freedoms == 1
        else coordinates[None]
    )
    times = np.arange(len(rows), dtype=float) if t is None else np.atleast_1d(as_floats(t))
    _check(robot, rows, times, frames)
    solids = visual_solids(robot.tree, robot.visuals, rows)
    poses = link_poses(robot.tree, rows)
    shown = tuple(Frame(poses[robot.tree.index(link)], label=(link, "")) for link in frames)
    view = np.array(VIEW_DIRECTION) / np.linalg.norm(VIEW_DIRECTION)
    defaults: dict[str, Any] = {"view": view, "up": np.array([0.0, 0.0, 1.0]), "frames": shown, "size": _size(solids)}
    return Scene(title or robot.name, times, tuple(solids), **{**defaults, **fields})


def visual_solids(tree: Tree, skins: Sequence[LinkVisual], rows: Array) -> list[Solid]:
    """Return the links with visuals as solids at joint coordinates (k, n)."""
    visuals_by_link: dict[str, list[LinkVisual]] = {}
    for skin in skins:
        visuals_by_link.setdefault(skin.link, []).append(skin)
    solids, poses = [], link_poses(tree, rows)
    for link, parts in visuals_by_link.items():
        body = LINKS[_bodies_below(tree, link) % len(LINKS)]
        mesh = joined(*(skin.mesh.painted(skin.colour or body) for skin in parts))
        solids.append(Solid(link, poses[tree.index(link)], mesh, parts[0].colour or body, look=Look.OPAQUE))
    return solids


def _size(solids: Sequence[Solid]) -> float | None:
    """Return the length (m) of drawn frames: an eighth of the robot; None without shapes."""
    corners = [solid.shape.moved(solid.poses[0]).points for solid in solids if isinstance(solid.shape, Mesh)]
    return float(np.ptp(np.concatenate(corners), axis=0).max()) / 8.0 if corners else None


def _bodies_below(tree: Tree, link: str) -> int:
    """Count the moving bodies from the base to a link."""
    sections = tree.sections
    return len(sections.path(sections.carrier[tree.index(link)]))


def _check(robot: Robot, rows: Array, times: Array, frames: Sequence[str]) -> None:
    n, names = robot.tree.freedoms, [link.name for link in robot.tree.links]
    where = (caller_place(),)
    if rows.shape != (len(times), n) or times.ndim != 1:
        title = f"coordinates of the shape {rows.shape} at {len(times)} times do not fit {robot.name}"
        cure = f"{n} coordinates, as robot.position({{...}}) makes them, or a row of them for each time"
        raise refusal("E529", title, cure, about=robot.name, places=where)
    if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(times))):
        raise refusal("E529", "coordinates or times hold what is no finite number", "numbers", about=robot.name, places=where)
    if not (robot.visuals or frames):
        cures = ('read_urdf(..., meshes="collision") or "visual"', f'frames=("{names[-1]}",)')
        raise refusal("E527", f"{robot.name} has no shapes, so there is nothing to draw", *cures, about=robot.name, places=where)
    for link in frames:
        if link not in names:
            cure = f"one of: {', '.join(names)}"
            raise refusal("E529", f'robot "{robot.name}" has no link "{link}"', cure, about=robot.name, places=where)
