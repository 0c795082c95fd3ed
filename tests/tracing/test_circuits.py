"""All elementary vectors of a space are found, independently of its order, scale and basis."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.inner.tracing import circuits_of, lossless

NOTHING: frozenset[int] = frozenset()
MOST = 128


def searched(space: np.ndarray) -> set[frozenset[int]]:
    """Return the supports of the elementary vectors of a space (m, r), from every set of r - 1 zeros."""
    m, r = space.shape
    supports = set()
    for zeros in itertools.combinations(range(m), r - 1):
        _, values, right = np.linalg.svd(space[list(zeros)].reshape(r - 1, r))
        if r == 1 or values[-1] > 1e-9:
            vector = np.abs(space @ right[-1])
            supports.add(frozenset(np.flatnonzero(vector > 1e-9 * vector.max()).tolist()))
    return supports


def drawn(rng: np.random.Generator) -> np.ndarray:
    m = int(rng.integers(2, 10))
    space = rng.integers(-1, 2, size=(m, int(rng.integers(1, min(m, 5) + 1)))).astype(float)
    return space[:, np.linalg.norm(space, axis=0) > 0.0]


@pytest.mark.parametrize("seed", range(40))
def test_they_are_those_of_a_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = drawn(rng)
    basis = np.linalg.qr(space)[0][:, : np.linalg.matrix_rank(space)]
    if basis.shape[1] < space.shape[1] or not basis.shape[1]:
        basis = np.eye(len(space))[:, :1]
    whole = np.vstack([basis, np.zeros_like(basis)])
    order, turn = rng.permutation(len(basis)), np.linalg.qr(rng.normal(size=(basis.shape[1],) * 2))[0]
    for rows, columns in ((range(len(basis)), np.eye(basis.shape[1])), (order, turn)):
        moved = np.vstack([basis[rows], np.zeros_like(basis)]) @ columns
        circuits = circuits_of(moved, NOTHING, NOTHING, MOST)
        assert circuits is not None
        assert {frozenset(rows[i] for i in circuit.rows) for circuit in circuits} == searched(whole[: len(basis)])
        assert len({circuit.rows for circuit in circuits}) == len(circuits)


def test_a_cut_of_open_switches_in_series_with_another() -> None:
    """Two open switches in series leave their voltages undetermined; a single one does not."""
    matrix = np.array([[1.0, 1.0], [1.0, 1.0]])
    (circuit,) = circuits_of(lossless(matrix), {0, 1}, NOTHING, MOST) or ()
    assert circuit.rows == (0, 1) and circuit.released == ()
    assert circuits_of(lossless(np.eye(2)), {0, 1}, NOTHING, MOST) == []


def test_too_many_are_refused() -> None:
    rng = np.random.default_rng(1)
    space = np.linalg.qr(rng.normal(size=(14, 6)))[0]
    assert circuits_of(np.vstack([space, np.zeros_like(space)]), NOTHING, NOTHING, MOST) is None
