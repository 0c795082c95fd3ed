"""Event detection: find the guards that are positive, or about to be, by more than their rounding errors.

The rounding error of a guard is measured at states, parameters and times next to the current point (`guard_history`).
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Fixed, Reals, finite, inline, larger, smaller, unrolled
from bondgraph.run.events.guard_history import (
    LOOK_AHEAD_RATIO,
    MARGIN,
    MAX_LOOK_AHEAD,
    MIN_LOOK_AHEAD,
    MOVED,
    PAIRS,
    PERTURBATION,
    RESTING,
    REVERSAL_RATIO,
    SAMPLES_AHEAD,
    TRIALS,
)
from bondgraph.run.events.questions import make_ready
from bondgraph.run.events.state import EventTable
from bondgraph.run.kernel_functions import formula_time

UNTRIED = -1

NO_TIME = -1.0
SAME_SIZE = 2.0**-20
"""Relative change of the size of a state up to which rounding errors of guards remain valid."""

AHEAD_PAIRS = 2
"""Number of pairs of points from which the motion is followed; two suffice, because rounding errors of the motion exceed a few
units in the last place."""
CLEAR = 2.0**-20
"""Largest relative rounding error at which a guard's value is used as its size."""
ACCUMULATED = 2.0
"""Ratio of a guard's rounding error after many steps to its rounding error at a point, as for a current that diodes block."""
MAX_ERROR_RATIO = 2.0**20
"""Largest ratio between rounding errors from different pairs of points, if these errors exceed a few units in the last place."""


@inline
def is_active(s: EventTable, i: int) -> bool:
    return s.m_here[s.slots[i]] == s.sources[i]


def rates_at(s: EventTable, t: float, x: Reals, p: Reals, out: Reals) -> None:
    if s.n > 0:
        s.rates(formula_time(s, t), x, p, s.m_here, out)


def guards_at(s: EventTable, t: float, x: Reals, p: Reals, out: Reals) -> None:
    s.guards(formula_time(s, t), x, p, s.m_here, out)


def shortest_interval(s: EventTable, t: float) -> float:
    return 4.0 * PERTURBATION * (abs(s.origin) + abs(t)) + MIN_LOOK_AHEAD * s.span


def spread(s: EventTable, value: Reals, near: Reals, pairs: Fixed, out: Reals) -> None:
    """Compute a bound on the rounding errors of values (k,) from their values `near` at this many pairs of points; 0 for
    inactive guards. Of two opposite points, only the point with the nearer value is used, because a law may jump here."""
    count = s.transitions
    for i in range(count):
        out[i] = 0.0
    for i in range(count):
        if is_active(s, i):
            middle, top = value[i], 0.0
            for k in unrolled(range(pairs)):
                off = smaller(abs(near[count * k + i] - middle), abs(near[count * (k + PAIRS) + i] - middle))
                top = off if k == 0 else larger(top, off)
            out[i] = MARGIN * top


def guards_beside(s: EventTable, t: float, x: Reals, sizes: Reals, k: int) -> None:
    n, y, by_x = s.n, s.x_near, s.by_x
    for i in range(n):
        y[i] = x[i] + by_x[n * k + i] * sizes[i]
    reach = abs(s.origin) + abs(t)
    guards_at(s, t + reach * s.later[k], y, s.p_near[s.parameters * k :], s.near[s.transitions * k :])


def noise(s: EventTable, t: float, x: Reals, sizes: Reals, now: Reals, pairs: Fixed, out: Reals) -> None:
    for side in unrolled((0, PAIRS)):
        for k in range(side, side + pairs):
            guards_beside(s, t, x, sizes, k)
    spread(s, now, s.near, pairs, out)


@inline
def resting_error(s: EventTable, i: int) -> float:
    return s.drift[i] if s.sizes[i] <= s.drift[i] * RESTING else 0.0


@inline
def jump_error(s: EventTable, i: int) -> float:
    """Return the largest jump that rounding errors can cause in a state that has not moved; 0 for other states."""
    return RESTING * resting_error(s, i)


@inline
def full_size(s: EventTable, i: int, size: float) -> float:
    return larger(size, resting_error(s, i) * (1.0 / PERTURBATION))


