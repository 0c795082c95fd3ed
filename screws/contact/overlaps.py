"""Search for regions where two bodies overlap away from known contact points, or are nearest to each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from screws.contact.closest import (
    ContactCoordinates,
    StationaryPair,
    contact_coordinates,
    distinct,
    evaluate,
    is_isolated_minimum,
    local_minima,
    solve_stationarity,
)
from screws.contact.initial_guesses import Bodies, Pair
from screws.errors import GeometryError
from screws.poses import inverse
from screws.surfaces.closed import Cylinder, Plane, Sphere
from screws.surfaces.nearest import bounded_samples, nearest_coordinates
from screws.surfaces.surface import Surface

_AWAY = 0.05
"""Distance from all contact points, relative to the smaller body's size, beyond which a point belongs to another contact."""
_REACH = 0.2
"""Largest distance of a point from the normal at the nearest sample, relative to the surface's size; farther points lie beyond
the edge."""
_STARTS, _APART = 6, 0.3
"""Number of points from which the search for an overlap starts, and their minimum distance relative to the
smaller body's size."""
_SHALLOW = 1e-6
"""Depth relative to the smaller body's size that counts as rounding error."""
_CLEAR, _DEEPER = 0.02, 1.5
"""Depth beyond which a point belongs to no known contact: relative to the smaller body's size, and to the contacts' depth."""


@dataclass(frozen=True)
class Overlap:
    """Overlap of two bodies: a point (3,) on either body, in the frame of body 1, m, and the depth there, m."""

    point: tuple[float, float, float]
    depth: float


@dataclass(frozen=True)
class InsidePoint:
    """Sample of one body inside the other: its point (3,) in the axes of body 1, m, the number of its body, its depth
    below the other body's nearest sample, m, and the coordinates of both samples."""

    point: np.ndarray
    body: int
    depth: float
    pair: Pair


def overlap_elsewhere(
    surface1: Surface, surface2: Surface, H_1_2: np.ndarray, contacts: np.ndarray, known_depth: float = 0.0
) -> Overlap | None:
    """Return the deepest overlap of two bodies away from the points `contacts` (k, 3) of body 1, or None.

    `H_1_2` is the pose (4, 4) of body 2 in body 1. An overlap is a pair of points with opposite normals along their common line
    or, if no pair converges, a point that lies clearly deeper in the other body than the contacts, whose depth is `known_depth`,
    m. Overlaps between the samples of the surfaces may escape the search.
    """
    bodies, inside = Bodies(surface1, surface2, H_1_2), inside_points(surface1, surface2, H_1_2, contacts)
    overlaps = []
    for start in _spread(inside, _APART * bodies.length):
        pair = solve_stationarity(bodies, start.pair)
        if pair is None or pair.gap >= -_SHALLOW * bodies.length or not is_isolated_minimum(bodies, pair):
            continue
        if _away(bodies, pair.p1[None, :], contacts)[0]:
            overlaps.append(Overlap(_triple(pair.p1), -pair.gap))
    if not overlaps and inside:
        deepest = max(inside, key=lambda point: point.depth)
        depth = _depth(bodies, deepest)
        if depth > max(_CLEAR * bodies.length, _DEEPER * known_depth):
            overlaps.append(Overlap(_triple(deepest.point), depth))
    return max(overlaps, key=lambda overlap: overlap.depth, default=None)


