"""Names, units, numbers and strings in Modelica's notation.

A user's name becomes a quoted identifier. Characters that such an identifier cannot contain, non-ASCII letters and marks like
`'`, are written as in HTML: "ω1" becomes '&omega;1', and `html.unescape` converts it back.

Source: Modelica Language Specification 3.6, section 2.3.1 (identifiers) and chapter 19 (unit expressions).
"""

from __future__ import annotations

import re
from html.entities import codepoint2name

import numpy as np

_KEYWORDS = (
    "algorithm and annotation assert block break class connect connector constant constrainedby der discrete each else elseif"
    " elsewhen encapsulated end enumeration equation expandable extends external false final flow for function if import impure"
    " in initial inner input loop model not operator or outer output package parameter partial protected public pure record"
    " redeclare replaceable return stream then true type when while within"
)
KEYWORDS = frozenset(_KEYWORDS.split())

_BARE = re.compile(r"[A-Za-z0-9_!#$%()*+,\-./:;<>=?@\[\]^{}|~ ]")
_SYMBOLS = "m g s A K mol cd rad sr Hz N Pa W J V C F Ohm S Wb T H lm lx kat l L eV bar t"
_PREFIXES = ("", *"YZEPTGMkhdcmunpfazy", "da")
_UNITS = {prefix + symbol for prefix in _PREFIXES for symbol in _SYMBOLS.split()} | {"min", "h", "d", "deg", "degC"}
_FACTOR = re.compile(r"([A-Za-z]+)\^?\(?(-?\d+)?\)?")
_SUPERSCRIPTS = str.maketrans(
    {"⁰": "0", "¹": "1", "²": "2", "³": "3", "⁴": "4", "⁵": "5", "⁻": "-", "Ω": "Ohm", "·": " ", "*": " "}
)


def quoted(name: str, index: tuple[int, ...] = ()) -> str:
    """Return a name as a quoted identifier; `index` counts array entries from 0, the result from 1.

    >>> quoted("ω's mass.p"), quoted("arm.q", (0, 1))
    ("'&omega;&#39;s mass.p'", "'arm.q[1,2]'")
    """
    text = "".join(letter if _BARE.fullmatch(letter) else _reference(ord(letter)) for letter in name)
    return f"'{text}{subscript(index)}'"


def subscript(index: tuple[int, ...]) -> str:
    return f"[{','.join(str(k + 1) for k in index)}]" if index else ""


def _reference(point: int) -> str:
    return f"&{codepoint2name[point]};" if point in codepoint2name else f"&#{point};"


def text(words: str) -> str:
    return '"' + " ".join(words.replace("\\", "\\\\").replace('"', '\\"').split()) + '"'


def unit(words: str) -> str:
    """Return a unit in Modelica's notation; "" for units that it cannot express, such as "rad, m".

    >>> unit("kg m^2/s"), unit("N s/(m rad)"), unit("1/s"), unit("rpm")
    ('kg.m2/s', 'N.s/(m.rad)', '1/s', '')
    """
    above, slash, below = words.translate(_SUPERSCRIPTS).replace("ohm", "Ohm").partition("/")
    below = below.strip()
    is_group = below.startswith("(") and below.endswith(")")
    if slash and not is_group and len(below.split()) > 1:
        return ""
    over, under = _product(above), _product(below[1:-1] if is_group else below)
    if not over or (slash and (not under or under == "1")):
        return ""
    return over if not slash else f"{over}/({under})" if "." in under else f"{over}/{under}"


def _product(words: str) -> str:
    factors = words.split()
    if factors == ["1"]:
        return "1"
    matches = [_FACTOR.fullmatch(factor) for factor in factors]
    if not all(match is not None and match[1] in _UNITS for match in matches):
        return ""
    return ".".join(match[1] + (match[2] or "") for match in matches if match is not None)


def real(value: float) -> str:
    """Return a number at full precision. Modelica has neither nan nor infinity: they become 0 and ±1e300."""
    text = repr(float(np.nan_to_num(value, nan=0.0, posinf=1e300, neginf=-1e300)))
    return f"({text})" if text.startswith("-") else text


def array(values: np.ndarray) -> str:
    return real(float(values)) if values.ndim == 0 else "{" + ", ".join(map(array, values)) + "}"
