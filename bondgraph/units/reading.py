"""Reader of units: it turns a string such as "kN/mm" into an exact factor and a dimension over SI base units."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from bondgraph.units.symbols import ANGLES, CYCLES, LONG_TIMES, SYMBOLS, TEMPERATURES, Dimension, symbol
from screws.names import similar_names


@dataclass(frozen=True)
class Unit:
    """Unit as a multiple of SI base units: value in SI = (value + zero) * ratio * pi^turns.

    Parameters
    ----------
    symbols : symbols in the string.
    zero : shift of the zero point, in degrees of the scale; only for a temperature scale by itself.
    """

    text: str
    ratio: Fraction
    dimension: Dimension
    turns: Fraction = Fraction(0)
    zero: Fraction = Fraction(0)
    symbols: frozenset[str] = frozenset()

    @property
    def coherent(self) -> bool:
        """True if numbers in this unit are already in SI."""
        return self.ratio == 1 and not self.turns and not self.zero

    @property
    def counts_cycles(self) -> bool:
        """True for a unit such as Hz, which does not measure an angular speed."""
        return not self.symbols.isdisjoint(CYCLES)

    @property
    def may_count_revolutions(self) -> bool:
        """True for a unit such as 1/min, which may mean revolutions or radians per minute."""
        return not self.symbols.isdisjoint(LONG_TIMES) and self.symbols.isdisjoint(ANGLES)


@dataclass(frozen=True)
class Unreadable:
    """Part of a string that is not a unit, and the reason."""

    part: str
    why: str
    cures: tuple[str, ...] = ('a product of powers, such as "kg m^2/s"; "1" for a plain number',)


_TOKENS = re.compile(
    r"(?P<symbol>(?:[^\W\d_]|[°%$€Ωµμ'_])+|1(?![\d.]))(?:\^?(?P<power>\([-+]?\d+(?:/\d+|\.\d+)?\)|[-+]?\d+(?:\.\d+)?))?"
    r"|(?P<slash>/)|(?P<open>\()|\)(?:\^?(?P<closing>\([-+]?\d+(?:/\d+|\.\d+)?\)|[-+]?\d+(?:\.\d+)?))?(?P<close>)|(?P<times>[*.\-\s]+)"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻·⋅×", "0123456789-***")
_LONGEST, _LARGEST = 200, 10_000
"""Maximum number of characters of a unit string, and maximum length, in bits, of the numbers of a unit."""
_SHOWN = 3
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")


def read(text: str, bases: frozenset[str] = frozenset()) -> Unit | Unreadable:
    """Read a single unit, without commas; return `Unreadable` for any other string. `bases` are further base units.

    >>> read("kN/mm").ratio, read("l/min").ratio, read("kgg").part
    (Fraction(1000000, 1), Fraction(1, 60000), 'kgg')
    """
    return _read(text, bases & symbols_of([text]))


@functools.lru_cache(maxsize=4096)
def _read(text: str, bases: frozenset[str]) -> Unit | Unreadable:
    if len(text) > _LONGEST:
        return Unreadable(f"{text[:20]} ...", f"it has more than {_LONGEST} characters")
    plain = re.sub(r"(?<=\w)\^(?=[⁰¹²³⁴-⁹⁻])", "", text).translate(_SUPERSCRIPTS).replace("**", "^").strip()
    tokens: list[re.Match[str]] = []
    position = 0
    while position < len(plain):
        token = _TOKENS.match(plain, position)
        if token is None or (token["symbol"] and plain[token.end() : token.end() + 1] in ("^", "_")):
            part = re.split(
                r"[\s*/()]", plain[tokens[-1].start() if tokens and plain[position] == "^" else position :], maxsplit=1
            )[0]
            return Unreadable(part or plain[position:], f"there is no unit {part or plain[position:]!r}")
        tokens.append(token)
        position = token.end()
    parser = _Parser(text, tokens, bases)
    unit = parser.quotient()
    if parser.fault is None and (parser.at < len(tokens) or not tokens):
        parser.fault = Unreadable(text, "its parentheses do not match" if tokens else "the unit is empty")
    if parser.fault is not None:
        return parser.fault
    names = [token["symbol"] for token in tokens if token["symbol"]]
    zero = SYMBOLS[names[0]].zero if len(tokens) == 1 and names[0] in TEMPERATURES and not tokens[0]["power"] else Fraction(0)
    dimension = tuple(sorted((base, power) for base, power in unit.powers.items() if power))
    return Unit(text, unit.ratio, dimension, unit.turns, zero, frozenset(names))


@dataclass
class _Product:
    ratio: Fraction
    turns: Fraction
    powers: dict[str, Fraction]

    def times(self, other: _Product, power: Fraction) -> None:
        self.ratio *= _raised(other.ratio, power)
        self.turns += other.turns * power
        for base, exponent in other.powers.items():
            self.powers[base] = self.powers.get(base, Fraction(0)) + exponent * power


def _raised(ratio: Fraction, power: Fraction) -> Fraction:
    if power.denominator == 1:
        return ratio**power.numerator
    root = Fraction(*(round(part ** (1 / power.denominator)) for part in ratio.as_integer_ratio()))
    return root**power.numerator if root**power.denominator == ratio else Fraction(float(ratio) ** float(power))


@dataclass
class _Parser:
    """Recursive descent over the tokens of one string: quotient -> product / factor ..., factor -> symbol or (quotient)."""

    text: str
    tokens: list[re.Match[str]]
    bases: frozenset[str]
    at: int = 0
    fault: Unreadable | None = None

    def quotient(self) -> _Product:
        result = self._product()
        while self.fault is None and self._next("slash"):
            self.at += 1
            begin = self.tokens[self.at].start() if self.at < len(self.tokens) else 0
            result.times(self._factor(), Fraction(-1))
            if self.fault is None and self._begins_factor():
                self._ambiguous(begin)
        return result

    def _product(self) -> _Product:
        result = self._factor()
        while self.fault is None and self._begins_factor():
            if self._next("times"):
                self.at += 1
            result.times(self._factor(), Fraction(1))
        return result

    def _factor(self) -> _Product:
        result = _Product(Fraction(1), Fraction(0), {})
        if self._next("times"):
            self.at += 1
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is not None and token["open"]:
            self.at += 1
            inner = self.quotient()
            if self.fault is None and self.at < len(self.tokens) and self.tokens[self.at]["close"] is not None:
                self._raise(result, inner, self.tokens[self.at]["closing"])
                self.at += 1
                return result
            self.fault = self.fault or Unreadable(self.text, "its parentheses do not match")
        elif token is not None and token["symbol"]:
            self.at += 1
            self._raise(result, self._symbol(token["symbol"]), token["power"])
            if token["power"] and not _power(token["power"]):
                self.fault = self.fault or Unreadable(token[0], f"a power of zero leaves nothing of {token['symbol']!r}")
        else:
            self.fault = self.fault or Unreadable(self.text, "a unit is missing next to a product or quotient sign")
        return result

    def _raise(self, result: _Product, factor: _Product, text: str) -> None:
        power = _power(text)
        sizes = [each.bit_length() for each in factor.ratio.as_integer_ratio()]
        sizes += [abs(part) for exponent in factor.powers.values() for part in exponent.as_integer_ratio()]
        if max(sizes) * max(abs(power.numerator), power.denominator) > _LARGEST:
            self.fault = self.fault or Unreadable(self.text, f"the power {text} is too large")
        else:
            result.times(factor, power)

    def _symbol(self, name: str) -> _Product:
        if name in self.bases and name not in SYMBOLS:
            return _Product(Fraction(1), Fraction(0), {name: Fraction(1)})
        unit = symbol(name)
        if unit is None:
            near = similar_names(name, sorted(SYMBOLS, key=lambda each: (len(each), each)), most=_SHOWN)
            why = f"there is no unit {name!r}" + (f"; similar names: {', '.join(near)}" if near else "")
            below = "/" in self.text[: self.text.index(name)]
            factors = (f"({each})" if below and " " in each else each for each in _likely_spellings(name))
            cures = tuple(f'"{self.text.replace(name, each)}"' for each in factors)
            self.fault = self.fault or Unreadable(name, why, (*cures, *Unreadable.cures))
            return _Product(Fraction(1), Fraction(0), {})
        return _Product(unit.ratio, Fraction(unit.turns), dict(unit.dimension))

    def _next(self, group: str) -> bool:
        return self.at < len(self.tokens) and bool(self.tokens[self.at][group])

    def _begins_factor(self) -> bool:
        ahead = self.at + self._next("times")
        if ahead >= len(self.tokens):
            self.at = ahead
            return False
        token = self.tokens[ahead]
        if token["slash"] or token["close"] is not None:
            self.at = ahead
            return False
        return True

    def _ambiguous(self, begin: int) -> None:
        first = self.tokens[0].string[:begin].rstrip().removesuffix("/").rstrip()
        below = self.tokens[0].string[begin:].strip()
        part, rest = [*re.split(r"[\s*.]+", below, maxsplit=1), ""][:2]
        cures = f'"{first}/({below})"', f'"{first} {rest}/{part}"'
        self.fault = Unreadable(self.text, "it is ambiguous: the factors after the slash may divide or multiply", cures)


def _likely_spellings(name: str) -> list[str]:
    """Return likely spellings of a name: two symbols, "kg m" for "kgm", a quotient by a time, small letters, or a singular.

    >>> _likely_spellings("kgm"), _likely_spellings("kmh"), _likely_spellings("Newton"), _likely_spellings("kgg")
    (['kg m'], ['km/h'], ['newton'], [])
    """
    if name != name.lower() and symbol(name.lower()) is not None and len(name) > 3:
        return [name.lower()]
    if len(name) > 3 and name.endswith("s") and name[:-1] in SYMBOLS:  # a plural
        return [name[:-1]]
    places = [k for k in range(1, len(name)) if name[:k] in SYMBOLS and name[k:] in SYMBOLS]
    different = [k for k in places if SYMBOLS[name[:k]].dimension != SYMBOLS[name[k:]].dimension]
    return [f"{name[:k]}{'/' if name[k:] == 'h' else ' '}{name[k:]}" for k in different][:2]


def _power(text: str | None) -> Fraction:
    if not text:
        return Fraction(1)
    over, _, under = text.strip("()").partition("/")
    return Fraction(over) / Fraction(under or 1) if Fraction(under or 1) else Fraction(0)


def unknown_unit(unit: object, bases: frozenset[str] = frozenset()) -> Unreadable | None:
    """Return the first unreadable part of a unit, None if there is none; commas separate the units of components, semicolons
    rows of a matrix, and "..." continues for all further components.

    >>> unknown_unit("N m/rad, N/m"), unknown_unit("kgg").part, unknown_unit("m^2/(K s)")
    (None, 'kgg', None)
    """
    if not isinstance(unit, str):
        return Unreadable(repr(unit), f"a unit must be a string, not {unit!r}")
    for part in re.split(r"[,;]", unit.removesuffix("...")):
        each = read(part, bases) if part.strip() else None
        if isinstance(each, Unreadable):
            return each
    return None


def quantity_cure(text: object) -> str:
    """Return how to write a number, perhaps with a unit, that was given as text; "" for anything else.

    >>> quantity_cure("50 N/mm"), quantity_cure("1e3"), quantity_cure("large"), quantity_cure("5 xy")
    ('Parameter(50, "N/mm")', 'the number without quotes', '', '')
    """
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return ""
    number, unit = match.groups()
    if not unit:
        return "the number without quotes"
    if isinstance(read(unit), Unreadable):
        unit = next(iter(_likely_spellings(unit)), "")
    return f'Parameter({number}, "{unit}")' if unit else ""


def symbols_of(units: Iterable[str]) -> frozenset[str]:
    """Return the symbols in these units."""
    return frozenset(name for unit in units for name in re.findall(r"[^\d\s^*/(),;·⋅+-]+", unit))
