"""Linear system with the matrix 1 - h J: its table, and procedures that fill, factorise and solve it in a given layout.

Right-hand sides and solutions are in the order of the layout.
"""

from __future__ import annotations

import numpy as np

from bondgraph.emit.kernel_language.language import Reals
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure
from bondgraph.run.linear.band import band_factor, band_solve, tridiagonal_factor, tridiagonal_solve
from bondgraph.run.linear.dense import dense_factor, dense_solve
from bondgraph.run.linear.layout import BAND, DENSE, SPARSE, MatrixLayout
from bondgraph.run.linear.sparse import sparse_factor, sparse_solve
from bondgraph.run.linear.table import SystemTable
from bondgraph.run.table import FieldTable


def table_of(layout: MatrixLayout) -> FieldTable:
    table, n, fill = FieldTable(SystemTable), len(layout.order), layout.fill
    integers = {"order": layout.order, "entry_indices": layout.entry_indices, "diagonal": layout.diagonal}
    lengths = {"right": n, "row_weights": n, "matrix": layout.room}
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


def procedures() -> list[Procedure]:
    return translate([fill_system, factor_system, solve_system, has_negative_determinant])


def fill_system(s: SystemTable, j: Reals, h: float) -> None:
    """Fill the matrix 1 - h J from the entries j of J, in the order of `entry_indices`."""
    matrix, room, n, diagonal = s.matrix, s.room, s.n, s.diagonal
    if s.full:
        for i in range(room):
            matrix[i] = 0.0 - h * j[i]
        for i in range(n):
            place = diagonal[i]
            matrix[place] = 1.0 - h * j[place]
        return
    for i in range(room):
        matrix[i] = 0.0
    for i in range(n):
        matrix[diagonal[i]] = 1.0
    indices = s.entry_indices
    for k in range(s.count):
        index = indices[k]
        matrix[index] = matrix[index] - h * j[k]


def factor_system(s: SystemTable) -> bool:
    if s.kind == DENSE:
        return dense_factor(s.matrix, s.pivots, s.row_weights, s.n)
    if s.kind == BAND and s.lower == 1 and s.upper == 1:
        return tridiagonal_factor(s.matrix, s.pivots, s.row_weights, s.n)
    if s.kind == BAND:
        return band_factor(s.matrix, s.pivots, s.row_weights, s.n, s.lower, s.upper)
    return sparse_factor(s)


def solve_system(s: SystemTable) -> None:
    if s.kind == DENSE:
        dense_solve(s.matrix, s.pivots, s.right, s.n)
    elif s.kind == BAND and s.lower == 1 and s.upper == 1:
        tridiagonal_solve(s.matrix, s.pivots, s.right, s.n)
    elif s.kind == BAND:
        band_solve(s.matrix, s.pivots, s.right, s.n, s.lower, s.upper)
    else:
        sparse_solve(s)


def has_negative_determinant(s: SystemTable) -> bool:
    n, negative = s.n, False
    if s.kind == SPARSE:
        inverse = s.inverse
        for i in range(n):
            negative = negative != (inverse[i] < 0.0)
        return negative
    matrix, pivots, above = s.matrix, s.pivots, s.lower + s.upper
    first, apart = 0, n + 1
    if s.kind == BAND:
        first, apart = above, above + s.lower + 1
    for i in range(n):
        negative = negative != (matrix[first + i * apart] < 0.0)
        negative = negative != (pivots[i] != i)
    return negative
