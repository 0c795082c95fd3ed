"""Bodies and contacts in a plane: what a model says of them and a result in; plates, grounds, touches and their panels out.

The plane is that of x and y of the world; plates lie behind it, so that contacts and forces are seen before them. They are as
thick as the largest of them asks for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from screwbond.models.contacts.trajectory import contact_spans, time_series
from screwbond.models.pictures.filling.bodies import GROUND
from screwbond.models.pictures.filling.touches import contact_panels
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Curve, Look, Panel, Solid, Touching
from screwbond.models.pictures.shapes.looks import visuals_mesh
from screwbond.models.pictures.shapes.meshes import Mesh, circle, joined, lofted, polyline, sheet
from screwbond.models.pictures.style import AXES, FORCE, INK, SOLIDS
from screwbond.models.planar_looks import PlanarLooks, PlanarTouch

from bondgraph.model.model import Visible
from bondgraph.run.results.result import Result

BODY, TOUCH = "planar body", "planar touch"
"""Kinds of visible things."""

DEEP = 0.25
"""Thickness of plates over the extent of the largest."""

DOT = 0.1
"""Diameter of the disc that stands for a body without size, likewise."""

MARGIN = 0.45
"""How far a ground goes beyond the plates on it, likewise."""

VIEW = np.array([0.25, 0.2, 1.0])
"""To the viewer of a plane: x to the right, y upward, and a little of what is thick."""

Placed = tuple[Visible, str, str]
"""A touch, and keys of the solids with its face and its point."""


def planar_course(result: Result, signals: Mapping[str, str]) -> Array:
    """Poses (k, 4, 4) of a place: a signal (k, 2) or (k, 3), or numbers by "x", "y" and "angle"."""
    count = len(result.t)
    x, y, angle = np.zeros((3, count))
    if "place" in signals:
        x, y, *turned = time_series(result, signals["place"]).T
        angle = turned[0] if turned else angle
    else:
        given = {word: time_series(result, signal).reshape(count) for word, signal in signals.items()}
        x, y, angle = given.get("x", x), given.get("y", y), given.get("angle", angle)
    H = np.tile(np.eye(4), (count, 1, 1))
    c, s = np.cos(angle), np.sin(angle)
    H[:, 0, 0], H[:, 0, 1], H[:, 1, 0], H[:, 1, 1] = c, -s, s, c
    H[:, 0, 3], H[:, 1, 3] = x, y
    return H


def planar_size(result: Result, visible: Sequence[Visible]) -> float:
    """Extent of the largest body in the plane, m; where none has one, of all that is there at the start."""
    bodies = [one for one in visible if one.kind == BODY]
    largest = max((float(np.ptp(corners, axis=0).max()) for one in bodies if len(corners := _outline(one.shape))), default=0.0)
    if largest > 0.0:
        return largest
    places = np.array([planar_course(result, one.signals)[0, :2, 3] for one in bodies]).reshape(-1, 2)
    points = [one.shape.point for one in visible if one.kind == TOUCH]
    return float(np.max(np.ptp([*places, *points], axis=0))) or 1.0


def plate(called: str, H: Array, looks: PlanarLooks, colours: tuple[str, str], size: float) -> Solid:
    """A body as a plate with its outline, in a plane where the largest has an extent of `size`, m; or by its visuals."""
    if looks.visuals:
        mesh, colour = visuals_mesh(looks.visuals, colours[0]), looks.visuals[0].colour or colours[0]
        return Solid(called, H, mesh, colour, colours[1], look=Look.OPAQUE)
    corners = _outline(looks)
    mesh = _slab(corners if len(corners) else circle(0.5 * DOT * size)[:, :2], DEEP * size)
    if isinstance(looks.outline, float):
        # By its spokes the eye sees a disc turn.
        ends = looks.outline * np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
        mesh = joined(mesh, *(_line(ends[k : k + 2], z * DEEP * size) for k in (0, 2) for z in (-1.003, 0.003)))
    return Solid(called, H, mesh, *colours, look=Look.OPAQUE)


def placed_touches(result: Result, visible: Sequence[Visible]) -> list[Placed]:
    """Contacts of a plane whose bodies are known, in the order of their making."""
    bodies = {_of(one.signals): one.path for one in visible if one.kind == BODY}
    contacts, found = {contact.point.path for contact in result.program.contacts}, []
    for one in visible:
        if one.kind == TOUCH and one.path in contacts:
            face, point = (_of(one.signals, f"{side} ") for side in ("face", "point"))
            key = _ground_key(one.shape) if not face else bodies.get(face, "")
            if key and point in bodies:
                found.append((one, key, bodies[point]))
    return found


def grounds(result: Result, placed: Sequence[Placed], size: float) -> dict[str, Solid]:
    """Faces of the world that something touches, as sheets below all that is above them in the run, by key."""
    under: dict[str, list[Array]] = {}
    shapes: dict[str, PlanarTouch] = {}
    for touch, key, _ in placed:
        if key == _ground_key(touch.shape):
            under.setdefault(key, []).append(_points(result, touch))
            shapes[key] = touch.shape
    found = {}
    for key, points in under.items():
        shape = shapes[key]
        along = np.array([shape.normal[1], -shape.normal[0]])
        reach = np.concatenate(points)[:, :2] @ along
        low, high = reach.min() - MARGIN * size, reach.max() + MARGIN * size
        middle = 0.5 * (low + high) * along + shape.offset * shape.normal
        a, b = 0.5 * (high - low), (0.5 * DEEP + MARGIN) * size
        H = np.eye(4)
        H[:2, 0], H[:3, 1], H[:3, 2], H[:3, 3] = along, (0.0, 0.0, -1.0), (*shape.normal, 0.0), (*middle, -0.5 * DEEP * size)
        mesh = sheet(np.array([(-a, -b, 0.0), (a, -b, 0.0), (a, b, 0.0), (-a, b, 0.0)]))
        poses = np.tile(H, (len(result.t), 1, 1))
        found[key] = Solid("ground", poses, mesh, GROUND, AXES[0], look=Look.WALL)
    return found


def planar_touches(result: Result, placed: Sequence[Placed], solids: Mapping[str, Solid]) -> tuple[list[Touching], list[Panel]]:
    """Touches, frames and forces where point and face meet, and panels of gaps and forces; `solids` by key."""
    touches, gaps, forces, rubbing = [], [], [], []
    contacts, places, alone = {one.point.path: one for one in result.program.contacts}, list(solids), len(placed) == 1
    for k, (touch, face, point) in enumerate(placed):
        contact, shape = contacts[touch.path], touch.shape
        # A ground does not move, whatever the pose that its sheet has.
        H = np.tile(np.eye(4), (len(result.t), 1, 1)) if face == _ground_key(shape) else solids[face].poses
        p, normal, slip = _points(result, touch), _turned(H, shape.normal), _turned(H, shape.slip)
        depth = np.sum((p - H[:, :3, 3]) * normal, axis=1) - shape.offset
        first, second = _gauss(p - depth[:, None] * normal, normal), _gauss(p, -normal)
        newtons = [time_series(result, force).reshape(len(result.t)) for force in contact.forces]
        pressed = newtons[0] if newtons else np.zeros(len(result.t))
        pushed = pressed[:, None] * normal + (newtons[1][:, None] * slip if len(newtons) > 1 else 0.0)
        words, ink = ("", INK) if alone else (touch.path, SOLIDS[k % len(SOLIDS)][1])
        gap = time_series(result, contact.point.gap).reshape(len(result.t))
        gaps.append(Curve(words, gap, ink))
        forces.append(Curve(words, pressed, FORCE if alone else ink))
        rubbing += [Curve(words, newtons[1], ink)] if len(newtons) > 1 else []
        pair, spans = (places.index(face), places.index(point)), contact_spans(result, contact)
        mark = "'" * k if alone else None
        touches.append(Touching(touch.path, pair, (first, second), gap, pressed, pushed, spans, apart=alone, mark=mark))
    panels = contact_panels(gaps, forces, [])
    return touches, [*panels, *([Panel("friction $f_t$", "N", tuple(rubbing), level=True)] if rubbing else [])]


def _outline(looks: PlanarLooks) -> Array:
    """Corners (n, 2) of a body, m: given, of a disc, of the uniform square that has its inertia; none of what has no size."""
    if isinstance(looks.outline, float):
        return circle(looks.outline, sides=48)[:, :2]
    if looks.outline is not None:
        return np.asarray(looks.outline)
    if looks.mass and looks.inertia:
        half = 0.5 * math.sqrt(6.0 * looks.inertia / looks.mass)
        return half * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    return np.zeros((0, 2))


def _slab(corners: Array, deep: float) -> Mesh:
    """A plate between two like outlines, with lines along both."""
    low, high = (np.column_stack([corners, np.full(len(corners), z)]) for z in (-deep, 0.0))
    rims = [_line(np.vstack([corners, corners[:1]]), z) for z in (-deep, 0.0)]
    return joined(lofted(low, high), *rims)


def _line(points: Array, z: float) -> Mesh:
    """A line through points (n, 2) at a height."""
    return polyline(np.column_stack([points, np.full(len(points), z)]))


def _of(signals: Mapping[str, str], side: str = "") -> tuple[tuple[str, str], ...]:
    """Signals whose uses begin with a word, without it: what a body and a touch on it have in common."""
    return tuple(sorted((use.removeprefix(side), name) for use, name in signals.items() if use.startswith(side)))


def _ground_key(shape: PlanarTouch) -> str:
    """One for all touches on one face of the world; no path of a body."""
    return f"ground: {shape.normal[0]:.9g} {shape.normal[1]:.9g} {shape.offset!r}"


def _points(result: Result, touch: Visible) -> Array:
    """Courses (k, 3) of the point that touches."""
    H = planar_course(result, dict(_of(touch.signals, "point ")))
    return np.asarray(H[:, :3, :2] @ touch.shape.point + H[:, :3, 3])


def _turned(H: Array, vector: Array) -> Array:
    """A vector (2,) of a body in the axes of the world (k, 3)."""
    return np.asarray(H[:, :3, :2] @ vector)


def _gauss(origins: Array, normals: Array) -> Array:
    """Frames (k, 4, 4) at origins (k, 3), z along normals (k, 3), y out of the plane."""
    H = np.tile(np.eye(4), (len(origins), 1, 1))
    out = np.tile([0.0, 0.0, 1.0], (len(origins), 1))
    H[:, :3, 0], H[:, :3, 1], H[:, :3, 2], H[:, :3, 3] = np.cross(out, normals), out, normals, origins
    return H
