"""Step of free bodies: forces, velocities without contacts, reach, and effects of contacts and forces.

A step keeps momenta in world coordinates, so the linear and angular momentum of a body without forces change only by rounding
errors; positions move with the velocities at the end of the step (Moreau 1988; Stewart and Trinkle 1996).
"""

from __future__ import annotations

from bondgraph.emit.elementary.functions import sine_and_cosine
from bondgraph.emit.kernel_language.language import Fixed, Reals, empty_like, inline, larger, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.broad_phase import INFINITE
from bondgraph.stepping.free_bodies.machine.rows import along
from bondgraph.stepping.free_bodies.machine.tables import (
    ALLOWED,
    ARM1,
    ARM2,
    CHANGE,
    LOST,
    OVERLAP,
    PRESSING,
    RECORD,
    ROW,
    SLIP,
    STEP_LOSS,
    SUPPLIED,
    SWEEPS,
    PileTable,
)

PUSH_REACH = 0.2
"""Fraction of the fastest body's displacement that is added to the reach of every body."""


def begin(c: PileTable) -> None:
    for b in range(c.free):
        begin_free(c, b)
        if c.asleep[b] == 1:
            for i in unrolled(range(6)):
                c.before[6 * b + i], c.coming[6 * b + i], c.moment[6 * b + i] = 0.0, 0.0, 0.0
    for b in range(c.free, c.bodies):
        begin_moved(c, b, c.placement[(b - c.free) * 13 :])
    c.fastest = 0.0
    for b in range(c.bodies):
        v, radius = c.coming[b * 6 :], c.radius[b]
        turning = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) * (radius if radius < INFINITE else 0.0)
        c.reach[b] = sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5]) + turning
        c.fastest = larger(c.fastest, c.reach[b])
    for b in range(c.bodies):
        c.reach[b] = c.h * (c.reach[b] + PUSH_REACH * c.fastest)


def begin_free(c: PileTable, b: int) -> None:
    q, P, force = c.x[c.pose[b] :], c.x[c.momentum[b] :], c.rate[c.momentum[b] :]
    R, centre, J, W = c.R[b * 9 :], c.centre[b * 3 :], c.inverse_inertia[b * 9 :], c.turn[b * 9 :]
    matrix_of(q, R)
    # Momenta and forces about the centre of mass, in body coordinates; the rate due to rotation with the body is not a force.
    spin, about, push, torque = empty_like(c.gap, 3), empty_like(c.gap, 3), empty_like(c.gap, 3), empty_like(c.gap, 3)
    for i in unrolled(range(3)):
        c.origin[b * 3 + i] = q[4 + i]
        c.place[b * 3 + i] = q[4 + i] + times(R, centre, i)
        about[i] = P[i] - crossed(centre, P[3:], i)
    for i in unrolled(range(3)):
        spin[i] = times(J, about, i)
    for i in unrolled(range(3)):
        push[i] = force[3 + i] - crossed(P[3:], spin, i)
    for i in unrolled(range(3)):
        torque[i] = force[i] - carried(c, b, P, spin, i) - crossed(centre, push, i)
    for i in unrolled(range(3)):
        for j in unrolled(range(3)):
            total = 0.0
            for k in unrolled(range(3)):
                total = total + (R[3 * i] * J[k] + R[3 * i + 1] * J[3 + k] + R[3 * i + 2] * J[6 + k]) * R[3 * j + k]
            W[3 * i + j] = total
    before, coming, moment, wrench = c.before[b * 6 :], c.coming[b * 6 :], c.moment[b * 6 :], c.wrench[b * 6 :]
    for i in unrolled(range(3)):
        wrench[i], wrench[3 + i] = c.h * times(R, torque, i), c.h * times(R, push, i)
        before[i], before[3 + i] = times(R, spin, i), c.light[b] * times(R, P[3:], i)
        moment[i], moment[3 + i] = times(R, about, i) + wrench[i], times(R, P[3:], i) + wrench[3 + i]
    for i in unrolled(range(3)):
        coming[i], coming[3 + i] = times(W, moment, i), c.light[b] * moment[3 + i]


