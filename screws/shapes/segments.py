"""Pairs of round shapes (balls, capsules), or of one with a half-space, in -> nearest points out, in closed form.

The core of a round shape is a segment, of a ball one of length zero. Two segments are nearest where an end of one faces the
other, or where they cross: each of these is a candidate with a normal of its own, so that capsules that lie along each other
get two points.
"""

from __future__ import annotations

import numpy as np

from screws.shapes.found import Found, Placed, crosses, directions, dots, joined

INNER = 1e-12
"""Share of a segment at its ends that counts as the ends."""
BESIDE = 0.05
"""Capsules whose axes are parallel up to this sine are held at both ends of what they have beside each other."""


def round_round(one: Placed, two: Placed, reach: float) -> Found:
    """Nearest points of balls and capsules, at most five for a pair (Ericson 2005, 5.1.9 for the crossing)."""
    a, b = one.R[:, :, 2] * one.half[:, 2:], two.R[:, :, 2] * two.half[:, 2:]
    rows = np.arange(len(a))
    parts: list[tuple[np.ndarray, ...]] = []
    for sign in (1.0, -1.0):
        end = one.p + sign * a
        t, inner = _along(two.p, b, end)
        q = two.p + t[:, None] * b
        lean = _lean(q - end, -sign * a)
        keep = ((lean <= INNER) | (inner & (lean <= BESIDE))) & (_has_length(a) | (sign > 0.0))
        parts.append((rows[keep], end[keep], q[keep], np.zeros((int(keep.sum()), 3))))
        end = two.p + sign * b
        s, inner = _along(one.p, a, end)
        p = one.p + s[:, None] * a
        keep = inner & (_lean(p - end, -sign * b) <= BESIDE) & (_has_length(b) | (sign > 0.0))
        parts.append((rows[keep], p[keep], end[keep], np.zeros((int(keep.sum()), 3))))
    parts.append(_crossing(one.p, a, two.p, b))
    pair, c1, c2, spare = (np.concatenate(column) for column in zip(*parts, strict=True))
    spare = np.where(np.any(spare != 0.0, axis=1)[:, None], spare, (two.p - one.p)[pair])
    normal, distance = directions(c2 - c1, spare)
    r1, r2 = one.radius[pair], two.radius[pair]
    gap = distance - r1 - r2
    near = gap <= reach
    found = Found(pair, c1 + r1[:, None] * normal, c2 - r2[:, None] * normal, normal, gap)
    return found.take(np.flatnonzero(near))


def _has_length(a: np.ndarray) -> np.ndarray:
    return np.any(a != 0.0, axis=1)


def _lean(d: np.ndarray, inward: np.ndarray) -> np.ndarray:
    """Cosine of the angle between the way to the other core and the way into the own one: above 0, an end is not nearest."""
    size = np.sqrt(dots(d, d) * dots(inward, inward))
    return dots(d, inward) / np.where(size == 0.0, 1.0, size)


def _along(p: np.ndarray, b: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest t in [-1, 1] of p + t b to a point, and whether it is within."""
    square = dots(b, b)
    t = dots(point - p, b) / np.where(square == 0.0, 1.0, square)
    inner = (np.abs(t) < 1.0 - INNER) & (square > 0.0)
    return np.clip(t, -1.0, 1.0), inner


def _crossing(p1: np.ndarray, a: np.ndarray, p2: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Pair, points and common normal where both segments are nearest within."""
    aa, bb, ab, d = dots(a, a), dots(b, b), dots(a, b), p2 - p1
    rows = np.flatnonzero(aa * bb - ab * ab > 1e-12 * aa * bb)
    aa, bb, ab, d, a, b = aa[rows], bb[rows], ab[rows], d[rows], a[rows], b[rows]
    determinant = aa * bb - ab * ab
    da, db = dots(d, a), dots(d, b)
    s, t = (bb * da - ab * db) / determinant, (ab * da - aa * db) / determinant
    keep = (np.abs(s) < 1.0 - INNER) & (np.abs(t) < 1.0 - INNER)
    rows, a, b, s, t, d = rows[keep], a[keep], b[keep], s[keep, None], t[keep, None], d[keep]
    return rows, p1[rows] + s * a, p2[rows] + t * b, crosses(a, b)


def round_half_space(one: Placed, two: Placed, reach: float) -> Found:
    """Both caps of a capsule, or the ball, above the plane."""
    a = one.R[:, :, 2] * one.half[:, 2:]
    up = two.R[:, :, 2]
    parts = []
    for sign in (1.0, -1.0):
        rows = np.arange(len(a)) if sign > 0.0 else np.flatnonzero(one.half[:, 2] > 0.0)
        centre = (one.p + sign * a)[rows]
        n, r = up[rows], one.radius[rows]
        height = dots(centre - two.p[rows], n)
        gap = height - r
        near = np.flatnonzero(gap <= reach)
        found = Found(rows, centre - r[:, None] * n, centre - height[:, None] * n, -n, gap)
        parts.append(found.take(near))
    return joined(parts)
