"""Factorise full matrices in place (LU with partial pivoting), and solve with the factors.

Gaussian elimination with partial pivoting; G. H. Golub, C. F. Van Loan, Matrix Computations, 2013, 3.4.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure
from bondgraph.run.linear.elimination import pivot_of, subtract, swap, swap_in


def factor() -> Procedure:
    """Overwrite a (n, n) with L and U, which hold the reciprocal of each pivot, and pivots (n,) with the rows that were swapped.

    worth (n,): the factor of each row in the choice of pivots, one over the size of its unknown, so that the choice knows no
    units. Gives 1 where the matrix is singular, else 0.
    """
    write = Procedure("dense_factor", {"a": "ptr", "pivots": "ptr", "worth": "ptr", "n": "i64"}, "i64")
    a, pivots, worth, n = (write[name] for name in ("a", "pivots", "worth", "n"))
    with write.loop(n) as k:
        column, remaining = a.at(k * n + k), n - k
        pivot_offset = pivot_of(write, column, worth.at(k), remaining).get()
        pivots.store(k, k + pivot_offset, "i64")
        pivot = column[pivot_offset]
        with write.when(~(write.intrinsic("fabs", pivot) > 0.0)):
            write.give(1)
        with write.when(pivot_offset > 0):
            swap(write, worth, k, k + pivot_offset)
            with write.loop(n) as j:
                swap(write, a.at(j * n), k, k + pivot_offset)
        inverse = 1.0 / pivot
        column[0] = inverse
        with write.loop(remaining, 1) as i:
            column[i] = column[i] * inverse
        with write.loop(n, k + 1) as j:
            other = a.at(j * n + k)
            factor = other[0]
            with write.when(~factor.equals(0.0)):
                subtract(write, other.at(1), column.at(1), factor, remaining - 1)
    write.give(0)
    return write


def solve() -> Procedure:
    """Overwrite b (n,) with the solution, by the factors of `factor`."""
    write = Procedure("dense_solve", {"a": "ptr", "pivots": "ptr", "b": "ptr", "n": "i64"})
    a, pivots, b, n = (write[name] for name in ("a", "pivots", "b", "n"))
    with write.loop(n) as k:
        swap_in(write, b, k, pivots.load(k, "i64"))
    with write.loop(n) as k:
        subtract(write, b.at(k + 1), a.at(k * n + k + 1), b[k], n - k - 1)
    with write.loop(n) as back:
        k = n - 1 - back
        column = a.at(k * n)
        value = b[k] * column[k]
        b[k] = value
        subtract(write, b, column, value, k)
    write.give()
    return write
