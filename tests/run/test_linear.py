"""Linear systems in machine code agree with NumPy."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest

from tests.inner.emit import address_of, compile_procedures
from tests.inner.run import BAND, DENSE, SPARSE, FieldTable, MatrixLayout, layout_of, pair_layout_of, system

EPSILON = np.finfo(float).eps


@functools.cache
def code():
    parts = system.procedures()
    for part in parts:
        part.internal = False
    return compile_procedures(parts)


def called(name, *given):
    kinds = [ctypes.c_double if isinstance(value, float) else ctypes.c_void_p for value in given]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(code().address(name))(*given)


def solved(layout: MatrixLayout, full: np.ndarray, b: np.ndarray, size: np.ndarray | None = None) -> np.ndarray | None:
    """Solve (1 - J) x = b, where `full` is 1 - J; return None if the factorisation fails."""
    table = system.table_of(layout)
    named = np.ones(full.shape, dtype=bool) if len(layout.entry_indices) == full.size else full != 0.0
    j = (np.eye(len(full)) - full)[named]
    called("fill_system", table.address, address_of(j), 1.0)
    table.arrays["row_weights"][:] = 1.0 if size is None else 1.0 / size[layout.order]
    if called("factor_system", table.address):
        return None
    table.arrays["right"][:] = b[layout.order]
    called("solve_system", table.address)
    x = np.empty(len(b))
    x[layout.order] = table.arrays["right"]
    return x


def random_matrix(rng: np.random.Generator, n: int, lower: int, upper: int) -> np.ndarray:
    i, j = np.indices((n, n))
    return np.where((i - j <= lower) & (j - i <= upper), rng.normal(size=(n, n)), 0.0)


def backward_error(full, x, b):
    """Return the smallest relative change of A and b that makes x exact (Rigal and Gaches)."""
    return np.max(np.abs(full @ x - b)) / (np.abs(full).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max())


@pytest.mark.parametrize("kind", ["dense", "band"])
@pytest.mark.parametrize(("n", "lower", "upper"), [(1, 0, 0), (2, 1, 1), (5, 2, 0), (7, 0, 3), (30, 1, 4), (40, 39, 39)])
def test_random_matrices(kind, n, lower, upper):
    """Each solution is exact for a matrix within rounding error of the given one, which requires pivoting."""
    rng = np.random.default_rng(n)
    for _ in range(10):
        full, b = random_matrix(rng, n, lower, upper), rng.normal(size=n)
        x = solved(layout_of(n, *np.nonzero(full), kind), full, b)
        assert x is not None and backward_error(full, x, b) < 20.0 * n * EPSILON


def complex_solution(table: FieldTable, entries: np.ndarray, b: np.ndarray) -> np.ndarray:
    called("fill_system", table.address, address_of(entries), 1.0)
    table.arrays["row_weights"][:] = 1.0
    assert not called("factor_system", table.address)
    table.arrays["right"][:] = b
    called("solve_system", table.address)
    return table.arrays["right"]


@pytest.mark.parametrize("kind", ["dense", "band", "sparse"])
def test_a_pair_of_real_systems_is_a_complex_one(kind):
    """The system is (1 - J + 2i) x = b."""
    rng, n = np.random.default_rng(3), 12
    j = random_matrix(rng, n, 2, 2) * 0.2
    rows, columns = np.nonzero(j)
    layout = pair_layout_of(layout_of(n, rows, columns, kind), rows, columns)
    values, b = j[rows, columns], rng.normal(size=2 * n)
    entries = np.concatenate([values, values, np.full(n, 2.0), np.full(n, -2.0)])
    x = np.empty(2 * n)
    x[layout.order] = complex_solution(system.table_of(layout), entries, b[layout.order])
    exact = np.linalg.solve(np.eye(n) - j + 2j * np.eye(n), b[:n] + 1j * b[n:])
    np.testing.assert_allclose(x[:n] + 1j * x[n:], exact, rtol=1e-12)
    assert layout.kind == {"dense": DENSE, "band": BAND, "sparse": SPARSE}[kind]
    if kind == "sparse":
        assert np.array_equal(layout.order[1::2], layout.order[::2] + n)


def eliminated(full: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, x, n = full.copy(), b.copy(), len(b)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        a[[k, pivot]], x[[k, pivot]] = a[[pivot, k]], x[[pivot, k]]
        a[k + 1 :, k] *= 1.0 / a[k, k]
        for j in range(k + 1, n):
            a[k + 1 :, j] -= a[k, j] * a[k + 1 :, k]
        x[k + 1 :] -= x[k] * a[k + 1 :, k]
    for k in reversed(range(n)):
        x[k] *= 1.0 / a[k, k]
        x[:k] -= x[k] * a[:k, k]
    return x


@pytest.mark.parametrize("part", [0.2, 1.0])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 6, 7, 8, 9, 13, 30])
def test_blocks_of_columns_change_no_bit(n, part):
    rng = np.random.default_rng(n)
    full = np.where(rng.random((n, n)) < part, rng.normal(size=(n, n)), 0.0) + np.diag(0.5 + rng.random(n))
    full = np.eye(n) - (np.eye(n) - full)  # round as the system does, which receives J
    b = rng.normal(size=n)
    rows, columns = np.indices((n, n)).reshape(2, -1)
    by_rows, by_columns = layout_of(n, rows, columns, "dense"), layout_of(n, columns, rows, "dense")
    wanted = eliminated(full, b)
    for x in (solved(by_rows, full, b), solved(by_columns, full.T, b)):
        assert x is not None and np.array_equal(x, wanted)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 30])
def test_three_diagonals_have_the_bits_of_a_full_matrix(n):
    """Row exchanges widen the upper band to two diagonals."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        full, b = random_matrix(rng, n, 1, 1) + 1e-3 * np.eye(n), rng.normal(size=n)
        full, size = np.eye(n) - (np.eye(n) - full), 2.0 ** rng.integers(-3, 4, n)
        rows, columns = np.nonzero(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1)
        layouts = [layout_of(n, rows, columns, "band"), layout_of(n, *np.indices((n, n)).reshape(2, -1), "dense")]
        assert n == 1 or (layouts[0].lower, layouts[0].upper) == (1, 1)
        banded, dense = (solved(layout, full, b, size) for layout in layouts)
        assert banded is not None and np.array_equal(banded, dense)


