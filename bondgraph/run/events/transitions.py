"""Firing of a transition: its states, modes and energies in a row of the log, and the transition that its impulse fires."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, inline, larger, unrolled
from bondgraph.run.algebraic_loops import consistent
from bondgraph.run.events.guard_history import MARGIN, PAIRS
from bondgraph.run.events.guards import jump_error
from bondgraph.run.events.impacts.fired_transitions import MIN_JUMP
from bondgraph.run.events.log import NO_LABEL, SCALARS
from bondgraph.run.events.questions import has_room, make_ready
from bondgraph.run.events.state import EventTable
from bondgraph.run.kernel_functions import formula_time

NO_TRANSITION = -1

_NAN = float("nan")


@inline
def row_of(s: EventTable, number: int) -> Reals:
    return s.log[s.row_width * number :]


@inline
def x_before(s: EventTable, row: Reals) -> Reals:
    return row[len(SCALARS) :]


@inline
def m_before(s: EventTable, row: Reals) -> Reals:
    return row[len(SCALARS) + s.n * 2 :]


@inline
def x_after(s: EventTable, row: Reals) -> Reals:
    return row[len(SCALARS) + s.n :]


@inline
def m_after(s: EventTable, row: Reals) -> Reals:
    return row[len(SCALARS) + s.n * 2 + s.modes :]


@inline
def supplied(s: EventTable, row: Reals) -> Reals:
    return row[len(SCALARS) + s.n * 2 + s.modes * 2 :]


def record_fired(s: EventTable, i: int, number: int) -> None:
    s.all_fired[s.all_fired_count], s.all_fired_rows[s.all_fired_count] = i, number
    s.all_fired_count += 1


def begin_row(s: EventTable, t: float, index: int, row: Reals) -> None:
    n, modes, x, m = s.n, s.modes, s.x_here, s.m_here
    row[SCALARS.index("since")] = t
    row[SCALARS.index("time")] = s.start + t
    row[SCALARS.index("clock")] = formula_time(s, t)
    row[SCALARS.index("transition")] = float(index)
    row[SCALARS.index("limit")] = _NAN
    row[SCALARS.index("label")] = float(NO_LABEL)
    x_row, m_row, energies = x_before(s, row), m_before(s, row), supplied(s, row)
    for i in range(n):
        x_row[i] = x[i]
        s.x_after[i] = x[i]
    for i in range(modes):
        m_row[i] = m[i]
        s.m_after[i] = m[i]
    for i in range(s.quadratures):
        energies[i] = 0.0


def fire(s: EventTable, t: float, index: int, row: Reals) -> None:
    begin_row(s, t, index, row)
    reset, supply, time = s.resets[index], s.supplies[index], formula_time(s, t)
    if reset is not None:
        reset(time, s.x_here, s.p, s.m_here, s.x_after)
    if supply is not None:
        supply(time, s.x_here, s.p, s.m_here, supplied(s, row))
    s.m_after[s.slots[index]] = s.targets[index]
    consistent(s, t, s.x_after)


def fire_into_row(s: EventTable, t: float, index: int, number: int) -> bool:
    make_ready(s, index)
    if not has_room(s, number):
        return False
    fire(s, t, index, row_of(s, number))
    return True


def end_row(s: EventTable, row: Reals) -> None:
    x_row, m_row = x_after(s, row), m_after(s, row)
    for i in range(s.n):
        x_row[i] = s.x_after[i]
    for i in range(s.modes):
        m_row[i] = s.m_after[i]


def finish_transition(s: EventTable, row: Reals) -> None:
    end_row(s, row)
    for i in range(s.n):
        s.x_here[i] = s.x_after[i]
    for i in range(s.modes):
        s.m_here[i] = s.m_after[i]


@inline
def least_jump(s: EventTable, i: int, plain: Reals, after: Reals) -> float:
    size = larger(s.sizes[i], larger(abs(plain[i]), abs(after[i])))
    return larger(MIN_JUMP * size, jump_error(s, i))


def jumps(s: EventTable, t: float, index: int, plain: Reals, after: Reals) -> bool:
    """Return True if the impulse of transition `index` moves a state from `plain` to `after` by more than the rounding errors of
    the state and of the sums that give the impulse."""
    n, moves = s.n, False
    for k in range(s.kept_count):
        i = s.kept[k]
        if abs(after[i] - plain[i]) > least_jump(s, i, plain, after):
            moves = True
    reset = s.resets[index]
    if not moves or reset is None:
        return moves
    time, errors, above, below = formula_time(s, t), s.drift_now, s.speed, s.speed_later
    for i in range(n):
        errors[i] = 0.0
    for k in unrolled(range(PAIRS // 2)):
        reset_beside(s, time, index, k, above)
        reset_beside(s, time, index, k + PAIRS, below)
        for i in range(n):
            errors[i] = larger(errors[i], MARGIN * abs(above[i] - below[i]))
    for k in range(s.kept_count):
        i = s.kept[k]
        if abs(after[i] - plain[i]) > larger(least_jump(s, i, plain, after), errors[i]):
            return True
    return False


def reset_beside(s: EventTable, time: float, index: int, k: int, out: Reals) -> None:
    reset, x, y, by_x = s.resets[index], s.x_here, s.x_near, s.by_x
    for i in range(s.n):
        y[i] = x[i] + by_x[s.n * k + i] * larger(s.sizes[i], abs(x[i]))
        out[i] = y[i]
    if reset is not None:
        reset(time, y, s.p_near[s.parameters * k :], s.m_here, out)


def fire_by_impulse(s: EventTable, t: float, index: int, row: Reals) -> int:
    """Return the transition that the impulse of `index` fires, or `NO_TRANSITION`: for example, a diode closes instead of letting
    a switch interrupt a current.

    The second transition then computes the joint effect; the first changes only the mode.
    """
    push, pushes, plain, after = s.pushes[index], s.pushed, s.pushed[s.transitions :], s.x_after
    if push is None:
        return NO_TRANSITION
    push(formula_time(s, t), s.x_here, s.p, s.m_here, pushes)
    consistent(s, t, plain)
    most, top, answer = 0.0, 0.0, NO_TRANSITION
    for i in range(s.transitions):
        top = larger(top, abs(pushes[i]))
        if s.m_after[s.slots[i]] == s.sources[i] and pushes[i] > most:
            most = pushes[i]
            answer = i
    if not most > MIN_JUMP * top or not jumps(s, t, index, plain, after):
        return NO_TRANSITION
    energies = supplied(s, row)
    for i in range(s.n):
        after[i] = plain[i]
    for i in range(s.quadratures):
        energies[i] = 0.0
    return answer
