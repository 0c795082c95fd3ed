"""Passing of zero: dry friction changes its direction where its flow passes zero by itself, since nothing can hold it there.

Sticking takes an impulse -f / m of the flow f, m = J M^-1 J^T its mobility. It is rounding where friction brings its parts to
rest. At a dead centre the slider stands still because J vanishes, and so does m: the impulse would stop the crank. Where it would
make a state jump, or where the effort that would hold the flow is nothing but rounding, the flow under the opposite friction
decides: if that does not turn it back, zero is passed, without any impulse. So a flow that another event has reversed is not
stopped either: the limit of friction is finite.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, larger
from bondgraph.run.algebraic_loops import consistent
from bondgraph.run.events.guards import firing_guards, guards_at, zero_of
from bondgraph.run.events.impacts.fired_transitions import MIN_JUMP
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.questions import make_ready
from bondgraph.run.events.state import EventTable
from bondgraph.run.events.transitions import begin_row
from bondgraph.run.kernel_functions import formula_time

NO_MODE = -1.0
"""Mode of a transition that passes nothing."""


def has_jumped(s: EventTable) -> bool:
    """Return True if a state after a transition differs from x_here."""
    for k in range(s.kept_count):
        i = s.kept[k]
        if not abs(s.x_after[i] - s.x_here[i]) <= MIN_JUMP * larger(s.sizes[i], abs(s.x_here[i])):
            return True
    return False


def is_unclear(s: EventTable, index: int) -> bool:
    """Return True if the effort of friction that sticks after transition `index` is nothing but rounding: all guards that end the
    sticking, one for each sense, are within their rounding errors `zero` of firing, which are `now`."""
    count = 0
    for i in range(s.transitions):
        if s.slots[i] == s.slots[index] and s.sources[i] == s.targets[index] and s.self_loop[i] != 1:
            count += 1
            if s.now[i] + s.zero[i] <= 0.0:
                return False
    return count > 1


def leaves_zero(s: EventTable, stop: int) -> bool:
    """Return True if the guard of transition `stop` is negative, or falls from zero, after a look at the guards."""
    return s.now[stop] < -s.zero[stop] or (s.asked[stop] == 1 and s.open[stop] == 0 and s.change[stop] < 0.0)


def passes_zero(s: EventTable, t: float, probe: float, index: int) -> bool:
    """Return True if transition `index`, fired into x_after, would stop a flow that passes zero by itself: its impulse makes a
    state jump, and in the mode beyond zero no guard turns the flow back; or no effort that holds the flow is clear, and the flow
    leaves zero in that mode."""
    if s.pass_modes[index] == NO_MODE:
        return False
    slot, stop, jumps = s.slots[index], s.pass_stops[index], has_jumped(s)
    if not jumps:
        s.m_here[slot] = s.targets[index]
        guards_at(s, t, s.x_after, s.p, s.now)
        zero_of(s, t, s.x_after, s.now, s.zero)
        s.m_here[slot] = s.sources[index]
        if not is_unclear(s, index):
            return False
    s.m_here[slot] = s.pass_modes[index]
    firing_guards(s, t, s.x_here, probe)
    s.m_here[slot] = s.sources[index]
    return stop >= 0 and s.rising[stop] != 1 and (jumps or leaves_zero(s, stop))


def pass_zero(s: EventTable, t: float, index: int, row: Reals) -> None:
    """Pass zero at transition `index`, in its row of the log: nothing jumps but what the edge to the mode beyond zero resets."""
    begin_row(s, t, index, row)
    row[SCALARS.index("label")] = s.pass_labels[index]
    edge = s.pass_edges[index]
    if edge >= 0:
        make_ready(s, edge)
        reset = s.resets[edge]
        if reset is not None:
            reset(formula_time(s, t), s.x_here, s.p, s.m_here, s.x_after)
    s.m_after[s.slots[index]] = s.pass_modes[index]
    consistent(s, t, s.x_after)
