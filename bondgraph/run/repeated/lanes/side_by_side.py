"""Many runs side by side in machine code: as `loop`, with a run in each lane of the processor's vectors.

Each lane has the tables of a run alone: its own time, step length, error control and counts. What the vectors do is the attempt
at a step, the dense output, and the acceptance (`explicit.lanes`), for all lanes at once; then each goes on by itself. A lane
whose run has ended takes the next one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bondgraph.emit.kernel import LANES
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.machine import vector_width
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.integrators.explicit import lanes as vectors
from bondgraph.run.integrators.explicit.lanes import DENSE, EXTENDED, FIELDS, STAGES
from bondgraph.run.integrators.one_step.control import AGAIN, ATTEMPT, DOUBT, GOOD, PAUSE, STIFF, STOP
from bondgraph.run.repeated import loop
from bondgraph.run.repeated.fields import FIELDS as MANY
from bondgraph.run.repeated.fields import TOO_MANY, UNBEGUN
from bondgraph.run.repeated.lanes import weights
from bondgraph.run.repeated.lanes.tables import exchange, move, of_lane
from bondgraph.run.repeated.lanes.weights import BEGIN, is_due

_NONE = -1


def machine_code(lanes: int | None = None) -> Library:
    """The loop for so many lanes (as many as this processor's vectors hold) as machine code."""
    return _LIBRARIES[vector_width() if lanes is None else lanes]()


def _writer(lanes: int) -> Callable[[], list[Procedure]]:
    def written() -> list[Procedure]:
        own = [_enter(), _leave(), *weights.procedures(lanes), _settle(), _step(), _side_by_side(lanes)]
        return [*loop.procedures(lanes), *vectors.procedures(lanes), *exchange(lanes), *own]

    written.__qualname__ = f"written for {lanes} lanes"
    return written


_LIBRARIES = {lanes: once(functools.partial(compile_written, _writer(lanes))) for lanes in LANES}


@contextmanager
def _sample_before(write: Procedure, own: Record, due: Callable[[Temporary], Temporary]) -> Iterator[None]:
    """What happens only if samples of a run are left, and the time of the next is `due`."""
    with write.when(own.get("written") < own.get("samples")), write.when(due(own.get("times")[own.get("written")])):
        yield


def _enter() -> Procedure:
    """A lane takes a run, whose weights it has still to find: 1, or 0 where Python has to begin it."""
    write = Procedure("enter", {"r": "ptr", "v": "ptr", "lane": "i64", "run": "i64"}, "i64", internal=True)
    many, record, lane = Record(write["r"], MANY), Record(write["v"], FIELDS), write["lane"]
    own = of_lane(record, lane)
    many.set("table", own.pointer)
    many.set("rows", record.get("row_blocks").load(lane, "ptr"))
    many.set("modes", own.get("m"))
    with write.when(write.call("begun", [write["r"], write["run"]], "i64").equals(0)):
        write.call("ended", [write["r"], write["run"], write.value(UNBEGUN, "i64")])
        write.give(0)
    move(write, "spread", record, own, ("y", "size"), lane)
    for name, count in (("p", many.get("p_count")), ("m", own.get("mode_count"))):
        write.call("spread", [record.get(name), own.get(name), count, lane])
    record.get("runs").store(lane, write["run"], "i64")
    record.get("found").store(lane, BEGIN, "i64")
    write.give(1)
    return write


def _leave() -> Procedure:
    """The run of a lane has ended with this status."""
    write = Procedure("leave", {"r": "ptr", "v": "ptr", "lane": "i64", "status": "i64"}, internal=True)
    many, record, lane = Record(write["r"], MANY), Record(write["v"], FIELDS), write["lane"]
    own = of_lane(record, lane)
    many.set("table", own.pointer)
    many.set("rows", record.get("row_blocks").load(lane, "ptr"))
    many.set("modes", own.get("m"))
    move(write, "gather", record, own, ("y",), lane)
    with write.when(write["status"].equals(STOP)):
        write.call(record.get("flush"), [own.pointer, own.get("t")])
    write.call("ended", [write["r"], record.get("runs").load(lane, "i64"), write["status"]])
    record.get("runs").store(lane, _NONE, "i64")
    record.get("taken").store(lane, 0, "i64")
    write.give()
    return write


def _step() -> Procedure:
    """The next step of a lane, or another run; 0 where none is left."""
    write = Procedure("next_step", {"r": "ptr", "v": "ptr", "lane": "i64", "following": "ptr"}, "i64", internal=True)
    many, record, lane = Record(write["r"], MANY), Record(write["v"], FIELDS), write["lane"]
    own, runs, following = of_lane(record, lane), record.get("runs"), write["following"]
    with write.repeat() as (again, _):
        with write.when(runs.load(lane, "i64") < 0):
            run = following.load(0, "i64")
            with write.when(run >= many.get("runs")):
                write.give(0)
            following.store(0, run + 1, "i64")
            with write.when(write.call("enter", [write["r"], write["v"], lane, run], "i64").equals(0)):
                write.jump(again)
            write.give(1)
        due = write.call(record.get("proposed"), [own.pointer], "i64")
        with write.when(due.equals(ATTEMPT)):
            for name, field in (("t", "t"), ("h", "trial"), ("t_new", "target")):
                record.get(name)[lane] = own.get(field)
            write.give(1)
        with write.when(due.equals(PAUSE)):
            many.set("table", own.pointer)
            with write.when(write.call("hopeless", [write["r"]], "i64").equals(1)):
                write.call("leave", [write["r"], write["v"], lane, write.value(TOO_MANY, "i64")])
                write.jump(again)
            own.set("tried", 0)
            write.jump(again)
        write.call("leave", [write["r"], write["v"], lane, due])
    write.give(0)
    return write


def _settle() -> Procedure:
    """What a good step of a lane leaves: rows of samples, whether it is stiff, noise."""
    write = Procedure("settle_lane", {"v": "ptr", "lane": "i64"}, internal=True)
    record, lane = Record(write["v"], FIELDS), write["lane"]
    own, h = of_lane(record, lane), record.get("h")[lane]
    with _sample_before(write, own, lambda time: time <= own.get("target")):
        move(write, "gather", record, own, ("y", "y_new"), lane)
        write.call("gather", [own.get("f"), record.get("f"), record.get("width") * DENSE, lane])
        write.call(record.get("dense_samples"), [own.pointer, h, own.get("target")])
    record.get("stiff").store(lane, 0, "i64")
    with write.when(record.get("watch").equals(1)):
        sums = [record.get(name)[lane] for name in ("above", "below")]
        record.get("stiff").store(lane, write.call(record.get("held_down"), [own.pointer, h, *sums], "i64"), "i64")
    with write.when(own.get("noisy") > 0):
        move(write, "gather", record, own, ("y_new", "size"), lane)
        write.call(record.get("noisy_step"), [own.pointer, h])
    own.set("cornered", 0)
    own.set("t", own.get("target"))
    own.count("steps")
    write.give()
    return write


def _side_by_side(lanes: int) -> Procedure:
    """All runs."""
    write = Procedure("run_side_by_side", {"r": "ptr", "v": "ptr"})
    r, v, record = write["r"], write["v"], Record(write["v"], FIELDS)
    following, busy, dense = (write.local(0, "i64") for _ in range(3))
    runs, taken, calls = record.get("runs"), record.get("taken"), record.get("found")
    record.set("waited", 0)
    with write.loop(lanes) as lane:
        runs.store(lane, _NONE, "i64")
        calls.store(lane, 0, "i64")
    with write.repeat():
        busy.set(0)
        dense.set(0)
        write.call("weigh_all", [v])
        with write.loop(lanes) as lane:
            taken.store(lane, 0, "i64")
            record.get("h")[lane] = 0.0
            waits = is_due(record, lane)
            with write.when(waits):
                busy.set(1)
            with write.when(~waits):
                calls.store(lane, 0, "i64")
                busy.set(busy.get() + write.call("next_step", [r, v, lane, following.place], "i64"))
        with write.when(busy.get().equals(0)):
            write.give()
        write.call("attempt_all", [v])
        with write.loop(lanes) as lane, write.when((runs.load(lane, "i64") >= 0) & ~is_due(record, lane)):
            own = of_lane(record, lane)
            own.count("rate_count", STAGES)
            found = write.call(record.get("judged"), [own.pointer, record.get("error")[lane]], "i64")
            calls.store(lane, found, "i64")
            with write.when(~(found.equals(GOOD) | found.equals(AGAIN) | found.equals(DOUBT))):
                write.call("leave", [r, v, lane, found])
            with write.when(found.equals(GOOD)):
                taken.store(lane, 1, "i64")
                with _sample_before(write, own, lambda time, own=own: time < own.get("target")):  # type: ignore[misc]
                    dense.set(1)
                    own.count("rate_count", EXTENDED - STAGES - 1)
        with write.when(dense.get().equals(1)):
            write.call("prepare_dense_all", [v])
        with write.when(record.get("watch").equals(1)):
            write.call("stiffness_all", [v])
        with write.loop(lanes) as lane, write.when(taken.load(lane, "i64").equals(1)):
            own = of_lane(record, lane)
            write.call("settle_lane", [v, lane])
        write.call("accept_all", [v])
        with write.loop(lanes) as lane, write.when(taken.load(lane, "i64").equals(1)):
            own = of_lane(record, lane)
            stiff = record.get("stiff").load(lane, "i64")
            found = write.call(record.get("lengthened"), [own.pointer, record.get("error")[lane], stiff], "i64")
            calls.store(lane, found, "i64")
            with write.when(found.equals(STIFF)):
                write.call("leave", [r, v, lane, found])
    write.give()
    return write
