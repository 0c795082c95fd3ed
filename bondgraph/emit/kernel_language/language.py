"""Names that the kernel language adds to plain Python: types of arguments, tables, and functions that are instructions.

CPython runs a function of the language unchanged; `translate` turns its source into procedures.

>>> def largest(values: Reals, count: int) -> float:
...     result = 0.0
...     for i in range(count):
...         result = larger(result, abs(values[i]))
...     return result
>>> float(largest(np.array([1.0, -3.0, 2.0]), 3))
3.0
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

Item = TypeVar("Item")

KINDS: Mapping[Any, str] = MappingProxyType({float: "double", int: "i64", bool: "i64"})
POINTER = "ptr"


@dataclass(frozen=True)
class Array:
    """Type of an array.

    Parameters
    ----------
    entries : type of the entries: float, int, a `Code` or a table.
    disjoint : True if no other pointer reaches the entries.
    shared : True if all lanes share the entries; otherwise each entry has adjacent numbers for all lanes.
    single : True for a single number per lane, which is read and written as a number.
    by_offset : True if an index is the offset of the first lane's number; otherwise it counts numbers of one lane.
    """

    entries: Any
    disjoint: bool = False
    shared: bool = False
    single: bool = False
    by_offset: bool = False

    @property
    def kind(self) -> str:
        return KINDS.get(self.entries, POINTER)


@dataclass(frozen=True)
class Code:
    """Type of the address of code, with the type of its result; numbers are passed by address, or `by_value`."""

    result: Any = None
    by_value: bool = False


class Length(NamedTuple):
    """Length of an array of a table, as a function of the table's integers."""

    of: Callable[[Any], int]


class CodeFirst(NamedTuple):
    """Row length of an array of integers whose rows begin with the address of code."""

    length: int


@dataclass(frozen=True)
class FixedArgument:
    """Type of an argument that is known at translation time."""


Kernel = Annotated[Callable[..., None], Code()]
"""Address of a function that takes its numbers by reference."""
Callback = Annotated[Callable[[], int], Code(int)]
Routine = Annotated[Callable[..., None], Code(by_value=True)]
"""Address of a function that takes its numbers by value."""
Reals = Annotated[np.ndarray, Array(float)]
Disjoint = Annotated[np.ndarray, Array(float, disjoint=True)]
Shared = Annotated[np.ndarray, Array(float, shared=True)]
Ints = Annotated[np.ndarray, Array(int)]
Kernels = Annotated[list[Any], Array(Code())]
PerLane = Annotated[float, Array(float, single=True)]
"""Field of a table with the address of one number per lane."""
Fixed = Annotated[Any, FixedArgument()]
"""Argument that is known at translation time; each of its values has a separate procedure."""


def inline(function: Item) -> Item:
    function.__dict__["is_inline"] = True
    return function


def external(function: Item) -> Item:
    """Mark a function whose machine code another module provides, under the same name; CPython runs the function itself."""
    function.__dict__["is_external"] = True
    return function


class Table:
    """Table of 8-byte fields: the annotations of a subclass are its fields, in order, after the fields of its bases.

    In CPython a table is an object with these attributes.
    """

    def __init__(self, **values: Any):
        self.__dict__.update(values)

    @classmethod
    def layout(cls) -> Mapping[str, tuple[int, str]]:
        table: Any = cls  # mypy confuses the hash of instances with that of the class
        layout: Mapping[str, tuple[int, str]] = _layout(table)
        return layout

    @classmethod
    def lengths(cls, **integers: int) -> dict[str, int]:
        table: Any = cls
        sizes = cls(**integers)
        return {name: mark.of(sizes) for name, mark in _marks(table) if isinstance(mark, Length)}


@functools.cache
def _layout(table: Any) -> Mapping[str, tuple[int, str]]:
    kinds = enumerate(types_of(table).items())
    return MappingProxyType({name: (index, KINDS.get(kind, POINTER)) for index, (name, kind) in kinds})


def rows_of_code(table: Any) -> Mapping[str, int]:
    return {name: mark.length for name, mark in _marks(table) if isinstance(mark, CodeFirst)}


def field_name(table: Any, field: str) -> str:
    """Return the name of a field in procedures, "Control.n", the same for all tables that inherit the field."""
    return _field_name(table, field)


