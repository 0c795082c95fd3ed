"""Symbols of units with their exact factors to SI base units, in one table; and the symbols that `pint` adds, if installed."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

Dimension = tuple[tuple[str, Fraction], ...]
"""Base symbols with their powers, in alphabetical order."""


@dataclass(frozen=True)
class Symbol:
    """Unit with one symbol: value in SI = (value + zero) * ratio * pi^turns.

    Parameters
    ----------
    dimension : exponents of kg, m, s, A, K, mol, cd, and of counting units such as `px`.
    zero : shift of the zero point of a temperature scale, in degrees of the scale.
    """

    ratio: Fraction
    dimension: Dimension
    turns: int = 0
    zero: Fraction = Fraction(0)


def _dimension(text: str) -> Dimension:
    parts = (re.fullmatch(r"(\D+?)(-?\d+)?", part) for part in text.split())
    return tuple(sorted((part[1], Fraction(part[2] or 1)) for part in parts if part))


_DIMENSIONS = {
    "": "", "frequency": "s-1", "force": "kg m s-2", "pressure": "kg m-1 s-2", "energy": "kg m2 s-2", "power": "kg m2 s-3",
    "charge": "s A", "voltage": "kg m2 s-3 A-1", "flux": "kg m2 s-2 A-1", "area": "m2", "volume": "m3", "flow": "m3 s-1",
    "speed": "m s-1", "acceleration": "m s-2", "dose": "m2 s-2", "viscosity": "kg m-1 s-1", "diffusivity": "m2 s-1",
}  # fmt: skip
"""Dimension of each named quantity; any other string is read as a dimension."""

_WITH_PREFIX = """
m 1 m; g 1/1000 kg; s 1 s; sec 1 s; A 1 A; K 1 K; mol 1 mol; cd 1 cd; rad 1; sr 1; Hz 1 frequency; N 1 force; Pa 1 pressure
J 1 energy; W 1 power; V 1 voltage; C 1 charge; F 1 kg-1 m-2 s4 A2; H 1 kg m2 s-2 A-2; Wb 1 flux; T 1 kg s-2 A-1
S 1 kg-1 m-2 s3 A2; Ohm 1 kg m2 s-3 A-2; ohm 1 kg m2 s-3 A-2; Ω 1 kg m2 s-3 A-2; Ω 1 kg m2 s-3 A-2; lm 1 cd; lx 1 cd m-2
Bq 1 frequency; Gy 1 dose; Sv 1 dose; kat 1 mol s-1; L 1/1000 volume; l 1/1000 volume; bar 100000 pressure
eV 1.602176634e-19 energy; cal 4.184 energy; M 1000 mol m-3; Da 1.66053906660e-27 kg; t 1000 kg; B 1 B; bit 1 bit
Nm 1 energy; Nmm 1/1000 energy; Ncm 1/100 energy; Wh 3600 energy; Ws 1 energy; Ah 3600 charge; As 1 charge; VA 1 power
Vs 1 flux; Ns 1 kg m s-1; Nms 1 kg m2 s-1; Pas 1 viscosity; P 0.1 viscosity
St 1/10000 diffusivity; pc 30856775814913673 m
"""
"""Symbol, factor and dimension of the units that take prefixes."""

_ALONE = """
1 1; % 1/100; ppm 1e-6; ppb 1e-9; min 60 s; h 3600 s; hr 3600 s; d 86400 s; day 86400 s; a 31557600 s; yr 31557600 s
kn 1852/3600 speed; kph 1000/3600 speed; mph 1609.344/3600 speed; ha 10000 area; u 1.66053906660e-27 kg; au 149597870700 m
atm 101325 pressure
Torr 101325/760 pressure; mmHg 133.322387415 pressure; inHg 3386.38864 pressure
psi 44482216152605/6451600000 pressure
ksi 44482216152605/6451600 pressure; lbf 4.4482216152605 force; ozf 4.4482216152605/16 force; kgf 9.80665 force; kp 9.80665 force
dyn 1e-5 force; erg 1e-7 energy; lb 0.45359237 kg; lbs 0.45359237 kg; lbm 0.45359237 kg; oz 0.45359237/16 kg
slug 4.4482216152605/0.3048 kg
in 0.0254 m; inch 0.0254 m; ft 0.3048 m; foot 0.3048 m; feet 0.3048 m; yd 0.9144 m; mil 0.0000254 m
mi 1609.344 m; nmi 1852 m; gal 0.003785411784 volume; gpm 0.003785411784/60 flow; lpm 1/60000 flow; cfm 0.028316846592/60 flow
cc 1e-6 volume; hp 745.69987158227022 power; PS 735.49875 power; BTU 1055.05585262 energy; Btu 1055.05585262 energy
gn 9.80665 acceleration; °R 5/9 K; degR 5/9 K
dB 1 dB; Np 1 Np; px 1 px; pixel 1 px; count 1 count; sample 1 sample; samples 1 sample; tick 1 tick; ticks 1 tick
tooth 1 tooth; teeth 1 tooth; person 1 person; persons 1 person; cell 1 cell; cells 1 cell
"""
"""Symbol, factor and dimension of the units without prefixes."""

_ANGLES: Mapping[str, tuple[str, str]] = {
    "deg": ("1/180", ""), "°": ("1/180", ""), "degree": ("1/180", ""), "degrees": ("1/180", ""), "arcmin": ("1/10800", ""),
    "arcsec": ("1/648000", ""), "gon": ("1/200", ""), "rev": ("2", ""), "turn": ("2", ""), "rpm": ("2/60", "frequency"),
    "RPM": ("2/60", "frequency"), "krpm": ("2000/60", "frequency"), "rps": ("2", "frequency"),
}  # fmt: skip
"""Angles and speeds of rotation, whose factor is a multiple of pi."""

_SCALES: Mapping[str, tuple[str, str]] = {
    "°C": ("1", "273.15"), "degC": ("1", "273.15"), "°F": ("5/9", "459.67"), "degF": ("5/9", "459.67"),
}  # fmt: skip
"""Temperature scales: the size of a degree in K, and the shift of the zero point in degrees."""

_PREFIXES = {
    "": 0, "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1, "d": -1, "c": -2, "m": -3,
    "u": -6, "µ": -6, "μ": -6, "n": -9, "p": -12, "f": -15, "a": -18, "z": -21, "y": -24,
}  # fmt: skip


def fraction(text: str) -> Fraction:
    over, _, under = text.partition("/")
    return Fraction(over) / Fraction(under or 1)


def _rows(text: str) -> dict[str, Symbol]:
    rows = (row.split(" ", 2) for row in re.split(r"[;\n]\s*", text.strip()))
    return {row[0]: Symbol(fraction(row[1]), _dimension(_DIMENSIONS.get(part := "".join(row[2:]), part))) for row in rows}


def _table() -> dict[str, Symbol]:
    with_prefix, kelvin = _rows(_WITH_PREFIX), _dimension("K")
    table = {
        prefix + name: Symbol(each.ratio * Fraction(10) ** power, each.dimension)
        for name, each in with_prefix.items()
        for prefix, power in _PREFIXES.items()
    }
    table |= with_prefix | _rows(_ALONE)
    table |= {name: Symbol(fraction(ratio), _dimension(_DIMENSIONS[per]), 1) for name, (ratio, per) in _ANGLES.items()}
    return table | {name: Symbol(fraction(size), kelvin, 0, fraction(zero)) for name, (size, zero) in _SCALES.items()}


SYMBOLS: Mapping[str, Symbol] = _table()
"""Unit symbols by name."""

CYCLES = frozenset(prefix + "Hz" for prefix in _PREFIXES)
"""Symbols that count cycles, which are not angles."""
ANGLES = frozenset(_ANGLES) | frozenset(prefix + "rad" for prefix in _PREFIXES)
"""Symbols of angles and speeds of rotation."""
LONG_TIMES = frozenset(("min", "h", "hr", "d", "day", "a", "yr"))
"""Units of time in speeds of rotation: 1/min may be one revolution or one radian per minute."""
TEMPERATURES = frozenset(_SCALES)
"""Symbols of temperature scales whose zero is not 0 K."""


def symbol(name: str) -> Symbol | None:
    """Return the unit of a symbol from the table, or from `pint` if installed; None for an unknown symbol."""
    entry = SYMBOLS.get(name)
    return entry if entry is not None or not name.isidentifier() else _from_pint(name)


_PINT_BASES = {
    "kilogram": "kg",
    "meter": "m",
    "second": "s",
    "ampere": "A",
    "kelvin": "K",
    "mole": "mol",
    "candela": "cd",
    "radian": "",
}


@functools.cache
def _from_pint(name: str) -> Symbol | None:
    if importlib.util.find_spec("pint") is None:
        return None
    registry = _registry()
    try:
        quantity = registry.Quantity(1, name).to_base_units()
    except Exception:  # pint raises errors of many kinds for strings that are not units, and for scales with offsets
        return None
    powers = {_PINT_BASES.get(str(base)): Fraction(power) for base, power in quantity.units._units.items()}
    if None in powers:
        return None
    dimension = tuple(sorted((base, power) for base, power in powers.items() if base))
    return Symbol(Fraction(str(quantity.magnitude)), dimension)


@functools.cache
def _registry():  # type: ignore[no-untyped-def] # pint is optional
    import pint

    return pint.UnitRegistry()
