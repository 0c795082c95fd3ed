"""Orders of the unknowns of a linear system: reverse Cuthill-McKee for a narrow band, and minimum degree to reduce
fill-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class FillPattern:
    """Pattern of a sparse matrix and its factors, by columns, for an order of the unknowns and pivots on the diagonal.

    Parameters
    ----------
    order : the unknown at each position (n,).
    starts, rows : entries of the matrix with its diagonal: column j has rows[starts[j] : starts[j + 1]], ascending.
    below_at, below : entries of the lower factor, without its diagonal.
    above_at, above : entries of the upper factor, likewise.
    nested : number of consecutive columns of the lower factor, starting at each column, that share its rows (n,); at the first
        column of a supernode, the number of its columns.
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
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    return np.asarray(reverse_cuthill_mckee(_symmetric_pattern(n, rows, columns), symmetric_mode=True), dtype=np.int64)


def fill_pattern_of(n: int, rows: np.ndarray, columns: np.ndarray, order: np.ndarray | None = None) -> FillPattern:
    """Return the pattern of a matrix and its factors in an order (n,), by default of minimum degree. Factors have room for an
    entry (j, i) for each entry (i, j)."""
    order = _minimum_degree(n, rows, columns) if order is None else order
    position = np.argsort(order)
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


def _minimum_degree(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    # SuperLU orders a matrix while factorising it, so the matrix with this pattern must be nonsingular.
    pattern = _symmetric_pattern(n, rows, columns)
    diagonally_dominant = (pattern + eye_array(n) * (2.0 * float(np.max(np.diff(pattern.indptr), initial=0)) + 1.0)).tocsc()
    position = np.asarray(
        splu(diagonally_dominant, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).perm_c
    )
    return np.argsort(position).astype(np.int64)


def _nested(below_at: np.ndarray, below: np.ndarray) -> np.ndarray:
    n, lengths = len(below_at) - 1, np.diff(below_at)
    nested = np.ones(n, dtype=np.int64)
    for column in range(n - 2, -1, -1):
        if lengths[column] == lengths[column + 1] + 1 and below[below_at[column]] == column + 1:
            nested[column] = nested[column + 1] + 1
    return nested


def _symmetric_pattern(n: int, rows: np.ndarray, columns: np.ndarray) -> Any:
    from scipy.sparse import csr_array

    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    pattern = csr_array((np.ones(len(both[0])), both), (n, n))
    pattern.sum_duplicates()
    pattern.data[:] = 1.0
    return pattern


def _eliminated(n: int, keys: np.ndarray) -> list[np.ndarray]:
    """Return the rows below the diagonal in each column of the factor of a symmetric matrix; the key of an entry is
    column n + row."""
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
