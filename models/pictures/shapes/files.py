"""Meshes from files, or from points and triangles, with smooth sides and sharp edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.pictures.shapes.meshes import SHARP, Mesh

from bondgraph.output.extras import require_package


def read_mesh(file: Path) -> tuple[Mesh | None, str]:
    """Read triangles from stl, obj, ply, dae; None and a reason without any. Raises `ExtraError` (E416) without trimesh."""
    require_package("meshes from files", "trimesh")
    import trimesh

    try:
        with file.open("rb") as stream:
            loaded = trimesh.load_mesh(stream, file_type=file.suffix.lower().lstrip("."))
    # Each reader reports an unreadable file in its own way.
    except Exception as error:
        return None, f"{file.name} cannot be read ({type(error).__name__}: {str(error)[:80]})"
    geometry = loaded.to_geometry() if isinstance(loaded, trimesh.Scene) else loaded
    if not len(geometry.faces) or not np.all(np.isfinite(geometry.vertices)):
        return None, f"{file.name} holds no triangles"
    return shaded(geometry.vertices, geometry.faces), ""


def shaded(points: ArrayLike, triangles: ArrayLike) -> Mesh:
    """Build a mesh of points (m, 3) and triangles (n, 3), outward by the right-hand rule; coinciding points are merged, sharp
    edges split them, and normals are the mean of those around."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Ignore textures, whose seams would keep points apart.
    all_points = np.asarray(points, dtype=float)
    near = 1e-9 * float(np.ptp(all_points, axis=0).max())
    _, first, vertex = np.unique(
        np.round(all_points / near) if near else all_points, axis=0, return_index=True, return_inverse=True
    )
    vertices, faces = all_points[first], vertex.reshape(-1)[np.asarray(triangles, dtype=np.int64)]
    across = _across(vertices, faces)
    solid = np.linalg.norm(across, axis=1) > 0.0
    faces, across = faces[solid], across[solid]
    flat = across / np.linalg.norm(across, axis=1, keepdims=True)
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    order = np.lexsort(edges.T)
    same = np.all(edges[order][1:] == edges[order][:-1], axis=1)
    count = len(faces)
    pairs = np.stack([order[:-1][same] % count, order[1:][same] % count], axis=1)
    pairs = pairs[np.sum(flat[pairs[:, 0]] * flat[pairs[:, 1]], axis=1) > SHARP]
    patch = connected_components(coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(count, count)), directed=False)[1]
    corners, index = np.unique(np.stack([np.repeat(patch, 3), faces.ravel()], axis=1), axis=0, return_inverse=True)
    index = index.reshape(-1, 3).astype(np.int64)
    normals = np.zeros((len(corners), 3))
    for k in range(3):
        np.add.at(normals, index[:, k], across)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), [0.0, 0.0, 1.0])
    return Mesh(vertices[corners[:, 1]], normals, index)


def _across(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return normals (n, 3) of triangles, with twice their areas as lengths."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)
