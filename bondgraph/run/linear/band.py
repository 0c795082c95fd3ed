"""Factorise band matrices in place (LU with partial pivoting), and solve with the factors.

Of n unknowns with `lower` diagonals below the main one and `upper` above it, column j begins at j (2 lower + upper + 1); entry
(i, j) lies at lower + upper + i - j in it. The first `lower` numbers of a column are room for the fill of pivoting (as
LAPACK's dgbtrf has it). Factors hold the reciprocal of each pivot.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Operand, Procedure, Temporary
from bondgraph.run.linear.elimination import pivot_of, subtract, swap, swap_in

_SIZES = {"n": "i64", "lower": "i64", "upper": "i64"}


def _minimum(write: Procedure, one: Temporary, other: Operand) -> Temporary:
    return write.select(one < other, one, other, "i64")


def factor() -> Procedure:
    """Factorise a band matrix, as `dense.factor` does."""
    write = Procedure("band_factor", {"a": "ptr", "pivots": "ptr", "worth": "ptr", **_SIZES}, "i64")
    a, pivots, worth, n, lower, upper = (write[name] for name in ("a", "pivots", "worth", *_SIZES))
    above = lower + upper
    length = above + lower + 1
    with write.loop(n) as k:
        below = _minimum(write, n - 1 - k, lower)
        column = a.at(k * length + above)
        pivot_offset = pivot_of(write, column, worth.at(k), below + 1).get()
        pivots.store(k, k + pivot_offset, "i64")
        pivot = column[pivot_offset]
        with write.when(~(write.intrinsic("fabs", pivot) > 0.0)):
            write.give(1)
        last = _minimum(write, n - 1, k + above) + 1
        with write.when(pivot_offset > 0):
            swap(write, worth, k, k + pivot_offset)
            with write.loop(last, k) as j:
                swap(write, a.at(j * length + above + k - j), 0, pivot_offset)
        inverse = 1.0 / pivot
        column[0] = inverse
        with write.loop(below + 1, 1) as i:
            column[i] = column[i] * inverse
        with write.loop(last, k + 1) as j:
            other = a.at(j * length + above + k - j)
            factor = other[0]
            with write.when(~factor.equals(0.0)):
                subtract(write, other.at(1), column.at(1), factor, below)
    write.give(0)
    return write


def solve() -> Procedure:
    """Solve with the factors of a band matrix, as `dense.solve` does."""
    write = Procedure("band_solve", {"a": "ptr", "pivots": "ptr", "b": "ptr", **_SIZES})
    a, pivots, b, n, lower, upper = (write[name] for name in ("a", "pivots", "b", *_SIZES))
    above = lower + upper
    length = above + lower + 1
    with write.loop(n) as k:
        value = swap_in(write, b, k, pivots.load(k, "i64"))
        subtract(write, b.at(k + 1), a.at(k * length + above + 1), value, _minimum(write, n - 1 - k, lower))
    with write.loop(n) as back:
        k = n - 1 - back
        column, reach = a.at(k * length + above), _minimum(write, k, above)
        value = b[k] * column[0]
        b[k] = value
        subtract(write, b.at(k - reach), column.at(0 - reach), value, reach)
    write.give()
    return write
