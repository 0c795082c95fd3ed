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
    first = np.arange(n)
    while True:
        before = first.copy()
        least = np.minimum(first[rows], first[columns])
        np.minimum.at(first, rows, least)
        np.minimum.at(first, columns, least)
        first = first[first]
        if np.array_equal(first, before):
            break
    numbers, of_place = np.unique(first, return_inverse=True)
    within, of_entry = np.empty(n, dtype=int), of_place[rows]
    places, entries = _by(of_place, len(numbers)), _by(of_entry, len(numbers))
    for own in places:
        within[own] = np.arange(len(own))
    return tuple(Island(own, e, within[rows[e]], within[columns[e]]) for own, e in zip(places, entries, strict=True))


def _by(numbers: np.ndarray, count: int) -> list[np.ndarray]:
    """Where each of the first so many numbers stands."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, count))) if count else []
