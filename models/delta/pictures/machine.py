"""Shapes of a delta robot for pictures: base, motors, links, rods, end effector, table, frames. Needs pyvista.

Everything is in the world's axes of the robot, x3 down; what moves is given at the angles of a moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.delta.kinematics.angles import theta_of
from models.delta.kinematics.arm import elbow, tip
from models.delta.kinematics.formulas import ROTATIONS
from models.delta.kinematics.parameters import DeltaParameters

Array = NDArray[np.float64]

BASE, LINK, ROD, TOOL, MOTOR, BALL = "#c9cfd9", "#e6a756", "#8793a6", "#6aa5d8", "#5d6675", "#3d4554"
"""Colours of base, proximal links, rods, end effector, motors and ball joints."""

SPREAD = 0.028
"""Half the distance between the two rods of an arm over L1 + L2 (pictures only: the model knows one rod)."""


@dataclass(frozen=True)
class Part:
    """A mesh, its colour, and how it shines."""

    name: str
    mesh: Any
    colour: str
    specular: float = 0.35


def joints(p: DeltaParameters, q: Array) -> tuple[Array, Array, Array]:
    """Shafts, elbows and wrists (3, 3) each, m, at the angles q (9,) of the arms."""
    shafts, elbows, wrists = [], [], []
    for i, R in enumerate(ROTATIONS):
        theta = theta_of(q[3 * i : 3 * i + 3])
        inwards = np.array([0.0, p.L3, 0.0])
        shafts.append(R @ np.array([0.0, p.L0, 0.0]))
        # The formulas have the tip moved inwards by L3, to the centre of the end effector.
        elbows.append(R @ (np.asarray(elbow(theta, p), dtype=float) + inwards))
        wrists.append(R @ (np.asarray(tip(theta, p), dtype=float) + inwards))
    return np.array(shafts), np.array(elbows), np.array(wrists)


def rod_between(a: Array, b: Array, radius: float, sides: int = 20) -> Any:
    """A round rod from a to b, m."""
    import pyvista as pv

    along = b - a
    return pv.Cylinder(
        center=0.5 * (a + b), direction=along, radius=radius, height=float(np.linalg.norm(along)), resolution=sides
    )


def tapered(a: Array, b: Array, across: Array, width: tuple[float, float], height: tuple[float, float]) -> Any:
    """A bar from a to b with rounded edges: width along `across` and height across both, at both ends, m."""
    import pyvista as pv

    along = (b - a) / np.linalg.norm(b - a)
    third = np.cross(along, across)
    angle = np.linspace(0.0, 2.0 * np.pi, 33)[:-1]
    # A superellipse: nearly a rectangle.
    c, s = np.cos(angle), np.sin(angle)
    x, y = np.sign(c) * np.abs(c) ** 0.45, np.sign(s) * np.abs(s) ** 0.45
    rings = [
        end + np.outer(0.5 * w * x, across) + np.outer(0.5 * h * y, third)
        for end, w, h in zip((a, b), width, height, strict=True)
    ]
    n = len(angle)
    points = np.concatenate([*rings])
    sides = [(4, k, (k + 1) % n, n + (k + 1) % n, n + k) for k in range(n)]
    faces = [*sum(sides, ()), n, *range(n - 1, -1, -1), n, *range(n, 2 * n)]
    return pv.PolyData(points, faces=np.array(faces))


def plate(corners: Array, thickness: float, round_by: float) -> Any:
    """A level plate (down by `thickness`) whose outline is the hull of discs about corners (k, 3), m."""
    import pyvista as pv

    centre = corners.mean(axis=0)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # The outline's support in every direction, and its points by the vertex that gives it.
    which = np.argmax((corners - centre)[:, :2] @ directions.T, axis=0)
    flat = corners[which, :2] + round_by * directions
    points = np.column_stack([flat, np.full(len(flat), corners[0, 2])])
    outline = pv.PolyData(points, faces=np.array([len(points), *range(len(points))]))
    return outline.extrude((0.0, 0.0, thickness), capping=True)


def base_parts(p: DeltaParameters) -> list[Part]:
    """What does not move: the base with its motors."""
    import pyvista as pv

    unit = p.L1 + p.L2
    parts, corners = [], []
    for R in ROTATIONS:
        shaft, across = R @ np.array([0.0, p.L0, 0.0]), R[:, 0]
        corners += [shaft * 0.86 + s * 0.07 * unit * across for s in (-1.0, 1.0)]
        motor = pv.Cylinder(center=shaft, direction=across, radius=0.034 * unit, height=0.1 * unit, resolution=40)
        parts.append(Part("motor", motor, MOTOR, 0.5))
    top = np.array([0.0, 0.0, -0.055 * unit])
    parts.append(Part("base", plate(np.array(corners) + top, 0.028 * unit, 0.035 * unit), BASE))
    for R in ROTATIONS:
        shaft, across = R @ np.array([0.0, p.L0, 0.0]), R[:, 0]
        for s in (-1.0, 1.0):
            foot = shaft + s * 0.062 * unit * across
            parts.append(
                Part("bracket", tapered(foot + 0.6 * top, foot, across, (0.014 * unit,) * 2, (0.07 * unit, 0.055 * unit)), BASE)
            )
    return parts


def moving_parts(p: DeltaParameters, q: Array, finger: float = 0.0) -> list[Part]:
    """Links, rods, ball joints and end effector at the angles q (9,); always as many, in the same order.

    Parameters
    ----------
    finger : length of a gripper below the end effector, m.
    """
    import pyvista as pv

    unit = p.L1 + p.L2
    half, parts = SPREAD * unit, []
    shafts, elbows, wrists = joints(p, q)
    for R, shaft, bend, wrist in zip(ROTATIONS, shafts, elbows, wrists, strict=True):
        across = R[:, 0]
        parts.append(Part("link", tapered(shaft, bend, across, (0.05 * unit, 0.03 * unit), (0.052 * unit, 0.026 * unit)), LINK))
        for end, radius in ((bend, 0.0095), (wrist, 0.008)):
            parts.append(Part("axle", rod_between(end - 1.25 * half * across, end + 1.25 * half * across, radius * unit), BALL))
        for s in (-1.0, 1.0):
            a, b = bend + s * half * across, wrist + s * half * across
            parts.append(Part("rod", rod_between(a, b, 0.0068 * unit), ROD, 0.6))
            parts += [
                Part("ball", pv.Sphere(radius=0.0125 * unit, center=end, theta_resolution=20, phi_resolution=20), BALL, 0.7)
                for end in (a, b)
            ]
    parts.append(Part("tool", plate(0.92 * wrists + 0.08 * wrists.mean(axis=0), 0.02 * unit, 0.028 * unit), TOOL))
    if finger > 0.0:
        w = wrists.mean(axis=0)
        down = np.array([0.0, 0.0, 1.0])
        parts.append(Part("wrist", rod_between(w, w + 0.45 * finger * down, 0.016 * unit), MOTOR, 0.5))
        for s in (-1.0, 1.0):
            a = w + np.array([s * 0.024 * unit, 0.0, 0.4 * finger])
            parts.append(
                Part(
                    "finger",
                    tapered(
                        a, a + 0.6 * finger * down, np.array([1.0, 0.0, 0.0]), (0.012 * unit,) * 2, (0.024 * unit, 0.014 * unit)
                    ),
                    BALL,
                )
            )
        hand = w + np.array([0.0, 0.0, 0.43 * finger])
        wide, across = np.array([0.03 * unit, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
        parts.append(Part("hand", tapered(hand - wide, hand + wide, across, (0.03 * unit,) * 2, (0.02 * unit,) * 2), MOTOR))
    return parts