@functools.cache
def _field_name(table: Any, field: str) -> str:
    owner = next(each for each in table.__mro__ if field in inspect.get_annotations(each))
    return f"{owner.__name__}.{field}"


@functools.cache
def _marks(table: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(table, include_extras=True)
    return [(name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ())]


def types_of(owner: Any) -> Mapping[str, Any]:
    return _types(owner)


@functools.cache
def _types(owner: Any) -> Mapping[str, Any]:
    hints = get_type_hints(owner, include_extras=True)
    return MappingProxyType({name: getattr(hint, "__metadata__", (hint,))[0] for name, hint in hints.items()})


def unrolled(items: Iterable[Item]) -> Iterable[Item]:
    """Unroll a loop over items that are known at translation time."""
    return items


def empty_like(values: np.ndarray, count: int) -> np.ndarray:
    """Return an uninitialised array of `count` numbers (a constant) with the type of another array; machine code frees it at the
    end of the function."""
    return np.empty(count, dtype=values.dtype)


def anywhere(condition: bool) -> bool:
    """Return True if a condition holds in any lane; in a single run, return the condition."""
    return condition


def larger(x: float, y: float) -> float:
    """Return the larger of two numbers; ignore NaN."""
    return y if y > x or x != x else x


def smaller(x: float, y: float) -> float:
    """Return the smaller of two numbers; ignore NaN."""
    return y if y < x or x != x else x


def sqrt(x: float) -> float:
    return np.sqrt(np.float64(x))


def fma(x: float, y: float, z: float) -> float:
    """Return x y + z, rounded once."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return np.float64(x) * y + z
    if not math.isfinite(z):
        return np.float64(z)
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if not exact:
        return np.float64(x) * y + z  # for the sign of zero
    try:
        return np.float64(exact.numerator / exact.denominator)
    except OverflowError:
        return np.float64(math.inf if exact > 0 else -math.inf)


def bits_sum(x: float, y: float) -> float:
    """Return the number whose bit pattern is the 64-bit integer sum of two numbers' bit patterns."""
    return _with_bits(_bits(x) + _bits(y))


def bits_up(x: float, n: int) -> float:
    """Shift the bits of a number left by a constant count, filling with zeros."""
    return _with_bits(_bits(x) << n)


def bits_down(x: float, n: int) -> float:
    """Shift the bits of a number right by a constant count, filling with zeros."""
    return _with_bits(_bits(x) >> n)


def _bits(x: float) -> int:
    return int(np.float64(x).view(np.uint64))


def _with_bits(bits: int) -> float:
    return np.uint64(bits % 2**64).view(np.float64)


def finite(x: float) -> bool:
    return x * 0.0 == 0.0


def wrapped(x: int) -> int:
    """Return an integer wrapped around to 64 bits, as on the processor."""
    return (int(x) + 2**63) % 2**64 - 2**63


PRIMITIVE_OF: Mapping[Any, str] = MappingProxyType(
    {larger: "maxnum", smaller: "minnum", sqrt: "sqrt", fma: "fma", bits_sum: "bitsum double"}
)
SHIFT_OF: Mapping[Any, str] = MappingProxyType({bits_up: "shl", bits_down: "lshr"})
INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "Pow": "write x * x, or power(x, y)",
        "FloorDiv": "integer division is not supported here",
        "Mod": "integer remainders are not supported here",
        "ListComp": "write a loop",
        "List": "use an array of a table",
        "Tuple": "assign to each name",
        "Dict": "use a constant of the module",
        "Lambda": "write a function with a name",
        "JoinedStr": "there are no strings in machine code",
        "Try": "return a status",
        "Raise": "return a status",
        "With": "there are no context managers in machine code",
        "Assert": "return a status",
        "Break": "a single lane cannot leave a loop; use a condition",
        "Continue": "a single lane cannot skip a pass of a loop; use a condition",
    }
)


def is_fixed(kind: Any) -> bool:
    return isinstance(kind, FixedArgument)


def is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Table)


def kind_of(kind: Any) -> str:
    if kind is None or kind is type(None):
        return "void"
    return KINDS.get(kind, POINTER)


def named(kind: Any) -> str:
    if isinstance(kind, Array):
        return f"an array of {kind.entries.__name__}s" if kind.entries in KINDS else "an array of addresses"
    if isinstance(kind, Code):
        return "code"
    if kind is None or kind is type(None):
        return "no result"
    name = getattr(kind, "__name__", str(kind))
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
