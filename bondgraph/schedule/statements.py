"""The statements of a system by numbers: operations by formula, values by place, and what depends on parameters only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.assembly.identity import formula_key
from bondgraph.assembly.system import Statement, System
from bondgraph.model.ops import IDENTITY, Op
from bondgraph.schedule.calls import Book

DEEPEST = 24
"""Statements in a row that are computed in `prepare`: each group that reads their result traces them again."""


@dataclass(frozen=True, eq=False)
class StatementTable:
    """Statements as tuples of numbers.

    `args[k]` and `outs[k]` are values, `formulas[k]` is equal for equal formulas, `ops[f]` is one of those of formula `f`.
    """

    numbers: Mapping[str, int]
    shapes: dict[int, tuple[int, ...]]
    args: list[tuple[int, ...]]
    outs: list[tuple[int, ...]]
    formulas: list[int]
    ops: list[Op]
    producer: dict[int, int]
    book: Book
    copies: dict[tuple[int, int], int] = field(default_factory=dict)

    def copy_of(self, name: int, place: int) -> int:
        """The number of a copy of a value, made by one more statement. Routines share those of the same `place` among the copies
        of the value: each routine looks through all statements."""
        if (name, place) in self.copies:
            return self.copies[name, place]
        copy = self.copies[name, place] = self.book.value(self.book.sizes[name])
        self.shapes[copy] = self.shapes[name]
        self.args.append((name,))
        self.outs.append((copy,))
        self.formulas.append(0)
        self.producer[copy] = len(self.args) - 1
        return copy


def numbered(system: System, extra: Sequence[Statement] = ()) -> StatementTable:
    """The statements of a system, and `extra` ones with scalar results."""
    book = Book()
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
    for index, name in enumerate(system.modes):
        declare(name, (), False, ("m", index))

    keys: dict[object, int] = {formula_key(IDENTITY): 0}
    ops = [IDENTITY]
    known: dict[int, int] = {id(IDENTITY): 0}
    args: list[tuple[int, ...]] = []
    outs: list[tuple[int, ...]] = []
    formulas: list[int] = []
    producer: dict[int, int] = {}
    depth: dict[int, int] = {}  # of values that depend on parameters only
    varies, values = {value for value, fixed in enumerate(book.fixed) if not fixed}, system.values
    for place, statement in enumerate((*system.statements, *extra)):
        formula = known.get(id(statement.op))
        if formula is None:
            formula = keys.setdefault(formula_key(statement.op), len(keys))
            known[id(statement.op)] = formula
            if formula == len(ops):
                ops.append(statement.op)
        given = tuple([numbers[arg] for arg in statement.args])
        level = 0
        if varies.isdisjoint(given):
            level = 1 + max([depth.get(value, 0) for value in given], default=0)
        fixed = 0 < level < DEEPEST
        results = []
        for out in statement.outs:
            value = values.get(out)
            shape = (value.shape if value is not None else None) or ()
            number = numbers[out] = len(book.sizes)
            shapes[number] = shape
            book.sizes.append(math.prod(shape) if shape else 1)
            book.fixed.append(fixed)
            producer[number] = place
            if fixed:
                depth[number] = level
            else:
                varies.add(number)
            results.append(number)
        args.append(given)
        outs.append(tuple(results))
        formulas.append(formula)
    return StatementTable(numbers, shapes, args, outs, formulas, ops, producer, book)
