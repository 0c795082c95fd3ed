"""Find strong components and ears of the coupling graph in machine code.

The order is that of `reference.CouplingStructure.of`, so that both find the same components and ears.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Record, Temporary, cold
from bondgraph.run.sparsity.reference import CouplingStructure
from bondgraph.run.table import FieldTable, fields_of

_BY_STATE = ("part", "order", "ear_from", "seen", "next", "path", "finished", "came", "step", "met", "queue")
_IN_EAR = 3
"""Value of `seen` for states of ears; 1 and 2 mark the two passes through the graph."""
_COUNTS = ("states", "couplings", "ears", "ear_steps", "queued")
# By state: seen; next: next coupling of each visited state; path: path to the present one; finished: states in post-order; came,
# step: previous state and coupling on the shortest path; met: number of the ear whose search has visited the state; queue: states
# whose couplings are followed in turn; queued: their number. driven: start of the couplings of each column.
_OTHERS = ("rows", "columns", "driven", "drivers_at", "drivers", "ear_at", "ear_couplings", "ear_states")
_FIELDS = fields_of((*_BY_STATE, *_OTHERS), _COUNTS)


def structure_of(n: int, rows: np.ndarray, columns: np.ndarray) -> CouplingStructure:
    """Analyse n states with these couplings (k,), sorted by columns."""
    table = FieldTable(_FIELDS)
    # Each ear but its last step leads to states that no earlier ear reaches.
    lengths = dict.fromkeys(_BY_STATE, n) | dict.fromkeys(("driven", "drivers_at", "ear_at"), n + 1)
    table.lay(lengths | {"drivers": len(rows), "ear_couplings": 2 * n, "ear_states": 2 * n}, np.int64)
    table.point("rows", np.ascontiguousarray(rows, dtype=np.int64))
    table.point("columns", np.ascontiguousarray(columns, dtype=np.int64))
    table["states"], table["couplings"] = n, len(rows)
    _search()(table.address)
    ears, steps, arrays = int(table["ears"]), int(table["ear_steps"]), table.arrays
    return CouplingStructure(
        rows=arrays["rows"],
        columns=arrays["columns"],
        part=arrays["part"].copy(),
        order=arrays["order"].copy(),
        inner=np.flatnonzero(arrays["part"][rows] == arrays["part"][columns]),
        drivers_at=arrays["drivers_at"].copy(),
        drivers=arrays["drivers"].copy(),
        ear_from=arrays["ear_from"][:ears].copy(),
        ear_at=arrays["ear_at"][: ears + 1].copy(),
        ear_couplings=arrays["ear_couplings"][:steps].copy(),
        ear_states=arrays["ear_states"][:steps].copy(),
    )


@build_once
def _search() -> Callable[[int], Any]:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(machine_code().address("search"))


@build_once
def machine_code() -> Library:
    """Return the machine code of the search."""
    return compile_written(procedures)


def procedures() -> list[Procedure]:
    """Return `search` and the procedures that it calls."""
    return cold([_sort_couplings(), _depth_first(), _strong_components(), _write_ear(), _ear(), _find_ears(), _search_all()])


def _record(write: Procedure) -> Record:
    return Record(write["s"], _FIELDS)


def _get(array: Temporary, index: Temporary) -> Temporary:
    return array.load(index, "i64")


def _put(array: Temporary, index: Temporary | int, value: Temporary | int) -> None:
    array.store(index, value, "i64")


def _sort_couplings() -> Procedure:
    """Find where the couplings of each column and of each row begin, and the columns of the latter, `drivers`."""
    write = Procedure("sorted", {"s": "ptr"}, internal=True)
    record = _record(write)
    n, count, following = record.get("states"), record.get("couplings"), record.get("next")
    for ends, by in (("driven", "columns"), ("drivers_at", "rows")):
        starts = record.get(ends)
        with write.loop(count) as k:
            after = _get(record.get(by), k) + 1
            _put(starts, after, _get(starts, after) + 1)
        with write.loop(n) as i:
            _put(starts, i + 1, _get(starts, i + 1) + _get(starts, i))
    with write.loop(n) as i:
        _put(following, i, _get(record.get("drivers_at"), i))
    with write.loop(count) as k:
        row = _get(record.get("rows"), k)
        index = _get(following, row)
        _put(record.get("drivers"), index, _get(record.get("columns"), k))
        _put(following, row, index + 1)
    write.give()
    return write


def _depth_first() -> Procedure:
    """Machine code of `reference._depth_first`: follow edges that begin `at` these positions, through states whose `seen` is not
    yet `mark`; append them after the `count` states in `out`, and return the new count."""
    arguments = {**dict.fromkeys(("s", "at", "edges", "out"), "ptr"), **dict.fromkeys(("root", "mark", "count"), "i64")}
    write = Procedure("reached", arguments, "i64", internal=True)
    record, at, mark = _record(write), write["at"], write["mark"]
    seen, following, path = (record.get(name) for name in ("seen", "next", "path"))
    depth, count = write.local(0, "i64"), write.local(write["count"], "i64")

    def entered(state: Temporary) -> None:
        with write.when(~_get(seen, state).equals(mark)):
            _put(seen, state, mark)
            _put(following, state, _get(at, state))
            _put(path, depth.get(), state)
            depth.set(depth.get() + 1)

    entered(write["root"])
    with write.repeat() as (again, done):
        with write.when(depth.get().equals(0)):
            write.jump(done)
        state = _get(path, depth.get() - 1)
        edge = _get(following, state)
        with write.when(edge < _get(at, state + 1)):
            _put(following, state, edge + 1)
            entered(_get(write["edges"], edge))
            write.jump(again)
        _put(write["out"], count.get(), state)
        count.set(count.get() + 1)
        depth.set(depth.get() - 1)
    write.give(count.get())
    return write


def _strong_components() -> Procedure:
    """Machine code of `reference.strong_components`: `part` and `order`; members of a part ascend."""
    write = Procedure("components", {"s": "ptr"}, internal=True)
    record, n = _record(write), _record(write).get("states")
    finished, part, order, members, begins = (record.get(name) for name in ("finished", "part", "order", "queue", "step"))
    count, parts = write.local(0, "i64"), write.local(0, "i64")

    def reached(ends: str, edges: str, out: Temporary, start: Temporary, mark: int) -> Temporary:
        operands = [write["s"], record.get(ends), record.get(edges), out, start, write.value(mark, "i64"), count.get()]
        return write.call("reached", operands, "i64")

    with write.loop(n) as start:
        count.set(reached("driven", "rows", finished, start, 1))
    count.set(0)
    with write.loop(n) as k:
        before = count.get()
        count.set(reached("drivers_at", "drivers", members, _get(finished, n - k - 1), 2))
        with write.when(count.get() > before):
            with write.loop(count.get(), before) as index:
                _put(part, _get(members, index), parts.get())
            _put(begins, parts.get(), before)
            parts.set(parts.get() + 1)
    with write.loop(n) as state:
        index = _get(begins, _get(part, state))
        _put(order, index, state)
        _put(begins, _get(part, state), index + 1)
    write.give()
    return write


def _ear() -> Procedure:
    """Machine code of `reference._shortest_ear`: the ear that begins at a state with its coupling `first`."""
    write = Procedure("ear", {"s": "ptr", "root": "i64", "first": "i64"}, internal=True)
    record, start, first = _record(write), write["root"], write["first"]
    rows, part, seen, driven = (record.get(name) for name in ("rows", "part", "seen", "driven"))
    predecessor, step, met, queue = (record.get(name) for name in ("came", "step", "met", "path"))
    number, component, begun = record.get("ears") + 1, _get(part, start), _get(rows, first)
    head, tail, last, at = (write.local(value, "i64") for value in (0, 1, first, begun))
    for array, value in ((queue, begun), (step, first), (predecessor, -1), (met, number)):
        _put(array, 0 if array is queue else begun, value)
    with write.repeat() as (_, done):
        at.set(_get(queue, head.get()))
        head.set(head.get() + 1)
        with write.loop(_get(driven, at.get() + 1), _get(driven, at.get())) as k:
            state = _get(rows, k)
            with write.when(_get(part, state).equals(component)):
                with write.when(_get(seen, state).equals(_IN_EAR)):
                    last.set(k)
                    write.jump(done)
                with write.when(~_get(met, state).equals(number)):
                    for array, value in ((met, number), (step, k), (predecessor, at.get())):
                        _put(array, state, value)
                    _put(queue, tail.get(), state)
                    tail.set(tail.get() + 1)
    write.call("lay", [write["s"], at.get(), last.get()])
    _put(record.get("ear_from"), record.get("ears"), start)
    record.count("ears")
    _put(record.get("ear_at"), record.get("ears"), record.get("ear_steps"))
    write.give()
    return write


def _write_ear() -> Procedure:
    """Write the steps of an ear, back from its coupling `last` and the state `at` before it; mark these states as reached."""
    write = Procedure("lay", {"s": "ptr", "at": "i64", "last": "i64"}, internal=True)
    record, last = _record(write), write["last"]
    begin, queue, queued = record.get("ear_steps"), record.get("queue"), record.get("queued")
    states, couplings = record.get("ear_states").at(begin), record.get("ear_couplings").at(begin)
    length, at = write.local(0, "i64"), write.local(write["at"], "i64")

    def back() -> Temporary:
        return _get(record.get("came"), at.get())

    with write.repeat() as (_, done):
        with write.when(at.get() < 0):
            write.jump(done)
        length.set(length.get() + 1)
        at.set(back())
    _put(states, length.get(), _get(record.get("rows"), last))
    _put(couplings, length.get(), last)
    at.set(write["at"])
    with write.loop(length.get()) as k:
        index = length.get() - 1 - k
        _put(states, index, at.get())
        _put(couplings, index, _get(record.get("step"), at.get()))
        _put(queue, queued + index, at.get())
        _put(record.get("seen"), at.get(), _IN_EAR)
        at.set(back())
    record.count("queued", length.get())
    record.count("ear_steps", length.get() + 1)
    write.give()
    return write


def _find_ears() -> Procedure:
    """Machine code of `reference.ear_decomposition` for all components in turn."""
    write = Procedure("ears", {"s": "ptr"}, internal=True)
    record, head = _record(write), write.local(0, "i64")
    rows, part, seen, driven, queue = (record.get(name) for name in ("rows", "part", "seen", "driven", "queue"))
    with write.loop(record.get("states")) as index:
        first = _get(record.get("order"), index)
        # Ears from its first state reach all of a component.
        with write.when(~_get(seen, first).equals(_IN_EAR)):
            _put(seen, first, _IN_EAR)
            _put(queue, record.get("queued"), first)
            record.count("queued")
            with write.repeat() as (_, done):
                with write.when(head.get().equals(record.get("queued"))):
                    write.jump(done)
                start = _get(queue, head.get())
                head.set(head.get() + 1)
                with write.loop(_get(driven, start + 1), _get(driven, start)) as k:
                    state = _get(rows, k)
                    inside = _get(part, state).equals(_get(part, start))
                    with write.when(inside & ~_get(seen, state).equals(_IN_EAR)):
                        write.call("ear", [write["s"], start, k])
    write.give()
    return write


def _search_all() -> Procedure:
    """Sort the couplings, then find components and ears."""
    write = Procedure("search", {"s": "ptr"})
    for name in ("sorted", "components", "ears"):
        write.call(name, [write["s"]])
    write.give()
    return write
