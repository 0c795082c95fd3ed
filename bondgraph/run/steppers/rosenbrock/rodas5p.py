"""Rodas5P as a method of the integration loop."""

from __future__ import annotations

import math

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, larger, sqrt, unrolled
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.program import Program
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.implicit.jacobian import ALERT, Implicit, damps_growth, differentiate, factors, look_ahead, rounding
from bondgraph.run.steppers.implicit.powers import power_integrals, powers_inside
from bondgraph.run.steppers.implicit.quadrature import LOBATTO
from bondgraph.run.steppers.implicit.stepper import ImplicitStepper
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.rosenbrock import coefficients as table
from bondgraph.run.steppers.rosenbrock.steps import (
    LAST,
    RosenbrockTable,
    fifth_root,
    next_argument,
    prepare_dense,
    slopes_inside,
    states_inside,
    time_drift,
    unknowns,
)
from bondgraph.run.steppers.shared_fields import derivative, error_weight


def attempt(c: RosenbrockTable, h: float, t_new: float, method: Fixed) -> float:
    n, t, y, y_new, argument, k, u, rest, rate = c.n, c.t, c.y, c.y_new, c.y_stage, c.k, c.u, c.rest, c.rate
    if c.moved:
        differentiate(c, h)
        c.factored = 0.0
    time_drift(c, h)
    if c.factored != h:
        c.factored = h
        if factors(c, h, c.size, table.GAMMA):
            c.factored = 0.0
            return math.inf
        if damps_growth(c, k):
            c.alert = ALERT
            return math.inf
    for i in range(n):
        rest[i] = 0.0
    unknowns(c, h, k, table.GAMMA * table.SLOPES[0], u)
    for stage in unrolled(range(1, table.STAGES)):
        next_argument(argument, rest, y, u, n, stage)
        derivative(c, t + h * table.ALPHA[stage], argument, rate, False)
        unknowns(c, h, rate, table.GAMMA * table.SLOPES[stage], u[n * stage :])
    total, error = 0.0, u[n * (table.STAGES - 1) :]
    for i in range(n):
        end = without_tiny(argument[i] + error[i])
        part = error[i] / (error_weight(c, i, larger(abs(y[i]), abs(end))) + rounding(c, i, h))
        y_new[i] = end
        total = total + part * part
    norm = sqrt(total)
    if not (norm <= 1.0 or c.accepts):
        return norm
    derivative(c, t_new, y_new, k[c.width * LAST :], True)
    if c.quadratures > 0 or c.guard_count > 0:
        prepare_dense(c, h, method)
    if c.quadratures == 0:
        return norm
    return sqrt(total + power_integrals(c, h, method))


def dense(c: RosenbrockTable, theta: float, out: Disjoint, method: Fixed) -> None:
    states_inside(c, theta, out)
    if c.quadratures > 0:
        powers_inside(c, theta, out, method.coefficients.rule)


def look_inside(c: RosenbrockTable, theta: float, h: float, out: Disjoint, method: Fixed) -> None:
    """Evaluate the states for preliminary event detection; a cubic Hermite interpolant would use stiff rates, which do not
    describe the interior of the step."""
    states_inside(c, theta, out)


def at_node(c: RosenbrockTable, node: Fixed, out: Disjoint, method: Fixed) -> None:
    states_inside(c, method.coefficients.rule.nodes[node], out)


RODAS5P = Method(
    name="rodas5p",
    table=RosenbrockTable,
    sizes={"stages": 2},
    last=LAST,
    explicit=False,
    root=fifth_root,
    rounding=rounding,
    attempt=attempt,
    prepare_dense=prepare_dense,
    dense=dense,
    cubic=look_inside,
    look_ahead=look_ahead,
    coefficients=Implicit(table.GAMMA, slopes_inside, LOBATTO, at_node),
)


def written() -> list[Procedure]:
    return procedures(RODAS5P)


@build_once
def machine_code() -> Library:
    return compile_written(written)


STEPPER = ImplicitStepper(RODAS5P, machine_code, {"system": Program.matrix_layout})
