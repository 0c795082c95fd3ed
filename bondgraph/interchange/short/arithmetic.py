"""Formulas as text: parse arithmetic such as "k*q**3 + d*sin(w*t)" into a function of scalars; no text is executed.

The text becomes steps on a stack, which use the operators and functions that a Python formula would use, in the same order, so
results are bit-identical. Integers stay integers, so q**4 is a product, not a power of floats.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bondgraph.interchange.formulas import InvalidFormula
from screws import scalars
from screws.errors import plural
from screws.names import similar_names

LONGEST = 2_000
"""Maximum number of characters of a formula."""
LARGEST_EXPONENT = 1_000
"""Largest absolute value of a constant exponent."""

_LETTERS = re.compile(r"[\w\s.,+\-*/()\[\]<>=!]*")
_OPERATORS: Mapping[type, Callable[..., Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.Pow: operator.pow,
        ast.USub: operator.neg,
        ast.UAdd: operator.pos,
        ast.Lt: scalars.less,
        ast.LtE: scalars.less_equal,
        ast.Gt: lambda a, b: scalars.less(b, a),
        ast.GtE: lambda a, b: scalars.less_equal(b, a),
        ast.Eq: scalars.equal,
    }
)
_BY_WORD = {node.__name__: function for node, function in _OPERATORS.items()}
_ARITIES = {"where": 3, "atan2": 2, "minimum": 2, "maximum": 2}
ARITIES: Mapping[str, int] = MappingProxyType(
    {
        name: _ARITIES.get(name, 1)
        for name in (*scalars.FUNCTIONS, "where")
        if name not in (*scalars.LOOKUPS, *scalars.COMPARISONS)
    }
)
"""Number of arguments of each function of `screws.scalars` that a formula may call."""
_CONSTANTS = {"pi": math.pi}

Step = tuple[Any, ...]


@dataclass(frozen=True)
class Arithmetic:
    """Formula read from text: a function of its arguments, for floats, symbols and scalars of the tape."""

    arguments: tuple[str, ...]
    steps: tuple[Step, ...]
    """Steps on a stack: ("argument", place), ("number", value), ("operator", word, count), ("function", name, count), ("array",
    None, count), ("entry", indices)."""

    def __call__(self, *values: Any) -> Any:
        stack: list[Any] = []
        for word, content, *count in self.steps:
            if word == "argument":
                stack.append(values[content])
            elif word == "number":
                stack.append(content)
            else:
                start = len(stack) - (count[0] if count else 1)
                stack[start:] = [_APPLY[word](content, stack[start:])]
        return stack[0]

    @property
    def used(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.arguments[step[1]] for step in self.steps if step[0] == "argument"))


_APPLY: Mapping[str, Callable[[Any, list[Any]], Any]] = {
    "operator": lambda word, operands: _BY_WORD[word](*operands),
    "function": lambda name, operands: getattr(scalars, name)(*operands),
    "array": lambda _, operands: scalars.array(operands),
    "entry": lambda indices, operands: operands[0][indices],
}


def arithmetic(text: str, arguments: Sequence[str]) -> Arithmetic:
    """Return the formula that a text describes, as a function of these arguments.

    The text may contain numbers, arguments, `pi`, + - * / **, comparisons, the functions of `ARITIES`, lists, and entries of
    lists by number.

    Raises `InvalidFormula` for anything else; for more than `LONGEST` characters; for an exponent that contains a power or
    exceeds `LARGEST_EXPONENT`; for division by zero; and for numbers that overflow.

    >>> arithmetic("k*q**4/4", ["q", "k"])(2.0, 50.0)
    200.0
    """
    names = [unicodedata.normalize("NFKC", name) for name in arguments]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidFormula(f"several of its arguments are called {twice!r}")
    places = {name: k for k, name in enumerate(names)}
    steps = [_step(node, places) for node in _in_postfix(_tree(text))]
    _check_numbers(steps)
    return Arithmetic(tuple(names), tuple(steps))


def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise InvalidFormula(f"it has {plural(len(text), 'character')}; the limit is {LONGEST}")
    end = _LETTERS.match(text).end()  # type: ignore[union-attr]
    if end < len(text):
        cure = "; write a power as **" if text[end] == "^" else ""
        raise InvalidFormula(f"{text[end]!r} at column {end + 1} is not arithmetic{cure}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(" ".join(text.split()), mode="eval").body
    except (RecursionError, MemoryError):
        raise InvalidFormula("its brackets or operators are nested too deeply") from None
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None)
        where = f" at column {column}" if column else ""
        raise InvalidFormula(f"it is not arithmetic{where}: {getattr(error, 'msg', error)}") from None


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return [left, right]
        case ast.UnaryOp(op, operand) if type(op) in _OPERATORS:
            return [operand]
        case ast.Compare(left, [op], [right]) if type(op) in _OPERATORS:
            return [left, right]
        case ast.Call(ast.Name(), operands, []):
            return list(operands)
        case ast.List(entries) if entries:
            return list(entries)
        case ast.Subscript(whole_array, index):
            _indices(index)
            return [whole_array]
        case ast.Name() | ast.Constant():
            return []
    raise InvalidFormula(_refused(node))


def _refused(node: ast.AST) -> str:
    cures: dict[type, str] = {
        ast.IfExp: "; use where(condition, a, b)",
        ast.Compare: "; compare two values, with < <= > >= or ==",
        ast.BoolOp: "; combine conditions with where(a, b, 0), minimum or maximum",
        ast.Attribute: "; a signal whose path contains a dot needs a short name: signals: {x: path}",
    }
    what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    column = getattr(node, "col_offset", 0) + 1
    return f"the text at column {column} is not arithmetic ({what}){cures.get(type(node), '')}"


def _indices(index: ast.expr) -> int | tuple[int, ...]:
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    numbers = [entry.value for entry in entries if isinstance(entry, ast.Constant) and type(entry.value) is int]
    if len(numbers) != len(entries) or len(numbers) not in (1, 2) or max(numbers) >= 1000:
        raise InvalidFormula("an entry needs one or two whole numbers in brackets, as in q[0] or M[0, 1]")
    return tuple(numbers) if isinstance(index, ast.Tuple) else numbers[0]


def _in_postfix(root: ast.expr) -> list[ast.AST]:
    """Return the nodes of a tree, each after its operands, without recursion: a sum of 500 terms is 500 levels deep."""
    pending, nodes = [root], list[ast.AST]()
    while pending:
        node = pending.pop()
        nodes.append(node)
        pending += _operands(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and any(map(_is_power, ast.walk(node.right))):
            raise InvalidFormula("an exponent contains a power, as in a**b**c; make the exponent a parameter")
    return nodes[::-1]


def _is_power(node: ast.AST) -> bool:
    return isinstance(node, ast.Pow)


def _step(node: ast.AST, places: Mapping[str, int]) -> Step:
    match node:
        case ast.Constant(value) if type(value) in (int, float):
            return ("number", value)
        case ast.Name(name) if name in places:
            return ("argument", places[name])
        case ast.Name(name) if name in _CONSTANTS:
            return ("number", _CONSTANTS[name])
        case ast.Name(name):
            raise InvalidFormula(f"{name!r} is unknown; use {_listed(name, [*places, *_CONSTANTS])}")
        case ast.Call(ast.Name(name), operands):
            if name not in ARITIES:
                raise InvalidFormula(f"there is no function {name!r}; use {_listed(name, list(ARITIES))}")
            if len(operands) != ARITIES[name]:
                raise InvalidFormula(f"{name} takes {plural(ARITIES[name], 'argument')}, not {len(operands)}")
            return ("function", name, len(operands))
        case ast.List(entries):
            return ("array", None, len(entries))
        case ast.Subscript(_, index):
            return ("entry", _indices(index), 1)
        case ast.BinOp(_, op, _) | ast.Compare(_, [op], _):
            return ("operator", type(op).__name__, 2)
        case ast.UnaryOp(op, _):
            return ("operator", type(op).__name__, 1)
    raise InvalidFormula(_refused(node))


def _listed(name: str, names: Sequence[str]) -> str:
    return ", ".join(similar_names(name, names) or names[:20])


def _check_numbers(steps: Sequence[Step]) -> None:
    """Fold constants; refuse overflow, division by zero, complex numbers and large exponents."""
    stack: list[Any] = []  # numbers; None for values that depend on arguments
    for word, content, *count in steps:
        if word == "argument":
            stack.append(None)
            continue
        if word == "number":
            stack.append(_checked(content))
            continue
        start = len(stack) - (count[0] if count else 1)
        operands = stack[start:]
        if content == "Pow" and operands[1] is not None and abs(operands[1]) > LARGEST_EXPONENT:
            raise InvalidFormula(f"the exponent {operands[1]:.6g} exceeds {LARGEST_EXPONENT}")
        if content == "Div" and operands[1] == 0:
            raise InvalidFormula("division by zero")
        computed = word == "operator" and None not in operands
        try:
            value = _BY_WORD[content](*operands) if computed else None
        except (ArithmeticError, ValueError) as error:
            raise InvalidFormula(f"its numbers cannot be computed: {error}") from None
        stack[start:] = [_checked(value)]


def _checked(value: Any) -> Any:
    if isinstance(value, complex):
        raise InvalidFormula("it takes a root of a negative number, which is complex")
    if type(value) not in (int, float):
        return None
    if abs(value) >= 2**1023 or value != value:
        raise InvalidFormula("it has a number that is too large")
    return value
