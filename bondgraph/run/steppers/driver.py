"""Integration loop around the steps of a method, in machine code: step size control, event detection, samples and ticks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from bondgraph.emit.kernel_language.language import Fixed, Reals, inline, larger
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure, cold
from bondgraph.run import algebraic_loops
from bondgraph.run.accuracy.error_weights import DECISIVE, NEVER, RENEWALS
from bondgraph.run.algebraic_loops import consistent
from bondgraph.run.clock_schedule import SAME_TIME
from bondgraph.run.delays.history import add_row, look_back, look_back_at, mark_break
from bondgraph.run.events import accumulation, dead_centres, guards, iteration, mode_search, questions, root_finding, transitions
from bondgraph.run.events.iteration import handle_event, take_parameters
from bondgraph.run.events.modes import friction_modes
from bondgraph.run.events.polynomials import bernstein
from bondgraph.run.events.root_finding import EPSILON, POINTS, DenseOutput, StepTable, crossing_check, locate
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.status import Status
from bondgraph.run.steppers import initial_step, sample_clocks
from bondgraph.run.steppers.initial_step import first_step
from bondgraph.run.steppers.method import AT_HAND, DAMPED, NOT_AT_HAND, Method
from bondgraph.run.steppers.sample_clocks import carry_out_ticks, due, flush, last_due
from bondgraph.run.steppers.shared_fields import (
    IntegratorTable,
    derivative,
    error_weight,
    exceeds,
    guard_values,
    next_row,
    update_levels,
)
from bondgraph.run.steppers.step_control import GROW, STALE, accept_or_reject, after_acceptance, is_tick_due, propose_step

_EARLY_FRACTION = 1e-2
"""Fraction of a step; an event that is located before it counts only if its guard is at least halfway to zero there."""
_MAX_CORRECTION = 0.05
"""Largest correction of a landing (a step to an event), as a fraction of its step."""
_MAX_LANDINGS, _MAX_PUSHES = 3, 12
"""Maximum number of corrections of a landing, and of corrections that move a landing past a jump."""
_DECAY_WINDOW = 2.0
"""Ratio of the times of successive inspections of decayed states."""
_RATIO = 4.0
"""Ratio of successive distances in the search for a jump."""


def ready(c: IntegratorTable, method: Fixed) -> None:
    if not c.fresh:
        return
    c.fresh = False
    if c.delays is not None:
        mark_break(c.delays, 1)
    derivative(c, c.t, c.y, c.k, True)
    if c.guard_count > 0:
        guard_values(c, c.t, c.y, c.g)
    c.h = first_step(c, method)
    c.grow = GROW
    c.is_landing = False
    c.moved = True
    c.alert = 0
    c.factored = 0.0


def samples(c: IntegratorTable, h: float, t_new: float, prepared: bool, method: Fixed) -> None:
    y_new, width = c.y_new, c.width
    while True:
        number = next_row(c, t_new)
        if number < 0:
            return
        time, row = c.times[number], c.rows[number * width :]
        if time >= t_new or h <= 0.0:
            for i in range(width):
                row[i] = y_new[i]
            continue
        if not prepared:
            method.prepare_dense(c, h, method)
            prepared = True
        method.dense(c, (time - c.t) / h, row, method)
        if c.delays is not None:
            look_back(c.delays, time, row)


def dense_samples(c: IntegratorTable, h: float, t_new: float, method: Fixed) -> None:
    samples(c, h, t_new, True, method)


def noisy_step(c: IntegratorTable, h: float, method: Fixed) -> None:
    used = False
    for i in range(c.n):
        rounding, allowed = method.rounding(c, i, h), error_weight(c, i, abs(c.y_new[i]))
        if exceeds(c, i, rounding, allowed):
            c.exceeded[i] = larger(c.exceeded[i], rounding)
            used = True
    c.noisy_steps += int(used)
    c.noisy += 1


def record(c: IntegratorTable, h: float, t_new: float, method: Fixed) -> None:
    d, y = c.delays, c.y_dense
    method.prepare_dense(c, h, method)
    for j in range(8):
        method.dense(c, d.nodes[j], y, method)
        time = c.t + d.nodes[j] * h
        look_back(d, time, y)
        now = formula_time(c, time)
        for k in range(d.count):
            source = d.sources[k]
            source(now, y, c.p, c.m, d.x)
            d.values[(d.filled * d.count + k) * 8 + j] = d.x[d.places[k]]
    add_row(d, c.t, t_new)


def accept(c: IntegratorTable, h: float, t_new: float, method: Fixed) -> None:
    if c.delays is not None:
        record(c, h, t_new, method)
    if c.noisy > 0:
        noisy_step(c, h, method)
    c.cornered = False
    move_to_end(c, method)
    update_levels(c, c.g[c.guard_count * (POINTS - 1) :])
    c.t = t_new
    c.moved = True
    c.steps += 1
    if not method.explicit:
        for i in range(c.n):
            c.recent[i] = larger(c.recent[i], abs(c.y[i]))


@inline
def move_to_end(c: Any, method: Fixed) -> None:
    y, y_new, k, size, width = c.y, c.y_new, c.k, c.size, c.width
    for i in range(c.n):
        size[i] = larger(size[i], abs(y_new[i]))
    for i in range(width):
        y[i] = y_new[i]
        k[i] = k[width * method.last + i]


def run(c: IntegratorTable, method: Fixed) -> int:
    while True:
        status = advance_run(c, method)
        if status == Status.EVENT:
            status = pass_event(c)
        if status != Status.RETRY:
            return status


def pass_event(c: IntegratorTable) -> int:
    s = c.instants
    s.t, s.written = c.t, c.written
    if not handle_event(s):
        return Status.EVENT_ENDS
    c.fresh, c.tried = True, 0
    c.weights_begin(c.weights, c.t, c.y, c.y[c.n :], c.m)
    if s.logged + s.reserve > s.log_room:
        return Status.LOG_FULL
    return Status.RETRY


def resume(c: IntegratorTable, p: Reals, count: int) -> int:
    """Continue at t with other parameters p (count,): fire the transitions whose guards jump, and solve algebraic loops; return a
    status as `pass_event` does. A run in co-simulation calls this when inputs have changed."""
    c.fresh, c.is_landing = True, False
    if c.guard_count > 0:
        guard_values(c, c.t, c.y, c.g)
    for i in range(count):
        c.p[i] = p[i]
    if c.instants is None:
        c.weights_begin(c.weights, c.t, c.y, c.y[c.n :], c.m)
        return Status.RETRY
    take_parameters(c.instants)
    if c.guard_count > 0:
        after = c.g[c.guard_count * (POINTS - 1) :]
        guard_values(c, c.t, c.y, after)
        for i in range(c.guard_count):
            c.fired[i] = int(c.g[i] < 0.0 and after[i] >= 0.0)
        update_levels(c, after)
    return pass_event(c)


def has_tick(c: IntegratorTable) -> bool:
    return c.clock_count > 0 and is_tick_due(c, due(c))


def settle_at(c: IntegratorTable, t: float) -> int:
    """Carry out the ticks and events that are due at t, after an external solver has set the state and perhaps parameters; return
    a status as `pass_event` does."""
    c.t = t
    following = due(c)
    if c.clock_count > 0 and following - t <= larger(abs(t), abs(following)) * SAME_TIME:
        carry_out_ticks(c, t, last_due(c, following))
    if c.instants is None:
        return Status.RETRY
    take_parameters(c.instants)
    if c.guard_count > 0:
        guard_values(c, t, c.y, c.g)
    for i in range(c.guard_count):
        c.fired[i] = int(c.g[i] > 0.0)
    return pass_event(c)


def see_step(c: IntegratorTable, t: float, x: Reals) -> None:
    for i in range(c.n):
        c.size[i] = larger(c.size[i], abs(x[i]))
    if c.guard_count > 0:
        now = c.g[c.guard_count * (POINTS - 1) :]
        guard_values(c, t, x, now)
        update_levels(c, now)


def solve_loops(c: IntegratorTable, t: float, x: Reals, m: Reals) -> int:
    """Solve algebraic loops at t in place, for states and inputs from an external solver; return 1 if x is a solution."""
    s = c.instants
    for i in range(s.modes):
        s.m_after[i] = m[i]
    return int(consistent(s, t, x))


def look_within(c: IntegratorTable, y: Reals, theta: float, row: Reals, method: Fixed) -> None:
    """Write the row at a fraction of the step just accepted, which began at y (width,); its dense output must exist."""
    for i in range(c.width):
        c.y[i] = y[i]
    method.dense(c, theta, row, method)
    for i in range(c.width):
        c.y[i] = c.y_new[i]


def advance_run(c: IntegratorTable, method: Fixed) -> int:
    while True:
        status = steps(c, method)
        if status != Status.DOUBT and status != Status.RENEW:
            return status
        update_weights(c, status, method)


def update_weights(c: IntegratorTable, status: int, method: Fixed) -> None:
    w, t, y, m, rtol = c.weights, c.t, c.y, c.m, c.rtol
    if status == Status.DOUBT:
        c.weights_test_noise(w, t, y, m, c.h, rtol, not method.explicit)
        c.rejections_before_test = w.rejections_before_test
    elif c.steps >= c.renewal:
        c.weights_refresh(w, t, y, m)
        following = RENEWALS[0]
        while following <= c.steps:
            following = NEVER if following == RENEWALS[-1] else following * 2
        c.renewal = following
    elif c.noisy <= STALE and c.t >= c.decay_due:
        c.weights_follow_decay(w, t, y, m, c.recent)
        c.decay_due = _DECAY_WINDOW * t
        for i in range(c.n):
            c.recent[i] = abs(y[i])
    else:
        relative = rtol * (DECISIVE if c.noisy == 0 else 1.0)
        c.weights_decay(w, t, y, m, c.h, relative, not method.explicit)
    c.noisy = 0
    c.factored = 0.0
    for i in range(c.width):
        if c.noise[i] != 0.0:
            c.noisy = 1


def steps(c: IntegratorTable, method: Fixed) -> int:
    ready(c, method)
    status: int = Status.RETRY
    while status == Status.RETRY:
        status = propose_step(c)
        if status == Status.STOP:
            flush(c, c.t)
        elif status == Status.ATTEMPT:
            error = method.attempt(c, c.trial, c.target, method)
            status = accept_or_reject(c, error, method)
            if status == Status.ACCEPT:
                status = finish(c, error, method)
    return status


def finish(c: IntegratorTable, error: float, method: Fixed) -> int:
    """Finish a step that the error control accepts: detect events, write samples, advance to the end of the step and choose the
    next step size. Return `RETRY` to continue."""
    h, t_new, stiff = c.trial, c.target, False
    if c.guard_count > 0:
        if c.is_landing:
            return land(c, method)
        if crossing_check(c, h, t_new, DenseOutput(method.dense, method.cubic, guard_values, method)):
            method.prepare_dense(c, h, method)
            theta = locate(c, h, DenseOutput(method.dense, method.cubic, guard_values, method))
            if theta <= 1.0:
                c.is_landing = True
                c.landings = 0
                c.landing = theta * h
                return Status.RETRY
    outlook = NOT_AT_HAND
    if not method.explicit:
        outlook = method.look_ahead(c, h, error, method)
        if outlook == DAMPED:
            return accept_or_reject(c, math.inf, method)
    samples(c, h, t_new, False, method)
    if method.explicit:
        stiff = c.watch and method.stiffness(c, h, method)
    accept(c, h, t_new, method)
    c.moved = outlook != AT_HAND
    return after_acceptance(c, error, stiff, method)


def land(c: IntegratorTable, method: Fixed) -> int:
    """Correct the size of the step to an event by Newton iteration until the guard is zero, then end the segment.

    The dense output has the rounding error of the whole step, which can exceed the value of a guard at the start of the step, for
    instance after a start from zero or if the tolerance is large. If the guard turns out to be neither near zero nor past a jump,
    and no other guard has risen, the integration continues.
    """
    h, t_new, first, before = c.trial, c.target, c.first, c.g
    g = c.g[c.guard_count * (POINTS - 1) :]
    guard_values(c, t_new, c.y_new, g)
    if c.jumps and approach_jump(c, method):
        return Status.RETRY
    jumps, value, slope = c.jumps, g[first], c.slope
    shift = value / slope
    size = abs(shift)
    is_distinct = size > 2.0 * EPSILON * (abs(t_new) + h)
    near = size < _MAX_CORRECTION * h
    if is_distinct and near and slope > 0.0 and not jumps and c.landings < _MAX_LANDINGS:
        c.landings += 1
        c.landing = h - shift
        return Status.RETRY
    samples(c, h, t_new, False, method)
    early = h < c.h * _EARLY_FRACTION and value < before[first] * 0.5
    risen = True
    if early or (value < 0.0 and (jumps or (slope > 0.0 and is_distinct and not near))):
        risen = False
        for i in range(c.guard_count):
            fires = before[i] < 0.0 and g[i] >= 0.0
            c.fired[i] = int(fires)
            if fires:
                risen = True
    accept(c, h, t_new, method)
    if risen:
        return Status.EVENT
    c.is_landing = False
    c.h = h * GROW
    return Status.RETRY


def approach_jump(c: IntegratorTable, method: Fixed) -> bool:
    """Prepare to land again at the first time past a jump and return True; return False if the step has ended near enough to
    the jump. A step that ends before the jump because of rounding is lengthened by more each time."""
    h, t_new, landings = c.trial, c.target, c.landings
    value = c.g[c.guard_count * (POINTS - 1) + c.first]
    shift = jump_shift(c, h, t_new, method)
    behind = value < 0.0 and shift > 0.0 and landings < _MAX_PUSHES
    beyond = value >= 0.0 and shift < -2.0 * EPSILON * (abs(t_new) + h) and landings < _MAX_LANDINGS
    if behind or beyond:
        c.landings += 1
        c.landing = h + (shift * (float(landings) + 1.0) if behind else shift)
        return True
    return False


def is_past(c: IntegratorTable, t_new: float, shift: float, method: Fixed) -> bool:
    """Return True if the first guard is zero or positive at the time `shift` (s) after the end of the step. States are
    extrapolated linearly to this time, since second-order terms are within rounding error."""
    y, y_new, rates = c.y_dense, c.y_new, c.k[c.width * method.last :]
    for i in range(c.n):
        y[i] = y_new[i] + shift * rates[i]
    guard_values(c, t_new + shift, y, c.g_dense)
    return c.g_dense[c.first] >= 0.0


def jump_shift(c: IntegratorTable, h: float, t_new: float, method: Fixed) -> float:
    """Return the time, s, from the end of a step to the nearest time at which the first guard has jumped and is not negative; 0
    if there is no jump nearby."""
    least = 2.0 * EPSILON * h
    past = c.g[c.guard_count * (POINTS - 1) + c.first] >= 0.0
    near, far = 0.0, -1.0 * least if past else least
    while True:
        if abs(far) > _MAX_CORRECTION * h:
            return 0.0
        if is_past(c, t_new, far, method) != past:
            break
        near = far
        far = far * _RATIO
    low, high = far if past else near, near if past else far
    while True:
        middle = 0.5 * (low + high)
        if high - low <= least or not middle > low or not middle < high:
            return high
        if is_past(c, t_new, middle, method):
            high = middle
        else:
            low = middle


_COLD_MODULES = (
    accumulation,
    algebraic_loops,
    bernstein,
    dead_centres,
    friction_modes,
    guards,
    iteration,
    mode_search,
    questions,
    root_finding,
    transitions,
)
_COLD = frozenset(
    function.__name__
    for function in (
        *(initial_step.begin_run, initial_step.open_run, initial_step.reset, first_step, guard_values),
        *(ready, samples, dense_samples, noisy_step, update_weights, advance_run, land, approach_jump, is_past, jump_shift),
        *(pass_event, resume, has_tick, settle_at, see_step, solve_loops, look_within),
        *(due, flush, sample_clocks.carry_out_ticks, sample_clocks.time_of_ticks, sample_clocks.tick),
        sample_clocks.start_clocks,
        *(
            each
            for module in _COLD_MODULES
            for each in vars(module).values()
            if getattr(each, "__module__", "") == module.__name__ and each not in (root_finding.mark_crossings, crossing_check)
        ),
    )
)
"""Functions that run so rarely that vectorised loops do not pay off."""


def translated(method: Method) -> list[Procedure]:
    """Return the procedures of a method and of the loop around its steps. Exported names must differ from all names in the C
    library, such as `advance`."""
    with_method: list[Callable[..., Any]] = [method.dense, method.cubic, *method.exported, noisy_step, accept_or_reject]
    with_method += [after_acceptance, ready, update_weights, dense_samples, look_within, advance_run, run]
    functions: list[Callable[..., Any]] = [
        guard_values,
        derivative,
        flush,
        propose_step,
        handle_event,
        pass_event,
        resume,
        has_tick,
        settle_at,
        see_step,
        solve_loops,
        due,
    ]
    functions.append(look_back_at)
    functions += [
        *(functools.partial(each, method=method) for each in with_method),
        initial_step.open_run,
        initial_step.begin_run,
    ]
    exported = {
        "propose_step",
        "flush",
        "look_back_at",
        "handle_event",
        "pass_event",
        "resume",
        "has_tick",
        "settle_at",
        "see_step",
        "solve_loops",
        "due",
        "open_run",
        "begin_run",
        *(each.__name__ for each in with_method[2:]),
    }
    tables = {kind: method.table for kind in method.table.__mro__[1:] if issubclass(kind, StepTable)}
    return translate(functions, exported, tables=tables)


def procedures(method: Method) -> list[Procedure]:
    translation = translated(method)
    cold(each for each in translation if each.name.rstrip("_0123456789") in _COLD)
    return translation
