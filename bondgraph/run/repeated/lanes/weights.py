"""Weights of runs side by side: lanes whose steps call for it in; sizes, floors and noise looked at anew out."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.error_control import lane_scales
from bondgraph.run.error_control.fields import FIELDS as ERROR_CONTROL
from bondgraph.run.error_control.lane_couplings import couple_ahead
from bondgraph.run.integrators.explicit.lanes import FIELDS
from bondgraph.run.integrators.one_step.control import DOUBT, RENEW
from bondgraph.run.repeated.lanes.tables import move, of_lane

BEGIN = 30
"""Of a lane that has taken a run: its first weights are to be found, besides what `one_step.control` asks for."""
_PATIENCE = 8
"""Attempts of other lanes for which one waits with a look at its weights."""


def procedures(lanes: int) -> list[Procedure]:
    """`weigh_all`, and what it needs."""
    return [_weigh(), couple_ahead(lanes), *lane_scales.procedures(lanes), _weigh_all(lanes)]


def is_due(record: Record, lane: Temporary) -> Temporary:
    """Whether the weights of a lane are to be looked at anew."""
    found = record.get("found").load(lane, "i64")
    return found.equals(DOUBT) | found.equals(RENEW) | found.equals(BEGIN)


def _weigh() -> Procedure:
    """The weights of a lane are looked at anew, or for the first time; then its first step is made ready."""
    write = Procedure("weigh_lane", {"v": "ptr", "lane": "i64", "status": "i64"}, internal=True)
    record = Record(write["v"], FIELDS)
    own = of_lane(record, write["lane"])
    begins = write["status"].equals(BEGIN)
    with write.when(begins):
        y = own.get("y")
        write.call(own.get("weights_begin"), [own.get("weights"), own.get("t"), y, y.at(own.get("n")), own.get("m")])
    with write.when(~begins):
        write.call(record.get("weigh"), [own.pointer, write["status"]])
    control = Record(own.get("weights"), ERROR_CONTROL)
    control.set("ahead", 0)
    control.set("scaled", 0)
    with write.when(begins):
        write.call(record.get("ready"), [own.pointer])
        move(write, "spread", record, own, ("k",), write["lane"])
    move(write, "spread", record, own, ("size", "floor", "noise"), write["lane"])
    write.give()
    return write


def _ahead(write: Procedure, record: Record, lanes: int) -> None:
    """Couplings and natural scales of all lanes that want them, at once."""
    t, now, states, modes = (record.get(name) for name in ("t", "now", "own_states", "own_modes"))
    with write.loop(lanes) as lane:
        own = of_lane(record, lane)
        t[lane] = own.get("t")
        now[lane] = record.get("origin") + own.get("t")
        states.store(lane, own.get("y"), "ptr")
        modes.store(lane, own.get("m"), "ptr")
    wanted = record.get("wanted")
    write.call("couple_ahead", [record.get("couplings"), now, *(record.get(name) for name in ("y", "p", "m")), wanted])
    write.call("scale_ahead", [record.get("scales"), t, states, modes, wanted])


def _weigh_all(lanes: int) -> Procedure:
    """The weights of the lanes whose steps call for it are looked at anew, their couplings being found for all at once; a lane
    waits a little for others with which it can share them."""
    write = Procedure("weigh_all", {"v": "ptr"}, internal=True)
    record, v = Record(write["v"], FIELDS), write["v"]
    wanted, runs = record.get("wanted"), record.get("runs")
    due, under_way = write.local(0, "i64"), write.local(0, "i64")
    with write.loop(lanes) as lane:
        waits = write.select(is_due(record, lane), 1, 0, "i64")
        wanted.store(lane, waits, "i64")
        due.set(due.get() + waits)
        under_way.set(under_way.get() + write.select(runs.load(lane, "i64") >= 0, 1, 0, "i64"))
    with write.when(due.get().equals(0)):
        write.give()
    waits = (due.get() * 2 < under_way.get()) & (record.get("waited") < _PATIENCE)
    with write.when(record.get("couplings").is_given() & waits):
        record.count("waited")
        write.give()
    with write.loop(lanes) as lane, write.when(wanted.load(lane, "i64").equals(1)):
        move(write, "gather", record, of_lane(record, lane), ("y", "size"), lane)
    with write.when(record.get("couplings").is_given() & (due.get() > 1)):
        _ahead(write, record, lanes)
    record.set("waited", 0)
    with write.loop(lanes) as lane, write.when(wanted.load(lane, "i64").equals(1)):
        write.call("weigh_lane", [v, lane, record.get("found").load(lane, "i64")])
        record.get("found").store(lane, 0, "i64")
    write.give()
    return write
