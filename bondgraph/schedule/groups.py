"""Statements -> groups that are traced together: what only one group reads is computed in it, not stored.

Equal groups - the same formulas on arguments of the same shapes, joined in the same way - share one kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.schedule.kernels import TracedGroup, traced
from bondgraph.schedule.statements import StatementTable

LARGEST = 24
"""Statements of one group; longer ones would seldom be equal."""

_SHARED = -1
_DEEPEST = 12
"""Statements that are computed again for one narrow value."""


@dataclass(frozen=True, eq=False)
class Group:
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
    for index in range(len(args) - 1, -1, -1):
        results = outs[index]
        if need.isdisjoint(results) or fixed[results[0]]:
            continue
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
    walks = ((_Walk(table, member, number, wish, need, sources), head) for number, head in enumerate(heads))
    return [walk.group(head, kernels) for walk, head in reversed(list(walks))]


def narrow(table: StatementTable, wanted: set[int]) -> dict[int, tuple[int, ...]]:
    """Values that follow from no more scalars than they have themselves, with the values that they follow from.

    A Jacobian is better off without them: derivatives by a matrix and from there by the pose behind it are many products,
    derivatives by the pose are few.
    """
    sizes, fixed = table.book.sizes, table.book.fixed
    found: dict[int, tuple[int, ...]] = {}
    depth: dict[int, int] = {}
    for args, outs in zip(table.args, table.outs, strict=True):
        if not outs or fixed[outs[0]] or not wanted.isdisjoint(outs):
            continue
        level = 1 + sum(depth.get(value, 0) for value in args)
        origin = tuple(dict.fromkeys(v for value in args if not fixed[value] for v in found.get(value, (value,))))
        if level <= _DEEPEST and sum(sizes[value] for value in origin) <= sum(sizes[value] for value in outs):
            for value in outs:
                found[value], depth[value] = origin, level
    return found


@dataclass(eq=False)
class _Walk:
    """Depth first through one group from its head: steps, arguments and stores in an order that equal groups share."""

    table: StatementTable
    member: dict[int, int]
    number: int
    wish: set[int]
    need: set[int]
    sources: Mapping[int, tuple[int, ...]]
    known: dict[int, tuple[int, int]] = field(default_factory=dict)
    arguments: list[int] = field(default_factory=list)
    steps: list[tuple[int, tuple[tuple[int, int], ...], int]] = field(default_factory=list)
    stores: list[tuple[int, int]] = field(default_factory=list)
    outs: list[int] = field(default_factory=list)

    def visit(self, index: int, head: bool) -> None:
        table, known = self.table, self.known
        references = []
        for value in table.args[index]:
            place = known.get(value)
            if place is None:
                before = table.producer.get(value)
                if before is not None and self.inside(value, before):
                    self.visit(before, False)
                else:
                    known[value] = (-1, len(self.arguments))
                    self.arguments.append(value)
                place = known[value]
            references.append(place)
        step = len(self.steps)
        results = table.outs[index]
        self.steps.append((table.formulas[index], tuple(references), len(results)))
        stored = self.need if head else self.wish
        for k, value in enumerate(results):
            known[value] = (step, k)
            if value in stored:
                self.stores.append((step, k))
                self.outs.append(value)

    def inside(self, value: int, producer: int) -> bool:
        """Whether the group computes a value itself."""
        return self.table.book.fixed[value] or value in self.sources or self.member.get(producer) == self.number

    def group(self, head: int, kernels: dict[object, TracedGroup]) -> Group:
        self.visit(head, True)
        fixed, shapes = self.table.book.fixed, self.table.shapes
        arguments = tuple([(fixed[value], shapes[value]) for value in self.arguments])
        key = (tuple(self.steps), arguments, tuple(self.stores))
        kernel = kernels.get(key)
        if kernel is None:
            ops = self.table.ops
            kernel = kernels[key] = traced([(ops[f], given, n) for f, given, n in self.steps], arguments, self.stores)
        varying = tuple([value for value in self.arguments if not fixed[value]])
        return Group(kernel, varying, tuple([value for value in self.arguments if fixed[value]]), tuple(self.outs))
