"""Nearest points of pairs with a convex hull: corners on a half-space here, all others by the package coal.

Coal (Pan, Chitta and Manocha 2012; Montaut and others 2022) gives the direction of separation or least penetration of two hulls,
and their common contact patch. The gap at each corner of that patch follows from the planes of their faces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from screws.errors import GeometryError
from screws.shapes.nearest_points import NearestPoints, PlacedShapes, concatenated
from screws.shapes.solids import Ball, Box, Capsule, Hull, Solid

__all__ = ["CoalSolid", "coal_solid", "hull_pairs"]

MERGE_DISTANCE = 1e-7
"""Share of the hull below which two corners of a patch are merged."""
OUTSIDE_TOLERANCE = 1e-4
"""Share of the hull within which corners of a patch outside it still count as its own."""


class CoalSolid:
    """Solid as an object of coal, and the planes f . x <= c of its faces, (n, 4) as [f, -c]; None for round solids."""

    def __init__(self, solid: Solid, planes: np.ndarray | None, coal_shape: Any) -> None:
        self.solid, self.planes, self.coal_shape = solid, planes, coal_shape


def coal_solid(solid: Solid) -> CoalSolid:
    """Convert a ball, a capsule, a box or a hull for coal. Raises `GeometryError` G144 if coal is not installed."""
    try:
        import coal
    except ImportError:
        title = "hulls beside anything but half-spaces need the package coal, which is not installed"
        raise GeometryError(
            "G144", title, 'pip install "screwbond[collision]", or boxes, capsules and balls in its place'
        ) from None
    if isinstance(solid, Ball):
        return CoalSolid(solid, None, coal.Sphere(solid.size))
    if isinstance(solid, Capsule):
        return CoalSolid(solid, None, coal.Capsule(solid.size, solid.length))
    if isinstance(solid, Box):
        faces = np.concatenate([np.eye(3), -np.eye(3)])
        return CoalSolid(solid, np.column_stack([faces, -np.tile(solid.half, 2)]), coal.Box(*(2.0 * solid.half)))
    if isinstance(solid, Hull):
        from scipy.spatial import ConvexHull

        points = coal.StdVec_Vec3s()
        points.extend(list(solid.points))
        return CoalSolid(solid, ConvexHull(solid.points).equations, coal.Convex.convexHull(points, True, "Qt"))
    raise TypeError(f"no counterpart of {type(solid).__name__}")


def hull_pairs(
    solids1: list[CoalSolid], shapes1: PlacedShapes, solids2: list[CoalSolid], shapes2: PlacedShapes, reach: float
) -> NearestPoints:
    """Return the corners of the contact patches of pairs within reach; a patch may be a single point."""
    return concatenated([_pair(k, solids1[k], shapes1, solids2[k], shapes2, reach) for k in range(len(solids1))])


def _pair(k: int, a: CoalSolid, shapes1: PlacedShapes, b: CoalSolid, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    import coal

    H1, H2 = coal.Transform3s(shapes1.R[k], shapes1.p[k]), coal.Transform3s(shapes2.R[k], shapes2.p[k])
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.security_margin, request.num_max_contacts = reach, 1
    if not coal.collide(a.coal_shape, H1, b.coal_shape, H2, request, result):
        return concatenated([])
    contact = result.getContact(0)
    n = np.array(contact.normal)
    nearest1, nearest2 = np.array(contact.getNearestPoint1()), np.array(contact.getNearestPoint2())
    distance = float(n @ (nearest2 - nearest1))
    single = NearestPoints(np.array([k]), nearest1[None], nearest2[None], n[None], np.array([distance]))
    if a.planes is None or b.planes is None:
        return single if distance <= reach else concatenated([])
    patches, patch_request = coal.ContactPatchResult(), coal.ContactPatchRequest()
    coal.computeContactPatch(a.coal_shape, H1, b.coal_shape, H2, result, patch_request, patches)
    patch = patches.getContactPatch(0)
    size = float(np.max(shapes1.half[k]))
    corner_points = np.array(
        _distinct([np.array(patch.getPoint(i)) for i in range(patch.size())], MERGE_DISTANCE * size)
    ).reshape(-1, 3)
    exit1 = _exit_distance(a.planes, (corner_points - shapes1.p[k]) @ shapes1.R[k], shapes1.R[k].T @ n)
    exit2 = -_exit_distance(b.planes, (corner_points - shapes2.p[k]) @ shapes2.R[k], -(shapes2.R[k].T @ n))
    gap = exit2 - exit1
    corners = NearestPoints(
        np.full(len(corner_points), k),
        corner_points + exit1[:, None] * n,
        corner_points + exit2[:, None] * n,
        np.tile(n, (len(corner_points), 1)),
        gap,
    )
    # No gap along n is less than that of the nearest points; a corner with a smaller one lies outside a hull, which its line
    # misses.
    corners = corners.take(np.flatnonzero(gap >= distance - OUTSIDE_TOLERANCE * size))
    # A patch holds the points in the plane up to a tolerance; a single edge or corner has none.
    points = (
        corners if np.min(corners.gap, initial=np.inf) <= distance + MERGE_DISTANCE * size else concatenated([single, corners])
    )
    return points.take(np.flatnonzero(points.gap <= reach))


def _distinct(points: list[np.ndarray], tolerance: float) -> list[np.ndarray]:
    distinct: list[np.ndarray] = []
    for point in points:
        if all(float(np.max(np.abs(point - other))) > tolerance for other in distinct):
            distinct.append(point)
    return distinct


def _exit_distance(planes: np.ndarray, points: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the distance along n at which each point's line leaves the hull, (k,)."""
    rate = planes[:, :3] @ n
    ahead = rate > 1e-9
    return np.asarray(np.min(-(points @ planes[ahead, :3].T + planes[ahead, 3]) / rate[ahead], axis=1))
