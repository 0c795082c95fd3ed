"""Linear systems whose entries depend on modes: one elimination for all modes, one for each mode, or pivots chosen at run time.

Independent parts are solved separately, so that the modes of one part need not be combined with the modes of another.
"""

from __future__ import annotations

import contextlib
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
from bondgraph.tracing.linear.active_sets import OpenShares, solve_active_sets
from bondgraph.tracing.linear.complementarity import BoxPart
from bondgraph.tracing.linear.equations import SparseEquations
from bondgraph.tracing.linear.ideal_reactions import Ideal
from bondgraph.tracing.linear.indeterminate import LeastNormSolution, RedundantPart, solve_least_norm, solve_redundant
from bondgraph.tracing.linear.redundant_modes import solve_redundant_modes
from bondgraph.tracing.linear.regularity import regular_without, singular_at, singular_part, singular_somewhere, solve_regular
from bondgraph.tracing.linear.self_stresses import SelfStresses
from bondgraph.tracing.linear.solve import SingularSystem, equilibrated, solve, solve_pivoted
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries, nonzero, through
from screws.errors import plural
from screws.scalars import equal, where


class SolutionCache:
    """Solutions of a system in its modes; modes with equal equations are solved once."""

    def __init__(self, context: TracingContext, ideal: Ideal | None):
        self._context, self._ideal = context, ideal
        self._regular: dict[tuple[Any, ...], list[Any] | None] = {}
        self._shared: dict[tuple[Any, ...], list[tuple[list[Any], list[Any], LeastNormSolution | SingularSystem]]] = {}

    def regular(self, matrix: Entries, right: Sequence[Any]) -> list[Any] | None:
        key = (self._entries_key(matrix), self._indices(right))
        if key not in self._regular:
            self._regular[key] = solve_regular(self._context, matrix, right)
        return self._regular[key]

    def shared(self, matrix: Entries, right: Sequence[Any], fixed: Mapping[tuple[str, int], float]) -> LeastNormSolution:
        """Return the least-norm solution in a mode in which the matrix is singular; raise `SingularSystem` if there is none."""
        if self._ideal is None:
            raise singular_part(self._context, matrix, right)
        ideal, fold, queries = self._ideal, functools.partial(specialise, self._context.tape, fixed=fixed), []

        def derived(combinations: Sequence[Mapping[int, Any]], values: Sequence[Any]) -> Any:
            queries.append(ideal.derived(combinations, values))
            return queries[-1]

        def folded(rates: Sequence[Any]) -> list[Any]:
            return [self._indices(fold([*row.values(), value])) for equations in rates for row, value in equations]

        mode_ideal = replace(ideal, derived=derived).folded(fold)
        key = (self._entries_key(matrix), self._indices(right), *self._ideal_key(mode_ideal))
        candidates = self._shared.setdefault(key, [])
        outcome = next((outcome for rates, as_folded, outcome in candidates if folded(rates) == as_folded), None)
        if outcome is None:
            outcome = self._solve(matrix, right, mode_ideal)
            candidates.append((queries, folded(queries), outcome))
        if isinstance(outcome, SingularSystem):
            raise outcome
        return outcome

    def regular_off_dead_centres(self, matrix: Entries, right: Sequence[Any]) -> list[Any] | None:
        """Return the solution if the matrix of a mode is singular only at dead centres, else None.

        Dead centres are states at which a friction effort does not affect the flow of its element. Friction slips there, so the
        pivots are chosen at the other states.
        """
        if self._ideal is None:
            return None
        numbers, n = self._context.sampled(matrix), len(right)
        holding = {j for reaction in self._ideal.reactions if reaction.limit is not None for j in reaction.slopes}
        if not (numbers and holding):
            return None
        is_start = np.all([values == values[0] for values in numbers.values()], axis=0)
        for is_singular in (singular_at(numbers, n), is_start):
            if is_singular.all() or not regular_without(holding, {key: v[is_singular] for key, v in numbers.items()}, n):
                continue
            with contextlib.suppress(SingularSystem):
                return solve(matrix, right, equilibrated({key: values[~is_singular] for key, values in numbers.items()}, n, n))
        return None

    def _solve(self, matrix: Entries, right: Sequence[Any], ideal: Ideal) -> LeastNormSolution | SingularSystem:
        try:
            return solve_least_norm(self._context, matrix, right, ideal)
        except SingularSystem as error:
            return error

    def _indices(self, values: Iterable[Any]) -> tuple[int, ...]:
        return tuple(self._context.tape.scalar(value).index for value in values)

    def _entries_key(self, entries: Mapping[Any, Any]) -> tuple[Any, ...]:
        return (*entries, *self._indices(entries.values()))

    def _ideal_key(self, ideal: Ideal) -> Iterator[tuple[Any, ...]]:
        yield self._entries_key(ideal.senses)
        yield self._entries_key(ideal.moves)
        for reaction in ideal.reactions:
            limit = () if reaction.limit is None else self._indices([reaction.limit])
            yield (*self._entries_key(reaction.slopes), *self._indices([reaction.offset]), *limit)


