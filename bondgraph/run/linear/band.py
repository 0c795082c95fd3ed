"""Factorise band matrices in place (LU with partial pivoting), and solve with the factors.

For n unknowns with `lower` diagonals below the main one and `upper` above it, column j starts at j (2 lower + upper + 1); entry
(i, j) lies at offset lower + upper + i - j in it. The first `lower` numbers of a column are room for the fill-in of pivoting (as
in LAPACK's dgbtrf). Factors hold the reciprocal of each pivot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bondgraph.emit.procedure import Local, Operand, Procedure, Temporary
from bondgraph.run.linear.elimination import TINY, pivot_of, subtract, swap, swap_in

_SIZES = {"n": "i64", "lower": "i64", "upper": "i64"}


_TRIDIAGONAL = {"a": "ptr", "pivots": "ptr"}
_COLUMN = 4
"""Numbers per column of a tridiagonal matrix, with room for pivoting: two above the diagonal, the diagonal, one below."""
_ROWS = 16
"""Interval in rows at which the number carried from row to row is checked for being tiny; a check in each row would take
longer."""


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


def factor_three() -> Procedure:
    """Factorise a tridiagonal matrix with the bits of `factor`: the row below, the only one that pivoting needs, stays in
    registers."""
    write = Procedure("tridiagonal_factor", {**_TRIDIAGONAL, "worth": "ptr", "n": "i64"}, "i64")
    a, pivots, worth, n = (write[name] for name in ("a", "pivots", "worth", "n"))
    with write.loop(n) as k:
        column, other, beyond = (a.at((k + ahead) * _COLUMN) for ahead in range(3))
        is_inside, is_far = k + 1 < n, k + 2 < n
        here, size = column[2], worth[k]
        pivot, below, place = write.local(here), write.local(0.0), write.local(k, "i64")
        with write.when(is_inside):
            lower, other_size = column[3], worth[k + 1]
            here_weight = write.intrinsic("fabs", here) * size
            lower_weight = write.intrinsic("fabs", lower) * other_size
            # NaN is never larger than a number, but larger than nothing
            swaps = (lower_weight > here_weight) | (~(here_weight > -1.0) & (lower_weight > -1.0))
            below.set(lower)
            with write.when(swaps):
                pivot.set(lower)
                below.set(here)
                place.set(k + 1)
                worth[k] = other_size
                worth[k + 1] = size
                swap(write, other.at(1), 0, 1)
                with write.when(is_far):
                    swap(write, beyond, 0, 1)
        pivots.store(k, place.get(), "i64")
        with write.when(~(write.intrinsic("fabs", pivot.get()) > 0.0)):
            write.give(1)
        inverse = 1.0 / pivot.get()
        column[2] = inverse
        with write.when(is_inside):
            multiple = below.get() * inverse
            column[3] = multiple
            factor = other[1]
            with write.when(~factor.equals(0.0)):
                other[2] = other[2] - factor * multiple
            with write.when(is_far):
                fill = beyond[0]
                with write.when(~fill.equals(0.0)):
                    beyond[1] = beyond[1] - fill * multiple
    write.give(0)
    return write


def solve_three() -> Procedure:
    """Solve with tridiagonal factors, with the bits of `solve` except for tiny numbers: what the next row needs stays in
    registers."""
    write = Procedure("tridiagonal_solve", {**_TRIDIAGONAL, "b": "ptr noalias", "n": "i64"})
    a, pivots, b, n = (write[name] for name in ("a", "pivots", "b", "n"))
    with write.when(n < 1):
        write.give()
    left = write.local(b[0])
    with _rows(write, n - 1, left) as k:
        current, following = left.get(), b[k + 1]
        stays = pivots.load(k, "i64").equals(k)
        value = write.select(stays, current, following)
        b[k] = value
        left.set(write.select(stays, following, current) - value * a[k * _COLUMN + 3])
    last = n - 1
    value = left.get() * a[last * _COLUMN + 2]
    b[last] = value
    with write.when(n < 2):
        write.give()
    # remainders of the rows one and two above
    near = write.local(b[last - 1] - value * a[last * _COLUMN + 1])
    far = write.local(0.0)
    with write.when(n > 2):
        far.set(b[last - 2] - value * a[last * _COLUMN])
    with _rows(write, n - 2, near) as back:
        k = n - 2 - back
        column = a.at(k * _COLUMN)
        value = near.get() * column[2]
        b[k] = value
        near.set(far.get() - value * column[1])
        with write.when(k > 1):
            far.set(b[k - 2] - value * column[0])
    b[0] = near.get() * a[2]
    write.give()
    return write


@contextmanager
def _rows(write: Procedure, count: Temporary, left: Local) -> Iterator[Temporary]:
    """Loop over this many rows; at intervals set `left`, the number carried from row to row, to zero if it is tiny."""
    begun = write.local(0, "i64")
    with write.repeat() as (_, done):
        first = begun.get()
        with write.when(first >= count):
            write.jump(done)
        last = _minimum(write, count, first + _ROWS)
        with write.loop(last, first) as k:
            yield k
        with write.when(write.intrinsic("fabs", left.get()) < TINY):
            left.set(0.0)
        begun.set(last)
