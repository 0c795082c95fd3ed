"""Rates and bond variables that the equations of a graph allow at a point, including hidden equations.

Dependent storages and constraints determine rates only once they are differentiated: the equations are stacked with
their own time derivatives and solved together by singular value decomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from campaigns.graphs.point import Point

NEGLIGIBLE = 1e-11
"""Fraction of the largest singular value below which a singular value counts as zero: rows are scaled to unit size, and random
numbers are of order one."""
FREQUENCIES = (0.7 + 1.1j, -1.3 + 0.4j)
"""Values of s at which the pencil s N + G is examined, 1/s."""


@dataclass(frozen=True)
class Allowed:
    """Solution of the relations at a point: all of y, the rates of its states, which of these are determined, the largest
    residual of the rows, and the condition number of the solved part."""

    y: np.ndarray
    rates: np.ndarray
    """Zero for entries of y that are not states."""
    determined: np.ndarray
    rates_determined: np.ndarray
    misfit: float
    condition: float


def allowed(point: Point, most: int) -> Allowed:
    """Solve all rows and as many of their time derivatives as needed, up to `most`, with the given states.

    Beyond the first derivative, slopes are treated as constant, as they are in linear graphs.
    """
    states = split(point)[1]
    for levels in range(most + 1):
        found = _with_derivatives(point, levels)
        if found.rates_determined[states].all():
            break
    return found


def _with_derivatives(point: Point, levels: int) -> Allowed:
    z, x = split(point)
    solution, free, misfit, condition = least_squares(*stacked(point, levels, -point.g[:, None]))
    y, rates = point.y.copy(), np.zeros(len(point.y))
    determined, rates_determined = np.ones(len(y), dtype=bool), np.ones(len(y), dtype=bool)
    loose = np.abs(free).max(axis=1, initial=0.0) > 1e-6
    a, b = len(z), len(z) + len(x)
    y[z] += solution[:a, 0]
    rates[x] = solution[a:b, 0]
    determined[z], rates_determined[x] = ~loose[:a], ~loose[a:b]
    return Allowed(y, rates, determined, rates_determined, misfit, condition)


def motion(linear: Point, most: int = 2) -> tuple[np.ndarray, np.ndarray] | None:
    """Return P and c of x' = P x + c for consistent states of a linear graph, at the point where all variables are zero."""
    z, x = split(linear)
    right = np.hstack([-linear.G[:, x], -linear.g[:, None]])
    for levels in range(most + 1):
        solution, free, _, _ = least_squares(*stacked(linear, levels, right))
        own = slice(len(z), len(z) + len(x))
        if np.abs(free[own]).max(initial=0.0) < 1e-6:
            return solution[own, :-1], solution[own, -1]
    return None


def restarted(linear: Point, before: np.ndarray, levels: int = 2) -> np.ndarray:
    """Return the states (n,) after an instant at which the relations changed to those of a linear graph, at the point where all
    variables are zero.

    N_x (x+ - x-) + G_z Z = 0 with Z the impulses of efforts and flows, and x+ such that all rows and their derivatives are
    satisfied.
    """
    z, x = split(linear)
    rest, right = stacked(linear, levels, -linear.g[:, None])
    own = np.zeros((len(rest), len(x)))
    own[: len(linear.G)] = stacked(linear, levels, linear.G[:, x])[1][: len(linear.G)]
    impulses = np.hstack([linear.G[:, z], linear.N[:, x], np.zeros((len(linear.G), rest.shape[1]))])
    after = np.hstack([np.zeros((len(rest), len(z))), own, rest])
    known = np.vstack([linear.N[:, x] @ before[:, None], right])
    solution, _, _, _ = least_squares(np.vstack([impulses, after]), known)
    return solution[len(z) : len(z) + len(x), 0]


