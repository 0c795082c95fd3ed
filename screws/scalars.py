"""Elementary functions over any scalar: floats, arrays, SymPy expressions, jets, a compiler's scalars.

A formula written with these functions, `+ - * /` and NumPy indexing works unchanged on floats (the reference), SymPy expressions
(readable equations), jets (derivatives along a surface) and the scalars of a compiler (code). A foreign scalar provides a method

    __scalar_function__(self, name, arguments) -> scalar

where `name` is "where" or a key of `FUNCTIONS` and at least one of `arguments` is an instance of its class. In a lookup
("searchsorted" or "take"), the arguments after the first form the row: scalars, or one array of floats (n,).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from screws.errors import TableError

Scalar = Any
"""Float, SymPy expression, jet or compiler's scalar, or an array of them."""


def count_up_to(u: Any, points: np.ndarray) -> Any:
    """Return how many of the ascending points (..., n) are at most u (...), as floats; 0 where u is NaN."""
    if points.ndim > 1:
        return np.less_equal(points, np.asarray(u)[..., None]).sum(axis=-1, dtype=float)
    return np.where(np.isnan(u), 0.0, np.searchsorted(points, u, side="right"))[()]


def entry_of(index: Any, values: np.ndarray) -> Any:
    """Return the entries (...) of the values (..., n) at the indices (...), without their fractions; the first or last value for
    an index out of range."""
    row = np.clip(np.nan_to_num(index), 0, values.shape[-1] - 1).astype(np.intp)
    if values.ndim == 1:
        return values[row]
    return np.take_along_axis(values, np.broadcast_to(row, values.shape[:-1])[..., None], axis=-1)[..., 0]


def _in_rows(function: Callable[[Any, np.ndarray], Any]) -> Callable[..., Any]:
    """Return a function that takes the entries of the row as separate arguments, or the row as one array."""

    def of_row(first: Any, *row: Any) -> Any:
        if len(row) == 1 and np.ndim(row[0]):
            return function(first, row[0])
        plain = not any(np.ndim(entry) for entry in row)
        return function(first, np.array(row, dtype=float) if plain else np.stack(np.broadcast_arrays(*row), axis=-1))

    return of_row


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
    "expm1": (np.expm1, ""),
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
    "searchsorted": (_in_rows(count_up_to), ""),
    "take": (_in_rows(entry_of), ""),
}
"""NumPy function of floats, and SymPy's class or function ("" if several are needed), by name."""

COMPARISONS = ("less", "less_equal", "equal")


LOOKUPS = ("searchsorted", "take")


def apply(name: str, *arguments: Scalar) -> Scalar:
    """Apply one elementary function, or "where", dispatching on the kind of its arguments."""
    foreign = None
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if argument.dtype == object:
                return _of_arrays(name, arguments)
        elif foreign is None:
            foreign = getattr(argument, "__scalar_function__", None)
    if foreign is not None:
        return foreign(name, arguments)
    if any(is_symbolic(a) for a in arguments):
        return _symbolic(sys.modules["sympy"], name, arguments)
    if name == "where":
        return np.where(*arguments)[()]  # type: ignore[call-overload]
    return FUNCTIONS[name][0](*arguments)


def _of_arrays(name: str, arguments: tuple[Scalar, ...]) -> Scalar:
    broadcast = np.broadcast(*[np.asarray(a) for a in arguments])
    out = np.empty(broadcast.shape, dtype=object)
    out.flat = [apply(name, *scalars) for scalars in broadcast]  # type: ignore[misc, assignment]
    return out


def _symbolic(sympy: Any, name: str, arguments: tuple[Scalar, ...]) -> Scalar:
    first, *others = arguments
    if name in LOOKUPS and isinstance(others[0], np.ndarray):
        others = others[0].tolist()
    if name == "where":
        return sympy.Piecewise((others[0], first), (others[1], True))
    if name == "expm1":
        return sympy.exp(first) - 1
    if name == "searchsorted":
        return sympy.Add(*[sympy.Heaviside(first - point, 1) for point in others])
    if name == "take":
        before = _conditions_before(sympy, first, len(others) - 1)
        return sympy.Piecewise(*zip(others, before, strict=False), (others[-1], True), evaluate=False)
    return getattr(sympy, FUNCTIONS[name][1])(*arguments)


def _conditions_before(sympy: Any, index: Scalar, count: int) -> list[Any]:
    """Return the conditions index < 1, ..., index < count, written as u < point if the index is the number of points up to u."""
    steps = sympy.Add.make_args(index)
    if len(steps) == count and all(isinstance(step, sympy.Heaviside) and step.args[1] == 1 for step in steps):
        pairs = sorted(((-number, u) for number, u in (step.args[0].as_coeff_Add() for step in steps)), key=lambda pair: pair[0])
        if len({u for _, u in pairs}) == 1:
            return [sympy.StrictLessThan(u, point, evaluate=False) for point, u in pairs]
    return [sympy.StrictLessThan(index, row + 1, evaluate=False) for row in range(count)]


