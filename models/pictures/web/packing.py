"""Arrays in; what a page's script unpacks out: base64 of 32-bit numbers, and curves in 16-bit steps."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import ArrayLike

from models.pictures.interpolation import Array, quaternions
from models.pictures.shapes.meshes import Mesh

STEPS = 65534
"""Steps of a curve between its least and its largest value; one more means that there is none."""


class Packed:
    """Arrays by name, and curves by number; what does not change over time has one row."""

    def __init__(self) -> None:
        self.arrays: dict[str, str] = {}
        self.curves: list[tuple[float, float, str]] = []
        self._meshes: dict[Mesh, str] = {}

    def put(self, name: str, values: ArrayLike) -> str:
        """Pack an array; names of indices end with "_index"."""
        kind = np.uint32 if name.endswith("_index") else np.float32
        self.arrays[name] = base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
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
        """Pack a mesh, once however many solids have it."""
        if mesh not in self._meshes:
            name = self._meshes[mesh] = self.put(f"mesh{len(self._meshes)}", mesh.points)
            self.put(f"{name}_normal", mesh.normals)
            self.put(f"{name}_index", mesh.faces)
            if len(mesh.lines):
                self.put(f"{name}_line_index", mesh.lines)
            if mesh.colours is not None:
                self.put(f"{name}_colour", mesh.colours)
        return self._meshes[mesh]

    def curve(self, values: Array) -> int:
        """Pack values (k,), which need not be finite, and tell their number."""
        values = values[:1] if np.all(values == values[:1]) else values
        known = np.isfinite(values)
        low, high = (float(v) for v in (np.min(values[known]), np.max(values[known]))) if known.any() else (0.0, 0.0)
        # Halves, so that the range of the largest floats is finite.
        step = 2.0 * (0.5 * high / STEPS - 0.5 * low / STEPS)
        steps = np.full(len(values), STEPS + 1, dtype="<u2")
        steps[known] = 0 if step == 0.0 else np.clip(np.rint((values[known] - low) / step), 0, STEPS)
        self.curves.append((low, step, base64.b64encode(steps.tobytes()).decode()))
        return len(self.curves) - 1
