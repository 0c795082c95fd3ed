"""Pairs of boxes in -> corners of the patch in which two faces meet, or where two edges cross, or the nearest points.

Two boxes are apart exactly if one of 15 directions says so: the normals of their faces, and the products of their edges
(Gottschalk, Lin and Manocha 1996). The direction of the largest gap decides what meets. Where that is a face, the other box's
face that looks at it is cut to the first's rectangle. Boxes that are apart may be nearest at a corner in none of these
directions; then all features are compared.
"""

from __future__ import annotations

import numpy as np

from screws.shapes.boxes import CORNERS
from screws.shapes.found import Found, Placed, crosses, directions, dots, joined, turned, turned_back

FACES_FIRST = 1e-3
"""Edges decide only if their gap is larger than that of faces by this share of the smaller box: between faces that are nearly
parallel, edges are as good a separation, but hold the boxes at one point in place of four."""
SAME = 1e-7
"""Lengths that differ by less than this share of the smaller box are the same."""
ALONG = 1e-5
"""Edges and corners that are off the other face's edge by less than this share of the smaller box lie on it; corners of a patch
that are nearer than ten times as much are one."""
PARALLEL = 1e-5
"""Edges whose angle has a smaller sine have no common normal of their own."""

NEXT, AFTER = [1, 2, 0], [2, 0, 1]
"""The axes that follow each."""


def box_box(one: Placed, two: Placed, reach: float) -> Found:
    """At most eight corners of a common patch, or one point: the gap is the distance where boxes are apart, and at most
    `FACES_FIRST` of a box below the least way out where they overlap."""
    C = np.matmul(np.swapaxes(one.R, 1, 2), two.R)
    d1 = turned_back(one.R, two.p - one.p)
    d2 = turned_back(two.R, two.p - one.p)
    size = np.minimum(np.max(one.half, axis=1), np.max(two.half, axis=1))
    of_faces = _face_gaps(C, d1, d2, one.half, two.half)
    close = np.flatnonzero(np.max(of_faces, axis=1) <= reach)
    one, two, C, d1, size, of_faces = one.take(close), two.take(close), C[close], d1[close], size[close], of_faces[close]
    of_edges = _edge_gaps(C, d1, one.half, two.half)
    close2 = np.flatnonzero(np.max(of_edges, axis=1) <= reach)
    one, two, size, of_faces = one.take(close2), two.take(close2), size[close2], of_faces[close2]
    of_edges = of_edges[close2]
    rows = np.arange(len(close2))
    best_face, best_edge = np.argmax(of_faces, axis=1), np.argmax(of_edges, axis=1)
    face_gap, edge_gap = of_faces[rows, best_face], of_edges[rows, best_edge]
    edges = edge_gap > face_gap + FACES_FIRST * size
    patch = _patches(rows[~edges], one, two, best_face, size, reach)
    least = np.full(len(rows), np.inf)
    np.minimum.at(least, patch.pair, patch.gap)
    edges |= (face_gap < 0.0) & np.isinf(least) & np.isfinite(edge_gap)
    crossing, hit = _crossings(rows[edges], one, two, best_edge)
    # Apart, and not where the direction says: at corners.
    met = np.where(face_gap < 0.0, np.isfinite(least), least <= face_gap + SAME * size)
    done = np.where(edges, (edge_gap < 0.0) | _marked(len(rows), crossing.pair[hit]), met)
    corner = joined([]) if done.all() else _nearest_features(rows[~done], one, two)
    crossing = crossing.take(np.flatnonzero(done[crossing.pair]))
    all_found = joined([crossing, patch.take(np.flatnonzero(done[patch.pair])), corner])
    near = all_found.take(np.flatnonzero(all_found.gap <= reach))
    return near._replace(pair=close[close2[near.pair]])


def _marked(count: int, rows: np.ndarray) -> np.ndarray:
    out = np.zeros(count, dtype=bool)
    out[rows] = True
    return out


