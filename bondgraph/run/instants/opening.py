"""A run begins in machine code: what is remembered of events as if there had been none, and what is due at the start settled."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure
from bondgraph.run.instants.fields import record_of
from bondgraph.run.switching.rounding import PAIRS


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call."""
    return [_open(), _settle_start()]


def _open() -> Procedure:
    """Forget all events, take in the parameters, and find the unknowns of loops at the start values: 1 if that is done."""
    write = Procedure("open", {"s": "ptr"}, "i64", internal=True)
    record = record_of(write)
    for name in ("seen", "written", "held_rows", "logged"):
        record.set(name, 0)
    for name in ("t", "begun"):
        record.set(name, 0.0)
    record.set("events_left", record.get("most_events"))
    with write.loop(record.get("n")) as i:
        record.get("sizes")[i] = 0.0
    for name in ("counts", "fired"):
        with write.loop(record.get("transitions")) as i:
            record.get(name).store(i, 0, "i64")
    with write.loop(record.get("transitions")) as i:
        record.get("bounces").store(i, record.get("known_bounces").load(i, "i64"), "i64")
    count = record.get("parameters")
    with write.loop(2 * PAIRS) as k, write.loop(count) as i:
        record.get("p_near")[count * k + i] = record.get("p")[i] * record.get("p_factors")[count * k + i]
    with write.loop(record.get("modes")) as i:
        record.get("m_after")[i] = record.get("m")[i]
    write.give(write.call("consistent", [write["s"], record.get("t"), record.get("y")], "i64"))
    return write


def _settle_start() -> Procedure:
    """Settle what is due at the start, and note the modes of the first sample: 1 if that is done, 0 for Python."""
    write = Procedure("settle_start", {"s": "ptr"}, "i64", internal=True)
    record, s = record_of(write), write["s"]
    done, modes = write.local(1, "i64"), record.get("modes")
    with write.when(record.get("transitions") > 0):
        done.set(write.call("settle", [s], "i64"))
    with write.when(record.get("transitions").equals(0)):
        done.set(write.call("consistent", [s, record.get("t"), record.get("y")], "i64"))
    held = record.get("all_held")
    with write.loop(modes) as i:
        held[i] = record.get("m")[i]
    record.set("held", held.at(modes))
    write.give(done.get())
    return write
