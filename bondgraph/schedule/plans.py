"""Plans: the calls for the values of a routine, and for the nonzeros of a sparse Jacobian by the chain rule."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bondgraph.schedule.calls import Call, Kind, Plan, ValueTable
from bondgraph.schedule.groups import Group, groups, narrow
from bondgraph.schedule.kernels import CONSTANT, FIXED, Substitute, TracedGroup, merge_kernels, readdress
from bondgraph.schedule.statements import StatementTable
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape

Scalar = tuple[float, int]
"""A derivative: a factor and a value of one component; the value is -1 for a plain number."""


Calls = dict[tuple[Kind, tuple[int, ...]], Call]
"""Calls by kind and arguments: common subexpressions."""


@dataclass(eq=False)
class KernelCache:
    """Kernels by key, and calls that depend on parameters only: shared by the routines of one model."""

    table: StatementTable
    traced: dict[object, TracedGroup] = field(default_factory=dict)
    shared: dict[TracedGroup, Substitute] = field(default_factory=dict)
    prepared: Calls = field(default_factory=dict)
    makers: dict[int, Call] = field(default_factory=dict)
    """Value -> the call of `prepared` that gives it."""
    sums: dict[object, Kind] = field(default_factory=dict)

    @property
    def book(self) -> ValueTable:
        """All values."""
        return self.table.book

    def merged(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups with one kernel in place of many that differ only in constants."""
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
        """Return the results of a call on parameters, which is made once."""
        if kind is None:
            return ()
        call = self.prepared.get((kind, ins))
        if call is None:
            call = self.prepared[kind, ins] = Call(kind, ins, self.table.book.results(kind, True))
            self.makers.update(dict.fromkeys(call.outs, call))
        return call.outs

    def preparing(self, calls: Iterable[Call], available: Container[int]) -> list[Call]:
        """Return the calls on parameters that others need for values that are not `available`, in order of evaluation."""
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
    """Groups that compute a row of values, and the calls of their kernels."""

    groups: tuple[Group, ...]
    calls: tuple[Call, ...]
    results: dict[int, int]
    """Value -> its offset in the row."""
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
    """Return the offsets of values, or of copies of them, in a row, and its length."""
    book = table.book
    results: dict[int, int] = {}
    copied: dict[int, int] = {}
    offset = 0
    for value in targets:
        if not book.sizes[value]:  # The rate of a storage without a state of its own.
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
    """Return the plan of the nonzero derivatives of the values by `states`, by columns; and the sparsity pattern (indptr,
    indices), int32.

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
    """Return the positions of derivatives in a row: value -> position, and constant -> positions; further calls go to `calls`."""
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
    """Return the kernel of the sum factor * a * b + ..., and its arguments."""
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
