"""Natural scales of several runs side by side: compute the fastest rates and scales of each from its couplings, before its error
control needs them.

Runs whose couplings share a structure go through `balancing` in groups of four; the others get their scales one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy import balancing, error_weights
from bondgraph.run.accuracy.fields import FASTEST_RATES, PROPAGATED, Control, SparsityPattern
from bondgraph.run.simd_values import SimdArray, SimdNumber
from bondgraph.run.table import FieldTable, fields_of

FOUR = 4
"""Runs per group: divisions dominate, and wider vectors do not speed them up."""

# weights: the tables of `fields`, of each run; see, couplings, local_scales: procedures of a single run; values, rates, scales,
# work: of the runs of a group; members: their indices; left: 1 for each due run that is in no group yet.
FIELDS = fields_of(("weights", "see", "couplings", "local_scales", "values", "rates", "scales", "work", "members", "left"), ())


def lane_scales(n: int, entries: int, weights: Sequence[FieldTable]) -> FieldTable:
    """Return the table of `scale_ahead`, for n states with at most `entries` couplings, and runs with these error control
    tables."""
    library, table = error_weights.machine_code(), FieldTable(FIELDS)
    lengths = {"values": entries, "rates": n, "scales": n, "work": max(3 * n + 1, n + entries)}
    for name, length in lengths.items():
        table.point(name, aligned_zeros(length * FOUR))
    for name, length in {"members": FOUR, "left": len(weights)}.items():
        table.point(name, np.zeros(length, dtype=np.int64))
    for name, procedure in {"see": "weights_see", "couplings": "couplings", "local_scales": "local_scales"}.items():
        table.point(name, library.address(procedure))
    table.point("weights", np.array([each.address for each in weights], dtype=np.uint64))
    return table


def procedures() -> list[Procedure]:
    """Return `scale_ahead` and the procedures it calls."""
    return [*balancing.procedures(FOUR), _rapid(), _carried(), _by_fours(), _scale_ahead()]


def _weights(record: Record, run: Temporary) -> Record:
    """Return the table of the error control of a run."""
    return Record(record.get("weights").load(run, "ptr"), Control.layout())


def _members(record: Record) -> list[Record]:
    members = record.get("members")
    return [_weights(record, members.load(slot, "i64")) for slot in range(FOUR)]


def _load_lanes(write: Procedure, target: Temporary, runs: list[Record], name: str, count: Temporary) -> None:
    """Load `count` numbers of a field of each run into SIMD lanes."""
    arrays, wide = [run.get(name) for run in runs], SimdArray(target, FOUR)
    with write.loop(count) as i:
        wide[i] = SimdNumber([array[i] for array in arrays])


def _store_lanes(write: Procedure, source: Temporary, runs: list[Record], name: str, count: Temporary) -> None:
    """Store `count` numbers from SIMD lanes to a field of each run."""
    arrays, wide = [run.get(name) for run in runs], SimdArray(source, FOUR)
    with write.loop(count) as i:
        for array, value in zip(arrays, wide[i].numbers, strict=True):
            array[i] = value


def _of_four(name: str, procedure: str, inputs: Mapping[str, str], result: str, level: int) -> Procedure:
    """Write a procedure that calls one of `balancing` for the runs of a group, with their couplings.

    `inputs` maps its array arguments to the fields of each run; the last one is stored back to each run as `result`, and marks
    its scales as ready up to `level`.
    """
    write = Procedure(name, {"a": "ptr"}, internal=True)
    record = Record(write["a"], FIELDS)
    runs, values = _members(record), record.get("values")
    _load_lanes(write, values, runs, "values", Record(runs[0].get("pattern"), SparsityPattern.layout()).get("beside_count"))
    n, arrays = runs[0].get("n"), [record.get(array) for array in inputs]
    for array, control in zip(arrays, inputs.values(), strict=True):
        _load_lanes(write, array, runs, control, n)
    write.call(
        procedure,
        [Record(runs[0].get("pattern"), SparsityPattern.layout()).get("structure"), values, *arrays, record.get("work")],
    )
    _store_lanes(write, arrays[-1], runs, result, n)
    for run in runs:
        run.set("scaled", level)
    write.give()
    return write


def _rapid() -> Procedure:
    """Compute the fastest rates of the runs of a group."""
    return _of_four("rapid_four", "fastest", {"rates": "diagonal"}, "fastest", FASTEST_RATES)


def _carried() -> Procedure:
    """Propagate the scales of the runs of a group along their couplings."""
    return _of_four("carried_four", "propagate", {"rates": "fastest", "scales": "later"}, "later", PROPAGATED)


def _by_fours() -> Procedure:
    """Compute fastest rates, or then scales (`carried`), of the due runs, in groups of four with the same structure; skip runs
    with a structure of their own."""
    write = Procedure("by_fours", {"a": "ptr", "due": "ptr", "count": "i64", "carried": "i64"}, internal=True)
    record, due = Record(write["a"], FIELDS), write["due"]
    remaining, members, many = record.get("left"), record.get("members"), write.local(0, "i64")

    def structure(slot: Temporary) -> Temporary:
        pattern = Record(_weights(record, due.load(slot, "i64")).get("pattern"), SparsityPattern.layout())
        return pattern.get("structure_key")

    with write.loop(write["count"]) as slot:
        remaining.store(slot, 1, "i64")
    with write.loop(write["count"]) as first, write.when(remaining.load(first, "i64").equals(1)):
        control = structure(first)
        many.set(0)
        with write.loop(FOUR) as member:
            members.store(member, due.load(first, "i64"), "i64")
        with write.loop(write["count"], first) as slot:
            joins = remaining.load(slot, "i64").equals(1) & (many.get() < FOUR) & structure(slot).equals(control)
            with write.when(joins):
                members.store(many.get(), due.load(slot, "i64"), "i64")
                remaining.store(slot, 0, "i64")
                many.set(many.get() + 1)
        with write.when((many.get() > 1) & write["carried"].equals(0)):
            write.call("rapid_four", [write["a"]])
        with write.when((many.get() > 1) & write["carried"].equals(1)):
            write.call("carried_four", [write["a"]])
    write.give()
    return write


def _scale_ahead() -> Procedure:
    """Compute natural scales of the `count` runs that are `due` and whose nonzeros are ready, with the time of each and the
    addresses of its states and modes."""
    arguments = {**dict.fromkeys(("a", "t", "x", "m", "due"), "ptr"), "count": "i64"}
    write = Procedure("scale_ahead", arguments, internal=True)
    record, due, count = Record(write["a"], FIELDS), write["due"], write["count"]

    def at(slot: Temporary) -> tuple[Record, list[Temporary]]:
        control = _weights(record, due.load(slot, "i64"))
        x, m = (write[name].load(slot, "ptr") for name in ("x", "m"))
        return control, [control.pointer, write["t"][slot], x, m]

    with write.loop(count) as slot:
        control, operands = at(slot)
        write.call(record.get("see"), [control.pointer, operands[2]])
        control.set("scaled", 0)
        write.call(record.get("couplings"), operands)
    write.call("by_fours", [write["a"], due, count, write.value(0, "i64")])
    with write.loop(count) as slot:
        control, operands = at(slot)
        with write.when(control.get("scaled").equals(FASTEST_RATES)):
            write.call(record.get("local_scales"), [*operands, control.get("size")])
    write.call("by_fours", [write["a"], due, count, write.value(1, "i64")])
    write.give()
    return write
