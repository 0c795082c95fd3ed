"""An arm that strikes: a chain, where and how it touches; one of round numbers with seven joints."""

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
"""Of the seven joints above the base while the arm is stretched, m."""
TIP = 1.4
"""Height of the tip, m."""
MASSES = (4.0, 4.0, 3.0, 3.0, 2.0, 1.5, 0.5)
RADIUS = 0.05
LIMITS = (170.0, 120.0, 170.0, 150.0, 170.0, 120.0, 170.0)
"""Either way, degrees."""


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Striker:
    """An arm, a configuration, and the point and direction of an impact.

    Parameters
    ----------
    chain, q : the arm and its joint coordinates (n,), rad or m.
    point : that touches, (3,) in the frame of its link, m.
    normal : of what it touches, (3,) in the axes of that link; the point moves against it.
    link : by name; None: the last.
    skins : meshes of the links for pictures; without, an arm is drawn as rods.
    """

    chain: Tree
    q: Vector
    point: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    link: str | None = None
    visuals: tuple[LinkVisual, ...] = ()

    @property
    def striking_point(self) -> StrikingPoint:
        """The point in its place; raises `ModelError` E541, E542 for what does not fit."""
        return striking_point(self.chain, self.q, self.point, self.link)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What `effective_mass` and `graph_effective_mass` take first, `link` besides."""
        return self.chain, self.q, self.point, self.normal


def seven_joint_arm() -> Chain:
    """An arm of seven cylinders that turn about the axes z, y, z, y, z, y, z of the world while it stands straight up.

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
    """The arm of round numbers with its tip pointing along x, against a wall that stands across x."""
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
    """A robot from a URDF file that strikes with its link `tip` (None: the last); joints at zero unless q is given.

    `meshes` for pictures are those of `read_urdf`: "collision", "visual", or False to draw rods.

    Needs the extra `urdf`. Raises what `read_urdf` raises.
    """
    robot = read_urdf(path, tip=tip, meshes=meshes)
    tree = robot.tree
    return Striker(tree, np.zeros(tree.freedoms) if q is None else q, point, normal, tip, robot.visuals)
