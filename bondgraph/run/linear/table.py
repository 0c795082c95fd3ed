"""Table of a linear system."""

from __future__ import annotations

import numpy as np

from bondgraph.emit.kernel_language.language import Ints, Reals, Table
from bondgraph.run.linear.layout import MatrixLayout
from bondgraph.run.table import FieldTable


class SystemTable(Table):
    """Linear system. Arrays and numbers are those of `layout.MatrixLayout` and `layout.FillPattern`, and of the factors.

    matrix: its numbers; right: right-hand side, then the solution; worth: as in `dense_factor`; count: number of entries with an
    index; full: these are all entries, in sequence.
    """

    matrix: Reals
    order: Ints
    entry_indices: Ints
    diagonal: Ints
    right: Reals
    worth: Reals
    pivots: Ints
    starts: Ints
    rows: Ints
    below_at: Ints
    below: Ints
    above_at: Ints
    above: Ints
    inverse: Reals
    lower_factor: Reals
    upper_factor: Reals
    nested: Ints
    work: Reals
    kind: int
    n: int
    count: int
    room: int
    lower: int
    upper: int
    full: bool


def table_of(layout: MatrixLayout) -> FieldTable:
    """Return the table of a system, with its arrays."""
    table, n, fill = FieldTable(SystemTable.layout()), len(layout.order), layout.fill
    integers = {"order": layout.order, "entry_indices": layout.entry_indices, "diagonal": layout.diagonal}
    lengths = {"right": n, "worth": n, "matrix": layout.room}
    if fill is not None:
        integers = {**vars(fill), **integers}
        lengths |= {"inverse": n, "work": n, "lower_factor": len(fill.below), "upper_factor": len(fill.above)}
    for name, array in {**integers, "pivots": np.zeros(n)}.items():
        table.point(name, np.ascontiguousarray(array, dtype=np.int64))
    for name, length in lengths.items():
        table.point(name, np.zeros(length))
    counts = {"kind": layout.kind, "n": n, "count": len(layout.entry_indices), "room": layout.room}
    counts["full"] = int(np.array_equal(layout.entry_indices, np.arange(layout.room)))
    for name, number in {**counts, "lower": layout.lower, "upper": layout.upper}.items():
        table[name] = number
    return table