def starts_inside(surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> list[InsidePoint]:
    bodies = Bodies(surface1, surface2, H_1_2)
    return _spread(inside_points(surface1, surface2, H_1_2, np.zeros((0, 3))), _APART * bodies.length)


def deepest_inside(surface1: Surface, surface2: Surface, H_1_2: np.ndarray, contacts: np.ndarray) -> float:
    """Return the depth of the deepest sample of the smaller body inside the other body, away from the points `contacts` (k, 3) of
    body 1, m; 0 if none is inside."""
    bodies = Bodies(surface1, surface2, H_1_2)
    smaller = min((body for body in (1, 2) if is_bounded(_surface(bodies, body))), key=lambda body: _surface(bodies, body).size)
    points, depths, _ = _samples_inside(bodies, smaller)
    inside = depths > 0.0
    inside[inside] = _away(bodies, points[inside], contacts)
    return float(depths[inside].max(initial=0.0))


def inside_points(surface1: Surface, surface2: Surface, H_1_2: np.ndarray, contacts: np.ndarray) -> list[InsidePoint]:
    bodies = Bodies(surface1, surface2, H_1_2)
    inside = []
    for body in (1, 2):
        surface, other = _surface(bodies, body), _surface(bodies, 3 - body)
        if not is_bounded(surface):
            continue
        samples = bounded_samples(surface)
        points, depths, feet = _samples_inside(bodies, body)
        in_other = bodies.in_second(points) if body == 1 else points
        for k in np.flatnonzero((depths > 0.0) & _away(bodies, points, contacts)):
            sample, foot = (samples.q[k], float(samples.chart[k])), _coordinates(other, in_other[k], int(feet[k]))
            pair = Pair(*sample, *foot) if body == 1 else Pair(*foot, *sample)
            inside.append(InsidePoint(points[k], body, float(depths[k]), pair))
    return inside


def _surface(bodies: Bodies, body: int) -> Surface:
    return bodies.surface1 if body == 1 else bodies.surface2


def _samples_inside(bodies: Bodies, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the samples (k, 3) of a body in the axes of body 1; their depths (k,) in the other body, m, at most 0 outside; and
    the indices (k,) of the other body's nearest samples.

    The index is -1 for a plane, cylinder or sphere, and far outside. For any other unbounded surface all depths are 0.
    """
    samples, other = bounded_samples(_surface(bodies, body)), _surface(bodies, 3 - body)
    points = samples.points if body == 1 else bodies.in_first(samples)[0]
    in_other = bodies.in_second(points) if body == 1 else points
    if is_bounded(other):
        centre, radius = _sphere(other)
        near = np.linalg.norm(in_other - centre, axis=1) < 1.1 * radius
        depths, feet = np.zeros(len(points)), np.full(len(points), -1)
        if near.any():
            depths[near], feet[near] = _depths(other, in_other[near])
        return points, depths, feet
    if isinstance(other.shape, (Plane, Cylinder, Sphere)):
        return points, *_depths(other, in_other)
    return points, np.zeros(len(points)), np.full(len(points), -1)


@lru_cache(maxsize=256)
def _sphere(surface: Surface) -> tuple[np.ndarray, float]:
    points = bounded_samples(surface).points
    centre = points.mean(axis=0)
    return centre, float(np.linalg.norm(points - centre, axis=1).max())


@lru_cache(maxsize=256)
def _squares(surface: Surface) -> np.ndarray:
    return np.asarray(np.sum(bounded_samples(surface).points ** 2, axis=1))


def is_bounded(surface: Surface) -> bool:
    return surface.closed or all(np.isfinite(stop - start) for start, stop, _ in surface.shape.ranges())


def _depths(surface: Surface, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the depths (k,) of points (k, 3) below a surface, m, 0 beyond `_REACH`, and the indices (k,) of its nearest samples,
    -1 for a plane, cylinder or sphere."""
    none = np.full(len(points), -1)
    if isinstance(surface.shape, Plane):
        return -points[:, 2], none
    if isinstance(surface.shape, Cylinder):
        return surface.values()[0] - np.hypot(points[:, 0], points[:, 1]), none
    if isinstance(surface.shape, Sphere):
        return surface.values()[0] - np.linalg.norm(points, axis=1), none
    samples = bounded_samples(surface)
    nearest = np.argmin(_squares(surface) - 2.0 * points @ samples.points.T, axis=1)
    offset, normals = points - samples.points[nearest], samples.normals[nearest]
    height = np.einsum("ij,ij->i", offset, normals)
    sideways = np.linalg.norm(offset - height[:, None] * normals, axis=1)
    return np.where(sideways < _REACH * surface.size, -height, 0.0), nearest


def _coordinates(surface: Surface, point: np.ndarray, sample: int) -> tuple[np.ndarray, float]:
    if sample >= 0:
        samples = bounded_samples(surface)
        return samples.q[sample], float(samples.chart[sample])
    guess = surface.shape.guess(point, surface.values())
    assert guess is not None
    return guess


def _away(bodies: Bodies, points: np.ndarray, contacts: np.ndarray) -> np.ndarray:
    distance = np.linalg.norm(points[:, None, :] - contacts[None, :, :], axis=2).min(axis=1, initial=np.inf)
    return np.asarray(distance > _AWAY * bodies.length)


def _spread(inside: list[InsidePoint], apart: float) -> list[InsidePoint]:
    chosen = list[InsidePoint]()
    for point in sorted(inside, key=lambda point: -point.depth):
        if len(chosen) < _STARTS and all(np.linalg.norm(point.point - other.point) > apart for other in chosen):
            chosen.append(point)
    return chosen


def _depth(bodies: Bodies, inside: InsidePoint) -> float:
    surface, point = bodies.surface2, bodies.in_second(inside.point)
    if inside.body == 2:
        surface, point = bodies.surface1, inside.point
    try:
        q, chart = nearest_coordinates(surface, point)
    except GeometryError:
        return 0.0
    if surface.has_edge and surface.edge_margin(q) <= 0.0:
        return 0.0
    H = np.asarray(surface.geometry(q, chart).H, dtype=float)
    return float(H[:3, 2] @ (H[:3, 3] - point))


def _triple(point: np.ndarray) -> tuple[float, float, float]:
    x, y, z = map(float, point)
    return x, y, z


def closest_points_with_overlaps(surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> list[ContactCoordinates]:
    """Return the local minima of the distance, continued into overlap, first overlapping pairs by increasing depth, then
    separated pairs by increasing gap.

    `H_1_2` is the pose (4, 4) of body 2 in body 1. The search starts where `all_closest_points` does, from either body,
    and from the points of each body inside the other. Raises `GeometryError` G124 if H_1_2 is not a pose.
    """
    bodies = Bodies(surface1, surface2, np.asarray(H_1_2, dtype=float))
    exchanged = Bodies(surface2, surface1, np.asarray(inverse(bodies.H_1_2), dtype=float))
    pairs = [*local_minima(bodies), *(_swapped(bodies, pair) for pair in local_minima(exchanged))]
    overlaps = (solve_stationarity(bodies, start.pair) for start in starts_inside(surface1, surface2, bodies.H_1_2))
    pairs += [pair for pair in overlaps if pair is not None and pair.gap < 0.0 and is_isolated_minimum(bodies, pair)]
    return [contact_coordinates(bodies, pair) for pair in distinct(bodies, pairs)]


def _swapped(bodies: Bodies, pair: StationaryPair) -> StationaryPair:
    q2, chart2, q1, chart1 = pair.pair
    return evaluate(bodies, Pair(q1, chart1, q2, chart2))