MAX_CASES = 16
"""Maximum number of mode combinations of a part that are solved one by one; with more, pivots of regular modes are chosen at
run time."""

MAX_SEPARATE = 8
"""Number of mode combinations of a part above which one elimination for all modes (`active_sets`) is tried first."""

MAX_SINGULAR_CASES = 256


class SingularMode(Exception):
    """Error for a system that is singular only in some modes.

    `cases` are these modes, as states by automaton, each with its singular part; `too_many` is the number of mode
    combinations and the maximum that is searched, if exceeded.
    """

    def __init__(self, cases: Sequence[tuple[Mapping[str, str], SingularSystem]], too_many: tuple[int, int] = (0, 0)):
        self.cases, self.too_many = tuple(cases), too_many
        super().__init__(f"{plural(len(self.cases), 'mode')}")


@dataclass(frozen=True)
class SharedMode:
    slots: Mapping[int, int]
    names: Mapping[str, str]
    shared: LeastNormSolution

    def renumbered(self, rows: Sequence[int], columns: Sequence[int]) -> SharedMode:
        singular = self.shared.singular
        if singular is None:
            return self
        return replace(self, shared=replace(self.shared, singular=_renumbered(singular, rows, columns)))

    @property
    def holds(self) -> bool:
        """True if the equations are consistent at some states and the motion is unique."""
        return self.shared.is_motion_unique and not self.shared.by_time


@dataclass(frozen=True)
class ModewiseSolution:
    values: list[Any]
    modes: tuple[SharedMode, ...] = ()
    repeating: tuple[RedundantPart, ...] = ()
    boxes: tuple[BoxPart, ...] = ()
    stresses: tuple[SelfStresses, ...] = ()


