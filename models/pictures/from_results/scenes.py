"""Scenes of results and archives: bodies, chains, joints, springs, contacts, forces, frames and energies.

The model lists its visible objects (`Model.visible`); builders here and in `planar` draw them from signals of the result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.contacts.trajectory import time_series
from screwbond.models.pictures.from_results.contacts import (
    ContactBodies,
    balance_panels,
    contact_panels,
    coordinate_panel,
    energies_of,
    event_marks_of,
    pile_panels,
    touches_of,
)
from screwbond.models.pictures.from_results.links import BODY_AXES, FLOOR, JOINT, body_solid, linkage_solids, solid_of
from screwbond.models.pictures.from_results.planar import (
    BODY,
    VIEW,
    grounds,
    placed_touches,
    planar_poses,
    planar_size,
    planar_touches,
    plate,
)
from screwbond.models.pictures.interpolation import Array, poses
from screwbond.models.pictures.parts import ContactDrawing, Curve, Force, Frame, Look, Solid, Spans, SpringDrawing, negative
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.meshes import Mesh, grid_sheet
from screwbond.models.pictures.shapes.visual_meshes import joint_mesh
from screwbond.models.pictures.sources import Signal, fixed, in_plane, of_signal, product
from screwbond.models.pictures.style import FORCE, PATHS, SOLIDS
from screwbond.models.visuals import Appearance

from bondgraph.errors import refusal
from bondgraph.model.model import Visible
from bondgraph.output.plot_style import INK
from bondgraph.run.results.result import Result
from screws.calls import unknown_argument
from screws.poses import is_pose
from screws.shapes import HalfSpace
from screws.surfaces import Surface

UNIT_SHARE = 0.1
"""Smallest unit length of frames, joints and arrows, relative to the extent of the scene at the start."""

FLOOR_MARGIN = 0.4
"""Extension of a floor beyond the objects on it, relative to the larger of their extent at the start and half the extent that
they sweep."""


def scene_of(
    result: Result,
    title: str = "",
    *,
    name: str = "",
    names: Mapping[str, str] | None = None,
    colours: Mapping[str, tuple[str, str]] | None = None,
    **fields: Any,
) -> Scene:
    """Build a scene of everything in a result.

    Parameters
    ----------
    result : the result of any run.
    title : heading; by default the model's name.
    name : name of the run.
    names : name of a body in the picture, by path of the body; by default its path.
    colours : colours of a body and of contact paths on it, by path of the body; by default from `SOLIDS` in turn.
    fields : other fields of the scene.

    Raises `ModelError` E579 for anything but a result; E577 for a mesh that cannot be read.
    """
    if not isinstance(result, Result):
        cure = "the result of a run: scene_of(simulate(graph, 1.0))"
        title = f"{type(result).__name__} is not a result of a run, so there is nothing to draw"
        raise refusal("E579", title, cure, about="scene_of")
    allowed = ["names", "colours", *(each.name for each in dataclasses.fields(Scene))]
    for word in fields.keys() - {*allowed}:
        raise unknown_argument("scene_of", word, allowed)
    draft = _SceneBuilder(result, names or {}, colours or {})
    # Bodies in contact come first, in the order of the contacts: colours and numbers follow this order.
    for kind, draw in BUILDERS.items():
        for item in draft.visible:
            if item.kind == kind:
                draw(draft, item)
    touches, panels = touches_of(result, draft.contacts, draft.solids)
    placed = placed_touches(result, draft.visible)
    draft.solids |= grounds(result, placed, planar_size(result, draft.visible)) if placed else {}
    in_planes, of_planes = planar_touches(result, placed, draft.solids)
    touches, panels = [*touches, *in_planes], [*panels, *of_planes]
    size, extent = _sizes(draft, touches)
    solids = [*draft.solids.values(), *(joint(size or 1.0) for joint in draft.joints)]
    up = -draft.gravity / np.linalg.norm(draft.gravity) if np.any(draft.gravity) else None
    floor = None if up is None or not solids else _floor(solids, up, extent)
    plane = any(item.kind == BODY for item in draft.visible)
    if plane and up is None:
        up = np.array([0.0, 1.0, 0.0])  # y is up, as on paper
    program, energies = result.program, energies_of(result, list(draft.contacts))
    contents: dict[str, Any] = {
        "title": title or program.name,
        "t": result.t,
        "solids": (*solids, *(() if floor is None else (floor,))),
        "contacts": tuple(touches),
        "frames": (*draft.frames, *_loose_frames(result)),
        "springs": tuple(draft.coils),
        "forces": tuple(draft.forces),
        "panels": (*panels, *pile_panels(result), *balance_panels(energies, result.ledger.residual)),
        "event_marks": event_marks_of(result),
        "name": name,
        "size": size,
        "up": up,
        "view": VIEW if plane and not any(item.kind in ("body", "chain") for item in draft.visible) else None,
        "result": result,
    }
    return Scene(**{**contents, **fields})


def as_scene(shown: Result | Scene) -> Scene:
    return shown if isinstance(shown, Scene) else scene_of(shown)


@dataclass
class _SceneBuilder:
    result: Result
    names: Mapping[str, str]
    own_colours: Mapping[str, tuple[str, str]]
    solids: dict[str, Solid] = field(default_factory=dict)
    contacts: dict[str, ContactBodies] = field(default_factory=dict)
    joints: list[Callable[[float], Solid]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    coils: list[SpringDrawing] = field(default_factory=list)
    forces: list[Force] = field(default_factory=list)
    gravity: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def visible(self) -> tuple[Visible, ...]:
        return _visible(self.result)

    def bodies(self) -> dict[str, Visible]:
        return {item.path: item for item in self.visible if item.kind == "body"}

    @property
    def chains(self) -> list[str]:
        return [item.path for item in self.visible if item.kind == "chain"]

    def colours(self, path: str) -> tuple[str, str]:
        return self.own_colours.get(path, SOLIDS[len(self.solids) % len(SOLIDS)])

    def pose_series(self, signal: str) -> Array:
        return poses_of(self.result, signal)

    def note_gravity(self, gravity: Array | None) -> None:
        if gravity is not None and not np.any(self.gravity):
            self.gravity = np.asarray(gravity, dtype=float)

    def endless_size(self) -> float:
        ends = [
            np.abs(self.pose_series(item.signals["pose"])[-1, :3, 3]).max()
            + max(float(shape.half.max()) + shape.radius for shape in item.shape.solids)
            for item in self.bodies().values()
            if item.shape.solids and not any(isinstance(shape, HalfSpace) for shape in item.shape.solids)
        ]
        return 2.0 * max(ends, default=1.0)


def _contact(draft: _SceneBuilder, contact: Visible) -> None:
    if contact.path not in {item.point.path for item in draft.result.program.contacts}:
        return
    bodies, keys = draft.bodies(), []
    paths = {signal: path for path, body in bodies.items() for signal in body.signals.values()}
    if not all(contact.signals[side] in paths for side in "12"):
        return  # a user's pose signal, which belongs to no body
    pair = paths[contact.signals["1"]], paths[contact.signals["2"]]
    for path, surface in zip(pair, contact.shape, strict=True):
        appearance = bodies[path].shape
        # The contact surface of a link may differ from the surface of its body.
        key = path if appearance.surface is None or appearance.surface is surface else f"{path} {contact.path}"
        if key not in draft.solids:
            _add_body(draft, bodies[path], key, replace(appearance, surface=surface))
        keys.append(key)
    draft.contacts[contact.path] = ContactBodies(pair, (keys[0], keys[1]), contact.shape)


def _body(draft: _SceneBuilder, body: Visible) -> None:
    if body.path not in draft.solids:
        _add_body(draft, body, body.path, body.shape)


def _add_body(draft: _SceneBuilder, body: Visible, key: str, appearance: Appearance) -> None:
    H, name = draft.pose_series(body.signals["pose"]), draft.names.get(body.path, body.path)
    draft.note_gravity(appearance.gravity)
    source = of_signal(body.signals["pose"])
    solid = body_solid(name, H, appearance, draft.colours(body.path), draft.endless_size() if appearance.solids else 1.0)
    if solid is not None:
        # Ghosts of single links of a mechanism are useless.
        carried = any(body.path.startswith(_prefix(chain)) for chain in draft.chains)
        draft.solids[key] = replace(solid, ghosts=None if carried else solid.ghosts, source=source)
    if appearance.visuals or (appearance.solids and appearance.surface is None):
        return
    numbered = appearance.surface is not None
    if appearance.surface is None or not appearance.surface.unbounded:
        draft.frames.append(Frame(H, *BODY_AXES, label=("O", str(len(draft.solids))) if numbered else (name, ""), source=source))


def _chain(draft: _SceneBuilder, chain: Visible) -> None:
    tree, count = chain.shape.tree, len(draft.result.t)
    draft.note_gravity(chain.shape.gravity)
    q = time_series(draft.result, chain.signals["q"]).reshape(count, -1)
    visible = {f"{_prefix(chain.path)}{link.name}" for link in tree.links if link.visual}
    for solid in linkage_solids(tree, q, _prefix(chain.path), chain.signals["q"]):
        skin = draft.solids.get(solid.name)
        if skin is None:
            draft.solids[solid.name] = solid
        elif solid.name in visible:  # the visual of a link is drawn instead of its contact surface
            draft.solids[solid.name] = replace(skin, shape=solid.shape, colour=solid.colour, look=solid.look)
        else:
            draft.solids[f"{solid.name} (link)"] = solid


def _prefix(path: str) -> str:
    return f"{path}." if path else ""


def _planar_body(draft: _SceneBuilder, body: Visible) -> None:
    H, name = planar_poses(draft.result, body.signals), draft.names.get(body.path, body.path)
    draft.note_gravity(np.array([0.0, -body.shape.gravity, 0.0]))
    size = planar_size(draft.result, draft.visible)
    source = in_plane(body.signals)
    draft.solids[body.path] = replace(plate(name, H, body.shape, draft.colours(body.path), size), source=source)
    if not body.shape.visuals:
        draft.frames.append(Frame(H, *BODY_AXES, label=(name, ""), source=source))


def _joint(draft: _SceneBuilder, joint: Visible) -> None:
    H = draft.pose_series(joint.signals["pose"]) @ draft.pose_series(joint.signals["frame"])
    source = product(of_signal(joint.signals["pose"]), of_signal(joint.signals["frame"]))

    def solid(size: float) -> Solid:
        return Solid(joint.path, H, joint_mesh(joint.shape, size), JOINT, look=Look.OPAQUE, source=source)

    if joint_mesh(joint.shape, 1.0).faces.size:
        draft.joints.append(solid)


def _spring(draft: _SceneBuilder, spring: Visible) -> None:
    starts, ends = (time_series(draft.result, spring.signals[end]) for end in "ab")
    sources = of_signal(spring.signals["a"]), of_signal(spring.signals["b"])
    draft.coils.append(SpringDrawing(spring.path, starts, ends, sources=sources))


def _line_force(draft: _SceneBuilder, line: Visible) -> None:
    _spring(draft, line)
    draft.coils[-1] = replace(draft.coils[-1], turns=0, radius=0.6)


def _spatial_spring(draft: _SceneBuilder, spring: Visible) -> None:
    starts, ends = (
        (draft.pose_series(spring.signals[f"pose {end}"]) @ draft.pose_series(spring.signals[f"frame {end}"]))[:, :3, 3]
        for end in "ab"
    )
    first, second = (product(of_signal(spring.signals[f"pose {end}"]), of_signal(spring.signals[f"frame {end}"])) for end in "ab")
    draft.coils.append(SpringDrawing(spring.path, starts, ends, sources=(first, second)))


def _force(draft: _SceneBuilder, applied: Visible) -> None:
    point, wrench = applied.signals["point"], applied.signals["wrench"]
    source = [Signal(point, k) for k in range(3)], [Signal(wrench, k) for k in range(3, 6)]
    newtons = time_series(draft.result, wrench)[:, 3:]
    draft.forces.append(Force(time_series(draft.result, point), newtons, applied.path, source=source))


BUILDERS: dict[str, Callable[[_SceneBuilder, Visible], None]] = {
    "contact": _contact,
    "body": _body,
    BODY: _planar_body,
    "chain": _chain,
    "joint": _joint,
    "spring": _spring,
    "spatial spring": _spatial_spring,
    "line force": _line_force,
    "force": _force,
}


def poses_of(result: Result, name: str) -> Array:
    rows = time_series(result, name)
    return poses(rows[:, 4:], rows[:, :4]) if rows.ndim == 2 else np.asarray(rows, dtype=float)


def _visible(result: Result) -> tuple[Visible, ...]:
    return () if result.program.model is None else result.program.model.visible


def _loose_frames(result: Result) -> list[Frame]:
    owned = tuple(f"{path}." for path in {item.path for item in _visible(result)} if path)
    owned += tuple(f"{contact.point.path}." for contact in result.program.contacts)
    root_chains = [item for item in _visible(result) if item.kind == "chain" and not item.path]
    owned += tuple(f"{link.name}." for item in root_chains for link in item.shape.tree.links)
    claimed = {signal for item in _visible(result) for signal in item.signals.values()}
    frames = []
    for name in result.names():
        slot = result.program.layout[name]
        if slot.shape not in ((7,), (4, 4)) or slot.block not in ("x", "out") or name in claimed or name.startswith(owned):
            continue
        values = result[name]
        if slot.shape == (7,) and np.allclose(np.linalg.norm(values[:, :4], axis=1), 1.0, atol=1e-3):
            frames.append(Frame(poses_of(result, name), *BODY_AXES, label=(name, ""), source=of_signal(name)))
        elif slot.shape == (4, 4) and all(is_pose(H) for H in values[:: max(1, len(values) // 20)]):
            frames.append(Frame(values, *BODY_AXES, label=(name, ""), source=of_signal(name)))
    return frames


def _sizes(draft: _SceneBuilder, touches: Sequence[ContactDrawing]) -> tuple[float | None, float]:
    corners = [_corners(solid, 0) for solid in draft.solids.values() if solid.framed and not solid.unbounded]
    corners += [frame.poses[0, :3, 3][None] for frame in draft.frames]
    corners += [coil.starts[:1] for coil in draft.coils] + [coil.ends[:1] for coil in draft.coils]
    extent = float(np.ptp(np.concatenate(corners), axis=0).max()) if corners else 0.0
    touching = [list(draft.solids.values())[i] for touch in touches for i in touch.solids]
    least = min((solid.size for solid in touching if solid.framed and not solid.unbounded), default=0.0)
    size = max(least, UNIT_SHARE * extent)
    return (size if size > 0.0 else None), extent


def _corners(solid: Solid, k: int) -> Array:
    shape, H = solid.shape, solid.poses[k]
    points = shape.outline if isinstance(shape, Mesh) else np.asarray(shape.grid(9, 9), dtype=float).reshape(-1, 3)
    return np.asarray(points @ H[:3, :3].T + H[:3, 3])


def _floor(solids: list[Solid], up: Array, extent: float) -> Solid | None:
    if any(solid.unbounded or solid.look is Look.WALL for solid in solids):
        return None
    samples = np.unique(np.linspace(0, len(solids[0].poses) - 1, min(len(solids[0].poses), 60)).astype(int))
    points = np.concatenate([_corners(solid, k) for solid in solids for k in (samples if solid.moves() else samples[:1])])
    if not extent > 0.0:
        return None
    H, mesh = grid_sheet(points, up, FLOOR_MARGIN * max(extent, 0.5 * float(np.ptp(points, axis=0).max())))
    return Solid("floor", np.tile(H, (len(solids[0].poses), 1, 1)), mesh, FLOOR, look=Look.WALL, framed=False, source=fixed(H))


def gauss_frames(surface: Any, uv: ArrayLike, pose: ArrayLike, charts: ArrayLike | None = None) -> Array:
    """Return the Gauss frames in the world, (k, 4, 4), at contact coordinates uv (k, 2) on a surface with poses (k, 4, 4).

    `charts` : numbers of the charts of uv (k,); by default 0.
    """
    uv, pose = np.asarray(uv, dtype=float), np.asarray(pose, dtype=float)
    chart = np.zeros(len(uv)) if charts is None else np.asarray(charts, dtype=float)
    local = [np.asarray(surface.geometry(q, c).H, dtype=float) for q, c in zip(uv, chart, strict=True)]
    return pose @ np.stack(local)


def from_archive(
    archive: Mapping[str, Any],
    surfaces: tuple[Surface, Surface],
    name: str,
    *,
    names: Sequence[str] = ("body 1", "body 2"),
    energies: Mapping[str, ArrayLike] | None = None,
    intervals: Spans | None = None,
    **fields: Any,
) -> Scene:
    """Build a scene from the arrays of a `trajectory.npz` (keys of the reference files; uv in chart 0).

    Parameters
    ----------
    archive : the arrays, e.g. `numpy.load(file)`: t (k,); p1, p2 (k, 3) and q1_wxyz, q2_wxyz (k, 4), object origins and unit
        quaternions from object to world; uv1, uv2 (k, 2) and alpha (k,); gap, fn (k,), m and N; force_on_2_world (k, 3), N;
        optional: frame1, frame2 (k, 4, 4), the Gauss frames in the world, E and Ediss (k,), J, and residual (k,), J.
    surfaces : surfaces of bodies 1 and 2.
    name : name of the run.
    names : names of the bodies.
    energies : energies (k,) by name, J, which sum to the total; by default stored and dissipated energy.
    intervals : times of contact, s; by default the times with a negative gap.
    fields : other fields of the scene, such as title and event marks.
    """
    arrays = {key: np.asarray(archive[key]) for key in archive}
    t, solids, frames, gauss = arrays["t"], [], [], []
    for side, (body_name, surface, colours) in enumerate(zip(names, surfaces, SOLIDS, strict=False), start=1):
        H = poses(arrays[f"p{side}"], arrays[f"q{side}_wxyz"])
        solids.append(solid_of(body_name, H, surface, colours))
        if not surface.unbounded:
            frames.append(Frame(H, *BODY_AXES, label=("O", str(side))))
        frame = arrays.get(f"frame{side}")
        gauss.append(gauss_frames(surface, arrays[f"uv{side}"], H) if frame is None else frame)
    gap, fn = arrays["gap"], arrays["fn"]
    spans = negative(t, gap) if intervals is None else intervals
    touch = ContactDrawing("contact", (0, 1), (gauss[0], gauss[1]), gap, fn, arrays["force_on_2_world"], spans)
    coordinates = coordinate_panel((arrays["uv1"], arrays["uv2"]), arrays["alpha"], surfaces, PATHS)
    if energies is None and "E" in arrays:
        energies = {"stored": arrays["E"], "dissipated": arrays.get("Ediss", np.zeros(len(t)))}
    panels = contact_panels([Curve("", gap, INK)], [Curve("", fn, FORCE)], [coordinates])
    panels += balance_panels(energies or {}, arrays.get("residual"))
    return Scene(
        **{"title": name, "name": name, "t": t, "solids": tuple(solids), "contacts": (touch,), "frames": tuple(frames)}
        | {"panels": tuple(panels)}
        | fields
    )