def rates_beside(s: EventTable, t: float, x: Reals, k: int, sizes: Reals, out: Reals) -> None:
    n, y, by_x = s.n, s.x_near, s.by_x
    for i in range(n):
        y[i] = x[i] + by_x[n * k + i] * sizes[i]
    rates_at(s, t, y, s.p_near[s.parameters * k :], out)


def measure_drift(s: EventTable, t: float, x: Reals) -> None:
    """Update `drift`, the rounding errors of the states that have not moved yet, and `moved`. The error of a rate, the largest at
    `SAMPLES_AHEAD`, acts for less than the run and for less than the response time of its state."""
    sizes, above, below, most = s.x_ahead, s.speed, s.speed_later, s.drift_now
    is_any = False
    for k in range(s.kept_count):
        if s.moved[s.kept[k]] == 0:
            is_any = True
    if not is_any:
        return
    for i in range(s.n):
        most[i] = 0.0
        sizes[i] = larger(s.sizes[i], abs(x[i]))
    for k in unrolled(range(PAIRS)):
        time = t + SAMPLES_AHEAD[k] * (s.span - t)
        rates_beside(s, time, x, k, sizes, above)
        rates_beside(s, time, x, k + PAIRS, sizes, below)
        for i in range(s.n):
            error = MARGIN * abs(above[i] - below[i])
            if finite(error):
                most[i] = larger(most[i], error)
    for i in range(s.n):
        sizes[i] = most[i] * s.span * (1.0 / PERTURBATION)
    rates_beside(s, t, x, 0, sizes, above)
    rates_beside(s, t, x, PAIRS, sizes, below)
    for k in range(s.kept_count):
        i = s.kept[k]
        if s.moved[i] == 0 and most[i] > 0.0:
            answer = abs(above[i] - below[i]) / most[i]  # span of the run over the response time of the state
            s.drift[i] = larger(s.drift[i], most[i] * s.span / (answer + 1.0))
            s.moved[i] = int(s.sizes[i] > s.drift[i] * MOVED)


def may_end(s: EventTable) -> bool:
    for i in range(s.transitions):
        if s.continues[i] == 0 and is_active(s, i):
            return True
    return False


def zero_of(s: EventTable, t: float, x: Reals, now: Reals, out: Reals) -> None:
    """Compute the rounding errors of the guards for states as large as the largest so far, and update `guard_sizes`. For guards
    that end the run, the drift of states is ignored: near a singular position it is not rounding error."""
    sizes, plain, rests = s.zero_sizes, s.soon, False
    for i in range(s.n):
        size = larger(s.sizes[i], abs(x[i]))
        sizes[i] = full_size(s, i, size)
        if sizes[i] > size:
            rests = True
    noise(s, t, x, sizes, now, PAIRS, out)
    if rests and may_end(s):
        for i in range(s.n):
            sizes[i] = larger(s.sizes[i], abs(x[i]))
        noise(s, t, x, sizes, now, PAIRS, plain)
        for i in range(s.transitions):
            if s.continues[i] == 0:
                out[i] = plain[i]
    for i in range(s.transitions):
        if is_active(s, i) and out[i] <= CLEAR * abs(now[i]):
            s.guard_sizes[i] = larger(s.guard_sizes[i], abs(now[i]))
    accumulate(s, out)


def accumulate(s: EventTable, errors: Reals) -> None:
    """Convert the rounding errors of guards at a point to errors over a run: take at least the rounding error of a guard's
    largest value at events, because a guard that follows a source vanishes with the source; then multiply by `ACCUMULATED`.
    Errors of bounces, which restart at each impact, and of transitions that end the run do not change."""
    for i in range(s.transitions):
        if is_active(s, i) and s.continues[i] == 1 and s.bounces[i] != 1:
            errors[i] = ACCUMULATED * larger(errors[i], s.guard_sizes[i] * (MARGIN * PERTURBATION))


def largest_zero(s: EventTable, t: float, x: Reals, now: Reals, out: Reals) -> None:
    """Compute, from one pair of points, an upper bound on the rounding errors of the guards (`zero_of`)."""
    sizes = s.x_ahead
    for i in range(s.n):
        sizes[i] = full_size(s, i, larger(s.sizes[i], abs(x[i])))
    noise(s, t, x, sizes, now, 1, out)
    accumulate(s, out)
    for i in range(s.transitions):
        out[i] = out[i] * MAX_ERROR_RATIO


