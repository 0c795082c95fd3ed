"""Steps of several runs in SIMD lanes: the functions of `steppers.explicit`, in which each value becomes one value per lane."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

from bondgraph.emit.kernel_language.language import (
    Array,
    Code,
    Fixed,
    Ints,
    Kernel,
    Length,
    PerLane,
    Reals,
    Routine,
    Shared,
    Table,
)
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure
from bondgraph.run.batch.simd.lane_jacobians import LaneJacobians
from bondgraph.run.batch.simd.natural_scales import LaneScales
from bondgraph.run.delays.history import DelayTable
from bondgraph.run.steppers.driver import move_to_end
from bondgraph.run.steppers.explicit import ExplicitTable, attempt, compare_last_stages, prepare_dense
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.shared_fields import IntegratorTable

DRIVER = (
    "ready",
    "propose_step",
    "accept_or_reject",
    "after_acceptance",
    "limited_by_stability",
    "noisy_step",
    "update_weights",
    "dense_samples",
    "flush",
)
"""Procedures of the method and of the loop around its steps, which are called by address."""

PerNumber = Annotated[Reals, Length(lambda v: v.width * v.lanes)]
LaneNumbers = Annotated[Reals, Length(lambda v: v.lanes)]
LaneIndices = Annotated[Ints, Length(lambda v: v.lanes)]
LaneArrays = Annotated[list[Any], Array(Array(float)), Length(lambda v: v.lanes)]
SlotIndices = Annotated[Ints, Length(lambda v: v.slots)]
SlotArrays = Annotated[list[Any], Array(Array(float)), Length(lambda v: v.slots)]
SlotTables = Annotated[list[Any], Array(ExplicitTable), Length(lambda v: v.slots)]
Answer = Annotated[Callable[..., int], Code(int, by_value=True)]
Parameters = Annotated[Reals, Length(lambda v: v.parameters * v.lanes)]
Modes = Annotated[Reals, Length(lambda v: v.modes * v.lanes)]


class LaneTable(Table):
    """Table of the loop over runs in SIMD lanes; quantities with a value per lane are arrays."""

    # SIMD kernels.
    rates: Kernel
    powers: Kernel
    rates_and_powers: Kernel
    # For the step that each lane attempts: start, length, end, ratio of error to tolerance, and 1.0 if it is accepted.
    t: LaneNumbers
    h: LaneNumbers
    t_new: LaneNumbers
    error: LaneNumbers
    taken: LaneNumbers
    # As in `explicit.ExplicitTable`.
    y: PerNumber
    y_new: PerNumber
    y_stage: PerNumber
    y_dense: PerNumber
    k: Annotated[Reals, Length(lambda v: v.stages * v.width * v.lanes)]
    f: Annotated[Reals, Length(lambda v: v.rows * v.width * v.lanes)]
    squares: Annotated[Reals, Length(lambda v: v.estimates * v.width * v.lanes)]
    sums: Annotated[Reals, Length(lambda v: 2 * v.lanes)]
    size: PerNumber
    floor: PerNumber
    noise: PerNumber
    p: Parameters
    m: Modes
    window: Shared
    # Models with delays have no lanes: both are 0.
    delays: DelayTable
    look_back: Kernel
    # For each lane: the slot of the run in it, or -1; 1 if stability limits the step.
    seats: LaneIndices
    stiff: LaneIndices
    # For each active run: addresses of the table of its integrator and of its samples; its number, or -1; its status.
    tables: SlotTables
    row_blocks: SlotArrays
    runs: SlotIndices
    statuses: SlotIndices
    # Tables of `lane_jacobians`, or 0, and of `natural_scales`.
    couplings: LaneJacobians
    scales: LaneScales
    # For the due runs, one per lane: times, since the start and on the clock of the formulas; run numbers in lanes; slots; and
    # the addresses of y and m.
    due_t: LaneNumbers
    due_now: LaneNumbers
    due_y: PerNumber
    due_k: PerNumber
    due_p: Parameters
    due_m: Modes
    due: LaneIndices
    due_states: LaneArrays
    due_modes: LaneArrays
    # `DRIVER`.
    ready: Routine
    propose_step: Answer
    accept_or_reject: Answer
    after_acceptance: Answer
    limited_by_stability: Answer
    noisy_step: Routine
    update_weights: Routine
    dense_samples: Routine
    flush: Routine

    n: int
    width: int
    quadratures: int
    watch: bool
    parameters: int
    # The run to begin next; True if the caller must check for interrupts, after many steps of one run.
    following: int
    paused: bool
    rate_count: int
    origin: float
    rtol: float


class StepsTable(LaneTable):
    """`LaneTable` for functions in which each value is a vector with one entry per lane."""

    t: PerLane  # type: ignore[assignment]
    h: PerLane  # type: ignore[assignment]
    t_new: PerLane  # type: ignore[assignment]
    taken: PerLane  # type: ignore[assignment]


def procedures(method: Method, lanes: int) -> list[Procedure]:
    functions = (attempt, prepare_dense, compare_last_stages, accept_all)
    tables = dict.fromkeys((IntegratorTable, ExplicitTable), StepsTable)
    return translate([functools.partial(each, method=method) for each in functions], (), lanes, tables)


def accept_all(v: StepsTable, method: Fixed) -> None:
    if v.taken == 1.0:
        move_to_end(v, method)
