"""Natural sizes, independent of units: equilibration of the rows and columns of a matrix, and magnitudes of the terms of a value.

Factors bring the entries of a matrix close to one; the rounding error of a value is measured against its terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from screws.scalars import absolute, where

NEGLIGIBLE = 1e-13
"""Entries below this part of the product of their row and column sizes are rounding and are ignored."""

_ROUNDS = 3

MAX_DENSE_ENTRIES = 2**18
"""Most entries of the matrix of a least-squares problem that is solved as a dense one."""


def natural_sizes(samples: Mapping[tuple[int, int], np.ndarray], rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return factors r (rows,) and c (columns,) such that r_i |a_ij| c_j is close to one, in the mean of the logarithms.

    A change of unit of an equation or of an unknown changes its factor inversely and nothing else; order does not matter.

    Parameters
    ----------
    samples : values (k,) of the entries at k states; zeros are ignored.

    Source: Curtis and Reid 1972, On the automatic scaling of matrices for Gaussian elimination.
    """
    logs = {key: value for key, value in zip(samples, _mean_logs(samples), strict=True) if np.isfinite(value)}
    factors: np.ndarray = np.zeros(rows + columns)
    for _ in range(_ROUNDS):
        if not logs:
            break
        pairs = np.array([(i, rows + j) for i, j in logs])
        factors = _least_squares(pairs, -np.array(list(logs.values())), rows + columns)
        kept = {(i, j): v for (i, j), v in logs.items() if v + factors[i] + factors[rows + j] > np.log(NEGLIGIBLE)}
        if len(kept) == len(logs):
            break
        logs = kept
    return np.exp(factors[:rows]), np.exp(factors[rows:])


def _least_squares(pairs: np.ndarray, right: np.ndarray, count: int) -> np.ndarray:
    """Return the least-norm least-squares solution f (count,) of f[i] + f[j] = right for `pairs` (k, 2) of i and j.

    Large systems are solved by conjugate gradients, whose work is proportional to the number of pairs.
    """
    if count * len(right) <= MAX_DENSE_ENTRIES:
        table = np.zeros((len(right), count))
        table[np.arange(len(right)), pairs[:, 0]] = table[np.arange(len(right)), pairs[:, 1]] = 1.0
        return np.asarray(np.linalg.lstsq(table, right, rcond=None)[0])

    def gathered(values: np.ndarray) -> np.ndarray:
        return np.bincount(pairs[:, 0], values, count) + np.bincount(pairs[:, 1], values, count)

    f, residual = np.zeros(count), gathered(right)
    direction, size = residual.copy(), float(residual @ residual)
    tolerance = 1e-20 * size
    for _ in range(count):
        if size <= tolerance:
            break
        image = gathered(direction[pairs].sum(axis=1))
        step = size / float(direction @ image)
        f, residual = f + step * direction, residual - step * image
        size, before = float(residual @ residual), size
        direction = residual + size / before * direction
    return f


def equilibrated(samples: Mapping[tuple[int, int], np.ndarray], rows: int, columns: int) -> dict[tuple[int, int], np.ndarray]:
    """Scale samples of a matrix by the factors of their rows and columns."""
    r, c = natural_sizes(samples, rows, columns)
    return {(i, j): np.asarray(values) * (r[i] * c[j]) for (i, j), values in samples.items()}


def matrices_of(samples: Mapping[tuple[int, int], np.ndarray], n: int) -> np.ndarray:
    """Return samples of a sparse matrix as full matrices (k, n, n)."""
    matrices = np.zeros((len(next(iter(samples.values()))), n, n))
    for (i, j), values in samples.items():
        matrices[:, i, j] = values
    return matrices


def _mean_logs(samples: Mapping[tuple[int, int], np.ndarray]) -> list[float]:
    """Return the mean logarithm of each entry over the samples at which it is finite and not zero; -inf without such samples."""
    if not samples:
        return []
    sizes = np.abs(np.array([np.asarray(values, dtype=float) for values in samples.values()]))
    counts = np.isfinite(sizes) & (sizes > 0.0)
    totals = np.log(np.where(counts, sizes, 1.0)).sum(axis=1)
    number = counts.sum(axis=1)
    return np.where(number > 0, totals / np.maximum(number, 1), -np.inf).tolist()  # type: ignore[no-any-return]


def magnitudes(tape: Tape, values: Sequence[Any]) -> list[TapeScalar]:
    """Return each value with all its terms taken as positive, so that none cancel.

    |a| + |b| for a + b and a - b, |a| |b| for a b; of everything else its absolute value. A sum that is zero but for rounding is
    some 1e-16 of this, whatever the units.
    """
    roots = [tape.scalar(value).index for value in values]
    sizes: dict[int, TapeScalar] = {}
    for position in reachable(tape, roots):
        node, scalar = tape.nodes[position], TapeScalar(tape, position)
        kind = node[0]
        if kind in (op.ADD, op.SUBTRACT):
            sizes[position] = sizes[node[1]] + sizes[node[2]]
        elif kind == op.MULTIPLY:
            sizes[position] = sizes[node[1]] * sizes[node[2]]
        elif kind == op.DIVIDE:
            sizes[position] = sizes[node[1]] / absolute(TapeScalar(tape, node[2]))
        elif kind == op.NEGATIVE:
            sizes[position] = sizes[node[1]]
        elif kind == op.WHERE:
            sizes[position] = where(TapeScalar(tape, node[1]), sizes[node[2]], sizes[node[3]])
        elif kind in op.CONDITIONS:
            sizes[position] = scalar
        else:
            sizes[position] = tape.scalar(absolute(scalar))
    return [sizes[root] for root in roots]
