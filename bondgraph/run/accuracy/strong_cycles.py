"""Scales that balance strong cycles of couplings before weak cycles, for couplings that the sweeps of `balancing` leave uneven.

Couplings of states nearly at rest can be products of tiny numbers: in a beam ahead of the bending wave, 1e-100 occurs next to
1e5. Ears are short cycles found without regard to values; an ear may include such a coupling, and its scales are then wrong by a
hundred decades. Here the cycle with the largest geometric mean is balanced first and becomes one cluster, then the next cycle
(max-balancing: H. Schneider and M. H. Schneider, Math. Oper. Res. 16, 1991). A level bounds the couplings between clusters.
Relaxation (Bellman and Ford) finds scales within this bound, or a cycle with a larger mean. Means within the ratio of two levels
count as equal.
"""

from __future__ import annotations

import math
from typing import Annotated

from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import Ints, Length, Reals, Table, finite, inline, larger
from bondgraph.run.sparsity.structure import Structure

STEP, MIN_RISE = 4.0, 1.0 + 2.0**-30
"""Ratio of successive levels, and smallest growth by which a relaxation raises a scale."""
WEAKEST = 2.0**-100
"""Level, relative to the strongest cycle, below which cycles are left unbalanced."""
HIGHEST, LOWEST = 1e250, 1e-250
"""Range of the levels. If a coupling is faster, because scales have overflowed, all scales restart at one."""
NO_DRIVER = -1

PerState = Annotated[Ints, Length(lambda g: g.states)]


class StrongCycles(Table):
    """Workspace of `balance_strong_cycles`, in which a cluster has the number of one of its states.

    Each state has its `cluster`; each cluster has a factor `scale` on the scales of its states, the coupling `driver` that last
    raised this factor, or `NO_DRIVER`, and the number `mark` of the last walk through it; `marks` counts the walks.
    """

    cluster: PerState
    driver: PerState
    mark: PerState
    scale: Annotated[Reals, Length(lambda g: g.states)]
    states: int
    marks: int


def balance_strong_cycles(s: Structure, g: StrongCycles, values: Reals, scales: Reals) -> None:
    """Change the scales so that the couplings along each strong cycle are about equally fast, the strongest cycles first."""
    level = highest_level(s, values, scales)
    if not level < HIGHEST:
        for i in range(s.states):
            scales[i] = 1.0
        level = highest_level(s, values, scales)
    for i in range(s.states):
        g.cluster[i] = i
        g.scale[i] = 1.0
        g.mark[i] = 0
    g.marks = 0
    weakest = LOWEST
    while level > weakest:
        if keep_level(s, g, values, scales, level):
            weakest = larger(weakest, level * WEAKEST)
        level = level / STEP
    for i in range(s.states):
        scales[i] = scales[i] * g.scale[g.cluster[i]]


def highest_level(s: Structure, values: Reals, scales: Reals) -> float:
    level = 0.0
    for j in range(s.inners):
        flow = flow_of(s, values, scales, s.inner[j])
        level = larger(level, flow if finite(flow) else math.inf)
    return level


@inline
def flow_of(s: Structure, values: Reals, scales: Reals, k: int) -> float:
    return values[k] * scales[s.columns[k]] / scales[s.rows[k]]


def keep_level(s: Structure, g: StrongCycles, values: Reals, scales: Reals, level: float) -> bool:
    """Raise the scales of clusters until no coupling between them is faster than `level`, and join the cycles that prevent this;
    return True if a cycle was joined."""
    for i in range(s.states):
        g.driver[i] = NO_DRIVER
    is_done, has_joined = False, False
    while not is_done:
        is_done = True
        for j in range(s.inners):
            k = s.inner[j]
            row, column = g.cluster[s.rows[k]], g.cluster[s.columns[k]]
            reached = flow_of(s, values, scales, k) * g.scale[column] / level
            if row != column and reached > g.scale[row] * MIN_RISE:
                g.scale[row] = reached
                g.driver[row] = k
                is_done = False
        for i in range(s.states):
            if closes_cycle(s, g, i):
                join(s, g, values, scales, level, i)
                has_joined = True
    return has_joined


def closes_cycle(s: Structure, g: StrongCycles, start: int) -> bool:
    g.marks = g.marks + 1
    if g.cluster[start] != start:
        return False
    at = start
    while g.driver[at] != NO_DRIVER and g.mark[at] != g.marks:
        g.mark[at] = g.marks
        at = g.cluster[s.columns[g.driver[at]]]
    return g.driver[at] != NO_DRIVER and at == start


def join(s: Structure, g: StrongCycles, values: Reals, scales: Reals, level: float, start: int) -> None:
    total, length, at = 1.0, 0, start
    while length == 0 or at != start:
        k = g.driver[at]
        before = g.cluster[s.columns[k]]
        total = total * (flow_of(s, values, scales, k) * (g.scale[before] / g.scale[at]) / level)
        length += 1
        at = before
    rate, scale = level * power(total, 1.0 / float(length)), g.scale[start]
    for _ in range(length - 1):
        k = g.driver[at]
        scale = scale * (rate / flow_of(s, values, scales, k))
        at = g.cluster[s.columns[k]]
        g.scale[at] = scale
    for i in range(s.states):
        if g.mark[g.cluster[i]] == g.marks:
            scales[i] = scales[i] * g.scale[g.cluster[i]]
            g.cluster[i] = start
    g.driver[start] = NO_DRIVER
    g.scale[start] = 1.0
