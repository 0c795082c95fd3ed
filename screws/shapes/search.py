"""Shapes of bodies and where the bodies are, in -> the points in which they touch or may soon, out.

    shapes -> boxes around them -> pairs (filter, sort and sweep) -> closed forms by kind -> `PointPairs`

Candidates are data: arrays that are made anew at every step, in the order of the shapes, whatever the order of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from screws.renamed import answer_old_names
from screws.shapes.boxes import box_half_space, points_half_space, round_box
from screws.shapes.faces import box_box
from screws.shapes.found import Found, Placed, joined, turned
from screws.shapes.hulls import Counterpart, counterpart, hull_pairs
from screws.shapes.segments import round_half_space, round_round
from screws.shapes.solids import Ball, Box, Capsule, HalfSpace, Hull, Solid
from screws.shapes.sweep import overlapping

__all__ = ["Arrangement", "PointPairs", "arrangement", "candidates"]

KINDS: dict[type[Solid], int] = {Ball: 0, Capsule: 0, Box: 1, Hull: 2, HalfSpace: 3}
"""Kind of each solid: balls and capsules are one, and pairs are searched with the lower kind first."""
ROUND, BOX, HULL, HALF_SPACE = range(4)

CLOSED: dict[tuple[int, int], Callable[[Placed, Placed, float], Found]] = {
    (ROUND, ROUND): round_round,
    (ROUND, BOX): round_box,
    (ROUND, HALF_SPACE): round_half_space,
    (BOX, BOX): box_box,
    (BOX, HALF_SPACE): box_half_space,
}
"""Kinds of a pair -> its closed form. Hulls are searched by `hulls`; two half-spaces have no candidates."""


@dataclass(frozen=True)
class PointPairs:
    """Points in which bodies touch or may soon, (n, ...) each, in world coordinates."""

    body1: np.ndarray
    """Which bodies, (n,) integers."""
    body2: np.ndarray
    shape1: np.ndarray
    """Which of the shapes, (n,) integers; shape1 < shape2."""
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
    """Shapes, the bodies that they belong to, and which pairs are looked at; made by `arrangement`."""

    solids: tuple[Solid, ...]
    body: np.ndarray
    """Body of each shape, (s,) integers."""
    allowed: np.ndarray
    """Pairs of shapes that are looked at, (s, s) symmetric."""

    @cached_property
    def kind(self) -> np.ndarray:
        """Of each shape, (s,)."""
        return np.array([KINDS[type(solid)] for solid in self.solids], dtype=np.intp)

    @cached_property
    def inner(self) -> Placed:
        """Places of the shapes in their bodies, and their sizes."""
        poses = np.array([solid.pose for solid in self.solids]).reshape(-1, 4, 4)
        half = np.array([solid.half for solid in self.solids]).reshape(-1, 3)
        return Placed(poses[:, :3, :3], poses[:, :3, 3], half, np.array([solid.radius for solid in self.solids]))

    @cached_property
    def counterparts(self) -> dict[int, Counterpart]:
        """What coal holds of shapes that a hull may meet."""
        hulls = np.flatnonzero(self.kind == HULL)
        met = (
            {int(i) for i in np.flatnonzero(np.any(self.allowed[hulls], axis=0)) if self.kind[i] != HALF_SPACE}
            if len(hulls)
            else set()
        )
        return {i: counterpart(self.solids[i]) for i in sorted(met | ({int(i) for i in hulls} if met else set()))}


@answer_old_names
def arrangement(
    shapes: Sequence[tuple[int, Solid]],
    *,
    fixed: Iterable[int] = (),
    exclude: Iterable[tuple[int, int]] = (),
    only: Iterable[tuple[int, int]] | None = None,
) -> Arrangement:
    """Shapes as (body, solid), and which pairs of bodies are looked at.

    fixed : bodies that never move: no pairs between them.
    exclude : pairs of bodies that are not looked at, such as those that a joint connects.
    only : pairs of bodies that are looked at, in place of all.

    Two half-spaces, and two shapes of one body, are no pair.
    """
    solids = tuple(solid for _, solid in shapes)
    body = np.array([number for number, _ in shapes], dtype=np.intp)
    count = int(body.max(initial=-1)) + 1
    looked = np.ones((count, count), dtype=bool) if only is None else _pairs(only, count)
    rest = list(fixed)
    looked[np.ix_(rest, rest)] = False
    looked &= ~_pairs(exclude, count)
    np.fill_diagonal(looked, False)
    half_space = np.array([isinstance(solid, HalfSpace) for solid in solids], dtype=bool)
    return Arrangement(solids, body, looked[np.ix_(body, body)] & ~np.outer(half_space, half_space))


def _pairs(pairs: Iterable[tuple[int, int]], count: int) -> np.ndarray:
    out = np.zeros((count, count), dtype=bool)
    for i, j in pairs:
        out[i, j] = out[j, i] = True
    return out


def candidates(of: Arrangement, R: np.ndarray, p: np.ndarray, reach: float | np.ndarray) -> PointPairs:
    """Points whose gap is at most `reach`, m, of bodies with axes R (b, 3, 3) and origins p (b, 3).

    reach : of all pairs; or how far each body may come, (b,), of which those of two bodies add up.
    """
    own = np.broadcast_to(0.5 * np.asarray(reach, dtype=float) if np.ndim(reach) == 0 else reach, (len(R),))[of.body]
    inner = of.inner
    axes = R[of.body]
    at = Placed(np.matmul(axes, inner.R), p[of.body] + turned(axes, inner.p), inner.half, inner.radius)
    with np.errstate(invalid="ignore"):
        extent = np.where(np.isinf(at.half), np.inf, turned(np.abs(at.R), at.half)) + (at.radius + own)[:, None]
    i, j = overlapping(at.p - extent, at.p + extent, of.allowed)
    swap = of.kind[i] > of.kind[j]
    first, second = np.where(swap, j, i), np.where(swap, i, j)
    kinds = 4 * of.kind[first] + of.kind[second]
    parts = []
    for code in np.unique(kinds):
        rows = np.flatnonzero(kinds == code)
        one, two = first[rows], second[rows]
        both = own[one] + own[two]
        found = _search(of, divmod(int(code), 4), one, at.take(one), two, at.take(two), float(np.max(both)))
        near = found.take(np.flatnonzero(found.gap <= both[found.pair]))
        parts.append(near._replace(pair=rows[near.pair]))
    found = joined(parts)
    flip = swap[found.pair][:, None]
    order = np.argsort(found.pair, kind="stable")
    p1, p2 = np.where(flip, found.p2, found.p1)[order], np.where(flip, found.p1, found.p2)[order]
    normal = np.where(flip, -found.normal, found.normal)[order]
    s1, s2 = i[found.pair[order]], j[found.pair[order]]
    return PointPairs(of.body[s1], of.body[s2], s1, s2, p1, p2, normal, found.gap[order])


def _search(
    of: Arrangement, kinds: tuple[int, int], first: np.ndarray, one: Placed, second: np.ndarray, two: Placed, reach: float
) -> Found:
    closed = CLOSED.get(kinds)
    if closed is not None:
        return closed(one, two, reach)
    if kinds == (HULL, HALF_SPACE):
        return joined([_hull_half_space(of, k, first, one, two, reach) for k in range(len(first))])
    held = of.counterparts
    return hull_pairs([held[int(s)] for s in first], one, [held[int(s)] for s in second], two, reach)


def _hull_half_space(of: Arrangement, k: int, first: np.ndarray, one: Placed, two: Placed, reach: float) -> Found:
    solid = of.solids[first[k]]
    assert isinstance(solid, Hull)
    points = one.p[k] + solid.points @ one.R[k].T
    found = points_half_space(points[None], two.take(np.array([k])), reach)
    return found._replace(pair=np.full(len(found.gap), k))
