"""Jets: truncated Taylor numbers of second order in two variables (u, v), for automatic differentiation over any scalar.

A formula evaluated on jets gives its value and its five derivatives, for floats, SymPy expressions and a
compiler's scalars alike. Derivatives that are the Python constants 0 or 1 are never multiplied out, so a jet in one variable
costs no more than a one-variable jet.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from screws import scalars
from screws.scalars import Scalar


def _constant(a: Scalar, value: float) -> bool:
    # NumPy floats are results, not constants: a result that happens to be 0 must still propagate a NaN.
    return type(a) in (int, float) and a == value


def _times(a: Scalar, b: Scalar) -> Scalar:
    if _constant(a, 0.0) or _constant(b, 0.0):
        return 0.0
    if _constant(a, 1.0):
        return b
    if _constant(b, 1.0):
        return a
    return a * b


def _plus(a: Scalar, b: Scalar) -> Scalar:
    if _constant(a, 0.0):
        return b
    if _constant(b, 0.0):
        return a
    return a + b


def _minus(a: Scalar, b: Scalar) -> Scalar:
    if _constant(b, 0.0):
        return a
    if _constant(a, 0.0):
        return -b
    return a - b


class Jet:
    """Value and derivatives (du, dv, duu, duv, dvv) of a scalar that depends on u and v."""

    __slots__ = ("du", "duu", "duv", "dv", "dvv", "value")

    def __init__(
        self, value: Scalar, du: Scalar = 0.0, dv: Scalar = 0.0, duu: Scalar = 0.0, duv: Scalar = 0.0, dvv: Scalar = 0.0
    ) -> None:
        self.value, self.du, self.dv, self.duu, self.duv, self.dvv = value, du, dv, duu, duv, dvv

    def parts(self) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
        """Return (value, du, dv, duu, duv, dvv)."""
        return (self.value, self.du, self.dv, self.duu, self.duv, self.dvv)

    def __repr__(self) -> str:
        return f"Jet{self.parts()}"

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Jet(*map(_plus, self.parts(), jet(other).parts()))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Jet(*map(_minus, self.parts(), jet(other).parts()))

    def __rsub__(self, other: Any) -> Any:
        return jet(other) - self

    def __neg__(self) -> Jet:
        return Jet(*(_minus(0.0, part) for part in self.parts()))

    def __pos__(self) -> Jet:
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Jet):
            return Jet(*(_times(part, other) for part in self.parts()))
        if other is self:
            return self._chain(_times(self.value, self.value), _times(2.0, self.value), 2.0)
        a, b = self, other
        cross_uv = _plus(_times(a.du, b.dv), _times(a.dv, b.du))
        return Jet(
            _times(a.value, b.value),
            _plus(_times(a.du, b.value), _times(a.value, b.du)),
            _plus(_times(a.dv, b.value), _times(a.value, b.dv)),
            _plus(_plus(_times(a.duu, b.value), _times(a.value, b.duu)), _times(2.0, _times(a.du, b.du))),
            _plus(_plus(_times(a.duv, b.value), _times(a.value, b.duv)), cross_uv),
            _plus(_plus(_times(a.dvv, b.value), _times(a.value, b.dvv)), _times(2.0, _times(a.dv, b.dv))),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Jet):
            return self * (1.0 / other)
        return self * other._reciprocal()

    def __rtruediv__(self, other: Any) -> Any:
        return self._reciprocal() * other

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, (int, np.integer)) or (isinstance(exponent, float) and exponent.is_integer()):
            return _integer_power(self, int(exponent))
        if isinstance(exponent, float) and (2.0 * exponent).is_integer():
            return _integer_power(scalars.sqrt(self), int(2.0 * exponent))
        return scalars.exp(scalars.log(self) * exponent)

    def __lt__(self, other: Any) -> Any:
        return self.value < jet(other).value

    def __le__(self, other: Any) -> Any:
        return self.value <= jet(other).value

    def __gt__(self, other: Any) -> Any:
        return self.value > jet(other).value

    def __ge__(self, other: Any) -> Any:
        return self.value >= jet(other).value

    def _chain(self, f: Scalar, f1: Scalar, f2: Scalar) -> Jet:
        u, v = self.du, self.dv
        fu, fv = _times(f2, u), _times(f2, v)
        return Jet(
            f,
            _times(f1, u),
            _times(f1, v),
            _plus(_times(f1, self.duu), _times(fu, u)),
            _plus(_times(f1, self.duv), _times(fu, v)),
            _plus(_times(f1, self.dvv), _times(fv, v)),
        )

    def _reciprocal(self) -> Jet:
        inverse = 1.0 / self.value
        square = inverse * inverse
        return self._chain(inverse, -square, 2.0 * (square * inverse))

    def __scalar_function__(self, name: str, arguments: tuple[Any, ...]) -> Any:
        if name == "where":
            condition = arguments[0].value if isinstance(arguments[0], Jet) else arguments[0]
            pairs = zip(jet(arguments[1]).parts(), jet(arguments[2]).parts(), strict=True)
            return Jet(*(_choose(condition, a, b) for a, b in pairs))
        if name in scalars.LOOKUPS and isinstance(arguments[1], np.ndarray):
            return scalars.apply(name, jet(arguments[0]).value, arguments[1])
        if name == "searchsorted":
            return scalars.apply(name, *(jet(argument).value for argument in arguments))
        if name == "take":
            parts = zip(*(jet(value).parts() for value in arguments[1:]), strict=True)
            return Jet(*(_taken(jet(arguments[0]).value, part) for part in parts))
        a, b = jet(arguments[0]), jet(arguments[-1])
        if name in scalars.COMPARISONS:
            return scalars.apply(name, a.value, b.value)
        if name in _SLOPES:
            value = scalars.apply(name, a.value)
            return a._chain(value, *_SLOPES[name](a.value, value))
        if name in _SPECIAL:
            return _SPECIAL[name](a, b)
        raise TypeError(f"jets do not support the function {name!r}")


def jet(x: Scalar) -> Jet:
    """Convert a scalar to a jet: a jet unchanged, any other scalar as a constant."""
    return x if isinstance(x, Jet) else Jet(x)


def variables(u: Scalar, v: Scalar) -> tuple[Jet, Jet]:
    """Return the two independent variables as jets."""
    return Jet(u, 1.0, 0.0), Jet(v, 0.0, 1.0)


def _choose(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    equal = type(a) in (int, float) and type(b) in (int, float) and a == b
    return a if equal else scalars.where(condition, a, b)


def _taken(index: Scalar, values: Sequence[Scalar]) -> Scalar:
    equal = all(type(value) in (int, float) and value == values[0] for value in values)
    return values[0] if equal else scalars.take(values, index)


def _integer_power(x: Jet, n: int) -> Jet:
    if n < 0:
        return _integer_power(x, -n)._reciprocal()
    return functools.reduce(operator.mul, [x] * n) if n else Jet(1.0)


def _atan2(y: Jet, x: Jet) -> Jet:
    r2 = x.value * x.value + y.value * y.value

    def slope(yi: Scalar, xi: Scalar) -> Scalar:
        return _times(_minus(_times(x.value, yi), _times(y.value, xi)), 1.0 / r2)

    u, v = slope(y.du, x.du), slope(y.dv, x.dv)
    ru = 2.0 * (_plus(_times(x.value, x.du), _times(y.value, y.du)))
    rv = 2.0 * (_plus(_times(x.value, x.dv), _times(y.value, y.dv)))
    mixed = _minus(_times(x.dv, y.du), _times(y.dv, x.du))
    return Jet(
        scalars.atan2(y.value, x.value),
        u,
        v,
        _minus(slope(y.duu, x.duu), _times(u, ru) / r2),
        _plus(_minus(slope(y.duv, x.duv), _times(u, rv) / r2), _times(mixed, 1.0 / r2)),
        _minus(slope(y.dvv, x.dvv), _times(v, rv) / r2),
    )


def _asin(x: Scalar) -> tuple[Scalar, Scalar]:
    square = 1.0 - x * x
    slope = 1.0 / scalars.sqrt(square)
    return slope, x * slope / square


_SLOPES: dict[str, Callable[[Scalar, Scalar], tuple[Scalar, Scalar]]] = {
    "sin": lambda x, f: (scalars.cos(x), -f),
    "cos": lambda x, f: (-scalars.sin(x), -f),
    "sqrt": lambda x, f: (slope := 0.5 / f, -2.0 * (slope * slope * slope)),
    "exp": lambda x, f: (f, f),
    "expm1": lambda x, f: (slope := scalars.exp(x), slope),
    "log": lambda x, f: (slope := 1.0 / x, -slope * slope),
    "tanh": lambda x, f: (slope := 1.0 - f * f, -2.0 * (f * slope)),
    "atan": lambda x, f: (slope := 1.0 / (1.0 + x * x), -2.0 * (x * slope * slope)),
    "asin": lambda x, f: _asin(x),
    "acos": lambda x, f: tuple(-slope for slope in _asin(x)),  # type: ignore[return-value]
}
"""Function that returns the first two derivatives, at x, of each function of one variable, whose value there is f."""

_SPECIAL: dict[str, Callable[[Jet, Jet], Jet]] = {
    "atan2": _atan2,
    "absolute": lambda a, _: a * scalars.sign(a.value),
    "sign": lambda a, _: Jet(scalars.sign(a.value)),
    "floor": lambda a, _: Jet(scalars.floor(a.value)),
    "tan": lambda a, _: scalars.sin(a) / scalars.cos(a),
    "minimum": lambda a, b: scalars.where(scalars.less(a.value, b.value), a, b),
    "maximum": lambda a, b: scalars.where(scalars.less(a.value, b.value), b, a),
}
"""Functions of the first and the last argument, which are the same for a function of one variable."""
