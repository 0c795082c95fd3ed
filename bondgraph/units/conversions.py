"""Conversions between units of one dimension: the one function that checks a declared unit against the expected unit."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bondgraph.units.reading import Unit, Unreadable, read

PI = Fraction(math.pi) + Fraction(1.2246467991473532e-16)
"""Pi to 32 digits, as the sum of two floats."""


@dataclass(frozen=True)
class Conversion:
    """Affine map (value + shift) * factor / divisor from a declared unit to the expected unit; each is a number, or an array if
    components have different units."""

    factor: Any = 1.0
    divisor: Any = 1.0
    shift: Any = 0.0

    def __call__(self, value: Any) -> Any:
        """Return a number, array, traced value or symbol in the expected unit; operations that change nothing are left out."""
        if np.any(self.shift):
            value = value + self.shift
        if np.any(self.factor != 1.0):
            value = value * self.factor
        return value / self.divisor if np.any(self.divisor != 1.0) else value


@dataclass(frozen=True)
class Mismatch:
    """Unit that cannot be converted to the expected unit.

    Parameters
    ----------
    declared, expected : units.
    why : what prevents the conversion.
    cures : units to use instead.
    """

    declared: str
    expected: str
    why: str
    cures: tuple[str, ...] = ()


def conversion(declared: str, expected: str, shape: tuple[int, ...] = (), bases: frozenset[str] = frozenset()) -> Any:
    """Return the `Conversion` of numbers (of a `shape`) from a unit to the expected unit; None if the numbers stay unchanged.

    Without an expected unit ("") the numbers are converted to SI. Units are strings; commas separate units of components, and
    semicolons separate rows. `bases` are symbols of the user's own domains, each a base unit.

    Returns `Unreadable` for anything but a unit, and `Mismatch` for a unit that cannot be converted, or components that do not
    match the shape.
    """
    if not declared or declared == expected:
        return None
    if not isinstance(declared, str):
        return Unreadable(repr(declared), "a unit must be a string")
    return _conversion(declared, expected, shape, bases)


@functools.lru_cache(maxsize=4096)
def _conversion(declared: str, expected: str, shape: tuple[int, ...], bases: frozenset[str]) -> Any:
    if not _has_several(declared) and not _has_several(expected):
        return _of_one(declared, expected, bases)
    over, under = entry_units(declared, shape), entry_units(expected, shape)
    if over is None or (under is None and expected):
        return _whole(declared, expected, bases)
    pairs = [(a, b) for a, b in np.broadcast(over, "" if under is None else under)]
    table = {pair: _of_one(*pair, bases) for pair in dict.fromkeys(pairs)}
    faults = [each for each in table.values() if isinstance(each, (Mismatch, Unreadable))]
    if faults and not _has_several(declared) and len(faults) < len(table):  # one unit may apply to several components
        return _whole(declared, expected, bases)
    if faults:
        return faults[0]
    if not any(table.values()):
        return None
    rows = [table[pair] or Conversion() for pair in pairs]
    columns = (np.array([getattr(row, name) for row in rows]).reshape(shape) for name in ("factor", "divisor", "shift"))
    return Conversion(*columns)


def entry_units(unit: str, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the unit of each entry of an array of this shape; None if the unit does not match the shape.

    Commas separate the units of components or of blocks of equal length, semicolons those of rows. Two units, the first of them
    "1", also fit a pose: seven components, a quaternion before a position, or a matrix (4, 4), whose constant last row has no
    unit.
    """
    rows = [[part.strip() for part in row.split(",")] for row in unit.split(";")]
    count = len(rows[0])
    if "..." in unit or any(len(row) != count for row in rows):
        return None
    if len(rows) == count == 1:
        return np.full(shape, rows[0][0], dtype=object)
    if is_of_pose(unit) and shape == (7,):
        return np.repeat(np.array(rows[0], dtype=object), (4, 3))
    if is_of_pose(unit) and shape == (4, 4):
        table = np.full(shape, "", dtype=object)
        table[:3, :3], table[:3, 3] = rows[0]
        return table
    table = np.array(rows[0] if len(shape) == 1 and len(rows) == 1 else rows, dtype=object)
    if table.ndim != len(shape) or any(size % each for size, each in zip(shape, table.shape, strict=True)):
        return None
    for axis, size in enumerate(shape):
        table = np.repeat(table, size // table.shape[axis], axis=axis)
    return table


def is_of_pose(unit: str) -> bool:
    return ";" not in unit and unit.count(",") == 1 and unit.partition(",")[0].strip() == "1"


def _whole(declared: str, expected: str, bases: frozenset[str]) -> Any:
    """Check units that cannot be assigned to the numbers: return None if each unit is expected, or is an SI unit of an expected
    dimension, else a fault."""
    targets = [read(part, bases) for part in _parts(expected)]
    dimensions = [target.dimension for target in targets if isinstance(target, Unit)]
    for part in _parts(declared):
        unit = read(part, bases)
        if isinstance(unit, Unreadable):
            return unit
        if dimensions and unit.dimension not in dimensions:
            return Mismatch(declared, expected, "they have different dimensions", (expected,))
        if not unit.coherent and part not in _parts(expected):
            return Mismatch(declared, expected, "it cannot be assigned to the components", (expected,) if expected else ())
    return None


def _has_several(unit: str) -> bool:
    return "," in unit or ";" in unit


def _parts(text: str) -> list[str]:
    parts = text.replace(";", ",").removesuffix("...").split(",")
    return [part.strip() for part in parts if part.strip()]


def _of_one(declared: str, expected: str, bases: frozenset[str]) -> Any:
    if declared == expected:
        return None
    unit = read(declared, bases)
    target = read(expected, bases) if expected else None
    if isinstance(unit, Unreadable):
        return unit
    if isinstance(target, Unreadable):  # a user's own string, which equals only itself
        return Mismatch(declared, expected, f"the expected unit {expected!r} cannot be read", (expected,))
    if target is None:
        return _free(unit, bases)
    if unit.dimension != target.dimension:
        return Mismatch(declared, expected, "they have different dimensions", spellings(target))
    if unit.counts_cycles and "rad" in target.symbols:
        return Mismatch(declared, expected, "Hz counts cycles, and a cycle is 2 pi rad", (f"{expected}", "rev/s", "rpm"))
    if unit.may_count_revolutions and "rad" in target.symbols:
        why = f"{declared} may count revolutions or radians"
        return Mismatch(declared, expected, why, spellings(target))
    return _linear(unit.ratio / target.ratio, unit.turns - target.turns, unit.zero if target.symbols == {"K"} else Fraction(0))


def _free(unit: Unit, bases: frozenset[str]) -> Any:
    """Return the conversion to SI if the expected unit is unknown; symbols of the user's own domains stay."""
    if unit.symbols <= bases:
        return None
    if unit.zero:
        why = f"{unit.text} may be a temperature or a difference of temperatures"
        return Mismatch(unit.text, "", why, ("K, after adding 273.15 to a temperature in degC",))
    return _linear(unit.ratio, unit.turns, Fraction(0))


def _linear(ratio: Fraction, turns: Fraction, zero: Fraction) -> Conversion | None:
    """Return the conversion by an exact factor ratio * pi^turns: one operation with one rounding if possible."""
    shift = float(zero)
    if turns:
        exact = ratio * PI**turns.numerator if turns.denominator == 1 else Fraction(float(ratio) * math.pi ** float(turns))
        return Conversion(float(exact), 1.0, shift)
    if ratio == 1 and not shift:
        return None
    over, under = ratio.as_integer_ratio()
    if _is_float(over) and _is_float(under):
        return Conversion(float(over), float(under), shift)
    return Conversion(float(ratio), 1.0, shift)


def _is_float(number: int) -> bool:
    return number.bit_length() <= 1000 and int(float(number)) == number


_SPELLINGS = """
kg, g, t, lb; m, mm, um, in; s, ms, min, h; A, mA; K; mol, mmol; 1, %; rad, deg, rev; rad/s, deg/s, rpm; 1/s
N, kN, mN, lbf; m/s, mm/s, km/h; m/s^2, mm/s^2; N m, N mm, kN m, lbf ft; N/m, N/mm, kN/m, lbf/in; m/N, mm/N; N s/m, N s/mm
m/(N s), mm/(N s); N s; N m s; N m s/rad, N m/rpm; kg m^2, g cm^2; N m/rad, N m/deg; Pa, bar, mbar, psi; m^3, l, ml
m^3/s, l/min, ml/s; Pa s/m^3, bar min/l; m^3/Pa, l/bar; Pa/m^3, bar/l; kg/m^4; V, mV, kV; F, mF, uF, nF; 1/F, 1/uF
H, mH, uH; Ohm, mOhm, kOhm; S, mS; C, A h; Wb, V s; W/K, mW/K; J/K, kJ/K; K/W; J/mol, kJ/mol; mol/s, mmol/min; 1/mol
W, kW, hp; J, kJ, kW h; V s/rad, V/rpm; N m/A, mN m/A; N/A; 1/s^2; 1/m; m/rad, mm/rad, mm/rev; rad/m; K^2/W
"""
"""Usual spellings of units, grouped by quantity; the first of each group is the SI unit."""
_SHOWN = 4


def spellings(unit: Unit) -> tuple[str, ...]:
    groups = _groups()
    named = next((group for group in groups if unit.text in group), None)
    if named is None:
        named = next((group for group in groups if _dimension(group[0]) == unit.dimension), ())
    return tuple(dict.fromkeys((unit.text, *named)))[:_SHOWN]


def in_si(unit: str) -> str:
    """Return the SI unit of the dimension of a unit; "" for a unit that cannot be read, such as units of components, and for a
    compound unit with turns or degrees, such as rpm/V.

    >>> in_si("kN/mm"), in_si("mA h"), in_si("kg km/h")
    ('N/m', 'C', 'N s')
    """
    each = read(unit)
    if isinstance(each, Unreadable):
        return ""
    if each.turns:
        return "rad/s" if dict(each.dimension) == {"s": -1} else "rad" if not each.dimension else ""
    usual = next((group[0] for group in _groups() if _dimension(group[0]) == each.dimension), None)
    return usual if usual is not None else " ".join(f"{base}^{power}" for base, power in each.dimension)


@functools.cache
def _groups() -> tuple[tuple[str, ...], ...]:
    groups = _SPELLINGS.replace("\n", ";").split(";")
    return tuple(tuple(text.strip() for text in group.split(",")) for group in groups if group)


@functools.cache
def _dimension(text: str) -> Any:
    unit = read(text)
    return unit.dimension if isinstance(unit, Unit) else None
