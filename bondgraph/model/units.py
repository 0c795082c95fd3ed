"""Unit algebra of strings such as "N m, N": quotients, rates and matrices.

Commas separate the units of different components: one for each component, or for each block of equal length. The unit "" is
unknown, and so is every unit derived from it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bondgraph.units import entry_units

Powers = Mapping[str, Fraction]

_POWER = re.compile(r"(?:\^|\*\*)\(?([-+]?\d+(?:/\d+)?)\)?")
_SYMBOL = re.compile(r"[^\d\s^*/(),.·⋅+-]+|1")


def parts(unit: str) -> list[str]:
    return unit.split(", ")


def quotient(above: str, below: str) -> str:
    """Divide a unit by another, component by component: ("N m, N", "rad, m") gives "N m/rad, N/m"."""
    over, under = parts(above), parts(below)
    if len(over) != len(under) and 1 not in (len(over), len(under)):
        return ""
    size = max(len(over), len(under))
    pairs = zip(over * size if len(over) == 1 else over, under * size if len(under) == 1 else under, strict=False)
    return joined([_quotient(a, b) for a, b in itertools.islice(pairs, size)])


def per_second(unit: str, order: int = 1) -> str:
    """Return the unit of a time derivative, or of an integral for a negative order."""
    return quotient(unit, f"s^{order}") if order else unit


def matrix(rows: str, columns: str, entries: Any = None) -> str:
    """Return the unit of a matrix from values of unit `columns` to values of unit `rows`: ("m/s", "rad/s, m/s") gives "m/rad, 1",
    with rows separated by semicolons.

    `entries` are the entries of a constant matrix, in which zeros need no unit.
    """
    over, under = parts(rows), parts(columns)
    if entries is not None and (common := _common(over, under, np.asarray(entries))):
        return common
    table = [[_quotient(a, b) for b in blocks(under)] for a in blocks(over)]
    if not all(map(all, table)):
        return ""
    several = len({entry for row in table for entry in row}) > 1
    return "; ".join(map(", ".join, table)) if several else table[0][0]


def joined(units: Sequence[str]) -> str:
    return "" if not all(units) else units[0] if len(set(units)) == 1 else ", ".join(units)


def _common(over: list[str], under: list[str], entries: np.ndarray) -> str:
    count, width = entries.shape if entries.ndim == 2 else (1, entries.size)
    left, right = entry_units(", ".join(over), (count,)), entry_units(", ".join(under), (width,))
    if left is None or right is None:
        return ""
    indices = np.argwhere(entries.reshape(count, width))
    units = {_quotient(left[i], right[j]) for i, j in indices}
    return units.pop() if len(units) == 1 else ""


def blocks(units: list[str]) -> list[str]:
    """Return the shortest equivalent list of units, with one unit for each of several equally long blocks."""
    size = math.gcd(*(len(list(run)) for _, run in itertools.groupby(units)))
    return units[::size]


def _quotient(above: str, below: str) -> str:
    over, under = powers(above), powers(below)
    if over is None or under is None:
        return ""
    return unit_text(times(over, under, -1))


def times(unit: Powers, other: Powers, power: Fraction | int = 1) -> dict[str, Fraction]:
    product = dict(unit)
    for symbol, exponent in other.items():
        product[symbol] = product.get(symbol, Fraction(0)) + exponent * power
    return {symbol: exponent for symbol, exponent in product.items() if exponent}


def unit_text(exponents: Powers) -> str:
    """Write symbols with their powers as a unit; "1" without symbols.

    >>> unit_text({"N": Fraction(1), "m": Fraction(-1), "s": Fraction(-2)})
    'N/(m s^2)'
    """
    raised = [name + _exponent(power) for name, power in exponents.items() if power > 0]
    lowered = [name + _exponent(-power) for name, power in exponents.items() if power < 0]
    numerator = " ".join(raised) or "1"
    return numerator if not lowered else f"{numerator}/{lowered[0] if len(lowered) == 1 else '(' + ' '.join(lowered) + ')'}"


def _exponent(power: Fraction) -> str:
    return "" if power == 1 else f"^{power}" if power.denominator == 1 else f"^({power})"


def powers(unit: str) -> dict[str, Fraction] | None:
    """Return the symbols of one unit with their powers; None for an unknown or unreadable unit."""
    bare = _POWER.sub(lambda match: f"^{match[1].replace('/', '|')} ", unit)
    exponents: dict[str, Fraction] = {}
    for sign, side in zip((1, -1), (*bare.split("/", 1), ""), strict=False):
        for factor in re.sub(r"[()/·⋅*]", " ", side).split():
            name, _, power = factor.partition("^")
            if not _SYMBOL.fullmatch(name):
                return None
            if name != "1":
                exponents[name] = exponents.get(name, Fraction(0)) + sign * Fraction(power.replace("|", "/") or 1)
    return exponents if unit else None
