"""Shapes that bodies collide with in; one mesh in the body's axes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Indices, Mesh, circle, globe, joined, lofted, sheet

from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull, Solid

__all__ = ["solids_mesh"]


def solids_mesh(solids: Sequence[Solid], span: float) -> Mesh:
    """All solids of a body as one; half-spaces are drawn as squares whose half side is `span`, m, up to where they meet."""
    walls = [solid for solid in solids if isinstance(solid, HalfSpace)]
    own = [_mesh(solid).moved(solid.pose) for solid in solids if not isinstance(solid, HalfSpace)]
    faces = [_wall(wall, walls, span) for wall in walls]
    return joined(*own, *(sheet(face) for face in faces if len(face) > 2))


def _wall(wall: HalfSpace, walls: Sequence[HalfSpace], span: float) -> Array:
    """Outline of what is not inside other half-spaces of a half-space's plane, (n, 3)."""
    square = span * np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    outline = square @ wall.pose[:3, :3].T + wall.pose[:3, 3]
    for other in walls:
        if other is wall:
            continue
        height = (outline - other.pose[:3, 3]) @ other.pose[:3, 2]
        kept = []
        for k, here in enumerate(outline):
            after, h, next_h = outline[(k + 1) % len(outline)], height[k], height[(k + 1) % len(outline)]
            kept += [here] if h >= 0.0 else []
            kept += [here + h / (h - next_h) * (after - here)] if h * next_h < 0.0 else []
        outline = np.array(kept).reshape(-1, 3)
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
    """A mesh and lines between further points."""
    count = len(mesh.points)
    normals = points / np.linalg.norm(points, axis=1, keepdims=True)
    return Mesh(np.concatenate([mesh.points, points]), np.concatenate([mesh.normals, normals]), mesh.faces, edges + count)


def _with_meridians(mesh: Mesh, radius: float) -> Mesh:
    """Three great circles, by which the eye sees a ball turn."""
    ring = circle(1.001 * radius, sides=48)
    points = np.concatenate([ring, ring[:, [1, 2, 0]], ring[:, [2, 0, 1]]])
    index = np.arange(48)
    edges = np.concatenate([np.stack([index, np.roll(index, -1)], axis=1) + 48 * k for k in range(3)])
    return _with_edges(mesh, points, edges)


def _hull(points: Array) -> Mesh:
    """Flat triangles, with lines along edges that are none inside a face."""
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
