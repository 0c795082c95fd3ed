"""Accumulation (Zeno behaviour): `AccumulationDetector` and `iteration.rest_transition`.

It records the times of the events of each transition, detects chattering and accumulation, and writes the rows of the log that
lead to states of rest.
"""

from __future__ import annotations

from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import Reals, inline, larger, smaller
from bondgraph.run.events.algebraic_loops import consistent
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.reference.accumulation import (
    CHATTER_ROUNDING,
    CHATTER_SPAN,
    HISTORY,
    MAX_SHRINKAGE,
    RATIO_SPREAD,
    RATIOS,
    REST_SPAN,
    WINDOW,
)
from bondgraph.run.events.state import EventTable
from bondgraph.run.events.transitions import NO_TRANSITION, PYTHON_FALLBACK, begin_row, go_on, has_room, row_of
from bondgraph.run.kernel_functions import formula_time

_INFINITE = float("inf")


@inline
def ring_index(number: int) -> int:
    """Return the index of this number of a sequence in its ring buffer."""
    return number if number < HISTORY else number - HISTORY


def window_length(ring: Reals, first: int) -> float:
    """Return the sum of the `WINDOW` intervals from this number of a sequence on."""
    total, before = 0.0, ring[ring_index(first)]
    for k in range(WINDOW):
        time = ring[ring_index(first + k + 1)]
        total = total + (time - before)
        before = time
    return total


def geometric(s: EventTable, ring: Reals, count: int) -> bool:
    """Return True if the intervals of the last `RATIOS` + 2 of `count` events shrink as a geometric series with a negligible
    remainder."""
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


def add_event(s: EventTable, t: float, i: int) -> bool:
    """Add an event of transition i at t, as `AccumulationDetector.add`; return True if its times show no pattern."""
    ring, following = s.times[i * HISTORY :], s.counts[i] + 1
    count = following if following < 2 * HISTORY else following - HISTORY
    s.counts[i] = count
    brief = larger(CHATTER_SPAN * s.span, CHATTER_ROUNDING * abs(t))
    if count >= WINDOW and t - ring[ring_index(count - WINDOW)] <= brief:
        return False
    may_rest = s.may_rest[i] == 1 and count >= HISTORY and t - ring[ring_index(count - HISTORY)] <= REST_SPAN * s.span
    if may_rest and window_length(ring, count - 1 - WINDOW) >= MAX_SHRINKAGE * window_length(ring, count - HISTORY):
        return False
    return not (count >= RATIOS + 2 and geometric(s, ring, count))


def note(s: EventTable, i: int) -> None:
    """Save the count of a transition, and the time that its next event overwrites, for `forget`."""
    k, count = s.noted, s.counts[i]
    s.noted_of[k] = i
    s.counted[k] = count
    s.overwritten[k] = s.times[i * HISTORY + ring_index(count)]
    s.noted = k + 1


def forget(s: EventTable) -> None:
    """Restore all saved values, the last first."""
    count = s.noted
    for back in range(count):
        k = count - 1 - back
        i, before = s.noted_of[k], s.counted[k]
        s.counts[i] = before
        s.times[i * HISTORY + ring_index(before)] = s.overwritten[k]


def add_resting(s: EventTable, i: int, count: int) -> int:
    """Write transition i to the `count` transitions in `resting`, once; return their new number, -1 without a state of rest."""
    if s.may_rest[i] != 1:
        return -1
    if s.marked[i] == 1:
        return count
    s.marked[i] = 1
    s.resting[count] = i
    return count + 1


def add_events(s: EventTable, t: float, count: int) -> int:
    """Note `count` events at t of the transitions `watched`; return the number of transitions that come to rest, and write them
    to `resting`, the `stuck` one first; -1 if one should come to rest and cannot."""
    for i in range(s.transitions):
        s.marked[i] = 0
    resting_count = 0
    if s.stuck >= 0:
        resting_count = add_resting(s, s.stuck, 0)
        if resting_count < 0:
            return -1
    for k in range(count):
        i = s.watched[k]
        note(s, i)
        s.times[i * HISTORY + ring_index(s.counts[i])] = t
        if not add_event(s, t, i):
            resting_count = add_resting(s, i, resting_count)
            if resting_count < 0:
                return -1
    return resting_count


def limit_of(s: EventTable, i: int) -> float:
    """Return the limit of the times of the last events of transition i, as a geometric series, or the last of them if there is
    none; forget them (`AccumulationDetector.limit`)."""
    ring, count = s.times[i * HISTORY :], s.counts[i]
    note(s, i)
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


def rest_one(s: EventTable, t: float, i: int, limit: float, row: Reals) -> int:
    """Bring transition i to rest, whose events accumulate towards `limit`, in a row (`iteration.rest_transition`): return 1, 0 if
    the automaton is in another mode, -1 for Python."""
    slot, edge = s.slots[i], s.rest_edges[i]
    if s.m_here[slot] != s.targets[i]:
        return 0
    begin_row(s, t, i if edge == NO_TRANSITION else edge, row)
    row[SCALARS.index("limit")] = limit
    row[SCALARS.index("label")] = s.rest_labels[i]
    if edge >= 0:
        if s.ready[edge] != 1:
            return -1
        reset = s.resets[edge]
        if reset is not None:
            reset(formula_time(s, t), s.x_here, s.p, s.m_here, s.x_after)
    s.m_after[slot] = s.rest_modes[i]
    if not consistent(s, t, s.x_after):
        return -1
    go_on(s, row)
    return 1


def rest(s: EventTable, t: float, count: int, row: int) -> int:
    """Bring the first `count` transitions of `resting` to rest, in rows from `row` on; return the number of rows, negative for
    Python."""
    written, new = 0, False
    for k in range(count):
        if s.rested[s.resting[k]] != 1:
            new = True
            s.rested[s.resting[k]] = 1
    if not new:
        return -1
    for k in range(count):
        i = s.resting[k]
        if not has_room(s, row + written):
            return PYTHON_FALLBACK
        rows = rest_one(s, t, i, limit_of(s, i), row_of(s, row + written))
        if rows < 0:
            return -1
        written += rows
    return written
