"""Some exponentials of sums of logarithms become products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import screws.scalars as s
from tests.inner.tape import Routine, Tape, interpreter, listing
from tests.inner.tape import opcodes as op

LEAST = 1e-300


def L(x: Any) -> Any:
    return s.log(s.maximum(x, LEAST))


def operations(formula: Callable[..., Any]) -> list[int]:
    tape = Tape()
    output = formula(tape.inputs("x", 3), tape.inputs("p", 2))
    return [step[0] for step in listing(Routine("f", tape, (("x", 3), ("p", 2)), (output,))).steps]


def value(routine: Routine, *blocks: Any) -> float:
    out = np.empty(1)
    interpreter(listing(routine))([np.array(block) for block in blocks], out)
    return float(out[0])


PRODUCTS = {
    "a": lambda x, p: s.exp(L(x[0])),
    "a b": lambda x, p: s.exp(L(x[0]) + L(x[1])),
    "a b^2": lambda x, p: s.exp(L(x[0]) + 2.0 * L(x[1])),
    "a^2 b from differences": lambda x, p: s.exp(3.0 * L(x[0]) - (L(x[0]) - L(x[1]))),
    "a a as two terms": lambda x, p: s.exp(L(x[0]) + (L(x[1]) + L(x[0]))),
    "of a common number": lambda x, p: s.exp((2577.34 * L(x[0]) + 3.0 * (2577.34 * L(x[1]))) / 2577.34),
    "of a common parameter": lambda x, p: s.exp((p[0] * L(x[0]) + 2.0 * (p[0] * L(x[1]))) / p[0]),
    "of a common product": lambda x, p: s.exp((p[0] * p[1]) * (L(x[0]) + L(x[1])) / p[1] / p[0]),
    "with a number": lambda x, p: s.exp(1.5 + L(x[0])),
    "of a magnitude": lambda x, p: s.exp(s.log(s.absolute(x[0])) + s.log(s.sqrt(x[1]))),
}
KEPT = {
    "what may be negative": lambda x, p: s.exp(s.log(x[0]) + L(x[1])),
    "a quotient": lambda x, p: s.exp(L(x[0]) - L(x[1])),
    "a root": lambda x, p: s.exp(0.5 * L(x[0])),
    "a high power": lambda x, p: s.exp(17.0 * L(x[0])),
    "factors that differ": lambda x, p: s.exp((p[0] * L(x[0]) + p[1] * L(x[1])) / p[0]),
    "a term of the states": lambda x, p: s.exp(L(x[0]) - x[1]),
    "an infinite power": lambda x, p: s.exp(1e200 * (1e200 * L(x[0]))),
    "a number that is far": lambda x, p: s.exp(L(x[0]) - 500.0),
}


@pytest.mark.parametrize("formula", PRODUCTS.values(), ids=PRODUCTS)
def test_integer_powers_need_neither_exponential_nor_logarithm(formula: Callable[..., Any]) -> None:
    assert not {op.EXP, op.LOG, op.POWER} & set(operations(formula))
    tape = Tape()
    routine = Routine("f", tape, (("x", 3), ("p", 2)), (formula(tape.inputs("x", 3), tape.inputs("p", 2)),))
    rng = np.random.default_rng(3)
    for _ in range(100):
        x, p = 10.0 ** rng.uniform(-6.0, 6.0, 3), 10.0 ** rng.uniform(-3.0, 3.0, 2)
        expected = formula(x, p)
        assert value(routine, x, p) == pytest.approx(expected, rel=1e-13 * (1.0 + abs(math.log(expected))))


@pytest.mark.parametrize("formula", KEPT.values(), ids=KEPT)
def test_noninteger_powers_stay(formula: Callable[..., Any]) -> None:
    assert {op.EXP, op.LOG} <= set(operations(formula))


def test_terms_of_parameters_stay_in_an_exponential_of_their_own() -> None:
    """exp((mu + RT log a) / RT) is a exp(mu / RT), and exp(mu / RT) is hoisted."""
    tape = Tape()
    x, p = tape.inputs("x", 3), tape.inputs("p", 2)
    assert s.exp((p[1] + p[0] * L(x[0])) / p[0]).index == (s.maximum(x[0], LEAST) * s.exp(p[1] / p[0])).index


def test_zero_and_products_outside_the_range_of_floats() -> None:
    """At zero, and where products leave the range of floats, the results equal the exponential of the sum."""
    tape = Tape()
    x = tape.inputs("x", 3)
    routine = Routine("f", tape, (("x", 3),), (s.exp(L(x[0]) + L(x[1]) + 2.0 * L(x[2])),))
    for point in ([0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [-1.0, 2.0, 3.0], [1e-150, 1e-150, 1e-150], [1e150, 1e150, 1e150]):
        with np.errstate(over="ignore"):
            expected = np.exp(sum(n * np.log(max(amount, LEAST)) for n, amount in zip((1, 1, 2), point, strict=True)))
            found = value(routine, point)
        assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_a_long_exponent_is_left_as_it_stands() -> None:
    tape = Tape()
    x = tape.inputs("x", 200)
    assert tape.nodes[s.exp(sum(L(amount) for amount in x)).index][0] == op.EXP


@pytest.mark.parametrize("formula", [lambda y: s.exp(y) - 1.0, lambda y: -1.0 + s.exp(y), lambda y: -(1.0 - s.exp(y))])
def test_an_exponential_less_one_does_not_cancel(formula: Callable[..., Any]) -> None:
    tape = Tape()
    x = tape.inputs("x", 1)
    routine = Routine("f", tape, (("x", 1),), (formula(x[0]),))
    for exponent in (1e-30, -1e-9, 0.5, 30.0):
        assert value(routine, [exponent]) == pytest.approx(math.expm1(exponent), rel=1e-15, abs=0.0)
