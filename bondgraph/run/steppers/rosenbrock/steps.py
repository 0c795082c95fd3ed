"""Parts of a step of Rodas5P: its table, stages, and dense output of the states.

The Jacobian comes from the tape; time derivatives of the rates are finite differences over a small fraction of the step.
"""

from __future__ import annotations

from typing import Annotated

from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Length, Reals, inline, unrolled
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.linear.system import solve_system
from bondgraph.run.steppers.implicit.jacobian import ImplicitTable
from bondgraph.run.steppers.rosenbrock import coefficients as table
from bondgraph.run.steppers.shared_fields import PerState, derivative

LAST = 1
"""Index, in k, of the rates at the end of a step."""
DENSE = len(table.H)
_ADDED = len(table.A)
"""First stage whose argument is the sum of the previous stage's argument and u."""
_AHEAD = 2.0**-12
"""Fraction of a step for the finite difference of the rates in time."""
_REST = tuple(tuple(table.GAMMA * weight for weight in row) for row in table.C)
_EMPTY = -0.0
"""Empty sum, which changes no bit of the first term."""


PerStage = Annotated[Reals, Length(lambda c: table.STAGES * c.n)]
DenseRows = Annotated[Reals, Length(lambda c: DENSE * c.n)]


class RosenbrockTable(ImplicitTable):
    # Time derivative of the rates; u of all stages; coefficients of the dense output of states.
    drift: PerState
    u: PerStage
    f: DenseRows


@inline
def fifth_root(x: float) -> float:
    return power(x, 0.2)


@inline
def weighted(u: Reals, n: int, i: int, weights: Fixed) -> float:
    total = _EMPTY
    for stage, weight in enumerate(weights):
        total = total + u[n * stage + i] * weight
    return total


def next_argument(out: Reals, rest: Disjoint, y: Reals, u: Reals, n: int, stage: Fixed) -> None:
    for i in range(n):
        if stage < _ADDED:
            out[i] = y[i] + weighted(u, n, i, table.A[stage])
        else:
            out[i] = out[i] + u[n * (stage - 1) + i]
        rest[i] = weighted(u, n, i, _REST[stage])


def time_drift(c: RosenbrockTable, h: float) -> None:
    """Compute the time derivative of the rates at (t, y) into `drift`, by the parabola through the rates at three times. The
    result is zero if the first two times have the same rates or are equal on the clock of the formulas."""
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


def prepare_dense(c: RosenbrockTable, h: float, method: Fixed) -> None:
    n, u, f = c.n, c.u, c.f
    for i in range(n):
        for row, weights in enumerate(table.H):
            f[n * row + i] = weighted(u, n, i, weights)


def states_inside(c: RosenbrockTable, theta: float, out: Disjoint) -> None:
    n, y, y_new, f = c.n, c.y, c.y_new, c.f
    rest = 1.0 - theta
    for i in range(n):
        bend = f[n * (DENSE - 1) + i]
        for row in unrolled(range(DENSE - 2, -1, -1)):
            bend = bend * theta + f[n * row + i]
        out[i] = rest * y[i] + theta * (y_new[i] + rest * bend)


def slopes_inside(c: RosenbrockTable, theta: float, out: Disjoint) -> None:
    n, y, y_new, f = c.n, c.y, c.y_new, c.f
    rest = 1.0 - theta
    for i in range(n):
        bend, slope = f[n * (DENSE - 1) + i], 0.0
        for row in unrolled(range(DENSE - 2, -1, -1)):
            slope = slope * theta + bend
            bend = bend * theta + f[n * row + i]
        out[i] = y_new[i] - y[i] + (rest - theta) * bend + rest * theta * slope
