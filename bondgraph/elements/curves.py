"""Curves and maps through tabulated data: piecewise polynomials of one or two variables, whose pieces are found by bisection.

They are formulas like any other, and accept floats, SymPy symbols or tape scalars; on a tape, their data are arrays. Their
derivatives come from the polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.errors import Place, refusal
from bondgraph.model.arguments import choice
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import short_repr
from bondgraph.quantities import real
from screws.calls import explain_methods
from screws.scalars import floor, searchsorted, take

SLOPES = {"linear": "", "monotone": "PchipInterpolator", "akima": "Akima1DInterpolator", "spline": "CubicSpline"}
"""SciPy's interpolant that gives the slopes at the points, for each kind of curve; "" for straight lines."""
Numbers = Sequence[float] | np.ndarray
OUTSIDE = ("hold", "extend", "periodic")
"""Extrapolation: the end value, the end tangent, or periodic repetition."""


@dataclass(frozen=True, eq=False)
class TableAxis:
    """Ascending points (n,) and their n + 1 intervals: before the first point, between points, and after the last point."""

    points: np.ndarray
    is_periodic: bool

    @cached_property
    def origins(self) -> np.ndarray:
        """Origin (n + 1,) of the local coordinate of each interval: the point before the interval, or after it for the first
        interval."""
        return np.concatenate([self.points[:1], self.points])

    def locate(self, u: Any) -> tuple[Any, Any, Any]:
        first, turns = float(self.points[0]), 0.0
        if self.is_periodic:
            period = float(self.points[-1]) - first
            turns = floor((u - first) / period)
            u = u - period * turns
        interval = searchsorted(self.points, u)
        return turns, interval, u - take(self.origins, interval)


@explain_methods
@short_repr
@dataclass(frozen=True, eq=False)
class Curve(Frozen):
    """Piecewise polynomial of one variable; `signals.curve` makes it."""

    axis: TableAxis
    coefficients: np.ndarray
    """Coefficients (degree + 1, n + 1) of the local coordinate, lowest power first, one column for each interval."""
    kind: str = "linear"
    gain: float = 0.0
    """Increase of the integral of a periodic curve over each period."""
    is_integral: bool = False
    __name__ = "curve"

    def __call__(self, u: Any) -> Any:
        turns, interval, local = self.axis.locate(u)
        value = _polynomial([take(row, interval) for row in self.coefficients], local)
        return value + self.gain * turns if self.gain else value

    def integral(self, start: float = 0.0) -> Curve:
        """Return the exact integral from `start`, a curve one degree higher.

        Raises `ModelError` E181 for the integral of a periodic curve if it grows with every period.
        """
        if self.gain:
            title = "the integral of a periodic curve cannot be integrated"
            why = f"it grows by {self.gain:g} with every period"
            raise refusal("E181", title, "a state whose rate is the curve", about="curve", why=why)
        powers = np.arange(1.0, len(self.coefficients) + 1.0)
        rows = np.vstack([np.zeros(self.coefficients.shape[1]), self.coefficients / powers[:, None]])
        widths = np.diff(self.axis.points)
        rows[0, 2:] = np.cumsum(_polynomial(list(rows[:, 1:-1]), widths))
        gain = float(rows[0, -1]) if self.axis.is_periodic else 0.0
        result = Curve(self.axis, rows, self.kind, gain, is_integral=True)
        rows[0] -= float(result(float(start)))
        return result

    def derivative(self) -> Curve:
        """Return the exact derivative, a curve one degree lower; for a linear curve its slopes, which jump at the points."""
        powers = np.arange(1.0, len(self.coefficients))
        rows = self.coefficients[1:] * powers[:, None]
        rows = rows if len(rows) > 1 else np.vstack([rows, np.zeros_like(rows)])
        return Curve(self.axis, rows, self.kind)

    @cached_property
    def inverse(self) -> Curve | None:
        """The inverse, with u and value exchanged, of a linear curve that ascends or descends everywhere; None for any other
        curve."""
        if self.flaw or len(self.coefficients) > 2:
            return None
        values, slopes = self.coefficients
        sign = 1 if slopes[0] > 0.0 else -1
        ordinates = self.axis.points[::sign]
        rows = np.array([np.concatenate([ordinates[:1], ordinates]), (1.0 / slopes)[::sign]])
        return Curve(TableAxis(values[1:][::sign], False), rows)

    @property
    def flaw(self) -> str:
        """Reason why the curve has no inverse over all numbers; "" if it ascends or descends strictly. Integrals are not
        examined."""
        return self._flaw_and_cure[0]

    @cached_property
    def _flaw_and_cure(self) -> tuple[str, str]:
        if self.axis.is_periodic:
            return "it is periodic", 'outside="extend"'
        if self.is_integral:
            return "", ""
        points, sign = self.axis.points, 1.0 if self.coefficients[0, -1] > self.coefficients[0, 1] else -1.0
        slopes = sign * _extreme_slopes(self.coefficients[:, 1:-1], np.diff(points))
        verb, rounding = "ascend" if sign > 0.0 else "descend", 1e-12 * float(np.max(np.abs(slopes)))
        wrong = np.flatnonzero((slopes.min(axis=0) < -rounding) | (slopes.max(axis=0) <= rounding))
        if len(wrong):
            k = int(wrong[0])
            cure = 'values that only ascend or only descend, and kind="monotone" or "linear", which adds no extrema'
            return f"it does not {verb} between {points[k]:g} and {points[k + 1]:g}", cure
        ends = [f"{points[k]:g}" for k in (0, -1) if sign * self.coefficients[1, k] <= rounding]
        if not ends:
            return "", ""
        has_flat_end = min(slopes[0, 0], slopes[2, -1]) <= rounding
        cure = 'kind="linear", outside="extend"' if has_flat_end else 'outside="extend", which continues along the tangents'
        return f"it is constant beyond {' and '.join(ends)}", cure

    def need_monotone(self, what: str, about: str = "curve", places: Sequence[Place | None] | None = None) -> None:
        why, cure = self._flaw_and_cure
        if why:
            raise refusal("E180", f"{what} needs a monotone curve", cure, about=about, why=why, places=places)


