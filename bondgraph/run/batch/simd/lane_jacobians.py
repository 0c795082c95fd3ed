"""Jacobians of several runs in SIMD lanes, computed together before the error control of each run needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from bondgraph.emit.interpreter.table import InterpretedSteps
from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.kernel_language.language import Array, Fixed, Ints, Reals, Routine, Table
from bondgraph.run.accuracy.fields import Control
from bondgraph.run.accuracy.natural_scales import input_block
from bondgraph.run.table import FieldTable


class LaneJacobians(Table):
    # As in `emit.interpreter`; quick, guarded: the steps without and with checks for factors of zero; entries: offset of each
    # nonzero.
    interpret: Routine
    quick: Ints
    guarded: Ints
    columns: Ints
    numbers: Reals
    rows: Reals
    entries: Ints
    # For each input: its index among all values, its block (t, y, p, m), and its index in this block.
    input_places: Ints
    input_blocks: Ints
    input_indices: Ints
    # Tables of the error control of all runs.
    weights: Annotated[list[Any], Array(Control)]
    step_count: int
    first: int
    input_count: int
    entry_count: int


def lane_couplings(steps: InterpretedSteps, lanes: int, weights: Sequence[FieldTable]) -> FieldTable | None:
    laned = steps.in_lanes(lanes)
    if laned is None:
        return None
    table = FieldTable(LaneJacobians)
    numbers, rows = aligned_zeros(len(steps.start) * lanes), aligned_zeros(laned.rows * laned.stride * lanes)
    numbers[:] = np.repeat(steps.start, lanes)
    vectors = rows.reshape(laned.rows, laned.stride, lanes)
    vectors[laned.seed_rows, steps.seed_groups], vectors[0] = 1.0, 0.0  # row 0 stays zero for variables on which nothing depends
    arrays = {"quick": laned.steps(is_guarded=False), "guarded": laned.steps(), "columns": laned.columns}
    arrays |= {"numbers": numbers, "rows": rows, "entries": (laned.entry_rows * laned.stride + steps.entry_groups) * lanes}
    arrays |= {"input_places": steps.positions, "input_blocks": steps.blocks, "input_indices": steps.indices}
    arrays["weights"] = np.array([each.address for each in weights], dtype=np.uint64)
    for name, array in arrays.items():
        table.point(name, array)
    table.point("interpret", laned.address)
    table["step_count"], table["first"] = len(laned.fields), len(steps.start) - len(laned.fields)
    table["input_count"], table["entry_count"] = len(steps.positions), len(laned.entry_rows)
    return table


def couple_ahead(a: LaneJacobians, t: Reals, y: Reals, p: Reals, m: Reals, due: Ints, count: int, lanes: Fixed) -> None:
    """Evaluate the nonzeros of the Jacobian at (t, y, p, m) in all lanes; the first lanes hold the `count` runs whose error
    control is `due`."""
    for i in range(a.input_count):
        block = input_block(a.input_blocks[i], t, y, p, m)
        source, target = block[a.input_indices[i] * lanes :], a.numbers[a.input_places[i] * lanes :]
        for lane in range(lanes):
            target[lane] = source[lane]
    a.interpret(a.quick, a.numbers, a.rows, a.columns, a.step_count, a.first)
    if store_jacobians(a, due, count):
        a.interpret(a.guarded, a.numbers, a.rows, a.columns, a.step_count, a.first)
        store_jacobians(a, due, count)


def store_jacobians(a: LaneJacobians, due: Ints, count: int) -> bool:
    rows, entries, is_lost = a.rows, a.entries, False
    for lane in range(count):
        w = a.weights[due[lane]]
        nonzeros = w.nonzeros
        for k in range(a.entry_count):
            value = rows[entries[k] + lane]
            nonzeros[k] = value
            if value != value:
                is_lost = True
        w.ahead = True
    return is_lost
