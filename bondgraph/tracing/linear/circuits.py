"""Circuits of ideal elements: elementary vectors of the space in which a part of a network absorbs no power.

A circuit is a minimal set of active elements that oppose each other: a loop of closed switches, a cut of open switches, or locks
in a row. The vectors of a space with minimal sets of nonzero entries are its elementary vectors (Rockafellar 1969). The vectors
of a reduced basis, each with its own pivot, are elementary. If two elementary vectors share an entry, their combination without
that entry contains another elementary vector. The set is complete when this yields no new vector (Boros, Elbassioni, Gurvich and
Khachiyan 2003, on the circuits of matroids).
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import networkx as nx
import numpy as np

from bondgraph.assembly.indeterminate import NULL_TOLERANCE

LEAST_LOSS, LOSSLESS = 1e-11, 1e-14
"""Dissipation along a direction, in natural sizes: the smallest that one elimination for all modes resolves, and the largest that
counts as rounding error. Null directions of networks dissipate less than 1e-15."""

SCALING_ROUNDS = 4


@dataclass(frozen=True)
class Circuit:
    """Active elements that oppose each other: a null vector of the equations in all modes in which the elements of `rows` are
    active and the elements of `released` are not."""

    rows: tuple[int, ...]
    released: tuple[int, ...]
    """Equations of elements whose vanishing quantity the circuit changes, and which must therefore be inactive."""


def lossless(matrix: np.ndarray) -> np.ndarray | None:
    """Return an orthonormal basis (2 n, r) of the unknowns x and vanishing quantities y = A x that absorb no power, or None if
    the power of a direction is neither zero nor clearly positive."""
    _, values, right = np.linalg.svd(matrix + matrix.T)
    if np.any((values > LOSSLESS) & (values < LEAST_LOSS)):
        return None
    basis = right[values <= LOSSLESS].T
    return np.asarray(np.linalg.qr(np.vstack([basis, matrix @ basis]))[0])


def without_rates(basis: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return a basis of the vectors (x, y) of a space (2 n, r) for which rates (n, n) x = 0, whatever the units of the
    rates."""
    vectors = basis @ np.linalg.inv(basis[independent_rows(basis)])
    vectors[np.abs(vectors) <= NULL_TOLERANCE * np.abs(vectors).max(axis=0, initial=0.0)] = 0.0
    terms = np.abs(rates) @ np.abs(vectors[: len(rates)])
    moved = rates @ vectors[: len(rates)]
    moved[np.abs(moved) <= NULL_TOLERANCE * terms] = 0.0
    factors = np.ones(moved.shape[1])
    for _ in range(SCALING_ROUNDS):
        for axis in (1, 0):
            most = np.abs(moved).max(axis=axis, keepdims=True, initial=0.0)
            part = 1.0 / np.where(most > 0.0, most, 1.0)
            moved = moved * part
        factors = factors * part[0]
    _, values, right = np.linalg.svd(moved)
    still = right[int((values > NULL_TOLERANCE).sum()) :].T
    return np.asarray(np.linalg.qr(vectors @ (factors[:, None] * still))[0])


def circuits_of(basis: np.ndarray, gated: Set[int], never: Set[int], most: int) -> list[Circuit] | None:
    """Return all circuits of a space (2 n, r) of x and y, in which x or y of each element is zero, or None if there are more than
    `most`.

    Parameters
    ----------
    gated : equations that modes can release; y of all other equations is zero.
    never : equations that are never active; their x is zero.
    """
    n = len(basis) // 2
    allowed = {k for k in range(n) if k not in never} | {n + k for k in gated | never}
    space = _within(basis, allowed)
    circuits: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    for rows in _blocks(space):
        supports = _supports(_full_rank(space[rows]), most)
        if supports is None:
            return None
        for support in supports:
            x = tuple(rows[k] for k in sorted(support) if rows[k] < n)
            y = tuple(rows[k] - n for k in sorted(support) if rows[k] >= n)
            if x and not set(x) & set(y):
                circuits.add((x, tuple(k for k in y if k in gated)))
    return [Circuit(*each) for each in sorted(circuits)] if len(circuits) <= most else None


def fundamental_circuits(basis: np.ndarray, never: Set[int]) -> list[Circuit]:
    """Return circuits whose vectors form a basis of the vectors x with y = 0 in a space (2 n, r), for `never` as in
    `circuits_of`."""
    space = _within(basis, set(range(len(basis) // 2)) - never)
    blocks = [(rows, _fundamental(_full_rank(space[rows]))) for rows in _blocks(space)]
    return [Circuit(tuple(rows[k] for k in sorted(support)), ()) for rows, supports in blocks for support in supports]


def _fundamental(block: np.ndarray) -> list[frozenset[int]]:
    return [_support(vector) for vector in (block @ np.linalg.inv(block[independent_rows(block)])).T]


def _supports(block: np.ndarray, most: int) -> list[frozenset[int]] | None:
    supports = _fundamental(block)
    last = 0
    while last < len(supports):
        if len(supports) > most:
            return None
        for other in supports[:last]:
            for entry in sorted(supports[last] & other):
                allowed = (supports[last] | other) - {entry}
                if not any(support <= allowed for support in supports):
                    supports.append(_support(_elementary(block, allowed)))
        last += 1
    return supports


def _support(vector: np.ndarray) -> frozenset[int]:
    sizes = np.abs(vector)
    return frozenset(np.flatnonzero(sizes > NULL_TOLERANCE * sizes.max()).tolist())


def _elementary(block: np.ndarray, allowed: Set[int]) -> np.ndarray:
    """Return an elementary vector of a space (m, r) whose nonzero entries are all in `allowed`."""
    space = _within(block, allowed)
    while space.shape[1] > 1:
        largest = int((space**2).sum(axis=1).argmax())
        space = _within(space, set(range(len(space))) - {largest})
    return np.asarray(space[:, 0])


def _within(space: np.ndarray, allowed: Set[int]) -> np.ndarray:
    """Return a basis of the vectors of a space (m, r) whose nonzero entries are all in `allowed`."""
    others = space[[k for k in range(len(space)) if k not in allowed]]
    _, values, right = np.linalg.svd(others)
    kept = space @ right[int((values > NULL_TOLERANCE).sum()) :].T
    kept[[k for k in range(len(space)) if k not in allowed]] = 0.0
    return np.asarray(kept)


def _blocks(basis: np.ndarray) -> list[list[int]]:
    coupled = np.argwhere(np.abs(basis @ basis.T) > NULL_TOLERANCE)
    graph = nx.from_edgelist((int(i), int(j)) for i, j in coupled)
    return [sorted(block) for block in nx.connected_components(graph)]


def _full_rank(rows: np.ndarray) -> np.ndarray:
    _, values, right = np.linalg.svd(rows)
    return np.asarray(rows @ right[: int((values > NULL_TOLERANCE).sum())].T)


def independent_rows(matrix: np.ndarray) -> list[int]:
    """Return the indices of m rows of a matrix (n, m), each the farthest from the span of the previous rows."""
    left, kept = matrix.copy(), list[int]()
    for _ in range(matrix.shape[1]):
        kept.append(int((left**2).sum(axis=1).argmax()))
        unit = left[kept[-1]] / (np.linalg.norm(left[kept[-1]]) or 1.0)
        left = left - np.outer(left @ unit, unit)
    return kept
