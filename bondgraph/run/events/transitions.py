"""`settling.settle` in machine code: what fired, then what rises, carried out one by one in rows of the log, with what impulses
answer.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Operand, Procedure, Temporary
from bondgraph.run.codegen_helpers import clock_time, is_finite, larger, magnitude
from bondgraph.run.events.guards import UNKNOWN
from bondgraph.run.events.impacts.fired_transitions import JUMP
from bondgraph.run.events.log import PLAIN, SCALARS
from bondgraph.run.events.state import flag, record_of

NONE = -1
"""Of a transition that there is not."""
BACK = -2
"""Of what only Python can settle."""


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call."""
    return [_begun_row(), _carried_out(), _ended_row(), _taken(), _answered(), _first_fired(), _first_rising(), _passages()]


def row_of(write: Procedure, number: Temporary) -> Temporary:
    """A row of the log."""
    record = record_of(write)
    return record.get("log").at(record.get("row_width") * number)


def needs_row(write: Procedure, number: Temporary) -> None:
    """Leave it to Python where the log has no room for this row, and note that."""
    record = record_of(write)
    with write.when(number >= record.get("log_room")):
        record.set("lacked", 1)
        write.give(BACK)


def _begun_row() -> Procedure:
    """A row at t of transition `index` from x_here, m_here, with nothing supplied; x_after, m_after are the same."""
    write = Procedure("begin_row", {"s": "ptr", "t": "double", "index": "i64", "row": "ptr"}, internal=True)
    record, t, row = record_of(write), write["t"], write["row"]
    n, modes = record.get("n"), record.get("modes")
    x, m, x_after, m_after = (record.get(name) for name in ("x_here", "m_here", "x_after", "m_after"))
    now = clock_time(write, record, t)
    own: list[Operand] = [t, record.get("start") + t, now[0], write.real(write["index"]), float("nan"), float(PLAIN)]
    for name, value in zip(("since", "time", "clock", "transition", "limit", "said"), own, strict=True):
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


def _carried_out() -> Procedure:
    """`passages.carried_out` of transition `index` at t from x_here, m_here, into x_after, m_after and a row of the log; what
    `answered` may take back. 1 if all loops are solved."""
    write = Procedure("carried_out", {"s": "ptr", "t": "double", "index": "i64", "row": "ptr"}, "i64", internal=True)
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


def carried_into(write: Procedure, index: Temporary, number: Temporary) -> Temporary:
    """The row of the log with this number, into which transition `index` is carried out from x_here, m_here; else `BACK`."""
    with write.when(~flag(record_of(write).get("ready"), index)):
        write.give(BACK)
    needs_row(write, number)
    row = row_of(write, number)
    with write.when(write.call("carried_out", [write["s"], write["t"], index, row], "i64").equals(0)):
        write.give(BACK)
    return row


def _ended_row() -> Procedure:
    """A row notes x_after, m_after."""
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


def _taken() -> Procedure:
    """States and modes are those after a passage, which its row notes."""
    write = Procedure("taken", {"s": "ptr", "row": "ptr"}, internal=True)
    record = record_of(write)
    write.call("end_row", [write["s"], write["row"]])
    with write.loop(record.get("n")) as i:
        record.get("x_here")[i] = record.get("x_after")[i]
    with write.loop(record.get("modes")) as i:
        record.get("m_here")[i] = record.get("m_after")[i]
    write.give()
    return write


def _answered() -> Procedure:
    """`passages.answered`: the transition that the impulse of `index` fires, `NONE` if none does; `BACK` for Python."""
    write = Procedure("answered", {"s": "ptr", "t": "double", "index": "i64", "row": "ptr"}, "i64", internal=True)
    record, s, t = record_of(write), write["s"], write["t"]
    n, count, pushes = record.get("n"), record.get("transitions"), record.get("pushed")
    plain, x_after, kept = pushes.at(count), record.get("x_after"), record.get("kept")
    kernel = record.get("pushes").load(write["index"], "ptr")
    with write.when(~kernel.is_given()):
        write.give(NONE)
    write.call(kernel, [clock_time(write, record, t), record.get("x_here"), record.get("p"), record.get("m_here"), pushes])
    with write.when(write.call("consistent", [s, t, plain], "i64").equals(0)):
        write.give(BACK)
    jumps, most, largest, answer = write.local(0, "i64"), write.local(0.0), write.local(0.0), write.local(NONE, "i64")
    with write.loop(record.get("kept_count")) as k:
        i = kept.load(k, "i64")
        size = larger(write, record.get("sizes")[i], larger(write, magnitude(write, plain[i]), magnitude(write, x_after[i])))
        with write.when(magnitude(write, x_after[i] - plain[i]) > JUMP * size):
            jumps.set(1)
    with write.loop(count) as i:
        with write.when(~is_finite(pushes[i])):
            write.give(BACK)
        largest.set(larger(write, largest.get(), magnitude(write, pushes[i])))
        in_mode = record.get("m_after")[record.get("slots").load(i, "i64")].equals(record.get("sources")[i])
        with write.when(in_mode & (pushes[i] > most.get())):
            most.set(pushes[i])
            answer.set(i)
    with write.when(jumps.get().equals(0) | ~(most.get() > JUMP * largest.get())):
        write.give(NONE)
    x_row = write["row"].at(len(SCALARS))
    supplied = x_row.at(n * 2 + record.get("modes") * 2)
    with write.loop(n) as i:
        x_after[i] = plain[i]
    with write.loop(record.get("quadratures")) as i:
        supplied[i] = 0.0
    write.give(answer.get())
    return write


