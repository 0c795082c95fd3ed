"""Linear systems of many ideal elements: one elimination whose equations the modes switch, whatever the number of combinations.

The equation of an ideal element is that of its holding, A w = b, or gives its unknown a number, w_i = o_i, by its mode alone.
The holding equations of elements that act on masses or coils are symmetric and semidefinite, A = J M^-1 J^T with a sign for
each. Those of any modes are a principal submatrix, which is eliminated with diagonal pivots in one order for all modes.

A principal submatrix of such a matrix is singular exactly if it contains a null vector n of A, whatever the other modes are. All
of these are combinations of circuits, null vectors with least sets of elements: a row of locks between two walls, two clutches
side by side. Where all elements of a circuit hold, their shares are open along n, and b does not depend on them. Those of least
norm fulfil

    s(w) = sum_k W_k (r_k . n) (r_k . w + o_k) = 0

for the reactions r_k . w + o_k with their weights W. A term p s(w) with n^T p > 0 makes A regular and leaves its solutions alone,
since n^T b = 0: one elimination gives the shares of least norm, without any small regularisation.

Source: Rockafellar 1969, The elementary vectors of a subspace; Cottle, Pang and Stone 1992, The Linear Complementarity Problem.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.complementarity import BoxPart, box_parts
from bondgraph.tracing.linear.ideal_reactions import Ideal, RowGate
from bondgraph.tracing.linear.indeterminate import (
    SUM_ROUNDING,
    SYMMETRY_TOLERANCE,
    factorised,
    is_zero,
    reaction_weights,
    solve_semidefinite,
)
from bondgraph.tracing.linear.solve import SingularSystem, equilibrated, matrices_of, natural_sizes, rows_of, solve
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries, nonzero
from screws.scalars import absolute, equal, where

NULL_TOLERANCE = 1e-9
"""Singular values that count as zero, and entries of null vectors, as a part of the largest."""

RESIDUAL_TOLERANCE = 1e-7
"""Largest residual at sample states, as a part of the terms of the equation."""

RUIZ_ROUNDS = 8
"""Rounds of scaling, each of which halves the logarithms of the largest entries."""

MAX_CIRCUITS = 128
"""Most circuits of one part."""

MAX_SUBSETS = 20_000
"""Most sets of elements that are searched for circuits."""


@dataclass(frozen=True)
class Circuit:
    """Elements that hold against each other: a null vector of the equations of all modes in which its elements hold and its
    released ones do not."""

    rows: tuple[int, ...]
    """Equations of the elements that hold."""
    released: tuple[int, ...]
    """Equations of elements whose vanishing quantity it changes, and which must not hold."""


@dataclass(frozen=True)
class OpenShares:
    """A circuit that leaves reactions of these elements open."""

    circuit: Circuit
    elements: tuple[str, ...]


@dataclass(frozen=True)
class ActiveSetSolution:
    """The unknowns of a part in all modes, and the circuits that leave reactions open."""

    values: list[Any]
    shares: tuple[OpenShares, ...]
    boxes: tuple[BoxPart, ...] = ()
    """Problem by which modes and shares are found together, if there is one."""


def solve_active_sets(
    context: TracingContext, entries: Entries, right: Sequence[Any], ideal: Ideal, symmetric: bool
) -> ActiveSetSolution | None:
    """Solve A w = b in all modes by one elimination; None if its holding equations are not monotone, or not `symmetric`."""
    held = _holding(context, entries, right, ideal.gates)
    if held is None:
        return None
    n = len(right)
    held = _with_factors(context, held, n)
    numbers = context.sampled(held.entries)
    matrices = matrices_of(numbers, n) if numbers else np.zeros((1, n, n))
    scale = _monotone_scale(numbers, matrices)
    if scale is None:
        return None
    scaled = matrices * scale * scale[:, None]
    skew = bool(np.abs(scaled - scaled.transpose(0, 2, 1)).max(initial=0.0) > SYMMETRY_TOLERANCE)
    if skew and symmetric:
        return None
    bases = [_lossless(matrix) for matrix in (scaled[0], *np.unique(scaled, axis=0))]
    generic = min(bases, key=lambda basis: basis.shape[1])
    gated = {i for i in held.holds if i not in held.never}
    circuits = _circuits(generic, n, gated, held.never)
    if circuits is None or bases[0].shape[1] > generic.shape[1]:  # redundant where loops of joints close: `redundant_modes`
        return None
    try:
        vectors = [_null_vector(context, held.entries, circuit, n) for circuit in circuits]
        terms = _terms(context, held, ideal, circuits, vectors, scale)
    except SingularSystem:
        return None
    if terms is None:
        return None
    values = _eliminated(held, terms, scale, skew)
    if not _fits(context, entries, right, values, terms):
        return None
    boxes = () if skew else box_parts(context, entries, right, (held.entries, held.right), held.released, ideal.gates)
    return ActiveSetSolution(values, tuple(term.share for term in terms if term.share is not None), boxes)


@dataclass(frozen=True)
class _Holding:
    """Equations of a part while all its elements hold, and what stands instead of those that do not."""

    entries: Entries
    right: Sequence[Any]
    holds: Mapping[int, Any]
    """Equation -> condition that it holds; without an entry it always does."""
    released: Mapping[int, Any]
    """Equation -> value of its unknown while it does not hold, zero while it does."""
    never: frozenset[int]
    """Equations that never hold: of an event's own mode."""
    factors: Sequence[Any] = ()
    """Factor by which each equation has been multiplied."""


