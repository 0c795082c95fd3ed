"""Sparse matrices with a known pattern of the factors, stored by columns: LU factors and solutions.

Left-looking elimination (J. R. Gilbert, T. Peierls, SIAM J. Sci. Stat. Comput. 9, 1988) with the pivots on the diagonal: the
matrix, 1 - h gamma J, is close to the identity for short steps, so a step with pivots that are too small must be shortened.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Ints, Reals, larger
from bondgraph.run.linear.table import SystemTable

GROWTH = 1e6
"""Largest entry of L, relative to the sizes of its unknowns, that does not lose too many digits."""

_BLOCK = 4
"""Number of columns of a supernode whose multiples are subtracted together: their rows are looked up once for all of them."""


def sparse_factor(s: SystemTable) -> bool:
    """Write L without its unit diagonal to lower_factor, U without its diagonal to upper_factor, and the inverse of the
    diagonal of U to inverse (n,); return True if a pivot is too small.

    The matrix is stored by columns: column j of the matrix begins at rows[starts[j]], that of L at below[below_at[j]], that of U
    at above[above_at[j]], with ascending rows. Blocks of columns that are nested (`ordering.FillPattern`) do not change the order
    of subtractions in any entry. The `row_weights` (n,) are those of `dense_factor`; work (n,) is zero before and after.
    """
    a, starts, rows, nested, row_weights, work, n = s.matrix, s.starts, s.rows, s.nested, s.row_weights, s.work, s.n
    below_at, below, above_at, above = s.below_at, s.below, s.above_at, s.above
    inverse, lower, upper, is_singular = s.inverse, s.lower_factor, s.upper_factor, False
    for j in range(n):
        for k in range(starts[j], starts[j + 1]):
            work[rows[k]] = a[k]
        place, end = above_at[j], above_at[j + 1]
        while place < end:
            earlier = above[place]
            if (place + _BLOCK <= end) & (nested[earlier] >= _BLOCK):
                sparse_subtract(work, upper[place:], lower, below_at, below, earlier)
                place = place + _BLOCK
                continue
            factor = work[earlier]
            upper[place] = factor
            place = place + 1
            work[earlier] = 0.0
            if factor != 0.0:
                for i in range(below_at[earlier], below_at[earlier + 1]):
                    row = below[i]
                    work[row] = work[row] - factor * lower[i]
        pivot = work[j]
        work[j] = 0.0
        most, inverse_pivot = 0.0, 1.0 / pivot
        inverse[j] = inverse_pivot
        for i in range(below_at[j], below_at[j + 1]):
            row = below[i]
            most = larger(most, abs(work[row]) * row_weights[row])
            lower[i] = work[row] * inverse_pivot
            work[row] = 0.0
        size = abs(pivot)
        if not (size > 0.0 and size * row_weights[j] * GROWTH >= most):
            is_singular = True
    return is_singular


def sparse_subtract(work: Disjoint, upper: Reals, lower: Reals, below_at: Ints, below: Ints, first: int) -> None:
    a, b, c = lower[below_at[first] :], lower[below_at[first + 1] :], lower[below_at[first + 2] :]
    start = below_at[first + 3]
    column, rows = work[first:], below[start:]
    f0 = column[0]
    f1 = column[1] - f0 * a[0]
    f2 = column[2] - f0 * a[1] - f1 * b[0]
    f3 = column[3] - f0 * a[2] - f1 * b[1] - f2 * c[0]
    upper[0], upper[1], upper[2], upper[3] = f0, f1, f2, f3
    column[0], column[1], column[2], column[3] = 0.0, 0.0, 0.0, 0.0
    if (f0 == 0.0) & (f1 == 0.0) & (f2 == 0.0) & (f3 == 0.0):
        return
    a, b, c, d = a[3:], b[2:], c[1:], lower[start:]
    for i in range(below_at[first + 4] - start):
        row = rows[i]
        work[row] = work[row] - f0 * a[i] - f1 * b[i] - f2 * c[i] - f3 * d[i]


def sparse_solve(s: SystemTable) -> None:
    below_at, below, above_at, above, b, n = s.below_at, s.below, s.above_at, s.above, s.right, s.n
    inverse, lower, upper = s.inverse, s.lower_factor, s.upper_factor
    for j in range(n):
        value = b[j]
        for i in range(below_at[j], below_at[j + 1]):
            row = below[i]
            b[row] = b[row] - value * lower[i]
    for back in range(n):
        j = n - 1 - back
        value = b[j] * inverse[j]
        b[j] = value
        for k in range(above_at[j], above_at[j + 1]):
            row = above[k]
            b[row] = b[row] - value * upper[k]
