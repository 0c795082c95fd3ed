"""Choose the memory layout of a linear system by cost: dense, band or sparse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.run.linear.ordering import FillPattern, fill_pattern_of, narrow_order

DENSE, BAND, SPARSE = range(3)


SOLUTIONS = 8
"""Typical number of solutions per factorisation."""


_COLUMN_OVERHEAD, _INDEXED_COST = 4.0, 3.0
"""Cost of a column apart from its entries, and cost of an entry whose row is looked up, where a plain entry costs 1."""


_MIN_BAND, _MIN_SPARSE = 8, 30
"""Minimum numbers of unknowns for which band and sparse layouts are considered, because the ordering algorithms are slow
to load."""


@dataclass(frozen=True, eq=False)
class MatrixLayout:
    """Layout of a matrix of n unknowns in memory.

    Parameters
    ----------
    kind : DENSE, BAND or SPARSE.
    lower, upper : numbers of diagonals of a band below and above the main diagonal.
    order : the unknown at each position (n,).
    entry_indices, diagonal : indices of the given entries (k,), and of the diagonal entries by unknown (n,), in an array of
        `room` values.
    fill : pattern of sparse factors.
    """

    kind: int
    order: np.ndarray
    entry_indices: np.ndarray
    diagonal: np.ndarray
    room: int
    lower: int = 0
    upper: int = 0
    fill: FillPattern | None = None


def layout_of(n: int, rows: np.ndarray, columns: np.ndarray, kind: str = "auto") -> MatrixLayout:
    constructors = {"dense": _dense, "band": _band, "sparse": _sparse}
    if kind != "auto":
        return constructors[kind](n, rows, columns)[0]
    layout, cost = _dense(n, rows, columns)
    neighbours = int(np.max(np.bincount(rows, minlength=n) + np.bincount(columns, minlength=n), initial=0)) // 2
    if n >= _MIN_BAND and _band_cost(n, neighbours // 2, neighbours // 2) < _dense_cost(n):
        layout, cost = min((layout, cost), _band(n, rows, columns), key=lambda candidate: candidate[1])
    if n < _MIN_SPARSE or cost <= _sparse_cost(n, len(rows), len(rows)):
        return layout
    sparse, sparse_cost = _sparse(n, rows, columns)
    return sparse if sparse_cost < cost else layout


def pair_layout_of(single: MatrixLayout, rows: np.ndarray, columns: np.ndarray) -> MatrixLayout:
    """Return the layout of a matrix with two diagonal blocks, each with the entries (k,) of the `single` matrix, and with entries
    that couple unknowns i and n + i in both directions. In sparse factors these unknowns are adjacent, so that their pivots are
    the pivots of a complex number."""
    n = len(single.order)
    first, second = np.arange(n), np.arange(n) + n
    rows, columns = np.concatenate([rows, rows + n, first, second]), np.concatenate([columns, columns + n, second, first])
    if single.kind == DENSE:
        return _dense(2 * n, rows, columns)[0]
    if single.kind == BAND:
        return _band(2 * n, rows, columns)[0]
    return _sparse(2 * n, rows, columns, np.stack([single.order, single.order + n], axis=1).ravel())[0]


def _dense(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[MatrixLayout, float]:
    unknowns = np.arange(n)
    return MatrixLayout(DENSE, unknowns, columns * n + rows, unknowns * (n + 1), n * n), _dense_cost(n)


def _band(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[MatrixLayout, float]:
    order = np.arange(n)
    lower, upper = _bandwidths(order, rows, columns)
    if lower + upper > 2:
        reordered = narrow_order(n, rows, columns)
        bandwidths = _bandwidths(reordered, rows, columns)
        if sum(bandwidths) < lower + upper:
            order, (lower, upper) = reordered, bandwidths
    position = np.argsort(order)
    length, above = 2 * lower + upper + 1, lower + upper
    entry_indices = position[columns] * length + above + position[rows] - position[columns]
    return MatrixLayout(BAND, order, entry_indices, position * length + above, n * length, lower, upper), _band_cost(
        n, lower, upper
    )


def _sparse(n: int, rows: np.ndarray, columns: np.ndarray, order: np.ndarray | None = None) -> tuple[MatrixLayout, float]:
    fill = fill_pattern_of(n, rows, columns, order)
    position = np.argsort(fill.order)
    keys = np.repeat(np.arange(n), np.diff(fill.starts)) * n + fill.rows
    entry_indices, diagonal = (
        np.searchsorted(keys, position[columns] * n + position[rows]),
        np.searchsorted(keys, position * (n + 1)),
    )
    below = np.diff(fill.below_at)
    return MatrixLayout(SPARSE, fill.order, entry_indices, diagonal, len(keys), fill=fill), _sparse_cost(
        n, float(below.sum()), float(below @ below)
    )


def _bandwidths(order: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    position = np.argsort(order)
    below = position[rows] - position[columns]
    return int(np.max(below, initial=0)), int(np.max(-below, initial=0))


def _dense_cost(n: int) -> float:
    return n * (n + _COLUMN_OVERHEAD) * (n / 3.0 + SOLUTIONS)


def _band_cost(n: int, lower: int, upper: int) -> float:
    above = lower + upper
    return n * ((lower + _COLUMN_OVERHEAD) * above + SOLUTIONS * (lower + above + _COLUMN_OVERHEAD))


def _sparse_cost(n: int, entries: float, products: float) -> float:
    return _INDEXED_COST * (products + SOLUTIONS * 2.0 * entries) + n * _COLUMN_OVERHEAD * (1.0 + 2.0 * SOLUTIONS)
