"""Plans: the calls for the values of a routine, and for the nonzeros of a sparse Jacobian by the chain rule.

Statements are traced together in groups: a value that only one group reads is computed in that group, not stored. Groups of the
same formulas on arguments of the same shapes, connected in the same way, share one kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bondgraph.schedule.calls import Call, Kind, Plan, StatementTable, ValueTable
from bondgraph.schedule.kernels import CONSTANT, FIXED, Substitute, TracedGroup, merge_kernels, readdress, trace_group
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape

MAX_STATEMENTS = 24
"""Maximum number of statements of one group; longer groups would rarely be equal."""

MAX_PREPARED_SIZE = 64
"""Maximum number of entries of a parameter that are prepared one by one in groups that depend only on parameters."""

_SHARED = -1
_MAX_RECOMPUTED = 12
"""Maximum number of statements that are recomputed for one narrow value."""


class Group(NamedTuple):
    """Instance of a traced group: its varying arguments, its arguments that are parameters, and its results."""

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
    """Return groups that compute the `targets`, in an order of evaluation; `kernels` holds the groups traced so far, by key.

    The values in `narrow` are computed in every group that reads them, from the values that `narrow` lists.
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
    """Return values that depend on no more scalars than they have components, with the values that they depend on.

    A Jacobian costs less if such values are not stored: the chain rule through a matrix that depends on a pose takes many
    products, whereas derivatives with respect to the pose take few.
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
    """Trace each group from its head, depth first, so that equal groups list steps, arguments and stores in the same order."""
    args, outs, formulas, producer = table.args, table.outs, table.formulas, table.producer
    fixed, shapes, ops = table.book.fixed, table.shapes, table.ops
    prepared = [is_fixed and not _is_long(table, value) for value, is_fixed in enumerate(fixed)]
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
                    (of_parameters if prepared[value] else varying).append(value)
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
        kinds = tuple(zip(map(prepared.__getitem__, arguments), map(shapes.__getitem__, arguments), strict=True))
        key = (tuple(steps), kinds, tuple(stores))
        kernel = kernels.get(key)
        if kernel is None:
            kernel = kernels[key] = trace_group([(ops[f], of, n) for f, of, n in steps], kinds, stores)
        traced_groups.append(Group(kernel, tuple(varying), tuple(of_parameters), tuple(group_outs)))
    return traced_groups


def _is_long(table: StatementTable, value: int) -> bool:
    """Return True for a parameter whose entries are read in place, not prepared one by one."""
    return table.book.sizes[value] > MAX_PREPARED_SIZE and value not in table.producer


Scalar = tuple[float, int]
"""A derivative: a factor, and the index of the scalar value that it multiplies, or -1 if the factor is the derivative."""


Calls = dict[tuple[Kind, tuple[int, ...]], Call]
"""Calls by kind and arguments: common subexpressions."""


@dataclass(eq=False)
class KernelCache:
    """Kernels by key, and calls that depend only on parameters, which the routines of one model share."""

    table: StatementTable
    traced: dict[object, TracedGroup] = field(default_factory=dict)
    shared: dict[TracedGroup, Substitute] = field(default_factory=dict)
    prepared: Calls = field(default_factory=dict)
    makers: dict[int, Call] = field(default_factory=dict)
    sums: dict[object, Kind] = field(default_factory=dict)

    @property
    def book(self) -> ValueTable:
        return self.table.book

    def merged(self, groups: Sequence[Group]) -> list[Group]:
        self.shared.update(merge_kernels(group.traced for group in groups if group.traced not in self.shared))
        result = []
        for group in groups:
            substitute = self.shared.get(group.traced)
            if substitute is not None:
                numbers = map(self.book.number, substitute.numbers)
                group = group._replace(traced=substitute.traced, fixed=(*group.fixed, *numbers))
            result.append(group)
        return result

    def prepare(self, kind: Kind | None, ins: tuple[int, ...]) -> tuple[int, ...]:
        if kind is None:
            return ()
        call = self.prepared.get((kind, ins))
        if call is None:
            call = self.prepared[kind, ins] = Call(kind, ins, self.table.book.results(kind, True))
            self.makers.update(dict.fromkeys(call.outs, call))
        return call.outs

    def parameter_calls(self, calls: Iterable[Call], available: Container[int]) -> list[Call]:
        """Return the calls that depend only on parameters and give values that `calls` need and that are not `available`, in
        order of evaluation."""
        needed: dict[int, Call] = {}
        stack = [value for call in calls for value in call.ins]
        while stack:
            value = stack.pop()
            call = self.makers.get(value)
            if call is not None and value not in available and call.outs[0] not in needed:
                needed[call.outs[0]] = call
                stack += call.ins
        return [needed[first] for first in sorted(needed)]


@dataclass(frozen=True, eq=False)
class GroupedValues:
    groups: tuple[Group, ...]
    calls: tuple[Call, ...]
    results: dict[int, int]
    width: int


def group_values(cache: KernelCache, targets: Sequence[int], for_derivatives: bool = False) -> GroupedValues:
    """Return groups for the target values; inputs, fixed values and repeated targets are copied."""
    results, width = _row_layout(cache.table, targets)
    inside = narrow(cache.table, set(results)) if for_derivatives else None
    return _with_calls(cache, cache.merged(groups(cache.table, list(results), cache.traced, inside)), results, width)


def group_rows(cache: KernelCache, rows: Sequence[Sequence[int]]) -> list[GroupedValues]:
    """Return groups for each of several rows of values; kernels of all rows that differ only in constants are merged."""
    layouts = [_row_layout(cache.table, targets) for targets in rows]
    groups_of = [groups(cache.table, list(results), cache.traced, None) for results, _ in layouts]
    merged = iter(cache.merged([group for part in groups_of for group in part]))
    parts = [list(itertools.islice(merged, len(part))) for part in groups_of]
    return [_with_calls(cache, part, *layout) for part, layout in zip(parts, layouts, strict=True)]


def _row_layout(table: StatementTable, targets: Sequence[int]) -> tuple[dict[int, int], int]:
    book = table.book
    results: dict[int, int] = {}
    copied: dict[int, int] = {}
    offset = 0
    for value in targets:
        if not book.sizes[value]:  # the rate of a storage without a state of its own
            continue
        if value not in table.producer or book.fixed[value] or value in results:
            number = copied[value] = copied.get(value, -1) + 1
            results[table.copy_of(value, number)] = offset
        else:
            results[value] = offset
        offset += book.sizes[value]
    return results, offset


def _with_calls(cache: KernelCache, groups: Sequence[Group], results: dict[int, int], width: int) -> GroupedValues:
    calls = []
    for group in groups:
        cut = group.traced.value
        assert cut.main is not None
        before = cache.prepare(cut.prepare, group.fixed)
        calls.append(Call(cut.main, (*map(group.varying.__getitem__, cut.reads), *before), group.outs))
    return GroupedValues(tuple(groups), tuple(calls), results, width)


def derivatives(
    cache: KernelCache, name: str, values: GroupedValues, states: Sequence[int]
) -> tuple[Plan, tuple[np.ndarray, np.ndarray]]:
    """Return the plan of the nonzero derivatives of the values with respect to `states`, by columns, and the sparsity pattern
    (indptr, indices), int32.

    Every kernel is differentiated once; forward accumulation over the groups gives one sum of products for each value and
    each state that it depends on.
    """
    calls = list(values.calls)
    book = cache.book
    slopes: dict[int, list[dict[int, Scalar]]] = {}
    sums: Calls = {}
    column = 0
    for state in states:
        slopes[state] = [{column + j: (1.0, -1)} for j in range(book.sizes[state])]
        column += book.sizes[state]
    for group in values.groups:
        active = tuple([value in slopes for value in group.varying])
        if True not in active:
            continue
        local_entries, cut = group.traced.derivative(active)
        before = cache.prepare(cut.prepare, group.fixed)
        partials: tuple[int, ...] = ()
        if cut.main is not None:
            partials = book.results(cut.main)
            calls.append(Call(cut.main, (*map(group.varying.__getitem__, cut.reads), *before), partials))
        rows: list[dict[int, list[tuple[Scalar, Scalar]]]] = [{} for _ in range(sum(group.traced.sizes))]
        for (row, argument, component), (source, entry) in zip(local_entries, cut.results, strict=True):
            if source == CONSTANT:
                local: Scalar = (entry, -1)
            else:
                local = (1.0, before[int(entry)] if source == FIXED else partials[int(entry)])
            total = rows[row]
            for by, inner in slopes[group.varying[argument]][component].items():
                total.setdefault(by, []).append((local, inner))
        start = 0
        for value, size in zip(group.outs, group.traced.sizes, strict=True):
            part = [_sums(cache, row, calls, sums) for row in rows[start : start + size]]
            start += size
            if any(part):
                slopes[value] = part
    entries: list[tuple[int, int, Scalar]] = []
    for value, start in values.results.items():
        for component, part_of in enumerate(slopes.get(value, ())):
            entries += [(by, start + component, scalar) for by, scalar in part_of.items()]
    entries.sort(key=lambda entry: entry[:2])
    results, numbers = _entry_positions(cache, [scalar for _, _, scalar in entries], calls)
    indptr = np.searchsorted([c for c, _, _ in entries], range(column + 1)).astype(np.int32)
    indices = np.array([r for _, r, _ in entries], dtype=np.int32)
    return Plan(name, tuple(calls), len(entries), results, numbers), (indptr, indices)


def _entry_positions(
    cache: KernelCache, entries: Sequence[Scalar], calls: list[Call]
) -> tuple[dict[int, int], dict[float, list[int]]]:
    """Return the position of each value and the positions of each constant in a row of derivatives; new calls go to `calls`."""
    results: dict[int, int] = {}
    numbers: dict[float, list[int]] = {}
    for position, (factor, value) in enumerate(entries):
        if value < 0:
            numbers.setdefault(factor, []).append(position)
            continue
        fixed = cache.book.fixed[value]
        if factor != 1.0 or not (fixed or value not in results):
            kind, ins = _sum_kind(cache, [(factor, [value])])
            if fixed:
                value = cache.prepare(kind, ins)[0]
            else:
                calls.append(Call(kind, ins, cache.book.results(kind)))
                value = calls[-1].outs[0]
        if fixed:
            calls.append(Call(_COPY, (value,), cache.book.results(_COPY)))
            value = calls[-1].outs[0]
        results[value] = position
    return results, numbers


_COPY = Kind(Listing(((op.INPUT, 0, 0),), (0,)), (1,))


def _sums(cache: KernelCache, row: dict[int, list[tuple[Scalar, Scalar]]], calls: list[Call], sums: Calls) -> dict[int, Scalar]:
    """Return the derivatives of one scalar from its products by column; new sums go to `calls` and `sums`."""
    derivatives = {}
    for by, products in row.items():
        if len(products) == 1:
            (f, a), (g, b) = products[0]
            if a < 0 or b < 0:
                if f * g or max(a, b) >= 0:
                    derivatives[by] = (f * g, max(a, b))
                continue
        number = 0.0
        terms: list[tuple[float, list[int]]] = []
        for (f, a), (g, b) in products:
            factors = [v for v in (a, b) if v >= 0]
            if factors:
                terms.append((f * g, factors))
            else:
                number += f * g
        if not terms:
            if number:
                derivatives[by] = (number, -1)
            continue
        if not number and len(terms) == 1 and len(terms[0][1]) == 1:
            derivatives[by] = (terms[0][0], terms[0][1][0])
            continue
        if number:
            terms.append((number, []))
        kind, ins = _sum_kind(cache, terms)
        fixed = all(cache.book.fixed[value] for value in ins)
        if fixed:
            derivatives[by] = (1.0, cache.prepare(kind, ins)[0])
            continue
        call = sums.get((kind, ins))
        if call is None:
            call = sums[kind, ins] = Call(kind, ins, cache.book.results(kind))
            calls.append(call)
        derivatives[by] = (1.0, call.outs[0])
    return derivatives


def _sum_kind(cache: KernelCache, terms: Sequence[tuple[float, Sequence[int]]]) -> tuple[Kind, tuple[int, ...]]:
    ins = tuple([value for _, factors in terms for value in factors])
    key = tuple([(factor, len(factors)) for factor, factors in terms])
    kind = cache.sums.get(key)
    if kind is None:
        tape = Tape()
        inputs = iter(tape.inputs("v", len(ins)))
        total = None
        for factor, factors in terms:
            product = tape.scalar(factor)
            for _ in factors:
                product = product * next(inputs)
            total = product if total is None else total + product
        straight = listing(Routine("sum", tape, (("v", len(ins)),), (total,) if total is not None else ()))
        kind = cache.sums[key] = readdress(straight, lambda _, k: (k, 0), (1,))
    return kind, ins
