"""Skins: the shapes of a robot's links in; meshes for pictures out, read from files that are found without a network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from screwbond.models.pictures.shapes.files import read_mesh
from screwbond.models.pictures.shapes.meshes import Mesh, cuboid, cylinder, globe
from screwbond.models.urdf.document import place, refuse_document_types
from screwbond.models.visuals import Visual

from bondgraph.errors import ModelError, Problem, refusal
from bondgraph.output.short_repr import short_repr
from screws import quaternion

FORMATS = ("stl", "obj", "ply", "dae")
"""Endings of mesh files that can be read."""

MOST_BYTES = 256 * 2**20
"""Of a mesh file."""

Packages = Mapping[str, str | os.PathLike[str]]


@short_repr
@dataclass(frozen=True, eq=False)
class LinkVisual:
    """A shape on a link: its mesh in the frame of the link, and its colour "#rrggbb" where the file gives one."""

    link: str
    mesh: Mesh
    colour: str | None = None


def skins_of(
    file: Path, parsed: Any, kind: str, links: Mapping[str, int], packages: Packages
) -> tuple[list[LinkVisual], list[Problem]]:
    """Shapes of the links (name -> line), of the `kind` "collision" or "visual"; E527 for meshes that cannot be had."""
    colours = {material.name: material.color for material in parsed.materials if material.color is not None}
    skins: list[LinkVisual] = []
    problems: list[Problem] = []
    read: dict[Path, Mesh] = {}
    for link in parsed.links:
        for shape in (link.visuals if kind == "visual" else link.collisions) if link.name in links else ():
            mesh, wrong = _mesh(file, shape.geometry, packages, read)
            if mesh is None:
                title = f'the mesh of link "{link.name}" cannot be had: {wrong}'
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


def looks_of(file: Path, parsed: Any, packages: Packages) -> dict[str, tuple[Visual, ...]]:
    """What pictures of a run show of each link: its visual shapes, or else those it collides with, whose files are there."""
    colours = {material.name: material.color for material in parsed.materials if material.color is not None}
    return {
        link.name: shown
        for link in parsed.links
        if (shown := _shown(file, link.visuals, packages, colours) or _shown(file, link.collisions, packages, colours))
    }


def _shown(file: Path, shapes: Sequence[Any], packages: Packages, colours: Mapping[str, Any]) -> tuple[Visual, ...]:
    """Shapes of a link as visuals; meshes are read when they are drawn, those that are not there are left out."""
    found = []
    for shape in shapes:
        geometry, given = shape.geometry, dict[str, Any]()
        if geometry.box is not None:
            given = {"box": geometry.box.size}
        elif geometry.cylinder is not None:
            given = {"cylinder": (geometry.cylinder.radius, geometry.cylinder.length)}
        elif geometry.sphere is not None:
            given = {"sphere": geometry.sphere.radius}
        elif (path := _found(file, geometry.mesh.filename, packages)[0]) is not None:
            scale = geometry.mesh.scale
            given = {"mesh": partial(_read, path), "scale": 1.0 if scale is None else scale}
        if given:
            H = np.eye(4) if shape.origin is None else np.asarray(shape.origin, dtype=float)
            given |= {"position": H[:3, 3], "quaternion": quaternion(H[:3, :3])}
            found.append(Visual(colour=_colour(getattr(shape, "material", None), colours), **given))
    return tuple(found)


def _read(file: Path) -> Mesh:
    mesh, wrong = _loaded(file)
    if mesh is None:
        raise refusal("E577", f"the mesh of a link cannot be had: {wrong}", "read_urdf(..., meshes=False)", about=file.name)
    return mesh


def _colour(material: Any, colours: Mapping[str, Any]) -> str | None:
    own = None if material is None else material.color or colours.get(material.name)
    return None if own is None else "#" + "".join(f"{round(255.0 * value):02x}" for value in own.rgba[:3])


def _mesh(file: Path, geometry: Any, packages: Packages, read: dict[Path, Mesh]) -> tuple[Mesh | None, str]:
    """A shape as a mesh in its own axes, or why there is none."""
    if geometry.box is not None:
        return cuboid(geometry.box.size), ""
    if geometry.cylinder is not None:
        half = 0.5 * geometry.cylinder.length
        return cylinder(geometry.cylinder.radius, -half, half, 40), ""
    if geometry.sphere is not None:
        return globe(geometry.sphere.radius), ""
    found, wrong = _found(file, geometry.mesh.filename, packages)
    if found is None:
        return None, wrong
    if found not in read:
        mesh, wrong = _loaded(found)
        if mesh is None:
            return None, wrong
        read[found] = mesh
    scale = geometry.mesh.scale
    return read[found] if scale is None else read[found].scaled(scale), ""


def _found(file: Path, name: str, packages: Packages) -> tuple[Path | None, str]:
    """The file that a URI or a path names: beside the URDF, in a package that is given, or in one that holds the URDF."""
    parts = urlsplit(name)
    if parts.scheme in ("http", "https", "ftp"):
        return None, f"{name} lies in a network, from which nothing is read"
    if parts.scheme in ("package", "model"):
        package, rest = parts.netloc, unquote(parts.path).lstrip("/")
        if package in packages:
            folders = [Path(packages[package])]
        else:
            above = list(file.resolve().parents)
            folders = [one for one in above if one.name == package] + [one / package for one in above]
        tried = [folder / rest for folder in folders]
        unknown = f"no folder {package} holds the robot's file; packages={{{package!r}: ...}} says where it is"
        why = f"there is no {rest} in {packages[package]}" if package in packages else unknown
    else:
        tried = [file.parent / unquote(parts.path)] if parts.scheme in ("", "file") else [file.parent / name]
        why = f"there is no file {tried[0]}"
    return next(((one, "") for one in tried if one.is_file()), (None, f"{name}: {why}"))


def _loaded(file: Path) -> tuple[Mesh | None, str]:
    """Triangles of a file, or why there are none."""
    ending = file.suffix.lower().lstrip(".")
    if ending not in FORMATS:
        return None, f"{file.name} is none of {', '.join(FORMATS)}"
    if file.stat().st_size > MOST_BYTES:
        return None, f"{file.name} has more than {MOST_BYTES // 2**20} megabytes"
    if ending == "dae":  # XML, that others parse with entities
        try:
            refuse_document_types(file, file.read_bytes())
        except ModelError as error:
            return None, f"{file.name} cannot be read ({type(error).__name__}: {str(error)[:80]})"
    return read_mesh(file)
