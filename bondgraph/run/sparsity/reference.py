"""Analyse the sparsity pattern of a Jacobian as a graph: strong components, ear decomposition, and drivers of each state.

A `CouplingStructure` depends on which entries are nonzero, not on their values; a program caches its structures. Independent
contacts that open and close have as many combinations as there are subsets of them, so runs in machine code search with
`coupling_graph`, whose reference this is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.emit.kernel_language.language import Ints, Table
from bondgraph.run.table import FieldTable
from bondgraph.tape.garbage_collection import paused_collection


def strong_components(drives: Sequence[Sequence[int]], driven_by: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strong components of the graph with edges j -> drives[j], which are driven_by[i] -> i, drivers first (Kosaraju's
    algorithm)."""
    seen: set[int] = set()
    finished = [state for start in range(len(drives)) for state in _depth_first(start, drives, seen)]
    seen.clear()
    parts = [_depth_first(start, driven_by, seen) for start in reversed(finished)]
    return [sorted(part) for part in parts if part]


def _depth_first(start: int, edges: Sequence[Sequence[int]], seen: set[int]) -> list[int]:
    """Return the nodes reached from a node that were not seen before, including itself, in post-order."""
    finished: list[int] = []
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
            finished.append(node)
            path.pop()
    return finished


def ear_decomposition(
    part: Sequence[int], drives: Sequence[Sequence[tuple[int, int]]]
) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return the ears of a strong component: each is a shortest path from a state of the earlier ears back to one of them, as its
    start and the steps (state, coupling that leads there). `drives` has the same of each state within its component."""
    ears = []
    reached = {part[0]}
    queue = deque(reached)
    while queue:
        start = queue.popleft()
        for first in drives[start]:
            if first[0] in reached:
                continue
            path = _shortest_ear(first, drives, reached)
            ears.append((start, path))
            inner_states = [state for state, _ in path[:-1]]
            reached.update(inner_states)
            queue.extend(inner_states)
    return ears


def _shortest_ear(
    first: tuple[int, int], drives: Sequence[Sequence[tuple[int, int]]], reached: set[int]
) -> list[tuple[int, int]]:
    """Return the shortest path from the step `first` to a state that is `reached`, including that step."""
    steps, predecessor, queue = {first[0]: first}, {first[0]: -1}, deque([first[0]])
    while queue:
        state = queue.popleft()
        for step in drives[state]:
            if step[0] in reached:
                path = [step]
                while state >= 0:
                    path.append(steps[state])
                    state = predecessor[state]
                return path[::-1]
            if step[0] not in predecessor:
                steps[step[0]], predecessor[step[0]] = step, state
                queue.append(step[0])
    raise ValueError("the component is not strong")


MIN_COUPLING, MAX_COUPLING = 1e-100, 1e100
"""Couplings (1/s) below and above count as zero, in any units of the states: the rounding error of a zero is squared and cubed on
its way into a Jacobian, and products of such numbers around a cycle underflow."""
_CACHE_SIZE = 64

Item = TypeVar("Item")


def _grouped(items: list[Item], group: np.ndarray, count: int) -> list[list[Item]]:
    """Group items (k,) by their `group` (k,), which ascends, below `count`."""
    ends = np.cumsum(np.bincount(group, minlength=count)).tolist()
    return [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@dataclass(frozen=True, eq=False)
class CouplingStructure:
    """Graph of the couplings among n states; all are indices, (k,) couplings are sorted by columns.

    Parameters
    ----------
    rows, columns : driven and driving state of each coupling (k,).
    part : strong component of each state (n,); order : the states, drivers first (n,).
    inner : couplings within a component (l,).
    drivers_at, drivers : drivers of state i are drivers[drivers_at[i] : drivers_at[i + 1]].
    ear_from, ear_at : start state of each ear (e,), and the range of its couplings in the next two (e + 1,).
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
    def of(n: int, rows: np.ndarray, columns: np.ndarray) -> CouplingStructure:
        """Analyse n states with these couplings (k,)."""
        by_row = np.argsort(rows, kind="stable")
        drivers = _grouped(columns[by_row].tolist(), rows[by_row], n)
        parts = strong_components(_grouped(rows.tolist(), columns, n), drivers)
        part, order = np.empty(n, dtype=np.int64), np.array([i for members in parts for i in members], dtype=np.int64)
        part[order] = np.repeat(np.arange(len(parts)), [len(members) for members in parts])
        inner = np.flatnonzero(part[rows] == part[columns])
        within = _grouped(list(zip(rows[inner].tolist(), inner.tolist(), strict=True)), columns[inner], n)
        ears = [ear for members in parts if len(members) > 1 for ear in ear_decomposition(members, within)]
        steps = [step for _, way in ears for step in way]
        states, couplings = np.array(steps, dtype=np.int64).reshape(-1, 2).T
        starts, ends = [start for start, _ in ears], np.cumsum([0, *(len(way) for _, way in ears)])
        return CouplingStructure(
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
        """Return this structure as a table for machine code."""
        table = FieldTable(Structure.layout())
        for field in fields(self):
            table.point(field.name, getattr(self, field.name))
        table["states"], table["couplings"] = len(self.part), len(self.rows)
        table["inners"], table["ears"] = len(self.inner), len(self.ear_from)
        return table


class Structure(Table):
    """`CouplingStructure` in machine code, with the numbers of its states, couplings, couplings within components, and ears."""

    rows: Ints
    columns: Ints
    part: Ints
    order: Ints
    inner: Ints
    drivers_at: Ints
    drivers: Ints
    ear_from: Ints
    ear_at: Ints
    ear_couplings: Ints
    ear_states: Ints
    states: int
    couplings: int
    inners: int
    ears: int


FindStructure = Callable[[int, np.ndarray, np.ndarray], CouplingStructure]
"""Finds the structure of n states with these couplings (k,), as `CouplingStructure.of` does."""


@dataclass(frozen=True, eq=False)
class JacobianCouplings:
    """Absolute values of a Jacobian (n, n), 1/s in the units of its states: the diagonal (n,), and the nonzero off-diagonal
    entries as `values` (k,) of the structure's couplings."""

    structure: CouplingStructure
    diagonal: np.ndarray
    values: np.ndarray


class StructureCache:
    """Cache of the coupling structures of a program: one for each set of entries of its Jacobian that are nonzero together.

    Parameters
    ----------
    indptr, indices : (n + 1,), (nonzeros,): the Jacobian in compressed column order. `rows` and `columns` are those of its
        entries (nonzeros,).
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray):
        self._n = len(indptr) - 1
        self.rows = np.asarray(indices, dtype=np.int64)
        self.columns = np.repeat(np.arange(self._n), np.diff(indptr))
        self._off_diagonal = self.rows != self.columns
        self._cached: dict[bytes, tuple[CouplingStructure, np.ndarray, np.ndarray]] = {}

    def couplings(self, nonzeros: np.ndarray) -> JacobianCouplings:
        """Return the couplings of a Jacobian (nonzeros,); values that are extreme or not finite count as zero."""
        values = np.abs(nonzeros)
        is_coupling = (values > MIN_COUPLING) & (values < MAX_COUPLING)
        structure, on_diagonal, off_diagonal = self.structure(is_coupling)
        diagonal = np.zeros(self._n)
        diagonal[self.rows[on_diagonal]] = values[on_diagonal]
        return JacobianCouplings(structure, diagonal, values[off_diagonal])

    def structure(
        self, is_coupling: np.ndarray, find: FindStructure | None = None
    ) -> tuple[CouplingStructure, np.ndarray, np.ndarray]:
        """Return the structure of these nonzero entries, and which of them lie on and off the diagonal.

        `find` searches the structure; by default `CouplingStructure.of` does.
        """
        key = is_coupling.tobytes()
        cached = self._cached.get(key)
        if cached is None:
            on_diagonal, off_diagonal = (
                np.flatnonzero(is_coupling & ~self._off_diagonal),
                np.flatnonzero(is_coupling & self._off_diagonal),
            )
            cached = (
                (find or CouplingStructure.of)(self._n, self.rows[off_diagonal], self.columns[off_diagonal]),
                on_diagonal,
                off_diagonal,
            )
            if len(self._cached) >= _CACHE_SIZE:
                self._cached.clear()
            self._cached[key] = cached
        return cached
