"""Least-norm solutions of redundant constraints together with elements that switch: dry friction, stops and locks in a loop.

An active element adds a row to A = J M^-1 J^T, as a constraint does. In each mode, the active equations form a principal
submatrix of A (`holding`), again symmetric and positive semidefinite, with dependent rows. So one elimination with a raised
diagonal suits all modes (`indeterminate`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.tracing.linear.holding import active_equations
from bondgraph.tracing.linear.ideal_reactions import Ideal
from bondgraph.tracing.linear.indeterminate import SYMMETRY_TOLERANCE, RedundantPart, semidefinite_sizes, solve_semidefinite
from bondgraph.tracing.linear.solve import SINGULAR, matrices_of
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries
from screws.scalars import absolute, less, where

LIMITED_WEIGHT = 1e3
"""Weight of a limited reaction (friction) relative to an unlimited one (a constraint)."""

SMALLEST_PART = 1e-2
"""Fraction of the sum of all limits that is added to each limit, so that a limit of zero has a finite weight."""


def solve_redundant_modes(
    context: TracingContext, entries: Entries, right: Sequence[Any], positions: Sequence[int], ideal: Ideal
) -> tuple[list[Any], RedundantPart] | None:
    """Return the least-norm solution in all modes, with the residuals of the rows that constrain a position in every mode.

    Return None unless these rows are redundant at the start and the matrix of the active rows is symmetric and semidefinite. Also
    return None if a row that is always active, but constrains no position, depends on rows without limits: a commanded motion may
    contradict them. Reactions with limits take the remaining load, in proportion to their limits.

    Parameters
    ----------
    positions : equations of constraints on positions.
    """
    n = len(right)
    if not _depend(matrices_of(context.sampled(entries), n)[0], positions):
        return None
    held = active_equations(context, entries, right, ideal.gates)
    if held is None:
        return None
    held = held.multiplied(_symmetric_factors(matrices_of(context.sampled(held.entries), n), positions))
    sizes = semidefinite_sizes(matrices_of(context.sampled(held.coupled), n))
    if sizes is None:
        return None
    always = [i for i in range(n) if i not in held.holds and i in positions]
    limits = {next(iter(r.slopes)): r.limit for r in ideal.reactions if r.limit is not None and len(r.slopes) == 1}
    start = matrices_of(context.sampled(held.entries), n)[0]
    others = [i for i in range(n) if i not in always and i not in limits]
    commanded = any(i not in held.holds for i in others)
    if not _depend(start, always) or (commanded and _rank(start, always + others) < _rank(start, always) + len(others)):
        return None
    natural = [float(size) for size in sizes]
    matrix, b = held.masked(natural)
    weights = _weights(limits, sizes)
    raised = [where(held.holds[i], weights.get(i, 1.0) * s, s) if i in held.holds else s for i, s in enumerate(natural)]
    w, _ = solve_semidefinite(matrix, b, raised)
    return w, _repeating(matrix, b, sizes, always)


def _symmetric_factors(matrices: np.ndarray, positions: Sequence[int]) -> list[float]:
    """Return a factor for each row, 1 in `positions`, that makes matrices (k, n, n) symmetric: the equation of a dependent
    storage, such as the rotor of a motor at a joint, may be divided by its inertia."""
    top, factors = np.abs(matrices).max(axis=0), [1.0] * matrices.shape[1]
    for i in set(range(len(factors))) - set(positions):
        j = max(positions, key=lambda j: top[i, j] * top[j, i])
        if top[i, j] * top[j, i] > 0.0 and abs(top[i, j] - top[j, i]) > SYMMETRY_TOLERANCE * top[j, i]:
            factors[i] = float(top[j, i] / top[i, j])
    return factors


def _repeating(entries: Entries, right: Sequence[Any], sizes: np.ndarray, rows: Sequence[int]) -> RedundantPart:
    at = {i: k for k, i in enumerate(rows)}
    matrix = {(at[i], at[j]): a for (i, j), a in entries.items() if i in at and j in at}
    b = [right[i] for i in rows]
    return RedundantPart(tuple(rows), b, solve_semidefinite(matrix, b, [float(sizes[i]) for i in rows])[1])


def _scaled(matrix: np.ndarray, rows: Sequence[int]) -> np.ndarray | None:
    block = matrix[np.ix_(rows, rows)]
    sizes = np.abs(np.diagonal(block))
    if not len(sizes) or not np.all(sizes > 0.0) or not np.all(np.isfinite(block)):
        return None
    return np.asarray(block / np.sqrt(np.outer(sizes, sizes)))


def _rank(matrix: np.ndarray, rows: Sequence[int]) -> int:
    scaled = _scaled(matrix, rows)
    return 0 if scaled is None else int(np.linalg.matrix_rank(scaled, tol=SINGULAR * np.linalg.norm(scaled, 2)))


def _depend(matrix: np.ndarray, rows: Sequence[int]) -> bool:
    return 0 < _rank(matrix, rows) < len(rows)


def _weights(limits: Mapping[int, Any], sizes: np.ndarray) -> dict[int, Any]:
    """Return the weights of unknowns with limits, each from the ratio of its limit to the sum of all limits, in natural sizes."""
    scaled = {j: absolute(limit) * math.sqrt(abs(float(sizes[j]))) for j, limit in limits.items()}
    total: Any = sum(scaled.values(), 0.0)
    parts = {j: where(less(0.0, total), limit / where(less(0.0, total), total, 1.0), 1.0) for j, limit in scaled.items()}
    return {j: LIMITED_WEIGHT / (part + SMALLEST_PART) for j, part in parts.items()}
