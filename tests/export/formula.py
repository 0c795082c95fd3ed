"""Numerical value of a letter from its LaTeX equation and given numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.export.reading.grammar import Language, Node, Parser
from tests.export.reading.tokens import Unreadable, tokens_of


def value_of(wanted: str, equations: Sequence[str], given: Mapping[str, Any]) -> Any:
    sides = {tuple(tokens_of(left)): right for left, _, right in (equation.partition("=") for equation in equations)}
    numbers = {tuple(tokens_of(letter)): value for letter, value in given.items()}
    assert len(sides) == len(equations) and not sides.keys() & numbers.keys()

    def value(letter: tuple[str, ...]) -> Any:
        if letter not in numbers:
            parser = Parser(sides[letter], language)
            numbers[letter] = parser.whole(parser.choice)(None)
        return numbers[letter]

    def letter(tokens: Sequence[str], place: int) -> tuple[Node, int] | None:
        known = sorted({*sides, *numbers}, key=len, reverse=True)
        found = next((each for each in known if tuple(tokens[place : place + len(each)]) == each), None)
        return None if found is None else ((lambda at: value(found)), place + len(found))

    def nothing(*_: Any) -> Any:
        raise Unreadable("a function, mode or time derivative is not allowed here")

    language = Language(letter, nothing, nothing, nothing)
    found = value(tuple(tokens_of(wanted)))
    assert not language.doubts, language.doubts
    return found
