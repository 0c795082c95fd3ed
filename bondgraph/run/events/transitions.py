"""Firing of transitions in machine code (`reference.iteration.iterate_events`): those that fired, then those whose guards fire,
one by one in rows of the log, with those that impulses fire."""

from __future__ import annotations

from bondgraph.emit.procedure import Operand, Procedure, Temporary
from bondgraph.run.codegen_helpers import clock_time, is_finite, larger, magnitude
from bondgraph.run.events.guards import UNKNOWN
from bondgraph.run.events.impacts.fired_transitions import MIN_JUMP
from bondgraph.run.events.log import NO_LABEL, SCALARS
from bondgraph.run.events.state import flag, record_of

NO_TRANSITION = -1
"""Index that means no transition."""
PYTHON_FALLBACK = -2
"""Result if only Python can continue."""


def procedures() -> list[Procedure]:
    """Return all procedures, callees first."""
    return [_begin_row(), _fire(), _end_row(), _go_on(), _fire_by_impulse(), _first_fired(), _first_firing(), _fire_transitions()]


def row_of(write: Procedure, number: Temporary) -> Temporary:
    """Return a row of the log."""
    record = record_of(write)
    return record.get("log").at(record.get("row_width") * number)


def needs_row(write: Procedure, number: Temporary) -> None:
    """Fall back to Python if the log has no room for this row, and note that."""
    record = record_of(write)
    with write.when(number >= record.get("log_room")):
        record.set("lacked", 1)
        write.give(PYTHON_FALLBACK)


def _begin_row() -> Procedure:
    """Begin a row at t of transition `index` from x_here, m_here, with nothing supplied; copy these to x_after, m_after."""
    write = Procedure("begin_row", {"s": "ptr", "t": "double", "index": "i64", "row": "ptr"}, internal=True)
    record, t, row = record_of(write), write["t"], write["row"]
    n, modes = record.get("n"), record.get("modes")
    x, m, x_after, m_after = (record.get(name) for name in ("x_here", "m_here", "x_after", "m_after"))
    now = clock_time(write, record, t)
    scalars: list[Operand] = [t, record.get("start") + t, now[0], write.real(write["index"]), float("nan"), float(NO_LABEL)]
    for name, value in zip(("since", "time", "clock", "transition", "limit", "label"), scalars, strict=True):
        row[SCALARS.index(name)] = value
    x_row = row.at(len(SCALARS))
    m_row = x_row.at(n * 2)
    with write.loop(n) as i:
        x_row[i] = x[i]
        x_after[i] = x[i]
    with write.loop(modes) as i:
        m_row[i] = m[i]
        m_after[i] = m[i]
    with write.loop(record.get("quadratures")) as i:
        m_row.at(modes * 2)[i] = 0.0
    write.give()
    return write


def _fire() -> Procedure:
    """Machine code of `fired_transitions.fire` of transition `index` at t from x_here, m_here, into x_after, m_after and a row of
    the log; `fire_by_impulse` may undo it. Return 1 if all loops are solved."""
    write = Procedure("fire", {"s": "ptr", "t": "double", "index": "i64", "row": "ptr"}, "i64", internal=True)
    record, s, t, index, row = (record_of(write), *(write[name] for name in ("s", "t", "index", "row")))
    write.call("begin_row", [s, t, index, row])
    x_after, now = record.get("x_after"), clock_time(write, record, t)
    supplied = row.at(len(SCALARS)).at(record.get("n") * 2 + record.get("modes") * 2)
    for kernels, out in (("resets", x_after), ("supplies", supplied)):
        kernel = record.get(kernels).load(index, "ptr")
        with write.when(kernel.is_given()):
            write.call(kernel, [now, record.get("x_here"), record.get("p"), record.get("m_here"), out])
    record.get("m_after")[record.get("slots").load(index, "i64")] = record.get("targets")[index]
    write.give(write.call("consistent", [s, t, x_after], "i64"))
    return write


def fire_into_row(write: Procedure, index: Temporary, number: Temporary) -> Temporary:
    """Fire transition `index` from x_here, m_here into the row of the log with this number, and return the row; else
    `PYTHON_FALLBACK`."""
    with write.when(~flag(record_of(write).get("ready"), index)):
        write.give(PYTHON_FALLBACK)
    needs_row(write, number)
    row = row_of(write, number)
    with write.when(write.call("fire", [write["s"], write["t"], index, row], "i64").equals(0)):
        write.give(PYTHON_FALLBACK)
    return row


