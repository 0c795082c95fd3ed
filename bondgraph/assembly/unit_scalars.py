"""Scalars that carry only a unit: a formula called with them records the equations between units that its operations imply."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from bondgraph.model.units import Powers
from bondgraph.units import SYMBOLS

DIMENSIONLESS: Powers = {}
RADIAN: Powers = {"rad": Fraction(1)}
ARGUMENTS = dict.fromkeys(("sin", "cos", "tan"), RADIAN) | dict.fromkeys(("exp", "expm1", "tanh", "floor"), DIMENSIONLESS)
"""Unit of the argument of a function, by name. That of `log` may have any unit: the constant in a formula contains the reference
value."""
RESULTS = dict.fromkeys(("asin", "acos", "atan", "atan2"), RADIAN)
"""Unit of the result of a function, by name; of the other functions, only `sqrt`, `where`, `take` and those in `SELECTING` have a
result with a unit."""
SELECTING = ("absolute", "floor", "minimum", "maximum")
"""Functions whose result has the unit of their arguments."""
ZERO_POINTS = frozenset(float(symbol.zero) for symbol in SYMBOLS.values() if symbol.zero)
"""Numbers whose sum with a temperature, or difference, is the temperature on another scale."""


class UnitRecord(Protocol):
    selects_units: bool
    """False if `minimum`, `maximum` and `where` may select values of different units."""

    def node(self) -> UnitScalar:
        """Return a scalar with a new unknown unit."""

    def add_product(self, unit: Powers, *terms: tuple[int, Fraction | int]) -> None:
        """Add the equation that the product of the units of some nodes, each to a power, is a unit."""


class UnitScalar:
    __slots__ = ("equations", "node")

    def __init__(self, equations: UnitRecord, node: int):
        self.equations, self.node = equations, node

    def _of_same_unit(self, *others: Any) -> UnitScalar:
        """Return a scalar with the unit of this scalar and of all `others` except numbers, such as their sum."""
        result = self.equations.node()
        for each in (self, *others):
            if isinstance(each, UnitScalar):
                self.equations.add_product(DIMENSIONLESS, (result.node, 1), (each.node, -1))
        return result

    def _of_unit(self, unit: Powers) -> UnitScalar:
        self.equations.add_product(unit, (self.node, 1))
        return self

    def _to_power(self, power: Fraction | int, other: Any = None, other_power: int = 0) -> UnitScalar:
        """Return a power of this scalar, times a power of another; a number other than -1 may have any unit."""
        if isinstance(other, float) and other == -1.0 and power == 1:
            return self
        result = self.equations.node()
        if other is None:
            self.equations.add_product(DIMENSIONLESS, (result.node, 1), (self.node, -power))
        elif isinstance(other, UnitScalar):
            self.equations.add_product(DIMENSIONLESS, (result.node, 1), (self.node, -power), (other.node, -other_power))
        return result

    def _elementwise(operation: Any) -> Any:  # type: ignore[misc]
        """Leave operations with arrays to NumPy."""
        return lambda self, other: NotImplemented if isinstance(other, np.ndarray) else operation(self, other)

    def _sum(self, other: Any) -> UnitScalar:
        is_conversion = isinstance(other, float) and abs(other) in ZERO_POINTS
        return self.equations.node() if is_conversion else self._of_same_unit(other)

    __add__ = __radd__ = __sub__ = __rsub__ = _elementwise(_sum)
    __mul__ = __rmul__ = _elementwise(lambda self, other: self._to_power(1, other, 1))
    __truediv__ = _elementwise(lambda self, other: self._to_power(1, other, -1))
    __rtruediv__ = _elementwise(lambda self, other: self.equations.node())  # a number divided by this scalar
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _elementwise(lambda self, other: self._condition(other))  # type: ignore
    __and__ = __rand__ = __or__ = __ror__ = _elementwise(lambda self, other: self)

    def __neg__(self) -> UnitScalar:
        return self

    __pos__ = __abs__ = __invert__ = __neg__

    def __pow__(self, exponent: Any) -> UnitScalar:
        if isinstance(exponent, UnitScalar):
            exponent._of_unit(DIMENSIONLESS)
            return self.equations.node()
        power = Fraction(float(exponent)).limit_denominator(12)
        return self._to_power(power) if math.isclose(power, exponent) else self.equations.node()

    def __rpow__(self, base: Any) -> UnitScalar:
        return self._of_unit(DIMENSIONLESS)

    def __hash__(self) -> int:
        return self.node

    def __bool__(self) -> bool:
        raise TypeError("a scalar that has only a unit has no truth value")

    def _condition(self, other: Any) -> UnitScalar:
        self._of_same_unit(other)
        return self.equations.node()._of_unit(DIMENSIONLESS)

    def __scalar_function__(self, name: str, arguments: tuple[Any, ...]) -> UnitScalar:
        first, *others = arguments[1:] if name == "where" else arguments
        entries = [each for each in (first, *others) if isinstance(each, UnitScalar)]
        if name == "sqrt":
            return self._to_power(Fraction(1, 2))
        if name in ARGUMENTS:
            self._of_unit(ARGUMENTS[name])
        if name in ("minimum", "maximum", "where") and not self.equations.selects_units:
            return self.equations.node()
        if name in (*SELECTING, "where", "take"):
            entries = entries[isinstance(first, UnitScalar) :] if name == "take" else entries
            return entries[0]._of_same_unit(*entries[1:]) if entries else self.equations.node()
        self._of_same_unit(*entries)
        return self.equations.node()._of_unit(RESULTS.get(name, DIMENSIONLESS))
