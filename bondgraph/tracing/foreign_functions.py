"""Functions of `math` and NumPy in a formula that cannot be traced: their names, and what to write in their place."""

from __future__ import annotations

import builtins
import dis
import linecache
import math
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from bondgraph.errors import is_own_file
from screws.scalars import FUNCTIONS

_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "abs": "absolute", "fabs": "absolute"}
_NAMES |= {"fmin": "minimum", "fmax": "maximum"} | {name: name for name in (*FUNCTIONS, "where")}
"""Names in `math` or NumPy, with the function of `screws.scalars` that does the same."""

EXPRESSIONS = {
    "ceil": "-floor(-x)",
    "cbrt": "sign(x) * absolute(x) ** (1.0 / 3.0)",
    "clip": "minimum(maximum(x, y), z)",
    "copysign": "where(y < 0.0, -absolute(x), absolute(x))",
    "cosh": "(exp(x) + exp(-x)) / 2.0",
    "degrees": "x * 180.0 / pi",
    "deg2rad": "x * pi / 180.0",
    "exp2": "2.0**x",
    "expm1": "exp(x) - 1.0",
    "float": "x",
    "heaviside": "where(x < 0.0, 0.0, where(x > 0.0, 1.0, y))",
    "hypot": "sqrt(x**2 + y**2)",
    "int": "sign(x) * floor(absolute(x))",
    "log10": "log(x) / log(10.0)",
    "log1p": "log(1.0 + x)",
    "log2": "log(x) / log(2.0)",
    "mod": "x - y * floor(x / y)",
    "pow": "x**y",
    "power": "x**y",
    "rad2deg": "x * 180.0 / pi",
    "radians": "x * pi / 180.0",
    "remainder": "x - y * floor(x / y)",
    "round": "floor(x + 0.5)",
    "sinh": "(exp(x) - exp(-x)) / 2.0",
    "square": "x * x",
}
"""Expressions of `screws.scalars` by the name of a function of NumPy with arguments x, y, z. `math.remainder` is another one."""

_TABLE = 'signals.table("curve", "time", points, values), a block, and "curve.y" among the signals of the formula'
"""Advice for `interp`: the block has the ascending points and their values."""


OPERATORS = {" %: ": "x - y * floor(x / y) for x % y", "//: ": "floor(x / y) for x // y"}
"""Expressions of `screws.scalars` for operators, by the mark of the message of Python."""


def foreign_operators(error: Exception) -> tuple[str, ...]:
    """Return what to write in place of an operator of numbers alone.

    >>> foreign_operators(TypeError("unsupported operand type(s) for %: 'TapeScalar' and 'float'"))
    ('x - y * floor(x / y) for x % y, of screws.scalars',)
    """
    text = str(error) if isinstance(error, TypeError) else ""
    return tuple(f"{advice}, of screws.scalars" for mark, advice in OPERATORS.items() if mark in text)


def foreign_functions(error: Exception) -> dict[str, str]:
    """Return the function of `math` or NumPy whose call in a formula raised the error, with what to write in its place.

    The advice is "" for a function without a counterpart. Without the source of the formula, all functions in it are returned.
    """
    failing = _failing_frame(error)
    if failing is None:
        return {}
    frame, text = failing
    names = dict(_called(frame))
    here = {name: function for name, function in names.items() if text is None or text.startswith(f"{name}(")}
    return {name: _advice(function) for name, function in here.items()}


def _advice(function: Any) -> str:
    name = getattr(function, "__name__", "")
    if name == "interp":
        return _TABLE
    if name in _NAMES:
        return f"from screws.scalars import {_NAMES[name]}"
    if name in EXPRESSIONS and function is not math.remainder:
        return f"{EXPRESSIONS[name]} for {name}, of screws.scalars"
    return ""


def _failing_frame(error: Exception) -> tuple[FrameType, str | None] | None:
    """Return the innermost frame of the user's with the text of the call that failed, None for text without a source; None if it
    is no call that failed."""
    failing, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not is_own_file(code.co_filename) and "numpy" not in code.co_filename.replace("\\", "/").split("/"):
            is_call = "CALL" in dis.opname[code.co_code[step.tb_lasti]]
            failing = (step.tb_frame, _text_at(code, step.tb_lasti)) if is_call else None
        step = step.tb_next
    return failing


def _text_at(code: CodeType, instruction: int) -> str | None:
    """Return the source of an instruction, None where it is unknown."""
    line, end, column, end_column = list(code.co_positions())[instruction // 2]
    if line is None or end is None or column is None or end_column is None:
        return None
    lines = [linecache.getline(code.co_filename, number) for number in range(line, end + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1].encode()[:end_column].decode(errors="replace")
    lines[0] = lines[0].encode()[column:].decode(errors="replace")
    return "".join(lines)


def _called(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield functions of `math`, NumPy and the builtins `float`, `int` and `round` that the code of a frame names."""
    scope = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    names = [*frame.f_code.co_names, *frame.f_code.co_freevars]
    for name in names:
        value = scope.get(name)
        if value is math or value is np:
            yield from ((f"{name}.{each}", getattr(value, each)) for each in names if callable(getattr(value, each, None)))
        elif any(value is each for each in (float, int, round)) or isinstance(value, np.ufunc) or _is_of(value, "math"):
            yield name, value


def _is_of(value: Any, module: str) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module