def is_symbolic(value: Scalar) -> bool:
    """Return True for an expression of SymPy."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


def _unary(name: str, meaning: str) -> Callable[[Scalar], Scalar]:
    def function(x: Scalar) -> Scalar:
        return apply(name, x)

    return _with_name(function, name, meaning)


def _binary(name: str, meaning: str) -> Callable[[Scalar, Scalar], Scalar]:
    def function(a: Scalar, b: Scalar) -> Scalar:
        return apply(name, a, b)

    return _with_name(function, name, meaning)


def _with_name(function: Any, name: str, meaning: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


sin = _unary("sin", "Return the sine of an angle in rad.")
cos = _unary("cos", "Return the cosine of an angle in rad.")
tan = _unary("tan", "Return the tangent of an angle in rad.")
asin = _unary("asin", "Return the arc sine, rad, in [-pi/2, pi/2].")
acos = _unary("acos", "Return the arc cosine, rad, in [0, pi].")
atan = _unary("atan", "Return the arc tangent, rad, in (-pi/2, pi/2).")
atan2 = _binary("atan2", "Return the angle of the point (x, y), from y and x, rad, in (-pi, pi].")
sqrt = _unary("sqrt", "Return the non-negative square root.")
exp = _unary("exp", "Return the exponential function.")
expm1 = _unary(
    "expm1", "Return the exponential function minus 1, exact to rounding error even for small x, where exp(x) - 1 cancels."
)
log = _unary("log", "Return the natural logarithm.")
tanh = _unary("tanh", "Return the hyperbolic tangent.")
absolute = _unary("absolute", "Return the absolute value.")
sign = _unary("sign", "Return the sign: -1, 0 or 1.")
floor = _unary("floor", "Return the largest whole number not above x.")
minimum = _binary("minimum", "Return the smaller of two scalars.")
maximum = _binary("maximum", "Return the larger of two scalars.")
less = _binary("less", "Return the condition a < b, for `where`.")
less_equal = _binary("less_equal", "Return the condition a <= b, for `where`.")
equal = _binary("equal", "Return the condition a == b, for `where`; meant for modes, which are whole numbers.")


def where(condition: Scalar, if_true: Scalar, if_false: Scalar) -> Scalar:
    """Return `if_true` where the condition is true, else `if_false`; both are evaluated."""
    return apply("where", condition, if_true, if_false)


def searchsorted(points: Sequence[Scalar] | np.ndarray, u: Scalar) -> Scalar:
    """Return how many of the ascending points are at most u, found by bisection, as `np.searchsorted(points, u, side="right")`;
    0 where u is NaN."""
    if len(points) == 1:
        return where(less_equal(points[0], u), 1.0, 0.0)
    row = _row(points)
    return _for_each(lambda each: apply("searchsorted", each, *row), u) if len(points) else 0.0


def take(values: Sequence[Scalar] | np.ndarray, index: Scalar) -> Scalar:
    """Return the value at an index from 0, without its fraction, as `np.take(..., mode="clip")`: an index out of range gives an
    end value."""
    row = _row(values)
    return _for_each(lambda each: apply("take", each, *row), index) if len(values) > 1 else values[0]


def _row(entries: Sequence[Scalar] | np.ndarray) -> Sequence[Scalar] | np.ndarray:
    """Return the arguments that follow the index or coordinate of a lookup: an array of floats is one argument of any length."""
    is_numbers = isinstance(entries, np.ndarray) and entries.dtype != object and entries.ndim == 1
    return (entries,) if is_numbers else entries


def _for_each(function: Callable[[Scalar], Scalar], first: Scalar) -> Scalar:
    if not (isinstance(first, np.ndarray) and first.dtype == object):
        return function(first)
    out = np.empty(first.shape, dtype=object)
    out.flat = [function(each) for each in first.flat]  # type: ignore[misc, assignment]
    return out


def interpolate(u: Scalar, points: Sequence[float] | np.ndarray, values: Sequence[Scalar] | np.ndarray) -> Scalar:
    """Return the value at u of the piecewise linear function through (points, values), both (n,), n > 1, like `np.interp`.

    Outside the points, it is the nearest end value; it is NaN if u is NaN. The points are finite and ascending. Bisection finds
    the piece.

    Raises `TableError` E147 for fewer than two points, or if the numbers of points and values differ; E146 for points that are
    not finite or do not ascend.
    """
    _check_points(points, len(values))
    points, values = (each if isinstance(each, np.ndarray) else array(each) for each in (points, values))
    inner = maximum(u, points[0])
    piece = searchsorted(points[1:-1], u)
    left, right = take(values[:-1], piece), take(values[1:], piece)
    fraction = (inner - take(points[:-1], piece)) * take(1.0 / (points[1:] - points[:-1]), piece)
    return where(less_equal(points[-1], inner), values[-1], left + (right - left) * fraction)


def _check_points(points: Sequence[Scalar] | np.ndarray, count: int) -> None:
    if len(points) < 2 or len(points) != count:
        title = "interpolation needs two points or more and a value at each"
        raise TableError("E147", f"{title}; their numbers are {len(points)} and {count}", "one value for each of the points")
    if not all(isinstance(point, (int, float, np.number)) for point in points):
        return
    numbers = np.asarray(points, dtype=float)
    wrong = np.flatnonzero(~(np.isfinite(numbers[1:]) & (numbers[1:] > numbers[:-1])))
    if len(wrong) or not np.isfinite(numbers[0]):
        k = int(wrong[0]) if len(wrong) else 0
        before, after = numbers[k : k + 2].tolist()
        title = f"interpolation points must be finite and ascending, but {after} follows {before} at index {k + 1}"
        raise TableError("E146", title, "np.sort(points), and the values in the same order")


def array(entries: Any) -> np.ndarray:
    """Build an array of scalars: of floats if every entry is a number, else of objects (nested lists keep their shape)."""
    out = np.array(entries, dtype=object)
    if all(issubclass(kind, (int, float, np.number)) for kind in {*map(type, out.flat)}):
        return out.astype(float)
    return out