@inline
def carried(c: PileTable, b: int, P: Reals, spin: Reals, i: Fixed) -> float:
    """Return a component of the rate of a body's angular momentum, about its origin in its own axes, if its momentum in the world
    is constant."""
    # P_angular x spin + P_linear x v, where v = v_centre - spin x centre, and P_linear is along v_centre
    j, k = (i + 1) % 3, (i + 2) % 3
    centre = c.centre[b * 3 :]
    return crossed(P, spin, i) - (P[3 + j] * crossed(spin, centre, k) - P[3 + k] * crossed(spin, centre, j))


def begin_moved(c: PileTable, b: int, at: Reals) -> None:
    matrix_of(at, c.R[b * 9 :])
    for i in unrolled(range(3)):
        c.origin[b * 3 + i] = at[4 + i]
        c.place[b * 3 + i] = at[4 + i]
        c.before[b * 6 + i] = at[7 + i]
        c.before[b * 6 + 3 + i] = at[10 + i] + crossed(at[7:], at[4:], i)
    for i in unrolled(range(6)):
        c.coming[b * 6 + i] = c.before[b * 6 + i]


@inline
def times(R: Reals, v: Reals, i: Fixed) -> float:
    return R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2]


@inline
def times_back(R: Reals, v: Reals, i: Fixed) -> float:
    return R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2]


@inline
def crossed(a: Reals, b: Reals, i: Fixed) -> float:
    j, k = (i + 1) % 3, (i + 2) % 3
    return a[j] * b[k] - a[k] * b[j]


def matrix_of(q: Reals, R: Reals) -> None:
    w, x, y, z = q[0], q[1], q[2], q[3]
    real = w * w - (x * x + y * y + z * z)
    R[0], R[1], R[2] = real + 2.0 * x * x, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[3], R[4], R[5] = 2.0 * (x * y + w * z), real + 2.0 * y * y, 2.0 * (y * z - w * x)
    R[6], R[7], R[8] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), real + 2.0 * z * z


def account_for_contacts(c: PileTable) -> None:
    record = c.record[c.taken * RECORD :]
    for i in unrolled(range(RECORD)):
        record[i] = 0.0
    pressing, lost, supplied, slip, overlap = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(c.contacts):
        row, r, f, one, other = c.row[k * ROW :], c.r[k * 3 :], c.impulse[k * 3 :], c.ends[2 * k], c.ends[2 * k + 1]
        overlap = larger(overlap, -c.gap[k])
        if r[0] > 0.0:
            across, sideways = 0.0, 0.0
            for i in unrolled(range(3)):
                after = along(row, c.velocity[one * 6 :], c.velocity[other * 6 :], i)
                lost = lost - 0.5 * r[i] * (along(row, c.before[one * 6 :], c.before[other * 6 :], i) + after)
                if i == 1:
                    across = after
                if i == 2:
                    sideways = after
            pressing, slip = pressing + 1.0, larger(slip, sqrt(across * across + sideways * sideways))
            supplied = supplied + push_body(c, one, row[ARM1:], f, -1.0) + push_body(c, other, row[ARM2:], f, 1.0)
            if c.resisting == 1:
                t = c.torque[k * 3 :]
                for i in unrolled(range(3)):
                    before = c.before[other * 6 + i] - c.before[one * 6 + i]
                    lost = lost - 0.5 * t[i] * (before + c.velocity[other * 6 + i] - c.velocity[one * 6 + i])
                supplied = supplied + turn_body(c, one, t, -1.0) + turn_body(c, other, t, 1.0)
    record[LOST], record[SUPPLIED], record[SLIP], record[OVERLAP], record[PRESSING] = lost, supplied, slip, overlap, pressing
    record[CHANGE], record[ALLOWED], record[SWEEPS] = c.change, c.allowed, float(c.sweeps)


