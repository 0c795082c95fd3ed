"""Energy losses of a batch run at its events, from the rows of the log: the loss before each sample, the number of events, and
the modes at the samples."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.batch.fields import add_to, balance_of, modes_at, tables_of
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.state import EventTable


def procedures() -> list[Procedure]:
    """Return the procedures of the energy lost at events, callees first."""
    return [_forget(), _note(), _finish()]


def _forget() -> Procedure:
    """Reset the losses at the start of a run."""
    write = Procedure("forget_events", {"r": "ptr"}, internal=True)
    record, _, _ = tables_of(write)
    with write.loop(record.get("balances")) as b:
        record.get("lost")[b] = 0.0
        record.get("lost_totals")[b] = 0.0
    for name, value in (("lost_rows", 1), ("event_count", 0)):
        record.set(name, value)
    write.give()
    return write


def _known_until(write: Procedure, record: Record, time: Temporary | None) -> None:
    """Set the energy lost before the samples up to a time, or up to the end, to the current total."""
    with write.repeat() as (_, done):
        k = record.get("lost_rows")
        with write.when(k >= record.get("samples")):
            write.jump(done)
        if time is not None:
            with write.when(record.get("times")[k] > time):
                write.jump(done)
        lost = record.get("lost").at(record.get("balances") * k)
        with write.loop(record.get("balances")) as b:
            lost[b] = record.get("lost_totals")[b]
        record.set("lost_rows", k + 1)


def _note() -> Procedure:
    """Process the rows of the log and empty it. A sample at the exact time of an event shows the values before it, except at the
    start (`results.energy_account`)."""
    write = Procedure("note_events", {"r": "ptr"}, internal=True)
    record, integrator, weights = tables_of(write)
    instants = Record(integrator.get("instants"), EventTable.layout())
    n, modes, storages, p = instants.get("n"), instants.get("modes"), weights.get("storages"), integrator.get("p")
    energies, closing = record.get("energies"), record.get("closing")
    with write.loop(instants.get("logged")) as k:
        row = instants.get("log").at(instants.get("row_width") * k)
        since, clock = row[SCALARS.index("since")], row.at(SCALARS.index("clock"))
        write.call("measure_event", [write["r"], record.get("present"), row])
        _known_until(write, record, since)
        x = row.at(len(SCALARS))
        m = x.at(n * 2)
        with write.loop(record.get("balances")) as b:
            closing[b] = 0.0
        with write.when(storages > 0):
            for sign, side, mode in ((1.0, x, m), (-1.0, x.at(n), m.at(modes))):
                write.call(weights.get("energies"), [clock, side, p, mode, energies])
                with write.loop(storages) as i:
                    add_to(closing, balance_of(record, "storage", i), sign * energies[i])
        supplied = m.at(modes * 2)
        with write.loop(instants.get("quadratures")) as i:
            add_to(closing, balance_of(record, "power", i), supplied[i])
        with write.loop(record.get("balances")) as b:
            add_to(record.get("lost_totals"), b, closing[b])
            with write.when(since <= record.get("times")[0]):
                record.get("lost")[b] = record.get("lost_totals")[b]
    record.count("event_count", instants.get("logged"))
    instants.set("events_left", instants.get("events_left") - instants.get("logged"))
    instants.set("logged", 0)
    write.give()
    return write


def _finish() -> Procedure:
    """Set the losses of the remaining samples at the end of the run."""
    write = Procedure("finish_events", {"r": "ptr", "run": "i64"}, internal=True)
    record, integrator, _ = tables_of(write)
    pointer = integrator.get("instants")
    with write.when(pointer.is_given()):
        write.call("note_events", [write["r"]])
        count = integrator.get("mode_count")
        with (
            write.loop(record.get("samples"), Record(pointer, EventTable.layout()).get("held_rows") + 1) as k,
            write.loop(count) as i,
        ):
            modes_at(record, k)[i] = integrator.get("m")[i]
    _known_until(write, record, None)
    record.get("event_counts").store(write["run"], record.get("event_count"), "i64")
    write.give()
    return write