def _holding(context: TracingContext, entries: Entries, right: Sequence[Any], gates: Mapping[int, RowGate]) -> _Holding | None:
    """Return the holding equations; None if a released equation has other unknowns, or a holding one depends on modes."""
    tape = context.tape
    rows = rows_of(entries, len(right))
    varying = {i: gate for i, gate in gates.items() if tape.scalar(gate.holds).value != 1.0}
    states: dict[tuple[str, int], float] = {}
    for gate in varying.values():
        if states.setdefault(("m", gate.slot), float(gate.active[0])) not in gate.active:
            return None
    held: dict[tuple[int, int], Any] = {}
    left: list[Any] = list(right)
    holds, released = dict[int, Any](), dict[int, Any]()
    for i, row in enumerate(rows):
        values = list(row.values())
        if i in varying:
            gate = varying[i]
            offs = [specialise(tape, [right[i], *values], {("m", gate.slot): float(state)}) for state in gate.others]
            if any(set(nonzero(dict(zip(row, off[1:], strict=True)))) != {i} for off in offs):
                return None
            holds[i] = gate.holds
            released[i] = 0.0 if all(off[0].value == 0.0 for off in offs) else where(gate.holds, 0.0, right[i] / row[i])
        left[i], *values = specialise(tape, [right[i], *values], states)
        held |= nonzero({(i, j): tape.scalar(value) for j, value in zip(row, values, strict=True)})
    if {mode.index for mode in context.inputs["m"]} & context.reached(list(held.values())):
        return None
    never = frozenset(i for i, condition in holds.items() if tape.scalar(condition).value == 0.0)
    for (i, j), value in held.items():
        if j in never and i != j:
            left[i] = left[i] - value * released[j]
    return _Holding({(i, j): v for (i, j), v in held.items() if i == j or j not in never}, left, holds, released, never)


def _with_factors(context: TracingContext, held: _Holding, n: int) -> _Holding:
    """Multiply equations by such factors that their diagonal is positive, and couplings are symmetric or skew."""
    factors = _row_factors(held.entries, matrices_of(context.sampled(held.entries), n)) if held.entries else [1.0] * n
    return replace(
        held,
        entries={(i, j): value * factors[i] for (i, j), value in held.entries.items()},
        right=[b * factor for b, factor in zip(held.right, factors, strict=True)],
        factors=factors,
    )


def _row_factors(entries: Entries, matrices: np.ndarray) -> list[Any]:
    """Return factors of equations, by which the diagonal is positive, and couplings are symmetric or skew."""
    n = matrices.shape[1]
    top = np.abs(matrices).max(axis=0)
    coupled = top > SUM_ROUNDING * np.maximum(top.max(axis=0), top.max(axis=1, keepdims=True))
    diagonal = np.sign(matrices.sum(axis=0).diagonal())
    factors: list[Any] = [None] * n
    for first in sorted(range(n), key=lambda i: diagonal[i] == 0.0):
        if factors[first] is None:
            factors[first] = float(diagonal[first]) or 1.0
        waiting = [first]
        while waiting:
            j = waiting.pop()
            for i in range(n):
                if factors[i] is None and coupled[i, j] and coupled[j, i]:
                    k = int(np.argmax(np.abs(matrices[:, i, j] * matrices[:, j, i])))
                    sign = np.sign(matrices[k, i, j] * matrices[k, j, i])
                    sense = float(diagonal[i] * diagonal[j] or -sign) * sign  # of two dissipative ones +, of a skew pair -
                    sizes = np.abs(matrices[:, [i, j], [j, i]])
                    is_one = bool(np.all(np.abs(sizes[:, 0] - sizes[:, 1]) <= SYMMETRY_TOLERANCE * sizes.max(axis=1)))
                    factors[i] = factors[j] * sense * (float(sign) if is_one else entries[j, i] / entries[i, j])
                    waiting.append(i)
    return factors


