"""Packing of arrays for a page's script: base64 of numbers in short types, and curves in 16-bit steps."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.pictures.interpolation import Array, quaternions
from screwbond.models.pictures.shapes.meshes import Mesh

NUMBER_TYPES = {"Float32": "<f4", "Float64": "<f8", "Uint32": "<u4", "Uint16": "<u2", "Uint8": "u1", "Int8": "i1"}
"""Number types, as the script and as NumPy call them."""

STEPS = 65534
"""Steps of a curve between its least and its largest value; one more marks a missing value."""


class Packed:
    """Packed arrays by name, and curves by number; constant ones have one row."""

    def __init__(self) -> None:
        self.arrays: dict[str, str | tuple[str, str]] = {}
        self.curves: list[tuple[float, float, str, str]] = []
        self._meshes: dict[tuple[bytes | None, ...], str] = {}

    def put(self, name: str, values: ArrayLike, kind: str = "Float32") -> str:
        """Pack an array as 32-bit floats, or as another of `NUMBER_TYPES`."""
        text = base64.b64encode(np.ascontiguousarray(values, dtype=NUMBER_TYPES[kind]).tobytes()).decode()
        self.arrays[name] = text if kind == "Float32" else (kind, text)
        return name

    def course(self, name: str, values: Array) -> str:
        """Pack rows over time."""
        return self.put(name, values[:1] if np.all(values == values[:1]) else values)

    def pose(self, name: str, poses: Array) -> str:
        """Pack poses (k, 4, 4)."""
        self.course(f"{name}_p", poses[:, :3, 3])
        self.course(f"{name}_q", quaternions(poses))
        return name

    def mesh(self, mesh: Mesh) -> str:
        """Pack a mesh, shared by solids with equal meshes."""
        parts = (mesh.points, mesh.normals, mesh.faces, mesh.lines, mesh.colours)
        same = tuple(None if part is None else np.asarray(part).tobytes() for part in parts)
        if same not in self._meshes:
            name = self._meshes[same] = self.put(f"mesh{len(self._meshes)}", mesh.points)
            index = "Uint16" if len(mesh.points) < 1 << 16 else "Uint32"
            self.put(f"{name}_normal", np.rint(127.0 * np.asarray(mesh.normals)), "Int8")
            self.put(f"{name}_index", mesh.faces, index)
            if len(mesh.lines):
                self.put(f"{name}_line_index", mesh.lines, index)
            if mesh.colours is not None:
                self.put(f"{name}_colour", np.rint(255.0 * np.asarray(mesh.colours)), "Uint8")
        return self._meshes[same]

    def curve(self, values: Array, times: str = "tq") -> int:
        """Pack values (k,), which need not be finite, at the times of that name; return their number."""
        finite = np.isfinite(values)
        values = values[:1] if np.all(values == values[0]) or not finite.any() else values
        finite = finite[: len(values)]
        low, high = (float(v) for v in (np.min(values[finite]), np.max(values[finite]))) if finite.any() else (0.0, 0.0)
        # Halve first, so that the range of the largest floats is finite.
        step = 2.0 * (0.5 * high / STEPS - 0.5 * low / STEPS)
        if step > 0.0 and low < 0.0 < high:
            low = -float(np.rint(-low / step)) * step  # zero is one of the steps
        steps = np.full(len(values), STEPS + 1, dtype="<u2")
        steps[finite] = 0 if step == 0.0 else np.clip(np.rint((values[finite] - low) / step), 0, STEPS)
        self.curves.append((low, step, base64.b64encode(steps.tobytes()).decode(), times))
        return len(self.curves) - 1
