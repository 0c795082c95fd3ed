"""Tubes: the points of a path in; a mesh out whose first triangles are the first part of the path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array

SIDES = 8
"""Sides of a path's tube."""


def path_tube(points: Array, normals: Array, radius: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Tube along a path on a surface, made so that its first triangles are the first part of the path.

    Parameters
    ----------
    points, normals : (k, 3) of the path, and unit normals of the surface there, which keep the tube from twisting.
    radius : (k,) at each point.

    Returns vertices (k * SIDES, 3), their normals, and triangles ((k - 1) * SIDES * 2, 3).
    """
    along = np.gradient(points, axis=0) if len(points) > 1 else np.zeros_like(points)
    along -= np.sum(along * normals, axis=1, keepdims=True) * normals
    length = np.linalg.norm(along, axis=1)
    # Where the contact rests, the direction of the last movement (or any) serves.
    sure = np.flatnonzero(length > 1e-9 * max(float(length.max(initial=0.0)), 1e-30))
    if len(sure):
        last = sure[np.clip(np.searchsorted(sure, np.arange(len(points)), side="right") - 1, 0, None)]
        along = along[last] / length[last, None]
    else:
        along = np.cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=1)])
    side = np.cross(normals, along)
    side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-30)
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    out = np.cos(angle)[None, :, None] * side[:, None] + np.sin(angle)[None, :, None] * normals[:, None]
    vertices = points[:, None] + radius[:, None, None] * out
    ring, turn = np.arange(len(points) - 1)[:, None] * SIDES, np.arange(SIDES)
    a, b = ring + turn, ring + (turn + 1) % SIDES
    triangles = np.stack([a, b, b + SIDES, a, b + SIDES, a + SIDES], axis=-1).reshape(-1, 3)
    return vertices.reshape(-1, 3), out.reshape(-1, 3), triangles


def free_normals(points: Array) -> Array:
    """Unit normals (k, 3) of a path (k, 3) in space that turn about it as little as can be."""
    steps = np.diff(points, axis=0)
    length = np.linalg.norm(steps, axis=1)
    moving = np.flatnonzero(length > 1e-9 * max(float(length.max(initial=0.0)), 1e-30))
    first = steps[moving[0]] if len(moving) else np.array([0.0, 0.0, 1.0])
    normal = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    normals = np.tile(normal / np.linalg.norm(normal), (len(points), 1))
    for k in moving:
        tangent = steps[k] / length[k]
        turned = normals[k] - (normals[k] @ tangent) * tangent
        normals[k + 1 :] = turned / max(float(np.linalg.norm(turned)), 1e-30)
    return normals
