"""Functions that add contact points and compute the corners of boxes."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Fixed, Reals, inline, unrolled
from bondgraph.stepping.free_bodies.machine.tables import PileTable


def add_point(c: PileTable, one: int, other: int, at: Reals, n: Reals, gap: float, feature: int, sign: float) -> None:
    """Add a point on the first shape, with the normal towards the second; if the sign is -1, the shapes are exchanged."""
    k = c.contacts
    first, second = c.point1[k * 3 :], c.point2[k * 3 :]
    if sign > 0.0:
        c.shape1[k], c.shape2[k] = one, other
    else:
        c.shape1[k], c.shape2[k] = other, one
    for i in unrolled(range(3)):
        c.normal[k * 3 + i] = sign * n[i]
        if sign > 0.0:
            first[i], second[i] = at[i], at[i] + gap * n[i]
        else:
            first[i], second[i] = at[i] + gap * n[i], at[i]
    c.gap[k], c.feature[k], c.contacts = gap, feature, k + 1


def place_of(c: PileTable, s: int, corner: int, i: Fixed) -> float:
    """Return a coordinate of a corner of a box, 0 to 7; corner 7 is at the positive ends of all half edges."""
    half, axes = c.half[s * 3 :], c.shape_R[s * 9 + 3 * i :]
    x, y, z = side(corner, 4), side(corner, 2), side(corner, 1)
    return c.shape_p[s * 3 + i] + axes[0] * (x * half[0]) + axes[1] * (y * half[1]) + axes[2] * (z * half[2])


def side(corner: int, place: Fixed) -> float:
    """Return 1 if the binary digit `place` (4, 2 or 1) of a corner's number is set, else -1."""
    rest = corner
    for more in unrolled((4, 2, 1)):
        if more > place and rest >= more:
            rest = rest - more
    return 1.0 if rest >= place else -1.0


@inline
def axis_of(v: Reals) -> int:
    first = 1 if abs(v[1]) > abs(v[0]) else 0
    return 2 if abs(v[2]) > larger_of(v) else first


@inline
def larger_of(v: Reals) -> float:
    return max(abs(v[0]), abs(v[1]))
