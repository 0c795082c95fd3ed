"""Natural sizes, whatever the units are: of the rows and columns of a matrix, and of the terms that a value is made of.

Factors bring the entries of a matrix close to one; the rounding of a value is to be measured against its terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar
from screws.scalars import absolute, where

NOTHING = 1e-13
"""Entries below this part of what their row and column promise are rounding and have no say."""

_ROUNDS = 3

DENSE = 2**18
"""Entries of the table of a least-squares problem up to which it is solved as it stands."""


def natural_sizes(samples: Mapping[tuple[int, int], np.ndarray], rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors r (rows,) and c (columns,) such that r_i |a_ij| c_j is close to one, in the mean of the logarithms.

    A change of unit of an equation or of an unknown changes its factor inversely and nothing else; order does not matter.

    Parameters
    ----------
    samples : values (k,) of the entries at k states; entries that are zero have no say.

    Source: Curtis and Reid 1972, On the automatic scaling of matrices for Gaussian elimination.
    """
    logs = {key: value for key, value in zip(samples, _mean_logs(samples), strict=True) if np.isfinite(value)}
    factors: np.ndarray = np.zeros(rows + columns)
    for _ in range(_ROUNDS):
        if not logs:
            break
        places = np.array([(i, rows + j) for i, j in logs])
        factors = _least_squares(places, -np.array(list(logs.values())), rows + columns)
        kept = {(i, j): v for (i, j), v in logs.items() if v + factors[i] + factors[rows + j] > np.log(NOTHING)}
        if len(kept) == len(logs):
            break
        logs = kept
    return np.exp(factors[:rows]), np.exp(factors[rows:])


def _least_squares(places: np.ndarray, right: np.ndarray, count: int) -> np.ndarray:
    """Of all f (count,) for which f at `places` (k, 2) add up to `right` (k,) best the one of least norm; of large systems by
    conjugate gradients, whose work follows the count of places."""
    if count * len(right) <= DENSE:
        table = np.zeros((len(right), count))
        table[np.arange(len(right)), places[:, 0]] = table[np.arange(len(right)), places[:, 1]] = 1.0
        return np.asarray(np.linalg.lstsq(table, right, rcond=None)[0])

    def gathered(values: np.ndarray) -> np.ndarray:
        return np.bincount(places[:, 0], values, count) + np.bincount(places[:, 1], values, count)

    f, left = np.zeros(count), gathered(right)
    direction, size = left.copy(), float(left @ left)
    enough = 1e-20 * size
    for _ in range(count):
        if size <= enough:
            break
        image = gathered(direction[places].sum(axis=1))
        step = size / float(direction @ image)
        f, left = f + step * direction, left - step * image
        size, before = float(left @ left), size
        direction = left + size / before * direction
    return f


def equilibrated(samples: Mapping[tuple[int, int], np.ndarray], rows: int, columns: int) -> dict[tuple[int, int], np.ndarray]:
    """The same values times the factors of their rows and columns."""
    r, c = natural_sizes(samples, rows, columns)
    return {(i, j): np.asarray(values) * (r[i] * c[j]) for (i, j), values in samples.items()}


def matrices_of(samples: Mapping[tuple[int, int], np.ndarray], n: int) -> np.ndarray:
    """The same values as full matrices (k, n, n)."""
    matrices = np.zeros((len(next(iter(samples.values()))), n, n))
    for (i, j), values in samples.items():
        matrices[:, i, j] = values
    return matrices


def _mean_logs(samples: Mapping[tuple[int, int], np.ndarray]) -> list[float]:
    """Of each entry, over the samples at which it is a number and not zero; -inf where there are none."""
    if not samples:
        return []
    sizes = np.abs(np.array([np.asarray(values, dtype=float) for values in samples.values()]))
    counts = np.isfinite(sizes) & (sizes > 0.0)
    totals = np.log(np.where(counts, sizes, 1.0)).sum(axis=1)
    number = counts.sum(axis=1)
    return np.where(number > 0, totals / np.maximum(number, 1), -np.inf).tolist()  # type: ignore[no-any-return]


def magnitudes(tape: Tape, values: Sequence[Any]) -> list[TapeScalar]:
    """For each value: itself with all its terms taken as positive, so that nothing cancels.

    |a| + |b| for a + b and a - b, |a| |b| for a b; of everything else its absolute value. Where a sum vanishes but for
    rounding, it is some 1e-16 of this, whatever the units.
    """
    roots = [tape.scalar(value).index for value in values]
    found: dict[int, TapeScalar] = {}
    for position in reachable(tape, roots):
        node, scalar = tape.nodes[position], TapeScalar(tape, position)
        kind = node[0]
        if kind in (op.ADD, op.SUBTRACT):
            found[position] = found[node[1]] + found[node[2]]
        elif kind == op.MULTIPLY:
            found[position] = found[node[1]] * found[node[2]]
        elif kind == op.DIVIDE:
            found[position] = found[node[1]] / absolute(TapeScalar(tape, node[2]))
        elif kind == op.NEGATIVE:
            found[position] = found[node[1]]
        elif kind == op.WHERE:
            found[position] = where(TapeScalar(tape, node[1]), found[node[2]], found[node[3]])
        elif kind in op.CONDITIONS:
            found[position] = scalar
        else:
            found[position] = tape.scalar(absolute(scalar))
    return [found[root] for root in roots]
