"""Grouping of statements that are traced together: a value that only one group reads is computed in it, not stored.

Equal groups - the same formulas on arguments of the same shapes, joined in the same way - share one kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bondgraph.schedule.kernels import TracedGroup, traced
from bondgraph.schedule.statements import StatementTable

MAX_STATEMENTS = 24
"""Most statements of one group; longer ones would seldom be equal."""

_SHARED = -1
_MAX_RECOMPUTED = 12
"""Most statements that are computed again for one narrow value."""


class Group(NamedTuple):
    """Instance of a traced group: its varying arguments, its arguments of parameters, and its results."""

    traced: TracedGroup
    varying: tuple[int, ...]
    fixed: tuple[int, ...]
    outs: tuple[int, ...]


def groups(
    table: StatementTable,
    targets: Sequence[int],
    kernels: dict[object, TracedGroup],
    narrow: Mapping[int, tuple[int, ...]] | None,
) -> list[Group]:
    """Return groups that compute the `targets`, in an order of evaluation; `kernels` holds those traced so far, by key.

    The values in `narrow` are computed in every group that reads them, from the values that are listed there.
    """
    sources = narrow or {}
    args, outs, fixed = table.args, table.outs, table.book.fixed
    target_set = set(targets)
    reader: dict[int, int] = {}
    member: dict[int, int] = {}
    count: list[int] = []
    heads: list[int] = []
    stored_values = set(target_set)
    for index in _predecessors(table, targets):
        results = outs[index]
        if stored_values.isdisjoint(results):
            continue
        if len(results) == 1:
            home = reader.get(results[0], _SHARED)
        else:
            homes = {reader[value] for value in results if value in reader}
            home = next(iter(homes)) if len(homes) == 1 else _SHARED
        if home == _SHARED or count[home] >= MAX_STATEMENTS:
            home = len(heads)
            heads.append(index)
            count.append(0)
        count[home] += 1
        member[index] = home
        for argument in args[index]:
            for value in sources.get(argument, (argument,)):
                if fixed[value]:
                    continue
                stored_values.add(value)
                if reader.setdefault(value, home) != home:
                    reader[value] = _SHARED
    return _trace_groups(table, member, heads, target_set, stored_values, sources, kernels)[::-1]


def _predecessors(table: StatementTable, targets: Sequence[int]) -> list[int]:
    """Return the statements that the targets depend on, last ones first, without those of parameters only."""
    args, fixed, producer = table.args, table.book.fixed, table.producer
    statements: set[int] = set()
    stack = list(targets)
    while stack:
        value = stack.pop()
        index = None if fixed[value] else producer.get(value)
        if index is not None and index not in statements:
            statements.add(index)
            stack += args[index]
    return sorted(statements, reverse=True)


def narrow(table: StatementTable, targets: set[int]) -> dict[int, tuple[int, ...]]:
    """Return values that depend on no more scalars than they have themselves, with the values that they depend on.

    A Jacobian is better without them: derivatives by a matrix and from there by the pose behind it are many products,
    derivatives by the pose are few.
    """
    size, fixed = table.book.sizes.__getitem__, table.book.fixed
    origins: dict[int, tuple[int, ...]] = {}
    depth: dict[int, int] = {}
    for args, outs in zip(table.args, table.outs, strict=True):
        if not outs or fixed[outs[0]] or not targets.isdisjoint(outs):
            continue
        level, sources = 1, dict[int, None]()
        for value in args:
            level += depth.get(value, 0)
            if not fixed[value]:
                sources.update(dict.fromkeys(origins.get(value, (value,))))
        if level <= _MAX_RECOMPUTED and sum(map(size, sources)) <= sum(map(size, outs)):
            origin = tuple(sources)
            for value in outs:
                origins[value], depth[value] = origin, level
    return origins


def _trace_groups(
    table: StatementTable,
    member: Mapping[int, int],
    heads: Sequence[int],
    targets: set[int],
    stored_values: set[int],
    sources: Mapping[int, tuple[int, ...]],
    kernels: dict[object, TracedGroup],
) -> list[Group]:
    """Trace each group from its head, depth first: steps, arguments and stores in an order that equal groups share."""
    args, outs, formulas, producer = table.args, table.outs, table.formulas, table.producer
    fixed, shapes, ops = table.book.fixed, table.shapes, table.ops
    references: dict[int, tuple[int, int]]
    arguments: list[int]
    varying: list[int]
    of_parameters: list[int]
    steps: list[tuple[int, tuple[tuple[int, int], ...], int]]
    stores: list[tuple[int, int]]
    group_outs: list[int]

    def visit(index: int, number: int, stored: set[int]) -> None:
        operands = []
        for value in args[index]:
            reference = references.get(value)
            if reference is None:
                before = producer.get(value)
                if before is not None and (member.get(before) == number or fixed[value] or value in sources):
                    visit(before, number, targets)
                    reference = references[value]
                else:
                    reference = references[value] = (-1, len(arguments))
                    arguments.append(value)
                    (of_parameters if fixed[value] else varying).append(value)
            operands.append(reference)
        step = len(steps)
        results = outs[index]
        steps.append((formulas[index], tuple(operands), len(results)))
        for k, value in enumerate(results):
            references[value] = (step, k)
            if value in stored:
                stores.append((step, k))
                group_outs.append(value)

    traced_groups = []
    for number, head in enumerate(heads):
        references, arguments, varying, of_parameters, steps, stores, group_outs = {}, [], [], [], [], [], []
        visit(head, number, stored_values)
        kinds = tuple(zip(map(fixed.__getitem__, arguments), map(shapes.__getitem__, arguments), strict=True))
        key = (tuple(steps), kinds, tuple(stores))
        kernel = kernels.get(key)
        if kernel is None:
            kernel = kernels[key] = traced([(ops[f], of, n) for f, of, n in steps], kinds, stores)
        traced_groups.append(Group(kernel, tuple(varying), tuple(of_parameters), tuple(group_outs)))
    return traced_groups
