"""Loops -> groups of loops that go through their instances together, a few hundred at a time, so that what one writes is still in
the processor's cache when the next reads it.

In round r a loop does TILE instances from r TILE + lag on. A loop lags behind those before it by as much as it reads,
or overwrites, what later instances of theirs give or read; so everything happens in the order that it would have loop by loop
wherever that counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bondgraph.schedule.loops import Access, KernelLoop
from bondgraph.tape import opcodes as op

TILE = 256
"""Instances of a round: with some ten numbers each they fit into the nearest cache."""


@dataclass(frozen=True)
class Tiled:
    """Loops that take turns, each with its lag in instances (not positive); one loop alone has no turns to take."""

    loops: tuple[KernelLoop, ...]
    lags: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """How many turns each loop has."""
        return max(-(-(loop.count - lag) // TILE) for loop, lag in zip(self.loops, self.lags, strict=True))


@dataclass(frozen=True)
class Reach:
    """The places of one argument or result: instance i has `size` of them from `start` + `stride` i on; all of a table's, if
    `anywhere`."""

    block: str
    start: int
    stride: int
    size: int
    count: int
    anywhere: bool

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest place, and the one behind the highest."""
        far = self.start + self.stride * (self.count - 1)
        return min(self.start, far), max(self.start, far) + self.size


def tiled(loops: Sequence[KernelLoop]) -> list[Tiled]:
    """The same loops in an order that gives the same, in groups."""
    groups: list[Tiled] = []
    behind: list[KernelLoop] = []  # short ones, which nothing in the group before them needs
    for loop in loops:
        group = groups[-1] if groups else None
        lag = None if group is None or loop.count < 2 * TILE or not loop.parallel else _lag(group, loop)
        if group is not None and lag is not None and all(_apart(short, loop) for short in behind):
            groups[-1] = Tiled((*group.loops, loop), (*group.lags, lag))
        elif loop.count < 2 * TILE and group is not None and group.loops[0].count >= 2 * TILE and group.loops[0].parallel:
            behind.append(loop)
        else:
            groups += [Tiled((short,), (0,)) for short in behind]
            behind = []
            groups.append(Tiled((loop,), (0,)))
    return groups + [Tiled((short,), (0,)) for short in behind]


def _lag(group: Tiled, loop: KernelLoop) -> int | None:
    """By how many instances a loop has to stay behind the loops of a group, None where that is more than a round."""
    if group.loops[0].count < 2 * TILE or not group.loops[0].parallel:
        return None
    lag = 0
    for before, own in zip(group.loops, group.lags, strict=True):
        for early, late in _meetings(before, loop):
            ahead = _ahead(early, late)
            if ahead is None:
                return None
            lag = min(lag, own - ahead)
    return lag if lag >= -TILE else None


def _apart(one: KernelLoop, other: KernelLoop) -> bool:
    """Whether two loops may change places."""
    return all(not overlap(early, late) for early, late in _meetings(one, other))


def _meetings(before: KernelLoop, after: KernelLoop) -> Iterator[tuple[Reach, Reach]]:
    """Pairs of places whose order counts: at least one of both is written."""
    for earlier, later in ((writes, reads), (writes, writes), (reads, writes)):
        for early, late in itertools.product(earlier(before), later(after)):
            if early.block == late.block and early.block in ("w", "out"):
                yield early, late


def reads(loop: KernelLoop) -> list[Reach]:
    """The places of each argument."""
    sizes = [1] * len(loop.ins)
    for code, *given in loop.kind.program.steps:
        if code == op.INPUT:
            sizes[given[0]] = max(sizes[given[0]], 1 + given[1])
    return [_reach(access, size, loop.count) for access, size in zip(loop.ins, sizes, strict=True)]


def writes(loop: KernelLoop) -> list[Reach]:
    """The places of each result."""
    return [_reach(access, size, loop.count) for access, size in zip(loop.outs, loop.kind.sizes, strict=True)]


def _reach(access: Access, size: int, count: int) -> Reach:
    return Reach(access.block, access.start, access.stride, size, count, access.table >= 0)


def overlap(one: Reach, other: Reach) -> bool:
    """Whether both may have a place in common."""
    if one.anywhere or other.anywhere:
        return True
    (low, high), (first, last) = one.ends, other.ends
    return low < last and first < high


def _ahead(early: Reach, late: Reach) -> int | None:
    """How far the instance of `early` that meets one of `late` may be ahead of that; None where it has no bound of its own."""
    if not overlap(early, late):
        return -max(early.count, late.count)
    if early.anywhere or late.anywhere or early.stride != late.stride or early.stride <= 0:
        return None
    return (late.start + late.size - 1 - early.start) // early.stride
