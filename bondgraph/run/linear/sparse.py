"""Sparse matrices with a known pattern of the factors, stored by columns: LU factors and solutions.

Left-looking elimination (J. R. Gilbert, T. Peierls, SIAM J. Sci. Stat. Comput. 9, 1988) with the pivots on the diagonal: the
matrix, 1 - h gamma J, is near 1 for short steps, so that a step with too small pivots must become shorter.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Temporary

GROWTH = 1e6
"""Largest factor, relative to the sizes of its unknowns, that does not lose too many digits."""

BLOCK = 4
"""Number of columns of a supernode whose multiples are subtracted together: their rows are looked up and changed once for all."""

_PATTERN = dict.fromkeys(("starts", "rows", "below_at", "below", "above_at", "above"), "ptr")
_FACTORS = dict.fromkeys(("inverse", "lower", "upper"), "ptr")


def factor() -> Procedure:
    """Write L, without its unit diagonal, to lower, U, without its diagonal, to upper, and the inverse of its diagonal to inverse
    (n,). Return 1 if a pivot is too small, else 0.

    a holds the columns of the matrix, with entries in rows[starts[j]] ...; the entries of L are in below[below_at[j]] ..., those
    of U in above[above_at[j]] ..., ascending. nested (n,) as in `layout.FillPattern`: blocks of such columns do not change the
    order of subtractions in any entry. worth (n,) as in `dense.factor`; work (n,) is zero before and after.
    """
    arguments = {"a": "ptr", **_PATTERN, **_FACTORS, "nested": "ptr", "worth": "ptr", "work": "ptr", "n": "i64"}
    write = Procedure("sparse_factor", arguments, "i64")
    a, worth, work = (write[name] for name in ("a", "worth", "work"))
    starts, rows, below_at, below, above_at, above = (write[name] for name in _PATTERN)
    inverse, lower, upper = (write[name] for name in _FACTORS)
    wrong = write.local(0, "i64")
    with write.loop(write["n"]) as j:
        with write.loop(starts.load(j + 1, "i64"), starts.load(j, "i64")) as k:
            work[rows.load(k, "i64")] = a[k]
        place, end = write.local(above_at.load(j, "i64"), "i64"), above_at.load(j + 1, "i64")
        with write.repeat() as (again, done):
            k = place.get()
            with write.when(k >= end):
                write.jump(done)
            earlier = above.load(k, "i64")
            with write.when((k + BLOCK <= end) & (write["nested"].load(earlier, "i64") >= BLOCK)):
                write.call("sparse_subtract", [work, upper.at(k), lower, below_at, below, earlier])
                place.set(k + BLOCK)
                write.jump(again)
            place.set(k + 1)
            factor = work[earlier]
            upper[k] = factor
            work[earlier] = 0.0
            with (
                write.when(~factor.equals(0.0)),
                write.loop(below_at.load(earlier + 1, "i64"), below_at.load(earlier, "i64")) as i,
            ):
                row = below.load(i, "i64")
                work[row] = work[row] - factor * lower[i]
        pivot = work[j]
        work[j] = 0.0
        most, inverse_pivot = write.local(0.0), 1.0 / pivot
        inverse[j] = inverse_pivot
        with write.loop(below_at.load(j + 1, "i64"), below_at.load(j, "i64")) as i:
            row = below.load(i, "i64")
            most.set(write.intrinsic("maxnum", most.get(), write.intrinsic("fabs", work[row]) * worth[row]))
            lower[i] = work[row] * inverse_pivot
            work[row] = 0.0
        size = write.intrinsic("fabs", pivot)
        with write.when(~((size > 0.0) & (size * worth[j] * GROWTH >= most.get()))):
            wrong.set(1)
    write.give(wrong.get())
    return write


def subtract_nested() -> Procedure:
    """Subtract the multiples of `BLOCK` columns of a supernode, from `first` on, from a column: they become entries of U, and are
    subtracted from the rows below the block."""
    arguments = {"work": "ptr noalias", "upper": "ptr", "lower": "ptr", "below_at": "ptr", "below": "ptr", "first": "i64"}
    write = Procedure("sparse_subtract", arguments, internal=True)
    work, upper, lower, below_at, below, first = (write[name] for name in arguments)
    starts = [below_at.load(first + column, "i64") for column in range(BLOCK)]
    columns = [lower.at(start) for start in starts]
    factors: list[Temporary] = []
    for place in range(BLOCK):
        value = work[first + place]
        for column, factor in enumerate(factors):
            value = value - factor * columns[column][place - column - 1]
        upper[place] = value
        work[first + place] = 0.0
        factors.append(value)
    zero = factors[0].equals(0.0)
    for factor in factors[1:]:
        zero = zero & factor.equals(0.0)
    with write.when(zero):
        write.give()
    rows, rests = below.at(starts[-1]), [column.at(BLOCK - 1 - place) for place, column in enumerate(columns)]
    with write.loop(below_at.load(first + BLOCK, "i64") - starts[-1]) as i:
        row = rows.load(i, "i64")
        value = work[row]
        for factor, rest in zip(factors, rests, strict=True):
            value = value - factor * rest[i]
        work[row] = value
    write.give()
    return write


def solve() -> Procedure:
    """Overwrite b (n,) with the solution, from the factors of `factor`."""
    arguments = {**dict.fromkeys(("below_at", "below", "above_at", "above"), "ptr"), **_FACTORS, "b": "ptr", "n": "i64"}
    write = Procedure("sparse_solve", arguments)
    below_at, below, above_at, above = (write[name] for name in ("below_at", "below", "above_at", "above"))
    inverse, lower, upper = (write[name] for name in _FACTORS)
    b, n = write["b"], write["n"]
    with write.loop(n) as j:
        value = b[j]
        with write.loop(below_at.load(j + 1, "i64"), below_at.load(j, "i64")) as i:
            row = below.load(i, "i64")
            b[row] = b[row] - value * lower[i]
    with write.loop(n) as back:
        j = n - 1 - back
        value = b[j] * inverse[j]
        b[j] = value
        with write.loop(above_at.load(j + 1, "i64"), above_at.load(j, "i64")) as k:
            row = above.load(k, "i64")
            b[row] = b[row] - value * upper[k]
    write.give()
    return write
