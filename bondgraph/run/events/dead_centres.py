"""Dead centres: dry friction changes direction where its flow passes zero by itself, because nothing can hold the flow there.

To stick, friction with flow f needs an impulse -f / m, with mobility m = J M^-1 J^T. When friction brings its parts to rest, this
impulse is rounding error. At a dead centre the slider stands still because J vanishes, and so does m: the impulse would stop the
crank. The motion under the opposite friction then decides whether the flow passes zero, only touches zero (a cam whose rate has a
double zero), or stops.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, finite, larger
from bondgraph.run.algebraic_loops import consistent
from bondgraph.run.events.guards import firing_guards, guards_at, largest_zero, rates_at, zero_of
from bondgraph.run.events.impacts.fired_transitions import MIN_JUMP
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.questions import make_ready
from bondgraph.run.events.state import EventTable
from bondgraph.run.events.transitions import NO_TRANSITION, begin_row
from bondgraph.run.kernel_functions import all_finite, formula_time

NO_MODE = -1.0
"""Mode beyond zero for a transition that never passes zero."""
STOPS, PASSES, TOUCHES = 0, 1, 2
"""Outcomes of a flow at zero (`at_zero`)."""


def has_jumped(s: EventTable) -> bool:
    least = larger(MIN_JUMP, s.rtol)
    for k in range(s.kept_count):
        i = s.kept[k]
        if not abs(s.x_after[i] - s.x_here[i]) <= least * larger(s.sizes[i], abs(s.x_here[i])):
            return True
    return False


def is_unclear(s: EventTable, index: int) -> bool:
    """Return True if rounding errors decide whether friction that sticks after transition `index` holds: several guards can end
    the sticking, and none of their values `now` is below zero by more than its rounding error `zero`."""
    count = 0
    for i in range(s.transitions):
        if s.slots[i] == s.slots[index] and s.sources[i] == s.targets[index] and s.self_loop[i] != 1:
            count += 1
            if s.now[i] + s.zero[i] <= 0.0:
                return False
    return count > 1


def leaves_zero(s: EventTable, stop: int) -> bool:
    """Return True if the guard of transition `stop` is negative or falls from zero; call after `firing_guards`."""
    return s.now[stop] < -s.zero[stop] or (s.undecided[stop] == 1 and s.open[stop] == 0 and s.change[stop] < 0.0)


def is_still(s: EventTable, t: float, index: int) -> bool:
    """Return True if the flow of the slip that transition `index` begins, at x_after, is zero within rounding error."""
    slot, still = s.slots[index], False
    s.m_here[slot] = s.targets[index]
    guards_at(s, t, s.x_after, s.p, s.now)
    zero_of(s, t, s.x_after, s.now, s.zero)
    s.m_here[slot] = s.sources[index]
    for i in range(s.transitions):
        if s.slots[i] == slot and s.sources[i] == s.targets[index] and s.targets[i] == s.pass_modes[index]:
            still = still or abs(s.now[i]) <= s.zero[i]
    return still


def at_zero(s: EventTable, t: float, probe: float, index: int) -> int:
    """Return what a flow at zero does, `STOPS`, `PASSES` or `TOUCHES`; transition `index` would stop it and lead to x_after.
    If the transition begins a slip instead, it `PASSES` to stick if the flow is zero within rounding error."""
    if s.pass_modes[index] == NO_MODE:
        return STOPS
    slot, stop, jumps = s.slots[index], s.pass_stops[index], has_jumped(s)
    if stop == NO_TRANSITION:
        return PASSES if is_still(s, t, index) else STOPS
    if not jumps:
        s.m_here[slot] = s.targets[index]
        guards_at(s, t, s.x_after, s.p, s.now)
        largest_zero(s, t, s.x_after, s.now, s.zero)
        unclear = is_unclear(s, index)
        if unclear:
            zero_of(s, t, s.x_after, s.now, s.zero)
            unclear = is_unclear(s, index)
        s.m_here[slot] = s.sources[index]
        if not unclear:
            return STOPS
    firing_guards(s, t, s.x_here, probe)
    goes_on = s.rising[index] == 1
    beyond = s.pushed[s.transitions :]
    for i in range(s.n):
        beyond[i] = s.x_here[i]
    reset_beyond(s, t, index, beyond)
    s.m_here[slot] = s.pass_modes[index]
    firing_guards(s, t, beyond, probe)
    s.m_here[slot] = s.sources[index]
    leaves = leaves_zero(s, stop)
    if s.rising[stop] == 1:
        return STOPS if goes_on else TOUCHES
    if jumps:
        return PASSES if goes_on or leaves else TOUCHES
    return PASSES if leaves else STOPS


def reset_beyond(s: EventTable, t: float, index: int, out: Reals) -> None:
    edge = s.pass_edges[index]
    if edge >= 0:
        make_ready(s, edge)
        reset = s.resets[edge]
        if reset is not None:
            reset(formula_time(s, t), s.x_here, s.p, s.m_here, out)


def pass_zero(s: EventTable, t: float, index: int, row: Reals) -> None:
    begin_row(s, t, index, row)
    row[SCALARS.index("label")] = s.pass_labels[index]
    reset_beyond(s, t, index, s.x_after)
    s.m_after[s.slots[index]] = s.pass_modes[index]
    consistent(s, t, s.x_after)


def runs_away(s: EventTable, probe: float) -> bool:
    for j in range(s.kept_count):
        k = s.kept[j]
        size, change = larger(s.sizes[k], abs(s.x_here[k])), abs(s.speed[k]) * probe
        if not finite(change) or (size > 0.0 and change > size):
            return True
    return False


def slip_edge(s: EventTable, index: int, count: int) -> int:
    for i in range(s.transitions):
        if s.slots[i] == s.slots[index] and s.sources[i] == s.targets[index] and s.targets[i] == s.sources[index]:
            for k in range(count):
                if s.taken[k] == i:
                    return NO_TRANSITION
            return i
    return NO_TRANSITION


def slipping(s: EventTable, t: float, probe: float, count: int) -> int:
    """Return the transition, other than the `count` taken transitions, by which friction that sticks at x_here, m_here begins
    to slip because nothing can hold its flow; `NO_TRANSITION` if there is none. Call after `firing_guards`, if no guard
    fires.

    Nothing can hold the flow if the effort of friction `is_unclear`, or if the motion `runs_away`, as at the start of a run at a
    dead centre.
    """
    sticks, holds, edge = False, True, NO_TRANSITION
    for i in range(s.transitions):
        s.marked[i] = int(s.pass_stops[i] != NO_TRANSITION and s.m_here[s.slots[i]] == s.targets[i])
        sticks = sticks or s.marked[i] == 1
    if not sticks:
        return NO_TRANSITION
    away, must = runs_away(s, probe), not all_finite(s.speed, s.n)
    for i in range(s.transitions):
        if s.marked[i] == 1:
            s.marked[i] = int(away or is_unclear(s, i))
            holds = holds and s.marked[i] != 1
    if holds:
        return NO_TRANSITION
    for i in range(s.transitions):
        if s.marked[i] == 1:
            s.m_here[s.slots[i]] = s.sources[i]
    for i in range(s.transitions):
        if s.marked[i] == 1 and edge == NO_TRANSITION:
            others = s.m_here[s.slots[i]]
            s.m_here[s.slots[i]] = s.sources[i]
            firing_guards(s, t, s.x_here, probe)
            if s.rising[i] != 1 and leaves_zero(s, i):
                edge = slip_edge(s, i, count)
            s.m_here[s.slots[i]] = others
    if edge == NO_TRANSITION and must:
        rates_at(s, t, s.x_here, s.p, s.speed)
        if all_finite(s.speed, s.n):
            for i in range(s.transitions):
                if s.marked[i] == 1 and edge == NO_TRANSITION:
                    edge = slip_edge(s, i, count)
    for i in range(s.transitions):
        if s.marked[i] == 1:
            s.m_here[s.slots[i]] = s.targets[i]
    return edge
