"""How the matrix of a linear system lies in memory: which entries there are in; an order of the unknowns, and places, out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DENSE, BAND = 0, 1
"""Kinds of layouts: `dense`, `band`."""
SOLUTIONS = 8
"""Systems that are solved with the factors of one matrix, about."""
_BEGUN = 4
"""What a column costs besides its entries, in entries."""


@dataclass(frozen=True, eq=False)
class MatrixLayout:
    """Where the entries of a matrix of n unknowns lie.

    Parameters
    ----------
    kind : DENSE or BAND; lower, upper : diagonals of a band.
    order : the unknown at each place (n,).
    places : of each entry that was named (k,), and `diagonal` of those on it, by unknown (n,), in an array of `room` numbers.
    """

    kind: int
    lower: int
    upper: int
    order: np.ndarray
    places: np.ndarray
    diagonal: np.ndarray
    room: int


def layout_of(n: int, rows: np.ndarray, columns: np.ndarray, kind: str = "auto") -> MatrixLayout:
    """The layout of a matrix with entries (k,) in these rows and columns, and its diagonal: the cheaper one where `kind` is
    "auto", else "dense" or "band"."""
    order = np.arange(n)
    lower, upper = reach_of(n, rows, columns)
    if n > 2 and kind != "dense" and lower + upper > 2:
        other = _narrowed(n, rows, columns)
        reach = _reach(other, rows, columns)
        if sum(reach) < lower + upper:
            order, (lower, upper) = other, reach
    if kind == "dense" or (kind == "auto" and not is_narrow(n, lower, upper)):
        order, unknowns = np.arange(n), np.arange(n)
        return MatrixLayout(DENSE, 0, 0, order, columns * n + rows, unknowns * (n + 1), n * n)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    length, above = 2 * lower + upper + 1, lower + upper
    places = place[columns] * length + above + place[rows] - place[columns]
    return MatrixLayout(BAND, lower, upper, order, places, place * length + above, n * length)


def reach_of(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """How many diagonals there are below and above the main one, with the unknowns as they stand."""
    return _reach(np.arange(n), rows, columns)


def is_narrow(n: int, lower: int, upper: int) -> bool:
    """Whether a band of so many diagonals is cheaper than a full matrix."""
    return _narrow(n, lower, upper) < _full(n)


def _reach(order: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """How many diagonals there are below and above the main one."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    below = place[rows] - place[columns]
    return int(np.max(below, initial=0)), int(np.max(-below, initial=0))


def _narrowed(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """An order in which entries lie near the diagonal (Cuthill and McKee, reversed)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    pattern = coo_array((np.ones(len(both[0])), both), (n, n)).tocsr()
    return np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True), dtype=np.int64)


def _full(n: int) -> float:
    """Operations for a full matrix: its factors, and solutions."""
    return n * (n + _BEGUN) * (n / 3.0 + SOLUTIONS)


def _narrow(n: int, lower: int, upper: int) -> float:
    """The same for a band, if its rows change places."""
    above = lower + upper
    return n * ((lower + _BEGUN) * above + SOLUTIONS * (lower + above + _BEGUN))
