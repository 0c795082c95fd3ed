"""Sizes of chunks of runs, for the threads of a batch and for the executors of a sweep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChunkTarget:
    """Targets for chunks of runs.

    Parameters
    ----------
    seconds : longest duration of a chunk, s, once the duration of a run is known.
    shortest : shortest duration of a chunk when workers share the remaining runs, s.
    least, most : bounds on the number of runs in a chunk.
    growth : largest factor from one chunk to the next; None for no limit.
    multiple : number of SIMD lanes; longer chunks hold a multiple of this many runs, so that few lanes idle at the end.
    shares : chunks per worker into which the remaining runs are divided, so that no worker waits long at the end.
    """

    seconds: float
    shortest: float = 0.0
    least: int = 1
    most: int | None = None
    growth: int | None = None
    multiple: int = 1
    shares: int = 4


def chunk_size(target: ChunkTarget, each: float, left: int, workers: int = 1, last: int = 0) -> int:
    """Return the number of runs in the next chunk, when `left` runs remain, a run takes `each` s (0 if unknown), `workers` share
    the runs, and the last chunk had `last` runs.

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
