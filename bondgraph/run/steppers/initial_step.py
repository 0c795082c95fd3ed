"""Start of a run in machine code: reset the tables of integrator, error control, clocks and events, carry out ticks and events at
the start, write the first row, and choose the initial step size."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.reference.error_weights import MAX_RETRIES, RENEWALS, RETRY_LIMITS
from bondgraph.run.events.state import EventTable
from bondgraph.run.steppers.method import Method, error_weight

_COUNTS = (
    "steps rejected rate_count jacobian_count guard_calls noisy_steps written tried stiff mild doubts noisy is_landing"
    " landings cornered inspection retries"
)


_GIVEN = {**dict.fromkeys(("c", "x", "m", "times", "rows"), "ptr"), "samples": "i64"}


def begin(method: Method) -> Procedure:
    """Start a run from (x, m) at the time 0, with this number of samples, and write the first row; return 1, or 0 if Python has
    to start it."""
    write = Procedure(f"{method.name}_begin", _GIVEN, "i64")
    record = method.record(write)
    y = record.get("y")
    with write.when(write.call(f"{method.name}_open", [write[name] for name in _GIVEN], "i64").equals(0)):
        write.give(0)
    at = [record.get("weights"), record.get("t"), y, y.at(record.get("n")), record.get("m")]
    write.call(record.get("weights_begin"), at)
    write.give(1)
    return write


def open_run(method: Method) -> Procedure:
    """Start a run as `begin`, but without the first error weights."""
    write = Procedure(f"{method.name}_open", _GIVEN, "i64")
    record = method.record(write)
    n, width, y, weights = (record.get(name) for name in ("n", "width", "y", "weights"))
    rows, m, window, instants = write["rows"], record.get("m"), record.get("window"), record.get("instants")
    for name in _COUNTS.split():
        record.set(name, 0)
    for name in ("t", "pace", "t_inspected"):
        record.set(name, 0.0)
    record.set("fresh", 1)
    record.set("renewal", RENEWALS[0])
    record.set("patience", RETRY_LIMITS[0])
    record.set("retry_limit", MAX_RETRIES)
    window[0], window[1] = -float("inf"), float("inf")
    with write.loop(record.get("mode_count")) as i:
        m[i] = write["m"][i]
    with write.loop(record.get("guard_count")) as i:
        record.get("levels")[i] = 0.0
    with write.loop(width) as i:
        y[i] = 0.0
    with write.loop(n) as i:
        y[i] = write["x"][i]
    with write.when(instants.is_given()), write.when(write.call("open", [instants], "i64").equals(0)):
        write.give(0)
    with write.loop(n) as i:
        record.get("y_begun")[i] = y[i]
    write.call("start_clocks", [write["c"]])
    write.call(record.get("weights_reset"), [weights])  # before event handling, which needs the sizes of states so far
    with write.when(instants.is_given()):
        with write.when(write.call("handle_start", [instants], "i64").equals(0)):
            write.give(0)
        Record(instants, EventTable.layout()).set("rows", rows.at(width))
    with write.when(write.call("all_finite", [y, n], "i64").equals(0)):
        write.give(0)
    with write.loop(width) as i:
        rows[i] = y[i]
    record.set("times", write["times"].at(1))
    record.set("rows", rows.at(width))
    record.set("samples", write["samples"] - 1)
    write.give(1)
    return write


def first_step(method: Method) -> Procedure:
    """Choose the initial step size from two evaluations, of which k[0] exists already (after Hairer, Norsett, Wanner, II.4).

    Rates of size d1 (in weights per second) that change in the time tau give an error of about d1 tau (h / tau)^p; see `root`.
    """
    write = Procedure("first_step", {"c": "ptr"}, "double", internal=True)
    record = method.record(write)
    n, k, y, trial = record.get("n"), record.get("k"), record.get("y"), record.get("y_stage")
    later = k.at(record.get("width"))
    longest = write.intrinsic("minnum", record.get("h_max"), record.get("stop") - record.get("t"))

    def norm(term: Sequence[Temporary], over: Temporary | None = None) -> Temporary:
        total = write.local(0.0)
        with write.loop(n) as i:
            scale = error_weight(write, record, i, write.intrinsic("fabs", y[i]))
            part = term[0][i] if over is None else term[0][i] - over[i]
            part = part / scale
            total.set(total.get() + part * part)
        return write.intrinsic("sqrt", total.get())

    size, speed = norm([y]), norm([k])
    flat = (size < 1e-5) | (speed * longest < 1e-5)
    h = write.select(flat, longest * 1e-6, size * 0.01 / speed)
    h = write.intrinsic("minnum", h, longest)
    with write.loop(record.get("width")) as i:
        trial[i] = y[i] + h * k[i]
    write.call("derivative", [write["c"], record.get("t") + h, trial, later, write.value(0, "i64")])
    bend = norm([later], k) / h
    fast = write.intrinsic("maxnum", speed, bend * h)
    tau = fast / bend
    by_bend = tau * method.root(write, 0.01 / (fast * tau))
    wild = ~((bend * 0.0).equals(0.0))
    h = write.select(wild, h * 1e-3, write.intrinsic("minnum", h * 100.0, by_bend))
    write.give(write.intrinsic("minnum", h, longest))
    return write
