"""Parts of a step of Rodas5P: its table, stages, linear systems, and dense output of the states.

The Jacobian comes from the tape; time derivatives of the rates are finite differences over a small fraction of the step.
"""

from __future__ import annotations

from typing import Annotated, Any

from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Kernel, Length, Reals, inline, larger, unrolled
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.linear.system import factor_system, fill_system, has_negative_determinant, solve_system
from bondgraph.run.linear.table import SystemTable
from bondgraph.run.steppers.rosenbrock import coefficients as table
from bondgraph.run.steppers.shared_fields import IntegratorTable, PerState, derivative

LAST = 1
"""Index, in k, of the rates at the end of a step."""
DENSE = len(table.H)
FLOW_ROWS = 12
"""Rows of `flows`: the values at five nodes, their corrections, and working memory."""
ROUNDING = 2.0**-48
"""Relative rounding of a rate that is the difference of two larger ones."""
_ADDED = len(table.A)
"""From this stage on, the argument is that of the stage before plus its u."""
_AHEAD = 2.0**-12
"""Fraction of a step for the finite difference of the rates in time."""
_REST = tuple(tuple(table.GAMMA * weight for weight in row) for row in table.C)
_EMPTY = -0.0
"""Sum of no terms: it changes no bit of the first term."""


PerStage = Annotated[Reals, Length(lambda c: table.STAGES * c.n)]
DenseRows = Annotated[Reals, Length(lambda c: DENSE * c.n)]
Flows = Annotated[Reals, Length(lambda c: FLOW_ROWS * c.quadratures)]


class RosenbrockTable(IntegratorTable):
    """Table of a Rosenbrock method."""

    # Kernel of the Jacobian, and its output.
    jacobian: Kernel
    nonzeros: Annotated[Reals, Length(lambda c: c.nonzero_count)]
    # Rates of a stage, their time derivative, rates a little later; u of all stages, and the contribution of earlier stages to
    # the right-hand side of one.
    rate: PerState
    drift: PerState
    ahead: PerState
    beyond: PerState
    u: PerStage
    rest: PerState
    # As in `accuracy.table.ErrorWeights`; the table of the linear systems (`linear.system`).
    speed: Reals
    system: SystemTable
    # Coefficients of the dense output of states; for each power its values at the nodes of a step, times the step size, followed
    # by their corrections and two rows of working memory.
    f: DenseRows
    flows: Flows

    nonzero_count: int
    # Whether the rounding of a state, driven for a step by its own rate, is as large as the tolerance.
    fast: bool


@inline
def fifth_root(x: float) -> float:
    """Return x ** (1/5)."""
    return power(x, 0.2)


@inline
def rounding(c: Any, i: int, h: float) -> float:
    """Return the effect of the rounding error of a rate on state i in an implicit method: times h / (1 + h |J_ii|)."""
    return h * c.noise[i] / (h * c.speed[i] + 1.0)


@inline
def weighted(u: Reals, n: int, i: int, weights: Fixed) -> float:
    """Return the weighted sum of u of state i over the first stages."""
    total = _EMPTY
    for stage, weight in enumerate(weights):
        total = total + u[n * stage + i] * weight
    return total


def next_argument(out: Reals, rest: Disjoint, y: Reals, u: Reals, n: int, stage: Fixed) -> None:
    """Compute the argument of a stage, and the contribution of the earlier stages to its right-hand side."""
    for i in range(n):
        if stage < _ADDED:
            out[i] = y[i] + weighted(u, n, i, table.A[stage])
        else:
            out[i] = out[i] + u[n * (stage - 1) + i]
        rest[i] = weighted(u, n, i, _REST[stage])


def time_drift(c: RosenbrockTable, h: float) -> None:
    """Compute the time derivative of the rates at (t, y) into `drift`, by the parabola through three times; zero if the first two
    have the same rates, or the same time on the clock of the formulas."""
    n, t, y, k, slopes, ahead, beyond = c.n, c.t, c.y, c.k, c.drift, c.ahead, c.beyond
    soon, later = t + h * _AHEAD, t + h * (2.0 * _AHEAD)
    now = formula_time(c, t)
    one, two = formula_time(c, soon) - now, formula_time(c, later) - now
    for i in range(n):
        slopes[i] = 0.0
    if not (one > 0.0 and two > one):
        return
    derivative(c, soon, y, ahead, False)
    differs = False
    for i in range(n):
        if ahead[i] != k[i]:
            differs = True
    if not differs:
        return
    derivative(c, later, y, beyond, False)
    near, far = two / (one * (two - one)), one / (two * (two - one))
    for i in range(n):
        slopes[i] = near * (ahead[i] - k[i]) - far * (beyond[i] - k[i])


