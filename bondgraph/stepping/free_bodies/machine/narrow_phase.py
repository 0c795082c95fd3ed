"""Narrow phase of collision detection in machine code: contact points of balls, boxes and half-spaces.

The points equal the points from `screws.shapes.candidates`, in the same order of pairs, except for the further points of turning
boxes (`add_apart`). Each point has the number of the features in contact, by which the next step finds its impulse again.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Fixed, Reals, empty_like, inline, larger, smaller, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.box_boxes import box_box
from bondgraph.stepping.free_bodies.machine.points import add_point, axis_of, place_of
from bondgraph.stepping.free_bodies.machine.tables import BALL, BOX, DONE, FULL, HALF_SPACE, TOO_MANY, PileTable

MOST_POINTS = 17
FACE_NORMAL_TOLERANCE = 1e-9
"""Largest deviation from 1 of a component of a unit vector that counts as the normal of a face."""


def find_contacts(c: PileTable) -> int:
    c.contacts, c.too_many = 0, -1
    k, counted = 0, 0
    for i in range(c.pairs):
        one, other = c.pair_first[i], c.pair_second[i]
        while one >= c.first_shape[k + 1]:
            k, counted = k + 1, c.contacts
        if c.contacts + MOST_POINTS > c.room:
            return FULL
        before = c.contacts
        search(c, one, other)
        for j in range(before, c.contacts):
            c.set_of[j] = k
        if c.contacts - counted > c.set_most[k]:
            c.too_many, c.candidates = k, c.contacts - counted
    return DONE if c.too_many < 0 else TOO_MANY


def search(c: PileTable, one: int, other: int) -> None:
    reach = c.reach[c.body[one]] + c.reach[c.body[other]]
    a, b = c.kind[one], c.kind[other]
    if a == BALL and b == BALL:
        ball_ball(c, one, other, reach)
    elif a == BOX and b == BOX:
        box_box(c, one, other, reach)
    elif a == HALF_SPACE:
        on_plane(c, other, one, reach, -1.0)
    elif b == HALF_SPACE:
        on_plane(c, one, other, reach, 1.0)
    elif a == BALL:
        ball_box(c, one, other, reach, 1.0)
    else:
        ball_box(c, other, one, reach, -1.0)


def ball_ball(c: PileTable, one: int, other: int, reach: float) -> None:
    """Add the contact point of two balls.

    If the gap exceeds the smaller radius, the normal is taken where the balls meet on straight paths, or are nearest, so that
    fast balls that pass each other do not collide (conservative advancement).
    """
    p, q, d, n = c.shape_p[one * 3 :], c.shape_p[other * 3 :], empty_like(c.gap, 3), empty_like(c.gap, 3)
    for i in unrolled(range(3)):
        d[i] = q[i] - p[i]
    distance = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    gap = distance - c.thickness[one] - c.thickness[other]
    if gap <= reach:
        for i in unrolled(range(3)):
            n[i] = d[i] / distance if distance > 0.0 else float(i == 0)
        if gap > smaller(c.thickness[one], c.thickness[other]):
            gap = meet(c, one, other, d, n)
        at = empty_like(c.gap, 3)
        for i in unrolled(range(3)):
            at[i] = p[i] + c.thickness[one] * n[i]
        add_point(c, one, other, at, n, gap, 0, 1.0)
        for i in unrolled(range(3)):
            c.point2[3 * c.contacts - 3 + i] = q[i] - c.thickness[other] * n[i]


def meet(c: PileTable, one: int, other: int, d: Reals, n: Reals) -> float:
    """Set the normal of two balls where they meet during the step, or are nearest, on straight paths; return the gap along it."""
    path, radii = empty_like(c.gap, 3), c.thickness[one] + c.thickness[other]
    for i in unrolled(range(3)):
        path[i] = c.h * (velocity_of(c, other, i) - velocity_of(c, one, i))
    square = path[0] * path[0] + path[1] * path[1] + path[2] * path[2]
    towards = -(d[0] * path[0] + d[1] * path[1] + d[2] * path[2])
    outside = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - radii * radii
    if square > 0.0 and towards > 0.0:
        root = towards * towards - square * outside
        share = smaller((towards - sqrt(root) if root > 0.0 else towards) / square, 1.0)
        for i in unrolled(range(3)):
            n[i] = d[i] + share * path[i]
        size = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
        for i in unrolled(range(3)):
            n[i] = n[i] / size
    return n[0] * d[0] + n[1] * d[1] + n[2] * d[2] - radii


@inline
def velocity_of(c: PileTable, s: int, i: Fixed) -> float:
    """Return a component of the velocity that the centre of a shape has without contacts."""
    j, k = (i + 1) % 3, (i + 2) % 3
    v, at, place = c.coming[c.body[s] * 6 :], c.shape_p[s * 3 :], c.place[c.body[s] * 3 :]
    return v[3 + i] + (v[j] * (at[k] - place[k]) - v[k] * (at[j] - place[j]))


def on_plane(c: PileTable, s: int, plane: int, reach: float, sign: float) -> None:
    """Add points between a half-space (the second shape of the pair if the sign is 1) and the lowest point of a ball or the
    corners of a box."""
    down, at, up = empty_like(c.gap, 3), empty_like(c.gap, 3), c.shape_R[plane * 9 :]
    for i in unrolled(range(3)):
        down[i] = -up[3 * i + 2]
    if c.kind[s] == BALL:
        for i in unrolled(range(3)):
            at[i] = c.shape_p[s * 3 + i] + c.thickness[s] * down[i]
        plane_point(c, s, plane, at, down, reach, 0, sign)
    else:
        for corner in range(8):
            for i in unrolled(range(3)):
                at[i] = place_of(c, s, corner, i)
            plane_point(c, s, plane, at, down, reach, corner, sign)


def plane_point(c: PileTable, s: int, plane: int, at: Reals, down: Reals, reach: float, feature: int, sign: float) -> None:
    gap = 0.0
    for i in unrolled(range(3)):
        gap = gap + down[i] * (c.shape_p[plane * 3 + i] - at[i])
    if gap <= reach:
        add_point(c, s, plane, at, down, gap, feature, sign)


def ball_box(c: PileTable, ball: int, box: int, reach: float, sign: float) -> None:
    """Add the contact point of a ball and a box; if the sign is 1, the box is the second shape of the pair.

    If the centre of the ball is inside the box, the normal is that of the nearest face.
    """
    local, out, half, R = empty_like(c.gap, 3), empty_like(c.gap, 3), c.half[box * 3 :], c.shape_R[box * 9 :]
    size, square = 0.0, 0.0
    for i in unrolled(range(3)):
        total = 0.0
        for j in unrolled(range(3)):
            total = total + R[3 * j + i] * (c.shape_p[ball * 3 + j] - c.shape_p[box * 3 + j])
        local[i] = total
        out[i] = total - larger(smaller(total, half[i]), -half[i])
        size, square = larger(size, half[i]), square + out[i] * out[i]
    height = sqrt(square)
    if height - c.thickness[ball] <= reach:
        axis = 0
        if height > 1e-12 * size:
            for i in unrolled(range(3)):
                out[i] = out[i] / height
            axis = axis_of(out)
            if abs(out[axis]) >= 1.0 - FACE_NORMAL_TOLERANCE:
                height = through_face(local, half, out, axis, out[axis] > 0.0)
        else:
            for i in unrolled(range(3)):
                if half[i] - abs(local[i]) < half[axis] - abs(local[axis]):
                    axis = i
            height = through_face(local, half, out, axis, local[axis] >= 0.0)
        n, at = empty_like(c.gap, 3), empty_like(c.gap, 3)
        for i in unrolled(range(3)):
            n[i] = -(R[3 * i] * out[0] + R[3 * i + 1] * out[1] + R[3 * i + 2] * out[2])
        for i in unrolled(range(3)):
            at[i] = c.shape_p[ball * 3 + i] + c.thickness[ball] * n[i]
        add_point(c, ball, box, at, n, height - c.thickness[ball], 0, sign)


@inline
def through_face(local: Reals, half: Reals, out: Reals, axis: int, upward: bool) -> float:
    for i in unrolled(range(3)):
        out[i] = 0.0
    out[axis] = 1.0 if upward else -1.0
    return out[axis] * local[axis] - half[axis]
