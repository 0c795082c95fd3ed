"""Contact of two boxes by the separating axis theorem: common patch of two faces, crossing of two edges, or nearest points.

Two boxes are apart if and only if one of 15 directions separates them: the normals of their faces, and the products of their
edges (Gottschalk, Lin and Manocha 1996). The direction of the largest gap decides the features in contact. If it is a face, the
facing face of the other box is clipped to its rectangle. Separated boxes may be nearest at a corner, along none of these
directions; then all features are compared.
"""

from __future__ import annotations

import numpy as np

from screws.shapes.solids import NearestPoints, PlacedShapes, concatenated, crosses, directions, dots, rotate, rotate_back

CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FACE_NORMAL_TOLERANCE = 1e-9
"""Difference from 1 of the largest component of a unit vector up to which it counts as the normal of a face."""


def box_half_space(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    corners = shapes1.p[:, None, :] + np.matmul(CORNERS * shapes1.half[:, None, :], np.swapaxes(shapes1.R, 1, 2))
    return points_half_space(corners, shapes2, reach)


def points_half_space(points: np.ndarray, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    up = shapes2.R[:, :, 2]
    height = np.matmul(points - shapes2.p[:, None, :], up[..., None])[..., 0]
    pair, corner = np.nonzero(height <= reach)
    n, gap, p1 = up[pair], height[pair, corner], points[pair, corner]
    return NearestPoints(pair, p1, p1 - gap[:, None] * n, -n, gap)


def round_box(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return the nearest points, within reach, of a ball or a capsule and a box; if the core lies above a face, those of both
    ends of its part above the face.

    A core that enters the box is pushed out through the nearest face.
    """
    h = shapes2.half
    c = rotate_back(shapes2.R, shapes1.p - shapes2.p)
    a = rotate_back(shapes2.R, shapes1.R[:, :, 2] * shapes1.half[:, 2:])
    t = np.where(dots(a, a) > 0.0, _nearest_parameter(c, a, h), 0.0)
    core = c + t[:, None] * a
    offset = core - np.clip(core, -h, h)
    distance = np.sqrt(dots(offset, offset))
    size = np.max(h, axis=1) + shapes1.half[:, 2]
    outside = distance > 1e-12 * size
    direction = offset / np.where(outside, distance, 1.0)[:, None]
    axis = np.argmax(np.abs(direction), axis=1)
    rows = np.arange(len(c))
    # Penetration depth of a core for each face: the depth of its lowest end.
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
        near = np.flatnonzero(valid & (height - shapes1.radius <= reach))
        parts.append(_points(near, point[near], normal[near], height[near], shapes1, shapes2))
    return concatenated(parts)


def _points(
    rows: np.ndarray, core: np.ndarray, out: np.ndarray, height: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes
) -> NearestPoints:
    """Return the nearest points for points `core` of the other shape at `height` above the box; `core` and the outward
    directions `out` are in the box's axes."""
    R, r = shapes2.R[rows], shapes1.radius[rows]
    centre, n = shapes2.p[rows] + rotate(R, core), rotate(R, out)
    return NearestPoints(rows, centre - r[:, None] * n, centre - height[:, None] * n, -n, height - r)


def _nearest_parameter(c: np.ndarray, a: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return t in [-1, 1] at which c + t a is nearest to the box |x| <= h, (m,).

    The square of the distance is convex in t, and its slope is piecewise linear, with breakpoints where the line crosses the six
    planes of the faces: the root lies between two neighbouring breakpoints. If an interval of points is equally near, its middle
    is returned.
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
    rows = np.arange(len(x))
    above = y > 0.0
    first = np.where(above.any(axis=1), np.argmax(above, axis=1), x.shape[1] - 1)
    before = np.maximum(first - 1, 0)
    x0, x1, y0, y1 = x[rows, before], x[rows, first], y[rows, before], y[rows, first]
    rise = y1 - y0
    share = np.where(rise > 0.0, -y0 / np.where(rise > 0.0, rise, 1.0), 1.0)
    return x0 + np.clip(share, 0.0, 1.0) * (x1 - x0)


def _interval_above_face(c: np.ndarray, a: np.ndarray, h: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last t in [-1, 1] for which c + t a lies above the face normal to `axis`; first > last if there
    is none, (0, 0) for points."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = (-h - c) / a, (h - c) / a
    slack = 1e-9 * np.max(h, axis=1)[:, None]
    parallel = np.abs(a) <= 1e-12 * np.max(h, axis=1)[:, None]
    within = np.abs(c) <= h + slack
    low = np.where(parallel, np.where(within, -1.0, 2.0), np.minimum(x, y))
    high = np.where(parallel, np.where(within, 1.0, -2.0), np.maximum(x, y))
    rows = np.arange(len(c))
    low[rows, axis], high[rows, axis] = -1.0, 1.0
    first, last = np.maximum(np.max(low, axis=1), -1.0), np.minimum(np.min(high, axis=1), 1.0)
    short = dots(a, a) == 0.0
    return np.where(short, 0.0, first), np.where(short, 0.0, last)


FACE_PREFERENCE = 1e-3
"""Edges decide only if their gap exceeds the gap of the faces by this fraction of the smaller box: edges separate nearly parallel
faces as well, but give one contact point instead of four."""
LENGTH_TOLERANCE = 1e-7
"""Fraction of the smaller box below which a difference in length counts as zero."""
EDGE_TOLERANCE = 1e-5
"""Fraction of the smaller box within which edges and corners count as lying on the other face's edge; patch corners closer
together than ten times this distance are merged."""
PARALLEL_SINE = 1e-5
"""Sine of the angle between two edges below which they have no common normal."""

NEXT, AFTER = [1, 2, 0], [2, 0, 1]
"""Indices of the two axes that follow each axis in cyclic order."""


def box_box(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return at most eight corners of a common patch, or one point. The gap is the distance if the boxes are apart; if they
    overlap, the depth exceeds the least penetration depth by at most `FACE_PREFERENCE` times the size of the smaller box."""
    C = np.matmul(np.swapaxes(shapes1.R, 1, 2), shapes2.R)
    d1 = rotate_back(shapes1.R, shapes2.p - shapes1.p)
    d2 = rotate_back(shapes2.R, shapes2.p - shapes1.p)
    size = np.minimum(np.max(shapes1.half, axis=1), np.max(shapes2.half, axis=1))
    face_gaps = _face_gaps(C, d1, d2, shapes1.half, shapes2.half)
    close = np.flatnonzero(np.max(face_gaps, axis=1) <= reach)
    shapes1, shapes2 = shapes1.take(close), shapes2.take(close)
    C, d1, size, face_gaps = C[close], d1[close], size[close], face_gaps[close]
    edge_gaps = _edge_gaps(C, d1, shapes1.half, shapes2.half)
    close2 = np.flatnonzero(np.max(edge_gaps, axis=1) <= reach)
    shapes1, shapes2, size, face_gaps = shapes1.take(close2), shapes2.take(close2), size[close2], face_gaps[close2]
    edge_gaps = edge_gaps[close2]
    rows = np.arange(len(close2))
    best_face, best_edge = np.argmax(face_gaps, axis=1), np.argmax(edge_gaps, axis=1)
    face_gap, edge_gap = face_gaps[rows, best_face], edge_gaps[rows, best_edge]
    edges = edge_gap > face_gap + FACE_PREFERENCE * size
    patch = _patches(rows[~edges], shapes1, shapes2, best_face, size, reach)
    least = np.full(len(rows), np.inf)
    np.minimum.at(least, patch.pair, patch.gap)
    edges |= (face_gap < 0.0) & np.isinf(least) & np.isfinite(edge_gap)
    crossing, hit = _crossings(rows[edges], shapes1, shapes2, best_edge)
    # Separated boxes that are nearest at corners, not along the direction found.
    patch_holds = np.where(face_gap < 0.0, np.isfinite(least), least <= face_gap + LENGTH_TOLERANCE * size)
    resolved = np.where(edges, (edge_gap < 0.0) | _row_mask(len(rows), crossing.pair[hit]), patch_holds)
    corner = concatenated([]) if resolved.all() else _nearest_features(rows[~resolved], shapes1, shapes2)
    crossing = crossing.take(np.flatnonzero(resolved[crossing.pair]))
    points = concatenated([crossing, patch.take(np.flatnonzero(resolved[patch.pair])), corner])
    near = points.take(np.flatnonzero(points.gap <= reach))
    return near._replace(pair=close[close2[near.pair]])


def _row_mask(count: int, rows: np.ndarray) -> np.ndarray:
    out = np.zeros(count, dtype=bool)
    out[rows] = True
    return out


def _face_gaps(C: np.ndarray, d1: np.ndarray, d2: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> np.ndarray:
    """Return the gaps along the face normals of the first and the second box, (m, 6)."""
    A = np.abs(C)
    return np.concatenate([np.abs(d1) - h1 - rotate(A, h2), np.abs(d2) - h2 - rotate_back(A, h1)], axis=1)


def _edge_gaps(C: np.ndarray, d: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> np.ndarray:
    """Return the gaps along the products of edges i of the first and j of the second box, (m, 9); -inf where parallel."""
    A = np.abs(C)
    along = d[:, AFTER, None] * C[:, NEXT, :] - d[:, NEXT, None] * C[:, AFTER, :]
    first = h1[:, NEXT, None] * A[:, AFTER, :] + h1[:, AFTER, None] * A[:, NEXT, :]
    second = h2[:, None, NEXT] * A[:, :, AFTER] + h2[:, None, AFTER] * A[:, :, NEXT]
    length = np.sqrt(np.maximum(1.0 - A * A, 0.0))
    usable = length > PARALLEL_SINE
    gap = (np.abs(along) - first - second) / np.where(usable, length, 1.0)
    return np.where(usable, gap, -np.inf).reshape(len(C), 9)


def _crossings(
    rows: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes, best: np.ndarray
) -> tuple[NearestPoints, np.ndarray]:
    i, j = np.divmod(best[rows], 3)
    k = np.arange(len(rows))
    R1, R2 = shapes1.R[rows], shapes2.R[rows]
    a, b = R1[k, :, i], R2[k, :, j]
    n = crosses(a, b)
    n *= (np.where(dots(n, shapes2.p[rows] - shapes1.p[rows]) < 0.0, -1.0, 1.0) / np.sqrt(dots(n, n)))[:, None]
    u1 = np.where(rotate_back(R1, n) < 0.0, -1.0, 1.0) * shapes1.half[rows]
    u2 = np.where(rotate_back(R2, n) < 0.0, 1.0, -1.0) * shapes2.half[rows]
    u1[k, i], u2[k, j] = 0.0, 0.0
    p, q = shapes1.p[rows] + rotate(R1, u1), shapes2.p[rows] + rotate(R2, u2)
    ab, d = dots(a, b), q - p
    determinant = 1.0 - ab * ab
    s, t = (dots(d, a) - ab * dots(d, b)) / determinant, (ab * dots(d, a) - dots(d, b)) / determinant
    half1, half2 = shapes1.half[rows, i], shapes2.half[rows, j]
    hit = (np.abs(s) <= half1 * (1.0 + LENGTH_TOLERANCE)) & (np.abs(t) <= half2 * (1.0 + LENGTH_TOLERANCE))
    s, t = np.clip(s, -half1, half1), np.clip(t, -half2, half2)
    p1, p2 = p + s[:, None] * a, q + t[:, None] * b
    return NearestPoints(rows, p1, p2, n, dots(n, p2 - p1)), hit


def _patches(
    rows: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes, best: np.ndarray, size: np.ndarray, reach: float
) -> NearestPoints:
    swapped = best[rows] >= 3
    fields = list(zip(shapes1.take(rows), shapes2.take(rows), strict=True))
    a = PlacedShapes(*(np.where(_column_flags(swapped, y), y, x) for x, y in fields))
    b = PlacedShapes(*(np.where(_column_flags(swapped, y), x, y) for x, y in fields))
    k, axis, tolerance = np.arange(len(rows)), best[rows] % 3, EDGE_TOLERANCE * size[rows]
    C = np.matmul(np.swapaxes(a.R, 1, 2), b.R)
    d = rotate_back(a.R, b.p - a.p)
    sign = np.where(d[k, axis] < 0.0, -1.0, 1.0)
    u, v = (axis + 1) % 3, (axis + 2) % 3
    hu, hv, hw = a.half[k, u], a.half[k, v], a.half[k, axis]
    # The face of b that faces a: its centre and half edges, as (u, v, height above a's face).
    facing = sign[:, None] * C[k, axis, :]
    other = np.argmax(np.abs(facing), axis=1)
    e, f = (other + 1) % 3, (other + 2) % 3
    towards = -np.where(facing[k, other] < 0.0, -1.0, 1.0)

    def in_face_axes(w: np.ndarray) -> np.ndarray:
        return np.stack([w[k, u], w[k, v], sign * w[k, axis]], axis=1)

    outward = in_face_axes(towards[:, None] * C[k, :, other])
    centre = in_face_axes(d) + b.half[k, other][:, None] * outward
    centre[:, 2] -= hw
    E, F = in_face_axes(C[k, :, e]) * b.half[k, e][:, None], in_face_axes(C[k, :, f]) * b.half[k, f][:, None]
    quad = np.stack([centre + x * E + y * F for x, y in ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))], axis=1)
    rectangle = np.stack([hu, hv], axis=1)
    inside = np.all(np.abs(quad[:, :, :2]) <= rectangle[:, None, :] + tolerance[:, None, None], axis=2)
    points, valid = [quad], [inside]
    # Corners of a's rectangle below b's face.
    corners = rectangle[:, None, :] * np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
    flat = corners - centre[:, None, :2]
    z = -np.matmul(flat, outward[:, :2, None])[..., 0] / outward[:, 2:]
    lifted = np.concatenate([flat, z[..., None]], axis=2)
    shares = np.stack([np.matmul(lifted, w[..., None])[..., 0] / dots(w, w)[:, None] for w in (E, F)], axis=2)
    points.append(centre[:, None, :] + lifted)
    valid.append(np.all(np.abs(shares) <= 1.0 + EDGE_TOLERANCE, axis=2))
    # Edges of b's face where they cross the lines of a's edges.
    ends = np.roll(quad, -1, axis=1)
    step = ends - quad
    for c, h, across, limit in ((0, hu, 1, hv), (1, hv, 0, hu)):
        moves = np.abs(step[:, :, c]) > tolerance[:, None]
        for line in (h, -h):
            s = (line[:, None] - quad[:, :, c]) / np.where(moves, step[:, :, c], 1.0)
            crossing = quad + s[..., None] * step
            points.append(crossing)
            valid.append(moves & (s >= 0.0) & (s <= 1.0) & (np.abs(crossing[:, :, across]) <= (limit + tolerance)[:, None]))
    candidates = np.concatenate(points, axis=1)
    pair, which = np.nonzero(np.concatenate(valid, axis=1) & (candidates[:, :, 2] <= reach))
    corners_kept = candidates[pair, which]
    distinct = _distinct_rows(pair, corners_kept[:, :2], 10.0 * tolerance)
    pair, corners_kept = pair[distinct], corners_kept[distinct]
    local = np.zeros((len(pair), 3))
    m = np.arange(len(pair))
    local[m, u[pair]], local[m, v[pair]], local[m, axis[pair]] = corners_kept[:, 0], corners_kept[:, 1], sign[pair] * hw[pair]
    n = sign[pair, None] * a.R[pair, :, axis[pair]]
    on_a = a.p[pair] + rotate(a.R[pair], local)
    on_b = on_a + corners_kept[:, 2:] * n
    flip = swapped[pair][:, None]
    p1, p2 = np.where(flip, on_b, on_a), np.where(flip, on_a, on_b)
    return NearestPoints(rows[pair], p1, p2, np.where(flip, -n, n), corners_kept[:, 2])


def _column_flags(flags: np.ndarray, values: np.ndarray) -> np.ndarray:
    return flags.reshape(-1, *([1] * (values.ndim - 1)))


def _distinct_rows(pair: np.ndarray, points: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    distinct = np.ones(len(pair), dtype=bool)
    for back in range(1, len(pair)):
        same_pair = pair[back:] == pair[:-back]
        if not same_pair.any():
            break
        near = np.abs(points[back:] - points[:-back]).max(axis=1) <= tolerance[pair[back:]]
        distinct[back:] &= ~(same_pair & near)
    return np.flatnonzero(distinct)


def _nearest_features(rows: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes) -> NearestPoints:
    parts = [
        _corner_box(rows, shapes1, shapes2),
        _corner_box(rows, shapes2, shapes1).swapped(),
        _edge_edge(rows, shapes1, shapes2),
    ]
    points = concatenated(parts)
    order = np.lexsort((points.gap, points.pair))
    first = np.flatnonzero(np.diff(points.pair[order], prepend=-1) != 0)
    return points.take(order[first])


def _corner_box(rows: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes) -> NearestPoints:
    a, b = shapes1.take(rows), shapes2.take(rows)
    corners = a.p[:, None, :] + np.matmul(CORNERS * a.half[:, None, :], np.swapaxes(a.R, 1, 2))
    local = np.matmul(corners - b.p[:, None, :], b.R)
    on_b = np.clip(local, -b.half[:, None, :], b.half[:, None, :])
    distance = np.sqrt(dots(local - on_b, local - on_b))
    k, best = np.arange(len(rows)), np.argmin(distance, axis=1)
    p1 = corners[k, best]
    p2 = b.p + rotate(b.R, on_b[k, best])
    normal, gap = directions(p2 - p1, b.p - a.p)
    return NearestPoints(rows, p1, p2, normal, gap)


def _edges(a: PlacedShapes) -> tuple[np.ndarray, np.ndarray]:
    """Return the midpoints and half edges of all twelve edges, (m, 12, 3)."""
    middles, halves = [], []
    for i in range(3):
        for y in (-1.0, 1.0):
            for z in (-1.0, 1.0):
                c = np.zeros(3)
                c[(i + 1) % 3], c[(i + 2) % 3] = y, z
                middles.append(a.p + rotate(a.R, c * a.half))
                halves.append(a.R[:, :, i] * a.half[:, i : i + 1])
    return np.stack(middles, axis=1), np.stack(halves, axis=1)


def _edge_edge(rows: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes) -> NearestPoints:
    a, b = shapes1.take(rows), shapes2.take(rows)
    p, e = (x[:, :, None, :] for x in _edges(a))
    q, f = (x[:, None, :, :] for x in _edges(b))
    d = q - p
    ee, ff, ef, de, df = dots(e, e), dots(f, f), dots(e, f), dots(d, e), dots(d, f)
    determinant = ee * ff - ef * ef
    regular = determinant > PARALLEL_SINE**2 * ee * ff
    safe = np.where(regular, determinant, 1.0)
    s, t = (ff * de - ef * df) / safe, (ef * de - ee * df) / safe
    usable = regular & (np.abs(s) <= 1.0) & (np.abs(t) <= 1.0)
    p1, p2 = p + s[..., None] * e, q + t[..., None] * f
    gap = np.where(usable, np.sqrt(dots(p2 - p1, p2 - p1)), np.inf).reshape(len(rows), 144)
    k, best = np.arange(len(rows)), np.argmin(gap, axis=1)
    p1, p2 = p1.reshape(len(rows), 144, 3)[k, best], p2.reshape(len(rows), 144, 3)[k, best]
    normal, _ = directions(p2 - p1, b.p - a.p)
    return NearestPoints(rows, p1, p2, normal, gap[k, best])