def solve_in_modes(
    context: TracingContext,
    equations: SparseEquations,
    right: Sequence[Any],
    ideal: Callable[[], Ideal] | None = None,
    positions: Collection[int] = (),
    cases: int = MAX_SINGULAR_CASES,
) -> ModewiseSolution:
    """Solve A w = b for scalars of the tape, with a separate order of pivots for each combination of modes if no order suits
    all.

    In modes in which A is singular, `ideal` determines the solution; constraints on positions, with the indices `positions`,
    may be redundant. At most `cases` mode combinations of a part are searched for singular modes.

    Raises `SingularSystem` if no mode has a solution; if only some modes have none, raises `SingularMode`, which lists them.
    Modes whose equations contradict each other are ignored if a run can avoid them: if each of their states, except states of
    diodes, also occurs in a mode with a solution.
    """
    solution: list[Any] = [0.0] * len(right)
    refused, repeating = list[tuple[Mapping[str, str], SingularSystem]](), list[RedundantPart]()
    modes, boxes, stresses = list[SharedMode](), list[BoxPart](), list[SelfStresses]()
    singular_parts, too_many = list[Any](), (0, 0)
    for rows, columns, entries in _joined(_unsolved_parts(context, equations, right, solution), ideal is not None):
        part, b = _cut(entries, rows, columns), [right[i] for i in rows]
        count = _mode_count(context, part)
        if ideal is not None and rows == columns and count > MAX_SEPARATE:
            elements = ideal().part(rows, columns, solution)
            active = solve_active_sets(context, part, b, elements, _steps_of(equations, rows))
            if active is not None:
                _insert(solution, columns, active.values)
                modes += [mode.renumbered(rows, columns) for mode in _shared_modes(context.system, active.shares, elements)]
                boxes += active.boxes
                stresses += [] if active.stresses is None else [active.stresses]
                continue
        try:
            _insert(solution, columns, solve(part, b, context.sampled(part)))
        except SingularSystem:
            singular_parts.append((rows, columns, part, b))
    for rows, columns, part, b in singular_parts:
        part_ideal = None if ideal is None else ideal().part(rows, columns, solution)
        held = [k for k, i in enumerate(rows) if i in positions] if rows == columns else []
        switches = 0 < len(held) < len(rows)
        redundant = solve_redundant_modes(context, part, b, held, part_ideal) if switches and part_ideal else None
        if redundant is not None:
            _insert(solution, columns, redundant[0])
            repeating.append(replace(redundant[1], rows=tuple(rows[i] for i in redundant[1].rows)))
            continue
        try:
            solved = _solve_part(context, part, b, part_ideal, cases)
        except SingularSystem as error:
            shared = solve_redundant(part, b, context.sampled(part)) if rows == columns and set(rows) <= set(positions) else None
            if shared is None:
                raise _renumbered(error, rows, columns) from None
            _insert(solution, columns, shared[0])
            repeating.append(RedundantPart(tuple(rows), b, shared[1]))
            continue
        except SingularMode as error:
            refused += [(names, _renumbered(singular, rows, columns)) for names, singular in error.cases]
            too_many = max(too_many, error.too_many)
            continue
        _insert(solution, columns, solved.values)
        modes += [mode.renumbered(rows, columns) for mode in solved.modes]
    if refused:
        raise SingularMode(refused, too_many)
    return ModewiseSolution(solution, tuple(modes), tuple(repeating), tuple(boxes), tuple(stresses))


Part = tuple[list[int], list[int], Entries]
"""Equations and unknowns of a part of a system, and entries of the matrix that include the entries of the part."""


def _joined(parts: Iterable[Part], shared: bool) -> Iterator[Part]:
    """Yield the parts with as many equations as unknowns and, if `shared`, all other parts as one, since a mode may leave
    unknowns with too few or too many equations."""
    others = []
    for rows, columns, entries in parts:
        if len(rows) == len(columns):
            yield rows, columns, entries
            continue
        others.append((rows, columns, entries))
        if not shared:
            raise SingularSystem(rows, columns)
    rows, columns = sorted(i for part in others for i in part[0]), sorted(j for part in others for j in part[1])
    if len(rows) != len(columns):
        raise SingularSystem(*others[0][:2])
    if rows:
        yield rows, columns, others[0][2]


def _unsolved_parts(
    context: TracingContext, equations: SparseEquations, right: Sequence[Any], solution: list[Any]
) -> Iterator[Part]:
    """Solve the parts that have steps and one order of pivots for all modes, and insert their unknowns into `solution`; yield
    all other parts."""
    count, entries, unsolved = equations.count, equations.steps, list[int]()
    if entries is not None:
        every = [*right, *([0.0] * (equations.size - count))] if equations.offsets is None else equations.offsets
        for rows, columns in parts_of(entries, equations.size):
            originals, unknowns = [i for i in rows if i < count], [j for j in columns if j < count]
            if len(originals) != len(unknowns):
                raise SingularSystem(originals, unknowns)
            part = _cut(entries, rows, columns)
            if _mode_count(context, part) > MAX_SEPARATE:
                unsolved += originals
                continue
            try:
                values = solve(
                    part, [every[i] for i in rows], equilibrated(context.sampled(part), len(rows), len(columns)), ones_first=True
                )
                _insert(solution, unknowns, values[: len(unknowns)])
            except SingularSystem:
                unsolved += originals
        if not unsolved:
            return
    few = equations.entries if entries is None else {(i, j): v for (i, j), v in equations.entries.items() if i in set(unsolved)}
    for rows, columns in parts_of(few, count):
        if entries is None or (rows and set(rows) <= set(unsolved)):
            yield rows, columns, few


