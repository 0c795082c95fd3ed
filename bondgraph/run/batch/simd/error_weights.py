"""Error weights of runs in SIMD lanes: update sizes, floors and noise of the runs that are due."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Fixed, inline
from bondgraph.run.batch.simd.lane_jacobians import couple_ahead
from bondgraph.run.batch.simd.lane_steps import LaneTable
from bondgraph.run.batch.simd.natural_scales import scale_ahead
from bondgraph.run.batch.simd.tables import RUNS_PER_LANE, gather, spread
from bondgraph.run.status import Status


def update_due_weights(v: LaneTable, lanes: Fixed) -> None:
    """Update the weights of the runs that are due, if these runs fill the lanes or a lane would otherwise idle."""
    due, runs, statuses, count, others = v.due, v.runs, v.statuses, 0, 0
    for slot in range(RUNS_PER_LANE * lanes):
        if runs[slot] >= 0:
            if not is_due(statuses[slot]):
                others += 1
            elif count < lanes:
                due[count] = slot
                count += 1
    if count < lanes and others >= lanes:
        return
    if v.couplings is not None and count > 1:
        prepare_due_runs(v, count, lanes)
    for k in range(count):
        update_weights_of(v, due[k])


@inline
def is_due(status: int) -> bool:
    return status == Status.DOUBT or status == Status.RENEW or status == Status.LANE_STARTS


def update_weights_of(v: LaneTable, slot: int) -> None:
    c, status = v.tables[slot], v.statuses[slot]
    if status == Status.LANE_STARTS:
        c.weights_begin(c.weights, c.t, c.y, c.y[c.n :], c.m)
    else:
        v.update_weights(c, status)
    w = c.weights
    w.ahead, w.rated, w.scaled = False, False, 0
    if status == Status.LANE_STARTS:
        v.ready(c)
    v.statuses[slot] = Status.LANE_WAITS


def prepare_due_runs(v: LaneTable, count: int, lanes: Fixed) -> None:
    due, t, now, y, p, m, k = v.due, v.due_t, v.due_now, v.due_y, v.due_p, v.due_m, v.due_k
    for lane in range(count):
        c = v.tables[due[lane]]
        t[lane] = c.t
        now[lane] = v.origin + c.t
        v.due_states[lane], v.due_modes[lane] = c.y, c.m
        spread(y, c.y, c.n, lane, lanes)
        spread(p, c.p, v.parameters, lane, lanes)
        spread(m, c.m, c.mode_count, lane, lanes)
    couple_ahead(v.couplings, now, y, p, m, due, count, lanes)
    v.rates(now, y, p, m, k)
    for lane in range(count):
        w = v.tables[due[lane]].weights
        gather(w.driven, k, v.n, lane, lanes)
        w.rated = True
    scale_ahead(v.scales, t, v.due_states, v.due_modes, due, count)
