"""Elementary functions of one scalar, for every kind of scalar: floats and arrays in, the same kind out.

A formula written with these functions, `+ - * /` and NumPy indexing passes floats (the reference), SymPy
expressions (readable equations), jets (derivatives along a surface) and the scalars of a compiler (code)
through one and the same text. A foreign scalar takes part by a method

    __scalar_function__(self, name, arguments) -> scalar

where `name` is a key of `FUNCTIONS` and at least one of `arguments` is an instance of its class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Scalar = Any
"""A float, a SymPy expression, a jet or a compiler's scalar; or an array of them."""

FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "sin": (np.sin, "sin"),
    "cos": (np.cos, "cos"),
    "tan": (np.tan, "tan"),
    "asin": (np.arcsin, "asin"),
    "acos": (np.arccos, "acos"),
    "atan": (np.arctan, "atan"),
    "atan2": (np.arctan2, "atan2"),
    "sqrt": (np.sqrt, "sqrt"),
    "exp": (np.exp, "exp"),
    "log": (np.log, "log"),
    "tanh": (np.tanh, "tanh"),
    "absolute": (np.abs, "Abs"),
    "sign": (np.sign, "sign"),
    "floor": (np.floor, "floor"),
    "minimum": (np.minimum, "Min"),
    "maximum": (np.maximum, "Max"),
    "less": (np.less, "StrictLessThan"),
    "less_equal": (np.less_equal, "LessThan"),
    "equal": (np.equal, "Equality"),
}
"""Name -> the NumPy function of floats, and the name of SymPy's class or function."""


def _apply(name: str, *arguments: Scalar) -> Scalar:
    """Apply one elementary function, dispatching on the kind of its scalars."""
    if any(isinstance(a, np.ndarray) and a.dtype == object for a in arguments):
        broadcast = np.broadcast(*[np.asarray(a) for a in arguments])
        out = np.empty(broadcast.shape, dtype=object)
        out.flat = [_apply(name, *scalars) for scalars in broadcast]  # type: ignore[misc, assignment]
        return out
    for argument in arguments:
        foreign = getattr(argument, "__scalar_function__", None)
        if foreign is not None:
            return foreign(name, arguments)
    if any(_is_symbolic(a) for a in arguments):
        return getattr(sys.modules["sympy"], FUNCTIONS[name][1])(*arguments)
    return FUNCTIONS[name][0](*arguments)


def _is_symbolic(value: Scalar) -> bool:
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in rad."""
    return _apply("sin", x)


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in rad."""
    return _apply("cos", x)


def tan(x: Scalar) -> Scalar:
    """Tangent of an angle in rad."""
    return _apply("tan", x)


def asin(x: Scalar) -> Scalar:
    """Arc sine, rad, in [-pi/2, pi/2]."""
    return _apply("asin", x)


def acos(x: Scalar) -> Scalar:
    """Arc cosine, rad, in [0, pi]."""
    return _apply("acos", x)


def atan(x: Scalar) -> Scalar:
    """Arc tangent, rad, in (-pi/2, pi/2)."""
    return _apply("atan", x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y), rad, in (-pi, pi]."""
    return _apply("atan2", y, x)


def sqrt(x: Scalar) -> Scalar:
    """Non-negative square root."""
    return _apply("sqrt", x)


def exp(x: Scalar) -> Scalar:
    """Exponential function."""
    return _apply("exp", x)


def log(x: Scalar) -> Scalar:
    """Natural logarithm."""
    return _apply("log", x)


def tanh(x: Scalar) -> Scalar:
    """Hyperbolic tangent."""
    return _apply("tanh", x)


def absolute(x: Scalar) -> Scalar:
    """Absolute value."""
    return _apply("absolute", x)


def sign(x: Scalar) -> Scalar:
    """Sign: -1, 0 or 1."""
    return _apply("sign", x)


def floor(x: Scalar) -> Scalar:
    """Largest whole number that is not above x."""
    return _apply("floor", x)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """The smaller of two scalars."""
    return _apply("minimum", a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two scalars."""
    return _apply("maximum", a, b)


def less(a: Scalar, b: Scalar) -> Scalar:
    """Condition a < b, for `where`."""
    return _apply("less", a, b)


def less_equal(a: Scalar, b: Scalar) -> Scalar:
    """Condition a <= b, for `where`."""
    return _apply("less_equal", a, b)


def equal(a: Scalar, b: Scalar) -> Scalar:
    """Condition a == b, for `where`; meant for modes, which are whole numbers."""
    return _apply("equal", a, b)


def where(condition: Scalar, if_true: Scalar, if_false: Scalar) -> Scalar:
    """`if_true` where the condition holds, else `if_false`; both are evaluated."""
    branches = (condition, if_true, if_false)
    if any(isinstance(a, np.ndarray) and a.dtype == object for a in branches):
        broadcast = np.broadcast(*[np.asarray(a) for a in branches])
        out = np.empty(broadcast.shape, dtype=object)
        out.flat = [where(*scalars) for scalars in broadcast]  # type: ignore[misc, assignment]
        return out
    for branch in branches:
        foreign = getattr(branch, "__scalar_function__", None)
        if foreign is not None:
            return foreign("where", branches)
    if any(_is_symbolic(b) for b in branches):
        return sys.modules["sympy"].Piecewise((if_true, condition), (if_false, True))
    return np.where(condition, if_true, if_false)[()]  # type: ignore[call-overload]


def array(entries: Any) -> np.ndarray:
    """Array of scalars: of floats where every entry is a number, else of objects (nested lists keep their shape)."""
    out = np.array(entries, dtype=object)
    if all(isinstance(entry, (int, float, np.number)) for entry in out.flat):
        return out.astype(float)
    return out
