"""Alias removal and sorting by arrays: instances -> which value stands for which, and the order of evaluation.

The same as `remove_aliases`, `refuse_rings` and `sort_statements` do with names, for models that need no more. Whatever they
would refuse, or tear, is left to them.
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
    """Statements in an order of evaluation over values of one name."""

    stands: np.ndarray
    """Value -> the one that stands for it."""
    negatives: Mapping[int, int]
    """Value -> the one that it is called minus of."""
    columns: tuple[StatementInstances, ...]
    """All statements but those that repeat another one; `numbers` are their places in the order."""


def sorted_instances(given: Instances) -> SortedInstances | None:
    """Names merged and statements sorted; None where a value is given twice or never, or depends on itself."""
    stands = _merged(given)
    columns = [replace(c, outs=stands[c.outs], args=stands[c.args]) for c in given.columns()]
    negatives = _negatives(given, stands)
    if negatives is None:
        return None
    found = _one_of_each(negatives, given.values)
    columns = [_without(replace(c, outs=found[c.outs], args=found[c.args]), c.outs) for c in columns]
    columns = [column for column in columns if len(column.numbers)]
    stands = found[stands]
    giver = _givers(given, columns)
    order = None if giver is None else evaluation_order(_needs(columns, giver, given.statements))
    if order is None:
        return None
    of = dict(zip(*negatives.T.tolist(), strict=True)) if len(negatives) else {}
    return SortedInstances(stands, of, _in_order(columns, order))


def _merged(given: Instances) -> np.ndarray:
    """Value -> the one whose name stays."""
    one, other = given.same().T
    group = np.arange(given.values)
    while True:
        low, high = np.minimum(group[one], group[other]), np.maximum(group[one], group[other])
        if np.array_equal(low, high):
            break
        np.minimum.at(group, high, low)
        while not np.array_equal(above := group[group], group):
            group = above
    ranks = _ranks(given)
    members = np.unique(np.concatenate([one, other]))
    members = members[np.lexsort((ranks[members], group[members]))]
    best: dict[int, int] = {}
    tied: dict[int, list[int]] = {}
    lowest = np.full(given.values, np.iinfo(int).max)
    np.minimum.at(lowest, group[members], ranks[members])
    for value in members[ranks[members] == lowest[group[members]]].tolist():
        own = int(group[value])
        if own in best:
            tied.setdefault(own, [best[own]]).append(value)
        else:
            best[own] = value
    best |= {own: min(values, key=given.name) for own, values in tied.items()}
    stands = np.arange(given.values)
    heads = np.arange(given.values)
    heads[list(best)] = list(best.values())
    stands[members] = heads[group[members]]
    return stands


def _ranks(given: Instances) -> np.ndarray:
    """How a name is preferred, as `remove_aliases` does it."""
    bonds = np.array([len(bond.name) for bond in given.model.bonds], dtype=int)
    paths = np.array([len(path) for path in given.paths], dtype=int)
    ranks = np.empty(given.values, dtype=int)
    ranks[0] = len("time")
    variables = ranks[1 : given.starts[0]].reshape(-1, 2)
    variables[:] = FREE_PENALTY + NO_SYMBOL_PENALTY + MARK_PENALTY + bonds[:, None] + [len(":effort"), len(":flow")]
    for kind in given.kinds:
        pattern = kind.pattern
        fixed = {*(state for state, *_ in pattern.states), *pattern.parameters}
        for place, (text, mark, value) in enumerate(zip(pattern.texts, pattern.marks, pattern.values, strict=True)):
            marked = ":" in text or text[-1] == "'"
            own = (
                (0 if place in fixed else FREE_PENALTY)
                + (0 if value.symbol else NO_SYMBOL_PENALTY)
                + (MARK_PENALTY if marked else 0)
            )
            length = paths[kind.elements] if mark == 0 else bonds[kind.bonds[:, mark - 1]]
            ranks[kind.rows[:, place]] = own + len(text % "") + length
    return ranks


def _negatives(given: Instances, stands: np.ndarray) -> np.ndarray | None:
    """Values (k, 2) whose name says minus another one, and which; in the order in which they are written. None where two of them
    are one value."""
    columns = [column for column in given.columns() if column.op is NEGATE and column.negative]
    if not columns:
        return np.zeros((0, 2), dtype=int)
    outs, of = np.concatenate([np.hstack([c.outs, stands[c.args]]) for c in columns]).T
    order = np.argsort(np.concatenate([c.numbers for c in columns]))
    outs, of = outs[order], of[order]
    named = stands[outs] == outs
    return None if np.isin(stands[outs[~named]], outs).any() else np.stack([outs[named], of[named]], axis=1)


def _one_of_each(negatives: np.ndarray, count: int) -> np.ndarray:
    """Value -> itself; or of what is minus the same value, the one that is written first."""
    outs, of = negatives.T
    _, first, which = np.unique(of, return_index=True, return_inverse=True)
    found = np.arange(count)
    found[outs] = outs[first][which]
    return found


def _without(column: StatementInstances, outs: np.ndarray) -> StatementInstances:
    """Without what another statement gives."""
    own = (column.outs == outs).all(axis=1)
    if own.all():
        return column
    return replace(column, numbers=column.numbers[own], outs=column.outs[own], args=column.args[own])


def _givers(given: Instances, columns: Sequence[StatementInstances]) -> np.ndarray | None:
    """Value -> the statement that gives it, -1 where none does; None where two give one, or nothing gives what is read."""
    giver = np.full(given.values, -1)
    for column in columns:
        giver[column.outs] = column.numbers[:, None]
    known = giver >= 0
    if np.count_nonzero(known) != sum(column.outs.size for column in columns):
        return None
    known[0] = known[given.states] = known[given.parameters] = True
    return giver if all(known[column.args].all() for column in columns) else None


def _in_order(columns: Sequence[StatementInstances], order: Sequence[int]) -> tuple[StatementInstances, ...]:
    """The same with their places in an order of all statements, of which some were left out since."""
    written = np.zeros(len(order), dtype=bool)
    for column in columns:
        written[column.numbers] = True
    kept = np.array(order, dtype=int)
    kept = kept[written[kept]]
    places = np.empty(len(order), dtype=int)
    places[kept] = np.arange(len(kept))
    return tuple(replace(column, numbers=places[column.numbers]) for column in columns)


def _needs(columns: Sequence[StatementInstances], giver: np.ndarray, count: int) -> list[Sequence[int]]:
    """Of each statement those that give its arguments."""
    needs: list[Sequence[int]] = [()] * count
    for column in columns:
        before = giver[column.args]
        for number, row in zip(column.numbers.tolist(), before.tolist(), strict=True):
            needs[number] = row if -1 not in row else [index for index in row if index >= 0]
    return needs
