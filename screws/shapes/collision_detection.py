"""Collision detection: shapes and poses of bodies -> candidate contact points (broad phase, then narrow phase).

        shapes -> bounding boxes -> pairs (filter, sort and sweep) -> closed forms by kind -> `PointPairs`

The arrays of candidates are built at every step, in the order of the shapes, whatever the order of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from screws.renamed import answer_old_names
from screws.shapes.box_pairs import box_box
from screws.shapes.boxes import box_half_space, points_half_space, round_box
from screws.shapes.capsules import round_half_space, round_round
from screws.shapes.hulls import CoalSolid, coal_solid, hull_pairs
from screws.shapes.nearest_points import NearestPoints, PlacedShapes, concatenated, rotate
from screws.shapes.solids import Ball, Box, Capsule, HalfSpace, Hull, Solid

__all__ = ["Arrangement", "PointPairs", "arrangement", "candidates"]

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
"""Kinds of a pair -> its closed form. Hulls are searched by `hulls`; two half-spaces have no candidates."""


@dataclass(frozen=True)
class PointPairs:
    """Points where bodies touch or may soon touch, (n, ...) each, in world coordinates."""

    body1: np.ndarray
    """Index of the first body, (n,) integers."""
    body2: np.ndarray
    shape1: np.ndarray
    """Indices of the shapes, (n,) integers; shape1 < shape2."""
    shape2: np.ndarray
    p1: np.ndarray
    """On the surface of body 1, (n, 3), m."""
    p2: np.ndarray
    """On the surface of body 2, (n, 3), m."""
    normal: np.ndarray
    """Unit vectors (n, 3) from body 1 to body 2."""
    gap: np.ndarray
    """normal . (p2 - p1), (n,), m: negative where they overlap."""

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
        """Objects of coal for the hulls and the shapes that they may meet."""
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
    exclude : pairs of bodies that are not searched, such as those that a joint connects.
    only : pairs of bodies to search, in place of all.

    Two half-spaces, and two shapes of one body, never form a pair.
    """
    solids = tuple(solid for _, solid in shapes)
    body = np.array([number for number, _ in shapes], dtype=np.intp)
    count = int(body.max(initial=-1)) + 1
    allowed = np.ones((count, count), dtype=bool) if only is None else _pairs(only, count)
    fixed_bodies = list(fixed)
    allowed[np.ix_(fixed_bodies, fixed_bodies)] = False
    allowed &= ~_pairs(exclude, count)
    np.fill_diagonal(allowed, False)
    half_space = np.array([isinstance(solid, HalfSpace) for solid in solids], dtype=bool)
    return Arrangement(solids, body, allowed[np.ix_(body, body)] & ~np.outer(half_space, half_space))


def _pairs(pairs: Iterable[tuple[int, int]], count: int) -> np.ndarray:
    out = np.zeros((count, count), dtype=bool)
    for i, j in pairs:
        out[i, j] = out[j, i] = True
    return out


def candidates(of: Arrangement, R: np.ndarray, p: np.ndarray, reach: float | np.ndarray) -> PointPairs:
    """Find the contact points with a gap of at most `reach`, m, of bodies with axes R (b, 3, 3) and origins p (b, 3).

    reach : of all pairs; or how far each body may come, (b,), of which those of two bodies add up.
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

    Sort and sweep along the widest direction (Baraff 1992). Boxes may be infinite. Cost: n log n, and the pairs that overlap
    along the swept direction.
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
    coal_solids = of.coal_solids
    return hull_pairs([coal_solids[int(s)] for s in first], shapes1, [coal_solids[int(s)] for s in second], shapes2, reach)


def _hull_half_space(
    of: Arrangement, k: int, first: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float
) -> NearestPoints:
    solid = of.solids[first[k]]
    assert isinstance(solid, Hull)
    corners = shapes1.p[k] + solid.points @ shapes1.R[k].T
    points = points_half_space(corners[None], shapes2.take(np.array([k])), reach)
    return points._replace(pair=np.full(len(points.gap), k))
