"""Joints: a kind and a length in; a mesh about the joint's own axes, z along its axis, out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from screwbond.models.pictures.shapes.meshes import Mesh, cuboid, cylinder, globe, joined, rod

__all__ = ["joint_mesh"]

NOTHING = Mesh(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))

KINDS: dict[str, Callable[[], Mesh]] = {
    "revolute": lambda: cylinder(0.16, -0.3, 0.3),
    "prismatic": lambda: cuboid((0.26, 0.26, 0.8)),
    "helical": lambda: joined(cylinder(0.2, -0.2, 0.2), cylinder(0.1, -0.5, 0.5)),
    "cylindrical": lambda: joined(cylinder(0.2, -0.25, 0.25), cylinder(0.12, -0.6, 0.6)),
    "universal": lambda: joined(*(rod(-axis, axis, 0.1) for axis in 0.32 * np.eye(3)[:2])),
    "spherical": lambda: globe(0.22),
    "planar": lambda: cylinder(0.5, -0.03, 0.03, 48),
}
"""Meshes for a unit length; what is free or fixed has none."""


def joint_mesh(kind: str, size: float) -> Mesh:
    """What a joint of a kind looks like beside things of a size, m; an empty mesh of one that is free or fixed."""
    make = KINDS.get(kind)
    return NOTHING if make is None else make().scaled(size)
