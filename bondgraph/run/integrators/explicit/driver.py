"""The explicit method's loop: steps, samples and events until the stop time, in machine code."""

from __future__ import annotations

from collections.abc import Callable

from bondgraph.emit.llvm import Library, compile_procedures
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.error_control.fields import FIELDS as ERROR_CONTROL
from bondgraph.run.error_control.weights import NEVER, RENEWALS
from bondgraph.run.instants import loop
from bondgraph.run.integrators.explicit import beginning, clocks, control, steps
from bondgraph.run.integrators.explicit.control import AGAIN, ATTEMPT, DOUBT, EVENT, GOOD, GROW, RENEW, STOP
from bondgraph.run.integrators.native import guard_values, note_rounding, rows_until
from bondgraph.run.switching import crossings
from bondgraph.run.switching.crossings import EPSILON, POINTS, Within

# Hairer's test: h |lambda| beyond the stability boundary in so many steps in a row (less any `_MILD` good ones).
# A change of method must be worth it: so many steps would be still ahead.
_BOUNDARY, _STIFF_STEPS, _MILD, _WORTH = 6.1, 15, 6, 20_000.0
# Another method would begin anew at every tick, at the price of so many steps of this one.
_WORTH_TICK = 200.0


def ready() -> Procedure:
    """Where a leg begins anew: rates, guards and the length of the first step."""
    write = Procedure("ready", {"c": "ptr"})
    record = steps.record_of(write)
    k, g = record.get("k"), record.get("g")
    with write.when(record.get("fresh").equals(1)):
        record.set("fresh", 0)
        write.call("derivative", [write["c"], record.get("t"), record.get("y"), k, write.value(1, "i64")])
        with write.when(record.get("guard_count") > 0):
            write.call("guard_values", [write["c"], record.get("t"), record.get("y"), g])
        record.set("h", write.call("first_step", [write["c"]], "double"))
        record.set("grow", GROW)
        record.set("is_landing", 0)
    write.give()
    return write


def samples() -> Procedure:
    """Rows for all sample times up to t_new."""
    write = Procedure("samples", {"c": "ptr", "h": "double", "t_new": "double"}, internal=True)
    record, prepared = steps.record_of(write), write.local(0, "i64")

    def prepare() -> None:
        with write.when(prepared.get().equals(0)):
            write.call("prepare_dense", [write["c"], write["h"]])
            prepared.set(1)

    _rows(write, record, prepare)
    return write


def dense_samples() -> Procedure:
    """The same where the dense output is there already."""
    write = Procedure("dense_samples", {"c": "ptr", "h": "double", "t_new": "double"})
    _rows(write, steps.record_of(write), lambda: None)
    return write


def _rows(write: Procedure, record: Record, prepare: Callable[[], None]) -> None:
    width, y_new, h, t = record.get("width"), record.get("y_new"), write["h"], record.get("t")
    with rows_until(write, record, write["t_new"], width) as (time, row, again):
        with write.when((time >= write["t_new"]) | (h <= 0.0)):
            with write.loop(width) as i:
                row[i] = y_new[i]
            write.jump(again)
        prepare()
        write.call("dense", [write["c"], (time - t) / h, row])
    write.give()


def stiffness() -> Procedure:
    """1 if the step length has been held down by stability for long, and much of the run is still ahead."""
    write = Procedure("stiffness", {"c": "ptr", "h": "double"}, "i64", internal=True)
    record, h = steps.record_of(write), write["h"]
    k, width = record.get("k"), record.get("width")
    above, below = write.local(0.0), write.local(0.0)
    with write.loop(record.get("n")) as i:
        scale = steps.permitted(write, record, i, write.intrinsic("fabs", record.get("y")[i]))
        with write.when(scale > 0.0):
            rise = (k[width * steps.STAGES + i] - k[width * (steps.STAGES - 1) + i]) / scale
            run = (record.get("y_new")[i] - record.get("y_stage")[i]) / scale
            above.set(above.get() + rise * rise)
            below.set(below.get() + run * run)
    write.give(write.call("held_down", [write["c"], h, above.get(), below.get()], "i64"))
    return write