def ahead(s: EventTable, t: float, x: Reals, p: Reals, h: float, speed: Reals, y: Reals, out: Reals) -> None:
    """Compute the states y and the guards after a time h (s) of motion, to second order (Heun), from the rates `speed` at x."""
    n, later = s.n, s.speed_later
    for i in range(n):
        y[i] = x[i] + h * speed[i]
    rates_at(s, t + h, y, p, later)
    for i in range(n):
        y[i] = x[i] + 0.5 * h * (speed[i] + later[i])
    guards_at(s, t + h, y, p, out)


# Bounces.


def rise(s: EventTable, t: float, y: Reals, i: int) -> float:
    rates_at(s, t, y, s.p, s.tried_speed)
    ahead(s, t, y, s.p, MAX_LOOK_AHEAD * s.span, s.tried_speed, s.tried_ahead, s.tried_soon)
    guards_at(s, t, y, s.p, s.tried_now)
    return s.tried_soon[i] - s.tried_now[i]


def lowers_guard(s: EventTable, t: float, x: Reals, i: int) -> bool:
    """Return True if the reset of transition i itself takes its guard below zero by more than rounding error."""
    after, now, error, reset = s.tried_after, s.tried_now, s.tried_soon, s.resets[i]
    for k in range(s.n):
        after[k] = x[k]
        s.tried_size[k] = full_size(s, k, larger(s.sizes[k], abs(x[k])))
    if reset is not None:
        reset(formula_time(s, t), x, s.p, s.m_here, after)
    guards_at(s, t, after, s.p, now)
    noise(s, t, after, s.tried_size, now, PAIRS, error)
    return now[i] < -ACCUMULATED * error[i]


def reverses_guard(s: EventTable, t: float, x: Reals, i: int) -> bool:
    """Return True if, at a majority of trial states around x, the reset of transition i stops or reverses the guard's rate."""
    n, size, y, after, speed, reset = s.n, s.tried_size, s.tried, s.tried_after, s.tried_speed, s.resets[i]
    rates_at(s, t, x, s.p, speed)
    for k in range(n):
        most = larger(larger(s.sizes[k], abs(x[k])), abs(speed[k]) * s.span)
        size[k] = most if most > 0.0 else 1.0
    turned = 0
    for trial in range(TRIALS):
        before, past = 0.0, 0.0
        for side in unrolled((1.0, -1.0)):
            for k in range(n):
                y[k] = x[k] + side * (s.trials[n * trial + k] * size[k])
                after[k] = y[k]
            if reset is not None:
                reset(formula_time(s, t), y, s.p, s.m_here, after)
            if side > 0.0:
                before = rise(s, t, y, i)
                past = rise(s, t, after, i)
            else:
                before = before - rise(s, t, y, i)
                past = past - rise(s, t, after, i)
        along = past if before > 0.0 else -past
        if before != 0.0 and along < REVERSAL_RATIO * abs(before):
            turned += 1
    return turned > TRIALS // 2


def is_bounce(s: EventTable, t: float, x: Reals, i: int) -> bool:
    if s.bounces[i] == UNTRIED:
        make_ready(s, i)
        s.bounces[i] = int(not lowers_guard(s, t, x, i) and reverses_guard(s, t, x, i))
    return s.bounces[i] == 1


# Growth of guards that are zero within rounding error.


@inline
def near_point(s: EventTable, x: Reals, k: int) -> Reals:
    n, y, by_x = s.n, s.x_near, s.by_x
    for i in range(n):
        y[i] = x[i] * (by_x[n * k + i] + 1.0) + by_x[n * k + i] * full_size(s, i, 0.0)
    return y


def starts_near(s: EventTable, t: float, x: Reals) -> None:
    for side in unrolled((0, PAIRS)):
        for k in range(side, side + AHEAD_PAIRS):
            y, p = near_point(s, x, k), s.p_near[s.parameters * k :]
            guards_at(s, t, y, p, s.near_now[s.transitions * k :])
            rates_at(s, t, y, p, s.speed_near[s.n * k :])


