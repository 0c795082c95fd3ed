"""Step size control by the local error: propose a step size, accept or reject a step, and adapt the next step size.

No procedure touches a state, so that runs in SIMD lanes share them with single runs.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.clock_schedule import SAME_TIME
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.status import Status
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.segment import FIRST_INSPECTION, HOPELESS_RATIO, MIN_STEPS_BEFORE_GIVING_UP

GROW = 6.0
"""Largest growth factor of the step size."""
_SAFE, _SHRINK = 0.9, 0.2
# At the smallest step size the error weights are updated once, and a step larger by this factor is tried.
_ANOTHER = 1e3
# Noise is measured again after this many steps that used it.
_STALE = 100


def _tick(write: Procedure, record: Record) -> None:
    """If a tick is due at t before the end, carry it out and restart, or end the segment if a guard jumps."""
    following = write.call("due", [write["c"]], "double")
    t, stop = record.get("t"), record.get("stop")
    size = write.intrinsic("maxnum", write.intrinsic("fabs", t), write.intrinsic("fabs", following))
    inside = following < stop - write.intrinsic("fabs", stop) * SAME_TIME
    with write.when((following - t <= size * SAME_TIME) & inside):
        record.set("is_landing", 0)
        jumped = write.call("tick", [write["c"], following], "i64")
        with write.when(jumped.equals(1)):
            write.give(Status.EVENT)
        write.give(Status.RETRY)


def _pause_if_too_many_steps(write: Procedure, record: Record) -> None:
    """Pause if there are, or will be, too many steps (see `segment.too_many_steps`); test at every step, so that the result does
    not depend on where else the loop pauses."""
    steps, most = record.get("steps"), record.get("most")
    with write.when(steps > most):
        write.give(Status.PAUSE)
    with write.when(steps >= MIN_STEPS_BEFORE_GIVING_UP):
        scaled = record.get("t") / record.get("span") * write.real(most) * HOPELESS_RATIO
        with write.when(scaled <= write.real(steps)):
            write.give(Status.PAUSE)
    with write.when((steps >= FIRST_INSPECTION) & (steps >= record.get("inspection"))):
        _inspect_pace(write, record)


def _inspect_pace(write: Procedure, record: Record) -> None:
    """Pause if the run would take too many steps at the pace since the last inspection; set `pace` to it, s. The number of steps
    doubles from one inspection to the next."""
    t, steps, since = record.get("t"), record.get("steps"), record.get("t_inspected")
    pace = (t - since) / (write.real(steps) - 0.5 * write.real(record.get("inspection")))
    record.set("inspection", steps * 2)
    record.set("t_inspected", t)
    with write.when(pace * write.real(record.get("most") - steps) < record.get("span") - t):
        record.set("pace", pace)
        write.give(Status.PAUSE)


def proposed(method: Method) -> Procedure:
    """Propose the next step, of length `trial` to the time `target`, or end the segment."""
    write = Procedure("proposed", {"c": "ptr"}, "i64")
    record = method.record(write)
    t, stop = record.get("t"), record.get("stop")
    with write.when(stop - t <= write.select(record.get("steps") > 0, tiny_of(write, t), 0.0)):
        record.set("t", stop)
        write.give(Status.STOP)
    with write.when(record.get("tried") >= record.get("budget")):
        write.give(Status.PAUSE)
    _pause_if_too_many_steps(write, record)
    record.count("tried")
    record.set("horizon", stop)
    with write.when(record.get("clock_count") > 0):
        _tick(write, record)
    horizon = record.get("horizon")
    h = write.intrinsic("minnum", record.get("h"), record.get("h_max"))
    last = t + h * 1.01 >= horizon
    land = record.get("is_landing").equals(1)
    h = write.select(land, record.get("landing"), write.select(last, horizon - t, h))
    record.set("trial", h)
    record.set("target", write.select(land, t + h, write.select(last, horizon, t + h)))
    record.set("is_last", write.select(last, 1, 0, "i64"))
    write.give(Status.ATTEMPT)
    return write


def judged(method: Method) -> Procedure:
    """Accept a step with this error over tolerance, or reject it: retry a shorter one, test for noise, or fail. A step that is
    rejected again and again is tested early: scatter does not fall with the order of the method."""
    write = Procedure("judged", {"c": "ptr", "error": "double"}, "i64")
    record, error = method.record(write), write["error"]
    h, finite, tiny = record.get("trial"), (error * 0.0).equals(0.0), tiny_of(write, record.get("t"))
    with write.when((error <= 1.0) | (record.get("is_landing").equals(1) & finite)):
        record.set("retries", 0)
        write.give(Status.ACCEPT)
    record.set("is_landing", 0)
    factor = write.intrinsic("maxnum", _SHRINK, _SAFE / method.root(write, error))
    record.set("h", h * write.select(finite, factor, _SHRINK))
    record.count("rejected")
    record.set("grow", 1.0)
    record.count("doubts")
    record.count("retries")
    with write.when(~(record.get("h") > tiny + 1e-300)):
        with write.when(record.get("cornered").equals(1)):
            write.give(write.select(finite, Status.STEP_TOO_SMALL, Status.NOT_FINITE, "i64"))
        record.set("cornered", 1)
        record.set("h", record.get("h") * _ANOTHER)
        record.set("doubts", record.get("patience"))
    with write.when(record.get("doubts") >= record.get("patience")):
        record.set("doubts", 0)
        write.give(Status.DOUBT)
    with write.when((record.get("retries") >= record.get("retry_limit")) & record.get("noisy").equals(0)):
        record.set("retry_limit", record.get("retry_limit") * 2)
        write.give(Status.RENEW)
    write.give(Status.RETRY)
    return write


def lengthened(method: Method) -> Procedure:
    """After an accepted step: choose the next step size, and report stiffness or error weights that need an update."""
    write = Procedure("lengthened", {"c": "ptr", "error": "double", "stiff": "i64"}, "i64")
    record = method.record(write)
    following = next_length(method, write, write["error"])
    record.set("grow", GROW)
    record.set("h", following)
    with write.when(write["stiff"].equals(1)):
        write.give(Status.STIFF)
    with write.when((record.get("steps") >= record.get("renewal")) | (record.get("noisy") > _STALE)):
        write.give(Status.RENEW)
    write.give(Status.RETRY)
    return write


def next_length(method: Method, write: Procedure, error: Temporary) -> Temporary:
    """Return the length of the step after an accepted one with this error over tolerance."""
    record = method.record(write)
    h, wish = record.get("trial"), _SAFE / method.root(write, write.intrinsic("maxnum", error, 1e-30))
    factor = write.intrinsic("minnum", record.get("grow"), write.intrinsic("maxnum", _SHRINK, wish))
    longer = write.intrinsic("maxnum", record.get("h"), h * factor)
    return write.select(record.get("is_last").equals(1), longer, h * factor)


def tiny_of(write: Procedure, t: Temporary) -> Temporary:
    """Return the rounding error of a time."""
    return 16.0 * EPSILON * write.intrinsic("fabs", t)
