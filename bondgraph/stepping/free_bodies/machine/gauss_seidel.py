"""Nonlinear Gauss-Seidel method for contacts of many bodies: impulses and velocities with unilateral contact and friction.

At contact k with the relative velocity u = J v + b (normal first), impulses r and friction mu obey the complementarity conditions
of Signorini and Coulomb:

    0 <= r_n  _|_  u_n >= 0        |r_t| <= mu r_n, and against u_t with |r_t| = mu r_n where it slips

They are solved contact by contact, normal and friction together in the block of its three rows, with the latest velocities,
until a sweep changes no velocity by more than a tolerance (nonsmooth contact dynamics, NSCD: Moreau 1988, Jean 1999; the steps
are projections, de Saxce and Feng 1998). The matrix of all contacts is never assembled.

A sweep propagates impulses from one body to the next, so that high stacks and heavy bodies on light ones would need very many.
Sweeps therefore go there and back (symmetric Gauss-Seidel), and after `PLAIN` of them each pair begins at an extrapolation of the
last two (Nesterov 1983), with a restart where that goes too far (O'Donoghue and Candes 2015).
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals, inline, larger, smaller, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.tables import (
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

PLAIN = 20
"""Sweeps without acceleration; most steps need fewer."""
MAX_GROWTH, MIN_SHARE = 10.0, 1e-2
"""Growth of changes over the least from which the iteration returns to the least and halves the extrapolation, since friction has
no descent direction; smallest extrapolation."""


def solve(c: PileTable) -> None:
    """Solve for impulses and velocities, from velocities without contact and a guess of the impulses."""
    for i in range(6 * c.bodies):
        c.velocity[i] = c.coming[i]
    for k in range(c.contacts):
        push(
            c.row[k * ROW :],
            c.velocity[c.ends[2 * k] * 6 :],
            c.velocity[c.ends[2 * k + 1] * 6 :],
            c.r[3 * k],
            c.r[3 * k + 1],
            c.r[3 * k + 2],
        )
    c.sweeps, c.change = 0, c.allowed + 1.0
    while c.change > c.allowed and c.sweeps < min(PLAIN, c.most_sweeps):
        c.change = sweep(c)
    if c.change > c.allowed:
        go_ahead(c)


def sweep(c: PileTable) -> float:
    """Update every contact in their order, and back unless that was enough; return the largest change of a velocity."""
    change = 0.0
    for k in range(c.contacts):
        one, other = c.velocity[c.ends[2 * k] * 6 :], c.velocity[c.ends[2 * k + 1] * 6 :]
        change = larger(change, update(c.row[k * ROW :], c.r[k * 3 :], one, other))
    if change > c.allowed:
        change = 0.0
        for i in range(c.contacts):
            k = c.contacts - 1 - i
            one, other = c.velocity[c.ends[2 * k] * 6 :], c.velocity[c.ends[2 * k + 1] * 6 :]
            change = larger(change, update(c.row[k * ROW :], c.r[k * 3 :], one, other))
        c.sweeps = c.sweeps + 1
    c.sweeps = c.sweeps + 1
    return change


def update(row: Disjoint, r: Disjoint, one: Disjoint, other: Disjoint) -> float:
    """Update the impulse of one contact, and the velocities of its bodies, at the latest velocities. Return the largest change of
    a velocity."""
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
    """Set the impulse of a contact, and change the velocities of its bodies; return the largest change of a velocity."""
    by, across, along = a - r[0], b - r[1], d - r[2]
    push(row, one, other, by, across, along)
    r[0], r[1], r[2] = a, b, d
    return larger(abs(by) * row[STIFF], larger(abs(across), abs(along)) * row[STIFF + 1])


@inline
def relative(row: Reals, one: Reals, other: Reals, i: Fixed) -> float:
    """Return a component of the velocity of the second body relative to the first at their contact."""
    j, k = (i + 1) % 3, (i + 2) % 3
    spin2 = other[j] * row[ARM2 + k] - other[k] * row[ARM2 + j]
    spin1 = one[j] * row[ARM1 + k] - one[k] * row[ARM1 + j]
    return (other[3 + i] + spin2) - (one[3 + i] + spin1)


@inline
def push(row: Reals, one: Reals, other: Reals, a: float, b: float, d: float) -> None:
    """Change the velocities of both bodies by an impulse along the normal and both tangents."""
    for i in unrolled(range(3)):
        force = row[i] * a + row[3 + i] * b + row[6 + i] * d
        one[3 + i] = one[3 + i] - row[LIGHT1] * force
        other[3 + i] = other[3 + i] + row[LIGHT2] * force
    for i in unrolled(range(3)):
        one[i] = one[i] - (row[TURN1 + i] * a + row[TURN1 + 3 + i] * b + row[TURN1 + 6 + i] * d)
        other[i] = other[i] + (row[TURN2 + i] * a + row[TURN2 + 3 + i] * b + row[TURN2 + 6 + i] * d)


def go_ahead(c: PileTable) -> None:
    """Sweep on, each time from an extrapolation of the last two ends."""
    impulses, velocities = 3 * c.contacts, 6 * c.bodies
    momentum, largest_share, least = 1.0, 1.0, c.change
    copy(c.r, c.last_r, impulses)
    copy(c.velocity, c.last_velocity, velocities)
    copy(c.r, c.best_r, impulses)
    copy(c.velocity, c.best_velocity, velocities)
    while c.change > c.allowed and c.sweeps < c.most_sweeps:
        copy(c.r, c.begun, impulses)
        c.change = sweep(c)
        if c.change > MAX_GROWTH * least and largest_share > MIN_SHARE:
            largest_share, momentum = 0.5 * largest_share, 1.0
            copy(c.best_r, c.r, impulses)
            copy(c.best_velocity, c.velocity, velocities)
            copy(c.r, c.last_r, impulses)
            copy(c.velocity, c.last_velocity, velocities)
        else:
            if c.change < least:
                least = c.change
                copy(c.r, c.best_r, impulses)
                copy(c.velocity, c.best_velocity, velocities)
            turned = 0.0
            for i in range(impulses):
                turned = turned + (c.r[i] - c.begun[i]) * (c.r[i] - c.last_r[i])
            if turned < 0.0:
                momentum = 1.0
            following = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
            share, momentum = smaller((momentum - 1.0) / following, largest_share), following
            if c.change > c.allowed and c.sweeps < c.most_sweeps:  # velocities are linear in impulses
                ahead(c.r, c.last_r, impulses, share)
                ahead(c.velocity, c.last_velocity, velocities, share)


def copy(source: Disjoint, target: Disjoint, count: int) -> None:
    """Copy numbers."""
    for i in range(count):
        target[i] = source[i]


def ahead(now: Disjoint, last: Disjoint, count: int, share: float) -> None:
    """Continue along the line from the last end to the present one, which becomes the last."""
    for i in range(count):
        end = now[i]
        now[i], last[i] = end + share * (end - last[i]), end
