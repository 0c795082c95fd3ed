"""Islands of bodies that press on each other: an island falls asleep after all its bodies have been slow for a while.

A sleeping body stays where it is, without momentum. It wakes, with its whole island, if a moving body may come near during a
step, or if the forces on it differ from those at which it fell asleep.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import inline, sqrt, unrolled
from bondgraph.stepping.free_bodies.machine.broad_phase import INFINITE
from bondgraph.stepping.free_bodies.machine.motion import kinetic
from bondgraph.stepping.free_bodies.machine.tables import ASLEEP, LOST, RECORD, PileTable

QUIET_STEPS = 20
"""Number of consecutive steps in which all bodies of an island are slow before the island falls asleep."""
SAME_FORCE = 1e-9
"""Largest relative change of a wrench that does not wake a body."""


def wake_by_forces(c: PileTable) -> bool:
    has_woken = False
    for b in range(c.free):
        if c.asleep[b] == 1:
            change, size = 0.0, 0.0
            for i in unrolled(range(6)):
                change = max(change, abs(c.wrench[6 * b + i] / c.h - c.held[6 * b + i]))
                size = max(size, abs(c.held[6 * b + i]))
            if change > SAME_FORCE * size:
                wake(c, b)
                has_woken = True
    return has_woken


def wake_by_contacts(c: PileTable) -> bool:
    has_woken = False
    for k in range(c.contacts):
        for s in unrolled(range(2)):
            b = c.body[c.shape1[k]] if s == 0 else c.body[c.shape2[k]]
            if b < c.free and c.asleep[b] == 1:
                wake(c, b)
                has_woken = True
    return has_woken


def wake(c: PileTable, b: int) -> None:
    label = c.island[b]
    for other in range(c.free):
        if c.asleep[other] == 1 and c.island[other] == label:
            c.asleep[other], c.quiet[other] = 0, 0


def let_sleep(c: PileTable) -> None:
    for b in range(c.free):
        if c.asleep[b] == 0:
            v, radius = c.velocity[b * 6 :], c.radius[b]
            speed = sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
            turning = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) * (radius if radius < INFINITE else 0.0)
            c.quiet[b] = c.quiet[b] + 1 if speed + turning <= c.sleep else 0
            c.island[b] = b
    for k in range(c.contacts):
        if c.r[3 * k] > 0.0:
            one, other = c.ends[2 * k], c.ends[2 * k + 1]
            if one < c.free and other < c.free:
                one, other = root_of(c, one), root_of(c, other)
                c.island[max(one, other)] = min(one, other)
    for b in range(c.free):
        root = root_of(c, b)
        if c.asleep[b] == 0 and c.quiet[b] < c.quiet[root]:
            c.quiet[root] = c.quiet[b]
    asleep = 0.0
    for b in range(c.free):
        if c.asleep[b] == 0 and c.quiet[root_of(c, b)] >= QUIET_STEPS:
            fall_asleep(c, b)
        asleep = asleep + float(c.asleep[b])
    c.record[c.taken * RECORD + ASLEEP] = asleep


def root_of(c: PileTable, b: int) -> int:
    root = b
    while c.island[root] != root:
        root = c.island[root]
    return root


@inline
def fall_asleep(c: PileTable, b: int) -> None:
    label = root_of(c, b)
    at = c.taken * RECORD + LOST
    c.record[at] = c.record[at] + kinetic(c, b)
    for i in unrolled(range(6)):
        c.x[c.momentum[b] + i] = 0.0
        c.held[6 * b + i] = c.wrench[6 * b + i] / c.h
    c.asleep[b], c.island[b] = 1, label
