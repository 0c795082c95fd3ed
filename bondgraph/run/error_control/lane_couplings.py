"""Couplings of several runs side by side: their times, states, parameters and modes in lanes in; the Jacobian of each, where the
error control of that run will ask for it next, out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.emit.interpreter.code import WORK
from bondgraph.emit.interpreter.lanes import lane_steps, machine_code
from bondgraph.emit.interpreter.steps import InterpretedSteps
from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.error_control.fields import FIELDS as ERROR_CONTROL
from bondgraph.run.table import FieldTable, fields_of

# Arrays of `interpreter.lanes`; input_places ... input_indices: of each input its place among the numbers, its block (t, y, p, m)
# and its place there; blocks: where these are; weights: the tables of `fields`, of each run.
_POINTERS = "interpret steps columns numbers rows work found input_places input_blocks input_indices blocks weights"
FIELDS = fields_of(_POINTERS.split(), ("step_count", "first", "input_count", "entry_count"))


def lane_couplings(steps: InterpretedSteps, lanes: int, weights: Sequence[FieldTable]) -> FieldTable | None:
    """What `couple_ahead` takes, for so many lanes, and runs whose error control has these tables; None for models with more
    states than it is made for."""
    made = lane_steps(steps, lanes)
    if made is None:
        return None
    table, n = FieldTable(FIELDS), len(steps.seeded)
    numbers, rows = aligned_zeros(len(steps.start) * lanes), aligned_zeros(made.rows * n * lanes)
    numbers[:] = np.repeat(steps.start, lanes)
    rows[made.seeded[:, None] + np.arange(lanes)] = 1.0
    arrays = {"steps": made.table, "columns": made.columns, "numbers": numbers, "rows": rows, "work": aligned_zeros(WORK * lanes)}
    arrays |= {"input_places": steps.places, "input_blocks": steps.blocks, "input_indices": steps.indices}
    arrays |= {"found": made.found, "blocks": np.zeros(4)}
    arrays["weights"] = np.array([each.address for each in weights], dtype=np.uint64)
    for name, array in arrays.items():
        table.point(name, array)
    table.point("interpret", machine_code(lanes).address("interpret"))
    table["step_count"], table["first"] = len(made.table), len(steps.start) - len(made.table)
    table["input_count"], table["entry_count"] = len(steps.places), len(made.found)
    return table


def couple_ahead(lanes: int) -> Procedure:
    """The nonzeros of the Jacobian at (t, y, p, m), a number of every lane each, for the error control of the `count` runs that
    are `due`, which are in the first lanes."""
    given = {**dict.fromkeys(("a", "t", "y", "p", "m", "due"), "ptr"), "count": "i64"}
    write = Procedure("couple_ahead", given, internal=True)
    record = Record(write["a"], FIELDS)
    blocks, numbers, rows = (record.get(name) for name in ("blocks", "numbers", "rows"))
    for number, name in enumerate(("t", "y", "p", "m")):
        blocks.store(number, write[name], "ptr")
    with write.loop(record.get("input_count")) as i:
        place, block, index = (record.get(f"input_{name}").load(i, "i64") for name in ("places", "blocks", "indices"))
        source, target = blocks.load(block, "ptr").at(index * lanes), numbers.at(place * lanes)
        with write.loop(lanes) as lane:
            target[lane] = source[lane]
    at = [record.get(name) for name in ("steps", "numbers", "rows", "work", "columns", "step_count", "first")]
    write.call(record.get("interpret"), at)
    with write.loop(write["count"]) as lane:
        own = Record(record.get("weights").load(write["due"].load(lane, "i64"), "ptr"), ERROR_CONTROL)
        nonzeros = own.get("nonzeros")
        with write.loop(record.get("entry_count")) as k:
            nonzeros[k] = rows[record.get("found").load(k, "i64") + lane]
        own.set("ahead", 1)
    write.give()
    return write
