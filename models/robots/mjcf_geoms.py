"""Shapes of MJCF: their poses, pictures, and the inertia that they give to their body.

Source: the modelling chapter of MuJoCo's documentation, sections body/geom and compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.chains.links import combined_moments
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.robots.grammar import SMALL, place_of
from screwbond.models.robots.mjcf_frames import CompilerSettings, from_z, values
from screwbond.models.robots.reading import hex_colour
from screwbond.models.robots.records import InertiaTerms, ShapeEntry
from screwbond.models.robots.robot import shape_mesh

from bondgraph.errors import ModelError, Problem
from screws.errors import plural
from screws.poses import pose

DENSITY = "1000"
"""Default density of a shape, kg/m^3."""

VISIBLE_GROUPS = 2
"""Last group of shapes that MuJoCo's viewer shows by default."""

SIZE_COUNTS = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}

Solid = tuple[float, Callable[[float], list[float]]]


def solid(kind: str, size: np.ndarray) -> Solid:
    """Return the volume, m^3, of a homogeneous solid, and the function of its mass that returns the principal moments of
    inertia (3,); `size` has radii and half lengths, m, as in MuJoCo."""
    if kind == "sphere":
        return 4.0 / 3.0 * np.pi * size[0] ** 3, lambda m: [0.4 * m * size[0] ** 2] * 3
    if kind == "box":
        a, b, c = size**2
        return 8.0 * float(np.prod(size)), lambda m: [m * (b + c) / 3.0, m * (a + c) / 3.0, m * (a + b) / 3.0]
    if kind == "ellipsoid":
        a, b, c = size**2
        return 4.0 / 3.0 * np.pi * float(np.prod(size)), lambda m: [m * (b + c) / 5.0, m * (a + c) / 5.0, m * (a + b) / 5.0]
    r, h = float(size[0]), 2.0 * float(size[1])
    if kind == "cylinder":
        across = (3.0 * r * r + h * h) / 12.0
        return np.pi * r * r * h, lambda m: [m * across, m * across, 0.5 * m * r * r]
    ball, tube = 4.0 / 3.0 * np.pi * r**3, np.pi * r * r * h

    def capsule(m: float) -> list[float]:
        caps, middle = m * ball / (ball + tube), m * tube / (ball + tube)
        across = middle * (3.0 * r * r + h * h) / 12.0 + caps * (0.4 * r * r + h * (3.0 * r + 2.0 * h) / 8.0)
        return [across, across, 0.5 * middle * r * r + 0.4 * caps * r * r]

    return ball + tube, capsule


