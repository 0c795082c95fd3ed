"""Solution of nonlinear algebraic loops, in place, by damped Newton iteration."""

from __future__ import annotations

from typing import Annotated

from bondgraph.emit.kernel_language.language import Ints, Kernels, Length, Reals, Table, unrolled
from bondgraph.run.kernel_functions import all_finite, formula_time

MAX_NEWTON_ITERATIONS = 200

MIN_STEP_FRACTION = 1e-16
"""Smallest damping factor of a Newton step: a saturation current can make the first step as long as 1e12."""

SUFFICIENT_DECREASE = 0.25
"""Minimum relative decrease of the residual by a full Newton step; a shortened step needs proportionally less."""

NATURAL = (False, True)
"""Attempts to solve a loop: False for SI units, then True for the natural sizes of residuals and unknowns, because in SI units a
residual in volts can hide a residual of microamperes."""

ROUNDED, SMALL = 1e-15, 1e-12
"""A Newton step of at most ROUNDED (SMALL + largest unknown) counts as rounding error."""

CLOSE = 1e-6
"""The next Newton step of a solved loop is at most CLOSE (CLOSE + largest unknown)."""

PerUnknown = Annotated[Reals, Length(lambda s: s.unknowns)]
Newton = Annotated[Reals, Length(lambda s: 2 * s.unknowns)]


class LoopTable(Table):
    # Parameters, the window of the formulas as in `bound.Bound`, and the modes in which loops are solved.
    p: Reals
    window: Reals
    m_after: Reals
    # Kernels and numbers of unknowns; then, loop by loop, the indices and inverse sizes of the unknowns, the factors of the
    # residuals, and ones.
    loop_kernels: Kernels
    loop_counts: Ints
    loop_places: Ints
    loop_inverse_sizes: Reals
    loop_weights: Reals
    loop_ones: Reals
    # Workspace.
    newton: Newton
    newton_step: PerUnknown
    newton_start: PerUnknown
    newton_initial: PerUnknown
    # Number of loops, largest number of unknowns, and first loop that is not solved.
    loops: int
    unknowns: int
    unsolved: int
    # Start time on the user's clock, s.
    origin: float


def largest(values: Reals, factors: Reals, count: int) -> float:
    """Return the largest magnitude of `count` values times their factors; NaN if any value is NaN."""
    top = 0.0
    for i in range(count):
        size = abs(values[i] * factors[i])
        if size > top or size != size:
            top = size
    return top


def largest_unknown(x: Reals, indices: Ints, inverse_sizes: Reals, count: int) -> float:
    top = 0.0
    for i in range(count):
        size = abs(x[indices[i]] * inverse_sizes[i])
        if size > top or size != size:
            top = size
    return top


def newton_iteration(s: LoopTable, t: float, x: Reals, k: int, first: int, natural: bool) -> bool:
    """Solve loop k, whose unknowns begin at index `first`, in place; return True if x is a solution.

    A step is halved until the relative decrease of the residual exceeds `SUFFICIENT_DECREASE` times the damping factor: a smaller
    decrease would allow steps back and forth between both sides of a root (Armijo 1966). Residuals and unknowns are measured in
    their natural sizes if `natural`.
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
        part, suffices = 1.0, False
        while part > MIN_STEP_FRACTION and not suffices:
            for i in range(count):
                x[indices[i]] = start[i] + part * step[i]
            kernel(formula_time(s, t), x, p, m, out)
            suffices = all_finite(out, count * 2) and largest(out, weights, count) < (1.0 - SUFFICIENT_DECREASE * part) * size
            part = part * 0.5
        if not suffices:  # no step reduces the residual: converged to rounding error, or stuck
            for i in range(count):
                x[indices[i]] = start[i]
            kernel(formula_time(s, t), x, p, m, out)
            break
    far = CLOSE * (CLOSE + largest_unknown(x, indices, inverse_sizes, count))
    return all_finite(out, count * 2) and not largest(further, inverse_sizes, count) > far


def solve_loop(s: LoopTable, t: float, x: Reals, k: int, first: int) -> bool:
    indices, count, initial = s.loop_places[first:], s.loop_counts[k], s.newton_initial
    for i in range(count):
        initial[i] = x[indices[i]]
    for number, natural in unrolled(enumerate(NATURAL)):
        if number > 0:
            for i in range(count):
                x[indices[i]] = initial[i]
        if newton_iteration(s, t, x, k, first, natural):
            return True
    return False


def consistent(s: LoopTable, t: float, x: Reals) -> bool:
    first = 0
    for k in range(s.loops):
        if not solve_loop(s, t, x, k, first):
            s.unsolved = k
            return False
        first += s.loop_counts[k]
    return True
