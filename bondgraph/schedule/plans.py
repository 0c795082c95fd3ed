"""Groups -> plans: calls for the values of a routine, and for the nonzeros of a Jacobian by the chain rule."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bondgraph.schedule.calls import Book, Call, Kind, Plan
from bondgraph.schedule.groups import Group, groups, narrow
from bondgraph.schedule.kernels import CONSTANT, FIXED, TracedGroup, readdressed
from bondgraph.schedule.shared_constants import Substitute, sharing
from bondgraph.schedule.statements import StatementTable
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing, Routine, listing
from bondgraph.tape.scalar import Tape

Scalar = tuple[float, int]
"""A derivative: a factor and a value of one component; the value is -1 for a plain number."""


Made = dict[tuple[Kind, tuple[int, ...]], Call]
"""Calls by what they are: what is asked for again is found."""


@dataclass(eq=False)
class Workshop:
    """What the routines of one model share: kernels by key, and calls that depend on parameters only."""

    table: StatementTable
    traced: dict[object, TracedGroup] = field(default_factory=dict)
    shared: dict[TracedGroup, Substitute] = field(default_factory=dict)
    prepared: Made = field(default_factory=dict)
    makers: dict[int, Call] = field(default_factory=dict)
    """Value -> the call of `prepared` that gives it."""
    sums: dict[object, Kind] = field(default_factory=dict)

    @property
    def book(self) -> Book:
        """All values."""
        return self.table.book

    def alike(self, found: Sequence[Group]) -> list[Group]:
        """The same groups with one kernel for many that differ in numbers alone."""
        self.shared.update(sharing(group.traced for group in found if group.traced not in self.shared))
        groups = []
        for group in found:
            one = self.shared.get(group.traced)
            if one is not None:
                numbers = map(self.book.number, one.numbers)
                group = group._replace(traced=one.traced, fixed=(*group.fixed, *numbers))
            groups.append(group)
        return groups

    def prepare(self, kind: Kind | None, ins: tuple[int, ...]) -> tuple[int, ...]:
        """Results of a call on parameters; the same call is made once."""
        if kind is None:
            return ()
        call = self.prepared.get((kind, ins))
        if call is None:
            call = self.prepared[kind, ins] = Call(kind, ins, self.table.book.results(kind, True))
            self.makers.update(dict.fromkeys(call.outs, call))
        return call.outs

    def preparing(self, calls: Iterable[Call], given: Container[int]) -> list[Call]:
        """The calls on parameters that others need, but for what is `given`, in the order in which they were made."""
        found: dict[int, Call] = {}
        stack = [value for call in calls for value in call.ins]
        while stack:
            value = stack.pop()
            call = self.makers.get(value)
            if call is not None and value not in given and call.outs[0] not in found:
                found[call.outs[0]] = call
                stack += call.ins
        return [found[first] for first in sorted(found)]


@dataclass(frozen=True, eq=False)
class Found:
    """Groups that give some values in a row, and the calls of their kernels."""

    groups: tuple[Group, ...]
    calls: tuple[Call, ...]
    results: dict[int, int]
    """Value -> its first place in the row."""
    width: int


def find(shop: Workshop, wanted: Sequence[int], for_derivatives: bool = False) -> Found:
    """Groups for the wanted values; what is given, fixed or wanted twice is copied."""
    results, width = _row(shop.table, wanted)
    inside = narrow(shop.table, set(results)) if for_derivatives else None
    return _called(shop, shop.alike(groups(shop.table, list(results), shop.traced, inside)), results, width)


def find_each(shop: Workshop, rows: Sequence[Sequence[int]]) -> list[Found]:
    """The same for several rows of values, each by itself; kernels of all rows that differ in numbers alone are one."""
    places = [_row(shop.table, wanted) for wanted in rows]
    found = [groups(shop.table, list(results), shop.traced, None) for results, _ in places]
    one = iter(shop.alike([group for part in found for group in part]))
    alike = [list(itertools.islice(one, len(part))) for part in found]
    return [_called(shop, part, *place) for part, place in zip(alike, places, strict=True)]


def _row(table: StatementTable, wanted: Sequence[int]) -> tuple[dict[int, int], int]:
    """Where values, or copies of them, begin in a row; and its length."""
    book = table.book
    results: dict[int, int] = {}
    copied: dict[int, int] = {}
    place = 0
    for value in wanted:
        if not book.sizes[value]:  # The rate of a storage without a state of its own.
            continue
        given = value not in table.producer or book.fixed[value] or value in results
        if given:
            number = copied[value] = copied.get(value, -1) + 1
            results[table.copy_of(value, number)] = place
        else:
            results[value] = place
        place += book.sizes[value]
    return results, place


def _called(shop: Workshop, found: Sequence[Group], results: dict[int, int], width: int) -> Found:
    calls = []
    for group in found:
        cut = group.traced.value
        assert cut.main is not None
        before = shop.prepare(cut.prepare, group.fixed)
        calls.append(Call(cut.main, (*map(group.varying.__getitem__, cut.reads), *before), group.outs))
    return Found(tuple(found), tuple(calls), results, width)


def derivatives(shop: Workshop, name: str, found: Found, states: Sequence[int]) -> tuple[Plan, tuple[np.ndarray, np.ndarray]]:
    """Nonzeros of the derivatives of the values by `states`, by columns; and the pattern (indptr, indices), int32.

    Every kernel is differentiated once; forward accumulation over the groups gives one sum of products for each value and
    each state that it depends on.
    """
    calls = list(found.calls)
    book = shop.book
    slopes: dict[int, list[dict[int, Scalar]]] = {}
    known: Made = {}
    column = 0
    for state in states:
        slopes[state] = [{column + j: (1.0, -1)} for j in range(book.sizes[state])]
        column += book.sizes[state]
    for group in found.groups:
        active = tuple([value in slopes for value in group.varying])
        if True not in active:
            continue
        where, cut = group.traced.derivative(active)
        before = shop.prepare(cut.prepare, group.fixed)
        here: tuple[int, ...] = ()
        if cut.main is not None:
            here = book.results(cut.main)
            calls.append(Call(cut.main, (*map(group.varying.__getitem__, cut.reads), *before), here))
        rows: list[dict[int, list[tuple[Scalar, Scalar]]]] = [{} for _ in range(sum(group.traced.sizes))]
        for (row, argument, component), (what, which) in zip(where, cut.results, strict=True):
            if what == CONSTANT:
                local: Scalar = (which, -1)
            else:
                local = (1.0, before[int(which)] if what == FIXED else here[int(which)])
            total = rows[row]
            for by, inner in slopes[group.varying[argument]][component].items():
                total.setdefault(by, []).append((local, inner))
        start = 0
        for value, size in zip(group.outs, group.traced.sizes, strict=True):
            part = [_sums(shop, row, calls, known) for row in rows[start : start + size]]
            start += size
            if any(part):
                slopes[value] = part
    entries: list[tuple[int, int, Scalar]] = []
    for value, start in found.results.items():
        for component, part_of in enumerate(slopes.get(value, ())):
            entries += [(by, start + component, scalar) for by, scalar in part_of.items()]
    entries.sort(key=lambda entry: entry[:2])
    goals, numbers = _places(shop, [scalar for _, _, scalar in entries], calls)
    indptr = np.searchsorted([c for c, _, _ in entries], range(column + 1)).astype(np.int32)
    indices = np.array([r for _, r, _ in entries], dtype=np.int32)
    return Plan(name, tuple(calls), len(entries), goals, numbers), (indptr, indices)


def _places(shop: Workshop, entries: Sequence[Scalar], calls: list[Call]) -> tuple[dict[int, int], dict[float, list[int]]]:
    """Where derivatives go in a row: those that calls give, and plain numbers; those of parameters alone are copied."""
    goals: dict[int, int] = {}
    numbers: dict[float, list[int]] = {}
    for place, (factor, value) in enumerate(entries):
        if value < 0:
            numbers.setdefault(factor, []).append(place)
            continue
        fixed = shop.book.fixed[value]
        if factor != 1.0 or not (fixed or value not in goals):
            kind, ins = _sum_kind(shop, [(factor, [value])])
            if fixed:
                value = shop.prepare(kind, ins)[0]
            else:
                calls.append(Call(kind, ins, shop.book.results(kind)))
                value = calls[-1].outs[0]
        if fixed:
            calls.append(Call(_COPY, (value,), shop.book.results(_COPY)))
            value = calls[-1].outs[0]
        goals[value] = place
    return goals, numbers


_COPY = Kind(Listing(((op.INPUT, 0, 0),), (0,)), (1,))


def _sums(shop: Workshop, row: dict[int, list[tuple[Scalar, Scalar]]], calls: list[Call], known: Made) -> dict[int, Scalar]:
    """The derivatives of one scalar from its products by column; new sums go to `calls`, and to `known` to be found again."""
    found = {}
    for by, products in row.items():
        if len(products) == 1:
            (f, a), (g, b) = products[0]
            if a < 0 or b < 0:
                if f * g or max(a, b) >= 0:
                    found[by] = (f * g, max(a, b))
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
                found[by] = (number, -1)
            continue
        if not number and len(terms) == 1 and len(terms[0][1]) == 1:
            found[by] = (terms[0][0], terms[0][1][0])
            continue
        if number:
            terms.append((number, []))
        kind, ins = _sum_kind(shop, terms)
        fixed = all(shop.book.fixed[value] for value in ins)
        if fixed:
            found[by] = (1.0, shop.prepare(kind, ins)[0])
            continue
        call = known.get((kind, ins))
        if call is None:
            call = known[kind, ins] = Call(kind, ins, shop.book.results(kind))
            calls.append(call)
        found[by] = (1.0, call.outs[0])
    return found


def _sum_kind(shop: Workshop, terms: Sequence[tuple[float, Sequence[int]]]) -> tuple[Kind, tuple[int, ...]]:
    """The kernel factor * a * b + ..., and what it reads."""
    ins = tuple([value for _, factors in terms for value in factors])
    key = tuple([(factor, len(factors)) for factor, factors in terms])
    kind = shop.sums.get(key)
    if kind is None:
        tape = Tape()
        given = iter(tape.inputs("v", len(ins)))
        total = None
        for factor, factors in terms:
            product = tape.scalar(factor)
            for _ in factors:
                product = product * next(given)
            total = product if total is None else total + product
        straight = listing(Routine("sum", tape, (("v", len(ins)),), (total,) if total is not None else ()))
        kind = shop.sums[key] = readdressed(straight, lambda _, k: (k, 0), (1,))
    return kind, ins
