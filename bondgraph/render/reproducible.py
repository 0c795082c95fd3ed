"""Arithmetic whose every bit is fixed: sums, products, quotients and square roots, which IEEE 754 rounds in one way only.

A layout compares numbers that symmetry makes equal. What a BLAS, a vendor's sine or a contracted multiply-add rounds
differently on another processor would decide such comparisons, and draw another picture there. So the layout takes its
lengths, products, inverses and random numbers from here.
"""

from __future__ import annotations

import decimal
import random

import numpy as np


def length(vectors: np.ndarray) -> np.ndarray:
    """Euclidean lengths (...) of plane vectors (..., 2)."""
    return np.sqrt(vectors[..., 0] * vectors[..., 0] + vectors[..., 1] * vectors[..., 1])


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scalar products (...) of plane vectors (..., 2)."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1]


def product(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Matrix (n, k) times columns (k, m), summed in order."""
    return np.stack([(matrix * column).sum(axis=1) for column in columns.T], axis=1)


def inverse(matrix: np.ndarray) -> np.ndarray:
    """Inverse (n, n) of a symmetric positive definite matrix, which needs no pivots: Gauss and Jordan in place."""
    found = np.array(matrix, dtype=float)
    for k in range(len(found)):
        row, column, pivot = found[k].copy(), found[:, k].copy(), found[k, k]
        found -= column[:, None] * (row / pivot)
        found[k], found[:, k] = row / pivot, -column / pivot
        found[k, k] = 1.0 / pivot
    return found


def geometric(first: float, last: float, count: int) -> list[float]:
    """`count` numbers from first to last in equal ratios; decimal logarithms are the same everywhere."""
    with decimal.localcontext(decimal.Context(prec=25)):
        ratio = (decimal.Decimal(last) / decimal.Decimal(first)).ln() / max(count - 1, 1)
        return [float(decimal.Decimal(first) * (k * ratio).exp()) for k in range(count)]


class Noise:
    """Random numbers that Python promises to repeat for a seed, on every machine and in every version."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def order(self, count: int) -> list[int]:
        """The numbers 0 to count - 1, shuffled."""
        keys = [self._random.random() for _ in range(count)]
        return sorted(range(count), key=keys.__getitem__)

    def spread(self, count: int) -> np.ndarray:
        """Numbers (count,) of mean 0 and standard deviation 1.28, that of a Gumbel distribution: sums of five uniform ones."""
        uniform = self._random.random
        draws = np.array([uniform() for _ in range(5 * count)]).reshape(5, count)
        return 2.0 * (draws.sum(axis=0) - 2.5)