def held_down() -> Procedure:
    """The same from the sums of squares: how rates and states differ between the last stage and the end of the step."""
    write = Procedure("held_down", {"c": "ptr", "h": "double", "above": "double", "below": "double"}, "i64")
    record, h, above, below = steps.record_of(write), write["h"], write["above"], write["below"]
    t = record.get("t")
    ahead = (record.get("stop") - t > h * _WORTH) & (record.get("horizon") - t > h * _WORTH_TICK)
    beyond = h * h * above > below * _BOUNDARY**2
    with write.when(beyond & ahead):
        record.set("mild", 0)
        record.count("stiff")
        write.give(write.select(record.get("stiff") >= _STIFF_STEPS, 1, 0, "i64"))
    record.count("mild")
    with write.when(record.get("mild") >= _MILD):
        record.set("stiff", 0)
    write.give(0)
    return write


def noisy_step() -> Procedure:
    """Note whether rounding has decided over a step that is accepted, and by how much it exceeds the tolerance."""
    write = Procedure("noisy_step", {"c": "ptr", "h": "double"})
    record = steps.record_of(write)
    used = write.local(0, "i64")
    with write.loop(record.get("n")) as i:
        allowed = steps.permitted(write, record, i, write.intrinsic("fabs", record.get("y_new")[i]))
        with write.when(note_rounding(write, record, i, write["h"] * record.get("noise")[i], allowed)):
            used.set(1)
    record.count("noisy_steps", used.get())
    record.count("noisy", 1)
    write.give()
    return write


def _accept(write: Procedure, record: Record, h: Temporary, t_new: Temporary) -> None:
    """Let the state be that at the end of the step."""
    y, y_new, k, width, size = (record.get(name) for name in ("y", "y_new", "k", "width", "size"))
    with write.when(record.get("noisy") > 0):
        write.call("noisy_step", [write["c"], h])
    with write.loop(record.get("n")) as i:
        size[i] = write.intrinsic("maxnum", size[i], write.intrinsic("fabs", y_new[i]))
    record.set("cornered", 0)
    with write.loop(width) as i:
        y[i] = y_new[i]
        k[i] = k[width * steps.STAGES + i]
    last = record.get("g").at(record.get("guard_count") * (POINTS - 1))
    crossings.settle_levels(write, record, last, record.get("levels"))
    record.set("t", t_new)
    record.count("steps")


def advance() -> Procedure:
    """Integrate from t to the stop time, the next event, the end of the budget of steps, or a failure; ticks are done
    on the way, and weights are looked at anew where that is due."""
    write = Procedure("dop853_advance", {"c": "ptr"}, "i64")
    with write.repeat():
        status = write.call("steps", [write["c"]], "i64")
        with write.when(~(status.equals(DOUBT) | status.equals(RENEW))):
            write.give(status)
        write.call("weigh", [write["c"], status])
    write.give(0)
    return write


def weigh() -> Procedure:
    """Between two attempts: look at the weights anew."""
    write = Procedure("weigh", {"c": "ptr", "status": "i64"})
    record = steps.record_of(write)
    weights, number = record.get("weights"), write.value(0, "i64")
    at = [weights, record.get("t"), record.get("y"), record.get("m")]
    step = [*at, record.get("h"), record.get("rtol"), number]
    doubt, due = write["status"].equals(DOUBT), record.get("steps") >= record.get("renewal")
    with write.when(doubt):
        write.call(record.get("weights_question"), step)
        record.set("patience", Record(weights, ERROR_CONTROL).get("patience"))
    with write.when(~doubt & due):
        write.call(record.get("weights_renew"), at)
        following = write.local(RENEWALS[0], "i64")
        with write.repeat() as (_, done):
            with write.when(~(following.get() <= record.get("steps"))):
                write.jump(done)
            following.set(write.select(following.get().equals(RENEWALS[-1]), NEVER, following.get() * 2, "i64"))
        record.set("renewal", following.get())
    with write.when(~doubt & ~due):
        write.call(record.get("weights_relax"), step)
    record.set("noisy", 0)
    with write.loop(record.get("width")) as i, write.when(~record.get("noise")[i].equals(0.0)):
        record.set("noisy", 1)
    write.give()
    return write


