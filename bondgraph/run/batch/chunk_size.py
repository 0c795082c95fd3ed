"""Sizes of chunks of runs: one rule for the threads of a batch and for the executors of a sweep, each with its own targets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChunkTarget:
    """Targets for chunks of runs.

    Parameters
    ----------
    seconds : duration of a chunk at most, as far as is known how long a run takes.
    shortest : duration of a chunk at least, where workers share what is left, s.
    least, most : runs of a chunk.
    growth : largest factor from one chunk to the next; None for any.
    multiple : a longer chunk is a multiple of so many runs, as many as there are SIMD lanes: few lanes are idle at its end.
    shares : chunks of each worker, for what is left, so that none waits for long at the end.
    """

    seconds: float
    shortest: float = 0.0
    least: int = 1
    most: int | None = None
    growth: int | None = None
    multiple: int = 1
    shares: int = 4


def chunk_size(target: ChunkTarget, each: float, left: int, workers: int = 1, last: int = 0) -> int:
    """Return the number of runs of the next chunk, of those that are `left`, where a run takes `each` s (0: not known), for so
    many workers, after a chunk of `last` runs.

    >>> chunk_size(ChunkTarget(0.2), 1e-3, left=1000)
    200
    """
    if not each:
        return min(target.least, left)
    shared = left if workers == 1 else max(left // (target.shares * workers), int(target.shortest / each))
    size = min(int(target.seconds / each), shared)
    if target.most is not None:
        size = min(size, target.most)
    if target.growth is not None and last:
        size = min(size, target.growth * last)
    if size > target.multiple:
        size -= size % target.multiple
    return min(max(size, target.least), left)
