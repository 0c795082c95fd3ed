"""Step size control by the local error: propose a step size, accept or reject a step, and adapt the next step size.

The functions access states only at ticks, so runs in SIMD lanes share them with single runs.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Fixed, finite, inline, larger, smaller
from bondgraph.run.clock_schedule import SAME_TIME
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.status import Status
from bondgraph.run.steppers.sample_clocks import due, tick
from bondgraph.run.steppers.segment import FIRST_INSPECTION, HOPELESS_RATIO, MIN_STEPS_BEFORE_GIVING_UP
from bondgraph.run.steppers.shared_fields import IntegratorTable

GROW = 6.0
STALE = 100
"""Number of steps after which noise is measured again."""
_SAFE, _SHRINK = 0.9, 0.2
# Factor by which a step that has become too small is lengthened for one more attempt, with updated error weights.
_RETRY_FACTOR = 1e3
_RECOVERED = 1e6
"""Ratio of an accepted step to the smallest step above which the count of forced steps restarts from zero."""
_FASTEST = 1e6
"""Largest rate of a state, relative to its size and the time so far, at a jump; at a singularity rates are larger."""


def is_tick_due(c: IntegratorTable, following: float) -> bool:
    size = larger(abs(c.t), abs(following))
    inside = following < c.stop - abs(c.stop) * SAME_TIME
    return (following - c.t <= size * SAME_TIME) & inside


def has_too_many_steps(c: IntegratorTable) -> bool:
    """Apply the test of `segment.too_many_steps` to the run."""
    if c.steps < MIN_STEPS_BEFORE_GIVING_UP:
        return c.steps > c.most
    return c.steps > c.most or c.t / c.span * float(c.most) * HOPELESS_RATIO <= float(c.steps)


def takes_too_many_steps(c: IntegratorTable) -> bool:
    """Return True if the run has taken, or will take, too many steps. The loop asks this at every step, so that the result
    does not depend on its other pauses."""
    return has_too_many_steps(c) or (c.steps >= FIRST_INSPECTION and c.steps >= c.inspection and is_too_slow(c))


def is_too_slow(c: IntegratorTable) -> bool:
    """Return True if the run would take too many steps at the pace since the last inspection; set `pace`, s. The number of steps
    doubles from one inspection to the next."""
    pace = (c.t - c.t_inspected) / (float(c.steps) - 0.5 * float(c.inspection))
    c.inspection = c.steps * 2
    c.t_inspected = c.t
    if pace * float(c.most - c.steps) < c.span - c.t:
        c.pace = pace
        return True
    return False


def propose_step(c: IntegratorTable) -> int:
    """Return `ATTEMPT` with the next step, of length `trial` to the time `target`, or the status after due ticks, a pause or
    the end."""
    if c.stop - c.t <= (tiny_of(c.t) if c.steps > 0 else 0.0):
        c.t = c.stop
        return Status.STOP
    if c.delays is not None and c.delays.filled >= c.delays.room:
        return Status.PAUSE
    if c.tried >= c.budget or takes_too_many_steps(c):
        return Status.PAUSE
    c.tried += 1
    c.horizon = c.stop
    if c.clock_count > 0:
        following = due(c)
        if is_tick_due(c, following):
            c.is_landing = False
            return Status.EVENT if tick(c, following) else Status.RETRY
    t, horizon, land = c.t, c.horizon, c.is_landing
    h = smaller(c.h, c.h_max)
    last = t + h * 1.01 >= horizon
    h = c.landing if land else (horizon - t if last else h)
    c.trial = h
    c.target = t + h if land else (horizon if last else t + h)
    c.is_last = last
    c.accepts = land or c.is_forced
    c.is_forced = False
    return Status.ATTEMPT


def accept_or_reject(c: IntegratorTable, error: float, method: Fixed) -> int:
    """Accept or reject a step by its `error` relative to the tolerance; after a rejection, retry with a shorter step, test for
    noise, or fail. Repeated rejections lead to a test, because shorter steps reduce truncation errors but not noise. Where the
    rates jump, a step too small to be shortened is accepted; a run that needs too many of these, or approaches a singularity,
    fails."""
    h, is_finite, tiny = c.trial, finite(error), tiny_of(c.t)
    if error <= 1.0 or (c.accepts and is_finite):
        c.retries = 0
        c.forced = 0 if h > tiny * _RECOVERED else c.forced
        return Status.ACCEPT
    c.is_landing = False
    factor = larger(_SHRINK, _SAFE / method.root(error))
    c.h = h * (factor if is_finite else _SHRINK)
    c.rejected += 1
    c.grow = 1.0
    c.rejections_since_test += 1
    c.retries += 1
    if not c.h > tiny + 1e-300:
        if c.cornered:
            if is_finite and c.forced < c.most_forced and has_bounded_rates(c):
                c.forced += 1
                c.is_forced = True
                c.h = h
                return Status.RETRY
            return Status.STEP_TOO_SMALL if is_finite else Status.NOT_FINITE
        c.cornered = True
        c.h = c.h * _RETRY_FACTOR
        c.rejections_since_test = c.rejections_before_test
    if c.rejections_since_test >= c.rejections_before_test:
        c.rejections_since_test = 0
        return Status.DOUBT
    if c.retries >= c.retry_limit and c.noisy == 0:
        c.retry_limit = c.retry_limit * 2
        return Status.RENEW
    return Status.RETRY


def has_bounded_rates(c: IntegratorTable) -> bool:
    """Return True if no rate at the start of the step is so large that it announces a singularity."""
    for i in range(c.n):
        if abs(c.k[i]) * c.t > _FASTEST * c.size[i]:
            return False
    return True


def after_acceptance(c: IntegratorTable, error: float, stiff: bool, method: Fixed) -> int:
    following = next_length(c, error, method)
    c.grow = GROW
    c.h = following
    if stiff:
        return Status.STIFF
    if c.steps >= c.renewal or c.noisy > STALE:
        return Status.RENEW
    if not method.explicit and c.t >= c.decay_due:
        return Status.RENEW
    return Status.RETRY


@inline
def next_length(c: IntegratorTable, error: float, method: Fixed) -> float:
    wish = _SAFE / method.root(larger(error, 1e-30))
    length = c.trial * smaller(c.grow, larger(_SHRINK, wish))
    if method.next_size is not None:
        length = method.next_size(c, length)
    return larger(c.h, length) if c.is_last else length


@inline
def tiny_of(t: float) -> float:
    return 16.0 * EPSILON * abs(t)
