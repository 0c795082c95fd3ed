"""Collision detection: candidate contact points from shapes and poses of bodies, by bounding boxes and then by pairs.

        shapes -> bounding boxes -> pairs (filter, sort and sweep) -> closed forms by kind -> `PointPairs`

The core of a ball or capsule is a segment, of length zero for a ball. Two segments are nearest where an end of one
faces the other, or where they cross; each case is a candidate with its own normal, so parallel capsules get two
points.

Coal (Pan, Chitta and Manocha 2012; Montaut and others 2022) gives the direction of separation or least penetration
of two hulls, and their common contact patch. The gap at each corner of that patch follows from the planes of their
faces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from screws.errors import GeometryError
from screws.names import answer_old_names
from screws.shapes.box_pairs import box_box, box_half_space, points_half_space, round_box
from screws.shapes.solids import (
    Ball,
    Box,
    Capsule,
    HalfSpace,
    Hull,
    NearestPoints,
    PlacedShapes,
    Solid,
    concatenated,
    crosses,
    directions,
    dots,
    rotate,
)

MERGE_DISTANCE = 1e-7
"""Fraction of the first shape's size up to which two corners of a patch are merged."""
OUTSIDE_TOLERANCE = 1e-4
"""Fraction of the first shape's size within which corners of a patch outside a hull still belong to it."""


class CoalSolid:
    """Solid as a coal object, and the planes f . x <= c of its faces, (n, 4) as [f, -c]; None for round solids."""

    def __init__(self, solid: Solid, planes: np.ndarray | None, coal_shape: Any) -> None:
        self.solid, self.planes, self.coal_shape = solid, planes, coal_shape


