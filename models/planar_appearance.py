"""Appearance of planar bodies in pictures: pose signals, outlines, contact points and faces.

It does not affect the mechanics. `planar_body` and `attach_planar_contact` mark what they build; mark a mechanism in other
coordinates with `mark_planar_body` and `mark_planar_contact`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.visuals import Visual, visuals_of

from bondgraph import Graph
from bondgraph.errors import refusal
from bondgraph.model.model import Visible
from screws.joints import Vector
from screws.numeric_arguments import floats

__all__ = ["PlanarAppearance", "PlanarContactGeometry", "mark_planar_body", "mark_planar_contact"]

PlaceSignals = str | Mapping[str, str]
"""A signal (2,) or (3,) of x, y and the angle; or scalar signals by these three words, zero if left out."""

Outline = float | Sequence[Vector] | np.ndarray
"""Radius of a disc, or corners (n, 2) of a convex polygon, m."""

COORDINATES = ("x", "y", "angle")


@dataclass(frozen=True, eq=False)
class PlanarAppearance:
    """Appearance of a planar body.

    Attributes
    ----------
    outline : radius of a disc about its origin, or corners (n, 2) of a convex polygon in its axes, m; None: unknown.
    visuals : what pictures show instead.
    mass, inertia : kg, kg m^2: a square for a body without an outline; None: unknown.
    gravity : along -y, m/s^2.
    """

    outline: float | np.ndarray | None = None
    visuals: tuple[Visual, ...] = ()
    mass: float | None = None
    inertia: float | None = None
    gravity: float = 0.0


@dataclass(frozen=True, eq=False)
class PlanarContactGeometry:
    """Contact point of one body and straight face of another, or of the world.

    Attributes
    ----------
    point : (2,) in the axes of its body, m.
    normal, offset : (2,) outward unit normal of the face in the axes of its body; its distance from the origin along that, m.
    slip : (2,) unit vector in the axes of the face's body along which the slip of the point is positive.
    """

    point: np.ndarray
    normal: np.ndarray
    offset: float
    slip: np.ndarray


def mark_planar_body(
    graph: Graph,
    name: str,
    place: PlaceSignals,
    *,
    outline: Outline | None = None,
    visual: Visual | Sequence[Visual] | None = None,
) -> Graph:
    """Mark a moving object in the plane of x and y, so that pictures show it.

    Parameters
    ----------
    place : of its origin: a signal (x, y, angle), or {"x": ..., "y": ..., "angle": ...} with a scalar signal for each, zero if
        left out; m, rad.
    outline : radius of a disc, or corners (n, 2) of a convex polygon in its axes, m.
    visual : what pictures show instead.

    Return the graph. Raises `ModelError` E575 for invalid places and outlines.
    """
    appearance = PlanarAppearance(check_outline(name, outline), visuals_of(name, visual))
    return graph.mark_visible(Visible("planar body", _signals(name, place), appearance, name))


def mark_planar_contact(
    graph: Graph,
    name: str,
    point: tuple[PlaceSignals, Vector],
    face: tuple[PlaceSignals | None, Vector, float],
    slip: Vector | None = None,
) -> Graph:
    """Mark the location of the contact `name` of a graph, so that pictures show its frames and forces.

    Parameters
    ----------
    point : the place of a marked body as it was marked, and the point in its axes, m.
    face : likewise or None for the world, the outward normal in its axes, and its distance from the origin along that, m.
    slip : direction in the axes of the face's body in which the slip of the point is positive; None: the normal rotated by -90
        degrees, as in `attach_planar_contact`.

    Return the graph.
    """
    (body, contact_point), (other, outward, offset) = point, face
    normal = np.asarray(outward, dtype=float) / np.linalg.norm(outward)
    direction = np.array([normal[1], -normal[0]]) if slip is None else np.asarray(slip, dtype=float) / np.linalg.norm(slip)
    signals = {f"point {use}": signal for use, signal in _signals(name, body).items()}
    signals |= {f"face {use}": signal for use, signal in ({} if other is None else _signals(name, other)).items()}
    geometry = PlanarContactGeometry(np.asarray(contact_point, dtype=float), normal, float(offset), direction)
    return graph.mark_visible(Visible("planar touch", signals, geometry, name))


def check_outline(name: str, outline: Any) -> float | np.ndarray | None:
    """Return a radius, or corners (n, 2) anticlockwise; E575 for an invalid outline."""
    if outline is None:
        return None
    radius = floats(outline, ())
    if radius is not None and radius > 0.0:
        return float(radius)
    corners = floats(outline, (len(outline), 2)) if radius is None and np.ndim(outline) == 2 else None
    if corners is not None and len(corners) > 2:
        edges = np.roll(corners, -1, axis=0) - corners
        next_edges = np.roll(edges, -1, axis=0)
        cross_products = edges[:, 0] * next_edges[:, 1] - edges[:, 1] * next_edges[:, 0]
        # One revolution, always in the same direction.
        total_angle = np.arctan2(cross_products, np.sum(edges * next_edges, axis=1)).sum()
        if np.all(cross_products > 0.0) and total_angle < 7.0:
            return corners
        if np.all(cross_products < 0.0) and total_angle > -7.0:
            return corners[::-1].copy()
    title = f'the outline of "{name}" is {outline!r}'
    cures = ("a radius in m, outline=0.1", "corners of a convex polygon one after another, outline=[(0, 0), (0.2, 0), (0, 0.1)]")
    raise refusal("E575", title, *cures, about=name)


def _signals(name: str, place: Any) -> dict[str, str]:
    """Return the signals of a planar pose by coordinate."""
    if isinstance(place, str):
        return {"place": place}
    if (
        isinstance(place, Mapping)
        and place
        and set(place) <= set(COORDINATES)
        and all(isinstance(signal, str) for signal in place.values())
    ):
        return dict(place)
    cure = 'a signal (x, y, angle) such as "box.place", or signals by word: {"x": "cart place.y"}; words: x, y, angle'
    raise refusal("E575", f'the place of "{name}" is {place!r}', cure, about=name)
