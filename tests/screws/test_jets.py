"""Jets agree with SymPy's derivatives for every elementary function and operation."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from screws import scalars
from screws.jets import Jet, variables

U, V = sympy.symbols("u v", real=True)
AT = {U: 0.37, V: 0.61}

FORMULAS = {
    "polynomial": lambda u, v: u * u * v - 3.0 * v + u / 2.0 - (-u) * v + +u,
    "quotient": lambda u, v: (1.0 + u) / (v + u * v) + 2.0 / u - v / 3.0,
    "powers": lambda u, v: u**3 * v**-2 + (u + v) ** 0.5 + (u * v) ** 1.5 + u**0 + (1.0 + u) ** 0.3,
    "sin cos": lambda u, v: scalars.sin(u * v) * scalars.cos(u - v),
    "tan": lambda u, v: scalars.tan(u * v),
    "asin acos": lambda u, v: scalars.asin(u * v) + scalars.acos(u - v),
    "atan": lambda u, v: scalars.atan(u / v),
    "atan2": lambda u, v: scalars.atan2(u * u - 1.0, v - u * v),
    "sqrt": lambda u, v: scalars.sqrt(u + v * v),
    "exp log": lambda u, v: scalars.exp(u * v) + scalars.log(u + v),
    "expm1": lambda u, v: scalars.expm1(0.5 * u * v),
    "tanh": lambda u, v: scalars.tanh(u - 2.0 * v),
    "square": lambda u, v: (u + v * v) * (u + v * v),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives(name):
    formula = FORMULAS[name]
    exact = sympy.sympify(formula(U, V))
    orders = ((), (U,), (V,), (U, U), (U, V), (V, V))
    expected = [float((sympy.diff(exact, *order) if order else exact).subs(AT)) for order in orders]
    result = formula(*variables(AT[U], AT[V]))
    assert np.allclose([float(part) for part in result.parts()], expected, rtol=1e-12, atol=1e-13)
    symbolic = formula(*variables(U, V))
    assert np.allclose([float(sympy.sympify(part).subs(AT)) for part in symbolic.parts()], expected, rtol=1e-10)


def test_branches():
    u, v = variables(0.3, 0.5)
    chosen = scalars.where(scalars.less(u, v), u * v, u - v)
    assert chosen.parts() == (u * v).parts()
    assert scalars.minimum(u, v).parts() == u.parts() and scalars.maximum(u, v).parts() == v.parts()
    assert scalars.absolute(-u).du == 1.0 and scalars.sign(-u).value == -1.0
    assert u < v and v > u and u <= 0.3 and u >= 0.3
    assert scalars.less_equal(u, 0.3) and scalars.equal(v, 0.5)


def test_constants_cost_nothing_and_nan_is_kept():
    w = Jet(sympy.Symbol("w"), 1.0)
    assert (w * w).parts() == (w.value**2, 2.0 * w.value, 0.0, 2.0, 0.0, 0.0)
    u, _ = variables(np.float64("nan"), 1.0)
    assert np.isnan((u * u).value) and np.isnan((u * u).du)


def test_arrays_of_jets():
    u, v = variables(0.3, 0.5)
    row = np.array([1.0, u], dtype=object) * v
    other = v * np.array([1.0, u], dtype=object)
    assert row[1].parts() == other[1].parts() == (u * v).parts()
    assert (np.float64(2.0) * u).du == 2.0


def test_unknown_function_is_refused():
    with pytest.raises(TypeError, match="bessel"):
        Jet(1.0).__scalar_function__("bessel", (Jet(1.0),))
