"""Error weights of runs in SIMD lanes: update sizes, floors and noise of the runs that are due."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.fields import Control
from bondgraph.run.batch.simd import lane_jacobians, natural_scales
from bondgraph.run.batch.simd.lane_steps import FIELDS
from bondgraph.run.batch.simd.tables import UNDER_WAY, table_of
from bondgraph.run.status import Status


def procedures(lanes: int) -> list[Procedure]:
    """Return `weigh_all` and the procedures it calls."""
    return [
        _update_weights(),
        *lane_jacobians.procedures(lanes),
        *natural_scales.procedures(),
        _ahead(lanes),
        _update_all_weights(lanes),
    ]


def _is_due(status: Temporary) -> Temporary:
    """Return 1 if the error weights of a run with this status need an update."""
    return status.equals(Status.DOUBT) | status.equals(Status.RENEW) | status.equals(Status.LANE_STARTS)


def _update_weights() -> Procedure:
    """Refresh the weights of a run, or begin them, then prepare its next step."""
    write = Procedure("weigh_run", {"v": "ptr", "place": "i64"}, internal=True)
    record, slot = Record(write["v"], FIELDS), write["place"]
    integrator, statuses = table_of(record, slot), record.get("found")
    begins = statuses.load(slot, "i64").equals(Status.LANE_STARTS)
    with write.when(begins):
        y = integrator.get("y")
        write.call(
            integrator.get("weights_begin"),
            [integrator.get("weights"), integrator.get("t"), y, y.at(integrator.get("n")), integrator.get("m")],
        )
    with write.when(~begins):
        write.call(record.get("update_weights"), [integrator.pointer, statuses.load(slot, "i64")])
    control = Record(integrator.get("weights"), Control.layout())
    for name in ("ahead", "rated", "scaled"):
        control.set(name, 0)
    with write.when(begins):
        write.call(record.get("ready"), [integrator.pointer])
    statuses.store(slot, Status.LANE_WAITS, "i64")
    write.give()
    return write


def _ahead(lanes: int) -> Procedure:
    """Compute couplings, rates and natural scales of the due runs, one per lane, at once."""
    write = Procedure("look_ahead_together", {"v": "ptr", "count": "i64"}, internal=True)
    record, due, count = Record(write["v"], FIELDS), Record(write["v"], FIELDS).get("due"), write["count"]
    t, now, y, p, m, k = (record.get(f"due_{name}") for name in ("t", "now", "y", "p", "m", "k"))
    states, modes = (record.get(f"due_{name}") for name in ("states", "modes"))
    with write.loop(count) as lane:
        integrator = table_of(record, due.load(lane, "i64"))
        t[lane] = integrator.get("t")
        now[lane] = record.get("origin") + integrator.get("t")
        states.store(lane, integrator.get("y"), "ptr")
        modes.store(lane, integrator.get("m"), "ptr")
        for wide, name, length in (
            (y, "y", integrator.get("n")),
            (p, "p", record.get("parameters")),
            (m, "m", integrator.get("mode_count")),
        ):
            write.call("spread", [wide, integrator.get(name), length, lane])
    write.call("couple_ahead", [record.get("couplings"), now, y, p, m, due, count])
    write.call(record.get("rates"), [now, y, p, m, k])
    with write.loop(count) as lane:
        control = Record(table_of(record, due.load(lane, "i64")).get("weights"), Control.layout())
        write.call("gather", [control.get("driven"), k, record.get("n"), lane])
        control.set("rated", 1)
    write.call("scale_ahead", [record.get("scales"), t, states, modes, due, count])
    write.give()
    return write


def _update_all_weights(lanes: int) -> Procedure:
    """Refresh the weights of the due runs once they fill the lanes, or a lane would idle."""
    write = Procedure("weigh_all", {"v": "ptr"}, internal=True)
    record, v = Record(write["v"], FIELDS), write["v"]
    due, runs = record.get("due"), record.get("runs")
    count, others = write.local(0, "i64"), write.local(0, "i64")
    with write.loop(UNDER_WAY * lanes) as slot, write.when(runs.load(slot, "i64") >= 0):
        is_due = _is_due(record.get("found").load(slot, "i64"))
        with write.when(~is_due):
            others.set(others.get() + 1)
        with write.when(is_due & (count.get() < lanes)):
            due.store(count.get(), slot, "i64")
            count.set(count.get() + 1)
    with write.when((count.get() < lanes) & (others.get() >= lanes)):
        write.give()
    with write.when(record.get("couplings").is_given() & (count.get() > 1)):
        write.call("look_ahead_together", [v, count.get()])
    with write.loop(count.get()) as k:
        write.call("weigh_run", [v, due.load(k, "i64")])
    write.give()
    return write
