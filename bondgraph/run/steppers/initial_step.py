"""Start of a run in machine code: tables, ticks and events at the start, first row, and initial step size."""

from __future__ import annotations

import math

from bondgraph.emit.kernel_language.language import Fixed, Reals, finite, inline, larger, smaller, sqrt
from bondgraph.run.accuracy.error_weights import NOISE_TEST_INTERVALS, RENEWALS, RETRIES_BEFORE_TEST
from bondgraph.run.events.iteration import handle_start, open_events
from bondgraph.run.kernel_functions import all_finite
from bondgraph.run.steppers.sample_clocks import start_clocks
from bondgraph.run.steppers.shared_fields import IntegratorTable, derivative, error_weight


def begin_run(c: IntegratorTable, x: Reals, m: Reals, times: Reals, rows: Reals, samples: int) -> bool:
    """Start a run from (x, m) at time 0, with this number of samples, and write the first row; return False if Python has to
    start it."""
    if not open_run(c, x, m, times, rows, samples):
        return False
    c.weights_begin(c.weights, c.t, c.y, c.y[c.n :], c.m)
    return True


def reset(c: IntegratorTable) -> None:
    c.steps = 0
    c.rejected = 0
    c.rate_count = 0
    c.jacobian_count = 0
    c.guard_calls = 0
    c.noisy_steps = 0
    c.written = 0
    c.tried = 0
    c.stiff = 0
    c.mild = 0
    c.rejections_since_test = 0
    c.noisy = 0
    c.is_landing = False
    c.landings = 0
    c.cornered = False
    c.forced = 0
    c.is_forced = False
    c.inspection = 0
    c.retries = 0
    c.t = 0.0
    c.pace = 0.0
    c.t_inspected = 0.0
    c.decay_due = 0.0
    for i in range(c.n):
        c.recent[i] = 0.0
    c.fresh = True
    c.renewal = RENEWALS[0]
    c.rejections_before_test = NOISE_TEST_INTERVALS[0]
    c.retry_limit = RETRIES_BEFORE_TEST
    c.window[0] = -math.inf
    c.window[1] = math.inf


def open_run(c: IntegratorTable, x: Reals, m: Reals, times: Reals, rows: Reals, samples: int) -> bool:
    """Start a run as `begin_run` does, but without the first error weights."""
    n, width, y = c.n, c.width, c.y
    reset(c)
    for i in range(c.mode_count):
        c.m[i] = m[i]
    for i in range(2 * c.guard_count):
        c.levels[i] = 0.0
    for i in range(width):
        y[i] = 0.0
    for i in range(n):
        y[i] = x[i]
    if c.instants is not None and not open_events(c.instants):
        return False
    for i in range(n):
        c.y_begun[i] = y[i]
    start_clocks(c)
    c.weights_reset(c.weights)  # event handling needs the sizes of states so far
    if c.instants is not None:
        if not handle_start(c.instants):
            return False
        c.instants.rows = rows[width:]
    if not all_finite(y, n):
        return False
    for i in range(width):
        rows[i] = y[i]
    c.times = times[1:]
    c.rows = rows[width:]
    c.samples = samples - 1
    return True


@inline
def norm(c: IntegratorTable, values: Reals, n: int) -> float:
    total = 0.0
    for i in range(n):
        part = values[i] / error_weight(c, i, abs(c.y[i]))
        total = total + part * part
    return sqrt(total)


@inline
def norm_of_difference(c: IntegratorTable, values: Reals, others: Reals, n: int) -> float:
    total = 0.0
    for i in range(n):
        part = (values[i] - others[i]) / error_weight(c, i, abs(c.y[i]))
        total = total + part * part
    return sqrt(total)


def first_step(c: IntegratorTable, method: Fixed) -> float:
    """Choose the initial step size from two evaluations of the rates, the first of which is in k (after Hairer, Norsett, Wanner,
    II.4).

    Rates of size d1 (in weights per second) that change within the time tau give an error of about d1 tau (h / tau)^p;
    `method.root` is the p-th root.
    """
    n, k, y, trial, later = c.n, c.k, c.y, c.y_stage, c.k[c.width :]
    longest = smaller(c.h_max, c.stop - c.t)
    size, speed = norm(c, y, n), norm(c, k, n)
    flat = size < 1e-5 or speed * longest < 1e-5
    h = smaller(longest * 1e-6 if flat else size * 0.01 / speed, longest)
    for i in range(c.width):
        trial[i] = y[i] + h * k[i]
    derivative(c, c.t + h, trial, later, False)
    bend = norm_of_difference(c, later, k, n) / h
    fast = larger(speed, bend * h)
    tau = fast / bend
    by_bend = tau * method.root(0.01 / (fast * tau))
    return smaller(smaller(h * 100.0, by_bend) if finite(bend) else h * 1e-3, longest)
