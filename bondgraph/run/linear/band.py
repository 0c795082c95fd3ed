"""Factorise band matrices in place (LU with partial pivoting), and solve with the factors.

For n unknowns with `lower` diagonals below the main diagonal and `upper` above it, column j starts at j (2 lower + upper + 1);
entry (i, j) lies at offset lower + upper + i - j in it. The first `lower` entries of a column are reserved for the fill-in from
pivoting (as in LAPACK's dgbtrf). Factors contain the reciprocal of each pivot.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Ints, Reals
from bondgraph.run.linear.elimination import pivot_of, subtract, swap, swap_in, without_tiny

_COLUMN = 4
"""Entries per column of a tridiagonal matrix, with space for pivoting: two above the diagonal, the diagonal, and one below it."""
_ROWS = 16
"""Interval in rows at which the value carried from row to row is checked for being tiny; checking each row would be slower."""


def band_factor(a: Reals, pivots: Ints, row_weights: Reals, n: int, lower: int, upper: int) -> bool:
    above = lower + upper
    length = above + lower + 1
    for k in range(n):
        below = min(n - 1 - k, lower)
        column = a[k * length + above :]
        pivot_offset = pivot_of(column, row_weights[k:], below + 1)
        pivots[k] = k + pivot_offset
        pivot = column[pivot_offset]
        if not abs(pivot) > 0.0:
            return True
        last = min(n - 1, k + above) + 1
        if pivot_offset > 0:
            swap(row_weights, k, k + pivot_offset)
            for j in range(k, last):
                swap(a[j * length + above + k - j :], 0, pivot_offset)
        inverse = 1.0 / pivot
        column[0] = inverse
        for i in range(1, below + 1):
            column[i] = column[i] * inverse
        for j in range(k + 1, last):
            other = a[j * length + above + k - j :]
            factor = other[0]
            if factor != 0.0:
                subtract(other[1:], column[1:], factor, below)
    return False


def band_solve(a: Reals, pivots: Ints, b: Reals, n: int, lower: int, upper: int) -> None:
    above = lower + upper
    length = above + lower + 1
    for k in range(n):
        value = swap_in(b, k, pivots[k])
        subtract(b[k + 1 :], a[k * length + above + 1 :], value, min(n - 1 - k, lower))
    for back in range(n):
        k = n - 1 - back
        diagonal, reach = k * length + above, min(k, above)
        value = b[k] * a[diagonal]
        b[k] = value
        subtract(b[k - reach :], a[diagonal - reach :], value, reach)


def tridiagonal_factor(a: Reals, pivots: Ints, row_weights: Reals, n: int) -> bool:
    """Factorise a tridiagonal matrix, with results bit-identical to `band_factor`."""
    for k in range(n):
        column, other, beyond = a[k * _COLUMN :], a[(k + 1) * _COLUMN :], a[(k + 2) * _COLUMN :]
        is_inside, is_far = k + 1 < n, k + 2 < n
        here, size = column[2], row_weights[k]
        pivot, below, place = here, 0.0, k
        if is_inside:
            lower, other_size = column[3], row_weights[k + 1]
            here_weight, lower_weight = abs(here) * size, abs(lower) * other_size
            # a NaN is never the larger value, except beside another NaN
            swaps = lower_weight > here_weight or (not here_weight > -1.0 and lower_weight > -1.0)
            below = lower
            if swaps:
                pivot = lower
                below = here
                place = k + 1
                row_weights[k] = other_size
                row_weights[k + 1] = size
                swap(other, 1, 2)
                if is_far:
                    swap(beyond, 0, 1)
        pivots[k] = place
        if not abs(pivot) > 0.0:
            return True
        inverse = 1.0 / pivot
        column[2] = inverse
        if is_inside:
            multiple = below * inverse
            column[3] = multiple
            factor = other[1]
            if factor != 0.0:
                other[2] = other[2] - factor * multiple
            if is_far:
                fill = beyond[0]
                if fill != 0.0:
                    beyond[1] = beyond[1] - fill * multiple
    return False


def tridiagonal_solve(a: Reals, pivots: Ints, b: Disjoint, n: int) -> None:
    """Solve with tridiagonal factors of at least two rows, with results bit-identical to `band_solve`, except that after every
    `_ROWS` rows the value carried to the next row becomes zero if it is tiny."""
    left, begun = b[0], 0
    while begun < n - 1:
        end = min(n - 1, begun + _ROWS)
        for k in range(begun, end):
            current, following = left, b[k + 1]
            stays = pivots[k] == k
            value = current if stays else following
            b[k] = value
            left = (following if stays else current) - value * a[k * _COLUMN + 3]
        left = without_tiny(left)
        begun = end
    last = n - 1
    value = left * a[last * _COLUMN + 2]
    b[last] = value
    # remainders of the two rows above
    near, far, begun = b[last - 1] - value * a[last * _COLUMN + 1], 0.0, 0
    if n > 2:
        far = b[last - 2] - value * a[last * _COLUMN]
    while begun < n - 2:
        end = min(n - 2, begun + _ROWS)
        for back in range(begun, end):
            k = n - 2 - back
            column = a[k * _COLUMN :]
            value = near * column[2]
            b[k] = value
            near = far - value * column[1]
            if k > 1:
                far = b[k - 2] - value * column[0]
        near = without_tiny(near)
        begun = end
    b[0] = near * a[2]
