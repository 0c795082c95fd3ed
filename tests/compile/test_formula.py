"""Formulas compiled on their own give results by name, take many samples, and count their operations."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import ModelError, compile_formula, count_operations
from screws.scalars import cos, sin
from tests.inner.emit import KernelError, have_llvm

BACKENDS = ["numpy", *(["llvm"] if have_llvm() else [])]
SHAPES = {"R": (2, 2), "x": (2,), "angle": ()}


def turned(R, x, angle):
    return {"image": R @ x, "outer": np.outer(x, x), "height": sin(angle) * x[1] + cos(angle) * R[0, 1], "seven": 7.0}


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_those_of_the_formula(backend):
    compiled = compile_formula(turned, SHAPES, backend=backend)
    R, x = np.array([[1.0, 2.0], [-3.0, 0.5]]), np.array([0.25, -4.0])
    found, wanted = compiled(R, x, 0.3), turned(R, x, 0.3)
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        assert found[name].shape == np.shape(value)
        np.testing.assert_allclose(found[name], value, rtol=4e-16)
    angles = np.linspace(0.0, 1.0, 5)
    many = compiled.evaluate_many(R.ravel(), x, angles)
    assert many["outer"].shape == (5, 2, 2) and many["height"].shape == (5,)
    np.testing.assert_allclose(many["height"], [turned(R, x, a)["height"] for a in angles], rtol=4e-16)


def test_arguments_of_wrong_shape_are_refused():
    compiled = compile_formula(turned, SHAPES)
    with pytest.raises(KernelError, match="E395"):
        compiled(np.eye(3), [1.0, 2.0], 0.0)
    with pytest.raises(ModelError, match="E123"):
        compile_formula(turned, SHAPES, backend="fortran")


def test_operations_are_counted_once_and_constants_not_at_all():
    """x y + x y has one product, one sum and two inputs; if y is constant, its sine is not an operation."""
    scalars = {"x": (), "y": ()}
    assert count_operations(lambda x, y: {"z": x * y + x * y}, scalars) == 4
    assert count_operations(lambda x, y: {"z": x * sin(sin(y))}, scalars) == 5
    assert count_operations(lambda x, y: {"z": x * sin(sin(y))}, scalars, constant=("y",)) == 2
    assert count_operations(lambda x, y: {"z": sin(y), "n": 3.0}, scalars, constant=("y",)) == 0
