"""Numbering of the statements of a system: formulas and values by number, and which values depend on parameters only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.assembly.formula_keys import formula_key
from bondgraph.assembly.system import Statement, System
from bondgraph.model.ops import IDENTITY, Op
from bondgraph.schedule.calls import ValueTable

MAX_PREPARED_DEPTH = 24
"""Most statements in a row that are computed in `prepare`: each group that reads their result traces them again."""


@dataclass(frozen=True, eq=False)
class StatementTable:
    """Statements as tuples of numbers.

    `args[k]` and `outs[k]` are values, `formulas[k]` is equal for equal formulas, `ops[f]` is an operation of formula `f`.
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
        """Return the number of the copy `index` of a value, which a further statement makes; all routines share it."""
        if (name, index) in self.copies:
            return self.copies[name, index]
        copy = self.copies[name, index] = self.book.value(self.book.sizes[name])
        self.shapes[copy] = self.shapes[name]
        self.args.append((name,))
        self.outs.append((copy,))
        self.formulas.append(0)
        self.producer[copy] = len(self.args) - 1
        return copy


def numbered(system: System, extra: Sequence[Statement] = ()) -> StatementTable:
    """Number the statements of a system, and `extra` ones with scalar results."""
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
    for name, value in system.parameters.items():
        declare(name, value.shape, True, ("p", start))
        start += value.size
    for slot, name in enumerate(system.modes):
        declare(name, (), False, ("m", slot))

    keys: dict[object, int] = {formula_key(IDENTITY): 0}
    ops = [IDENTITY]
    by_identity: dict[int, int] = {id(IDENTITY): 0}
    args: list[tuple[int, ...]] = []
    outs: list[tuple[int, ...]] = []
    formulas: list[int] = []
    producer: dict[int, int] = {}
    depth: dict[int, int] = {}  # of values that depend on parameters only
    varies, values = {value for value, fixed in enumerate(book.fixed) if not fixed}, system.values
    for index, statement in enumerate((*system.statements, *extra)):
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
