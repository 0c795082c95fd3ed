"""Planar bodies and contacts of a result: plates, grounds, contacts and their panels.

The plane is the world's xy plane; plates lie behind it, so that contacts and forces are seen in front of them. Their
thickness follows from the largest plate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from screwbond.models.contacts.trajectory import contact_spans, time_series
from screwbond.models.pictures.from_results.contacts import contact_panels
from screwbond.models.pictures.from_results.links import GROUND
from screwbond.models.pictures.interpolation import Array, turned_poses, unrotated_poses
from screwbond.models.pictures.parts import ContactDrawing, Curve, Look, Panel, Solid
from screwbond.models.pictures.shapes.meshes import Mesh, circle, joined, lofted, polyline, sheet
from screwbond.models.pictures.shapes.visual_meshes import visuals_mesh
from screwbond.models.pictures.sources import fixed
from screwbond.models.pictures.style import AXES, FORCE, SOLIDS
from screwbond.models.planar import PlanarAppearance, PlanarContactGeometry

from bondgraph.model.model import Visible
from bondgraph.output.plot_style import INK
from bondgraph.run.results.result import Result

BODY, TOUCH = "planar body", "planar touch"

PLATE_THICKNESS = 0.25

POINT_DIAMETER = 0.1

GROUND_MARGIN = 0.45
"""Extension of a ground beyond the contact points on it, relative to the extent of the largest plate."""

VIEW = np.array([0.25, 0.2, 1.0])
"""Direction from a planar model to the viewer: x points right, y points up, and the thickness just shows."""

PlacedTouch = tuple[Visible, str, str]
"""Contact, and the keys of the solids with the face and with the point."""


def planar_poses(result: Result, signals: Mapping[str, str]) -> Array:
    """Return poses (k, 4, 4) in the plane, from a signal (2,) or (3,), or from scalar signals by "x", "y" and "angle"."""
    count = len(result.t)
    x, y, angle = np.zeros((3, count))
    if "place" in signals:
        x, y, *angles = time_series(result, signals["place"]).T
        angle = angles[0] if angles else angle
    else:
        series = {word: time_series(result, signal).reshape(count) for word, signal in signals.items()}
        x, y, angle = series.get("x", x), series.get("y", y), series.get("angle", angle)
    return turned_poses(np.column_stack([x, y, np.zeros(count)]), angle)


def planar_size(result: Result, visible: Sequence[Visible]) -> float:
    bodies = [item for item in visible if item.kind == BODY]
    largest = max((float(np.ptp(corners, axis=0).max()) for item in bodies if len(corners := _outline(item.shape))), default=0.0)
    if largest > 0.0:
        return largest
    positions = np.array([planar_poses(result, item.signals)[0, :2, 3] for item in bodies]).reshape(-1, 2)
    points = [item.shape.point for item in visible if item.kind == TOUCH]
    return float(np.max(np.ptp([*positions, *points], axis=0))) or 1.0


def plate(name: str, H: Array, appearance: PlanarAppearance, colours: tuple[str, str], size: float) -> Solid:
    if appearance.visuals:
        mesh, colour = visuals_mesh(appearance.visuals, colours[0]), appearance.visuals[0].colour or colours[0]
        return Solid(name, H, mesh, colour, colours[1], look=Look.OPAQUE)
    corners = _outline(appearance)
    mesh = _slab(corners if len(corners) else circle(0.5 * POINT_DIAMETER * size)[:, :2], PLATE_THICKNESS * size)
    if isinstance(appearance.outline, float):
        # Spokes make the rotation of a disc visible.
        ends = appearance.outline * np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
        mesh = joined(mesh, *(_line(ends[k : k + 2], z * PLATE_THICKNESS * size) for k in (0, 2) for z in (-1.003, 0.003)))
    return Solid(name, H, mesh, *colours, look=Look.OPAQUE)


def placed_touches(result: Result, visible: Sequence[Visible]) -> list[PlacedTouch]:
    bodies = {_signals_of_side(item.signals): item.path for item in visible if item.kind == BODY}
    contacts, placed = {contact.point.path for contact in result.program.contacts}, []
    for item in visible:
        if item.kind == TOUCH and item.path in contacts:
            face, point = (_signals_of_side(item.signals, f"{side} ") for side in ("face", "point"))
            key = _ground_key(item.shape) if not face else bodies.get(face, "")
            if key and point in bodies:
                placed.append((item, key, bodies[point]))
    return placed


def grounds(result: Result, placed: Sequence[PlacedTouch], size: float) -> dict[str, Solid]:
    under: dict[str, list[Array]] = {}
    shapes: dict[str, PlanarContactGeometry] = {}
    for touch, key, _ in placed:
        if key == _ground_key(touch.shape):
            under.setdefault(key, []).append(_points(result, touch))
            shapes[key] = touch.shape
    sheets = {}
    for key, points in under.items():
        shape = shapes[key]
        along = np.array([shape.normal[1], -shape.normal[0]])
        reach = np.concatenate(points)[:, :2] @ along
        low, high = reach.min() - GROUND_MARGIN * size, reach.max() + GROUND_MARGIN * size
        middle = 0.5 * (low + high) * along + shape.offset * shape.normal
        a, b = 0.5 * (high - low), (0.5 * PLATE_THICKNESS + GROUND_MARGIN) * size
        H = np.eye(4)
        H[:2, 0], H[:3, 1], H[:3, 2], H[:3, 3] = (
            along,
            (0.0, 0.0, -1.0),
            (*shape.normal, 0.0),
            (*middle, -0.5 * PLATE_THICKNESS * size),
        )
        mesh = sheet(np.array([(-a, -b, 0.0), (a, -b, 0.0), (a, b, 0.0), (-a, b, 0.0)]))
        poses = np.tile(H, (len(result.t), 1, 1))
        sheets[key] = Solid("ground", poses, mesh, GROUND, AXES[0], look=Look.WALL, source=fixed(H))
    return sheets


def planar_touches(
    result: Result, placed: Sequence[PlacedTouch], solids: Mapping[str, Solid]
) -> tuple[list[ContactDrawing], list[Panel]]:
    touches, gaps, forces, frictions = [], [], [], []
    contacts, keys, single = {item.point.path: item for item in result.program.contacts}, list(solids), len(placed) == 1
    for k, (touch, face, point) in enumerate(placed):
        contact, shape = contacts[touch.path], touch.shape
        # A ground does not move, whatever the pose of its sheet.
        H = np.tile(np.eye(4), (len(result.t), 1, 1)) if face == _ground_key(shape) else solids[face].poses
        p, normal, slip = _points(result, touch), _rotated(H, shape.normal), _rotated(H, shape.slip)
        depth = np.sum((p - H[:, :3, 3]) * normal, axis=1) - shape.offset
        first, second = _gauss(p - depth[:, None] * normal, normal), _gauss(p, -normal)
        newtons = [time_series(result, signal).reshape(len(result.t)) for signal in contact.forces]
        normal_force = newtons[0] if newtons else np.zeros(len(result.t))
        force = normal_force[:, None] * normal + (newtons[1][:, None] * slip if len(newtons) > 1 else 0.0)
        words, ink = ("", INK) if single else (touch.path, SOLIDS[k % len(SOLIDS)][1])
        gap = time_series(result, contact.point.gap).reshape(len(result.t))
        gaps.append(Curve(words, gap, ink))
        forces.append(Curve(words, normal_force, FORCE if single else ink))
        frictions += [Curve(words, newtons[1], ink)] if len(newtons) > 1 else []
        pair, spans = (keys.index(face), keys.index(point)), contact_spans(result, contact)
        mark = "'" * k if single else None
        touches.append(
            ContactDrawing(touch.path, pair, (first, second), gap, normal_force, force, spans, show_gap=single, mark=mark)
        )
    panels = contact_panels(gaps, forces, [])
    return touches, [*panels, *([Panel("friction $f_t$", "N", tuple(frictions), level=True)] if frictions else [])]


def _outline(appearance: PlanarAppearance) -> Array:
    if isinstance(appearance.outline, float):
        return circle(appearance.outline, sides=48)[:, :2]
    if appearance.outline is not None:
        return np.asarray(appearance.outline)
    if appearance.mass and appearance.inertia:
        half = 0.5 * math.sqrt(6.0 * appearance.inertia / appearance.mass)
        return half * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    return np.zeros((0, 2))


def _slab(corners: Array, deep: float) -> Mesh:
    low, high = (np.column_stack([corners, np.full(len(corners), z)]) for z in (-deep, 0.0))
    rims = [_line(np.vstack([corners, corners[:1]]), z) for z in (-deep, 0.0)]
    return joined(lofted(low, high), *rims)


def _line(points: Array, z: float) -> Mesh:
    return polyline(np.column_stack([points, np.full(len(points), z)]))


def _signals_of_side(signals: Mapping[str, str], side: str = "") -> tuple[tuple[str, str], ...]:
    """Return the pairs (use, signal) whose use begins with `side`, without this prefix: the key that a body and its contacts
    share."""
    return tuple(sorted((use.removeprefix(side), name) for use, name in signals.items() if use.startswith(side)))


def _ground_key(shape: PlanarContactGeometry) -> str:
    return f"ground: {shape.normal[0]:.9g} {shape.normal[1]:.9g} {shape.offset!r}"


def _points(result: Result, touch: Visible) -> Array:
    H = planar_poses(result, dict(_signals_of_side(touch.signals, "point ")))
    return np.asarray(H[:, :3, :2] @ touch.shape.point + H[:, :3, 3])


def _rotated(H: Array, vector: Array) -> Array:
    return np.asarray(H[:, :3, :2] @ vector)


def _gauss(origins: Array, normals: Array) -> Array:
    H, out = unrotated_poses(origins), np.tile([0.0, 0.0, 1.0], (len(origins), 1))
    H[:, :3, 0], H[:, :3, 1], H[:, :3, 2] = np.cross(out, normals), out, normals
    return H
