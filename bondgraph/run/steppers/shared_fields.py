"""Table of an integrator in machine code: the arrays of a run, guards, samples, noise, step size control and clocks.

Every procedure accesses all its data through one pointer, c, so that the code is the same for all models and threads and is
compiled once per machine. Vectors hold states, then integrated powers.
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

# A state that has never exceeded the rounding error of a step by this factor is only rounding.
_ROUNDING_ONLY_RATIO = 1e3

PerState = Annotated[Reals, Length(lambda c: c.n)]


class IntegratorTable(StepTable):
    """Table of an integrator; those of methods have more fields after these."""

    # Kernels, and arrays of the run: parameters, modes, levels of guards and their depths as in `segment.Integrator`.
    rates: Kernel
    powers: Kernel
    guards: Kernel
    p: Reals
    m: Annotated[Reals, Length(lambda c: c.mode_count)]
    levels: Annotated[Reals, Length(lambda c: 2 * c.guard_count)]
    # As in `accuracy.table.ErrorWeights`, and as in `bound.Bound`.
    size: Reals
    floor: Reals
    noise: Reals
    exceeded: Reals
    # Largest sizes of the states since the sizes of decayed ones were last inspected.
    recent: PerState
    window: Reals
    # Sample times, and room for `samples` rows; callback that makes room for more, or 0.
    times: Reals
    rows: Reals
    drain: Callback
    # State at the start of a step, argument of the last stage, states (n,) at the start of the run, before anything
    # happened, and rates, those at the start of a step first.
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

    # Counts of states and integrated powers; rows to fill and filled; evaluations of guards; steps; rejections before the noise
    # test; steps that used noise; whether a segment begins.
    n: int
    quadratures: int
    samples: int
    written: int
    guard_calls: int
    steps: int
    rejections_before_test: int
    noisy_steps: int
    fresh: bool
    # Numbers of a vector; attempts in a call; whether to report stiffness, and its counts; counts of the effort; clocks;
    # rejections since the last noise test; number of steps at which the error weights are due; whether there is noise, and in how
    # many steps it was used; state of the loop between calls; row of the breaks; noise was tested already at the smallest step.
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
    # Modes; whether the state has changed since the last attempt; maximum number of steps of a run; whether the attempted step
    # ends at the horizon; number of steps of the next inspection of the pace; number of steps for which an implicit method still
    # looks for growing modes with a margin; rejections of the present step, and of them before a noise test where no noise is
    # known.
    mode_count: int
    moved: bool
    most: int
    is_last: bool
    inspection: int
    alert: int
    retries: int
    retry_limit: int

    # Time on the clock of the formulas at the start of the run; end of the segment; relative tolerance; step size.
    origin: float
    stop: float
    rtol: float
    h: float
    # The next tick, or the end; largest growth of a step; length of a step to an event; length and end of the attempted step;
    # mean step since the last inspection, at `t_inspected`, if it is too slow, or 0; next inspection of decayed states; step size
    # of the factors at hand, or 0.
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
    """Return the table of a run, with its arrays; `sizes` are integers outside the table that array lengths depend on."""
    fields, program = kind.layout(), bound.program
    table, guards = FieldTable(kind), 0 if program.guards is None else program.guards.n_out
    counts = {"n": program.states, "quadratures": bound.quadratures, "guard_count": guards, "mode_count": program.modes}
    counts["width"] = program.states + bound.quadratures
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
    return table


def fired(table: FieldTable) -> tuple[int, ...]:
    """Return the indices of the guards that fired."""
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
    `MIN_ERROR`, the weight of a state that (almost) nothing drives."""
    return larger(c.rtol * larger(larger(c.size[i], c.floor[i]), magnitude), MIN_ERROR)


def guard_values(c: IntegratorTable, t: float, y: Reals, g: Reals) -> None:
    """Evaluate guards minus their levels at (t, y) into g."""
    if c.delays is not None:
        c.look_back(c.delays, t, y)
    c.guards(formula_time(c, t), y, c.p, c.m, g)
    c.guard_calls += 1
    for i in range(c.guard_count):
        g[i] = g[i] - c.levels[i]


def update_levels(c: IntegratorTable, now: Reals) -> None:
    """Make the guards `now` (minus their levels) those of the next step; drop the level of a guard that has been below zero by
    its depth."""
    g, levels, depths = c.g, c.levels, c.levels[c.guard_count :]
    for i in range(c.guard_count):
        value, level = now[i], levels[i]
        below = value + (level + depths[i]) < 0.0
        g[i] = value + level if below else value
        levels[i] = 0.0 if below else level


def next_row(c: IntegratorTable, until: float) -> int:
    """Return the index of the row to fill for the next sample time up to `until`, which counts as filled, or -1.

    When the rows are full, `drain` is called to empty them.
    """
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
    """Return True if the rounding error of a step exceeds the allowed error of state i.

    A state that is only rounding (such as the difference of two equal ones) does not count.
    """
    return (rounding / allowed > 1.0) & (c.size[i] > rounding * _ROUNDING_ONLY_RATIO)
