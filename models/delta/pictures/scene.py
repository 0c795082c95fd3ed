"""A delta robot's run as a scene: machine, table, block, frames, way of the gripper, cut through the workspace, and curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.formulas import ROTATIONS
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.workspace import workspace
from screwbond.models.delta.pictures.machine import machine
from screwbond.models.delta.studies.run import DeltaRun
from screwbond.models.pictures.filling.balances import happenings_of
from screwbond.models.pictures.interpolation import Array, level
from screwbond.models.pictures.parts import Curve, Frame, Look, Panel, Solid, Trail
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.fields import coloured_part
from screwbond.models.pictures.shapes.meshes import Mesh, circle, joined, lofted, polyline, sheet
from screwbond.models.pictures.shapes.tubes import free_normals
from screwbond.models.pictures.style import AXES, PATHS

VIEW = np.array([0.62, -0.70, -0.36])
"""Direction to the viewer; x3 points down, so that the viewer is a little above the tool."""

UP = np.array([0.0, 0.0, -1.0])

EDGE = 0.03
"""Dexterity at which the cut through the workspace ends."""


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
    """The scene of a run.

    Parameters
    ----------
    run : of the robot: what moves.
    finger : length of the gripper, m; by default a twelfth of L1 + L2, 0 for none.
    cargo : times between which the gripper carries a block, s; none for no block.
    cut : whether the cut through the workspace at x1 = 0 is shown, coloured by the dexterity there.
    frames : whether the frames of base, motors and tool are shown.
    fields : further fields of the scene.
    """
    p: DeltaParameters = run.kinematics.parameters
    unit, t = p.L1 + p.L2, run.t
    finger = unit / 12.0 if finger is None else finger
    path = run.w + np.array([0.0, 0.0, finger])
    floor = float(np.max(path[:, 2])) + 0.0385 * unit
    radius = 1.05 * max(float(np.max(np.hypot(*path[:, :2].T))), 0.5 * unit)
    solids = [*machine(p, run.q, finger), _still("table", len(t), _table(floor, radius), "#dfe4ec", lines="#ffffff")]
    if cargo is not None:
        held = path[np.searchsorted(t, np.clip(t, *cargo)).clip(max=len(t) - 1)]
        solids.append(Solid("block", level(held), _block(0.055 * unit), "#7fb69a", look=Look.OPAQUE))
    if cut:
        words = "workspace at x₁ = 0; the brighter, the more dexterous"
        shown = _cut(p, floor, finger)
        solids.append(_still("workspace", len(t), shown, "#2a9d8a", look=Look.VEIL, legend=words, framed=False))
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
    """A curve for each of the three axes or motors, whose number stands in the name."""
    return tuple(Curve(name.format(k + 1), columns[:, k], colour) for k, colour in enumerate(AXES))


def _still(name: str, count: int, mesh: Mesh, colour: str, look: Look = Look.OPAQUE, **more: Any) -> Solid:
    """What does not move."""
    return Solid(name, level(np.zeros((count, 3))), mesh, colour, look=look, **more)


def _table(floor: float, radius: float, step: float = 0.05) -> Mesh:
    """A disc just below the lowest point of the gripper's way, with a grid."""
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
    """The reachable part of the plane x1 = 0 above the table, coloured by 1/condition, with its outline."""
    span = np.linspace(-1.0, 1.0, points) * (abs(p.L0 - p.L3) + p.L1 + p.L2) * 0.8
    deep = np.linspace(0.0, floor - finger - 1e-3, points)
    found = workspace(p, 0.0, span, deep).condition[0]
    y, z = np.meshgrid(span, deep + finger, indexing="ij")
    reached = np.isfinite(found)
    # It falls to zero at the edge like a root: a level that small is at the edge, and smoother than cells.
    return coloured_part(np.stack([np.zeros_like(y), y, z], axis=-1), reached / np.where(reached, found, 1.0), EDGE)


def _frames(p: DeltaParameters, tool: Array) -> tuple[Frame, ...]:
    """Base, arms 1 to 3 at their shafts, tool."""
    found = [Frame(level(np.zeros_like(tool)), label=("0", ""))]
    for i, R in enumerate(ROTATIONS, start=1):
        H = level(np.tile(R @ [0.0, p.L0, 0.0], (len(tool), 1)))
        H[:, :3, :3] = R
        found.append(Frame(H, label=("A", str(i))))
    return (*found, Frame(level(tool), label=("T", "")))
