"""The instructions of a tape, one table: a record for each in; its code, and what NumPy, LLVM, C and derivatives make of it, out.

What follows from a formula is read from here only. A new elementary function is an entry of `screws.scalars.FUNCTIONS`, with its
rule for jets, and a line here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from screws.scalars import FUNCTIONS

Slope = Callable[[Any, int, int], int]
"""(tape, argument, result) -> the derivative of a function of one argument, as places on the tape."""


@dataclass(frozen=True)
class Operation:
    """One instruction.

    Parameters
    ----------
    name : elementary functions are named as in `screws.scalars`.
    arguments : how many; of these the first `truths` are conditions.
    numpy : the function of floats and arrays.
    llvm, c : expressions in {x}, {y}, {z}, the texts of the arguments; LLVM may need lines before, whose names end in {v}.
    slope : derivative of a function of one argument.
    is_condition : its result is true or false; in arithmetic it counts as 1 or 0.
    selects : it passes on one of several values; its derivatives select too.
    flat : its derivatives are zero.
    commutes : its two arguments may be exchanged.
    parity : -1 where f(-x) = -f(x), 1 where f(-x) = f(x), else 0.
    """

    name: str
    arguments: int
    numpy: Callable[..., Any]
    llvm: str
    c: str
    slope: Slope | None = None
    truths: int = 0
    is_condition: bool = False
    selects: bool = False
    flat: bool = False
    commutes: bool = False
    parity: int = 0


OPERATIONS: list[Operation] = []
"""The record of instruction `code` is `OPERATIONS[code]`."""


def _operation(name: str, arguments: int, numpy: Callable[..., Any], llvm: str, c: str, **facts: Any) -> int:
    """The code of a new instruction."""
    OPERATIONS.append(Operation(name, arguments, numpy, llvm, c, **facts))
    return len(OPERATIONS) - 1


def _function(name: str, slope: Slope | None = None, c: str = "", arguments: int = 1, flags: str = "", **facts: Any) -> int:
    """The code of an elementary function that LLVM has by name, and C too unless it is given."""
    x = ("{x}", "{y}")[:arguments]
    called = {"absolute": "fabs"}.get(name, name)
    llvm = f"call {flags}double @llvm.{called}.f64({', '.join(f'double {a}' for a in x)})"
    return _operation(name, arguments, FUNCTIONS[name][0], llvm, c or f"{called}({', '.join(x)})", slope=slope, **facts)


def _comparison(name: str, llvm: str, c: str, **facts: Any) -> int:
    return _operation(
        name, 2, FUNCTIONS[name][0], f"fcmp {llvm} double {{x}}, {{y}}", f"{{x}} {c} {{y}}", is_condition=True, flat=True, **facts
    )


def _one_minus_square(tape: Any, a: int) -> int:
    return int(tape.subtract(tape.constant(1.0), tape.multiply(a, a)))


def _one_plus_square(tape: Any, a: int) -> int:
    return int(tape.add(tape.constant(1.0), tape.multiply(a, a)))


def _arc_slope(tape: Any, a: int) -> int:
    return int(tape.reciprocal(tape.function("sqrt", _one_minus_square(tape, a))))


def _where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b  # a tenth of the time


def _known(*_: Any) -> Any:
    raise TypeError("constants and inputs are not computed")


CONSTANT = _operation("constant", 0, _known, "", "", flat=True)
INPUT = _operation("input", 0, _known, "", "", flat=True)
# operators of NumPy's scalars give the same bits as `np.add`, in a third of the time
ADD = _operation("add", 2, operator.add, "fadd contract double {x}, {y}", "{x} + {y}", commutes=True)
SUBTRACT = _operation("subtract", 2, operator.sub, "fsub contract double {x}, {y}", "{x} - {y}")
MULTIPLY = _operation("multiply", 2, operator.mul, "fmul contract double {x}, {y}", "{x} * {y}", commutes=True)
DIVIDE = _operation("divide", 2, operator.truediv, "fdiv double {x}, {y}", "{x} / {y}")
NEGATIVE = _operation("negative", 1, operator.neg, "fneg double {x}", "-{x}", slope=lambda t, a, y: t.constant(-1.0))
RECIPROCAL = _operation(
    "reciprocal",
    1,
    lambda a: np.float64(1.0) / a,
    "fdiv double 1.0, {x}",
    "1.0 / {x}",
    slope=lambda t, a, y: t.negative(t.multiply(y, y)),
)
POWER = _operation("power", 2, np.power, "call double @llvm.pow.f64(double {x}, double {y})", "pow({x}, {y})")
SIN = _function("sin", lambda t, a, y: t.function("cos", a), parity=-1)
COS = _function("cos", lambda t, a, y: t.negative(t.function("sin", a)), parity=1)
TAN = _function("tan", lambda t, a, y: _one_plus_square(t, y), parity=-1)
ASIN = _function("asin", lambda t, a, y: _arc_slope(t, a), parity=-1)
ACOS = _function("acos", lambda t, a, y: t.negative(_arc_slope(t, a)))
ATAN = _function("atan", lambda t, a, y: t.reciprocal(_one_plus_square(t, a)), parity=-1)
ATAN2 = _function("atan2", arguments=2)
SQRT = _function("sqrt", lambda t, a, y: t.multiply(t.constant(0.5), t.reciprocal(y)))
EXP = _function("exp", lambda t, a, y: y)
LOG = _function("log", lambda t, a, y: t.reciprocal(a))
TANH = _function("tanh", lambda t, a, y: _one_minus_square(t, y), parity=-1)
ABSOLUTE = _function("absolute", selects=True, parity=1)
SIGN = _operation(
    "sign",
    1,
    np.sign,
    # zero and what is no number pass through
    "%n{v} = fcmp olt double {x}, 0.0\n%g{v} = fcmp ogt double {x}, 0.0\n"
    "%s{v} = select i1 %n{v}, double -1.0, double {x}\nselect i1 %g{v}, double 1.0, double %s{v}",
    "{x} > 0.0 ? 1.0 : {x} < 0.0 ? -1.0 : {x}",
    flat=True,
    parity=-1,
)
FLOOR = _function("floor", flat=True)
_EXTREME: dict[str, Any] = {"arguments": 2, "flags": "nsz ", "selects": True, "commutes": True}
MINIMUM = _function("minimum", c="{x} < {y} || {x} != {x} ? {x} : {y}", **_EXTREME)
MAXIMUM = _function("maximum", c="{x} > {y} || {x} != {x} ? {x} : {y}", **_EXTREME)
LESS = _comparison("less", "olt", "<")
LESS_EQUAL = _comparison("less_equal", "ole", "<=")
EQUAL = _comparison("equal", "oeq", "==", commutes=True)
_LOGIC: dict[str, Any] = {"is_condition": True, "flat": True}
BOTH = _operation("both", 2, np.logical_and, "and i1 {x}, {y}", "{x} && {y}", truths=2, commutes=True, **_LOGIC)
EITHER = _operation("either", 2, np.logical_or, "or i1 {x}, {y}", "{x} || {y}", truths=2, commutes=True, **_LOGIC)
OPPOSITE = _operation("opposite", 1, np.logical_not, "xor i1 {x}, true", "!{x}", truths=1, **_LOGIC)
WHERE = _operation("where", 3, _where, "select i1 {x}, double {y}, double {z}", "{x} ? {y} : {z}", truths=1, selects=True)

NAMES = tuple(operation.name for operation in OPERATIONS)
CODES = {name: code for code, name in enumerate(NAMES)}

CONDITIONS = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.is_condition)
SELECTS = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.selects)
FLAT = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.flat)
COMMUTATIVE = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.commutes)
