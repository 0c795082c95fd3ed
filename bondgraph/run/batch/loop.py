"""Loop over a batch of runs in machine code: start, advance, check and measure each.

Runs that machine code cannot finish, or whose end is doubtful, are marked for the Python loop to repeat and check.
"""

from __future__ import annotations

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Fixed, Reals, inline, larger
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.batch.event_losses import finish_events, process_events, reset_events
from bondgraph.run.batch.fields import BatchTable, modes_at
from bondgraph.run.batch.lost_loops import has_lost_loop, record_loop_steps
from bondgraph.run.batch.native_measures import reset_measures, store_measures
from bondgraph.run.batch.validity.rank_screen import may_lose_rank
from bondgraph.run.batch.validity.sample_check import any_nonfinite, load_run, mark_nonfinite_samples
from bondgraph.run.kernel_functions import all_finite
from bondgraph.run.status import Status
from bondgraph.run.steppers.step_control import has_too_many_steps


def written() -> list[Procedure]:
    return translate([run_many, check_run], ["run_many", "check_run"])


@build_once
def machine_code() -> Library:
    return compile_written(written)


def is_doubtful(r: BatchTable, m: Reals, lanes: Fixed) -> bool:
    """Return True if a run from the modes m has a non-finite value at a sample, an energy residual above the limit at a requested
    sample, a lost solution of an algebraic loop, or constraints that may lose rank. Runs in lanes have neither events nor loops,
    and `lanes` of their samples are checked simultaneously."""
    c, check, energies = r.table, r.sample_check, r.energies
    storages, balances, energies_of = c.weights.storages, r.balances, c.weights.energies
    if check is not None:
        load_run(check, c, lanes)
    if lanes > 1:
        # `may_lose_rank` checks the other samples.
        for first in range(check.watched, check.stride):
            mark_nonfinite_samples(check, c, r.rows, first, lanes)
    for b in range(balances):
        r.energy_at_start[b] = 0.0
        r.worst[b] = 0.0
        r.play_most[b] = 0.0
    if storages > 0:
        energies_of(r.dates[0], c.y_begun, c.p, m, energies)
        for i in range(storages):
            b = r.storage_balances[i]
            add_to(r.energy_at_start, b, energies[i])
            add_to(r.play_most, b, abs(energies[i]))
    for k in range(r.samples):
        row, date, modes = r.rows[k * c.width :], r.dates[k], modes_at(r, k)
        if lanes == 1 and not are_finite(r, row, date, modes):
            return True
        if r.requested[k] == 1:
            if lanes > 1 and storages > 0:
                energies_of(date, row, c.p, modes, energies)
            balance_energies(r, row, k)
        if lanes == 1:
            record_loop_steps(r, k, date, row, modes)
    if lanes == 1 and has_lost_loop(r):
        return True
    for b in range(balances):
        if not r.worst[b] <= r.play_most[b] * r.limit:
            return True
    if check is not None and check.watched == 1 and may_lose_rank(check, c, r.rows, lanes):
        return True
    if lanes > 1:
        return any_nonfinite(check, c, lanes)
    return False


@inline
def add_to(sums: Reals, i: int, value: float) -> None:
    sums[i] = sums[i] + value


def are_finite(r: BatchTable, row: Reals, date: float, m: Reals) -> bool:
    c = r.table
    quadratures, storages = c.weights.quadratures, c.weights.storages
    if not all_finite(row, c.width):
        return False
    c.rates(date, row, c.p, m, r.rates)
    if not all_finite(r.rates, c.n):
        return False
    if quadratures > 0:
        c.powers(date, row, c.p, m, r.powers)
        if not all_finite(r.powers, quadratures):
            return False
    if storages > 0:
        c.weights.energies(date, row, c.p, m, r.energies)
        return all_finite(r.energies, storages)
    return True


@inline
def balance_energies(r: BatchTable, row: Reals, k: int) -> None:
    c, balances, closing, play, energies = r.table, r.balances, r.closing, r.play, r.energies
    for b in range(balances):
        play[b] = 0.0
        closing[b] = 0.0
    for i in range(c.weights.storages):
        b = r.storage_balances[i]
        add_to(closing, b, energies[i])
        add_to(play, b, abs(energies[i]))
    lost = r.lost[k * balances :]
    for b in range(balances):
        closing[b] = closing[b] - r.energy_at_start[b] + lost[b]
        add_to(play, b, abs(lost[b]))
    for i in range(c.weights.quadratures):
        work, b = row[c.n + i], r.power_balances[i]
        add_to(closing, b, r.signs[i] * work)
        add_to(play, b, abs(work))
    for b in range(balances):
        r.worst[b] = larger(r.worst[b], abs(closing[b]))
        r.play_most[b] = larger(r.play_most[b], play[b])


def check_run(r: BatchTable, m: Reals) -> bool:
    reset_events(r)
    finish_events(r, 0)
    return is_doubtful(r, m, 1)


def begin_batch_run(r: BatchTable, run: int) -> int:
    p, numbers = r.p[run * r.p_stride :], r.table.p
    for i in range(r.p_count):
        numbers[i] = p[i]
    x, m = r.x[run * r.x_stride :], r.m[run * r.m_stride :]
    has_begun = r.begin(r.table, x, m, r.times, r.rows, r.samples)
    reset_events(r)
    reset_measures(r)
    return has_begun


def never_ends(r: BatchTable) -> bool:
    return has_too_many_steps(r.table) or r.table.pace > 0.0


def finish_batch_run(r: BatchTable, run: int, status: int, lanes: Fixed) -> None:
    c, last = r.table, status
    if status == Status.STOP:
        finish_events(r, run)
        doubtful = is_doubtful(r, r.m[run * r.m_stride :], lanes)
        store_measures(r, run)
        if doubtful:
            last = Status.UNTRUSTED
    r.status[run] = last
    r.times_end[run] = c.t
    r.step_counts[run], r.rejected_counts[run], r.rate_counts[run] = c.steps, c.rejected, c.rate_count
    end = r.ends[run * c.width :]
    for i in range(c.width):
        end[i] = c.y[i]
    for i in range(c.mode_count):
        r.modes_end[run * c.mode_count + i] = c.m[i]


def run_many(r: BatchTable) -> int:
    """Advance all runs, one after another, from the current run on; return 0 when all are done, or 1 when the caller must check
    for interrupts, after many steps of one run. The next call continues at that point."""
    while r.present < r.runs:
        run, status = r.present, int(Status.NOT_STARTED)
        if r.under_way == 0:
            r.under_way = begin_batch_run(r, run)
        if r.under_way == 1:
            status = r.advance(r.table)
            if status == Status.LOG_FULL:
                process_events(r)
                continue
            if status == Status.PAUSE:
                if not never_ends(r):
                    r.table.tried = 0
                    return 1
                status = Status.TOO_MANY_STEPS
        finish_batch_run(r, run, status, 1)
        r.under_way = 0
        r.present = run + 1
    return 0
