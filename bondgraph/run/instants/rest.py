"""`settling.rest` and `Watch.limit` in machine code: transitions that accumulate in; rows of the log that lead to states of rest
out."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure
from bondgraph.run.idioms import clock_time
from bondgraph.run.instants.fields import flag, record_of
from bondgraph.run.instants.log import SCALARS
from bondgraph.run.instants.transitions import NONE, needs_row, row_of
from bondgraph.run.instants.watch import time_of
from bondgraph.run.switching.accumulation import RATIOS, STEADY


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call."""
    return [_limit(), _rest_one(), _rest()]


def _limit() -> Procedure:
    """`Watch.limit` of transition i."""
    write = Procedure("limit_of", {"s": "ptr", "i": "i64"}, "double", internal=True)
    record, i = record_of(write), write["i"]
    ring, count = record.get("times").at(i * STEADY), record.get("counts").load(i, "i64")
    write.call("note", [write["s"], i])
    record.get("counts").store(i, 0, "i64")
    with write.when(count.equals(0)):
        write.give(0.0)
    last = write.local(time_of(write, ring, count - 1))
    first = write.select(count > RATIOS + 2, count - (RATIOS + 2), 0, "i64")
    steps = count - 1 - first
    with write.when(steps < 2):
        write.give(last.get())
    before, step = write.local(time_of(write, ring, first)), write.local(0.0)
    opening = write.local(time_of(write, ring, first + 1) - before.get())
    with write.loop(steps) as k:
        time = time_of(write, ring, first + k + 1)
        step.set(time - before.get())
        before.set(time)
        with write.when(~(step.get() > 0.0)):
            write.give(last.get())
    ratio = write.intrinsic("pow", step.get() / opening.get(), 1.0 / write.real(steps - 1))
    rest = write.select(ratio < 1.0, step.get() * ratio / (1.0 - ratio), 0.0)
    write.give(last.get() + rest)
    return write


def _rest_one() -> Procedure:
    """`settling.rest` of transition i with its limit, into a row: 1 if there is one, 0 if there is no state to rest in, -1 for
    Python."""
    write = Procedure("rest_one", {"s": "ptr", "t": "double", "i": "i64", "limit": "double", "row": "ptr"}, "i64", internal=True)
    record, s, t, i, row = record_of(write), write["s"], write["t"], write["i"], write["row"]
    slot, edge = record.get("slots").load(i, "i64"), record.get("rest_edges").load(i, "i64")
    with write.when(~record.get("m_here")[slot].equals(record.get("targets")[i])):
        write.give(0)
    taken = write.select(edge.equals(NONE), i, edge, "i64")
    write.call("begin_row", [s, t, taken, row])
    row[SCALARS.index("limit")] = write["limit"]
    row[SCALARS.index("said")] = record.get("rest_said")[i]
    with write.when(edge >= 0):
        with write.when(~flag(record.get("ready"), edge)):
            write.give(-1)
        kernel = record.get("resets").load(edge, "ptr")
        with write.when(kernel.is_given()):
            at = [clock_time(write, record, t), record.get("x_here"), record.get("p"), record.get("m_here")]
            write.call(kernel, [*at, record.get("x_after")])
    record.get("m_after")[slot] = record.get("rest_modes")[i]
    with write.when(write.call("consistent", [s, t, record.get("x_after")], "i64").equals(0)):
        write.give(-1)
    write.call("taken", [s, row])
    write.give(1)
    return write


def _rest() -> Procedure:
    """Go to rest from the first `count` of `resting`, in rows from `row` on: how many those are, negative for Python."""
    write = Procedure("rest", {"s": "ptr", "t": "double", "count": "i64", "row": "i64"}, "i64", internal=True)
    record, s, t = record_of(write), write["s"], write["t"]
    made, news = write.local(0, "i64"), write.local(0, "i64")
    with write.loop(write["count"]) as k:
        i = record.get("resting").load(k, "i64")
        with write.when(~flag(record.get("rested"), i)):
            news.set(1)
            record.get("rested").store(i, 1, "i64")
    with write.when(news.get().equals(0)):
        write.give(-1)
    with write.loop(write["count"]) as k:
        i = record.get("resting").load(k, "i64")
        needs_row(write, write["row"] + made.get())
        limit = write.call("limit_of", [s, i], "double")
        own = write.call("rest_one", [s, t, i, limit, row_of(write, write["row"] + made.get())], "i64")
        with write.when(own < 0):
            write.give(-1)
        made.set(made.get() + own)
    write.give(made.get())
    return write