@pytest.mark.parametrize("kind", ["dense", "band"])
def test_small_pivots_are_passed_over(kind):
    full = np.array([[1e-20, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    b = np.array([1.0, 3.0, 3.0])
    x = solved(layout_of(3, *np.nonzero(full), kind), full, b)
    np.testing.assert_allclose(x, [1.0, 1.0, 1.0], rtol=1e-15)


def grid(side: int) -> np.ndarray:
    one = 2.0 * np.eye(side) - np.eye(side, k=1) - np.eye(side, k=-1)
    return np.eye(side * side) + 0.7 * (np.kron(one, np.eye(side)) + np.kron(np.eye(side), one))


def test_sparse_matrices():
    rng = np.random.default_rng(5)
    for n in (1, 2, 10, 60):
        for _ in range(5):
            full = np.where(rng.random((n, n)) < 4.0 / n, rng.normal(size=(n, n)), 0.0)
            full[np.diag_indices(n)] = 1.0 + np.abs(full).sum(axis=1)
            layout, b = layout_of(n, *np.nonzero(full), "sparse"), rng.normal(size=n)
            assert layout.kind == SPARSE
            x = solved(layout, full, b)
            assert x is not None and backward_error(full, x, b) < 20.0 * n * EPSILON


@pytest.mark.parametrize("n", [1, 4, 5, 6, 13, 30])
def test_blocks_of_supernodes_change_no_bit(n):
    rng = np.random.default_rng(n)
    for part in (0.15, 0.3, 1.0):
        full = np.where(rng.random((n, n)) < part, rng.normal(size=(n, n)), 0.0)
        full = np.where(full.T != 0.0, rng.normal(size=(n, n)), full) + 10.0 * n * np.eye(n)
        full, b = np.eye(n) - (np.eye(n) - full), rng.normal(size=n)
        layout = layout_of(n, *np.nonzero(full), "sparse")
        assert layout.fill is not None and (part < 1.0 or layout.fill.nested[0] == n)
        x, order = solved(layout, full, b), layout.order
        assert x is not None and np.array_equal(x[order], eliminated(full[np.ix_(order, order)], b[order]))


def test_sparse_factors_with_too_small_pivots_are_refused():
    rows, columns = np.indices((2, 2)).reshape(2, -1)
    layout = layout_of(2, rows, columns, "sparse")
    table = system.table_of(layout)
    table.arrays["row_weights"][:] = 1.0
    for wanted, full in ((1, [[1e-9, 1.0], [1.0, 1e-9]]), (0, [[1e-3, 1.0], [1.0, 1e-3]]), (1, [[1.0, 1.0], [1.0, 1.0]])):
        j = (np.eye(2) - full).ravel()
        called("fill_system", table.address, address_of(j), 1.0)
        assert called("factor_system", table.address) == wanted
        assert not table.arrays["work"].any()


def test_a_grid_is_sparse():
    full = grid(20)
    layout, band = (layout_of(400, *np.nonzero(full), kind) for kind in ("auto", "band"))
    assert layout.kind == SPARSE and layout.fill is not None
    assert 2 * len(layout.fill.below) < 0.5 * band.room
    b = np.random.default_rng(2).normal(size=400)
    np.testing.assert_allclose(solved(layout, full, b), np.linalg.solve(full, b), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", ["dense", "band", "sparse"])
@pytest.mark.parametrize("spread", [3, 40])
def test_units_change_no_bit(kind, spread):
    """Scaling by powers of two d, to A_ij d_i / d_j and b_i d_i, multiplies each result by d_i exactly."""
    rng = np.random.default_rng(3)
    full, b = random_matrix(rng, 30, 3, 4), rng.normal(size=30)
    full[np.diag_indices(30)] += 4.0  # no pivot is too small
    unit = 2.0 ** rng.integers(-spread, spread, 30)
    layout = layout_of(30, *np.nonzero(full), kind)
    plain = solved(layout, full, b, np.ones(30))
    scaled = solved(layout, full * unit[:, None] / unit, b * unit, unit)
    assert np.array_equal(scaled, plain * unit)


@pytest.mark.parametrize("kind", ["dense", "band", "sparse"])
def test_singular_and_nonfinite_matrices_are_reported(kind):
    for full in (np.diag([1.0, 0.0, 2.0]), np.array([[1.0, 2.0], [0.5, 1.0]]), np.diag([1.0, np.nan, 1.0])):
        n = len(full)
        rows, columns = np.indices((n, n)).reshape(2, -1)
        layout = layout_of(n, rows, columns, kind)
        assert solved(layout, full, np.ones(n)) is None


def test_a_shuffled_band_is_found_again():
    rng = np.random.default_rng(1)
    place = rng.permutation(200)
    full = random_matrix(rng, 200, 1, 1)[np.ix_(place, place)]
    layout = layout_of(200, *np.nonzero(full))
    assert (layout.kind, layout.lower, layout.upper) == (BAND, 1, 1)
    assert sorted(layout.order) == list(range(200)) and layout.room == 4 * 200
    b = rng.normal(size=200)
    x = solved(layout, full, b)
    assert x is not None and backward_error(full, x, b) < 20.0 * 200 * EPSILON


def test_full_and_small_matrices_are_dense_and_diagonal_ones_narrow():
    for n in (0, 1, 3, 9, 50):
        layout = layout_of(n, *np.indices((n, n)).reshape(2, -1))
        assert layout.kind == DENSE and layout.room == n * n
        narrow = layout_of(n, np.arange(n), np.arange(n))
        assert narrow.kind == (BAND if n > 8 else DENSE) and narrow.room == (n if n > 8 else n * n)
