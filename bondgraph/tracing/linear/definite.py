"""Symmetric, positive semidefinite systems A w = b on a tape that have solutions all the same: that of least norm, to rounding.

Constraints that repeat each other have such a matrix, A = J M^-1 J^T with dependent rows of J. Where elimination would divide
by what is left of a pivot, each pivot is raised by a small part of its diagonal, and the error is removed by repetition:

    w_0 = 0,   w_{k+1} = w_k + (A + eps D)^-1 (b - A w_k),   D = diag A.

What A acts on converges by eps / (eps + s) a step, s the eigenvalue of D^-1 A; what it does not stays out, so that the limit is
the solution of least w^T D w. Any order of pivots is stable, no choice depends on values, and units cancel. D are natural sizes,
which do not vanish where a row of A does.

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

RAISED = 1e-9
"""Part of itself by which each diagonal entry is raised."""

REPEATS = 3
"""Corrections after the first solution."""

SYMMETRIC = 1e-6
"""Part of its entries up to which a matrix, each row with a sign of its own, may differ from a symmetric and semidefinite one."""


@dataclass(frozen=True)
class Repeating:
    """A part of a system whose equations repeat each other: these, their right sides, and what the solution leaves of them."""

    rows: tuple[int, ...]
    right: Sequence[Any]
    left: Sequence[Any]


def solve_repeating(
    entries: Entries, right: Sequence[Any], numbers: Mapping[tuple[int, int], np.ndarray]
) -> tuple[list[Any], list[Any]] | None:
    """Solution of least norm and what it leaves; None for a matrix that is not that of constraints on positions."""
    matrices = matrices_of(numbers, len(right))
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    if not np.all(diagonal[0]) or np.any(np.sign(diagonal) * np.sign(diagonal[0]) < 0.0):
        return None
    sizes = np.abs(diagonal).max(axis=0)
    scale = 1.0 / np.sqrt(sizes)
    scaled = np.sign(diagonal[0])[:, None] * scale[:, None] * matrices * scale
    scaled = scaled[np.isfinite(scaled).all(axis=(1, 2))]  # what is no number at the start is told by the pass that evaluates it
    skew = np.abs(scaled - scaled.transpose(0, 2, 1)).max(initial=0.0)
    if skew > SYMMETRIC or np.linalg.eigvalsh(scaled).min(initial=0.0) < -SYMMETRIC:
        return None
    return solve_semidefinite(entries, right, list(np.sign(diagonal[0]) * sizes))


def solve_semidefinite(
    matrix: Mapping[tuple[int, int], Any], right: Sequence[Any], sizes: Sequence[float]
) -> tuple[list[Any], list[Any]]:
    """Solution w (n,) of least norm, and what it leaves of b, (n,), as scalars of the tape.

    Parameters
    ----------
    matrix : (equation, unknown) -> scalar; each equation may have a sign of its own that keeps A from being symmetric.
    right : b, one scalar for each equation.
    sizes : natural sizes of the diagonal, with its signs.
    """
    n = len(right)
    rows = rows_of(matrix, n)
    raised = [row | {i: row[i] + RAISED * size} for i, (row, size) in enumerate(zip(rows, sizes, strict=True))]
    solved = factorised(raised)
    w: list[Any] = [0.0] * n
    left = list(right)
    for _ in range(1 + REPEATS):
        w = [a + b for a, b in zip(w, solved(left), strict=True)]
        left = [b - sum((a * w[j] for j, a in row.items()), 0.0) for b, row in zip(right, rows, strict=True)]
    return w, left


def factorised(rows: list[dict[int, Any]]) -> Callable[[Sequence[Any]], list[Any]]:
    """Right side -> solution, for a definite matrix: its rows are eliminated in place, with diagonal pivots by least fill."""
    left, order, below = set(range(len(rows))), list[int](), list[tuple[int, int, Any]]()
    while left:
        i = min(left, key=lambda k: (sum(j in left for j in rows[k]), k))
        left.discard(i)
        order.append(i)
        for k in sorted(left):
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
            rest = b[i]
            for j, value in rows[i].items():
                if j != i:
                    rest = rest - value * w[j]
            w[i] = rest / rows[i][i]
        return w

    return solved
