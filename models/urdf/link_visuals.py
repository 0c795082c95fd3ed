"""Link visuals: meshes of a robot's links for pictures, read from local files alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from screwbond.models.pictures.shapes.meshes import Mesh, cuboid, cylinder, globe
from screwbond.models.pictures.shapes.visual_meshes import read_mesh
from screwbond.models.urdf.document import place, refuse_document_types
from screwbond.models.visuals import Visual

from bondgraph.errors import ModelError, Problem, refusal
from bondgraph.output.short_repr import short_repr
from screws import quaternion

FORMATS = ("stl", "obj", "ply", "dae")
"""Suffixes of supported mesh files."""

MAX_MESH_BYTES = 256 * 2**20
"""Size limit of a mesh file."""

Packages = Mapping[str, str | os.PathLike[str]]


@short_repr
@dataclass(frozen=True, eq=False)
class LinkVisual:
    """Shape of a link: its mesh in the frame of the link, and its colour "#rrggbb", if the file has one."""

    link: str
    mesh: Mesh
    colour: str | None = None


def read_visuals(
    file: Path, parsed: Any, kind: str, links: Mapping[str, int], packages: Packages
) -> tuple[list[LinkVisual], list[Problem]]:
    """Read the shapes of the links (name -> line), of the `kind` "collision" or "visual"; E527 for unavailable meshes."""
    colours = {material.name: material.color for material in parsed.materials if material.color is not None}
    skins: list[LinkVisual] = []
    problems: list[Problem] = []
    cache: dict[Path, Mesh] = {}
    for link in parsed.links:
        for shape in (link.visuals if kind == "visual" else link.collisions) if link.name in links else ():
            mesh, reason = _mesh(file, shape.geometry, packages, cache)
            if mesh is None:
                title = f'the mesh of link "{link.name}" cannot be had: {reason}'
                cures = (
                    "meshes=False (in the command, --meshes none), for a robot without them",
                    'packages={"name": "folder"}, for files that lie elsewhere',
                )
                problems.append(Problem("E527", title, (), (place(file, links[link.name]),), cures))
                continue
            H = np.eye(4) if shape.origin is None else np.asarray(shape.origin, dtype=float)
            material = getattr(shape, "material", None)
            skins.append(LinkVisual(link.name, mesh.moved(H), _colour(material, colours)))
    return skins, problems


def visuals_by_link(file: Path, parsed: Any, packages: Packages) -> dict[str, tuple[Visual, ...]]:
    """Return the visuals of each link for pictures of runs: its visual shapes, or else its collision shapes."""
    colours = {material.name: material.color for material in parsed.materials if material.color is not None}
    return {
        link.name: shown
        for link in parsed.links
        if (
            shown := _drawable_shapes(file, link.visuals, packages, colours)
            or _drawable_shapes(file, link.collisions, packages, colours)
        )
    }


def _drawable_shapes(file: Path, shapes: Sequence[Any], packages: Packages, colours: Mapping[str, Any]) -> tuple[Visual, ...]:
    """Return shapes of a link as visuals, without missing meshes; meshes are read when they are drawn."""
    visuals = []
    for shape in shapes:
        geometry, fields = shape.geometry, dict[str, Any]()
        if geometry.box is not None:
            fields = {"box": geometry.box.size}
        elif geometry.cylinder is not None:
            fields = {"cylinder": (geometry.cylinder.radius, geometry.cylinder.length)}
        elif geometry.sphere is not None:
            fields = {"sphere": geometry.sphere.radius}
        elif (path := _resolve_mesh(file, geometry.mesh.filename, packages)[0]) is not None:
            scale = geometry.mesh.scale
            fields = {"mesh": partial(_load_or_refuse, path), "scale": 1.0 if scale is None else scale}
        if fields:
            H = np.eye(4) if shape.origin is None else np.asarray(shape.origin, dtype=float)
            fields |= {"position": H[:3, 3], "quaternion": quaternion(H[:3, :3])}
            visuals.append(Visual(colour=_colour(getattr(shape, "material", None), colours), **fields))
    return tuple(visuals)


def _load_or_refuse(file: Path) -> Mesh:
    mesh, reason = _load_mesh(file)
    if mesh is None:
        raise refusal("E577", f"the mesh of a link cannot be had: {reason}", "read_urdf(..., meshes=False)", about=file.name)
    return mesh


def _colour(material: Any, colours: Mapping[str, Any]) -> str | None:
    colour = None if material is None else material.color or colours.get(material.name)
    return None if colour is None else "#" + "".join(f"{round(255.0 * value):02x}" for value in colour.rgba[:3])


def _mesh(file: Path, geometry: Any, packages: Packages, cache: dict[Path, Mesh]) -> tuple[Mesh | None, str]:
    """Return a shape as a mesh in its own axes, or None and the reason."""
    if geometry.box is not None:
        return cuboid(geometry.box.size), ""
    if geometry.cylinder is not None:
        half = 0.5 * geometry.cylinder.length
        return cylinder(geometry.cylinder.radius, -half, half, 40), ""
    if geometry.sphere is not None:
        return globe(geometry.sphere.radius), ""
    path, reason = _resolve_mesh(file, geometry.mesh.filename, packages)
    if path is None:
        return None, reason
    if path not in cache:
        mesh, reason = _load_mesh(path)
        if mesh is None:
            return None, reason
        cache[path] = mesh
    scale = geometry.mesh.scale
    return cache[path] if scale is None else cache[path].scaled(scale), ""


def _resolve_mesh(file: Path, name: str, packages: Packages) -> tuple[Path | None, str]:
    """Find the file of a URI or path: beside the URDF, in a package of `packages`, or in a folder around the URDF."""
    parts = urlsplit(name)
    if parts.scheme in ("http", "https", "ftp"):
        return None, f"{name} lies in a network, from which nothing is read"
    if parts.scheme in ("package", "model"):
        package, path = parts.netloc, unquote(parts.path).lstrip("/")
        if package in packages:
            folders = [Path(packages[package])]
        else:
            above = list(file.resolve().parents)
            folders = [candidate for candidate in above if candidate.name == package] + [
                candidate / package for candidate in above
            ]
        candidates = [folder / path for folder in folders]
        unknown = f"no folder {package} holds the robot's file; packages={{{package!r}: ...}} says where it is"
        why = f"there is no {path} in {packages[package]}" if package in packages else unknown
    else:
        candidates = [file.parent / unquote(parts.path)] if parts.scheme in ("", "file") else [file.parent / name]
        why = f"there is no file {candidates[0]}"
    return next(((candidate, "") for candidate in candidates if candidate.is_file()), (None, f"{name}: {why}"))


def _load_mesh(file: Path) -> tuple[Mesh | None, str]:
    """Return the mesh of a file, or None and the reason."""
    ending = file.suffix.lower().lstrip(".")
    if ending not in FORMATS:
        return None, f"{file.name} is none of {', '.join(FORMATS)}"
    if file.stat().st_size > MAX_MESH_BYTES:
        return None, f"{file.name} has more than {MAX_MESH_BYTES // 2**20} megabytes"
    if ending == "dae":  # XML; the mesh reader would expand its entities
        try:
            refuse_document_types(file, file.read_bytes())
        except ModelError as error:
            return None, f"{file.name} cannot be read ({type(error).__name__}: {str(error)[:80]})"
    return read_mesh(file)
