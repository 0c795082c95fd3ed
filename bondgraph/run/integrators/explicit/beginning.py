"""A run begins: start values in; tables of integrator, error control, clocks and events as if they were new, what is due at the
start carried out, and the first row, out."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.error_control.weights import PATIENCE, RENEWALS
from bondgraph.run.instants.fields import FIELDS as INSTANTS
from bondgraph.run.integrators.explicit.steps import record_of

_COUNTS = "steps rejected rate_count guard_calls noisy_steps written tried stiff mild doubts noisy is_landing landings cornered"


def begin() -> Procedure:
    """From (x, m) at the time 0, with so many samples, the first of them there, whose rows are to be filled: 1 if that is done, 0
    where Python has to begin."""
    write = Procedure("dop853_begin", {**dict.fromkeys(("c", "x", "m", "times", "rows"), "ptr"), "samples": "i64"}, "i64")
    record = record_of(write)
    n, width, y, weights = (record.get(name) for name in ("n", "width", "y", "weights"))
    rows, m, window, instants = write["rows"], record.get("m"), record.get("window"), record.get("instants")
    for name in _COUNTS.split():
        record.set(name, 0)
    record.set("t", 0.0)
    record.set("fresh", 1)
    record.set("renewal", RENEWALS[0])
    record.set("patience", PATIENCE[0])
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
    with write.when(instants.is_given()):
        with write.when(write.call("settle_start", [instants], "i64").equals(0)):
            write.give(0)
        Record(instants, INSTANTS).set("rows", rows.at(width))
    with write.when(write.call("all_finite", [y, n], "i64").equals(0)):
        write.give(0)
    with write.loop(width) as i:
        rows[i] = y[i]
    record.set("times", write["times"].at(1))
    record.set("rows", rows.at(width))
    record.set("samples", write["samples"] - 1)
    write.call(record.get("weights_reset"), [weights])
    write.call(record.get("weights_begin"), [weights, record.get("t"), y, y.at(n), m])
    write.give(1)
    return write
