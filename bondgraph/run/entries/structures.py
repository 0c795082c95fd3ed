"""Structures of couplings: which entries of a Jacobian are not zero in; strong components, ways along them, who drives whom out.

What follows from which entries there are, and not from their values, is a `Structure`: a program keeps those it has met, of each
island by itself, for contacts that open and close side by side meet in as many ways as there are sets of them. Islands that
are alike, as many balls on a floor, share them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from bondgraph.emit.once import OnceProperty
from bondgraph.run.entries.components import components, ears_of
from bondgraph.run.entries.islands import islands
from bondgraph.run.table import FieldTable, fields_of
from bondgraph.tape.collection import paused_collection

LEAST, MOST = 1e-100, 1e100
"""Couplings (1/s) below and above are none, in any units of the states: what rounding leaves of a zero is squared and cubed on
its way into a Jacobian, and products of such numbers along a ring vanish."""
_KEPT = 64
_NONE = np.zeros(0, dtype=np.int64)

Item = TypeVar("Item")
Key = TypeVar("Key")
Kept = TypeVar("Kept")


def _split(items: list[Item], of: np.ndarray, count: int) -> list[list[Item]]:
    """Items (k,) by what they are `of` (k,), which ascends, below `count`."""
    ends = np.cumsum(np.bincount(of, minlength=count)).tolist()
    return [items[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


@dataclass(frozen=True, eq=False)
class Structure:
    """What follows from which couplings there are among n states; all are indices, (k,) couplings come by columns.

    Parameters
    ----------
    rows, columns : driven and driving state of each coupling (k,).
    part : strong component of each state (n,); order : the states, those that drive others first (n,).
    inner : couplings within a component (l,).
    drivers_at, drivers : of state i, those that drive it are drivers[drivers_at[i] : drivers_at[i + 1]].
    ear_from, ear_at : where each ear begins (e,), and where its couplings lie in the next two (e + 1,).
    ear_couplings, ear_states : the couplings along all ears, and the state that each leads to (w,).
    """

    rows: np.ndarray
    columns: np.ndarray
    part: np.ndarray
    order: np.ndarray
    inner: np.ndarray
    drivers_at: np.ndarray
    drivers: np.ndarray
    ear_from: np.ndarray
    ear_at: np.ndarray
    ear_couplings: np.ndarray
    ear_states: np.ndarray

    @staticmethod
    @paused_collection()
    def of(n: int, rows: np.ndarray, columns: np.ndarray) -> Structure:
        """Of n states with these couplings (k,)."""
        by_row = np.argsort(rows, kind="stable")
        drivers = _split(columns[by_row].tolist(), rows[by_row], n)
        parts = components(_split(rows.tolist(), columns, n), drivers)
        part, order = np.empty(n, dtype=np.int64), np.array([i for members in parts for i in members], dtype=np.int64)
        part[order] = np.repeat(np.arange(len(parts)), [len(members) for members in parts])
        inner = np.flatnonzero(part[rows] == part[columns])
        within = _split(list(zip(rows[inner].tolist(), inner.tolist(), strict=True)), columns[inner], n)
        ears = [ear for members in parts if len(members) > 1 for ear in ears_of(members, within)]
        steps = [step for _, way in ears for step in way]
        states, couplings = np.array(steps, dtype=np.int64).reshape(-1, 2).T
        starts, ends = np.array([start for start, _ in ears]), np.cumsum([0, *(len(way) for _, way in ears)])
        ways = [np.ascontiguousarray(each, dtype=np.int64) for each in (starts, ends, couplings, states)]
        return Structure.by(rows, columns, part, order, *ways)

    @staticmethod
    def by(rows: np.ndarray, columns: np.ndarray, part: np.ndarray, order: np.ndarray, *ears: np.ndarray) -> Structure:
        """Of these couplings, with components and ears, the four arrays of the latter in their order."""
        inside = part[rows] == part[columns]
        return Structure(
            rows=np.ascontiguousarray(rows, dtype=np.int64),
            columns=np.ascontiguousarray(columns, dtype=np.int64),
            part=part,
            order=order,
            inner=np.flatnonzero(inside).astype(np.int64),
            drivers_at=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(part)))]).astype(np.int64),
            drivers=np.ascontiguousarray(columns[np.argsort(rows, kind="stable")], dtype=np.int64),
            ear_from=ears[0],
            ear_at=ears[1],
            ear_couplings=ears[2],
            ear_states=ears[3],
        )

    @OnceProperty
    def table(self) -> FieldTable:
        """The same for machine code."""
        table = FieldTable(FIELDS)
        for name in _ARRAYS:
            table.point(name, getattr(self, name))
        for name, counted in _COUNTS.items():
            table[name] = len(getattr(self, counted))
        return table


_ARRAYS = tuple(field.name for field in fields(Structure))
_COUNTS = {"states": "part", "couplings": "rows", "inners": "inner", "ears": "ear_from"}
FIELDS = fields_of(_ARRAYS, _COUNTS)
"""A structure as machine code sees it: addresses of its arrays, then lengths."""


@dataclass(frozen=True, eq=False)
class Couplings:
    """Absolute values of a Jacobian (n, n), 1/s in the units of its states: the diagonal (n,), and what is not zero beside it
    as `values` (k,) of the structure's couplings."""

    structure: Structure
    diagonal: np.ndarray
    values: np.ndarray


