"""Formulas that are replayed as steps, on any scalars, perform the operations of the original formula."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import sympy

from screws import scalars
from screws.jets import Jet
from screws.linear import solve_spd
from screws.scalars import absolute, array, atan2, cos, equal, exp, less, maximum, sign, sin, where
from tests.inner.interchange import (
    ARITY,
    FUNCTIONS,
    MAX_ENTRIES,
    MAX_NESTING,
    InvalidFormula,
    Replay,
    formula_from_json,
    record_formula,
)
from tests.inner.model import partials
from tests.inner.tape import Routine, Tape, TraceError, listing, opcodes


def branches(x: Any, y: Any) -> Any:
    chosen = where(less(0.0, x) & ~equal(y, 2.0) | (x != y), sin(x) ** 2, exp(-y))
    return chosen + maximum(absolute(x), sign(y)) - 2 * atan2(x, y) / (1.0 - -x) + x**0.5 * 3 - 0.0 * y


def solved(q: Any, v: Any) -> Any:
    mass = array([[2.0 + cos(q[1]), 0.5 * q[0]], [0.5 * q[0], 3.0]])
    return solve_spd(mass, v - q), q @ v


def sloped(q: Any, m: Any) -> Any:
    lever = m * sin(q[0])

    def energy(at: Any) -> list[Any]:
        inner = partials(lambda b: [b[0] ** 3 * lever + b[1] * at[0]], at, (q, m))[0]
        return [inner[0] * inner[1] + at[0] * at[1] * lever, at[1]]

    return array(list(partials(energy, q, (m,))[0])) + q


FORMULAS = {
    "branches": (branches, ((), ()), 1),
    "solved": (solved, ((2,), (2,)), 2),
    "sloped": (sloped, ((2,), ()), 1),
    "constant": (lambda: np.array([1.0, np.inf, -0.0]), (), 1),
    "identity": (lambda x: x, ((2, 3),), 1),
}


def on_tape(function: Any, shapes: Any, results: int) -> tuple[Any, Any]:
    tape = Tape()
    given = [tape.inputs(f"a{k}", max(int(np.prod(shape)), 1)) for k, shape in enumerate(shapes)]
    found = function(*(a.reshape(shape) if shape else a[0] for a, shape in zip(given, shapes, strict=True)))
    several = found if results > 1 else (found,)
    outputs = tuple(s for value in several for s in np.asarray(value, dtype=object).flat)
    blocks = tuple((f"a{k}", len(a)) for k, a in enumerate(given))
    return tape.nodes, listing(Routine("formula", tape, blocks, outputs))


@pytest.mark.parametrize("name", FORMULAS)
def test_on_a_tape_every_node_is_the_same(name: str) -> None:
    function, shapes, results = FORMULAS[name]
    replay = Replay(formula_from_json(json.loads(json.dumps(record_formula(function, shapes, results).to_json()))))
    assert on_tape(replay, shapes, results) == on_tape(function, shapes, results)


@pytest.mark.parametrize("name", FORMULAS)
def test_on_floats_it_gives_the_same_up_to_the_order_of_sums(name: str) -> None:
    function, shapes, results = FORMULAS[name]
    replay, random = Replay(record_formula(function, shapes, results)), np.random.default_rng(1)
    given = [random.uniform(0.1, 2.0, shape)[()] for shape in shapes]
    found, expected = replay(*given), function(*given)
    for one, other in zip(found, expected, strict=True) if results > 1 else ((found, expected),):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(np.asarray(one, dtype=float), other, rtol=1e-13)


def test_on_symbols_and_jets() -> None:
    x, y = sympy.symbols("x y", positive=True)
    replay = Replay(
        record_formula(lambda a, b: a * sin(b) ** 2 + 3 * partials(lambda at: [at[0] ** 2], array([a]))[0, 0], ((), ()))
    )
    assert sympy.simplify(replay(x, y) - (x * sympy.sin(y) ** 2 + 6 * x)) == 0
    product = Replay(record_formula(lambda a, b: a * sin(b), ((), ())))
    jet = product(Jet(2.0, 1.0), Jet(0.5, 0.0, 1.0))
    assert jet.parts()[:3] == (2.0 * np.sin(0.5), np.sin(0.5), 2.0 * np.cos(0.5))


def test_a_number_stands_for_an_array_and_another_shape_does_not() -> None:
    replay = Replay(record_formula(lambda x: 2.0 * x, ((3,),)))
    assert replay(1.5).tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(ValueError, match=r"shape \(3,\) is called with shape \(2,\)"):
        replay(np.zeros(2))
    with pytest.raises(ValueError, match="1 argument is called with 2"):
        replay(np.zeros(3), 1.0)


def test_a_scalar_of_a_piece_that_is_differentiated_is_not_used_outside() -> None:
    held: list[Any] = []

    def leaking(x: Any) -> Any:
        return partials(lambda at: [held.append(at[0]) or at[0] ** 2], array([x]))[0, 0] + held[0]

    with pytest.raises(TraceError, match="inside a gradient"):
        record_formula(leaking, ((),))


@pytest.mark.parametrize("formula", [lambda x: x if x > 0.0 else -x, lambda x: float(x), lambda x: x + "a", lambda x: np.sin(x)])
def test_unknown_steps_are_refused(formula: Any) -> None:
    with pytest.raises((TraceError, TypeError)):
        record_formula(formula, ((),))


def test_steps_are_the_operations_of_the_tape() -> None:
    """Inputs, constants and their tables are not steps, and only a tape creates the reciprocal."""
    assert set(ARITY) == set(opcodes.NAMES) - {"constant", "input", "reciprocal", "table", "table of inputs"} == set(FUNCTIONS)
    assert set(scalars.FUNCTIONS) < set(ARITY)


GOOD: dict[str, Any] = {"arguments": [[2]], "constants": [0.5], "steps": [["add", 0, 1]], "results": [[[], [2]]]}
NESTED: list[Any] = ["slopes", [0], [], [["sin", 0]], [3]]
for _ in range(MAX_NESTING):
    NESTED = ["slopes", [0], [], [NESTED], [0]]


@pytest.mark.parametrize(
    ("part", "given", "why"),
    [
        ("steps", [["add", 0]], "not a step"),
        ("steps", [["reciprocal", 0]], "not a step"),
        ("steps", [["__import__", 0]], "not a step"),
        ("steps", [["add", 0, 2]], "does not exist"),
        ("steps", [["add", 0, -2]], "does not exist"),
        ("steps", [["add", 0, 1.0]], "does not exist"),
        ("steps", [["add", 0, True]], "does not exist"),
        ("steps", [["power", -1, -1]], "only constants"),
        ("steps", [["slopes", [], [], [], []]], "with respect to nothing"),
        ("steps", [NESTED], "are nested"),
        (
            "steps",
            [["slopes", [0], [], [["sin", 2]], [3]], ["cos", 2]],
            "does not exist",
        ),  # a piece has its own indices and steps
        ("steps", [["slopes", [0], [], [["sin", 2]], [3]], ["cos", 3]], "does not exist"),
        ("steps", "add", "not a list"),
        ("arguments", [[-1]], "not the shape"),
        ("arguments", [[MAX_ENTRIES, 2]], "entries"),
        ("arguments", [[1, 1, 1, 1]], "not the shape"),
        ("constants", ["Infinity"], "not a number"),
        ("constants", [10**30], "not a number"),
        ("results", [], "no result"),
        ("results", [[[2], [0]]], "has 1 scalar"),
        ("results", [[[], [3]]], "does not exist"),
        ("more", 1, "nothing else"),
    ],
)
def test_invalid_formulas_are_refused_with_the_reason(part: str, given: Any, why: str) -> None:
    formula_from_json(GOOD)
    with pytest.raises(InvalidFormula, match=why):
        formula_from_json({**GOOD, part: given})
