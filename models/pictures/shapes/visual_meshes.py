"""Meshes of a body's appearance: its visuals, or the box of its inertia."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.files import read_mesh, shaded
from screwbond.models.pictures.shapes.meshes import Mesh, cuboid, cylinder, globe, joined
from screwbond.models.pictures.shapes.solids import solids_mesh
from screwbond.models.visuals import Visual

from bondgraph.errors import refusal
from screws.shapes import Capsule

MIN_EDGE = 0.03
"""Smallest edge of a box of given inertia over its longest."""


def visual_mesh(visual: Visual) -> Mesh:
    """Convert a visual to a mesh in the axes of its body. Raises `ModelError` E577 for a file or a mesh that cannot be read."""
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
    """Merge visuals into one mesh in their own colours, or in `colour` by default."""
    return joined(*(visual_mesh(visual).painted(visual.colour or colour) for visual in visuals))


def _custom_mesh(visual: Visual) -> Mesh:
    """Return the mesh of a file, of pyvista, or of points and triangles."""
    source = visual.mesh() if callable(visual.mesh) else visual.mesh
    if isinstance(source, Mesh):
        return source
    if isinstance(source, (str, Path)):
        mesh, reason = read_mesh(Path(source))
        if mesh is None:
            title = f"the mesh of a visual cannot be had: {reason}"
            raise refusal("E577", title, "another file, or Visual(box=...)", about="Visual")
        return mesh
    if isinstance(source, (tuple, list)):
        points, faces = (np.asarray(part) for part in source)
    else:
        surface = source.extract_surface(algorithm="dataset_surface").triangulate()
        points, faces = np.asarray(surface.points), np.asarray(surface.faces).reshape(-1, 4)[:, 1:]
    if points.ndim != 2 or points.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3 or not len(faces):
        title = f"the mesh of a visual has points of the shape {points.shape} and triangles of {faces.shape}"
        raise refusal("E577", title, "points (m, 3) and triangles (n, 3), at least one", about="Visual")
    if not (np.all(np.isfinite(points)) and faces.min() >= 0 and faces.max() < len(points)):
        raise refusal(
            "E577",
            "the mesh of a visual has triangles without their points",
            "indices from 0 to the number of points less 1",
            about="Visual",
        )
    return shaded(points, faces)


def box_of_inertia(mass: float, inertia: Array, centre: Array) -> Mesh:
    """Return the uniform box of a mass (kg) and moments of inertia (3, 3), kg m^2, about its centre of mass (3,), m."""
    moments, axes = np.linalg.eigh(inertia)
    squares = 6.0 / mass * (moments.sum() - 2.0 * moments)
    edges = np.sqrt(np.maximum(squares, 0.0))
    edges = np.maximum(edges, MIN_EDGE * edges.max())
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = axes * [1.0, 1.0, np.linalg.det(axes)], centre
    return cuboid(edges).moved(H)
