"""Coils: how long a spring is, over time, in; its helix and the poses that stretch it out."""

from __future__ import annotations

import numpy as np
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh, along
from screwbond.models.pictures.shapes.tubes import path_tube

__all__ = ["helix", "stretched"]

WIRE = 0.13
"""Radius of the wire over that of the helix."""

LEAD = 0.1
"""Part of the length at either end that is straight."""


def helix(length: float, radius: float, turns: int) -> Mesh:
    """A spring along z from 0 to `length` (m), of a radius (m): a wire that winds between two straight ends."""
    part = np.linspace(0.0, 1.0, 24 * turns + 1)
    angle = 2.0 * np.pi * turns * part
    swell = np.minimum(1.0, np.minimum(part, 1.0 - part) * 2.0 * turns)
    out = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    wound = radius * swell[:, None] * out
    wound[:, 2] = length * (LEAD + (1.0 - 2.0 * LEAD) * part)
    points = np.vstack([[0.0, 0.0, 0.0], wound, [0.0, 0.0, length]])
    normals = np.vstack([out[:1], out, out[-1:]])
    return Mesh(*path_tube(points, normals, np.full(len(points), WIRE * radius)))


def stretched(starts: Array, ends: Array, length: float) -> Array:
    """Poses (k, 4, 4) that put a helix of a length (m) between points (k, 3) and (k, 3); their z axes are as long as it is."""
    apart = ends - starts
    lengths = np.linalg.norm(apart, axis=1)
    there = lengths > 1e-9 * length
    H = along(np.where(there[:, None], apart, [0.0, 0.0, 1.0]), starts)
    H[:, :3, 2] *= (np.where(there, lengths, 1e-9 * length) / length)[:, None]
    return H
