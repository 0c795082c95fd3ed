"""Event iteration (`reference.iteration`): states, modes, levels and rows of the log after the guards that fired; unchanged if
Python has to iterate.

The values of the run change only at the end, or are restored, so that Python starts where the segment ended.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import larger, smaller
from bondgraph.run.events.accumulation import add_events, forget, rest
from bondgraph.run.events.algebraic_loops import consistent
from bondgraph.run.events.guard_history import PAIRS
from bondgraph.run.events.guards import UNKNOWN, firing_guards, guards_at, is_bounce, zero_of
from bondgraph.run.events.log import NO_LABEL, SCALARS
from bondgraph.run.events.mode_search import consistent_modes, modes_cycle
from bondgraph.run.events.reference.iteration import MIN_LEVEL
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.events.state import EventTable
from bondgraph.run.events.transitions import (
    NO_TRANSITION,
    PYTHON_FALLBACK,
    fire_by_impulse,
    fire_into_row,
    go_on,
    row_of,
    supplied,
)
from bondgraph.run.kernel_functions import all_finite

MAX_REST_ROUNDS = 3
"""Largest number of consecutive states of rest at one instant."""


# Transitions, one by one.


def first_fired(s: EventTable, t: float, probe: float) -> int:
    """Return the first due one of the transitions that fired, `NO_TRANSITION` if none; `PYTHON_FALLBACK` for Python. Set `looked`
    if the guards have been evaluated."""
    for i in range(s.transitions):
        if s.fired[i] == 1 and is_bounce(s, t, s.x_here, i) == UNKNOWN:
            return PYTHON_FALLBACK
    for k in range(s.transitions):
        i = s.order[k]
        if s.fired[i] == 1:
            if s.ready[i] != 1:
                return PYTHON_FALLBACK
            if s.bounces[i] == 0:
                return i
            if not s.looked:
                s.looked = True
                if firing_guards(s, t, s.x_here, probe) == UNKNOWN:
                    return PYTHON_FALLBACK
            if s.rising[i] == 1:
                return i
    return NO_TRANSITION


def first_firing(s: EventTable) -> int:
    """Return the first due one of the transitions whose guards fire, `NO_TRANSITION` if none."""
    for k in range(s.transitions):
        i = s.order[k]
        if s.rising[i] == 1 and s.once[i] != 1:
            return i
    return NO_TRANSITION


def fire_transitions(s: EventTable, t: float, probe: float, asked: bool, row: int) -> int:
    """Fire the transitions that fired, if `asked`, then those whose guards fire, one by one, into rows of the log from `row` on
    and x_here, m_here: return their number; `PYTHON_FALLBACK` for Python.

    Where modes cycle, search for others in which no guard fires. Leave a bounce that does not take its guard back in `stuck`.
    """
    count, begin, next_one = 0, 0, NO_TRANSITION
    s.stuck, s.looked = NO_TRANSITION, False
    for i in range(s.n):
        s.x_start[i] = s.x_here[i]
    for i in range(s.modes):
        s.m_start[i] = s.m_here[i]
    for i in range(s.transitions):
        s.once[i] = 0
    if asked:
        next_one = first_fired(s, t, probe)
    for _ in range(s.turns):
        if next_one == NO_TRANSITION:
            if not s.looked and firing_guards(s, t, s.x_here, probe) == UNKNOWN:
                return PYTHON_FALLBACK
            next_one = first_firing(s)
            if next_one == NO_TRANSITION:
                return count
        index = next_one
        if index == PYTHON_FALLBACK or not fire_into_row(s, t, index, row + count):
            return PYTHON_FALLBACK
        next_one = fire_by_impulse(s, t, index, row_of(s, row + count))
        s.watched[count] = index
        go_on(s, row_of(s, row + count))
        count += 1
        s.looked = False
        if s.self_loop[index] == 1:
            s.looked = True
            if firing_guards(s, t, s.x_here, probe) == UNKNOWN:
                return PYTHON_FALLBACK
            if s.rising[index] == 1:
                if s.bounces[index] == UNKNOWN:
                    return PYTHON_FALLBACK
                if s.bounces[index] == 1 and next_one == NO_TRANSITION:
                    s.stuck = index
                    return count
                if s.once[index] != 1:
                    s.once[index] = 1
                    begin = count
        if modes_cycle(s, row, begin, count):
            return consistent_modes(s, t, probe, row, count)
    return consistent_modes(s, t, probe, row, count)


# Event iteration at an instant.


def see_here(s: EventTable) -> None:
    """Record the states x_here, as `GuardHistory.record_states`."""
    sizes, x = s.sizes, s.x_here
    for i in range(s.n):
        sizes[i] = larger(sizes[i], abs(x[i]))


def see(s: EventTable) -> None:
    """Record the sample rows since the last event, the ends of all steps, and the state at this event."""
    n, sizes, rows, width = s.n, s.sizes, s.rows, s.width
    for k in range(s.seen, s.written):
        for i in range(n):
            sizes[i] = larger(sizes[i], abs(rows[width * k + i]))
    s.seen = s.written
    for i in range(n):
        sizes[i] = larger(sizes[i], s.reached[i])
    see_here(s)


def set_levels(s: EventTable, t: float, count: int) -> None:
    """Compute the levels of the guards at x_here, m_here after `count` fired transitions, as `reference.iteration._levels`, into
    `levels_begun`."""
    x, guards, zero, left = s.x_here, s.now, s.zero, s.left
    guards_at(s, t, x, s.p, guards)
    zero_of(s, t, x, guards, zero)
    for i in range(s.transitions):
        left[i] = 0
    for k in range(count):
        left[s.watched[k]] = is_bounce(s, t, x, s.watched[k])
    for i in range(s.transitions):
        g = guards[i]
        level = 2.0 * g + MIN_LEVEL if g >= 0.0 else 0.0
        if abs(g) <= zero[i]:
            level = larger(level, 2.0 * zero[i])
        if left[i] == 1:
            level = g * (1.0 + 4.0 * EPSILON) + MIN_LEVEL if g >= 0.0 else 0.0
        if s.once[i] == 1:
            level = smaller(2.0 * g, 0.0) - MIN_LEVEL
        s.levels_begun[i] = level


def iterate(s: EventTable, t: float, probe: float) -> int:
    """Iterate the events at t to a fixed point, and bring transitions to rest where events accumulate: return the number of rows
    in the log; -1 for Python, and then some events may have been noted."""
    last = s.logged
    for i in range(s.transitions):
        s.rested[i] = 0
    for rounds in range(MAX_REST_ROUNDS):
        see_here(s)
        count = fire_transitions(s, t, probe, rounds == 0, last)
        last += count
        if count < 0 or last > s.events_left:
            return -1
        if not consistent(s, t, s.x_here) or not all_finite(s.x_here, s.n):
            return -1
        resting = add_events(s, t, count)
        if resting < 0:
            return -1
        if resting == 0:
            set_levels(s, t, count)
            return last
        rows = rest(s, t, resting, last)
        if rows <= 0:
            return -1
        last += rows
    return -1


def commit(s: EventTable, last: int) -> None:
    """Commit the iterated events to the run, whose log has `last` rows."""
    n, modes, y = s.n, s.modes, s.y
    for k in range(s.held_rows, s.written):
        for i in range(modes):
            s.held[modes * k + i] = s.m[i]
    s.held_rows = s.written
    for i in range(n):
        y[i] = s.x_here[i]
    for i in range(modes):
        s.m[i] = s.m_here[i]
    for k in range(s.logged, last):
        row = row_of(s, k)
        if row[SCALARS.index("label")] == float(NO_LABEL):
            energies = supplied(s, row)
            for i in range(s.quadratures):
                y[n + i] = y[n + i] + energies[i]
    for i in range(s.transitions):
        s.levels[i] = s.levels_begun[i]
    s.logged = last
    s.begun = s.t


def handle_event(s: EventTable) -> bool:
    """Handle the event at t, or the start; return False if Python has to, with all values restored."""
    for i in range(s.n):
        s.x_here[i] = s.y[i]
    for i in range(s.modes):
        s.m_here[i] = s.m[i]
        s.m_after[i] = s.m[i]
    see(s)
    length = s.t - s.begun
    probe = smaller(s.probe, length * s.segment_part) if length > 0.0 else s.probe
    s.noted = 0
    last = iterate(s, s.t, larger(probe, (abs(s.start) + s.t) * s.time_resolution))
    if last < 0:
        forget(s)
        return False
    commit(s, last)
    return True


# The start.


def open_events(s: EventTable) -> bool:
    """Reset all events, copy the parameters, and solve the algebraic loops at the start values; return True if that succeeds."""
    s.seen, s.written, s.held_rows, s.logged = 0, 0, 0, 0
    s.t, s.begun = 0.0, 0.0
    s.events_left = s.most_events
    for i in range(s.n):
        s.sizes[i] = 0.0
    for i in range(s.transitions):
        s.counts[i] = 0
        s.fired[i] = 0
        s.bounces[i] = s.known_bounces[i]
    count = s.parameters
    for k in range(2 * PAIRS):
        for i in range(count):
            s.p_near[count * k + i] = s.p[i] * s.p_factors[count * k + i]
    for i in range(s.modes):
        s.m_after[i] = s.m[i]
    return consistent(s, s.t, s.y)


def handle_start(s: EventTable) -> bool:
    """Handle the events at the start, and write the modes of the first sample; return False if Python has to."""
    done = handle_event(s) if s.transitions > 0 else consistent(s, s.t, s.y)
    modes, held = s.modes, s.all_held
    for i in range(modes):
        held[i] = s.m[i]
    s.held = held[modes:]
    return done
