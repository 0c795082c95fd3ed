"""Files and triangles: a mesh file, or points and triangles, in; a mesh with smooth sides and sharp edges out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.pictures.shapes.meshes import SHARP, Mesh

from bondgraph.output.extras import require_package


def read_mesh(file: Path) -> tuple[Mesh | None, str]:
    """Triangles of a file (stl, obj, ply, dae), or why there are none. Raises `ExtraError` (E416) without trimesh."""
    require_package("meshes from files", "trimesh")
    import trimesh

    try:
        with file.open("rb") as stream:
            found = trimesh.load_mesh(stream, file_type=file.suffix.lower().lstrip("."))
    # Of what is in a file, each of the readers says in its own way that it cannot be read.
    except Exception as error:
        return None, f"{file.name} cannot be read ({type(error).__name__}: {str(error)[:80]})"
    whole = found.to_geometry() if isinstance(found, trimesh.Scene) else found
    if not len(whole.faces) or not np.all(np.isfinite(whole.vertices)):
        return None, f"{file.name} holds no triangles"
    return shaded(whole.vertices, whole.faces), ""


def shaded(points: ArrayLike, triangles: ArrayLike) -> Mesh:
    """Mesh of points (m, 3) and triangles (n, 3), outward by the right-hand rule; points that coincide are one, sharp edges part
    them, and normals are the mean of those around."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Without textures, by whose seams points would stay apart.
    every = np.asarray(points, dtype=float)
    near = 1e-9 * float(np.ptp(every, axis=0).max())
    _, kept, own = np.unique(np.round(every / near) if near else every, axis=0, return_index=True, return_inverse=True)
    places, faces = every[kept], own.reshape(-1)[np.asarray(triangles, dtype=np.int64)]
    across = _across(places, faces)
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
    return Mesh(places[corners[:, 1]], normals, index)


def _across(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Normals (n, 3) of triangles, as long as their areas twice."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)
