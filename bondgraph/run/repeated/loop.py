"""Many runs in machine code: parameters and start values of each in; ends, counts, and what is kept of each, out.

What a run cannot end by itself here, or what is doubtful at its end, is marked, for the loop in Python to do again and to judge.
"""

from __future__ import annotations

from bondgraph.emit.llvm import Library, compile_procedures
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.error_control.fields import FIELDS as ERROR_CONTROL
from bondgraph.run.idioms import larger, size_of
from bondgraph.run.integrators.explicit.control import PAUSE, STOP
from bondgraph.run.integrators.explicit.steps import FIELDS as INTEGRATOR
from bondgraph.run.integrators.leg import HOPELESS, PATIENCE
from bondgraph.run.repeated import rows, screen
from bondgraph.run.repeated.rows import FIELDS as LOOK
from bondgraph.run.table import fields_of

TOO_MANY, DOUBTFUL = 100, 101
"""Of a run that takes too many steps, and of one with values that are not finite or an account that does not close, besides what
the integrator answers."""
LAST, LARGEST, SMALLEST, INTEGRAL = range(4)
ROW, OUTPUT, MODE = range(3)
"""Kinds of what is kept, and whence it comes."""

# p, x, m: of all runs, in rows, `..._stride` apart; ends (runs, width), times_end, status, step_counts, rate_counts (runs,).
# wanted: of each sample whether it is asked for, and not only looked at; so many of them are wanted_count.
# kinds, sources, places: of each number that is kept, into kept (runs, kept_count); series (runs, wanted_count, series_count).
# look: as `rows.FIELDS`.
_POINTERS = """table begin advance p x m times dates rows ends times_end status step_counts rejected_counts rate_counts
    outputs out kinds sources places kept before series_sources series_places series signs energies wanted look"""
_WHOLES = "runs p_count p_stride x_stride m_stride samples wanted_count kept_count series_count output_count most"
FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), ("limit", "span"))


@once
def machine_code() -> Library:
    """The loop as machine code."""
    return compile_procedures([*procedures(1), _many()])


def procedures(lanes: int) -> list[Procedure]:
    """The beginning and the end of a run, whose rows are looked at in so many lanes."""
    return [*rows.procedures(lanes), *screen.procedures(lanes), _examine(), _value(), _keep(), _begun(), _hopeless(), _ended()]


def tables_of(write: Procedure) -> tuple[Record, Record, Record]:
    """The tables of the loop, of the integrator, and of the error control."""
    record = Record(write["r"], FIELDS)
    integrator = Record(record.get("table"), INTEGRATOR)
    return record, integrator, Record(integrator.get("weights"), ERROR_CONTROL)


def _examine() -> Procedure:
    """1 where a value is not finite at a sample, the energy account of those that are asked for is off by more than the limit, or
    constraints may lose rank."""
    write = Procedure("examine", {"r": "ptr"}, "i64", internal=True)
    record, integrator, weights = tables_of(write)
    n, width, p, m = (integrator.get(name) for name in ("n", "width", "p", "m"))
    storages, energies, look = weights.get("storages"), record.get("energies"), Record(record.get("look"), LOOK)
    given = [look.pointer, integrator.pointer, record.get("rows")]
    write.call("present_run", given[:2])
    with write.when(write.call("not_finite", given, "i64").equals(1)):
        write.give(1)
    start, worst, in_play = write.local(0.0), write.local(0.0), write.local(0.0)
    wanted = record.get("wanted")
    with write.when(storages > 0), write.loop(record.get("samples")) as k, write.when(wanted.load(k, "i64").equals(1)):
        row = record.get("rows").at(k * width)
        write.call(weights.get("energies"), [record.get("dates").at(k), row, p, m, energies])
        stored, play = write.local(0.0), write.local(0.0)
        with write.loop(storages) as i:
            stored.set(stored.get() + energies[i])
            play.set(play.get() + size_of(write, energies[i]))
        with write.when(k.equals(0)):
            start.set(stored.get())
        stored.set(stored.get() - start.get())
        with write.loop(weights.get("quadratures")) as i:
            work = row[n + i]
            stored.set(stored.get() + record.get("signs")[i] * work)
            play.set(play.get() + size_of(write, work))
        worst.set(larger(write, worst.get(), size_of(write, stored.get())))
        in_play.set(larger(write, in_play.get(), play.get()))
    with write.when(~(worst.get() <= in_play.get() * record.get("limit"))):
        write.give(1)
    with write.when(look.get("watched").equals(1)):
        write.give(write.call("may_lose_rank", given, "i64"))
    write.give(0)
    return write


def _value() -> Procedure:
    """The number of this source and place, at a sample in this row."""
    write = Procedure("value", {"r": "ptr", "row": "ptr", "source": "i64", "place": "i64"}, "double", internal=True)
    record, integrator, _ = tables_of(write)
    source, place = write["source"], write["place"]
    with write.when(source.equals(ROW)):
        write.give(write["row"][place])
    with write.when(source.equals(OUTPUT)):
        write.give(record.get("out")[place])
    write.give(integrator.get("m")[place])
    return write


