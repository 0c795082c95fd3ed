"""Nearest points of balls and capsules, with each other or with a half-space, in closed form.

The core of a round shape is a segment, of length zero for a ball. Two segments are nearest where an end of one faces the other,
or where they cross; each case is a candidate with its own normal, so that parallel capsules get two points.
"""

from __future__ import annotations

import numpy as np

from screws.shapes.nearest_points import NearestPoints, PlacedShapes, concatenated, crosses, directions, dots

END_SHARE = 1e-12
"""Share of a segment at its ends that counts as the ends."""


MAX_PARALLEL_SINE = 0.05
"""Sine up to which capsules count as parallel: they touch at both ends of their common length."""


def round_round(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return the nearest points of balls and capsules, at most five for a pair (Ericson 2005, 5.1.9 for the crossing)."""
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
    """Return the cosine between the directions to the other core and into the own core; positive: the end is not nearest."""
    size = np.sqrt(dots(d, d) * dots(inward, inward))
    return dots(d, inward) / np.where(size == 0.0, 1.0, size)


def _nearest_parameter(p: np.ndarray, b: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest t in [-1, 1] of p + t b to a point, and whether it lies inside the segment."""
    square = dots(b, b)
    t = dots(point - p, b) / np.where(square == 0.0, 1.0, square)
    inner = (np.abs(t) < 1.0 - END_SHARE) & (square > 0.0)
    return np.clip(t, -1.0, 1.0), inner


def _crossing(p1: np.ndarray, a: np.ndarray, p2: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return pair, points and common normal where both segments are nearest in their interiors."""
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
    """Return the nearest points of a ball, or of both caps of a capsule, and a plane."""
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
