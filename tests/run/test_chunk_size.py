"""The rule for the chunk size of runs meets its targets, and its chunks contain all runs."""

from __future__ import annotations

import pytest

from tests.inner.run import ChunkTarget, chunk_size

THREADS, EXECUTOR = ChunkTarget(0.3, shortest=1e-3, least=8), ChunkTarget(0.2, most=10_000, growth=4, multiple=16)


@pytest.mark.parametrize(
    ("target", "each", "left", "workers", "last", "size"),
    [
        (THREADS, 0.0, 1000, 1, 0, 8),  # no duration is known yet
        (THREADS, 0.0, 5, 1, 0, 5),
        (THREADS, 3e-3, 1000, 1, 0, 100),  # limited by the longest call allowed
        (THREADS, 1.0, 1000, 1, 0, 8),  # at least one, even if it takes too long
        (THREADS, 3e-3, 400, 4, 0, 25),  # four for each worker
        (THREADS, 1e-5, 400, 4, 0, 100),  # but long enough to outweigh Python's overhead
        (THREADS, 1e-5, 60, 4, 0, 60),
        (EXECUTOR, 1e-3, 10**6, 1, 1, 4),  # grows fourfold
        (EXECUTOR, 1e-3, 10**6, 1, 64, 192),  # a multiple of the number of lanes, at most 200
        (EXECUTOR, 1e-9, 10**6, 1, 5000, 10_000 - 10_000 % 16),
        (EXECUTOR, 0.02, 10**6, 1, 64, 10),  # fewer runs than lanes
        (EXECUTOR, 5.0, 10**6, 1, 4, 1),
        (ChunkTarget(0.0), 1.0, 10, 1, 3, 1),
    ],
)
def test_a_chunk_meets_its_targets(target, each, left, workers, last, size):
    assert chunk_size(target, each, left, workers, last) == size


@pytest.mark.parametrize("target", [THREADS, EXECUTOR])
@pytest.mark.parametrize("each", [1e-7, 3.3e-4, 0.7])
def test_chunks_take_all_runs_and_end(target, each):
    left, sizes = 12_345, [1]
    while left:
        sizes.append(chunk_size(target, each, left, 3, sizes[-1]))
        assert 1 <= sizes[-1] <= max(target.least, target.seconds / each)
        left -= sizes[-1]
    assert left == 0
