"""Full matrices, stored by columns: LU factors in place, and solutions.

Gaussian elimination with partial pivoting; G. H. Golub, C. F. Van Loan, Matrix Computations, 2013, 3.4.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Ints, Reals, inline, unrolled
from bondgraph.run.linear.elimination import pivot_of, subtract, swap, swap_in

BLOCK = 4
"""Number of columns whose multiples are subtracted together, from two columns at once, to reuse loaded numbers."""


def dense_factor(a: Reals, pivots: Ints, worth: Reals, n: int) -> bool:
    """Overwrite a (n, n) with L and U, which hold the reciprocal of each pivot, and pivots (n,) with the rows that were swapped.
    Return True if the matrix is singular. Rows of L are swapped in the block of their column only.

    worth (n,): weight of each row in the choice of pivots, the inverse of the size of its unknown, so that the choice does not
    depend on units. Blocks of columns do not change the order of subtractions in any entry, so that the bits are those of single
    columns.
    """
    first = 0
    while first + BLOCK <= n:
        behind = first + BLOCK
        for k in range(first, behind):
            if dense_eliminate(a, pivots, worth, n, k, first, behind):
                return True
        block, j = a[first * n + first :], behind
        while j + 2 <= n:
            apply_to_two(block, a[j * n + first :], a[(j + 1) * n + first :], pivots, first, n)
            j = j + 2
        if j < n:
            apply_to_one(block, a[j * n + first :], pivots, first, n)
        first = behind
    for k in range(first, n):
        if dense_eliminate(a, pivots, worth, n, k, first, n):
            return True
    return False


def dense_eliminate(a: Reals, pivots: Ints, worth: Reals, n: int, k: int, begun: int, last: int) -> bool:
    """Choose the pivot of column k, swap rows in the columns from `begun` to `last`, and subtract multiples of column k from the
    columns after it. Return True if there is no pivot."""
    column, left = a[k * n + k :], n - k
    place = pivot_of(column, worth[k:], left)
    pivots[k] = k + place
    pivot = column[place]
    if not abs(pivot) > 0.0:
        return True
    if place > 0:
        swap(worth, k, k + place)
        for j in range(begun, last):
            swap(a[j * n :], k, k + place)
    inverse = 1.0 / pivot
    column[0] = inverse
    for i in range(1, left):
        column[i] = column[i] * inverse
    for j in range(k + 1, last):
        other = a[j * n + k :]
        factor = other[0]
        if factor != 0.0:
            subtract(other[1:], column[1:], factor, left - 1)
    return False


@inline
def solve_rows(block: Reals, column: Reals, pivots: Ints, first: int, n: int) -> None:
    """Swap rows of a column as in the block that begins at `first`, and compute its entries at the rows of the block, with which
    its lower part is eliminated."""
    for row in unrolled(range(BLOCK)):
        swap(column, row, pivots[first + row] - first)
    for row in unrolled(range(BLOCK)):
        value = column[row]
        for earlier in unrolled(range(row)):
            value = value - column[earlier] * block[n * earlier + row]
        column[row] = value


@inline
def apply_to_two(block: Reals, one: Reals, other: Reals, pivots: Ints, first: int, n: int) -> None:
    """Swap rows of two columns as in the block that begins at `first`, and subtract multiples of the block's columns."""
    solve_rows(block, one, pivots, first, n)
    f0, f1, f2, f3 = one[0], one[1], one[2], one[3]
    solve_rows(block, other, pivots, first, n)
    g0, g1, g2, g3 = other[0], other[1], other[2], other[3]
    if not (all_zero(f0, f1, f2, f3) & all_zero(g0, g1, g2, g3)):
        dense_subtract2(one[BLOCK:], other[BLOCK:], block[BLOCK:], n, one, other, n - first - BLOCK)


@inline
def apply_to_one(block: Reals, column: Reals, pivots: Ints, first: int, n: int) -> None:
    """Do so with one column."""
    solve_rows(block, column, pivots, first, n)
    if not all_zero(column[0], column[1], column[2], column[3]):
        subtract_from_one(block, column, first, n)


@inline
def all_zero(f0: float, f1: float, f2: float, f3: float) -> bool:
    """Return True if four numbers are zero."""
    return (f0 == 0.0) & (f1 == 0.0) & (f2 == 0.0) & (f3 == 0.0)


@inline
def subtract_from_one(block: Reals, column: Reals, first: int, n: int) -> None:
    """Subtract multiples of the block's columns from the rows of a column below the block."""
    dense_subtract1(column[BLOCK:], block[BLOCK:], n, column, n - first - BLOCK, range(BLOCK))


def dense_subtract2(out1: Disjoint, out2: Disjoint, block: Reals, n: int, f: Reals, g: Reals, count: int) -> None:
    """Subtract from two columns multiples, f (4,) and g (4,), of the columns of a block, which lie n apart."""
    a, b, c, d = block, block[n:], block[n * 2 :], block[n * 3 :]
    f0, f1, f2, f3 = f[0], f[1], f[2], f[3]
    g0, g1, g2, g3 = g[0], g[1], g[2], g[3]
    for i in range(count):
        out1[i] = out1[i] - f0 * a[i] - f1 * b[i] - f2 * c[i] - f3 * d[i]
        out2[i] = out2[i] - g0 * a[i] - g1 * b[i] - g2 * c[i] - g3 * d[i]


def dense_subtract1(out: Disjoint, block: Reals, n: int, f: Reals, count: int, order: Fixed) -> None:
    """Subtract multiples f (4,) of the columns of a block, which lie n apart, from another column, in this order."""
    a, b, c, d = block[n * order[0] :], block[n * order[1] :], block[n * order[2] :], block[n * order[3] :]
    f0, f1, f2, f3 = f[order[0]], f[order[1]], f[order[2]], f[order[3]]
    for i in range(count):
        out[i] = out[i] - f0 * a[i] - f1 * b[i] - f2 * c[i] - f3 * d[i]


def dense_solve(a: Reals, pivots: Ints, b: Reals, n: int) -> None:
    """Overwrite b (n,) with the solution, from the factors of `dense_factor`."""
    first = 0
    while first + BLOCK <= n:
        solve_rows(a[first * n + first :], b[first:], pivots, first, n)
        subtract_from_one(a[first * n + first :], b[first:], first, n)
        first = first + BLOCK
    for k in range(first, n):
        swap_in(b, k, pivots[k])
    for k in range(first, n):
        subtract(b[k + 1 :], a[k * n + k + 1 :], b[k], n - k - 1)
    left = n
    while left >= BLOCK:
        solve_last_rows(a, b, left, n)
        left = left - BLOCK
    for back in range(left):
        k = left - 1 - back
        column = a[k * n :]
        value = b[k] * column[k]
        b[k] = value
        subtract(b, column, value, k)


@inline
def solve_last_rows(a: Reals, b: Reals, left: int, n: int) -> None:
    """Solve for the unknowns of the block of the `left` first ones that is last, from the last one on; subtract multiples of its
    columns from the rows above."""
    above = left - BLOCK
    block, right = a[above * n + above :], b[above:]
    for row in unrolled(reversed(range(BLOCK))):
        value = right[row]
        for solved in unrolled(reversed(range(row + 1, BLOCK))):
            value = value - right[solved] * block[n * solved + row]
        right[row] = value * block[n * row + row]
    first = a[above * n :]
    dense_subtract1(b, first, n, right, above, range(BLOCK - 1, -1, -1))
