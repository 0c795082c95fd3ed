"""Nonlinear Gauss-Seidel method for contacts of many bodies: impulses and velocities with unilateral contact and friction.

At contact k with the relative velocity u = J v + b (normal first), impulses r and friction mu obey the complementarity conditions
of Signorini and Coulomb:

    0 <= r_n  _|_  u_n >= 0        |r_t| <= mu r_n, and |r_t| = mu r_n against u_t if the contact slips

They are solved contact by contact, normal and friction together in a block of three rows, with the latest velocities, until a
sweep over all contacts changes no velocity by more than a tolerance (nonsmooth contact dynamics, NSCD: Moreau 1988, Jean 1999;
the steps are projections, de Saxce and Feng 1998). The matrix of all contacts is never assembled.

A sweep propagates impulses from one body to the next, so high stacks, and heavy bodies on light bodies, would need very many
sweeps. Sweeps therefore alternate in direction (symmetric Gauss-Seidel), and after `PLAIN` sweeps each pair starts from an
extrapolation of the last two pairs (Nesterov 1983), with a restart if this overshoots (O'Donoghue and Candes 2015). Coulomb
friction does not minimise an energy, and in dense piles large extrapolations make the iteration cycle without converging: they
are shortened as soon as the changes stop shrinking.

Most contacts settle long before the last contact. A sweep therefore visits only contacts of bodies that moved in this or the
previous sweep (an active set, as in Gauss-Southwell methods); a sweep over all contacts, and back over those that it moved,
confirms convergence.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals, inline, larger, smaller, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.resistance import STIFF_SPIN, resist, twist
from bondgraph.stepping.free_bodies.machine.tables import (
    ARM1,
    ARM2,
    COUPLING,
    FRICTION_PLACE,
    LIGHT1,
    LIGHT2,
    OFFSET,
    RESISTANCE,
    ROW,
    SOFT,
    STIFF,
    TURN1,
    TURN2,
    PileTable,
)

PLAIN = 20
"""Number of sweeps without acceleration."""
SHORTER, BOLDER = 0.7, 0.8
"""Factors applied once per pair of sweeps: the first multiplies the limit of the extrapolation if changes do not shrink;
otherwise, the second multiplies the limit's distance from 1."""
GROWTH, PATIENCE = 2.0, 20
"""Limits above which changes count as not shrinking: ratio of the squared change to its minimum so far, and number of pairs of
sweeps without a decrease."""
SETTLED, FINER = 0.2, 0.1
"""Fraction of the tolerance below which a change at a contact does not trigger visits to its neighbours; factor by which this
fraction is multiplied whenever a sweep over all contacts does not confirm convergence."""


def solve(c: PileTable) -> None:
    for i in range(6 * c.bodies):
        c.velocity[i] = c.coming[i]
    for k in range(c.contacts):
        one, other, t = c.velocity[c.ends[2 * k] * 6 :], c.velocity[c.ends[2 * k + 1] * 6 :], c.r[3 * (c.contacts + k) :]
        push(c.row[k * ROW :], one, other, c.r[3 * k], c.r[3 * k + 1], c.r[3 * k + 2])
        if c.resisting == 1:
            twist(c.resistance[k * RESISTANCE :], one, other, t[0], t[1], t[2])
    c.sweeps, c.change, c.settled = 0, c.allowed + 1.0, SETTLED * c.allowed
    while c.change > c.allowed and c.sweeps < min(PLAIN, c.most_sweeps):
        visit_all(c)
        c.change = sweep(c)
    if c.change > c.allowed:
        go_ahead(c)


def visit_all(c: PileTable) -> None:
    for b in range(c.bodies):
        c.moved_in[b] = c.sweeps


def sweep(c: PileTable) -> float:
    change = 0.0
    for k in range(c.contacts):
        change = larger(change, visit(c, k))
    c.sweeps = c.sweeps + 1
    if change > c.allowed:
        change = 0.0
        for k in range(c.contacts):
            change = larger(change, visit(c, c.contacts - 1 - k))
        c.sweeps = c.sweeps + 1
    return change


def visit(c: PileTable, k: int) -> float:
    """Update a contact if one of its bodies moved in this or the previous sweep; return the largest change of a velocity."""
    one, other = c.ends[2 * k], c.ends[2 * k + 1]
    if c.moved_in[one] < c.sweeps and c.moved_in[other] < c.sweeps:
        return 0.0
    row, resistance, torque = c.row[k * ROW :], c.resistance[k * RESISTANCE :], c.r[3 * (c.contacts + k) :]
    change = update(row, c.r[k * 3 :], c.velocity[one * 6 :], c.velocity[other * 6 :])
    if c.resisting == 1:
        turned = resist(row, resistance, c.r[3 * k], torque, c.velocity[one * 6 :], c.velocity[other * 6 :])
        change = larger(change, turned)
    if change > c.settled:
        if row[LIGHT1] > 0.0:
            c.moved_in[one] = c.sweeps + 1
        if row[LIGHT2] > 0.0:
            c.moved_in[other] = c.sweeps + 1
    return change


