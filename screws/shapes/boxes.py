"""Nearest points of a box and a half-space, a ball or a capsule, in closed form."""

from __future__ import annotations

import numpy as np

from screws.shapes.nearest_points import NearestPoints, PlacedShapes, concatenated, dots, rotate, rotate_back

CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FACE_NORMAL_TOLERANCE = 1e-9
"""Size of the other components below which a direction counts as the normal of a face."""


def box_half_space(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return the corners of boxes within reach of the plane."""
    corners = shapes1.p[:, None, :] + np.matmul(CORNERS * shapes1.half[:, None, :], np.swapaxes(shapes1.R, 1, 2))
    return points_half_space(corners, shapes2, reach)


def points_half_space(points: np.ndarray, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return those of the points (m, k, 3) that are within reach of their half-space."""
    up = shapes2.R[:, :, 2]
    height = np.matmul(points - shapes2.p[:, None, :], up[..., None])[..., 0]
    pair, corner = np.nonzero(height <= reach)
    n, gap, p1 = up[pair], height[pair, corner], points[pair, corner]
    return NearestPoints(pair, p1, p1 - gap[:, None] * n, -n, gap)


def round_box(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return the nearest point of a ball or a capsule and a box; above a face, both ends of the part above it.

    A core that enters the box is pushed out through the nearest face.
    """
    h = shapes2.half
    c = rotate_back(shapes2.R, shapes1.p - shapes2.p)
    a = rotate_back(shapes2.R, shapes1.R[:, :, 2] * shapes1.half[:, 2:])
    t = _nearest_parameter(c, a, h)
    core = c + t[:, None] * a
    offset = core - np.clip(core, -h, h)
    distance = np.sqrt(dots(offset, offset))
    size = np.max(h, axis=1) + shapes1.half[:, 2]
    outside = distance > 1e-12 * size
    direction = offset / np.where(outside, distance, 1.0)[:, None]
    axis = np.argmax(np.abs(direction), axis=1)
    rows = np.arange(len(c))
    # Penetration depth of a core by face: that of its lowest end.
    depth_up, depth_down = h - (c - np.abs(a)), h + (c + np.abs(a))
    depth = np.minimum(depth_up, depth_down)
    axis = np.where(outside, axis, np.argmin(depth, axis=1))
    upward = np.where(outside, direction[rows, axis] > 0.0, (depth_up <= depth_down)[rows, axis])
    face = ~outside | (np.abs(direction[rows, axis]) >= 1.0 - FACE_NORMAL_TOLERANCE)
    normal = np.zeros_like(c)
    normal[rows, axis] = np.where(upward, 1.0, -1.0)
    parts = []
    near = np.flatnonzero(~face & (distance - shapes1.radius <= reach))
    parts.append(_points(near, core[near], direction[near], distance[near], shapes1, shapes2))
    # Above a face: the part of the core within its rectangle.
    low, high = _interval_above_face(c, a, h, axis)
    low, high = np.where(outside, np.minimum(low, t), low), np.where(outside, np.maximum(high, t), high)
    for end, valid in ((low, face & (low <= high)), (high, face & (low < high))):
        point = c + end[:, None] * a
        height = dots(normal, point) - h[rows, axis]
        some = np.flatnonzero(valid & (height - shapes1.radius <= reach))
        parts.append(_points(some, point[some], normal[some], height[some], shapes1, shapes2))
    return concatenated(parts)


def _points(
    rows: np.ndarray, core: np.ndarray, out: np.ndarray, height: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes
) -> NearestPoints:
    """Return the points of cores at a height above the box; core and outward direction are in the axes of the box."""
    R, r = shapes2.R[rows], shapes1.radius[rows]
    centre, n = shapes2.p[rows] + rotate(R, core), rotate(R, out)
    return NearestPoints(rows, centre - r[:, None] * n, centre - height[:, None] * n, -n, height - r)


def _nearest_parameter(c: np.ndarray, a: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return t in [-1, 1] at which c + t a is nearest to the box |x| <= h, (m,).

    The square of the distance is convex in t, and its slope is piecewise linear with bends where the line crosses the six
    planes of the faces: the root lies between two neighbouring bends. Of an interval of equally near points, the middle is
    returned.
    """
    moving = np.abs(a) > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = np.concatenate([(h - c) / a, (-h - c) / a], axis=1)
    bends = np.where(np.concatenate([moving, moving], axis=1), bends, 1.0)
    ones = np.ones((len(c), 1))
    knots = np.sort(np.concatenate([-ones, np.clip(bends, -1.0, 1.0), ones], axis=1), axis=1)
    points = c[:, None, :] + knots[..., None] * a[:, None, :]
    slope = dots(points - np.clip(points, -h[:, None, :], h[:, None, :]), np.broadcast_to(a[:, None, :], points.shape))
    # The root, or an interval of zeros, lies between the last knot with a negative slope and the first with a positive one.
    scale = 1e-14 * (dots(a, a) + np.sqrt(dots(a, a)) * (np.max(h, axis=1) + np.max(np.abs(c), axis=1)))[:, None]
    return 0.5 * (_root(knots, slope + scale) + _root(knots, slope - scale))


def _root(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the zero of a rising piecewise linear function, clipped to its ends, (m,)."""
    rows = np.arange(len(x))
    above = y > 0.0
    first = np.where(above.any(axis=1), np.argmax(above, axis=1), x.shape[1] - 1)
    before = np.maximum(first - 1, 0)
    x0, x1, y0, y1 = x[rows, before], x[rows, first], y[rows, before], y[rows, first]
    rise = y1 - y0
    share = np.where(rise > 0.0, -y0 / np.where(rise > 0.0, rise, 1.0), 1.0)
    return x0 + np.clip(share, 0.0, 1.0) * (x1 - x0)


def _interval_above_face(c: np.ndarray, a: np.ndarray, h: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last t in [-1, 1] with c + t a above the face across an axis, else first > last; (0, 0) for points."""
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
