"""Results as scenes: a result in; a scene of its bodies, chains, joints, springs, contacts, forces, frames and energies out.

What there is to draw the model says by itself (`Model.visible`): every kind has its drawer here, and what it draws is told from
signals of the result alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from screwbond.models.contacts.trajectory import time_series
from screwbond.models.pictures.filling.balances import balance_panels, energies_of, happenings_of, pile_panels
from screwbond.models.pictures.filling.bodies import BODY_AXES, FLOOR, body_solid
from screwbond.models.pictures.filling.linkages import JOINT, linkage_solids
from screwbond.models.pictures.filling.planes import (
    BODY,
    VIEW,
    grounds,
    placed_touches,
    planar_course,
    planar_size,
    planar_touches,
    plate,
)
from screwbond.models.pictures.filling.touches import Touched, touches_of
from screwbond.models.pictures.interpolation import Array, poses
from screwbond.models.pictures.parts import Coil, Frame, Look, Solid, Touching
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.joints import joint_mesh
from screwbond.models.pictures.shapes.meshes import Mesh, grid_sheet
from screwbond.models.pictures.style import SOLIDS
from screwbond.models.visuals import Appearance

from bondgraph.errors import refusal
from bondgraph.model.model import Visible
from bondgraph.run.results.result import Result
from screws.poses import is_pose
from screws.shapes import HalfSpace

UNIT = 0.1
"""Length that frames, joints and arrows are made for, at least: over the extent of all that is there at the start."""

SPARE = 0.4
"""How far a floor goes beyond what stands on it, over its extent."""


def scene_of(
    result: Result,
    title: str = "",
    *,
    name: str = "",
    names: Mapping[str, str] | None = None,
    colours: Mapping[str, tuple[str, str]] | None = None,
    **fields: Any,
) -> Scene:
    """A scene of all that a result holds.

    Parameters
    ----------
    result : of any run.
    title : heading; the model's name where "".
    name : which run it is, where that is to be said.
    names : path of a body -> what it is called in the picture; its path where none is given.
    colours : path of a body -> its colour, and that of contact paths on it; in turn those of `SOLIDS` where none are given.
    fields : further fields of the scene.

    Raises `ModelError` E579 for what is no result; E577 for a mesh that cannot be read.
    """
    if not isinstance(result, Result):
        cure = "what a run gives back: scene_of(simulate(graph, 1.0))"
        title = f"{type(result).__name__} is no result of a run, so there is nothing to draw"
        raise refusal("E579", title, cure, about="scene_of")
    draft = _Draft(result, names or {}, colours or {})
    # What touches comes first, in the order of the contacts: colours and numbers follow it.
    for kind, draw in DRAWERS.items():
        for one in draft.visible:
            if one.kind == kind:
                draw(draft, one)
    touches, panels = touches_of(result, draft.contacts, draft.solids)
    placed = placed_touches(result, draft.visible)
    draft.solids |= grounds(result, placed, planar_size(result, draft.visible)) if placed else {}
    in_planes, of_planes = planar_touches(result, placed, draft.solids)
    touches, panels = [*touches, *in_planes], [*panels, *of_planes]
    size, extent = _sizes(draft, touches)
    solids = [*draft.solids.values(), *(joint(size or 1.0) for joint in draft.joints)]
    up = -draft.gravity / np.linalg.norm(draft.gravity) if np.any(draft.gravity) else None
    floor = None if up is None or not solids else _floor(solids, up, extent)
    plane = any(one.kind == BODY for one in draft.visible)
    if plane and up is None:
        up = np.array([0.0, 1.0, 0.0])  # as whoever draws on paper has it
    program, energies = result.program, energies_of(result, list(draft.contacts))
    filled: dict[str, Any] = {
        "title": title or program.name,
        "t": result.t,
        "solids": (*solids, *(() if floor is None else (floor,))),
        "touches": tuple(touches),
        "frames": (*draft.frames, *_loose_frames(result)),
        "coils": tuple(draft.coils),
        "panels": (*panels, *pile_panels(result), *balance_panels(energies, result.ledger.residual)),
        "happenings": happenings_of(result),
        "name": name,
        "size": size,
        "up": up,
        "view": VIEW if plane and not any(one.kind in ("body", "chain") for one in draft.visible) else None,
        "result": result,
    }
    return Scene(**{**filled, **fields})


def as_scene(shown: Result | Scene) -> Scene:
    """A scene as it is, a result as a scene: what every picture begins with. E579 for what is neither."""
    return shown if isinstance(shown, Scene) else scene_of(shown)


@dataclass
class _Draft:
    """A scene that is being filled."""

    result: Result
    names: Mapping[str, str]
    own_colours: Mapping[str, tuple[str, str]]
    solids: dict[str, Solid] = field(default_factory=dict)
    contacts: dict[str, Touched] = field(default_factory=dict)
    joints: list[Callable[[float], Solid]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    coils: list[Coil] = field(default_factory=list)
    gravity: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def visible(self) -> tuple[Visible, ...]:
        """What the model shows; nothing of a result from another process, which has left its model behind."""
        return _visible(self.result)

    def bodies(self) -> dict[str, Visible]:
        """Path of every body -> what there is to see of it."""
        return {one.path: one for one in self.visible if one.kind == "body"}

    @property
    def chains(self) -> list[str]:
        """Paths of chains."""
        return [one.path for one in self.visible if one.kind == "chain"]

    def colours(self, path: str) -> tuple[str, str]:
        """Of a body, and of paths on it."""
        return self.own_colours.get(path, SOLIDS[len(self.solids) % len(SOLIDS)])

    def course(self, signal: str) -> Array:
        """Poses (k, 4, 4) of a signal, (7,) or (4, 4)."""
        return pose_course(self.result, signal)

    def pull(self, gravity: Array | None) -> None:
        """Note where down is: where the first that knows says."""
        if gravity is not None and not np.any(self.gravity):
            self.gravity = np.asarray(gravity, dtype=float)

    def span(self) -> float:
        """How far what has no end is drawn: to where bodies with shapes end up, and as much again; m."""
        ends = [
            np.abs(self.course(one.signals["pose"])[-1, :3, 3]).max()
            + max(float(shape.half.max()) + shape.radius for shape in one.shape.solids)
            for one in self.bodies().values()
            if one.shape.solids and not any(isinstance(shape, HalfSpace) for shape in one.shape.solids)
        ]
        return 2.0 * max(ends, default=1.0)


def _contact(draft: _Draft, contact: Visible) -> None:
    """The two bodies of a contact with the surfaces that touch in it."""
    if contact.path not in {one.point.path for one in draft.result.program.contacts}:
        return
    bodies, keys = draft.bodies(), []
    paths = {signal: path for path, body in bodies.items() for signal in body.signals.values()}
    if not all(contact.signals[side] in paths for side in "12"):
        return  # a pose of the user's own, that no body has
    pair = paths[contact.signals["1"]], paths[contact.signals["2"]]
    for path, surface in zip(pair, contact.shape, strict=True):
        alike = bodies[path].shape
        # A link may be given another surface where it touches.
        key = path if alike.surface is None or alike.surface is surface else f"{path} {contact.path}"
        if key not in draft.solids:
            _add_body(draft, bodies[path], key, replace(alike, surface=surface))
        keys.append(key)
    draft.contacts[contact.path] = Touched(pair, (keys[0], keys[1]), contact.shape)


def _body(draft: _Draft, body: Visible) -> None:
    if body.path not in draft.solids:
        _add_body(draft, body, body.path, body.shape)


def _add_body(draft: _Draft, body: Visible, key: str, looks: Appearance) -> None:
    """A body under a key, with its frame."""
    H, called = draft.course(body.signals["pose"]), draft.names.get(body.path, body.path)
    draft.pull(looks.gravity)
    solid = body_solid(called, H, looks, draft.colours(body.path), draft.span() if looks.solids else 1.0)
    if solid is not None:
        # Of a mechanism, earlier poses of one link say nothing.
        carried = any(body.path.startswith(_below(chain)) for chain in draft.chains)
        draft.solids[key] = replace(solid, ghosts=None) if carried else solid
    if looks.visuals or (looks.solids and looks.surface is None):
        return
    numbered = looks.surface is not None
    if looks.surface is None or not looks.surface.endless:
        draft.frames.append(Frame(H, *BODY_AXES, label=("O", str(len(draft.solids))) if numbered else (called, "")))


def _chain(draft: _Draft, chain: Visible) -> None:
    tree, count = chain.shape.tree, len(draft.result.t)
    draft.pull(chain.shape.gravity)
    q = time_series(draft.result, chain.signals["q"]).reshape(count, -1)
    for solid in linkage_solids(tree, q, _below(chain.path)):
        # A link that touches may be there with its surface.
        draft.solids[solid.name if solid.name not in draft.solids else f"{solid.name} (link)"] = solid


def _below(path: str) -> str:
    """How the paths begin of what is in a graph, which may be the whole model."""
    return f"{path}." if path else ""


def _planar_body(draft: _Draft, body: Visible) -> None:
    """A plate, with its frame where it is one."""
    H, called = planar_course(draft.result, body.signals), draft.names.get(body.path, body.path)
    draft.pull(np.array([0.0, -body.shape.gravity, 0.0]))
    size = planar_size(draft.result, draft.visible)
    draft.solids[body.path] = plate(called, H, body.shape, draft.colours(body.path), size)
    if not body.shape.visuals:
        draft.frames.append(Frame(H, *BODY_AXES, label=(called, "")))


def _joint(draft: _Draft, joint: Visible) -> None:
    H = draft.course(joint.signals["pose"]) @ draft.course(joint.signals["frame"])

    def solid(size: float) -> Solid:
        return Solid(joint.path, H, joint_mesh(joint.shape, size), JOINT, look=Look.OPAQUE)

    if joint_mesh(joint.shape, 1.0).faces.size:
        draft.joints.append(solid)


def _spring(draft: _Draft, spring: Visible) -> None:
    starts, ends = (time_series(draft.result, spring.signals[end]) for end in "ab")
    draft.coils.append(Coil(spring.path, starts, ends))


def _spatial_spring(draft: _Draft, spring: Visible) -> None:
    starts, ends = (
        (draft.course(spring.signals[f"pose {end}"]) @ draft.course(spring.signals[f"frame {end}"]))[:, :3, 3] for end in "ab"
    )
    draft.coils.append(Coil(spring.path, starts, ends))


DRAWERS: dict[str, Callable[[_Draft, Visible], None]] = {
    "contact": _contact,
    "body": _body,
    BODY: _planar_body,
    "chain": _chain,
    "joint": _joint,
    "spring": _spring,
    "spatial spring": _spatial_spring,
}
"""What draws each kind of visible thing, in this order."""


def pose_course(result: Result, name: str) -> Array:
    """Poses (k, 4, 4) of a signal (7,) or (4, 4), also where it is a parameter."""
    rows = time_series(result, name)
    return poses(rows[:, 4:], rows[:, :4]) if rows.ndim == 2 else np.asarray(rows, dtype=float)


def _visible(result: Result) -> tuple[Visible, ...]:
    return () if result.program.model is None else result.program.model.visible


def _loose_frames(result: Result) -> list[Frame]:
    """Signals that are poses all the time and belong to nothing that is drawn: references, targets, cameras of the user's own."""
    own = tuple(f"{path}." for path in {one.path for one in _visible(result)} if path)
    own += tuple(f"{contact.point.path}." for contact in result.program.contacts)
    whole = [one for one in _visible(result) if one.kind == "chain" and not one.path]
    own += tuple(f"{link.name}." for one in whole for link in one.shape.tree.links)
    claimed = {signal for one in _visible(result) for signal in one.signals.values()}
    found = []
    for name in result.names():
        slot = result.program.layout[name]
        if slot.shape not in ((7,), (4, 4)) or slot.block not in ("x", "out") or name in claimed or name.startswith(own):
            continue
        values = result[name]
        if slot.shape == (7,) and np.allclose(np.linalg.norm(values[:, :4], axis=1), 1.0, atol=1e-3):
            found.append(Frame(pose_course(result, name), *BODY_AXES, label=(name, "")))
        elif slot.shape == (4, 4) and all(is_pose(H) for H in values[:: max(1, len(values) // 20)]):
            found.append(Frame(values, *BODY_AXES, label=(name, "")))
    return found


def _sizes(draft: _Draft, touches: Sequence[Touching]) -> tuple[float | None, float]:
    """Length (m) that frames are made for, and the extent of all that is there at the start, m."""
    corners = [_corners(solid, 0) for solid in draft.solids.values() if solid.framed and not solid.endless]
    corners += [frame.poses[0, :3, 3][None] for frame in draft.frames]
    corners += [coil.starts[:1] for coil in draft.coils] + [coil.ends[:1] for coil in draft.coils]
    extent = float(np.ptp(np.concatenate(corners), axis=0).max()) if corners else 0.0
    touching = [list(draft.solids.values())[i] for touch in touches for i in touch.solids]
    least = min((solid.size for solid in touching if solid.framed and not solid.endless), default=0.0)
    size = max(least, UNIT * extent)
    return (size if size > 0.0 else None), extent


def _corners(solid: Solid, k: int) -> Array:
    """World points (j, 3) that outline a solid at a sample."""
    shape, H = solid.shape, solid.poses[k]
    points = shape.outline if isinstance(shape, Mesh) else np.asarray(shape.grid(9, 9), dtype=float).reshape(-1, 3)
    return np.asarray(points @ H[:3, :3].T + H[:3, 3])


def _floor(solids: list[Solid], up: Array, extent: float) -> Solid | None:
    """A pale floor with a grid under all that ever was; None where there is one already."""
    if any(solid.endless or solid.look is Look.WALL for solid in solids):
        return None
    every = np.unique(np.linspace(0, len(solids[0].poses) - 1, min(len(solids[0].poses), 60)).astype(int))
    points = np.concatenate([_corners(solid, k) for solid in solids for k in (every if solid.moves() else every[:1])])
    if not extent > 0.0:
        return None
    H, mesh = grid_sheet(points, up, SPARE * extent)
    return Solid("floor", np.tile(H, (len(solids[0].poses), 1, 1)), mesh, FLOOR, look=Look.WALL, framed=False)
