"""Scene of a delta robot's run: machine, table, block, frames, path of the gripper, section of the workspace, and curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.closure import ROTATIONS
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.workspace import workspace
from screwbond.models.delta.pictures.robot_solids import robot_solids
from screwbond.models.delta.studies.run import DeltaRun
from screwbond.models.pictures.from_results.energies import happenings_of
from screwbond.models.pictures.interpolation import Array, unrotated_poses
from screwbond.models.pictures.parts import Curve, Frame, Look, Panel, Solid, Trail
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.meshes import Mesh, circle, joined, lofted, polyline, sheet
from screwbond.models.pictures.shapes.surfaces import coloured_part
from screwbond.models.pictures.shapes.tubes import free_normals
from screwbond.models.pictures.style import AXES, PATHS

VIEW = np.array([0.62, -0.70, -0.36])
"""Direction to the viewer; x3 points down, so the viewer is a little above the tool."""

UP = np.array([0.0, 0.0, -1.0])

EDGE = 0.03
"""Dexterity at which the section of the workspace ends."""


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
    run : of the robot.
    finger : length of the gripper, m; by default a twelfth of L1 + L2, 0 for none.
    cargo : times between which the gripper carries a block, s; None for no block.
    cut : show the section of the workspace at x1 = 0, coloured by dexterity.
    frames : show the frames of base, motors and tool.
    fields : further fields of the scene.
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
        solids.append(Solid("block", unrotated_poses(carried), _block(0.055 * unit), "#7fb69a", look=Look.OPAQUE))
    if cut:
        words = "workspace at x₁ = 0; the brighter, the more dexterous"
        mesh = _cut(p, floor, finger)
        solids.append(_static_solid("workspace", len(t), mesh, "#2a9d8a", look=Look.VEIL, legend=words, framed=False))
    filled: dict[str, Any] = {
        "title": title,
        "t": t,
        "solids": tuple(solids),
        "frames": _frames(p, run.w) if frames else (),
        "paths": (Trail(path, free_normals(path), PATHS[0], "way of the gripper", ahead=True),),
        "panels": (
            Panel("tool", "m", three_curves(run.w, "$x_{}$")),
            Panel("motor angles", "rad", three_curves(run.y, "$y_{}$"), key=True),
        ),
        "event_marks": happenings_of(run.result),
        "result": run.result,
        "size": 0.53 * unit,
        "view": VIEW,
        "up": UP,
    }
    return Scene(**{**filled, **fields})


def three_curves(columns: Array, name: str) -> tuple[Curve, ...]:
    """Return a curve for each of the three axes or motors, with its number in the name."""
    return tuple(Curve(name.format(k + 1), columns[:, k], colour) for k, colour in enumerate(AXES))


def _static_solid(name: str, count: int, mesh: Mesh, colour: str, look: Look = Look.OPAQUE, **more: Any) -> Solid:
    """Return a solid that does not move."""
    return Solid(name, unrotated_poses(np.zeros((count, 3))), mesh, colour, look=look, **more)


def _table(floor: float, radius: float, step: float = 0.05) -> Mesh:
    """Return a disc with a grid just below the lowest point of the gripper's path."""
    lines = []
    for value in np.arange(-np.floor(radius / step), radius / step + 1e-9) * step:
        half = np.sqrt(max(radius**2 - value**2, 0.0))
        if half > 0.0:
            z = floor - 1e-4
            lines.append(polyline(np.array([[value, -half, z], [value, half, z]])))
            lines.append(polyline(np.array([[-half, value, z], [half, value, z]])))
    return joined(sheet(circle(radius, floor, 160)[::-1]), *lines)


def _block(side: float) -> Mesh:
    x, y = 0.35 * side, 0.5 * side
    low = np.array([[-x, -y, -0.3 * side], [x, -y, -0.3 * side], [x, y, -0.3 * side], [-x, y, -0.3 * side]])
    return lofted(low, low + np.array([0.0, 0.0, side]))


def _cut(p: DeltaParameters, floor: float, finger: float, points: int = 331) -> Mesh:
    """Return the reachable part of the plane x1 = 0 above the table, coloured by 1/condition, with its outline."""
    span = np.linspace(-1.0, 1.0, points) * (abs(p.L0 - p.L3) + p.L1 + p.L2) * 0.8
    depth = np.linspace(0.0, floor - finger - 1e-3, points)
    condition = workspace(p, 0.0, span, depth).condition[0]
    y, z = np.meshgrid(span, depth + finger, indexing="ij")
    reached = np.isfinite(condition)
    # Dexterity falls to zero at the edge like a square root: a small level lies at the edge, and is smoother than cells.
    return coloured_part(np.stack([np.zeros_like(y), y, z], axis=-1), reached / np.where(reached, condition, 1.0), EDGE)


def _frames(p: DeltaParameters, tool: Array) -> tuple[Frame, ...]:
    """Return the frames of the base, arms 1 to 3 at their shafts, and the tool."""
    frames = [Frame(unrotated_poses(np.zeros_like(tool)), label=("0", ""))]
    for i, R in enumerate(ROTATIONS, start=1):
        H = unrotated_poses(np.tile(R @ [0.0, p.L0, 0.0], (len(tool), 1)))
        H[:, :3, :3] = R
        frames.append(Frame(H, label=("A", str(i))))
    return (*frames, Frame(unrotated_poses(tool), label=("T", "")))
