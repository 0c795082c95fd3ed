"""Parametric surface c(u, v) from a user's formula or SymPy expressions, in any regular chart; no string is evaluated as code."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from screws import scalars
from screws.errors import GeometryError
from screws.jets import variables
from screws.scalars import Scalar
from screws.surfaces import checks
from screws.surfaces.checks import refuse_edges
from screws.surfaces.closed import derivatives, triple
from screws.surfaces.frames import Geometry, gauss_frame
from screws.surfaces.surface import Coordinates, Surface, Values
from screws.vectors import Triple

_FUNCTIONS = {sympy: name for name, (_, sympy) in scalars.FUNCTIONS.items() if sympy and name not in scalars.COMPARISONS}


@dataclass(frozen=True)
class Expressions:
    expressions: tuple[Any, ...]
    symbols: tuple[Any, ...]

    def __call__(self, *values: Scalar) -> tuple[Scalar, ...]:
        cache: dict[Any, Scalar] = dict(zip(self.symbols, values, strict=True))
        return tuple(_evaluate(expression, cache) for expression in self.expressions)


def expressions(entries: Any, symbols: tuple[Any, ...], name: str) -> Expressions:
    """Convert three SymPy expressions to a function; raise G107 for an unknown symbol or function."""
    import sympy

    components = tuple(sympy.Float(e) if isinstance(e, float) else e for e in entries)
    components = tuple(sympy.Integer(e) if isinstance(e, int) else e for e in components)
    if len(components) != 3 or not all(isinstance(e, sympy.Expr) for e in components):
        raise GeometryError("G107", f"the {name} needs three SymPy expressions", "give (x, y, z) in m")
    missing = set().union(*(e.free_symbols for e in components)) - set(symbols)
    if missing:
        names = ", ".join(sorted(str(s) for s in missing))
        title = f"the formula of the {name} contains the unknown symbols {names}"
        raise GeometryError("G107", title, "name both coordinates in `symbols` and every other symbol in `parameters`")
    for component in components:
        for part in sympy.preorder_traversal(component):
            if not _supported(part):
                title = f"the formula of the {name} contains {type(part).__name__}, which has no scalar function"
                raise GeometryError("G107", title, "elementary functions: " + ", ".join(_FUNCTIONS))
    return Expressions(components, symbols)


def _supported(part: Any) -> bool:
    return part.is_Symbol or part.is_Add or part.is_Mul or part.is_Pow or part.is_number or type(part).__name__ in _FUNCTIONS


def _evaluate(part: Any, cache: dict[Any, Scalar]) -> Scalar:
    if part in cache:
        return cache[part]
    if part.is_number:
        value: Scalar = float(part)
    elif part.is_Add or part.is_Mul:
        value = _evaluate(part.args[0], cache)
        for argument in part.args[1:]:
            other = _evaluate(argument, cache)
            value = value + other if part.is_Add else value * other
    elif part.is_Pow:
        value = _power(_evaluate(part.base, cache), part.exp, cache)
    else:
        value = scalars.apply(_FUNCTIONS[type(part).__name__], *(_evaluate(argument, cache) for argument in part.args))
    cache[part] = value
    return value


def _power(base: Scalar, exponent: Any, cache: dict[Any, Scalar]) -> Scalar:
    if exponent.is_Rational and exponent.q in (1, 2):
        root = base if exponent.q == 1 else scalars.sqrt(base)
        power = functools.reduce(operator.mul, [root] * abs(int(exponent.p)))
        return power if exponent.p > 0 else 1.0 / power
    return scalars.exp(scalars.log(base) * _evaluate(exponent, cache))


Range = tuple[float, float, bool]


@dataclass(frozen=True)
class Parametric:
    """Surface c = formula(u, v, *parameters), differentiated by jets."""

    formula: Callable[..., Any]
    u: Range
    v: Range
    name: str = "parametric surface"
    closed: bool = False
    letters: ClassVar[tuple[str, ...]] = ()
    latex: ClassVar[tuple[str, ...]] = ()

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        return triple(self.formula(q[0], q[1], *p), self.name)

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        u, v = variables(q[0], q[1])
        return gauss_frame(*derivatives(self.formula(u, v, *p), self.name))

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        return None

    def ranges(self) -> tuple[Range, Range]:
        return (self.u, self.v)


def parametric(
    formula: Any,
    u: tuple[float, float],
    v: tuple[float, float],
    parameters: Mapping[Any, float] | None = None,
    symbols: tuple[Any, Any] | None = None,
    periodic: tuple[bool, bool] = (False, False),
    inside: Sequence[float] | None = None,
    name: str = "parametric surface",
) -> Surface:
    """Return a surface c(u, v) of a user's formula; c_u x c_v must point out of the material. The chart need not be orthogonal.

    Parameters
    ----------
    formula : plain function (u, v, *parameters) -> (x, y, z) in m, for any scalar (functions from `screws.scalars`); or
        three SymPy expressions, with `symbols` naming u and v.
    u, v : ranges (from, to) of the coordinates.
    parameters : numbers by name (or SymPy symbol); kept as run-time inputs.
    symbols : the SymPy symbols of u and v; only with expressions.
    periodic : True for each periodic coordinate, of (u, v).
    inside : a point (3,) within the material near the surface, to check the orientation of an open surface.

    Raises `GeometryError` G101 for an empty range, an invalid `periodic` or a parameter that is not a number, G104 for an inward
    normal, G105 for a surface that is not regular, is not finite in its range, or has a sharp edge or tip, G107 for an unusable
    formula, G116 if `inside` does not define the side.

    >>> import sympy
    >>> u, v, k = sympy.symbols("u v k")
    >>> saddle = parametric((u, v + u / 4, k * u * v), (-1, 1), (-1, 1), {k: 0.5}, (u, v), inside=(0, 0, -1))
    >>> K = saddle.geometry((0.0, 0.0)).K
    >>> round(float(K[0, 1]), 6), round(float(K[1, 1]), 6)
    (-0.5, 0.25)
    """
    numbers = checks.checked_parameters(name, parameters)
    spans, periods = (checks.checked_range(name, "u", u), checks.checked_range(name, "v", v)), _periodicity(name, periodic)
    if symbols is not None:
        by_name = {str(key): key for key in (parameters or {})}
        formula = expressions(formula, (*symbols, *(_symbol(by_name[key]) for key in numbers)), name)
    elif not callable(formula):
        title = f"the formula of the {name} is not a function"
        raise GeometryError("G107", title, "a function of u and v, or expressions with `symbols`")
    shape = Parametric(formula, (*spans[0], periods[0]), (*spans[1], periods[1]), name)
    unsized = Surface(shape, numbers, 1.0)
    with checks.evaluating(name, ", ".join(["u", "v", *numbers])):
        with np.errstate(all="ignore"):
            points = unsized.grid(9, 9).reshape(-1, 3)
        size = float(np.max(np.ptp(points, axis=0))) / 2.0 if np.all(np.isfinite(points)) else 1.0
        surface = Surface(shape, numbers, size)
        checks.check_patch(surface, inside)
        refuse_edges(surface)
    return surface


def _periodicity(name: str, periodic: Any) -> tuple[bool, bool]:
    flags = tuple(periodic) if isinstance(periodic, Sequence) else ()
    if len(flags) != 2 or not all(isinstance(value, (bool, np.bool_)) for value in flags):
        raise GeometryError("G101", f"periodic of the {name} is {periodic!r}", "periodic=(True, False): u periodic, v not")
    return bool(flags[0]), bool(flags[1])


def _symbol(key: Any) -> Any:
    import sympy

    return sympy.Symbol(key) if isinstance(key, str) else key
