"""Parts of a step of Radau IIA: linear systems, simplified Newton iteration, error estimate and dense output."""

from __future__ import annotations

from typing import Annotated

from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import (
    Disjoint,
    Fixed,
    Length,
    Reals,
    finite,
    inline,
    larger,
    smaller,
    sqrt,
    unrolled,
)
from bondgraph.run.accuracy.natural_scales import MIN_ERROR
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.linear.system import factor_system, fill_system, solve_system
from bondgraph.run.linear.table import SystemTable
from bondgraph.run.steppers.implicit.jacobian import ImplicitTable, factors, rounding
from bondgraph.run.steppers.radau import coefficients as table
from bondgraph.run.steppers.shared_fields import PerState, derivative, error_weight

LAST = 1
"""Index, in k, of the rates at the end of a step."""
POINTS = len(table.NODES)
TERMS = len(table.BEND)
MAX_ITERATIONS = 8
_ITERATION_ERROR = 0.03
"""Largest error of the iteration, as a fraction of the tolerance of a step."""
_SLOWEST_CONVERGENCE = 0.99
"""Ratio of successive corrections above which an iteration does not converge, unless they are below `_ROUNDING_CORRECTION`."""
_ROUNDING_CORRECTION = 0.03
"""Size, as a fraction of the tolerance, below which a correction is rounding error."""
_REMAINING_POWER = 0.8
"""Power of the previous step's `remaining` that is the first estimate of `remaining` for this step."""
_COUPLING = table.TURN / table.PAIR

PerStage = Annotated[Reals, Length(lambda c: POINTS * c.n)]
DenseRows = Annotated[Reals, Length(lambda c: TERMS * c.n)]
PairNonzeros = Annotated[Reals, Length(lambda c: 2 * c.nonzero_count + 2 * c.n)]


class RadauTable(ImplicitTable):
    # Differences of the stages from the start of the step, the same in the coordinates of the Newton iteration, and their rates.
    z: PerStage
    w: PerStage
    stage_rates: PerStage
    # Inverse of the error weights in a step, and the error of the step.
    scale: PerState
    error: PerState
    # Coefficients of the dense output of the states, and of the collocation polynomial of the previous step.
    f: DenseRows
    before: PerStage
    # Linear system for the complex unknowns: real parts, then imaginary parts; entries of its matrix.
    pair: SystemTable
    pair_nonzeros: PairNonzeros

    # Steps since the Jacobian was evaluated; iterations of the last step.
    age: int
    iterations: int
    # Length and error of the previous accepted step if this step continues it, or 0; factor by which the step size may grow after
    # this step; step size for which `system` is factorised, or 0; rate of convergence; error of an iteration as a multiple of its
    # last correction.
    past: float
    past_error: float
    growth: float
    single: float
    contraction: float
    remaining: float


@inline
def fourth_root(x: float) -> float:
    return sqrt(sqrt(x))


def pair_factors(c: RadauTable, h: float) -> bool:
    pair, entries, n, count, length = c.pair, c.pair_nonzeros, c.n, c.nonzero_count, h / table.PAIR
    coupling = _COUPLING / length
    for i in range(count):
        entries[i] = c.nonzeros[i]
        entries[count + i] = c.nonzeros[i]
    for i in range(n):
        entries[2 * count + i] = -coupling
        entries[2 * count + n + i] = coupling
    fill_system(pair, entries, length)
    for i in range(2 * n):
        number = pair.order[i]
        state = number if number < n else number - n
        pair.row_weights[i] = 1.0 / larger(larger(c.size[state], c.floor[state]), MIN_ERROR)
    return factor_system(pair)


def prepare_matrices(c: RadauTable, h: float) -> bool:
    c.factored = 0.0
    if c.single != h:
        c.single = 0.0
        if factors(c, h, c.size, table.REAL_GAMMA):
            return True
        c.single = h
    if pair_factors(c, h):
        return True
    c.factored = h
    return False


@inline
def in_stages(values: Reals, n: int, i: int, weights: Fixed) -> float:
    return values[i] * weights[0] + values[n + i] * weights[1] + values[n * 2 + i] * weights[2]


def guess(c: RadauTable, h: float) -> None:
    n, z, w, before = c.n, c.z, c.w, c.before
    for i in range(POINTS * n):
        z[i] = 0.0
        w[i] = 0.0
    if not c.past > 0.0:
        return
    ratio = h / c.past
    for stage, node in enumerate(table.NODES):
        x = node * ratio
        ahead = 1.0 + x
        for i in range(n):
            bend = before[n + i] * (ahead + 1.0) + before[n * 2 + i] * ((ahead + 1.0) * ahead + 1.0)
            z[n * stage + i] = x * (before[i] + bend)
    for i in range(n):
        for row, weights in enumerate(table.INVERSE):
            w[n * row + i] = in_stages(z, n, i, weights)


