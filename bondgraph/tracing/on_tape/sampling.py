"""States at which pivots of implicit equations are chosen, and the values of matrices there."""

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

SAMPLES = 4
"""States, besides the start, at which pivots of implicit equations are chosen."""

COMBINATIONS = 64
"""Most combinations of modes at which they are."""


def samples_of(system: System) -> list[tuple[np.ndarray, ...]]:
    """(t, x, p, m) at the start and at states around it, in the combinations of modes."""
    rng = np.random.default_rng(0)
    x = flat(state.initial for state in system.states)
    p = flat(system.parameters.values())
    spread = flat(state.typical for state in system.states)
    out: list[tuple[np.ndarray, ...]] = []
    for combination in _combinations(system):
        m = np.array(combination, dtype=float)
        out.append((np.zeros(1), x, p, m))
        for _ in range(SAMPLES):
            out.append((rng.uniform(size=1), x + spread * rng.normal(size=len(x)), p, m))
    return out


def _combinations(system: System) -> list[tuple[int, ...]]:
    """All combinations of modes; of more than `COMBINATIONS`, the start with one mode changed at a time, and some at random."""
    counts = [len(states) for states, _ in system.modes.values()]
    start = tuple(states.index(first) for states, first in system.modes.values())
    if math.prod(counts) <= COMBINATIONS:
        return list(itertools.product(*map(range, counts)))
    changed = [(*start[:k], value, *start[k + 1 :]) for k, count in enumerate(counts) for value in range(count)]
    rng = np.random.default_rng(0)
    some = [tuple(map(int, rng.integers(counts))) for _ in range(COMBINATIONS)]
    return list(dict.fromkeys([start, *changed, *some]))[: max(COMBINATIONS, 1 + len(changed))]


KEPT = 2**27
"""Most bytes of values that are kept from one matrix to the next."""


class Samples:
    """Values of a tape's scalars at sample states (t, x, p, m); unknowns of outer systems count as zero.

    What is asked for has most of its terms in common with what was asked before: values are kept, up to `KEPT` bytes of them.
    """

    def __init__(self, tape: Tape, samples: Sequence[Sequence[Any]]):
        self._tape, self._count = tape, len(samples)
        self.states = tuple(samples)
        blocks = zip(*samples, strict=True)  # none at all where there are no samples
        self._blocks = {name: np.array(block) for name, block in zip(("t", "x", "p", "m"), blocks, strict=False)}
        self._known: dict[int, Any] = {}
        self.shrunk: dict[int, float] = {}
        """Place of a state -> the part of its size at which it is."""

    def shrink(self, states: Sequence[int], factor: float) -> None:
        """Have some states at this part of what they are, in all samples."""
        self._blocks["x"][:, list(states)] *= factor
        self._known.clear()
        for k in states:
            self.shrunk[k] = self.shrunk.get(k, 1.0) * factor

    def row(self, scalars: Sequence[Any]) -> list[np.ndarray]:
        """Values (samples,) of each scalar."""
        return list(self({(0, k): scalar for k, scalar in enumerate(scalars)}).values())

    def __call__(self, entries: Entries) -> dict[tuple[int, int], np.ndarray]:
        """Values (samples,) of each entry of a matrix, at the samples where all are finite; at all where there are none."""
        if 8 * self._count * len(self._known) > KEPT:
            self._known.clear()
        roots = [self._tape.scalar(value).index for value in entries.values()]
        sizes = self._tape.blocks.items()
        blocks = [self._blocks.get(name, np.zeros((self._count, size))) for name, size in sizes]
        evaluate_nodes(self._tape, roots, blocks, self._known)
        table = np.zeros((self._count, len(roots)))
        for k, root in enumerate(roots):
            table[:, k] = self._known[root]
        finite = np.all(np.isfinite(table), axis=1)
        table = table[finite] if np.any(finite) else table
        return {key: table[:, k] for k, key in enumerate(entries)}
