"""Mode search at an instant where transitions cycle: the fewest transitions after which no guard fires, as rows of the log.

Each combination of modes that is tried is a row of the log, in the order of discovery: `parents` holds the index of its
predecessor, `edges` the transition between them, `codes` a hash of its modes for look-ups.
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
    row_of,
    watch,
    x_after,
    x_before,
)

NEVER, ALWAYS, ANSWERS = 0, 1, 2
"""Transitions that a search may try: none, all, or those whose guard answers to the modes tried."""


def stands_still(s: EventTable, x: Reals) -> bool:
    """Return True if states x are those of the start, up to rounding."""
    start = s.x_start
    for k in range(s.kept_count):
        i = s.kept[k]
        if not abs(x[i] - start[i]) <= larger(MIN_JUMP * larger(s.sizes[i], abs(start[i])), jump_error(s, i)):
            return False
    return True


def are_equal(first: Reals, second: Reals, count: int) -> bool:
    """Return True if `count` numbers are equal."""
    for i in range(count):
        if first[i] != second[i]:
            return False
    return True


def modes_cycle(s: EventTable, row: int, since: int, count: int) -> bool:
    """Return True if the last of the transitions `taken`, in `count` rows from `row` on, changes modes as one from the position
    `since` on has done: by the same transition from the same modes, with the states where the instant began, up to rounding. This
    does not end unless rounding ends it."""
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
    """Return True if a guard fires at x_here, m_here."""
    firing_guards(s, t, s.x_here, probe)
    for i in range(s.transitions):
        if s.rising[i] == 1:
            return True
    return False


def seen_before(s: EventTable, index: int, row: int, count: int, code: int) -> bool:
    """Return True if the modes m_here, after transition `index`, are those of the start or of one of `count` rows from `row` on;
    compare only rows with the same `code`."""
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
    """Go to the combination `node` counted from `row`, or to the start."""
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
    """Return True if a transition may be tried, after a look at the guards: of an automaton that cycles, one that fires, or one
    whose guard the modes tried have changed. A guard of time and states alone does not answer to modes."""
    if s.allowed[index] == ANSWERS:
        return s.rising[index] == 1 or abs(s.now[index] - s.guards_begun[index]) > s.zero[index]
    return s.allowed[index] == ALWAYS


def try_from(s: EventTable, t: float, row: int, node: int, count: int) -> int:
    """Add the combinations that can be reached from `node`, to the `count` from `row` on; return their new number."""
    here, total = 0, count
    if node >= 0:
        here = s.codes[node]
    for k in range(s.transitions):
        i = s.order[k]
        may = may_try(s, i) and s.endless[i] == 1 and total < MAX_COMBINATIONS
        if may and s.m_here[s.slots[i]] == s.sources[i]:
            code = wrapped(here + s.code_steps[i])
            is_new = not seen_before(s, i, row, total, code)
            if is_new and fire_into_row(s, t, i, row + total) and stands_still(s, s.x_after):
                end_row(s, row_of(s, row + total))
                s.parents[total], s.edges[total], s.codes[total] = node, i, code
                total += 1
    return total


def path_to(s: EventTable, row: int, node: int, target: int) -> int:
    """Move the path to the combination `node` to the rows from `target` on, before `row`, and note its transitions, which are
    `taken`; return their number, `NO_TRANSITION` if there are too many."""
    taken, parents, width = s.taken, s.parents, s.row_width
    length, at = 0, node
    while at != NO_TRANSITION:
        length += 1
        at = parents[at]
    if length > s.turns:
        return NO_TRANSITION
    at = node
    for k in range(length):
        taken[length - 1 - k] = at
        at = parents[at]
    s.watched_count = 0
    for k in range(length):  # no row is overwritten before it is read: each lies further on
        source, into = row_of(s, row + taken[k]), row_of(s, target + k)
        for i in range(width):
            into[i] = source[i]
        taken[k] = s.edges[taken[k]]
        watch(s, taken[k], target + k)
    return length


def nearest(s: EventTable, t: float, probe: float, row: int, target: int) -> int:
    """Return the number of the fewest transitions among the `allowed` after which no guard fires, in rows from `target` on, and
    go to the end of them; `NO_TRANSITION` if there are none. Try combinations in rows from `row` on."""
    node, count = NO_TRANSITION, 0
    while True:
        go_to(s, row, node)
        if not any_rises(s, t, probe):
            return path_to(s, row, node, target)
        if node == NO_TRANSITION:
            for i in range(s.transitions):
                s.guards_begun[i] = s.now[i]
        count = try_from(s, t, row, node, count)
        node += 1
        if node >= count:
            return NO_TRANSITION


def consistent_modes(s: EventTable, t: float, probe: float, row: int, count: int) -> int:
    """Return the number of transitions that replace `count` transitions which cycle, in rows from `row` on, and which lead to
    x_here and m_here; if there are none, `NO_TRANSITION`, and x_here and m_here stay as they are. First try the automata of the
    former, then all that answer: the automaton that has to respond may not have had its turn."""
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
