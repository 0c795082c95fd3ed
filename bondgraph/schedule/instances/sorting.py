"""Alias removal and sorting of instances, in arrays.

Equivalent to `remove_aliases`, `refuse_undefined_values` and `sort_statements` by name, for models without algebraic loops and
problems; all others are left to these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.model.ops import NEGATE
from bondgraph.passes.aliases import FREE_PENALTY, MARK_PENALTY, NO_SYMBOL_PENALTY
from bondgraph.passes.sorting import evaluation_order
from bondgraph.schedule.instances.instances import Instances, StatementInstances


@dataclass(frozen=True, eq=False)
class SortedInstances:
    """Statements in an order of evaluation, over values without aliases."""

    roots: np.ndarray
    """Value -> the value that replaces it."""
    negatives: Mapping[int, int]
    """Value -> the value whose negative it is named after."""
    columns: tuple[StatementInstances, ...]
    """All statements without duplicates; `numbers` are their positions in the order."""


def sorted_instances(patterns: Instances) -> SortedInstances | None:
    """Remove aliases and sort statements; None if a value has two producers, or none, or depends on itself."""
    roots = _merge(patterns)
    columns = [replace(c, outs=roots[c.outs], args=roots[c.args]) for c in patterns.columns()]
    negatives = _negatives(patterns, roots)
    if negatives is None:
        return None
    first = _first_negatives(negatives, patterns.values)
    columns = [_without_duplicates(replace(c, outs=first[c.outs], args=first[c.args]), c.outs) for c in columns]
    columns = [column for column in columns if len(column.numbers)]
    roots = first[roots]
    producer = _producers(patterns, columns)
    order = None if producer is None else evaluation_order(_dependencies(columns, producer, patterns.statements))
    if order is None:
        return None
    of = dict(zip(*negatives.T.tolist(), strict=True)) if len(negatives) else {}
    return SortedInstances(roots, of, _in_order(columns, order))


def _merge(patterns: Instances) -> np.ndarray:
    """Return, for each value, the value whose name stays."""
    one, other = patterns.same().T
    group = np.arange(patterns.values)
    while True:
        low, high = np.minimum(group[one], group[other]), np.maximum(group[one], group[other])
        if np.array_equal(low, high):
            break
        np.minimum.at(group, high, low)
        while not np.array_equal(above := group[group], group):
            group = above
    ranks = _ranks(patterns)
    members = np.unique(np.concatenate([one, other]))
    members = members[np.lexsort((ranks[members], group[members]))]
    best: dict[int, int] = {}
    tied: dict[int, list[int]] = {}
    lowest = np.full(patterns.values, np.iinfo(int).max)
    np.minimum.at(lowest, group[members], ranks[members])
    for value in members[ranks[members] == lowest[group[members]]].tolist():
        key = int(group[value])
        if key in best:
            tied.setdefault(key, [best[key]]).append(value)
        else:
            best[key] = value
    best |= {key: min(values, key=patterns.name) for key, values in tied.items()}
    roots = np.arange(patterns.values)
    heads = np.arange(patterns.values)
    heads[list(best)] = list(best.values())
    roots[members] = heads[group[members]]
    return roots


def _ranks(patterns: Instances) -> np.ndarray:
    """Return the rank of each name, lowest preferred, as in `remove_aliases`."""
    bonds = np.array([len(bond.name) for bond in patterns.model.bonds], dtype=int)
    paths = np.array([len(path) for path in patterns.paths], dtype=int)
    ranks = np.empty(patterns.values, dtype=int)
    ranks[0] = len("time")
    variables = ranks[1 : patterns.starts[0]].reshape(-1, 2)
    variables[:] = FREE_PENALTY + NO_SYMBOL_PENALTY + MARK_PENALTY + bonds[:, None] + [len(":effort"), len(":flow")]
    for kind in patterns.kinds:
        pattern = kind.pattern
        fixed = {*(state for state, *_ in pattern.states), *pattern.parameters}
        for position, (text, mark, value) in enumerate(zip(pattern.texts, pattern.marks, pattern.values, strict=True)):
            marked = ":" in text or text[-1] == "'"
            penalty = (
                (0 if position in fixed else FREE_PENALTY)
                + (0 if value.symbol else NO_SYMBOL_PENALTY)
                + (MARK_PENALTY if marked else 0)
            )
            length = paths[kind.elements] if mark == 0 else bonds[kind.bonds[:, mark - 1]]
            ranks[kind.rows[:, position]] = penalty + len(text % "") + length
    return ranks


def _negatives(patterns: Instances, roots: np.ndarray) -> np.ndarray | None:
    """Return values (k, 2) with a negative's name and the value that they negate, in the order of writing; None if two of them
    are one value."""
    columns = [column for column in patterns.columns() if column.op is NEGATE and column.negative]
    if not columns:
        return np.zeros((0, 2), dtype=int)
    outs, of = np.concatenate([np.hstack([c.outs, roots[c.args]]) for c in columns]).T
    order = np.argsort(np.concatenate([c.numbers for c in columns]))
    outs, of = outs[order], of[order]
    named = roots[outs] == outs
    return None if np.isin(roots[outs[~named]], outs).any() else np.stack([outs[named], of[named]], axis=1)


def _first_negatives(negatives: np.ndarray, count: int) -> np.ndarray:
    """Map each value to itself, but each negative to the first negative of the same value."""
    outs, of = negatives.T
    _, first, inverse = np.unique(of, return_index=True, return_inverse=True)
    mapped = np.arange(count)
    mapped[outs] = outs[first][inverse]
    return mapped


def _without_duplicates(column: StatementInstances, outs: np.ndarray) -> StatementInstances:
    """Drop the instances whose results another statement gives."""
    unchanged = (column.outs == outs).all(axis=1)
    if unchanged.all():
        return column
    return replace(column, numbers=column.numbers[unchanged], outs=column.outs[unchanged], args=column.args[unchanged])


def _producers(patterns: Instances, columns: Sequence[StatementInstances]) -> np.ndarray | None:
    """Return the statement that gives each value, -1 for none; None if two give one value, or an argument has no producer."""
    producer = np.full(patterns.values, -1)
    for column in columns:
        producer[column.outs] = column.numbers[:, None]
    defined = producer >= 0
    if np.count_nonzero(defined) != sum(column.outs.size for column in columns):
        return None
    defined[0] = defined[patterns.states] = defined[patterns.parameters] = True
    return producer if all(defined[column.args].all() for column in columns) else None


def _in_order(columns: Sequence[StatementInstances], order: Sequence[int]) -> tuple[StatementInstances, ...]:
    """Renumber statements by their positions in the order, without those that were dropped."""
    written = np.zeros(len(order), dtype=bool)
    for column in columns:
        written[column.numbers] = True
    kept = np.array(order, dtype=int)
    kept = kept[written[kept]]
    positions = np.empty(len(order), dtype=int)
    positions[kept] = np.arange(len(kept))
    return tuple(replace(column, numbers=positions[column.numbers]) for column in columns)


def _dependencies(columns: Sequence[StatementInstances], producer: np.ndarray, count: int) -> list[Sequence[int]]:
    """Return, for each statement, the statements that give its arguments."""
    needs: list[Sequence[int]] = [()] * count
    for column in columns:
        before = producer[column.args]
        for number, row in zip(column.numbers.tolist(), before.tolist(), strict=True):
            needs[number] = row if -1 not in row else [index for index in row if index >= 0]
    return needs
