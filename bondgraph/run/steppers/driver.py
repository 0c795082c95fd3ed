"""Integration loop around the steps of a method, in machine code: step size control, event detection, samples and ticks."""

from __future__ import annotations

import functools
from collections.abc import Callable

from bondgraph.emit.kernel_language.language import Reals, external
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure, Record, Temporary, cold
from bondgraph.run.accuracy.fields import Control
from bondgraph.run.accuracy.reference.error_weights import DECISIVE, NEVER, RENEWALS
from bondgraph.run.events import loop, root_finding
from bondgraph.run.events.root_finding import EPSILON, POINTS, DenseOutput, StepTable, crossing_check, locate
from bondgraph.run.status import Status
from bondgraph.run.steppers import initial_step, sample_clocks, shared_fields, step_control
from bondgraph.run.steppers.method import AT_HAND, DAMPED, Method, derivative, error_weight
from bondgraph.run.steppers.shared_fields import note_rounding, rows_until
from bondgraph.run.steppers.step_control import GROW

_EARLY_FRACTION = 1e-2
"""A zero crossing within this fraction of a step is checked twice."""
_TRUSTED = 0.05
"""Largest correction of a landing, as a fraction of its step."""
_MOST_LANDINGS, _MOST_PUSHES = 3, 12
"""Most corrections of a landing, and most that take it past a jump."""
_RATIO = 4.0
"""Ratio of two reaches in the search for a jump."""


def ready(method: Method) -> Procedure:
    """Start a segment: rates, guards and the initial step size."""
    write = Procedure("ready", {"c": "ptr"})
    record = method.record(write)
    k, g = record.get("k"), record.get("g")
    with write.when(record.get("fresh").equals(1)):
        record.set("fresh", 0)
        write.call("derivative", [write["c"], record.get("t"), record.get("y"), k, write.value(1, "i64")])
        with write.when(record.get("guard_count") > 0):
            write.call("guard_values", [write["c"], record.get("t"), record.get("y"), g])
        record.set("h", write.call("first_step", [write["c"]], "double"))
        record.set("grow", GROW)
        record.set("is_landing", 0)
        record.set("moved", 1)
        record.set("alert", 0)
        record.set("factored", 0.0)
    write.give()
    return write


def samples(method: Method) -> Procedure:
    """Write rows for all sample times up to t_new, by dense output."""
    write = Procedure("samples", {"c": "ptr", "h": "double", "t_new": "double"}, internal=True)
    record, prepared = method.record(write), write.local(0, "i64")

    def prepare() -> None:
        with write.when(prepared.get().equals(0)):
            write.call("prepare_dense", [write["c"], write["h"]])
            prepared.set(1)

    _rows(write, record, prepare)
    return write


def dense_samples(method: Method) -> Procedure:
    """Write rows as `samples` does, with a dense output that is prepared already."""
    write = Procedure("dense_samples", {"c": "ptr", "h": "double", "t_new": "double"})
    _rows(write, method.record(write), lambda: None)
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


def noisy_step(method: Method) -> Procedure:
    """Record whether rounding noise dominates the error weight of an accepted step, and by how much it exceeds the tolerance."""
    write = Procedure("noisy_step", {"c": "ptr", "h": "double"})
    record = method.record(write)
    used = write.local(0, "i64")
    with write.loop(record.get("n")) as i:
        allowed = error_weight(write, record, i, write.intrinsic("fabs", record.get("y_new")[i]))
        with write.when(note_rounding(write, record, i, method.rounding(record, i, write["h"]), allowed)):
            used.set(1)
    record.count("noisy_steps", used.get())
    record.count("noisy", 1)
    write.give()
    return write


