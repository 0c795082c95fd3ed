"""Sample clocks inside the integration loop: stop time for the next tick, and the tick itself."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.clock_schedule import BREAK_MARGIN, SAME_TIME
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.events.root_finding import POINTS, update_levels
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.shared_fields import rows_until


def _kernel(write: Procedure, record: Record, i: Temporary) -> tuple[Temporary, Temporary]:
    """Return the address of the code of clock i, and 1 if there is any."""
    address = record.get("tick_kernels").load(i, "ptr")
    return address, address.is_given()


def due(method: Method) -> Procedure:
    """Return the time of the next tick or break; set `horizon`, the stop time before it, and the window of the formulas."""
    write = Procedure("due", {"c": "ptr"}, "double", internal=True)
    record = method.record(write)
    stop = record.get("stop")
    end = stop - write.intrinsic("fabs", stop) * SAME_TIME
    earliest, nearest = write.local(float("inf")), write.local(float("inf"))
    with write.loop(record.get("clock_count")) as i:
        time = record.get("following")[i]
        earliest.set(write.intrinsic("minnum", earliest.get(), time))
        _, loud = _kernel(write, record, i)
        nearest.set(write.select(loud, nearest.get(), write.intrinsic("minnum", nearest.get(), time)))
    record.set("horizon", write.select(earliest.get() < end, earliest.get(), stop))
    record.get("window")[1] = _break_side(write, record, nearest.get(), -1.0)
    write.give(earliest.get())
    return write


def _break_side(write: Procedure, record: Record, time: Temporary, side: float) -> Temporary:
    """Return the time on the clock of the formulas just before or after a break (see `clock_schedule`)."""
    on_clock = record.get("origin") + time
    return on_clock + (write.intrinsic("fabs", on_clock) + record.get("span") * 1e-6) * (side * BREAK_MARGIN)


def flush(method: Method) -> Procedure:
    """Write rows for sample times up to a time at which the state is y."""
    write = Procedure("flush", {"c": "ptr", "until": "double"})
    record = method.record(write)
    width = record.get("width")
    with rows_until(write, record, write["until"], width) as (_, row, _), write.loop(width) as i:
        row[i] = record.get("y")[i]
    write.give()
    return write


def _due_together(write: Procedure, record: Record, first: Temporary) -> tuple[Temporary, Temporary]:
    """Return the time of the ticks that are simultaneous with the next one, at `first`, and the latest of them."""
    t, following = record.get("t"), record.get("following")
    size = write.intrinsic("maxnum", write.intrinsic("fabs", t), write.intrinsic("fabs", first))
    last, time = first + size * SAME_TIME, write.local(t)
    with write.loop(record.get("clock_count")) as i, write.when(following[i] <= last):
        time.set(write.intrinsic("maxnum", time.get(), following[i]))
    return time.get(), last


def carry_out_ticks(method: Method) -> Procedure:
    """Carry out all ticks up to `last` at `time`; update the states, the window of the formulas, and the times of the next
    ticks."""
    write = Procedure("carry_out_ticks", {"c": "ptr", "time": "double", "last": "double"}, internal=True)
    record, time, last = method.record(write), write["time"], write["last"]
    y, y_new, largest = (record.get(name) for name in ("y", "y_new", "size"))
    following, index, window = (record.get(name) for name in ("following", "tick_index", "window"))
    record.set("moved", 1)
    window[1] = float("inf")
    with write.loop(record.get("clock_count")) as i, write.when(following[i] <= last):
        _, loud = _kernel(write, record, i)
        with write.when(~loud):
            window[0] = _break_side(write, record, time, 1.0)
    now = clock_time(write, record, time)
    with write.loop(record.get("clock_count")) as i, write.when(following[i] <= last):
        address, loud = _kernel(write, record, i)
        with write.when(loud):
            write.call(address, [now, y, record.get("p"), record.get("m"), y_new])
            with write.loop(record.get("n")) as k:
                y[k] = y_new[k]
                largest[k] = write.intrinsic("maxnum", largest[k], write.intrinsic("fabs", y_new[k]))
        number = index.load(i, "i64") + 1
        index.store(i, number, "i64")
        following[i] = record.get("tick_offsets")[i] + write.real(number) * record.get("periods")[i]
        with write.when(i.equals(record.get("once"))):
            following[i] = record.get("breaks")[number]
    write.give()
    return write


def tick(method: Method) -> Procedure:
    """Carry out all ticks at the time of the next one, `first`; return 1 if a guard jumps through zero there (marked in
    `fired`)."""
    write = Procedure("tick", {"c": "ptr", "first": "double"}, "i64", internal=True)
    record, c = method.record(write), write["c"]
    time, last = _due_together(write, record, write["first"])
    record.set("t", time)
    write.call("flush", [c, time])
    write.call("carry_out_ticks", [c, time, last])
    write.call("derivative", [c, time, record.get("y"), record.get("k"), write.value(1, "i64")])
    count, g, levels = record.get("guard_count"), record.get("g"), record.get("levels")
    jumps = write.local(0, "i64")
    with write.when(count > 0):
        after = g.at(count * (POINTS - 1))
        write.call("guard_values", [c, time, record.get("y"), after])
        with write.loop(count) as i:
            jumped = (g[i] < 0.0) & (after[i] >= 0.0)
            record.get("fired").store(i, write.select(jumped, 1, 0, "i64"), "i64")
            jumps.set(write.select(jumped, 1, jumps.get(), "i64"))
        update_levels(write, record, after, levels)
    write.give(jumps.get())
    return write


def start_clocks(method: Method) -> Procedure:
    """Reset all clocks, and carry out the ticks at the start, time 0."""
    write = Procedure("start_clocks", {"c": "ptr"}, internal=True)
    record, earliest = method.record(write), write.local(float("inf"))
    following = record.get("following")
    with write.loop(record.get("clock_count")) as i:
        record.get("tick_index").store(i, 0, "i64")
        following[i] = record.get("tick_offsets")[i]
        earliest.set(write.intrinsic("minnum", earliest.get(), following[i]))
    first = earliest.get()
    with write.when(first < float("inf")), write.when(first <= write.intrinsic("fabs", first) * SAME_TIME):
        write.call("carry_out_ticks", [write["c"], *_due_together(write, record, first)])
    write.give()
    return write
