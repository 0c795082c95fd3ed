"""Rodas5P as a method for the integration loop, and bound to a run."""

from __future__ import annotations

import math
from typing import ClassVar

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, larger, smaller, sqrt, unrolled
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.linear.system import table_of
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.method import AT_HAND, DAMPED, NOT_AT_HAND, Method
from bondgraph.run.steppers.rosenbrock import coefficients as table
from bondgraph.run.steppers.rosenbrock.powers import power_integrals, powers_inside
from bondgraph.run.steppers.rosenbrock.steps import (
    LAST,
    RosenbrockTable,
    damps_growth,
    differentiate,
    factors,
    fifth_root,
    is_finite,
    next_argument,
    prepare_dense,
    rounding,
    states_inside,
    time_drift,
    unknowns,
)
from bondgraph.run.steppers.segment import Tolerances
from bondgraph.run.steppers.shared_fields import derivative, error_weight
from bondgraph.run.steppers.step_control import next_length

ALERT, MARGIN = 20, 4.0
"""For this many steps after one that would have damped a growing mode, no mode may grow faster than such a step follows: by this
factor slower than one that the sign shows."""


def attempt(c: RosenbrockTable, h: float, t_new: float, method: Fixed) -> float:
    """Compute all stages of a step of length h from (t, y) into u, y_new and k; return error over tolerance."""
    n, t, y, y_new, argument, k, u, rest, rate = c.n, c.t, c.y, c.y_new, c.y_stage, c.k, c.u, c.rest, c.rate
    if c.moved:
        differentiate(c, h)
        c.factored = 0.0
    time_drift(c, h)
    if c.factored != h:
        c.factored = h
        if factors(c, h, c.size):
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
    if not (norm <= 1.0 or c.is_landing):
        return norm
    derivative(c, t_new, y_new, k[c.width * LAST :], True)
    if c.quadratures > 0 or c.guard_count > 0:
        prepare_dense(c, h, method)
    if c.quadratures == 0:
        return norm
    return sqrt(total + power_integrals(c, h))


def damps(c: RosenbrockTable, length: float) -> bool:
    """Return True if a step of this length from the end of the present one would damp a growing mode; keep its factors."""
    regular = not factors(c, length, c.y_new)
    c.factored = length if regular else 0.0
    growing = damps_growth(c, c.k[c.width * LAST :])
    return regular and growing


def foresee(c: RosenbrockTable, h: float, error: float, method: Fixed) -> int:
    """Look ahead from the end of a step that the error control accepts: evaluate the Jacobian there and factorise the matrix of
    the next step. Return `AT_HAND`, `NOT_AT_HAND` if the Jacobian is not finite, or `DAMPED` if the step must become shorter.

    An L-stable method damps a mode that grows by exp(lambda h) where lambda h is large, and its error estimate does not see it:
    the method would follow a branch that has lost its stability. The sign of det(1 - s J) is that of an odd number of such modes
    with lambda s > 1, here s = h GAMMA of the next step; then, where it has been negative, with a margin.
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
    if damps(c, following * margin):
        c.alert = ALERT
        if damps(c, h * margin):
            c.moved = True
            c.factored = 0.0
            return DAMPED
        c.grow = 1.0
    if c.alert > 0:
        c.alert -= 1
    return AT_HAND


def dense(c: RosenbrockTable, theta: float, out: Disjoint, method: Fixed) -> None:
    """Evaluate states and integrated powers at the fraction theta of the step."""
    states_inside(c, theta, out)
    if c.quadratures > 0:
        powers_inside(c, theta, out)


def look_inside(c: RosenbrockTable, theta: float, h: float, out: Disjoint, method: Fixed) -> None:
    """Evaluate the states for a first event detection: a cubic Hermite interpolant would use stiff rates, which say little about
    the interior."""
    states_inside(c, theta, out)


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
    foresee=foresee,
)


def written() -> list[Procedure]:
    """Return all procedures of the method, with the loops around its steps."""
    return procedures(RODAS5P)


@build_once
def machine_code() -> Library:
    """Return the machine code of the method."""
    return compile_written(written)


class Rodas5P(OneStep):
    """Rosenbrock method of order 5 with dense output of order 4 for stiff models, in machine code.

    The options name the kind of linear algebra; "auto" is the cheapest (`linear.layout`).
    """

    def __init__(self, bound: Bound, tolerances: Tolerances, weights: ErrorWeights, options: StepperOptions):
        program = bound.program
        self._system = table_of(program.matrix_layout(options.linear))
        sizes = {"nonzero_count": int(self._system["count"])}
        super().__init__(RODAS5P, machine_code(), bound, tolerances, weights, sizes, options.ticks, options.settler)
        self.table.point("system", self._system)
        self.table["nonzero_count"] = self._system["count"]


class RosenbrockStepper:
    """Code of the method."""

    runs_in_lanes: ClassVar[bool] = False
    machine_code = staticmethod(machine_code)

    def integrator(self, bound: Bound, tolerances: Tolerances, weights: ErrorWeights, options: StepperOptions) -> Rodas5P:
        """Bind the method to a run."""
        return Rodas5P(bound, tolerances, weights, options)


STEPPER = RosenbrockStepper()
