"""Nonlinear algebraic loops: `Bound.consistent` solves for their unknowns by Newton iteration, in place."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Ints, Reals, unrolled
from bondgraph.run.bound import ATTEMPTS, CLOSE, MAX_NEWTON_ITERATIONS, MIN_STEP_FRACTION, ROUNDED, SMALL
from bondgraph.run.events.state import EventTable
from bondgraph.run.kernel_functions import all_finite, formula_time


def largest(values: Reals, factors: Reals, count: int) -> float:
    """Return the largest magnitude of `count` numbers times their factors; NaN if one is NaN."""
    top = 0.0
    for i in range(count):
        size = abs(values[i] * factors[i])
        if size > top or size != size:
            top = size
    return top


def largest_unknown(x: Reals, indices: Ints, inverse_sizes: Reals, count: int) -> float:
    """Return the largest magnitude of the unknowns at these indices, over their sizes; NaN if one is NaN."""
    top = 0.0
    for i in range(count):
        size = abs(x[indices[i]] * inverse_sizes[i])
        if size > top or size != size:
            top = size
    return top


def newton_iteration(s: EventTable, t: float, x: Reals, k: int, first: int, decrease: float, natural: bool) -> bool:
    """Solve loop k in place, whose first unknown is number `first` among all; return True if x is a solution.

    A step is halved until the residual falls by the fraction `decrease` of its length; the iteration ends at a residual of zero
    or a step below rounding. Residuals and unknowns are measured in their natural sizes if `natural`.
    """
    kernel, indices, count, p, m = s.loop_kernels[k], s.loop_places[first:], s.loop_counts[k], s.p, s.m_after
    out, further, step, start = s.newton, s.newton[s.loop_counts[k] :], s.newton_step, s.newton_start
    inverse_sizes, weights = s.loop_ones[first:], s.loop_ones[first:]
    if natural:
        inverse_sizes, weights = s.loop_inverse_sizes[first:], s.loop_weights[first:]
    kernel(formula_time(s, t), x, p, m, out)
    for _ in range(MAX_NEWTON_ITERATIONS):
        size = largest(out, weights, count)
        rounded = ROUNDED * (SMALL + largest_unknown(x, indices, inverse_sizes, count))
        if size == 0.0 or largest(further, inverse_sizes, count) <= rounded:
            break
        for i in range(count):
            step[i] = further[i]
            start[i] = x[indices[i]]
        part, falls = 1.0, False
        while part > MIN_STEP_FRACTION and not falls:
            for i in range(count):
                x[indices[i]] = start[i] + part * step[i]
            kernel(formula_time(s, t), x, p, m, out)
            falls = all_finite(out, count * 2) and largest(out, weights, count) < size - decrease * part * size
            part = part * 0.5
        if not falls:  # no step reduces the residual: converged to rounding, or stuck
            for i in range(count):
                x[indices[i]] = start[i]
            kernel(formula_time(s, t), x, p, m, out)
            break
    far = CLOSE * (CLOSE + largest_unknown(x, indices, inverse_sizes, count))
    return all_finite(out, count * 2) and not largest(further, inverse_sizes, count) > far


def solved(s: EventTable, t: float, x: Reals, k: int, first: int) -> bool:
    """Solve loop k; return True if x is a solution. Each attempt begins at the same unknowns."""
    indices, count, begun = s.loop_places[first:], s.loop_counts[k], s.newton_begun
    for i in range(count):
        begun[i] = x[indices[i]]
    for number, (decrease, natural) in unrolled(enumerate(ATTEMPTS)):
        if number > 0:
            for i in range(count):
                x[indices[i]] = begun[i]
        if newton_iteration(s, t, x, k, first, decrease, natural):
            return True
    return False


def consistent(s: EventTable, t: float, x: Reals) -> bool:
    """Solve all loops at (t, x) in the modes m_after, in place; return True if that succeeds, else note the first `unsolved`."""
    first = 0
    for k in range(s.loops):
        if not solved(s, t, x, k, first):
            s.unsolved = k
            return False
        first += s.loop_counts[k]
    return True
