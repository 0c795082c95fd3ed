"""Idioms of elimination: columns in; the instructions that find a pivot, divide by it and subtract multiples out."""

from __future__ import annotations

from bondgraph.emit.procedure import Local, Operand, Procedure, Temporary


def pivot_of(write: Procedure, column: Temporary, worth: Temporary, count: Operand) -> Local:
    """Which of the first entries of a column is largest, each times the worth of its row; the first where several are."""
    place, most = write.local(0, "i64"), write.local(-1.0)
    with write.loop(count) as i:
        size = write.intrinsic("fabs", column[i]) * worth[i]
        with write.when(size > most.get()):
            most.set(size)
            place.set(i)
    return place


def subtract(write: Procedure, out: Temporary, column: Temporary, factor: Temporary, count: Operand) -> None:
    """A multiple of a column from another one."""
    with write.loop(count) as i:
        out[i] = out[i] - factor * column[i]


def taken(write: Procedure, b: Temporary, k: Temporary, place: Temporary) -> Temporary:
    """Entry k of a right side after it has changed places with another one."""
    value = b[place]
    with write.when(~place.equals(k)):
        b[place] = b[k]
        b[k] = value
    return value


def swap(write: Procedure, array: Temporary, one: Operand, other: Operand) -> None:
    """Two entries of an array."""
    kept, moved = write.local(array[one]), array[other]
    array[one] = moved
    array[other] = kept.get()
