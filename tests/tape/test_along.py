"""Directional derivatives agree with products with the Jacobian."""

from __future__ import annotations

import numpy as np
import pytest

from screws.scalars import absolute, exp, sin, sqrt, where
from tests.inner.emit import numpy_kernel
from tests.inner.tape import Routine, Tape, appended, derivatives_along, jacobian

N, K = 4, 3


def outputs_of(x):
    kink = where(x[0] < x[1], x[2] * x[0], sqrt(x[1] * x[1] + 1.0))
    return [sin(x[0] * x[1]) + x[3], kink, absolute(x[2]) * exp(x[3]), 2.0 * x[0], x[1] * 0.0 + 3.0]


@pytest.mark.parametrize("seed", range(4))
def test_products_with_the_jacobian(seed):
    tape = Tape()
    x, v = tape.inputs("x", N), tape.inputs("v", N * K)
    outputs = outputs_of(x)
    directions = [{j: v[j * N + i] for j in range(K) if (i, j) != (0, 2)} for i in range(N)]
    along = derivatives_along(outputs, list(x), directions, K)
    whole = jacobian(outputs, list(x)).dense()
    joined, moved = appended(tape, [*along.ravel(), *whole.ravel()], "x", ["v"])
    assert joined.blocks == {"x": N + N * K}
    kernel = numpy_kernel(Routine("both", joined, (("x", N + N * K),), moved))
    rng = np.random.default_rng(seed)
    at, V = rng.normal(size=N), rng.normal(size=(K, N))
    found = kernel(np.concatenate([at, V.ravel()]))
    J = found[len(outputs) * K :].reshape(len(outputs), N)
    V[2, 0] = 0.0
    np.testing.assert_allclose(found[: len(outputs) * K].reshape(len(outputs), K), J @ V.T, rtol=1e-12, atol=1e-12)


def test_nothing_varies():
    tape = Tape()
    x = tape.inputs("x", 2)
    assert derivatives_along([x[0]], [], [], 2).tolist() == [[0.0, 0.0]]
    assert derivatives_along([], list(x), [{}, {}], 2).shape == (0, 2)
    assert [tape.scalar(entry).value for entry in derivatives_along([x[0] * 2.0], [x[1]], [{0: 1.0}], 1).ravel()] == [0.0]