def coal_solid(solid: Solid) -> CoalSolid:
    try:
        import coal
    except ImportError:
        title = "collisions of hulls with other shapes need the package coal, which is not installed"
        raise GeometryError(
            "G144", title, 'pip install "screwbond[collision]", or boxes, capsules and balls instead of hulls'
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
    raise TypeError(f"coal has no {type(solid).__name__}")


def _hull_pair(k: int, a: CoalSolid, shapes1: PlacedShapes, b: CoalSolid, shapes2: PlacedShapes, reach: float) -> NearestPoints:
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
    p1, p2 = corner_points + exit1[:, None] * n, corner_points + exit2[:, None] * n
    corners = NearestPoints(np.full(len(gap), k), p1, p2, np.tile(n, (len(gap), 1)), gap)
    # No gap along n is less than the gap of the nearest points: if a corner seems to have a smaller gap, its line misses a hull.
    corners = corners.take(np.flatnonzero(gap >= distance - OUTSIDE_TOLERANCE * size))
    # A patch holds the points in a plane, within a tolerance; a single edge or corner has no patch.
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
    rate = planes[:, :3] @ n
    ahead = rate > 1e-9
    return np.asarray(np.min(-(points @ planes[ahead, :3].T + planes[ahead, 3]) / rate[ahead], axis=1))


END_SHARE = 1e-12
"""Fraction of a segment that counts as its end."""
MAX_PARALLEL_SINE = 0.05
"""Sine up to which capsules count as parallel: they touch at both ends of their common length."""


def round_round(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return the nearest points of balls and capsules, at most five for a pair (Ericson 2005, section 5.1.9, for crossing
    axes)."""
    a, b = shapes1.R[:, :, 2] * shapes1.half[:, 2:], shapes2.R[:, :, 2] * shapes2.half[:, 2:]
    rows = np.arange(len(a))
    parts: list[tuple[np.ndarray, ...]] = []
    for sign in (1.0, -1.0):
        end = shapes1.p + sign * a
        t, inner = _nearest_parameter(shapes2.p, b, end)
        q = shapes2.p + t[:, None] * b
        cosine = _inward_cosine(q - end, -sign * a)
        keep = ((cosine <= END_SHARE) | (inner & (cosine <= MAX_PARALLEL_SINE))) & (_has_length(a) | (sign > 0.0))
        parts.append((rows[keep], end[keep], q[keep], np.zeros((int(keep.sum()), 3))))
        end = shapes2.p + sign * b
        s, inner = _nearest_parameter(shapes1.p, a, end)
        p = shapes1.p + s[:, None] * a
        keep = inner & (_inward_cosine(p - end, -sign * b) <= MAX_PARALLEL_SINE) & (_has_length(b) | (sign > 0.0))
        parts.append((rows[keep], p[keep], end[keep], np.zeros((int(keep.sum()), 3))))
    parts.append(_crossing(shapes1.p, a, shapes2.p, b))
    pair, c1, c2, spare = (np.concatenate(column) for column in zip(*parts, strict=True))
    spare = np.where(np.any(spare != 0.0, axis=1)[:, None], spare, (shapes2.p - shapes1.p)[pair])
    normal, distance = directions(c2 - c1, spare)
    r1, r2 = shapes1.radius[pair], shapes2.radius[pair]
    gap = distance - r1 - r2
    near = gap <= reach
    points = NearestPoints(pair, c1 + r1[:, None] * normal, c2 - r2[:, None] * normal, normal, gap)
    return points.take(np.flatnonzero(near))


def _has_length(a: np.ndarray) -> np.ndarray:
    return np.any(a != 0.0, axis=1)


def _inward_cosine(d: np.ndarray, inward: np.ndarray) -> np.ndarray:
    """Return the cosine of the angle, at an end of a core, between the directions to the other core and into the core;
    positive if this end is not the nearest point."""
    size = np.sqrt(dots(d, d) * dots(inward, inward))
    return dots(d, inward) / np.where(size == 0.0, 1.0, size)


def _nearest_parameter(p: np.ndarray, b: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square = dots(b, b)
    t = dots(point - p, b) / np.where(square == 0.0, 1.0, square)
    inner = (np.abs(t) < 1.0 - END_SHARE) & (square > 0.0)
    return np.clip(t, -1.0, 1.0), inner


def _crossing(p1: np.ndarray, a: np.ndarray, p2: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    aa, bb, ab, d = dots(a, a), dots(b, b), dots(a, b), p2 - p1
    rows = np.flatnonzero(aa * bb - ab * ab > 1e-12 * aa * bb)
    aa, bb, ab, d, a, b = aa[rows], bb[rows], ab[rows], d[rows], a[rows], b[rows]
    determinant = aa * bb - ab * ab
    da, db = dots(d, a), dots(d, b)
    s, t = (bb * da - ab * db) / determinant, (ab * da - aa * db) / determinant
    keep = (np.abs(s) < 1.0 - END_SHARE) & (np.abs(t) < 1.0 - END_SHARE)
    rows, a, b, s, t, d = rows[keep], a[keep], b[keep], s[keep, None], t[keep, None], d[keep]
    return rows, p1[rows] + s * a, p2[rows] + t * b, crosses(a, b)


def round_half_space(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    a = shapes1.R[:, :, 2] * shapes1.half[:, 2:]
    up = shapes2.R[:, :, 2]
    parts = []
    for sign in (1.0, -1.0):
        rows = np.arange(len(a)) if sign > 0.0 else np.flatnonzero(shapes1.half[:, 2] > 0.0)
        centre = (shapes1.p + sign * a)[rows]
        n, r = up[rows], shapes1.radius[rows]
        height = dots(centre - shapes2.p[rows], n)
        gap = height - r
        near = np.flatnonzero(gap <= reach)
        points = NearestPoints(rows, centre - r[:, None] * n, centre - height[:, None] * n, -n, gap)
        parts.append(points.take(near))
    return concatenated(parts)


KINDS: dict[type[Solid], int] = {Ball: 0, Capsule: 0, Box: 1, Hull: 2, HalfSpace: 3}
"""Kind of each solid; balls and capsules share one, and pairs are searched with the lower kind first."""
ROUND, BOX, HULL, HALF_SPACE = range(4)
CLOSED_FORMS: dict[tuple[int, int], Callable[[PlacedShapes, PlacedShapes, float], NearestPoints]] = {
    (ROUND, ROUND): round_round,
    (ROUND, BOX): round_box,
    (ROUND, HALF_SPACE): round_half_space,
    (BOX, BOX): box_box,
    (BOX, HALF_SPACE): box_half_space,
}
"""Closed forms by the kinds of a pair; two half-spaces have no candidates."""


@dataclass(frozen=True)
class PointPairs:
    """Points where bodies touch or may soon touch, (n, ...) each, in world coordinates."""

    body1: np.ndarray
    """Index of the first body, (n,) integers."""
    body2: np.ndarray
    """Index of the second body, (n,) integers."""
    shape1: np.ndarray
    """Index of the first shape, (n,) integers; less than `shape2`."""
    shape2: np.ndarray
    """Index of the second shape, (n,) integers."""
    p1: np.ndarray
    """Points on the surface of body 1, (n, 3), m."""
    p2: np.ndarray
    """Points on the surface of body 2, (n, 3), m."""
    normal: np.ndarray
    """Unit vectors (n, 3) from body 1 to body 2."""
    gap: np.ndarray
    """Gap normal . (p2 - p1), (n,), m; negative where the bodies overlap."""

    def __len__(self) -> int:
        return len(self.gap)


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Shapes, the bodies that they belong to, and the pairs to search; made by `arrangement`."""

    solids: tuple[Solid, ...]
    body: np.ndarray
    """Body of each shape, (s,) integers."""
    allowed: np.ndarray
    """Pairs of shapes to search, (s, s) symmetric."""

    @cached_property
    def kind(self) -> np.ndarray:
        """Kind of each shape, (s,)."""
        return np.array([KINDS[type(solid)] for solid in self.solids], dtype=np.intp)

    @cached_property
    def placed(self) -> PlacedShapes:
        """Poses of the shapes in their bodies, and their sizes."""
        poses = np.array([solid.pose for solid in self.solids]).reshape(-1, 4, 4)
        half = np.array([solid.half for solid in self.solids]).reshape(-1, 3)
        return PlacedShapes(poses[:, :3, :3], poses[:, :3, 3], half, np.array([solid.radius for solid in self.solids]))

    @cached_property
    def coal_solids(self) -> dict[int, CoalSolid]:
        """Coal objects for the hulls and the shapes that they may meet."""
        hulls = np.flatnonzero(self.kind == HULL)
        partners = (
            {int(i) for i in np.flatnonzero(np.any(self.allowed[hulls], axis=0)) if self.kind[i] != HALF_SPACE}
            if len(hulls)
            else set()
        )
        return {i: coal_solid(self.solids[i]) for i in sorted(partners | ({int(i) for i in hulls} if partners else set()))}


@answer_old_names
def arrangement(
    shapes: Sequence[tuple[int, Solid]],
    *,
    fixed: Iterable[int] = (),
    exclude: Iterable[tuple[int, int]] = (),
    only: Iterable[tuple[int, int]] | None = None,
) -> Arrangement:
    """Collect shapes as (body, solid) and the pairs of bodies to search.

    fixed : bodies that never move: no pairs between them.
    exclude : pairs of bodies that are not searched, such as pairs that a joint connects.
    only : pairs of bodies to search, instead of all.

    Two half-spaces, and two shapes of one body, never form a pair.
    """
    solids = tuple(solid for _, solid in shapes)
    body = np.array([number for number, _ in shapes], dtype=np.intp)
    count = int(body.max(initial=-1)) + 1
    allowed = np.ones((count, count), dtype=bool) if only is None else _pairs(only, count)
    fixed_bodies = [number for number in fixed if number < count]
    allowed[np.ix_(fixed_bodies, fixed_bodies)] = False
    allowed &= ~_pairs(exclude, count)
    np.fill_diagonal(allowed, False)
    half_space = np.array([isinstance(solid, HalfSpace) for solid in solids], dtype=bool)
    return Arrangement(solids, body, allowed[np.ix_(body, body)] & ~np.outer(half_space, half_space))


def _pairs(pairs: Iterable[tuple[int, int]], count: int) -> np.ndarray:
    out = np.zeros((count, count), dtype=bool)
    for i, j in pairs:
        if max(i, j) < count:  # other bodies have no shapes
            out[i, j] = out[j, i] = True
    return out


def candidates(of: Arrangement, R: np.ndarray, p: np.ndarray, reach: float | np.ndarray) -> PointPairs:
    """Find the contact points with a gap of at most `reach`, m, of an arrangement whose bodies have axes R (b, 3, 3) and origins
    p (b, 3).

    reach : one number for all pairs; or one for each body, (b,): a pair's reach is then the sum for its two bodies.
    """
    body_reach = np.broadcast_to(0.5 * np.asarray(reach, dtype=float) if np.ndim(reach) == 0 else reach, (len(R),))[of.body]
    placed = of.placed
    axes = R[of.body]
    shapes = PlacedShapes(np.matmul(axes, placed.R), p[of.body] + rotate(axes, placed.p), placed.half, placed.radius)
    with np.errstate(invalid="ignore"):
        extent = (
            np.where(np.isinf(shapes.half), np.inf, rotate(np.abs(shapes.R), shapes.half)) + (shapes.radius + body_reach)[:, None]
        )
    i, j = overlapping_boxes(shapes.p - extent, shapes.p + extent, of.allowed)
    swap = of.kind[i] > of.kind[j]
    first, second = np.where(swap, j, i), np.where(swap, i, j)
    kinds = 4 * of.kind[first] + of.kind[second]
    parts = []
    for code in np.unique(kinds):
        rows = np.flatnonzero(kinds == code)
        shapes1, shapes2 = first[rows], second[rows]
        pair_reach = body_reach[shapes1] + body_reach[shapes2]
        points = _search(
            of, divmod(int(code), 4), shapes1, shapes.take(shapes1), shapes2, shapes.take(shapes2), float(np.max(pair_reach))
        )
        near = points.take(np.flatnonzero(points.gap <= pair_reach[points.pair]))
        parts.append(near._replace(pair=rows[near.pair]))
    points = concatenated(parts)
    flip = swap[points.pair][:, None]
    order = np.argsort(points.pair, kind="stable")
    p1, p2 = np.where(flip, points.p2, points.p1)[order], np.where(flip, points.p1, points.p2)[order]
    normal = np.where(flip, -points.normal, points.normal)[order]
    s1, s2 = i[points.pair[order]], j[points.pair[order]]
    return PointPairs(of.body[s1], of.body[s2], s1, s2, p1, p2, normal, points.gap[order])


def overlapping_boxes(low: np.ndarray, high: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices i < j of bounding boxes (n, 3) that overlap or touch, where `allowed` (n, n) is set, in ascending order.

    Sort and sweep along the widest direction (Baraff 1992). Boxes may be infinite. The cost is n log n plus the number of
    overlaps along the swept direction.
    """
    finite = np.all(np.isfinite(low) & np.isfinite(high), axis=1)
    middle = 0.5 * (low[finite] + high[finite])
    axis = int(np.argmax(np.ptp(middle, axis=0))) if len(middle) else 0
    order = np.argsort(low[:, axis], kind="stable")
    begin, end = low[order, axis], high[order, axis]
    ranks = np.arange(len(order))
    last = np.searchsorted(begin, end, side="right")
    count = last - ranks - 1
    first = np.repeat(ranks, count)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
    i, j = order[first], order[second]
    i, j = np.minimum(i, j), np.maximum(i, j)
    keep = allowed[i, j] & np.all((low[i] <= high[j]) & (low[j] <= high[i]), axis=1)
    i, j = i[keep], j[keep]
    sorted_rows = np.lexsort((j, i))
    return i[sorted_rows], j[sorted_rows]


def _search(
    of: Arrangement,
    kinds: tuple[int, int],
    first: np.ndarray,
    shapes1: PlacedShapes,
    second: np.ndarray,
    shapes2: PlacedShapes,
    reach: float,
) -> NearestPoints:
    closed = CLOSED_FORMS.get(kinds)
    if closed is not None:
        return closed(shapes1, shapes2, reach)
    if kinds == (HULL, HALF_SPACE):
        return concatenated([_hull_half_space(of, k, first, shapes1, shapes2, reach) for k in range(len(first))])
    pairs = [(of.coal_solids[int(a)], of.coal_solids[int(b)]) for a, b in zip(first, second, strict=True)]
    return concatenated([_hull_pair(k, a, shapes1, b, shapes2, reach) for k, (a, b) in enumerate(pairs)])


def _hull_half_space(
    of: Arrangement, k: int, first: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float
) -> NearestPoints:
    solid = of.solids[first[k]]
    assert isinstance(solid, Hull)
    corners = shapes1.p[k] + solid.points @ shapes1.R[k].T
    points = points_half_space(corners[None], shapes2.take(np.array([k])), reach)
    return points._replace(pair=np.full(len(points.gap), k))
