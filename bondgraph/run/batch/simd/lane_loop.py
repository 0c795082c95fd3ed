"""Loop over a batch of runs in machine code with SIMD: like `loop`, but with a run in each lane of the processor's vectors.

Each run has the tables of a single run: its own time, step size, error control and counts. Vector instructions compute the step
attempt, the dense output and the acceptance (`lane_steps`) for all lanes simultaneously; everything else is computed lane by
lane. More runs than lanes are active: a run whose error weights need an update leaves its lane to another run until several runs
can be updated together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Fixed, Reals, external
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_procedures, compile_written
from bondgraph.emit.machine import vector_width
from bondgraph.emit.procedure import Procedure, in_lanes
from bondgraph.run.accuracy import balancing
from bondgraph.run.batch.fields import BatchTable
from bondgraph.run.batch.loop import begin_batch_run, finish_batch_run, never_ends
from bondgraph.run.batch.simd import lane_steps as vectors
from bondgraph.run.batch.simd.error_weights import update_due_weights
from bondgraph.run.batch.simd.lane_steps import LaneTable
from bondgraph.run.batch.simd.natural_scales import FOUR
from bondgraph.run.batch.simd.tables import NO_RUN, RUNS_PER_LANE, gather, spread
from bondgraph.run.status import Status
from bondgraph.run.steppers import dop853, dopri5
from bondgraph.run.steppers.explicit import Tableau, is_far, method_of


def machine_code(lanes: int | None = None, tableau: Tableau = dop853.TABLEAU) -> Library:
    return _library(vector_width() if lanes is None else lanes, tableau)()


@functools.lru_cache(maxsize=16)
def _library(lanes: int, tableau: Tableau) -> Callable[[], Library]:
    def written() -> list[Procedure]:
        method = method_of(tableau)
        wide = in_lanes(vectors.procedures(method, lanes), lanes)
        around = translate([functools.partial(run_side_by_side, lanes=lanes, method=method)], ("run_side_by_side",))
        return [*wide, *balancing.procedures(FOUR), *around]

    written.__qualname__ = f"written for {lanes} lanes of {tableau.name}"
    is_own = tableau in (dop853.TABLEAU, dopri5.TABLEAU)
    return build_once(lambda: compile_written(written) if is_own else compile_procedures(written()))


def run_side_by_side(r: BatchTable, v: LaneTable, lanes: Fixed, method: Fixed) -> int:
    """Advance all runs, several simultaneously; the result is as for `loop.run_many`."""
    h, error, taken, seats = v.h, v.error, v.taken, v.seats
    while True:
        if v.paused:
            v.paused = False
            return 1
        if not start_runs(r, v, lanes):
            return 0
        update_due_weights(v, lanes)
        is_busy, needs_dense, needs_sums = False, False, False
        for lane in range(lanes):
            taken[lane] = 0.0
            h[lane] = 0.0
            if prepare_step(r, v, lane, lanes):
                is_busy = True
        if not is_busy:
            continue
        attempt(v, h, v.t_new, error)
        for lane in range(lanes):
            if seats[lane] >= 0:
                c = v.tables[seats[lane]]
                c.rate_count += method.last
                status = v.accept_or_reject(c, error[lane])
                if status == Status.ACCEPT:
                    taken[lane] = 1.0
                    if v.watch and is_far(c, h[lane]):  # only then does `limited_by_stability` need the sums
                        needs_sums = True
                    if c.written < c.samples and c.times[c.written] < c.target:
                        needs_dense = True
                        c.rate_count += method.sizes["stages"] - method.last - 1
                elif status == Status.DOUBT or status == Status.RENEW:
                    unload_lane(v, lane, status, lanes)
                elif status != Status.RETRY:
                    retire_lane(r, v, lane, status, lanes)
        if needs_dense:
            prepare_dense(v, h)
        if needs_sums:
            compare_last_stages(v)
        for lane in range(lanes):
            if taken[lane] == 1.0:
                finish_step(v, lane, lanes, method)
        accept_all(v)
        for lane in range(lanes):
            if taken[lane] == 1.0:
                status = v.after_acceptance(v.tables[seats[lane]], error[lane], v.stiff[lane])
                if status == Status.RENEW:
                    unload_lane(v, lane, status, lanes)
                if status == Status.STIFF:
                    retire_lane(r, v, lane, status, lanes)


def start_runs(r: BatchTable, v: LaneTable, lanes: Fixed) -> bool:
    is_any = False
    for slot in range(RUNS_PER_LANE * lanes):
        while v.runs[slot] < 0 and v.following < r.runs:
            run = v.following
            v.following = run + 1
            start_run(r, v, slot, run, lanes)
        if v.runs[slot] >= 0:
            is_any = True
    return is_any


def start_run(r: BatchTable, v: LaneTable, slot: int, run: int, lanes: Fixed) -> None:
    select_run(r, v, slot)
    if begin_batch_run(r, run) == 0:
        finish_batch_run(r, run, Status.NOT_STARTED, lanes)
        return
    v.runs[slot] = run
    v.statuses[slot] = Status.LANE_STARTS


def select_run(r: BatchTable, v: LaneTable, slot: int) -> None:
    c = v.tables[slot]
    r.table, r.rows, r.modes = c, v.row_blocks[slot], c.m


def prepare_step(r: BatchTable, v: LaneTable, lane: int, lanes: Fixed) -> bool:
    while True:
        if v.seats[lane] < 0 and not load_lane(v, lane, lanes):
            return False
        c = v.tables[v.seats[lane]]
        status = v.propose_step(c)
        if status == Status.ATTEMPT:
            v.t[lane], v.h[lane], v.t_new[lane] = c.t, c.trial, c.target
            return True
        if status != Status.PAUSE:
            retire_lane(r, v, lane, status, lanes)
            continue
        r.table = c
        if never_ends(r):
            retire_lane(r, v, lane, Status.TOO_MANY_STEPS, lanes)
        else:
            c.tried = 0
            v.paused = True


def load_lane(v: LaneTable, lane: int, lanes: Fixed) -> bool:
    for slot in range(RUNS_PER_LANE * lanes):
        if v.runs[slot] >= 0 and v.statuses[slot] == Status.LANE_WAITS:
            c = v.tables[slot]
            for name in ("y", "k", "size", "floor", "noise"):
                spread(getattr(v, name), getattr(c, name), v.width, lane, lanes)
            spread(v.p, c.p, v.parameters, lane, lanes)
            spread(v.m, c.m, c.mode_count, lane, lanes)
            v.seats[lane] = slot
            v.statuses[slot] = Status.LANE_RUNS
            return True
    return False


def unload_lane(v: LaneTable, lane: int, status: int, lanes: Fixed) -> None:
    slot = v.seats[lane]
    c = v.tables[slot]
    for name in ("y", "k", "size"):
        gather(getattr(c, name), getattr(v, name), v.width, lane, lanes)
    v.statuses[slot] = status
    v.seats[lane] = NO_RUN


def retire_lane(r: BatchTable, v: LaneTable, lane: int, status: int, lanes: Fixed) -> None:
    slot = v.seats[lane]
    c = v.tables[slot]
    select_run(r, v, slot)
    gather(c.y, v.y, v.width, lane, lanes)
    if status == Status.STOP:
        v.flush(c, c.t)
    finish_batch_run(r, v.runs[slot], status, lanes)
    v.runs[slot] = NO_RUN
    v.seats[lane] = NO_RUN
    v.taken[lane] = 0.0


def finish_step(v: LaneTable, lane: int, lanes: Fixed, method: Fixed) -> None:
    c, h = v.tables[v.seats[lane]], v.h[lane]
    if c.written < c.samples and c.times[c.written] <= c.target:
        gather(c.y, v.y, v.width, lane, lanes)
        gather(c.y_new, v.y_new, v.width, lane, lanes)
        gather(c.f, v.f, v.width * method.sizes["rows"], lane, lanes)
        v.dense_samples(c, h, c.target)
    v.stiff[lane] = 0
    if v.watch:
        v.stiff[lane] = v.limited_by_stability(c, h, v.sums[lane], v.sums[lane + lanes])
    if c.noisy > 0:
        gather(c.y_new, v.y_new, v.width, lane, lanes)
        gather(c.size, v.size, v.width, lane, lanes)
        v.noisy_step(c, h)
    c.cornered = False
    c.t = c.target
    c.steps += 1


# Functions of `lane_steps` for all lanes.


@external
def attempt(v: LaneTable, h: Reals, t_new: Reals, error: Reals) -> None:
    raise NotImplementedError


@external
def prepare_dense(v: LaneTable, h: Reals) -> None:
    raise NotImplementedError


@external
def compare_last_stages(v: LaneTable) -> None:
    raise NotImplementedError


@external
def accept_all(v: LaneTable) -> None:
    raise NotImplementedError
