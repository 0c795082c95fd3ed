"""What a page shows besides the two bodies of a contact: rigid things that move along, frames, other paths and forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mesh = tuple[Array, Array, NDArray[np.int64]]
"""Points (m, 3), their unit normals (m, 3), and triangles (n, 3)."""


@dataclass(frozen=True)
class Companion:
    """Something with a pose at every sample of a motion; it is one of: a mesh, a frame, a force.

    Attributes
    ----------
    poses : (k, 4, 4) in the world.
    mesh, colour : what is drawn; `glass`: see through, as the bodies; `path`: a tube that is drawn up to the present.
    axes : length and radius (m) of a frame's axes; `name`: what is written at its z axis.
    force : (k, 3), N, world axes, drawn at the origin of the pose.
    """

    poses: Array
    mesh: Mesh | None = None
    colour: str = ""
    glass: bool = False
    path: bool = False
    axes: tuple[float, float] | None = None
    name: str = ""
    force: Array | None = None


def revolved(profile: Sequence[tuple[float, float, float, float]], sides: int = 28) -> Mesh:
    """Mesh about z from pairs of rings: each (radius, z, and the normal's radial and axial part)."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    c, s, one = np.cos(angle), np.sin(angle), np.ones(sides)
    points = [np.stack([r * c, r * s, z * one], axis=1) for r, z, _, _ in profile]
    normals = [np.stack([a * c, a * s, b * one], axis=1) for _, _, a, b in profile]
    faces = []
    turn = np.arange(sides)
    for ring in range(0, len(profile), 2):
        low, high = ring * sides + turn, (ring + 1) * sides + turn
        after = np.roll(turn, -1) - turn
        faces += [np.stack([low, low + after, high + after], axis=1), np.stack([low, high + after, high], axis=1)]
    return np.concatenate(points), np.concatenate(normals), np.concatenate(faces)


def cylinder(radius: float, low: float, high: float, sides: int = 28) -> Mesh:
    """Closed cylinder along z."""
    down, out, up = (0.0, -1.0), (1.0, 0.0), (0.0, 1.0)
    ends = [(0.0, low, *down), (radius, low, *down), (radius, low, *out), (radius, high, *out)]
    return revolved([*ends, (radius, high, *up), (0.0, high, *up)], sides)


def globe(radius: float, z: float = 0.0, rings: int = 14) -> Mesh:
    """Sphere about (0, 0, z)."""
    angles = np.linspace(np.pi, 0.0, rings + 1)
    profile = []
    for a, b in pairwise(angles):
        profile += [(radius * np.sin(u), z + radius * np.cos(u), np.sin(u), np.cos(u)) for u in (a, b)]
    return revolved(profile)


def joined(*parts: Mesh) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(points) for points, _, _ in parts)])
    faces = [part[2] + start for part, start in zip(parts, starts, strict=False)]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), np.concatenate(faces)


def shifted(mesh: Mesh, place: Array) -> Mesh:
    """The mesh elsewhere."""
    return mesh[0] + place, mesh[1], mesh[2]
