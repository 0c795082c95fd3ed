"""Packing of arrays, animations and a scene for WebGL in pages."""

from __future__ import annotations

import base64
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from screwbond.models.pictures.framing import in_view, outline, solids_to_follow
from screwbond.models.pictures.interpolation import Array, Interpolation, quaternions
from screwbond.models.pictures.parts import Force, Look, SpringDrawing, Trail
from screwbond.models.pictures.scene import SPACING, Scene, direction, show_times, upward
from screwbond.models.pictures.shapes.meshes import SIDES, Mesh, farthest, path_tube
from screwbond.models.pictures.style import AXES, FORCE, GAUSS, RADIUS, TUBE

from bondgraph.run.results.result import Result

NUMBER_TYPES = {"Float32": "<f4", "Float64": "<f8", "Uint32": "<u4", "Uint16": "<u2", "Uint8": "u1", "Int8": "i1"}

STEPS = 65534
"""Number of steps between a curve's minimum and maximum; one more value marks a gap."""


class Packed:
    """Packed arrays by name, and curves by index; constant arrays have one row."""

    def __init__(self) -> None:
        self.arrays: dict[str, str | tuple[str, str]] = {}
        self.curves: list[tuple[float, float, str, str]] = []
        self._meshes: dict[tuple[bytes | None, ...], str] = {}

    def put(self, name: str, values: ArrayLike, kind: str = "Float32") -> str:
        text = base64.b64encode(np.ascontiguousarray(values, dtype=NUMBER_TYPES[kind]).tobytes()).decode()
        self.arrays[name] = text if kind == "Float32" else (kind, text)
        return name

    def put_series(self, name: str, values: Array) -> str:
        return self.put(name, values[:1] if np.all(values == values[:1]) else values)

    def pose(self, name: str, poses: Array) -> str:
        self.put_series(f"{name}_p", poses[:, :3, 3])
        self.put_series(f"{name}_q", quaternions(poses))
        return name

    def mesh(self, mesh: Mesh) -> str:
        parts = (mesh.points, mesh.normals, mesh.faces, mesh.lines, mesh.colours)
        key = tuple(None if part is None else np.asarray(part).tobytes() for part in parts)
        if key not in self._meshes:
            name = self._meshes[key] = self.put(f"mesh{len(self._meshes)}", mesh.points)
            index = "Uint16" if len(mesh.points) < 1 << 16 else "Uint32"
            self.put(f"{name}_normal", np.rint(127.0 * np.asarray(mesh.normals)), "Int8")
            self.put(f"{name}_index", mesh.faces, index)
            if len(mesh.lines):
                self.put(f"{name}_line_index", mesh.lines, index)
            if mesh.colours is not None:
                self.put(f"{name}_colour", np.rint(255.0 * np.asarray(mesh.colours)), "Uint8")
        return self._meshes[key]

    def curve(self, values: Array, times: str = "tq") -> int:
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


OUTLINE = 64
"""Number of directions in which the scene is bounded for the camera of a page."""

SAMPLES = (300, 2000)
"""Smallest and largest number of samples of a scene in a page; scenes with more moving objects have fewer, to keep about 2 MB."""


def pack_scene(scene: Scene, packed: Packed) -> dict[str, Any]:
    meshes = [scene.mesh(i, 41, 61) for i in range(len(scene.solids))]
    seen = in_view(scene, meshes)
    points = outline(scene, meshes, seen)
    corners = farthest(points, OUTLINE) if len(points) else np.zeros((1, 3))
    packed.put("outline", corners)
    moving, near, far = solids_to_follow(scene, meshes, seen)
    packed.put("near", farthest(near, OUTLINE) if len(near) else near)
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    scales = [scene.scale, *([scene.scale_for(0.5 * float(np.ptp(near, axis=0).max()))] if moving else [])]
    return {
        "axes": AXES,
        "force_colour": FORCE,
        "legend": scene.legend,
        # Scales of arrows in a fixed view and, if any, in a view that follows bodies.
        "scales": [scale._asdict() | {"text": scene.legend_of(scale)} for scale in scales],
        "radius": RADIUS * scene.unit,
        "tube": TUBE * RADIUS * scene.unit,
        "triad": GAUSS * scene.unit,
        "sides": SIDES,
        "ghost_spacing": SPACING * scene.stride,
        "view": direction(scene).tolist(),
        "up": upward(scene).tolist(),
        "centre": centre.tolist(),
        "reach": float(np.linalg.norm(corners - centre, axis=1).max()) or 1.0,
        "followed": moving,
        "far": far,
        "solids": _solids(scene, meshes, seen, packed),
        "frames": _frames(scene, packed),
        "paths": [_path(k, path, scene, packed) for k, path in enumerate(scene.all_paths)],
        "forces": [_force(k, force, packed) for k, force in enumerate(scene.all_forces)],
        "coils": [_coil(k, coil, scene, packed) for k, coil in enumerate(scene.springs)],
        # Frames of contacts follow all other frames.
        "touches": [{"solids": touch.solids, "plane": len(scene.frames) + 2 * k} for k, touch in enumerate(scene.contacts)],
    }