def _face_gaps(C: np.ndarray, d1: np.ndarray, d2: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> np.ndarray:
    """Gaps along the normals of the faces of the first and the second box, (m, 6)."""
    A = np.abs(C)
    return np.concatenate([np.abs(d1) - h1 - turned(A, h2), np.abs(d2) - h2 - turned_back(A, h1)], axis=1)


def _edge_gaps(C: np.ndarray, d: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> np.ndarray:
    """Gaps along the products of edges i of the first and j of the second box, (m, 9); -inf where these are parallel."""
    A = np.abs(C)
    along = d[:, AFTER, None] * C[:, NEXT, :] - d[:, NEXT, None] * C[:, AFTER, :]
    first = h1[:, NEXT, None] * A[:, AFTER, :] + h1[:, AFTER, None] * A[:, NEXT, :]
    second = h2[:, None, NEXT] * A[:, :, AFTER] + h2[:, None, AFTER] * A[:, :, NEXT]
    length = np.sqrt(np.maximum(1.0 - A * A, 0.0))
    usable = length > PARALLEL
    gap = (np.abs(along) - first - second) / np.where(usable, length, 1.0)
    return np.where(usable, gap, -np.inf).reshape(len(C), 9)


def _crossings(rows: np.ndarray, one: Placed, two: Placed, best: np.ndarray) -> tuple[Found, np.ndarray]:
    """Points of the edges that face each other, and whether both are on their edges."""
    i, j = np.divmod(best[rows], 3)
    k = np.arange(len(rows))
    R1, R2 = one.R[rows], two.R[rows]
    a, b = R1[k, :, i], R2[k, :, j]
    n = crosses(a, b)
    n *= (np.where(dots(n, two.p[rows] - one.p[rows]) < 0.0, -1.0, 1.0) / np.sqrt(dots(n, n)))[:, None]
    u1, u2 = (
        np.where(turned_back(R1, n) < 0.0, -1.0, 1.0) * one.half[rows],
        np.where(turned_back(R2, n) < 0.0, 1.0, -1.0) * two.half[rows],
    )
    u1[k, i], u2[k, j] = 0.0, 0.0
    p, q = one.p[rows] + turned(R1, u1), two.p[rows] + turned(R2, u2)
    ab, d = dots(a, b), q - p
    determinant = 1.0 - ab * ab
    s, t = (dots(d, a) - ab * dots(d, b)) / determinant, (ab * dots(d, a) - dots(d, b)) / determinant
    half1, half2 = one.half[rows, i], two.half[rows, j]
    hit = (np.abs(s) <= half1 * (1.0 + SAME)) & (np.abs(t) <= half2 * (1.0 + SAME))
    s, t = np.clip(s, -half1, half1), np.clip(t, -half2, half2)
    p1, p2 = p + s[:, None] * a, q + t[:, None] * b
    return Found(rows, p1, p2, n, dots(n, p2 - p1)), hit


def _patches(rows: np.ndarray, one: Placed, two: Placed, best: np.ndarray, size: np.ndarray, reach: float) -> Found:
    """Corners of what the face across direction `best` of one box has in common with the other's face that looks at it."""
    second = best[rows] >= 3
    a = Placed(*(np.where(_like(second, y), y, x) for x, y in zip(one.take(rows), two.take(rows), strict=True)))
    b = Placed(*(np.where(_like(second, y), x, y) for x, y in zip(one.take(rows), two.take(rows), strict=True)))
    k, axis, tolerance = np.arange(len(rows)), best[rows] % 3, ALONG * size[rows]
    C = np.matmul(np.swapaxes(a.R, 1, 2), b.R)
    d = turned_back(a.R, b.p - a.p)
    sign = np.where(d[k, axis] < 0.0, -1.0, 1.0)
    u, v = (axis + 1) % 3, (axis + 2) % 3
    hu, hv, hw = a.half[k, u], a.half[k, v], a.half[k, axis]
    # The face of b that looks at a: its centre and half edges, as (u, v, height above a's face).
    facing = sign[:, None] * C[k, axis, :]
    other = np.argmax(np.abs(facing), axis=1)
    e, f = (other + 1) % 3, (other + 2) % 3
    towards = -np.where(facing[k, other] < 0.0, -1.0, 1.0)

    def seen(w: np.ndarray) -> np.ndarray:
        return np.stack([w[k, u], w[k, v], sign * w[k, axis]], axis=1)

    outward = seen(towards[:, None] * C[k, :, other])
    centre = seen(d) + b.half[k, other][:, None] * outward
    centre[:, 2] -= hw
    E, F = seen(C[k, :, e]) * b.half[k, e][:, None], seen(C[k, :, f]) * b.half[k, f][:, None]
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
    valid.append(np.all(np.abs(shares) <= 1.0 + ALONG, axis=2))
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
    every = np.concatenate(points, axis=1)
    pair, which = np.nonzero(np.concatenate(valid, axis=1) & (every[:, :, 2] <= reach))
    at = every[pair, which]
    new = _first_of_each(pair, at[:, :2], 10.0 * tolerance)
    pair, at = pair[new], at[new]
    local = np.zeros((len(pair), 3))
    m = np.arange(len(pair))
    local[m, u[pair]], local[m, v[pair]], local[m, axis[pair]] = at[:, 0], at[:, 1], sign[pair] * hw[pair]
    n = sign[pair, None] * a.R[pair, :, axis[pair]]
    on_a = a.p[pair] + turned(a.R[pair], local)
    on_b = on_a + at[:, 2:] * n
    flip = second[pair][:, None]
    p1, p2 = np.where(flip, on_b, on_a), np.where(flip, on_a, on_b)
    return Found(rows[pair], p1, p2, np.where(flip, -n, n), at[:, 2])


def _like(flags: np.ndarray, values: np.ndarray) -> np.ndarray:
    return flags.reshape(-1, *([1] * (values.ndim - 1)))


def _first_of_each(pair: np.ndarray, points: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    """Rows of the points (k, 2), in the order of their pairs, that do not lie where an earlier one of the same pair does."""
    new = np.ones(len(pair), dtype=bool)
    for back in range(1, len(pair)):
        same = pair[back:] == pair[:-back]
        if not same.any():
            break
        near = np.abs(points[back:] - points[:-back]).max(axis=1) <= tolerance[pair[back:]]
        new[back:] &= ~(same & near)
    return np.flatnonzero(new)


def _nearest_features(rows: np.ndarray, one: Placed, two: Placed) -> Found:
    """Nearest points of boxes that are apart: of a corner and a box, or of two edges."""
    parts = [_corner_box(rows, one, two), _corner_box(rows, two, one).swapped(), _edge_edge(rows, one, two)]
    found = joined(parts)
    order = np.lexsort((found.gap, found.pair))
    first = np.flatnonzero(np.diff(found.pair[order], prepend=-1) != 0)
    return found.take(order[first])


def _corner_box(rows: np.ndarray, one: Placed, two: Placed) -> Found:
    a, b = one.take(rows), two.take(rows)
    corners = a.p[:, None, :] + np.matmul(CORNERS * a.half[:, None, :], np.swapaxes(a.R, 1, 2))
    local = np.matmul(corners - b.p[:, None, :], b.R)
    on_b = np.clip(local, -b.half[:, None, :], b.half[:, None, :])
    distance = np.sqrt(dots(local - on_b, local - on_b))
    k, best = np.arange(len(rows)), np.argmin(distance, axis=1)
    p1 = corners[k, best]
    p2 = b.p + turned(b.R, on_b[k, best])
    normal, gap = directions(p2 - p1, b.p - a.p)
    return Found(rows, p1, p2, normal, gap)


def _edges(a: Placed) -> tuple[np.ndarray, np.ndarray]:
    """Middles and half edges of all twelve, (m, 12, 3)."""
    middles, halves = [], []
    for i in range(3):
        for y in (-1.0, 1.0):
            for z in (-1.0, 1.0):
                c = np.zeros(3)
                c[(i + 1) % 3], c[(i + 2) % 3] = y, z
                middles.append(a.p + turned(a.R, c * a.half))
                halves.append(a.R[:, :, i] * a.half[:, i : i + 1])
    return np.stack(middles, axis=1), np.stack(halves, axis=1)


def _edge_edge(rows: np.ndarray, one: Placed, two: Placed) -> Found:
    a, b = one.take(rows), two.take(rows)
    p, e = (x[:, :, None, :] for x in _edges(a))
    q, f = (x[:, None, :, :] for x in _edges(b))
    d = q - p
    ee, ff, ef, de, df = dots(e, e), dots(f, f), dots(e, f), dots(d, e), dots(d, f)
    determinant = ee * ff - ef * ef
    regular = determinant > PARALLEL**2 * ee * ff
    safe = np.where(regular, determinant, 1.0)
    s, t = (ff * de - ef * df) / safe, (ef * de - ee * df) / safe
    usable = regular & (np.abs(s) <= 1.0) & (np.abs(t) <= 1.0)
    p1, p2 = p + s[..., None] * e, q + t[..., None] * f
    gap = np.where(usable, np.sqrt(dots(p2 - p1, p2 - p1)), np.inf).reshape(len(rows), 144)
    k, best = np.arange(len(rows)), np.argmin(gap, axis=1)
    p1, p2 = p1.reshape(len(rows), 144, 3)[k, best], p2.reshape(len(rows), 144, 3)[k, best]
    normal, _ = directions(p2 - p1, b.p - a.p)
    return Found(rows, p1, p2, normal, gap[k, best])