def _end_row() -> Procedure:
    """Write x_after, m_after to a row."""
    write = Procedure("end_row", {"s": "ptr", "row": "ptr"}, internal=True)
    record, n, modes = record_of(write), record_of(write).get("n"), record_of(write).get("modes")
    x_row = write["row"].at(len(SCALARS)).at(n)
    m_row = x_row.at(n).at(modes)
    with write.loop(n) as i:
        x_row[i] = record.get("x_after")[i]
    with write.loop(modes) as i:
        m_row[i] = record.get("m_after")[i]
    write.give()
    return write


def _go_on() -> Procedure:
    """Continue from the states and modes after a transition, which its row holds."""
    write = Procedure("go_on", {"s": "ptr", "row": "ptr"}, internal=True)
    record = record_of(write)
    write.call("end_row", [write["s"], write["row"]])
    with write.loop(record.get("n")) as i:
        record.get("x_here")[i] = record.get("x_after")[i]
    with write.loop(record.get("modes")) as i:
        record.get("m_here")[i] = record.get("m_after")[i]
    write.give()
    return write


def _fire_by_impulse() -> Procedure:
    """Machine code of `fired_transitions.fire_by_impulse`: return the transition that the impulse of `index` fires,
    `NO_TRANSITION` if none; `PYTHON_FALLBACK` for Python."""
    write = Procedure("fire_by_impulse", {"s": "ptr", "t": "double", "index": "i64", "row": "ptr"}, "i64", internal=True)
    record, s, t = record_of(write), write["s"], write["t"]
    n, count, pushes = record.get("n"), record.get("transitions"), record.get("pushed")
    plain, x_after, kept = pushes.at(count), record.get("x_after"), record.get("kept")
    kernel = record.get("pushes").load(write["index"], "ptr")
    with write.when(~kernel.is_given()):
        write.give(NO_TRANSITION)
    write.call(kernel, [clock_time(write, record, t), record.get("x_here"), record.get("p"), record.get("m_here"), pushes])
    with write.when(write.call("consistent", [s, t, plain], "i64").equals(0)):
        write.give(PYTHON_FALLBACK)
    jumps, most, largest, answer = write.local(0, "i64"), write.local(0.0), write.local(0.0), write.local(NO_TRANSITION, "i64")
    with write.loop(record.get("kept_count")) as k:
        i = kept.load(k, "i64")
        size = larger(write, record.get("sizes")[i], larger(write, magnitude(write, plain[i]), magnitude(write, x_after[i])))
        with write.when(magnitude(write, x_after[i] - plain[i]) > MIN_JUMP * size):
            jumps.set(1)
    with write.loop(count) as i:
        with write.when(~is_finite(pushes[i])):
            write.give(PYTHON_FALLBACK)
        largest.set(larger(write, largest.get(), magnitude(write, pushes[i])))
        in_mode = record.get("m_after")[record.get("slots").load(i, "i64")].equals(record.get("sources")[i])
        with write.when(in_mode & (pushes[i] > most.get())):
            most.set(pushes[i])
            answer.set(i)
    with write.when(jumps.get().equals(0) | ~(most.get() > MIN_JUMP * largest.get())):
        write.give(NO_TRANSITION)
    x_row = write["row"].at(len(SCALARS))
    supplied = x_row.at(n * 2 + record.get("modes") * 2)
    with write.loop(n) as i:
        x_after[i] = plain[i]
    with write.loop(record.get("quadratures")) as i:
        supplied[i] = 0.0
    write.give(answer.get())
    return write


def _first_fired() -> Procedure:
    """Return the first due one of the transitions that fired, `NO_TRANSITION` if none; `PYTHON_FALLBACK` for Python. Set `known`
    if the guards have been evaluated."""
    arguments = {"s": "ptr", "t": "double", "probe": "double", "known": "ptr"}
    write = Procedure("first_fired", arguments, "i64", internal=True)
    record = record_of(write)
    with write.loop(record.get("transitions")) as i, write.when(flag(record.get("fired"), i)):
        at = [write["s"], write["t"], record.get("x_here"), i]
        with write.when(write.call("is_bounce", at, "i64").equals(UNKNOWN)):
            write.give(PYTHON_FALLBACK)
    with write.loop(record.get("transitions")) as k:
        i = record.get("order").load(k, "i64")
        with write.when(flag(record.get("fired"), i)):
            with write.when(~flag(record.get("ready"), i)):
                write.give(PYTHON_FALLBACK)
            with write.when(record.get("bounces").load(i, "i64").equals(0)):
                write.give(i)
            with write.when(write["known"].load(0, "i64").equals(0)):
                write["known"].store(0, 1, "i64")
                at = [write["s"], write["t"], record.get("x_here"), write["probe"]]
                with write.when(write.call("firing_guards", at, "i64").equals(UNKNOWN)):
                    write.give(PYTHON_FALLBACK)
            with write.when(flag(record.get("rising"), i)):
                write.give(i)
    write.give(NO_TRANSITION)
    return write