@explain_methods
@short_repr
@dataclass(frozen=True, eq=False)
class CharacteristicMap(Frozen):
    """Piecewise polynomial of two variables; `signals.characteristic_map` makes it."""

    axes: tuple[TableAxis, TableAxis]
    coefficients: np.ndarray
    """Coefficients (degree + 1, n + 1, degree + 1, m + 1): power and interval of u, then of v."""
    __name__ = "map"

    def __call__(self, u: Any, v: Any) -> Any:
        (_, row, s), (_, column, t) = self.axes[0].locate(u), self.axes[1].locate(v)
        degrees, _, others, columns = self.coefficients.shape
        cell = row * float(columns) + column
        rows = [_polynomial([take(self.coefficients[i, :, j].ravel(), cell) for j in range(others)], t) for i in range(degrees)]
        return _polynomial(rows, s)


def curve(points: Numbers, values: Numbers, kind: str = "linear", outside: str = "hold") -> Curve:
    """Return the curve through (points, values), both (n,) with n > 1, as a function for formulas and laws.

    Use it as `R("r", effort=curve)`, `C("c", output=curve)`, or in a formula, `lambda t: 2.0 * curve(t)`. If it is the
    output of a C or I, the energy is its exact integral from zero. Data stay an array: 100,000 points compile in a second.

    Parameters
    ----------
    kind : "linear"; "monotone", cubic pieces that rise and fall with the data (Fritsch and Butland 1984, PCHIP); "akima", cubic
        pieces with few wiggles (Akima 1970); "spline", cubic pieces with a continuous second derivative, which overshoot at
        steps.
    outside : "hold" keeps the value at either end, "extend" continues along the tangent, "periodic" repeats the curve.

    Raises `ModelError` E110 for another `kind` or `outside`, E146 for points that are not finite and ascending, E147 for fewer
    than two points, values that do not match them or are not finite, and a periodic curve with different ends.
    """
    choice("curve", "curve", kind=(kind, tuple(SLOPES)), outside=(outside, OUTSIDE))
    knots = checked_points("a curve", "curve", points)
    ordinates = _checked_values("curve", values, [knots], [outside])
    pieces = _pieces(knots, ordinates, _slopes(kind, knots, ordinates, outside), outside)
    return Curve(TableAxis(knots, outside == "periodic"), pieces, kind)


def characteristic_map(
    rows: Numbers,
    columns: Numbers,
    values: Sequence[Numbers] | np.ndarray,
    kind: str = "linear",
    outside: str | tuple[str, str] = "hold",
) -> CharacteristicMap:
    """Return the map of u and v through values (n, m) at u = rows (n,) and v = columns (m,), with n and m above 1.

    Its sections along the rows and columns of `values` are curves of this `kind` (see `curve`); between them the map is bilinear,
    or bicubic with continuous slopes. `outside` is one value for both variables, or one value for each.

    Raises `ModelError` as `curve` does.
    """
    words = (outside, outside) if isinstance(outside, str) else tuple(outside)
    for word in words:
        choice("characteristic_map", "map", kind=(kind, tuple(SLOPES)), outside=(word, OUTSIDE))
    x, y = (checked_points(f"a map, {axis}", "map", points) for axis, points in (("rows", rows), ("columns", columns)))
    z = _checked_values("map", values, [x, y], words)
    along = _slopes(kind, x, z, words[0])
    values_at, slopes_at = (None if each is None else _sections(kind, y, each, words[1]) for each in (z, along))
    assert values_at is not None
    pieces = _pieces(x, values_at, slopes_at, words[0])
    return CharacteristicMap((TableAxis(x, words[0] == "periodic"), TableAxis(y, words[1] == "periodic")), pieces)


