"""Structures of couplings: which entries of a Jacobian are not zero in; strong components, ways along them, who drives whom.

What follows from which entries there are, and not from their values, is a `Structure`: a program keeps those that it has met.
Contacts that open and close side by side meet in as many ways as there are sets of them: runs in machine code find structures
by `search`, of which the reference is here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.run.table import FieldTable, fields_of
from bondgraph.tape.garbage_collection import paused_collection


def components(drives: Sequence[Sequence[int]], driven_by: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strong components of the graph with edges j -> drives[j], which are driven_by[i] -> i, those that drive others before
    them (Kosaraju's algorithm)."""
    seen: set[int] = set()
    finished = [state for start in range(len(drives)) for state in _reached(start, drives, seen)]
    seen.clear()
    parts = [_reached(start, driven_by, seen) for start in reversed(finished)]
    return [sorted(part) for part in parts if part]


def _reached(start: int, edges: Sequence[Sequence[int]], seen: set[int]) -> list[int]:
    """What is reached from a node and was not seen before, itself included: each after all that is reached from it."""
    found: list[int] = []
    path = [] if start in seen else [(start, iter(edges[start]))]
    seen.add(start)
    while path:
        node, ahead = path[-1]
        for other in ahead:
            if other not in seen:
                seen.add(other)
                path.append((other, iter(edges[other])))
                break
        else:
            found.append(node)
            path.pop()
    return found


def ears_of(part: Sequence[int], drives: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Ears of a strong component: each a shortest way from a state of those before back to one of them, as its start and
    the steps (state, coupling that leads there). `drives` has the same of each state within its component."""
    ears = []
    known = {part[0]}
    queue = deque(known)
    while queue:
        start = queue.popleft()
        for first in drives[start]:
            if first[0] in known:
                continue
            way = _shortest(first, drives, known)
            ears.append((start, way))
            between = [state for state, _ in way[:-1]]
            known.update(between)
            queue.extend(between)
    return ears


def _shortest(first: tuple[int, int], drives: Sequence[Sequence[tuple[int, int]]], known: set[int]) -> list[tuple[int, int]]:
    """The shortest way on from the step `first` to a known state, that step included."""
    steps, came, ahead = {first[0]: first}, {first[0]: -1}, deque([first[0]])
    while ahead:
        at = ahead.popleft()
        for step in drives[at]:
            if step[0] in known:
                way = [step]
                while at >= 0:
                    way.append(steps[at])
                    at = came[at]
                return way[::-1]
            if step[0] not in came:
                steps[step[0]], came[step[0]] = step, at
                ahead.append(step[0])
    raise ValueError("the component is not strong")


LEAST, MOST = 1e-100, 1e100
"""Couplings (1/s) below and above are none, in any units of the states: what rounding leaves of a zero is squared and cubed on
its way into a Jacobian, and products of such numbers along a ring vanish."""
_KEPT = 64

Item = TypeVar("Item")


def _split(items: list[Item], of: np.ndarray, count: int) -> list[list[Item]]:
    """Items (k,) by what they are `of` (k,), which ascends, below `count`."""
    ends = np.cumsum(np.bincount(of, minlength=count)).tolist()
    return [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]


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
        starts, ends = [start for start, _ in ears], np.cumsum([0, *(len(way) for _, way in ears)])
        return Structure(
            rows=np.ascontiguousarray(rows, dtype=np.int64),
            columns=np.ascontiguousarray(columns, dtype=np.int64),
            part=part,
            order=order,
            inner=inner.astype(np.int64),
            drivers_at=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64),
            drivers=np.ascontiguousarray(columns[by_row], dtype=np.int64),
            ear_from=np.array(starts, dtype=np.int64),
            ear_at=np.ascontiguousarray(ends, dtype=np.int64),
            ear_couplings=np.ascontiguousarray(couplings),
            ear_states=np.ascontiguousarray(states),
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


Find = Callable[[int, np.ndarray, np.ndarray], Structure]
"""What finds the structure of n states with these couplings (k,), as `Structure.of`."""


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
        self._met: dict[bytes, tuple[Structure, np.ndarray, np.ndarray]] = {}

    def couplings(self, nonzeros: np.ndarray) -> Couplings:
        """Couplings by the values of the Jacobian (nonzeros,); what is out of all proportion, or not finite, counts as none."""
        values = np.abs(nonzeros)
        found = (values > LEAST) & (values < MOST)
        structure, own, beside = self.structure(found)
        diagonal = np.zeros(self._n)
        diagonal[self.rows[own]] = values[own]
        return Couplings(structure, diagonal, values[beside])

    def structure(self, found: np.ndarray, of: Find | None = None) -> tuple[Structure, np.ndarray, np.ndarray]:
        """The structure where these entries are not zero, and which of them lie on the diagonal and beside it.

        `of` finds the structure, in whatever way; without, `Structure.of` does.
        """
        key = found.tobytes()
        met = self._met.get(key)
        if met is None:
            own, beside = np.flatnonzero(found & ~self._beside), np.flatnonzero(found & self._beside)
            met = (of or Structure.of)(self._n, self.rows[beside], self.columns[beside]), own, beside
            if len(self._met) >= _KEPT:
                self._met.clear()
            self._met[key] = met
        return met
