"""Dense matrices, stored by columns: LU factors in place, and solutions.

Gaussian elimination with partial pivoting; G. H. Golub, C. F. Van Loan, Matrix Computations, 2013, 3.4.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Ints, Reals, inline, unrolled
from bondgraph.run.linear.elimination import pivot_of, subtract, swap, swap_in

BLOCK = 4
"""Number of columns whose multiples are subtracted from two other columns in one pass, to reuse loaded values."""

_ASCENDING = tuple(range(BLOCK))
_DESCENDING = _ASCENDING[::-1]


def dense_factor(a: Reals, pivots: Ints, row_weights: Reals, n: int) -> bool:
    """Overwrite a (n, n) with L and U, which contain the reciprocal of each pivot, and pivots (n,) with the rows that were
    swapped; return True if the matrix is singular. Rows of L are swapped only in the block of their column.

    The `row_weights` (n,) in the choice of pivots are the inverse sizes of the unknowns, so that the choice does not depend on
    units; they are permuted with the rows. Blocks do not change the order of subtractions in any entry, so the result is bitwise
    equal to that of column-by-column elimination.
    """
    first = 0
    while first + BLOCK <= n:
        behind = first + BLOCK
        for k in range(first, behind):
            if dense_eliminate(a, pivots, row_weights, n, k, first, behind):
                return True
        block, j = a[first * n + first :], behind
        while j + 2 <= n:
            apply_to_two(block, a[j * n + first :], a[(j + 1) * n + first :], pivots, first, n)
            j = j + 2
        if j < n:
            apply_to_one(block, a[j * n + first :], pivots, first, n)
        first = behind
    for k in range(first, n):
        if dense_eliminate(a, pivots, row_weights, n, k, first, n):
            return True
    return False


def dense_eliminate(a: Reals, pivots: Ints, row_weights: Reals, n: int, k: int, first: int, last: int) -> bool:
    column, left = a[k * n + k :], n - k
    place = pivot_of(column, row_weights[k:], left)
    pivots[k] = k + place
    pivot = column[place]
    if not abs(pivot) > 0.0:
        return True
    if place > 0:
        swap(row_weights, k, k + place)
        for j in range(first, last):
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
def swap_rows(column: Reals, pivots: Ints, first: int) -> None:
    for row in unrolled(_ASCENDING):
        swap(column, row, pivots[first + row] - first)


@inline
def solve_rows(block: Reals, column: Reals, pivots: Ints, first: int, n: int) -> None:
    swap_rows(column, pivots, first)
    for row in unrolled(_ASCENDING):
        value = column[row]
        for earlier in unrolled(range(row)):
            value = value - column[earlier] * block[n * earlier + row]
        column[row] = value


def apply_to_two(block: Reals, one: Disjoint, other: Disjoint, pivots: Ints, first: int, n: int) -> None:
    swap_rows(one, pivots, first)
    swap_rows(other, pivots, first)
    a, b, c, d = block, block[n:], block[n * 2 :], block[n * 3 :]
    # As in `solve_rows`, without reloading numbers just stored.
    f0 = one[0]
    f1 = one[1] - f0 * a[1]
    f2 = one[2] - f0 * a[2] - f1 * b[2]
    f3 = one[3] - f0 * a[3] - f1 * b[3] - f2 * c[3]
    g0 = other[0]
    g1 = other[1] - g0 * a[1]
    g2 = other[2] - g0 * a[2] - g1 * b[2]
    g3 = other[3] - g0 * a[3] - g1 * b[3] - g2 * c[3]
    one[1], one[2], one[3] = f1, f2, f3
    other[1], other[2], other[3] = g1, g2, g3
    if are_zero(f0, f1, f2, f3) & are_zero(g0, g1, g2, g3):
        return
    for i in range(BLOCK, n - first):
        one[i] = one[i] - f0 * a[i] - f1 * b[i] - f2 * c[i] - f3 * d[i]
        other[i] = other[i] - g0 * a[i] - g1 * b[i] - g2 * c[i] - g3 * d[i]


def apply_to_one(block: Reals, column: Disjoint, pivots: Ints, first: int, n: int) -> None:
    solve_rows(block, column, pivots, first, n)
    f0, f1, f2, f3 = column[0], column[1], column[2], column[3]
    if not are_zero(f0, f1, f2, f3):
        subtract_block(column[BLOCK:], block[BLOCK:], n, f0, f1, f2, f3, n - first - BLOCK)


def solve_forward(block: Reals, right: Disjoint, pivots: Ints, first: int, n: int) -> None:
    solve_rows(block, right, pivots, first, n)
    f0, f1, f2, f3 = right[0], right[1], right[2], right[3]
    subtract_block(right[BLOCK:], block[BLOCK:], n, f0, f1, f2, f3, n - first - BLOCK)


@inline
def are_zero(f0: float, f1: float, f2: float, f3: float) -> bool:
    return (f0 == 0.0) & (f1 == 0.0) & (f2 == 0.0) & (f3 == 0.0)


@inline
def subtract_block(out: Reals, block: Reals, n: int, f0: float, f1: float, f2: float, f3: float, count: int) -> None:
    a, b, c, d = block, block[n:], block[n * 2 :], block[n * 3 :]
    for i in range(count):
        out[i] = out[i] - f0 * a[i] - f1 * b[i] - f2 * c[i] - f3 * d[i]


def dense_solve(a: Reals, pivots: Ints, b: Reals, n: int) -> None:
    first = 0
    while first + BLOCK <= n:
        solve_forward(a[first * n + first :], b[first:], pivots, first, n)
        first = first + BLOCK
    for k in range(first, n):
        swap_in(b, k, pivots[k])
    for k in range(first, n):
        subtract(b[k + 1 :], a[k * n + k + 1 :], b[k], n - k - 1)
    left = n
    while left >= BLOCK:
        solve_backward(a, b, left, n)
        left = left - BLOCK
    for back in range(left):
        k = left - 1 - back
        column = a[k * n :]
        value = b[k] * column[k]
        b[k] = value
        subtract(b, column, value, k)


def solve_backward(a: Reals, b: Disjoint, left: int, n: int) -> None:
    above = left - BLOCK
    block, right = a[above * n + above :], b[above:]
    for row in unrolled(_DESCENDING):
        value = right[row]
        for solved in unrolled(reversed(range(row + 1, BLOCK))):
            value = value - right[solved] * block[n * solved + row]
        right[row] = value * block[n * row + row]
    f0, f1, f2, f3 = right[0], right[1], right[2], right[3]
    first, second, third, last = a[above * n :], a[(above + 1) * n :], a[(above + 2) * n :], a[(above + 3) * n :]
    for i in range(above):
        b[i] = b[i] - f3 * last[i] - f2 * third[i] - f1 * second[i] - f0 * first[i]
