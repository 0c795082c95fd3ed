"""Least-norm solutions of symmetric, positive semidefinite systems A w = b on a tape, to rounding.

Redundant constraints have such a matrix, A = J M^-1 J^T with dependent rows of J. Elimination would divide by the rounding error
of a pivot; instead each pivot is raised by a small part of its diagonal, and iterative refinement removes the error:

    w_0 = 0,   w_{k+1} = w_k + (A + eps D)^-1 (b - A w_k),   D = diag A.

Components in the range of A converge by eps / (eps + s) a step, s the eigenvalue of D^-1 A; those in its null space stay zero, so
that the limit is the solution of least w^T D w. Any order of pivots is stable, no choice depends on values, and units cancel. D
are natural sizes, which do not vanish where a row of A does.

Source: Riley 1955; Bayo and Ledesma 1996 (constraints of multibody systems in singular positions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.tracing.linear.sizes import matrices_of
from bondgraph.tracing.linear.solve import rows_of
from bondgraph.tracing.on_tape.values import Entries

REGULARISATION = 1e-9
"""Part of itself by which each diagonal entry is raised (eps)."""

REFINEMENTS = 3
"""Corrections after the first solution."""

SYMMETRY_TOLERANCE = 1e-6
"""Largest difference of a matrix, each row with a sign of its own, from a symmetric and semidefinite one, as a part of its
entries."""


@dataclass(frozen=True)
class RedundantPart:
    """A part of a system with redundant equations: its rows, their right sides, and the residuals of the solution."""

    rows: tuple[int, ...]
    right: Sequence[Any]
    residuals: Sequence[Any]


def solve_redundant(
    entries: Entries, right: Sequence[Any], numbers: Mapping[tuple[int, int], np.ndarray]
) -> tuple[list[Any], list[Any]] | None:
    """Return the least-norm solution and its residuals; None for a matrix that is not that of constraints on positions."""
    matrices = matrices_of(numbers, len(right))
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    if not np.all(diagonal[0]) or np.any(np.sign(diagonal) * np.sign(diagonal[0]) < 0.0):
        return None
    sizes = np.abs(diagonal).max(axis=0)
    scale = 1.0 / np.sqrt(sizes)
    scaled = np.sign(diagonal[0])[:, None] * scale[:, None] * matrices * scale
    scaled = scaled[np.isfinite(scaled).all(axis=(1, 2))]  # another pass reports values that are not finite at the start
    skew = np.abs(scaled - scaled.transpose(0, 2, 1)).max(initial=0.0)
    if skew > SYMMETRY_TOLERANCE or np.linalg.eigvalsh(scaled).min(initial=0.0) < -SYMMETRY_TOLERANCE:
        return None
    return solve_semidefinite(entries, right, list(np.sign(diagonal[0]) * sizes))


def solve_semidefinite(
    matrix: Mapping[tuple[int, int], Any], right: Sequence[Any], sizes: Sequence[float]
) -> tuple[list[Any], list[Any]]:
    """Return the least-norm solution w (n,) and its residuals b - A w (n,), as scalars of the tape.

    Parameters
    ----------
    matrix : (equation, unknown) -> scalar; symmetric up to a sign of each equation.
    right : b, one scalar for each equation.
    sizes : natural sizes of the diagonal, with its signs.
    """
    n = len(right)
    rows = rows_of(matrix, n)
    raised = [row | {i: row[i] + REGULARISATION * size} for i, (row, size) in enumerate(zip(rows, sizes, strict=True))]
    solved = factorised(raised)
    w: list[Any] = [0.0] * n
    residuals = list(right)
    for _ in range(1 + REFINEMENTS):
        w = [a + b for a, b in zip(w, solved(residuals), strict=True)]
        residuals = [b - sum((a * w[j] for j, a in row.items()), 0.0) for b, row in zip(right, rows, strict=True)]
    return w, residuals


def factorised(rows: list[dict[int, Any]]) -> Callable[[Sequence[Any]], list[Any]]:
    """Factorise a definite matrix and return its solver; rows are eliminated in place, with diagonal pivots of least fill."""
    remaining, order, below = set(range(len(rows))), list[int](), list[tuple[int, int, Any]]()
    while remaining:
        i = min(remaining, key=lambda k: (sum(j in remaining for j in rows[k]), k))
        remaining.discard(i)
        order.append(i)
        for k in sorted(remaining):
            if i not in rows[k]:
                continue
            factor = rows[k].pop(i) / rows[i][i]
            below.append((k, i, factor))
            for j, value in rows[i].items():
                if j != i:
                    rows[k][j] = rows[k].get(j, 0.0) - factor * value

    def solved(right: Sequence[Any]) -> list[Any]:
        b, w = list(right), [0.0] * len(right)
        for k, i, factor in below:
            b[k] = b[k] - factor * b[i]
        for i in reversed(order):
            total = b[i]
            for j, value in rows[i].items():
                if j != i:
                    total = total - value * w[j]
            w[i] = total / rows[i][i]
        return w

    return solved
