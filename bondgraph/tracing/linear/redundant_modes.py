"""Least-norm solutions of redundant constraints together with elements that switch: dry friction, stops and locks in a loop.

Where an element holds, its equation is a row of A = J M^-1 J^T like that of a constraint; where it yields, its equation gives its
unknown alone. In each mode the unknowns that are given go to the right side, and what remains of A is a principal submatrix,
again symmetric and positive semidefinite, with dependent rows. So one elimination with a raised diagonal suits all modes
(`indeterminate`): rows and columns of elements that yield are masked.

    A' = S A S + (1 - S) D,   b' = S (b - A c),   w = w' + c,   S = 1 where a row holds, c = b / D where it yields, D = diag A
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.ideal_reactions import IdealReaction
from bondgraph.tracing.linear.indeterminate import RedundantPart, semidefinite_sizes, solve_semidefinite
from bondgraph.tracing.linear.solve import SINGULAR, matrices_of, rows_of
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries
from screws.scalars import absolute, equal, less, where

MAX_ROW_CASES = 16
"""Most combinations of modes of a row that are searched for those in which its element yields."""

LIMITED_WEIGHT = 1e3
"""Weight of a reaction with a limit (friction) against one without (a constraint)."""

SMALLEST_PART = 1e-2
"""Part of all limits that a smaller limit counts as, in the shares of reactions."""


def solve_redundant_modes(
    context: TracingContext, entries: Entries, right: Sequence[Any], positions: Sequence[int], reactions: Sequence[IdealReaction]
) -> tuple[list[Any], RedundantPart] | None:
    """Return the least-norm solution in all modes, with the residuals of the rows that hold a position in every mode.

    None unless these rows are redundant at the start, and the rows that hold are symmetric and semidefinite in every mode.

    Parameters
    ----------
    positions : equations of constraints on positions.
    reactions : reactions of ideal elements; those with limits take what the others leave, in proportion to their limits.
    """
    n = len(right)
    if not _is_redundant(matrices_of(context.sampled(entries), n)[0], positions):
        return None
    held = _held(context, entries, n)
    if held is None or all(condition is None for condition in held):
        return None
    always = [i for i in range(n) if held[i] is None and i in positions]
    masked = {
        (i, j): context.tape.scalar(a if i == j else _where(held[i], _where(held[j], a, 0.0), 0.0))
        for (i, j), a in entries.items()
    }
    flags = {(n, i): context.tape.scalar(_where(condition, 1.0, 0.0)) for i, condition in enumerate(held)}
    numbers = context.sampled(masked | flags)
    holds = np.stack([numbers.pop(key) for key in flags], axis=1) != 0.0
    matrices = matrices_of(numbers, n)
    sizes = semidefinite_sizes(matrices, holds)
    if sizes is None or not _is_redundant(matrices[0], always):
        return None
    given = [
        0.0 if condition is None else where(condition, 0.0, b / where(condition, 1.0, entries[i, i]))
        for i, (condition, b) in enumerate(zip(held, right, strict=True))
    ]
    moved = list(right)
    for (i, j), a in entries.items():
        if held[j] is not None:
            moved[i] = moved[i] - a * given[j]
    weights = _weights(reactions, sizes)
    raised = [_where(condition, weights.get(i, 1.0) * float(sizes[i]), entries[i, i]) for i, condition in enumerate(held)]
    w, _ = solve_semidefinite(masked, moved, raised)
    return [a + b for a, b in zip(w, given, strict=True)], _repeating(masked, moved, sizes, always)


def _repeating(entries: Entries, right: Sequence[Any], sizes: np.ndarray, rows: Sequence[int]) -> RedundantPart:
    """Return the residuals of some rows without the others, which do not change what these demand of each other."""
    at = {i: k for k, i in enumerate(rows)}
    matrix = {(at[i], at[j]): a for (i, j), a in entries.items() if i in at and j in at}
    b = [right[i] for i in rows]
    return RedundantPart(tuple(rows), b, solve_semidefinite(matrix, b, [float(sizes[i]) for i in rows])[1])


def _where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return a selection; `if_true` for the condition None, which always holds."""
    return if_true if condition is None else where(condition, if_true, if_false)


def _held(context: TracingContext, entries: Entries, n: int) -> list[Any] | None:
    """Return for each row the condition that it holds, None for always; None if modes are too many, or a row has no diagonal."""
    counts = [len(states) for states, _ in context.system.modes.values()]
    m, conditions = context.inputs["m"], list[Any]()
    for i, row in enumerate(rows_of(entries, n)):
        if i not in row:
            return None
        reached = context.reached(list(row.values()))
        slots = [slot for slot, mode in enumerate(m) if mode.index in reached]
        if math.prod(counts[slot] for slot in slots) > MAX_ROW_CASES:
            return None
        yields: Any = None
        for states in itertools.product(*(range(counts[slot]) for slot in slots)):
            fixed = {("m", slot): float(state) for slot, state in zip(slots, states, strict=True)}
            others = specialise(context.tape, [value for j, value in row.items() if j != i], fixed)
            if all(value.value == 0.0 for value in others):
                here = functools.reduce(operator.and_, (equal(m[slot], value) for (_, slot), value in fixed.items()))
                yields = here if yields is None else yields | here
        conditions.append(None if yields is None else ~yields)
    return conditions


def _is_redundant(matrix: np.ndarray, rows: Sequence[int]) -> bool:
    """Return True if these rows of a matrix (n, n) have a diagonal, and depend on each other in these columns."""
    block = matrix[np.ix_(rows, rows)]
    sizes = np.abs(np.diagonal(block))
    if not len(sizes) or not np.all(sizes > 0.0) or not np.all(np.isfinite(block)):
        return False
    values = np.linalg.svd(block / np.sqrt(np.outer(sizes, sizes)), compute_uv=False)
    return bool(values[-1] <= SINGULAR * values[0])


def _weights(reactions: Sequence[IdealReaction], sizes: np.ndarray) -> dict[int, Any]:
    """Return the weight of each unknown that is a reaction with a limit, by the parts of all limits in natural sizes."""
    limits: dict[int, Any] = {}
    for reaction in reactions:
        if reaction.limit is not None and len(reaction.slopes) == 1:
            j = next(iter(reaction.slopes))
            limits[j] = absolute(reaction.limit) * math.sqrt(abs(float(sizes[j])))
    total: Any = sum(limits.values(), 0.0)
    parts = {j: where(less(0.0, total), limit / where(less(0.0, total), total, 1.0), 1.0) for j, limit in limits.items()}
    return {j: LIMITED_WEIGHT / (part + SMALLEST_PART) for j, part in parts.items()}