def _accept(method: Method, write: Procedure, h: Temporary, t_new: Temporary) -> None:
    """Accept the step."""
    record = method.record(write)
    y, y_new, k, width, size = (record.get(name) for name in ("y", "y_new", "k", "width", "size"))
    with write.when(record.get("noisy") > 0):
        write.call("noisy_step", [write["c"], h])
    with write.loop(record.get("n")) as i:
        size[i] = write.intrinsic("maxnum", size[i], write.intrinsic("fabs", y_new[i]))
    record.set("cornered", 0)
    with write.loop(width) as i:
        y[i] = y_new[i]
        k[i] = k[width * method.last + i]
    last = record.get("g").at(record.get("guard_count") * (POINTS - 1))
    root_finding.update_levels(write, record, last, record.get("levels"))
    record.set("t", t_new)
    record.set("moved", 1)
    record.count("steps")


def advance(method: Method) -> Procedure:
    """Integrate from t to the stop time, the next event, the end of the step budget, the maximum number of steps of a run, or a
    failure; carry out ticks on the way, and update the error weights when due."""
    write = Procedure(f"{method.name}_advance", {"c": "ptr"}, "i64")
    with write.repeat():
        status = write.call("steps", [write["c"]], "i64")
        with write.when(~(status.equals(Status.DOUBT) | status.equals(Status.RENEW))):
            write.give(status)
        write.call("weigh", [write["c"], status])
    write.give(0)
    return write


def update_weights(method: Method) -> Procedure:
    """Update the error weights between two attempts."""
    write = Procedure("weigh", {"c": "ptr", "status": "i64"})
    record = method.record(write)
    weights, implicit = record.get("weights"), write.value(int(not method.explicit), "i64")
    at = [weights, record.get("t"), record.get("y"), record.get("m")]
    step = [*at, record.get("h"), record.get("rtol"), implicit]
    doubt, due = write["status"].equals(Status.DOUBT), record.get("steps") >= record.get("renewal")
    with write.when(doubt):
        write.call(record.get("weights_test_noise"), step)
        record.set("patience", Record(weights, Control.layout()).get("patience"))
    with write.when(~doubt & due):
        write.call(record.get("weights_refresh"), at)
        following = write.local(RENEWALS[0], "i64")
        with write.repeat() as (_, done):
            with write.when(~(following.get() <= record.get("steps"))):
                write.jump(done)
            following.set(write.select(following.get().equals(RENEWALS[-1]), NEVER, following.get() * 2, "i64"))
        record.set("renewal", following.get())
    with write.when(~doubt & ~due):
        relative = record.get("rtol") * write.select(record.get("noisy").equals(0), DECISIVE, 1.0)
        write.call(record.get("weights_decay"), [*at, record.get("h"), relative, implicit])
    record.set("noisy", 0)
    record.set("factored", 0.0)
    with write.loop(record.get("width")) as i, write.when(~record.get("noise")[i].equals(0.0)):
        record.set("noisy", 1)
    write.give()
    return write


def attempts(method: Method) -> Procedure:
    """Take steps until something ends them, or the error weights need an update."""
    write = Procedure("steps", {"c": "ptr"}, "i64", internal=True)
    record = method.record(write)
    c = write["c"]
    write.call("ready", [c])
    with write.repeat() as (again, _):
        due = write.call("proposed", [c], "i64")
        with write.when(due.equals(Status.RETRY)):
            write.jump(again)
        with write.when(~due.equals(Status.ATTEMPT)):
            with write.when(due.equals(Status.STOP)):
                write.call("flush", [c, record.get("t")])
            write.give(due)
        h, t_new, land = record.get("trial"), record.get("target"), record.get("is_landing").equals(1)
        error = write.call("attempt", [c, h, t_new], "double")
        verdict = write.call("judged", [c, error], "i64")
        with write.when(verdict.equals(Status.RETRY)):
            write.jump(again)
        with write.when(~verdict.equals(Status.ACCEPT)):
            write.give(verdict)
        with write.when(record.get("guard_count") > 0):
            with write.when(land):
                _land(method, write, again)
            suspect = write.call("crossing_check", [c, h, t_new], "i64")
            with write.when(suspect.equals(1)):
                write.call("prepare_dense", [c, h])
                theta = write.call("locate", [c, h], "double")
                with write.when(theta <= 1.0):
                    record.set("is_landing", 1)
                    record.set("landings", 0)
                    record.set("landing", theta * h)
                    write.jump(again)
        if not method.explicit:
            outlook = write.call("foresee", [c, h, error], "i64")
            with write.when(outlook.equals(DAMPED)):
                refused = write.call("judged", [c, write.value(float("inf"), "double")], "i64")
                with write.when(refused.equals(Status.RETRY)):
                    write.jump(again)
                write.give(refused)
        write.call("samples", [c, h, t_new])
        stiff = write.local(0, "i64")
        if method.explicit:
            with write.when(record.get("watch").equals(1)):
                stiff.set(write.call("stiffness", [c, h], "i64"))
        _accept(method, write, h, t_new)
        if not method.explicit:
            record.set("moved", write.select(outlook.equals(AT_HAND), 0, 1, "i64"))
        following = write.call("lengthened", [c, error, stiff.get()], "i64")
        with write.when(~following.equals(Status.RETRY)):
            write.give(following)
    write.give(0)
    return write