def right_sides(c: RadauTable, h: float) -> None:
    n, w, rates, system, pair = c.n, c.w, c.stage_rates, c.system, c.pair
    for i in range(n):
        state = system.order[i]
        system.right[i] = without_tiny(in_stages(rates, n, state, table.INVERSE[0]) * (h / table.REAL) - w[state])
    for i in range(2 * n):
        number = pair.order[i]
        if number < n:
            gained = in_stages(rates, n, number, table.INVERSE[1]) * (h / table.PAIR) - w[n + number]
            pair.right[i] = without_tiny(gained - w[n * 2 + number] * _COUPLING)
        else:
            state = number - n
            gained = in_stages(rates, n, state, table.INVERSE[2]) * (h / table.PAIR) - w[n * 2 + state]
            pair.right[i] = without_tiny(gained + w[n + state] * _COUPLING)


def correct(c: RadauTable, h: float) -> float:
    n, y, w, z, system, pair, scale, total = c.n, c.y, c.w, c.z, c.system, c.pair, c.scale, 0.0
    right_sides(c, h)
    solve_system(system)
    solve_system(pair)
    for i in range(n):
        state = system.order[i]
        w[state] = w[state] + system.right[i]
    for i in range(2 * n):
        number = pair.order[i]
        w[n + number] = w[n + number] + pair.right[i]
    for i in range(n):
        for row, weights in enumerate(table.T):
            z[n * row + i] = in_stages(w, n, i, weights)
        size = larger(abs(y[i]), abs(y[i] + z[n * (POINTS - 1) + i]))
        scale[i] = 1.0 / (error_weight(c, i, size) + rounding(c, i, h))
    for i in range(n):
        part = system.right[i] * scale[system.order[i]]
        total = total + part * part
    for i in range(2 * n):
        number = pair.order[i]
        part = pair.right[i] * scale[number if number < n else number - n]
        total = total + part * part
    return sqrt(total)


def converges(c: RadauTable, h: float) -> bool:
    n, y, argument, z, before = c.n, c.y, c.y_stage, c.z, 0.0
    allowed = larger(10.0 * EPSILON / c.rtol, smaller(_ITERATION_ERROR, sqrt(c.rtol)))
    c.remaining = power(larger(c.remaining, EPSILON), _REMAINING_POWER)
    c.contraction = 0.0
    for done in range(MAX_ITERATIONS):
        c.iterations = done + 1
        for stage in unrolled(range(POINTS)):
            for i in range(n):
                argument[i] = y[i] + z[n * stage + i]
            derivative(c, c.t + h * table.NODES[stage], argument, c.stage_rates[n * stage :], False)
        size = correct(c, h)
        if not finite(size):
            return False
        if done > 0:
            theta = size / before
            c.contraction = theta if done == 1 else sqrt(theta * c.contraction)
            if not theta < _SLOWEST_CONVERGENCE:
                return size <= _ROUNDING_CORRECTION
            c.remaining = theta / (1.0 - theta)
        if c.remaining * size <= allowed or size == 0.0:
            return True
        before = size
    return before <= _ROUNDING_CORRECTION


def filtered(c: RadauTable, h: float, k: Reals) -> float:
    """Compute the error of the step into `error`, for rates k at or near its start; return the sum of the squares of its ratios
    to the tolerance."""
    n, y, z, error, system, total = c.n, c.y, c.z, c.error, c.system, 0.0
    for i in range(n):
        state = system.order[i]
        system.right[i] = without_tiny((h * k[state] + in_stages(z, n, state, table.ERROR)) * table.REAL_GAMMA)
    solve_system(system)
    for i in range(n):
        error[system.order[i]] = system.right[i]
    for i in range(n):
        end = y[i] + z[n * (POINTS - 1) + i]
        part = error[i] / (error_weight(c, i, larger(abs(y[i]), abs(end))) + rounding(c, i, h))
        total = total + part * part
    return total


def remember(c: RadauTable, h: float, error: float) -> None:
    n, z, before = c.n, c.z, c.before
    for i in range(n):
        for row, weights in enumerate(table.POLYNOMIAL):
            before[n * row + i] = in_stages(z, n, i, weights)
    c.past = h
    c.past_error = larger(error, 1e-2)


def prepare_dense(c: RadauTable, h: float, method: Fixed) -> None:
    """Compute the coefficients of the dense output, of order 4, of the states over the step just attempted: the collocation
    polynomial, of order 3, corrected to have the true slope at the start of the step."""
    n, z, f, error = c.n, c.z, c.f, c.error
    for i in range(n):
        bend = error[i] * (-10.0 * table.REAL)
        for row, weights in enumerate(table.POLYNOMIAL):
            f[n * row + i] = in_stages(z, n, i, weights) + bend * table.BEND[row]
        f[n * (TERMS - 1) + i] = bend * table.BEND[-1]


def states_inside(c: RadauTable, theta: float, out: Disjoint) -> None:
    n, y, f = c.n, c.y, c.f
    for i in range(n):
        change = f[n * (TERMS - 1) + i]
        for row in unrolled(range(TERMS - 2, -1, -1)):
            change = change * theta + f[n * row + i]
        out[i] = y[i] + change * theta


def slopes_inside(c: RadauTable, theta: float, out: Disjoint) -> None:
    n, f = c.n, c.f
    for i in range(n):
        slope = f[n * (TERMS - 1) + i] * float(TERMS)
        for row in unrolled(range(TERMS - 2, -1, -1)):
            slope = slope * theta + f[n * row + i] * float(row + 1)
        out[i] = slope
