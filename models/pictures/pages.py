"""A scene as one HTML file that opens offline: solids, time slider and plots on the same time cursor."""

from __future__ import annotations

import base64
import html
import json
import os
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bondgraph.output.files import finite, known_ending, write_text
from models.pictures.camera import direction, upward
from models.pictures.interpolation import Array, quaternions
from models.pictures.parts import Force, Look, Trail
from models.pictures.plotting import plain, shown_unit, titled
from models.pictures.scene import Scene
from models.pictures.shapes.meshes import Mesh
from models.pictures.shapes.tubes import SIDES, path_tube
from models.pictures.stage.ghosts import SPACING
from models.pictures.stage.stage import GAUSS, RADIUS, TUBE
from models.pictures.style import AXES, FORCE
from models.pictures.timing import show_times

SAMPLES = (300, 2000)
"""Least and most samples of a scene that a page holds; between them it has fewer the more moves, so that it stays about 2 MB."""


def page(scene: Scene, path: str | os.PathLike[str], seconds: float = 10.0, show: float | None = None) -> None:
    """Write the page; it needs no network, no other file, and a browser with WebGL.

    Parameters
    ----------
    seconds : how long playing takes at speed 1.
    show : the time (s) at which it opens; the start where None.
    """
    known_ending(path, ".html")
    template = resources.files("models.pictures").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(finite(contents(scene, seconds, show)), separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    text = template.replace("@TITLE@", html.escape(scene.title)).replace("@DATA@", data)
    write_text(path, text)


class _Arrays:
    """Arrays by name as base64 of 32-bit numbers; what does not change over time has one row."""

    def __init__(self) -> None:
        self.packed: dict[str, str] = {}
        self._meshes: dict[Mesh, str] = {}

    def put(self, name: str, values: ArrayLike) -> str:
        """Pack an array; names of indices end with "_index"."""
        kind = np.uint32 if name.endswith("_index") else np.float32
        self.packed[name] = base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
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


def contents(scene: Scene, seconds: float, show: float | None) -> dict[str, Any]:
    """What the page's script reads: small values by name, and arrays as base64 of 32-bit numbers."""
    playback = show_times(scene, 601)
    scene = thinned(scene)
    arrays = _Arrays()
    arrays.put("t", scene.t)
    meshes = [scene.mesh(i, 41, 61) for i in range(len(scene.solids))]
    corners = _corners(scene, meshes)
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    newtons_per_metre, unit_length, _ = scene.scale
    return {
        "name": scene.name,
        "title": scene.title,
        "subtitle": scene.subtitle,
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
        "reach": float(np.linalg.norm(corners - centre, axis=1).max()),
        "contacts": scene.contact_intervals(),
        "playback": playback.tolist(),
        "seconds": seconds,
        "show": float(scene.t[0]) if show is None else show,
        "solids": _solids(scene, meshes, arrays),
        "frames": _frames(scene, arrays),
        "paths": [_path(k, path, scene, arrays) for k, path in enumerate(scene.all_paths)],
        "forces": [_force(k, force, arrays) for k, force in enumerate(scene.all_forces)],
        # Frames of touches stand behind the others.
        "touches": [{"solids": touch.solids, "plane": len(scene.frames) + 2 * k} for k, touch in enumerate(scene.touches)],
        "plots": _plots(scene, arrays),
        "arrays": arrays.packed,
    }


def thinned(scene: Scene) -> Scene:
    """The scene with no more samples than a page holds: half of them even in time, half where playing is slow."""
    moving = len(scene.all_paths) + sum(solid.moves() for solid in scene.solids)
    least, most = SAMPLES
    count = int(np.clip(4 * most / max(moving, 1), least, most))
    if len(scene.t) <= count:
        return scene
    even = np.linspace(scene.t[0], scene.t[-1], count // 2)
    return scene.at_times(np.unique([*even, *show_times(scene, count // 2)]))


def _corners(scene: Scene, meshes: list[Mesh]) -> Array:
    """World points (j, 3) that outline everything that a camera must see."""
    few = slice(None, None, max(1, len(scene.t) // 40))
    points = [frame.poses[few, :3, 3] for frame in scene.frames]
    points += [path.points[few] for path in scene.all_paths if path.on is None]
    for solid, mesh in zip(scene.solids, meshes, strict=True):
        if solid.framed:
            poses = solid.poses[few] if solid.moves() else solid.poses[:1]
            points += [mesh.outline @ H[:3, :3].T + H[:3, 3] for H in poses]
    return np.concatenate(points or [np.zeros((1, 3))])


def _solids(scene: Scene, meshes: list[Mesh], arrays: _Arrays) -> list[dict[str, Any]]:
    found = []
    for k, (solid, mesh) in enumerate(zip(scene.solids, meshes, strict=True)):
        name = arrays.mesh(mesh)
        since = None if solid.ghosts is None else max(solid.ghosts, float(scene.t[0]))
        found.append(
            {
                "pose": arrays.pose(f"solid{k}", solid.poses),
                "mesh": name,
                "colour": solid.colour,
                "line_colour": solid.line_colour if len(mesh.lines) else None,
                "painted": mesh.colours is not None,
                "look": solid.look.name,
                "ground": solid.endless,
                "open": solid.look is Look.GLASS and mesh.open,
                "ghosts": since,
            }
        )
    return found


def _frames(scene: Scene, arrays: _Arrays) -> list[dict[str, Any]]:
    found = []
    for k, frame in enumerate(scene.all_frames):
        look = {"length": frame.length, "thickness": frame.thickness, "label": frame.label, "at_axis": frame.at_axis}
        shown = None if frame.shown is None else arrays.course(f"frame{k}_shown", frame.shown.astype(float))
        found.append({"pose": arrays.pose(f"frame{k}", frame.poses), "shown": shown, **look})
    return found


def _force(k: int, force: Force, arrays: _Arrays) -> dict[str, Any]:
    at, newtons = arrays.course(f"force{k}_p", force.points), arrays.course(f"force{k}", force.newtons)
    return {"at": at, "newtons": newtons, "pushing": force.pushing}


def _path(k: int, path: Trail, scene: Scene, arrays: _Arrays) -> dict[str, Any]:
    """What the page's script reads of a path; its tube is a mesh whose first triangles are the first part of the path."""
    thick = np.broadcast_to(path.thick, len(scene.t)) * TUBE * RADIUS * scene.unit
    rings = SIDES * np.arange(len(scene.t) - 1)
    whole = np.stack([rings, rings + SIDES], axis=1)[: None if path.ahead else 0]
    tube = arrays.mesh(Mesh(*path_tube(path.points, path.normals, thick), whole))
    end = arrays.course(f"path{k}_end", path.points)
    return {"mesh": tube, "end": end, "on": path.on, "colour": path.colour, "ahead": path.ahead}


def _plots(scene: Scene, arrays: _Arrays) -> list[dict[str, Any]]:
    """Titles and curves of the page's plots."""
    found = []
    for p, panel in enumerate(scene.panels):
        (factor, unit), curves = shown_unit(panel), []
        for c, curve in enumerate(panel.curves):
            array = arrays.put(f"curve{p}_{c}", factor * np.nan_to_num(curve.values))
            look = {"colour": curve.colour, "name": plain(curve.name), "dash": bool(curve.dashed)}
            curves.append({"array": array, **look})
        found.append({"title": titled(plain(panel.title), unit), "curves": curves})
    return found
