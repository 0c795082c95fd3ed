"""A contact motion as one HTML file that opens offline: scene, time slider and plots on the same time cursor."""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bondgraph.output.files import finite, known_ending, write_text
from models.pictures.camera import direction, upward
from models.pictures.companions import Companion
from models.pictures.meshes import SIDES, body_points, is_open, path_tube
from models.pictures.motion import ContactMotion
from models.pictures.movies import show_times
from models.pictures.stage import GHOST_SPACING
from models.pictures.style import AXES, BODIES, ENERGIES, FORCE, INK, PATHS, blend, force_scale
from screws.surfaces import nearest_coordinates

Array = NDArray[np.float64]

SAMPLES = 2000
"""Most samples of the motion that a page holds (about 1 MB)."""


def page(
    motion: ContactMotion,
    path: str | os.PathLike[str],
    seconds: float = 10.0,
    show: float | None = None,
    companions: Sequence[Companion] = (),
    colours: tuple[int, int] = (0, 1),
) -> None:
    """Write the page; it needs no network, no other file, and a browser with WebGL.

    Parameters
    ----------
    motion : what moves.
    path : the file.
    seconds : how long playing takes at speed 1.
    show : the time (s) at which it opens; the start where None.
    companions : what else is shown; then the motion has at most `SAMPLES` samples.
    colours : which of the two colours each body and its path have.
    """
    known_ending(path, ".html")
    template = resources.files("models.pictures").joinpath("page.html").read_text(encoding="utf-8")
    found = contents(motion, seconds, show, companions, colours)
    data = json.dumps(finite(found), separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    text = template.replace("@TITLE@", html.escape(motion.title)).replace("@DATA@", data)
    write_text(path, text)


def contents(
    motion: ContactMotion,
    seconds: float,
    show: float | None,
    companions: Sequence[Companion] = (),
    colours: tuple[int, int] = (0, 1),
) -> dict[str, Any]:
    """What the page's script reads: small values by name, and arrays as base64 of 32-bit numbers."""
    playback = show_times(motion, 601)
    if len(motion.t) > SAMPLES:
        # Half of the samples even in time, half where playing is slow.
        motion = motion.at_times(
            np.unique([*np.linspace(motion.t[0], motion.t[-1], SAMPLES // 2), *show_times(motion, SAMPLES // 2)])
        )
    newtons_per_metre, unit_length, scale_text = force_scale(motion.largest_force, motion.size)
    reach = max(size for size in motion.sizes if np.isfinite(size))
    radius = 0.011 * motion.size
    arrays: dict[str, str] = {}

    def put(name: str, values: ArrayLike) -> str:
        kind = np.uint32 if name.endswith("_index") else np.float32
        arrays[name] = base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
        return name

    corners: list[Array] = []
    opened: list[bool] = []
    put("t", motion.t)
    for body in (0, 1):
        n, surface, pose = body + 1, motion.surfaces[body], motion.poses[body]
        cp, frame = (motion.cp1_O1, motion.cp2_O2)[body], (motion.frame1, motion.frame2)[body]
        put(f"p{n}", pose[:, :3, 3])
        put(f"q{n}", quaternions(pose))
        put(f"f{n}", quaternions(frame))
        put(f"c{n}", cp)
        grid = body_points(surface, cp, reach, 41, 61)
        put(f"solid{n}", grid)
        put(f"solid{n}_normal", grid_normals(grid, surface))
        faces = grid_faces(grid.shape[0], grid.shape[1])
        opened.append(is_open(grid.reshape(-1, 3), faces))
        put(f"solid{n}_index", faces if _faces_out(grid, surface) else faces[:, ::-1])
        put(f"line{n}_index", grid_lines(grid.shape[0], grid.shape[1]))
        normals = np.einsum("kji,kj->ki", pose[:, :3, :3], frame[:, :3, 2])
        thick = np.where(motion.touching(), 0.8 * radius, 0.32 * radius)
        vertices, out, triangles = path_tube(cp, normals, thick)
        put(f"tube{n}", vertices)
        put(f"tube{n}_normal", out)
        put(f"tube{n}_index", triangles)
        few = grid[::10, ::10].reshape(-1, 3)
        corners += [few @ H[:3, :3].T + H[:3, 3] for H in pose[:: max(1, len(pose) // 40)]]
    put("force", motion.force_on_2_world)
    put("gap", motion.gap)
    others = [_companion(f"other{k}", companion, put, corners) for k, companion in enumerate(companions)]
    points = np.concatenate(corners)
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return {
        "name": motion.name,
        "title": motion.title,
        "names": motion.names,
        "bodies": [BODIES[i] for i in colours],
        "paths": [PATHS[i] for i in colours],
        "lines": [blend(BODIES[i], INK, 0.45) for i in colours],
        "axes": AXES,
        "force_colour": FORCE,
        "ground": [surface.endless for surface in motion.surfaces],
        "open": opened,
        "newtons_per_metre": newtons_per_metre,
        "unit_length": unit_length,
        "scale_text": scale_text,
        "radius": radius,
        "tube": 0.8 * radius,
        "triad": 0.3 * motion.size,
        "sides": SIDES,
        "ghost_spacing": GHOST_SPACING * reach,
        "view": direction(motion).tolist(),
        "up": upward(motion).tolist(),
        "centre": centre.tolist(),
        "reach": float(np.linalg.norm(points - centre, axis=1).max()),
        "contacts": motion.contact_intervals(),
        "playback": playback.tolist(),
        "seconds": seconds,
        "show": float(motion.t[0]) if show is None else show,
        "others": others,
        "plots": _plots(motion, put, [PATHS[i] for i in colours]),
        "arrays": arrays,
    }


def _companion(name: str, companion: Companion, put: Any, corners: list[Array]) -> dict[str, Any]:
    """What the page's script reads of a companion; its outline is added to the corners."""
    put(f"{name}_p", companion.poses[:, :3, 3])
    put(f"{name}_q", quaternions(companion.poses))
    found: dict[str, Any] = {"pose": name}
    if companion.axes is not None:
        found |= {"axes": companion.axes, "name": companion.name}
    elif companion.force is not None:
        found["force"] = put(f"{name}_force", companion.force)
    elif companion.mesh is not None:
        points, normals, faces = companion.mesh
        put(f"{name}_mesh_normal", normals)
        put(f"{name}_mesh_index", faces)
        found |= {"mesh": put(f"{name}_mesh", points), "colour": companion.colour}
        found |= {"glass": companion.glass, "path": companion.path}
        found["open"] = companion.glass and is_open(points, faces)
        few = companion.poses[:: max(1, len(companion.poses) // 12)]
        corners.extend(points[::7] @ H[:3, :3].T + H[:3, 3] for H in few)
    return found


def _plots(motion: ContactMotion, put: Any, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Titles and curves of the page's plots."""
    small = np.abs(motion.gap).max() < 1e-3

    def curve(name: str, values: ArrayLike, colour: str, text: str = "", dash: bool = False) -> dict[str, Any]:
        return {"array": put(name, values), "colour": colour, "name": text, "dash": dash}

    coordinates = []
    for body, uv in enumerate((motion.uv1, motion.uv2)):
        for k, letter in enumerate("uv"):
            coordinates.append(curve(f"{letter}{body + 1}", uv[:, k], paths[body], f"{letter}{'₁₂'[body]}", k == 1))
    coordinates.append(curve("alpha", motion.alpha, AXES[1], "α"))
    energies = [
        curve(f"energy {name}", 1e3 * np.asarray(values), colour, name)
        for colour, (name, values) in zip(ENERGIES * 3, motion.energies.items(), strict=False)
    ]
    plots: list[dict[str, Any]] = [
        {"title": "gap (µm)" if small else "gap (mm)", "curves": [curve("gap shown", motion.gap * (1e6 if small else 1e3), INK)]},
        {"title": "normal force (N)", "curves": [curve("fn", motion.fn, FORCE)]},
        {"title": "contact coordinates", "curves": coordinates},
    ]
    return plots + ([{"title": "energy (mJ)", "curves": energies}] if energies else [])


def quaternions(poses: Array) -> Array:
    """Quaternions (k, 4), real part first, of the rotations of poses (k, 4, 4), with signs that do not jump."""
    R = poses[:, :3, :3]
    # Four times the outer product q q^T: its largest column is safe to divide by (Shepperd, 1978).
    trace = R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2]
    outer = np.empty((len(R), 4, 4))
    outer[:, 0, 0] = 1.0 + trace
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        outer[:, i + 1, i + 1] = 1.0 + 2.0 * R[:, i, i] - trace
        outer[:, 0, i + 1] = outer[:, i + 1, 0] = R[:, k, j] - R[:, j, k]
        outer[:, j + 1, k + 1] = outer[:, k + 1, j + 1] = R[:, k, j] + R[:, j, k]
    best = np.argmax(np.einsum("kii->ki", outer), axis=1)
    q = outer[np.arange(len(R)), best]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    turned = np.concatenate([[1.0], np.where(np.sum(q[1:] * q[:-1], axis=1) < 0.0, -1.0, 1.0)])
    return q * np.cumprod(turned)[:, None]


def grid_normals(grid: Array, surface: Any) -> Array:
    """Outward unit normals (n_u, n_v, 3) of a grid of surface points."""
    closed = np.allclose(grid[:, 0], grid[:, -1], atol=1e-9 * float(np.abs(grid).max()))
    wide = np.concatenate([grid[:, -2:-1], grid, grid[:, 1:2]], axis=1) if closed else grid
    along_v = np.gradient(wide, axis=1)
    normals = np.cross(np.gradient(grid, axis=0), along_v[:, 1:-1] if closed else along_v)
    length = np.linalg.norm(normals, axis=2)
    # A row that is one point (a pole, the middle of a disc) has the mean normal of its neighbours.
    for row, beside in ((0, 1), (-1, -2)):
        if length[row].max() < 1e-6 * length.max():
            normals[row] = normals[beside].mean(axis=0)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    return normals if _faces_out(grid, surface) else -normals


def _faces_out(grid: Array, surface: Any) -> bool:
    """Whether c_u x c_v of a grid points out of the material."""
    i, j = grid.shape[0] // 2, grid.shape[1] // 3
    across = np.cross(grid[i + 1, j] - grid[i, j], grid[i, j + 1] - grid[i, j])
    q, chart = nearest_coordinates(surface, grid[i, j])
    return bool(across @ np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, 2] > 0.0)


def grid_faces(rows: int, columns: int) -> NDArray[np.int64]:
    """Triangles (k, 3) of a grid of points, wound about c_u x c_v."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    quads = np.stack([corner, corner + columns, corner + columns + 1, corner, corner + columns + 1, corner + 1], axis=1)
    return quads.reshape(-1, 3)


def grid_lines(rows: int, columns: int, n_u: int = 8, n_v: int = 12) -> NDArray[np.int64]:
    """Pairs (k, 2) of a grid's points along the lines that part it into n_u by n_v fields."""
    index = np.arange(rows * columns).reshape(rows, columns)
    across = index[(rows - 1) // n_u : -1 : (rows - 1) // n_u]
    down = index[:, : -1 : (columns - 1) // n_v]
    pairs = [np.stack([across[:, :-1], across[:, 1:]], axis=-1), np.stack([down[:-1], down[1:]], axis=-1)]
    return np.concatenate([pair.reshape(-1, 2) for pair in pairs])
