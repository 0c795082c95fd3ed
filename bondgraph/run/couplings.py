"""Couplings between states: the Jacobian of the rates -> strong components, balanced scales, fastest rate of each state.

An entry B_ij > 0 says that state j drives state i. Within a strong component scales s are sought for which what drives
a state and what it drives are in balance; for reciprocal couplings these are the ratios that energy gives. Nothing here
knows a unit: with states in other units, x -> d x, the scales become d s and the rates stay, to the last bit where d is a
power of two. Balancing: E. E. Osborne, On pre-conditioning of matrices, J. ACM 7, 1960.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_SWEEPS, _BALANCED = 10, 1.5


@dataclass(frozen=True)
class Couplings:
    """Absolute values of a Jacobian (n, n), 1/s in the units of its states: the diagonal (n,), and what is not zero beside it as
    `values` (k,) at `rows` (driven) and `columns` (driving)."""

    diagonal: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(nonzeros: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> Couplings:
        """From a Jacobian in compressed column order; what is not finite counts as none."""
        n = len(indptr) - 1
        rows, columns = np.asarray(indices, dtype=np.intp), np.repeat(np.arange(n), np.diff(indptr))
        values = np.abs(nonzeros)
        found = np.isfinite(values) & (values > 0.0)
        own = found & (rows == columns)
        diagonal = np.zeros(n)
        diagonal[rows[own]] = values[own]
        beside = found & (rows != columns)
        return Couplings(diagonal, rows[beside], columns[beside], values[beside])


def components(drives: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strong components of the graph with edges j -> drives[j], those that drive others before them (Tarjan's algorithm)."""
    n = len(drives)
    order, low, held = [-1] * n, [0] * n, [False] * n
    stack: list[int] = []
    found: list[list[int]] = []
    count = 0
    for start in range(n):
        path = [(start, 0)] if order[start] < 0 else []
        while path:
            node, at = path.pop()
            if at == 0:
                order[node] = low[node] = count
                count += 1
                stack.append(node)
                held[node] = True
            for k in range(at, len(drives[node])):
                other = drives[node][k]
                if order[other] < 0:
                    path += [(node, k + 1), (other, 0)]
                    break
                if held[other]:
                    low[node] = min(low[node], order[other])
            else:
                if low[node] == order[node]:
                    cut = stack.index(node)
                    found.append(sorted(stack[cut:]))
                    for member in stack[cut:]:
                        held[member] = False
                    del stack[cut:]
                if path:
                    parent = path[-1][0]
                    low[parent] = min(low[parent], low[node])
    return found[::-1]


def fastest(couplings: Couplings, parts: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Fastest rate at which each state is coupled, 1/s (n,), and the index of its component (n,).

    A state without a rate of its own takes that of what drives it; what nothing drives has 0.
    """
    n = len(couplings.diagonal)
    of = np.empty(n, dtype=np.intp)
    for index, part in enumerate(parts):
        of[list(part)] = index
    rows, columns, values = couplings.rows, couplings.columns, couplings.values
    inner = of[rows] == of[columns]
    scales = _balanced(n, parts, rows[inner], columns[inner], values[inner])
    rates = couplings.diagonal.copy()
    np.maximum.at(rates, rows[inner], values[inner] * scales[columns[inner]] / scales[rows[inner]])
    drivers: list[list[int]] = [[] for _ in range(n)]
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        drivers[row].append(column)
    for part in parts:
        for i in part:
            if rates[i] == 0.0 and drivers[i]:
                rates[i] = max(rates[j] for j in drivers[i])
    return rates, of


def _balanced(
    n: int, parts: Sequence[Sequence[int]], rows: np.ndarray, columns: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Scales s (n,) for which the sums of B_ij s_j / s_i over a row and over a column of each component are about equal."""
    scales = np.ones(n)
    drives: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        drives[column].append((row, value))
    for part in parts:
        if len(part) > 1:
            _along_ears(part, drives, scales)
    for _ in range(_SWEEPS):
        flows = values * scales[columns] / scales[rows]
        into, out_of = np.bincount(rows, flows, n), np.bincount(columns, flows, n)
        live = (into > 0.0) & (out_of > 0.0)
        if np.all(into[live] < _BALANCED * out_of[live]) and np.all(out_of[live] < _BALANCED * into[live]):
            break
        # All at once, hence only half of the step of one after the other.
        scales[live] *= np.sqrt(np.sqrt(into[live] / out_of[live]))
    return scales


def _along_ears(part: Sequence[int], drives: Sequence[Sequence[tuple[int, float]]], scales: np.ndarray) -> None:
    """First scales of a strong component: one ear after the other (a shortest way from what has a scale back to what has one),
    all couplings of an ear equally fast."""
    known = {part[0]}
    queue = deque(known)
    while queue:
        start = queue.popleft()
        for first, value in drives[start]:
            if first in known:
                continue
            ear = _shortest([(start, 1.0), (first, value)], drives, known)
            total = float(scales[start] / scales[ear[-1][0]])
            for _, coupling in ear[1:]:
                total *= coupling
            rate = total ** (1.0 / (len(ear) - 1)) if len(ear) != 3 else float(np.sqrt(total))
            at = float(scales[start])
            for node, coupling in ear[1:-1]:
                at *= coupling / rate
                scales[node] = at
                known.add(node)
                queue.append(node)


def _shortest(
    begin: list[tuple[int, float]], drives: Sequence[Sequence[tuple[int, float]]], known: set[int]
) -> list[tuple[int, float]]:
    """The shortest way on from the last node of `begin` to a known one: (node, coupling that leads there)."""
    ways, seen = deque([begin]), {begin[-1][0]}
    while ways:
        way = ways.popleft()
        for node, value in drives[way[-1][0]]:
            if node in known:
                return [*way, (node, value)]
            if node not in seen:
                seen.add(node)
                ways.append([*way, (node, value)])
    raise ValueError("the component is not strong")
