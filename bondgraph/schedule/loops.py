"""Plans -> schedules: loops of kernels over addresses, all values placed in the blocks, the results and one workspace."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.schedule.calls import Book, Call, Kind, Plan
from bondgraph.schedule.order import Batch, batches, needed
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing


@dataclass(frozen=True, eq=False)
class Access:
    """Where instance i finds an argument: `block[start + stride * i]`, or at `tables[table + i]` where that is not -1."""

    block: str
    start: int
    stride: int
    table: int = -1


@dataclass(frozen=True, eq=False)
class KernelLoop:
    """A kernel over `count` instances; `parallel` if none reads what another one gives."""

    kind: Kind
    count: int
    parallel: bool
    ins: tuple[Access, ...]
    outs: tuple[Access, ...]


@dataclass(frozen=True, eq=False)
class Schedule:
    """A routine `name`: loops from blocks of inputs (name, length) to `out` (n_out,), with a workspace of so many scalars."""

    name: str
    blocks: tuple[tuple[str, int], ...]
    n_out: int
    loops: tuple[KernelLoop, ...]
    tables: np.ndarray
    workspace: int
    numbers: np.ndarray
    """What its block of numbers holds."""
    kept: str | None = None
    """The block whose numbers `out` keeps where the loops give no others."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Length of each block."""
        return tuple(n for _, n in self.blocks)


def schedule(
    plan: Plan,
    book: Book,
    blocks: Sequence[tuple[str, int]],
    homes: Mapping[int, tuple[str, int]],
    order: Sequence[Batch] | None = None,
) -> Schedule:
    """Order the calls of a plan, unless their `order` is given, and give every value its place; `homes` holds where given
    values lie."""
    base, address = _known(plan.calls, homes)
    base.update(dict.fromkeys(plan.results, "out"))
    address.update(plan.results)
    order = batches(needed(plan.calls, plan.results), base) if order is None else order
    size = _place(order, book.sizes, address)
    tables = Tables()
    loops = []
    at = address.__getitem__
    for batch in order:
        ins, outs = (
            tuple(
                tables.access(base.get(column[0], "w"), np.fromiter(map(at, column), dtype=np.int32, count=len(column)))
                for column in zip(*rows, strict=True)
            )
            for rows in ([call.ins for call in batch.calls], [call.outs for call in batch.calls])
        )
        loops.append(KernelLoop(batch.calls[0].kind, len(batch.calls), batch.parallel, ins, outs))
    for number, places in plan.numbers.items():
        kind = Kind(Listing(((op.CONSTANT, number),), (0,)), (1,))
        loops.append(KernelLoop(kind, len(places), True, (), (tables.access("out", np.array(places, dtype=np.int32)),)))
    return Schedule(
        plan.name, tuple(blocks), plan.n_out, tuple(loops), tables.joined, size, np.array(list(book.numbers)), plan.kept
    )


def _known(calls: Sequence[Call], homes: Mapping[int, tuple[str, int]]) -> tuple[dict[int, str], dict[int, int]]:
    """Blocks and places of the given values that calls read."""
    base: dict[int, str] = {}
    address: dict[int, int] = {}
    for call in calls:
        for value in call.ins:
            if value in homes:
                base[value], address[value] = homes[value]
    return base, address


class Tables:
    """Index tables of a routine, one after the other."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._length = 0

    @property
    def joined(self) -> np.ndarray:
        """All of them in a row."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0, dtype=np.int32)

    def access(self, block: str, places: np.ndarray) -> Access:
        """An argument at these places: plain strides where they are regular, else a table."""
        first = int(places[0])
        if len(places) == 1:
            return Access(block, first, 0)
        steps = np.diff(places)
        if np.all(steps == steps[0]):
            return Access(block, first, int(steps[0]))
        self._parts.append(places)
        self._length += len(places)
        return Access(block, first, 0, self._length - len(places))


def _place(order: Sequence[Batch], sizes: Sequence[int], address: dict[int, int]) -> int:
    """Places in the workspace for what has none yet: results of one batch side by side, places used again when their
    last reader is done. Returns the length of the workspace."""
    last: dict[int, int] = {}
    for number, batch in enumerate(order):
        for call in batch.calls:
            last.update(dict.fromkeys(call.ins, number))
    free: dict[int, list[int]] = {}
    leaving: dict[int, list[tuple[int, int]]] = {}
    length = 0
    for number, batch in enumerate(order):
        for column in zip(*[call.outs for call in batch.calls], strict=True):
            if column[0] in address:
                continue
            size = sizes[column[0]]
            room = size * len(column)
            if free.get(room):
                start = free[room].pop()
            else:
                start = length
                length += room
            address.update(zip(column, itertools.count(start, size), strict=False))
            end = max([last.get(value, number) for value in column], default=number)
            leaving.setdefault(end, []).append((room, start))
        for room, start in leaving.pop(number, ()):
            free.setdefault(room, []).append(start)
    return length


def in_row(name: str, calls: Sequence[Call], book: Book) -> tuple[Plan, list[Batch]]:
    """A plan whose results are all that the calls give, those of one batch side by side; and the batches."""
    base, _ = _known(calls, book.homes)
    base |= {value: "out" for call in calls for value in call.outs}
    order = batches(calls, base)
    results: dict[int, int] = {}
    place = 0
    for batch in order:
        for column in zip(*[call.outs for call in batch.calls], strict=True):
            for value in column:
                results[value] = place
                place += book.sizes[value]
    return Plan(name, tuple(calls), place, results), order