def _first_fired() -> Procedure:
    """The first of those that fired that is to be taken, `NONE` if none is; `BACK` for Python. `known` is set where guards that
    rise have been looked at."""
    arguments = {"s": "ptr", "t": "double", "probe": "double", "known": "ptr"}
    write = Procedure("first_fired", arguments, "i64", internal=True)
    record = record_of(write)
    with write.loop(record.get("transitions")) as i, write.when(flag(record.get("fired"), i)):
        at = [write["s"], write["t"], record.get("x_here"), i]
        with write.when(write.call("is_bounce", at, "i64").equals(UNKNOWN)):
            write.give(BACK)
    with write.loop(record.get("transitions")) as k:
        i = record.get("order").load(k, "i64")
        with write.when(flag(record.get("fired"), i)):
            with write.when(~flag(record.get("ready"), i)):
                write.give(BACK)
            with write.when(record.get("bounces").load(i, "i64").equals(0)):
                write.give(i)
            with write.when(write["known"].load(0, "i64").equals(0)):
                write["known"].store(0, 1, "i64")
                at = [write["s"], write["t"], record.get("x_here"), write["probe"]]
                with write.when(write.call("rising_at", at, "i64").equals(UNKNOWN)):
                    write.give(BACK)
            with write.when(flag(record.get("rising"), i)):
                write.give(i)
    write.give(NONE)
    return write


def _first_rising() -> Procedure:
    """The first of those that rise that is to be taken, `NONE` if none is."""
    write = Procedure("first_rising", {"s": "ptr"}, "i64", internal=True)
    record = record_of(write)
    with write.loop(record.get("transitions")) as k:
        i = record.get("order").load(k, "i64")
        with write.when(flag(record.get("rising"), i) & ~flag(record.get("once"), i)):
            write.give(i)
    write.give(NONE)
    return write


def _passages() -> Procedure:
    """Carry out what fired, if that is `asked` for, then what rises, one by one, into rows of the log from `row` on and x_here,
    m_here: how many there were; `BACK` for Python. Where this goes round, modes are searched for in which it ends. A bounce that
    does not take its guard back is left in `stuck`."""
    arguments = {"s": "ptr", "t": "double", "probe": "double", "asked": "i64", "row": "i64"}
    write = Procedure("passages", arguments, "i64", internal=True)
    record, s, t, probe = record_of(write), write["s"], write["t"], write["probe"]
    x, count, known, chosen = record.get("x_here"), write.local(0, "i64"), write.local(0, "i64"), write.local(NONE, "i64")
    first, since = write["row"], write.local(0, "i64")
    record.set("stuck", NONE)
    for name, whole in (("x", "n"), ("m", "modes")):
        with write.loop(record.get(whole)) as i:
            record.get(f"{name}_start")[i] = record.get(f"{name}_here")[i]
    with write.loop(record.get("transitions")) as i:
        record.get("once").store(i, 0, "i64")
    with write.when(write["asked"].equals(1)):
        chosen.set(write.call("first_fired", [s, t, probe, known.address], "i64"))
    with write.loop(record.get("turns")):
        with write.when(chosen.get().equals(NONE)):
            with write.when(known.get().equals(0)):
                known.set(1)
                with write.when(write.call("rising_at", [s, t, x, probe], "i64").equals(UNKNOWN)):
                    write.give(BACK)
            chosen.set(write.call("first_rising", [s], "i64"))
            with write.when(chosen.get().equals(NONE)):
                write.give(count.get())
        index = chosen.get()
        with write.when(index.equals(BACK)):
            write.give(BACK)
        row = carried_into(write, index, first + count.get())
        chosen.set(write.call("answered", [s, t, index, row], "i64"))
        record.get("watched").store(count.get(), index, "i64")
        count.set(count.get() + 1)
        write.call("taken", [s, row])
        known.set(0)
        with write.when(flag(record.get("own"), index)):
            known.set(1)
            with write.when(write.call("rising_at", [s, t, x, probe], "i64").equals(UNKNOWN)):
                write.give(BACK)
            with write.when(flag(record.get("rising"), index)):
                bounce = record.get("bounces").load(index, "i64")
                with write.when(bounce.equals(UNKNOWN)):
                    write.give(BACK)
                with write.when(bounce.equals(1) & chosen.get().equals(NONE)):
                    record.set("stuck", index)
                    write.give(count.get())
                with write.when(~flag(record.get("once"), index)):
                    record.get("once").store(index, 1, "i64")
                    since.set(count.get())
        with write.when(write.call("goes_round", [s, first, since.get(), count.get()], "i64").equals(1)):
            write.give(write.call("consistent_modes", [s, t, probe, first, count.get()], "i64"))
    write.give(write.call("consistent_modes", [s, t, probe, first, count.get()], "i64"))
    return write
