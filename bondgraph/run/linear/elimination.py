"""Write the inner steps of Gaussian elimination: find a pivot, swap entries, subtract a multiple of a column."""

from __future__ import annotations

from bondgraph.emit.procedure import Local, Operand, Procedure, Temporary

TINY = 1e-290
"""Numbers below this become zero. Far from a source, solutions fall by a factor in every row and would end as subnormal numbers,
which slow a processor down a hundredfold."""


def without_tiny(write: Procedure, value: Temporary) -> Temporary:
    """Return the number, or zero if it is tiny."""
    return write.select(write.intrinsic("fabs", value) < TINY, 0.0, value)


def pivot_of(write: Procedure, column: Temporary, worth: Temporary, count: Operand) -> Local:
    """Find the largest of the first entries of a column, weighted by the worth of the rows; the first of equal ones."""
    pivot_offset, largest = write.local(0, "i64"), write.local(-1.0)
    with write.loop(count) as i:
        size = write.intrinsic("fabs", column[i]) * worth[i]
        with write.when(size > largest.get()):
            largest.set(size)
            pivot_offset.set(i)
    return pivot_offset


def subtract(write: Procedure, out: Temporary, column: Temporary, factor: Temporary, count: Operand) -> None:
    """Subtract a multiple of a column from another one."""
    with write.loop(count) as i:
        out[i] = out[i] - factor * column[i]


def swap_in(write: Procedure, b: Temporary, k: Temporary, pivot: Temporary) -> Temporary:
    """Swap entry k of a right-hand side with the pivot entry and return it."""
    value = b[pivot]
    with write.when(~pivot.equals(k)):
        b[pivot] = b[k]
        b[k] = value
    return value


def swap(write: Procedure, array: Temporary, one: Operand, other: Operand) -> None:
    """Swap two entries of an array."""
    first, second = write.local(array[one]), array[other]
    array[one] = second
    array[other] = first.get()
