"""Statements -> groups that are traced together: what only one group reads is computed in it, not stored.

Equal groups - the same formulas on arguments of the same shapes, joined in the same way - share one kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bondgraph.schedule.kernels import TracedGroup, traced
from bondgraph.schedule.statements import StatementTable

LARGEST = 24
"""Statements of one group; longer ones would seldom be equal."""

_SHARED = -1
_DEEPEST = 12
"""Statements that are computed again for one narrow value."""


class Group(NamedTuple):
    """One instance of a traced group: its arguments that vary, those of parameters, and the values that it gives."""

    traced: TracedGroup
    varying: tuple[int, ...]
    fixed: tuple[int, ...]
    outs: tuple[int, ...]


def groups(
    table: StatementTable, wanted: Sequence[int], kernels: dict[object, TracedGroup], narrow: Mapping[int, tuple[int, ...]] | None
) -> list[Group]:
    """Groups that give the `wanted` values, in an order of evaluation; `kernels` holds those traced so far, by key.

    The values in `narrow` are computed in every group that reads them, from the values that are listed there.
    """
    sources = narrow or {}
    args, outs, fixed = table.args, table.outs, table.book.fixed
    wish = set(wanted)
    reader: dict[int, int] = {}
    member: dict[int, int] = {}
    count: list[int] = []
    heads: list[int] = []
    need = set(wish)
    for index in _behind(table, wanted):
        results = outs[index]
        if need.isdisjoint(results):
            continue
        if len(results) == 1:
            home = reader.get(results[0], _SHARED)
        else:
            homes = {reader[value] for value in results if value in reader}
            home = next(iter(homes)) if len(homes) == 1 else _SHARED
        if home == _SHARED or count[home] >= LARGEST:
            home = len(heads)
            heads.append(index)
            count.append(0)
        count[home] += 1
        member[index] = home
        for given in args[index]:
            for value in sources.get(given, (given,)):
                if fixed[value]:
                    continue
                need.add(value)
                if reader.setdefault(value, home) != home:
                    reader[value] = _SHARED
    return _walk(table, member, heads, wish, need, sources, kernels)[::-1]


def _behind(table: StatementTable, wanted: Sequence[int]) -> list[int]:
    """Statements that some values follow from, last ones first, but for what depends on parameters only."""
    args, fixed, producer = table.args, table.book.fixed, table.producer
    found: set[int] = set()
    stack = list(wanted)
    while stack:
        value = stack.pop()
        index = None if fixed[value] else producer.get(value)
        if index is not None and index not in found:
            found.add(index)
            stack += args[index]
    return sorted(found, reverse=True)


def narrow(table: StatementTable, wanted: set[int]) -> dict[int, tuple[int, ...]]:
    """Values that follow from no more scalars than they have themselves, with the values that they follow from.

    A Jacobian is better off without them: derivatives by a matrix and from there by the pose behind it are many products,
    derivatives by the pose are few.
    """
    size, fixed = table.book.sizes.__getitem__, table.book.fixed
    found: dict[int, tuple[int, ...]] = {}
    depth: dict[int, int] = {}
    for args, outs in zip(table.args, table.outs, strict=True):
        if not outs or fixed[outs[0]] or not wanted.isdisjoint(outs):
            continue
        level, sources = 1, dict[int, None]()
        for value in args:
            level += depth.get(value, 0)
            if not fixed[value]:
                sources.update(dict.fromkeys(found.get(value, (value,))))
        if level <= _DEEPEST and sum(map(size, sources)) <= sum(map(size, outs)):
            origin = tuple(sources)
            for value in outs:
                found[value], depth[value] = origin, level
    return found


def _walk(
    table: StatementTable,
    member: Mapping[int, int],
    heads: Sequence[int],
    wish: set[int],
    need: set[int],
    sources: Mapping[int, tuple[int, ...]],
    kernels: dict[object, TracedGroup],
) -> list[Group]:
    """Each group by its head, depth first: steps, arguments and stores in an order that equal groups share."""
    args, outs, formulas, producer = table.args, table.outs, table.formulas, table.producer
    fixed, shapes, ops = table.book.fixed, table.shapes, table.ops
    known: dict[int, tuple[int, int]]
    arguments: list[int]
    varying: list[int]
    of_parameters: list[int]
    steps: list[tuple[int, tuple[tuple[int, int], ...], int]]
    stores: list[tuple[int, int]]
    given: list[int]

    def visit(index: int, number: int, stored: set[int]) -> None:
        references = []
        for value in args[index]:
            place = known.get(value)
            if place is None:
                before = producer.get(value)
                if before is not None and (member.get(before) == number or fixed[value] or value in sources):
                    visit(before, number, wish)
                    place = known[value]
                else:
                    place = known[value] = (-1, len(arguments))
                    arguments.append(value)
                    (of_parameters if fixed[value] else varying).append(value)
            references.append(place)
        step = len(steps)
        results = outs[index]
        steps.append((formulas[index], tuple(references), len(results)))
        for k, value in enumerate(results):
            known[value] = (step, k)
            if value in stored:
                stores.append((step, k))
                given.append(value)

    found = []
    for number, head in enumerate(heads):
        known, arguments, varying, of_parameters, steps, stores, given = {}, [], [], [], [], [], []
        visit(head, number, need)
        kinds = tuple(zip(map(fixed.__getitem__, arguments), map(shapes.__getitem__, arguments), strict=True))
        key = (tuple(steps), kinds, tuple(stores))
        kernel = kernels.get(key)
        if kernel is None:
            kernel = kernels[key] = traced([(ops[f], of, n) for f, of, n in steps], kinds, stores)
        found.append(Group(kernel, tuple(varying), tuple(of_parameters), tuple(given)))
    return found
