"""SBML formulas as trees of plain Python, and their values for numbers, symbols and scalars of the tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Any

from screws import scalars

MOST_NODES = 100_000

Tree = tuple[Any, ...]
"""Formula: ("number", value), ("name", id), or the name of an operation followed by its operands."""


def _power(base: Any, exponent: Any) -> Any:
    return base ** (int(exponent) if isinstance(exponent, float) and exponent.is_integer() else exponent)


OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "plus": lambda *a: reduce(lambda x, y: x + y, a) if a else 0.0,
        "minus": lambda *a: -a[0] if len(a) == 1 else a[0] - a[1],
        "times": lambda *a: reduce(lambda x, y: x * y, a) if a else 1.0,
        "divide": lambda a, b: a / b,
        "power": _power,
        "root": lambda degree, a: a ** (1.0 / degree),
        "log": lambda base, a: scalars.log(a) / scalars.log(base),
        "ln": scalars.log,
        "abs": scalars.absolute,
        "min": lambda *a: reduce(scalars.minimum, a),
        "max": lambda *a: reduce(scalars.maximum, a),
        "lt": scalars.less,
        "leq": scalars.less_equal,
        "gt": lambda a, b: scalars.less(b, a),
        "geq": lambda a, b: scalars.less_equal(b, a),
        "arcsin": scalars.asin,
        "arccos": scalars.acos,
        "arctan": scalars.atan,
    }
    | {name: getattr(scalars, name) for name in ("exp", "sin", "cos", "tan", "tanh", "floor", "sqrt")}
)
ARITIES = dict.fromkeys(("plus", "times"), (0, MOST_NODES)) | dict.fromkeys(("min", "max", "piecewise"), (1, MOST_NODES))
ARITIES |= dict.fromkeys(("divide", "power", "root", "log", "lt", "leq", "gt", "geq"), (2, 2)) | {"minus": (1, 2)}
"""Minimum and maximum number of operands of operations that do not take exactly one."""


@dataclass(frozen=True)
class Law:
    tree: Tree
    names: tuple[str, ...]

    def __call__(self, *values: Any) -> Any:
        return evaluate(self.tree, dict(zip(self.names, values, strict=True)))


def evaluate(tree: Tree, values: Mapping[str, Any]) -> Any:
    word, *operands = tree
    if word == "number":
        return operands[0]
    if word == "name":
        return values[operands[0]]
    computed = [evaluate(each, values) for each in operands]
    if word == "piecewise":
        *pairs, last = computed if len(computed) % 2 else [*computed, 0.0]
        for value, condition in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
            last = scalars.where(condition, value, last)
        return last
    return OPERATIONS[word](*computed)


def names_in(tree: Tree) -> Iterator[str]:
    if tree[0] == "name":
        yield tree[1]
    elif tree[0] != "number":
        for each in tree[1:]:
            yield from names_in(each)


def extent(tree: Tree, of_names: Mapping[str, tuple[int, int]] = MappingProxyType({})) -> tuple[int, int]:
    """Return the number of nodes and the depth of a formula in which names stand for formulas with the extents `of_names`."""
    if tree[0] in ("name", "number"):
        return of_names.get(tree[1], (1, 1)) if tree[0] == "name" else (1, 1)
    below = [extent(each, of_names) for each in tree[1:]]
    return 1 + sum(nodes for nodes, _ in below), 1 + max((depth for _, depth in below), default=0)


def substitute(tree: Tree, arguments: Mapping[str, Tree]) -> Tree:
    if tree[0] == "name":
        return arguments.get(tree[1], tree)
    return tree if tree[0] == "number" else (tree[0], *(substitute(each, arguments) for each in tree[1:]))
