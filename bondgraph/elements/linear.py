"""Linear laws: a scalar, a diagonal or a matrix, or its inverse, with the quadratic energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from bondgraph.model.ops import Op
from screws.linear import solve_spd


def _solve(matrix: Any, right: Any) -> Any:
    """Return matrix^-1 right for a scalar, a diagonal (n,) or a symmetric positive definite (n, n) matrix."""
    return solve_spd(matrix, right) if np.ndim(matrix) == 2 else right / matrix


def _times(matrix: Any, vector: Any) -> Any:
    return matrix @ vector if np.ndim(matrix) == 2 else matrix * vector


def _half_dot(a: Any, b: Any) -> Any:
    return a * b / 2 if np.ndim(a) == 0 else (a @ b) / 2


BY_INVERSE = (
    Op("divide", lambda x, m: _solve(m, x), "#2^{-1}\\,#1"),
    Op("energy", lambda x, m: _half_dot(x, _solve(m, x)), "\\tfrac12 #1^T #2^{-1} #1"),
)


BY_PRODUCT = (
    Op("multiply", lambda x, k: _times(k, x), "#2\\,#1"),
    Op("energy", lambda x, k: _half_dot(x, _times(k, x)), "\\tfrac12 #1^T #2\\,#1"),
)
