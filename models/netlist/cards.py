"""Cards of a SPICE netlist: continued lines, comments, and values with suffixes and expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.errors import ModelError, Place, Problem
from bondgraph.interchange.formulas import InvalidFormula
from bondgraph.interchange.short.arithmetic import arithmetic
from screws.names import similar_names

SUFFIXES = {"t": 1e12, "g": 1e9, "meg": 1e6, "k": 1e3, "mil": 25.4e-6, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
SUFFIXES |= {"f": 1e-15, "a": 1e-18}
"""Factors of suffixes: M is milli, MEG mega; letters after a suffix are a unit, which SPICE ignores."""
LONGEST_CARD = 20_000

_NUMBER = r"(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(meg|mil|[tgkmunpfa])?[a-z]*"
_WORD = re.compile(r"(?:[^\s(),{}'=]*=)?(?:\{[^{}]*\}|'[^']*'|[^\s(),{}']+)")
_FUNCTIONS = {"abs": "absolute", "ln": "log", "min": "minimum", "max": "maximum", "arctan": "atan"}


@dataclass(frozen=True)
class Card:
    """Statement of a netlist: its words in lower case, with key=value as one word, and its line in the file."""

    file: str
    line: int
    words: tuple[str, ...]

    def problem(self, code: str, title: str, *cures: str, why: str = "") -> Problem:
        return Problem(code, title, (why,) if why else (), (Place(self.file, self.line),), cures)

    def error(self, code: str, title: str, *cures: str, why: str = "") -> ModelError:
        return ModelError(self.file, [self.problem(code, title, *cures, why=why)])

    @property
    def pairs(self) -> dict[str, str]:
        return dict(word.split("=", 1) for word in self.words if "=" in word)  # type: ignore[misc]

    @property
    def plain(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if "=" not in word)


def cards_of(text: str, file: str) -> Iterator[Card]:
    """Yield the cards of a netlist after its title, the first line, up to .end, without comments and .control blocks; raise E640
    for a line that continues no card, or a card that is too long."""
    statements: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if number == 1:
            continue
        plain = re.sub(r"(;|\s\$\s|//).*", "", line).strip().lower()
        if not plain or plain.startswith(("*", "$")):
            continue
        if plain.startswith("+") and statements:
            statements[-1][1].append(plain[1:])
        else:
            statements.append((number, [plain]))
    controls = False
    for number, pieces in statements:
        statement = " ".join(pieces)
        first = statement.split(maxsplit=1)[0]
        if first[0] == "+":
            raise Card(file, number, ()).error("E640", "a line continues a card, but no card precedes it", "without the +")
        controls = (controls or first == ".control") and first != ".endc"
        if first == ".end":
            return
        if not controls and first != ".endc":
            if len(statement) > LONGEST_CARD:
                raise Card(file, number, ()).error("E640", f"a card has more than {LONGEST_CARD} characters", "shorter cards")
            yield Card(file, number, tuple(_WORD.findall(re.sub(r"\s*=\s*", "=", statement))) or (first,))


@dataclass(frozen=True)
class Scope:
    texts: Mapping[str, tuple[str, Scope | None]]
    """String of each parameter, and the scope in which it is evaluated, or None for this scope."""
    around: Scope | None = None
    values: dict[str, float] = field(default_factory=dict)

    def value(self, card: Card, text: str, pending: Sequence[str] = ()) -> float:
        """Return the value of a number, or of an expression in braces or quotes.

        Raises `ModelError` E640 for an invalid value, E641 for an unknown parameter, E642 for parameters that define each other.
        """
        number = re.fullmatch(rf"([-+]?){_NUMBER}", text)
        if number is not None:
            value = float(f"{number[1]}{number[2]}{number[3] or ''}") * SUFFIXES.get(number[4] or "", 1.0)
            if math.isfinite(value):
                return value
            raise card.error("E640", f'"{text[:60]}" is too large', "a number below 1e308")
        if text[:1] not in ("{", "'"):
            raise card.error("E640", f'"{text[:60]}" is not a number', "a number such as 4.7k, or an expression in braces, {2*r}")
        return self._expression(card, text[1:-1], pending)

    def parameter(self, card: Card, name: str, pending: Sequence[str]) -> float:
        if name in self.values:
            return self.values[name]
        if name in self.texts:
            if name in pending or len(pending) > 50:
                raise card.error(
                    "E642", f"parameters define each other: {' -> '.join([*pending, name])}", "a number for one parameter"
                )
            text, scope = self.texts[name]
            inside = text[1:-1] if text[:1] in ("{", "'") else text
            value = self._expression(card, inside, [*pending, name]) if scope is None else scope.value(card, text)
            self.values[name] = value
            return value
        if self.around is not None:
            return self.around.parameter(card, name, ())
        near = similar_names(name, self.texts) or list(self.texts)[:8]
        raise card.error("E641", f'unknown parameter "{name[:60]}"', f".param {name}=..." if not near else ", ".join(near))

    def _expression(self, card: Card, text: str, pending: Sequence[str]) -> float:
        numbers = re.sub(rf"(?<![\w.]){_NUMBER}", lambda match: repr(self.value(card, match[0])), text)
        words = re.sub(r"[a-z_]\w*", lambda match: _FUNCTIONS.get(match[0], match[0]), numbers.replace("^", "**"))
        names = [each for each in dict.fromkeys(re.findall(r"(?<![\w.])[a-z_]\w*(?!\w*\s*\()", words)) if each != "pi"]
        try:
            formula = arithmetic(words, names)
            value = float(formula(*(self.parameter(card, name, pending) for name in names)))
        except (InvalidFormula, ArithmeticError, TypeError) as error:
            raise card.error("E640", f'the expression "{text[:60]}" is refused: {error}', "arithmetic with parameters") from None
        if not math.isfinite(value):
            raise card.error("E640", f'the expression "{text[:60]}" is {value}', "a finite number")
        return value
