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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.ideal_reactions import Ideal, RowGate
from bondgraph.tracing.linear.indeterminate import SYMMETRY_TOLERANCE, factorised, reaction_weights, solve_semidefinite
from bondgraph.tracing.linear.solve import SingularSystem, equilibrated, matrices_of, natural_sizes, rows_of, solve
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries, nonzero
from screws.scalars import absolute, where

NULL_TOLERANCE = 1e-9
"""Singular values that count as zero, and entries of null vectors, as a part of the largest."""

RESIDUAL_TOLERANCE = 1e-7
"""Largest residual at sample states, as a part of the terms of the equation."""

MAX_CIRCUITS = 128
"""Most circuits of one part."""

MAX_SUBSETS = 20_000
"""Most sets of elements that are searched for circuits."""


@dataclass(frozen=True)
class Circuit:
    """Elements that hold against each other: null vector of the holding equations with the least number of entries."""

    rows: tuple[int, ...]
    elements: tuple[str, ...]
    """Elements whose reactions it leaves open."""


@dataclass(frozen=True)
class ActiveSetSolution:
    """The unknowns of a part in all modes, and its circuits."""

    values: list[Any]
    circuits: tuple[Circuit, ...]


def solve_active_sets(context: TracingContext, entries: Entries, right: Sequence[Any], ideal: Ideal) -> ActiveSetSolution | None:
    """Solve A w = b in all modes by one elimination; None if its holding equations depend on modes, or are not symmetric and
    semidefinite."""
    held = _holding(context, entries, right, ideal.gates)
    if held is None:
        return None
    numbers = context.sampled(held.entries)
    matrices = matrices_of(numbers, len(right)) if numbers else np.zeros((1, len(right), len(right)))
    diagonal = _diagonal(numbers, matrices)
    if diagonal is None:
        return None
    scaled = matrices / np.sqrt(np.abs(diagonal)) / np.sqrt(np.abs(diagonal))[:, None]
    bases = [_null_space(matrix) for matrix in (scaled[0], *np.unique(scaled, axis=0))]
    generic = min(bases, key=lambda basis: basis.shape[1])
    supports = _supports(generic)
    if supports is None:
        return None
    try:
        shares = _shares(context, held, ideal, supports, diagonal)
    except SingularSystem:
        return None
    if shares is None:
        return None
    values = _eliminated(held, shares, diagonal, redundant=bases[0].shape[1] > generic.shape[1])
    if not _fits(context, entries, right, values):
        return None
    return ActiveSetSolution(values, tuple(Circuit(share.support, share.elements) for share in shares))


@dataclass(frozen=True)
class _Holding:
    """Equations of a part while all its elements hold, and what stands instead of those that do not."""

    entries: Entries
    right: Sequence[Any]
    holds: Mapping[int, Any]
    """Equation -> condition that it holds; without an entry it always does."""
    released: Mapping[int, Any]
    """Equation -> value of its unknown while it does not hold, zero while it does."""


def _holding(context: TracingContext, entries: Entries, right: Sequence[Any], gates: Mapping[int, RowGate]) -> _Holding | None:
    """Return the holding equations; None if a released equation has other unknowns, or a holding one depends on modes."""
    tape = context.tape
    held: dict[tuple[int, int], Any] = {}
    holds, released = dict[int, Any](), dict[int, Any]()
    for i, row in enumerate(rows_of(entries, len(right))):
        gate, values = gates.get(i), list(row.values())
        if gate is not None and tape.scalar(gate.holds).value != 1.0:
            offs = [specialise(tape, [right[i], *values], {("m", gate.slot): float(state)}) for state in gate.others]
            if any(set(nonzero(dict(zip(row, off[1:], strict=True)))) != {i} for off in offs):
                return None
            holds[i] = gate.holds
            released[i] = 0.0 if all(off[0].value == 0.0 for off in offs) else where(gate.holds, 0.0, right[i] / row[i])
            values = list(specialise(tape, values, {("m", gate.slot): float(gate.active[0])}))
        held |= nonzero({(i, j): tape.scalar(value) for j, value in zip(row, values, strict=True)})
    if {mode.index for mode in context.inputs["m"]} & context.reached(list(held.values())):
        return None
    fixed = {i for i, condition in holds.items() if tape.scalar(condition).value == 0.0}  # of an event's own mode
    left = list(right)
    for (i, j), value in held.items():
        if j in fixed and i != j:
            left[i] = left[i] - value * released[j]
    return _Holding({(i, j): v for (i, j), v in held.items() if i == j or j not in fixed}, left, holds, released)


