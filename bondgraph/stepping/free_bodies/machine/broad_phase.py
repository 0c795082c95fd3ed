"""Broad phase of collision detection: bounding boxes of shapes, and the pairs that overlap, by sort and sweep (Baraff 1992).

The order of the sweep is kept from step to step, so sorting again costs little more than one pass. Pairs are ordered by
their shapes.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Ints, Reals, inline, larger, unrolled
from bondgraph.stepping.free_bodies.machine.tables import DONE, HALF_SPACE, PAIRS_FULL, PileTable

INFINITE = 1e300


def place_shapes(c: PileTable) -> None:
    for s in range(c.shapes):
        b = c.body[s]
        R, local, axes, at = c.R[b * 9 :], c.shape_pose[s * 12 :], c.shape_R[s * 9 :], c.shape_p[s * 3 :]
        half, bounds, wide = c.half[s * 3 :], c.bounds[s * 6 :], c.thickness[s] + c.reach[b]
        for i in unrolled(range(3)):
            for j in unrolled(range(3)):
                axes[3 * i + j] = R[3 * i] * local[j] + R[3 * i + 1] * local[3 + j] + R[3 * i + 2] * local[6 + j]
            at[i] = c.origin[b * 3 + i] + (R[3 * i] * local[9] + R[3 * i + 1] * local[10] + R[3 * i + 2] * local[11])
        for i in unrolled(range(3)):
            extent = abs(axes[3 * i]) * half[0] + abs(axes[3 * i + 1]) * half[1] + abs(axes[3 * i + 2]) * half[2] + wide
            if c.kind[s] == HALF_SPACE:
                bounds[i], bounds[3 + i] = -INFINITE, INFINITE
            else:
                bounds[i], bounds[3 + i] = at[i] - extent, at[i] + extent


def find_pairs(c: PileTable) -> int:
    c.pairs = 0
    for k in range(c.sets):
        first, last = c.first_shape[k], c.first_shape[k + 1]
        axis = widest(c, first, last)
        sort_along(c, first, last, axis)
        if sweep_along(c, k, first, last, axis) != DONE:
            return PAIRS_FULL
    order_pairs(c)
    return DONE


def widest(c: PileTable, first: int, last: int) -> int:
    axis, most = 0, -1.0
    for i in unrolled(range(3)):
        low, high = INFINITE, -INFINITE
        for s in range(first, last):
            if c.kind[s] != HALF_SPACE:
                low, high = min(low, c.shape_p[s * 3 + i]), max(high, c.shape_p[s * 3 + i])
        if high - low > most:
            axis, most = i, high - low
    return axis


def sort_along(c: PileTable, first: int, last: int, axis: int) -> None:
    for i in range(first + 1, last):
        s = c.order[i]
        low = c.bounds[s * 6 + axis]
        j = i - 1
        while j >= first and after(c, c.order[j], s, low, axis):
            c.order[j + 1] = c.order[j]
            j = j - 1
        c.order[j + 1] = s
    for i in range(first, last):
        for e in unrolled(range(6)):
            c.sorted_bounds[i * 6 + e] = c.bounds[c.order[i] * 6 + e]


@inline
def after(c: PileTable, one: int, other: int, low: float, axis: int) -> bool:
    begin = c.bounds[one * 6 + axis]
    return begin > low or (begin == low and one > other)


def sweep_along(c: PileTable, k: int, first: int, last: int, axis: int) -> int:
    for i in range(first, last):
        one = c.sorted_bounds[i * 6 :]
        end, j = one[3 + axis], i + 1
        while j < last and c.sorted_bounds[j * 6 + axis] <= end:
            if overlap(one, c.sorted_bounds[j * 6 :]) and may_touch(c, k, c.order[i], c.order[j]):
                if c.pairs >= c.pair_room:
                    return PAIRS_FULL
                c.pair_first[c.pairs], c.pair_second[c.pairs] = min(c.order[i], c.order[j]), max(c.order[i], c.order[j])
                c.pairs = c.pairs + 1
            j += 1
    return DONE


@inline
def overlap(one: Reals, other: Reals) -> bool:
    x = (one[0] <= other[3]) & (other[0] <= one[3])
    y = (one[1] <= other[4]) & (other[1] <= one[4])
    return x & y & (one[2] <= other[5]) & (other[2] <= one[5])


def may_touch(c: PileTable, k: int, one: int, other: int) -> bool:
    """Return True if two shapes of set k may touch. The listed pairs are excluded or, with `only`, are the only pairs."""
    a, b = c.body[one], c.body[other]
    if a == b or (a >= c.free and b >= c.free) or (c.kind[one] == HALF_SPACE and c.kind[other] == HALF_SPACE):
        return False
    if (c.kind[one] == HALF_SPACE and above(c, one, other)) or (c.kind[other] == HALF_SPACE and above(c, other, one)):
        return False
    if is_still(c, a) and is_still(c, b):
        return False
    is_listed = False
    for i in range(c.first_listed[one], c.first_listed[one + 1]):
        if c.listed[i] == other:
            is_listed = True
    return is_listed if c.only[k] == 1 else not is_listed


def is_still(c: PileTable, b: int) -> bool:
    speed = 0.0
    for i in unrolled(range(6)):
        speed = larger(speed, abs(c.before[6 * b + i]))
    return speed == 0.0 and (b >= c.free or c.asleep[b] == 1)


def above(c: PileTable, plane: int, s: int) -> bool:
    axes, half, up = c.shape_R[s * 9 :], c.half[s * 3 :], c.shape_R[plane * 9 :]
    height, extent = -c.thickness[s] - c.reach[c.body[s]] - c.reach[c.body[plane]], 0.0
    for i in unrolled(range(3)):
        height = height + up[3 * i + 2] * (c.shape_p[s * 3 + i] - c.shape_p[plane * 3 + i])
        extent = extent + half[i] * abs(axes[i] * up[2] + axes[3 + i] * up[5] + axes[6 + i] * up[8])
    return height > extent


def order_pairs(c: PileTable) -> None:
    by_digit(c, c.pair_second, c.pair_first, c.pair_second, c.sorted_pairs, c.sorted_pairs[c.pair_room :])
    by_digit(c, c.sorted_pairs, c.sorted_pairs, c.sorted_pairs[c.pair_room :], c.pair_first, c.pair_second)


def by_digit(c: PileTable, key: Ints, first: Ints, second: Ints, to_first: Ints, to_second: Ints) -> None:
    """Copy the pairs, sorted by a key; pairs with equal keys keep their order (counting sort)."""
    for s in range(c.shapes + 2):
        c.starts[s] = 0
    for i in range(c.pairs):
        c.starts[key[i] + 1] = c.starts[key[i] + 1] + 1
    for s in range(c.shapes):
        c.starts[s + 1] = c.starts[s + 1] + c.starts[s]
    for i in range(c.pairs):
        at = c.starts[key[i]]
        c.starts[key[i]] = at + 1
        to_first[at], to_second[at] = first[i], second[i]
