"""Surfaces as meshes: a surface of `screws` and where it is touched in; its mesh with coordinate lines out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh

from screws.surfaces import nearest_coordinates

FIELDS = (8, 12)
"""Fields along u and v into which coordinate lines part a surface: they let the eye see a smooth body turn."""


def body_points(surface: Any, contacts: Array, reach: float, n_u: int = 65, n_v: int = 97) -> Array:
    """Grid of points of a surface in object axes, (n_u, n_v, 3); an endless one is shown round its contact points.

    Parameters
    ----------
    surface : a surface of `screws`.
    contacts : (k, 3) its contact points (m).
    reach : how far an endless one goes beyond its contact points (m).
    """
    if not surface.unbounded:
        return np.asarray(surface.grid(n_u, n_v), dtype=float)
    some = contacts[np.unique(np.linspace(0, len(contacts) - 1, 200).astype(int))]
    at = np.array([nearest_coordinates(surface, point)[0] for point in some], dtype=float)
    centre = 0.5 * (at.min(axis=0) + at.max(axis=0))
    slope = np.asarray(surface.geometry(centre).M, dtype=float)  # metres per coordinate
    radius = np.linalg.norm((at - centre) @ slope, axis=1).max() + reach
    r, angle = np.meshgrid(np.linspace(0.0, radius, n_u), np.linspace(0.0, 2 * np.pi, n_v), indexing="ij")
    across = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1) @ np.linalg.inv(slope)
    return np.array([[surface.point(q) for q in row] for row in centre + across], dtype=float)


def surface_mesh(surface: Any, contacts: Array, reach: float, n_u: int = 65, n_v: int = 97) -> Mesh:
    """Mesh of a surface with its coordinate lines; arguments as of `body_points`, n_u and n_v multiples of `FIELDS`, plus 1."""
    grid = body_points(surface, contacts, reach, n_u, n_v)
    outward = faces_out(grid, surface)
    faces = grid_faces(n_u, n_v)
    normals = grid_normals(grid, outward)
    return Mesh(grid.reshape(-1, 3), normals.reshape(-1, 3), faces if outward else faces[:, ::-1], grid_lines(n_u, n_v))


def grid_normals(grid: Array, outward: bool) -> Array:
    """Unit normals (n_u, n_v, 3) of a grid of surface points, out of the material; `outward`: c_u x c_v points there."""
    closed = np.allclose(grid[:, 0], grid[:, -1], atol=1e-9 * float(np.abs(grid).max()))
    wide = np.concatenate([grid[:, -2:-1], grid, grid[:, 1:2]], axis=1) if closed else grid
    along_v = np.gradient(wide, axis=1)
    normals = np.cross(np.gradient(grid, axis=0), along_v[:, 1:-1] if closed else along_v)
    length = np.linalg.norm(normals, axis=2)
    # A row that is one point (a pole, the middle of a disc) has the mean normal of its neighbours.
    for row, beside in ((0, 1), (-1, -2)):
        if length[row].max() < 1e-6 * length.max():
            normals[row] = normals[beside].mean(axis=0)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    return normals if outward else -normals


def faces_out(grid: Array, surface: Any) -> bool:
    """Whether c_u x c_v of a grid points out of the material."""
    i, j = grid.shape[0] // 2, grid.shape[1] // 3
    across = np.cross(grid[i + 1, j] - grid[i, j], grid[i, j + 1] - grid[i, j])
    q, chart = nearest_coordinates(surface, grid[i, j])
    return bool(across @ np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, 2] > 0.0)


def grid_faces(rows: int, columns: int) -> NDArray[np.int64]:
    """Triangles (k, 3) of a grid of points, wound about c_u x c_v."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([corner, corner + columns, corner + columns + 1, corner, corner + columns + 1, corner + 1], axis=1)
    return quads.reshape(-1, 3)


def grid_lines(rows: int, columns: int, n_u: int = FIELDS[0], n_v: int = FIELDS[1]) -> NDArray[np.int64]:
    """Pairs (k, 2) of a grid's points along the lines that part it into n_u by n_v fields."""
    index = np.arange(rows * columns).reshape(rows, columns)
    across = index[(rows - 1) // n_u : -1 : (rows - 1) // n_u]
    down = index[:, : -1 : (columns - 1) // n_v]
    pairs = [np.stack([across[:, :-1], across[:, 1:]], axis=-1), np.stack([down[:-1], down[1:]], axis=-1)]
    return np.concatenate([pair.reshape(-1, 2) for pair in pairs])