def _land(method: Method, write: Procedure, again: str) -> None:
    """After the step to the event, correct its length by Newton iteration until the guard is zero, then end the segment.

    The dense output has the rounding error of the whole step, which can exceed the value of a guard at its beginning, for
    instance after a start from zero or where the tolerance is large. If the guard is not near zero after all, or has not jumped,
    and no other has risen, the integration continues with shorter steps.
    """
    record, c = method.record(write), write["c"]
    h, t_new, jumps = record.get("trial"), record.get("target"), record.get("jumps").equals(1)
    g = record.get("g").at(record.get("guard_count") * (POINTS - 1))
    write.call("guard_values", [c, t_new, record.get("y_new"), g])
    with write.when(jumps):
        _approach_jump(method, write, again)
    value, slope = g[record.get("first")], record.get("slope")
    shift = value / slope
    size = write.intrinsic("fabs", shift)
    worth = size > 2.0 * EPSILON * (write.intrinsic("fabs", t_new) + h)
    trusted = (size < _TRUSTED * h) & (slope > 0.0) & ~jumps
    with write.when(worth & trusted & (record.get("landings") < _MOST_LANDINGS)):
        record.count("landings")
        record.set("landing", h - shift)
        write.jump(again)
    write.call("samples", [c, h, t_new])
    before, risen = record.get("g"), write.local(1, "i64")
    early = (h < record.get("h") * _EARLY_FRACTION) & (value < before[record.get("first")] * 0.5)
    below = (value < 0.0) & (jumps | ((slope > 0.0) & worth & ~(size < _TRUSTED * h)))
    with write.when(early | below):
        risen.set(0)
        with write.loop(record.get("guard_count")) as i:
            fires = write.select((before[i] < 0.0) & (g[i] >= 0.0), 1, 0, "i64")
            record.get("fired").store(i, fires, "i64")
            risen.set(write.select(fires.equals(1), 1, risen.get(), "i64"))
    _accept(method, write, h, t_new)
    with write.when(risen.get().equals(0)):
        record.set("is_landing", 0)
        record.set("h", h * GROW)
        write.jump(again)
    write.give(Status.EVENT)


def _approach_jump(method: Method, write: Procedure, again: str) -> None:
    """Land again, at the first time past a jump; a step that ended before it by rounding goes further each time."""
    record = method.record(write)
    h, t_new, landings = record.get("trial"), record.get("target"), record.get("landings")
    value = record.get("g").at(record.get("guard_count") * (POINTS - 1))[record.get("first")]
    shift = write.call("jump_shift", [write["c"], h, t_new], "double")
    behind = (value < 0.0) & (shift > 0.0) & (landings < _MOST_PUSHES)
    beyond = (value >= 0.0) & (shift < -2.0 * EPSILON * (write.intrinsic("fabs", t_new) + h)) & (landings < _MOST_LANDINGS)
    with write.when(behind | beyond):
        further = write.select(behind, shift * (write.real(landings) + 1.0), shift)
        record.count("landings")
        record.set("landing", h + further)
        write.jump(again)


