"""Measures of a run in machine code, bitwise equal to the measures of `run.measures`.

Samples and events are measured in order of time: `measure_event` measures the samples before an event, then both sides of the
event, and `store_measures` the remaining samples after the end of the run.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, inline
from bondgraph.run.batch.fields import WINDOW, BatchTable, modes_at
from bondgraph.run.events.log import SCALARS
from bondgraph.run.measures import MachineRule
from bondgraph.run.results.result import MAX_PARABOLA_ERROR

ROW, OUTPUT, MODE, EVENT = range(4)
"""Sources of measures: the row of a sample, the outputs, the modes, or the events."""
_SAMPLE, _BEFORE, _AFTER = range(3)


def reset_measures(r: BatchTable) -> None:
    r.measured, r.nodes, r.gap, r.event_time = 0, 0, 0, -1.0
    for j in range(r.kept_count):
        r.totals[j] = r.starts[j]
        r.tops[j] = 0
    for j in range(r.kept_count * 3):
        r.best[j] = r.minus_infinity
    for k in range(r.requested_count):
        r.jumps[k] = 0


def value_of(r: BatchTable, row: Reals, m: Reals, source: int, place: int) -> float:
    if source == ROW:
        return row[place]
    if source == OUTPUT:
        return r.out[place]
    return m[place]


@inline
def evaluate_outputs(r: BatchTable, date: float, row: Reals, m: Reals) -> None:
    if r.output_count > 0:
        r.outputs(date, row, r.table.p, m, r.out)


def measure_at(r: BatchTable, since: float, date: float, row: Reals, m: Reals, side: int, is_node: bool) -> None:
    best, totals, before = r.best[side * r.kept_count :], r.totals, r.before
    follows = is_node and r.nodes > 0
    evaluate_outputs(r, date, row, m)
    for j in range(r.kept_count):
        rule = r.rules[j]
        if rule < MachineRule.FIRST_TIME:
            value = value_of(r, row, m, r.sources[j], r.places[j])
            if rule == MachineRule.LAST and side == _SAMPLE:
                totals[j] = value
            if rule == MachineRule.PEAK or rule == MachineRule.LOWEST:
                signed, top = sign_of(rule) * value, best[j]
                # The first NaN stays, as in `argmax`.
                if top <= top and not signed <= top:
                    best[j] = signed
                    if side == _SAMPLE:
                        r.tops[j] = r.measured
            if rule >= MachineRule.INTEGRAL and is_node:
                if follows:
                    totals[j] = totals[j] + (since - r.node_time) * (before[j] + value) * 0.5
                before[j] = value
    if is_node:
        r.node_time = since
        r.nodes += 1


@inline
def sign_of(rule: int) -> float:
    return -1.0 if rule == MachineRule.LOWEST else 1.0


def measure_until(r: BatchTable, run: int, since: float) -> None:
    """Measure the samples of a run before the time `since`, counted from the start. A sample at the time of an event is not a
    node of the trapezoidal rule; the two sides of the event are."""
    width, count = r.table.width, r.series_count
    while r.measured < r.requested_count:
        k = r.measured
        i = r.requested_rows[k]
        time, row = r.times[i], r.rows[i * width :]
        if not time < since:
            return
        m = modes_at(r, i)
        measure_at(r, time, r.dates[i], row, m, _SAMPLE, time > r.event_time)
        for j in range(count):
            value = value_of(r, row, m, r.series_sources[j], r.series_places[j])
            r.series[(run * r.requested_count + k) * count + j] = value
        r.measured = k + 1


def measure_event(r: BatchTable, run: int, row: Reals) -> None:
    if r.kept_count + r.series_count == 0:
        return
    events = r.table.instants
    since, time, transition = row[SCALARS.index("since")], row[SCALARS.index("time")], row[SCALARS.index("transition")]
    measure_until(r, run, since)
    is_node = since <= r.times[r.requested_rows[r.requested_count - 1]]
    x = row[len(SCALARS) :]
    m = x[events.n * 2 :]
    measure_at(r, since, time, x, m, _BEFORE, is_node)
    measure_at(r, since, time, x[events.n :], m[events.modes :], _AFTER, is_node)
    r.event_time = since
    while r.gap < r.requested_count:
        if r.dates[r.requested_rows[r.gap]] >= time:
            r.jumps[r.gap] = 1
            break
        r.gap += 1
    totals = r.totals
    for j in range(r.kept_count):
        rule = r.rules[j]
        if rule >= MachineRule.FIRST_TIME:
            for i in range(events.transitions):
                if float(i) == transition and r.counted[r.places[j] + i] == 1:
                    if rule == MachineRule.EVENTS:
                        totals[j] = totals[j] + 1.0
                    if rule == MachineRule.FIRST_TIME and not totals[j] <= time:
                        totals[j] = time


def extreme(r: BatchTable, j: int) -> float:
    """Return the largest or smallest value of kept value j over the run, as `result.extreme` finds it."""
    samples, best, sign, top = r.requested_count, r.best, sign_of(r.rules[j]), r.tops[j]
    value = best[j]
    first = top - 2 if top >= 2 else 0
    last = top + 2 if top + 2 < samples else samples - 1
    is_refined = top > 0 and top < samples - 1 and last - first >= 3
    for k in range(first + 1, last + 1):
        if r.jumps[k] == 1:
            is_refined = False
    if is_refined:
        at, v, summit = r.window, r.window[WINDOW:], r.dates[r.requested_rows[top]]
        for k in range(first, last + 1):
            i = r.requested_rows[k]
            row, m = r.rows[i * r.table.width :], modes_at(r, i)
            evaluate_outputs(r, r.dates[i], row, m)
            at[k - first] = r.dates[i] - summit
            v[k - first] = sign * value_of(r, row, m, r.sources[j], r.places[j]) - best[j]
        back, ahead = at[top - first - 1], at[top - first + 1]
        left, right = v[top - first - 1] / back, v[top - first + 1] / ahead
        bend = (right - left) / (ahead - back)
        slope = left - bend * back
        longer = ahead if ahead > -back else -back
        limit = bend * (-MAX_PARABOLA_ERROR * 2.0) * (longer * longer)
        if not bend < 0.0:
            is_refined = False
        for k in range(last + 1 - first):
            if not abs(bend * (at[k] * at[k]) + slope * at[k] - v[k]) <= limit:
                is_refined = False
        if is_refined:
            shift = -slope / (bend * 2.0)
            value = best[j] + slope * shift + bend * (shift * shift)
    before, after = best[r.kept_count * _BEFORE + j], best[r.kept_count * _AFTER + j]
    value = before if before > value else value
    value = after if after > value else value
    return sign * value


def store_measures(r: BatchTable, run: int) -> None:
    if r.kept_count + r.series_count == 0:
        return
    measure_until(r, run, r.span * 2.0 + 1.0)
    length = r.times[r.requested_rows[r.requested_count - 1]]
    kept = r.kept[run * r.kept_count :]
    for j in range(r.kept_count):
        rule = r.rules[j]
        kept[j] = r.totals[j]
        if rule == MachineRule.MEAN:
            kept[j] = r.totals[j] / length
        if rule == MachineRule.PEAK or rule == MachineRule.LOWEST:
            kept[j] = extreme(r, j)
    # In lanes, the next run to end has already begun, so it does not reset the measures itself.
    reset_measures(r)
