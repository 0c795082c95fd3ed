"""Radau IIA of order 5 as a method of the integration loop."""

from __future__ import annotations

import math
from typing import Any

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, inline, larger, smaller, sqrt
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.program import Program
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.implicit.jacobian import ALERT, Implicit, damps_growth, differentiate, look_ahead, rounding
from bondgraph.run.steppers.implicit.powers import power_integrals, powers_inside
from bondgraph.run.steppers.implicit.stepper import ImplicitStepper
from bondgraph.run.steppers.method import AT_HAND, Method
from bondgraph.run.steppers.radau import coefficients as table
from bondgraph.run.steppers.radau.steps import (
    LAST,
    MAX_ITERATIONS,
    POINTS,
    RadauTable,
    converges,
    filtered,
    fourth_root,
    guess,
    prepare_dense,
    prepare_matrices,
    remember,
    slopes_inside,
    states_inside,
)
from bondgraph.run.steppers.shared_fields import derivative

_FAST_CONVERGENCE = 1e-3
"""Rate of convergence at or below which the next step may use the same Jacobian."""
_MAX_JACOBIAN_AGE = 10
"""Maximum number of steps with the same Jacobian, so that modes that begin to grow are noticed."""
_MAX_KEPT_GROWTH = 1.6
"""Growth factor of the step size up to which the step size and the factorised matrices are kept."""
_SAFE = 0.9


def attempt(c: RadauTable, h: float, t_new: float, method: Fixed) -> float:
    n, y, y_new, z, k = c.n, c.y, c.y_new, c.z, c.k
    if c.moved:
        if c.factored == 0.0:  # the state is not the end of a step
            c.past = 0.0
            c.remaining = 1.0
        evaluate_jacobian(c, h)
    solved = stages(c, h)
    if not solved and c.age > 0:
        evaluate_jacobian(c, h)
        solved = stages(c, h)
    if not solved:
        return math.inf
    total = filtered(c, h, k)
    if total > 1.0 and (c.retries > 0 or not c.past > 0.0):
        for i in range(n):
            c.y_stage[i] = y[i] + c.error[i]
        derivative(c, c.t, c.y_stage, c.rate, False)
        total = filtered(c, h, c.rate)
    for i in range(n):
        y_new[i] = without_tiny(y[i] + z[n * (POINTS - 1) + i])
    norm = sqrt(total)
    if not (norm <= 1.0 or c.accepts):
        return norm
    derivative(c, t_new, y_new, k[c.width * LAST :], True)
    if c.quadratures > 0 or c.guard_count > 0:
        prepare_dense(c, h, method)
    if c.quadratures > 0:
        norm = sqrt(total + power_integrals(c, h, method))
    c.growth = growth(c, h, norm)
    return norm


def evaluate_jacobian(c: RadauTable, h: float) -> None:
    differentiate(c, h)
    c.age = 0
    c.factored = 0.0
    c.single = 0.0


def stages(c: RadauTable, h: float) -> bool:
    """Solve for the stages; return False if a matrix is singular, the iteration does not converge, or the step would damp a
    growing mode."""
    if c.factored != h:
        if prepare_matrices(c, h):
            return False
        if damps_growth(c, c.k):
            c.alert = ALERT
            c.factored = 0.0
            return False
    guess(c, h)
    return converges(c, h)


@inline
def growth(c: Any, h: float, error: float) -> float:
    """Return the factor by which the next step may be longer: smaller after a slow iteration, and limited by the trend of the
    error (K. Gustafsson, ACM Trans. Math. Software 20, 1994)."""
    quota = (1.0 + 2.0 * float(MAX_ITERATIONS)) / (float(c.iterations) + 2.0 * float(MAX_ITERATIONS))
    allowed, past = larger(error, 1e-30), c.past
    factor = _SAFE * quota / fourth_root(allowed)
    if past > 0.0:
        factor = smaller(factor, _SAFE * (h / past) * fourth_root(c.past_error / (allowed * allowed)))
    return factor


@inline
def next_size(c: Any, length: float) -> float:
    wish = smaller(length, larger(0.2, c.growth) * c.trial)
    stays = wish >= c.trial and wish <= _MAX_KEPT_GROWTH * c.trial and c.contraction <= _FAST_CONVERGENCE
    return c.trial if stays else wish


def look_ahead_if_due(c: RadauTable, h: float, error: float, method: Fixed) -> int:
    remember(c, h, error)
    c.age += 1
    if c.contraction <= _FAST_CONVERGENCE and c.age < _MAX_JACOBIAN_AGE and c.alert == 0:
        return AT_HAND
    outlook = look_ahead(c, h, error, method)
    c.single = c.factored
    c.factored = 0.0
    if outlook == AT_HAND:
        c.age = 0
    return outlook


def dense(c: RadauTable, theta: float, out: Disjoint, method: Fixed) -> None:
    states_inside(c, theta, out)
    if c.quadratures > 0:
        powers_inside(c, theta, out, method.coefficients.rule)


def look_inside(c: RadauTable, theta: float, h: float, out: Disjoint, method: Fixed) -> None:
    states_inside(c, theta, out)


def at_node(c: RadauTable, node: Fixed, out: Disjoint, method: Fixed) -> None:
    n, y, z = c.n, c.y, c.z
    for i in range(n):
        out[i] = y[i] if node == 0 else y[i] + z[n * (node - 1) + i]


RADAU5 = Method(
    name="radau5",
    table=RadauTable,
    sizes={"stages": 2},
    last=LAST,
    explicit=False,
    root=fourth_root,
    rounding=rounding,
    attempt=attempt,
    prepare_dense=prepare_dense,
    dense=dense,
    cubic=look_inside,
    look_ahead=look_ahead_if_due,
    next_size=next_size,
    coefficients=Implicit(table.REAL_GAMMA, slopes_inside, table.RULE, at_node),
)


def written() -> list[Procedure]:
    return procedures(RADAU5)


@build_once
def machine_code() -> Library:
    return compile_written(written)


STEPPER = ImplicitStepper(RADAU5, machine_code, {"system": Program.matrix_layout, "pair": Program.pair_layout})
