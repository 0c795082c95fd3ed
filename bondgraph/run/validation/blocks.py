"""Islands of a matrix: places of its entries in; sets of rows and columns that have no entry in common with others, out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Island:
    """Rows and columns (n,) that have entries with each other and with no others: their places among all; which entries (e,) of
    the matrix are theirs, and the rows and columns of these among the places; all ascending."""

    places: np.ndarray
    entries: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    def dense(self, entries: np.ndarray) -> np.ndarray:
        """Matrices (k, n, n) of it, of all entries (k, all)."""
        n = len(self.places)
        found = np.zeros((len(entries), n, n))
        found[:, self.rows, self.columns] = entries[:, self.entries]
        return found


def islands(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[Island, ...]:
    """Those of a matrix (n, n) with these entries (e,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, of_place = connected_components(graph, directed=False)
    within, of_entry = np.empty(n, dtype=int), of_place[rows]
    places, entries = _by(of_place, count), _by(of_entry, count)
    for own in places:
        within[own] = np.arange(len(own))
    return tuple(Island(own, e, within[rows[e]], within[columns[e]]) for own, e in zip(places, entries, strict=True))


def _by(numbers: np.ndarray, count: int) -> list[np.ndarray]:
    """Where each of the first so many numbers stands."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, count))) if count else []
