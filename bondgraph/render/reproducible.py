"""Reproducible arithmetic: sums, products, quotients and square roots, which IEEE 754 rounds uniquely.

A layout compares numbers that are equal by symmetry. BLAS, a vendor's sine or a fused multiply-add may round differently on
another processor, decide such comparisons and change the picture. The layout therefore uses the lengths, products, inverses and
random numbers of this module.
"""

from __future__ import annotations

import decimal

import numpy as np
from numpy.random import RandomState


def length(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt(vectors[..., 0] * vectors[..., 0] + vectors[..., 1] * vectors[..., 1])


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1]


def product(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return matrix (n, k) times columns (k, m), without BLAS."""
    return np.stack([(matrix * column).sum(axis=1) for column in columns.T], axis=1)


def inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse (n, n) of a symmetric positive definite matrix, by Gauss-Jordan elimination without pivoting."""
    result = np.array(matrix, dtype=float)
    for k in range(len(result)):
        row, column, pivot = result[k].copy(), result[:, k].copy(), result[k, k]
        result -= column[:, None] * (row / pivot)
        result[k], result[:, k] = row / pivot, -column / pivot
        result[k, k] = 1.0 / pivot
    return result


def geometric(first: float, last: float, count: int) -> list[float]:
    """Return `count` numbers from first to last in geometric progression, computed by the module `decimal`, whose results are
    identical on every platform."""
    with decimal.localcontext(decimal.Context(prec=25)):
        ratio = (decimal.Decimal(last) / decimal.Decimal(first)).ln() / max(count - 1, 1)
        return [float(decimal.Decimal(first) * (k * ratio).exp()) for k in range(count)]


class Noise:
    """Random numbers of a seed, identical on every machine and in every version of Python and NumPy."""

    def __init__(self, seed: int):
        self._random = RandomState([seed])  # the same numbers as `random.Random(seed)` gives
        self._ahead = np.zeros(0)

    def ahead(self, count: int) -> np.ndarray:
        """Return at least this many of the next uniform numbers from 0 to 1, without consuming them."""
        if len(self._ahead) < count:
            self._ahead = np.concatenate([self._ahead, self._random.random_sample(count + 4096)])
        return self._ahead

    def skip(self, count: int) -> None:
        self._ahead = self._ahead[count:]

    def _uniform(self, count: int) -> np.ndarray:
        numbers = self.ahead(count)[:count]
        self.skip(count)
        return numbers

    def order(self, count: int) -> list[int]:
        shuffled: list[int] = np.argsort(self._uniform(count), kind="stable").tolist()
        return shuffled

    def spread(self, count: int) -> np.ndarray:
        """Return numbers (count,) with mean 0 and approximately the standard deviation of a Gumbel distribution, 1.28, as sums
        of five uniform numbers."""
        return np.asarray(2.0 * (self._uniform(5 * count).reshape(5, count).sum(axis=0) - 2.5))
