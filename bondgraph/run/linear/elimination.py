"""Inner steps of Gaussian elimination: find a pivot, swap entries, and subtract a multiple of a column."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, inline

TINY = 1e-290
"""Magnitude below which numbers carried from row to row become zero. Far from a source, solutions decrease by a factor from
row to row and would become subnormal numbers, which are slow."""


@inline
def without_tiny(value: float) -> float:
    return 0.0 if abs(value) < TINY else value


@inline
def pivot_of(column: Reals, row_weights: Reals, count: int) -> int:
    pivot_offset, largest = 0, -1.0
    for i in range(count):
        size = abs(column[i]) * row_weights[i]
        if size > largest:
            largest = size
            pivot_offset = i
    return pivot_offset


@inline
def subtract(out: Reals, column: Reals, factor: float, count: int) -> None:
    for i in range(count):
        out[i] = out[i] - factor * column[i]


@inline
def swap_in(b: Reals, k: int, pivot: int) -> float:
    value = b[pivot]
    if pivot != k:
        b[pivot] = b[k]
        b[k] = value
    return value


@inline
def swap(array: Reals, one: int, other: int) -> None:
    array[one], array[other] = array[other], array[one]
