"""Sample clocks inside the integration loop, which stops at each sample time and carries out the ticks there."""

from __future__ import annotations

import math

from bondgraph.emit.kernel_language.language import inline, larger, smaller
from bondgraph.run.clock_schedule import BREAK_MARGIN, SAME_TIME
from bondgraph.run.delays.history import mark_break, pass_break
from bondgraph.run.events.root_finding import POINTS
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.steppers.shared_fields import IntegratorTable, derivative, guard_values, next_row, update_levels


def due(c: IntegratorTable) -> float:
    """Return the time of the next tick or break; set `horizon` to this time or, if earlier, the stop time, and end the window of
    the formulas at the next break."""
    earliest, nearest = math.inf, math.inf
    for i in range(c.clock_count):
        time = c.following[i]
        earliest = smaller(earliest, time)
        if c.tick_kernels[i] is None:
            nearest = smaller(nearest, time)
    c.horizon = earliest if earliest < c.stop - abs(c.stop) * SAME_TIME else c.stop
    c.window[1] = side_of_break(c, nearest, -1.0)
    return earliest


@inline
def side_of_break(c: IntegratorTable, time: float, side: float) -> float:
    """Return the time on the clock of the formulas just before a break (side -1) or just after it (side 1)."""
    on_clock = c.origin + time
    return on_clock + (abs(on_clock) + c.span * 1e-6) * (side * BREAK_MARGIN)


def flush(c: IntegratorTable, until: float) -> None:
    while True:
        row = next_row(c, until)
        if row < 0:
            return
        values, y = c.rows[row * c.width :], c.y
        for i in range(c.width):
            values[i] = y[i]


def last_due(c: IntegratorTable, first: float) -> float:
    return first + larger(abs(c.t), abs(first)) * SAME_TIME


def time_of_ticks(c: IntegratorTable, last: float) -> float:
    time = c.t
    for i in range(c.clock_count):
        if c.following[i] <= last:
            time = larger(time, c.following[i])
    return time


def carry_out_ticks(c: IntegratorTable, time: float, last: float) -> None:
    y, y_new, size, following, index = c.y, c.y_new, c.size, c.following, c.tick_index
    c.moved = True
    c.window[1] = math.inf
    for i in range(c.clock_count):
        if following[i] <= last and c.tick_kernels[i] is None:
            c.window[0] = side_of_break(c, time, 1.0)
    now = formula_time(c, time)
    for i in range(c.clock_count):
        if following[i] <= last and c.delays is not None:
            if i >= c.delays.first_clock:
                pass_break(c.delays, i - c.delays.first_clock)
                c.tick_index[i] += 1
            else:
                mark_break(c.delays, 1)
        if following[i] <= last and (c.delays is None or i < c.delays.first_clock):
            kernel = c.tick_kernels[i]
            if kernel is not None:
                kernel(now, y, c.p, c.m, y_new)
                for k in range(c.n):
                    y[k] = y_new[k]
                    size[k] = larger(size[k], abs(y_new[k]))
            number = index[i] + 1
            index[i] = number
            following[i] = c.tick_offsets[i] + float(number) * c.periods[i]
            if i == c.once:
                following[i] = c.breaks[number]


def tick(c: IntegratorTable, first: float) -> bool:
    """Carry out all ticks at the time `first` of the next tick; return True if a guard jumps through zero there (marked in
    `fired`)."""
    last = last_due(c, first)
    time = time_of_ticks(c, last)
    c.t = time
    flush(c, time)
    carry_out_ticks(c, time, last)
    derivative(c, time, c.y, c.k, True)
    jumps = False
    if c.guard_count > 0:
        g, after = c.g, c.g[c.guard_count * (POINTS - 1) :]
        guard_values(c, time, c.y, after)
        for i in range(c.guard_count):
            jumped = g[i] < 0.0 and after[i] >= 0.0
            c.fired[i] = int(jumped)
            if jumped:
                jumps = True
        update_levels(c, after)
    return jumps


def start_clocks(c: IntegratorTable) -> None:
    earliest = math.inf
    for i in range(c.clock_count):
        c.tick_index[i] = 0
        c.following[i] = c.tick_offsets[i]
        earliest = smaller(earliest, c.following[i])
    if earliest < math.inf and earliest <= abs(earliest) * SAME_TIME:
        last = last_due(c, earliest)
        carry_out_ticks(c, time_of_ticks(c, last), last)
