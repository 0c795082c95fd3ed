"""Full matrices, stored by columns: LU factors in place, and solutions.

Gaussian elimination with partial pivoting; G. H. Golub, C. F. Van Loan, Matrix Computations, 2013, 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.run.linear.elimination import pivot_of, subtract, swap, swap_in

BLOCK, TILE = 4, 2
"""Number of columns whose multiples are subtracted together, and number of columns that they are subtracted from at once, to
reuse loaded numbers."""

_MATRIX = {"a": "ptr", "pivots": "ptr", "worth": "ptr", "n": "i64"}


def factor() -> Procedure:
    """Overwrite a (n, n) with L and U, which hold the reciprocal of each pivot, and pivots (n,) with the rows that were swapped.
    Return 1 if the matrix is singular, else 0. Rows of L are swapped in the block of their column only.

    worth (n,): weight of each row in the choice of pivots, the inverse of the size of its unknown, so that the choice does not
    depend on units. Blocks of columns do not change the order of subtractions in any entry, so that the bits are those of single
    columns.
    """
    write = Procedure("dense_factor", _MATRIX, "i64")
    n, arguments = write["n"], [write[name] for name in _MATRIX]
    begun = write.local(0, "i64")
    with write.repeat() as (_, done):
        first = begun.get()
        behind = first + BLOCK
        with write.when(behind > n):
            write.jump(done)
        with (
            write.loop(behind, first) as k,
            write.when(write.call("dense_eliminate", [*arguments, k, first, behind], "i64").equals(1)),
        ):
            write.give(1)
        reached = write.local(behind, "i64")
        for tile in (TILE, 1):
            with write.repeat() as (_, over):
                j = reached.get()
                with write.when(j + tile > n):
                    write.jump(over)
                _apply(write, first, [j + other for other in range(tile)])
                reached.set(j + tile)
        begun.set(behind)
    rest = begun.get()
    with write.loop(n, rest) as k, write.when(write.call("dense_eliminate", [*arguments, k, rest, n], "i64").equals(1)):
        write.give(1)
    write.give(0)
    return write


def eliminate() -> Procedure:
    """Choose the pivot of column k, swap rows in the columns from `begun` to `last`, and subtract multiples of column k from the
    columns after it. Return 1 if there is no pivot."""
    places = dict.fromkeys(("k", "begun", "last"), "i64")
    write = Procedure("dense_eliminate", {**_MATRIX, **places}, "i64", internal=True)
    a, pivots, worth, n, k, begun, last = (write[name] for name in (*_MATRIX, *places))
    column, left = a.at(k * n + k), n - k
    place = pivot_of(write, column, worth.at(k), left).get()
    pivots.store(k, k + place, "i64")
    pivot = column[place]
    with write.when(~(write.intrinsic("fabs", pivot) > 0.0)):
        write.give(1)
    with write.when(place > 0):
        swap(write, worth, k, k + place)
        with write.loop(last, begun) as j:
            swap(write, a.at(j * n), k, k + place)
    inverse = 1.0 / pivot
    column[0] = inverse
    with write.loop(left, 1) as i:
        column[i] = column[i] * inverse
    with write.loop(last, k + 1) as j:
        other = a.at(j * n + k)
        factor = other[0]
        with write.when(~factor.equals(0.0)):
            subtract(write, other.at(1), column.at(1), factor, left - 1)
    write.give(0)
    return write


def _apply(write: Procedure, first: Temporary, columns: Sequence[Temporary]) -> None:
    """Swap rows of columns as in the block that begins at `first`, and subtract multiples of the block's columns."""
    a, pivots, n = (write[name] for name in ("a", "pivots", "n"))
    block, others = a.at(first * n + first), [a.at(j * n + first) for j in columns]
    factors = [factor for other in others for factor in _eliminated(write, block, other, pivots, first)]
    zero = factors[0].equals(0.0)
    for factor in factors[1:]:
        zero = zero & factor.equals(0.0)
    with write.when(~zero):
        outs = [other.at(BLOCK) for other in others]
        write.call(f"dense_subtract{len(outs)}", [*outs, block.at(BLOCK), n, *factors, n - first - BLOCK])


