"""Fields: values over a flat grid in; the part where they lie above a level, coloured by them and with its edge, out."""

from __future__ import annotations

import numpy as np
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.shapes.surfaces import grid_faces
from screwbond.models.pictures.style import rgb

VIRIDIS = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725")
"""Colours from low to high that stay in order for every eye and in print."""


def shades(values: Array) -> Array:
    """Colours (k, 3), 0 to 1, of values (k,) from 0 to 1."""
    marks = np.array([rgb(colour) for colour in VIRIDIS]) / 255.0
    at = np.linspace(0.0, 1.0, len(marks))
    return np.stack([np.interp(values, at, channel) for channel in marks.T], axis=1)


def coloured_part(points: Array, values: Array, level: float) -> Mesh:
    """The part of a grid of points (rows, columns, 3) whose values (rows, columns), 0 to 1, are above a level, with its edge."""
    flat, v = points.reshape(-1, 3), values.ravel()
    corners = grid_faces(*values.shape)
    above = v[corners] > level
    count = above.sum(axis=1)
    found_points, found_values, faces, edges = [flat], [v], [corners[count == 3]], []
    start = len(flat)
    # Turned so that the first corner is the only one above the level, or the only one below it.
    for alone in (True, False):
        mixed = np.flatnonzero(count == (1 if alone else 2))
        lone = np.argmax(above[mixed] == alone, axis=1)
        a, b, c = (corners[mixed, (lone + k) % 3] for k in range(3))
        for other in (b, c):
            part = ((level - v[a]) / (v[other] - v[a]))[:, None]
            found_points.append(flat[a] + part * (flat[other] - flat[a]))
            found_values.append(np.full(len(a), level))
        ab = start + np.arange(len(a))
        ac = ab + len(a)
        start += 2 * len(a)
        faces += [np.stack([a, ab, ac], axis=1)] if alone else [np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)]
        edges.append(np.stack([ab, ac], axis=1))
    # Only the points that are needed, numbered anew.
    triangles, edge = np.concatenate(faces), np.concatenate(edges)
    needed = np.unique(triangles)
    kept = np.concatenate(found_points)[needed]
    normal = np.cross(points[1, 0] - points[0, 0], points[0, 1] - points[0, 0])
    normals = np.tile(normal / np.linalg.norm(normal), (len(kept), 1))
    colours = shades(np.concatenate(found_values)[needed])
    return Mesh(kept, normals, np.searchsorted(needed, triangles), np.searchsorted(needed, edge), colours)
