"""Pairs of which one is a convex hull in -> nearest points out: corners on a half-space here, all others by the package coal.

Coal (Pan, Chitta and Manocha 2012; Montaut and others 2022) gives the direction in which two hulls are apart or least deep in
each other, and the patch that both have in common there. How far apart they are at each corner of that patch follows from the
planes of their faces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from screws.errors import GeometryError
from screws.shapes.found import Found, Placed, joined
from screws.shapes.solids import Ball, Box, Capsule, Hull, Solid

__all__ = ["Counterpart", "counterpart", "hull_pairs"]

SAME = 1e-7
"""Corners of a patch that are nearer than this share of the hull are one."""
BESIDE = 1e-4
"""Corners of a patch that are beside a hull by less than this share of it are taken for its own."""


class Counterpart:
    """A solid as coal holds it, and the planes f . x <= c of its faces, (n, 4) as [f, -c]; none for round solids."""

    def __init__(self, solid: Solid, planes: np.ndarray | None, held: Any) -> None:
        self.solid, self.planes, self.held = solid, planes, held


def counterpart(solid: Solid) -> Counterpart:
    """For a ball, a capsule, a box or a hull. Raises `GeometryError` G144 where coal is not installed."""
    try:
        import coal
    except ImportError:
        title = "hulls beside anything but half-spaces need the package coal, which is not installed"
        raise GeometryError(
            "G144", title, 'pip install "screwbond[collision]", or boxes, capsules and balls in its place'
        ) from None
    if isinstance(solid, Ball):
        return Counterpart(solid, None, coal.Sphere(solid.size))
    if isinstance(solid, Capsule):
        return Counterpart(solid, None, coal.Capsule(solid.size, solid.length))
    if isinstance(solid, Box):
        faces = np.concatenate([np.eye(3), -np.eye(3)])
        return Counterpart(solid, np.column_stack([faces, -np.tile(solid.half, 2)]), coal.Box(*(2.0 * solid.half)))
    if isinstance(solid, Hull):
        from scipy.spatial import ConvexHull

        points = coal.StdVec_Vec3s()
        points.extend(list(solid.points))
        return Counterpart(solid, ConvexHull(solid.points).equations, coal.Convex.convexHull(points, True, "Qt"))
    raise TypeError(f"no counterpart of {type(solid).__name__}")


def hull_pairs(ones: list[Counterpart], one: Placed, twos: list[Counterpart], two: Placed, reach: float) -> Found:
    """Corners of the common patches of pairs within reach; a pair whose patch is a point has that."""
    return joined([_pair(k, ones[k], one, twos[k], two, reach) for k in range(len(ones))])


def _pair(k: int, a: Counterpart, one: Placed, b: Counterpart, two: Placed, reach: float) -> Found:
    import coal

    H1, H2 = coal.Transform3s(one.R[k], one.p[k]), coal.Transform3s(two.R[k], two.p[k])
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.security_margin, request.num_max_contacts = reach, 1
    if not coal.collide(a.held, H1, b.held, H2, request, result):
        return joined([])
    touch = result.getContact(0)
    n = np.array(touch.normal)
    nearest1, nearest2 = np.array(touch.getNearestPoint1()), np.array(touch.getNearestPoint2())
    apart = float(n @ (nearest2 - nearest1))
    single = Found(np.array([k]), nearest1[None], nearest2[None], n[None], np.array([apart]))
    if a.planes is None or b.planes is None:
        return single if apart <= reach else joined([])
    patches, ask = coal.ContactPatchResult(), coal.ContactPatchRequest()
    coal.computeContactPatch(a.held, H1, b.held, H2, result, ask, patches)
    patch = patches.getContactPatch(0)
    size = float(np.max(one.half[k]))
    at = np.array(_apart([np.array(patch.getPoint(i)) for i in range(patch.size())], SAME * size)).reshape(-1, 3)
    out = _exit(a.planes, (at - one.p[k]) @ one.R[k], one.R[k].T @ n)
    back = -_exit(b.planes, (at - two.p[k]) @ two.R[k], -(two.R[k].T @ n))
    gap = back - out
    corners = Found(np.full(len(at), k), at + out[:, None] * n, at + back[:, None] * n, np.tile(n, (len(at), 1)), gap)
    # No gap along n is less than that of the nearest points: a corner that says so lies beside a hull, whose line misses it.
    corners = corners.take(np.flatnonzero(gap >= apart - BESIDE * size))
    # A patch holds what lies in the plane up to a tolerance; an edge or a corner alone has none.
    found = corners if np.min(corners.gap, initial=np.inf) <= apart + SAME * size else joined([single, corners])
    return found.take(np.flatnonzero(found.gap <= reach))


def _apart(points: list[np.ndarray], tolerance: float) -> list[np.ndarray]:
    kept: list[np.ndarray] = []
    for point in points:
        if all(float(np.max(np.abs(point - other))) > tolerance for other in kept):
            kept.append(point)
    return kept


def _exit(planes: np.ndarray, at: np.ndarray, n: np.ndarray) -> np.ndarray:
    """How far along n each point's line leaves the hull, (k,)."""
    rate = planes[:, :3] @ n
    ahead = rate > 1e-9
    return np.asarray(np.min(-(at @ planes[ahead, :3].T + planes[ahead, 3]) / rate[ahead], axis=1))
