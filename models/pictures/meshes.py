"""Meshes of what a scene shows: surfaces, their coordinate lines, triads, traced paths and arrows. Needs pyvista."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.pictures.style import AXES, rgb
from screws.surfaces import nearest_coordinates

Array = NDArray[np.float64]


def body_points(surface: Any, contacts: Array, reach: float, n_u: int = 65, n_v: int = 97) -> Array:
    """Grid of points of a surface in object axes, (n_u, n_v, 3); an endless one is shown round its contact points.

    Parameters
    ----------
    surface : a surface of `screws`.
    contacts : (k, 3) its contact points (m).
    reach : how far an endless one goes beyond its contact points (m).
    """
    if not surface.endless:
        return np.asarray(surface.grid(n_u, n_v), dtype=float)
    some = contacts[np.unique(np.linspace(0, len(contacts) - 1, 200).astype(int))]
    at = np.array([nearest_coordinates(surface, point)[0] for point in some], dtype=float)
    centre = 0.5 * (at.min(axis=0) + at.max(axis=0))
    slope = np.asarray(surface.geometry(centre).M, dtype=float)  # metres per coordinate
    radius = np.linalg.norm((at - centre) @ slope, axis=1).max() + reach
    r, angle = np.meshgrid(np.linspace(0.0, radius, n_u), np.linspace(0.0, 2 * np.pi, n_v), indexing="ij")
    across = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1) @ np.linalg.inv(slope)
    return np.array([[surface.point(q) for q in row] for row in centre + across], dtype=float)


def is_open(points: Array, faces: NDArray[np.int64]) -> bool:
    """Whether a mesh of triangles (n, 3) has a rim, so that it can be seen from inside; points that coincide count as one.

    >>> corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> tetrahedron = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    >>> is_open(corners, tetrahedron), is_open(corners, tetrahedron[1:])
    (False, True)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(points).query_pairs(1e-7 * float(np.ptp(points, axis=0).max()), output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
    corner = connected_components(graph, directed=False)[1][faces]
    corner = corner[(corner != np.roll(corner, 1, axis=1)).all(axis=1)]
    edges = np.sort(np.concatenate([corner[:, [0, 1]], corner[:, [1, 2]], corner[:, [2, 0]]]), axis=1)
    return bool(np.any(np.unique(edges, axis=0, return_counts=True)[1] == 1))


def body_mesh(points: Array, surface: Any) -> Any:
    """Smooth mesh, normals outward, of a grid of surface points (n_u, n_v, 3)."""
    import pyvista as pv

    mesh = pv.StructuredGrid(points[..., 0], points[..., 1], points[..., 2]).extract_surface(algorithm="dataset_surface")
    size = float(np.ptp(points.reshape(-1, 3), axis=0).max())
    mesh = mesh.clean(tolerance=1e-9 * size, absolute=True).triangulate()
    mesh = mesh.compute_normals(cell_normals=False, split_vertices=False, consistent_normals=True)
    # The sense of the faces follows the grid; a point off the poles tells which side is out.
    row, column = len(points) // 2, points.shape[1] // 3
    here = points[row, column]
    q, chart = nearest_coordinates(surface, here)
    outward = np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, 2]
    if mesh.point_data["Normals"][mesh.find_closest_point(here)] @ outward < 0.0:
        mesh = mesh.compute_normals(cell_normals=False, split_vertices=False, consistent_normals=True, flip_normals=True)
        mesh = mesh if mesh.point_data["Normals"][mesh.find_closest_point(here)] @ outward > 0.0 else mesh.flip_faces()
    return mesh


def coordinate_lines(points: Array, n_u: int, n_v: int) -> Any:
    """Lines that part a grid of surface points into n_u by n_v fields: they let the eye see a smooth body turn."""
    rows, columns = len(points) - 1, points.shape[1] - 1
    lines = [points[i] for i in range(rows // n_u, rows, rows // n_u)]
    return polylines([*lines, *[points[:, j] for j in range(0, columns, columns // n_v)]])


def polylines(lines: list[Array]) -> Any:
    """One mesh of several lines, each (k, 3)."""
    import pyvista as pv

    offsets = np.cumsum([0, *map(len, lines)])
    cells = [np.r_[len(line), start : start + len(line)] for start, line in zip(offsets, lines, strict=False)]
    return pv.PolyData(np.concatenate(lines), lines=np.concatenate(cells))


def arrow(length: float, radius: float, head: float) -> Any:
    """An arrow along x of a length and shaft radius (m); its head is `head` long and does not grow with it."""
    import pyvista as pv

    head = min(head, 0.6 * length)
    shaft = pv.Cylinder(
        center=(0.5 * (length - head), 0, 0), direction=(1, 0, 0), radius=radius, height=length - head, resolution=20
    )
    cone = pv.Cone(center=(length - 0.5 * head, 0, 0), direction=(1, 0, 0), height=head, radius=0.42 * head, resolution=28)
    return shaft.merge(cone)


def triad(length: float, radius: float) -> Any:
    """Three arrows x, y, z with their colours as point scalars "rgb"."""
    import pyvista as pv

    one = arrow(length, radius, 0.26 * length).extract_surface(algorithm="dataset_surface")
    turn = np.eye(3)
    parts = [pv.Sphere(radius=1.6 * radius, theta_resolution=18, phi_resolution=18)]
    colours = [(60, 66, 80)]
    for axis in AXES:
        H = np.eye(4)
        H[:3, :3] = turn
        turn = np.roll(turn, 1, axis=0)
        parts.append(one.transform(H, inplace=False))
        colours.append(rgb(axis))
    for part, colour in zip(parts, colours, strict=True):
        part.point_data.clear()
        part.point_data["rgb"] = np.tile(np.array(colour, dtype=np.uint8), (part.n_points, 1))
    mesh = parts[0].append_polydata(*parts[1:])
    return mesh.compute_normals(split_vertices=True, feature_angle=40, cell_normals=False)


SIDES = 8
"""Sides of a path's tube."""


def path_tube(points: Array, normals: Array, radius: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Tube along a path on a surface, made so that its first triangles are the first part of the path.

    Parameters
    ----------
    points : (k, 3) points of the path.
    normals : (k, 3) unit normals of the surface there, which keep the tube from twisting.
    radius : (k,) radius at each point.

    Returns
    -------
    vertices (k * SIDES, 3), their normals, and triangles ((k - 1) * SIDES * 2, 3).
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
