"""Pairs of a box with a half-space, a ball or a capsule in -> nearest points out, in closed form."""

from __future__ import annotations

import numpy as np

from screws.shapes.found import Found, Placed, dots, joined, turned, turned_back

CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FACE = 1e-9
"""A direction whose other components are below this is that of a face."""


def box_half_space(one: Placed, two: Placed, reach: float) -> Found:
    """The corners of a box within reach of the plane."""
    corners = one.p[:, None, :] + np.matmul(CORNERS * one.half[:, None, :], np.swapaxes(one.R, 1, 2))
    return points_half_space(corners, two, reach)


def points_half_space(points: np.ndarray, two: Placed, reach: float) -> Found:
    """Those of (m, k, 3) points that are within reach of their half-space."""
    up = two.R[:, :, 2]
    height = np.matmul(points - two.p[:, None, :], up[..., None])[..., 0]
    pair, corner = np.nonzero(height <= reach)
    n, gap, p1 = up[pair], height[pair, corner], points[pair, corner]
    return Found(pair, p1, p1 - gap[:, None] * n, -n, gap)


def round_box(one: Placed, two: Placed, reach: float) -> Found:
    """A ball's or a capsule's nearest point; above a face of the box, both ends of what is above it.

    A core that enters the box leaves it through the face that it has the shortest way to.
    """
    h = two.half
    c = turned_back(two.R, one.p - two.p)
    a = turned_back(two.R, one.R[:, :, 2] * one.half[:, 2:])
    t = _nearest(c, a, h)
    core = c + t[:, None] * a
    offset = core - np.clip(core, -h, h)
    distance = np.sqrt(dots(offset, offset))
    size = np.max(h, axis=1) + one.half[:, 2]
    outside = distance > 1e-12 * size
    direction = offset / np.where(outside, distance, 1.0)[:, None]
    axis = np.argmax(np.abs(direction), axis=1)
    rows = np.arange(len(c))
    # Depth of a core that is inside, by face: of its lowest end.
    depth_up, depth_down = h - (c - np.abs(a)), h + (c + np.abs(a))
    depth = np.minimum(depth_up, depth_down)
    axis = np.where(outside, axis, np.argmin(depth, axis=1))
    upward = np.where(outside, direction[rows, axis] > 0.0, (depth_up <= depth_down)[rows, axis])
    face = ~outside | (np.abs(direction[rows, axis]) >= 1.0 - FACE)
    normal = np.zeros_like(c)
    normal[rows, axis] = np.where(upward, 1.0, -1.0)
    parts = []
    near = np.flatnonzero(~face & (distance - one.radius <= reach))
    parts.append(_points(near, core[near], direction[near], distance[near], one, two))
    # Above a face: the part of the core within its rectangle.
    low, high = _above(c, a, h, axis)
    low, high = np.where(outside, np.minimum(low, t), low), np.where(outside, np.maximum(high, t), high)
    for end, valid in ((low, face & (low <= high)), (high, face & (low < high))):
        point = c + end[:, None] * a
        height = dots(normal, point) - h[rows, axis]
        some = np.flatnonzero(valid & (height - one.radius <= reach))
        parts.append(_points(some, point[some], normal[some], height[some], one, two))
    return joined(parts)


def _points(rows: np.ndarray, core: np.ndarray, out: np.ndarray, height: np.ndarray, one: Placed, two: Placed) -> Found:
    """Points of cores at a height above the box, in whose axes core and direction outwards are."""
    R, r = two.R[rows], one.radius[rows]
    centre, n = two.p[rows] + turned(R, core), turned(R, out)
    return Found(rows, centre - r[:, None] * n, centre - height[:, None] * n, -n, height - r)


def _nearest(c: np.ndarray, a: np.ndarray, h: np.ndarray) -> np.ndarray:
    """t in [-1, 1] at which c + t a is nearest to the box |x| <= h, (m,).

    The square of the distance is convex in t, and its slope is piecewise linear with bends where the line crosses the six
    planes of the faces: the root lies between two neighbours of them. Where a whole stretch is equally near, its middle.
    """
    moves = np.abs(a) > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = np.concatenate([(h - c) / a, (-h - c) / a], axis=1)
    bends = np.where(np.concatenate([moves, moves], axis=1), bends, 1.0)
    ones = np.ones((len(c), 1))
    knots = np.sort(np.concatenate([-ones, np.clip(bends, -1.0, 1.0), ones], axis=1), axis=1)
    at = c[:, None, :] + knots[..., None] * a[:, None, :]
    slope = dots(at - np.clip(at, -h[:, None, :], h[:, None, :]), np.broadcast_to(a[:, None, :], at.shape))
    # Last knot with a slope below zero, first with one above: between them the root, or the stretch of zeros.
    scale = 1e-14 * (dots(a, a) + np.sqrt(dots(a, a)) * (np.max(h, axis=1) + np.max(np.abs(c), axis=1)))[:, None]
    return 0.5 * (_root(knots, slope + scale) + _root(knots, slope - scale))


def _root(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where a rising broken line is zero, clipped to its ends, (m,)."""
    rows = np.arange(len(x))
    above = y > 0.0
    first = np.where(above.any(axis=1), np.argmax(above, axis=1), x.shape[1] - 1)
    before = np.maximum(first - 1, 0)
    x0, x1, y0, y1 = x[rows, before], x[rows, first], y[rows, before], y[rows, first]
    rise = y1 - y0
    share = np.where(rise > 0.0, -y0 / np.where(rise > 0.0, rise, 1.0), 1.0)
    return x0 + np.clip(share, 0.0, 1.0) * (x1 - x0)


def _above(c: np.ndarray, a: np.ndarray, h: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last t in [-1, 1] at which c + t a is above the face across an axis; first > last: nowhere. (0, 0) of a point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = (-h - c) / a, (h - c) / a
    slack = 1e-9 * np.max(h, axis=1)[:, None]
    still = np.abs(a) <= 1e-12 * np.max(h, axis=1)[:, None]
    within = np.abs(c) <= h + slack
    low = np.where(still, np.where(within, -1.0, 2.0), np.minimum(x, y))
    high = np.where(still, np.where(within, 1.0, -2.0), np.maximum(x, y))
    rows = np.arange(len(c))
    low[rows, axis], high[rows, axis] = -1.0, 1.0
    first, last = np.maximum(np.max(low, axis=1), -1.0), np.minimum(np.min(high, axis=1), 1.0)
    short = dots(a, a) == 0.0
    return np.where(short, 0.0, first), np.where(short, 0.0, last)
