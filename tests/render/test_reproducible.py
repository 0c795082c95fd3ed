"""In the arithmetic of the layout, no result depends on the processor, not even in its last bit."""

import ast
from pathlib import Path

import numpy as np
import pytest

import bondgraph.render
from tests.inner.render import Noise, dot, geometric, inverse, length, product

MODULES = sorted(Path(bondgraph.render.__file__).parent.rglob("*.py"))
EXACT = {
    "abs", "add", "all", "allclose", "any", "arange", "argmax", "argmin", "argsort", "array", "array_equal", "asarray",
    "ascontiguousarray", "clip", "concatenate", "copysign", "count_nonzero", "cumsum", "delete", "diag_indices", "diff",
    "fill_diagonal", "flatnonzero", "float64", "floor", "full", "inf", "int64", "isfinite", "isin", "linspace", "max",
    "maximum", "min", "minimum", "moveaxis", "ndarray", "newaxis", "ones", "ptp", "repeat", "round", "searchsorted",
    "setdiff1d", "sort", "sqrt", "stack", "sum", "triu_indices", "unique", "where", "zeros", "zeros_like",
}  # fmt: skip
"""NumPy functions allowed in the layout; their results have the same bits on every processor."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_only_arithmetic_that_every_processor_rounds_alike(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
            assert node.attr in EXACT, f"{where}: np.{node.attr}"
        if isinstance(node, ast.Import):
            assert "math" not in {alias.name for alias in node.names}, f"{where}: math"
        if isinstance(node, ast.BinOp):
            assert not isinstance(node.op, ast.MatMult), f"{where}: NumPy computes matrix products by BLAS"
            whole = isinstance(node.right, ast.Constant) and node.right.value == 2
            assert not isinstance(node.op, ast.Pow) or whole, f"{where}: a power other than a square"


def test_products_and_inverses():
    random = np.random.default_rng(0)
    a = random.normal(size=(7, 7))
    matrix, columns = a @ a.T + np.eye(7), random.normal(size=(7, 2))
    assert np.abs(product(matrix, columns) - matrix @ columns).max() < 1e-12
    assert np.abs(inverse(matrix) @ matrix - np.eye(7)).max() < 1e-10
    assert np.allclose(length(columns), np.hypot(*columns.T)) and np.allclose(dot(columns, columns), (columns**2).sum(1))


def test_equal_ratios():
    assert np.allclose(geometric(2.0, 0.12, 18), np.geomspace(2.0, 0.12, 18), rtol=1e-15)
    assert geometric(2.0, 0.12, 1) == [2.0]


def test_noise_is_that_of_its_seed():
    """Python guarantees these random numbers in all versions and on all platforms."""
    assert Noise(0).order(6) == [3, 5, 2, 4, 1, 0]
    values = Noise(1).spread(4000)
    assert abs(values.mean()) < 0.1 and abs(values.std() - 1.29) < 0.05
    assert np.array_equal(values, Noise(1).spread(4000)) and not np.array_equal(values, Noise(2).spread(4000))
