"""A formula of a page, in LaTeX -> a closure that computes it, by the conventions that a page states.

A tokenizer and a recursive descent. Values are numbers, arrays (n,) for columns and (n, k) for matrices; a row is (1, n). They
may be complex, with conditions on the real parts, so that a derivative can be taken with a complex step.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Node = Callable[[Any], Any]
TOKEN = re.compile(r"\\text\{[^{}]*\}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\S")
SPACES = {r"\,", r"\;", r"\:", "\\ ", r"\left", r"\right", r"\!"}
ENDS = {")", "]", "}", ",", "+", "-", "^", "_", "&", r"\\", r"\rfloor", r"\wedge", r"\vee", r"\end", r"\times"}
ACCENTS = {rf"\{word}" for word in ("hat", "tilde", "bar", "check", "breve", "acute", "grave", "vec", "dot", "ddot")}
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


class Unreadable(Exception):
    """What the page does not say, or says twice, or says in a form without a meaning."""


def own_letter(tokens: Sequence[str], place: int) -> tuple[str, int] | None:
    """A letter without serifs that begins there, with its accent, and the place after it."""
    if tokens[place] in ACCENTS and list(tokens[place + 1 : place + 2]) == ["{"]:
        inner = own_letter(tokens, place + 2)
        if inner and list(tokens[inner[1] : inner[1] + 1]) == ["}"]:
            return tokens[place] + "{" + inner[0] + "}", inner[1] + 1
        return None
    if tokens[place] not in (r"\mathsf", r"\boldsymbol"):
        return None
    end = list(tokens).index("}", place)
    return "".join(tokens[place : end + 1]), end + 1


def tokens_of(text: str) -> list[str]:
    """Tokens of a formula, without spaces; powers of ten are part of their number."""
    text = re.sub(r"(\d+(?:\.\d+)?)\\cdot 10\^\{([+-]?\d+)\}", r"\1e\2", text)
    text = re.sub(r"\\(t?frac)(\d)(\d)", r"\\\1{\2}{\3}", text)
    text = re.sub(r"([_^])(\d)", r"\1{\2}", text)
    return [token for token in TOKEN.findall(text) if token not in SPACES]


# ---------------------------------------------------------------------------------------------------------------- numbers


def real(value: Any) -> Any:
    return value.real if isinstance(value, complex | np.complexfloating) else value


def absolute(value: Any) -> Any:
    if np.ndim(value):
        return root(np.sum(value * value))
    return value if real(value) >= 0.0 else -value


def root(value: Any) -> Any:
    if isinstance(value, complex | np.complexfloating):
        return cmath.sqrt(value)
    return math.sqrt(value)


def arctangent(y: Any, x: Any) -> Any:
    if not isinstance(y, complex | np.complexfloating) and not isinstance(x, complex | np.complexfloating):
        return math.atan2(y, x)
    y, x = complex(y), complex(x)
    return complex(math.atan2(y.real, x.real), (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2))


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, for each component of columns too."""

    def call(*values: Any) -> Any:
        if not any(np.ndim(value) for value in values):
            return function(*values)
        spread = np.broadcast_arrays(*values)
        each = zip(*(array.ravel().tolist() for array in spread), strict=True)
        return np.array([function(*numbers) for numbers in each]).reshape(spread[0].shape)

    return call


def of_both(for_real: Callable[[Any], Any], for_complex: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda z: for_complex(z) if isinstance(z, complex | np.complexfloating) else for_real(z)


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
}


def matrix_of(pose: Any) -> Any:
    """The matrix (4, 4) of a pose; of seven numbers by the page's formula."""
    if np.shape(pose) == (4, 4):
        return pose
    if np.shape(pose) != (7,):
        raise Unreadable(f"a pose of shape {np.shape(pose)}")
    w, x, y, z = pose[:4]
    turn = np.array(
        [
            [-y * y - z * z, x * y - w * z, x * z + w * y],
            [x * y + w * z, -x * x - z * z, y * z - w * x],
            [x * z - w * y, y * z + w * x, -x * x - y * y],
        ]
    )
    matrix = np.eye(4, dtype=np.asarray(pose).dtype)
    matrix[:3, :3] += 2.0 / (w * w + x * x + y * y + z * z) * turn
    matrix[:3, 3] = pose[4:]
    return matrix