def _jump_shift(method: Method) -> Procedure:
    """Return the time from the end of a step to the nearest jump of the first guard, s, to the end of it where the guard is not
    negative; 0 if there is none nearby. The states follow their rates there: second order terms lie below rounding."""
    write = Procedure("jump_shift", {"c": "ptr", "h": "double", "t_new": "double"}, "double", internal=True)
    record, h, t_new = method.record(write), write["h"], write["t_new"]
    first, y, y_new, g = (record.get(name) for name in ("first", "y_dense", "y_new", "g_dense"))
    rates = record.get("k").at(record.get("width") * method.last)

    def is_past(shift: Temporary) -> Temporary:
        with write.loop(record.get("n")) as i:
            y[i] = y_new[i] + shift * rates[i]
        write.call("guard_values", [write["c"], t_new + shift, y, g])
        return g[first] >= 0.0

    least = 2.0 * EPSILON * h
    past = record.get("g").at(record.get("guard_count") * (POINTS - 1))[first] >= 0.0
    near, far = write.local(0.0), write.local(write.select(past, -1.0 * least, least))
    with write.repeat() as (_, bracketed):
        with write.when(write.intrinsic("fabs", far.get()) > _TRUSTED * h):
            write.give(0.0)
        there = is_past(far.get())
        with write.when((past & ~there) | (~past & there)):
            write.jump(bracketed)
        near.set(far.get())
        far.set(far.get() * _RATIO)
    low, high = write.local(write.select(past, far.get(), near.get())), write.local(write.select(past, near.get(), far.get()))
    with write.repeat() as (_, narrow):
        middle = 0.5 * (low.get() + high.get())
        with write.when((high.get() - low.get() <= least) | ~(middle > low.get()) | ~(middle < high.get())):
            write.jump(narrow)
        there = is_past(middle)
        with write.when(there):
            high.set(middle)
        with write.when(~there):
            low.set(middle)
    write.give(high.get())
    return write


@external
def dense(c: StepTable, theta: float, out: Reals) -> None:
    """Evaluate the state at a fraction of the step, by the method's procedure."""
    raise NotImplementedError


@external
def guard_values(c: StepTable, t: float, y: Reals, g: Reals) -> None:
    """Evaluate the guards (`shared_fields`)."""
    raise NotImplementedError


def _dense_output(method: Method) -> DenseOutput:
    def cubic(c: StepTable, theta: float, h: float, out: Reals) -> None:
        raise NotImplementedError

    cubic.__name__ = method.cubic
    return DenseOutput(dense, external(cubic), guard_values)


def procedures(method: Method) -> list[Procedure]:
    """Return all procedures of a method, with the loop over events around it."""
    step = _dense_output(method)
    parts = [derivative(method.fields), *method.procedures()]
    parts += [part(method) for part in (step_control.proposed, step_control.judged, step_control.lengthened, attempts)]
    cold_parts = [initial_step.first_step(method), shared_fields.guard_values(method.fields)]
    cold_parts += [part(method) for part in (ready, samples, dense_samples, noisy_step, update_weights, advance)]
    cold_parts += translate(functools.partial(function, step=step) for function in (crossing_check, locate))
    cold_parts += [
        part(method)
        for part in (
            _jump_shift,
            sample_clocks.due,
            sample_clocks.flush,
            sample_clocks.carry_out_ticks,
            sample_clocks.tick,
            sample_clocks.start_clocks,
        )
    ]
    cold_parts += [
        *loop.procedures(method.fields, f"{method.name}_advance", Status.EVENT),
        initial_step.open_run(method),
        initial_step.begin(method),
    ]
    return [*parts, *cold(cold_parts)]
