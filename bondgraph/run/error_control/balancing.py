"""The arithmetic of `couplings` in machine code: values of couplings with their structure -> fastest rates, scales.

The same operations in the same order as there, so that both give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bondgraph.emit.procedure import Local, Procedure, Record, Temporary
from bondgraph.run.couplings import BALANCED, FIELDS, MOST, SAME, SWEEPS


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call."""
    return [_along_ears(), _sums(), _balance(), _fastest(), _carry()]


def _structure(write: Procedure) -> Record:
    """The structure behind the argument s."""
    return Record(write["s"], FIELDS)


@contextmanager
def _inner(write: Procedure) -> Iterator[tuple[Temporary, Temporary, Temporary]]:
    """Over the couplings within components: (coupling, driven state, driving state)."""
    record = _structure(write)
    with write.loop(record.get("inners")) as j:
        k = record.get("inner").load(j, "i64")
        yield k, record.get("rows").load(k, "i64"), record.get("columns").load(k, "i64")


def _along_ears() -> Procedure:
    """`couplings._along_ears`."""
    write = Procedure("along_ears", {"s": "ptr", "values": "ptr", "scales": "ptr"}, internal=True)
    record, values, scales = _structure(write), write["values"], write["scales"]
    couplings, states = record.get("ear_couplings"), record.get("ear_states")
    with write.loop(record.get("ears")) as ear:
        begin, end = (record.get("ear_at").load(ear + shift, "i64") for shift in (0, 1))
        start = scales[record.get("ear_from").load(ear, "i64")]
        total = write.local(start / scales[states.load(end - 1, "i64")])
        with write.loop(end, begin) as step:
            total.set(total.get() * values[couplings.load(step, "i64")])
        rate = write.local(write.intrinsic("sqrt", total.get()))
        with write.when(end - begin > 2):
            rate.set(write.intrinsic("pow", total.get(), write.value(1.0, "double") / write.real(end - begin)))
        at = write.local(start)
        with write.when((rate.get() > 0.0) & (rate.get() < MOST)), write.loop(end - 1, begin) as step:
            at.set(at.get() * (values[couplings.load(step, "i64")] / rate.get()))
            scales[states.load(step, "i64")] = at.get()
    write.give()
    return write


def _sums() -> Procedure:
    """Sums of B_ij s_j / s_i over rows and columns; 1 if they are about equal."""
    arguments = dict.fromkeys(("s", "values", "scales", "into", "out_of"), "ptr")
    write = Procedure("sums", arguments, "i64", internal=True)
    values, scales, into, out_of = (write[name] for name in ("values", "scales", "into", "out_of"))
    states = _structure(write).get("states")
    with write.loop(states) as i:
        into[i] = 0.0
        out_of[i] = 0.0
    # Couplings come by columns, whose sums need not wait for memory.
    total, before = write.local(0.0), write.local(-1, "i64")
    with _inner(write) as (k, row, column):
        flow = values[k] * scales[column] / scales[row]
        into[row] = into[row] + flow
        total.set(write.select(column.equals(before.get()), total.get(), 0.0) + flow)
        out_of[column] = total.get()
        before.set(column)
    with write.loop(states) as i:
        a, b = into[i], out_of[i]
        balanced = (a < b * BALANCED) & (b < a * BALANCED)
        with write.when((a > 0.0) & (b > 0.0) & ~balanced):
            write.give(0)
    write.give(1)
    return write


def _balance() -> Procedure:
    """`couplings._balanced`."""
    arguments = dict.fromkeys(("s", "values", "scales", "into", "out_of"), "ptr")
    write = Procedure("balance", arguments, internal=True)
    scales, into, out_of = (write[name] for name in ("scales", "into", "out_of"))
    states = _structure(write).get("states")
    with write.loop(states) as i:
        scales[i] = 1.0
    write.call("along_ears", [write["s"], write["values"], scales])
    with write.loop(SWEEPS):
        with write.when(write.call("sums", [write[name] for name in arguments], "i64").equals(1)):
            write.give()
        with write.loop(states) as i:
            a, b = into[i], out_of[i]
            with write.when((a > 0.0) & (b > 0.0)):
                # All at once, hence only half of the step of one after the other.
                scales[i] = scales[i] * write.intrinsic("sqrt", write.intrinsic("sqrt", a / b))
    write.give()
    return write


def _raise(write: Procedure, into: Temporary, place: Temporary, value: Temporary) -> None:
    """The larger of an entry and a value, in its place; what is not a number does not count."""
    into[place] = write.intrinsic("maxnum", into[place], value)


def _fastest() -> Procedure:
    """`couplings.fastest`: `rates` is the diagonal before; `work` has room for three numbers for each state."""
    write = Procedure("fastest", dict.fromkeys(("s", "values", "rates", "work"), "ptr"))
    record, values, rates = _structure(write), write["values"], write["rates"]
    states = record.get("states")
    scales, into, out_of = (write["work"].at(states * k) for k in range(3))
    write.call("balance", [write["s"], values, scales, into, out_of])
    with _inner(write) as (k, row, column):
        _raise(write, rates, row, values[k] * scales[column] / scales[row])
    with write.loop(states) as j:
        i = record.get("order").load(j, "i64")
        with write.when(rates[i].equals(0.0)):
            begin, end = (record.get("drivers_at").load(i + shift, "i64") for shift in (0, 1))
            found = write.local(0.0)
            with write.loop(end, begin) as place:
                driver = rates[record.get("drivers").load(place, "i64")]
                found.set(write.intrinsic("maxnum", found.get(), driver))
            rates[i] = found.get()
    write.give()
    return write


def _gain(write: Procedure, k: Temporary, row: Temporary, column: Temporary) -> Temporary:
    """How much of the driving state's scale the driven one takes over."""
    part, speed = _structure(write).get("part"), write["speed"]
    alike = part.load(row, "i64").equals(part.load(column, "i64"))
    across = write.select(alike, speed[row], write.intrinsic("maxnum", speed[row], speed[column]))
    return write["values"][k] / across


def _carry() -> Procedure:
    """`couplings.carried`, in place; `work` has room for a number for each state and each coupling."""
    write = Procedure("carry", dict.fromkeys(("s", "values", "speed", "scales", "work"), "ptr"))
    record, scales = _structure(write), write["scales"]
    states, couplings = record.get("states"), record.get("couplings")
    rows, columns = record.get("rows"), record.get("columns")
    reached, gain = write["work"], write["work"].at(states)
    with write.loop(couplings) as k:
        gain[k] = _gain(write, k, rows.load(k, "i64"), columns.load(k, "i64"))
    moved: Local = write.local(0, "i64")
    with write.loop(states):
        with write.loop(states) as i:
            reached[i] = scales[i]
        with write.loop(couplings) as k:
            _raise(write, reached, rows.load(k, "i64"), gain[k] * scales[columns.load(k, "i64")])
        moved.set(0)
        with write.loop(states) as i, write.when(reached[i] > scales[i] * SAME):
            scales[i] = reached[i]
            moved.set(1)
        with write.when(moved.get().equals(0)):
            write.give()
    write.give()
    return write
