"""Loop over a batch of runs in machine code with SIMD: as `loop`, with a run in each lane of the processor's vectors.

Each run has the tables of a single run: its own time, step length, error control and counts. Vector instructions do the step
attempt, the dense output and the acceptance (`lane_steps`) for all lanes at once; the rest is done lane by lane. More runs
are under way than there are lanes: a run whose weights are due leaves its lane to another until several are refreshed together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_procedures, compile_written
from bondgraph.emit.machine import vector_width
from bondgraph.emit.procedure import Procedure, Record, Temporary, in_lanes
from bondgraph.run.batch import loop
from bondgraph.run.batch.fields import FIELDS as MANY
from bondgraph.run.batch.simd import error_weights
from bondgraph.run.batch.simd import lane_steps as vectors
from bondgraph.run.batch.simd.lane_steps import FIELDS
from bondgraph.run.batch.simd.tables import NOBODY, UNDER_WAY, exchange, move, of_lane, table_of
from bondgraph.run.status import Status
from bondgraph.run.steppers import dop853, dopri5
from bondgraph.run.steppers.explicit import Tableau, method_of


def machine_code(lanes: int | None = None, tableau: Tableau = dop853.TABLEAU) -> Library:
    """Return the loop for `lanes` lanes (by default the width of this processor's vectors) as machine code of a method."""
    return _library(vector_width() if lanes is None else lanes, tableau)()


@functools.lru_cache(maxsize=16)
def _library(lanes: int, tableau: Tableau) -> Callable[[], Library]:
    def written() -> list[Procedure]:
        stages, total = tableau.last, len(tableau.a)
        parts = [
            _start_run(),
            _start_runs(lanes),
            _load_lane(lanes),
            _store_lane(),
            _retire_lane(),
            *error_weights.procedures(lanes),
            _finish_lane_step(lanes, tableau.rows),
            _step(),
        ]
        wide = in_lanes(vectors.procedures(method_of(tableau), lanes), lanes)
        whole = _run_in_lanes(lanes, stages, total - stages - 1)
        return [*loop.procedures(lanes), *wide, *vectors.distances(), *exchange(lanes), *parts, whole]

    written.__qualname__ = f"written for {lanes} lanes of {tableau.name}"
    is_own = tableau in (dop853.TABLEAU, dopri5.TABLEAU)
    return build_once(lambda: compile_written(written) if is_own else compile_procedures(written()))


@contextmanager
def _sample_before(write: Procedure, integrator: Record, due: Callable[[Temporary], Temporary]) -> Iterator[None]:
    """Execute the body only if samples of a run remain, and the time of the next is `due`."""
    with (
        write.when(integrator.get("written") < integrator.get("samples")),
        write.when(due(integrator.get("times")[integrator.get("written")])),
    ):
        yield


def _start_run() -> Procedure:
    """Begin a run in this slot of the runs under way: return 1, or 0 if Python has to begin it."""
    write = Procedure("enter", {"r": "ptr", "v": "ptr", "place": "i64", "run": "i64"}, "i64", internal=True)
    many, record, slot = Record(write["r"], MANY), Record(write["v"], FIELDS), write["place"]
    _select_run(many, record, slot)
    with write.when(write.call("begun", [write["r"], write["run"]], "i64").equals(0)):
        write.call("ended", [write["r"], write["run"], write.value(Status.NOT_STARTED, "i64")])
        write.give(0)
    record.get("runs").store(slot, write["run"], "i64")
    record.get("found").store(slot, Status.LANE_STARTS, "i64")
    write.give(1)
    return write


def _select_run(many: Record, record: Record, slot: Temporary) -> None:
    """Set the tables of the loop over many runs to those of this run."""
    integrator = table_of(record, slot)
    many.set("table", integrator.pointer)
    many.set("rows", record.get("row_blocks").load(slot, "ptr"))
    many.set("modes", integrator.get("m"))


def _start_runs(lanes: int) -> Procedure:
    """Begin runs in the slots of ended ones; return 0 if no run is under way and none is left."""
    write = Procedure("fill", {"r": "ptr", "v": "ptr"}, "i64", internal=True)
    many, record = Record(write["r"], MANY), Record(write["v"], FIELDS)
    runs = record.get("runs")
    under_way = write.local(0, "i64")
    with write.loop(UNDER_WAY * lanes) as slot:
        with write.repeat() as (again, done):
            run = record.get("following")
            with write.when((runs.load(slot, "i64") >= 0) | (run >= many.get("runs"))):
                write.jump(done)
            record.set("following", run + 1)
            write.call("enter", [write["r"], write["v"], slot, run], "i64")
            write.jump(again)
        with write.when(runs.load(slot, "i64") >= 0):
            under_way.set(1)
    write.give(under_way.get())
    return write


def _load_lane(lanes: int) -> Procedure:
    """Load a waiting run into this lane; return 0 if there is none."""
    write = Procedure("sit", {"v": "ptr", "lane": "i64"}, "i64", internal=True)
    record, lane = Record(write["v"], FIELDS), write["lane"]
    runs, statuses = record.get("runs"), record.get("found")
    with write.loop(UNDER_WAY * lanes) as slot:
        waits = (runs.load(slot, "i64") >= 0) & statuses.load(slot, "i64").equals(Status.LANE_WAITS)
        integrator = table_of(record, slot)
        with write.when(waits):
            move(write, "spread", record, integrator, ("y", "k", "size", "floor", "noise"), lane)
            for name, count in (("p", record.get("parameters")), ("m", integrator.get("mode_count"))):
                write.call("spread", [record.get(name), integrator.get(name), count, lane])
            record.get("seats").store(lane, slot, "i64")
            statuses.store(slot, Status.LANE_RUNS, "i64")
            write.give(1)
    write.give(0)
    return write


def _store_lane() -> Procedure:
    """Move the run in a lane out of it, for the work that its step needs."""
    write = Procedure("rise", {"v": "ptr", "lane": "i64", "found": "i64"}, internal=True)
    record, lane = Record(write["v"], FIELDS), write["lane"]
    seats = record.get("seats")
    move(write, "gather", record, of_lane(record, lane), ("y", "k", "size"), lane)
    record.get("found").store(seats.load(lane, "i64"), write["found"], "i64")
    seats.store(lane, NOBODY, "i64")
    write.give()
    return write


def _retire_lane() -> Procedure:
    """End the run in a lane with this status."""
    write = Procedure("leave", {"r": "ptr", "v": "ptr", "lane": "i64", "status": "i64"}, internal=True)
    many, record, lane = Record(write["r"], MANY), Record(write["v"], FIELDS), write["lane"]
    integrator, slot = of_lane(record, lane), record.get("seats").load(lane, "i64")
    _select_run(many, record, slot)
    move(write, "gather", record, integrator, ("y",), lane)
    with write.when(write["status"].equals(Status.STOP)):
        write.call(record.get("flush"), [integrator.pointer, integrator.get("t")])
    write.call("ended", [write["r"], record.get("runs").load(slot, "i64"), write["status"]])
    record.get("runs").store(slot, NOBODY, "i64")
    record.get("seats").store(lane, NOBODY, "i64")
    record.get("taken")[lane] = 0.0
    write.give()
    return write


def _step() -> Procedure:
    """Prepare the next step in a lane; return 0 if no run waits for it."""
    write = Procedure("next_step", {"r": "ptr", "v": "ptr", "lane": "i64"}, "i64", internal=True)
    many, record, lane = Record(write["r"], MANY), Record(write["v"], FIELDS), write["lane"]
    with write.repeat() as (again, _):
        seated = write.local(1, "i64")
        with write.when(record.get("seats").load(lane, "i64") < 0):
            seated.set(write.call("sit", [write["v"], lane], "i64"))
        with write.when(seated.get().equals(0)):
            write.give(0)
        integrator = of_lane(record, lane)
        due = write.call(record.get("proposed"), [integrator.pointer], "i64")
        with write.when(due.equals(Status.ATTEMPT)):
            for name, field in (("t", "t"), ("h", "trial"), ("t_new", "target")):
                record.get(name)[lane] = integrator.get(field)
            write.give(1)
        with write.when(due.equals(Status.PAUSE)):
            many.set("table", integrator.pointer)
            with write.when(write.call("hopeless", [write["r"]], "i64").equals(1)):
                write.call("leave", [write["r"], write["v"], lane, write.value(Status.TOO_MANY_STEPS, "i64")])
                write.jump(again)
            integrator.set("tried", 0)
            record.set("paused", 1)
            write.jump(again)
        write.call("leave", [write["r"], write["v"], lane, due])
    write.give(0)
    return write


def _finish_lane_step(lanes: int, rows: int) -> Procedure:
    """Finish an accepted step of a lane: rows of samples, from these many rows of the dense output, stiffness test, noise."""
    write = Procedure("settle_lane", {"v": "ptr", "lane": "i64"}, internal=True)
    record, lane = Record(write["v"], FIELDS), write["lane"]
    integrator, h = of_lane(record, lane), record.get("h")[lane]
    with _sample_before(write, integrator, lambda time: time <= integrator.get("target")):
        move(write, "gather", record, integrator, ("y", "y_new"), lane)
        write.call("gather", [integrator.get("f"), record.get("f"), record.get("width") * rows, lane])
        write.call(record.get("dense_samples"), [integrator.pointer, h, integrator.get("target")])
    record.get("stiff").store(lane, 0, "i64")
    with write.when(record.get("watch").equals(1)):
        sums = [record.get("sums")[lane], record.get("sums")[lane + lanes]]
        record.get("stiff").store(lane, write.call(record.get("held_down"), [integrator.pointer, h, *sums], "i64"), "i64")
    with write.when(integrator.get("noisy") > 0):
        move(write, "gather", record, integrator, ("y_new", "size"), lane)
        write.call(record.get("noisy_step"), [integrator.pointer, h])
    integrator.set("cornered", 0)
    integrator.set("t", integrator.get("target"))
    integrator.count("steps")
    write.give()
    return write


def _run_in_lanes(lanes: int, stages: int, dense_stages: int) -> Procedure:
    """Advance all runs: return 0 when they are done, 1 after so many steps of one run that the caller must check for interrupts;
    the next call continues there. A step takes this many evaluations of the rates, its dense output so many more.
    """
    write = Procedure("run_side_by_side", {"r": "ptr", "v": "ptr"}, "i64")
    r, v, record = write["r"], write["v"], Record(write["v"], FIELDS)
    busy, dense, far = (write.local(0, "i64") for _ in range(3))
    seats, taken = record.get("seats"), record.get("taken")

    def good() -> AbstractContextManager[None]:
        return write.when(taken[lane].equals(1.0))

    with write.repeat() as (again, _):
        with write.when(record.get("paused").equals(1)):
            record.set("paused", 0)
            write.give(1)
        with write.when(write.call("fill", [r, v], "i64").equals(0)):
            write.give(0)
        write.call("update_due_weights", [v])
        busy.set(0)
        dense.set(0)
        far.set(0)
        with write.loop(lanes) as lane:
            taken[lane] = 0.0
            record.get("h")[lane] = 0.0
            busy.set(busy.get() + write.call("next_step", [r, v, lane], "i64"))
        with write.when(busy.get().equals(0)):
            write.jump(again)
        write.call("attempt", [v, *(record.get(name) for name in ("h", "t_new", "error"))])
        with write.loop(lanes) as lane, write.when(seats.load(lane, "i64") >= 0):
            integrator = of_lane(record, lane)
            integrator.count("rate_count", stages)
            status = write.call(record.get("judged"), [integrator.pointer, record.get("error")[lane]], "i64")
            doubtful = status.equals(Status.DOUBT) | status.equals(Status.RENEW)
            with write.when(doubtful):
                write.call("rise", [v, lane, status])
            with write.when(~(status.equals(Status.ACCEPT) | status.equals(Status.RETRY) | doubtful)):
                write.call("leave", [r, v, lane, status])
            with write.when(status.equals(Status.ACCEPT)):
                taken[lane] = 1.0
                # `held_down` needs the sums only then.
                with write.when(record.get("watch").equals(1)):
                    is_far = write.call("is_far", [integrator.pointer, record.get("h")[lane]], "i64")
                    far.set(write.select(is_far.equals(1), 1, far.get(), "i64"))
                with _sample_before(write, integrator, lambda time, integrator=integrator: time < integrator.get("target")):  # type: ignore[misc]
                    dense.set(1)
                    integrator.count("rate_count", dense_stages)
        with write.when(dense.get().equals(1)):
            write.call("prepare_dense", [v, record.get("h")])
        with write.when(far.get().equals(1)):
            write.call("compare_last_stages", [v])
        with write.loop(lanes) as lane, good():
            write.call("settle_lane", [v, lane])
        write.call("accept_all", [v])
        with write.loop(lanes) as lane, good():
            stiff = record.get("stiff").load(lane, "i64")
            status = write.call(
                record.get("lengthened"), [of_lane(record, lane).pointer, record.get("error")[lane], stiff], "i64"
            )
            with write.when(status.equals(Status.RENEW)):
                write.call("rise", [v, lane, status])
            with write.when(status.equals(Status.STIFF)):
                write.call("leave", [r, v, lane, status])
    write.give(0)
    return write
