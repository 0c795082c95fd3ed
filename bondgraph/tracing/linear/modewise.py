"""Linear systems whose entries depend on modes: one elimination for all of them, one for each, or pivots chosen at run time.

What does not depend on each other is solved apart, so that the modes of one part need not be combined with those of another.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.definite import Repeating, solve_repeating
from bondgraph.tracing.linear.equations import SparseEquations
from bondgraph.tracing.linear.ideal import Ideal
from bondgraph.tracing.linear.indeterminate import Shared
from bondgraph.tracing.linear.one_mode import Alike, regular, singular_at, singular_part, singular_somewhere
from bondgraph.tracing.linear.sizes import equilibrated
from bondgraph.tracing.linear.solve import SingularSystem, solve, solve_pivoted
from bondgraph.tracing.on_tape.context import Ground
from bondgraph.tracing.on_tape.values import Entries, nonzero, through
from screws.scalars import equal, where

CASES = 16
"""Most combinations of modes of one part for which it is solved one by one; with more, pivots are chosen at run time."""

SINGULAR_CASES = 256
"""Most combinations of modes of one part that are searched for singular ones."""


class SingularMode(Exception):
    """The system is regular in some modes and singular in these: each automaton -> state, and what is singular there."""

    def __init__(self, cases: Sequence[tuple[Mapping[str, str], SingularSystem]]):
        self.cases = tuple(cases)
        super().__init__(f"{len(self.cases)} modes")


@dataclass(frozen=True)
class SharedMode:
    """Modes (slot -> state) in which a part of a system is singular, and what was found for them."""

    places: Mapping[int, int]
    names: Mapping[str, str]
    """Automaton -> state."""
    shared: Shared

    def placed(self, rows: Sequence[int], columns: Sequence[int]) -> SharedMode:
        """With equations and unknowns counted in the whole system."""
        singular = self.shared.singular
        return self if singular is None else replace(self, shared=replace(self.shared, singular=_placed(singular, rows, columns)))

    @property
    def holds(self) -> bool:
        """Whether there are states in which the equations fit, and decide the motion."""
        return self.shared.decided and not self.shared.always


@dataclass(frozen=True)
class Solved:
    """The unknowns of a linear system, the modes in which it is singular, and its parts whose equations repeat each other."""

    values: list[Any]
    modes: tuple[SharedMode, ...] = ()
    repeating: tuple[Repeating, ...] = ()


def solve_in_modes(
    ground: Ground,
    equations: SparseEquations,
    right: Sequence[Any],
    ideal: Callable[[], Ideal] | None = None,
    positions: Collection[int] = (),
    cases: int = SINGULAR_CASES,
) -> Solved:
    """Solution of A w = b as scalars of the tape, with a pivot order of its own for every combination of modes if no order
    serves all of them. In modes in which A is singular, `ideal` says which solution is taken; constraints on positions, at the
    places `positions`, may repeat each other. Singular modes are looked for among so many `cases` of a part at most.

    Raises `SingularSystem`, or `SingularMode` with all those modes where only some are singular and have no solution. Those that
    need not be entered do not count: a state of an automaton is refused that has no solution whatever the others do.
    """
    solution: list[Any] = [0.0] * len(right)
    refused: list[tuple[Mapping[str, str], SingularSystem]] = []
    repeating: list[Repeating] = []
    modes: list[SharedMode] = []
    later = []
    for rows, columns, entries in _parts_left(ground, equations, right, solution):
        if len(rows) != len(columns):
            raise SingularSystem(rows, columns)
        part, own = _cut(entries, rows, columns), [right[i] for i in rows]
        try:
            _place(solution, columns, solve(part, own, ground.sampled(part)))
        except SingularSystem:
            later.append((rows, columns, part, own))
    for rows, columns, part, own in later:
        meant = None if ideal is None else ideal().part(rows, columns, solution)
        try:
            solved = _solve_part(ground, part, own, meant, cases)
        except SingularSystem as stuck:
            shared = solve_repeating(part, own, ground.sampled(part)) if rows == columns and set(rows) <= set(positions) else None
            if shared is None:
                raise _placed(stuck, rows, columns) from None
            _place(solution, columns, shared[0])
            repeating.append(Repeating(tuple(rows), own, shared[1]))
            continue
        except SingularMode as some:
            refused += [(names, _placed(singular, rows, columns)) for names, singular in some.cases]
            continue
        _place(solution, columns, solved.values)
        modes += [mode.placed(rows, columns) for mode in solved.modes]
    if refused:
        raise SingularMode(refused)
    return Solved(solution, tuple(modes), tuple(repeating))


def _parts_left(
    ground: Ground, equations: SparseEquations, right: Sequence[Any], solution: list[Any]
) -> Iterator[tuple[list[int], list[int], Entries]]:
    """(equations, unknowns) of the parts of a system without steps, with entries among which are theirs. Of one with steps, those
    parts that have no one order of pivots; what the others decide is put into the solution."""
    count, entries = equations.count, equations.steps
    lost: list[int] = []
    if entries is not None:
        every = [*right, *([0.0] * (equations.size - count))] if equations.offsets is None else equations.offsets
        for rows, columns in parts_of(entries, equations.size):
            own, sought = [i for i in rows if i < count], [j for j in columns if j < count]
            if len(own) != len(sought):
                raise SingularSystem(own, sought)
            part = _cut(entries, rows, columns)
            try:
                values = solve(
                    part, [every[i] for i in rows], equilibrated(ground.sampled(part), len(rows), len(columns)), ones_first=True
                )
            except SingularSystem:
                lost += own
            else:
                _place(solution, sought, values[: len(sought)])
        if not lost:
            return
    few = equations.entries if entries is None else {(i, j): v for (i, j), v in equations.entries.items() if i in set(lost)}
    for rows, columns in parts_of(few, count):
        if entries is None or (rows and set(rows) <= set(lost)):
            yield rows, columns, few


def _cut(entries: Entries, rows: Sequence[int], columns: Sequence[int]) -> dict[tuple[int, int], Any]:
    at = {i: k for k, i in enumerate(rows)}, {j: k for k, j in enumerate(columns)}
    return {(at[0][i], at[1][j]): value for (i, j), value in entries.items() if i in at[0]}


def _place(solution: list[Any], columns: Sequence[int], values: Sequence[Any]) -> None:
    for j, value in zip(columns, values, strict=True):
        solution[j] = value


def parts_of(entries: Iterable[tuple[int, int]], count: int) -> list[tuple[list[int], list[int]]]:
    """(equations, unknowns) of the parts that share no entry with each other; what is alone makes one that is not square."""
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


def _solve_part(ground: Ground, entries: Entries, right: Sequence[Any], ideal: Ideal | None, cases: int) -> Solved:
    slots = _modes_in(ground, entries)
    counts = [len(states) for states, _ in ground.system.modes.values()]
    count = math.prod(counts[slot] for slot in slots)
    if not slots and (ideal is None or ideal.motion):
        found = regular(ground, entries, right, one_mode=True)
        if found is None:
            raise singular_part(ground, entries, right)
        return Solved(found)
    many = count > CASES
    numbers = ground.sampled(entries)
    if many and (count > cases or not singular_somewhere(numbers, len(right))):
        return Solved(_pivoted(ground, entries, right, numbers, slots))
    combinations = list(itertools.product(*(range(counts[slot]) for slot in slots)))
    failures: list[tuple[tuple[int, ...], SingularSystem]] = []
    solutions: list[tuple[tuple[int, ...], list[Any]]] = []
    modes: list[SharedMode] = []
    alike = Alike(ground, ideal)
    for values in combinations:
        fixed = {("m", slot): float(value) for slot, value in zip(slots, values, strict=True)}
        flat = specialise(ground.tape, [*entries.values(), *right], fixed)
        matrix, own = nonzero(dict(zip(entries, flat, strict=False))), flat[len(entries) :]
        found = alike.regular(matrix, own)
        if found is not None:
            if not many:
                solutions.append((values, found))
            continue
        try:
            shared = alike.shared(matrix, own, fixed)
        except SingularSystem as stuck:
            failures.append((values, stuck))
            continue
        solutions.append((values, shared.values))
        if shared.singular is not None:
            places = dict(zip(slots, values, strict=True))
            modes.append(SharedMode(places, _named(ground.system, slots, values), shared))
    _refuse(ground.system, slots, combinations, failures, modes if ideal is None or ideal.motion else ())
    out = solve_pivoted(entries, right) if many else list(solutions.pop()[1])
    for values, solution in reversed(solutions):
        here = chosen(ground.inputs["m"], dict(zip(slots, values, strict=True)))
        out = [where(here, a, b) for a, b in zip(solution, out, strict=True)]
    return Solved(out, tuple(modes))


def chosen(m: Sequence[Any] | np.ndarray, places: Mapping[int, int]) -> Any:
    """Whether the modes are these (slot -> state), at least one of them."""
    return functools.reduce(operator.and_, (equal(m[slot], float(value)) for slot, value in places.items()))


def _refuse(
    system: System,
    slots: Sequence[int],
    combinations: Sequence[tuple[int, ...]],
    failures: Sequence[tuple[tuple[int, ...], SingularSystem]],
    modes: Sequence[SharedMode],
) -> None:
    """Refuse what is singular without a solution in all modes, or in all in which some automaton is in one state."""
    wrong = dict(failures)
    for mode in modes:  # of the motion; an impulse may lead anywhere
        if not mode.holds and mode.shared.singular is not None:
            wrong[tuple(mode.places[slot] for slot in slots)] = mode.shared.singular
    if len(wrong) == len(combinations):
        raise wrong[combinations[0]]
    never = {
        (k, value)
        for k in range(len(slots))
        for value in {values[k] for values in combinations}
        if all(values in wrong for values in combinations if values[k] == value)
    }
    cases = {
        values: singular
        for values, singular in wrong.items()
        if values in dict(failures) or any((k, value) in never for k, value in enumerate(values))
    }
    if cases:
        raise SingularMode([(_named(system, slots, values), singular) for values, singular in cases.items()])


def _pivoted(
    ground: Ground, entries: Entries, right: Sequence[Any], numbers: Mapping[tuple[int, int], np.ndarray], slots: Sequence[int]
) -> list[Any]:
    """Solution with pivots chosen at run time; modes in which the samples are singular are refused."""
    bad = np.flatnonzero(singular_at(numbers, len(right)))
    if len(bad):
        modes = {(0, k): ground.inputs["m"][slot] for k, slot in enumerate(slots)}
        together = ground.sampled({**modes, **{(1 + i, j): e for (i, j), e in entries.items()}})
        values_there = list(together.values())[: len(slots)]
        failures: list[tuple[Mapping[str, str], SingularSystem]] = []
        for state in dict.fromkeys(tuple(int(v[k]) for v in values_there) for k in bad):
            fixed = {("m", slot): float(value) for slot, value in zip(slots, state, strict=True)}
            matrix = nonzero(through(functools.partial(specialise, ground.tape, fixed=fixed), entries))
            if regular(ground, matrix, right) is None:
                failures.append((_named(ground.system, slots, state), singular_part(ground, matrix, right)))
        if failures and len(bad) == len(next(iter(numbers.values()))):
            raise failures[0][1]
        if failures:
            raise SingularMode(failures)
    return solve_pivoted(entries, right)


def _modes_in(ground: Ground, entries: Entries) -> list[int]:
    """Slots of the modes that the entries depend on."""
    found = ground.reached(list(entries.values()))
    return [slot for slot, mode in enumerate(ground.inputs["m"]) if mode.index in found]


def _named(system: System, slots: Sequence[int], values: Sequence[int]) -> dict[str, str]:
    modes = list(system.modes.items())
    return {modes[slot][0].removesuffix(".mode"): modes[slot][1][0][value] for slot, value in zip(slots, values, strict=True)}
