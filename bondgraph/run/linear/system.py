"""Linear system with the matrix 1 - h J: its table, and procedures that fill, factorise and solve it in a given layout.

Right-hand sides and solutions are in the order of the layout.
"""

from __future__ import annotations

import numpy as np

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.linear import band, dense, sparse
from bondgraph.run.linear.layout import BAND, DENSE, SPARSE, MatrixLayout
from bondgraph.run.table import FieldTable, fields_of

# As in `layout.MatrixLayout` and `layout.FillPattern`; matrix: its numbers; right: right-hand side, then the solution; worth:
# as in `dense.factor`; count: number of entries with an index; full: whether these are all entries, in sequence.
_PATTERN = "starts rows below_at below above_at above"
_FACTORS = "inverse lower_factor upper_factor"
_POINTERS = f"matrix order entry_indices diagonal right worth pivots {_PATTERN} {_FACTORS} nested work"
FIELDS = fields_of(_POINTERS.split(), ["kind", "n", "count", "room", "lower", "upper", "full"])


def table_of(layout: MatrixLayout) -> FieldTable:
    """Return the table of a system, with its arrays."""
    table, n, fill = FieldTable(FIELDS), len(layout.order), layout.fill
    for name in ("order", "entry_indices", "diagonal"):
        table.point(name, np.ascontiguousarray(getattr(layout, name), dtype=np.int64))
    lengths = {**dict.fromkeys(("right", "worth"), n), "matrix": layout.room}
    if fill is not None:
        for name in (*_PATTERN.split(), "nested"):
            table.point(name, np.ascontiguousarray(getattr(fill, name), dtype=np.int64))
        lengths |= {"inverse": n, "work": n, "lower_factor": len(fill.below), "upper_factor": len(fill.above)}
    for name, length in lengths.items():
        table.point(name, np.zeros(length))
    table.point("pivots", np.zeros(n, dtype=np.int64))
    counts = {"kind": layout.kind, "n": n, "count": len(layout.entry_indices), "room": layout.room}
    counts["full"] = int(np.array_equal(layout.entry_indices, np.arange(layout.room)))
    for name, number in {**counts, "lower": layout.lower, "upper": layout.upper}.items():
        table[name] = number
    return table


def procedures() -> list[Procedure]:
    """Return all procedures, callees first."""
    kinds = [part for module in (dense, band, sparse) for part in (module.factor(), module.solve())]
    blocks = [dense.subtract_block(columns) for columns in range(1, dense.TILE + 1)]
    return [
        *blocks,
        sparse.subtract_nested(),
        dense.eliminate(),
        band.factor_three(),
        band.solve_three(),
        *kinds,
        _filled(),
        _factor(),
        _solve(),
        _has_negative_determinant(),
    ]


def _filled() -> Procedure:
    """Fill the matrix from the entries of J that have an index."""
    write = Procedure("fill_system", {"s": "ptr", "j": "ptr", "h": "double"}, internal=True)
    record = Record(write["s"], FIELDS)
    matrix, room = record.get("matrix"), record.get("room")
    with write.when(record.get("full").equals(1)):
        with write.loop(room) as i:
            matrix[i] = 0.0 - write["h"] * write["j"][i]
        with write.loop(record.get("n")) as i:
            place = record.get("diagonal").load(i, "i64")
            matrix[place] = 1.0 - write["h"] * write["j"][place]
        write.give()
    with write.loop(room) as i:
        matrix[i] = 0.0
    with write.loop(record.get("n")) as i:
        matrix[record.get("diagonal").load(i, "i64")] = 1.0
    with write.loop(record.get("count")) as k:
        index = record.get("entry_indices").load(k, "i64")
        matrix[index] = matrix[index] - write["h"] * write["j"][k]
    write.give()
    return write


def _is_tridiagonal(record: Record) -> Temporary:
    return record.get("kind").equals(BAND) & record.get("lower").equals(1) & record.get("upper").equals(1)


def _factor() -> Procedure:
    """Factorise the matrix; return 1 if it is singular, or too close to it."""
    write = Procedure("factor_system", {"s": "ptr"}, "i64", internal=True)
    record = Record(write["s"], FIELDS)
    arguments = [record.get(name) for name in ("matrix", "pivots", "worth", "n")]
    with write.when(record.get("kind").equals(DENSE)):
        write.give(write.call("dense_factor", arguments, "i64"))
    with write.when(_is_tridiagonal(record)):
        write.give(write.call("tridiagonal_factor", arguments, "i64"))
    with write.when(record.get("kind").equals(BAND)):
        write.give(write.call("band_factor", [*arguments, record.get("lower"), record.get("upper")], "i64"))
    names = ["matrix", *_PATTERN.split(), *_FACTORS.split(), "nested", "worth", "work", "n"]
    write.give(write.call("sparse_factor", [record.get(name) for name in names], "i64"))
    return write


def _solve() -> Procedure:
    """Overwrite the right-hand side with the solution."""
    write = Procedure("solve_system", {"s": "ptr"}, internal=True)
    record = Record(write["s"], FIELDS)
    arguments = [record.get(name) for name in ("matrix", "pivots", "right", "n")]
    with write.when(record.get("kind").equals(DENSE)):
        write.call("dense_solve", arguments)
    with write.when(_is_tridiagonal(record)):
        write.call("tridiagonal_solve", arguments)
        write.give()
    with write.when(record.get("kind").equals(BAND)):
        write.call("band_solve", [*arguments, record.get("lower"), record.get("upper")])
    with write.when(record.get("kind").equals(SPARSE)):
        names = [*_PATTERN.split()[2:], *_FACTORS.split(), "right", "n"]
        write.call("sparse_solve", [record.get(name) for name in names])
    write.give()
    return write


def _has_negative_determinant() -> Procedure:
    """Return 1 if the determinant of the factorised matrix is negative, from the signs of its pivots and the swaps of its
    rows."""
    write = Procedure("has_negative_determinant", {"s": "ptr"}, "i64", internal=True)
    record = Record(write["s"], FIELDS)
    kind, n, matrix, negative = record.get("kind"), record.get("n"), record.get("matrix"), write.local(0, "i64")

    def count(sign: Temporary) -> None:
        negative.set(write.select(sign < 0.0, 1 - negative.get(), negative.get(), "i64"))

    with write.when(kind.equals(SPARSE)):
        with write.loop(n) as i:
            count(record.get("inverse")[i])
        write.give(negative.get())
    above = record.get("lower") + record.get("upper")
    is_band = kind.equals(BAND)
    first = write.select(is_band, above, 0, "i64")
    apart = write.select(is_band, above + record.get("lower") + 1, n + 1, "i64")
    with write.loop(n) as i:
        count(matrix[first + i * apart])
        swapped = ~record.get("pivots").load(i, "i64").equals(i)
        negative.set(write.select(swapped, 1 - negative.get(), negative.get(), "i64"))
    write.give(negative.get())
    return write
