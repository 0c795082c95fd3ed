"""Loop blocking (tiling): run a group of loops in rounds of a few hundred instances, so that what one writes is still in the
processor's cache when the next reads it.

In round r a loop evaluates TILE instances from r TILE + lag on. A loop lags behind those before it if it reads or overwrites what
later instances of theirs write or read, so that the order of dependent accesses is that of loop by loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bondgraph.schedule.memory_layout import Access, KernelLoop
from bondgraph.tape import opcodes as op

TILE = 256
"""Instances of a round: with some ten numbers each they fit into the nearest cache."""


@dataclass(frozen=True)
class Tiled:
    """A group of loops, each with its lag in instances (not positive); a single loop is not tiled."""

    loops: tuple[KernelLoop, ...]
    lags: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return max(-(-(loop.count - lag) // TILE) for loop, lag in zip(self.loops, self.lags, strict=True))


@dataclass(frozen=True)
class Reach:
    """Addresses of one argument or result: `size` from `start` + `stride` i on for instance i; unknown (by a table) if
    `anywhere`."""

    block: str
    start: int
    stride: int
    size: int
    count: int
    anywhere: bool

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest address, and the one behind the highest."""
        last = self.start + self.stride * (self.count - 1)
        return min(self.start, last), max(self.start, last) + self.size


def tiled(loops: Sequence[KernelLoop]) -> list[Tiled]:
    """Group loops for tiling, in an equivalent order."""
    groups: list[Tiled] = []
    behind: list[KernelLoop] = []  # short loops that the group before them does not need
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
    """Return the lag of a loop behind the loops of a group in instances, None if it is more than a round."""
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
    """Return True if two loops may be exchanged."""
    return all(not overlap(earlier, later) for earlier, later in _dependent_accesses(one, other))


def _dependent_accesses(before: KernelLoop, after: KernelLoop) -> Iterator[tuple[Reach, Reach]]:
    """Yield pairs of accesses whose order matters: at least one of both writes."""
    for earlier, later in ((writes, reads), (writes, writes), (reads, writes)):
        for first, second in itertools.product(earlier(before), later(after)):
            if first.block == second.block and first.block in ("w", "out"):
                yield first, second


def reads(loop: KernelLoop) -> list[Reach]:
    """Return the addresses of each argument."""
    sizes = [1] * len(loop.ins)
    for code, *operands in loop.kind.program.steps:
        if code == op.INPUT:
            sizes[operands[0]] = max(sizes[operands[0]], 1 + operands[1])
    return [_reach(access, size, loop.count) for access, size in zip(loop.ins, sizes, strict=True)]


def writes(loop: KernelLoop) -> list[Reach]:
    """Return the addresses of each result."""
    return [_reach(access, size, loop.count) for access, size in zip(loop.outs, loop.kind.sizes, strict=True)]


def _reach(access: Access, size: int, count: int) -> Reach:
    return Reach(access.block, access.start, access.stride, size, count, access.table >= 0)


def overlap(one: Reach, other: Reach) -> bool:
    """Return True if both may have an address in common."""
    if one.anywhere or other.anywhere:
        return True
    (low, high), (first, last) = one.ends, other.ends
    return low < last and first < high


def _ahead(earlier: Reach, later: Reach) -> int | None:
    """Return how many instances an earlier access may be ahead of a later one to the same address; None if unbounded."""
    if not overlap(earlier, later):
        return -max(earlier.count, later.count)
    if earlier.anywhere or later.anywhere or earlier.stride != later.stride or earlier.stride <= 0:
        return None
    return (later.start + later.size - 1 - earlier.start) // earlier.stride
