"""Scene of a delta robot's run, and its pictures: still, movie, poster, page and plots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models import pictures
from screwbond.models.delta.kinematics.arm import elbow, theta_of, tip
from screwbond.models.delta.kinematics.closure import ROTATIONS
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.workspace import workspace
from screwbond.models.delta.studies.pick_and_place import Tracking
from screwbond.models.delta.studies.robot import DeltaRun
from screwbond.models.pictures.from_results.contacts import event_marks_of
from screwbond.models.pictures.interpolation import Array, unrotated_poses
from screwbond.models.pictures.parts import Curve, Frame, Look, Panel, Solid, Trail
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.meshes import (
    Mesh,
    along,
    circle,
    coloured_part,
    cuboid,
    cylinder,
    free_normals,
    globe,
    joined,
    lofted,
    polyline,
    rod,
    sheet,
)
from screwbond.models.pictures.style import AXES, PATHS

from bondgraph.output.plot_style import INK

BASE, LINK, ROD, TOOL, MOTOR, JOINT = "#c9cfd9", "#e6a756", "#8793a6", "#6aa5d8", "#5d6675", "#3d4554"

SPREAD = 0.028
"""Half the distance between the two rods of an arm, relative to L1 + L2 (pictures only: the model has one rod)."""

DOWN = np.array([0.0, 0.0, 1.0])


def joint_positions(p: DeltaParameters, q: Array) -> tuple[Array, Array, Array]:
    """Return the positions of shafts, elbows and wrists, (3, 3) each, m, at the angles q (9,)."""
    # The formulas shift the tip inwards by L3, to the centre of the end effector.
    inwards, arms = np.array([0.0, p.L3, 0.0]), zip(ROTATIONS, map(theta_of, q.reshape(3, 3)), strict=True)
    positions = [[(0.0, p.L0, 0.0), elbow(theta, p) + inwards, tip(theta, p) + inwards] @ R.T for R, theta in arms]
    shafts, elbows, wrists = np.swapaxes(np.asarray(positions, dtype=float), 0, 1)
    return shafts, elbows, wrists


def tapered_bar(a: Array, b: Array, across: Array, width: tuple[float, float], height: tuple[float, float]) -> Mesh:
    third = np.cross((b - a) / np.linalg.norm(b - a), across)
    angle = np.linspace(0.0, 2.0 * np.pi, 33)[:-1]
    # A superellipse: nearly a rectangle.
    c, s = np.cos(angle), np.sin(angle)
    x, y = np.sign(c) * np.abs(c) ** 0.45, np.sign(s) * np.abs(s) ** 0.45
    ends = zip((a, b), width, height, strict=True)
    return lofted(*(end + np.outer(0.5 * w * x, across) + np.outer(0.5 * h * y, third) for end, w, h in ends))


def plate(corners: Array, thickness: float, round_by: float) -> Mesh:
    centre = corners.mean(axis=0)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # Support points of the outline: the farthest vertex in every direction.
    which = np.argmax((corners - centre)[:, :2] @ directions.T, axis=0)
    flat = np.column_stack([corners[which, :2] + round_by * directions, np.full(len(which), corners[0, 2])])
    return lofted(flat, flat + thickness * DOWN)


def robot_solids(p: DeltaParameters, q: Array, finger: float = 0.0) -> list[Solid]:
    shafts, elbows, wrists = (np.array(positions) for positions in zip(*(joint_positions(p, row) for row in q), strict=True))
    unit = p.L1 + p.L2
    solids = [Solid("base", unrotated_poses(np.zeros((len(q), 3))), _base(p), look=Look.OPAQUE)]
    link = _link(p)
    rod_mesh = joined(
        cylinder(0.0068 * unit, 0.0, p.L2, 20).painted(ROD),
        *(globe(0.0125 * unit, z, 20, 20).painted(JOINT) for z in (0.0, p.L2)),
    )
    for i, R in enumerate(ROTATIONS):
        shaft, bend, wrist = shafts[:, i], elbows[:, i], wrists[:, i]
        solids.append(Solid(f"link {i + 1}", _poses_with_axes(R[:, 0], bend - shaft, shaft), link, look=Look.OPAQUE))
        for side in (-1.0, 1.0):
            start = bend + side * SPREAD * unit * R[:, 0]
            solids.append(Solid(f"rod {i + 1}", along(wrist - bend, start), rod_mesh, look=Look.OPAQUE))
    tool = _tool(p, wrists[0] - wrists[0].mean(axis=0), finger)
    solids.append(Solid("tool", unrotated_poses(wrists.mean(axis=1)), tool, look=Look.OPAQUE))
    return solids


def _poses_with_axes(x: Array, z: Array, origin: Array) -> Array:
    H, z = unrotated_poses(origin), z / np.linalg.norm(z, axis=1, keepdims=True)
    H[:, :3, :3] = np.stack([np.broadcast_to(x, z.shape), np.cross(z, x), z], axis=2)
    return H


def _base(p: DeltaParameters) -> Mesh:
    unit = p.L1 + p.L2
    parts, corners = [], []
    top = np.array([0.0, 0.0, -0.055 * unit])
    for R in ROTATIONS:
        shaft, across = R @ np.array([0.0, p.L0, 0.0]), R[:, 0]
        corners += [shaft * 0.86 + s * 0.07 * unit * across for s in (-1.0, 1.0)]
        half = 0.05 * unit * across
        parts.append(rod(shaft - half, shaft + half, 0.034 * unit, 40).painted(MOTOR))
        for s in (-1.0, 1.0):
            foot = shaft + s * 0.062 * unit * across
            bracket = tapered_bar(foot + 0.6 * top, foot, across, (0.014 * unit,) * 2, (0.07 * unit, 0.055 * unit))
            parts.append(bracket.painted(BASE))
    return joined(*parts, plate(np.array(corners) + top, 0.028 * unit, 0.035 * unit).painted(BASE))


def _axle(p: DeltaParameters, across: Array, centre: Array, radius: float) -> Mesh:
    unit = p.L1 + p.L2
    half = 1.25 * SPREAD * unit * across
    return rod(centre - half, centre + half, radius * unit, 20).painted(JOINT)


def _link(p: DeltaParameters) -> Mesh:
    unit, x, end = p.L1 + p.L2, np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, p.L1])
    bar = tapered_bar(np.zeros(3), end, x, (0.05 * unit, 0.03 * unit), (0.052 * unit, 0.026 * unit))
    return joined(bar.painted(LINK), _axle(p, x, end, 0.0095))


def _tool(p: DeltaParameters, wrists: Array, finger: float) -> Mesh:
    unit = p.L1 + p.L2
    parts = [plate(0.92 * wrists, 0.02 * unit, 0.028 * unit).painted(TOOL)]
    parts += [_axle(p, R[:, 0], wrist, 0.008) for R, wrist in zip(ROTATIONS, wrists, strict=True)]
    if finger > 0.0:
        x, y = np.eye(3)[:2]
        parts.append(rod(np.zeros(3), 0.45 * finger * DOWN, 0.016 * unit, 20).painted(MOTOR))
        for s in (-1.0, 1.0):
            a = np.array([s * 0.024 * unit, 0.0, 0.4 * finger])
            jaw = tapered_bar(a, a + 0.6 * finger * DOWN, x, (0.012 * unit,) * 2, (0.024 * unit, 0.014 * unit))
            parts.append(jaw.painted(JOINT))
        hand, wide = 0.43 * finger * DOWN, 0.03 * unit * x
        parts.append(tapered_bar(hand - wide, hand + wide, y, (0.03 * unit,) * 2, (0.02 * unit,) * 2).painted(MOTOR))
    return joined(*parts)


VIEW = np.array([0.62, -0.70, -0.36])
"""Direction to the viewer; x3 points down, so that the viewer is slightly above the tool."""

UP = np.array([0.0, 0.0, -1.0])

EDGE = 0.03
"""Dexterity, 1/condition, at which the section of the workspace ends."""


def delta_scene(
    run: DeltaRun,
    title: str = "Delta robot",
    *,
    finger: float | None = None,
    cargo: tuple[float, float] | None = None,
    cut: bool = True,
    frames: bool = True,
    **fields: Any,
) -> Scene:
    """Return the scene of a run.

    Parameters
    ----------
    finger : length of the gripper, m; by default a twelfth of L1 + L2, 0 for none.
    cargo : times between which the gripper carries a block, s; None for no block.
    cut : show the section of the workspace at x1 = 0, coloured by dexterity.
    frames : show the frames of base, motors and tool.
    fields : other fields of the scene.
    """
    p: DeltaParameters = run.kinematics.parameters
    unit, t = p.L1 + p.L2, run.t
    finger = unit / 12.0 if finger is None else finger
    path = run.w + np.array([0.0, 0.0, finger])
    floor = float(np.max(path[:, 2])) + 0.0385 * unit
    radius = 1.05 * max(float(np.max(np.hypot(*path[:, :2].T))), 0.5 * unit)
    solids = [*robot_solids(p, run.q, finger), _static_solid("table", len(t), _table(floor, radius), "#dfe4ec", lines="#ffffff")]
    if cargo is not None:
        carried = path[np.searchsorted(t, np.clip(t, *cargo)).clip(max=len(t) - 1)]
        side = 0.055 * unit
        block = cuboid((0.7 * side, side, side)).at(0.0, 0.0, 0.2 * side)
        solids.append(Solid("block", unrotated_poses(carried), block, "#7fb69a", look=Look.OPAQUE))
    if cut:
        words = "workspace at x₁ = 0; brighter where more dexterous"
        mesh = _cut(p, floor, finger)
        solids.append(_static_solid("workspace", len(t), mesh, "#2a9d8a", look=Look.VEIL, legend=words, framed=False))
    defaults: dict[str, Any] = {
        "title": title,
        "t": t,
        "solids": tuple(solids),
        "frames": _frames(p, run.w) if frames else (),
        "paths": (Trail(path, free_normals(path), PATHS[0], "gripper path", ahead=True),),
        "panels": (
            Panel("tool", "m", three_curves(run.w, "$x_{}$")),
            Panel("motor angles", "rad", three_curves(run.y, "$y_{}$"), key=True),
        ),
        "event_marks": event_marks_of(run.result),
        "result": run.result,
        "size": 0.53 * unit,
        "view": VIEW,
        "up": UP,
    }
    return Scene(**{**defaults, **fields})


def three_curves(columns: Array, name: str) -> tuple[Curve, ...]:
    return tuple(Curve(name.format(k + 1), columns[:, k], colour) for k, colour in enumerate(AXES))


def _static_solid(name: str, count: int, mesh: Mesh, colour: str, look: Look = Look.OPAQUE, **more: Any) -> Solid:
    return Solid(name, unrotated_poses(np.zeros((count, 3))), mesh, colour, look=look, **more)


def _table(floor: float, radius: float, step: float = 0.05) -> Mesh:
    lines = []
    for value in np.arange(-np.floor(radius / step), radius / step + 1e-9) * step:
        half = np.sqrt(max(radius**2 - value**2, 0.0))
        if half > 0.0:
            z = floor - 1e-4
            lines.append(polyline(np.array([[value, -half, z], [value, half, z]])))
            lines.append(polyline(np.array([[-half, value, z], [half, value, z]])))
    return joined(sheet(circle(radius, floor, 160)[::-1]), *lines)


def _cut(p: DeltaParameters, floor: float, finger: float, points: int = 331) -> Mesh:
    span = np.linspace(-1.0, 1.0, points) * (abs(p.L0 - p.L3) + p.L1 + p.L2) * 0.8
    depth = np.linspace(0.0, floor - finger - 1e-3, points)
    condition = workspace(p, 0.0, span, depth).condition[0]
    y, z = np.meshgrid(span, depth + finger, indexing="ij")
    reached = np.isfinite(condition)
    # Dexterity falls to zero like a square root: a contour at a small level lies close to the edge, smoother than cells.
    return coloured_part(np.stack([np.zeros_like(y), y, z], axis=-1), reached / np.where(reached, condition, 1.0), EDGE)


def _frames(p: DeltaParameters, tool: Array) -> tuple[Frame, ...]:
    frames = [Frame(unrotated_poses(np.zeros_like(tool)), label=("0", ""))]
    for i, R in enumerate(ROTATIONS, start=1):
        H = unrotated_poses(np.tile(R @ [0.0, p.L0, 0.0], (len(tool), 1)))
        H[:, :3, :3] = R
        frames.append(Frame(H, label=("A", str(i))))
    return (*frames, Frame(unrotated_poses(tool), label=("T", "")))


TITLE = "Delta robot: pick and place"


def still(
    run: DeltaRun,
    path: str | os.PathLike[str],
    t: float,
    *,
    title: str = "Delta robot",
    size: tuple[int, int] = (1600, 1200),
    **options: Any,
) -> None:
    pictures.still(delta_scene(run, title, **options), path, t, size)


def tracking_scene(tracking: Tracking, title: str = TITLE, **options: Any) -> Scene:
    return delta_scene(tracking.run, title, **options, panels=_panels(tracking))


def _panels(tracking: Tracking) -> tuple[Panel, ...]:
    error = 1e3 * tracking.error
    away = Curve("distance", np.linalg.norm(error, axis=1), INK)
    return (
        Panel("error", "mm", (*three_curves(error, "$x_{}$"), away), key=True),
        Panel("tool", "m", three_curves(tracking.run.w, "$x_{}$"), key=True),
        Panel("torque", "N m", three_curves(tracking[tracking.control.torque], "motor {}"), key=True),
    )


def plot_tracking(tracking: Tracking, path: str | os.PathLike[str], *, title: str = "Pick and place", dpi: int = 160) -> None:
    pictures.plots(Scene(title, tracking.run.t, panels=_panels(tracking)), path, dpi)


def film(
    tracking: Tracking,
    path: str | os.PathLike[str],
    *,
    seconds: float | None = None,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    title: str = TITLE,
    progress: bool = True,
    **options: Any,
) -> Path:
    scene = tracking_scene(tracking, title, **options)
    length = float(scene.t[-1] - scene.t[0])
    return pictures.movie(scene, path, length if seconds is None else seconds, fps, size, progress)


def poster(
    tracking: Tracking, path: str | os.PathLike[str], t: float | None = None, *, title: str = TITLE, **options: Any
) -> None:
    pictures.poster(tracking_scene(tracking, title, **options), path, t)


def page(tracking: Tracking, path: str | os.PathLike[str], *, title: str = TITLE, **options: Any) -> None:
    scene = tracking_scene(tracking, title, **options)
    pictures.page(scene, path, seconds=float(scene.t[-1] - scene.t[0]))
