"""Event iteration: states, modes, levels and rows of the log after guards have fired, iterated to a fixed point."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import larger, smaller
from bondgraph.run.algebraic_loops import consistent
from bondgraph.run.events.accumulation import add_events, add_resting, mark_rested, rest
from bondgraph.run.events.dead_centres import PASSES, TOUCHES, at_zero, pass_zero, slipping
from bondgraph.run.events.guard_history import PAIRS
from bondgraph.run.events.guards import (
    CLEAR,
    NO_TIME,
    firing_guards,
    guards_at,
    is_bounce,
    is_evaluated_at,
    measure_drift,
    zero_of,
)
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.mode_search import consistent_modes, modes_cycle
from bondgraph.run.events.modes.friction_modes import fire_together
from bondgraph.run.events.questions import collide, has_room
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.events.state import EventOutcome, EventTable
from bondgraph.run.events.transitions import (
    NO_TRANSITION,
    begin_row,
    finish_transition,
    fire_by_impulse,
    fire_into_row,
    record_fired,
    row_of,
    supplied,
    x_before,
)
from bondgraph.run.kernel_functions import all_finite

PROBE, SEGMENT_PART, TIME_RESOLUTION = 1e-9, 1e-3, 16.0 * EPSILON
"""Guards are followed after an event for at most the fraction PROBE of the run and SEGMENT_PART of the previous segment, and for
at least the fraction TIME_RESOLUTION of the current time."""
TOUCHED = 2
"""Flag in `once` of a transition that does not fire again at this instant, although its guard is at zero."""
SINGULAR = 2.0**20
"""Ratio of rounding errors in two modes above which the larger error is attributed to a singular position."""
MIN_LEVEL = 1e-300
"""Minimum distance of a level from zero."""
MAX_TRANSITIONS, MAX_TRANSITIONS_EACH = 20, 4
"""An iteration has at most MAX_TRANSITIONS rows in the log plus MAX_TRANSITIONS_EACH for each transition of the program."""


# Transitions, one by one.


def first_fired(s: EventTable, t: float, probe: float) -> int:
    """Return the first transition in order that has fired and is due, or `NO_TRANSITION`.

    For a bounce, or a transition that ends the run, a guard at zero is not enough: a body that leaves is not thrown back, and a
    rounding error does not end a run.
    """
    for i in range(s.transitions):
        if s.fired[i] == 1:
            is_bounce(s, t, s.x_here, i)
    for k in range(s.transitions):
        i = s.order[k]
        if s.fired[i] == 1:
            if s.bounces[i] == 0 and s.continues[i] == 1:
                return i
            if not s.is_evaluated:
                s.is_evaluated = True
                firing_guards(s, t, s.x_here, probe)
            if s.rising[i] == 1:
                return i
    return NO_TRANSITION


def first_firing(s: EventTable) -> int:
    for k in range(s.transitions):
        i = s.order[k]
        if s.rising[i] == 1 and s.once[i] == 0:
            return i
    return NO_TRANSITION


def fire_next(s: EventTable, t: float, probe: float, index: int, number: int) -> bool:
    """Fire transition `index` into row `number` of the log, with the simultaneous collisions that are solved together; write the
    transitions to `struck`, and the transition that must follow, if any, to `answer`. Return False if the log is full. If a flow
    only touches zero (`dead_centres`), nothing fires and `struck` is empty."""
    s.struck[0], s.struck_count, s.answer = index, 1, NO_TRANSITION
    if not has_room(s, number):
        return False
    if s.collides[index] == 1:
        begin_row(s, t, index, row_of(s, number))
        if collide(s, index, number):
            return True
    fire_into_row(s, t, index, number)
    flow = at_zero(s, t, probe, index)
    if flow == TOUCHES:
        s.struck_count = 0
        return True
    if flow == PASSES:
        pass_zero(s, t, index, row_of(s, number))
        return True
    s.answer = fire_by_impulse(s, t, index, row_of(s, number))
    return True


def leave_rest(s: EventTable, index: int) -> None:
    """Prevent bounces from firing again at this instant if transition `index` ends their state of rest: their guards and the
    rates of these guards are zero up to integration errors of either sign."""
    for i in range(s.transitions):
        same = s.slots[i] == s.slots[index] and s.sources[i] == s.targets[index]
        if same and s.may_rest[i] == 1 and s.rest_modes[i] == s.sources[index]:
            s.once[i] = TOUCHED


def fires_again(s: EventTable, t: float, probe: float, number: int) -> bool:
    """Return True if a transition in `struck`, in row `number`, leads into its own state and fires again immediately, for the
    first time at this instant (`once` is not 1). Write all bounces that fire again to `stuck`."""
    is_loop, again = False, False
    for k in range(s.struck_count):
        if s.self_loop[s.struck[k]] == 1:
            is_loop = True
    if not is_loop:
        return False
    s.is_evaluated = True
    firing_guards(s, t, s.x_here, probe)
    for k in range(s.struck_count):
        i = s.struck[k]
        if s.self_loop[i] == 1 and s.rising[i] == 1:
            if is_bounce(s, t, x_before(s, row_of(s, number)), i):
                s.stuck[s.stuck_count] = i
                s.stuck_count += 1
            if s.once[i] != 1:
                again = True
    return again


def fire_transitions(s: EventTable, t: float, probe: float, use_fired: bool, row: int) -> int:
    """Fire the first due transition in `fired` (if `use_fired`), then transitions whose guards fire, until none does. Write rows
    of the log from `row` on, and x_here, m_here; return the number of rows, and set `outcome`.

    A transition into its own state whose guard still fires afterwards does not fire again; if it is a bounce, it is `stuck`.
    """
    count, begin, next_one, searched, together = 0, 0, NO_TRANSITION, False, False
    s.outcome, s.is_evaluated, s.stuck_count, s.all_fired_count = EventOutcome.CONSISTENT, False, 0, 0
    for i in range(s.n):
        s.x_start[i] = s.x_here[i]
    for i in range(s.modes):
        s.m_start[i] = s.m_here[i]
    for i in range(s.transitions):
        s.once[i] = 0
    if s.transitions == 0:
        return 0
    if use_fired:
        next_one = first_fired(s, t, probe)
    while count < s.max_rows:
        if next_one == NO_TRANSITION:
            if not s.is_evaluated:
                firing_guards(s, t, s.x_here, probe)
            next_one = first_firing(s)
            if next_one == NO_TRANSITION:
                next_one = slipping(s, t, probe, count)
            if next_one == NO_TRANSITION:
                return count
        index = next_one
        if s.boxed[index] == 1 and not together:
            together = True
            if not s.is_evaluated:
                firing_guards(s, t, s.x_here, probe)
            s.rising[index] = 1
            total = fire_together(s, t, probe, row, count)
            s.is_evaluated = total > count
            if total > count:
                count, next_one = total, NO_TRANSITION
                continue
        if not fire_next(s, t, probe, index, row + count):
            return count
        if s.struck_count == 0:
            s.once[index], s.is_evaluated, next_one = TOUCHED, False, NO_TRANSITION
            continue
        if s.fired[index] == 1:
            leave_rest(s, index)
        next_one, s.taken[count] = s.answer, index
        for k in range(s.struck_count):
            record_fired(s, s.struck[k], row + count)
        finish_transition(s, row_of(s, row + count))
        count += 1
        s.is_evaluated = False
        if s.continues[index] != 1:
            s.outcome = EventOutcome.TERMINAL
            return count
        again = fires_again(s, t, probe, row + count - 1)
        if s.stuck_count > 0 and next_one == NO_TRANSITION:
            s.outcome = EventOutcome.STUCK
            return count
        s.stuck_count = 0
        if again:
            begin = count
            for k in range(s.struck_count):
                if s.self_loop[s.struck[k]] == 1 and s.rising[s.struck[k]] == 1:
                    s.once[s.struck[k]] = 1
        elif not searched and modes_cycle(s, row, begin, count):
            searched = True
            path = consistent_modes(s, t, probe, row, count)
            if path != NO_TRANSITION:
                return path
    if not searched:
        path = consistent_modes(s, t, probe, row, count)
        if path != NO_TRANSITION:
            return path
    s.outcome = EventOutcome.CYCLING
    return count


# Event iteration at an instant.


def record_sizes_here(s: EventTable) -> None:
    sizes, x = s.sizes, s.x_here
    for i in range(s.n):
        sizes[i] = larger(sizes[i], abs(x[i]))


def record_sizes(s: EventTable) -> None:
    n, sizes, rows, width = s.n, s.sizes, s.rows, s.width
    for k in range(s.seen, s.written):
        for i in range(n):
            sizes[i] = larger(sizes[i], abs(rows[width * k + i]))
    s.seen = s.written
    for i in range(n):
        sizes[i] = larger(sizes[i], s.reached[i])
    record_sizes_here(s)


def set_levels(s: EventTable, t: float) -> None:
    """Set, in `start_levels`, the levels above which guards fire, at x_here, m_here after the transitions `all_fired`.

    A guard that starts positive, or at zero within its rounding error, fires above twice the larger of its value and this error,
    until it has fallen below zero by as much, or by twice the error if its value is far larger. After a bounce, a positive guard
    fires above its value. A guard that has fired `once` must first fall below zero.
    """
    x, guards, zero, left = s.x_here, s.now, s.zero, s.left
    if s.transitions == 0:
        return
    measured = s.drift_measured
    for i in range(s.n):
        measured[i] = s.drift[i]
        s.drift[i] = s.drift_kept[i]
    measure_drift(s, t, x)
    for i in range(s.n):
        # A much larger error comes from a singular position that has been left.
        if measured[i] <= s.drift[i] * SINGULAR or s.drift[i] == 0.0:
            s.drift[i] = larger(s.drift[i], measured[i])
        s.drift_kept[i] = s.drift[i]
    if is_evaluated_at(s, t, x):
        guards, zero = s.guards_seen, s.zero_seen
    else:
        guards_at(s, t, x, s.p, guards)
        zero_of(s, t, x, guards, zero)
    for i in range(s.transitions):
        left[i] = 0
    for k in range(s.all_fired_count):
        left[s.all_fired[k]] = int(is_bounce(s, t, x, s.all_fired[k]))
    for i in range(s.transitions):
        g = guards[i]
        level = 2.0 * g + MIN_LEVEL if g >= 0.0 else 0.0
        if abs(g) <= zero[i]:
            level = larger(level, 2.0 * zero[i])
        depth = 2.0 * zero[i] if zero[i] <= CLEAR * g else level
        if left[i] == 1:
            level = g * (1.0 + 4.0 * EPSILON) + MIN_LEVEL if g >= 0.0 else 0.0
            depth = level
        if s.once[i] == 1:
            level = smaller(2.0 * g, 0.0) - MIN_LEVEL
            depth = abs(level)
        s.start_levels[i] = level
        s.start_levels[s.transitions + i] = depth


def may_rest_after(s: EventTable, ending: int, count: int) -> bool:
    """Return True unless a `stuck` transition, or the last transition of a cycle of `count` rows, cannot lead to rest; if the
    latter can, add it to `resting`."""
    if ending == EventOutcome.CYCLING:
        i = s.taken[count - 1]
        if s.may_rest[i] == 1:
            add_resting(s, i)
        return s.may_rest[i] == 1
    for k in range(s.stuck_count):
        if s.may_rest[s.stuck[k]] != 1:
            return False
    return True


def outcome_of(s: EventTable, ending: int, count: int, last: int, solved: bool) -> int:
    """Return the outcome of an iteration of `count` rows that ended with the outcome `ending` and `last` rows in the log;
    `CONSISTENT` if the run continues, perhaps at rest. Set `suspect` to the row that would explain an end of the run, if any."""
    outcome, suspect = int(EventOutcome.CONSISTENT), last - 1 if last > s.logged else NO_TRANSITION
    if not may_rest_after(s, ending, count) or ending == EventOutcome.TERMINAL:
        outcome = ending
    elif ending != EventOutcome.CYCLING and last > s.events_left:
        outcome = int(EventOutcome.TOO_MANY)
    elif s.pattern != 0:
        outcome, suspect = int(EventOutcome.ACCUMULATION), s.suspect
    elif not solved:
        outcome = int(EventOutcome.UNSOLVED)
    elif not all_finite(s.x_here, s.n):
        outcome = int(EventOutcome.NOT_FINITE)
    s.suspect = suspect
    return outcome


def iterate(s: EventTable, t: float, probe: float) -> int:
    """Iterate the events at t to a fixed point, and apply the states of rest of transitions whose events accumulate; return the
    number of rows in the log, and set `outcome`."""
    last, use_fired = s.logged, True
    for i in range(s.transitions):
        s.rested[i] = 0
    while True:
        record_sizes_here(s)
        count = fire_transitions(s, t, probe, use_fired, last)
        last += count
        ending, use_fired = s.outcome, False
        for i in range(s.modes):
            s.m_after[i] = s.m_here[i]
        solved = consistent(s, t, s.x_here)
        add_events(s, t)
        s.outcome = outcome_of(s, ending, count, last, solved)
        if s.outcome != EventOutcome.CONSISTENT or s.stopped:
            return last
        rows = 0
        if s.resting_count > 0:
            if mark_rested(s):
                rows = rest(s, t, last)
            elif ending == EventOutcome.CONSISTENT:
                ending = EventOutcome.CYCLING
        if rows == 0:
            s.outcome = ending
            set_levels(s, t)
            return last
        last += rows


def commit(s: EventTable, last: int) -> None:
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
        limit = row[SCALARS.index("limit")]
        if limit != limit:  # no transition to a state of rest
            energies = supplied(s, row)
            for i in range(s.quadratures):
                y[n + i] = y[n + i] + energies[i]
    for i in range(2 * s.transitions):
        s.levels[i] = s.start_levels[i]
    s.logged = last
    s.segment_start = s.t


def handle_event(s: EventTable) -> bool:
    s.consulted, s.stopped = False, False
    for i in range(s.n):
        s.x_here[i] = s.y[i]
    for i in range(s.modes):
        s.m_here[i] = s.m[i]
        s.m_after[i] = s.m[i]
    record_sizes(s)
    if s.transitions > 0:
        measure_drift(s, s.t, s.x_here)
    length = s.t - s.segment_start
    probe = smaller(s.probe, length * s.segment_part) if length > 0.0 else s.probe
    commit(s, iterate(s, s.t, larger(probe, (abs(s.start) + s.t) * s.time_resolution)))
    if s.stopped:
        s.outcome = EventOutcome.STOPPED
    if s.consulted or s.outcome != EventOutcome.CONSISTENT:
        s.consultations += 1
    return s.outcome == EventOutcome.CONSISTENT


# The start.


def take_parameters(s: EventTable) -> None:
    count = s.parameters
    s.time_seen = NO_TIME
    for k in range(2 * PAIRS):
        for i in range(count):
            s.p_near[count * k + i] = s.p[i] * s.p_factors[count * k + i]


def open_events(s: EventTable) -> bool:
    s.seen, s.written, s.held_rows, s.logged = 0, 0, 0, 0
    s.t, s.segment_start = 0.0, 0.0
    s.events_left = s.most_events
    s.consultations = 0
    for i in range(s.n):
        s.sizes[i] = 0.0
        s.drift[i] = 0.0
        s.drift_kept[i] = 0.0
        s.moved[i] = 0
    for i in range(s.transitions):
        s.counts[i] = 0
        s.fired[i] = 0
        s.guard_sizes[i] = 0.0
        s.bounces[i] = s.known_bounces[i]
        if s.bounces[i] != 0:
            for k in range(s.n):
                s.moved[k] = 1
    take_parameters(s)
    for i in range(s.modes):
        s.m_after[i] = s.m[i]
    return consistent(s, s.t, s.y)


def handle_start(s: EventTable) -> bool:
    done = handle_event(s)
    modes, held = s.modes, s.all_held
    for i in range(modes):
        held[i] = s.m[i]
    s.held = held[modes:]
    return done
