"""Rows of contacts: directions, changes due to unit impulses, offsets, and the impulses of the previous step."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Fixed, Reals, inline, larger, smaller, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.tables import (
    APART,
    ARM1,
    ARM2,
    COUPLING,
    FRICTION_PLACE,
    LIGHT1,
    LIGHT2,
    OFFSET,
    ROW,
    SOFT,
    STIFF,
    TURN1,
    TURN2,
    PileTable,
)

RECOVERY = 0.2
"""Fraction of an overlap that a step removes: removing all of it would throw the bodies apart."""
ROUNDING = 1e-13
"""Fraction of the largest velocity below which changes are rounding error: bodies that fall side by side have no relative
velocity."""


def make_rows(c: PileTable) -> None:
    """Set the row of every contact, its impulse to zero, and the velocity change `allowed` in the last sweep: a fraction of the
    largest contact velocity."""
    c.allowed = 0.0
    for k in range(c.contacts):
        one, other = c.body[c.shape1[k]], c.body[c.shape2[k]]
        c.ends[2 * k], c.ends[2 * k + 1] = one, other
        row = c.row[k * ROW :]
        directions(row, c.normal[k * 3 :])
        side_of(c, row, one, c.point1[k * 3 :], ARM1, LIGHT1, TURN1)
        side_of(c, row, other, c.point2[k * 3 :], ARM2, LIGHT2, TURN2)
        block(row)
        row[FRICTION_PLACE] = c.set_friction[c.set_of[k]] if c.feature[k] < APART else 0.0
        predicted = 0.0
        for i in unrolled(range(3)):
            u = along(row, c.coming[one * 6 :], c.coming[other * 6 :], i)
            c.allowed = larger(c.allowed, abs(u))
            if i == 0:
                predicted = u
        gap, restitution = c.gap[k], c.set_restitution[c.set_of[k]]
        offset = (gap if gap > 0.0 else RECOVERY * gap) / c.h
        if restitution > 0.0 and gap + c.h * predicted <= 0.0:
            approach = along(row, c.before[one * 6 :], c.before[other * 6 :], 0)
            offset = smaller(offset, restitution * smaller(approach, 0.0))
        row[OFFSET] = offset
        c.allowed = larger(c.allowed, -offset)
        for i in unrolled(range(3)):
            c.r[k * 3 + i] = 0.0
    c.allowed = larger(c.allowed * c.tolerance, ROUNDING * c.fastest)


@inline
def directions(row: Reals, n: Reals) -> None:
    for i in unrolled(range(3)):
        row[i] = n[i]
    if abs(n[0]) < 0.6:  # n x the first axis, else n x the second
        size = sqrt(n[2] * n[2] + n[1] * n[1])
        row[3], row[4], row[5] = 0.0, n[2] / size, -n[1] / size
    else:
        size = sqrt(n[2] * n[2] + n[0] * n[0])
        row[3], row[4], row[5] = -n[2] / size, 0.0, n[0] / size
    row[6], row[7], row[8] = n[1] * row[5] - n[2] * row[4], n[2] * row[3] - n[0] * row[5], n[0] * row[4] - n[1] * row[3]


@inline
def side_of(c: PileTable, row: Reals, b: int, point: Reals, arm: Fixed, light: Fixed, turn: Fixed) -> None:
    for i in unrolled(range(3)):
        row[arm + i] = point[i] - c.place[b * 3 + i]
    row[light] = c.light[b]
    T = c.turn[b * 9 :]
    for i in unrolled(range(3)):
        x, y, z = lever(row, arm, i, 0), lever(row, arm, i, 1), lever(row, arm, i, 2)
        for j in unrolled(range(3)):
            row[turn + 3 * i + j] = T[3 * j] * x + T[3 * j + 1] * y + T[3 * j + 2] * z


@inline
def lever(row: Reals, arm: Fixed, i: Fixed, j: Fixed) -> float:
    a, b = (j + 1) % 3, (j + 2) % 3
    return row[arm + a] * row[3 * i + b] - row[arm + b] * row[3 * i + a]


@inline
def block(row: Reals) -> None:
    n1, n2, w12 = entry(row, 0, 1), entry(row, 0, 2), entry(row, 1, 2)
    nn, w11, w22 = entry(row, 0, 0), entry(row, 1, 1), entry(row, 2, 2)
    stiff = 0.5 * (w11 + w22 + sqrt((w11 - w22) * (w11 - w22) + 4.0 * w12 * w12))
    row[COUPLING], row[COUPLING + 1], row[STIFF], row[STIFF + 1] = n1, n2, nn, stiff
    row[SOFT], row[SOFT + 1] = 1.0 / nn, 1.0 / stiff


@inline
def entry(row: Reals, i: Fixed, j: Fixed) -> float:
    """Return an entry of the block of a contact: the velocity along a direction due to a unit impulse along another direction."""
    total = row[LIGHT1] + row[LIGHT2] if i == j else 0.0
    for m in unrolled(range(3)):
        total = total + (lever(row, ARM1, i, m) * row[TURN1 + 3 * j + m] + lever(row, ARM2, i, m) * row[TURN2 + 3 * j + m])
    return total


@inline
def along(row: Reals, one: Reals, other: Reals, i: Fixed) -> float:
    total = 0.0
    for j in unrolled(range(3)):
        total = total + row[3 * i + j] * (other[3 + j] - one[3 + j])
    for j in unrolled(range(3)):
        total = total + lever(row, ARM2, i, j) * other[j] - lever(row, ARM1, i, j) * one[j]
    return total


def begin_impulses(c: PileTable) -> None:
    """Take initial impulses from the previous step, each at most once: from the contact of the same features, or else from the
    nearest contact between the same shapes."""
    first, scale = 0, c.h / c.earlier_h if c.earlier_h > 0.0 else 0.0
    k = 0
    while k < c.contacts:
        end, s1, s2 = k + 1, c.shape1[k], c.shape2[k]
        while end < c.contacts and c.shape1[end] == s1 and c.shape2[end] == s2:
            end += 1
        while first < c.earlier and is_before(c.earlier_shape1[first], c.earlier_shape2[first], s1, s2):
            first += 1
        last = first
        while last < c.earlier and c.earlier_shape1[last] == s1 and c.earlier_shape2[last] == s2:
            c.used[last] = 0
            last += 1
        for i in range(k, end):
            take(c, i, same_feature(c, i, first, last), scale)
        for i in range(k, end):
            if c.begun[3 * i] < 0.0:
                take(c, i, nearest_of(c, i, first, last), scale)
        first, k = last, end


@inline
def is_before(a: int, b: int, s1: int, s2: int) -> bool:
    return (a < s1) | ((a == s1) & (b < s2))


def same_feature(c: PileTable, i: int, first: int, last: int) -> int:
    match = -1
    for j in range(first, last):
        if match < 0 and c.used[j] == 0 and c.feature[i] >= 0 and c.earlier_feature[j] == c.feature[i]:
            match = j
    return match


def nearest_of(c: PileTable, i: int, first: int, last: int) -> int:
    match, least = -1, 1e300
    for j in range(first, last):
        x, y, z = (
            c.point1[3 * i] - c.earlier_point[3 * j],
            c.point1[3 * i + 1] - c.earlier_point[3 * j + 1],
            c.point1[3 * i + 2] - c.earlier_point[3 * j + 2],
        )
        square = x * x + y * y + z * z
        if c.used[j] == 0 and square < least:
            match, least = j, square
    return match


def take(c: PileTable, i: int, j: int, scale: float) -> None:
    c.begun[3 * i] = -1.0
    if j >= 0:
        c.used[j], c.begun[3 * i] = 1, 1.0
        row, impulse = c.row[i * ROW :], c.earlier_impulse[3 * j :]
        for m in unrolled(range(3)):
            c.r[3 * i + m] = scale * (row[3 * m] * impulse[0] + row[3 * m + 1] * impulse[1] + row[3 * m + 2] * impulse[2])
        if c.resisting == 1:
            torque, at = c.earlier_torque[3 * j :], 3 * (c.contacts + i)
            for m in unrolled(range(3)):
                c.r[at + m] = scale * (row[3 * m] * torque[0] + row[3 * m + 1] * torque[1] + row[3 * m + 2] * torque[2])


def remember(c: PileTable) -> None:
    c.earlier, c.earlier_h = c.contacts, c.h
    for k in range(c.contacts):
        c.earlier_shape1[k], c.earlier_shape2[k], c.earlier_feature[k] = c.shape1[k], c.shape2[k], c.feature[k]
        row, r = c.row[k * ROW :], c.r[k * 3 :]
        for i in unrolled(range(3)):
            c.earlier_point[3 * k + i] = c.point1[3 * k + i]
            c.impulse[3 * k + i] = row[i] * r[0] + row[3 + i] * r[1] + row[6 + i] * r[2]
            c.earlier_impulse[3 * k + i] = c.impulse[3 * k + i]
        if c.resisting == 1:
            t = c.r[3 * (c.contacts + k) :]
            for i in unrolled(range(3)):
                c.torque[3 * k + i] = row[i] * t[0] + row[3 + i] * t[1] + row[6 + i] * t[2]
                c.earlier_torque[3 * k + i] = c.torque[3 * k + i]
