"""Contact of two boxes in machine code, by the separating axis theorem, as in `screws.shapes.box_pairs`, and points that may
touch because the boxes turn during the step."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Fixed, Reals, empty_like, inline, larger, smaller, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.points import add_point, place_of, side
from bondgraph.stepping.free_bodies.machine.tables import APART, PileTable
from screws.shapes.box_pairs import EDGE_TOLERANCE, FACE_PREFERENCE, LENGTH_TOLERANCE, PARALLEL_SINE

CENTRES1, CENTRES2 = 9, 12
"""Offsets in the data of a pair: after the cosines of all axes (3, 3), the vector between the centres in the axes of the first
box, and in those of the second."""
CROSSING, CORNER = 1000, 2000
"""First feature numbers of edge pairs and corners; features of a patch have smaller numbers."""
DISTINCT = 0.1
"""Minimum distance of speculative points from the first point of the pair, as a fraction of the size of the smaller box."""
NEXT, AFTER = (1, 2, 0), (2, 0, 1)
SIDES = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
NOT_SEPARATED = -1e300
HEIGHT, TOLERANCE, SIGN, KEPT = 9, 10, 11, 12
"""Offsets in the data of a patch, after the frame of its face: height of the face, distance up to which two corners count as one,
sign of the pair, and kept corners."""


def box_box(c: PileTable, one: int, other: int, reach: float) -> None:
    """Add the contact points of two boxes: at most eight corners of a common patch, or one point and corners that do not touch
    yet."""
    C = empty_like(c.gap, 15)
    d1, d2 = C[CENTRES1:], C[CENTRES2:]
    R1, R2, h1, h2 = c.shape_R[one * 9 :], c.shape_R[other * 9 :], c.half[one * 3 :], c.half[other * 3 :]
    between(c, one, other, C, d1, d2)
    size = smaller(larger(larger(h1[0], h1[1]), h1[2]), larger(larger(h2[0], h2[1]), h2[2]))
    face_gap, face = NOT_SEPARATED, 0
    for i in unrolled(range(3)):
        gap = abs(d1[i]) - h1[i] - (abs(C[3 * i]) * h2[0] + abs(C[3 * i + 1]) * h2[1] + abs(C[3 * i + 2]) * h2[2])
        if gap > face_gap:
            face_gap, face = gap, i
    face1, face2, best2 = face, 3, NOT_SEPARATED
    for i in unrolled(range(3)):
        gap = abs(d2[i]) - h2[i] - (abs(C[i]) * h1[0] + abs(C[3 + i]) * h1[1] + abs(C[6 + i]) * h1[2])
        if gap > best2:
            best2, face2 = gap, 3 + i
        if gap > face_gap + LENGTH_TOLERANCE * size:  # of parallel faces, always take the face of the first box
            face_gap, face = gap, 3 + i
    if face_gap <= reach:
        edge_gap, edge = NOT_SEPARATED, 0
        for i in unrolled(range(3)):
            for j in unrolled(range(3)):
                gap = edge_gap_of(C, d1, h1, h2, i, j)
                if gap > edge_gap:
                    edge_gap, edge = gap, 3 * i + j
        if edge_gap <= reach:
            begin = c.contacts
            is_edge, holds = edge_gap > face_gap + FACE_PREFERENCE * size, False
            if not is_edge:
                least = 0.0
                if face < 3:
                    least = patch(c, one, other, face, size, reach, 1.0)
                else:
                    least = patch(c, other, one, face - 3, size, reach, -1.0)
                has_points = c.contacts > begin
                holds = has_points if face_gap < 0.0 else (has_points and least <= face_gap + LENGTH_TOLERANCE * size)
                is_edge = face_gap < 0.0 and not has_points and edge_gap > NOT_SEPARATED
            if is_edge:
                holds = crossing(c, one, other, R1, R2, edge, reach) or edge_gap < 0.0
            if not holds:
                c.contacts = begin
                nearest(c, one, other, C, edge, edge_gap, reach)
                is_edge = True
            if is_edge:
                add_apart(c, one, other, face1, size, reach, begin)
                add_apart(c, one, other, face2, size, reach, begin)


def add_apart(c: PileTable, one: int, other: int, face: int, size: float, reach: float, first: int) -> None:
    """Add the corners of a face's patch that do not touch yet as speculative contacts (faces 3 to 5 belong to the second box):
    boxes that turn during the step may collide there, and a single point does not keep them apart."""
    begin = c.contacts
    if face < 3:
        patch(c, one, other, face, size, reach, 1.0)
    else:
        patch(c, other, one, face - 3, size, reach, -1.0)
    end, c.contacts = c.contacts, begin
    for k in range(begin, end):
        if c.gap[k] > 0.0 and (first == begin or square_between(c, k, first) > DISTINCT * size * DISTINCT * size):
            to, c.contacts = c.contacts, c.contacts + 1
            c.gap[to], c.feature[to], c.shape1[to], c.shape2[to] = c.gap[k], APART + c.feature[k], c.shape1[k], c.shape2[k]
            for i in unrolled(range(3)):
                c.point1[3 * to + i], c.point2[3 * to + i] = c.point1[3 * k + i], c.point2[3 * k + i]
                c.normal[3 * to + i] = c.normal[3 * k + i]


@inline
def square_between(c: PileTable, i: int, j: int) -> float:
    x, y, z = (
        c.point1[3 * i] - c.point1[3 * j],
        c.point1[3 * i + 1] - c.point1[3 * j + 1],
        c.point1[3 * i + 2] - c.point1[3 * j + 2],
    )
    return x * x + y * y + z * z


def between(c: PileTable, one: int, other: int, C: Reals, d1: Reals, d2: Reals) -> None:
    R1, R2, p, q = c.shape_R[one * 9 :], c.shape_R[other * 9 :], c.shape_p[one * 3 :], c.shape_p[other * 3 :]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    for i in unrolled(range(3)):
        d1[i], d2[i] = R1[i] * x + R1[3 + i] * y + R1[6 + i] * z, R2[i] * x + R2[3 + i] * y + R2[6 + i] * z
        for j in unrolled(range(3)):
            C[3 * i + j] = R1[i] * R2[j] + R1[3 + i] * R2[3 + j] + R1[6 + i] * R2[6 + j]


@inline
def edge_gap_of(C: Reals, d: Reals, h1: Reals, h2: Reals, i: Fixed, j: Fixed) -> float:
    """Return the gap along the cross product of an edge of each box; `NOT_SEPARATED` for parallel edges."""
    n, a, m, b = NEXT[i], AFTER[i], NEXT[j], AFTER[j]
    along = abs(d[a] * C[3 * n + j] - d[n] * C[3 * a + j])
    first = h1[n] * abs(C[3 * a + j]) + h1[a] * abs(C[3 * n + j])
    second = h2[m] * abs(C[3 * i + b]) + h2[b] * abs(C[3 * i + m])
    length = sqrt(larger(1.0 - C[3 * i + j] * C[3 * i + j], 0.0))
    return (along - first - second) / larger(length, PARALLEL_SINE) if length > PARALLEL_SINE else NOT_SEPARATED


def crossing(c: PileTable, one: int, other: int, R1: Reals, R2: Reals, edge: int, reach: float) -> bool:
    """Add the nearest points of the edges that face each other, if within reach; return True if both lie on their edges."""
    i = 0 if edge < 3 else (1 if edge < 6 else 2)
    j = edge - 3 * i
    n, p, q, h1, h2 = empty_like(c.gap, 3), empty_like(c.gap, 3), empty_like(c.gap, 3), c.half[one * 3 :], c.half[other * 3 :]
    a0, a1, a2, b0, b1, b2 = R1[i], R1[3 + i], R1[6 + i], R2[j], R2[3 + j], R2[6 + j]
    n[0], n[1], n[2] = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    towards, square = 0.0, 0.0
    for k in unrolled(range(3)):
        towards = towards + n[k] * (c.shape_p[other * 3 + k] - c.shape_p[one * 3 + k])
        square = square + n[k] * n[k]
    scale = (-1.0 if towards < 0.0 else 1.0) / sqrt(square)
    for k in unrolled(range(3)):
        n[k] = n[k] * scale
        p[k], q[k] = c.shape_p[one * 3 + k], c.shape_p[other * 3 + k]
    for k in unrolled(range(3)):
        up1, up2 = R1[k] * n[0] + R1[3 + k] * n[1] + R1[6 + k] * n[2], R2[k] * n[0] + R2[3 + k] * n[1] + R2[6 + k] * n[2]
        u1 = 0.0 if i == k else (-h1[k] if up1 < 0.0 else h1[k])
        u2 = 0.0 if j == k else (h2[k] if up2 < 0.0 else -h2[k])
        for m in unrolled(range(3)):
            p[m], q[m] = p[m] + R1[3 * m + k] * u1, q[m] + R2[3 * m + k] * u2
    ab, x, y, z = a0 * b0 + a1 * b1 + a2 * b2, q[0] - p[0], q[1] - p[1], q[2] - p[2]
    da, db = x * a0 + y * a1 + z * a2, x * b0 + y * b1 + z * b2
    s, t = (da - ab * db) / (1.0 - ab * ab), (ab * da - db) / (1.0 - ab * ab)
    hit = (abs(s) <= h1[i] * (1.0 + LENGTH_TOLERANCE)) & (abs(t) <= h2[j] * (1.0 + LENGTH_TOLERANCE))
    s, t = larger(smaller(s, h1[i]), -h1[i]), larger(smaller(t, h2[j]), -h2[j])
    gap = 0.0
    for k in unrolled(range(3)):
        p[k], q[k] = p[k] + s * R1[3 * k + i], q[k] + t * R2[3 * k + j]
        gap = gap + n[k] * (q[k] - p[k])
    if gap <= reach:
        add_point(c, one, other, p, n, gap, CROSSING + edge, 1.0)
        for k in unrolled(range(3)):
            c.point2[c.contacts * 3 - 3 + k] = q[k]
    return hit


def patch(c: PileTable, a: int, b: int, axis: int, size: float, reach: float, sign: float) -> float:
    """Add the corners of the overlap between a face of box a and the facing face of box b; return their smallest gap, or 1e300 if
    there is no corner.

    The face is normal to an axis of a, which is the second box of the pair if the sign is -1.
    """
    frame, quad, w = empty_like(c.gap, KEPT + 24), empty_like(c.gap, 12), empty_like(c.gap, 12)
    at, Ra, Rb, ha, hb, tolerance = (
        empty_like(c.gap, 3),
        c.shape_R[a * 9 :],
        c.shape_R[b * 9 :],
        c.half[a * 3 :],
        c.half[b * 3 :],
        EDGE_TOLERANCE * size,
    )
    u, v = axis_after(axis), axis_after(axis_after(axis))
    x, y, z = (
        c.shape_p[b * 3] - c.shape_p[a * 3],
        c.shape_p[b * 3 + 1] - c.shape_p[a * 3 + 1],
        c.shape_p[b * 3 + 2] - c.shape_p[a * 3 + 2],
    )
    up = -1.0 if Ra[axis] * x + Ra[3 + axis] * y + Ra[6 + axis] * z < 0.0 else 1.0
    for k in unrolled(range(3)):
        frame[k], frame[3 + k], frame[6 + k] = Ra[3 * k + u], Ra[3 * k + v], up * Ra[3 * k + axis]
    # The face of b that faces a, as its outward normal, centre, and half edges in the frame of a's face.
    other, most, facing = 0, -1.0, 0.0
    for j in unrolled(range(3)):
        along = frame[6] * Rb[j] + frame[7] * Rb[3 + j] + frame[8] * Rb[6 + j]
        if abs(along) > most:
            other, most, facing = j, abs(along), along
    towards = 1.0 if facing < 0.0 else -1.0
    e, f = axis_after(other), axis_after(axis_after(other))
    hu, hv, hw = ha[u], ha[v], ha[axis]
    frame[HEIGHT], frame[TOLERANCE], frame[SIGN] = hw, 10.0 * tolerance, sign
    for k in unrolled(range(3)):
        fx, fy, fz = frame[3 * k], frame[3 * k + 1], frame[3 * k + 2]
        w[k] = towards * (fx * Rb[other] + fy * Rb[3 + other] + fz * Rb[6 + other])
        w[3 + k] = fx * x + fy * y + fz * z + hb[other] * w[k] - (hw if k == 2 else 0.0)
        w[6 + k] = (fx * Rb[e] + fy * Rb[3 + e] + fz * Rb[6 + e]) * hb[e]
        w[9 + k] = (fx * Rb[f] + fy * Rb[3 + f] + fz * Rb[6 + f]) * hb[f]
    number = 24 * (axis + 3 * other + (9 if sign < 0.0 else 0))
    count, least = 0, 1e300
    for k in unrolled(range(4)):
        for i in unrolled(range(3)):
            quad[3 * k + i] = w[3 + i] + SIDES[k][0] * w[6 + i] + SIDES[k][1] * w[9 + i]
        at[0], at[1], at[2] = quad[3 * k], quad[3 * k + 1], quad[3 * k + 2]
        if (abs(at[0]) <= hu + tolerance) & (abs(at[1]) <= hv + tolerance) & (at[2] <= reach):
            count = keep(c, a, b, at, frame, count, number + k)
            least = smaller(least, at[2])
    ee, ff = w[6] * w[6] + w[7] * w[7] + w[8] * w[8], w[9] * w[9] + w[10] * w[10] + w[11] * w[11]
    for k in unrolled(range(4)):
        at[0], at[1] = SIDES[k][0] * hu, SIDES[k][1] * hv
        flat_x, flat_y = at[0] - w[3], at[1] - w[4]
        lifted = -(flat_x * w[0] + flat_y * w[1]) / w[2]
        on_e, on_f = flat_x * w[6] + flat_y * w[7] + lifted * w[8], flat_x * w[9] + flat_y * w[10] + lifted * w[11]
        at[2] = w[5] + lifted
        within = (abs(on_e) <= (1.0 + EDGE_TOLERANCE) * ee) & (abs(on_f) <= (1.0 + EDGE_TOLERANCE) * ff)
        if within & (at[2] <= reach):
            count = keep(c, a, b, at, frame, count, number + 4 + k)
            least = smaller(least, at[2])
    for i in unrolled(range(2)):
        for line in unrolled((1.0, -1.0)):
            for k in unrolled(range(4)):
                end = 3 * ((k + 1) % 4)
                step = quad[end + i] - quad[3 * k + i]
                if abs(step) > tolerance:
                    share = (line * (hu if i == 0 else hv) - quad[3 * k + i]) / step
                    for j in unrolled(range(3)):
                        at[j] = quad[3 * k + j] + share * (quad[end + j] - quad[3 * k + j])
                    within = (share >= 0.0) & (share <= 1.0) & (abs(at[1 - i]) <= (hv if i == 0 else hu) + tolerance)
                    if within & (at[2] <= reach):
                        which = number + 8 + 8 * i + (0 if line > 0.0 else 4) + k
                        count = keep(c, a, b, at, frame, count, which)
                        least = smaller(least, at[2])
    return least


def axis_after(axis: int) -> int:
    return axis + 1 if axis < 2 else 0


def keep(c: PileTable, a: int, b: int, at: Reals, patch_data: Reals, count: int, feature: int) -> int:
    kept, tolerance = patch_data[KEPT:], patch_data[TOLERANCE]
    for k in range(count):
        if abs(at[0] - kept[3 * k]) <= tolerance and abs(at[1] - kept[3 * k + 1]) <= tolerance:
            return count
    if count >= 8:
        return count
    p, n = empty_like(c.gap, 3), empty_like(c.gap, 3)
    for i in unrolled(range(3)):
        kept[3 * count + i] = at[i]
        n[i] = patch_data[6 + i]
        p[i] = c.shape_p[a * 3 + i] + patch_data[i] * at[0] + patch_data[3 + i] * at[1] + n[i] * patch_data[HEIGHT]
    add_point(c, a, b, p, n, at[2], feature, patch_data[SIGN])
    return count + 1


def nearest(c: PileTable, one: int, other: int, C: Reals, edge: int, edge_gap: float, reach: float) -> None:
    """Add the nearest points of two boxes if none of the 15 directions gives them: a corner and a point of a box, or points of
    two edges if the search for axes preferred a face with nearly the same gap."""
    h1, h2, R1, R2 = c.half[one * 3 :], c.half[other * 3 :], c.shape_R[one * 9 :], c.shape_R[other * 9 :]
    d1, d2, square, corner, first = C[CENTRES1:], C[CENTRES2:], 1e300, 0, 1
    for s in range(8):
        x, y, z = side(s, 4) * h1[0], side(s, 2) * h1[1], side(s, 1) * h1[2]
        total = 0.0
        for j in unrolled(range(3)):
            total = total + beyond(C[j] * x + C[3 + j] * y + C[6 + j] * z - d2[j], h2[j])
        if total < square:
            square, corner = total, s
    for s in range(8):
        x, y, z = side(s, 4) * h2[0], side(s, 2) * h2[1], side(s, 1) * h2[2]
        total = 0.0
        for j in unrolled(range(3)):
            total = total + beyond(C[3 * j] * x + C[3 * j + 1] * y + C[3 * j + 2] * z + d1[j], h1[j])
        if total < square:
            square, corner, first = total, s, 0
    begin, done = c.contacts, False
    if edge_gap > 0.0 and edge_gap * edge_gap < square:
        done = crossing(c, one, other, R1, R2, edge, reach)
        if not done:
            c.contacts = begin
    if not done and square <= reach * reach:
        if first == 1:
            corner_point(c, one, other, corner, sqrt(square), 1.0)
        else:
            corner_point(c, other, one, corner, sqrt(square), -1.0)


@inline
def beyond(x: float, limit: float) -> float:
    out = larger(abs(x) - limit, 0.0)
    return out * out


def corner_point(c: PileTable, a: int, b: int, corner: int, gap: float, sign: float) -> None:
    """Add a corner of box a and the nearest point of box b; b is the second box of the pair if the sign is 1."""
    at, local, n, R, h = empty_like(c.gap, 3), empty_like(c.gap, 3), empty_like(c.gap, 3), c.shape_R[b * 9 :], c.half[b * 3 :]
    for i in unrolled(range(3)):
        at[i] = place_of(c, a, corner, i)
    for i in unrolled(range(3)):
        x, y, z = at[0] - c.shape_p[b * 3], at[1] - c.shape_p[b * 3 + 1], at[2] - c.shape_p[b * 3 + 2]
        inside = R[i] * x + R[3 + i] * y + R[6 + i] * z
        local[i] = larger(smaller(inside, h[i]), -h[i]) - inside
    if gap > 0.0:
        for i in unrolled(range(3)):
            n[i] = (R[3 * i] * local[0] + R[3 * i + 1] * local[1] + R[3 * i + 2] * local[2]) / gap
    else:  # the corner is in the box: the normal joins the centres
        x, y, z = (
            c.shape_p[b * 3] - c.shape_p[a * 3],
            c.shape_p[b * 3 + 1] - c.shape_p[a * 3 + 1],
            c.shape_p[b * 3 + 2] - c.shape_p[a * 3 + 2],
        )
        size = sqrt(x * x + y * y + z * z)
        n[0], n[1], n[2] = x / size, y / size, z / size
    add_point(c, a, b, at, n, gap, CORNER + 8 * (1 if sign > 0.0 else 0) + corner, sign)
