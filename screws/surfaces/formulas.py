"""A user's own parametric surface c(u, v): plain formula or SymPy expressions, any regular chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from screws.errors import GeometryError
from screws.jets import variables
from screws.scalars import Scalar
from screws.surfaces import checks
from screws.surfaces.closed import derivatives, triple
from screws.surfaces.frames import Geometry, gauss_frame
from screws.surfaces.surface import Coordinates, Surface, Values
from screws.surfaces.symbolic import expressions
from screws.vectors import Triple

Range = tuple[float, float, bool]


@dataclass(frozen=True)
class Parametric:
    """c = formula(u, v, *parameters), differentiated by jets."""

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
    """Surface c(u, v) of a user's formula; c_u x c_v must point out of the material. The chart need not be orthogonal.

    Parameters
    ----------
    formula : plain formula (u, v, *parameters) -> (x, y, z) in m, of any scalar (functions from `screws.scalars`); or three
        SymPy expressions, with `symbols` naming u and v.
    u, v : ranges (from, to) of the coordinates.
    parameters : name (or SymPy symbol) -> number; kept as run-time inputs.
    symbols : the SymPy symbols of u and v; only with expressions.
    periodic : which coordinates close on themselves after their range.
    inside : a point (3,) within the material near the surface, to check the orientation of an open surface.

    Raises `GeometryError` g101 empty range or a parameter that is no number, G104 inward normal, G105 not regular or not finite
    in its range, G107 unusable formula, G116 a point inside that does not tell the side.

    Examples
    --------
    >>> import sympy
    >>> u, v, k = sympy.symbols("u v k")
    >>> saddle = parametric((u, v + u / 4, k * u * v), (-1, 1), (-1, 1), {k: 0.5}, (u, v), inside=(0, 0, -1))
    >>> K = saddle.geometry((0.0, 0.0)).K
    >>> round(float(K[0, 1]), 6), round(float(K[1, 1]), 6)
    (-0.5, 0.25)
    """
    numbers = checks.numbers(name, parameters)
    spans, closes = (checks.span(name, "u", u), checks.span(name, "v", v)), _closes(name, periodic)
    if symbols is not None:
        by_name = {str(key): key for key in (parameters or {})}
        formula = expressions(formula, (*symbols, *(_symbol(by_name[key]) for key in numbers)), name)
    elif not callable(formula):
        title = f"the formula of the {name} is not a function"
        raise GeometryError("G107", title, "a function of u and v, or expressions with `symbols`")
    shape = Parametric(formula, (*spans[0], closes[0]), (*spans[1], closes[1]), name)
    unsized = Surface(shape, numbers, 1.0)
    with np.errstate(all="ignore"):
        points = unsized.grid(9, 9).reshape(-1, 3)
    size = float(np.max(np.ptp(points, axis=0))) / 2.0 if np.all(np.isfinite(points)) else 1.0
    surface = Surface(shape, numbers, size)
    checks.patch_is_sound(surface, inside)
    return surface


def _closes(name: str, periodic: Any) -> tuple[bool, bool]:
    """Which coordinates close on themselves, G101 where that is no pair of truth values."""
    given = tuple(periodic) if isinstance(periodic, Sequence) else ()
    if len(given) != 2 or not all(isinstance(value, (bool, np.bool_)) for value in given):
        raise GeometryError("G101", f"periodic of the {name} is {periodic!r}", "periodic=(True, False), say: of u, of v")
    return bool(given[0]), bool(given[1])


def _symbol(key: Any) -> Any:
    import sympy

    return sympy.Symbol(key) if isinstance(key, str) else key
