"""Hash-consed straight-line program: store every distinct operation on earlier numbers once (elimination of common
subexpressions).

Arithmetic here is on positions in the list of nodes. A node is a tuple `(code, *arguments)`: `(CONSTANT, value)`, `(INPUT, block,
position)`, a table, `(TABLE, values)` or `(TABLE_OF_INPUTS, block, first, count)`, or an instruction with the positions of its
arguments. Rules keep one form of equal expressions: a sign moves outward (`(-a) b` is `-(a b)`) until a sum absorbs it, arguments
of commutative operations are ordered, `a / b` is `a (1 / b)`, so that quotients share the slow division. If all intermediate
results are finite, rules change results only within rounding error.

The exponential of a sum of logarithms becomes a product of integer powers. exp((RT log a + 2 RT log b) / RT) is a b^2: the law of
mass action, for potentials that are logarithms of amounts. Common factors cancel if they are the same node; terms that depend
only on parameters remain in an exponential, which is hoisted. Arguments of logarithms and powers are never negative, so that the
product is the same within rounding error unless it leaves the range of floats.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bondgraph.tape import opcodes as op

_Table = Sequence[tuple[Any, ...]]


MAX_NODES = 64
"""Maximum number of nodes of an exponent to examine; longer exponents do not count as mass action."""


MAX_POWER = 16
"""Highest power written as products."""


_INTEGER_RTOL = 8.0 * sys.float_info.epsilon
"""Relative distance up to which a multiple counts as an integer: RT (1 / RT) is 1 within rounding error."""


_MAX_CONSTANT = 300.0
"""Largest constant in the exponent, whose exponential is far from the ends of the range of floats."""


@dataclass(frozen=True)
class Powers:
    """A product: a number, powers by position, and the exponential of the sum of `terms` of parameters."""

    number: float
    powers: Mapping[int, int]
    terms: Sequence[tuple[float, Mapping[int, int]]]
    """Terms of the exponent, each a number times powers of nodes, by position."""


def powers_of(table: _Table, exponent: int, parameters: int) -> Powers | None:
    """Return exp(exponent) as a product; return None unless the exponent is a sum of logarithms and of terms of the input block
    `parameters`."""
    multiples: dict[int, float] = {}
    terms: list[tuple[float, Mapping[int, int]]] = []
    constant = 0.0
    pending: list[tuple[float, list[tuple[int, int]]]] = [(1.0, [(exponent, 1)])]
    for _ in range(MAX_NODES):
        if not pending:
            break
        multiple, factors = _factored(table, *pending.pop())
        summed = next((f for f, power in factors.items() if power == 1 and table[f][0] in (op.ADD, op.SUBTRACT)), None)
        if not factors:
            constant += multiple
        elif (argument := _logarithm(table, factors)) is not None:
            multiples[argument] = multiples.get(argument, 0.0) + multiple
        elif _depends_only_on(table, factors, parameters):
            terms.append((multiple, factors))
        elif summed is not None:
            code, first, second = table[summed]
            others = [(f, power) for f, power in factors.items() if f != summed]
            pending.append((multiple, [(first, 1), *others]))
            pending.append((multiple if code == op.ADD else -multiple, [(second, 1), *others]))
        else:
            return None
    if not all(map(math.isfinite, multiples.values())):
        return None
    powers = {base: round(multiple) for base, multiple in multiples.items()}
    integers = all(abs(multiples[a] - power) <= _INTEGER_RTOL * power and 0 < power <= MAX_POWER for a, power in powers.items())
    if pending or not powers or not integers or not abs(constant) <= _MAX_CONSTANT:
        return None
    return Powers(math.exp(constant), powers, terms)


def _factored(table: _Table, multiple: float, factors: Sequence[tuple[int, int]]) -> tuple[float, dict[int, int]]:
    powers: dict[int, int] = {}
    pending = list(factors)
    while pending:
        position, power = pending.pop()
        code, *arguments = table[position]
        if code == op.CONSTANT and arguments[0] != 0.0:
            multiple *= arguments[0] ** power
        elif code == op.NEGATIVE:
            multiple = multiple if power % 2 == 0 else -multiple
            pending.append((arguments[0], power))
        elif code == op.MULTIPLY:
            pending += [(argument, power) for argument in arguments]
        elif code == op.RECIPROCAL:
            pending.append((arguments[0], -power))
        else:
            powers[position] = powers.get(position, 0) + power
    return multiple, {position: power for position, power in powers.items() if power}


def _logarithm(table: _Table, factors: Mapping[int, int]) -> int | None:
    (single, power), *others = factors.items()
    if others or power != 1 or table[single][0] != op.LOG:
        return None
    argument = int(table[single][1])
    return argument if _never_negative(table, argument) else None


def _depends_only_on(table: _Table, positions: Iterable[int], block: int) -> bool:
    pending, seen = list(positions), set()
    while pending:
        position = pending.pop()
        if position in seen:
            continue
        seen.add(position)
        code, *arguments = table[position]
        if code in op.OF_BLOCKS:
            if arguments[0] != block:
                return False
        elif code > op.INPUT:
            pending += arguments
    return True


def _never_negative(table: _Table, position: int) -> bool:
    """Return True if the value of a node is certainly never negative (it may be nan)."""
    code, *arguments = table[position]
    if code == op.MAXIMUM:
        return any(table[a][0] == op.CONSTANT and table[a][1] >= 0.0 for a in arguments)
    return code in (op.EXP, op.SQRT, op.ABSOLUTE)


Node = tuple[Any, ...]

MAX_SELECTED = 8
"""Maximum number of table entries to compare or select one by one, which SIMD lanes can do; larger tables are in memory."""


def leaf_length(leaf: Node) -> int:
    if leaf[0] == op.TABLE:
        return len(leaf[1]) // 8
    return int(leaf[3]) if leaf[0] == op.TABLE_OF_INPUTS else 1


def table_of(values: Any) -> Node:
    """Return the leaf of a table of numbers (n,), which are stored as one byte string that is hashed once and compared as a
    whole."""
    return op.TABLE, (np.asarray(values, dtype=float) + 0.0).tobytes()


def table_values(leaf: Node) -> np.ndarray:
    return np.frombuffer(leaf[1])


class Nodes:
    __slots__ = ("_positions", "blocks", "nodes")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._positions: dict[Node, int] = {}
        self.blocks: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def copy(self) -> Self:
        other = type(self)()
        other.nodes, other._positions, other.blocks = self.nodes.copy(), self._positions.copy(), self.blocks.copy()
        return other

    def intern(self, node: Node) -> int:
        position = self._positions.get(node)
        if position is None:
            position = self._positions[node] = len(self.nodes)
            self.nodes.append(node)
        return position

    def constant(self, value: float) -> int:
        """Return the position of a constant; -0.0 counts as 0.0."""
        return self.intern((op.CONSTANT, float(value) + 0.0))

    def value(self, a: int) -> float | None:
        node = self.nodes[a]
        return node[1] if node[0] == op.CONSTANT else None

    def negative(self, a: int) -> int:
        node = self.nodes[a]
        if node[0] == op.NEGATIVE:
            return int(node[1])
        if node[0] == op.CONSTANT:
            return self.constant(-node[1])
        return self.intern((op.NEGATIVE, a))

    def add(self, a: int, b: int) -> int:
        first, second = self.nodes[a], self.nodes[b]
        f, s = first[0], second[0]
        if f == op.CONSTANT or s == op.CONSTANT:
            if f == op.CONSTANT and s == op.CONSTANT:
                return self.constant(first[1] + second[1])
            if s == op.CONSTANT:
                a, b, first, second, s = b, a, second, first, f
            # the constant is `a` now
            if first[1] == 0.0:
                return b
            if s == op.NEGATIVE:
                return self.subtract(a, second[1])
            if first[1] < 0.0:
                return self.subtract(b, self.constant(-first[1]))
            return self.intern((op.ADD, a, b))
        if f == op.NEGATIVE:
            if s == op.NEGATIVE:
                return self.negative(self.add(first[1], second[1]))
            return self.subtract(b, first[1])
        if s == op.NEGATIVE:
            return self.subtract(a, second[1])
        if a == b:
            return self.multiply(self.constant(2.0), a)
        return self.intern((op.ADD, a, b) if a < b else (op.ADD, b, a))

    def subtract(self, a: int, b: int) -> int:
        """Return a - b, as the negative of b - a if b - a exists already."""
        if a == b:
            return self.constant(0.0)
        first, second = self.nodes[a], self.nodes[b]
        f, s = first[0], second[0]
        if s == op.CONSTANT:
            if f == op.CONSTANT:
                return self.constant(first[1] - second[1])
            if second[1] == 0.0:
                return a
            if f == op.NEGATIVE:
                return self.negative(self.add(first[1], b))
            if second[1] < 0.0:
                return self.add(a, self.constant(-second[1]))
            if f == op.EXP and second[1] == 1.0:  # the difference would cancel for small exponents
                return self.function("expm1", first[1])
        elif s == op.NEGATIVE:
            if f == op.NEGATIVE:
                return self.subtract(second[1], first[1])
            return self.add(a, second[1])
        elif f == op.NEGATIVE:
            return self.negative(self.add(first[1], b))
        elif f == op.CONSTANT:
            if first[1] == 0.0:
                return self.negative(b)
            if first[1] < 0.0:
                return self.negative(self.add(b, self.constant(-first[1])))
            if s == op.EXP and first[1] == 1.0:
                return self.negative(self.function("expm1", second[1]))
        opposite = self._positions.get((op.SUBTRACT, b, a))
        if opposite is not None:
            return self.negative(opposite)
        return self.intern((op.SUBTRACT, a, b))

    def multiply(self, a: int, b: int) -> int:
        """Return a b; a constant factor comes first."""
        first, second = self.nodes[a], self.nodes[b]
        f, s = first[0], second[0]
        if f == op.CONSTANT or s == op.CONSTANT:
            if f == op.CONSTANT and s == op.CONSTANT:
                return self.constant(first[1] * second[1])
            if s == op.CONSTANT:
                a, b, first, second = b, a, second, first
            factor = first[1]
            if factor == 1.0:
                return b
            if factor == 0.0:
                return self.constant(0.0)
            if factor < 0.0:
                return self.negative(self.multiply(self.constant(-factor), b))
            s = second[0]
            if s == op.NEGATIVE:
                return self.negative(self.multiply(a, second[1]))
            if s == op.MULTIPLY:
                inner = self.nodes[second[1]]
                if inner[0] == op.CONSTANT:
                    return self.multiply(self.constant(factor * inner[1]), second[2])
            return self.intern((op.MULTIPLY, a, b))
        if f == op.NEGATIVE:
            if s == op.NEGATIVE:
                return self.multiply(first[1], second[1])
            return self.negative(self.multiply(first[1], b))
        if s == op.NEGATIVE:
            return self.negative(self.multiply(a, second[1]))
        if a == b and f == op.SQRT:
            return int(first[1])
        return self.intern((op.MULTIPLY, a, b) if a < b else (op.MULTIPLY, b, a))

    def reciprocal(self, a: int) -> int:
        node = self.nodes[a]
        code = node[0]
        if code == op.CONSTANT:
            return self.constant(1.0 / node[1] if node[1] else math.inf)
        if code == op.NEGATIVE:
            return self.negative(self.reciprocal(node[1]))
        if code == op.RECIPROCAL:
            return int(node[1])
        if code == op.MULTIPLY and self.nodes[node[1]][0] == op.CONSTANT:
            return self.multiply(self.reciprocal(node[1]), self.reciprocal(node[2]))
        return self.intern((op.RECIPROCAL, a))

    def divide(self, a: int, b: int) -> int:
        first, second = self.value(a), self.value(b)
        if first is not None and second:
            return self.constant(first / second)
        return self.multiply(a, self.reciprocal(b))

    def power(self, a: int, b: int) -> int:
        """Return a to the power of b, as products if b is a constant multiple of one half of magnitude at most 64."""
        exponent = self.value(b)
        if exponent is None or (2.0 * exponent) % 1.0 or abs(exponent) > 64.0:
            base = self.value(a)
            if exponent is not None and base is not None:
                return self.constant(_folded(np.power, base, exponent))
            return self.intern((op.POWER, a, b))
        if exponent < 0.0:
            return self.reciprocal(self.power(a, self.constant(-exponent)))
        integer = int(exponent)
        result = self.function("sqrt", a) if exponent % 1.0 else self.constant(1.0)
        square = a
        while integer:
            if integer & 1:
                result = self.multiply(result, square)
            integer >>= 1
            if integer:
                square = self.multiply(square, square)
        return result

    def _exponential(self, a: int) -> int:
        product = powers_of(self.nodes, a, list(self.blocks).index("p") if "p" in self.blocks else -1)
        if product is None:
            return self.intern((op.EXP, a))
        exponent = self.constant(0.0)
        for multiple, factors in product.terms:
            exponent = self.add(exponent, self._product(multiple, factors))
        return self.multiply(self.function("exp", exponent), self._product(product.number, product.powers))

    def _product(self, number: float, powers: Mapping[int, int]) -> int:
        result = self.constant(number)
        for base, power in powers.items():
            result = self.multiply(result, self.power(base, self.constant(power)))
        return result

    def where(self, condition: int, a: int, b: int) -> int:
        """Select `a` if the condition is true, else `b`; the other branch may have any value, even nan."""
        if a == b:
            return a
        test = self.nodes[condition]
        if test[0] == op.CONSTANT:
            return a if test[1] else b
        if test[0] == op.OPPOSITE:
            return self.where(test[1], b, a)
        if self.nodes[a][:2] == (op.WHERE, condition):
            a = self.nodes[a][2]
        if self.nodes[b][:2] == (op.WHERE, condition):
            b = self.nodes[b][3]
        return a if a == b else self.intern((op.WHERE, condition, a, b))

    def lookup(self, code: int, number: int, entries: Sequence[int]) -> int:
        """Search for a number among the entries of a table (`SEARCHSORTED`), or take the entry of that number (`TAKE`).

        Many constants, or many consecutive inputs, stay in one array; other entries are selected one by one.
        """
        table = self._table(entries) if len(entries) > MAX_SELECTED else None
        return self.selection(code, number, entries) if table is None else self.apply(code, number, table)

    def lookup_of_numbers(self, code: int, number: int, values: np.ndarray) -> int:
        """Return `lookup` in a table of numbers (n,), even if the table is short, because a chain of selections would count as
        jumps."""
        return self.apply(code, number, self.intern(table_of(values)))

    def selection(self, code: int, number: int, entries: Sequence[int]) -> int:
        if code == op.TAKE:
            result = entries[0]
            for k in range(1, len(entries)):
                result = self.where(self.function("less_equal", self.constant(float(k)), number), entries[k], result)
            return result
        result, one, zero = self.constant(0.0), self.constant(1.0), self.constant(0.0)
        for entry in entries:
            result = self.add(result, self.where(self.function("less_equal", entry, number), one, zero))
        return result

    def _table(self, entries: Sequence[int]) -> int | None:
        nodes = [self.nodes[a] for a in entries]
        if all(node[0] == op.CONSTANT for node in nodes):
            return self.intern(table_of([node[1] for node in nodes]))
        code, *at = nodes[0]
        if code == op.INPUT and all(node == (op.INPUT, at[0], at[1] + k) for k, node in enumerate(nodes)):
            return self.intern((op.TABLE_OF_INPUTS, *at, len(nodes)))
        return None

    def entries_of(self, table: int) -> list[int]:
        code, first, *rest = self.nodes[table]
        if code == op.TABLE:
            return [self.constant(value) for value in table_values(self.nodes[table])]
        return [self.intern((op.INPUT, first, rest[0] + k)) for k in range(rest[1])]

    def apply(self, code: int, *arguments: int) -> int:
        """Apply the instruction `code` of `opcodes` with constant folding; arithmetic operations, including powers, are handled
        by the methods of the same names."""
        if code in op.LOOKUPS:
            number, table = self.value(arguments[0]), self.nodes[arguments[1]]
            if code == op.TAKE and number is not None:
                entries = self.entries_of(arguments[1])
                return entries[int(_folded(op.OPERATIONS[code].numpy, number, np.arange(len(entries))))]
            if number is not None and table[0] == op.TABLE:
                return self.constant(_folded(op.OPERATIONS[code].numpy, number, table_values(table)))
            return self.intern((code, *arguments))
        name = op.NAMES[code]
        return int(getattr(self, name)(*arguments)) if code <= op.POWER else self.function(name, *arguments)

    def function(self, name: str, *arguments: int) -> int:
        if name == "where":
            return self.where(*arguments)
        code = op.CODES[name]
        if code in op.LOOKUPS:
            return self.lookup(code, arguments[0], arguments[1:])
        values = [self.value(a) for a in arguments]
        if None not in values:
            return self.constant(_folded(op.OPERATIONS[code].numpy, *values))
        a = arguments[0]
        first = self.nodes[a]
        if len(arguments) == 1:
            if first[0] == op.NEGATIVE and (parity := op.OPERATIONS[code].parity):
                inner = self.function(name, first[1])
                return self.negative(inner) if parity < 0 else inner
            if code == op.SQRT and first[0] == op.MULTIPLY and first[1] == first[2]:
                return self.function("absolute", first[1])
            if code == op.ABSOLUTE and first[0] in (op.ABSOLUTE, op.SQRT, op.EXP):
                return a
            if code == op.ABSOLUTE and first[0] == op.MULTIPLY and first[1] == first[2]:
                return a
            if code == op.OPPOSITE and first[0] == op.OPPOSITE:
                return int(first[1])
            if code == op.EXP:
                return self._exponential(a)
            return self.intern((code, a))
        b = arguments[1]
        if a == b and code in _OF_EQUAL_ARGUMENTS:
            result = _OF_EQUAL_ARGUMENTS[code]
            return a if result is None else self.constant(result)
        if code in (op.BOTH, op.EITHER):
            for value, other in ((values[0], b), (values[1], a)):
                if value is not None:
                    absorbs = bool(value) == (code == op.EITHER)
                    return self.constant(float(bool(value))) if absorbs else other
        if code in op.COMMUTATIVE and a > b:
            a, b = b, a
        return self.intern((code, a, b))


_OF_EQUAL_ARGUMENTS = dict.fromkeys((op.MINIMUM, op.MAXIMUM, op.BOTH, op.EITHER), None) | {
    op.LESS: 0.0,
    op.LESS_EQUAL: 1.0,
    op.EQUAL: 1.0,
}
"""Result of an operation on two equal arguments; None means the argument itself."""


def _folded(function: Callable[..., Any], *values: Any) -> float:
    with np.errstate(all="ignore"):
        return float(function(*values))
