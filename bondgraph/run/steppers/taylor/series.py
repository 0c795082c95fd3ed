"""Taylor series method: steps by the Taylor coefficients of the solution, up to an order that depends on the tolerance.

The order, and the step size from the last two coefficients, are chosen as in A. Jorba, M. Zou, A software package for the
numerical integration of ODEs by means of high-order Taylor methods, Experimental Mathematics 14, 2005. A step is rejected only
if it is too long, or if the rate at its end differs from the slope of its polynomial (the defect). The dense output is the
polynomial of the step.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.elementary.functions import exponential, logarithm
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Kernel, Length, Reals, inline, larger, smaller
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.kernel_functions import formula_time
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.explicit import rounding
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.segment import Tolerances
from bondgraph.run.steppers.shared_fields import IntegratorTable, derivative, error_weight
from bondgraph.run.steppers.step_control import GROW
from bondgraph.tape.taylor import order_for

_USED_FRACTION = 0.98
"""Fraction of the longest step that is used, because a step that ends at the horizon may be slightly longer."""
_MAX_DEFECT = 100.0
"""Largest ratio of a step's defect, times its length, to the error weights; at order n, the defect is n + 1 times the error."""


class TaylorTable(IntegratorTable):
    # Kernel of the coefficients of the orders 1 to `order`; coefficients at the start of the step, order by order.
    expand: Kernel
    coefficients: Annotated[Reals, Length(lambda c: c.order * c.width)]
    order: int
    # Longest step from the last two coefficients; logarithm of the factor by which the second-last may exceed the last.
    longest: float
    allowance: float
    # True if the last term of the longest step is larger than the second-last.
    rising: bool


@inline
def ratio_of_lengths(ratio: float) -> float:
    return ratio


def size_over_weights(c: TaylorTable, values: Reals) -> float:
    """Return the sum of magnitudes of values (width,) relative to the error weights. A sum of squares could overflow, because
    coefficients of order k have the unit of the state over s^k."""
    n, y, total, moved = c.n, c.y, 0.0, 0.0
    for i in range(n, c.width):
        moved = larger(moved, abs(y[i] + c.trial * c.k[i]))
    for i in range(c.width):
        weight = error_weight(c, i, abs(y[i]) if i < n else moved) + c.trial * c.noise[i]
        total = total + abs(values[i]) / weight
    return total


def expand_here(c: TaylorTable) -> None:
    c.moved = False
    c.expand(formula_time(c, c.t), c.y, c.p, c.m, c.coefficients)
    order, latest = float(c.order), c.coefficients[c.width * (c.order - 2) :]
    last, other = size_over_weights(c, latest[c.width :]), size_over_weights(c, latest)
    c.longest = exponential(-1.0 * larger(logarithm(last) / order, logarithm(other) / (order - 1.0) - c.allowance))
    c.rising = last * c.longest > other


def attempt(c: TaylorTable, h: float, t_new: float, method: Fixed) -> float:
    """Return the ratio of h to the longest step; unless it exceeds 1, or for a landing, also compute the state and the rates at
    the end of the step.

    Coefficients may be zero by chance, such as the coefficients of x' = t^30 at the start, so a step is also too long if the
    slope of the polynomial at its end differs from the rate.
    """
    if c.moved:
        expand_here(c)
    ratio = h / c.longest
    if ratio > 1.0 and not c.accepts:
        return ratio
    rates, slopes = c.k[c.width :], c.y_stage
    sum_up_with_slopes(c, h, c.y_new, slopes)
    derivative(c, t_new, c.y_new, rates, True)
    for i in range(c.width):
        slopes[i] = (slopes[i] - rates[i]) * h
    excess = size_over_weights(c, slopes) / _MAX_DEFECT
    return ratio if excess <= 1.0 else exponential(logarithm(excess) / float(c.order))  # NaN stays NaN


def next_size(c: TaylorTable, length: float) -> float:
    """Return the size of the next step from the coefficients at its start, or `length` without such an estimate. If the
    coefficients rise, as near a point where all are zero, they overestimate the step, so its growth is limited."""
    if c.is_last:
        return length
    expand_here(c)
    if c.rising:
        return smaller(c.longest * _USED_FRACTION, c.trial * GROW)
    return c.longest * _USED_FRACTION if c.longest > 0.0 else length


def sum_up(c: TaylorTable, h: float, out: Disjoint) -> None:
    width, y, coefficients = c.width, c.y, c.coefficients
    for i in range(width):
        total = 0.0
        for k in range(c.order):
            total = (total + coefficients[width * (c.order - 1 - k) + i]) * h
        out[i] = y[i] + total


def sum_up_with_slopes(c: TaylorTable, h: float, out: Disjoint, slopes: Disjoint) -> None:
    width, y, coefficients = c.width, c.y, c.coefficients
    for i in range(width):
        total, part, slope = 0.0, 0.0, 0.0
        for k in range(c.order):
            slope = slope * h + part
            part = total + coefficients[width * (c.order - 1 - k) + i]
            total = part * h
        out[i] = y[i] + total
        slopes[i] = slope * h + part


def prepare_dense(c: TaylorTable, h: float, method: Fixed) -> None:
    """Do nothing: the coefficients are available."""


def dense(c: TaylorTable, theta: float, out: Disjoint, method: Fixed) -> None:
    sum_up(c, c.trial * theta, out)


def look_inside(c: TaylorTable, theta: float, h: float, out: Disjoint, method: Fixed) -> None:
    sum_up(c, h * theta, out)


def never_stiff(c: TaylorTable, h: float, method: Fixed) -> bool:
    """Return False, because only a run with the method "auto" changes its method."""
    return False


TAYLOR = Method(
    name="taylor",
    table=TaylorTable,
    sizes={"stages": 2},
    last=1,
    explicit=True,
    root=ratio_of_lengths,
    rounding=rounding,
    attempt=attempt,
    prepare_dense=prepare_dense,
    dense=dense,
    cubic=look_inside,
    stiffness=never_stiff,
    next_size=next_size,
)


def written() -> list[Procedure]:
    return procedures(TAYLOR)


@build_once
def machine_code() -> Library:
    return compile_written(written)


class TaylorSeries(OneStep):
    def __init__(self, bound: Bound, tolerances: Tolerances, weights: ErrorWeights, options: StepperOptions):
        assert bound.program.expand is not None, "refused by `choose`"
        kernel = bound.program.expand(order_for(tolerances.relative))
        order = kernel.n_out // (bound.program.states + bound.program.quadratures)
        super().__init__(TAYLOR, machine_code(), bound, tolerances, weights, {"order": order}, options.ticks, options.handler)
        self._kernel = kernel
        self.table.point("expand", kernel.address or 0)
        self.table["order"] = order
        self.table["allowance"] = -math.log(tolerances.relative) / (order * (order - 1.0))


class TaylorStepper:
    runs_in_lanes: ClassVar[bool] = False
    machine_code = staticmethod(machine_code)

    def integrator(self, bound: Bound, tolerances: Tolerances, weights: ErrorWeights, options: StepperOptions) -> TaylorSeries:
        return TaylorSeries(bound, tolerances, weights, options)


STEPPER = TaylorStepper()
