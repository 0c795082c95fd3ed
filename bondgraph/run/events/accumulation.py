"""Accumulation of events (Zeno behaviour): chattering or shrinking intervals between the events of a transition, and the state of
rest that replaces these events."""

from __future__ import annotations

from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import Reals, inline, larger, smaller
from bondgraph.run.algebraic_loops import consistent
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.questions import has_room, make_ready
from bondgraph.run.events.state import CHATTERING, HISTORY, ZENO, EventTable
from bondgraph.run.events.transitions import NO_TRANSITION, begin_row, finish_transition, row_of
from bondgraph.run.kernel_functions import formula_time

WINDOW, RATIOS = 50, 8
"""The last WINDOW events are tested for chattering, and the last RATIOS ratios of their intervals for a geometric series."""
CHATTER_ROUNDING, CHATTER_SPAN = 64.0 * WINDOW * 2.3e-16, 1e-10
"""`WINDOW` events count as chattering within the fraction CHATTER_ROUNDING of the time of the last event, or within the
fraction CHATTER_SPAN of the run's duration."""
REST_SPAN, MAX_SHRINKAGE = 1e-5, 0.95
"""`HISTORY` events within the fraction REST_SPAN of the run lead to a state of rest, if there is one, unless the last
`WINDOW` intervals together are shorter than MAX_SHRINKAGE times the first `WINDOW`."""
RATIO_SPREAD = 0.05
"""Largest relative difference between the ratios of a geometric series."""

_INFINITE = float("inf")


@inline
def ring_index(number: int) -> int:
    return number if number < HISTORY else number - HISTORY


def window_length(ring: Reals, first: int) -> float:
    total, before = 0.0, ring[ring_index(first)]
    for k in range(WINDOW):
        time = ring[ring_index(first + k + 1)]
        total = total + (time - before)
        before = time
    return total


def geometric(s: EventTable, ring: Reals, count: int) -> bool:
    first = count - (RATIOS + 2)
    before = ring[ring_index(first + 1)]
    step = before - ring[ring_index(first)]
    total, most, least = 0.0, 0.0, _INFINITE
    if not step > 0.0:
        return False
    for k in range(RATIOS):
        time = ring[ring_index(first + k + 2)]
        following = time - before
        if not 0.0 < following < step:
            return False
        ratio = following / step
        total, most, least = total + ratio, larger(most, ratio), smaller(least, ratio)
        before, step = time, following
    mean = total / float(RATIOS)
    remaining = step * mean / (1.0 - mean)
    return most - least < RATIO_SPREAD * mean and remaining < s.rtol * s.span


def add_event(s: EventTable, t: float, i: int) -> int:
    ring, before = s.times[i * HISTORY :], s.counts[i]
    ring[ring_index(before)] = t
    following = before + 1
    count = following if following < 2 * HISTORY else following - HISTORY
    s.counts[i] = count
    brief = larger(CHATTER_SPAN * s.span, CHATTER_ROUNDING * abs(t))
    if count >= WINDOW and t - ring[ring_index(count - WINDOW)] <= brief:
        return CHATTERING
    may_rest = s.may_rest[i] == 1 and count >= HISTORY and t - ring[ring_index(count - HISTORY)] <= REST_SPAN * s.span
    if may_rest and window_length(ring, count - 1 - WINDOW) >= MAX_SHRINKAGE * window_length(ring, count - HISTORY):
        return CHATTERING
    return ZENO if count >= RATIOS + 2 and geometric(s, ring, count) else 0


def add_resting(s: EventTable, i: int) -> None:
    if s.marked[i] != 1:
        s.marked[i] = 1
        s.resting[s.resting_count] = i
        s.resting_count += 1


def add_events(s: EventTable, t: float) -> None:
    """Add the events of the transitions `all_fired` at t. List in `resting` the transitions that a state of rest replaces; if the
    events of another transition form a pattern, write the first such pattern to `pattern` and the row of its transition to
    `suspect`."""
    s.resting_count, s.pattern = 0, 0
    for i in range(s.transitions):
        s.marked[i] = 0
    for k in range(s.stuck_count):
        if s.may_rest[s.stuck[k]] == 1:
            add_resting(s, s.stuck[k])
    for k in range(s.all_fired_count):
        i = s.all_fired[k]
        pattern = add_event(s, t, i)
        if pattern != 0:
            if s.may_rest[i] == 1:
                add_resting(s, i)
            elif s.pattern == 0:
                s.pattern, s.suspect = pattern, s.all_fired_rows[k]


def limit_of(s: EventTable, i: int) -> float:
    """Return the limit of the times of the last events of transition i, extrapolated as a geometric series if their intervals
    shrink, or else the last time (0 without events); clear the times."""
    ring, count = s.times[i * HISTORY :], s.counts[i]
    s.counts[i] = 0
    if count == 0:
        return 0.0
    last, first = ring[ring_index(count - 1)], max(count - (RATIOS + 2), 0)
    steps = count - 1 - first
    if steps < 2:
        return last
    before, step = ring[ring_index(first)], 0.0
    opening = ring[ring_index(first + 1)] - before
    for k in range(steps):
        time = ring[ring_index(first + k + 1)]
        step = time - before
        before = time
        if not step > 0.0:
            return last
    ratio = power(step / opening, 1.0 / float(steps - 1))
    return last + (step * ratio / (1.0 - ratio) if ratio < 1.0 else 0.0)


def rest_one(s: EventTable, t: float, i: int, limit: float, number: int) -> bool:
    """Put transition i, whose events accumulate at `limit`, to rest, and write row `number` of the log; return False if the
    automaton is in another mode or the log is full."""
    slot, edge = s.slots[i], s.rest_edges[i]
    if s.m_here[slot] != s.targets[i] or not has_room(s, number):
        return False
    row = row_of(s, number)
    begin_row(s, t, i if edge == NO_TRANSITION else edge, row)
    row[SCALARS.index("limit")] = limit
    row[SCALARS.index("label")] = s.rest_labels[i]
    if edge >= 0:
        make_ready(s, edge)
        reset = s.resets[edge]
        if reset is not None:
            reset(formula_time(s, t), s.x_here, s.p, s.m_here, s.x_after)
    s.m_after[slot] = s.rest_modes[i]
    consistent(s, t, s.x_after)
    finish_transition(s, row)
    return True


def mark_rested(s: EventTable) -> bool:
    is_new = False
    for k in range(s.resting_count):
        if s.rested[s.resting[k]] != 1:
            is_new = True
            s.rested[s.resting[k]] = 1
    return is_new


def rest(s: EventTable, t: float, row: int) -> int:
    written = 0
    for k in range(s.resting_count):
        i = s.resting[k]
        written += int(rest_one(s, t, i, limit_of(s, i), row + written))
    return written
