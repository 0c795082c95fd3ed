"""Table of a box complementarity problem with its matrix, offsets and bounds, its modes, and the unknowns and residuals of
its solution."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from bondgraph.emit.kernel_language.language import Ints, Length, Reals, Table
from bondgraph.run.table import FieldTable


class BoxOutcome(IntEnum):
    SOLVED = 0
    NO_SOLUTION = 1
    """No solution is found, probably because row `fault` cannot be satisfied."""
    TOO_MANY_PIVOTS = 2
    """Rounding errors make the pivots cycle or a block of the matrix singular."""


PerRow = Annotated[Reals, Length(lambda s: s.room)]
PerEntry = Annotated[Reals, Length(lambda s: s.room * s.room)]
RowIndices = Annotated[Ints, Length(lambda s: s.room)]
Tableau = Annotated[Reals, Length(lambda s: 2 * s.room * s.room)]


class BoxTable(Table):
    """Problem of n unknowns y, at most `room`: w = M y + q, lower <= y <= upper, with w >= 0 at `lower`, w <= 0 at `upper`, and w
    = 0 between; M + M^T is positive semidefinite."""

    # Problem: M (n, n) by rows, q, bounds, which may be infinite, and weights of the norm that selects undetermined unknowns.
    matrix: PerEntry
    offset: PerRow
    lower: PerRow
    upper: PerRow
    weights: PerRow
    # Modes, initially those from which the search starts: -1 at the lower bound, 0 between, 1 at the upper bound; then y and w.
    status: RowIndices
    y: PerRow
    w: PerRow
    # Scaled problem: y = scale x; its matrix, regularised matrix, offset, bounds, weights, regularisation and centre x.
    scale: PerRow
    scaled: PerEntry
    regular: PerEntry
    shifted: PerRow
    low: PerRow
    high: PerRow
    share: PerRow
    raised: PerRow
    x: PerRow
    # Path: sizes of the terms of `shifted`; bounds below, above, relative to the centre; offsets shifted + t path, which have
    # their values at the centre for t = 0; unknowns at + t along, relative to the centre; w = residual + t slope; rounding errors
    # of at and w, in units of the rounding error of 1.
    terms: PerRow
    below: PerRow
    above: PerRow
    path: PerRow
    at: PerRow
    along: PerRow
    residual: PerRow
    slope: PerRow
    error: PerRow
    # Inverse of the block of the basic unknowns, in the order `basic`; workspace.
    inverse: PerEntry
    basic: RowIndices
    tableau: Tableau
    column: PerRow
    row: PerRow
    image: PerRow
    n: int
    room: int
    count: int
    updates: int
    pivots: int
    chosen: int
    into: int
    fault: int
    level: float


def box_table(room: int) -> FieldTable:
    table = FieldTable(BoxTable)
    table.allocate(room=room)
    table["room"] = table["n"] = room
    return table