def noise_ahead(s: EventTable, t: float, x: Reals, h: float, change: Reals, out: Reals) -> None:
    """Compute the rounding errors that the rates cause in the changes of the guards within h s; call after `starts_near`."""
    count = s.transitions
    for side in unrolled((0, PAIRS)):
        for k in range(side, side + AHEAD_PAIRS):
            y, p, near, near_now = near_point(s, x, k), s.p_near[s.parameters * k :], s.near[count * k :], s.near_now[count * k :]
            ahead(s, t, y, p, h, s.speed_near[s.n * k :], s.x_ahead, near)
            for i in range(count):
                near[i] = near[i] - near_now[i]
    spread(s, change, s.near, AHEAD_PAIRS, out)


def measure_still(s: EventTable, t: float, x: Reals) -> None:
    """Fill `still` with the rounding errors of the guards `now` at (t, x), after `firing_guards` at this point; reuse `zero_seen`
    if it is valid for states of these sizes and no transition from this mode ends the run."""
    sizes, is_known = s.x_ahead, not may_end(s)
    for i in range(s.n):
        sizes[i] = full_size(s, i, abs(x[i]))
        if sizes[i] != s.zero_sizes[i]:
            is_known = False
    if is_known:
        for i in range(s.transitions):
            s.still[i] = s.zero_seen[i]
    else:
        noise(s, t, x, sizes, s.now, PAIRS, s.still)
        accumulate(s, s.still)


def has_unmoved(s: EventTable) -> bool:
    for i in range(s.transitions):
        if s.open[i] == 1 and s.change[i] == 0.0:
            return True
    return False


def mark_rises(s: EventTable, t: float, h: float) -> None:
    count, now, change, least, there, errors = s.transitions, s.now, s.change, s.least, s.soon, s.was
    y, sizes, is_open = s.x_shift, s.x_ahead, s.open
    rises = False
    for i in range(count):
        if is_open[i] == 1 and change[i] > least[i]:
            rises = True
    if rises:
        for i in range(count):
            there[i] = now[i] + change[i]
        for i in range(s.n):
            sizes[i] = full_size(s, i, abs(y[i]))
        noise(s, t + h, y, sizes, there, PAIRS, errors)
        for i in range(count):
            if is_open[i] == 1 and change[i] > least[i] and change[i] > errors[i]:
                s.rising[i] = 1


def mark_growing(s: EventTable, t: float, x: Reals, speed: Reals) -> None:
    """Among the `undecided` guards, with values `now` at (t, x) and rates `speed` of the states, mark in `rising` the guards that
    grow over the shortest look-ahead in which they change by more than rounding error. A bounce is also followed until its guard
    has fallen below zero.

    A guard that neither moves in the first look-ahead nor has a rounding error is constant here: it can only jump later, at a
    later event.
    """
    count, now, change, least, still, is_open = s.transitions, s.now, s.change, s.least, s.still, s.open
    remaining = 0
    for i in range(count):
        is_open[i] = s.undecided[i]
        remaining += s.undecided[i]
    if remaining == 0:
        return
    h, longest = larger(MIN_LOOK_AHEAD * s.span, shortest_interval(s, t)), MAX_LOOK_AHEAD * s.span
    first, started, measured = True, False, False
    while remaining > 0:
        ahead(s, t, x, s.p, h, speed, s.x_shift, change)
        differs, moved = False, False
        for i in range(count):
            change[i] = change[i] - now[i]
            least[i] = 0.0
            if is_open[i] == 1 and change[i] != 0.0:
                differs = True
        if first and has_unmoved(s):
            measure_still(s, t, x)
            measured = True
            for i in range(count):
                if change[i] == 0.0 and still[i] == 0.0:
                    is_open[i] = 0
        first = False
        if differs:  # rounding errors are not needed while no guard changes
            if not measured:
                measure_still(s, t, x)
                measured = True
            for i in range(count):
                least[i] = still[i]
                if is_open[i] == 1 and not abs(change[i]) <= still[i]:
                    moved = True
        if moved:
            if not started:
                starts_near(s, t, x)
                started = True
            noise_ahead(s, t, x, h, change, least)
            for i in range(count):
                least[i] = still[i] if abs(change[i]) <= still[i] else still[i] + least[i]
            mark_rises(s, t, h)
        remaining = 0
        for i in range(count):
            if is_open[i] == 1:
                falls = s.bounce[i] == 1 and now[i] + change[i] >= 0.0
                is_open[i] = int(s.rising[i] != 1 and finite(change[i]) and (change[i] >= -least[i] or falls))
                remaining += is_open[i]
        h = h * LOOK_AHEAD_RATIO
        if not h <= longest:
            return


