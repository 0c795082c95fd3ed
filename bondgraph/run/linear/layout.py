"""How the matrix of a linear system lies in memory: which entries there are in; an order of the unknowns, and places, out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.run.linear.ordering import Fill, fill_of, narrowed

DENSE, BAND, SPARSE = range(3)
KINDS = ("dense", "band", "sparse")
"""Kinds of layouts, and the modules of their factors."""
SOLUTIONS = 8
"""Systems that are solved with the factors of one matrix, about."""
_BEGUN, _INDIRECT = 4.0, 3.0
"""What a column costs besides its entries, in entries; what an entry costs whose row is looked up."""
_BAND_FROM, _SPARSE_FROM = 8, 30
"""Unknowns from which on a band, and sparse factors, are thought of: what finds their order takes a while to load."""


@dataclass(frozen=True, eq=False)
class MatrixLayout:
    """Where the entries of a matrix of n unknowns lie.

    Parameters
    ----------
    kind : DENSE, BAND or SPARSE; lower, upper : diagonals of a band.
    order : the unknown at each place (n,).
    places : of each entry that was named (k,), and `diagonal` of those on it, by unknown (n,), in an array of `room` numbers.
    fill : the pattern of sparse factors.
    """

    kind: int
    order: np.ndarray
    places: np.ndarray
    diagonal: np.ndarray
    room: int
    lower: int = 0
    upper: int = 0
    fill: Fill | None = None


def layout_of(n: int, rows: np.ndarray, columns: np.ndarray, kind: str = "auto") -> MatrixLayout:
    """The layout of a matrix with entries (k,) in these rows and columns, and its diagonal: of the kind that is asked for, or the
    cheapest."""
    made = {"dense": _dense, "band": _band, "sparse": _sparse}
    if kind != "auto":
        return made[kind](n, rows, columns)[0]
    layout, cost = _dense(n, rows, columns)
    neighbours = int(np.max(np.bincount(rows, minlength=n) + np.bincount(columns, minlength=n), initial=0)) // 2
    if n >= _BAND_FROM and is_narrow(n, neighbours // 2, neighbours // 2):
        layout, cost = min((layout, cost), _band(n, rows, columns), key=lambda found: found[1])
    if n < _SPARSE_FROM or cost <= _looked_up(n, len(rows), len(rows)):
        return layout
    sparse, less = _sparse(n, rows, columns)
    return sparse if less < cost else layout


def reach_of(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """How many diagonals there are below and above the main one, with the unknowns as they stand."""
    return _reach(np.arange(n), rows, columns)


def is_narrow(n: int, lower: int, upper: int) -> bool:
    """Whether a band of so many diagonals is cheaper than a full matrix."""
    return _narrow(n, lower, upper) < _full(n)


def _dense(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[MatrixLayout, float]:
    unknowns = np.arange(n)
    return MatrixLayout(DENSE, unknowns, columns * n + rows, unknowns * (n + 1), n * n), _full(n)


def _band(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[MatrixLayout, float]:
    order = np.arange(n)
    lower, upper = _reach(order, rows, columns)
    if lower + upper > 2:
        other = narrowed(n, rows, columns)
        reach = _reach(other, rows, columns)
        if sum(reach) < lower + upper:
            order, (lower, upper) = other, reach
    place = np.argsort(order)
    length, above = 2 * lower + upper + 1, lower + upper
    places = place[columns] * length + above + place[rows] - place[columns]
    return MatrixLayout(BAND, order, places, place * length + above, n * length, lower, upper), _narrow(n, lower, upper)


def _sparse(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[MatrixLayout, float]:
    fill = fill_of(n, rows, columns)
    place = np.argsort(fill.order)
    keys = np.repeat(np.arange(n), np.diff(fill.starts)) * n + fill.rows
    found, unknowns = np.searchsorted(keys, place[columns] * n + place[rows]), np.searchsorted(keys, place * (n + 1))
    below = np.diff(fill.below_at)
    return MatrixLayout(SPARSE, fill.order, found, unknowns, len(keys), fill=fill), _looked_up(
        n, float(below.sum()), float(below @ below)
    )


def _reach(order: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """How many diagonals there are below and above the main one."""
    place = np.argsort(order)
    below = place[rows] - place[columns]
    return int(np.max(below, initial=0)), int(np.max(-below, initial=0))


def _full(n: int) -> float:
    """Operations for a full matrix: its factors, and solutions."""
    return n * (n + _BEGUN) * (n / 3.0 + SOLUTIONS)


def _narrow(n: int, lower: int, upper: int) -> float:
    """The same for a band, if its rows change places."""
    above = lower + upper
    return n * ((lower + _BEGUN) * above + SOLUTIONS * (lower + above + _BEGUN))


def _looked_up(n: int, entries: float, products: float) -> float:
    """The same for sparse factors with so many entries on each side of the diagonal, made by so many products."""
    return _INDIRECT * (products + SOLUTIONS * 2.0 * entries) + n * _BEGUN * (1.0 + 2.0 * SOLUTIONS)
