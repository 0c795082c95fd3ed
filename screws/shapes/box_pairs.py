"""Contact of two boxes by the separating axis theorem: patch of two faces, crossing of two edges, or nearest points.

Two boxes are apart exactly if one of 15 directions separates them: the normals of their faces, and the products of their edges
(Gottschalk, Lin and Manocha 1996). The direction of the largest gap decides the features in contact. If it is a face, the facing
face of the other box is clipped to its rectangle. Separated boxes may be nearest at a corner in none of these directions; then
all features are compared.
"""

from __future__ import annotations

import numpy as np

from screws.shapes.boxes import CORNERS
from screws.shapes.nearest_points import NearestPoints, PlacedShapes, concatenated, crosses, directions, dots, rotate, rotate_back

FACE_PREFERENCE = 1e-3
"""Edges decide only if their gap is larger than that of faces by this share of the smaller box: between nearly parallel faces
edges separate as well, but give one contact point in place of four."""
LENGTH_TOLERANCE = 1e-7
"""Share of the smaller box below which lengths count as equal."""
EDGE_TOLERANCE = 1e-5
"""Share of the smaller box within which edges and corners count as lying on the other face's edge; patch corners nearer than ten
times as much are merged."""
PARALLEL_SINE = 1e-5
"""Sine of the angle of two edges below which they have no common normal."""

NEXT, AFTER = [1, 2, 0], [2, 0, 1]
"""Indices of the axes that follow each axis."""


def box_box(shapes1: PlacedShapes, shapes2: PlacedShapes, reach: float) -> NearestPoints:
    """Return at most eight corners of a common patch, or one point. The gap is the distance where boxes are apart, and at most
    `FACE_PREFERENCE` of a box below the least penetration depth where they overlap."""
    C = np.matmul(np.swapaxes(shapes1.R, 1, 2), shapes2.R)
    d1 = rotate_back(shapes1.R, shapes2.p - shapes1.p)
    d2 = rotate_back(shapes2.R, shapes2.p - shapes1.p)
    size = np.minimum(np.max(shapes1.half, axis=1), np.max(shapes2.half, axis=1))
    face_gaps = _face_gaps(C, d1, d2, shapes1.half, shapes2.half)
    close = np.flatnonzero(np.max(face_gaps, axis=1) <= reach)
    shapes1, shapes2, C, d1, size, face_gaps = (
        shapes1.take(close),
        shapes2.take(close),
        C[close],
        d1[close],
        size[close],
        face_gaps[close],
    )
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
    """Return the nearest points of the edges that face each other, and whether both lie on their edges."""
    i, j = np.divmod(best[rows], 3)
    k = np.arange(len(rows))
    R1, R2 = shapes1.R[rows], shapes2.R[rows]
    a, b = R1[k, :, i], R2[k, :, j]
    n = crosses(a, b)
    n *= (np.where(dots(n, shapes2.p[rows] - shapes1.p[rows]) < 0.0, -1.0, 1.0) / np.sqrt(dots(n, n)))[:, None]
    u1, u2 = (
        np.where(rotate_back(R1, n) < 0.0, -1.0, 1.0) * shapes1.half[rows],
        np.where(rotate_back(R2, n) < 0.0, 1.0, -1.0) * shapes2.half[rows],
    )
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
    """Return the corners of the intersection of the face across direction `best` of one box with the facing face of the other."""
    swapped = best[rows] >= 3
    a = PlacedShapes(
        *(np.where(_column_flags(swapped, y), y, x) for x, y in zip(shapes1.take(rows), shapes2.take(rows), strict=True))
    )
    b = PlacedShapes(
        *(np.where(_column_flags(swapped, y), x, y) for x, y in zip(shapes1.take(rows), shapes2.take(rows), strict=True))
    )
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
    """Return the rows of the points (k, 2), in the order of their pairs, that do not repeat an earlier point of the same pair."""
    distinct = np.ones(len(pair), dtype=bool)
    for back in range(1, len(pair)):
        same = pair[back:] == pair[:-back]
        if not same.any():
            break
        near = np.abs(points[back:] - points[:-back]).max(axis=1) <= tolerance[pair[back:]]
        distinct[back:] &= ~(same & near)
    return np.flatnonzero(distinct)


def _nearest_features(rows: np.ndarray, shapes1: PlacedShapes, shapes2: PlacedShapes) -> NearestPoints:
    """Return the nearest points of separated boxes: of a corner and a box, or of two edges."""
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
