"""Natural scales of several runs side by side: the couplings of each in; its fastest rates and scales, where its error control
will ask for them next, out.

Runs whose couplings have the same structure go through `balancing` by fours; the others have their scales one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.error_control import balancing, weighing
from bondgraph.run.error_control.abreast import Abreast, Wide
from bondgraph.run.error_control.driving import structure_of
from bondgraph.run.error_control.fields import CARRIED, PATTERN, RAPID
from bondgraph.run.error_control.fields import FIELDS as ERROR_CONTROL
from bondgraph.run.table import FieldTable, fields_of

FOUR = 4
"""Runs that go together. Most of it are divisions, and no processor does more of these at once."""

# weights: the tables of `fields`, of each lane; see, couplings, drawn: procedures of a run alone; values, rates, scales, work: of
# the runs of a four; members: their lanes; left: 1 for each lane that is in none yet.
FIELDS = fields_of(("weights", "see", "couplings", "drawn", "values", "rates", "scales", "work", "members", "left"), ())


def lane_scales(n: int, entries: int, weights: Sequence[FieldTable]) -> FieldTable:
    """What `scale_ahead` takes, for n states with so many couplings at most, and lanes whose error control has these tables."""
    library, table = weighing.machine_code(), FieldTable(FIELDS)
    lengths = {"values": entries, "rates": n, "scales": n, "work": max(3 * n + 1, n + entries)}
    for name, length in lengths.items():
        table.point(name, aligned_zeros(length * FOUR))
    for name, length in {"members": FOUR, "left": len(weights)}.items():
        table.point(name, np.zeros(length, dtype=np.int64))
    for name, procedure in {"see": "weights_see", "couplings": "couplings", "drawn": "drawn"}.items():
        table.point(name, library.address(procedure))
    table.point("weights", np.array([each.address for each in weights], dtype=np.uint64))
    return table


def procedures(lanes: int) -> list[Procedure]:
    """`scale_ahead`, and what it needs."""
    return [*balancing.procedures(FOUR), _rapid(), _carried(), _by_fours(lanes), _scale_ahead(lanes)]


def _weights(record: Record, lane: Temporary) -> Record:
    """The table of the error control of a lane."""
    return Record(record.get("weights").load(lane, "ptr"), ERROR_CONTROL)


def _members(record: Record) -> list[Record]:
    members = record.get("members")
    return [_weights(record, members.load(place, "i64")) for place in range(FOUR)]


def _taken(write: Procedure, target: Temporary, runs: list[Record], name: str, count: Temporary) -> None:
    """So many numbers of this name of each run side by side."""
    arrays, wide = [run.get(name) for run in runs], Wide(target, FOUR)
    with write.loop(count) as i:
        wide[i] = Abreast([array[i] for array in arrays])


def _given_back(write: Procedure, source: Temporary, runs: list[Record], name: str, count: Temporary) -> None:
    """So many numbers side by side to each run."""
    arrays, wide = [run.get(name) for run in runs], Wide(source, FOUR)
    with write.loop(count) as i:
        for array, value in zip(arrays, wide[i].numbers, strict=True):
            array[i] = value


def _four(name: str) -> tuple[Procedure, Record, list[Record], list[Temporary]]:
    """A procedure for the runs of a four: its table and theirs, the structure and the values of their couplings."""
    write = Procedure(name, {"a": "ptr"}, internal=True)
    record = Record(write["a"], FIELDS)
    runs, values = _members(record), record.get("values")
    _taken(write, values, runs, "values", Record(runs[0].get("pattern"), PATTERN).get("beside_count"))
    return write, record, runs, [structure_of(runs[0]), values]


def _rapid() -> Procedure:
    """Fastest rates of the runs of a four."""
    write, record, runs, couplings = _four("rapid_four")
    n, rates = runs[0].get("n"), record.get("rates")
    _taken(write, rates, runs, "diagonal", n)
    write.call("fastest", [*couplings, rates, record.get("work")])
    _given_back(write, rates, runs, "fastest", n)
    for run in runs:
        run.set("scaled", RAPID)
    write.give()
    return write


def _carried() -> Procedure:
    """Scales of the runs of a four, carried along their couplings."""
    write, record, runs, couplings = _four("carried_four")
    n, rates, scales = runs[0].get("n"), record.get("rates"), record.get("scales")
    _taken(write, rates, runs, "fastest", n)
    _taken(write, scales, runs, "later", n)
    write.call("carry", [*couplings, rates, scales, record.get("work")])
    _given_back(write, scales, runs, "later", n)
    for run in runs:
        run.set("scaled", CARRIED)
    write.give()
    return write


def _by_fours(lanes: int) -> Procedure:
    """Fastest rates, or then scales (`carried`), of the lanes that are wanted, by fours of the same structure; those that are
    alone with theirs are left out."""
    write = Procedure("by_fours", {"a": "ptr", "wanted": "ptr", "carried": "i64"}, internal=True)
    record = Record(write["a"], FIELDS)
    left, members, count = record.get("left"), record.get("members"), write.local(0, "i64")

    def structure(lane: Temporary) -> Temporary:
        pattern = Record(_weights(record, lane).get("pattern"), PATTERN)
        return pattern.pointer.load(PATTERN["structure"][0], "i64")

    def is_alike(lane: Temporary, own: Temporary) -> Temporary:
        return structure(lane).equals(own)

    def is_left(lane: Temporary) -> Temporary:
        return left.load(lane, "i64").equals(1)

    with write.loop(lanes) as lane:
        left.store(lane, write["wanted"].load(lane, "i64"), "i64")
    with write.loop(lanes) as first, write.when(is_left(first)):
        own = structure(first)
        count.set(0)
        with write.loop(FOUR) as place:
            members.store(place, first, "i64")
        with write.loop(lanes, first) as lane, write.when(is_left(lane) & (count.get() < FOUR)), write.when(is_alike(lane, own)):
            members.store(count.get(), lane, "i64")
            left.store(lane, 0, "i64")
            count.set(count.get() + 1)
        with write.when(count.get() > 1):
            with write.when(write["carried"].equals(0)):
                write.call("rapid_four", [write["a"]])
            with write.when(write["carried"].equals(1)):
                write.call("carried_four", [write["a"]])
    write.give()
    return write


def _scale_ahead(lanes: int) -> Procedure:
    """Natural scales of the lanes that are `wanted`, whose nonzeros are there; times (lanes,), and places of states and modes."""
    arguments = dict.fromkeys(("a", "t", "x", "m", "wanted"), "ptr")
    write = Procedure("scale_ahead", arguments, internal=True)
    record, wanted = Record(write["a"], FIELDS), write["wanted"]

    def at(lane: Temporary) -> tuple[Record, list[Temporary]]:
        own = _weights(record, lane)
        x, m = (write[name].load(lane, "ptr") for name in ("x", "m"))
        return own, [own.pointer, write["t"][lane], x, m]

    with write.loop(lanes) as lane, write.when(wanted.load(lane, "i64").equals(1)):
        own, place = at(lane)
        write.call(record.get("see"), [own.pointer, place[2]])
        own.set("scaled", 0)
        write.call(record.get("couplings"), place)
    write.call("by_fours", [write["a"], wanted, write.value(0, "i64")])
    with write.loop(lanes) as lane, write.when(wanted.load(lane, "i64").equals(1)):
        own, place = at(lane)
        with write.when(own.get("scaled").equals(RAPID)):
            write.call(record.get("drawn"), [*place, own.get("size")])
    write.call("by_fours", [write["a"], wanted, write.value(1, "i64")])
    write.give()
    return write