def _monotone_scale(numbers: Mapping[tuple[int, int], np.ndarray], matrices: np.ndarray) -> np.ndarray | None:
    """Return the sizes of the unknowns (n,) by which the largest entry of each is near one (Ruiz 2001); None if a sample is not
    monotone."""
    n = matrices.shape[1]
    if not numbers:
        return np.ones(n)
    if not np.isfinite(matrices).all():
        return None
    top = np.abs(matrices).max(axis=0)
    top = np.maximum(top, top.T)
    sizes = np.ones(n)
    for _ in range(RUIZ_ROUNDS):
        most = (top * sizes * sizes[:, None]).max(axis=1)
        sizes = sizes / np.sqrt(np.where(most > 0.0, most, 1.0))
    scaled = sizes[:, None] * matrices * sizes
    values = np.linalg.eigvalsh(scaled + scaled.transpose(0, 2, 1))
    return None if np.any(values[:, 0] < -SYMMETRY_TOLERANCE) else np.asarray(sizes)


def _lossless(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (2 n, r) of the unknowns x and vanishing quantities y = A x that take no power."""
    _, values, right = np.linalg.svd(matrix + matrix.T)
    basis = right[values <= NULL_TOLERANCE].T
    return np.asarray(np.linalg.qr(np.vstack([basis, matrix @ basis]))[0])


def _circuits(basis: np.ndarray, n: int, gated: Set[int], never: Set[int]) -> list[Circuit] | None:
    """Return all circuits of a space of x and y: vectors with least numbers of entries, in none of which both x and y of an
    element differ from zero; None if there are too many."""
    circuits: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    for rows in _blocks(basis):
        _, values, right = np.linalg.svd(basis[rows])
        block = basis[rows] @ right[: int((values > NULL_TOLERANCE).sum())].T
        rank = block.shape[1]
        if math.comb(len(rows), rank - 1) > MAX_SUBSETS:
            return None
        for zeros in itertools.combinations(range(len(rows)), rank - 1):
            _, values, right = np.linalg.svd(block[list(zeros)].reshape(rank - 1, rank))
            if rank > 1 and values[-1] <= NULL_TOLERANCE:
                continue
            vector = np.abs(block @ right[-1])
            support = [rows[k] for k in np.flatnonzero(vector > NULL_TOLERANCE * vector.max())]
            x, y = tuple(k for k in support if k < n), tuple(k - n for k in support if k >= n)
            if not set(x) & (set(y) | never) and set(y) <= gated | never:
                circuits.add((x, tuple(k for k in y if k in gated)))
    return [Circuit(*each) for each in sorted(circuits)] if len(circuits) <= MAX_CIRCUITS else None


def _blocks(basis: np.ndarray) -> list[list[int]]:
    """Return the rows of each independent block of a space."""
    coupled = np.argwhere(np.abs(basis @ basis.T) > NULL_TOLERANCE)
    graph = nx.Graph((int(i), int(j)) for i, j in coupled)
    return [sorted(block) for block in nx.connected_components(graph)]


def _null_vector(context: TracingContext, entries: Entries, circuit: Circuit, n: int) -> dict[int, Any]:
    """Return the null vector of a circuit, the first entry at 1."""
    first, *others = circuit.rows
    at = {j: k for k, j in enumerate(others)}
    numbers = matrices_of(context.sampled(entries), n)[0] if others else np.zeros((n, n))
    numbers[list(circuit.released)] = 0.0
    kept = _independent_rows(numbers[:, others])
    part = {(k, at[j]): entries[i, j] for k, i in enumerate(kept) for j in others if (i, j) in entries}
    right = [-entries[i, first] if (i, first) in entries else 0.0 for i in kept]
    sampled = equilibrated(context.sampled(part), len(others), len(others)) if part else {}
    return {first: 1.0} | dict(zip(others, solve(part, right, sampled), strict=True))


def _independent_rows(matrix: np.ndarray) -> list[int]:
    """Return as many rows of a matrix (n, m) as it has columns, each the one farthest from those before."""
    left, kept = matrix.copy(), list[int]()
    for _ in range(matrix.shape[1]):
        kept.append(int((left**2).sum(axis=1).argmax()))
        unit = left[kept[-1]] / (np.linalg.norm(left[kept[-1]]) or 1.0)
        left = left - np.outer(left @ unit, unit)
    return kept


@dataclass(frozen=True)
class _Term:
    """Equation slopes . w + offset = 0 of a circuit, while it `holds`, and the factors by which other equations contain it."""

    holds: Any
    slopes: Mapping[int, Any]
    offset: Any
    factors: Mapping[int, Any]
    misfit: Mapping[int, Any]
    """Contradiction of its right sides, which is left out of them."""
    share: OpenShares | None


def _terms(
    context: TracingContext,
    held: _Holding,
    ideal: Ideal,
    circuits: Sequence[Circuit],
    vectors: Sequence[Mapping[int, Any]],
    scale: np.ndarray,
) -> list[_Term] | None:
    """Return the equations of all circuits: their rate along the motion, or the shares of least norm; None if there are none."""
    tape = context.tape
    left = [{i: n * held.factors[i] for i, n in vector.items()} for vector in vectors]
    misfits = [_misfit(context, held, circuit, vector) for circuit, vector in zip(circuits, vectors, strict=True)]
    wrong = [not zero for zero in is_zero(context, misfits)]
    derived = ideal.derived(left, misfits) if left else []
    every = {
        (k, c): tape.scalar(sum((slope * vector[j] for j, slope in reaction.slopes.items() if j in vector), 0.0))
        for k, reaction in enumerate(ideal.reactions)
        for c, vector in enumerate(vectors)
    }
    zeros = is_zero(context, list(every.values()))
    steps = {key: value for (key, value), zero in zip(every.items(), zeros, strict=True) if not zero}
    numbers = context.sampled(steps)
    inverse_sizes, _ = natural_sizes(numbers, len(ideal.reactions), len(vectors))
    weights = reaction_weights(ideal.reactions, [1.0 / float(size) for size in inverse_sizes])
    out = []
    for c, (circuit, vector) in enumerate(zip(circuits, vectors, strict=True)):
        slopes: dict[int, Any] = dict(derived[c][0])
        offset: Any = -derived[c][1] if slopes else 0.0
        share = None
        along = tape.scalar(sum((slopes[j] * n for j, n in vector.items() if j in slopes), 0.0))
        moves = slopes and (wrong[c] or not ideal.motion) and not is_zero(context, [along])[0]
        if not moves:
            members = [k for k in range(len(ideal.reactions)) if (k, c) in steps]
            if wrong[c] or not members:
                return None
            slopes, offset = {}, 0.0
            for k in members:
                reaction, part = ideal.reactions[k], weights[k] * steps[k, c]
                slopes |= {j: slopes.get(j, 0.0) + part * slope for j, slope in reaction.slopes.items()}
                offset = offset + part * reaction.offset
            along = tape.scalar(sum((slopes[j] * n for j, n in vector.items() if j in slopes), 0.0))
            elements = tuple(dict.fromkeys(ideal.reactions[k].element for k in members))
            share = OpenShares(circuit, elements)
        conditions = [held.holds[i] for i in circuit.rows if i in held.holds]
        conditions += [equal(where(held.holds[i], 1.0, 0.0), 0.0) for i in circuit.released]
        holds = functools.reduce(operator.and_, conditions) if conditions else None
        alone = not any(set(circuit.rows) & set(other.rows) for other in circuits if other != circuit)
        sizes = {i: _row_size(held.entries, i, scale) for i in (circuit.rows[:1] if alone else circuit.rows)}
        if alone:  # a term in one equation is enough, and leaves the others sparse
            ((first, size),) = sizes.items()
            factors = {first: size / along}
            misfit = {first: misfits[c]} if moves else {}
        else:
            size = sum((sizes[i] * n * n for i, n in vector.items()), 0.0) / (along * along)
            factors = {j: size * slope for j, slope in slopes.items()}
            misfit = {j: misfits[c] * slope / along for j, slope in slopes.items()} if moves else {}
        out.append(_Term(holds, slopes, offset, factors, misfit, share))
    return out


def _row_size(entries: Entries, i: int, scale: np.ndarray) -> Any:
    """Return the size of an equation in units of its diagonal."""
    terms = [absolute(v) * float(abs(scale[j] / scale[i])) for (k, j), v in entries.items() if k == i]
    return sum(terms[1:], terms[0]) if terms else 1.0


def _misfit(context: TracingContext, held: _Holding, circuit: Circuit, vector: Mapping[int, Any]) -> Any:
    """Return what the right sides of a circuit must cancel to."""
    total: Any = 0.0
    for i, factor in vector.items():
        value = held.right[i]
        for j in circuit.released:
            if (i, j) in held.entries and not _is_zero(held.released[j]):
                value = value - held.entries[i, j] * held.released[j]
        total = total + factor * value
    return context.tape.scalar(total)


def _eliminated(held: _Holding, terms: Sequence[_Term], scale: np.ndarray, skew: bool) -> list[Any]:
    """Return the unknowns by elimination with diagonal pivots; with a small regularisation where skew couplings may
    let pivots vanish."""
    n, holds, released = len(held.right), held.holds, held.released
    entries: dict[tuple[int, int], Any] = {(i, i): 0.0 for i in range(n)}
    right = list(held.right)

    def add(i: int, j: int, value: Any, *conditions: Any) -> None:
        """Add a term of equation i; that of an unknown that does not hold is fixed."""
        conditions = tuple(dict.fromkeys(c for c in (*conditions, holds.get(i)) if c is not None))
        if j in released and i != j and not _is_zero(released[j]):
            right[i] = right[i] - _masked(value, conditions) * released[j]
        conditions = tuple(dict.fromkeys((*conditions, holds[j]))) if j in holds else conditions
        entries[i, j] = entries.get((i, j), 0.0) + _masked(value, conditions)

    for (i, j), value in held.entries.items():
        add(i, j, value)
    for term in terms:
        condition = tuple(c for c in (term.holds,) if c is not None)
        for i, part in term.misfit.items():
            right[i] = right[i] - _masked(part, condition)
        for i, part in term.factors.items():
            right[i] = right[i] - _masked(part, condition) * term.offset
            for j, other in term.slopes.items():
                add(i, j, part * other, term.holds)
    sizes = [_row_size(held.entries, i, scale) for i in range(n)]
    for i, condition in holds.items():
        entries[i, i] = where(condition, entries[i, i], sizes[i])
        right[i] = where(condition, right[i], sizes[i] * released[i])
    if skew:
        return solve_semidefinite(entries, right, sizes)[0]
    return factorised(rows_of(entries, n))(right)


def _masked(value: Any, conditions: Sequence[Any]) -> Any:
    """Return a value where all conditions hold, else zero."""
    return where(functools.reduce(operator.and_, conditions), value, 0.0) if conditions else value


def _is_zero(value: Any) -> bool:
    return bool(getattr(value, "value", value) == 0.0)


def _fits(context: TracingContext, entries: Entries, right: Sequence[Any], values: Sequence[Any], terms: Sequence[_Term]) -> bool:
    """Return True if the values solve the equations at all samples where these are finite, and no circuit needs an equation of
    motion, whose states are not consistent there."""
    rows = rows_of(entries, len(right))
    residuals = [sum((a * values[j] for j, a in row.items()), -b) for row, b in zip(rows, right, strict=True)]
    sizes = [sum((absolute(a * values[j]) for j, a in row.items()), absolute(b)) for row, b in zip(rows, right, strict=True)]
    moving = [where(term.holds, 1.0, 0.0) for term in terms if term.misfit and term.holds is not None]
    table = context.sampled.table([*residuals, *sizes])
    finite = np.isfinite(context.sampled.table([*entries.values(), *right])).all(axis=1)
    if moving:
        finite &= ~context.sampled.table(moving).any(axis=1)
    off, size = np.abs(table[finite, : len(right)]), table[finite, len(right) :]
    every = size.max(axis=1, keepdims=True, initial=0.0)
    return bool(np.all(off <= RESIDUAL_TOLERANCE * (every + RESIDUAL_TOLERANCE * every.max(initial=0.0))))
