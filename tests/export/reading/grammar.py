"""Translation of a LaTeX formula of a page into a closure that computes it by the page's conventions."""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.export.reading.tokens import Unreadable, tokens_of
from tests.export.reading.values import (
    PRODUCTS,
    One,
    absolute,
    adjoint,
    arctangent,
    assembled,
    elementwise,
    inverse,
    of_both,
    raised,
    real,
    root,
    skew,
    transposed,
)

Node = Callable[[Any], Any]
ENDS = {")", "]", "}", ",", "+", "-", "^", "_", "&", r"\\", r"\rfloor", r"\wedge", r"\vee", r"\end", r"\times"}
AXES = ("x", "y", "z")
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    r"\ne": lambda a, b: a != b,
    r"\neq": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    r"\le": lambda a, b: a <= b,
    r"\ge": lambda a, b: a >= b,
}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: elementwise(function)
    for name, function in {
        "sin": of_both(math.sin, cmath.sin),
        "cos": of_both(math.cos, cmath.cos),
        "tan": of_both(math.tan, cmath.tan),
        "arcsin": of_both(math.asin, cmath.asin),
        "arccos": of_both(math.acos, cmath.acos),
        "arctan": of_both(math.atan, cmath.atan),
        "exp": of_both(math.exp, cmath.exp),
        "expm1": of_both(math.expm1, lambda x: cmath.exp(x) - 1.0),
        "ln": of_both(lambda z: math.log(z) if z > 0.0 else math.nan, cmath.log),
        "tanh": of_both(math.tanh, cmath.tanh),
        "sinh": of_both(math.sinh, cmath.sinh),
        "cosh": of_both(math.cosh, cmath.cosh),
        "atan2": arctangent,
        "max": lambda *values: max(values, key=real),
        "min": lambda *values: min(values, key=real),
        "sgn": lambda z: float(np.sign(real(z))),
        "sign": lambda z: float(np.sign(real(z))),
    }.items()
} | {"diag": np.diag}


@dataclass
class Language:
    """The meaning of the letters in a formula.

    Parameters
    ----------
    letter : (tokens, position) -> (node, position after it) for a letter that begins there, or None.
    called : (name, index, arguments) -> the node of name_index(arguments).
    state_of : (a mode's tokens, a word) -> the number of that state.
    derivative : node -> the node of its time derivative.
    poses : whether to read seven numbers as a pose.
    doubts : list to which ambiguous readings are added.
    """

    letter: Callable[[Sequence[str], int], tuple[Node, int] | None]
    called: Callable[[str, str, Sequence[Node]], Node]
    state_of: Callable[[Sequence[str], str], float]
    derivative: Callable[[Node], Node]
    poses: bool = False
    doubts: list[str] = field(default_factory=list)


