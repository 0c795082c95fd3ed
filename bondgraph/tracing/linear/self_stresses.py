"""Reactions of least norm in symmetric parts with too many circuits to list: rows and trees of masses with much dry friction.

Let A be symmetric and positive semidefinite, and b orthogonal to its null vectors (states of self-stress). Then the equations of
any set of active elements, a principal submatrix, have solutions. With Q = sum_k W_k r_k r_k^T of the reactions r_k . w + o_k and
q = -sum_k W_k o_k r_k, the solution of least norm is the limit of

    R = (A + eps Q)^-1,   w_0 = (1 - eps R Q) R b + eps R q,   w_{k+1} = w_k + (1 - eps R Q) R (b - A w_k).

R (b - A w) alone (Riley 1955) would magnify the part of the rounding errors along the null vectors by 1 / eps; the factor 1 -
eps R Q removes it. The other parts converge by the factor 2 eps / s per step, where s is an eigenvalue of A relative to Q.

Source: Riley 1955, Solving systems of linear equations with a positive definite, symmetric, but possibly ill-conditioned matrix;
Pellegrino and Calladine 1986 (states of self-stress).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.tracing.linear.circuits import Circuit, independent_rows
from bondgraph.tracing.linear.holding import ActiveEquations
from bondgraph.tracing.linear.ideal_reactions import Ideal, IdealReaction, RowGate
from bondgraph.tracing.linear.indeterminate import factorised, is_zero, reaction_weights, residuals
from bondgraph.tracing.linear.solve import SingularSystem, equilibrated, matrices_of, natural_sizes, rows_of, solve
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries

NORM_PART = 1e-7
"""Mean increase of the diagonal by eps Q, as a fraction of the diagonal; it determines eps."""

SHARE_REFINEMENTS = 5
"""Number of corrections after the first solution; with three, the runs of some random trees of 40 masses ended early."""


@dataclass(frozen=True)
class SelfStresses:
    """Basis (n, k) of the null space while all elements are active, and the elements and gates of its rows, if any."""

    basis: np.ndarray
    elements: Mapping[int, str]
    gates: Mapping[int, RowGate]


def least_norm_without_circuits(
    context: TracingContext, held: ActiveEquations, ideal: Ideal, circuits: Sequence[Circuit], scale: np.ndarray
) -> tuple[list[Any], SelfStresses] | None:
    """Return the solution of least norm in all modes and its self-stresses.

    Return None if the right-hand sides contradict each other, or if a null vector is not found or changes no reaction.

    Parameters
    ----------
    circuits : a basis of the null space.
    scale : natural sizes of the unknowns (n,), which bring the diagonal close to one.
    """
    n = len(held.right)
    try:
        vectors = [null_vector(context, held.entries, circuit, n) for circuit in circuits]
    except SingularSystem:
        return None
    demands = [sum((value * held.right[i] for i, value in vector.items()), 0.0) for vector in vectors]
    if not all(is_zero(context, demands)):
        return None
    steps, weights = reaction_steps(context, ideal.reactions, vectors)
    table = np.zeros((len(weights), len(vectors)))
    for (k, c), values in context.sampled(steps).items():
        table[k, c] = values[0]
    if np.linalg.matrix_rank(table) < len(vectors):
        return None
    members = sorted({k for k, _ in steps})
    reactions = [ideal.reactions[k] for k in members]
    shared = _least_norm(context, held, reactions, [weights[k] for k in members], scale)
    at = {(i, c): value for c, vector in enumerate(vectors) for i, value in vector.items()}
    basis = np.zeros((n, len(vectors)))
    for (i, c), number in zip(at, context.sampled.table(list(at.values()))[0], strict=True):
        basis[i, c] = number
    elements = {j: reaction.element for reaction in reactions for j in reaction.slopes}
    return shared, SelfStresses(basis, elements, ideal.gates)


def null_vector(context: TracingContext, entries: Entries, circuit: Circuit, n: int) -> dict[int, Any]:
    first, *others = circuit.rows
    at = {j: k for k, j in enumerate(others)}
    numbers = matrices_of(context.sampled(entries), n)[0] if others else np.zeros((n, n))
    numbers[list(circuit.released)] = 0.0
    kept = independent_rows(numbers[:, others])
    part = {(k, at[j]): entries[i, j] for k, i in enumerate(kept) for j in others if (i, j) in entries}
    right = [-entries[i, first] if (i, first) in entries else 0.0 for i in kept]
    sampled = equilibrated(context.sampled(part), len(others), len(others)) if part else {}
    return {first: 1.0} | dict(zip(others, solve(part, right, sampled), strict=True))


def reaction_steps(
    context: TracingContext, reactions: Sequence[IdealReaction], vectors: Sequence[Mapping[int, Any]]
) -> tuple[dict[tuple[int, int], Any], list[Any]]:
    """Return the slopes of reactions along null vectors, by (reaction, vector), and weights of the reactions from their natural
    sizes."""
    every = {
        (k, c): context.tape.scalar(sum((slope * vector[j] for j, slope in reaction.slopes.items() if j in vector), 0.0))
        for k, reaction in enumerate(reactions)
        for c, vector in enumerate(vectors)
    }
    zeros = is_zero(context, list(every.values()))
    steps = {key: value for (key, value), zero in zip(every.items(), zeros, strict=True) if not zero}
    inverse_sizes, _ = natural_sizes(context.sampled(steps), len(reactions), len(vectors))
    return steps, reaction_weights(reactions, [1.0 / float(size) for size in inverse_sizes])


def _least_norm(
    context: TracingContext, held: ActiveEquations, reactions: Sequence[IdealReaction], weights: Sequence[Any], scale: np.ndarray
) -> list[Any]:
    n = len(held.right)
    norm: dict[tuple[int, int], Any] = {}
    offsets: list[Any] = [0.0] * n
    for reaction, weight in zip(reactions, weights, strict=True):
        for i, a in reaction.slopes.items():
            offsets[i] = offsets[i] - weight * a * reaction.offset
            for j, b in reaction.slopes.items():
                norm[i, j] = norm.get((i, j), 0.0) + weight * a * b
    diagonal = [norm.get((i, i), 0.0) * float(scale[i] ** 2) for i in range(n)]
    sizes = context.sampled.table(diagonal).mean(axis=0)
    part = NORM_PART / float(sizes[sizes > 0.0].mean())
    raised = replace(held, entries={key: part * value for key, value in norm.items()}, right=[part * q for q in offsets])
    matrix, b = held.masked([float(s**-2) for s in scale])
    return _refined(matrix, b, *raised.masked([0.0] * n))


def _refined(matrix: Entries, right: Sequence[Any], norm: Entries, offsets: Sequence[Any]) -> list[Any]:
    """Return the solution w of A w = b with the least w^T Q w / 2 - q w; `norm` and `offsets` are eps Q and eps q."""
    rows, n = rows_of(matrix, len(right)), len(right)
    solved = factorised(rows_of({key: matrix.get(key, 0.0) + norm.get(key, 0.0) for key in {**matrix, **norm}}, n))
    w: list[Any] = [0.0] * n
    for _ in range(SHARE_REFINEMENTS + 1):
        step = solved(residuals(rows, right, w))
        excess = solved(residuals(rows_of(norm, n), offsets, step))
        w = [a + b + c for a, b, c in zip(w, step, excess, strict=True)]
        offsets = [0.0] * n
    return w