def _first_firing() -> Procedure:
    """Return the first due one of the transitions whose guards fire, `NO_TRANSITION` if none."""
    write = Procedure("first_firing", {"s": "ptr"}, "i64", internal=True)
    record = record_of(write)
    with write.loop(record.get("transitions")) as k:
        i = record.get("order").load(k, "i64")
        with write.when(flag(record.get("rising"), i) & ~flag(record.get("once"), i)):
            write.give(i)
    write.give(NO_TRANSITION)
    return write


def _fire_transitions() -> Procedure:
    """Fire the transitions that fired, if `asked`, then those whose guards fire, one by one, into rows of the log from `row` on
    and x_here, m_here: return their number; `PYTHON_FALLBACK` for Python.

    Where modes cycle, search for others in which no guard fires. Leave a bounce that does not take its guard back in `stuck`.
    """
    arguments = {"s": "ptr", "t": "double", "probe": "double", "asked": "i64", "row": "i64"}
    write = Procedure("fire_transitions", arguments, "i64", internal=True)
    record, s, t, probe = record_of(write), write["s"], write["t"], write["probe"]
    x, count, looked, next_one = (
        record.get("x_here"),
        write.local(0, "i64"),
        write.local(0, "i64"),
        write.local(NO_TRANSITION, "i64"),
    )
    first, begin = write["row"], write.local(0, "i64")
    record.set("stuck", NO_TRANSITION)
    for name, length in (("x", "n"), ("m", "modes")):
        with write.loop(record.get(length)) as i:
            record.get(f"{name}_start")[i] = record.get(f"{name}_here")[i]
    with write.loop(record.get("transitions")) as i:
        record.get("once").store(i, 0, "i64")
    with write.when(write["asked"].equals(1)):
        next_one.set(write.call("first_fired", [s, t, probe, looked.address], "i64"))
    with write.loop(record.get("turns")):
        with write.when(next_one.get().equals(NO_TRANSITION)):
            with write.when(looked.get().equals(0)):
                looked.set(1)
                with write.when(write.call("firing_guards", [s, t, x, probe], "i64").equals(UNKNOWN)):
                    write.give(PYTHON_FALLBACK)
            next_one.set(write.call("first_firing", [s], "i64"))
            with write.when(next_one.get().equals(NO_TRANSITION)):
                write.give(count.get())
        index = next_one.get()
        with write.when(index.equals(PYTHON_FALLBACK)):
            write.give(PYTHON_FALLBACK)
        row = fire_into_row(write, index, first + count.get())
        next_one.set(write.call("fire_by_impulse", [s, t, index, row], "i64"))
        record.get("watched").store(count.get(), index, "i64")
        count.set(count.get() + 1)
        write.call("go_on", [s, row])
        looked.set(0)
        with write.when(flag(record.get("own"), index)):
            looked.set(1)
            with write.when(write.call("firing_guards", [s, t, x, probe], "i64").equals(UNKNOWN)):
                write.give(PYTHON_FALLBACK)
            with write.when(flag(record.get("rising"), index)):
                bounce = record.get("bounces").load(index, "i64")
                with write.when(bounce.equals(UNKNOWN)):
                    write.give(PYTHON_FALLBACK)
                with write.when(bounce.equals(1) & next_one.get().equals(NO_TRANSITION)):
                    record.set("stuck", index)
                    write.give(count.get())
                with write.when(~flag(record.get("once"), index)):
                    record.get("once").store(index, 1, "i64")
                    begin.set(count.get())
        with write.when(write.call("modes_cycle", [s, first, begin.get(), count.get()], "i64").equals(1)):
            write.give(write.call("consistent_modes", [s, t, probe, first, count.get()], "i64"))
    write.give(write.call("consistent_modes", [s, t, probe, first, count.get()], "i64"))
    return write