def _diagonal(numbers: Mapping[tuple[int, int], np.ndarray], matrices: np.ndarray) -> np.ndarray | None:
    """Return sizes of the diagonal (n,) with its signs; None if a matrix is not symmetric up to these signs, or not definite."""
    n = matrices.shape[1]
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    sizes = np.abs(diagonal).max(axis=0)
    if not numbers:
        return np.ones(n)
    if not np.isfinite(matrices).all() or not sizes.all():
        return None
    signs = np.sign(diagonal.sum(axis=0))
    scale = 1.0 / np.sqrt(sizes)
    scaled = (signs * scale)[:, None] * matrices * scale
    skew = np.abs(scaled - scaled.transpose(0, 2, 1)).max()
    if skew > SYMMETRY_TOLERANCE or np.linalg.eigvalsh(scaled).min() < -SYMMETRY_TOLERANCE:
        return None
    return np.asarray(signs * sizes)


def _null_space(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, r) of the null space of a matrix."""
    _, values, right = np.linalg.svd(matrix)
    return np.asarray(right[values <= NULL_TOLERANCE].T)


def _supports(basis: np.ndarray) -> list[tuple[int, ...]] | None:
    """Return the sets of unknowns of all circuits of a null space; None if there are too many."""
    supports: set[tuple[int, ...]] = set()
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
            supports.add(tuple(rows[k] for k in np.flatnonzero(vector > NULL_TOLERANCE * vector.max())))
    return sorted(supports) if len(supports) <= MAX_CIRCUITS else None


def _blocks(basis: np.ndarray) -> list[list[int]]:
    """Return the rows of each independent block of a null space."""
    coupled = np.argwhere(np.abs(basis @ basis.T) > NULL_TOLERANCE)
    graph = nx.Graph((int(i), int(j)) for i, j in coupled)
    return [sorted(block) for block in nx.connected_components(graph)]


@dataclass(frozen=True)
class _Share:
    """The equation s(w) = slopes . w + offset = 0 for the shares in a circuit, and factors p of its terms in the equations."""

    support: tuple[int, ...]
    holds: Any
    slopes: Mapping[int, Any]
    offset: Any
    factors: Mapping[int, Any]
    elements: tuple[str, ...]


def _shares(
    context: TracingContext, held: _Holding, ideal: Ideal, supports: Sequence[tuple[int, ...]], diagonal: np.ndarray
) -> list[_Share] | None:
    """Return the equations for the shares in all circuits; None if one has no reaction."""
    tape = context.tape
    vectors = [_null_vector(context, held.entries, support) for support in supports]
    every = {
        (k, c): tape.scalar(sum((slope * vector[j] for j, slope in reaction.slopes.items() if j in vector), 0.0))
        for k, reaction in enumerate(ideal.reactions)
        for c, vector in enumerate(vectors)
    }
    numbers = context.sampled(every)
    steps = {key: value for key, value in every.items() if np.any(np.abs(numbers[key]) > NULL_TOLERANCE)}
    inverse_sizes, _ = natural_sizes({key: numbers[key] for key in steps}, len(ideal.reactions), len(vectors))
    weights = reaction_weights(ideal.reactions, [1.0 / float(size) for size in inverse_sizes])
    out = []
    for c, (support, vector) in enumerate(zip(supports, vectors, strict=True)):
        members = [k for k in range(len(ideal.reactions)) if (k, c) in steps]
        if not members:
            return None
        slopes: dict[int, Any] = {}
        offset: Any = 0.0
        for k in members:
            reaction, part = ideal.reactions[k], weights[k] * steps[k, c]
            slopes |= {j: slopes.get(j, 0.0) + part * slope for j, slope in reaction.slopes.items()}
            offset = offset + part * reaction.offset
        along = sum((slopes[j] * n for j, n in vector.items() if j in slopes), 0.0)
        conditions = [held.holds[i] for i in support if i in held.holds]
        holds = functools.reduce(operator.and_, conditions) if conditions else None
        elements = tuple(dict.fromkeys(ideal.reactions[k].element for k in members))
        alone = not any(set(support) & set(other) for other in supports if other != support)
        if alone:  # a term in one equation is enough, and leaves the others sparse
            factors = {support[0]: held.entries[support[0], support[0]] * vector[support[0]] / along}
        else:
            size = sum((absolute(held.entries[i, i]) * n * n for i, n in vector.items()), 0.0) / (along * along)
            factors = {j: size * slope * float(np.sign(diagonal[j])) for j, slope in slopes.items()}
        out.append(_Share(support, holds, slopes, offset, factors, elements))
    return out


def _null_vector(context: TracingContext, entries: Entries, support: tuple[int, ...]) -> dict[int, Any]:
    """Return the null vector with this support, the first entry at 1."""
    first, *others = support
    at = {i: k for k, i in enumerate(others)}
    part = {(at[i], at[j]): value for (i, j), value in entries.items() if i in at and j in at}
    right = [-entries[i, first] if (i, first) in entries else 0.0 for i in others]
    numbers = equilibrated(context.sampled(part), len(others), len(others)) if part else {}
    return {first: 1.0} | dict(zip(others, solve(part, right, numbers), strict=True))


def _eliminated(held: _Holding, shares: Sequence[_Share], diagonal: np.ndarray, redundant: bool) -> list[Any]:
    """Return the unknowns by elimination with diagonal pivots; by `solve_semidefinite` where constraints are redundant on the
    manifold of positions alone."""
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
    for share in shares:
        for i, part in share.factors.items():
            right[i] = right[i] - _masked(part, tuple(c for c in (share.holds,) if c is not None)) * share.offset
            for j, other in share.slopes.items():
                add(i, j, part * other, share.holds)
    for i, condition in holds.items():
        entries[i, i] = where(condition, entries[i, i], float(diagonal[i]))
        right[i] = where(condition, right[i], float(diagonal[i]) * released[i])
    if redundant:
        return solve_semidefinite(entries, right, list(diagonal))[0]
    return factorised(rows_of(entries, n))(right)


def _masked(value: Any, conditions: Sequence[Any]) -> Any:
    """Return a value where all conditions hold, else zero."""
    return where(functools.reduce(operator.and_, conditions), value, 0.0) if conditions else value


def _is_zero(value: Any) -> bool:
    return bool(getattr(value, "value", value) == 0.0)


def _fits(context: TracingContext, entries: Entries, right: Sequence[Any], values: Sequence[Any]) -> bool:
    """Return True if the values solve the equations at all samples where these are finite."""
    rows = rows_of(entries, len(right))
    terms = [[a * values[j] for j, a in row.items()] for row in rows]
    residuals = [sum(row, -b) for row, b in zip(terms, right, strict=True)]
    sizes = [sum(map(absolute, row), absolute(b)) for row, b in zip(terms, right, strict=True)]
    table = context.sampled.table([*residuals, *sizes])
    fixed = np.isfinite(context.sampled.table([*entries.values(), *right])).all(axis=1)
    off, size = np.abs(table[fixed, : len(right)]), table[fixed, len(right) :]
    return bool(np.all(off <= RESIDUAL_TOLERANCE * size.max(axis=1, keepdims=True, initial=0.0)))
