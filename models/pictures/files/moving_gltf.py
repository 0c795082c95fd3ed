"""Scene as a moving glTF: solids, frames, paths, springs and forces as nodes, with their motion as one animation."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.files.gltf import GltfDraft, linear_colour
from screwbond.models.pictures.framing import in_view, outline
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.interpolation import Array, quaternions, unrotated_poses
from screwbond.models.pictures.parts import Force, Frame, Look, Solid, SpringDrawing, Trail
from screwbond.models.pictures.scene import Scene, direction, fit, upward
from screwbond.models.pictures.shapes.meshes import Mesh, along, cone, cylinder, path_tube, triad_mesh
from screwbond.models.pictures.style import FORCE, GAUSS, HEAD, OVERLAP, RADIUS, SHORTEST, TUBE

from bondgraph.errors import refusal
from bondgraph.output.files import atomic_file, known_ending
from bondgraph.run.results.result import Result

OPACITY = {Look.GLASS: 0.5, Look.OPAQUE: 1.0, Look.VEIL: 0.3, Look.WALL: 1.0}
"""Opacity of each look; in glTF it cannot depend on the viewing angle."""

LINE_OPACITY = 0.6

RINGS = 1000

WINDOW, MARGINS = (1280, 720), (60, 60, 60, 60)
"""Window and margins, pixels, for which the camera is placed."""

MESH = 41, 61

UP = np.array([0.0, 1.0, 0.0])
"""Upward direction of glTF (glTF 3.3)."""

WHITE = (1.0, 1.0, 1.0)


def save_scene(shown: Result | Scene, path: str | os.PathLike[str], *, seconds: float | None = None) -> Path:
    """Write a run as a moving scene in glTF 2.0, which browsers, Blender, slides and most 3-D viewers open.

    Lengths are in m; the scene's upward direction becomes y, as glTF requires. Contact paths are complete from the start; ghosts
    and lines across gaps are left out.

    Parameters
    ----------
    shown : the result of a run, or a scene; `scene.at_times(times)` has other samples.
    path : ends in ".glb".
    seconds : playing time; by default the duration of the run.

    Returns the file written. Raises `ModelError` E160 for a run without anything to show, E579 for anything but a result or a
    scene, E680 for an invalid playing time, E681 for values that 32-bit floats cannot hold; `FileError` E414, E415.
    """
    known_ending(path, ".glb")
    contents = scene_bytes(as_scene(shown), seconds)
    with atomic_file(path) as part:
        part.write_bytes(contents)
    return Path(path)


def scene_bytes(scene: Scene, seconds: float | None = None) -> bytes:
    scene.need("solids, frames, paths or springs", scene.solids, scene.all_frames, scene.all_paths, scene.springs)
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0.0):
        raise refusal(
            "E680", f"the playing time cannot be {seconds:g} s", "seconds=10.0", "omit `seconds` for real time", about=scene.title
        )
    duration = float(scene.t[-1] - scene.t[0])
    draft = GltfDraft(scene.t if seconds is None or not duration > 0.0 else scene.t * (seconds / duration))
    world = draft.node("world")
    draft.move(world, {"rotation": least_rotation(upward(scene), UP)[None]})
    meshes = [scene.mesh(k, *MESH) for k in range(len(scene.solids))]
    bodies = [_solid(draft, world, solid, mesh) for solid, mesh in zip(scene.solids, meshes, strict=True)]
    for frame in scene.all_frames:
        if frame.length > 0.0 and (frame.shown is None or frame.shown.any()):
            _frame(draft, world, frame, scene.unit)
    for path in scene.all_paths:
        _path(draft, world if path.on is None else bodies[path.on], path, scene.unit)
    for spring in scene.springs:
        _spring(draft, world, spring, scene.coil(spring))
    for force in scene.all_forces:
        _force(draft, world, force, scene)
    _camera(draft, world, scene, outline(scene, meshes, in_view(scene, meshes)))
    extras = {"model": scene.title, "run": scene.name, "starts at, s": float(scene.t[0]), "takes, s": duration}
    return draft.binary({"name": scene.title, "extras": extras}, world)


def _placed(poses: Array) -> dict[str, Array]:
    constant = bool(np.all(poses == poses[0]))
    poses = poses[:1] if constant else poses
    return {"translation": poses[:, :3, 3], "rotation": np.roll(quaternions(poses), -1, axis=1)}


def _shown(shown: NDArray[np.bool_]) -> Array:
    """Return scales (k, 3) that hide a node while it is not shown: glTF cannot animate visibility (glTF 3.5.3)."""
    return np.repeat(shown[:, None].astype(float), 3, axis=1)


def _solid(draft: GltfDraft, world: int, solid: Solid, mesh: Mesh) -> int:
    opacity, look_name = OPACITY[solid.look], f"{solid.look.name.lower()} {solid.colour}"
    both = mesh.open and solid.look is not Look.WALL
    shade, unlit = WHITE if mesh.colours is not None else linear_colour(solid.colour), solid.look is Look.VEIL
    material = draft.material(look_name, shade, opacity=opacity, both_sides=both, unlit=unlit)
    lines = None
    if len(mesh.lines):
        ink = solid.line_colour
        lines = draft.material(f"lines {ink}", linear_colour(ink), opacity=LINE_OPACITY, unlit=True)
    name = solid.name or "body"
    node = draft.node(name, world, mesh=draft.mesh(name, mesh, material, lines))
    draft.move(node, _placed(solid.poses))
    return node


def _frame(draft: GltfDraft, world: int, frame: Frame, unit: float) -> None:
    mesh = triad_mesh(GAUSS * unit * frame.length, RADIUS * unit * frame.thickness)
    node = draft.node("".join(frame.label) or "frame", world, mesh=draft.mesh("frame", mesh, draft.material("axes", WHITE)))
    draft.move(node, _placed(frame.poses))
    if frame.shown is not None:
        draft.move(node, {"scale": _shown(frame.shown)}, steps=True)


def _path(draft: GltfDraft, parent: int, path: Trail, unit: float) -> None:
    count = len(path.points)
    if count < 2:
        return
    pick = np.unique(np.linspace(0, count - 1, min(count, RINGS)).astype(int))
    thick = TUBE * RADIUS * unit * np.broadcast_to(path.thick, count)[pick]
    tube = Mesh(*path_tube(path.points[pick], path.normals[pick], thick))
    name, colour = path.label or "path", linear_colour(path.colour)
    draft.node(name, parent, mesh=draft.mesh(name, tube, draft.material(f"path {path.colour}", colour, both_sides=True)))


def _spring(draft: GltfDraft, world: int, spring: SpringDrawing, coil: Mesh) -> None:
    material = draft.material(f"spring {spring.colour}", linear_colour(spring.colour))
    node = draft.node(spring.name, world, mesh=draft.mesh(spring.name, coil, material))
    span = spring.ends - spring.starts
    scale = np.ones_like(span)
    scale[:, 2] = np.linalg.norm(span, axis=1) / spring.length
    draft.move(node, {**_placed(carried_poses(span, spring.starts)), "scale": scale})


def _force(draft: GltfDraft, world: int, force: Force, scene: Scene) -> None:
    radius = scene.arrow_radius
    head = HEAD[0] * radius
    starts, tips = scene.arrow(force)
    span = tips - starts
    length = np.linalg.norm(span, axis=1)
    shown = length > SHORTEST * head
    if not shown.any():
        return
    material = draft.material("force", linear_colour(FORCE))
    arrow = draft.node(" ".join(filter(None, ("force", force.label))), world)
    draft.move(arrow, _placed(carried_poses(span, starts)))
    draft.move(arrow, {"scale": _shown(shown)}, steps=True)
    shaft, point = cylinder(radius, 0.0, 1.0), cone(HEAD[1] * radius, -head, 0.0)
    along_z = np.zeros_like(span)
    along_z[:, 2] = length
    scale = np.ones_like(span)
    scale[:, 2] = np.maximum(length - OVERLAP * head, 0.0)
    draft.move(draft.node("shaft", arrow, mesh=draft.mesh("shaft", shaft, material)), {"scale": scale})
    draft.move(draft.node("head", arrow, mesh=draft.mesh("head", point, material)), {"translation": along_z})


def _camera(draft: GltfDraft, world: int, scene: Scene, corners: Array) -> None:
    around = GAUSS * scene.unit * np.concatenate([np.eye(3), -np.eye(3)])
    view = fit((corners[:, None] + around).reshape(-1, 3), direction(scene), upward(scene), WINDOW, MARGINS)
    distance, pose = float(np.linalg.norm(view.eye - view.centre)), np.eye(4)
    pose[:3, :3], pose[:3, 3] = view.axes.T, view.eye
    lens = draft.camera("camera", math.radians(view.angle), WINDOW[0] / WINDOW[1], 0.02 * distance, 6.0 * distance)
    draft.move(draft.node("camera", world, camera=lens), _placed(pose[None]))


def carried_poses(directions: Array, origins: Array) -> Array:
    """Return poses (k, 4, 4) at origins (k, 3), whose z axes follow directions (k, 3) and which do not turn about them (parallel
    transport); a zero direction keeps the previous one."""
    length = np.linalg.norm(directions, axis=1)
    nonzero = np.flatnonzero(length > 0.0)
    if not len(nonzero):
        return unrotated_poses(origins)
    last = nonzero[np.maximum(np.searchsorted(nonzero, np.arange(len(length)), side="right") - 1, 0)]
    z = directions[last] / length[last, None]
    x = np.empty_like(z)
    x[0] = along(z[0], origins[0])[:3, 0]
    for k in range(1, len(z)):
        # The least rotation from z to z' takes x to x - (x . z') / (1 + z . z') (z + z'); half a turn is about x.
        denominator = 1.0 + z[k - 1] @ z[k]
        x[k] = x[k - 1] - (x[k - 1] @ z[k] / denominator * (z[k - 1] + z[k]) if denominator > 1e-12 else 0.0)
    H = unrotated_poses(origins)
    H[:, :3, :3] = np.stack([x, np.cross(z, x), z], axis=-1)
    return H


def least_rotation(a: Array, b: Array) -> Array:
    """Return the quaternion (x, y, z, w) of the smallest rotation that takes a unit vector (3,) to another."""
    cosine = float(a @ b)
    if cosine < -1.0 + 1e-12:  # half a turn about any perpendicular axis
        axis = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        return np.append(axis / np.linalg.norm(axis), 0.0)
    q = np.append(np.cross(a, b), 1.0 + cosine)
    return np.asarray(q / np.linalg.norm(q))
