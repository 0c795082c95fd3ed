"""Visuals of bodies: records with a mesh file, a mesh or a primitive shape, which pictures draw."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import in_units
from screws.arrays import Quaternion, Row, Vector3
from screws.numeric_arguments import floats, reals
from screws.poses import pose_from_state
from screws.shapes import Solid
from screws.surfaces import Surface

SHAPE_SIZES = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 0}

MESH_SUFFIXES = ".stl, .obj, .ply"


@in_units(box="m", cylinder="m", capsule="m", sphere="m", position="m")
@dataclass(frozen=True, eq=False)
class Visual:
    """Shape of a body or link in pictures, with exactly one of the shapes; it does not affect the mechanics.

    Parameters
    ----------
    mesh : file (.stl, .obj, .ply), a mesh of pyvista, (points (m, 3), triangles (n, 3)), or a function that returns one of these
        when it is drawn.
    box : edges along x, y and z, m.
    cylinder, capsule : radius and length along z, m; a capsule's length is between the centres of its caps.
    sphere : radius, m.
    colour : "#rrggbb"; chosen automatically if None.
    opacity : 1 is opaque.
    scale : scale of the mesh: a number, or three numbers; 0.001 for files in mm.
    position, quaternion : pose of its axes in the axes of the body; m, and (w, x, y, z).

    Raises `ModelError` E576 for no shape or several, or invalid values, colours and meshes; E577 for a missing file.
    """

    mesh: Any = None
    box: Vector3 | None = None
    cylinder: Row | None = None
    capsule: Row | None = None
    sphere: float | None = None
    colour: str | None = None
    opacity: float = 1.0
    scale: float | Vector3 = 1.0
    position: Vector3 = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        shapes = [name for name in ("mesh", *SHAPE_SIZES) if getattr(self, name) is not None]
        if len(shapes) != 1:
            what = "no shape" if not shapes else " and ".join(shapes)
            raise _visual_error("E576", f"a visual has {what}", 'one shape: Visual(mesh="part.stl"), Visual(box=(0.1, 0.1, 0.3))')
        if shapes == ["mesh"]:
            _check_mesh(self.mesh)
        else:
            self._check_numbers(shapes[0])
        scale = floats(self.scale, (), (3,))
        if scale is None or not np.all(scale != 0.0):
            raise _visual_error(
                "E576", f"the scale of a visual is {self.scale!r}", "a number, or three numbers; 0.001 for a file in mm"
            )
        if self.colour is not None and not (isinstance(self.colour, str) and re.fullmatch("#[0-9a-fA-F]{6}", self.colour)):
            raise _visual_error(
                "E576", f"the colour of a visual is {self.colour!r}", 'red, green and blue in hexadecimal: "#e6a756"'
            )
        opacity = floats(self.opacity, ())
        if opacity is None or not 0.0 < opacity <= 1.0:
            raise _visual_error("E576", f"the opacity of a visual is {self.opacity!r}", "a number above 0, at most 1")
        p, q = reals(self.position, 3), reals(self.quaternion, 4)
        if p is None or q is None or abs(float(np.linalg.norm(q)) - 1.0) > 1e-3:
            title = f"a visual has the pose position={self.position!r}, quaternion={self.quaternion!r}"
            raise _visual_error("E576", title, "three finite numbers in m, and a unit quaternion (w, x, y, z)")

    def _check_numbers(self, shape: str) -> None:
        count = SHAPE_SIZES[shape]
        numbers = floats(getattr(self, shape), (count,) if count else ())
        if numbers is None or not np.all(numbers > 0.0):
            cure = f"{count or 'one'} positive length{'s' if count else ''}, m"
            raise _visual_error("E576", f"{shape} of a visual is {getattr(self, shape)!r}", cure)

    @property
    def pose(self) -> np.ndarray:
        """Pose H_body_visual (4, 4)."""
        q = np.asarray(self.quaternion, dtype=float)
        return np.asarray(pose_from_state(np.array([*(q / np.linalg.norm(q)), *self.position])), dtype=float)


def _visual_error(code: str, title: str, cure: str) -> ModelError:
    return refusal(code, title, cure, about="Visual")


def _check_mesh(mesh: Any) -> None:
    if isinstance(mesh, (str, Path)):
        if Path(mesh).suffix.lower() not in MESH_SUFFIXES.split(", "):
            raise _visual_error("E576", f"{mesh} is not a mesh file", f"a file that ends in {MESH_SUFFIXES}")
        if not Path(mesh).is_file():
            raise _visual_error("E577", f"there is no file {mesh}", "a path relative to the current folder, or an absolute one")
        return
    pair = isinstance(mesh, (tuple, list)) and len(mesh) == 2
    if not (pair or hasattr(mesh, "points") or callable(mesh)):
        cure = 'mesh="part.stl", mesh=pyvista.Cone(), mesh=(points, triangles)'
        raise _visual_error("E576", f"the mesh of a visual is {mesh!r}", cure)


def visuals_of(name: str, visual: Any) -> tuple[Visual, ...]:
    visuals = () if visual is None else (visual,) if isinstance(visual, Visual) else visual
    if not isinstance(visuals, (tuple, list)) or not all(isinstance(entry, Visual) for entry in visuals):
        title, cure = f'the visual of "{name}" is {visual!r}', "a Visual, or a list of them: Visual(box=(0.1, 0.1, 0.3))"
        raise refusal("E576", title, cure, about=name)
    return tuple(visuals)


@dataclass(frozen=True, eq=False)
class Appearance:
    """Appearance of a body.

    Attributes
    ----------
    surface, solids, visuals : its surface, its collision solids, and visuals that replace both in pictures.
    mass, inertia, centre : kg, (3, 3) kg m^2 about the centre of mass (3,), m; they give a shape to a body without one; None:
        unknown.
    gravity : (3,) m/s^2, which gives a picture the downward direction.
    """

    surface: Surface | None = None
    solids: tuple[Solid, ...] = ()
    visuals: tuple[Visual, ...] = ()
    mass: float | None = None
    inertia: np.ndarray | None = None
    centre: np.ndarray | None = None
    gravity: np.ndarray | None = None
