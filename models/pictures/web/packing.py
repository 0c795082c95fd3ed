"""Packing of arrays and of a scene for WebGL in a page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.pictures.camera import direction, upward
from screwbond.models.pictures.interpolation import Array, quaternions
from screwbond.models.pictures.parts import Force, Look, SpringDrawing, Trail
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.shapes.tubes import SIDES, helix, path_tube
from screwbond.models.pictures.stage.stage import GAUSS, RADIUS, TUBE
from screwbond.models.pictures.style import AXES, FORCE
from screwbond.models.pictures.timing import SPACING, show_times

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


SAMPLES = (300, 2000)
"""Smallest and largest number of samples of a scene in a page; fewer the more objects move, for about 2 MB."""


def pack_scene(scene: Scene, packed: Packed) -> dict[str, Any]:
    """Return the visible parts of a scene, by the names of the page's script; its arrays go into `packed`."""
    meshes = [scene.mesh(i, 41, 61) for i in range(len(scene.solids))]
    corners = _corners(scene, meshes)
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    newtons_per_metre, unit_length, _ = scene.scale
    return {
        "axes": AXES,
        "force_colour": FORCE,
        "legend": scene.legend,
        "force_legend": scene.force_legend,
        "newtons_per_metre": newtons_per_metre,
        "unit_length": unit_length,
        "radius": RADIUS * scene.unit,
        "tube": TUBE * RADIUS * scene.unit,
        "triad": GAUSS * scene.unit,
        "sides": SIDES,
        "ghost_spacing": SPACING * scene.stride,
        "view": direction(scene).tolist(),
        "up": upward(scene).tolist(),
        "centre": centre.tolist(),
        "reach": float(np.linalg.norm(corners - centre, axis=1).max()) or 1.0,
        "solids": _solids(scene, meshes, packed),
        "frames": _frames(scene, packed),
        "paths": [_path(k, path, scene, packed) for k, path in enumerate(scene.all_paths)],
        "forces": [_force(k, force, packed) for k, force in enumerate(scene.all_forces)],
        "coils": [_coil(k, coil, scene, packed) for k, coil in enumerate(scene.springs)],
        # Frames of contacts follow the others.
        "touches": [{"solids": touch.solids, "plane": len(scene.frames) + 2 * k} for k, touch in enumerate(scene.contacts)],
    }


def downsampled(scene: Scene) -> Scene:
    """Return the scene with at most the samples of a page: half of them even in time, half where playing is slow."""
    moving = len(scene.all_paths) + sum(solid.moves() for solid in scene.solids)
    least, most = SAMPLES
    count = int(np.clip(4 * most / max(moving, 1), least, most))
    if len(scene.t) <= count:
        return scene
    even = np.linspace(scene.t[0], scene.t[-1], count // 2)
    return scene.at_times(np.unique([*even, *show_times(scene, count // 2)]))


def _corners(scene: Scene, meshes: list[Mesh]) -> Array:
    """Return world points (j, 3) that outline everything that a camera must see."""
    few = slice(None, None, max(1, len(scene.t) // 40))
    points = [frame.poses[few, :3, 3] for frame in scene.frames]
    points += [path.points[few] for path in scene.all_paths if path.on is None]
    points += [end[few] for coil in scene.springs for end in (coil.starts, coil.ends)]
    for solid, mesh in zip(scene.solids, meshes, strict=True):
        if solid.framed:
            poses = solid.poses[few] if solid.moves() else solid.poses[:1]
            points += [mesh.outline @ H[:3, :3].T + H[:3, 3] for H in poses]
    return np.concatenate(points or [np.zeros((1, 3))])


def _solids(scene: Scene, meshes: list[Mesh], packed: Packed) -> list[dict[str, Any]]:
    solids = []
    for k, (solid, mesh) in enumerate(zip(scene.solids, meshes, strict=True)):
        name = packed.mesh(mesh)
        since = None if solid.ghosts is None else max(solid.ghosts, float(scene.t[0]))
        solids.append(
            {
                "pose": packed.pose(f"solid{k}", solid.poses),
                "mesh": name,
                "colour": solid.colour,
                "line_colour": solid.line_colour if len(mesh.lines) else None,
                "painted": mesh.colours is not None,
                "look": solid.look.name,
                "ground": solid.unbounded,
                "open": solid.look is Look.GLASS and mesh.open,
                "ghosts": since,
            }
        )
    return solids


def _frames(scene: Scene, packed: Packed) -> list[dict[str, Any]]:
    frames = []
    for k, frame in enumerate(scene.all_frames):
        look = {"length": frame.length, "thickness": frame.thickness, "label": frame.label, "at_axis": frame.at_axis}
        shown = None if frame.shown is None else packed.course(f"frame{k}_shown", frame.shown.astype(float))
        frames.append({"pose": packed.pose(f"frame{k}", frame.poses), "shown": shown, **look})
    return frames


def _force(k: int, force: Force, packed: Packed) -> dict[str, Any]:
    at, newtons = packed.course(f"force{k}_p", force.points), packed.course(f"force{k}", force.newtons)
    return {"at": at, "newtons": newtons, "pushing": force.pushing}


def _coil(k: int, coil: SpringDrawing, scene: Scene, packed: Packed) -> dict[str, Any]:
    """Pack a helix along z, and its end points."""
    ends = {"start": packed.course(f"coil{k}_a", coil.starts), "end": packed.course(f"coil{k}_b", coil.ends)}
    mesh = packed.mesh(helix(coil.length, coil.radius * scene.unit, coil.turns))
    return {"mesh": mesh, "colour": coil.colour, "length": coil.length, **ends}


def _path(k: int, path: Trail, scene: Scene, packed: Packed) -> dict[str, Any]:
    """Pack a path; its tube is a mesh whose first triangles are the first part of the path."""
    thick = np.broadcast_to(path.thick, len(scene.t)) * TUBE * RADIUS * scene.unit
    rings = SIDES * np.arange(len(scene.t) - 1)
    lines = np.stack([rings, rings + SIDES], axis=1)[: None if path.ahead else 0]
    tube = packed.mesh(Mesh(*path_tube(path.points, path.normals, thick), lines))
    end = packed.course(f"path{k}_end", path.points)
    return {"mesh": tube, "end": end, "on": path.on, "colour": path.colour, "ahead": path.ahead}
