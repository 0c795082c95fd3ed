"""Full matrices: columns one after the other in; factors in their place, and solutions, out.

Gaussian elimination with partial pivoting; G. H. Golub, C. F. Van Loan, Matrix Computations, 2013, 3.4.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure
from bondgraph.run.linear.idioms import pivot_of, subtract, swap, taken


def factor() -> Procedure:
    """L and U of a (n, n) into its place, with one over each pivot; the rows that changed places into pivots (n,). 1 where it is
    singular, else 0.

    worth (n,): what each row is multiplied with for the choice of pivots, one over the size of its unknown: so the choice knows
    no units.
    """
    write = Procedure("dense_factor", {"a": "ptr", "pivots": "ptr", "worth": "ptr", "n": "i64"}, "i64")
    a, pivots, worth, n = (write[name] for name in ("a", "pivots", "worth", "n"))
    with write.loop(n) as k:
        column, left = a.at(k * n + k), n - k
        place = pivot_of(write, column, worth.at(k), left).get()
        pivots.store(k, k + place, "i64")
        pivot = column[place]
        with write.when(~(write.intrinsic("fabs", pivot) > 0.0)):
            write.give(1)
        with write.when(place > 0):
            swap(write, worth, k, k + place)
            with write.loop(n) as j:
                swap(write, a.at(j * n), k, k + place)
        inverse = 1.0 / pivot
        column[0] = inverse
        with write.loop(left, 1) as i:
            column[i] = column[i] * inverse
        with write.loop(n, k + 1) as j:
            other = a.at(j * n + k)
            factor = other[0]
            with write.when(~factor.equals(0.0)):
                subtract(write, other.at(1), column.at(1), factor, left - 1)
    write.give(0)
    return write


def solve() -> Procedure:
    """b (n,) becomes the solution, by the factors of `factor`."""
    write = Procedure("dense_solve", {"a": "ptr", "pivots": "ptr", "b": "ptr", "n": "i64"})
    a, pivots, b, n = (write[name] for name in ("a", "pivots", "b", "n"))
    with write.loop(n) as k:
        taken(write, b, k, pivots.load(k, "i64"))
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
