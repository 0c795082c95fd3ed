"""Mode search, at an instant where transitions cycle, for the fewest transitions after which no guard fires, as rows of the log.

Each combination of modes that is tried is a row of the log, in order of discovery: `parents` holds the index of its predecessor,
`edges` the transition from the predecessor, and `codes` a hash of the modes for look-up.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, larger, unrolled, wrapped
from bondgraph.run.events.guards import firing_guards, jump_error
from bondgraph.run.events.impacts.fired_transitions import MIN_JUMP
from bondgraph.run.events.state import MAX_COMBINATIONS, EventTable
from bondgraph.run.events.transitions import (
    NO_TRANSITION,
    end_row,
    fire_into_row,
    m_after,
    m_before,
    record_fired,
    row_of,
    x_after,
    x_before,
)

NEVER, ALWAYS, ANSWERS = 0, 1, 2
"""Permissions to try a transition in a search: never, always, or if its guard fires or the modes tried have changed its guard."""


def stands_still(s: EventTable, x: Reals) -> bool:
    start = s.x_start
    for k in range(s.kept_count):
        i = s.kept[k]
        if not abs(x[i] - start[i]) <= larger(MIN_JUMP * larger(s.sizes[i], abs(start[i])), jump_error(s, i)):
            return False
    return True


def are_equal(first: Reals, second: Reals, count: int) -> bool:
    for i in range(count):
        if first[i] != second[i]:
            return False
    return True


def modes_cycle(s: EventTable, row: int, since: int, count: int) -> bool:
    """Return True if the last of the transitions `taken`, in `count` rows starting at `row`, repeats a transition at or after
    position `since`: it fired from the same modes, and the states equal the states at the start of the instant within rounding
    error. Only rounding errors could end such a cycle."""
    last = row_of(s, row + count - 1)
    index = s.taken[count - 1]
    if s.self_loop[index] == 1 or not stands_still(s, x_before(s, last)):
        return False
    for k in range(since, count - 1):
        if s.taken[k] == index:
            before = row_of(s, row + k)
            if are_equal(m_before(s, before), m_before(s, last), s.modes) and stands_still(s, x_before(s, before)):
                return True
    return False


def any_rises(s: EventTable, t: float, probe: float) -> bool:
    firing_guards(s, t, s.x_here, probe)
    for i in range(s.transitions):
        if s.rising[i] == 1:
            return True
    return False


def seen_before(s: EventTable, index: int, row: int, count: int, code: int) -> bool:
    modes, after = s.modes, s.m_after
    for i in range(modes):
        after[i] = s.m_here[i]
    after[s.slots[index]] = s.targets[index]
    if code == 0 and are_equal(s.m_start, after, modes):
        return True
    for k in range(count):
        if s.codes[k] == code and are_equal(m_after(s, row_of(s, row + k)), after, modes):
            return True
    return False


def go_to(s: EventTable, row: int, node: int) -> None:
    x, m = s.x_start, s.m_start
    if node != NO_TRANSITION:
        reached = row_of(s, row + node)
        x = x_after(s, reached)
        m = m_after(s, reached)
    for i in range(s.n):
        s.x_here[i] = x[i]
    for i in range(s.modes):
        s.m_here[i] = m[i]


def may_try(s: EventTable, index: int) -> bool:
    """Return True if the search may try a transition; call after `firing_guards`."""
    if s.allowed[index] == ANSWERS:
        return s.rising[index] == 1 or abs(s.now[index] - s.guards_at_start[index]) > s.zero[index]
    return s.allowed[index] == ALWAYS


def try_from(s: EventTable, t: float, row: int, node: int, count: int) -> int:
    """Add the new combinations that one transition from `node` reaches without a jump of states to the `count` rows starting at
    `row`; return the new count."""
    here, total = 0, count
    if node >= 0:
        here = s.codes[node]
    for k in range(s.transitions):
        i = s.order[k]
        may = may_try(s, i) and s.continues[i] == 1 and total < MAX_COMBINATIONS
        if may and s.m_here[s.slots[i]] == s.sources[i]:
            code = wrapped(here + s.code_steps[i])
            is_new = not seen_before(s, i, row, total, code)
            if is_new and fire_into_row(s, t, i, row + total) and stands_still(s, s.x_after):
                end_row(s, row_of(s, row + total))
                s.parents[total], s.edges[total], s.codes[total] = node, i, code
                total += 1
    return total


def path_to(s: EventTable, row: int, node: int, target: int) -> int:
    """Copy the search path to combination `node`, stored from row `row` on, to the earlier rows from `target` on, and record its
    transitions in `taken`; return their number, or `NO_TRANSITION` if there are too many."""
    taken, parents, width = s.taken, s.parents, s.row_width
    length, at = 0, node
    while at != NO_TRANSITION:
        length += 1
        at = parents[at]
    if length > s.max_rows:
        return NO_TRANSITION
    at = node
    for k in range(length):
        taken[length - 1 - k] = at
        at = parents[at]
    s.all_fired_count = 0
    for k in range(length):  # each source lies further on, so no row is overwritten before it is read
        source, into = row_of(s, row + taken[k]), row_of(s, target + k)
        for i in range(width):
            into[i] = source[i]
        taken[k] = s.edges[taken[k]]
        record_fired(s, taken[k], target + k)
    return length


def nearest(s: EventTable, t: float, probe: float, row: int, target: int) -> int:
    """Find the smallest number of `allowed` transitions after which no guard fires, write them to rows starting at `target`,
    and set x_here and m_here to their result; return their number, or `NO_TRANSITION`. Try combinations in rows starting at
    `row`."""
    node, count = NO_TRANSITION, 0
    while True:
        go_to(s, row, node)
        if not any_rises(s, t, probe):
            return path_to(s, row, node, target)
        if node == NO_TRANSITION:
            for i in range(s.transitions):
                s.guards_at_start[i] = s.now[i]
        count = try_from(s, t, row, node, count)
        node += 1
        if node >= count:
            return NO_TRANSITION


def consistent_modes(s: EventTable, t: float, probe: float, row: int, count: int) -> int:
    """Replace `count` transitions that cycle, in rows starting at `row`, by transitions to consistent x_here and m_here, and
    return their number; if there are none, return `NO_TRANSITION` and leave x_here and m_here unchanged. First try only the
    automata that cycle, then all automata that respond, because the automaton that must respond may not have had its turn."""
    for others in unrolled((NEVER, ANSWERS)):
        for i in range(s.transitions):
            s.allowed[i] = others
            for k in range(count):
                if s.slots[s.taken[k]] == s.slots[i]:
                    s.allowed[i] = ALWAYS
        path = nearest(s, t, probe, row + count, row)
        if path != NO_TRANSITION:
            return path
    go_to(s, row, count - 1)
    return NO_TRANSITION
