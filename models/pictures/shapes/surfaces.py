"""Meshes of surfaces with coordinate lines, and of scalar fields above a level on a flat grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.style import rgb

from screws.surfaces import nearest_coordinates

LINE_COUNTS = (8, 12)
"""Number of fields along u and v between coordinate lines, which make the rotation of a smooth body visible."""


def body_points(surface: Any, contacts: Array, reach: float, n_u: int = 65, n_v: int = 97) -> Array:
    """Return a grid of points of a surface in object axes, (n_u, n_v, 3); an endless one is cut round its contact points.

    Parameters
    ----------
    surface : a surface of `screws`.
    contacts : (k, 3) its contact points (m).
    reach : extension of an endless one beyond its contact points (m).
    """
    if not surface.unbounded:
        return np.asarray(surface.grid(n_u, n_v), dtype=float)
    selected = contacts[np.unique(np.linspace(0, len(contacts) - 1, 200).astype(int))]
    coordinates = np.array([nearest_coordinates(surface, point)[0] for point in selected], dtype=float)
    centre = 0.5 * (coordinates.min(axis=0) + coordinates.max(axis=0))
    slope = np.asarray(surface.geometry(centre).M, dtype=float)  # metres per coordinate
    radius = np.linalg.norm((coordinates - centre) @ slope, axis=1).max() + reach
    r, angle = np.meshgrid(np.linspace(0.0, radius, n_u), np.linspace(0.0, 2 * np.pi, n_v), indexing="ij")
    across = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1) @ np.linalg.inv(slope)
    return np.array([[surface.point(q) for q in row] for row in centre + across], dtype=float)


def surface_mesh(surface: Any, contacts: Array, reach: float, n_u: int = 65, n_v: int = 97) -> Mesh:
    """Return a surface's mesh with coordinate lines; arguments as `body_points`, n_u, n_v multiples of `LINE_COUNTS`, plus 1."""
    grid = body_points(surface, contacts, reach, n_u, n_v)
    outward = is_outward(grid, surface)
    faces = grid_faces(n_u, n_v)
    normals = grid_normals(grid, outward)
    return Mesh(grid.reshape(-1, 3), normals.reshape(-1, 3), faces if outward else faces[:, ::-1], grid_lines(n_u, n_v))


def grid_normals(grid: Array, outward: bool) -> Array:
    """Return outward unit normals (n_u, n_v, 3) of a grid of surface points; `outward`: c_u x c_v points outward."""
    closed = np.allclose(grid[:, 0], grid[:, -1], atol=1e-9 * float(np.abs(grid).max()))
    wide = np.concatenate([grid[:, -2:-1], grid, grid[:, 1:2]], axis=1) if closed else grid
    along_v = np.gradient(wide, axis=1)
    normals = np.cross(np.gradient(grid, axis=0), along_v[:, 1:-1] if closed else along_v)
    length = np.linalg.norm(normals, axis=2)
    # A row that is a single point (a pole, the centre of a disc) has the mean normal of its neighbours.
    for row, neighbour in ((0, 1), (-1, -2)):
        if length[row].max() < 1e-6 * length.max():
            normals[row] = normals[neighbour].mean(axis=0)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    return normals if outward else -normals


def is_outward(grid: Array, surface: Any) -> bool:
    """Return True if c_u x c_v of a grid points out of the material."""
    i, j = grid.shape[0] // 2, grid.shape[1] // 3
    across = np.cross(grid[i + 1, j] - grid[i, j], grid[i, j + 1] - grid[i, j])
    q, chart = nearest_coordinates(surface, grid[i, j])
    return bool(across @ np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, 2] > 0.0)


def grid_faces(rows: int, columns: int) -> NDArray[np.int64]:
    """Return triangles (k, 3) of a grid of points, wound about c_u x c_v."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([corner, corner + columns, corner + columns + 1, corner, corner + columns + 1, corner + 1], axis=1)
    return quads.reshape(-1, 3)


def grid_lines(rows: int, columns: int, n_u: int = LINE_COUNTS[0], n_v: int = LINE_COUNTS[1]) -> NDArray[np.int64]:
    """Return pairs (k, 2) of a grid's points along the lines that divide it into n_u by n_v fields."""
    index = np.arange(rows * columns).reshape(rows, columns)
    across = index[(rows - 1) // n_u : -1 : (rows - 1) // n_u]
    down = index[:, : -1 : (columns - 1) // n_v]
    pairs = [np.stack([across[:, :-1], across[:, 1:]], axis=-1), np.stack([down[:-1], down[1:]], axis=-1)]
    return np.concatenate([pair.reshape(-1, 2) for pair in pairs])


VIRIDIS = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725")
"""Perceptually ordered colours from low to high."""


def shades(values: Array) -> Array:
    """Return colours (k, 3), 0 to 1, of values (k,) from 0 to 1."""
    marks = np.array([rgb(colour) for colour in VIRIDIS]) / 255.0
    at = np.linspace(0.0, 1.0, len(marks))
    return np.stack([np.interp(values, at, channel) for channel in marks.T], axis=1)


def coloured_part(points: Array, values: Array, level: float) -> Mesh:
    """Return the part of a grid of points (rows, columns, 3) with values (0 to 1) above a level, coloured, with its edge."""
    flat, v = points.reshape(-1, 3), values.ravel()
    corners = grid_faces(*values.shape)
    above = v[corners] > level
    count = above.sum(axis=1)
    all_points, all_values, faces, edges = [flat], [v], [corners[count == 3]], []
    start = len(flat)
    # Rotate triangles so that the first corner is the only one above the level, or the only one below it.
    for single in (True, False):
        mixed = np.flatnonzero(count == (1 if single else 2))
        lone = np.argmax(above[mixed] == single, axis=1)
        a, b, c = (corners[mixed, (lone + k) % 3] for k in range(3))
        for other in (b, c):
            part = ((level - v[a]) / (v[other] - v[a]))[:, None]
            all_points.append(flat[a] + part * (flat[other] - flat[a]))
            all_values.append(np.full(len(a), level))
        ab = start + np.arange(len(a))
        ac = ab + len(a)
        start += 2 * len(a)
        faces += [np.stack([a, ab, ac], axis=1)] if single else [np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)]
        edges.append(np.stack([ab, ac], axis=1))
    # Keep the points in use and renumber them.
    triangles, edge = np.concatenate(faces), np.concatenate(edges)
    needed = np.unique(triangles)
    used = np.concatenate(all_points)[needed]
    normal = np.cross(points[1, 0] - points[0, 0], points[0, 1] - points[0, 0])
    normals = np.tile(normal / np.linalg.norm(normal), (len(used), 1))
    colours = shades(np.concatenate(all_values)[needed])
    return Mesh(used, normals, np.searchsorted(needed, triangles), np.searchsorted(needed, edge), colours)
