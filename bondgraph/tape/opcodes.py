"""Table of the instructions of a tape: code, NumPy function, expressions in LLVM, C, Python and MATLAB, and derivative of each.

All properties of an instruction are read from here. A new elementary function is an entry of `screws.scalars.FUNCTIONS`, with its
rule for jets, and a line here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from screws.scalars import FUNCTIONS, count_up_to, entry_of

Slope = Callable[[Any, int, int], int]
"""Function (tape, argument, result) -> the derivative of a function of one argument, all as positions on the tape."""


@dataclass(frozen=True)
class Operation:
    """One instruction.

    Parameters
    ----------
    name : elementary functions are named as in `screws.scalars`.
    arguments : number of arguments; the first `truths` of them are conditions.
    numpy : the function of floats and arrays.
    llvm, c : expressions in {x}, {y}, {z}, the arguments' expressions; in LLVM, lines whose names end in
        {v} may precede the expression.
    python, matlab : expressions for NumPy's arrays, and for MATLAB and Octave; a MATLAB expression with {v} is a whole statement,
        which assigns {v}. Where MATLAB would return a complex number, the result is nan, as everywhere else.
    slope : derivative of a function of one argument.
    is_condition : the result is true or false; in arithmetic it counts as 1 or 0.
    selects : the instruction passes on one of several values; its derivatives select too.
    flat : the derivatives are zero.
    commutes : the order of the two arguments does not matter.
    parity : -1 for f(-x) = -f(x), 1 for f(-x) = f(x), else 0.
    """

    name: str
    arguments: int
    numpy: Callable[..., Any]
    llvm: str
    c: str
    python: str = ""
    matlab: str = ""
    slope: Slope | None = None
    truths: int = 0
    is_condition: bool = False
    selects: bool = False
    flat: bool = False
    commutes: bool = False
    parity: int = 0


OPERATIONS: list[Operation] = []
"""Record of each instruction, by its code."""


def _operation(name: str, arguments: int, numpy: Callable[..., Any], llvm: str, c: str, **facts: Any) -> int:
    OPERATIONS.append(Operation(name, arguments, numpy, llvm, c, **facts))
    return len(OPERATIONS) - 1


def _arithmetic(name: str, arguments: int, numpy: Callable[..., Any], llvm: str, text: str, **facts: Any) -> int:
    return _operation(name, arguments, numpy, llvm, text, python=text, matlab=text, **facts)


_EXACT = ("fabs", "sqrt", "floor")
"""Functions that every processor rounds correctly; all other functions come from `emit.elementary.functions`."""


def _function(
    name: str, slope: Slope | None = None, c: str = "", matlab: str = "", arguments: int = 1, llvm: str = "", **facts: Any
) -> int:
    """Append a function and return its code. LLVM and C call it by name unless `llvm` or `c` gives an expression; MATLAB uses
    `matlab`, or else the text for C."""
    x = ("{x}", "{y}")[:arguments]
    intrinsic, numpy = {"absolute": "fabs"}.get(name, name), FUNCTIONS[name][0]
    library = "llvm" if intrinsic in _EXACT else "elementary"
    llvm = llvm or f"call double @{library}.{intrinsic}.f64({', '.join(f'double {a}' for a in x)})"
    c = c or f"{intrinsic}({', '.join(x)})"
    texts = {"python": f"np.{numpy.__name__}({', '.join(x)})", "matlab": matlab or c}
    return _operation(name, arguments, numpy, llvm, c, slope=slope, **texts, **facts)


def _comparison(name: str, llvm: str, sign: str, **facts: Any) -> int:
    llvm, text = f"fcmp {llvm} double {{x}}, {{y}}", f"{{x}} {sign} {{y}}"
    return _arithmetic(name, 2, FUNCTIONS[name][0], llvm, text, is_condition=True, flat=True, **facts)


def _unless(outside: str, expression: str) -> str:
    """Return a MATLAB statement that gives nan outside the real domain of a function."""
    return f"if {outside}, {{v}} = NaN; else, {{v}} = {expression}; end"


def _select_first(first: str) -> str:
    """Return a MATLAB statement that selects the first argument if `first` is true; MATLAB's own min and max ignore nan."""
    return f"if {first.replace('!=', '~=')}, {{v}} = {{x}}; else, {{v}} = {{y}}; end"


