"""Memory layout of plans: calls in batches of one kind, as loops over addresses in the blocks, the results and one workspace."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from bondgraph.schedule.calls import Call, Kind, Plan, ValueTable
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing


@dataclass(frozen=True, eq=False)
class Batch:
    """Calls of one kind, evaluated in order; `parallel` if no call depends on another call."""

    calls: tuple[Call, ...]
    parallel: bool


def needed(calls: Sequence[Call], results: Iterable[int]) -> list[Call]:
    producer = {out: index for index, call in enumerate(calls) for out in call.outs}
    used = [False] * len(calls)
    stack = [producer[value] for value in results if value in producer]
    while stack:
        index = stack.pop()
        if not used[index]:
            used[index] = True
            for value in calls[index].ins:
                if value in producer:
                    stack.append(producer[value])
    return [call for call, use in zip(calls, used, strict=True) if use]


def batches(calls: Sequence[Call], base: Mapping[int, str]) -> list[Batch]:
    """Schedule calls; `base` is the block of every value outside the workspace.

    A lane is a kernel together with the blocks of its arguments and results. A lane whose remaining calls are all ready goes
    first, or else the lane with the longest critical path. A recurrence (calls of a lane that need only earlier calls of the
    same lane) stays one batch, in order.
    """
    producer = {out: index for index, call in enumerate(calls) for out in call.outs}
    users: list[list[int]] = [[] for _ in calls]
    missing = [0] * len(calls)
    lanes: dict[tuple[object, ...], int] = {}
    lane: list[int] = []
    block_of, producer_of = base.get, producer.get
    for index, (kind, ins, outs) in enumerate(calls):
        for before in set(map(producer_of, ins)):
            if before is not None:
                users[before].append(index)
                missing[index] += 1
        lane.append(lanes.setdefault((kind, *map(block_of, ins), *map(block_of, outs)), len(lanes)))
    remaining = [0] * len(lanes)
    for number in lane:
        remaining[number] += 1
    height = _heights(users, missing)
    ready: list[list[int]] = [[] for _ in lanes]
    for index, count in enumerate(missing):
        if not count:
            ready[lane[index]].append(index)
    unscheduled = len(calls)
    scheduled: list[Batch] = []
    tallest = [max(map(height.__getitem__, part), default=-1) for part in ready]

    def rank(number: int) -> tuple[bool, int, int]:
        return len(ready[number]) != remaining[number], -tallest[number], number

    queue = [rank(number) for number, part in enumerate(ready) if part]
    heapify(queue)
    while unscheduled:
        first = heappop(queue)
        chosen = first[-1]
        if not ready[chosen] or first != rank(chosen):
            continue
        batch, parallel = sorted(ready[chosen]), True
        ready[chosen] = []
        position = 0
        while position < len(batch):
            for after in users[batch[position]]:
                missing[after] -= 1
                if missing[after]:
                    continue
                number = lane[after]
                if number == chosen:
                    batch.append(after)
                    parallel = False
                else:
                    ready[number].append(after)
                    tallest[number] = max(tallest[number], height[after])
                    heappush(queue, rank(number))
            position += 1
        tallest[chosen] = -1
        remaining[chosen] -= len(batch)
        unscheduled -= len(batch)
        scheduled.append(Batch(tuple(map(calls.__getitem__, batch)), parallel))
    return scheduled


def _heights(users: list[list[int]], missing: list[int]) -> list[int]:
    """Return the number of calls on the critical path from each call to a result."""
    count = missing[:]
    order = [index for index, n in enumerate(count) if not n]
    for index in order:
        for after in users[index]:
            count[after] -= 1
            if not count[after]:
                order.append(after)
    height = [1] * len(users)
    for index in reversed(order):
        if users[index]:
            height[index] = 1 + max(map(height.__getitem__, users[index]))
    return height


@dataclass(frozen=True, eq=False)
class Access:
    """Address of an argument of instance i: `block[start + stride * i]`, or `block[tables[table + i]]` if `table` is not -1."""

    block: str
    start: int
    stride: int
    table: int = -1


@dataclass(frozen=True, eq=False)
class KernelLoop:
    """A kernel over `count` instances; `parallel` if no instance reads the result of another instance."""

    kind: Kind
    count: int
    parallel: bool
    ins: tuple[Access, ...]
    outs: tuple[Access, ...]


@dataclass(frozen=True, eq=False)
class Schedule:
    """A routine `name`: loops from blocks of inputs (name, length) to `out` (n_out,); `workspace` is the length of its workspace
    in scalars."""

    name: str
    blocks: tuple[tuple[str, int], ...]
    n_out: int
    loops: tuple[KernelLoop, ...]
    tables: np.ndarray
    workspace: int
    numbers: np.ndarray
    copied_block: str | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(n for _, n in self.blocks)


def schedule(
    plan: Plan,
    book: ValueTable,
    blocks: Sequence[tuple[str, int]],
    locations: Mapping[int, tuple[str, int]],
    order: Sequence[Batch] | None = None,
) -> Schedule:
    base, address = _input_locations(plan.calls, locations)
    base.update(dict.fromkeys(plan.results, "out"))
    address.update(plan.results)
    order = batches(needed(plan.calls, plan.results), base) if order is None else order
    size = _place_in_workspace(order, book.sizes, address)
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
    for number, positions in plan.numbers.items():
        kind = Kind(Listing(((op.CONSTANT, number),), (0,)), (1,))
        loops.append(KernelLoop(kind, len(positions), True, (), (tables.access("out", np.array(positions, dtype=np.int32)),)))
    return Schedule(
        plan.name, tuple(blocks), plan.n_out, tuple(loops), tables.joined, size, np.array(list(book.numbers)), plan.copied_block
    )


def _input_locations(calls: Sequence[Call], locations: Mapping[int, tuple[str, int]]) -> tuple[dict[int, str], dict[int, int]]:
    base: dict[int, str] = {}
    address: dict[int, int] = {}
    for call in calls:
        for value in call.ins:
            if value in locations:
                base[value], address[value] = locations[value]
    return base, address


class Tables:
    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._length = 0

    @property
    def joined(self) -> np.ndarray:
        return np.concatenate(self._parts) if self._parts else np.zeros(0, dtype=np.int32)

    def access(self, block: str, positions: np.ndarray) -> Access:
        first = int(positions[0])
        if len(positions) == 1:
            return Access(block, first, 0)
        steps = np.diff(positions)
        if np.all(steps == steps[0]):
            return Access(block, first, int(steps[0]))
        self._parts.append(positions)
        self._length += len(positions)
        return Access(block, first, 0, self._length - len(positions))


def _place_in_workspace(order: Sequence[Batch], sizes: Sequence[int], address: dict[int, int]) -> int:
    last: dict[int, int] = {}
    for number, batch in enumerate(order):
        for call in batch.calls:
            last.update(dict.fromkeys(call.ins, number))
    free: dict[int, list[int]] = {}
    released: dict[int, list[tuple[int, int]]] = {}
    length = 0
    for number, batch in enumerate(order):
        for column in zip(*[call.outs for call in batch.calls], strict=True):
            if column[0] in address:
                continue
            size = sizes[column[0]]
            extent = size * len(column)
            if free.get(extent):
                start = free[extent].pop()
            else:
                start = length
                length += extent
            address.update(zip(column, itertools.count(start, size), strict=False))
            end = max([last.get(value, number) for value in column], default=number)
            released.setdefault(end, []).append((extent, start))
        for extent, start in released.pop(number, ()):
            free.setdefault(extent, []).append(start)
    return length


def contiguous_plan(name: str, calls: Sequence[Call], book: ValueTable) -> tuple[Plan, list[Batch]]:
    """Return a plan that outputs all results of the calls, contiguous for each batch; also return the batches."""
    base, _ = _input_locations(calls, book.locations)
    base |= {value: "out" for call in calls for value in call.outs}
    order = batches(calls, base)
    results: dict[int, int] = {}
    offset = 0
    for batch in order:
        for column in zip(*[call.outs for call in batch.calls], strict=True):
            for value in column:
                results[value] = offset
                offset += book.sizes[value]
    return Plan(name, tuple(calls), offset, results), order
