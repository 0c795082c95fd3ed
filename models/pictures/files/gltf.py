"""glTF 2.0 document in one binary file (GLB): accessors, materials, meshes, nodes and one animation.

Source: Khronos Group, glTF 2.0 Specification, 2021; sections are cited as "glTF 3.6".
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.style import rgb

from bondgraph.errors import refusal

COMPONENT_TYPES = {"float32": 5126, "uint32": 5125, "uint16": 5123}
"""Component-type codes (glTF 3.6.2.2)."""

WIDTHS = {(): "SCALAR", (3,): "VEC3", (4,): "VEC4"}

VERTICES, INDICES = 34962, 34963
"""Buffer-view targets for mesh data (glTF 5.11.5)."""

LINES = 1
"""Primitive mode (glTF 5.24.4)."""

UNLIT = "KHR_materials_unlit"
"""Extension for a material whose colour is independent of lighting."""

TRANSFORMS = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}


def single_precision(values: ArrayLike, about: str) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        numbers = np.asarray(values, dtype=np.float32)
    if not np.isfinite(numbers).all():
        title = f'"{about}" has values that are not finite as 32-bit floats, which glTF uses'
        raise refusal("E681", title, "scene.at_times(times) for times at which every value is finite", about=about)
    return numbers


def linear_colour(colour: str) -> tuple[float, float, float]:
    """Return the linear red, green and blue of "#rrggbb", which is in sRGB (IEC 61966-2-1, 1999).

    >>> [round(value, 4) for value in linear_colour("#ff8008")]
    [1.0, 0.2159, 0.0024]
    """
    red, green, blue = linear(np.array(rgb(colour)) / 255.0)
    return float(red), float(green), float(blue)


def linear(colours: Array) -> Array:
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


class GltfDraft:
    """Document under construction; equal arrays, materials and meshes are stored once."""

    def __init__(self, times: Array):
        """Begin a document with animation times (k,), s, shifted to start at zero; keep only the last of several
        times that are equal as 32-bit floats."""
        moments = single_precision(times - times[0], "time")
        self._rows = np.append(np.diff(moments) > 0.0, True)
        self._times = moments[self._rows]
        self._data = bytearray()
        self._tables: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("nodes", "meshes", "materials", "accessors", "bufferViews", "cameras")
        }
        self._numbers: dict[tuple[str, str | bytes], int] = {}
        self._samplers: list[dict[str, Any]] = []
        self._channels: list[dict[str, Any]] = []
        self._extensions: set[str] = set()

    def _add(self, table: str, entry: dict[str, Any], key: str | bytes = "") -> int:
        key = key or json.dumps(entry, sort_keys=True)
        number = self._numbers.setdefault((table, key), len(self._tables[table]))
        if number == len(self._tables[table]):
            self._tables[table].append(entry)
        return number

    def accessor(self, values: NDArray[Any], target: int | None = None, *, bounds: bool = False) -> int:
        raw = np.ascontiguousarray(values).tobytes()
        kind, code = WIDTHS[values.shape[1:]], COMPONENT_TYPES[values.dtype.name]
        key = b"%d %s %d %d " % (code, kind.encode(), target or 0, bounds) + raw
        if ("accessors", key) in self._numbers:
            return self._numbers["accessors", key]
        view = {"buffer": 0, "byteOffset": len(self._data), "byteLength": len(raw)} | ({"target": target} if target else {})
        self._data += raw + bytes(-len(raw) % 4)  # each view begins at a multiple of four bytes
        entry = {"bufferView": self._add("bufferViews", view), "componentType": code, "count": len(values), "type": kind}
        if bounds:
            entry |= {name: np.atleast_1d(side).tolist() for name, side in (("min", values.min(0)), ("max", values.max(0)))}
        return self._add("accessors", entry, key)

    def material(
        self,
        name: str,
        colour: tuple[float, float, float],
        *,
        opacity: float = 1.0,
        both_sides: bool = False,
        unlit: bool = False,
    ) -> int:
        surface = {"baseColorFactor": [*colour, opacity], "metallicFactor": 0.0, "roughnessFactor": 0.6}
        entry: dict[str, Any] = {"name": name, "pbrMetallicRoughness": surface}
        entry |= {"alphaMode": "BLEND"} if opacity < 1.0 else {}
        entry |= {"doubleSided": True} if both_sides else {}
        if unlit:
            self._extensions.add(UNLIT)
            entry["extensions"] = {UNLIT: {}}
        return self._add("materials", entry)

    def mesh(self, name: str, mesh: Mesh, material: int, line_material: int | None = None) -> int | None:
        points = self.accessor(single_precision(mesh.points, name), VERTICES, bounds=True) if len(mesh.points) else 0
        # The largest index of 16 bits would mark the end of a strip (glTF 3.7.2.1).
        index = np.uint16 if len(mesh.points) < 0xFFFF else np.uint32
        primitives: list[dict[str, Any]] = []
        if len(mesh.faces):
            attributes = {"POSITION": points, "NORMAL": self.accessor(unit_rows(mesh.normals), VERTICES)}
            if mesh.colours is not None:
                attributes["COLOR_0"] = self.accessor(linear(np.asarray(mesh.colours)).astype(np.float32), VERTICES)
            triangles = self.accessor(mesh.faces.astype(index).ravel(), INDICES)
            primitives.append({"attributes": attributes, "indices": triangles, "material": material})
        if len(mesh.lines) and line_material is not None:
            ends = self.accessor(mesh.lines.astype(index).ravel(), INDICES)
            primitives.append({"attributes": {"POSITION": points}, "indices": ends, "material": line_material, "mode": LINES})
        if not primitives:
            return None
        # Meshes with equal shapes and materials are stored once, whatever their names.
        return self._add("meshes", {"name": name, "primitives": primitives}, json.dumps(primitives))

    def camera(self, name: str, angle: float, aspect: float, near: float, far: float) -> int:
        """Return the index of a perspective camera with a vertical field of view (rad), an aspect ratio, and near and far planes,
        m."""
        view = {"yfov": angle, "aspectRatio": aspect, "znear": near, "zfar": far}
        return self._add("cameras", {"name": name, "type": "perspective", "perspective": view})

    def node(self, name: str, parent: int | None = None, **properties: int | None) -> int:
        entry = {"name": name} | {key: value for key, value in properties.items() if value is not None}
        self._tables["nodes"].append(entry)
        number = len(self._tables["nodes"]) - 1
        if parent is not None:
            self._tables["nodes"][parent].setdefault("children", []).append(number)
        return number

    def move(self, node: int, series: Mapping[str, Array], *, steps: bool = False) -> None:
        """Set translation, rotation (x, y, z, w) or scale of a node over time: a row (3,) or (4,) for each time, or one row.

        A constant series becomes a property of the node; a default value is omitted. The signs of rotations must be continuous,
        since viewers interpolate between rows. `steps`: each row is valid until the next.
        """
        entry = self._tables["nodes"][node]
        for path, values in series.items():
            rows = single_precision(values if len(values) == 1 else values[self._rows], entry["name"])
            if np.all(rows == rows[0]):
                if tuple(rows[0].tolist()) != TRANSFORMS[path]:
                    entry[path] = rows[0].tolist()
                continue
            times = self.accessor(self._times, bounds=True)
            self._channels.append({"sampler": len(self._samplers), "target": {"node": node, "path": path}})
            way = "STEP" if steps else "LINEAR"
            self._samplers.append({"input": times, "output": self.accessor(rows), "interpolation": way})

    def binary(self, scene: Mapping[str, Any], root: int) -> bytes:
        document: dict[str, Any] = {"asset": {"version": "2.0", "generator": "screwbond"}, "scene": 0}
        document["scenes"] = [{**scene, "nodes": [root]}]
        document |= {name: entries for name, entries in self._tables.items() if entries}
        if self._channels:
            document["animations"] = [{"name": "run", "samplers": self._samplers, "channels": self._channels}]
        if self._extensions:
            document["extensionsUsed"] = sorted(self._extensions)
        document["buffers"] = [{"byteLength": len(self._data)}]
        text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(self._data), b"BIN\0") + self._data
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def unit_rows(vectors: Array) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(lengths > 0.0, vectors / np.where(lengths > 0.0, lengths, 1.0), [0.0, 0.0, 1.0]).astype(np.float32)
