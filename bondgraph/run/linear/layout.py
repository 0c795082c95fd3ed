"""Choose the memory layout of a linear system: full, band or sparse, with an ordering of the unknowns, by cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class FillPattern:
    """A sparse matrix and its factors, in an order of its unknowns and with its pivots on the diagonal, by columns.

    Parameters
    ----------
    order : the unknown at each position (n,).
    starts, rows : entries of the matrix with its diagonal: column j has rows[starts[j] : starts[j + 1]], ascending.
    below_at, below : entries of the lower factor, without its diagonal; above_at, above : of the upper factor.
    nested : number of consecutive columns of the lower factor, from each one on, that share the rows of the first (n,); at its
        first column a supernode has as many as it has columns.
    """

    order: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    below_at: np.ndarray
    below: np.ndarray
    above_at: np.ndarray
    above: np.ndarray
    nested: np.ndarray


def narrow_order(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return an order in which entries lie near the diagonal (reverse Cuthill-McKee)."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    return np.asarray(reverse_cuthill_mckee(_symmetric_pattern(n, rows, columns), symmetric_mode=True), dtype=np.int64)


def fill_pattern_of(n: int, rows: np.ndarray, columns: np.ndarray) -> FillPattern:
    """Return a minimum degree order and the fill-in of its elimination; entry (i, j) stands for (j, i) too."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    # SuperLU orders a matrix while it factorises it, so it gets a nonsingular matrix with this pattern.
    pattern = _symmetric_pattern(n, rows, columns)
    diagonally_dominant = (pattern + eye_array(n) * (2.0 * float(np.max(np.diff(pattern.indptr), initial=0)) + 1.0)).tocsc()
    position = np.asarray(
        splu(diagonally_dominant, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).perm_c
    )
    order = np.argsort(position).astype(np.int64)
    keys = np.unique(np.concatenate([position[columns].astype(np.int64) * n + position[rows], np.arange(n) * (n + 1)]))
    starts = np.searchsorted(keys, np.arange(n + 1) * n)
    struct = _eliminated(n, np.concatenate([keys, keys % n * n + keys // n]))
    lengths = np.array([len(column) for column in struct], dtype=np.int64)
    below = np.concatenate([*struct, np.zeros(0, dtype=np.int64)])
    sources = np.repeat(np.arange(n), lengths)
    by_row = np.lexsort((sources, below))
    above_at = np.searchsorted(below[by_row], np.arange(n + 1))
    below_at = np.concatenate([[0], np.cumsum(lengths)])
    return FillPattern(order, starts, keys % n, below_at, below, above_at, sources[by_row], _nested(below_at, below))


def _nested(below_at: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Count the columns of a supernode from each column on: they share the rows of the first, except for those between."""
    n, lengths = len(below_at) - 1, np.diff(below_at)
    nested = np.ones(n, dtype=np.int64)
    for column in range(n - 2, -1, -1):
        if lengths[column] == lengths[column + 1] + 1 and below[below_at[column]] == column + 1:
            nested[column] = nested[column + 1] + 1
    return nested


def _symmetric_pattern(n: int, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Return the symmetrised pattern: ones at every entry (i, j) and at (j, i)."""
    from scipy.sparse import csr_array

    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    pattern = csr_array((np.ones(len(both[0])), both), (n, n))
    pattern.sum_duplicates()
    pattern.data[:] = 1.0
    return pattern


def _eliminated(n: int, keys: np.ndarray) -> list[np.ndarray]:
    """Return the rows below the diagonal of each column of the factor of a symmetric matrix with entries column n + row: its own
    rows, and those of the columns that are eliminated into it (the elimination tree)."""
    columns, rows = np.divmod(keys, n)
    lower_rows: list[list[int]] = [[] for _ in range(n)]
    for column, row in zip(columns.tolist(), rows.tolist(), strict=True):
        if row > column:
            lower_rows[column].append(row)
    factor_columns: list[np.ndarray] = []
    children: list[list[int]] = [[] for _ in range(n)]
    for column in range(n):
        rows_below = set(lower_rows[column]).union(*(factor_columns[child].tolist() for child in children[column]))
        rows_below.discard(column)
        factor_columns.append(np.array(sorted(rows_below), dtype=np.int64))
        if rows_below:
            children[int(factor_columns[-1][0])].append(column)
    return factor_columns


DENSE, BAND, SPARSE = range(3)
KINDS = ("dense", "band", "sparse")
"""Kinds of layouts, and the modules of their factorisations."""
SOLUTIONS = 8
"""Typical number of solutions with the factors of one matrix."""
_COLUMN_OVERHEAD, _INDEXED_COST = 4.0, 3.0
"""Cost of a column besides its entries, and of an entry whose row is looked up, in units of a plain entry."""
_MIN_BAND, _MIN_SPARSE = 8, 30
"""Least numbers of unknowns for which a band, and sparse factors, are considered: the ordering algorithms take a while to
load."""


@dataclass(frozen=True, eq=False)
class MatrixLayout:
    """Layout of a matrix of n unknowns in memory.

    Parameters
    ----------
    kind : DENSE, BAND or SPARSE; lower, upper : diagonals of a band.
    order : the unknown at each position (n,).
    entry_indices : index of each named entry (k,), and `diagonal` of the diagonal ones, by unknown (n,), in an array of `room`
        numbers.
    fill : the pattern of sparse factors.
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
    """Return the layout of a matrix with entries (k,) in these rows and columns, and its diagonal: of the requested kind, or the
    cheapest."""
    constructors = {"dense": _dense, "band": _band, "sparse": _sparse}
    if kind != "auto":
        return constructors[kind](n, rows, columns)[0]
    layout, cost = _dense(n, rows, columns)
    neighbours = int(np.max(np.bincount(rows, minlength=n) + np.bincount(columns, minlength=n), initial=0)) // 2
    if n >= _MIN_BAND and band_is_cheaper(n, neighbours // 2, neighbours // 2):
        layout, cost = min((layout, cost), _band(n, rows, columns), key=lambda candidate: candidate[1])
    if n < _MIN_SPARSE or cost <= _sparse_cost(n, len(rows), len(rows)):
        return layout
    sparse, sparse_cost = _sparse(n, rows, columns)
    return sparse if sparse_cost < cost else layout


def bandwidths_of(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """Count the diagonals below and above the main one, in the given order of the unknowns."""
    return _bandwidths(np.arange(n), rows, columns)


def band_is_cheaper(n: int, lower: int, upper: int) -> bool:
    """Return True if a band with these diagonals is cheaper than a full matrix."""
    return _band_cost(n, lower, upper) < _dense_cost(n)


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


def _sparse(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[MatrixLayout, float]:
    fill = fill_pattern_of(n, rows, columns)
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
    """Count the diagonals below and above the main one."""
    position = np.argsort(order)
    below = position[rows] - position[columns]
    return int(np.max(below, initial=0)), int(np.max(-below, initial=0))


def _dense_cost(n: int) -> float:
    """Return the operations for a full matrix: its factors, and solutions."""
    return n * (n + _COLUMN_OVERHEAD) * (n / 3.0 + SOLUTIONS)


def _band_cost(n: int, lower: int, upper: int) -> float:
    """Return the operations for a band with pivoting: its factors, and solutions."""
    above = lower + upper
    return n * ((lower + _COLUMN_OVERHEAD) * above + SOLUTIONS * (lower + above + _COLUMN_OVERHEAD))


def _sparse_cost(n: int, entries: float, products: float) -> float:
    """Return the operations for sparse factors with this number of entries on each side of the diagonal, and of products to
    compute them."""
    return _INDEXED_COST * (products + SOLUTIONS * 2.0 * entries) + n * _COLUMN_OVERHEAD * (1.0 + 2.0 * SOLUTIONS)