def _steps_of(equations: SparseEquations, originals: Sequence[int]) -> Entries | None:
    """Return the matrix, with steps as unknowns, of the part with these equations; None if there is none."""
    for rows, columns in () if equations.steps is None else parts_of(equations.steps, equations.size):
        if rows == columns and [i for i in rows if i < equations.count] == originals:
            return _cut(equations.steps or {}, rows, columns)
    return None


def _cut(entries: Entries, rows: Sequence[int], columns: Sequence[int]) -> dict[tuple[int, int], Any]:
    at = {i: k for k, i in enumerate(rows)}, {j: k for k, j in enumerate(columns)}
    return {(at[0][i], at[1][j]): value for (i, j), value in entries.items() if i in at[0]}


def _insert(solution: list[Any], columns: Sequence[int], values: Sequence[Any]) -> None:
    for j, value in zip(columns, values, strict=True):
        solution[j] = value


def parts_of(entries: Iterable[tuple[int, int]], count: int) -> list[tuple[list[int], list[int]]]:
    """Return (equations, unknowns) of the connected components of a matrix; an empty row or column is a separate component."""
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


def _renumbered(singular: SingularSystem, rows: Sequence[int], columns: Sequence[int]) -> SingularSystem:
    return SingularSystem([rows[i] for i in singular.equations], [columns[j] for j in singular.unknowns])


def _solve_part(
    context: TracingContext, entries: Entries, right: Sequence[Any], ideal: Ideal | None, cases: int
) -> ModewiseSolution:
    slots = _modes_in(context, entries)
    counts = [len(mode.states) for mode in context.system.modes.values()]
    count = math.prod(counts[slot] for slot in slots)
    if not slots and (ideal is None or ideal.motion):
        solution = solve_regular(context, entries, right, one_mode=True)
        if solution is None:
            raise singular_part(context, entries, right)
        return ModewiseSolution(solution)
    many, numbers = count > MAX_CASES, context.sampled(entries)
    if many and (count > cases or not singular_somewhere(numbers, len(right))):
        return ModewiseSolution(_pivoted(context, entries, right, numbers, slots, cases))
    combinations = list(itertools.product(*(range(counts[slot]) for slot in slots)))
    failures: list[tuple[tuple[int, ...], SingularSystem]] = []
    solutions: list[tuple[tuple[int, ...], list[Any]]] = []
    modes, cache = list[SharedMode](), SolutionCache(context, ideal)
    for values in combinations:
        fixed = {("m", slot): float(value) for slot, value in zip(slots, values, strict=True)}
        flat = specialise(context.tape, [*entries.values(), *right], fixed)
        matrix, b = nonzero(dict(zip(entries, flat, strict=False))), flat[len(entries) :]
        solution = cache.regular(matrix, b)
        if solution is not None:
            if not many:
                solutions.append((values, solution))
            continue
        try:
            shared: LeastNormSolution | SingularSystem = cache.shared(matrix, b, fixed)
        except SingularSystem as error:
            shared = error
        if isinstance(shared, SingularSystem) or not (shared.is_motion_unique and not shared.by_time):
            solution = cache.regular_off_dead_centres(matrix, b)
            if solution is not None:
                solutions.append((values, solution))
                continue
        if isinstance(shared, SingularSystem):
            failures.append((values, shared))
            continue
        solutions.append((values, shared.values))
        if shared.singular is not None:
            states = dict(zip(slots, values, strict=True))
            modes.append(SharedMode(states, _mode_names(context.system, slots, values), shared))
    _refuse(context.system, slots, combinations, failures, modes if ideal is None or ideal.motion else ())
    out = solve_pivoted(entries, right) if many else list(solutions.pop()[1])
    for values, solution in reversed(solutions):
        condition = in_modes(context.inputs["m"], dict(zip(slots, values, strict=True)))
        out = [where(condition, a, b) for a, b in zip(solution, out, strict=True)]
    return ModewiseSolution(out, tuple(modes))


