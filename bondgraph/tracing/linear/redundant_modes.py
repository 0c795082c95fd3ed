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
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.ideal_reactions import IdealReaction
from bondgraph.tracing.linear.indeterminate import RedundantPart, semidefinite_sizes, solve_semidefinite
from bondgraph.tracing.linear.solve import SINGULAR, matrices_of, rows_of
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries, nonzero
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

    None unless these rows are redundant at the start, and the rows that hold are symmetric and semidefinite in every mode. None
    as well if a row that always holds, but no position, depends on rows without limits: a commanded motion may contradict them.

    Parameters
    ----------
    positions : equations of constraints on positions.
    reactions : reactions of ideal elements; those with limits take what the others leave, in proportion to their limits.
    """
    n = len(right)
    if not _depend(matrices_of(context.sampled(entries), n)[0], positions):
        return None
    conditions = _row_conditions(context, entries, n)
    if conditions is None:
        return None
    held, holding = conditions
    masked = {
        (i, j): context.tape.scalar(a if i == j else _where(held[i], _where(held[j], a, 0.0), 0.0))
        for (i, j), a in entries.items()
    }
    flags = {(n, i): context.tape.scalar(_where(condition, 1.0, 0.0)) for i, condition in enumerate(held)}
    numbers = context.sampled(masked | flags)
    holds = np.stack([numbers.pop(key) for key in flags], axis=1) != 0.0
    sizes = semidefinite_sizes(matrices_of(numbers, n), holds)
    if sizes is None:
        return None
    always = [i for i in range(n) if held[i] is None and i in positions]
    limits = {next(iter(r.slopes)): r.limit for r in reactions if r.limit is not None and len(r.slopes) == 1}
    start = matrices_of(context.sampled(holding), n)[0]
    others = [i for i in range(n) if i not in always and i not in limits]
    commanded = any(held[i] is None for i in others)
    if not _depend(start, always) or (commanded and _rank(start, always + others) < _rank(start, always) + len(others)):
        return None
    released = [
        0.0 if condition is None else where(condition, 0.0, b / where(condition, 1.0, entries[i, i]))
        for i, (condition, b) in enumerate(zip(held, right, strict=True))
    ]
    moved = list(right)
    for (i, j), a in entries.items():
        if held[j] is not None:
            moved[i] = moved[i] - a * released[j]
    weights = _weights(limits, sizes)
    raised = [_where(condition, weights.get(i, 1.0) * float(sizes[i]), entries[i, i]) for i, condition in enumerate(held)]
    w, _ = solve_semidefinite(masked, moved, raised)
    return [a + b for a, b in zip(w, released, strict=True)], _repeating(masked, moved, sizes, always)


def _repeating(entries: Entries, right: Sequence[Any], sizes: np.ndarray, rows: Sequence[int]) -> RedundantPart:
    """Return the residuals of some rows without the others, which do not change what these demand of each other."""
    at = {i: k for k, i in enumerate(rows)}
    matrix = {(at[i], at[j]): a for (i, j), a in entries.items() if i in at and j in at}
    b = [right[i] for i in rows]
    return RedundantPart(tuple(rows), b, solve_semidefinite(matrix, b, [float(sizes[i]) for i in rows])[1])


def _where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return a selection; `if_true` for the condition None, which always holds."""
    return if_true if condition is None else where(condition, if_true, if_false)


def _row_conditions(context: TracingContext, entries: Entries, n: int) -> tuple[list[Any], Entries] | None:
    """Return for each row the condition that it holds, None for always; and the entries of all rows where they hold.

    None if a row depends on too many modes, or has no diagonal.
    """
    counts = [len(states) for states, _ in context.system.modes.values()]
    m, conditions, holding, always = (
        context.inputs["m"],
        list[Any](),
        dict[tuple[int, int], Any](),
        context.tape.scalar(1.0) > 0.0,
    )
    for i, row in enumerate(rows_of(entries, n)):
        if i not in row:
            return None
        reached = context.reached(list(row.values()))
        slots = [slot for slot, mode in enumerate(m) if mode.index in reached]
        if math.prod(counts[slot] for slot in slots) > MAX_ROW_CASES:
            return None
        yields: Any = None
        held_row: dict[int, Any] = {}
        for states in itertools.product(*(range(counts[slot]) for slot in slots)):
            fixed = {("m", slot): float(state) for slot, state in zip(slots, states, strict=True)}
            here = nonzero(dict(zip(row, specialise(context.tape, list(row.values()), fixed), strict=True)))
            if here.keys() <= {i}:
                condition = functools.reduce(operator.and_, (equal(m[slot], value) for (_, slot), value in fixed.items()), always)
                yields = condition if yields is None else yields | condition
            held_row = held_row or here if here.keys() <= {i} else here
        conditions.append(None if yields is None else ~yields)
        holding |= {(i, j): value for j, value in held_row.items()}
    return conditions, holding


def _scaled(matrix: np.ndarray, rows: Sequence[int]) -> np.ndarray | None:
    """Return these rows and columns of a matrix in natural sizes, by its diagonal; None if that is zero, or they are none."""
    block = matrix[np.ix_(rows, rows)]
    sizes = np.abs(np.diagonal(block))
    if not len(sizes) or not np.all(sizes > 0.0) or not np.all(np.isfinite(block)):
        return None
    return np.asarray(block / np.sqrt(np.outer(sizes, sizes)))


def _rank(matrix: np.ndarray, rows: Sequence[int]) -> int:
    """Return the rank of these rows and columns, zero without a diagonal."""
    scaled = _scaled(matrix, rows)
    return 0 if scaled is None else int(np.linalg.matrix_rank(scaled, tol=SINGULAR * np.linalg.norm(scaled, 2)))


def _depend(matrix: np.ndarray, rows: Sequence[int]) -> bool:
    """Return True if these rows have a diagonal and depend on each other in their columns."""
    return 0 < _rank(matrix, rows) < len(rows)


def _weights(limits: Mapping[int, Any], sizes: np.ndarray) -> dict[int, Any]:
    """Return the weights of unknowns with limits, by their parts of all limits in natural sizes."""
    scaled = {j: absolute(limit) * math.sqrt(abs(float(sizes[j]))) for j, limit in limits.items()}
    total: Any = sum(scaled.values(), 0.0)
    parts = {j: where(less(0.0, total), limit / where(less(0.0, total), total, 1.0), 1.0) for j, limit in scaled.items()}
    return {j: LIMITED_WEIGHT / (part + SMALLEST_PART) for j, part in parts.items()}
