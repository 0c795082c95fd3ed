"""Table of an integrator in machine code: the arrays of a run, guards, samples, noise, step size control and clocks.

The code is the same for all models and threads and is compiled once per machine, because every procedure accesses its data
through one pointer, c. Vectors hold states, then integrated powers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from bondgraph.emit.kernel_language.language import Callback, Ints, Kernel, Kernels, Length, Reals, Routine, inline, larger
from bondgraph.run.accuracy.fields import Control
from bondgraph.run.accuracy.natural_scales import MIN_ERROR
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.delays.history import DelayTable
from bondgraph.run.events.root_finding import PerNumber, StepTable
from bondgraph.run.events.state import EventTable
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.steppers.segment import Tolerances
from bondgraph.run.table import FieldTable

# Ratio of the largest size of a state to the rounding error of a step, above which the state is more than rounding error.
_ROUNDING_ONLY_RATIO = 1e3

# Largest number of steps in succession that are accepted because they are too small to be shortened.
_MOST_FORCED = 3

PerState = Annotated[Reals, Length(lambda c: c.n)]


class IntegratorTable(StepTable):
    # Kernels, and arrays of the run: parameters, modes, levels of guards and their depths as in `segment.Integrator`.
    rates: Kernel
    powers: Kernel
    guards: Kernel
    p: Reals
    m: Annotated[Reals, Length(lambda c: c.mode_count)]
    levels: Annotated[Reals, Length(lambda c: 2 * c.guard_count)]
    # As in `accuracy.table.ErrorWeights`.
    size: Reals
    floor: Reals
    noise: Reals
    exceeded: Reals
    # Largest sizes of the states since the last inspection of decayed states; window as in `bound.Bound`.
    recent: PerState
    window: Reals
    # Sample times, and space for `samples` rows; callback that makes space for more rows, or 0.
    times: Reals
    rows: Reals
    drain: Callback
    # Kernel of rates and powers, or 0; state at the start of a step; argument of the last stage; states (n,) at the start of the
    # run, before any event; rates, starting with those at the start of a step.
    rates_and_powers: Kernel
    y: PerNumber
    y_stage: PerNumber
    y_begun: PerNumber
    k: Annotated[Reals, Length(lambda c: c.stages * c.width)]
    # Rows of `clock_schedule.ClockSchedule`.
    periods: Reals
    tick_offsets: Reals
    following: Reals
    tick_index: Ints
    tick_kernels: Kernels
    breaks: Reals
    # Delays, or 0, and `delays.history.look_back_at`.
    delays: DelayTable
    look_back: Kernel
    # Event handling, or 0; the error control, and its procedures (`accuracy.error_weights`).
    instants: EventTable
    weights: Control
    weights_reset: Routine
    weights_begin: Routine
    weights_refresh: Routine
    weights_test_noise: Routine
    weights_decay: Routine
    weights_follow_decay: Routine

    # Counts of states and integrated powers; counts of rows to fill and filled; evaluations of guards; steps; rejections before
    # the noise test; steps that used noise; True at the start of a segment.
    n: int
    quadratures: int
    samples: int
    written: int
    guard_calls: int
    steps: int
    rejections_before_test: int
    noisy_steps: int
    fresh: bool
    # Length of vectors; attempts in a call; True to report stiffness, and its counts; counts of the effort; number of clocks;
    # rejections since the last noise test; number of steps at which the error weights are due; 0 without noise, else 1 plus the
    # steps with noise; state of the loop between calls; row of the breaks; True if noise was tested at the smallest step;
    # steps accepted at the smallest size since the last longer step, and their maximum, 0 for models whose algebraic loops may
    # lose their solution; True if the next step is to be such a step; True if the attempted step counts whatever its error.
    width: int
    budget: int
    watch: bool
    stiff: int
    mild: int
    rate_count: int
    jacobian_count: int
    rejected: int
    clock_count: int
    rejections_since_test: int
    renewal: int
    noisy: int
    is_landing: bool
    landings: int
    tried: int
    once: int
    cornered: bool
    forced: int
    most_forced: int
    is_forced: bool
    accepts: bool
    # Number of modes; True if the state has changed since the last attempt; maximum number of steps of a run; True if the
    # attempted step ends at the horizon; number of steps at the next inspection of the pace; number of steps in which an implicit
    # method still tests for growing modes with a margin; rejections of the current step; rejections before a noise test if no
    # noise is known.
    mode_count: int
    moved: bool
    most: int
    is_last: bool
    inspection: int
    alert: int
    retries: int
    retry_limit: int

    # Start of the run on the clock of the formulas; end of the segment; relative tolerance; step size.
    origin: float
    stop: float
    rtol: float
    h: float
    # Duration of the run; the next tick, or the end; longest step; largest growth factor of the step size; size of a step to an
    # event; size and end of the attempted step; mean step since the last inspection if it is too small, or 0; next inspection of
    # decayed states; time of the last inspection of the pace; step size of the available factors, or 0.
    span: float
    horizon: float
    h_max: float
    grow: float
    landing: float
    trial: float
    target: float
    pace: float
    decay_due: float
    t_inspected: float
    factored: float


def table_of(
    kind: type[IntegratorTable], bound: Bound, tolerances: Tolerances, weights: ErrorWeights, sizes: Mapping[str, int]
) -> FieldTable:
    fields, program = kind.layout(), bound.program
    table, guards = FieldTable(kind), 0 if program.guards is None else program.guards.n_out
    counts = {"n": program.states, "quadratures": program.quadratures, "guard_count": guards, "mode_count": program.modes}
    counts["width"] = program.states + program.quadratures
    table.allocate(**counts, **sizes)
    table.point("p", bound.p)
    table.point("window", bound.window)
    for name in fields.keys() & {"rates", "powers", "guards", "rates_and_powers", "jacobian"}:
        kernel = getattr(program, name)
        table.point(name, 0 if kernel is None else kernel.address or 0)
    for name in fields.keys() & {"size", "floor", "noise", "speed", "exceeded"}:
        table.point(name, getattr(weights, name))
    table["origin"], table["rtol"], table["rejections_before_test"] = (
        bound.origin,
        tolerances.relative,
        weights.table["rejections_before_test"],
    )
    for name, count in counts.items():
        table[name] = count
    table["most_forced"] = 0 if program.loops else _MOST_FORCED
    return table


def fired(table: FieldTable) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(table.arrays["fired"]))


def derivative(c: IntegratorTable, t: float, y: Reals, k: Reals, full: bool) -> None:
    """Evaluate the rates, and the powers if the stage contributes to their integrals (`full`), at (t, y) into k."""
    time = formula_time(c, t)
    c.rate_count += 1
    if c.delays is not None:
        c.look_back(c.delays, t, y)
    if full and c.rates_and_powers is not None:
        c.rates_and_powers(time, y, c.p, c.m, k)
        return
    c.rates(time, y, c.p, c.m, k)
    if full and c.quadratures > 0:
        c.powers(time, y, c.p, c.m, k[c.n :])


@inline
def error_weight(c: Any, i: int, magnitude: float) -> float:
    """Return the error weight of component i of size `magnitude`, without noise: rtol max(size_i, floor_i, magnitude), at least
    `MIN_ERROR`, which is for states that (almost) nothing drives."""
    return larger(c.rtol * larger(larger(c.size[i], c.floor[i]), magnitude), MIN_ERROR)


def guard_values(c: IntegratorTable, t: float, y: Reals, g: Reals) -> None:
    if c.delays is not None:
        c.look_back(c.delays, t, y)
    c.guards(formula_time(c, t), y, c.p, c.m, g)
    c.guard_calls += 1
    for i in range(c.guard_count):
        g[i] = g[i] - c.levels[i]


def update_levels(c: IntegratorTable, now: Reals) -> None:
    """Use the guards `now` (minus their levels) at the start of the next step; drop the level of a guard that has fallen below
    zero by more than the depth."""
    g, levels, depths = c.g, c.levels, c.levels[c.guard_count :]
    for i in range(c.guard_count):
        value, level = now[i], levels[i]
        below = value + (level + depths[i]) < 0.0
        g[i] = value + level if below else value
        levels[i] = 0.0 if below else level


def next_row(c: IntegratorTable, until: float) -> int:
    while c.written >= c.samples:
        if c.drain is None:
            return -1
        c.drain()
    if c.times[c.written] > until:
        return -1
    c.written += 1
    return c.written - 1


@inline
def exceeds(c: Any, i: int, rounding: float, allowed: float) -> bool:
    """Return True if the rounding error of a step exceeds the allowed error of state i, unless the state is itself rounding
    error, such as the difference of two equal states."""
    return (rounding / allowed > 1.0) & (c.size[i] > rounding * _ROUNDING_ONLY_RATIO)
