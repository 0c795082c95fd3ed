"""Table of a linear system."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Ints, Reals, Table


class SystemTable(Table):
    """Linear system: fields of `layout.MatrixLayout` and `ordering.FillPattern`, and factors.

    `matrix` has the values of the matrix, then its factors; `right` is the right-hand side, then the solution; `row_weights` is
    as in `dense_factor`; `count` is the number of `entry_indices`; `full` is True if these index the whole matrix, in sequence.
    """

    matrix: Reals
    order: Ints
    entry_indices: Ints
    diagonal: Ints
    right: Reals
    row_weights: Reals
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