def factors(c: RosenbrockTable, h: float, state: Reals) -> bool:
    """Factorise 1 - h GAMMA J, for states as large as `state`; return True where it is singular."""
    system = c.system
    fill_system(system, c.nonzeros, h * table.GAMMA)
    c.fast = False
    for i in range(c.n):
        if abs(system.matrix[system.diagonal[i]]) * ROUNDING > c.rtol:
            c.fast = True
        number = system.order[i]
        size = larger(larger(c.size[number], c.floor[number]), abs(state[number]))
        system.worth[i] = 1.0 / size if size > 0.0 else 1.0
    return factor_system(system)


def unknowns(c: RosenbrockTable, h: float, k: Reals, later: float, u: Reals) -> None:
    """Solve for u of a stage from its rates k, the contribution `rest` of the earlier stages, and the time derivatives times
    `later`."""
    system, n, right, order = c.system, c.n, c.system.right, c.system.order
    reach, ahead = h * table.GAMMA, h * h * later
    for i in range(n):
        state = order[i]
        right[i] = without_tiny(reach * k[state] + c.rest[state] + ahead * c.drift[state])
    solve_system(system)
    for i in range(n):
        u[order[i]] = right[i]


@inline
def is_finite(nonzeros: Reals, count: int) -> bool:
    """Return True if all nonzeros of the Jacobian are finite."""
    total = 0.0
    for i in range(count):
        total = total + nonzeros[i] * 0.0
    return total == 0.0


def differentiate(c: RosenbrockTable, h: float) -> None:
    """Evaluate the Jacobian at (t, y). If an entry is infinite, such as the derivative of a root at zero, evaluate it at the end
    of an Euler step instead, and again for a shorter step."""
    y, ahead, k, nonzeros = c.y, c.y_stage, c.k, c.nonzeros
    c.moved = False
    if c.nonzero_count == 0:
        return
    c.jacobian(formula_time(c, c.t), y, c.p, c.m, nonzeros)
    c.jacobian_count += 1
    if not is_finite(nonzeros, c.nonzero_count):
        c.moved = True
        for i in range(c.n):
            ahead[i] = y[i] + h * k[i]
        c.jacobian(formula_time(c, c.t + h), ahead, c.p, c.m, nonzeros)


def damps_growth(c: RosenbrockTable, k: Reals) -> bool:
    """Return True if the factorised matrix 1 - s J has a negative determinant: an odd number of modes grow faster than exp(t /
    s). A state with rates of zero (`k`) stays, however unstable."""
    if not has_negative_determinant(c.system):
        return False
    moves = False
    for i in range(c.n):
        if k[i] != 0.0:
            moves = True
    return moves


def prepare_dense(c: RosenbrockTable, h: float, method: Fixed) -> None:
    """Compute the coefficients of the dense output of the states over the step just attempted."""
    n, u, f = c.n, c.u, c.f
    for i in range(n):
        for row, weights in enumerate(table.H):
            f[n * row + i] = weighted(u, n, i, weights)


def states_inside(c: RosenbrockTable, theta: float, out: Disjoint) -> None:
    """Evaluate the states at the fraction theta of the step."""
    n, y, y_new, f = c.n, c.y, c.y_new, c.f
    rest = 1.0 - theta
    for i in range(n):
        bend = f[n * (DENSE - 1) + i]
        for row in unrolled(range(DENSE - 2, -1, -1)):
            bend = bend * theta + f[n * row + i]
        out[i] = rest * y[i] + theta * (y_new[i] + rest * bend)


def slopes_inside(c: RosenbrockTable, theta: float, out: Disjoint) -> None:
    """Evaluate the derivative of the states by the fraction of the step, at the fraction theta."""
    n, y, y_new, f = c.n, c.y, c.y_new, c.f
    rest = 1.0 - theta
    for i in range(n):
        bend, slope = f[n * (DENSE - 1) + i], 0.0
        for row in unrolled(range(DENSE - 2, -1, -1)):
            slope = slope * theta + bend
            bend = bend * theta + f[n * row + i]
        out[i] = y_new[i] - y[i] + (rest - theta) * bend + rest * theta * slope
