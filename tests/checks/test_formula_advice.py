"""Formulas that fail: the message names the arguments or functions at fault, and its advice works."""

from __future__ import annotations

import math
from math import sin as sine

import numpy as np
import pytest

from bondgraph import C, I, ModelError, R, Se, compile_model, signals
from screws import scalars
from tests.checks.small_graphs import loop
from tests.inner.tracing import EXPRESSIONS, foreign_functions


def advice(make) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(ModelError, match="E129") as refused:
        compile_model(make())
    (problem,) = refused.value.problems
    return str(problem), problem.cures


def given(cure: str) -> dict:
    return eval(f"dict({cure})")  # noqa: S307 - the advice is an expression


MISSING = {
    "a source of time": (lambda **more: loop(Se("u", lambda t: 3.0 * t, **more), I("m", 1.0)), "takes 1 argument (t) and gets 0"),
    "a resistor of time": (lambda **more: loop(I("m", 1.0), R("r", effort=lambda f, time: f * time, **more)), "gets 1 argument"),
    "an energy of time": (lambda **more: loop(I("m", 1.0), C("c", energy=lambda q, t: q * q + t, **more)), "(q, t)"),
    "a state": (lambda **more: loop(C("c", stiffness=1.0), I("m", 1.0), R("r", effort=lambda f, q: f + q, **more)), "(f, q)"),
    "a parameter": (lambda **more: loop(I("m", 1.0), R("r", effort=lambda f, gain: f * gain, **more)), "(f, gain)"),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_missing_argument_is_named_and_the_advice_gives_it(case):
    make, says = MISSING[case]
    text, cures = advice(make)
    assert says in text and "TypeError" not in text, text
    compile_model(make(**given(cures[-1 if case == "a parameter" else 0])))


def test_an_argument_too_many_is_counted():
    text, _ = advice(lambda: loop(I("m", 1.0), R("r", effort=lambda f: f, parameters={"k": 1.0})))
    assert "takes 1 argument (f) and gets 2 arguments (m.flow, r.k)" in text
    compile_model(loop(I("m", 1.0), R("r", effort=lambda f, k: f * k, parameters={"k": 1.0})))


FOREIGN = {
    "math.sin": lambda t: 2.0 * math.sin(t),
    "sine": lambda t: sine(t),
    "np.cos": lambda t: np.cos(t),
    "np.arctan2": lambda t: np.arctan2(t, 1.0),
    "np.where": lambda t: np.where(t > 1.0, 1.0, 0.0),
    "np.maximum": lambda t: np.maximum(t, 1.0),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_function_of_math_or_numpy_is_named_with_the_one_to_import(name):
    def make(formula):
        return loop(Se("u", formula, signals=["time"]), I("m", 1.0), R("r", 1.0))

    text, (cure,) = advice(lambda: make(FOREIGN[name]))
    assert f"{name} takes numbers" in text, text
    assert cure.startswith("from screws.scalars import ")
    assert callable(getattr(scalars, cure.split()[-1]))


OPERATORS = {"%": lambda t: t % 0.7, "//": lambda t: t // 0.7}


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_of_numbers_alone_is_told_with_an_expression(operator):
    _, (cure,) = advice(lambda: loop(Se("u", OPERATORS[operator], signals=["time"]), I("m", 1.0)))
    expression = cure.partition(" for ")[0]
    for t in (0.3, 1.9, -1.7):
        found = eval(expression, {**vars(scalars), "x": t, "y": 0.7})  # noqa: S307
        assert found == pytest.approx(OPERATORS[operator](t), rel=1e-14)


@pytest.mark.parametrize("result", [None, "2 * t"])
def test_a_formula_without_a_number_is_the_only_problem_reported(result):
    text, _ = advice(lambda: loop(Se("u", lambda t: result, signals=["time"]), I("m", 1.0)))
    assert f"returns {result!r}" in text and text.startswith('E129 Se "u": the formula of u.effort')


def test_numpy_functions_of_numbers_are_not_accused():
    _, cures = advice(lambda: loop(Se("u", lambda t: np.exp(1.0) * math.cos(t), signals=["time"]), I("m", 1.0)))
    assert cures == ("from screws.scalars import cos",)


def test_an_interpolation_becomes_a_table():
    points, values = [0.0, 1.0, 3.0], [0.0, 2.0, -1.0]
    text, (cure,) = advice(lambda: loop(Se("u", lambda t: np.interp(t, points, values), signals=["time"]), I("m", 1.0)))
    assert "np.interp takes numbers" in text and "signals.table(" in cure
    graph = loop(Se("u", lambda y: y, signals=["curve.y"]), I("m", 1.0))
    block = cure.removeprefix("the block ").partition(", with")[0]
    graph.add(eval(block, {"signals": signals, "points": points, "values": values}))  # noqa: S307
    run = graph.simulate(4.0, samples=0.125, progress=False)
    np.testing.assert_allclose(run["u.effort"], np.interp(run.t, points, values), rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_expression_in_place_of_a_function_is_that_function(name):
    """The numbers have both signs, and none ends in .5, because Python rounds halves to even."""
    function = {"float": float, "int": int, "round": round}.get(name) or getattr(np, name, None) or getattr(math, name)
    count = len({"x", "y", "z"} & set(EXPRESSIONS[name].replace("exp", "").replace("max", "")))
    for numbers in ((0.7, 1.9, 2.5), (2.3, 0.4, 1.0), *(() if name.startswith("log") else ((-1.7, 0.6, 0.9),))):
        if name in ("pow", "power"):
            numbers = tuple(map(abs, numbers))
        expected = function(*numbers[:count])
        scope = {**vars(scalars), "math": math, **dict(zip("xyz", numbers, strict=True))}
        assert eval(EXPRESSIONS[name], scope) == pytest.approx(expected, rel=1e-14, abs=1e-14)  # noqa: S307


CURES = {
    "x * 180.0 / math.pi for degrees": lambda t: np.degrees(t),
    "sign(x) * absolute(x) ** (1.0 / 3.0) for cbrt, from screws.scalars": lambda t: np.cbrt(t),
}


@pytest.mark.parametrize("cure", CURES)
def test_only_an_expression_with_functions_names_their_module(cure):
    _, cures = advice(lambda: loop(Se("u", CURES[cure], signals=["time"]), I("m", 1.0)))
    assert cures == (cure,)


def test_an_error_of_another_kind_accuses_no_function():
    def fails(t):
        return np.exp(1.0) * t + None

    try:
        fails(1.0)
    except TypeError as error:
        assert foreign_functions(error) == {}
