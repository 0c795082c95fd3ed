"""Meshes of a body's appearance: from files, visuals, collision shapes, joints, or a box of equal inertia."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import (
    SHARP,
    Indices,
    Mesh,
    circle,
    cuboid,
    cylinder,
    globe,
    joined,
    lofted,
    rod,
    sheet,
)
from screwbond.models.visuals import Visual

from bondgraph.errors import refusal
from bondgraph.output.extras import require_package
from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull, Solid


def solids_mesh(solids: Sequence[Solid], span: float) -> Mesh:
    """Merge all solids of a body; half-spaces are drawn as squares of half side `span`, m, clipped at each other."""
    walls = [solid for solid in solids if isinstance(solid, HalfSpace)]
    meshes = [_mesh(solid).moved(solid.pose) for solid in solids if not isinstance(solid, HalfSpace)]
    faces = [_wall(wall, walls, span) for wall in walls]
    return joined(*meshes, *(sheet(face) for face in faces if len(face) > 2))


def _wall(wall: HalfSpace, walls: Sequence[HalfSpace], span: float) -> Array:
    square = span * np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    outline = square @ wall.pose[:3, :3].T + wall.pose[:3, 3]
    for other in walls:
        if other is wall:
            continue
        height = (outline - other.pose[:3, 3]) @ other.pose[:3, 2]
        clipped = []
        for k, corner in enumerate(outline):
            after, h, next_h = outline[(k + 1) % len(outline)], height[k], height[(k + 1) % len(outline)]
            clipped += [corner] if h >= 0.0 else []
            clipped += [corner + h / (h - next_h) * (after - corner)] if h * next_h < 0.0 else []
        outline = np.array(clipped).reshape(-1, 3)
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
    count = len(mesh.points)
    normals = points / np.linalg.norm(points, axis=1, keepdims=True)
    return Mesh(np.concatenate([mesh.points, points]), np.concatenate([mesh.normals, normals]), mesh.faces, edges + count)


def _with_meridians(mesh: Mesh, radius: float) -> Mesh:
    ring = circle(1.001 * radius, sides=48)
    points = np.concatenate([ring, ring[:, [1, 2, 0]], ring[:, [2, 0, 1]]])
    index = np.arange(48)
    edges = np.concatenate([np.stack([index, np.roll(index, -1)], axis=1) + 48 * k for k in range(3)])
    return _with_edges(mesh, points, edges)


def _hull(points: Array) -> Mesh:
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    normals = hull.equations[:, :3]
    corners = points[hull.simplices]
    inward = np.sum(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * normals, axis=1) < 0.0
    faces = np.where(inward[:, None], hull.simplices[:, [0, 2, 1]], hull.simplices)
    flat = Mesh(points[faces].reshape(-1, 3), np.repeat(normals, 3, axis=0), np.arange(3 * len(faces)).reshape(-1, 3))
    edges = [
        sorted(set(hull.simplices[i]) & set(hull.simplices[j]))
        for i, row in enumerate(hull.neighbors)
        for j in row
        if i < j and normals[i] @ normals[j] < 1.0 - 1e-9
    ]
    return _with_edges(flat, points, np.array(edges, dtype=np.int64).reshape(-1, 2))


NOTHING = Mesh(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))

JOINT_MESHES: dict[str, Callable[[], Mesh]] = {
    "revolute": lambda: cylinder(0.16, -0.3, 0.3),
    "prismatic": lambda: cuboid((0.26, 0.26, 0.8)),
    "helical": lambda: joined(cylinder(0.2, -0.2, 0.2), cylinder(0.1, -0.5, 0.5)),
    "cylindrical": lambda: joined(cylinder(0.2, -0.25, 0.25), cylinder(0.12, -0.6, 0.6)),
    "universal": lambda: joined(*(rod(-axis, axis, 0.1) for axis in 0.32 * np.eye(3)[:2])),
    "spherical": lambda: globe(0.22),
    "planar": lambda: cylinder(0.5, -0.03, 0.03, 48),
    "inline": lambda: joined(globe(0.22), cylinder(0.06, -0.6, 0.6)),
    "inplane": lambda: joined(globe(0.22), cylinder(0.5, -0.25, -0.22, 48)),
    "rod": lambda: globe(0.22),
}


def joint_mesh(kind: str, size: float) -> Mesh:
    make = JOINT_MESHES.get(kind)
    return NOTHING if make is None else make().scaled(size)


def read_mesh(file: Path) -> tuple[Mesh | None, str]:
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
        return None, f"{file.name} contains no triangles, or points that are not finite"
    return shaded(geometry.vertices, geometry.faces), ""


def shaded(points: ArrayLike, triangles: ArrayLike) -> Mesh:
    """Return a mesh of points (m, 3) and triangles (n, 3), whose corners must run counterclockwise as seen from outside;
    coinciding points are merged, and edges between triangles at large angles stay sharp."""
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
    a, b, c = (points[faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


MIN_EDGE = 0.03


def visual_mesh(visual: Visual) -> Mesh:
    if visual.box is not None:
        mesh = cuboid(visual.box)
    elif visual.cylinder is not None:
        radius, length = visual.cylinder
        mesh = cylinder(radius, -0.5 * length, 0.5 * length, 40)
    elif visual.capsule is not None:
        mesh = solids_mesh([Capsule(*map(float, visual.capsule))], 1.0)
    elif visual.sphere is not None:
        mesh = globe(visual.sphere, rings=24, sides=40)
    else:
        mesh = _custom_mesh(visual)
        mesh = mesh if np.all(np.asarray(visual.scale) == 1.0) else mesh.scaled(visual.scale)
    return mesh.moved(visual.pose)


def visuals_mesh(visuals: Sequence[Visual], colour: str) -> Mesh:
    return joined(*(visual_mesh(visual).painted(visual.colour or colour) for visual in visuals))


def _custom_mesh(visual: Visual) -> Mesh:
    source = visual.mesh() if callable(visual.mesh) else visual.mesh
    if isinstance(source, Mesh):
        return source
    if isinstance(source, (str, Path)):
        mesh, reason = read_mesh(Path(source))
        if mesh is None:
            title = f"the mesh of a visual cannot be loaded: {reason}"
            raise refusal("E577", title, "another file, or Visual(box=...)", about="Visual")
        return mesh
    if isinstance(source, (tuple, list)):
        points, faces = (np.asarray(part) for part in source)
    else:
        surface = source.extract_surface(algorithm="dataset_surface").triangulate()
        points, faces = np.asarray(surface.points), np.asarray(surface.faces).reshape(-1, 4)[:, 1:]
    if points.ndim != 2 or points.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3 or not len(faces):
        title = f"the mesh of a visual has points of shape {points.shape} and triangles of shape {faces.shape}"
        raise refusal("E577", title, "points (m, 3) and triangles (n, 3), at least one", about="Visual")
    if not np.all(np.isfinite(points)):
        raise refusal("E577", "the mesh of a visual has points that are not finite", "finite coordinates, m", about="Visual")
    if not (faces.min() >= 0 and faces.max() < len(points)):
        raise refusal(
            "E577",
            "the mesh of a visual has triangles with missing points",
            "indices from 0 to the number of points minus 1",
            about="Visual",
        )
    return shaded(points, faces)


def box_of_inertia(mass: float, inertia: Array, centre: Array) -> Mesh:
    """Return the uniform box that has a mass (kg) and moments of inertia (3, 3), kg m^2, about its centre of mass (3,), m; no
    edge is shorter than `MIN_EDGE` of the longest."""
    moments, axes = np.linalg.eigh(inertia)
    squares = 6.0 / mass * (moments.sum() - 2.0 * moments)
    edges = np.sqrt(np.maximum(squares, 0.0))
    edges = np.maximum(edges, MIN_EDGE * edges.max())
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = axes * [1.0, 1.0, np.linalg.det(axes)], centre
    return cuboid(edges).moved(H)
