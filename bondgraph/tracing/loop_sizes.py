"""Natural sizes of the unknowns and residuals of a nonlinear algebraic loop, in whatever units they are.

The matrix and residuals at zero give the sizes of a linear network. Their common factor is that of the sources, or of the values
at which the matrix begins to change, the larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import Loop
from bondgraph.tracing.linear.solve import natural_sizes
from bondgraph.tracing.on_tape.context import Samples, TracingContext
from bondgraph.tracing.on_tape.values import Entries

LADDER = 10.0 ** (np.arange(-120, 121) / 4.0)
"""Multiples of the natural sizes at which the matrix is evaluated."""

STEEPEST = 3.0
"""Largest logarithmic slope of an entry that counts: an exponential bends where it becomes steep, not where it overflows."""

LEAST_BEND = 0.1
"""Least change of the logarithmic slopes of a matrix that is not constant."""


def loop_sizes(
    context: TracingContext, loop: Loop, entries: Entries, residuals: Sequence[Any]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return sizes of the unknowns and factors of the residuals (k,), powers of two, of a loop with these scalars at its guesses.

    A change of the unit of an unknown or residual changes its size by as much, and no other size.
    """
    count = len(residuals)
    at = {**entries, **{(i, count): residual for i, residual in enumerate(residuals)}}
    zero = _values(context, loop, at, np.zeros((1, count)))
    rows, columns = natural_sizes(zero, count, count + 1)
    begun = any(np.isfinite(zero[i, count]).all() and zero[i, count].any() for i in range(count))
    sizes = columns[:count] / columns[count] if begun else columns[:count]
    bend = _bend(context, loop, entries, sizes)
    sizes = sizes * (max(1.0, bend) if begun else bend)
    return _powers_of_two(sizes), _powers_of_two(rows)


def _values(context: TracingContext, loop: Loop, entries: Entries, guesses: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """Return values (rows,) of entries at the start of the run with these guesses (rows, k)."""
    table = values_at_guesses(context, [loop], list(entries.values()), guesses)
    return {key: table[:, k] for k, key in enumerate(entries)}


def values_at_guesses(context: TracingContext, loops: Sequence[Loop], scalars: Sequence[Any], guesses: np.ndarray) -> np.ndarray:
    """Return scalars (rows, scalars) at the start of the run with these guesses (rows, k) of the unknowns of loops."""
    t, x, p, m = context.sampled.states[0]
    states = np.tile(x, (len(guesses), 1))
    states[:, [k for loop in loops for name in loop.guesses for k in context.system.places[name]]] = guesses
    return Samples(context.tape, [(t, row, p, m) for row in states]).table(scalars)


def _bend(context: TracingContext, loop: Loop, entries: Entries, sizes: np.ndarray) -> float:
    """Return the multiple of the sizes at which entries begin to change: the mean of its logarithm, weighted by changes of the
    entries' logarithmic slopes; 1 for a constant matrix."""
    weight = total = 0.0
    for side in (1.0, -1.0) if entries else ():
        values = _values(context, loop, entries, side * LADDER[:, None] * sizes)
        with np.errstate(all="ignore"):
            logs = np.log(np.abs(np.array(list(values.values()))))
            slopes = np.clip(np.diff(logs, axis=1) / np.diff(np.log(LADDER)), -STEEPEST, STEEPEST)
            changes = np.abs(np.diff(slopes, axis=1))
        changes = np.where(np.isfinite(changes), changes, 0.0).sum(axis=0)
        weight, total = weight + float(changes.sum()), total + float(changes @ np.log(LADDER[1:-1]))
    return float(np.exp(total / weight)) if weight > LEAST_BEND else 1.0


def _powers_of_two(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in 2.0 ** np.round(np.log2(values)))
