"""Rolling and spinning friction of contacts: torques, limited by the normal force, that oppose the relative spin of two bodies.

With relative spin w and normal impulse r_n at a contact, the torque impulse t obeys

    |t_n| <= spinning r_n, against w_n        |t_t| <= rolling r_n, against w_t

with both coefficients in m (rolling resistance lengths), and equality if that spin, w_n or w_t, is not zero: Coulomb's law for
torques. The law is solved like friction, by projections within the sweeps (Johnson, Contact mechanics 1985,
section 8.3 and chapter 9).
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals, inline, larger, smaller, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.tables import ARM1, ARM2, LIGHT1, LIGHT2, RESISTANCE, ROW, PileTable

ROLLING, SPINNING, STIFF_SPIN, STIFF_ROLL, LEVER, BY1, BY2 = 0, 1, 2, 3, 4, 5, 14
"""Offsets in the row of a contact's resistance: rolling and spinning resistance lengths; change of the relative spin by a unit
torque impulse about the normal, and the largest such change about a tangent; length of the longest arm; changes of the spins of
body 1 and body 2 by unit torque impulses about the normal and both tangents."""


def make_resistance(c: PileTable) -> None:
    for k in range(c.contacts):
        row, resistance, one, other = c.row[k * ROW :], c.resistance[k * RESISTANCE :], c.ends[2 * k], c.ends[2 * k + 1]
        resistance[ROLLING], resistance[SPINNING] = c.set_rolling[c.set_of[k]], c.set_spinning[c.set_of[k]]
        for i in unrolled(range(3)):
            for j in unrolled(range(3)):
                resistance[BY1 + 3 * i + j] = turned(c.turn[one * 9 :], row, i, j)
                resistance[BY2 + 3 * i + j] = turned(c.turn[other * 9 :], row, i, j)
            c.r[3 * (c.contacts + k) + i] = 0.0
        w11, w22, w12 = softness(row, resistance, 1, 1), softness(row, resistance, 2, 2), softness(row, resistance, 1, 2)
        resistance[STIFF_SPIN] = softness(row, resistance, 0, 0)
        resistance[STIFF_ROLL] = 0.5 * (w11 + w22 + sqrt((w11 - w22) * (w11 - w22) + 4.0 * w12 * w12))
        first, second = 0.0, 0.0
        for i in unrolled(range(3)):
            first, second = first + row[ARM1 + i] * row[ARM1 + i], second + row[ARM2 + i] * row[ARM2 + i]
        resistance[LEVER] = sqrt(larger(first if row[LIGHT1] > 0.0 else 0.0, second if row[LIGHT2] > 0.0 else 0.0))


@inline
def turned(W: Reals, row: Reals, i: Fixed, j: Fixed) -> float:
    """Return a component of the spin change that a unit torque impulse along a contact direction causes."""
    return W[3 * j] * row[3 * i] + W[3 * j + 1] * row[3 * i + 1] + W[3 * j + 2] * row[3 * i + 2]


@inline
def softness(row: Reals, resistance: Reals, i: Fixed, j: Fixed) -> float:
    """Return the relative spin along a direction of a contact due to a unit torque impulse along another direction."""
    total = 0.0
    for m in unrolled(range(3)):
        total = total + row[3 * i + m] * (resistance[BY1 + 3 * j + m] + resistance[BY2 + 3 * j + m])
    return total


@inline
def spin_along(row: Reals, one: Reals, other: Reals, i: Fixed) -> float:
    x, y, z = other[0] - one[0], other[1] - one[1], other[2] - one[2]
    return row[3 * i] * x + row[3 * i + 1] * y + row[3 * i + 2] * z


def resist(row: Disjoint, resistance: Disjoint, normal: float, t: Disjoint, one: Disjoint, other: Disjoint) -> float:
    """Update the torque impulses of a contact and the spins of its bodies; return the largest change of a velocity at the
    contact."""
    if normal == 0.0 and t[0] == 0.0 and t[1] == 0.0 and t[2] == 0.0:
        return 0.0
    limit = resistance[SPINNING] * normal
    a = smaller(larger(t[0] - spin_along(row, one, other, 0) / resistance[STIFF_SPIN], -limit), limit)
    b = t[1] - spin_along(row, one, other, 1) / resistance[STIFF_ROLL]
    d = t[2] - spin_along(row, one, other, 2) / resistance[STIFF_ROLL]
    limit = resistance[ROLLING] * normal
    size = sqrt(b * b + d * d)
    share = limit / size if size > limit else 1.0
    by, across, along = a - t[0], b * share - t[1], d * share - t[2]
    twist(resistance, one, other, by, across, along)
    t[0], t[1], t[2] = a, b * share, d * share
    rolled = larger(abs(across), abs(along)) * resistance[STIFF_ROLL]
    return resistance[LEVER] * larger(abs(by) * resistance[STIFF_SPIN], rolled)


@inline
def twist(resistance: Reals, one: Reals, other: Reals, a: float, b: float, d: float) -> None:
    for i in unrolled(range(3)):
        one[i] = one[i] - (resistance[BY1 + i] * a + resistance[BY1 + 3 + i] * b + resistance[BY1 + 6 + i] * d)
        other[i] = other[i] + (resistance[BY2 + i] * a + resistance[BY2 + 3 + i] * b + resistance[BY2 + 6 + i] * d)
