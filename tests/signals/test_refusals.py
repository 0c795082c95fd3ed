"""Impossible signal blocks are refused with a code."""

from __future__ import annotations

import types

import numpy as np
import pytest

from bondgraph import Block, Element, ModelError, Parameter, signals
from tests.signals.chains import compiled


class System(types.SimpleNamespace): ...


WRONG = [
    ("E140", lambda: signals.summation("s", {}), ('summation "s"', "given: none")),
    ("E140", lambda: signals.product("p", "c.q"), ('product "p"', "'c.q'")),
    ("E140", lambda: signals.logic("l", "and", []), ('logic "l"', "list of inputs")),
    ("E140", lambda: signals.logic("l", "not", ["a.y", "b.y"]), ('"not" has 2 inputs',)),
    ("E141", lambda: signals.summation("s", {"c.q": 2}), ('"c.q" has the sign 2', "gain")),
    ("E142", lambda: signals.lowpass("l", "c.q", 0.0), ('lowpass "l": time_constant must be positive', "given: 0.0")),
    ("E142", lambda: signals.derivative_filter("d", "c.q", -1.0), ('derivative filter "d"',)),
    ("E142", lambda: signals.smooth_step("s", 0.0, 0.0), ('smooth step "s": duration',)),
    ("E142", lambda: signals.pid("c", "c.q", 1.0, 1.0, 1.0, Parameter(0.0, "s")), ('pid "c": filter_time',)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, kd=1.0), ('pid "c" has kd but no filter_time',)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, filter_time=1.0), ("has filter_time but no kd",)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, initial={"integral": 1.0}), ('pid "c" has no state integral',)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, 2.0, limits=(-1.0, 1.0)), ('"c" has no tracking_time', "kp / ki")),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, 2.0, tracking_time=1.0), ("tracking_time, but not both limits and ki",)),
    ("E142", lambda: signals.pid("c", "c.q", 1.0, 2.0, limits=(-1.0, 1.0), tracking_time=0.0), ("tracking_time",)),
    ("E148", lambda: signals.pid("c", "c.q", 1.0, limits=(1.0, -1.0)), ('pid "c": lowest is above highest',)),
    ("E148", lambda: signals.pid("c", "c.q", 1.0, limits=3.0), ('pid "c" has the limits 3.0', "(lowest, highest)")),
    ("E148", lambda: signals.pid("c", "c.q", 1.0, limits=(1.0, 2.0, 3.0)), ("a pair",)),
    ("E148", lambda: signals.sampled_pid("c", "c.q", 1.0, period=1.0, limits=3.0), ('sampled pid "c" has the limits 3.0',)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, 2.0, initial=3.0), ("start values 3.0", "by name")),
    ("E144", lambda: signals.transfer_function("h", "c.q", [1.0, 0.0], [2.0]), ("not proper", "num has degree 1")),
    ("E145", lambda: signals.transfer_function("h", "c.q", [1.0], [0.0, 0.0]), ('"h": den is zero',)),
    ("E145", lambda: signals.transfer_function("h", "c.q", "s", [1.0]), ("num is not a list of coefficients",)),
    ("E145", lambda: signals.transfer_function("h", "c.q", [1.0], 3.0), ("den is not a list of coefficients",)),
    (
        "E145",
        lambda: signals.transfer_function("h", "c.q", [1.0], [1.0, 1.0], initial=[1.0, 2.0]),
        ("not a start value of its state", "x has shape (1,)"),
    ),
    (
        "E443",
        lambda: signals.state_space("p", "c.q", np.eye(2), [1.0, 0.0], [[1.0, 0.0, 0.0]]),
        ("C has shape (1, 3), not (1, 2)",),
    ),
    ("E443", lambda: signals.state_space("p", ["c.q", "v.f"], [[1.0]], [[1.0]], [[1.0]]), ("2 inputs", "B has 1 column")),
    ("E443", lambda: signals.state_space("p", ["c.q", "v.f"], [], [], [], [[1.0, 2.0, 3.0]]), ("2 inputs", "D has 3 columns")),
    ("E443", lambda: signals.state_space("p", "c.q", [[np.nan]], [[1.0]], [[1.0]]), ("A is not a matrix of finite numbers",)),
    (
        "E443",
        lambda: signals.state_space("p", "c.q", np.eye(2), [1.0, 0.0], [1.0, 0.0], initial=[1.0]),
        ("not a start value of its state",),
    ),
    ("E443", lambda: signals.state_space("p", "c.q", System(num=[1.0], den=[1.0])), ("System is not a state space",)),
    ("E443", lambda: signals.transfer_function("h", "c.q", System(A=1.0)), ("System is not a transfer function",)),
    ("E443", lambda: signals.transfer_function("h", "c.q", System(num=[[[1.0], [2.0]]], den=[[[1.0], [1.0]]])), ("one input",)),
    ("E443", lambda: signals.transfer_function("h", "c.q", System(num=[[np.ones(2), np.ones(3)]] * 2, den=1)), ("one input",)),
    ("E443", lambda: signals.transfer_function("h", "c.q", System(num=[1.0], den=[1.0, 1.0], dt=True)), ("period is unknown",)),
    ("E443", lambda: signals.transfer_function("h", "c.q", System(num=[1.0], den=[2.0], dt=0), period=1.0), ("is continuous",)),
    ("E443", lambda: signals.transfer_function("h", "c.q", System(num=[1.0], den=[2.0], dt=0.5), period=1.0), ("every 0.5 s",)),
    ("E142", lambda: signals.transfer_function("h", "c.q", [1.0], [1.0, 0.5], period=0.0), ("period must be positive",)),
    ("E146", lambda: signals.table("f", "c.q", [0.0, 2.0, 2.0], [1.0, 2.0, 3.0]), ("2 is followed by 2, at index 2",)),
    ("E146", lambda: signals.table("f", "c.q", [0.0, float("inf")], [1.0, 2.0]), ("finite and ascending",)),
    ("E147", lambda: signals.table("f", "c.q", [0.0, 1.0], [1.0, 2.0, 3.0]), ("shape (2,)", "shape (3,)")),
    ("E147", lambda: signals.table("f", "c.q", [0.0], [1.0]), ('table "f"',)),
    ("E147", lambda: signals.table("f", "c.q", "ab", [1.0, 2.0]), ("are not numbers",)),
    ("E148", lambda: signals.limiter("l", "c.q", 2.0, 1.0), ('limiter "l": lowest is above highest', "swap")),
    ("E148", lambda: signals.dead_zone("d", "c.q", 2.0, 1.0), ('dead zone "d"',)),
    ("E142", lambda: signals.chirp("c", 1.0, 2.0, 0.0), ('chirp "c": duration',)),
    ("E142", lambda: signals.quantiser("q", "c.q", 0.0), ('quantiser "q": step must be positive',)),
    ("E142", lambda: signals.pwm("p", "c.q", 0.0), ('pulse-width modulation "p": period must be positive',)),
    ("E142", lambda: signals.noise("n", 1.0, 0.0, seed=1), ('noise "n": period',)),
    ("E142", lambda: signals.delay("d", "c.q", -0.1), ('delay "d": time must be positive', "given: -0.1")),
    ("E148", lambda: signals.rate_limiter("l", "c.q", 2.0, 1.0), ('rate limiter "l": falling is above rising',)),
    ("E148", lambda: signals.hysteresis("h", "c.q", 2.0, 1.0), ('hysteresis "h": lower is above upper',)),
    ("E148", lambda: signals.sampled_rate_limiter("l", "c.q", 1.0, -1.0, period=1.0), ("falling is above rising",)),
    ("E148", lambda: signals.ramp("r", 1.0, 3.0, 2.0), ('ramp "r": start is above end',)),
    ("E444", lambda: signals.measured("m", "nowhere.csv"), ('measured input "m": "nowhere.csv" cannot be read',)),
    ("E445", lambda: signals.measured("m", {"t": [0.0, 1.0], "h (lbz)": [0.0, 1.0]}), ('the unit "lbz"',)),
    ("E446", lambda: signals.measured("m", ([0.0, 1.0, 1.0], [0.0, 1.0, 2.0])), ("is repeated", "clean=True")),
    ("E149", lambda: signals.logic("l", "xor", ["a.y", "b.y"]), ("no relation 'xor'", '"and", "or" and "not"')),
]

