"""Accumulation (Zeno behaviour) in machine code: `AccumulationDetector` and `iteration.rest_transition`.

It records the times of the events of each transition, detects chattering and accumulation, and writes the rows of the log that
lead to states of rest.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.run.codegen_helpers import clock_time, larger, magnitude
from bondgraph.run.events.log import SCALARS
from bondgraph.run.events.reference.accumulation import (
    CHATTER_ROUNDING,
    CHATTER_SPAN,
    HISTORY,
    MAX_SHRINKAGE,
    RATIO_SPREAD,
    RATIOS,
    REST_SPAN,
    WINDOW,
)
from bondgraph.run.events.state import flag, record_of
from bondgraph.run.events.transitions import NO_TRANSITION, needs_row, row_of


def procedures() -> list[Procedure]:
    """Return all procedures, callees first."""
    return [_steady(), _geometric(), _watch(), _note(), _forget(), _watch_all(), _limit(), _rest_one(), _rest()]


def _time_of(write: Procedure, ring: Temporary, number: Temporary) -> Temporary:
    """Return the time with this number in the sequence of a ring buffer."""
    return ring[_ring_index(write, number)]


def _ring_index(write: Procedure, number: Temporary) -> Temporary:
    """Return the index of this number in the ring buffer."""
    return write.select(number < HISTORY, number, number - HISTORY, "i64")


def _steady() -> Procedure:
    """Return 1 if the last `WINDOW` intervals are no shorter than the first that are remembered, of `count` times."""
    write = Procedure("steady", {"ring": "ptr", "count": "i64"}, "i64", internal=True)
    ring, count = write["ring"], write["count"]
    sums = []
    for start in (count - HISTORY, count - 1 - WINDOW):
        total, before = write.local(0.0), write.local(_time_of(write, ring, start))
        with write.loop(WINDOW) as k:
            time = _time_of(write, ring, start + k + 1)
            total.set(total.get() + (time - before.get()))
            before.set(time)
        sums.append(total)
    write.give(write.select(sums[1].get() >= MAX_SHRINKAGE * sums[0].get(), 1, 0, "i64"))
    return write


def _geometric() -> Procedure:
    """Return 1 if the intervals of the last `RATIOS` + 2 of `count` events shrink as a geometric series with a negligible
    remainder."""
    write = Procedure("geometric", {"s": "ptr", "ring": "ptr", "count": "i64"}, "i64", internal=True)
    record, ring, first = record_of(write), write["ring"], write["count"] - (RATIOS + 2)
    before = write.local(_time_of(write, ring, first + 1))
    step = write.local(before.get() - _time_of(write, ring, first))
    total, most, least = write.local(0.0), write.local(0.0), write.local(float("inf"))
    with write.when(~(step.get() > 0.0)):
        write.give(0)
    with write.loop(RATIOS) as k:
        time = _time_of(write, ring, first + k + 2)
        following = time - before.get()
        with write.when(~((following > 0.0) & (following < step.get()))):
            write.give(0)
        ratio = following / step.get()
        total.set(total.get() + ratio)
        most.set(larger(write, most.get(), ratio))
        least.set(write.intrinsic("minnum", least.get(), ratio))
        before.set(time)
        step.set(following)
    ratio = total.get() / float(RATIOS)
    remaining = step.get() * ratio / (1.0 - ratio)
    geometric = most.get() - least.get() < RATIO_SPREAD * ratio
    write.give(write.select(geometric & (remaining < record.get("rtol") * record.get("span")), 1, 0, "i64"))
    return write


def _watch() -> Procedure:
    """Machine code of `AccumulationDetector.add`: 1 if the times of transition i show no pattern."""
    write = Procedure("add_event", {"s": "ptr", "t": "double", "i": "i64"}, "i64", internal=True)
    record, t, i = record_of(write), write["t"], write["i"]
    ring, counts = record.get("times").at(i * HISTORY), record.get("counts")
    following = counts.load(i, "i64") + 1
    count = write.select(following < 2 * HISTORY, following, following - HISTORY, "i64")
    counts.store(i, count, "i64")
    brief = larger(write, CHATTER_SPAN * record.get("span"), CHATTER_ROUNDING * magnitude(write, t))
    with write.when(count >= WINDOW), write.when(t - _time_of(write, ring, count - WINDOW) <= brief):
        write.give(0)
    with write.when(flag(record.get("may_rest"), i) & (count >= HISTORY)):
        brief = t - _time_of(write, ring, count - HISTORY) <= REST_SPAN * record.get("span")
        with write.when(brief), write.when(write.call("steady", [ring, count], "i64").equals(1)):
            write.give(0)
    with write.when(count >= RATIOS + 2), write.when(write.call("geometric", [write["s"], ring, count], "i64").equals(1)):
        write.give(0)
    write.give(1)
    return write


def _note() -> Procedure:
    """Save the count of a transition, and the time that its next event overwrites, for `forget`."""
    write = Procedure("note", {"s": "ptr", "i": "i64"}, internal=True)
    record, i, k = record_of(write), write["i"], record_of(write).get("noted")
    count = record.get("counts").load(i, "i64")
    record.get("noted_of").store(k, i, "i64")
    record.get("counted").store(k, count, "i64")
    record.get("overwritten")[k] = record.get("times").at(i * HISTORY)[_ring_index(write, count)]
    record.set("noted", k + 1)
    write.give()
    return write


def _forget() -> Procedure:
    """Restore all saved values, the last first."""
    write = Procedure("forget", {"s": "ptr"}, internal=True)
    record, count = record_of(write), record_of(write).get("noted")
    with write.loop(count) as back:
        k = count - 1 - back
        i, before = record.get("noted_of").load(k, "i64"), record.get("counted").load(k, "i64")
        record.get("counts").store(i, before, "i64")
        record.get("times").at(i * HISTORY)[_ring_index(write, before)] = record.get("overwritten")[k]
    write.give()
    return write


def _watch_all() -> Procedure:
    """Note `count` events at t of the transitions `watched`; return the number of transitions that come to rest, and write them
    to `resting`, the `stuck` one first; -1 if one should come to rest and cannot."""
    write = Procedure("add_events", {"s": "ptr", "t": "double", "count": "i64"}, "i64", internal=True)
    record, s, t, resting_count = record_of(write), write["s"], write["t"], write.local(0, "i64")
    marked, resting, may_rest = (record.get(name) for name in ("marked", "resting", "may_rest"))
    with write.loop(record.get("transitions")) as i:
        marked.store(i, 0, "i64")

    def add_resting(i: Temporary) -> None:
        with write.when(~flag(may_rest, i)):
            write.give(-1)
        with write.when(~flag(marked, i)):
            marked.store(i, 1, "i64")
            resting.store(resting_count.get(), i, "i64")
            resting_count.set(resting_count.get() + 1)

    stuck = record.get("stuck")
    with write.when(stuck >= 0):
        add_resting(stuck)
    with write.loop(write["count"]) as k:
        i = record.get("watched").load(k, "i64")
        write.call("note", [s, i])
        record.get("times").at(i * HISTORY)[_ring_index(write, record.get("counts").load(i, "i64"))] = t
        with write.when(write.call("add_event", [s, t, i], "i64").equals(0)):
            add_resting(i)
    write.give(resting_count.get())
    return write


def _limit() -> Procedure:
    """Machine code of `AccumulationDetector.limit` of transition i."""
    write = Procedure("limit_of", {"s": "ptr", "i": "i64"}, "double", internal=True)
    record, i = record_of(write), write["i"]
    ring, count = record.get("times").at(i * HISTORY), record.get("counts").load(i, "i64")
    write.call("note", [write["s"], i])
    record.get("counts").store(i, 0, "i64")
    with write.when(count.equals(0)):
        write.give(0.0)
    last = write.local(_time_of(write, ring, count - 1))
    first = write.select(count > RATIOS + 2, count - (RATIOS + 2), 0, "i64")
    steps = count - 1 - first
    with write.when(steps < 2):
        write.give(last.get())
    before, step = write.local(_time_of(write, ring, first)), write.local(0.0)
    opening = write.local(_time_of(write, ring, first + 1) - before.get())
    with write.loop(steps) as k:
        time = _time_of(write, ring, first + k + 1)
        step.set(time - before.get())
        before.set(time)
        with write.when(~(step.get() > 0.0)):
            write.give(last.get())
    ratio = write.intrinsic("pow", step.get() / opening.get(), 1.0 / write.real(steps - 1))
    rest = write.select(ratio < 1.0, step.get() * ratio / (1.0 - ratio), 0.0)
    write.give(last.get() + rest)
    return write


def _rest_one() -> Procedure:
    """Machine code of `iteration.rest_transition` of transition i with its limit, into a row: 1 if there is one, 0 without a
    state of rest, -1 for Python."""
    write = Procedure("rest_one", {"s": "ptr", "t": "double", "i": "i64", "limit": "double", "row": "ptr"}, "i64", internal=True)
    record, s, t, i, row = record_of(write), write["s"], write["t"], write["i"], write["row"]
    slot, edge = record.get("slots").load(i, "i64"), record.get("rest_edges").load(i, "i64")
    with write.when(~record.get("m_here")[slot].equals(record.get("targets")[i])):
        write.give(0)
    taken = write.select(edge.equals(NO_TRANSITION), i, edge, "i64")
    write.call("begin_row", [s, t, taken, row])
    row[SCALARS.index("limit")] = write["limit"]
    row[SCALARS.index("label")] = record.get("rest_labels")[i]
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
    write.call("go_on", [s, row])
    write.give(1)
    return write


def _rest() -> Procedure:
    """Bring the first `count` transitions of `resting` to rest, in rows from `row` on; return the number of rows, negative for
    Python."""
    write = Procedure("rest", {"s": "ptr", "t": "double", "count": "i64", "row": "i64"}, "i64", internal=True)
    record, s, t = record_of(write), write["s"], write["t"]
    written, new = write.local(0, "i64"), write.local(0, "i64")
    with write.loop(write["count"]) as k:
        i = record.get("resting").load(k, "i64")
        with write.when(~flag(record.get("rested"), i)):
            new.set(1)
            record.get("rested").store(i, 1, "i64")
    with write.when(new.get().equals(0)):
        write.give(-1)
    with write.loop(write["count"]) as k:
        i = record.get("resting").load(k, "i64")
        needs_row(write, write["row"] + written.get())
        limit = write.call("limit_of", [s, i], "double")
        rows = write.call("rest_one", [s, t, i, limit, row_of(write, write["row"] + written.get())], "i64")
        with write.when(rows < 0):
            write.give(-1)
        written.set(written.get() + rows)
    write.give(written.get())
    return write
