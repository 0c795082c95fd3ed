"""Numbered statements of a system, calls of kernels on their values, and plans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bondgraph.assembly.formula_keys import formula_key
from bondgraph.assembly.system import Statement, System
from bondgraph.model.ops import IDENTITY, Op
from bondgraph.tape.routine import Listing
from bondgraph.units import Conversion

INPUT_BLOCKS = ("t", "x", "p", "m")
"""Input blocks of every routine; results lie in `out`, intermediate values in the workspace `w`."""

NUMBERS = "c"


@dataclass(frozen=True, eq=False)
class Kind:
    """Kernel with inputs `(INPUT, argument, component)`, whose results are cut into `sizes`."""

    program: Listing
    sizes: tuple[int, ...]


class Call(NamedTuple):
    kind: Kind
    ins: tuple[int, ...]
    outs: tuple[int, ...]


@dataclass
class ValueTable:
    """All values of a model by number: sizes in scalars, locations (block, offset) of inputs, True in `fixed` for values that
    depend only on parameters, and `numbers` from constants to their values."""

    sizes: list[int] = field(default_factory=list)
    locations: dict[int, tuple[str, int]] = field(default_factory=dict)
    fixed: list[bool] = field(default_factory=list)
    numbers: dict[float, int] = field(default_factory=dict)

    def value(self, size: int, fixed: bool = False, home: tuple[str, int] | None = None) -> int:
        number = len(self.sizes)
        self.sizes.append(size)
        self.fixed.append(fixed)
        if home is not None:
            self.locations[number] = home
        return number

    def number(self, number: float) -> int:
        value = self.numbers.get(number)
        if value is None:
            value = self.numbers[number] = self.value(1, True, (NUMBERS, len(self.numbers)))
        return value

    def results(self, kind: Kind, fixed: bool = False) -> tuple[int, ...]:
        first, count = len(self.sizes), len(kind.sizes)
        self.sizes += kind.sizes
        self.fixed += [fixed] * count
        return tuple(range(first, first + count))


@dataclass(frozen=True, eq=False)
class Plan:
    """A routine before it is scheduled: calls in any order, and the layout of `out`."""

    name: str
    calls: tuple[Call, ...]
    n_out: int
    results: Mapping[int, int]
    """Offset in `out` of each result that a call computes."""
    numbers: Mapping[float, Sequence[int]] = field(default_factory=dict)
    """Positions of each constant in `out`."""
    copied_block: str | None = None
    """The block that is copied to `out` first, if any."""


MAX_PREPARED_DEPTH = 24
"""Maximum length of a chain of statements that is computed in `prepare`: each group that reads the chain's result traces the
chain again."""


@dataclass(frozen=True, eq=False)
class StatementTable:
    """Statements as tuples of numbers.

    `args[k]` and `outs[k]` are values, `formulas[k]` is the number of a formula, and `ops[f]` an operation with formula `f`.
    """

    numbers: Mapping[str, int]
    shapes: dict[int, tuple[int, ...]]
    args: list[tuple[int, ...]]
    outs: list[tuple[int, ...]]
    formulas: list[int]
    ops: list[Op]
    producer: dict[int, int]
    book: ValueTable
    copies: dict[tuple[int, int], int] = field(default_factory=dict)

    def copy_of(self, name: int, index: int) -> int:
        """Return the value number of copy `index` of a value; a new copy gets a statement that makes it, for all routines."""
        if (name, index) in self.copies:
            return self.copies[name, index]
        copy = self.copies[name, index] = self.book.value(self.book.sizes[name])
        self.shapes[copy] = self.shapes[name]
        self.args.append((name,))
        self.outs.append((copy,))
        self.formulas.append(0)
        self.producer[copy] = len(self.args) - 1
        return copy


def number_statements(system: System, extra: Sequence[Statement] = ()) -> StatementTable:
    book = ValueTable()
    numbers: dict[str, int] = {}
    shapes: dict[int, tuple[int, ...]] = {}

    def declare(name: str, shape: tuple[int, ...], fixed: bool, home: tuple[str, int] | None) -> int:
        number = numbers[name] = book.value(math.prod(shape) if shape else 1, fixed, home)
        shapes[number] = shape
        return number

    declare("time", (), False, ("t", 0))
    start = 0
    for state in system.states:
        declare(state.name, state.initial.shape, False, ("x", start))
        start += state.initial.size
    start = 0
    converted: list[tuple[Conversion, int, str]] = []
    for name, value in system.parameters.items():
        number = declare(name, value.shape, True, ("p", start))
        start += value.size
        if name in system.conversions:
            converted.append((system.conversions[name], number, name))
    for slot, name in enumerate(system.modes):
        declare(name, (), False, ("m", slot))

    keys: dict[object, int] = {formula_key(IDENTITY): 0}
    ops = [IDENTITY]
    by_identity: dict[int, int] = {id(IDENTITY): 0}
    args: list[tuple[int, ...]] = []
    outs: list[tuple[int, ...]] = []
    formulas: list[int] = []
    producer: dict[int, int] = {}
    depth: dict[int, int] = {}  # for values that depend on parameters only
    varies, values = {value for value, fixed in enumerate(book.fixed) if not fixed}, system.values
    first = [Statement((name,), Op("in the expected unit", convert), (f"{name}:declared",), "") for convert, _, name in converted]
    numbers.update((f"{name}:declared", number) for _, number, name in converted)
    for index, statement in enumerate((*first, *system.statements, *extra)):
        formula = by_identity.get(id(statement.op))
        if formula is None:
            formula = keys.setdefault(formula_key(statement.op), len(keys))
            by_identity[id(statement.op)] = formula
            if formula == len(ops):
                ops.append(statement.op)
        arguments = tuple([numbers[arg] for arg in statement.args])
        level = 0
        if varies.isdisjoint(arguments):
            level = 1 + max([depth.get(value, 0) for value in arguments], default=0)
        fixed = 0 < level < MAX_PREPARED_DEPTH
        results = []
        for out in statement.outs:
            value = values.get(out)
            shape = (value.shape if value is not None else None) or ()
            number = numbers[out] = len(book.sizes)
            shapes[number] = shape
            book.sizes.append(math.prod(shape) if shape else 1)
            book.fixed.append(fixed)
            producer[number] = index
            if fixed:
                depth[number] = level
            else:
                varies.add(number)
            results.append(number)
        args.append(arguments)
        outs.append(tuple(results))
        formulas.append(formula)
    return StatementTable(numbers, shapes, args, outs, formulas, ops, producer, book)