def _shared_modes(system: System, shares: Iterable[OpenShares], ideal: Ideal) -> Iterator[SharedMode]:
    gates = ideal.gates
    for share in shares:
        states = {gates[row].slot: gates[row].active for row in share.circuit.rows if row in gates}
        states |= {gates[row].slot: gates[row].others for row in share.circuit.released}
        singular = None if share.contradiction is None else SingularSystem(share.circuit.rows, share.circuit.rows)
        solution = LeastNormSolution([], share.elements, share.contradiction, share.by_time, singular=singular)
        for values in itertools.product(*states.values()):
            yield SharedMode(dict(zip(states, values, strict=True)), _mode_names(system, list(states), values), solution)


def in_modes(m: Sequence[Any] | np.ndarray, states: Mapping[int, int]) -> Any:
    """Return the condition under which all automata are in these `states`, by slot; `states` must not be empty."""
    return functools.reduce(operator.and_, (equal(m[slot], float(value)) for slot, value in states.items()))


def _refuse(
    system: System,
    slots: Sequence[int],
    combinations: Sequence[tuple[int, ...]],
    failures: Sequence[tuple[tuple[int, ...], SingularSystem]],
    modes: Sequence[SharedMode],
) -> None:
    """Refuse a system that has no least-norm solution in some mode, or whose equations contradict each other in every mode, or in
    every mode with a certain state of an automaton (diodes excepted, since a run enters their states only by the diode's own
    reaction)."""
    wrong, diodes = dict(failures), {u.element for u in system.unknowns if u.reason == "switch"}
    automata = [mode.automaton for mode in system.modes.values()]
    for mode in modes:  # only along the motion; an impulse may lead to any mode
        if not mode.holds and mode.shared.singular is not None:
            wrong[tuple(mode.slots[slot] for slot in slots)] = mode.shared.singular
    if len(wrong) == len(combinations):
        raise wrong[combinations[0]]
    never = {
        (k, value)
        for k in range(len(slots))
        if automata[slots[k]] not in diodes
        for value in {values[k] for values in combinations}
        if all(values in wrong for values in combinations if values[k] == value)
    }
    cases = {
        values: singular
        for values, singular in wrong.items()
        if values in dict(failures) or any((k, value) in never for k, value in enumerate(values))
    }
    if cases:
        raise SingularMode([(_mode_names(system, slots, values), singular) for values, singular in cases.items()])


def _pivoted(
    context: TracingContext,
    entries: Entries,
    right: Sequence[Any],
    numbers: Mapping[tuple[int, int], np.ndarray],
    slots: Sequence[int],
    cases: int,
) -> list[Any]:
    bad = np.flatnonzero(singular_at(numbers, len(right)))
    if len(bad):
        modes = {(0, k): context.inputs["m"][slot] for k, slot in enumerate(slots)}
        samples = context.sampled({**modes, **{(1 + i, j): e for (i, j), e in entries.items()}})
        failures: list[tuple[Mapping[str, str], SingularSystem]] = []
        for state in dict.fromkeys(tuple(int(v[k]) for v in list(samples.values())[: len(slots)]) for k in bad):
            fixed = {("m", slot): float(value) for slot, value in zip(slots, state, strict=True)}
            matrix = nonzero(through(functools.partial(specialise, context.tape, fixed=fixed), entries))
            if solve_regular(context, matrix, right) is None:
                failures.append((_mode_names(context.system, slots, state), singular_part(context, matrix, right)))
        if failures and len(bad) == len(next(iter(numbers.values()))):
            raise failures[0][1]
        if failures:
            raise SingularMode(failures, (_mode_count(context, entries), cases))
    return solve_pivoted(entries, right)


def _modes_in(context: TracingContext, entries: Entries) -> list[int]:
    positions = context.reached(list(entries.values()))
    return [slot for slot, mode in enumerate(context.inputs["m"]) if mode.index in positions]


def _mode_count(context: TracingContext, entries: Entries) -> int:
    slots = _modes_in(context, entries)
    return math.prod(len(mode.states) for mode in context.system.modes.values() if mode.slot in slots)


def _mode_names(system: System, slots: Sequence[int], values: Sequence[int]) -> dict[str, str]:
    modes = list(system.modes.values())
    return {modes[slot].automaton: modes[slot].states[value] for slot, value in zip(slots, values, strict=True)}
