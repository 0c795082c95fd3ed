"""SymPy expressions -> a plain formula of any scalar, by walking the expression tree; no text is ever evaluated."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import Any

from screws import scalars
from screws.errors import GeometryError
from screws.scalars import Scalar

_FUNCTIONS = {sympy: name for name, (_, sympy) in scalars.FUNCTIONS.items() if name not in scalars.COMPARISONS}
"""SymPy's class -> the name of this package's function."""


@dataclass(frozen=True)
class Expressions:
    """A tuple of SymPy expressions as a function of the values of `symbols`."""

    expressions: tuple[Any, ...]
    symbols: tuple[Any, ...]

    def __call__(self, *values: Scalar) -> tuple[Scalar, ...]:
        known: dict[Any, Scalar] = dict(zip(self.symbols, values, strict=True))
        return tuple(_walk(expression, known) for expression in self.expressions)


def expressions(entries: Any, symbols: tuple[Any, ...], name: str) -> Expressions:
    """The function of three SymPy expressions, refused (G107) where a symbol or function is unknown."""
    import sympy

    components = tuple(sympy.Float(e) if isinstance(e, float) else e for e in entries)
    components = tuple(sympy.Integer(e) if isinstance(e, int) else e for e in components)
    if len(components) != 3 or not all(isinstance(e, sympy.Expr) for e in components):
        raise GeometryError("G107", f"the {name} needs three SymPy expressions", "give (x, y, z) in m")
    missing = set().union(*(e.free_symbols for e in components)) - set(symbols)
    if missing:
        names = ", ".join(sorted(str(s) for s in missing))
        title = f"the formula of the {name} holds the unknown symbols {names}"
        raise GeometryError("G107", title, "name both coordinates in `symbols` and every other symbol in `parameters`")
    for component in components:
        for part in sympy.preorder_traversal(component):
            if not _supported(part):
                title = f"the formula of the {name} holds {type(part).__name__}, which has no scalar function here"
                raise GeometryError("G107", title, "elementary functions: " + ", ".join(_FUNCTIONS))
    return Expressions(components, symbols)


def _supported(part: Any) -> bool:
    return part.is_Symbol or part.is_Add or part.is_Mul or part.is_Pow or part.is_number or type(part).__name__ in _FUNCTIONS


def _walk(part: Any, known: dict[Any, Scalar]) -> Scalar:
    """Value of an expression; `known` collects the values of its parts, so shared parts are computed once."""
    if part in known:
        return known[part]
    if part.is_number:
        value: Scalar = float(part)
    elif part.is_Add or part.is_Mul:
        value = _walk(part.args[0], known)
        for argument in part.args[1:]:
            other = _walk(argument, known)
            value = value + other if part.is_Add else value * other
    elif part.is_Pow:
        value = _power(_walk(part.base, known), part.exp, known)
    else:
        value = scalars.apply(_FUNCTIONS[type(part).__name__], *(_walk(argument, known) for argument in part.args))
    known[part] = value
    return value


def _power(base: Scalar, exponent: Any, known: dict[Any, Scalar]) -> Scalar:
    if exponent.is_Rational and exponent.q in (1, 2):
        root = base if exponent.q == 1 else scalars.sqrt(base)
        power = functools.reduce(operator.mul, [root] * abs(int(exponent.p)))
        return power if exponent.p > 0 else 1.0 / power
    return scalars.exp(scalars.log(base) * _walk(exponent, known))