def update(row: Disjoint, r: Disjoint, one: Disjoint, other: Disjoint) -> float:
    x, y, z = relative(row, one, other, 0), relative(row, one, other, 1), relative(row, one, other, 2)
    normal, first, second, mu = r[0], r[1], r[2], row[FRICTION_PLACE]
    u = row[0] * x + row[1] * y + row[2] * z + row[OFFSET]
    if u >= 0.0 and normal == 0.0 and first == 0.0 and second == 0.0:
        return 0.0
    a = larger(normal - u * row[SOFT], 0.0)
    by = a - normal
    b = first - (row[3] * x + row[4] * y + row[5] * z + row[COUPLING] * by) * row[SOFT + 1]
    d = second - (row[6] * x + row[7] * y + row[8] * z + row[COUPLING + 1] * by) * row[SOFT + 1]
    square, limit = b * b + d * d, mu * a
    if square <= limit * limit:
        return change_by(row, r, one, other, a, b, d)
    share = limit / sqrt(square)
    return change_by(row, r, one, other, a, b * share, d * share)


def change_by(row: Disjoint, r: Disjoint, one: Disjoint, other: Disjoint, a: float, b: float, d: float) -> float:
    by, across, along = a - r[0], b - r[1], d - r[2]
    push(row, one, other, by, across, along)
    r[0], r[1], r[2] = a, b, d
    return larger(abs(by) * row[STIFF], larger(abs(across), abs(along)) * row[STIFF + 1])


@inline
def relative(row: Reals, one: Reals, other: Reals, i: Fixed) -> float:
    j, k = (i + 1) % 3, (i + 2) % 3
    spin2 = other[j] * row[ARM2 + k] - other[k] * row[ARM2 + j]
    spin1 = one[j] * row[ARM1 + k] - one[k] * row[ARM1 + j]
    return (other[3 + i] + spin2) - (one[3 + i] + spin1)


@inline
def push(row: Reals, one: Reals, other: Reals, a: float, b: float, d: float) -> None:
    for i in unrolled(range(3)):
        force = row[i] * a + row[3 + i] * b + row[6 + i] * d
        one[3 + i] = one[3 + i] - row[LIGHT1] * force
        other[3 + i] = other[3 + i] + row[LIGHT2] * force
    for i in unrolled(range(3)):
        one[i] = one[i] - (row[TURN1 + i] * a + row[TURN1 + 3 + i] * b + row[TURN1 + 6 + i] * d)
        other[i] = other[i] + (row[TURN2 + i] * a + row[TURN2 + 3 + i] * b + row[TURN2 + 6 + i] * d)


def go_ahead(c: PileTable) -> None:
    """Continue with pairs of sweeps, each starting from an extrapolation of the results of the last two pairs."""
    impulses, velocities = 3 * (1 + c.resisting) * c.contacts, 6 * c.bodies
    momentum, longest, least, stalled, is_confirming = 1.0, 1.0, 1e300, 0, False
    copy(c.r, c.last_r, impulses)
    copy(c.velocity, c.last_velocity, velocities)
    while c.sweeps < c.most_sweeps or c.change <= c.allowed:
        copy(c.r, c.begun, impulses)
        c.change = sweep(c)
        if is_confirming:
            if c.change <= c.allowed:
                return
            c.settled = FINER * c.settled
        is_confirming = c.change <= c.allowed
        if is_confirming:
            visit_all(c)
        turned, square = 0.0, 0.0
        for k in range(c.contacts):
            for i in unrolled(range(3)):
                by, along = c.r[3 * k + i] - c.begun[3 * k + i], c.r[3 * k + i] - c.last_r[3 * k + i]
                stiff = c.row[k * ROW + STIFF + (1 if i > 0 else 0)]
                turned, square = turned + stiff * by * along, square + stiff * by * by
        if c.resisting == 1:
            for k in range(c.contacts):
                for i in unrolled(range(3)):
                    j = 3 * (c.contacts + k) + i
                    by, along = c.r[j] - c.begun[j], c.r[j] - c.last_r[j]
                    stiff = c.resistance[k * RESISTANCE + STIFF_SPIN + (1 if i > 0 else 0)]
                    turned, square = turned + stiff * by * along, square + stiff * by * by
        stalled = stalled + 1 if square >= least else 0
        if square > GROWTH * least or stalled > PATIENCE:
            longest, least, momentum, stalled = SHORTER * longest, square, 1.0, 0
        else:
            longest, least = 1.0 - BOLDER * (1.0 - longest), smaller(least, square)
        if turned < 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
        share, momentum = smaller((momentum - 1.0) / following, longest), following
        if c.sweeps < c.most_sweeps:  # velocities are linear in impulses
            ahead(c.r, c.last_r, impulses, share)
            ahead(c.velocity, c.last_velocity, velocities, share)


def copy(source: Disjoint, target: Disjoint, count: int) -> None:
    for i in range(count):
        target[i] = source[i]


def ahead(now: Disjoint, last: Disjoint, count: int, share: float) -> None:
    for i in range(count):
        end = now[i]
        now[i], last[i] = end + share * (end - last[i]), end