def push_body(c: PileTable, b: int, arm: Reals, f: Reals, sign: float) -> float:
    supplied = 0.0
    if b < c.free:
        moment = c.moment[b * 6 :]
        for i in unrolled(range(3)):
            moment[i], moment[3 + i] = moment[i] + sign * crossed(arm, f, i), moment[3 + i] + sign * f[i]
    else:
        v = c.before[b * 6 :]
        for i in unrolled(range(3)):
            supplied = supplied - sign * f[i] * (v[3 + i] + crossed(v, arm, i))
    return supplied


def turn_body(c: PileTable, b: int, t: Reals, sign: float) -> float:
    supplied = 0.0
    for i in unrolled(range(3)):
        if b < c.free:
            c.moment[b * 6 + i] = c.moment[b * 6 + i] + sign * t[i]
        else:
            supplied = supplied - sign * t[i] * c.before[b * 6 + i]
    return supplied


def keep_momenta(c: PileTable) -> None:
    for b in range(c.free):
        if c.asleep[b] == 1:
            continue
        P, moment, centre, R = c.x[c.momentum[b] :], c.moment[b * 6 :], c.centre[b * 3 :], c.R[b * 9 :]
        for i in unrolled(range(3)):
            P[3 + i] = times_back(R, moment[3:], i)
        for i in unrolled(range(3)):
            P[i] = times_back(R, moment, i) + crossed(centre, P[3:], i)


def move(c: PileTable) -> None:
    """Move the poses by spins and centre velocities that are constant during the step; record the energy that the step itself
    loses."""
    loss = 0.0
    for b in range(c.free):
        if c.asleep[b] == 1:
            continue
        q, R, v, moment, centre = c.x[c.pose[b] :], c.R[b * 9 :], c.velocity[b * 6 :], c.moment[b * 6 :], c.centre[b * 3 :]
        before, wrench = c.before[b * 6 :], c.wrench[b * 6 :]
        for i in unrolled(range(6)):
            loss = loss + 0.5 * (wrench[i] * (v[i] - before[i]) + moment[i] * v[i])
        turn_quaternion(q, v, c.h)
        matrix_of(q, R)
        for i in unrolled(range(3)):
            c.place[b * 3 + i] = c.place[b * 3 + i] + c.h * v[3 + i]
            q[4 + i] = c.place[b * 3 + i] - times(R, centre, i)
        loss = loss - kinetic(c, b)
    c.record[c.taken * RECORD + STEP_LOSS] = loss
    keep_momenta(c)


def kinetic(c: PileTable, b: int) -> float:
    energy, about, R, moment, J = 0.0, empty_like(c.gap, 3), c.R[b * 9 :], c.moment[b * 6 :], c.inverse_inertia[b * 9 :]
    for i in unrolled(range(3)):
        about[i] = times_back(R, moment, i)
    for i in unrolled(range(3)):
        energy = energy + 0.5 * (about[i] * times(J, about, i) + c.light[b] * moment[3 + i] * moment[3 + i])
    return energy


def turn_quaternion(q: Reals, spin: Reals, h: float) -> None:
    """Rotate a unit quaternion by an angular velocity in world axes for h seconds."""
    wave = empty_like(q, 2)
    speed = sqrt(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2])
    sine_and_cosine(0.5 * h * speed, wave)
    share = wave[0] / speed if speed > 0.0 else 0.5 * h
    x, y, z, w = share * spin[0], share * spin[1], share * spin[2], wave[1]
    a, b, c, d = q[0], q[1], q[2], q[3]
    p0, p1 = w * a - (x * b + y * c + z * d), w * b + a * x + (y * d - z * c)
    p2, p3 = w * c + a * y + (z * b - x * d), w * d + a * z + (x * c - y * b)
    size = sqrt(p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
    q[0], q[1], q[2], q[3] = p0 / size, p1 / size, p2 / size, p3 / size
