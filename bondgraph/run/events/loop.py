"""Event loop in machine code around an integrator whose segments end at events.

An event that it cannot handle goes back to Python at the end of a segment, as every event does with the integrator alone; its
reference there is `hybrid.Hybrid`.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.events.algebraic_loops import all_finite
from bondgraph.run.events.iteration import handle_event, handle_start, open
from bondgraph.run.events.state import EventTable
from bondgraph.run.status import Status
from bondgraph.run.table import Fields


def procedures(fields: Fields, advance: str, event: int) -> list[Procedure]:
    """Return the loop `run` around an integrator's procedure `advance` (c), which returns `event` at an event; `fields` are the
    fields of c."""
    return [*translate([handle_event, open, handle_start, all_finite], ("handle_event",)), _run(fields, advance, event)]


def _run(fields: Fields, advance: str, event: int) -> Procedure:
    write = Procedure("run", {"c": "ptr"}, "i64")
    record = Record(write["c"], fields)
    s = record.get("instants")
    events = Record(s, EventTable.layout())
    with write.repeat():
        status = write.call(advance, [write["c"]], "i64")
        with write.when(~status.equals(event)):
            write.give(status)
        events.set("t", record.get("t"))
        events.set("written", record.get("written"))
        with write.when(write.call("handle_event", [s], "i64").equals(0)):
            write.give(event)
        record.set("fresh", 1)
        record.set("tried", 0)
        y = record.get("y")
        at = [record.get("weights"), record.get("t"), y, y.at(record.get("n")), record.get("m")]
        write.call(record.get("weights_begin"), at)
        with write.when(events.get("logged") + events.get("reserve") > events.get("log_room")):
            write.give(Status.LOG_FULL)
    write.give(event)
    return write
