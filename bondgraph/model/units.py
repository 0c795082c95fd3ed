"""Calculations with units: texts such as "N m, N" in; those of quotients, rates and matrices out.

Commas part the units of unlike components: as many as there are components, or one for each of blocks of equal length. "" is a
unit that nobody has given, and what comes of one is unknown too.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

_POWER = re.compile(r"(?:\^|\*\*)\(?([-+]?\d+(?:/\d+)?)\)?")
_SYMBOL = re.compile(r"[^\d\s^*/(),.·⋅+-]+|1")


def parts(unit: str) -> list[str]:
    """The units of the components, or of blocks of them."""
    return unit.split(", ")


def quotient(above: str, below: str) -> str:
    """A unit divided by another, component by component: ("N m, N", "rad, m") gives "N m/rad, N/m"."""
    over, under = parts(above), parts(below)
    if len(over) != len(under) and 1 not in (len(over), len(under)):
        return ""
    size = max(len(over), len(under))
    pairs = zip(over * size if len(over) == 1 else over, under * size if len(under) == 1 else under, strict=False)
    return together([_quotient(a, b) for a, b in itertools.islice(pairs, size)])


def per_second(unit: str, order: int = 1) -> str:
    """The unit of a derivative in time; of a negative order, of an integral."""
    return quotient(unit, f"s^{order}") if order else unit


def matrix(rows: str, columns: str, entries: Any = None) -> str:
    """The unit of a matrix that makes something of unit `rows` out of something of unit `columns`: ("m/s", "rad/s, m/s") gives
    "m/rad, 1", with rows parted by semicolons.

    `entries` are those of a matrix that never changes: then what is zero needs no unit.
    """
    over, under = parts(rows), parts(columns)
    if entries is not None and (known := _of_entries(over, under, np.asarray(entries))):
        return known
    table = [[_quotient(a, b) for b in _blocks(under)] for a in _blocks(over)]
    if not all(map(all, table)):
        return ""
    several = len({entry for row in table for entry in row}) > 1
    return "; ".join(map(", ".join, table)) if several else table[0][0]


def together(units: Sequence[str]) -> str:
    """Units of components in one text: of like ones that of all."""
    return "" if not all(units) else units[0] if len(set(units)) == 1 else ", ".join(units)


def spread(unit: str, count: int) -> list[str] | None:
    """The unit of each of `count` components; None where the text does not tell. Seven of two units are a pose, a quaternion
    before a position."""
    known = parts(unit)
    if (len(known), count) == (2, 7):
        return [known[0]] * 4 + [known[1]] * 3
    return None if count % len(known) else [part for part in known for _ in range(count // len(known))]


def _of_entries(over: list[str], under: list[str], entries: np.ndarray) -> str:
    """The unit of all entries that are not zero, if it is one."""
    count, width = entries.shape if entries.ndim == 2 else (1, entries.size)
    left, right = spread(", ".join(over), count), spread(", ".join(under), width)
    if left is None or right is None:
        return ""
    places = np.argwhere(entries.reshape(count, width))
    found = {_quotient(left[i], right[j]) for i, j in places}
    return found.pop() if len(found) == 1 else ""


def _blocks(units: list[str]) -> list[str]:
    """The fewest units that tell the same, one for each of blocks of equal length."""
    size = math.gcd(*(len(list(run)) for _, run in itertools.groupby(units)))
    return units[::size]


def _quotient(above: str, below: str) -> str:
    over, under = powers(above), powers(below)
    if over is None or under is None:
        return ""
    found = dict.fromkeys((*over, *under), Fraction(0))
    for sign, several in ((1, over), (-1, under)):
        for name, power in several.items():
            found[name] += sign * power
    raised = [name + _exponent(power) for name, power in found.items() if power > 0]
    lowered = [name + _exponent(-power) for name, power in found.items() if power < 0]
    whole = " ".join(raised) or "1"
    return whole if not lowered else f"{whole}/{lowered[0] if len(lowered) == 1 else '(' + ' '.join(lowered) + ')'}"


def _exponent(power: Fraction) -> str:
    return "" if power == 1 else f"^{power}" if power.denominator == 1 else f"^({power})"


def powers(unit: str) -> dict[str, Fraction] | None:
    """Symbols of one unit with their powers; None where nobody has given one, or nobody can read it."""
    bare = _POWER.sub(lambda found: f"^{found[1].replace('/', '|')} ", unit)
    found: dict[str, Fraction] = {}
    for sign, side in zip((1, -1), (*bare.split("/", 1), ""), strict=False):
        for factor in re.sub(r"[()/·⋅*]", " ", side).split():
            name, _, power = factor.partition("^")
            if not _SYMBOL.fullmatch(name):
                return None
            if name != "1":
                found[name] = found.get(name, Fraction(0)) + sign * Fraction(power.replace("|", "/") or 1)
    return found if unit else None
