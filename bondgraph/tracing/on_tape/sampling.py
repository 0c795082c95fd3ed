"""Sample states at which pivots of implicit equations are chosen, and the values of matrices there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.tape.interpret import evaluate_nodes
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.values import Entries, flat

SAMPLES_PER_MODE = 4
"""States, besides the start, at which pivots of implicit equations are chosen."""

MAX_COMBINATIONS = 64
"""Most combinations of modes of the sample states."""


def samples_of(system: System) -> list[tuple[np.ndarray, ...]]:
    """Return (t, x, p, m) at the start and at states around it, in the combinations of modes."""
    rng = np.random.default_rng(0)
    x = flat(state.initial for state in system.states)
    p = flat(system.parameters.values())
    spread = flat(state.typical for state in system.states)
    out: list[tuple[np.ndarray, ...]] = []
    for combination in _mode_combinations(system):
        m = np.array(combination, dtype=float)
        out.append((np.zeros(1), x, p, m))
        for _ in range(SAMPLES_PER_MODE):
            out.append((rng.uniform(size=1), x + spread * rng.normal(size=len(x)), p, m))
    return out


def _mode_combinations(system: System) -> list[tuple[int, ...]]:
    """Return all combinations of modes; of more than `MAX_COMBINATIONS` the start with one mode changed, and random ones."""
    counts = [len(states) for states, _ in system.modes.values()]
    start = tuple(states.index(first) for states, first in system.modes.values())
    if math.prod(counts) <= MAX_COMBINATIONS:
        return list(itertools.product(*map(range, counts)))
    changed = [(*start[:k], value, *start[k + 1 :]) for k, count in enumerate(counts) for value in range(count)]
    rng = np.random.default_rng(0)
    drawn = [tuple(map(int, rng.integers(counts))) for _ in range(MAX_COMBINATIONS)]
    return list(dict.fromkeys([start, *changed, *drawn]))[: max(MAX_COMBINATIONS, 1 + len(changed))]


MAX_CACHED_BYTES = 2**27
"""Most bytes of values that are cached from one matrix to the next."""


class Samples:
    """Values of a tape's scalars at sample states (t, x, p, m); unknowns of outer systems count as zero.

    Successive matrices have most of their terms in common: values are cached, up to `MAX_CACHED_BYTES`.
    """

    def __init__(self, tape: Tape, samples: Sequence[Sequence[Any]]):
        self._tape, self._count = tape, len(samples)
        self.states = tuple(samples)
        blocks = zip(*samples, strict=True)  # empty without samples
        self._blocks = {name: np.array(block) for name, block in zip(("t", "x", "p", "m"), blocks, strict=False)}
        self._cache: dict[int, Any] = {}
        self.shrunk: dict[int, float] = {}
        """Index of a state -> the factor by which its samples were scaled."""

    def shrink(self, states: Sequence[int], factor: float) -> None:
        """Scale some states by a factor in all samples."""
        self._blocks["x"][:, list(states)] *= factor
        self._cache.clear()
        for k in states:
            self.shrunk[k] = self.shrunk.get(k, 1.0) * factor

    def row(self, scalars: Sequence[Any]) -> list[np.ndarray]:
        """Return values (samples,) of each scalar."""
        return list(self({(0, k): scalar for k, scalar in enumerate(scalars)}).values())

    def __call__(self, entries: Entries) -> dict[tuple[int, int], np.ndarray]:
        """Return values (samples,) of each entry of a matrix, at the samples where all are finite; at all if there are none."""
        if 8 * self._count * len(self._cache) > MAX_CACHED_BYTES:
            self._cache.clear()
        roots = [self._tape.scalar(value).index for value in entries.values()]
        sizes = self._tape.blocks.items()
        blocks = [self._blocks.get(name, np.zeros((self._count, size))) for name, size in sizes]
        evaluate_nodes(self._tape, roots, blocks, self._cache)
        table = np.zeros((self._count, len(roots)))
        for k, root in enumerate(roots):
            table[:, k] = self._cache[root]
        finite = np.all(np.isfinite(table), axis=1)
        table = table[finite] if np.any(finite) else table
        return {key: table[:, k] for k, key in enumerate(entries)}