def _one_minus_square(tape: Any, a: int) -> int:
    return int(tape.subtract(tape.constant(1.0), tape.multiply(a, a)))


def _one_plus_square(tape: Any, a: int) -> int:
    return int(tape.add(tape.constant(1.0), tape.multiply(a, a)))


def _arc_slope(tape: Any, a: int) -> int:
    return int(tape.reciprocal(tape.function("sqrt", _one_minus_square(tape, a))))


def _where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b  # ten times as fast for floats


def _not_computed(*_: Any) -> Any:
    raise TypeError("constants and inputs are not computed")


# leaves of a tape; all other instructions follow them. A table is an operand of lookups only
CONSTANT = _operation("constant", 0, _not_computed, "", "", flat=True)
TABLE = _operation("table", 0, _not_computed, "", "", flat=True)
TABLE_OF_INPUTS = _operation("table of inputs", 0, _not_computed, "", "", flat=True)
INPUT = _operation("input", 0, _not_computed, "", "", flat=True)
# operators of NumPy's scalars are bitwise equal to `np.add`, in a third of the time
ADD = _arithmetic("add", 2, operator.add, "fadd double {x}, {y}", "{x} + {y}", commutes=True)
SUBTRACT = _arithmetic("subtract", 2, operator.sub, "fsub double {x}, {y}", "{x} - {y}")
MULTIPLY = _arithmetic("multiply", 2, operator.mul, "fmul double {x}, {y}", "{x} * {y}", commutes=True)
DIVIDE = _arithmetic("divide", 2, operator.truediv, "fdiv double {x}, {y}", "{x} / {y}")
NEGATIVE = _arithmetic("negative", 1, operator.neg, "fneg double {x}", "-{x}", slope=lambda t, a, y: t.constant(-1.0))
RECIPROCAL = _arithmetic(
    "reciprocal",
    1,
    lambda a: np.float64(1.0) / a,
    "fdiv double 1.0, {x}",
    "1.0 / {x}",
    slope=lambda t, a, y: t.negative(t.multiply(y, y)),
)
POWER = _operation(
    "power",
    2,
    np.power,
    "call double @elementary.pow.f64(double {x}, double {y})",
    "pow({x}, {y})",
    python="np.power({x}, {y})",
    matlab=_unless("{x} < 0 && {y} ~= floor({y})", "{x} ^ {y}"),
)
SIN = _function("sin", lambda t, a, y: t.function("cos", a), parity=-1)
COS = _function("cos", lambda t, a, y: t.negative(t.function("sin", a)), parity=1)
TAN = _function("tan", lambda t, a, y: _one_plus_square(t, y), parity=-1)
ASIN = _function("asin", lambda t, a, y: _arc_slope(t, a), matlab=_unless("abs({x}) > 1", "asin({x})"), parity=-1)
ACOS = _function("acos", lambda t, a, y: t.negative(_arc_slope(t, a)), matlab=_unless("abs({x}) > 1", "acos({x})"))
ATAN = _function("atan", lambda t, a, y: t.reciprocal(_one_plus_square(t, a)), parity=-1)
ATAN2 = _function("atan2", arguments=2)
SQRT = _function("sqrt", lambda t, a, y: t.multiply(t.constant(0.5), t.reciprocal(y)), matlab=_unless("{x} < 0", "sqrt({x})"))
EXP = _function("exp", lambda t, a, y: y)
EXPM1 = _function("expm1", lambda t, a, y: t.function("exp", a))
LOG = _function("log", lambda t, a, y: t.reciprocal(a), matlab=_unless("{x} < 0", "log({x})"))
TANH = _function("tanh", lambda t, a, y: _one_minus_square(t, y), parity=-1)
ABSOLUTE = _function("absolute", matlab="abs({x})", selects=True, parity=1)
SIGN = _operation(
    "sign",
    1,
    np.sign,
    # zero and nan pass through
    "%n{v} = fcmp olt double {x}, 0.0\n%g{v} = fcmp ogt double {x}, 0.0\n"
    "%s{v} = select i1 %n{v}, double -1.0, double {x}\nselect i1 %g{v}, double 1.0, double %s{v}",
    "{x} > 0.0 ? 1.0 : {x} < 0.0 ? -1.0 : {x}",
    python="np.sign({x})",
    matlab="sign({x})",
    flat=True,
    parity=-1,
)
FLOOR = _function("floor", flat=True)
# the first argument if it is nan, the second if they are equal: zeros have signs
_EXTREME = (
    "%l{{v}} = fcmp {0} double {{x}}, {{y}}\n%m{{v}} = select i1 %l{{v}}, double {{x}}, double {{y}}\n"
    "%u{{v}} = fcmp uno double {{x}}, {{x}}\nselect i1 %u{{v}}, double {{x}}, double %m{{v}}"
)
_SELECTS: dict[str, Any] = {"arguments": 2, "selects": True, "commutes": True}
_LESS, _MORE = ("{x} < {y} || {x} != {x}", "{x} > {y} || {x} != {x}")
MINIMUM = _function("minimum", c=f"{_LESS} ? {{x}} : {{y}}", matlab=_select_first(_LESS), llvm=_EXTREME.format("olt"), **_SELECTS)
MAXIMUM = _function("maximum", c=f"{_MORE} ? {{x}} : {{y}}", matlab=_select_first(_MORE), llvm=_EXTREME.format("ogt"), **_SELECTS)
LESS = _comparison("less", "olt", "<")
LESS_EQUAL = _comparison("less_equal", "ole", "<=")
EQUAL = _comparison("equal", "oeq", "==", commutes=True)
_LOGIC: dict[str, Any] = {"is_condition": True, "flat": True}
_AND = {"python": "np.logical_and({x}, {y})", "matlab": "{x} && {y}"}
_OR = {"python": "np.logical_or({x}, {y})", "matlab": "{x} || {y}"}
_NOT = {"python": "np.logical_not({x})", "matlab": "~{x}"}
BOTH = _operation("both", 2, np.logical_and, "and i1 {x}, {y}", "{x} && {y}", **_AND, truths=2, commutes=True, **_LOGIC)
EITHER = _operation("either", 2, np.logical_or, "or i1 {x}, {y}", "{x} || {y}", **_OR, truths=2, commutes=True, **_LOGIC)
OPPOSITE = _operation("opposite", 1, np.logical_not, "xor i1 {x}, true", "!{x}", **_NOT, truths=1, **_LOGIC)
WHERE = _operation(
    "where",
    3,
    _where,
    "select i1 {x}, double {y}, double {z}",
    "{x} ? {y} : {z}",
    python="where({x}, {y}, {z})",
    matlab="if {x}, {v} = {y}; else, {v} = {z}; end",
    truths=1,
    selects=True,
)
# the second argument is a table; {y} is its address, {n} its length
SEARCHSORTED = _operation(
    "searchsorted",
    2,
    count_up_to,
    "call double @searchsorted(double {x}, ptr {y}, i64 {n})",
    "searchsorted({x}, {y}, {n})",
    python="searchsorted({x}, {y})",
    matlab="sum({x} >= {y})",
    flat=True,
)
TAKE = _operation(
    "take",
    2,
    entry_of,
    "call double @take(double {x}, ptr {y}, i64 {n})",
    "take({x}, {y}, {n})",
    python="take({x}, {y})",
    matlab="{y}(fix(min(max({x}, 0), numel({y}) - 1)) + 1)",
    selects=True,
)

NAMES = tuple(operation.name for operation in OPERATIONS)
CODES = {name: code for code, name in enumerate(NAMES)}

CONDITIONS = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.is_condition)
SELECTS = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.selects)
FLAT = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.flat)
OF_BLOCKS = frozenset((INPUT, TABLE_OF_INPUTS))
LOOKUPS = frozenset((SEARCHSORTED, TAKE))
COMMUTATIVE = frozenset(code for code, operation in enumerate(OPERATIONS) if operation.commutes)