def seven_of(matrix: Any) -> Any:
    """Seven numbers of a pose's matrix, with a quaternion of length 1 and w >= 0."""
    turn = matrix[:3, :3]
    both, trace = turn + turn.T, turn.trace()
    w = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    products = np.block([[np.array([[1.0 + trace]]), w[None]], [w[:, None], both + (1.0 - trace) * np.eye(3)]])  # 4 q q^T
    largest = int(np.argmax(products.diagonal().real))
    quaternion = products[largest] / (2.0 * np.sqrt(products[largest, largest]))
    return np.concatenate([quaternion if quaternion[0].real >= 0.0 else -quaternion, matrix[:3, 3]])


def adjoint(pose: Any) -> Any:
    """Ad (6, 6) of a pose."""
    matrix = matrix_of(pose)
    turn, (a, b, c) = matrix[:3, :3], matrix[:3, 3]
    tilde = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
    return np.block([[turn, np.zeros((3, 3))], [tilde @ turn, turn]])


def is_pose(value: Any) -> bool:
    return np.shape(value) in ((7,), (4, 4))


def times(left: Any, right: Any, poses: bool) -> Any:
    """A product as the conventions of a page have it."""
    if poses and is_pose(left) and is_pose(right) and (7,) in (np.shape(left), np.shape(right)):
        return matrix_of(left) @ matrix_of(right)
    if poses and is_pose(left) and np.shape(right) == (3,):
        matrix = matrix_of(left)
        return matrix[:3, :3] @ right + matrix[:3, 3]
    shapes = np.ndim(left), np.ndim(right)
    if 0 in shapes or shapes == (1, 1):
        return left * right
    if shapes == (1, 2):
        return np.asarray(left)[:, None] * right if np.shape(right)[0] != 1 else np.outer(left, right)
    return left @ right


def dotted(left: Any, right: Any, poses: bool) -> Any:
    """A product written with a dot: of columns their inner product."""
    if np.ndim(left) == 1 and np.ndim(right) == 1:
        return np.sum(left * right)
    return times(left, right, poses)


def inverse(value: Any, poses: bool) -> Any:
    if poses and np.shape(value) == (7,):
        return np.linalg.inv(matrix_of(value))
    if np.ndim(value) == 2:
        return np.linalg.inv(value)
    return 1.0 / value


def raised(value: Any, power: Any) -> Any:
    if isinstance(power, int | float) and float(power).is_integer():
        power = int(power)
    return value**power


def transposed(value: Any) -> Any:
    return np.asarray(value)[None, :] if np.ndim(value) == 1 else np.transpose(value)


class One:
    """The identity, of the size that fits."""

    __array_ufunc__ = None

    def __add__(self, other: Any) -> Any:
        return np.eye(len(other)) + other

    def __radd__(self, other: Any) -> Any:
        return other + np.eye(len(other))

    def __neg__(self) -> Any:
        raise Unreadable("-1 for a matrix without a size")


def skew(vector: Any) -> Any:
    """The matrix (3, 3) of a cross product."""
    a, b, c = vector
    return np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])


def crossed(left: Any, right: Any, poses: bool) -> Any:
    return skew(left) @ right


