"""Tubes along paths, whose first triangles are the first part of the path, and helices of springs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh, along

SIDES = 8
"""Sides of a path's tube."""


def path_tube(points: Array, normals: Array, radius: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Build a tube along a path on a surface, with its triangles in the order of the path.

    Parameters
    ----------
    points, normals : (k, 3) of the path, and unit normals of the surface there, which keep the tube from twisting.
    radius : (k,) at each point.

    Returns vertices (k * SIDES, 3), their normals, and triangles ((k - 1) * SIDES * 2, 3).
    """
    along = np.gradient(points, axis=0) if len(points) > 1 else np.zeros_like(points)
    along -= np.sum(along * normals, axis=1, keepdims=True) * normals
    length = np.linalg.norm(along, axis=1)
    # Where the contact rests, use the direction of the last movement (or any).
    moving = np.flatnonzero(length > 1e-9 * max(float(length.max(initial=0.0)), 1e-30))
    if len(moving):
        last = moving[np.clip(np.searchsorted(moving, np.arange(len(points)), side="right") - 1, 0, None)]
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
    """Return unit normals (k, 3) of a path (k, 3) in space with minimal rotation about it."""
    steps = np.diff(points, axis=0)
    length = np.linalg.norm(steps, axis=1)
    moving = np.flatnonzero(length > 1e-9 * max(float(length.max(initial=0.0)), 1e-30))
    first = steps[moving[0]] if len(moving) else np.array([0.0, 0.0, 1.0])
    normal = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    normals = np.tile(normal / np.linalg.norm(normal), (len(points), 1))
    for k in moving:
        tangent = steps[k] / length[k]
        projected = normals[k] - (normals[k] @ tangent) * tangent
        normals[k + 1 :] = projected / max(float(np.linalg.norm(projected)), 1e-30)
    return normals


WIRE = 0.13
"""Radius of the wire over that of the helix."""

LEAD = 0.1
"""Share of the length that is straight at either end."""


def helix(length: float, radius: float, turns: int) -> Mesh:
    """Build a spring along z from 0 to `length` (m), with a radius (m): a wire that winds between two straight ends."""
    part = np.linspace(0.0, 1.0, 24 * turns + 1)
    angle = 2.0 * np.pi * turns * part
    swell = np.minimum(1.0, np.minimum(part, 1.0 - part) * 2.0 * turns)
    out = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    winding = radius * swell[:, None] * out
    winding[:, 2] = length * (LEAD + (1.0 - 2.0 * LEAD) * part)
    points = np.vstack([[0.0, 0.0, 0.0], winding, [0.0, 0.0, length]])
    normals = np.vstack([out[:1], out, out[-1:]])
    return Mesh(*path_tube(points, normals, np.full(len(points), WIRE * radius)))


def stretch_poses(starts: Array, ends: Array, length: float) -> Array:
    """Return poses (k, 4, 4) whose z axes stretch a helix of a length (m) between points (k, 3) and (k, 3)."""
    offsets = ends - starts
    lengths = np.linalg.norm(offsets, axis=1)
    nonzero = lengths > 1e-9 * length
    H = along(np.where(nonzero[:, None], offsets, [0.0, 0.0, 1.0]), starts)
    H[:, :3, 2] *= (np.where(nonzero, lengths, 1e-9 * length) / length)[:, None]
    return H
