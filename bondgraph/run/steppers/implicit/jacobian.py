"""Jacobian of an implicit method, its linear system 1 - h gamma J, and modes that grow too fast for a step to follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from bondgraph.emit.kernel_language.language import Fixed, Kernel, Length, Reals, inline, larger, smaller
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.linear.system import factor_system, fill_system, has_negative_determinant
from bondgraph.run.linear.table import SystemTable
from bondgraph.run.steppers.implicit.quadrature import Rule
from bondgraph.run.steppers.method import AT_HAND, DAMPED, NOT_AT_HAND
from bondgraph.run.steppers.shared_fields import IntegratorTable, PerState
from bondgraph.run.steppers.step_control import next_length

FLOW_ROWS = 12
"""Number of rows of `flows`: values at the nodes, their corrections, and workspace."""
ROUNDING = 2.0**-48
"""Relative rounding error of a rate that is the difference of two larger rates."""
ALERT, MARGIN = 20, 4.0
"""For ALERT steps after a step that would have damped a growing mode, the test for growing modes uses MARGIN times the step
size."""

Flows = Annotated[Reals, Length(lambda c: FLOW_ROWS * c.quadratures)]


class ImplicitTable(IntegratorTable):
    # Kernel of the Jacobian, and its output.
    jacobian: Kernel
    nonzeros: Annotated[Reals, Length(lambda c: c.nonzero_count)]
    # Rates at a stage, and at other arguments; known part of a right-hand side.
    rate: PerState
    ahead: PerState
    beyond: PerState
    rest: PerState
    # As in `accuracy.table.ErrorWeights`; the table of the linear systems (`linear.system`).
    speed: Reals
    system: SystemTable
    # For each power, its values at the nodes of a step times the step size, followed by their corrections and two rows of
    # workspace.
    flows: Flows

    nonzero_count: int
    # True if the rounding error of a state changes its own rate, times the step size, by more than the tolerance.
    fast: bool


@dataclass(frozen=True, eq=False)
class Implicit:
    """Coefficients of an implicit method.

    Parameters
    ----------
    gamma : factor in the matrix 1 - h gamma J of a step of length h.
    slopes : (c, theta, out): derivative of the states with respect to the fraction of the step, at the fraction theta.
    rule : quadrature of the powers.
    node : (c, index, out, method): states at a node of the rule.
    """

    gamma: float
    slopes: Callable[[Any, float, np.ndarray], None]
    rule: Rule
    node: Callable[..., None]


@inline
def rounding(c: Any, i: int, h: float) -> float:
    """Return the effect on state i of the rounding error of its rate in an implicit step: the error times h / (1 + h |J_ii|)."""
    return h * c.noise[i] / (h * c.speed[i] + 1.0)


def factors(c: ImplicitTable, h: float, state: Reals, gamma: Fixed) -> bool:
    """Factorise 1 - h gamma J, for states as large as `state`; return True if it is singular."""
    system = c.system
    fill_system(system, c.nonzeros, h * gamma)
    c.fast = False
    for i in range(c.n):
        if abs(system.matrix[system.diagonal[i]]) * ROUNDING > c.rtol:
            c.fast = True
        number = system.order[i]
        size = larger(larger(c.size[number], c.floor[number]), abs(state[number]))
        system.row_weights[i] = 1.0 / size if size > 0.0 else 1.0
    return factor_system(system)


@inline
def is_finite(nonzeros: Reals, count: int) -> bool:
    total = 0.0
    for i in range(count):
        total = total + nonzeros[i] * 0.0
    return total == 0.0


def differentiate(c: ImplicitTable, h: float) -> None:
    """Evaluate the Jacobian at (t, y). If an entry is not finite, as the derivative of a square root at zero, evaluate
    the Jacobian at the end of an Euler step instead; a shorter step evaluates it again."""
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


def damps_growth(c: ImplicitTable, k: Reals) -> bool:
    """Return True if the factorised matrix 1 - s J has a negative determinant, so that an odd number of modes grow faster than
    exp(t / s). A state whose rates `k` are zero does not move, however unstable."""
    if not has_negative_determinant(c.system):
        return False
    moves = False
    for i in range(c.n):
        if k[i] != 0.0:
            moves = True
    return moves


def damps(c: ImplicitTable, length: float, method: Fixed) -> bool:
    """Return True if a step of this length from the end of the current step would damp a growing mode; leave its matrix
    factorised unless it is singular."""
    regular = not factors(c, length, c.y_new, method.coefficients.gamma)
    c.factored = length if regular else 0.0
    growing = damps_growth(c, c.k[c.width * method.last :])
    return regular and growing


def look_ahead(c: ImplicitTable, h: float, error: float, method: Fixed) -> int:
    """Look ahead from the end of a step that the error control accepts: evaluate the Jacobian there and factorise the matrix of
    the next step. Return `AT_HAND`, `NOT_AT_HAND` if the Jacobian is not finite, or `DAMPED` if the step must be shortened.

    An L-stable method damps a mode that grows by exp(lambda h) if lambda h is large, and its error estimate does not show this:
    the method would follow a branch that has lost its stability. det(1 - s J) is negative if the number of modes with lambda s >
    1 is odd; s is h gamma of the next step; for `ALERT` steps after a negative determinant it includes a margin.
    """
    if c.nonzero_count == 0:
        return AT_HAND
    c.jacobian(formula_time(c, c.target), c.y_new, c.p, c.m, c.nonzeros)
    c.jacobian_count += 1
    c.factored = 0.0
    if not is_finite(c.nonzeros, c.nonzero_count):
        return NOT_AT_HAND
    length = smaller(next_length(c, error, method), c.h_max)
    following = h if c.is_last else length
    margin = MARGIN if c.alert > 0 else 1.0
    if damps(c, following * margin, method):
        c.alert = ALERT
        if damps(c, h * margin, method):
            c.moved = True
            c.factored = 0.0
            return DAMPED
        c.grow = 1.0
    if c.alert > 0:
        c.alert -= 1
    return AT_HAND
