"""Arms that strike: a chain, its configuration, point and direction of impact; an example with seven joints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.chains import Chain, Link, Tree, cylinder_inertia
from screwbond.models.impact.mobility import StrikingPoint, striking_point
from screwbond.models.urdf import LinkVisual, read_urdf

from bondgraph.output.short_repr import short_repr
from screws.joints import revolute
from screws.renamed import answer_old_names

Vector = Sequence[float] | np.ndarray

HEIGHTS = (0.15, 0.35, 0.55, 0.75, 0.95, 1.15, 1.25)
"""Heights of the seven joints above the base while the arm is stretched, m."""
TIP = 1.4
"""Height of the tip, m."""
MASSES = (4.0, 4.0, 3.0, 3.0, 2.0, 1.5, 0.5)
RADIUS = 0.05
LIMITS = (170.0, 120.0, 170.0, 150.0, 170.0, 120.0, 170.0)
"""Joint limits in both directions, degrees."""


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Striker:
    """An arm, a configuration, and the point and direction of an impact.

    Parameters
    ----------
    chain, q : the arm and its joint coordinates (n,), rad or m.
    point : contact point (3,) in the frame of its link, m.
    normal : normal of the wall (3,) in the axes of that link; the point moves against it.
    link : by name; None: the last.
    visuals : meshes of the links for pictures; without them an arm is drawn as rods.
    """

    chain: Tree
    q: Vector
    point: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    link: str | None = None
    visuals: tuple[LinkVisual, ...] = ()

    @property
    def striking_point(self) -> StrikingPoint:
        """The point on its link; raises `ModelError` E541, E542 if it does not fit."""
        return striking_point(self.chain, self.q, self.point, self.link)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """First arguments of `effective_mass` and `graph_effective_mass`; they take `link` besides."""
        return self.chain, self.q, self.point, self.normal


def seven_joint_arm() -> Chain:
    """Return an arm of seven cylinders with the axes z, y, z, y, z, y, z of the world while it stands straight up.

    The frame of each link lies in its joint, z along the arm.
    """
    ends = (*HEIGHTS[1:], TIP)
    links = []
    for k, (low, high, mass, limit) in enumerate(zip(HEIGHTS, ends, MASSES, LIMITS, strict=True)):
        home = np.eye(4)
        home[2, 3] = low
        axis = (0.0, 0.0, 1.0) if k % 2 == 0 else (0.0, 1.0, 0.0)
        body = cylinder_inertia(mass, RADIUS, (0.0, 0.0, 0.0), (0.0, 0.0, high - low))
        bound = float(np.deg2rad(limit))
        links.append(Link(f"link {k + 1}", revolute(axis, (0.0, 0.0, low)), body, home, limits=(-bound, bound)))
    return Chain("arm", tuple(links))


def default_striker() -> Striker:
    """Return the seven-joint arm with its tip pointing along x, against a wall across x."""
    q = np.deg2rad([0.0, 20.0, 0.0, 90.0, 0.0, -20.0, 0.0])
    return Striker(seven_joint_arm(), q, point=(0.0, 0.0, TIP - HEIGHTS[-1]), normal=(0.0, 0.0, -1.0))


def striker_from_urdf(
    path: str | os.PathLike[str],
    tip: str | None = None,
    *,
    q: Vector | None = None,
    point: Vector = (0.0, 0.0, 0.0),
    normal: Vector = (0.0, 0.0, -1.0),
    meshes: str | bool = "collision",
) -> Striker:
    """Return a robot from a URDF file that strikes with its link `tip` (None: the last); joints at zero by default.

    `meshes` for pictures are those of `read_urdf`: "collision", "visual", or False to draw rods.

    Needs the extra `urdf`. Raises the errors of `read_urdf`.
    """
    robot = read_urdf(path, tip=tip, meshes=meshes)
    tree = robot.tree
    return Striker(tree, np.zeros(tree.freedoms) if q is None else q, point, normal, tip, robot.visuals)