def _keep() -> Procedure:
    """What is kept of a run, by the samples that are asked for."""
    write = Procedure("keep", {"r": "ptr", "run": "i64"}, internal=True)
    record, integrator, _ = tables_of(write)
    width, p, m = (integrator.get(name) for name in ("width", "p", "m"))
    samples, count, many = (record.get(name) for name in ("samples", "kept_count", "series_count"))
    kept, before, times = record.get("kept").at(write["run"] * count), record.get("before"), record.get("times")
    place = write.local(write["run"] * record.get("wanted_count") * many, "i64")
    last = write.local(0, "i64")
    with write.loop(samples) as k, write.when(record.get("wanted").load(k, "i64").equals(1)):
        row = record.get("rows").at(k * width)
        with write.when(record.get("output_count") > 0):
            write.call(record.get("outputs"), [record.get("dates").at(k), row, p, m, record.get("out")])
        with write.loop(count) as j:
            whence = [record.get(name).load(j, "i64") for name in ("sources", "places")]
            value = write.call("value", [write["r"], row, *whence], "double")
            kind = record.get("kinds").load(j, "i64")
            first = k.equals(0)
            with write.when(first):
                kept[j] = write.select(kind.equals(INTEGRAL), 0.0, value)
            with write.when(~first):
                with write.when(kind.equals(LAST)):
                    kept[j] = value
                with write.when(kind.equals(LARGEST)):
                    kept[j] = larger(write, kept[j], value)
                with write.when(kind.equals(SMALLEST)):
                    kept[j] = write.intrinsic("minnum", kept[j], value)
                with write.when(kind.equals(INTEGRAL)):
                    kept[j] = kept[j] + (times[k] - times[last.get()]) * (before[j] + value) * 0.5
            before[j] = value
        with write.loop(many) as j:
            whence = [record.get(name).load(j, "i64") for name in ("series_sources", "series_places")]
            record.get("series")[place.get() + j] = write.call("value", [write["r"], row, *whence], "double")
        place.set(place.get() + many)
        last.set(k)
    write.give()
    return write


def _begun() -> Procedure:
    """The run of this number begins on the present tables."""
    write = Procedure("begun", {"r": "ptr", "run": "i64"}, internal=True)
    record, integrator, _ = tables_of(write)
    run, p = write["run"], record.get("p").at(write["run"] * record.get("p_stride"))
    with write.loop(record.get("p_count")) as i:
        integrator.get("p")[i] = p[i]
    x, m = (record.get(name).at(run * record.get(f"{name}_stride")) for name in ("x", "m"))
    write.call(record.get("begin"), [record.get("table"), x, m, record.get("times"), record.get("rows"), record.get("samples")])
    write.give()
    return write


def _hopeless() -> Procedure:
    """1 where a run takes too many steps."""
    write = Procedure("hopeless", {"r": "ptr"}, "i64", internal=True)
    record, integrator, _ = tables_of(write)
    steps, most = integrator.get("steps"), record.get("most")
    way = integrator.get("t") / record.get("span") * write.real(most) * HOPELESS
    write.give(write.select((steps > most) | ((steps >= PATIENCE) & (way <= write.real(steps))), 1, 0, "i64"))
    return write


def _ended() -> Procedure:
    """A run has ended with this status: what is kept of it."""
    write = Procedure("ended", {"r": "ptr", "run": "i64", "status": "i64"}, internal=True)
    record, integrator, _ = tables_of(write)
    run, width, status = write["run"], integrator.get("width"), write.local(write["status"], "i64")
    with write.when(status.get().equals(STOP)):
        doubtful = write.call("examine", [write["r"]], "i64")
        write.call("keep", [write["r"], run])
        status.set(write.select(doubtful.equals(1), DOUBTFUL, STOP, "i64"))
    record.get("status").store(run, status.get(), "i64")
    record.get("times_end")[run] = integrator.get("t")
    for name, counted in (("step_counts", "steps"), ("rejected_counts", "rejected"), ("rate_counts", "rate_count")):
        record.get(name).store(run, integrator.get(counted), "i64")
    end = record.get("ends").at(run * width)
    with write.loop(width) as i:
        end[i] = integrator.get("y")[i]
    write.give()
    return write


def _many() -> Procedure:
    """All runs, one after the other."""
    write = Procedure("run_many", {"r": "ptr"})
    record, integrator, _ = tables_of(write)
    with write.loop(record.get("runs")) as run:
        write.call("begun", [write["r"], run])
        status = write.local(PAUSE, "i64")
        with write.repeat() as (_, done):
            status.set(write.call(record.get("advance"), [record.get("table")], "i64"))
            with write.when(~status.get().equals(PAUSE)):
                write.jump(done)
            with write.when(write.call("hopeless", [write["r"]], "i64").equals(1)):
                status.set(TOO_MANY)
                write.jump(done)
            integrator.set("tried", 0)
        write.call("ended", [write["r"], run, status.get()])
    write.give()
    return write