def record_evaluation(s: EventTable, t: float, x: Reals) -> None:
    s.time_seen = t
    for i in range(s.n):
        s.x_seen[i] = x[i]
    for i in range(s.modes):
        s.m_seen[i] = s.m_here[i]
    for i in range(s.transitions):
        s.guards_seen[i] = s.was[i]


def is_evaluated_at(s: EventTable, t: float, x: Reals) -> bool:
    """Return True if `firing_guards` last evaluated at t, x and the modes m_here, for states of the current sizes: then
    `guards_seen` and `zero_seen` are valid here."""
    if t != s.time_seen:
        return False
    for i in range(s.modes):
        if s.m_here[i] != s.m_seen[i]:
            return False
    for i in range(s.n):
        size = full_size(s, i, larger(s.sizes[i], abs(x[i])))
        if x[i] != s.x_seen[i] or not abs(size - s.zero_sizes[i]) <= SAME_SIZE * size:
            return False
    return True


def firing_guards(s: EventTable, t: float, x: Reals, probe: float) -> None:
    """Mark in `rising` the guards that are positive now and after `probe` s, and those that are zero within rounding error and
    grow along the motion; if the mode contradicts itself by then, also mark the guards that resolve this.

    The positive guard of a bounce fires only if it also grows before it falls below zero: a body that leaves is not thrown back.
    """
    count, was, now, zero, change, soon, speed = s.transitions, s.was, s.now, s.zero, s.change, s.soon, s.speed
    firm, undecided, bounce, rising, unclear, shifted = s.firm, s.undecided, s.bounce, s.rising, s.unclear, s.x_shifted
    shift = shortest_interval(s, t)
    start = t + shift  # later than any jump at this time
    guards_at(s, t, x, s.p, was)
    rates_at(s, start, x, s.p, speed)
    for i in range(s.n):
        shifted[i] = x[i] + shift * speed[i]
    guards_at(s, start, shifted, s.p, now)
    zero_of(s, start, shifted, now, s.zero_seen)
    record_evaluation(s, t, x)
    any_unclear = False
    for i in range(count):
        zero[i] = s.zero_seen[i]
        change[i] = now[i] - was[i]
        # A guard is unclear if it is nonzero only because of the shift.
        unclear[i] = int(is_active(s, i) and abs(now[i]) > zero[i] and abs(was[i]) <= abs(change[i]))
        any_unclear = any_unclear or unclear[i] == 1
    if any_unclear:
        starts_near(s, t, x)
        noise_ahead(s, t, x, shift, change, s.least)
        for i in range(count):
            if unclear[i] == 1:
                zero[i] = zero[i] + s.least[i]
    near, firms, endings = 0, 0, 0
    for i in range(count):
        in_mode = is_active(s, i)
        undecided[i] = int(in_mode and abs(now[i]) <= zero[i])
        firm[i] = int(in_mode and now[i] > zero[i])
        # Guards that end the run if their mode contradicts itself.
        bounce[i] = int(in_mode and s.last[i] == 1 and now[i] <= zero[i])
        near += undecided[i]
        firms += firm[i]
        endings += bounce[i]
        rising[i] = 0
    if near + firms + endings == 0:
        return
    rates_at(s, start, shifted, s.p, speed)
    if firms + endings > 0:
        ahead(s, start, shifted, s.p, probe, speed, s.x_shift, soon)
        answers = False
        for i in range(count):
            firm[i] = int(firm[i] == 1 and soon[i] > 0.0)
            if bounce[i] == 1 and soon[i] > 0.0:
                answers = True
        if answers:
            for i in range(count):
                if is_active(s, i) and s.last[i] != 1 and soon[i] > zero[i]:
                    firm[i] = 1
    for i in range(count):
        bounces = (undecided[i] == 1 or firm[i] == 1) and is_bounce(s, t, shifted, i)
        bounce[i] = int(bounces)
        rising[i] = int(firm[i] == 1 and not bounces)
        undecided[i] = int(undecided[i] == 1 or (firm[i] == 1 and bounces))
    mark_growing(s, start, shifted, speed)
