"""Functions printed on a page, read as callables with local letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.export.reading.grammar import Language, Node, Parser, digits
from tests.export.reading.markdown import formulas
from tests.export.reading.tokens import Unreadable, own_letter, tokens_of

if TYPE_CHECKING:
    from tests.export.reading.page import Page

SHARED = r"\mathsf{s}"


def own_letters(text: str) -> list[str]:
    tokens, place, found = tokens_of(text), 0, []
    while place < len(tokens):
        one = own_letter(tokens, place)
        if one:
            found.append(one[0])
        place = one[1] if one else place + 1
    return found


class Function:
    def __init__(self, body: str, page: Page):
        first, *rest = formulas(body)
        head = re.fullmatch(r"(.*?) = \\mathrm\{(\w+)\}_\{(\d+)\}\((.*)\)", first)
        if head is None:
            raise Unreadable(f"no head of a function: {first}")
        self.name, self.number = head[2], head[3]
        self.results, self.arguments = own_letters(head[1]), own_letters(head[4])
        self.many, self.zeros = head[1].startswith("("), "entries without an equation are 0" in body
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.given: dict[tuple[str, str], Node] = {}
        self.language = Language(self.letter, page.called, page.no_states, page.no_derivative, False, page.doubts)
        for text in rest:
            size = re.fullmatch(r"(.*) \\in \\mathbb\{R\}\^\{([\d \\times]+)\}", text)
            if size:
                self.sizes[size[1]] = tuple(map(int, re.findall(r"\d+", size[2])))
            else:
                for equation in text.split(r",\quad "):
                    self.equation(equation)

    def equation(self, text: str) -> None:
        """Read letter = [letter = ...] value; a shared part has a single letter."""
        tokens = tokens_of(text)
        targets = []
        while found := self.target(tokens):
            letter, index, place = found
            if tokens[place : place + 1] != ["="]:
                break
            targets.append((letter, index))
            tokens = tokens[place + 1 :]
            if letter == SHARED and SHARED not in self.results:
                break
        if not targets:
            raise Unreadable(f"no letter is given by {text}")
        parser = Parser(text, self.language, tokens)
        node = parser.whole(parser.choice)
        if any(token in ("=", r"\le", "<") for token in tokens) and r"\text{ if }" not in tokens and tokens[0] != "[":
            self.language.doubts.append(f"a comparison without brackets: {text}")
        for target in targets:
            if target in self.given:
                raise Unreadable(f"{target} is given twice in D{self.number}")
            self.given[target] = node

    def target(self, tokens: Sequence[str]) -> tuple[str, str, int] | None:
        found = self.bare(tokens, 0)
        return found if found and (found[0] in self.results or found[0] == SHARED) else None

    @staticmethod
    def bare(tokens: Sequence[str], place: int) -> tuple[str, str, int] | None:
        found = own_letter(tokens, place) if place < len(tokens) else None
        if found is None:
            return None
        (letter, place), index = found, ""
        if list(tokens[place : place + 2]) == ["_", "{"]:
            end = list(tokens).index("}", place)
            index, place = "".join(tokens[place + 2 : end]), end + 1
        return letter, index, place

    def letter(self, tokens: Sequence[str], place: int) -> tuple[Node, int] | None:
        found = self.bare(tokens, place)
        if found is None:
            return None
        letter, index, after = found
        if letter in self.arguments:
            if not index:
                return (lambda at: at[letter]), after
            depth = len(self.sizes.get(letter, ()))
            places = digits([int(number) for number in index.split(",")], depth)
            return (lambda at: at[letter][places].item()), after
        return (lambda at: self.value(at, (letter, index))), after

    def value(self, at: dict[Any, Any], what: tuple[str, str]) -> Any:
        if what not in at:
            if what not in self.given:
                if self.zeros and what[0] in self.results:
                    return 0.0
                raise Unreadable(f"D{self.number} gives no {what}")
            at[what] = self.given[what](at)
        return at[what]

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.arguments):
            raise Unreadable(f"D{self.number} takes {len(self.arguments)} arguments, not {len(values)}")
        at: dict[Any, Any] = {}
        for letter, value in zip(self.arguments, values, strict=True):
            size = self.sizes.get(letter, ())
            if np.size(value) != np.prod(size, dtype=int):
                raise Unreadable(f"D{self.number}: {letter} is {size}, the page gives {np.shape(value)}")
            at[letter] = np.reshape(value, size) if size else np.asarray(value).item()
        found = tuple(self.result(at, letter) for letter in self.results)
        return found if self.many else found[0]

    def result(self, at: dict[Any, Any], letter: str) -> Any:
        size = self.sizes.get(letter, ())
        if not size:
            return self.value(at, (letter, ""))
        if (letter, "") in self.given:
            return np.reshape(self.value(at, (letter, "")), size)
        mark = "," if max(size) > 9 and len(size) > 1 else ""
        places = [mark.join(str(k + 1) for k in place) for place in np.ndindex(*size)]
        return np.array([self.value(at, (letter, place)) for place in places]).reshape(size)