def attempts() -> Procedure:
    """Steps until something ends them, or the weights are to be looked at anew."""
    write = Procedure("steps", {"c": "ptr"}, "i64", internal=True)
    record = steps.record_of(write)
    c = write["c"]
    write.call("ready", [c])
    with write.repeat() as (again, _):
        due = write.call("proposed", [c], "i64")
        with write.when(due.equals(AGAIN)):
            write.jump(again)
        with write.when(~due.equals(ATTEMPT)):
            with write.when(due.equals(STOP)):
                write.call("flush", [c, record.get("t")])
            write.give(due)
        h, t_new, land = record.get("trial"), record.get("target"), record.get("is_landing").equals(1)
        error = write.call("attempt", [c, h, t_new], "double")
        found = write.call("judged", [c, error], "i64")
        with write.when(found.equals(AGAIN)):
            write.jump(again)
        with write.when(~found.equals(GOOD)):
            write.give(found)
        with write.when(record.get("guard_count") > 0):
            with write.when(land):
                _land(write, record, h, t_new, again)
            suspect = write.call("suspicion", [c, h, t_new], "i64")
            with write.when(suspect.equals(1)):
                write.call("prepare_dense", [c, h])
                found = write.call("locate", [c, h], "double")
                with write.when(found <= 1.0):
                    record.set("is_landing", 1)
                    record.set("landings", 0)
                    record.set("landing", found * h)
                    write.jump(again)
        write.call("samples", [c, h, t_new])
        stiff = write.local(0, "i64")
        with write.when(record.get("watch").equals(1)):
            stiff.set(write.call("stiffness", [c, h], "i64"))
        _accept(write, record, h, t_new)
        following = write.call("lengthened", [c, error, stiff.get()], "i64")
        with write.when(~following.equals(AGAIN)):
            write.give(following)
    write.give(0)
    return write


def _land(write: Procedure, record: Record, h: Temporary, t_new: Temporary, again: str) -> None:
    """After the step to the event: correct its length by Newton's rule until the guard is zero, then end the leg."""
    g = record.get("g").at(record.get("guard_count") * (POINTS - 1))
    write.call("guard_values", [write["c"], t_new, record.get("y_new"), g])
    value, slope = g[record.get("first")], record.get("slope")
    shift = value / slope
    size = write.intrinsic("fabs", shift)
    worth = size > 2.0 * EPSILON * (write.intrinsic("fabs", t_new) + h)
    trusted = (size < 0.05 * h) & (slope > 0.0)
    with write.when(worth & trusted & (record.get("landings") < 3)):
        record.count("landings")
        record.set("landing", h - shift)
        write.jump(again)
    write.call("samples", [write["c"], h, t_new])
    _accept(write, record, h, t_new)
    write.give(EVENT)


def procedures() -> list[Procedure]:
    """All of the method."""
    within = Within(steps.FIELDS, exact="dense", cubic="hermite")
    parts = steps.combinations()
    parts += [steps.derivative(), steps.attempt(), steps.first_step()]
    parts += [steps.prepare_dense(), steps.dense(), steps.hermite()]
    parts += [guard_values(steps.FIELDS)]
    parts += [part(within) for part in (crossings.suspicion, crossings.crest, crossings.root, crossings.locate)]
    parts += [clocks.due(), clocks.flush(), clocks.tick()]
    parts += [samples(), dense_samples(), stiffness(), held_down(), noisy_step(), weigh()]
    parts += [ready(), control.proposed(), control.judged(), control.lengthened(), attempts(), advance(), beginning.begin()]
    return [*parts, *loop.procedures(steps.FIELDS, "dop853_advance", EVENT)]


@once
def machine_code() -> Library:
    """The method as machine code."""
    return compile_procedures(procedures())
