"""Jacobians of several runs in SIMD lanes, computed together before the error control of each run needs them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.emit.interpreter.lanes import lane_steps, machine_code
from bondgraph.emit.interpreter.steps import InterpretedSteps
from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.accuracy.fields import Control
from bondgraph.run.table import FieldTable, fields_of

# Arrays of `interpreter.lanes`; input_places ... input_indices: place of each input among the numbers, its block (t, y, p, m) and
# its index there; blocks: addresses of these; weights: the tables of `fields`, of each run.
_POINTERS = "interpret quick guarded columns numbers rows found input_places input_blocks input_indices blocks weights"
FIELDS = fields_of(_POINTERS.split(), ("step_count", "first", "input_count", "entry_count"))


def lane_couplings(steps: InterpretedSteps, lanes: int, weights: Sequence[FieldTable]) -> FieldTable | None:
    """Return the table of `couple_ahead` for runs whose error control has these tables; None for models with too many groups
    of columns."""
    laned = lane_steps(steps, lanes)
    if laned is None:
        return None
    table = FieldTable(FIELDS)
    numbers, rows = aligned_zeros(len(steps.start) * lanes), aligned_zeros(laned.rows * steps.groups * lanes)
    numbers[:] = np.repeat(steps.start, lanes)
    rows[laned.seed_offsets[:, None] + np.arange(lanes)] = 1.0
    arrays = {"quick": laned.quick, "guarded": laned.guarded, "columns": laned.columns, "numbers": numbers, "rows": rows}
    arrays |= {"input_places": steps.positions, "input_blocks": steps.blocks, "input_indices": steps.indices}
    arrays |= {"found": laned.entry_offsets, "blocks": np.zeros(4)}
    arrays["weights"] = np.array([each.address for each in weights], dtype=np.uint64)
    for name, array in arrays.items():
        table.point(name, array)
    table.point("interpret", machine_code(lanes).address("interpret"))
    table["step_count"], table["first"] = len(laned.quick), len(steps.start) - len(laned.quick)
    table["input_count"], table["entry_count"] = len(steps.positions), len(laned.entry_offsets)
    return table


def procedures(lanes: int) -> list[Procedure]:
    """Return `couple_ahead` and the procedures it calls."""
    return [_interpreted(), _handed_out(), _couple_ahead(lanes)]


def _interpreted() -> Procedure:
    """Interpret all steps listed in `steps`."""
    write = Procedure("interpreted", {"a": "ptr", "steps": "ptr"}, internal=True)
    record = Record(write["a"], FIELDS)
    at = [record.get(name) for name in ("numbers", "rows", "columns", "step_count", "first")]
    write.call(record.get("interpret"), [write["steps"], *at])
    write.give()
    return write


def _handed_out() -> Procedure:
    """Copy the Jacobian of each run to its error control; return 1 if an entry is NaN."""
    write = Procedure("handed_out", {"a": "ptr", "due": "ptr", "count": "i64"}, "i64", internal=True)
    record, lost = Record(write["a"], FIELDS), write.local(0, "i64")
    rows, entries = record.get("rows"), record.get("found")
    with write.loop(write["count"]) as lane:
        control = Record(record.get("weights").load(write["due"].load(lane, "i64"), "ptr"), Control.layout())
        nonzeros = control.get("nonzeros")
        with write.loop(record.get("entry_count")) as k:
            value = rows[entries.load(k, "i64") + lane]
            nonzeros[k] = value
            with write.when(~value.equals(value)):
                lost.set(1)
        control.set("ahead", 1)
    write.give(lost.get())
    return write


def _couple_ahead(lanes: int) -> Procedure:
    """Evaluate the nonzeros of the Jacobian at (t, y, p, m), in all lanes, for the error control of the `count` runs that are
    `due`, which are in the first lanes."""
    arguments = {**dict.fromkeys(("a", "t", "y", "p", "m", "due"), "ptr"), "count": "i64"}
    write = Procedure("couple_ahead", arguments, internal=True)
    record = Record(write["a"], FIELDS)
    blocks, numbers = record.get("blocks"), record.get("numbers")
    for number, name in enumerate(("t", "y", "p", "m")):
        blocks.store(number, write[name], "ptr")
    with write.loop(record.get("input_count")) as i:
        position, block, index = (record.get(f"input_{name}").load(i, "i64") for name in ("places", "blocks", "indices"))
        source, target = blocks.load(block, "ptr").at(index * lanes), numbers.at(position * lanes)
        with write.loop(lanes) as lane:
            target[lane] = source[lane]
    to = [write[name] for name in ("a", "due", "count")]
    write.call("interpreted", [write["a"], record.get("quick")])
    with write.when(write.call("handed_out", to, "i64").equals(1)):
        write.call("interpreted", [write["a"], record.get("guarded")])
        write.call("handed_out", to, "i64")
    write.give()
    return write
