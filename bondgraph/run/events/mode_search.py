"""Mode search in machine code (`reference.mode_search`): where transitions cycle, find modes in which no guard fires, as rows of
the log.

Each combination of modes that is tried is a row of the log, in the order of discovery: `parents` holds the index of its
predecessor, `edges` the transition between them, `codes` a hash of its modes for look-ups.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.run.codegen_helpers import larger, magnitude
from bondgraph.run.events.guards import UNKNOWN
from bondgraph.run.events.impacts.fired_transitions import MIN_JUMP
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.reference.mode_search import MAX_COMBINATIONS
from bondgraph.run.events.state import flag, record_of
from bondgraph.run.events.transitions import NO_TRANSITION, PYTHON_FALLBACK, fire_into_row, row_of


def procedures() -> list[Procedure]:
    """Return all procedures, callees first."""
    return [_still(), _modes_cycle(), _any_rises(), _seen(), _reached(), _tried(), _path(), _nearest(), _consistent()]


def _still() -> Procedure:
    """Return 1 if states x are those of the start, up to rounding."""
    write = Procedure("stands_still", {"s": "ptr", "x": "ptr"}, "i64", internal=True)
    record, x = record_of(write), write["x"]
    start = record.get("x_start")
    with write.loop(record.get("kept_count")) as k:
        i = record.get("kept").load(k, "i64")
        size = larger(write, record.get("sizes")[i], magnitude(write, start[i]))
        with write.when(~(magnitude(write, x[i] - start[i]) <= MIN_JUMP * size)):
            write.give(0)
    write.give(1)
    return write


def _modes_cycle() -> Procedure:
    """Machine code of `mode_search.modes_cycle` for the transitions `watched` in `count` rows from `row` on, from the position
    `since`."""
    arguments = {"s": "ptr", "row": "i64", "since": "i64", "count": "i64"}
    write = Procedure("modes_cycle", arguments, "i64", internal=True)
    record, s = record_of(write), write["s"]
    watched, last, modes = record.get("watched"), write["count"] - 1, record.get("modes")
    index = watched.load(last, "i64")
    x_last = row_of(write, write["row"] + last).at(len(SCALARS))
    with write.when(flag(record.get("own"), index)):
        write.give(0)
    with write.when(write.call("stands_still", [s, x_last], "i64").equals(0)):
        write.give(0)
    with write.loop(last, write["since"]) as k, write.when(watched.load(k, "i64").equals(index)):
        x_row, same = row_of(write, write["row"] + k).at(len(SCALARS)), write.local(1, "i64")
        m_row, m_last = x_row.at(record.get("n") * 2), x_last.at(record.get("n") * 2)
        with write.loop(modes) as i, write.when(~m_row[i].equals(m_last[i])):
            same.set(0)
        with write.when(same.get().equals(1)), write.when(write.call("stands_still", [s, x_row], "i64").equals(1)):
            write.give(1)
    write.give(0)
    return write


def _any_rises() -> Procedure:
    """Return 1 if a guard fires at x_here, m_here, else 0; `UNKNOWN` where only Python can tell."""
    write = Procedure("any_rises", {"s": "ptr", "t": "double", "probe": "double"}, "i64", internal=True)
    record = record_of(write)
    at = [write["s"], write["t"], record.get("x_here"), write["probe"]]
    with write.when(write.call("firing_guards", at, "i64").equals(UNKNOWN)):
        write.give(UNKNOWN)
    with write.loop(record.get("transitions")) as i, write.when(flag(record.get("rising"), i)):
        write.give(1)
    write.give(0)
    return write


def _modes_of(write: Procedure, row: Temporary) -> Temporary:
    """Return the modes after the transition of a row."""
    record = record_of(write)
    return row.at(record.get("n") * 2 + record.get("modes") + len(SCALARS))


def _seen() -> Procedure:
    """Return 1 if the modes m_here, after transition `index`, are those of the start or of one of `count` rows from `row` on;
    compare only rows with the same `code`."""
    arguments = {"s": "ptr", "index": "i64", "row": "i64", "count": "i64", "code": "i64"}
    write = Procedure("seen_before", arguments, "i64", internal=True)
    record, index, code = record_of(write), write["index"], write["code"]
    modes, after = record.get("modes"), record.get("m_after")
    with write.loop(modes) as i:
        after[i] = record.get("m_here")[i]
    after[record.get("slots").load(index, "i64")] = record.get("targets")[index]

    def compare(candidate: Temporary) -> None:
        same = write.local(1, "i64")
        with write.loop(modes) as i, write.when(~candidate[i].equals(after[i])):
            same.set(0)
        with write.when(same.get().equals(1)):
            write.give(1)

    with write.when(code.equals(0)):
        compare(record.get("m_start"))
    with write.loop(write["count"]) as k, write.when(record.get("codes").load(k, "i64").equals(code)):
        compare(_modes_of(write, row_of(write, write["row"] + k)))
    write.give(0)
    return write


def _reached() -> Procedure:
    """Go to the combination `node` counted from `row`, or to the start."""
    write = Procedure("go_to", {"s": "ptr", "row": "i64", "node": "i64"}, internal=True)
    record = record_of(write)
    n, modes, node = record.get("n"), record.get("modes"), write["node"]
    x, m = record.get("x_here"), record.get("m_here")

    def take(x_from: Temporary, m_from: Temporary) -> None:
        with write.loop(n) as i:
            x[i] = x_from[i]
        with write.loop(modes) as i:
            m[i] = m_from[i]

    with write.when(node.equals(NO_TRANSITION)):
        take(record.get("x_start"), record.get("m_start"))
        write.give()
    row = row_of(write, write["row"] + node)
    take(row.at(n + len(SCALARS)), _modes_of(write, row))
    write.give()
    return write


def _tried() -> Procedure:
    """Add the combinations that can be reached from `node`, to the `count` from `row` on; return their new number;
    `PYTHON_FALLBACK` for Python."""
    arguments = {"s": "ptr", "t": "double", "row": "i64", "node": "i64", "count": "i64"}
    write = Procedure("try_from", arguments, "i64", internal=True)
    record, s, row, node = record_of(write), *(write[name] for name in ("s", "row", "node"))
    count, here = write.local(write["count"], "i64"), write.local(0, "i64")
    with write.when(node >= 0):
        here.set(record.get("codes").load(node, "i64"))
    with write.loop(record.get("transitions")) as k:
        i = record.get("order").load(k, "i64")
        may = flag(record.get("allowed"), i) & flag(record.get("endless"), i) & (count.get() < MAX_COMBINATIONS)
        leaves = record.get("m_here")[record.get("slots").load(i, "i64")].equals(record.get("sources")[i])
        code = here.get() + record.get("code_steps").load(i, "i64")
        with write.when(may & leaves), write.when(write.call("seen_before", [s, i, row, count.get(), code], "i64").equals(0)):
            row_after = fire_into_row(write, i, row + count.get())
            with write.when(write.call("stands_still", [s, record.get("x_after")], "i64").equals(1)):
                write.call("end_row", [s, row_after])
                record.get("parents").store(count.get(), node, "i64")
                record.get("edges").store(count.get(), i, "i64")
                record.get("codes").store(count.get(), code, "i64")
                count.set(count.get() + 1)
    write.give(count.get())
    return write


def _path() -> Procedure:
    """Move the path to the combination `node` to the first rows, and its transitions to `watched`: return their number;
    `PYTHON_FALLBACK` if there are too many."""
    write = Procedure("way_to", {"s": "ptr", "row": "i64", "node": "i64"}, "i64", internal=True)
    record, s, row = record_of(write), write["s"], write["row"]
    watched, parents, width = record.get("watched"), record.get("parents"), record.get("row_width")
    length, at = write.local(0, "i64"), write.local(write["node"], "i64")
    with write.repeat() as (_, done):
        with write.when(at.get().equals(NO_TRANSITION)):
            write.jump(done)
        length.set(length.get() + 1)
        at.set(parents.load(at.get(), "i64"))
    with write.when(length.get() > record.get("turns")):
        write.give(PYTHON_FALLBACK)
    at.set(write["node"])
    with write.loop(length.get()) as k:
        watched.store(length.get() - 1 - k, at.get(), "i64")
        at.set(parents.load(at.get(), "i64"))
    with write.loop(length.get()) as k:  # no row is overwritten before it is read: each lies at its place, or further on
        node = watched.load(k, "i64")
        taken, target = row_of(write, row + node), row_of(write, row + k)
        with write.loop(width) as i:
            target[i] = taken[i]
        watched.store(k, record.get("edges").load(node, "i64"), "i64")
    write.call("go_to", [s, row, length.get() - 1])
    write.give(length.get())
    return write


def _nearest() -> Procedure:
    """Machine code of `mode_search._nearest` with the transitions that are `allowed`, in rows from `row` on: return their number;
    `NO_TRANSITION` if there are none, `PYTHON_FALLBACK` for Python."""
    arguments = {"s": "ptr", "t": "double", "probe": "double", "row": "i64"}
    write = Procedure("nearest", arguments, "i64", internal=True)
    s, t, row = write["s"], write["t"], write["row"]
    node, count = write.local(NO_TRANSITION, "i64"), write.local(0, "i64")
    with write.repeat():
        write.call("go_to", [s, row, node.get()])
        rises = write.call("any_rises", [s, t, write["probe"]], "i64")
        with write.when(rises.equals(UNKNOWN)):
            write.give(PYTHON_FALLBACK)
        with write.when(rises.equals(0)):
            write.give(write.call("way_to", [s, row, node.get()], "i64"))
        count.set(write.call("try_from", [s, t, row, node.get(), count.get()], "i64"))
        with write.when(count.get().equals(PYTHON_FALLBACK)):
            write.give(PYTHON_FALLBACK)
        node.set(node.get() + 1)
        with write.when(node.get() >= count.get()):
            write.give(NO_TRANSITION)
    write.give(NO_TRANSITION)
    return write


def _consistent() -> Procedure:
    """Machine code of `mode_search.consistent_modes` where `count` transitions in rows from `row` on cycle: return the number of
    transitions `watched` that replace them, which lead to x_here and m_here; `PYTHON_FALLBACK` for Python."""
    arguments = {"s": "ptr", "t": "double", "probe": "double", "row": "i64", "count": "i64"}
    write = Procedure("consistent_modes", arguments, "i64", internal=True)
    record, s, t, row = record_of(write), *(write[name] for name in ("s", "t", "row"))
    slots, allowed = record.get("slots"), record.get("allowed")
    for every in (0, 1):  # the automaton that has to respond may not have had its turn
        with write.loop(record.get("transitions")) as i:
            allowed.store(i, every, "i64")
            if not every:
                with write.loop(write["count"]) as k:
                    slot = slots.load(record.get("watched").load(k, "i64"), "i64")
                    is_allowed = allowed.load(i, "i64")
                    allowed.store(i, write.select(slot.equals(slots.load(i, "i64")), 1, is_allowed, "i64"), "i64")
        result = write.call("nearest", [s, t, write["probe"], row], "i64")
        with write.when(~result.equals(NO_TRANSITION)):
            write.give(result)
    write.give(PYTHON_FALLBACK)
    return write
