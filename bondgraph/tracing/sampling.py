"""States at which pivots of implicit equations are chosen, and the values of a matrix there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.emit.numpy import run
from bondgraph.equations.system import System
from bondgraph.tape.routine import Routine, program
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.values import Entries, flat

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


def matrix_at(tape: Tape, samples: Sequence[Sequence[Any]], entries: Entries) -> dict[tuple[int, int], np.ndarray]:
    """Values of a matrix at sample states (t, x, p, m); unknowns of outer systems count as zero."""
    return matrix_in_rows(tape, stacked(samples), entries)


def stacked(samples: Sequence[Sequence[Any]]) -> tuple[np.ndarray, ...]:
    """The blocks t, x, p, m of sample states, one row for each."""
    return tuple(np.array(block) for block in zip(*samples, strict=True))


def matrix_in_rows(tape: Tape, given: Sequence[np.ndarray], entries: Entries) -> dict[tuple[int, int], np.ndarray]:
    """As `matrix_at`, from the blocks of `stacked`."""
    blocks = tuple(tape.blocks.items())
    routine = Routine("matrix", tape, blocks, tuple(entries.values()))
    known, count = dict(zip(("t", "x", "p", "m"), given, strict=True)), len(given[0])
    table = np.zeros((count, len(entries)))
    run(program(routine), tuple(known.get(name, np.zeros((count, size))) for name, size in blocks), table)
    finite = np.all(np.isfinite(table), axis=1)
    table = table[finite] if np.any(finite) else table
    return {key: table[:, k] for k, key in enumerate(entries)}
