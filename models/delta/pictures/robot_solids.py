"""Solids of a delta robot for pictures: base, links, rods and tool from parameters and angles.

Everything is in the world's axes of the robot, x3 down.
"""

from __future__ import annotations

import numpy as np
from screwbond.models.delta.kinematics.angles import theta_of
from screwbond.models.delta.kinematics.arm import elbow, tip
from screwbond.models.delta.kinematics.closure import ROTATIONS
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.pictures.interpolation import Array, unrotated_poses
from screwbond.models.pictures.parts import Look, Solid
from screwbond.models.pictures.shapes.meshes import Mesh, along, cylinder, globe, joined, lofted, rod

BASE, LINK, ROD, TOOL, MOTOR, JOINT = "#c9cfd9", "#e6a756", "#8793a6", "#6aa5d8", "#5d6675", "#3d4554"
"""Colours of base, proximal links, rods, end effector, motors and ball joints."""

SPREAD = 0.028
"""Half the distance between the two rods of an arm over L1 + L2 (pictures only: the model has one rod)."""

DOWN = np.array([0.0, 0.0, 1.0])


def joint_positions(p: DeltaParameters, q: Array) -> tuple[Array, Array, Array]:
    """Return shafts, elbows and wrists (3, 3) each, m, at the angles q (9,) of the arms."""
    # The formulas move the tip inwards by L3, to the centre of the end effector.
    inwards, arms = np.array([0.0, p.L3, 0.0]), zip(ROTATIONS, map(theta_of, q.reshape(3, 3)), strict=True)
    positions = [[(0.0, p.L0, 0.0), elbow(theta, p) + inwards, tip(theta, p) + inwards] @ R.T for R, theta in arms]
    shafts, elbows, wrists = np.swapaxes(np.asarray(positions, dtype=float), 0, 1)
    return shafts, elbows, wrists


def tapered_bar(a: Array, b: Array, across: Array, width: tuple[float, float], height: tuple[float, float]) -> Mesh:
    """Return a bar from a to b with rounded edges: width along `across` and height across both, at both ends, m."""
    third = np.cross((b - a) / np.linalg.norm(b - a), across)
    angle = np.linspace(0.0, 2.0 * np.pi, 33)[:-1]
    # A superellipse: nearly a rectangle.
    c, s = np.cos(angle), np.sin(angle)
    x, y = np.sign(c) * np.abs(c) ** 0.45, np.sign(s) * np.abs(s) ** 0.45
    ends = zip((a, b), width, height, strict=True)
    return lofted(*(end + np.outer(0.5 * w * x, across) + np.outer(0.5 * h * y, third) for end, w, h in ends))


def plate(corners: Array, thickness: float, round_by: float) -> Mesh:
    """Return a horizontal plate (down by `thickness`) whose outline is the hull of discs about corners (k, 3), m."""
    centre = corners.mean(axis=0)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # Support points of the outline in every direction, each from the vertex that attains it.
    which = np.argmax((corners - centre)[:, :2] @ directions.T, axis=0)
    flat = np.column_stack([corners[which, :2] + round_by * directions, np.full(len(which), corners[0, 2])])
    return lofted(flat, flat + thickness * DOWN)


def robot_solids(p: DeltaParameters, q: Array, finger: float = 0.0) -> list[Solid]:
    """Return all solids of the robot at angles q (k, 9); `finger`: length of a gripper below the end effector, m."""
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
        solids.append(Solid(f"link {i + 1}", _across(R[:, 0], bend - shaft, shaft), link, look=Look.OPAQUE))
        for side in (-1.0, 1.0):
            start = bend + side * SPREAD * unit * R[:, 0]
            solids.append(Solid(f"rod {i + 1}", along(wrist - bend, start), rod_mesh, look=Look.OPAQUE))
    tool = _tool(p, wrists[0] - wrists[0].mean(axis=0), finger)
    solids.append(Solid("tool", unrotated_poses(wrists.mean(axis=1)), tool, look=Look.OPAQUE))
    return solids


def _across(x: Array, z: Array, origin: Array) -> Array:
    """Return poses (k, 4, 4) with a fixed x axis (3,), z axes along z (k, 3) across it, at origins (k, 3)."""
    H, z = unrotated_poses(origin), z / np.linalg.norm(z, axis=1, keepdims=True)
    H[:, :3, :3] = np.stack([np.broadcast_to(x, z.shape), np.cross(z, x), z], axis=2)
    return H


def _base(p: DeltaParameters) -> Mesh:
    """Return the base with its motors."""
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
    """Return the axle that carries the balls of two rods."""
    unit = p.L1 + p.L2
    half = 1.25 * SPREAD * unit * across
    return rod(centre - half, centre + half, radius * unit, 20).painted(JOINT)


def _link(p: DeltaParameters) -> Mesh:
    """Return a proximal link along z, its shaft along x, with the axle at its elbow."""
    unit, x, end = p.L1 + p.L2, np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, p.L1])
    bar = tapered_bar(np.zeros(3), end, x, (0.05 * unit, 0.03 * unit), (0.052 * unit, 0.026 * unit))
    return joined(bar.painted(LINK), _axle(p, x, end, 0.0095))


def _tool(p: DeltaParameters, wrists: Array, finger: float) -> Mesh:
    """Return the end effector about its centre, with the axles at its wrists (3, 3) and a gripper."""
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
