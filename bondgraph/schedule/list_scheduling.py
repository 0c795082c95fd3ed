"""List scheduling: collect calls into batches of one kind, as few and as large as the order of evaluation allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bondgraph.schedule.calls import Call


@dataclass(frozen=True, eq=False)
class Batch:
    """Calls of one kind, evaluated in their order; `parallel` if none needs another one of the batch."""

    calls: tuple[Call, ...]
    parallel: bool


def needed(calls: Sequence[Call], results: Iterable[int]) -> list[Call]:
    """Return the calls that `results` depend on."""
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

    A lane is a kind with the blocks of its arguments and results. A lane all of whose remaining calls are ready goes
    first; else the one with the longest critical path. A recurrence - calls of a lane that need only earlier ones of the
    same lane - stays one batch, in order.
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
        """Return the priority of a lane, least first; a priority in the queue is outdated if it differs from this one."""
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
