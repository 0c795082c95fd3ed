"""Groups of loops -> one loop that passes values on from kernel to kernel in registers.

In round r every loop of a group does its instance r + lag; what another one reads of an earlier round is carried along. Rounds in
which not all loops have an instance come before and after, loop by loop, through the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.schedule.loops import KernelLoop
from bondgraph.schedule.machine_code.loop_blocking import Reach, Tiled, overlap, reads, writes

CARRIED = 4
"""Most rounds that a value is carried on."""

STEPS = 120
"""Most steps of a round: more would run out of registers."""

_EDGE, _FEW = 16, 8


@dataclass(frozen=True)
class Carried:
    """What a loop reads: the result `component` of output `column` of loop `writer` of the group, `rounds` ago."""

    writer: int
    column: int
    component: int
    rounds: int


@dataclass(frozen=True)
class Fusion:
    """A group in one loop.

    `first` and `last` bound the rounds in which all loops have an instance; `sources` say, for each loop, where its inputs
    (argument, component) come from, if from this group; `dropped` (loop, column) need not be stored in these rounds, but for
    those that are carried at the end.
    """

    group: Tiled
    first: int
    last: int
    sources: tuple[dict[tuple[int, int], Carried], ...]
    dropped: frozenset[tuple[int, int]]

    @property
    def carried(self) -> dict[tuple[int, int, int], int]:
        """Rounds that a result (loop, column, component) is carried on."""
        found: dict[tuple[int, int, int], int] = {}
        for own in self.sources:
            for source in own.values():
                key = source.writer, source.column, source.component
                found[key] = max(found.get(key, 0), source.rounds)
        return found

    def stretch(self, number: int, first: int, last: int) -> tuple[int, int]:
        """The instances of a loop in the rounds from `first` up to `last`."""
        lag, count = self.group.lags[number], self.group.loops[number].count
        return max(first + lag, 0), min(max(last + lag, 0), count)


def fused(group: Tiled, others: Sequence[KernelLoop]) -> Fusion | None:
    """A group in one loop, where its kernels are short and read what is near; `others` are all loops that run after it."""
    loops, lags = group.loops, group.lags
    if len(loops) < 2 or sum(len(loop.kind.program.steps) for loop in loops) > STEPS:
        return None
    sources: list[dict[tuple[int, int], Carried]] = []
    first, last = max(-lag for lag in lags), min(loop.count - lag for loop, lag in zip(loops, lags, strict=True))
    for number, loop in enumerate(loops):
        own: dict[tuple[int, int], Carried] = {}
        for argument, given in enumerate(reads(loop)):
            for component in range(given.size):
                found = _source(group, number, given, component)
                if found is not None:
                    own[argument, component] = found
                    first = max(first, found.rounds - lags[found.writer])
        sources.append(own)
    if first > _EDGE or last - first < 2 * _EDGE or any(s.rounds > CARRIED for own in sources for s in own.values()):
        return None
    made = Fusion(group, first, last, tuple(sources), frozenset())
    return Fusion(group, first, last, tuple(sources), _dropped(made, others))


def _source(group: Tiled, reader: int, given: Reach, component: int) -> Carried | None:
    """Which result of the loops before it a loop reads as this component of an argument; None where it is none of theirs."""
    if given.block not in ("w", "out") or given.anywhere:
        return None
    for writer in range(reader - 1, -1, -1):
        for column, made in enumerate(writes(group.loops[writer])):
            if made.block != given.block or not overlap(made, given):
                continue
            ahead, place = divmod(given.start + component - made.start, made.stride)
            if place < made.size:
                return Carried(writer, column, place, group.lags[writer] - group.lags[reader] - ahead)
    return None


def _dropped(fusion: Fusion, others: Sequence[KernelLoop]) -> frozenset[tuple[int, int]]:
    """Results in the workspace that nothing reads in the rounds between the first and the last, but this loop itself."""
    found = set()
    outside = [reach for loop in others for reach in reads(loop)]
    carried = fusion.carried
    for number, (loop, lag) in enumerate(zip(fusion.group.loops, fusion.group.lags, strict=True)):
        for column, made in enumerate(writes(loop)):
            rounds = min((carried.get((number, column, k), 0) for k in range(made.size)), default=0)
            inner = range(fusion.first + lag, fusion.last + lag - rounds)
            if made.block == "w" and not any(_reads_inside(reach, made, inner) for reach in outside):
                found.add((number, column))
    return frozenset(found)


def _reads_inside(reach: Reach, made: Reach, inner: range) -> bool:
    """Whether a loop reads what is made in these instances."""
    if reach.block != made.block or not overlap(reach, made):
        return False
    if reach.anywhere or reach.count > _FEW:
        return True
    places = {reach.start + reach.stride * i + k for i in range(reach.count) for k in range(reach.size)}
    return any(
        (place - made.start) // made.stride in inner and (place - made.start) % made.stride < made.size for place in places
    )
