"""Vectors of three scalars and their products, and small linear systems by LDL^T without pivoting, over any scalar.

Vectors are triples, which avoid the overhead of small arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from screws.scalars import Scalar, array, sqrt


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


Triple = tuple[Scalar, Scalar, Scalar]


def dot(a: Sequence[Scalar] | np.ndarray, b: Sequence[Scalar] | np.ndarray) -> Scalar:
    """Return the scalar product of two vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def length(a: Sequence[Scalar] | np.ndarray) -> Scalar:
    """Return the length of a vector (3,)."""
    return sqrt(dot(a, a))


def cross(a: Any, b: Any) -> Any:
    """Return the vector product of two vectors (3,): an array where one of them is an array, else a triple."""
    product = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return array(product) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else product


def scaled(a: Triple, factor: Scalar) -> Triple:
    """Triple times a scalar."""
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def times(a: Triple, b: Triple) -> Triple:
    """Return the componentwise product of two triples."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])
