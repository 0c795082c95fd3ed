import numpy as np
import pytest
import sympy

import screws.scalars as s
from tests.emit.expressions import FORMULAS
from tests.inner.emit import numpy_kernel
from tests.inner.tape import Routine, Tape, TraceError, compressed_columns, differentiate, jacobian, sparsity_pattern


def derivatives(formulas, points, n=3):
    tape = Tape()
    x = tape.inputs("x", n)
    sparse = jacobian([formula(*x) for formula in formulas], x)
    values = numpy_kernel(Routine("J", tape, (("x", n),), sparse.values))(points)
    dense = np.zeros(sparse.shape)
    dense[list(sparse.rows), list(sparse.columns)] = values
    return dense


@pytest.mark.parametrize("name", FORMULAS)
def test_against_finite_differences(name):
    formula, (low, high) = FORMULAS[name]
    rng = np.random.default_rng(5)
    for point in rng.uniform(low, high, (20, 3)):
        step = 1e-6
        expected = np.empty(3)
        with np.errstate(invalid="ignore"):
            for i, e in enumerate(step * np.eye(3)):
                expected[i] = (formula(*(point + e)) - formula(*(point - e))) / (2 * step)
        np.testing.assert_allclose(derivatives([formula], point)[0], expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize(
    "formula",
    [
        lambda a, b, c: s.sin(a * b) / (1.0 + c * c) + s.exp(-a) * s.sqrt(b),
        lambda a, b, c: s.atan2(a * c, b) ** 3 - s.tanh(a / b),
        lambda a, b, c: s.tan(a) * s.log(b + c) + b**c,
    ],
)
@pytest.mark.parametrize("accumulate", ["_forward", "_reverse"])
def test_against_sympy(formula, accumulate, monkeypatch):
    monkeypatch.setattr(differentiate, "_reverse_is_shorter", lambda *_: accumulate == "_reverse")
    symbols = sympy.symbols("a b c", positive=True)
    point = [0.7, 1.3, 0.4]
    at = dict(zip(symbols, point, strict=True))
    expected = [float(sympy.diff(formula(*symbols), symbol).subs(at)) for symbol in symbols]
    np.testing.assert_allclose(derivatives([formula], point)[0], expected, rtol=1e-13)


def test_guarded_singularity_has_a_finite_derivative():
    """The slope of the branch not taken is infinite, and multiplication by zero would make it NaN."""
    safe = [lambda a, b, c: s.where(s.less(0.0, a), s.sqrt(a) * b, 2.0 * a), lambda a, b, c: s.maximum(a, b)]
    np.testing.assert_array_equal(derivatives(safe, [0.0, 1.0, 1.0]), [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_kinks_take_one_branch():
    kinks = [lambda a, b, c: s.absolute(a), lambda a, b, c: s.minimum(a, b), lambda a, b, c: s.sign(a) * b]
    np.testing.assert_array_equal(derivatives(kinks, [-2.0, 3.0, 0.0]), [[-1, 0, 0], [1, 0, 0], [0, -1, 0]])


def test_one_output_of_many_inputs_goes_in_reverse(monkeypatch):
    tape = Tape()
    x = tape.inputs("x", 40)
    total = s.sqrt(x @ x) + s.sin(x[0] * x[1])
    before = len(tape)
    short = jacobian([total], x)
    count = len(tape) - before
    monkeypatch.setattr(differentiate, "_reverse_is_shorter", lambda *_: False)
    long = jacobian([total], x)
    routine = Routine("J", tape, (("x", 40),), short.values + long.values)
    values = numpy_kernel(routine)(np.linspace(0.1, 1.0, 40)).reshape(2, 40)
    np.testing.assert_allclose(values[0], values[1], rtol=1e-14)
    assert count < 100


def test_sparse_by_columns():
    tape = Tape()
    x = tape.inputs("x", 3)
    outputs = [x[2] * x[0], 5.0, s.exp(x[2]), x[0] - x[0]]
    sparse = jacobian(outputs, x)
    assert (sparse.rows, sparse.columns, sparse.shape) == ((0, 0, 2), (0, 2, 2), (4, 3))
    indptr, indices = compressed_columns(sparse)
    assert indptr.tolist() == [0, 1, 1, 3] and indices.tolist() == [0, 0, 2]
    for mine, structural in zip((indptr, indices), sparsity_pattern(outputs, x), strict=True):
        np.testing.assert_array_equal(mine, structural)
    assert sparse.dense()[0, 2].index == x[0].index


def test_by_an_intermediate_value():
    tape = Tape()
    x = tape.inputs("x", 2)
    speed = x[0] * x[1]
    assert jacobian([speed * x[1]], [speed]).values[0].index == x[1].index
    with pytest.raises(TraceError, match="twice"):
        jacobian([speed], [x[0], x[0]])


def test_second_derivatives():
    tape = Tape()
    x = tape.inputs("x", 2)
    first = jacobian([s.sin(x[0]) * x[1] ** 2], x).values
    second = jacobian(first, x)
    values = numpy_kernel(Routine("H", tape, (("x", 2),), second.values))([0.3, 2.0])
    expected = [-np.sin(0.3) * 4, 4 * np.cos(0.3), 4 * np.cos(0.3), 2 * np.sin(0.3)]
    np.testing.assert_allclose(values, expected, rtol=1e-14)
