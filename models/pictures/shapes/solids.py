"""Meshes of collision shapes and of joints, in the axes of their body or joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Indices, Mesh, circle, cuboid, cylinder, globe, joined, lofted, rod, sheet

from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull, Solid

__all__ = ["joint_mesh", "solids_mesh"]


def solids_mesh(solids: Sequence[Solid], span: float) -> Mesh:
    """Merge all solids of a body; half-spaces are drawn as squares of half side `span`, m, clipped at each other."""
    walls = [solid for solid in solids if isinstance(solid, HalfSpace)]
    meshes = [_mesh(solid).moved(solid.pose) for solid in solids if not isinstance(solid, HalfSpace)]
    faces = [_wall(wall, walls, span) for wall in walls]
    return joined(*meshes, *(sheet(face) for face in faces if len(face) > 2))


def _wall(wall: HalfSpace, walls: Sequence[HalfSpace], span: float) -> Array:
    """Return the outline (n, 3) of the part of a half-space's plane outside other half-spaces."""
    square = span * np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    outline = square @ wall.pose[:3, :3].T + wall.pose[:3, 3]
    for other in walls:
        if other is wall:
            continue
        height = (outline - other.pose[:3, 3]) @ other.pose[:3, 2]
        clipped = []
        for k, corner in enumerate(outline):
            after, h, next_h = outline[(k + 1) % len(outline)], height[k], height[(k + 1) % len(outline)]
            clipped += [corner] if h >= 0.0 else []
            clipped += [corner + h / (h - next_h) * (after - corner)] if h * next_h < 0.0 else []
        outline = np.array(clipped).reshape(-1, 3)
        if len(outline) < 3:
            break
    return outline


def _mesh(solid: Solid) -> Mesh:
    if isinstance(solid, Ball):
        return _with_meridians(globe(solid.size), solid.size)
    if isinstance(solid, Capsule):
        half = 0.5 * solid.length
        ends = [circle(solid.size, z) for z in (-half, half)]
        return joined(lofted(*ends), globe(solid.size, -half), globe(solid.size, half))
    if isinstance(solid, Box):
        a, b, c = solid.half
        outline = np.array([(a, b), (-a, b), (-a, -b), (a, -b)])
        low, high = (np.column_stack([outline, np.full(4, z)]) for z in (-c, c))
        return _with_edges(lofted(low, high), np.concatenate([low, high]), _BOX_EDGES)
    assert isinstance(solid, Hull)
    return _hull(solid.points)


_BOX_EDGES = np.array(
    [*((i, (i + 1) % 4) for i in range(4)), *((4 + i, 4 + (i + 1) % 4) for i in range(4)), *((i, i + 4) for i in range(4))]
)


def _with_edges(mesh: Mesh, points: Array, edges: Indices) -> Mesh:
    """Return a mesh with lines between further points."""
    count = len(mesh.points)
    normals = points / np.linalg.norm(points, axis=1, keepdims=True)
    return Mesh(np.concatenate([mesh.points, points]), np.concatenate([mesh.normals, normals]), mesh.faces, edges + count)


def _with_meridians(mesh: Mesh, radius: float) -> Mesh:
    """Add three great circles, which make the rotation of a ball visible."""
    ring = circle(1.001 * radius, sides=48)
    points = np.concatenate([ring, ring[:, [1, 2, 0]], ring[:, [2, 0, 1]]])
    index = np.arange(48)
    edges = np.concatenate([np.stack([index, np.roll(index, -1)], axis=1) + 48 * k for k in range(3)])
    return _with_edges(mesh, points, edges)


def _hull(points: Array) -> Mesh:
    """Return flat triangles, with lines along edges between different faces."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    normals = hull.equations[:, :3]
    corners = points[hull.simplices]
    turned = np.sum(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * normals, axis=1) < 0.0
    faces = np.where(turned[:, None], hull.simplices[:, [0, 2, 1]], hull.simplices)
    flat = Mesh(points[faces].reshape(-1, 3), np.repeat(normals, 3, axis=0), np.arange(3 * len(faces)).reshape(-1, 3))
    edges = [
        sorted(set(hull.simplices[i]) & set(hull.simplices[j]))
        for i, row in enumerate(hull.neighbors)
        for j in row
        if i < j and normals[i] @ normals[j] < 1.0 - 1e-9
    ]
    return _with_edges(flat, points, np.array(edges, dtype=np.int64).reshape(-1, 2))


NOTHING = Mesh(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))

JOINT_MESHES: dict[str, Callable[[], Mesh]] = {
    "revolute": lambda: cylinder(0.16, -0.3, 0.3),
    "prismatic": lambda: cuboid((0.26, 0.26, 0.8)),
    "helical": lambda: joined(cylinder(0.2, -0.2, 0.2), cylinder(0.1, -0.5, 0.5)),
    "cylindrical": lambda: joined(cylinder(0.2, -0.25, 0.25), cylinder(0.12, -0.6, 0.6)),
    "universal": lambda: joined(*(rod(-axis, axis, 0.1) for axis in 0.32 * np.eye(3)[:2])),
    "spherical": lambda: globe(0.22),
    "planar": lambda: cylinder(0.5, -0.03, 0.03, 48),
}
"""Meshes for a unit length; free and fixed joints have none."""


def joint_mesh(kind: str, size: float) -> Mesh:
    """Return the mesh of a joint of a kind and a size, m, z along its axis; empty for a free or fixed joint."""
    make = JOINT_MESHES.get(kind)
    return NOTHING if make is None else make().scaled(size)
