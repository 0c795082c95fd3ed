"""Loop blocking (tiling): run a group of loops in rounds of a few hundred instances, so that the results of one loop are still in
the processor's cache when the next loop reads them.

In round r a loop evaluates TILE instances from r TILE + lag on. A loop lags behind an earlier loop if it reads or overwrites
values that later instances of the earlier loop write or read, so that dependent accesses keep their order.

Loop fusion merges a group of loops into one that passes values from kernel to kernel in registers. In round r every loop of the
group evaluates its instance r + lag; values of earlier rounds that are read are carried along. Instances outside the rounds
that all loops share are evaluated before and after, loop by loop, through the workspace.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bondgraph.schedule.memory_layout import Access, KernelLoop
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import leaf_length

TILE = 256
"""Number of instances per round: with about ten scalars each, the instances fit into the nearest cache."""


@dataclass(frozen=True)
class Tiled:
    """A group of loops, each with its lag in instances (not positive); a single loop is not tiled."""

    loops: tuple[KernelLoop, ...]
    lags: tuple[int, ...]

    @property
    def rounds(self) -> int:
        return max(-(-(loop.count - lag) // TILE) for loop, lag in zip(self.loops, self.lags, strict=True))


@dataclass(frozen=True)
class Reach:
    """Addresses of one argument or result: instance i has `size` scalars from `start` + `stride` i on, or unknown addresses from
    a table if `anywhere`."""

    block: str
    start: int
    stride: int
    size: int
    count: int
    anywhere: bool

    @property
    def ends(self) -> tuple[int, int]:
        last = self.start + self.stride * (self.count - 1)
        return min(self.start, last), max(self.start, last) + self.size


def tile_loops(loops: Sequence[KernelLoop]) -> list[Tiled]:
    groups: list[Tiled] = []
    behind: list[KernelLoop] = []  # short loops after the group; loops that join the group do not depend on them
    for loop in loops:
        group = groups[-1] if groups else None
        lag = None if group is None or loop.count < 2 * TILE or not loop.parallel else _lag(group, loop)
        if group is not None and lag is not None and all(_independent(short, loop) for short in behind):
            groups[-1] = Tiled((*group.loops, loop), (*group.lags, lag))
        elif loop.count < 2 * TILE and group is not None and group.loops[0].count >= 2 * TILE and group.loops[0].parallel:
            behind.append(loop)
        else:
            groups += [Tiled((short,), (0,)) for short in behind]
            behind = []
            groups.append(Tiled((loop,), (0,)))
    return groups + [Tiled((short,), (0,)) for short in behind]


def _lag(group: Tiled, loop: KernelLoop) -> int | None:
    """Return the lag, in instances, of a loop behind the loops of a group, or None if the loop cannot join the group."""
    if group.loops[0].count < 2 * TILE or not group.loops[0].parallel:
        return None
    lag = 0
    for before, lag_before in zip(group.loops, group.lags, strict=True):
        for earlier, later in _dependent_accesses(before, loop):
            ahead = _ahead(earlier, later)
            if ahead is None:
                return None
            lag = min(lag, lag_before - ahead)
    return lag if lag >= -TILE else None


def _independent(one: KernelLoop, other: KernelLoop) -> bool:
    return all(not overlap(earlier, later) for earlier, later in _dependent_accesses(one, other))


def _dependent_accesses(before: KernelLoop, after: KernelLoop) -> Iterator[tuple[Reach, Reach]]:
    for earlier, later in ((writes, reads), (writes, writes), (reads, writes)):
        for first, second in itertools.product(earlier(before), later(after)):
            if first.block == second.block and first.block in ("w", "out"):
                yield first, second


def reads(loop: KernelLoop) -> list[Reach]:
    sizes = [1] * len(loop.ins)
    for code, *operands in loop.kind.program.steps:
        if code in op.OF_BLOCKS:
            sizes[operands[0]] = max(sizes[operands[0]], operands[1] + leaf_length((code, *operands)))
    return [_reach(access, size, loop.count) for access, size in zip(loop.ins, sizes, strict=True)]


def writes(loop: KernelLoop) -> list[Reach]:
    return [_reach(access, size, loop.count) for access, size in zip(loop.outs, loop.kind.sizes, strict=True)]


def _reach(access: Access, size: int, count: int) -> Reach:
    return Reach(access.block, access.start, access.stride, size, count, access.table >= 0)


def overlap(one: Reach, other: Reach) -> bool:
    if one.anywhere or other.anywhere:
        return True
    (low, high), (first, last) = one.ends, other.ends
    return low < last and first < high


def _ahead(earlier: Reach, later: Reach) -> int | None:
    """Return the largest number of instances by which the earlier access may be ahead of the later access to the same address
    (negative if they never overlap), or None if no bound is known."""
    if not overlap(earlier, later):
        return -max(earlier.count, later.count)
    if earlier.anywhere or later.anywhere or earlier.stride != later.stride or earlier.stride <= 0:
        return None
    return (later.start + later.size - 1 - earlier.start) // earlier.stride


MAX_CARRIED_ROUNDS = 4

MAX_FUSED_STEPS = 120
"""Maximum number of steps of a round: more would run out of registers."""

_EDGE, _MAX_ENUMERATED = 16, 8


@dataclass(frozen=True)
class Carried:
    """Source of an input: the result `component` of output `column` of loop `writer` of the group, `rounds` rounds ago."""

    writer: int
    column: int
    component: int
    rounds: int


@dataclass(frozen=True)
class Fusion:
    """A group in one loop.

    `first` and `last` bound the rounds in which all loops have an instance; `sources` are, for each loop, the sources of its
    inputs (argument, component) from this group; `dropped` results (loop, column) need not be stored in these rounds, except for
    results that are carried at the end.
    """

    group: Tiled
    first: int
    last: int
    sources: tuple[dict[tuple[int, int], Carried], ...]
    dropped: frozenset[tuple[int, int]]

    @property
    def carried(self) -> dict[tuple[int, int, int], int]:
        """Number of rounds over which each result (loop, column, component) is carried."""
        rounds: dict[tuple[int, int, int], int] = {}
        for of_loop in self.sources:
            for source in of_loop.values():
                key = source.writer, source.column, source.component
                rounds[key] = max(rounds.get(key, 0), source.rounds)
        return rounds

    def instance_range(self, number: int, first: int, last: int) -> tuple[int, int]:
        lag, count = self.group.lags[number], self.group.loops[number].count
        return max(first + lag, 0), min(max(last + lag, 0), count)


def fuse_loops(group: Tiled, others: Sequence[KernelLoop]) -> Fusion | None:
    """Fuse a group, or return None if that does not pay off; `others` are all loops after it."""
    loops, lags = group.loops, group.lags
    if len(loops) < 2 or sum(len(loop.kind.program.steps) for loop in loops) > MAX_FUSED_STEPS:
        return None
    sources: list[dict[tuple[int, int], Carried]] = []
    first, last = max(-lag for lag in lags), min(loop.count - lag for loop, lag in zip(loops, lags, strict=True))
    for number, loop in enumerate(loops):
        of_loop: dict[tuple[int, int], Carried] = {}
        for argument, read in enumerate(reads(loop)):
            for component in range(read.size):
                source = _source(group, number, read, component)
                if source is not None:
                    of_loop[argument, component] = source
                    first = max(first, source.rounds - lags[source.writer])
        sources.append(of_loop)
    too_old = any(s.rounds > MAX_CARRIED_ROUNDS for of_loop in sources for s in of_loop.values())
    if first > _EDGE or last - first < 2 * _EDGE or too_old:
        return None
    fusion = Fusion(group, first, last, tuple(sources), frozenset())
    return Fusion(group, first, last, tuple(sources), _dropped(fusion, others))


def _source(group: Tiled, reader: int, read: Reach, component: int) -> Carried | None:
    if read.block not in ("w", "out") or read.anywhere:
        return None
    for writer in range(reader - 1, -1, -1):
        for column, written in enumerate(writes(group.loops[writer])):
            if written.block != read.block or not overlap(written, read):
                continue
            ahead, offset = divmod(read.start + component - written.start, written.stride)
            if offset < written.size:
                return Carried(writer, column, offset, group.lags[writer] - group.lags[reader] - ahead)
    return None


def _dropped(fusion: Fusion, others: Sequence[KernelLoop]) -> frozenset[tuple[int, int]]:
    """Return the workspace results that, in the rounds between the first and the last, only the fused loop reads."""
    dropped = set()
    outside = [reach for loop in others for reach in reads(loop)]
    carried = fusion.carried
    for number, (loop, lag) in enumerate(zip(fusion.group.loops, fusion.group.lags, strict=True)):
        for column, written in enumerate(writes(loop)):
            rounds = min((carried.get((number, column, k), 0) for k in range(written.size)), default=0)
            inner = range(fusion.first + lag, fusion.last + lag - rounds)
            if written.block == "w" and not any(_reads_inside(reach, written, inner) for reach in outside):
                dropped.add((number, column))
    return frozenset(dropped)


def _reads_inside(read: Reach, written: Reach, inner: range) -> bool:
    if read.block != written.block or not overlap(read, written):
        return False
    if read.anywhere or read.count > _MAX_ENUMERATED:
        return True
    addresses = {read.start + read.stride * i + k for i in range(read.count) for k in range(read.size)}
    return any(
        (address - written.start) // written.stride in inner and (address - written.start) % written.stride < written.size
        for address in addresses
    )