class Structures:
    """The structures of a program's couplings: one for each set of entries of its Jacobian that were not zero together.

    Parameters
    ----------
    indptr, indices : (n + 1,), (nonzeros,): the Jacobian in compressed column order. `rows` and `columns` are the places of
        its entries (nonzeros,).
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray):
        self._n = len(indptr) - 1
        self.rows = np.asarray(indices, dtype=np.int64)
        self.columns = np.repeat(np.arange(self._n), np.diff(indptr))
        self._beside = self.rows != self.columns
        self._islands = islands(self._n, self.rows, self.columns)
        kinds: dict[bytes, int] = {}
        # Islands that are alike share what is met.
        self._kinds = [kinds.setdefault(each.rows.tobytes() + each.columns.tobytes(), len(kinds)) for each in self._islands]
        self._met: dict[bytes, tuple[Structure, np.ndarray, np.ndarray]] = {}
        self._met_within: dict[tuple[int, bytes], Structure] = {}

    def couplings(self, nonzeros: np.ndarray) -> Couplings:
        """Couplings by the values of the Jacobian (nonzeros,); what is out of all proportion, or not finite, counts as none."""
        values = np.abs(nonzeros)
        found = (values > LEAST) & (values < MOST)
        structure, own, beside = self.structure(found)
        diagonal = np.zeros(self._n)
        diagonal[self.rows[own]] = values[own]
        return Couplings(structure, diagonal, values[beside])

    def structure(self, found: np.ndarray) -> tuple[Structure, np.ndarray, np.ndarray]:
        """The structure where these entries are not zero, and which of them lie on the diagonal and beside it."""
        key = found.tobytes()
        met = self._met.get(key)
        if met is None:
            own, beside = np.flatnonzero(found & ~self._beside), np.flatnonzero(found & self._beside)
            met = self._of_islands(found & self._beside, beside), own, beside
            _keep(self._met, key, met, _KEPT)
        return met

    def _of_islands(self, found: np.ndarray, beside: np.ndarray) -> Structure:
        """The structure of these couplings, entries `beside` the diagonal: those of the islands, one after the other."""
        number = np.cumsum(found) - 1
        order, ear_from, ear_states, ear_couplings = [_NONE], [_NONE], [_NONE], [_NONE]
        part, lengths, parts = np.empty(self._n, dtype=np.int64), [_NONE], 0
        for k, island in enumerate(self._islands):
            here = found[island.entries]
            within = self._within(k, here)
            part[island.places] = parts + within.part
            parts += int(within.part.max()) + 1
            order.append(island.places[within.order])
            ear_from.append(island.places[within.ear_from])
            ear_states.append(island.places[within.ear_states])
            ear_couplings.append(number[island.entries[here][within.ear_couplings]])
            lengths.append(np.diff(within.ear_at))
        rows, columns = self.rows[beside], self.columns[beside]
        ends = np.cumsum(np.concatenate(lengths))
        ears = [np.concatenate(each).astype(np.int64) for each in (ear_from, [np.zeros(1), ends], ear_couplings, ear_states)]
        return Structure.by(rows, columns, part, np.concatenate(order).astype(np.int64), *ears)

    def _within(self, number: int, here: np.ndarray) -> Structure:
        """The structure of an island where these of its entries are couplings."""
        island, key = self._islands[number], (self._kinds[number], here.tobytes())
        met = self._met_within.get(key)
        if met is None:
            met = Structure.of(len(island.places), island.rows[here], island.columns[here])
            _keep(self._met_within, key, met, _KEPT * len(self._islands))
        return met


def _keep(met: dict[Key, Kept], key: Key, value: Kept, most: int) -> None:
    if len(met) >= most:
        met.clear()
    met[key] = value