class Parser:
    def __init__(self, text: str, language: Language, tokens: Sequence[str] | None = None):
        self.text, self.tokens, self.place = text, list(tokens_of(text) if tokens is None else tokens), 0
        self.language, self.bars, self.brackets = language, 0, 0

    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.next()
        if not token or (wanted and token != wanted):
            raise Unreadable(f"{wanted or 'another token'} expected, not {token!r}, at token {self.place} of {self.text}")
        self.place += 1
        return token

    def whole(self, read: Callable[[], Node]) -> Node:
        node = read()
        if self.place < len(self.tokens):
            raise Unreadable(f"{self.next()!r} is left over, at token {self.place} of {self.text}")
        return node

    def choice(self) -> Node:
        """Read `a`, or `a if c, else b`, and return its value as a function."""
        first = self.either()
        if self.next() != r"\text{ if }":
            return first
        self.take()
        condition = self.either()
        self.take(r"\text{, else }")
        other = self.choice()
        return lambda at: first(at) if condition(at) else other(at)

    def either(self) -> Node:
        parts = [self.both()]
        while self.next() in (r"\vee", r"\text{ or }"):
            self.take()
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else lambda at: any(part(at) for part in parts)

    def both(self) -> Node:
        parts = [self.compared()]
        while self.next() == r"\wedge":
            self.take()
            parts.append(self.compared())
        return parts[0] if len(parts) == 1 else lambda at: all(part(at) for part in parts)

    def compared(self) -> Node:
        if self.next() == r"\neg":
            self.take()
            inner = self.compared()
            return lambda at: not inner(at)
        start = self.place
        left = self.sum()
        if self.next() not in COMPARED:
            return left
        how, between = COMPARED[self.take()], self.place - 1
        if self.next().startswith(r"\text{"):
            number = self.language.state_of(self.tokens[start:between], self.take()[6:-1])
            return lambda at: how(left(at), number)
        right = self.sum()
        return lambda at: how(real(left(at)), real(right(at)))

    def sum(self) -> Node:
        sign = 1
        if self.next() in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
        terms = [(sign, self.product())]
        while self.next() in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
            terms.append((sign, self.product()))
        if len(terms) == 1:
            (sign, term), *_ = terms
            return term if sign > 0 else lambda at: -term(at)

        def added(at: Any) -> Any:
            (sign, term), *rest = terms
            total = term(at) if sign > 0 else -term(at)
            for sign, term in rest:
                total = total + term(at) if sign > 0 else total - term(at)
            return total

        return added

    def product(self) -> Node:
        """Return the product of adjacent factors, from right to left: A B x is A (B x)."""
        factors: list[tuple[str, Node]] = [("", self.factor())]
        while True:
            token = self.next()
            if token in (r"\cdot", r"\times", "/"):
                self.take()
                factors.append((token, self.factor()))
            elif self.begins():
                if factors[-1][0] == "/":
                    self.language.doubts.append(f"a / b c may be (a / b) c or a / (b c): {self.text}")
                factors.append(("", self.factor()))
            else:
                break
        if len(factors) == 1:
            return factors[0][1]
        poses = self.language.poses

        def multiplied(at: Any) -> Any:
            value: Any = None
            for k in range(len(factors) - 1, -1, -1):
                sign, node = factors[k]
                other = 1.0 / node(at) if sign == "/" else node(at)
                if value is None:
                    value = other
                else:
                    value = PRODUCTS[factors[k + 1][0].strip("/")](other, value, poses)
            return value

        return multiplied

    def begins(self) -> bool:
        token = self.next()
        if not token or token in COMPARED or token in ENDS or token.startswith(r"\text{"):
            return False
        return not (token == "|" and self.bars)

    def factor(self) -> Node:
        start, node = self.place, self.atom()
        language = self.language
        while self.next() in ("^", "_"):
            mark = self.take()
            if self.next() in AXES:
                node = part(node, [1 + AXES.index(self.take())])
                continue
            self.take("{")
            if mark == "_":
                node = part(node, self.indices())
            elif self.next() == r"\top":
                self.take()
                node = after(transposed, node)
            elif self.tokens[self.place : self.place + 2] == ["-", "1"]:
                self.place += 2
                node = (lambda inner: lambda at: inverse(inner(at), language.poses))(node)
            else:
                node = (lambda inner, power: lambda at: raised(inner(at), power(at)))(node, self.sum())
            self.take("}")
        if start == self.place:
            raise Unreadable(f"a factor is missing: {self.text}")
        return node

    def indices(self) -> list[int]:
        found = [self.take()]
        while self.next() == ",":
            self.take()
            found.append(self.take())
        return [int(number) for number in found]

    def list(self, end: str) -> list[Node]:
        if self.next() == end:
            self.take()
            return []
        found = [self.choice()]
        while self.next() == ",":
            self.take()
            found.append(self.choice())
        self.take(end)
        return found

    def inside(self, read: Callable[[], Any]) -> Any:
        """Return the content of brackets, where a bar opens a new norm."""
        bars, self.bars = self.bars, 0
        self.brackets += 1
        found = read()
        self.bars = bars
        self.brackets -= 1
        return found

    def atom(self) -> Node:
        token = self.next()
        known = self.language.letter(self.tokens, self.place)
        if known is not None:
            node, self.place = known
            return node
        if re.match(r"\d", token):
            number = float(self.take())
            return lambda at: number
        self.take()
        if token == "(":
            nodes = self.inside(lambda: self.list(")"))
            return nodes[0] if len(nodes) == 1 else lambda at: np.array([node(at) for node in nodes])
        if token in ("[", "{"):
            node = self.inside(self.choice)
            self.take("]" if token == "[" else "}")
            return node
        if token == r"\tilde":
            return after(skew, self.braced() if self.next() == "{" else self.atom())
        if token == r"\det":
            return after(np.linalg.det, self.factor())
        if token == r"\mathbf":
            self.take("{"), self.take("1"), self.take("}")
            return lambda at: One()
        if token == "|":
            self.bars += 1
            node = self.sum()
            self.take("|")
            self.bars -= 1
            return after(absolute, node)
        if token == r"\lfloor":
            node = self.inside(self.choice)
            self.take(r"\rfloor")
            return after(lambda value: math.floor(real(value)), node)
        if token in (r"\frac", r"\tfrac"):
            return self.fraction()
        if token == r"\sqrt":
            return after(elementwise(root), self.braced())
        if token == r"\infty":
            return lambda at: math.inf
        if token == r"\begin":
            return self.matrix()
        if token == r"\operatorname" or token[1:] in FUNCTIONS:
            name = token[1:]
            if token == r"\operatorname":
                name = self.word()
            function = FUNCTIONS[name]
            if self.next() != "(":
                return after(function, self.factor())
            self.take()
            arguments = self.inside(lambda: self.list(")"))
            return lambda at: function(*(argument(at) for argument in arguments))
        if token == r"\mathrm":
            return self.named(self.word())
        raise Unreadable(f"{token!r} is not a letter that the page explains, at token {self.place - 1} of {self.text}")

    def word(self) -> str:
        self.take("{")
        found = ""
        while self.next() != "}":
            found += self.take()
        self.take()
        return found

    def braced(self) -> Node:
        self.take("{")
        node = self.inside(self.choice)
        self.take("}")
        return node

    def fraction(self) -> Node:
        if self.tokens[self.place : self.place + 7] == ["{", "d", "}", "{", "d", "t", "}"]:
            self.place += 7
            self.take("(")
            inner = self.inside(self.choice)
            self.take(")")
            return self.language.derivative(inner)
        above, below = self.braced(), self.braced()
        return lambda at: above(at) / below(at)

    def matrix(self) -> Node:
        kind = self.word()
        rows: list[list[Node]] = [[]]
        while self.next() != r"\end":
            rows[-1].append(self.inside(self.choice))
            if self.next() == "&":
                self.take()
            elif self.next() == "\\\\":
                self.take()
                rows.append([])
        self.take()
        if self.word() != kind:
            raise Unreadable(f"the matrix of {self.text} does not end")
        return lambda at: assembled([[entry(at) for entry in row] for row in rows])

    def named(self, name: str) -> Node:
        if name == "Ad":
            self.take("_")
            return after(adjoint, self.braced())
        if name == "tr":
            return after(np.trace, self.factor())
        self.take("_")
        self.take("{")
        index = ""
        while self.next() != "}":
            index += self.take()
        self.take()
        self.take("(")
        return self.language.called(name, index, self.inside(lambda: self.list(")")))


def after(function: Callable[[Any], Any], node: Node) -> Node:
    return lambda at: function(node(at))


def part(node: Node, indices: Sequence[int]) -> Node:
    """Return a function for a component, with indices from 1; two indices may be written as one number."""

    def component(at: Any) -> Any:
        value = np.asarray(node(at))
        places = digits(indices, value.ndim)
        return value[places].item() if places else value[()]

    return component


def digits(indices: Sequence[int], depth: int) -> tuple[int, ...]:
    """Return indices from 0 for `depth` dimensions: 12 is the component 1, 2 of a matrix, but component 12 of a vector."""
    if len(indices) == 1 and depth > 1:
        indices = [int(digit) for digit in str(indices[0])]
    if len(indices) != depth or min(indices) < 1:
        raise Unreadable(f"component {indices} of an array with {depth} indices")
    return tuple(index - 1 for index in indices)