def halves(value: Any, poses: bool) -> tuple[Any, Any]:
    """(R, p) of a pose, or the halves of a column."""
    if poses and is_pose(value):
        matrix = matrix_of(value)
        return matrix[:3, :3], matrix[:3, 3]
    if np.ndim(value) != 1 or len(value) % 2:
        raise Unreadable(f"two parts of a value of shape {np.shape(value)}")
    return value[: len(value) // 2], value[len(value) // 2 :]


def assembled(rows: Sequence[Sequence[Any]]) -> Any:
    """A matrix of numbers or of blocks, where 0 and 1 have the size that fits; columns below one another are a column."""
    blocks = [[entry[:, None] if np.ndim(entry) == 1 else entry for entry in row] for row in rows]
    sized = [(i, j, block.shape) for i, row in enumerate(blocks) for j, block in enumerate(row) if np.ndim(block) == 2]
    if not sized:
        return np.array(rows)
    high, wide = {i: shape[0] for i, _, shape in sized}, {j: shape[1] for _, j, shape in sized}
    for i, row in enumerate(blocks):
        for j, block in enumerate(row):
            if np.ndim(block) == 0:
                n, k = high.get(i, wide.get(j)), wide.get(j, high.get(i))
                row[j] = np.eye(n) if isinstance(block, One) else np.full((n, k), block)
    whole = np.block(blocks)
    return whole[:, 0] if whole.shape[1] == 1 else whole


PRODUCTS = {"": times, r"\cdot": dotted, r"\times": crossed}

# ---------------------------------------------------------------------------------------------------------------- grammar


@dataclass
class Language:
    """What the letters of a formula are.

    Parameters
    ----------
    letter : (tokens, place) -> (node, place after it) for a letter that begins there, or None.
    component : (node, its tokens, indices from 1) -> the node of a component.
    called : (name, index, arguments) -> the node of name_index(arguments).
    state_of : (a mode's tokens, a word) -> the number of that state.
    derivative : node -> the node of its time derivative.
    poses : whether seven numbers are a pose.
    doubts : grows by what can be read in two ways.
    """

    letter: Callable[[Sequence[str], int], tuple[Node, int] | None]
    called: Callable[[str, str, Sequence[Node]], Node]
    state_of: Callable[[Sequence[str], str], float]
    derivative: Callable[[Node], Node]
    poses: bool = False
    doubts: list[str] = field(default_factory=list)


class Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str, language: Language, tokens: Sequence[str] | None = None):
        self.text, self.tokens, self.place = text, list(tokens_of(text) if tokens is None else tokens), 0
        self.language, self.bars, self.brackets = language, 0, 0

    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.next()
        if not token or (wanted and token != wanted):
            raise Unreadable(f"{wanted or 'something'} wanted, not {token!r}, at token {self.place} of {self.text}")
        self.place += 1
        return token

    def whole(self, read: Callable[[], Node]) -> Node:
        node = read()
        if self.place < len(self.tokens):
            raise Unreadable(f"{self.next()!r} is left over, at token {self.place} of {self.text}")
        return node

    def choice(self) -> Node:
        """a [if c, else b]."""
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
        """Factors side by side, with dots and slashes, from the right to the left: A B x is A (B x)."""
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
        """Whether another factor begins here."""
        token = self.next()
        if not token or token in COMPARED or token in ENDS or token.startswith(r"\text{"):
            return False
        return not (token == "|" and self.bars)

    def factor(self) -> Node:
        """An atom with its components, powers, transposes and inverses."""
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
            raise Unreadable(f"nothing where a factor should be: {self.text}")
        return node

    def indices(self) -> list[int]:
        """Numbers of a component, from 0: 12 of a vector or of a matrix, or 1,12."""
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
        """What stands in brackets, where a bar begins a size again."""
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
        raise Unreadable(f"{token!r} is no letter that the page explains, at token {self.place - 1} of {self.text}")

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
    """A component of a value, indices from 1; two of them may be written as one number."""

    def component(at: Any) -> Any:
        value = np.asarray(node(at))
        places = digits(indices, value.ndim)
        return value[places].item() if places else value[()]

    return component


def digits(indices: Sequence[int], depth: int) -> tuple[int, ...]:
    """Indices from 0 of an array with `depth` of them: 12 is the component 1, 2 of a matrix and the component 12 of a vector."""
    if len(indices) == 1 and depth > 1:
        indices = [int(digit) for digit in str(indices[0])]
    if len(indices) != depth or min(indices) < 1:
        raise Unreadable(f"component {indices} of what has {depth} indices")
    return tuple(index - 1 for index in indices)
