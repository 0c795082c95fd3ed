"""Numbers and units as arguments: `real` reads numbers and arrays, `unknown_unit` checks units."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np


def real(value: Any) -> np.ndarray | None:
    """Return a number, or an array or nested list of numbers, as floats; None for text, truth values, None, complex or masked
    numbers.

    >>> real([1, 2.5]), real("1.0"), real(True), real(None), real([1.0, "2"]), real(-(10**400))
    (array([1. , 2.5]), None, None, None, None, array(-inf))
    """
    if type(value) is float:
        return np.asarray(value)
    if has_masked(value):
        return None
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if array.dtype.kind == "O":
        valid = all(isinstance(v, Real) and not isinstance(v, bool) for v in array.flat)
    else:
        valid = array.dtype.kind in "iuf" and not _holds_truth(value)
    return _floats(array) if valid else None


def _floats(array: np.ndarray) -> np.ndarray:
    """Convert to floats; a larger integer becomes infinite, as a float literal of its size."""
    try:
        return array.astype(float)
    except OverflowError:
        return np.array([_float(v) for v in array.flat]).reshape(array.shape)


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number > 0 or -1)


def has_masked(value: Any) -> bool:
    """Return True if entries of an array are masked, and thus no values."""
    return isinstance(value, np.ndarray) and bool(np.any(getattr(value, "mask", False)))


def _holds_truth(value: Any) -> bool:
    """Return True if a nested list has a truth value among its numbers, which NumPy would convert to a number."""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_truth, value))
    return isinstance(value, (bool, np.bool_))


_PREFIXES = ("", "Y", "Z", "E", "P", "T", "G", "M", "k", "h", "da", "d", "c", "m", "u", "µ", "μ", "n", "p", "f", "a", "z", "y")
_WITH_PREFIX = (
    "m", "g", "s", "A", "K", "mol", "cd", "rad", "sr", "Hz", "N", "Pa", "J", "W", "V", "C", "F", "H", "Wb", "T", "S", "Ohm",
    "ohm", "Ω", "Ω", "lm", "lx", "Bq", "Gy", "Sv", "kat", "L", "l", "bar", "eV", "cal", "M", "Da", "t", "B", "bit",
)  # fmt: skip
_ALONE = (
    "1", "%", "°", "deg", "rev", "rpm", "turn", "min", "h", "d", "day", "a", "yr", "°C", "degC", "kn", "ha", "u", "au", "atm",
    "mmHg", "psi", "lbf", "lb", "in", "ft", "mi", "gal", "dB", "Np", "ppm", "ppb", "px", "pixel", "count", "sample", "samples",
    "tick", "ticks", "tooth", "teeth", "person", "persons", "cell", "cells",
)  # fmt: skip
UNITS = frozenset(prefix + unit for unit in _WITH_PREFIX for prefix in _PREFIXES) | frozenset(_ALONE)
"""Known symbols of units."""

_FACTOR = re.compile(r"^(?P<symbol>[^\d\s^*/()]+|1)(?:(?:\^|\*\*)?(?P<power>\(?[-+]?\d+(?:/\d+|\.\d+)?\)?))?$")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def unknown_unit(unit: object, further: Collection[str] = ()) -> str | None:
    """Return the first unknown part of a unit, or None for a valid unit; `further` are additional symbols.

    A unit is a product of powers, `kg m^2/s`; commas separate the units of unlike components, `N m, N` or `m, m/s ...`, and
    semicolons rows of a matrix.

    >>> unknown_unit("N m/rad, N/m"), unknown_unit("kgg"), unknown_unit("m^2/(K s)"), unknown_unit(3)
    (None, 'kgg', None, '3')
    """
    if not isinstance(unit, str):
        return repr(unit)
    for part in re.split(r"[,;\s*·⋅/()]+(?![-+\d./]*\))", unit.replace("**", "^").translate(_SUPERSCRIPTS)):
        if part in ("", "..."):  # the second continues for all further components
            continue
        factor = _FACTOR.match(part)
        if factor is None or (factor["symbol"] not in UNITS and factor["symbol"] not in further):
            return part
    return None


def symbols_of(unit: str) -> tuple[str, ...]:
    """Return the symbols of a unit."""
    return tuple(re.findall(r"[^\d\s^*/(),;·⋅+-]+", unit))
