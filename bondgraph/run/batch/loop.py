"""Loop over a batch of runs in machine code: start, advance, check and measure each.

Runs that machine code cannot finish, or whose end is doubtful, are marked for the Python loop to repeat and check.
"""

from __future__ import annotations

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.batch import event_losses, native_measures
from bondgraph.run.batch.fields import add_to, balance_of, modes_at, tables_of
from bondgraph.run.batch.validity import lost_loops, rank_screen, sample_check
from bondgraph.run.batch.validity.sample_check import FIELDS as LOOK
from bondgraph.run.codegen_helpers import is_finite, larger, magnitude
from bondgraph.run.status import Status
from bondgraph.run.steppers.segment import HOPELESS_RATIO, MIN_STEPS_BEFORE_GIVING_UP


def procedures(lanes: int) -> list[Procedure]:
    """Return the procedures that start and end a run and check its rows in `lanes` SIMD lanes."""
    lost_loop_parts = lost_loops.procedures() if lanes == 1 else []
    parts = [*native_measures.procedures(), *event_losses.procedures(), *sample_check.procedures(lanes), *lost_loop_parts]
    return [*parts, *rank_screen.procedures(lanes), _examine(lanes), _begun(), _too_many_steps(), _ended()]


def written() -> list[Procedure]:
    """Return all procedures of the loop over single runs."""
    return [*procedures(1), _judge_run(), _many()]


@build_once
def machine_code() -> Library:
    """Return the loop as machine code."""
    return compile_written(written)


def _unless_finite(write: Procedure, values: Temporary, count: Temporary) -> None:
    with write.loop(count) as i, write.when(~is_finite(values[i])):
        write.give(1)


def _examine(lanes: int) -> Procedure:
    """Return 1 if a run from the modes m has a value that is not finite at a sample, an energy balance off by more than the limit
    at a requested sample, an unsolved loop, or constraints that may lose rank. Runs in lanes have neither events nor loops, so
    many of their samples are checked at once."""
    write = Procedure("examine", {"r": "ptr", "m": "ptr"}, "i64", internal=True)
    record, integrator, weights = tables_of(write)
    n, width, p = (integrator.get(name) for name in ("n", "width", "p"))
    quadratures, storages = weights.get("quadratures"), weights.get("storages")
    rates, powers, energies = (record.get(name) for name in ("rates", "powers", "energies"))
    look = record.get("look")
    operands = [look, integrator.pointer, record.get("rows")]
    with write.when(look.is_given()):
        write.call("present_run", operands[:2])
    if lanes > 1:
        # Runs whose constraints are checked are left to `may_lose_rank`.
        with write.loop(Record(look, LOOK).get("stride"), Record(look, LOOK).get("watched")) as first:
            write.call("see_samples", [*operands, first])
    balances = record.get("balances")
    begun, worst, play_most, closing, play = (record.get(name) for name in ("begun", "worst", "play_most", "closing", "play"))
    with write.loop(balances) as b:
        for sums in (begun, worst, play_most):
            sums[b] = 0.0
    with write.when(storages > 0):
        write.call(weights.get("energies"), [record.get("dates"), integrator.get("y_begun"), p, write["m"], energies])
        with write.loop(storages) as i:
            b = balance_of(record, "storage", i)
            add_to(begun, b, energies[i])
            add_to(play_most, b, magnitude(write, energies[i]))
    with write.loop(record.get("samples")) as k:
        row, date, m = record.get("rows").at(k * width), record.get("dates").at(k), modes_at(record, k)
        if lanes == 1:
            _unless_finite(write, row, width)
            write.call(integrator.get("rates"), [date, row, p, m, rates])
            _unless_finite(write, rates, n)
            with write.when(quadratures > 0):
                write.call(integrator.get("powers"), [date, row, p, m, powers])
                _unless_finite(write, powers, quadratures)
            with write.when(storages > 0):
                write.call(weights.get("energies"), [date, row, p, m, energies])
                _unless_finite(write, energies, storages)
        with write.when((storages > 0) & record.get("wanted").load(k, "i64").equals(1)):
            if lanes > 1:
                write.call(weights.get("energies"), [date, row, p, m, energies])
            with write.loop(balances) as b:
                closing[b] = play[b] = 0.0
            with write.loop(storages) as i:
                b = balance_of(record, "storage", i)
                add_to(closing, b, energies[i])
                add_to(play, b, magnitude(write, energies[i]))
            lost = record.get("lost").at(k * balances)
            with write.loop(balances) as b:
                closing[b] = closing[b] - begun[b] + lost[b]
                add_to(play, b, magnitude(write, lost[b]))
            with write.loop(quadratures) as i:
                work, b = row[n + i], balance_of(record, "power", i)
                add_to(closing, b, record.get("signs")[i] * work)
                add_to(play, b, magnitude(write, work))
            with write.loop(balances) as b:
                worst[b] = larger(write, worst[b], magnitude(write, closing[b]))
                play_most[b] = larger(write, play_most[b], play[b])
        if lanes == 1:
            write.call("see_loops", [write["r"], k, date, row, m])
    if lanes == 1:
        with write.when(write.call("astray", [write["r"]], "i64").equals(1)):
            write.give(1)
    with write.loop(balances) as b, write.when(~(worst[b] <= play_most[b] * record.get("limit"))):
        write.give(1)
    with (
        write.when(look.is_given()),
        write.when(Record(look, LOOK).get("watched").equals(1)),
        write.when(write.call("may_lose_rank", operands, "i64").equals(1)),
    ):
        write.give(1)
    write.give(write.call("any_spoilt", operands[:2], "i64") if lanes > 1 else 0)
    return write


