"""Table: sorted instances -> the statements by numbers that `numbered` makes of a system."""

from __future__ import annotations

import numpy as np

from bondgraph.assembly.identity import formula_key
from bondgraph.model.ops import IDENTITY
from bondgraph.schedule.calls import Book
from bondgraph.schedule.instances.instances import Instances
from bondgraph.schedule.instances.sorting import SortedInstances
from bondgraph.schedule.statements import DEEPEST, StatementTable


def tabled(given: Instances, found: SortedInstances) -> tuple[np.ndarray, StatementTable]:
    """Statements by numbers, without names; and the number of each value of the instances."""
    states, parameters = given.states, given.parameters
    number = np.full(given.values, -1)
    number[[0, *states, *parameters]] = np.arange(1 + len(states) + len(parameters))
    level = _levels(found, parameters)
    first, count = 1 + len(states) + len(parameters), sum(len(column.numbers) for column in found.columns)
    fixed = np.zeros(first + count, dtype=bool)
    fixed[1 + len(states) : first] = True
    for column in found.columns:
        number[column.outs] = first + column.numbers[:, None]
        fixed[number[column.outs]] = level[column.outs] > 0
    number = number[found.stands]
    args: list[tuple[int, ...]] = [()] * count
    formulas = [0] * count
    keys: dict[object, int] = {formula_key(IDENTITY): 0}
    ops = [IDENTITY]
    for column in sorted(found.columns, key=lambda own: int(own.numbers.min())):
        formula = keys.setdefault(formula_key(column.op), len(keys))
        if formula == len(ops):
            ops.append(column.op)
        for place, row in zip(column.numbers.tolist(), map(tuple, number[column.args].tolist()), strict=True):
            args[place], formulas[place] = row, formula
    book = Book([1] * (first + count), {}, fixed.tolist())
    book.homes[0] = ("t", 0)
    book.homes |= {1 + k: ("x", k) for k in range(len(states))}
    book.homes |= {1 + len(states) + k: ("p", k) for k in range(len(parameters))}
    values = range(first, first + count)
    producer = dict(zip(values, range(count), strict=True))
    shapes: dict[int, tuple[int, ...]] = dict.fromkeys(range(first + count), ())
    return number, StatementTable({}, shapes, args, [(value,) for value in values], formulas, ops, producer, book)


def _levels(found: SortedInstances, parameters: np.ndarray) -> np.ndarray:
    """Statements in a row behind each value that depends on parameters only; -1 for all others."""
    level = np.full(len(found.stands), -1)
    level[parameters] = 0
    changed = True
    while changed:
        changed = False
        for column in found.columns:
            before = level[column.args]
            own = 1 + before.max(axis=1, initial=0)
            own = np.where((before >= 0).all(axis=1) & (own < DEEPEST), own, -1)[:, None]
            changed = changed or bool((level[column.outs] != own).any())
            level[column.outs] = own
    return level
