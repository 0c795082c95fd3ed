"""Record of a robot and its scene: tree of links, joints, meshes from local files, and ignored elements of its file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.chains import Tree
from screwbond.models.chains.trees import as_floats
from screwbond.models.pictures import Frame, Look, Scene, Solid
from screwbond.models.pictures.from_results.links import LINKS, link_poses
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import Mesh, cuboid, cylinder, globe, joined
from screwbond.models.pictures.shapes.visual_meshes import read_mesh
from screwbond.models.robots.document import refuse_document_types
from screwbond.models.robots.records import Ignored, LinkEntry, RobotDrive, ShapeEntry
from screwbond.models.robots.skeleton import RobotJoint
from screwbond.models.visuals import Visual

from bondgraph.errors import ModelError, Problem, caller_place, raise_if_any, refusal
from bondgraph.output.short_repr import short_repr
from screws import quaternion
from screws.errors import plural
from screws.names import answer_old_names
from screws.numeric_arguments import floats

FORMATS = ("stl", "obj", "ply", "dae")

MAX_MESH_BYTES = 256 * 2**20

PACKAGE_SCHEMES = ("package", "model")

Packages = Mapping[str, str | os.PathLike[str]]


@short_repr
@dataclass(frozen=True, eq=False)
class LinkVisual:
    """Shape of a link: its mesh in the frame of the link, and its colour "#rrggbb", if the file has one."""

    link: str
    mesh: Mesh
    colour: str | None = None


def read_visuals(file: Path, links: Sequence[LinkEntry], kind: str, packages: Packages) -> tuple[list[LinkVisual], list[Problem]]:
    skins: list[LinkVisual] = []
    problems: list[Problem] = []
    cache: dict[Path, Mesh] = {}
    for link in links:
        for shape in link.visuals if kind == "visual" else link.collisions:
            mesh, reason = shape_mesh(file, shape, packages, cache)
            if mesh is None:
                title = f'the mesh of link "{link.name}" cannot be loaded: {reason}'
                cures = ["meshes=False (in the command, --meshes none), for a robot without them"]
                if urlsplit(shape.path).scheme in PACKAGE_SCHEMES:
                    cures.append('packages={"name": "folder"}, for files elsewhere')
                problems.append(Problem("E527", title, (), (link.place,), tuple(cures)))
            else:
                skins.append(LinkVisual(link.name, mesh.moved(shape.origin), shape.colour))
    return skins, problems


def visuals_by_link(file: Path, links: Sequence[LinkEntry], packages: Packages) -> dict[str, tuple[Visual, ...]]:
    shown = {
        link.name: _drawable_shapes(file, link.visuals, packages) or _drawable_shapes(file, link.collisions, packages)
        for link in links
    }
    return {link: visuals for link, visuals in shown.items() if visuals}


def _drawable_shapes(file: Path, shapes: Sequence[ShapeEntry], packages: Packages) -> tuple[Visual, ...]:
    visuals = []
    for shape in shapes:
        fields: dict[str, Any] = {shape.kind: shape.size[0] if shape.kind == "sphere" else shape.size}
        if shape.kind == "ellipsoid":
            fields = {"mesh": partial(_ellipsoid, shape.size)}
        elif shape.kind == "mesh":
            path, _ = _resolve_mesh(file, shape.path, packages)
            if path is None:
                continue
            fields = {"mesh": partial(_load_or_refuse, path), "scale": shape.size}
        H = shape.origin
        visuals.append(Visual(colour=shape.colour, position=H[:3, 3], quaternion=quaternion(H[:3, :3]), **fields))
    return tuple(visuals)


def _load_or_refuse(file: Path) -> Mesh:
    mesh, reason = _load_mesh(file)
    if mesh is None:
        raise refusal("E577", f"the mesh of a link cannot be loaded: {reason}", "meshes=False of the reader", about=file.name)
    return mesh


def _ellipsoid(axes: Sequence[float]) -> Mesh:
    return globe(1.0).scaled(axes)


def shape_mesh(file: Path, shape: ShapeEntry, packages: Packages, cache: dict[Path, Mesh]) -> tuple[Mesh | None, str]:
    if shape.kind == "box":
        return cuboid(shape.size), ""
    if shape.kind in ("cylinder", "capsule"):
        radius, half = shape.size[0], 0.5 * shape.size[1]
        caps = (globe(radius, -half), globe(radius, half)) if shape.kind == "capsule" else ()
        return joined(cylinder(radius, -half, half, 40), *caps), ""
    if shape.kind == "sphere":
        return globe(shape.size[0]), ""
    if shape.kind == "ellipsoid":
        return _ellipsoid(shape.size), ""
    path, reason = _resolve_mesh(file, shape.path, packages)
    if path is None:
        return None, reason
    if path not in cache:
        mesh, reason = _load_mesh(path)
        if mesh is None:
            return None, reason
        cache[path] = mesh
    return cache[path].scaled(shape.size), ""


def _resolve_mesh(file: Path, name: str, packages: Packages) -> tuple[Path | None, str]:
    parts = urlsplit(name)
    if parts.scheme in ("http", "https", "ftp"):
        return None, f"{name} is on a network, and only local files are read"
    if parts.scheme in PACKAGE_SCHEMES:
        package, path = parts.netloc, unquote(parts.path).lstrip("/")
        if package in packages:
            folders = [Path(packages[package])]
        else:
            above = list(file.resolve().parents)
            folders = [candidate for candidate in above if candidate.name == package] + [
                candidate / package for candidate in above
            ]
        candidates = [folder / path for folder in folders]
        existing = next((folder for folder in folders if folder.is_dir()), None)
        unknown = f"there is no folder {package} around the robot's file; packages={{{package!r}: ...}} sets it"
        why = f"there is no {path} in {existing}" if existing else unknown
    else:
        candidates = [file.parent / unquote(parts.path)] if parts.scheme in ("", "file") else [file.parent / name]
        why = f"there is no file {candidates[0]}"
    return next(((candidate, "") for candidate in candidates if candidate.is_file()), (None, f"{name}: {why}"))


def _load_mesh(file: Path) -> tuple[Mesh | None, str]:
    ending = file.suffix.lower().lstrip(".")
    if ending not in FORMATS:
        return None, f"{file.name} is not one of {', '.join(FORMATS)}"
    if file.stat().st_size > MAX_MESH_BYTES:
        return None, f"{file.name} is larger than {MAX_MESH_BYTES // 2**20} MiB"
    if ending == "dae":  # XML; the mesh reader would expand its entities
        try:
            refuse_document_types(file, file.read_bytes())
        except ModelError as error:
            return None, f"{file.name} cannot be read ({type(error).__name__}: {str(error)[:80]})"
    return read_mesh(file)


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Robot:
    """Robot of a URDF, MJCF or SDF file.

    Attributes
    ----------
    tree : its links, named as in the file (dots and other signs of paths become `_`); fixed links are massless frames, whose
        inertia belongs to the moving link that carries them. Joint coordinates have the names of their child links. The tree is a
        `Chain` if no body carries two other bodies.
    joints : moving joints, in the order of the links; the free joint of a floating base has the name of its link.
    visuals : meshes of the links; none with `meshes=False`.
    ignored : ignored elements of the file, with reasons.
    drives : motors and servos of an MJCF file.

    `print(robot)` shows the joints as a table, and the ignored elements.
    """

    tree: Tree
    joints: tuple[RobotJoint, ...]
    visuals: tuple[LinkVisual, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    drives: tuple[RobotDrive, ...] = ()

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.tree.name

    def position(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return joint coordinates (n,), rad or m, from values by joint names; other joints are at zero.

        A joint with several degrees of freedom takes one value for each; a mimic joint takes none. Raises `ModelError` E529 for
        an unknown joint or invalid values.
        """
        q = np.zeros(self.tree.freedoms)
        indices = self.coordinates
        problems = []
        if not isinstance(values, Mapping):
            array = f"an array of {plural(self.tree.freedoms, 'coordinate')}"
            cure = f'robot.position({{"{next(iter(indices), "joint")}": 0.1}}), or {array}'
            raise refusal("E529", f"the positions of joints are {values!r}, without names", cure, about=self.name)
        for name, value in values.items():
            if name not in indices:
                leader = {joint.name: joint.leader for joint in self.joints}.get(name)
                title = (
                    f'joint "{name}" follows joint "{leader}"' if leader else f'robot "{self.name}" has no moving joint "{name}"'
                )
                cure = f"one of: {', '.join(indices)}" if indices else "robot.position({}): no joint of this robot moves"
                problems.append(Problem("E529", title, (), (caller_place(),), (cure,)))
                continue
            n = len(indices[name])
            numbers = floats(value, (n,), *(((),) if n == 1 else ()))
            if numbers is None:
                cure = "a finite number, rad or m" if n == 1 else f"{n} finite numbers"
                title = f'the position of joint "{name}" is {value!r}'
                problems.append(Problem("E529", title, (), (caller_place(),), (cure,)))
            else:
                q[indices[name]] = numbers
        raise_if_any(self.name, problems)
        return q

    @cached_property
    def coordinates(self) -> dict[str, list[int]]:
        """Indices of each joint among the coordinates; mimic joints have none."""
        indices: dict[str, list[int]] = {}
        start = 0
        for joint in self.joints:
            if not joint.leader:
                n = self.tree.links[self.tree.index(joint.link)].joint.freedoms
                indices[joint.name] = list(range(start, start + n))
                start += n
        return indices

    @property
    def effort_limits(self) -> np.ndarray:
        """Largest effort (n,) of each coordinate's motors, N m or N, infinite if the file has none.

        A mimic joint has a motor only if it is the joint of one of the `drives`.
        """
        shares, motors = [*self._shares()], {drive.joint for drive in self.drives}
        driven, limits = {k for k, _, joint in shares if joint.name in motors}, np.zeros(self.tree.freedoms)
        for k, factor, joint in shares:
            if joint.name in motors if k in driven else not joint.leader:
                limits[k] += factor * (np.inf if joint.effort is None else joint.effort)
        return limits

    @property
    def speed_limits(self) -> np.ndarray:
        """Largest speed (n,) of each coordinate, rad/s or m/s, within the limits of its joint and of the joints that mimic it;
        infinite if the file has none."""
        limits = np.full(self.tree.freedoms, np.inf)
        for k, factor, joint in self._shares():
            if joint.velocity is not None:
                limits[k] = min(limits[k], joint.velocity / factor)
        return limits

    def _shares(self) -> Iterator[tuple[int, float, RobotJoint]]:
        """Yield for each freedom its coordinate, the magnitude of its speed divided by that of the coordinate, and its joint."""
        joints = {joint.link: joint for joint in self.joints}
        moving = [link.name for link in self.tree.links for _ in range(link.joint.freedoms)]
        for link, drive in zip(moving, self.tree.sections.drives, strict=True):
            if link in joints:
                yield drive.coordinate, abs(drive.factor), joints[link]

    def __str__(self) -> str:
        bodies = [link.inertia.mass for link in self.tree.links if link.inertia is not None]
        counts = ((len(self.joints), "moving joint"), (self.tree.freedoms, "coordinate"), (len(self.tree.links), "link"))
        head = f"{self.name}: " + "".join(f"{plural(*each)}, " for each in counts)
        rows = [("joint", "kind", "moves", "limits", "damping", "effort", "velocity", "follows"), *map(self._row, self.joints)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines = ["ignored:", *(f"  {item}" for item in self.ignored)] if self.ignored else ["nothing is ignored"]
        return "\n".join([f"{head}{sum(bodies):.6g} kg that move", *table, *lines])

    def _row(self, joint: RobotJoint) -> tuple[str, ...]:
        link = self.tree.links[self.tree.index(joint.link)]
        limits = "none" if link.limits is None else f"{link.limits[0]:g} to {link.limits[1]:g}"
        numbers = ("" if value is None else f"{value:g}" for value in (link.damping, joint.effort, joint.velocity))
        return (joint.name, joint.kind, joint.link, limits, *numbers, joint.leader)


VIEW_DIRECTION = (0.72, -0.62, 0.32)


def robot_scene(
    robot: Robot, q: ArrayLike, t: ArrayLike | None = None, title: str = "", *, frames: Sequence[str] = (), **fields: Any
) -> Scene:
    """Return a scene of a robot's links with their meshes.

    Parameters
    ----------
    q : joint coordinates (n,) of one pose, or (k, n) over times, for one coordinate also (k,), as in
        `result["<graph>.mechanism.q"]`.
    t : (k,) s; 0, 1, ... if None.
    title : heading; if "", the robot's name.
    frames : links whose frames are shown, with labels.
    fields : further fields of the scene, such as `view`, `panels` or `event_marks`.

    Raises `ModelError` E529 for coordinates or times that are not finite or have the wrong shape, or a frame that is not a link;
    E527 if there is nothing to draw.
    """
    coordinates = as_floats(q)
    # A result has one coordinate as (k,).
    rows = (
        np.atleast_2d(coordinates)
        if coordinates.ndim != 1
        else coordinates[:, None]
        if robot.tree.freedoms == 1
        else coordinates[None]
    )
    times = np.arange(len(rows), dtype=float) if t is None else np.atleast_1d(as_floats(t))
    _check(robot, rows, times, frames)
    solids = visual_solids(robot.tree, robot.visuals, rows)
    poses = link_poses(robot.tree, rows)
    shown = tuple(Frame(poses[robot.tree.index(link)], label=(link, "")) for link in frames)
    view = np.array(VIEW_DIRECTION) / np.linalg.norm(VIEW_DIRECTION)
    defaults: dict[str, Any] = {"view": view, "up": np.array([0.0, 0.0, 1.0]), "frames": shown, "size": _size(solids)}
    return Scene(title or robot.name, times, tuple(solids), **{**defaults, **fields})


def visual_solids(tree: Tree, skins: Sequence[LinkVisual], rows: Array) -> list[Solid]:
    """Return the links with visuals as solids at joint coordinates (k, n)."""
    skins_by_link: dict[str, list[LinkVisual]] = {}
    for skin in skins:
        skins_by_link.setdefault(skin.link, []).append(skin)
    solids, poses = [], link_poses(tree, rows)
    for link, parts in skins_by_link.items():
        sections = tree.sections
        bodies_below = len(sections.path(sections.carrier[tree.index(link)]))
        body = LINKS[bodies_below % len(LINKS)]
        mesh = joined(*(skin.mesh.painted(skin.colour or body) for skin in parts))
        solids.append(Solid(link, poses[tree.index(link)], mesh, parts[0].colour or body, look=Look.OPAQUE))
    return solids


def _size(solids: Sequence[Solid]) -> float | None:
    corners = [solid.shape.moved(solid.poses[0]).points for solid in solids if isinstance(solid.shape, Mesh)]
    return float(np.ptp(np.concatenate(corners), axis=0).max()) / 8.0 if corners else None


def _check(robot: Robot, rows: Array, times: Array, frames: Sequence[str]) -> None:
    n, names = robot.tree.freedoms, [link.name for link in robot.tree.links]
    where = (caller_place(),)
    if rows.shape != (len(times), n) or times.ndim != 1:
        title = f"coordinates of shape {rows.shape} at {plural(len(times), 'time')} do not match {robot.name}"
        cure = f"{plural(n, 'coordinate')}, as robot.position({{...}}) returns them, or one row for each time"
        raise refusal("E529", title, cure, about=robot.name, places=where)
    if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(times))):
        raise refusal("E529", "coordinates or times are not finite", "finite numbers", about=robot.name, places=where)
    if not (robot.visuals or frames):
        cures = ('meshes="collision" or meshes="visual" of the reader', f'frames=("{names[-1]}",)')
        raise refusal("E527", f"{robot.name} has no shapes, so there is nothing to draw", *cures, about=robot.name, places=where)
    for link in frames:
        if link not in names:
            cure = f"one of: {', '.join(names)}"
            raise refusal("E529", f'robot "{robot.name}" has no link "{link}"', cure, about=robot.name, places=where)