def _judge_run() -> Procedure:
    """Call `examine` for a single run that has reached its end from the modes m."""
    write = Procedure("judge", {"r": "ptr", "m": "ptr"}, "i64")
    write.call("forget_events", [write["r"]])
    write.call("finish_events", [write["r"], write.value(0, "i64")])
    write.give(write.call("examine", [write["r"], write["m"]], "i64"))
    return write


def _begun() -> Procedure:
    """Begin the run of this number on the present tables: return 1, or 0 if Python has to begin it."""
    write = Procedure("begun", {"r": "ptr", "run": "i64"}, "i64", internal=True)
    record, integrator, _ = tables_of(write)
    run, p = write["run"], record.get("p").at(write["run"] * record.get("p_stride"))
    with write.loop(record.get("p_count")) as i:
        integrator.get("p")[i] = p[i]
    at = [record.get("table"), *_start_of(record, run), record.get("times"), record.get("rows"), record.get("samples")]
    begun = write.call(record.get("begin"), at, "i64")
    for forget in ("forget_events", "forget_measures"):
        write.call(forget, [write["r"]])
    write.give(begun)
    return write


def _start_of(record: Record, run: Temporary) -> list[Temporary]:
    """Return the states and modes with which a run begins."""
    return [record.get(name).at(run * record.get(f"{name}_stride")) for name in ("x", "m")]


def _too_many_steps() -> Procedure:
    """Return 1 if a run takes too many steps, or would do so at its present pace."""
    write = Procedure("hopeless", {"r": "ptr"}, "i64", internal=True)
    record, integrator, _ = tables_of(write)
    steps, most = integrator.get("steps"), record.get("most")
    way = integrator.get("t") / record.get("span") * write.real(most) * HOPELESS_RATIO
    hopeless = (steps > most) | ((steps >= MIN_STEPS_BEFORE_GIVING_UP) & (way <= write.real(steps)))
    write.give(write.select(hopeless | (integrator.get("pace") > 0.0), 1, 0, "i64"))
    return write


def _ended() -> Procedure:
    """Store the results of a run that has ended with this status."""
    write = Procedure("ended", {"r": "ptr", "run": "i64", "status": "i64"}, internal=True)
    record, integrator, _ = tables_of(write)
    run, width, status = write["run"], integrator.get("width"), write.local(write["status"], "i64")
    with write.when(status.get().equals(Status.STOP)):
        write.call("finish_events", [write["r"], run])
        doubtful = write.call("examine", [write["r"], _start_of(record, run)[1]], "i64")
        write.call("keep", [write["r"], run])
        status.set(write.select(doubtful.equals(1), Status.UNTRUSTED, Status.STOP, "i64"))
    record.get("status").store(run, status.get(), "i64")
    record.get("times_end")[run] = integrator.get("t")
    for name, counted in (("step_counts", "steps"), ("rejected_counts", "rejected"), ("rate_counts", "rate_count")):
        record.get(name).store(run, integrator.get(counted), "i64")
    end = record.get("ends").at(run * width)
    with write.loop(width) as i:
        end[i] = integrator.get("y")[i]
    modes = integrator.get("mode_count")
    with write.loop(modes) as i:
        record.get("modes_end")[run * modes + i] = integrator.get("m")[i]
    write.give()
    return write


def _many() -> Procedure:
    """Advance all runs, one after the other, from the present one: return 0 when all are done, 1 after so many steps of one run
    that the caller must check for interrupts; the next call continues there."""
    write = Procedure("run_many", {"r": "ptr"}, "i64")
    record, integrator, _ = tables_of(write)
    with write.repeat() as (again, _):
        run, status = record.get("present"), write.local(Status.NOT_STARTED, "i64")
        with write.when(run >= record.get("runs")):
            write.give(0)
        with write.when(record.get("under_way").equals(0)):
            record.set("under_way", write.call("begun", [write["r"], run], "i64"))
        with write.when(record.get("under_way").equals(1)):
            status.set(write.call(record.get("advance"), [record.get("table")], "i64"))
            with write.when(status.get().equals(Status.LOG_FULL)):
                write.call("note_events", [write["r"]])
                write.jump(again)
            with write.when(status.get().equals(Status.PAUSE)):
                with write.when(write.call("hopeless", [write["r"]], "i64").equals(0)):
                    integrator.set("tried", 0)
                    write.give(1)
                status.set(Status.TOO_MANY_STEPS)
        write.call("ended", [write["r"], run, status.get()])
        record.set("under_way", 0)
        record.set("present", run + 1)
    write.give(0)
    return write