def _eliminated(write: Procedure, block: Temporary, column: Temporary, pivots: Temporary, first: Temporary) -> list[Temporary]:
    """Swap rows of a column as in a block; return its entries at the rows of the block, to eliminate its lower part with."""
    n, values = write["n"], list[Temporary]()
    for row in range(BLOCK):
        swap(write, column, row, pivots.load(first + row, "i64") - first)
    for row in range(BLOCK):
        value = column[row]
        for earlier, solved in enumerate(values):
            value = value - solved * block[n * earlier + row]
        column[row] = value
        values.append(value)
    return values


def subtract_block(columns: int) -> Procedure:
    """Subtract multiples of the columns of a block, which lie n apart, from this many adjacent columns."""
    outs = [f"out{column}" for column in range(columns)]
    factors = [[f"factor{column}_{row}" for row in range(BLOCK)] for column in range(columns)]
    arguments = {**dict.fromkeys(outs, "ptr noalias"), "block": "ptr", "n": "i64"}
    arguments |= {name: "double" for names in factors for name in names}
    write = Procedure(f"dense_subtract{columns}", {**arguments, "count": "i64"}, internal=True)
    starts = [write["block"].at(write["n"] * row) for row in range(BLOCK)]
    with write.loop(write["count"]) as i:
        values = [write[out][i] for out in outs]
        for row, start in enumerate(starts):
            entry = start[i]
            values = [value - write[names[row]] * entry for value, names in zip(values, factors, strict=True)]
        for out, value in zip(outs, values, strict=True):
            write[out][i] = value
    write.give()
    return write


def solve() -> Procedure:
    """Overwrite b (n,) with the solution, from the factors of `factor`."""
    write = Procedure("dense_solve", {"a": "ptr", "pivots": "ptr", "b": "ptr", "n": "i64"})
    a, pivots, b, n = (write[name] for name in ("a", "pivots", "b", "n"))
    begun = write.local(0, "i64")
    with write.repeat() as (_, done):
        first = begun.get()
        with write.when(first + BLOCK > n):
            write.jump(done)
        _forward(write, first)
        begun.set(first + BLOCK)
    rest = begun.get()
    with write.loop(n, rest) as k:
        swap_in(write, b, k, pivots.load(k, "i64"))
    with write.loop(n, rest) as k:
        subtract(write, b.at(k + 1), a.at(k * n + k + 1), b[k], n - k - 1)
    left = write.local(n, "i64")
    with write.repeat() as (_, done):
        last = left.get()
        with write.when(last < BLOCK):
            write.jump(done)
        _backward(write, last)
        left.set(last - BLOCK)
    with write.loop(left.get()) as back:
        k = left.get() - 1 - back
        column = a.at(k * n)
        value = b[k] * column[k]
        b[k] = value
        subtract(write, b, column, value, k)
    write.give()
    return write


def _forward(write: Procedure, first: Temporary) -> None:
    """Swap rows of the right-hand side as in the block that begins at `first`, and subtract multiples of the block's columns."""
    a, pivots, b, n = (write[name] for name in ("a", "pivots", "b", "n"))
    block, right = a.at(first * n + first), b.at(first)
    values = _eliminated(write, block, right, pivots, first)
    write.call("dense_subtract1", [right.at(BLOCK), block.at(BLOCK), n, *values, n - first - BLOCK])


def _backward(write: Procedure, last: Temporary) -> None:
    """Solve for the unknowns of the block that ends before `last`, from the last one on; subtract multiples of its columns from
    the rows above."""
    a, b, n = (write[name] for name in ("a", "b", "n"))
    above = last - BLOCK
    block, right = a.at(above * n + above), b.at(above)
    values: list[Temporary] = []
    for row in reversed(range(BLOCK)):
        value = right[row]
        for back, solved in enumerate(values):
            value = value - solved * block[n * (BLOCK - 1 - back) + row]
        value = value * block[n * row + row]
        right[row] = value
        values.append(value)
    write.call("dense_subtract1", [b, a.at((last - 1) * n), 0 - n, *values, above])
