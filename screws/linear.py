"""Small linear systems over any scalar: LDL^T of symmetric positive definite matrices, without pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np


def solve_spd(matrix: Any, right: Any) -> np.ndarray:
    """Solve matrix @ x = right for a symmetric positive definite (n, n) matrix by LDL^T; only its lower triangle is read.

    The loops run over indices, never over values, so the formula can be traced; entries that are the number 0 cost nothing
    once the trace folds constants.
    """
    n = np.shape(matrix)[0]
    lower: list[list[Any]] = [[0.0] * n for _ in range(n)]
    diagonal: list[Any] = [0.0] * n
    for j in range(n):
        diagonal[j] = matrix[j][j] - sum(lower[j][k] * lower[j][k] * diagonal[k] for k in range(j))
        for i in range(j + 1, n):
            inner = sum(lower[i][k] * lower[j][k] * diagonal[k] for k in range(j))
            lower[i][j] = (matrix[i][j] - inner) / diagonal[j]
    y: list[Any] = [0.0] * n
    for i in range(n):
        y[i] = right[i] - sum(lower[i][k] * y[k] for k in range(i))
    x: list[Any] = [0.0] * n
    for i in reversed(range(n)):
        x[i] = y[i] / diagonal[i] - sum(lower[k][i] * x[k] for k in range(i + 1, n))
    out = np.array(x, dtype=object)
    return out.astype(float) if all(isinstance(e, (int, float)) for e in x) else out
