"""Modes of all dry friction elements in a part at an instant, from one complementarity problem, and the transitions to
these modes.

Friction that sticks, or whose flow is zero, takes part; friction that slips keeps its mode and its effort. The problem is
posed a moment later along the motion, so that an effort that is about to exceed its limit does exceed it. The guards then
confirm or reject the solution.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import unrolled
from bondgraph.run.complementarity.solver import solve
from bondgraph.run.complementarity.table import BoxOutcome
from bondgraph.run.events.dead_centres import NO_MODE, is_unclear
from bondgraph.run.events.guards import firing_guards, guards_at, zero_of
from bondgraph.run.events.mode_search import stands_still
from bondgraph.run.events.state import EventTable
from bondgraph.run.events.transitions import finish_transition, fire_into_row, record_fired, row_of
from bondgraph.run.kernel_functions import all_finite, formula_time

ABSENT = -1
"""Index of a row that does not take part in a problem."""
INFINITE = float("inf")


def has_stopped(s: EventTable, slot: int, stick: float) -> bool:
    """Return True if the flow of slipping friction is zero within rounding error, or has just passed zero; call after
    `firing_guards`."""
    for i in range(s.transitions):
        if s.slots[i] == slot and s.sources[i] == s.m_here[slot] and s.targets[i] == stick:
            return s.rising[i] == 1 or abs(s.now[i]) <= s.zero[i]
    return False


def choose_rows(s: EventTable, row: int, first: int, count: int) -> int:
    """Choose the rows that take part in a problem, among `count` rows starting at `row`, and record the efforts of the other
    rows; return the number of chosen rows. Their bounds and flags start at index `first` of `box_numbers`."""
    lows, highs, holds, placed = s.box_numbers[first:], s.box_numbers[first + count :], s.box_numbers[first + count * 2 :], 0
    for i in range(count):
        slot, takes_part = s.box_slots[row + i], s.box_gated[row + i] == 0 or holds[i] == 1.0
        s.box_places[i], s.box_fixed[i] = ABSENT, lows[i]
        if slot != ABSENT:
            stick = s.box_sticks[row + i]
            takes_part = highs[i] > lows[i] and (s.m_here[slot] == stick or has_stopped(s, slot, stick))
            if s.m_here[slot] == s.box_highs[row + i]:
                s.box_fixed[i] = highs[i]
        if takes_part:
            s.box_places[i] = placed
            placed += 1
    return placed


def pose(s: EventTable, row: int, entry: int, entries: int, first: int, count: int) -> None:
    """Write a problem: matrix, offsets, bounds and weights of the rows that take part, and their status at the start, from the
    modes `m_box`. The values of the problem start at index `first` of `box_numbers`."""
    box, n = s.box, choose_rows(s, row, first + entries + count, count)
    values, offsets = s.box_numbers[first:], s.box_numbers[first + entries :]
    lows, highs = s.box_numbers[first + entries + count :], s.box_numbers[first + entries + count * 2 :]
    box.n = n
    for k in range(n * n):
        box.matrix[k] = 0.0
    for i in range(count):
        k, slot = s.box_places[i], s.box_slots[row + i]
        if k != ABSENT:
            box.offset[k], box.weights[k], box.status[k] = offsets[i], 0.0, 0
            box.lower[k], box.upper[k] = -INFINITE, INFINITE
            if slot != ABSENT:
                box.lower[k], box.upper[k], box.weights[k] = lows[i], highs[i], 1.0 / (highs[i] - lows[i])
                box.status[k] = int(s.m_box[slot] == s.box_highs[row + i]) - int(s.m_box[slot] == s.box_lows[row + i])
    for k in range(entries):
        i, j = s.box_places[s.box_rows[entry + k]], s.box_places[s.box_columns[entry + k]]
        if i != ABSENT and j != ABSENT:
            box.matrix[i * n + j] = values[k]
        elif i != ABSENT:
            box.offset[i] += values[k] * s.box_fixed[s.box_columns[entry + k]]


def adopt(s: EventTable, row: int, count: int) -> bool:
    changed = False
    for i in range(count):
        k, slot = s.box_places[i], s.box_slots[row + i]
        if k != ABSENT and slot != ABSENT:
            mode = s.box_sticks[row + i]
            if s.box.status[k] != 0:
                mode = s.box_lows[row + i] if s.box.status[k] < 0 else s.box_highs[row + i]
            changed = changed or mode != s.m_box[slot]
            s.m_box[slot] = mode
    return changed


def has_firing_transition(s: EventTable, row: int, count: int) -> bool:
    for i in range(s.transitions):
        if s.rising[i] == 1:
            for k in range(count):
                if s.box_slots[row + k] == s.slots[i]:
                    return True
    return False


def solve_modes(s: EventTable, t: float, probe: float) -> bool:
    """Solve the problems whose friction transitions fire, after `probe` s of motion, and write the resulting modes to `m_box`;
    return True if all these problems have solutions and some modes are new."""
    x, speed, row, entry, first, solved, turned = s.tried, s.tried_speed, 0, 0, 0, True, False
    s.rates(formula_time(s, t), s.x_here, s.p, s.m_box, speed)
    for i in range(s.n):
        x[i] = s.x_here[i] + probe * speed[i]
    s.box_kernel(formula_time(s, t + probe), x, s.p, s.m_box, s.box_numbers)
    if not all_finite(s.box_numbers, s.box_width):
        return False
    for k in range(s.boxes):
        count, entries = s.box_counts[k], s.box_entries[k]
        if solved and has_firing_transition(s, row, count):
            pose(s, row, entry, entries, first, count)
            solved = solve(s.box) == BoxOutcome.SOLVED
            if solved and adopt(s, row, count):
                turned = True
        row += count
        entry += entries
        first += entries + 4 * count
    return solved and turned


def leads_on(s: EventTable, i: int, stops: bool) -> bool:
    """Return True if transition i may lead from the current mode to a different mode in `m_box`: with `stops`, by stopping a
    slip; otherwise directly, without stopping a slip."""
    slot = s.slots[i]
    if s.boxed[i] != 1 or s.m_here[slot] != s.sources[i] or s.m_here[slot] == s.m_box[slot]:
        return False
    return s.pass_modes[i] != NO_MODE if stops else s.targets[i] == s.m_box[slot] and s.pass_modes[i] == NO_MODE


def fire_all(s: EventTable, t: float, row: int, count: int) -> int:
    """Fire the transitions to `m_box`, and log them from row `row` + `count` on; return the new count, or `ABSENT` if a state
    jumps or rows run out.

    First, elements begin to slip; then elements stick; last, elements that have just stuck slip again.
    """
    total = count
    for stops in unrolled((False, True, False)):
        for k in range(s.transitions):
            i = s.order[k]
            if total != ABSENT and leads_on(s, i, stops):
                if total < s.max_rows and fire_into_row(s, t, i, row + total) and stands_still(s, s.x_after):
                    record_fired(s, i, row + total)
                    s.taken[total] = i
                    finish_transition(s, row_of(s, row + total))
                    total += 1
                else:
                    total = ABSENT
    return total


def holds_clearly(s: EventTable, t: float, since: int, count: int) -> bool:
    guards_at(s, t, s.x_here, s.p, s.now)
    zero_of(s, t, s.x_here, s.now, s.zero)
    for k in range(since, count):
        i = s.taken[k]
        if s.pass_modes[i] != NO_MODE and s.m_here[s.slots[i]] == s.targets[i] and is_unclear(s, i):
            return False
    return True


def is_settled(s: EventTable, t: float, probe: float) -> bool:
    firing_guards(s, t, s.x_here, probe)
    for i in range(s.transitions):
        if s.boxed[i] == 1 and s.rising[i] == 1:
            return False
    return True


def fire_together(s: EventTable, t: float, probe: float, row: int, count: int) -> int:
    """Fire all transitions of dry friction that lead to consistent modes, and log them from row `row` + `count` on; return the
    new count, which is `count` if the modes are not certain. Call after `firing_guards`."""
    for i in range(s.modes):
        s.m_box[i] = s.m_here[i]
        s.m_saved[i] = s.m_here[i]
    for i in range(s.n):
        s.x_saved[i] = s.x_here[i]
    fired = s.all_fired_count
    if not solve_modes(s, t, probe):
        return count
    total = fire_all(s, t, row, count)
    if total != ABSENT and holds_clearly(s, t, count, total) and is_settled(s, t, probe):
        return total
    for i in range(s.modes):
        s.m_here[i] = s.m_saved[i]
    for i in range(s.n):
        s.x_here[i] = s.x_saved[i]
    s.all_fired_count = fired
    return count
