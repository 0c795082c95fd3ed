"""Balance of a tree: centre of mass, centroidal momentum, and the support polygon of its contacts.

Source: Orin, Goswami and Lee 2013 (centroidal momentum); Vukobratovic and Borovac 2004 (support polygon).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from screwbond.models.chains.dynamics import first_moment, section_moments
from screwbond.models.chains.kinematics import section_frames, section_twists
from screwbond.models.chains.rows import of_rows
from screwbond.models.chains.trees import Tree, as_floats

from bondgraph.errors import refusal
from screws.numeric_arguments import floats, shown
from screws.scalars import array
from screws.shapes import plane_hull
from screws.vectors import cross


@of_rows("q")
def centre_of_mass(tree: Tree, q: Any, *numbers: Any) -> np.ndarray:
    """Return the centre of mass (3,) of all moving links, in the world, m."""
    mass, first = first_moment(tree, q, numbers)
    return array(tree.base[:3, 3] + tree.base[:3, :3] @ (first / mass))


@of_rows("q", "v")
def centroidal_momentum(tree: Tree, q: Any, v: Any, *numbers: Any) -> np.ndarray:
    """Return [angular momentum about the centre of mass; linear momentum] (6,) in world axes, kg m^2/s and kg m/s.

    Weight does not change the angular part: it is constant in flight.
    """
    freedoms, moves = tree.sections.freedoms, section_frames(tree, q)
    twists, carried = section_twists(tree, moves, v)[1:], section_moments(tree, numbers)
    momenta = [body.momentum(*twist) for body, twist in zip(carried, twists, strict=True)]
    angular, linear = np.zeros(3), np.zeros(3)
    for k in range(len(moves) - 1, -1, -1):
        R, p = moves[k]
        shifted = R @ momenta[k][1]
        turned = R @ momenta[k][0] + cross(p, shifted)
        before = freedoms[k].before
        if before:
            momenta[before - 1] = momenta[before - 1][0] + turned, momenta[before - 1][1] + shifted
        else:
            angular, linear = angular + turned, linear + shifted
    mass, first = first_moment(tree, q, numbers)
    R = tree.base[:3, :3]
    return array([*(R @ (angular - cross(first / mass, linear))), *(R @ linear)])


def support_polygon(points: Any, up: Sequence[float] | np.ndarray = (0.0, 0.0, 1.0)) -> np.ndarray:
    """Return the corners (k, 3) of the support polygon: the convex hull of the contact `points` (m, 3), m, counter-clockwise seen
    from `up`.

    Raises `ModelError` E342 for invalid points or a zero `up`.
    """
    corners, flat = _projected(points, up)
    return corners[plane_hull(flat)]


def support_margin(points: Any, centre: Any, up: Sequence[float] | np.ndarray = (0.0, 0.0, 1.0)) -> float:
    """Return the distance perpendicular to `up`, m, from a `centre` of mass (3,) to the edge of the support polygon of `points`
    (m, 3); it is negative outside, where the weight tips the body.

    Raises `ModelError` E342 for invalid points or centre, or a zero `up`.
    """
    corners, position = support_polygon(points, up), floats(centre, (3,))
    if position is None:
        raise refusal("E342", f"the centre is {shown(centre)}", "three finite numbers, m", about="support")
    _, flat = _projected(np.vstack([corners, position]), up)
    place, ring = flat[-1], flat[:-1]
    ends = np.roll(ring, -1, axis=0)
    along = ends - ring
    share = np.sum((place - ring) * along, axis=1) / np.maximum(np.sum(along**2, axis=1), 1e-300)
    nearest = ring + np.clip(share, 0.0, 1.0)[:, None] * along
    distance = float(np.linalg.norm(place - nearest, axis=1).min())
    inside = len(ring) > 2 and all(_turn(a, b, place) >= 0.0 for a, b in zip(ring, ends, strict=True))
    return distance if inside else -distance


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _projected(points: Any, up: Any) -> tuple[np.ndarray, np.ndarray]:
    values, direction = as_floats(points), as_floats(up)
    if values.ndim != 2 or values.shape[1] != 3 or not len(values) or not np.all(np.isfinite(values)):
        raise refusal("E342", f"no polygon follows from the points {shown(points)}", "finite points (m, 3), m", about="support")
    if direction.shape != (3,) or not np.linalg.norm(direction) > 0.0:
        raise refusal("E342", f"up={up!r} is not a direction", "three numbers, not all zero: up=(0, 0, 1)", about="support")
    normal = direction / np.linalg.norm(direction)
    first = np.cross(np.eye(3)[np.argmin(np.abs(normal))], normal)
    first /= np.linalg.norm(first)
    return values, values @ np.stack([first, np.cross(normal, first)], axis=1)
