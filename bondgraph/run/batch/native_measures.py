"""Measures of a run in machine code, to the bits of `run.measures`.

Samples and events are taken in order of time: `measure_event` takes the samples before an event, then both of its sides, and
`keep` the remaining samples when the run has ended.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.batch.fields import FIELDS, modes_at, tables_of
from bondgraph.run.codegen_helpers import magnitude
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.state import EventTable
from bondgraph.run.measures import MachineRule
from bondgraph.run.results.result import MAX_PARABOLA_ERROR

ROW, OUTPUT, MODE, EVENT = range(4)
"""Sources of measures: the row of a sample, the outputs, the modes, or the events."""
_SAMPLE, _BEFORE, _AFTER = range(3)
WINDOW = 5
"""Most samples through which the parabola of a peak goes."""


def procedures() -> list[Procedure]:
    """Return the procedures, callees first."""
    return [_forget(), _value(), _measure_at(), _measure_until(), _measure_event(), _extreme(), _keep()]


def _forget() -> Procedure:
    """Reset the measures at the start of a run."""
    write = Procedure("forget_measures", {"r": "ptr"}, internal=True)
    record, _, _ = tables_of(write)
    for name, value in (("measured", 0), ("nodes", 0), ("gap", 0), ("event_time", -1.0)):
        record.set(name, value)
    count = record.get("kept_count")
    with write.loop(count) as j:
        record.get("totals")[j] = record.get("starts")[j]
        record.get("tops").store(j, 0, "i64")
    with write.loop(count * 3) as j:
        record.get("best")[j] = record.get("minus_infinity")
    with write.loop(record.get("wanted_count")) as k:
        record.get("jumps").store(k, 0, "i64")
    write.give()
    return write


def _value() -> Procedure:
    """Return the number of this source and index, at a sample in this row, in the modes m."""
    arguments = {"r": "ptr", "row": "ptr", "m": "ptr", "source": "i64", "index": "i64"}
    write = Procedure("value", arguments, "double", internal=True)
    record, source, index = Record(write["r"], FIELDS), write["source"], write["index"]
    with write.when(source.equals(ROW)):
        write.give(write["row"][index])
    with write.when(source.equals(OUTPUT)):
        write.give(record.get("out")[index])
    write.give(write["m"][index])
    return write


def _evaluate(write: Procedure, record: Record, integrator: Record, at: tuple[Temporary, Temporary, Temporary]) -> None:
    """Evaluate the outputs, if needed, at a date, in a row, in modes."""
    date, row, m = at
    with write.when(record.get("output_count") > 0):
        write.call(record.get("outputs"), [date, row, integrator.get("p"), m, record.get("out")])


def _value_of(write: Procedure, record: Record, row: Temporary, m: Temporary, j: Temporary, of: str = "") -> Temporary:
    """Return the value of number j of the kept ones, or of the series."""
    source, index = (record.get(of + name).load(j, "i64") for name in ("sources", "places"))
    return write.call("value", [write["r"], row, m, source, index], "double")


def _sample_at(record: Record, width: Temporary, k: Temporary) -> tuple[Temporary, tuple[Temporary, Temporary, Temporary]]:
    """Return the time since the start of the k-th requested sample; its date, row and modes."""
    i = record.get("wanted_rows").load(k, "i64")
    return record.get("times")[i], (record.get("dates").at(i), record.get("rows").at(i * width), modes_at(record, i))


def _measure_at() -> Procedure:
    """Measure the values at a sample, or at one side of an event; they are a node of the trapezoidal rule if `node` is 1."""
    arguments = {"r": "ptr", "since": "double", "date": "ptr", "row": "ptr", "m": "ptr", "side": "i64", "node": "i64"}
    write = Procedure("measure_at", arguments, internal=True)
    record, integrator, _ = tables_of(write)
    row, m, count, since = write["row"], write["m"], record.get("kept_count"), write["since"]
    best, totals, before = record.get("best").at(write["side"] * count), record.get("totals"), record.get("before")
    is_sample, is_node = write["side"].equals(_SAMPLE), write["node"].equals(1)
    follows = is_node & (record.get("nodes") > 0)
    _evaluate(write, record, integrator, (write["date"], row, m))
    with write.loop(count) as j:
        rule = record.get("rules").load(j, "i64")
        with write.when(rule < MachineRule.FIRST_TIME):
            value = _value_of(write, record, row, m, j)
            with write.when(rule.equals(MachineRule.LAST) & is_sample):
                totals[j] = value
            with write.when(rule.equals(MachineRule.PEAK) | rule.equals(MachineRule.LOWEST)):
                signed, top = _sign_of(write, rule) * value, best[j]
                # The first NaN stays, as with `argmax`.
                with write.when((top <= top) & ~(signed <= top)):
                    best[j] = signed
                    with write.when(is_sample):
                        record.get("tops").store(j, record.get("measured"), "i64")
            with write.when((rule >= MachineRule.INTEGRAL) & is_node):
                with write.when(follows):
                    totals[j] = totals[j] + (since - record.get("node_time")) * (before[j] + value) * 0.5
                before[j] = value
    with write.when(is_node):
        record.set("node_time", since)
        record.count("nodes")
    write.give()
    return write


def _sign_of(write: Procedure, rule: Temporary) -> Temporary:
    """Return -1 for measures of the smallest value."""
    return write.select(rule.equals(MachineRule.LOWEST), -1.0, 1.0)


def _measure_until() -> Procedure:
    """Measure the samples of a run before this time since the start. A sample at the time of an event is no node; the two sides
    of the event are.
    """
    write = Procedure("measure_until", {"r": "ptr", "run": "i64", "since": "double"}, internal=True)
    record, integrator, _ = tables_of(write)
    samples, count = record.get("wanted_count"), record.get("series_count")
    with write.repeat() as (_, done):
        k = record.get("measured")
        with write.when(k >= samples):
            write.jump(done)
        time, at = _sample_at(record, integrator.get("width"), k)
        with write.when(~(time < write["since"])):
            write.jump(done)
        _, row, m = at
        node = write.select(time > record.get("event_time"), 1, 0, "i64")
        write.call("measure_at", [write["r"], time, *at, write.value(_SAMPLE, "i64"), node])
        with write.loop(count) as j:
            record.get("series")[(write["run"] * samples + k) * count + j] = _value_of(write, record, row, m, j, "series_")
        record.set("measured", k + 1)
    write.give()
    return write


def _measure_event() -> Procedure:
    """Measure an event of a run, a row of the log, and the samples before it."""
    write = Procedure("measure_event", {"r": "ptr", "run": "i64", "row": "ptr"}, internal=True)
    record, integrator, _ = tables_of(write)
    instants = Record(integrator.get("instants"), EventTable.layout())
    row, count, samples = write["row"], record.get("kept_count"), record.get("wanted_count")
    with write.when((count + record.get("series_count")).equals(0)):
        write.give()
    since, time, transition = (row[SCALARS.index(name)] for name in ("since", "time", "transition"))
    write.call("measure_until", [write["r"], write["run"], since])
    last, _ = _sample_at(record, integrator.get("width"), samples - 1)
    node = write.select(since <= last, 1, 0, "i64")
    n, modes, x = instants.get("n"), instants.get("modes"), row.at(len(SCALARS))
    date, m = row.at(SCALARS.index("time")), x.at(n * 2)
    for side, state, mode in ((_BEFORE, x, m), (_AFTER, x.at(n), m.at(modes))):
        write.call("measure_at", [write["r"], since, date, state, mode, write.value(side, "i64"), node])
    record.set("event_time", since)
    with write.repeat() as (_, done):
        k = record.get("gap")
        with write.when(k >= samples):
            write.jump(done)
        with write.when(record.get("dates")[record.get("wanted_rows").load(k, "i64")] >= time):
            record.get("jumps").store(k, 1, "i64")
            write.jump(done)
        record.set("gap", k + 1)
    totals = record.get("totals")
    with write.loop(count) as j:
        rule = record.get("rules").load(j, "i64")
        with write.when(rule >= MachineRule.FIRST_TIME), write.loop(instants.get("transitions")) as i:
            meant = record.get("meant").load(record.get("places").load(j, "i64") + i, "i64")
            with write.when(write.real(i).equals(transition) & meant.equals(1)):
                with write.when(rule.equals(MachineRule.EVENTS)):
                    totals[j] = totals[j] + 1.0
                with write.when(rule.equals(MachineRule.FIRST_TIME) & ~(totals[j] <= time)):
                    totals[j] = time
    write.give()
    return write


def _extreme() -> Procedure:
    """Return the largest or smallest value of number j, as `result.extreme` finds it."""
    write = Procedure("extreme", {"r": "ptr", "j": "i64"}, "double", internal=True)
    record, integrator, _ = tables_of(write)
    j, count, samples, width = write["j"], record.get("kept_count"), record.get("wanted_count"), integrator.get("width")
    best, sign = record.get("best"), _sign_of(write, record.get("rules").load(write["j"], "i64"))
    top, value = record.get("tops").load(j, "i64"), write.local(best[j])
    first = write.select(top >= 2, top - 2, 0, "i64")
    last = write.select(top + 2 < samples, top + 2, samples - 1, "i64")
    inside = (top > 0) & (top < samples - 1) & (last - first >= 3)
    refined = write.local(write.select(inside, 1, 0, "i64"), "i64")
    with write.loop(last + 1, first + 1) as k, write.when(record.get("jumps").load(k, "i64").equals(1)):
        refined.set(0)
    with write.when(refined.get().equals(1)):
        at, v = record.get("window"), record.get("window").at(WINDOW)
        _, (summit, _, _) = _sample_at(record, width, top)
        with write.loop(last + 1, first) as k:
            _, sample = _sample_at(record, width, k)
            date, row, m = sample
            _evaluate(write, record, integrator, sample)
            at[k - first] = date[0] - summit[0]
            v[k - first] = sign * _value_of(write, record, row, m, j) - best[j]
        back, ahead = at[top - first - 1], at[top - first + 1]
        left, right = v[top - first - 1] / back, v[top - first + 1] / ahead
        bend = (right - left) / (ahead - back)
        slope = left - bend * back
        longer = write.select(ahead > back * -1.0, ahead, back * -1.0)
        limit = bend * (-MAX_PARABOLA_ERROR * 2.0) * (longer * longer)
        with write.when(~(bend < 0.0)):
            refined.set(0)
        with write.loop(last + 1 - first) as k:
            miss = magnitude(write, bend * (at[k] * at[k]) + slope * at[k] - v[k])
            with write.when(~(miss <= limit)):
                refined.set(0)
        with write.when(refined.get().equals(1)):
            shift = slope * -1.0 / (bend * 2.0)
            value.set(best[j] + slope * shift + bend * (shift * shift))
    for side in (_BEFORE, _AFTER):
        other = best[count * side + j]
        with write.when(other > value.get()):
            value.set(other)
    write.give(sign * value.get())
    return write


def _keep() -> Procedure:
    """Keep the measures of a run that has reached its end."""
    write = Procedure("keep", {"r": "ptr", "run": "i64"}, internal=True)
    record, integrator, _ = tables_of(write)
    count, totals, samples = record.get("kept_count"), record.get("totals"), record.get("wanted_count")
    with write.when((count + record.get("series_count")).equals(0)):
        write.give()
    write.call("measure_until", [write["r"], write["run"], record.get("span") * 2.0 + 1.0])
    length, _ = _sample_at(record, integrator.get("width"), samples - 1)
    kept = record.get("kept").at(write["run"] * count)
    with write.loop(count) as j:
        rule = record.get("rules").load(j, "i64")
        kept[j] = totals[j]
        with write.when(rule.equals(MachineRule.MEAN)):
            kept[j] = totals[j] / length
        with write.when(rule.equals(MachineRule.PEAK) | rule.equals(MachineRule.LOWEST)):
            kept[j] = write.call("extreme", [write["r"], j], "double")
    # Other runs in the lanes still have samples to come.
    write.call("forget_measures", [write["r"]])
    write.give()
    return write