def mesh_moments(mesh: Mesh, rule: str = "legacy") -> InertiaTerms | None:
    """Return the volume of a mesh, m^3, its moments (3, 3) about the centre, m^5, and the centre (3,), m; None without volume.

    `rule` : "exact" gives None for a mesh that is not closed; "legacy", MuJoCo's default, counts the volume of every tetrahedron
    as positive, which can overestimate the volume of a mesh that is not convex.

    Source: Mirtich 1996; MuJoCo's documentation, attribute inertia of mesh.
    """
    corners = mesh.points[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    is_open = float(np.linalg.norm(normals.sum(axis=0))) > 1e-6 * float(areas.sum())

    def volumes(tip: np.ndarray) -> np.ndarray:
        a, b, c = (corners[:, k] - tip for k in range(3))
        signed = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
        return np.abs(signed) if rule == "legacy" else signed

    if not areas.sum() > 0.0 or (rule == "exact" and is_open):
        return None
    middle = areas @ corners.mean(axis=1) / areas.sum()
    shares = volumes(middle)
    if not shares.sum() > 0.0:
        return None
    centre = middle + shares @ (corners.sum(axis=1) - 3.0 * middle) / (4.0 * shares.sum())
    shares, arms = volumes(centre), corners - centre
    total = arms.sum(axis=1)
    second = (np.einsum("i,ij,ik->jk", shares, total, total) + np.einsum("i,inj,ink->jk", shares, arms, arms)) / 20.0
    return float(shares.sum()), np.trace(second) * np.eye(3) - second, centre


@dataclass(frozen=True, eq=False)
class Geoms:
    file: Path
    settings: CompilerSettings
    meshes: Mapping[str, Mapping[str, str]]
    materials: Mapping[str, Mapping[str, str]]

    def pose(self, attributes: Mapping[str, str]) -> np.ndarray:
        if "fromto" not in attributes:
            return self.settings.pose(attributes)
        ends = values(attributes, "fromto").reshape(2, 3)
        return pose(from_z(ends[0] - ends[1]), ends.mean(axis=0))

    def size(self, element: Any, attributes: Mapping[str, str]) -> np.ndarray:
        """Return the radii and half lengths of a solid, m, as in MuJoCo."""
        kind, size = attributes.get("type", "sphere"), values(attributes, "size")
        if "mesh" in attributes:
            title = f'a {kind} fitted to the mesh "{attributes["mesh"]}" is not read'
            raise self._refused("E298", element, title, 'type="mesh"', "the size of the shape, without mesh")
        count = 1 if "fromto" in attributes else SIZE_COUNTS[kind]
        if len(size) < count or not np.all(size[:count] > SMALL):
            title = f'the size of a {kind} is "{attributes.get("size", "")}"'
            raise self._refused("E522", element, title, f'size="...", {plural(count, "positive number")}')
        if "fromto" in attributes:
            ends = values(attributes, "fromto").reshape(2, 3)
            half = 0.5 * float(np.linalg.norm(ends[0] - ends[1]))
            size = np.array([size[0]] * (SIZE_COUNTS[kind] - 1) + [half])
        return size[: SIZE_COUNTS[kind]]

    def shape(self, element: Any, attributes: Mapping[str, str]) -> ShapeEntry | None:
        kind, origin = attributes.get("type", "sphere"), self.pose(attributes)
        material = self.materials.get(attributes.get("material", ""), {})
        rgba = values(attributes if "rgba" in attributes else material, "rgba")
        colour = hex_colour(np.clip(rgba, 0.0, 1.0)) if len(rgba) else None
        if kind == "mesh":
            asset = self.asset(element, attributes)
            scale = tuple(values(asset, "scale", "1 1 1"))
            path = self.settings.file(asset["file"])
            return ShapeEntry("mesh", scale, origin, colour, path)
        if kind not in SIZE_COUNTS or (len(rgba) and rgba[3] == 0.0):
            return None
        size = self.size(element, attributes)
        lengths = size * {"box": [2.0], "cylinder": [1.0, 2.0], "capsule": [1.0, 2.0]}.get(kind, [1.0])
        return ShapeEntry(kind, tuple(float(x) for x in lengths), origin, colour)

    def asset(self, element: Any, attributes: Mapping[str, str]) -> Mapping[str, str]:
        name = attributes.get("mesh", "")
        if name not in self.meshes:
            raise self._refused(
                "E296", element, f'the mesh "{name}" is not among the assets', f"one of: {', '.join(self.meshes)}"
            )
        if "file" not in self.meshes[name]:
            raise self._refused("E298", element, f'the mesh "{name}" has no file', "a mesh from a file")
        return self.meshes[name]

    def inertia(self, element: Any, attributes: Mapping[str, str]) -> InertiaTerms | None:
        kind = attributes.get("type", "sphere")
        density, mass = float(attributes.get("density", DENSITY)), values(attributes, "mass")
        low, high = self.settings.groups
        if not low <= float(attributes.get("group", "0")) <= high or kind in ("plane", "hfield"):
            return None
        if (len(mass) and not mass[0]) or (not len(mass) and not density):
            return None
        H = self.pose(attributes)
        if kind != "mesh":
            volume, moments = solid(kind, self.size(element, attributes))
            total = float(mass[0]) if len(mass) else density * volume
            return total, H[:3, :3] @ np.diag(moments(total)) @ H[:3, :3].T, H[:3, 3]
        terms = self._mesh_inertia(element, attributes)
        total = float(mass[0]) if len(mass) else density * terms[0]
        J = terms[1] * (total / terms[0])
        return total, H[:3, :3] @ J @ H[:3, :3].T, H[:3, :3] @ terms[2] + H[:3, 3]

    def _mesh_inertia(self, element: Any, attributes: Mapping[str, str]) -> InertiaTerms:
        asset, shape = self.asset(element, attributes), self.shape(element, attributes)
        assert shape is not None
        mesh, why = shape_mesh(self.file, shape, {}, {})
        rule = asset.get("inertia", "exact" if self.settings.is_true("exactmeshinertia") else "legacy")
        terms = None if mesh is None or rule not in ("legacy", "exact") else mesh_moments(mesh, rule)
        if terms is None:
            why = why or (
                f'inertia="{rule}" of <mesh> is not read'
                if rule not in ("legacy", "exact")
                else "its surface is not closed"
                if rule == "exact"
                else "it has no volume"
            )
            title = f'the mass of the mesh "{attributes["mesh"]}" is unknown: {why}'
            raise self._refused("E298", element, title, "<inertial> in the body", 'mass="0" for a mesh that is only drawn')
        return terms

    def _refused(self, code: str, element: Any, title: str, *cures: str) -> ModelError:
        return ModelError(self.file.name, [Problem(code, title, (), (place_of(self.file, element),), cures)])


def apply_bounds(settings: CompilerSettings, inertia: InertiaTerms) -> InertiaTerms:
    mass, moment, centre = inertia
    mass = max(mass, settings.number("boundmass"))
    least = settings.number("boundinertia")
    if least or settings.is_true("balanceinertia"):
        principal, axes = np.linalg.eigh(moment)
        principal = np.maximum(principal, least)
        if settings.is_true("balanceinertia") and principal[0] + principal[1] < principal[2]:
            principal = np.full(3, principal.mean())
        moment = axes @ np.diag(principal) @ axes.T
    return mass, moment, centre


def body_inertia(settings: CompilerSettings, parts: list[InertiaTerms]) -> InertiaTerms | None:
    total = apply_bounds(settings, combined_moments(parts))
    return total if total[0] or np.any(total[1]) else None