def downsample(scene: Scene) -> Scene:
    moving = len(scene.all_paths) + sum(solid.moves() for solid in scene.solids)
    least, most = SAMPLES
    count = int(np.clip(4 * most / max(moving, 1), least, most))
    if len(scene.t) <= count:
        return scene
    even = np.linspace(scene.t[0], scene.t[-1], count // 2)
    return scene.at_times(np.unique([*even, *show_times(scene, count // 2)]))


def _solids(scene: Scene, meshes: list[Mesh], seen: Collection[int], packed: Packed) -> list[dict[str, Any]]:
    solids = []
    for k, (solid, mesh) in enumerate(zip(scene.solids, meshes, strict=True)):
        name = packed.mesh(mesh)
        since = None if solid.ghosts is None else max(solid.ghosts, float(scene.t[0]))
        solids.append(
            {
                "name": solid.words,
                "pose": packed.pose(f"solid{k}", solid.poses),
                "mesh": name,
                "colour": solid.colour,
                "line_colour": solid.line_colour if len(mesh.lines) else None,
                "painted": mesh.colours is not None,
                "look": solid.look.name,
                "ground": solid.unbounded,
                "seen": k in seen,
                "open": solid.look is Look.GLASS and mesh.open,
                "ghosts": since,
            }
        )
    return solids


def _frames(scene: Scene, packed: Packed) -> list[dict[str, Any]]:
    frames = []
    for k, frame in enumerate(scene.all_frames):
        look = {"length": frame.length, "thickness": frame.thickness, "label": frame.label, "at_axis": frame.at_axis}
        look["on"] = scene.carriers(frame)
        shown = None if frame.shown is None else packed.put_series(f"frame{k}_shown", frame.shown.astype(float))
        frames.append({"pose": packed.pose(f"frame{k}", frame.poses), "shown": shown, **look})
    return frames


def _force(k: int, force: Force, packed: Packed) -> dict[str, Any]:
    at, newtons = packed.put_series(f"force{k}_p", force.points), packed.put_series(f"force{k}", force.newtons)
    return {"at": at, "newtons": newtons, "pushing": force.pushing}


def _coil(k: int, coil: SpringDrawing, scene: Scene, packed: Packed) -> dict[str, Any]:
    ends = {"start": packed.put_series(f"coil{k}_a", coil.starts), "end": packed.put_series(f"coil{k}_b", coil.ends)}
    mesh = packed.mesh(scene.coil(coil))
    return {"mesh": mesh, "colour": coil.colour, "length": coil.length, **ends}


def _path(k: int, path: Trail, scene: Scene, packed: Packed) -> dict[str, Any]:
    thick = np.broadcast_to(path.thick, len(scene.t)) * TUBE * RADIUS * scene.unit
    rings = SIDES * np.arange(len(scene.t) - 1)
    lines = np.stack([rings, rings + SIDES], axis=1)[: None if path.ahead else 0]
    tube = packed.mesh(Mesh(*path_tube(path.points, path.normals, thick), lines))
    end = packed.put_series(f"path{k}_end", path.points)
    return {"mesh": tube, "end": end, "on": path.on, "colour": path.colour, "ahead": path.ahead}


STRAIGHTNESS = 2e-3
"""Largest distance of samples from the line between two kept rows that does not show, relative to the range of the curve."""


@dataclass(frozen=True, eq=False)
class EventRows:
    """Samples of a result in a span of time, with the values just before and just after its events; simultaneous events count as
    one.

    Attributes
    ----------
    t : times (k,), s; event times appear twice.
    order : rows (k,) into the samples, values before events, values after them and values at the ends of the span, stacked in
        this order.
    ends : start and end of the span, interpolated between samples.
    """

    result: Result
    t: Array
    order: NDArray[np.intp]
    ends: Interpolation

    @classmethod
    def of(cls, result: Result, start: float, end: float) -> EventRows:
        event_times = result.events.times
        times = np.concatenate([result.t, np.repeat(event_times, 2), [start, end]])
        # Each event has values before and after it; the ends come last, and only where there is no sample.
        order = np.argsort(times, kind="stable")
        inside = (times >= start) & (times <= end)
        inside[-2:] = ~np.isin([start, end], result.t)
        # Drop states between two events at one instant.
        first = np.diff(event_times, prepend=-np.inf) > 0.0
        last = np.diff(event_times, append=np.inf) > 0.0
        inside[len(result.t) : -2] &= np.column_stack([first, last]).ravel()
        order = order[inside[order]]
        return cls(result, times[order], order, Interpolation.of(result.t, [start, end]))

    def values(self, name: str) -> Array:
        samples, (before, after) = np.asarray(self.result[name], dtype=float), self.result.at_events(name)
        sides = np.stack([before, after], axis=1).reshape(-1, *samples.shape[1:])
        constant = self.result.program.layout[name].is_mode
        ends = samples[self.ends.low] if constant else self.ends.values(samples)
        return np.concatenate([samples, sides, ends])[self.order]


@dataclass(frozen=True, eq=False)
class Downsampling:
    """Selection of at most a given number of rows, with two per interval, or one if the interval has a single row.

    Where a curve is nearly straight in an interval, the ends of the interval are kept; elsewhere the minimum and maximum, in time
    order, so that no short peak is lost.

    Attributes
    ----------
    t : times (k,) of all rows, s.
    first, last : rows (n,) at which intervals start and end.
    """

    t: Array
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    @classmethod
    def of(cls, t: Array, count: int) -> Downsampling:
        """Divide rows at t (k,) into intervals of equal steps in the sum of relative time and relative row number."""
        rows = np.arange(len(t))
        if len(t) <= count:
            return cls(t, rows, rows)
        way = (t - t[0]) / ((t[-1] - t[0]) or 1.0) + rows / (len(t) - 1)
        stretch = np.minimum((0.25 * count * way).astype(int), count // 2 - 1)
        first = np.flatnonzero(np.diff(stretch, prepend=-1))
        return cls(t, first, np.append(first[1:], len(t)) - 1)

    @property
    def _kept_rows(self) -> NDArray[np.bool_]:
        return np.column_stack([np.ones(len(self.first), dtype=bool), self.last > self.first])

    @property
    def times(self) -> Array:
        return np.asarray(self.t[np.column_stack([self.first, self.last])[self._kept_rows]])

    def select(self, values: Array) -> Array:
        """Return the values to keep (j,) of the values (k,) of all rows.

        If rows are dropped, non-finite values are ignored, and an interval without finite values gives NaN.
        """
        pair = np.column_stack([values[self.first], values[self.last]])
        if len(self.first) < len(self.t):
            finite = np.where(np.isfinite(values), values, np.nan)
            low, high = np.fmin.reduceat(finite, self.first), np.fmax.reduceat(finite, self.first)
            bent = np.maximum.reduceat(np.abs(finite - self._chord(finite)), self.first)
            limit = STRAIGHTNESS * (np.nanmax(high) - np.nanmin(low)) if np.isfinite(high).any() else 0.0
            # Intervals with NaN are not straight.
            bent = ~(bent <= limit)
            extremes = np.column_stack([low, high])
            rising = self._row_of(finite, low) <= self._row_of(finite, high)
            pair[bent] = np.where(rising[:, None], extremes, extremes[:, ::-1])[bent]
        return np.asarray(pair[self._kept_rows])

    def _chord(self, values: Array) -> Array:
        sizes = self.last - self.first + 1
        start, end = (np.repeat(values[rows], sizes) for rows in (self.first, self.last))
        since, until = (np.repeat(self.t[rows], sizes) for rows in (self.first, self.last))
        part = (self.t - since) / np.where(until > since, until - since, 1.0)
        return np.asarray(start + part * (end - start))

    def _row_of(self, values: Array, targets: Array) -> NDArray[np.intp]:
        matches = values == np.repeat(targets, self.last - self.first + 1)
        rows = np.where(matches, np.arange(len(values)), len(values))
        return np.asarray(np.minimum.reduceat(rows, self.first))
