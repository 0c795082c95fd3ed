"""Couplings between states: the Jacobian of the rates -> strong components, balanced scales, fastest rate of each state.

An entry B_ij > 0 says that state j drives state i. Within a strong component scales s are sought for which what drives
a state and what it drives are in balance; for reciprocal couplings these are the ratios that energy gives. Nothing here
knows a unit: with states in other units, x -> d x, the scales become d s and the rates stay, to the last bit where d is a
power of two. Balancing: E. E. Osborne, On pre-conditioning of matrices, J. ACM 7, 1960.

What follows from which entries there are, and not from their values, is a `Structure`: a program keeps those it has met.
The arithmetic on values is here for interpreted models, and as the reference of the machine code in `balancing`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from bondgraph.emit.once import OnceProperty
from bondgraph.run.table import FieldTable, fields_of
from bondgraph.tape.collection import paused_collection

SWEEPS, BALANCED = 10, 1.5
"""Most sweeps of the balancing, and how unequal the sums over a row and a column may stay."""
SAME = 1.001
"""A ring whose gains are one would creep on by rounding: growth by less does not count."""
LEAST, MOST = 1e-100, 1e100
"""Couplings (1/s) below and above are none, in any units of the states: what rounding leaves of a zero is squared and cubed on
its way into a Jacobian, and products of such numbers along a ring vanish."""
_KEPT = 64


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
        drives: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for k, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            drives[column].append((row, k))
        parts = components([[row for row, _ in driven] for driven in drives])
        part, order = np.empty(n, dtype=np.int64), np.array([i for members in parts for i in members], dtype=np.int64)
        part[order] = np.repeat(np.arange(len(parts)), [len(members) for members in parts])
        inside = part[rows] == part[columns]
        within = [[step for step in driven if inside[step[1]]] for driven in drives]
        ears = [ear for members in parts if len(members) > 1 for ear in _ears(members, within)]
        steps = [step for _, way in ears for step in way]
        states, couplings = np.array(steps, dtype=np.int64).reshape(-1, 2).T
        return Structure(
            rows=np.ascontiguousarray(rows, dtype=np.int64),
            columns=np.ascontiguousarray(columns, dtype=np.int64),
            part=part,
            order=order,
            inner=np.flatnonzero(inside).astype(np.int64),
            drivers_at=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64),
            drivers=np.ascontiguousarray(columns[np.argsort(rows, kind="stable")], dtype=np.int64),
            ear_from=np.array([start for start, _ in ears], dtype=np.int64),
            ear_at=np.cumsum([0, *(len(way) for _, way in ears)]).astype(np.int64),
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
        self._met: dict[bytes, tuple[Structure, np.ndarray, np.ndarray]] = {}

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
            alone = self.rows == self.columns
            own, beside = np.flatnonzero(found & alone), np.flatnonzero(found & ~alone)
            met = Structure.of(self._n, self.rows[beside], self.columns[beside]), own, beside
            if len(self._met) >= _KEPT:
                self._met.clear()
            self._met[key] = met
        return met


def components(drives: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strong components of the graph with edges j -> drives[j], those that drive others before them (Kosaraju's algorithm)."""
    driven_by: list[list[int]] = [[] for _ in drives]
    for driver, driven in enumerate(drives):
        for state in driven:
            driven_by[state].append(driver)
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


def _ears(part: Sequence[int], drives: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, list[tuple[int, int]]]]:
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


def fastest(couplings: Couplings) -> np.ndarray:
    """Fastest rate at which each state is coupled, 1/s (n,).

    A state without a rate of its own takes that of what drives it; what nothing drives has 0.
    """
    structure, values = couplings.structure, couplings.values
    inner = structure.inner
    rows, columns, held = structure.rows[inner], structure.columns[inner], values[inner]
    scales = _balanced(structure, values)
    rates = couplings.diagonal.copy()
    np.fmax.at(rates, rows, held * scales[columns] / scales[rows])
    for i in structure.order:
        drivers = structure.drivers[structure.drivers_at[i] : structure.drivers_at[i + 1]]
        if rates[i] == 0.0 and len(drivers):
            rates[i] = rates[drivers].max()
    return rates


def carried(couplings: Couplings, speed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Scales (n,) carried along the couplings from state to state; `speed` (n,) as `fastest`, nowhere 0."""
    structure = couplings.structure
    rows, columns, part = structure.rows, structure.columns, structure.part
    across = np.where(part[rows] == part[columns], speed[rows], np.maximum(speed[rows], speed[columns]))
    gain = couplings.values / across
    for _ in range(len(scales)):
        reached = scales.copy()
        np.fmax.at(reached, rows, gain * scales[columns])
        if not np.any(reached > SAME * scales):
            break
        scales = np.where(reached > SAME * scales, reached, scales)
    return scales


def _balanced(structure: Structure, values: np.ndarray) -> np.ndarray:
    """Scales s (n,) for which the sums of B_ij s_j / s_i over a row and over a column of each component are about equal."""
    n, inner = len(structure.part), structure.inner
    scales = np.ones(n)
    _along_ears(structure, values, scales)
    rows, columns, held = structure.rows[inner], structure.columns[inner], values[inner]
    for _ in range(SWEEPS):
        flows = held * scales[columns] / scales[rows]
        into, out_of = np.bincount(rows, flows, n), np.bincount(columns, flows, n)
        live = (into > 0.0) & (out_of > 0.0)
        if np.all(into[live] < BALANCED * out_of[live]) and np.all(out_of[live] < BALANCED * into[live]):
            break
        # All at once, hence only half of the step of one after the other.
        scales[live] *= np.sqrt(np.sqrt(into[live] / out_of[live]))
    return scales


def _along_ears(structure: Structure, values: np.ndarray, scales: np.ndarray) -> None:
    """First scales of strong components: one ear after the other, all couplings of an ear equally fast."""
    for start, begin, end in zip(structure.ear_from, structure.ear_at, structure.ear_at[1:], strict=False):
        couplings, states = values[structure.ear_couplings[begin:end]], structure.ear_states[begin:end]
        total = scales[start] / scales[states[-1]]
        for coupling in couplings:
            total *= coupling
        rate = np.sqrt(total) if len(states) == 2 else total ** (1.0 / len(states))
        if not 0.0 < rate < MOST:
            continue
        at = scales[start]
        for state, coupling in zip(states[:-1], couplings, strict=False):
            at *= coupling / rate
            scales[state] = at
