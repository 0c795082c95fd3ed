"""Units in terms of FMI's base units: the exponents, factor and offset of a unit that is given as text."""

from __future__ import annotations

import math
import re

from bondgraph.units import Unit, read

_RADIAN = "rad_"
"""Symbol of the radian, which counts as a base unit here; elsewhere it is 1."""
BASE_UNITS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")


def base_unit(text: str) -> dict[str, str] | None:
    """Return the attributes of a unit's element `BaseUnit`, in the order of the standard; None if there is no such element, as
    for several components or a fractional exponent.

    >>> base_unit("kN/mm"), base_unit("rad/s")
    ({'kg': '1', 's': '-2', 'factor': '1000000.0'}, {'s': '-1', 'rad': '1'})
    >>> base_unit("rad, m")
    """
    unit = read(re.sub(r"\brad\b", _RADIAN, text), frozenset({_RADIAN}))
    if not isinstance(unit, Unit):
        return None
    powers = {"rad" if base == _RADIAN else base: power for base, power in unit.dimension}
    if powers.keys() - set(BASE_UNITS) or any(power.denominator != 1 for power in powers.values()):
        return None
    factor = float(unit.ratio) * math.pi ** float(unit.turns)
    attributes = {base: str(powers[base].numerator) for base in BASE_UNITS if base in powers}
    if factor != 1.0:
        attributes["factor"] = repr(factor)
    if unit.zero:
        attributes["offset"] = repr(float(unit.zero * unit.ratio))
    return attributes
