"""Linear systems whose entries depend on modes: one elimination for all of them, one for each, or pivots chosen at run time.

What does not depend on each other is solved apart, so that the modes of one part need not be combined with those of another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.equations.system import System
from bondgraph.tape import opcodes
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape
from bondgraph.tape.solve import SINGULAR, SingularSystem, solve, solve_pivoted
from bondgraph.tape.specialise import specialise
from bondgraph.tracing.closures import Repeating, solve_repeating
from bondgraph.tracing.values import Entries
from screws.scalars import equal, where

Sampled = Callable[[Entries], dict[tuple[int, int], np.ndarray]]
"""Entries of a matrix -> their values at sample states."""

CASES = 16
"""Most combinations of modes of one part for which it is solved one by one; with more, pivots are chosen at run time."""


@dataclass(frozen=True)
class Solved:
    """The unknowns of a linear system, and its parts whose equations repeat each other."""

    values: list[Any]
    repeating: tuple[Repeating, ...] = ()


class SingularMode(Exception):
    """The system is regular in some modes and singular in these: each automaton -> state, and what is singular there."""

    def __init__(self, cases: Sequence[tuple[Mapping[str, str], SingularSystem]]):
        self.cases = tuple(cases)
        super().__init__(f"{len(self.cases)} modes")


def solve_in_modes(
    system: System,
    tape: Tape,
    entries: Entries,
    right: Sequence[Any],
    sampled: Sampled,
    positions: Collection[int] = (),
) -> Solved:
    """Solution of A w = b as scalars of the tape, with a pivot order of its own for every combination of modes if no order
    serves all of them. Constraints on positions, at these places, may repeat each other.

    Raises
    ------
    SingularSystem, or `SingularMode` with all those modes where only some are singular.
    """
    solution: list[Any] = [0.0] * len(right)
    refused: list[tuple[Mapping[str, str], SingularSystem]] = []
    repeating: list[Repeating] = []
    for rows, columns in _parts(entries, len(right)):
        if len(rows) != len(columns):
            raise SingularSystem(rows, columns)
        at = {i: k for k, i in enumerate(rows)}, {j: k for k, j in enumerate(columns)}
        part = {(at[0][i], at[1][j]): value for (i, j), value in entries.items() if i in at[0]}
        own = [right[i] for i in rows]
        try:
            found = _solve_part(system, tape, part, own, sampled)
        except SingularSystem as singular:
            shared = (
                solve_repeating(part, own, sampled(part)) if rows == columns and set(rows) <= set(positions) else None
            )
            if shared is None:
                raise _placed(singular, rows, columns) from None
            found, left = shared
            repeating.append(Repeating(tuple(rows), own, left))
        except SingularMode as some:
            refused += [(modes, _placed(singular, rows, columns)) for modes, singular in some.cases]
            continue
        for j, value in zip(columns, found, strict=True):
            solution[j] = value
    if refused:
        raise SingularMode(refused)
    return Solved(solution, tuple(repeating))


def _parts(entries: Iterable[tuple[int, int]], count: int) -> list[tuple[list[int], list[int]]]:
    """(equations, unknowns) of the parts that share no entry with each other."""
    parent = list(range(2 * count))

    def find(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    for i, j in entries:
        parent[find(i)] = find(count + j)
    parts: dict[int, tuple[list[int], list[int]]] = {}
    for k in range(2 * count):
        parts.setdefault(find(k), ([], []))[k >= count].append(k % count)
    return list(parts.values())


def _placed(singular: SingularSystem, rows: Sequence[int], columns: Sequence[int]) -> SingularSystem:
    return SingularSystem([rows[i] for i in singular.equations], [columns[j] for j in singular.unknowns])


def _solve_part(
    system: System,
    tape: Tape,
    entries: Entries,
    right: Sequence[Any],
    sampled: Sampled,
) -> list[Any]:
    numbers = sampled(entries)
    try:
        return solve(entries, right, numbers)
    except SingularSystem:
        slots = _modes_in(tape, entries)
        combinations = list(itertools.product(*(range(count) for count in _counts(system, slots))))
        if not slots:
            raise
    if len(combinations) > CASES:
        return _pivoted(system, tape, entries, right, numbers, slots, sampled)
    failures: list[tuple[tuple[int, ...], SingularSystem]] = []
    solutions: list[tuple[tuple[int, ...], list[Any]]] = []
    for values in combinations:
        fixed = {("m", slot): float(value) for slot, value in zip(slots, values, strict=True)}
        flat = specialise(tape, [*entries.values(), *right], fixed)
        matrix = {key: value for key, value in zip(entries, flat, strict=False) if value.value != 0.0}
        try:
            solutions.append((values, solve(matrix, flat[len(entries) :], sampled(matrix))))
        except SingularSystem as singular:
            failures.append((values, singular))
    if not solutions:
        raise failures[0][1]
    if failures:
        raise SingularMode([(_named(system, slots, values), singular) for values, singular in failures])
    m = tape.inputs("m", len(system.modes))
    out = list(solutions[-1][1])
    for values, solution in reversed(solutions[:-1]):
        here: Any = None
        for slot, value in zip(slots, values, strict=True):
            both = equal(m[slot], float(value))
            here = both if here is None else here & both
        out = [where(here, a, b) for a, b in zip(solution, out, strict=True)]
    return out


def _pivoted(
    system: System,
    tape: Tape,
    entries: Entries,
    right: Sequence[Any],
    numbers: Mapping[tuple[int, int], np.ndarray],
    slots: Sequence[int],
    sampled: Sampled,
) -> list[Any]:
    """Solution with pivots chosen at run time; modes in which the samples are singular are refused."""
    n, count = len(right), len(next(iter(numbers.values())))
    matrices = np.zeros((count, n, n))
    for (i, j), values in numbers.items():
        matrices[:, i, j] = values
    largest = np.abs(matrices).max(axis=2, keepdims=True)
    values = np.linalg.svd(matrices / np.where(largest > 0.0, largest, 1.0), compute_uv=False)
    bad = np.flatnonzero(values[:, -1] <= SINGULAR * values[:, 0])
    if len(bad):
        m = tape.inputs("m", len(system.modes))
        modes = {(0, k): m[slot] for k, slot in enumerate(slots)}
        together = sampled({**modes, **{(1 + i, j): e for (i, j), e in entries.items()}})
        values_there = list(together.values())[: len(slots)]
        failures: list[tuple[Mapping[str, str], SingularSystem]] = []
        for chosen in dict.fromkeys(tuple(int(v[k]) for v in values_there) for k in bad):
            fixed = {("m", slot): float(value) for slot, value in zip(slots, chosen, strict=True)}
            flat = specialise(tape, list(entries.values()), fixed)
            matrix = {key: value for key, value in zip(entries, flat, strict=True) if value.value != 0.0}
            try:
                solve(matrix, right, sampled(matrix))
            except SingularSystem as singular:
                failures.append((_named(system, slots, chosen), singular))
        if failures and len(bad) == count:
            raise failures[0][1]
        if failures:
            raise SingularMode(failures)
    return solve_pivoted(entries, right)


def _modes_in(tape: Tape, entries: Entries) -> list[int]:
    """Slots of the modes that the entries depend on."""
    block = list(tape.blocks).index("m")
    roots = [tape.scalar(value).index for value in entries.values()]
    nodes = (tape.nodes[i] for i in reachable(tape, roots))
    return sorted({node[2] for node in nodes if node[0] == opcodes.INPUT and node[1] == block})


def _counts(system: System, slots: Sequence[int]) -> list[int]:
    counts = [len(states) for states, _ in system.modes.values()]
    return [counts[slot] for slot in slots]


def _named(system: System, slots: Sequence[int], values: Sequence[int]) -> dict[str, str]:
    modes = list(system.modes.items())
    return {
        modes[slot][0].removesuffix(".mode"): modes[slot][1][0][value]
        for slot, value in zip(slots, values, strict=True)
    }
