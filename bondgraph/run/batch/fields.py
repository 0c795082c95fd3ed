"""Table of fields for the loop over many runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from bondgraph.emit.kernel_language.language import Code, Ints, Kernel, Length, Reals, Table, inline
from bondgraph.run.batch.validity.sample_check import SampleCheck
from bondgraph.run.steppers.shared_fields import IntegratorTable

WINDOW = 5
"""Number of samples around a peak that are compared with the parabola through its three middle samples."""


Begin = Annotated[Callable[..., int], Code(int, by_value=True)]
Advance = Annotated[Callable[[IntegratorTable], int], Code(int)]
PerBalance = Annotated[Reals, Length(lambda r: r.balances)]
PerKept = Annotated[Reals, Length(lambda r: r.kept_count)]
Window = Annotated[Reals, Length(lambda r: 2 * WINDOW)]
PerUnknown = Annotated[Reals, Length(lambda r: r.unknowns)]


class BatchTable(Table):
    """Table of many runs; array lengths also depend on the numbers of `states`, `storages`, `quadratures`, and the unknowns of
    the `longest_loop`."""

    # The table of the current run, and the code that begins and continues the run.
    table: IntegratorTable
    begin: Begin
    advance: Advance
    # Rows of all runs, `..._stride` apart; samples, as times since the start and on the user's clock; rows, modes: samples of the
    # current run, the modes `mode_stride` apart; ends (runs, width), modes_end (runs, modes), times_end, status, ..._counts
    # (runs,).
    p: Reals
    x: Reals
    m: Reals
    times: Reals
    dates: Reals
    rows: Reals
    modes: Reals
    ends: Reals
    modes_end: Reals
    times_end: Reals
    status: Ints
    step_counts: Ints
    rejected_counts: Ints
    rate_counts: Ints
    event_counts: Ints
    # Outputs; rules, sources, places, starts: rule, source, index and initial value of each kept value, in kept (runs,
    # kept_count); counted: transitions that each event measure counts; before: values at the last node of the trapezoidal rule;
    # totals: sums and counts; best: largest values (3, kept_count) of samples and of both sides of events, tops: their samples;
    # jumps: 1 if an event lies between a sample and the previous one; window: samples around a peak; series (runs,
    # requested_count, series_count).
    outputs: Kernel
    out: Annotated[Reals, Length(lambda r: r.output_count)]
    rules: Ints
    sources: Ints
    places: Ints
    starts: Reals
    counted: Ints
    kept: Reals
    before: PerKept
    totals: PerKept
    best: Annotated[Reals, Length(lambda r: 3 * r.kept_count)]
    tops: Ints
    jumps: Ints
    window: Window
    series_sources: Ints
    series_places: Ints
    series: Reals
    # Energies: signs of powers; lost: energy that each of the `balances` has lost at events before each sample, J, with the first
    # `lost_rows` rows set; lost_totals: the losses so far; storage_balances, power_balances: balance of each storage and power.
    # For each balance, energy_at_start; worst, play_most: largest residual and energy scale; closing, play: residual
    # and energy scale at a sample.
    signs: Reals
    energies: Annotated[Reals, Length(lambda r: r.storages)]
    rates: Annotated[Reals, Length(lambda r: r.states)]
    powers: Annotated[Reals, Length(lambda r: r.quadratures)]
    lost: Annotated[Reals, Length(lambda r: r.samples * r.balances)]
    lost_totals: PerBalance
    storage_balances: Ints
    power_balances: Ints
    energy_at_start: PerBalance
    worst: PerBalance
    play_most: PerBalance
    closing: PerBalance
    play: PerBalance
    # loop_steps: as in `program.NewtonLoop`; loop_near: size below which each of the `unknowns` counts as zero, loop by loop;
    # loop_sizes, loop_further: largest value and largest remaining step over the samples; a step above `loop_limit` is too large.
    loop_steps: Ints
    loop_near: Reals
    loop_sizes: PerUnknown
    loop_further: PerUnknown
    loop_out: Annotated[Reals, Length(lambda r: 2 * r.longest_loop)]
    x_solved: Annotated[Reals, Length(lambda r: r.states)]
    # requested: 1 for each sample that the user requested, 0 for a sample that is only checked; requested_rows: indices of the
    # requested samples. sample_check: 0 for single runs whose constraints are not checked.
    requested: Ints
    requested_rows: Ints
    sample_check: SampleCheck

    # present: number of the current run; under_way: 1 once it has begun; measured: samples measured so far; nodes: nodes of the
    # trapezoidal rule so far, the last at node_time; gap: first sample that the last event may precede.
    runs: int
    p_count: int
    p_stride: int
    x_stride: int
    m_stride: int
    mode_stride: int
    samples: int
    requested_count: int
    kept_count: int
    series_count: int
    output_count: int
    lost_rows: int
    balances: int
    event_count: int
    unknowns: int
    present: int
    under_way: int
    measured: int
    nodes: int
    gap: int
    limit: float
    span: float
    loop_limit: float
    event_time: float
    node_time: float
    minus_infinity: float


@inline
def modes_at(r: BatchTable, sample: int) -> Reals:
    return r.modes[sample * r.mode_stride :]