def checked_points(what: str, about: str, points: Any) -> np.ndarray:
    knots = real(points)
    if knots is None or knots.ndim != 1 or len(knots) < 2:
        why = "given: not numbers" if knots is None else f"given: shape {knots.shape}"
        raise refusal("E147", f"{what}: points must be a list of at least two numbers", "[0.0, 1.0]", about=about, why=why)
    bad = np.flatnonzero(~(np.isfinite(knots[:-1]) & np.isfinite(knots[1:]) & (np.diff(knots) > 0)))
    if bad.size:
        first = int(bad[0])
        why = f"{knots[first]:g} is followed by {knots[first + 1]:g}, at index {first + 1}"
        cure = "sort the points, each with its value; for a jump, two points close together"
        raise refusal("E146", f"{what}: points must be finite and ascending", cure, about=about, why=why)
    return knots


def _checked_values(about: str, values: Any, axes: Sequence[np.ndarray], outside: Sequence[str]) -> np.ndarray:
    numbers, shape = real(values), tuple(map(len, axes))
    shown = "no numbers" if numbers is None else f"shape {numbers.shape}"
    if numbers is None or numbers.shape != shape:
        title, cure = f"a {about} has one value for each point", f"values of shape {shape}"
        raise refusal("E147", title, cure, about=about, why=f"points {shape}, values: {shown}")
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        index = tuple(map(int, bad[0]))
        why = f"the value at index {index if len(index) > 1 else index[0]} is {numbers[index]:g}"
        raise refusal("E147", f"values of a {about} must be finite", "omit points with nonfinite values", about=about, why=why)
    for axis, word in enumerate(outside):
        ends = np.take(numbers, [0, -1], axis=axis)
        gap = float(np.max(np.abs(np.diff(ends, axis=axis))))
        if word == "periodic" and gap > 1e-9 * float(np.max(np.abs(numbers))):
            title, why = f"a periodic {about} needs equal values at both ends", f"they differ by {gap:g}"
            raise refusal("E147", title, "the first value repeated at the last point", about=about, why=why)
    return numbers


def _slopes(kind: str, x: np.ndarray, values: np.ndarray, outside: str) -> np.ndarray | None:
    """Return the slopes (n, ...) along the first axis at the points; None for straight pieces."""
    if kind == "linear":
        return None
    from scipy import interpolate

    if kind == "spline" and outside == "periodic":
        values = np.concatenate([values[:-1], values[:1]])
        return np.asarray(interpolate.CubicSpline(x, values, bc_type="periodic")(x, 1))
    interpolant, first = getattr(interpolate, SLOPES[kind]), 0
    if outside == "periodic":
        first, period = len(x) - 1, x[-1] - x[0]
        x = np.concatenate([x[:-1] - period, x, x[1:] + period])
        values = np.concatenate([values[:-1], values, values[1:]])
    slopes = np.asarray(interpolant(x, values).derivative()(x))
    return slopes[first : len(slopes) - first]


def _pieces(x: np.ndarray, values: np.ndarray, slopes: np.ndarray | None, outside: str) -> np.ndarray:
    """Return coefficients (degree + 1, n + 1, ...) of the intervals of an axis, from values and slopes (n, ...) at its points."""
    widths = np.diff(x).reshape(-1, *[1] * (values.ndim - 1))
    rise = np.diff(values, axis=0) / widths
    if slopes is None:
        inner, ends = np.array([values[:-1], rise]), rise[[0, -1]]
    else:
        left, right = slopes[:-1], slopes[1:]
        square, cubic = (3.0 * rise - 2.0 * left - right) / widths, (left + right - 2.0 * rise) / widths**2
        inner, ends = np.array([values[:-1], left, square, cubic]), slopes[[0, -1]]
    if outside == "periodic":
        return np.concatenate([inner[:, :1], inner, inner[:, :1]], axis=1)
    outer = np.zeros((len(inner), 2, *values.shape[1:]))
    outer[0] = values[[0, -1]]
    if outside == "extend":
        outer[1] = ends
    return np.concatenate([outer[:, :1], inner, outer[:, 1:]], axis=1)


def _sections(kind: str, y: np.ndarray, values: np.ndarray, outside: str) -> np.ndarray:
    """Return the coefficients (n, degree + 1, m + 1) of the pieces of values (n, m) along their second axis."""
    return np.moveaxis(_pieces(y, values.T, _slopes(kind, y, values.T, outside), outside), -1, 0)


def _polynomial(coefficients: Sequence[Any], s: Any) -> Any:
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = coefficient + s * value
    return value


def _extreme_slopes(coefficients: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Return slopes (3, n) of polynomials of degree 1 or 3 at both ends, and at their extremum in between."""
    linear, square, cubic = np.vstack([coefficients[1:], np.zeros((4 - len(coefficients), len(widths)))])
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.nan_to_num(-square / (3.0 * cubic))
    places = np.stack([np.zeros_like(widths), np.clip(turn, 0.0, widths), widths])
    return np.asarray(linear + places * (2.0 * square + 3.0 * cubic * places))