NO_BLOCK = [
    (
        "E150",
        lambda: Block("b", [], states={"y": 0.0}, updates={"y": lambda y: 2.0 * y}, period=1.0),
        ('updates["y"]', '("result", '),
    ),
    ("E150", lambda: Block("b", [], states={"y": 0.0}, rates={"y": 1.0}), ('rates["y"]',)),
    ("E150", lambda: Block("b", [], parameters=["k"]), ("`parameters` cannot be ['k']", 'parameters={"k": 2.0}')),
]


@pytest.mark.parametrize(
    ("code", "make", "words"), WRONG + NO_BLOCK, ids=[f"{c}-{i}" for i, (c, _, _) in enumerate(WRONG + NO_BLOCK)]
)
def test_invalid_blocks_are_refused(code: str, make, words: tuple[str, ...]) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    (problem,) = caught.value.problems
    assert problem.code == code and problem.cures
    for word in (*words, "created at test_refusals.py:"):
        assert word in str(problem), str(problem)


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (signals.gain("g", "no.y", 1.0), "E106"),
        (signals.gain("g", "time", float("nan")), "E113"),
        (signals.lowpass("g", "time", "long"), "E113"),
        (signals.square("g", duty=25.0), "E151"),
        (signals.square("g", duty=Parameter(125.0, "%")), "E151"),
    ],
)
def test_a_graph_reports_faults_of_blocks(block: Element, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        compiled(block)
    assert [p.code for p in caught.value.problems] == [code]