def split(point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices in y of non-states and of states."""
    inside = np.zeros(len(point.y), dtype=bool)
    for name in point.states:
        inside[point.rows.places[name]] = True
    return np.flatnonzero(~inside), np.flatnonzero(inside)


def stacked(point: Point, levels: int, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix and the right-hand side of all rows and their derivatives for (change of z, x', z', x'', z'', ...).

    `right` (rows, k) is the right-hand side of the rows themselves.
    """
    z, x = split(point)
    N = rate_factors(point)
    G, wide = point.G, len(z) + len(x)
    still = ~N[:, z].any(axis=1)  # the row of a decaying variable is already an equation of rates
    rest = len(x) + (levels - 1) * wide if levels else 0
    rows = [np.hstack([G[:, z], N[:, x], N[:, z], np.zeros((len(G), rest))])]
    for level in range(levels):
        row = np.zeros((int(still.sum()), rows[0].shape[1]))
        at = len(z) + level * wide
        row[:, at : at + len(x)] = G[still][:, x]
        row[:, at + len(x) : at + wide] = G[still][:, z]
        row[:, at + wide : at + wide + len(x)] = N[still][:, x]
        rows.append(row)
    matrix = np.vstack(rows)
    full = np.vstack([right, np.zeros((len(matrix) - len(right), right.shape[1]))])
    sizes = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)[:, None]
    return matrix / sizes, full / sizes


def rate_factors(point: Point) -> np.ndarray:
    """Return N, with zero factors of v' in rows of constraints and switches that determine v directly rather than through the
    states alone."""
    N = point.N.copy()
    z, x = split(point)
    held = np.zeros(len(point.G), dtype=bool)
    for rows, _name in point.rows.held:
        held[rows] = True
    free = null_space(_scaled(np.hstack([point.G[~held][:, z], N[~held][:, x]])))
    where = {int(index): k for k, index in enumerate(z)}
    for rows, name in point.rows.held:
        place = point.rows.places[name]
        own = [where[index] for index in range(place.start, place.stop)]
        if np.abs(free[own]).max(initial=0.0) > 1e-6:
            N[rows] = 0.0
    return N


def is_singular(point: Point) -> bool:
    """Return True if s N + G is singular at all `FREQUENCIES`, so that the relations have no unique solution."""
    for s in FREQUENCIES:
        values = np.linalg.svd(_balanced(s * point.N + point.G), compute_uv=False)
        if values[-1] > 1e-10 * values[0]:
            return False
    return True


def jumps_with_blocks(point: Point, levels: int = 2) -> bool:
    """Return True if other states would have to jump together with the value that a block holds: no states are consistent with a
    change of that value alone."""
    own = [point.rows.places[name] for name in point.states if name.rpartition(".")[0] in point.blocks]
    held = [k for place in own for k in range(place.start, place.stop)]
    return least_squares(*stacked(point, levels, -point.G[:, held]))[2] > 1e-8


def null_space(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, k) of the null space of a matrix."""
    _, s, vt = np.linalg.svd(matrix, full_matrices=True)
    rank = int(np.sum(s > NEGLIGIBLE * s[0])) if len(s) else 0
    return vt[rank:].T


def least_squares(matrix: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the least-norm solution for each right-hand side (m, k), the null space, the largest residual, and the
    condition number of the solved part."""
    columns = sizes_of_columns(matrix)
    u, s, vt = np.linalg.svd(matrix / columns, full_matrices=True)
    rank = int(np.sum(s > NEGLIGIBLE * s[0])) if len(s) else 0
    solution = vt[:rank].T @ ((u[:, :rank].T @ right) / s[:rank, None]) / columns[:, None]
    misfit = float(np.abs(matrix @ solution - right).max(initial=0.0))
    return solution, vt[rank:].T, misfit, float(s[0] / s[rank - 1]) if rank else 1.0


def sizes_of_columns(matrix: np.ndarray) -> np.ndarray:
    sizes = np.abs(matrix).max(axis=0, initial=0.0)
    return np.where(sizes > 0.0, sizes, 1.0)


def _scaled(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.maximum(np.abs(matrix).max(axis=1, keepdims=True, initial=0.0), 1e-300)


def _balanced(matrix: np.ndarray, sweeps: Sequence[int] = range(3)) -> np.ndarray:
    for _ in sweeps:
        matrix = _scaled(_scaled(matrix).T).T
    return matrix
