"""Step of an explicit Runge-Kutta method: stages, error estimate, dense output, and stiffness detection.

E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993, II.4 to II.6. The error is the Euclidean
norm of the weighted components, not their root mean square, so that quiet components do not hide an active one. With several
lanes, the same functions advance several runs simultaneously (`batch.simd.lane_steps`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Length, Reals, inline, larger, sqrt, unrolled
from bondgraph.emit.llvm import Library, compile_procedures
from bondgraph.methods import MethodEntry
from bondgraph.run.accuracy.natural_scales import MIN_ERROR
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.segment import Tolerances
from bondgraph.run.steppers.shared_fields import IntegratorTable, derivative, error_weight

# Hairer's test: number of consecutive steps with h |lambda| beyond the stability boundary; number of good steps that reset it;
# minimum number of steps ahead for which a change of method pays off.
_STIFF_STEPS, _RESET_STEPS, _MIN_STEPS_AHEAD = 15, 6, 20_000.0
# Cost of a restart, which another method would need at every tick, in steps of this method.
_MIN_STEPS_TO_TICK = 200.0
_EMPTY = -0.0
"""Empty sum, which changes no bit of the first term."""

Weights = Mapping[int, float]


@dataclass(frozen=True, eq=False)
class Tableau:
    """Explicit method whose last stage is the end of the step.

    Parameters
    ----------
    name : name of the method.
    a : weights of the rates for the argument of each stage; stages used only by the dense output come last.
    c : times of all stages, as fractions of the step.
    last : index of the stage at the end of the step.
    errors : weights of the error estimate; a second estimate, if any, guards against a first estimate that is zero by chance.
    dense : rows of the dense output after the first three, which follow from both ends of the step.
    boundary : stability boundary, h |lambda|.
    root : as in `method.Method`.
    """

    name: str
    a: Sequence[Weights]
    c: Sequence[float]
    last: int
    errors: Sequence[Weights]
    dense: Sequence[Weights]
    boundary: float
    root: Callable[[float], float]

    @property
    def rows(self) -> int:
        return 3 + len(self.dense)


class ExplicitTable(IntegratorTable):
    # Coefficients of the dense output; squares of the errors; sums for `stiffness`.
    f: Annotated[Reals, Length(lambda c: c.rows * c.width)]
    squares: Annotated[Reals, Length(lambda c: c.estimates * c.width)]
    sums: Annotated[Reals, Length(lambda c: 2)]


@functools.cache
def method_of(tableau: Tableau) -> Method:
    return Method(
        name=tableau.name,
        table=ExplicitTable,
        sizes={"stages": len(tableau.a), "rows": tableau.rows, "estimates": len(tableau.errors)},
        last=tableau.last,
        explicit=True,
        root=tableau.root,
        rounding=rounding,
        attempt=attempt,
        prepare_dense=prepare_dense,
        dense=dense,
        cubic=hermite,
        stiffness=stiffness,
        exported=(limited_by_stability,),
        coefficients=tableau,
    )


@inline
def rounding(c: Any, i: int, h: float) -> float:
    return h * c.noise[i]


@inline
def weighted(k: Reals, width: int, i: int, row: Fixed) -> float:
    total = _EMPTY
    for j, weight in row.items():
        total = total + k[width * j + i] * weight
    return total


def combine(out: Disjoint, y: Reals, k: Reals, count: int, width: int, h: float, row: Fixed) -> None:
    for i in range(count):
        out[i] = y[i] + weighted(k, width, i, row) * h


def dense_row(out: Disjoint, k: Reals, width: int, h: float, row: Fixed) -> None:
    for i in range(width):
        out[i] = weighted(k, width, i, row) * h


def attempt(c: ExplicitTable, h: float, t_new: float, method: Fixed) -> float:
    width, y, y_new, y_stage, k, tableau = c.width, c.y, c.y_new, c.y_stage, c.k, method.coefficients
    for s in unrolled(range(1, tableau.last)):
        # Rates do not depend on integrated powers.
        combine(y_stage, y, k, c.n, width, h, tableau.a[s])
        # Integrals of powers do not need stages of weight zero.
        derivative(c, c.t + h * tableau.c[s], y_stage, k[width * s :], s in tableau.a[tableau.last])
    combine(y_new, y, k, width, width, h, tableau.a[tableau.last])
    derivative(c, t_new, y_new, k[width * tableau.last :], True)
    moved = 0.0
    for i in range(c.n, width):
        moved = larger(moved, abs(y_new[i]))
    squares, top = c.squares, 0.0
    if len(tableau.errors) == 2:
        two_squares(squares, squares[width:], c, h, moved, tableau.errors)
        other = 0.0
        for i in range(width):
            top = top + squares[i]
            other = other + squares[width + i]
        total = top + other * 0.01
    else:
        square(squares, c, h, moved, tableau.errors[0])
        for i in range(width):
            top = top + squares[i]
        total = top
    return 0.0 if total == 0.0 else abs(h) * top / sqrt(total)


@inline
def scale_of(c: Any, i: int, h: float, moved: float) -> float:
    """Return the error weight of component i over a step, with noise. Errors of integrated powers are relative to the largest
    integrated power, `moved`, because a power that is rounding error has no size of its own."""
    size = larger(abs(c.y[i]), abs(c.y_new[i]))
    return error_weight(c, i, size if i < c.n else moved) + abs(h) * c.noise[i]


def square(out: Disjoint, c: ExplicitTable, h: float, moved: float, row: Fixed) -> None:
    """Compute the square of the ratio of error to error weight for each component, but not their sum, which depends on the
    order of the terms and is not vectorised."""
    width, k = c.width, c.k
    for i in range(width):
        error = weighted(k, width, i, row) / scale_of(c, i, h, moved)
        out[i] = error * error


def two_squares(first: Disjoint, second: Disjoint, c: ExplicitTable, h: float, moved: float, rows: Fixed) -> None:
    width, k = c.width, c.k
    for i in range(width):
        scale = scale_of(c, i, h, moved)
        error = weighted(k, width, i, rows[0]) / scale
        other = weighted(k, width, i, rows[1]) / scale
        first[i] = error * error
        second[i] = other * other


def prepare_dense(c: ExplicitTable, h: float, method: Fixed) -> None:
    width, y, y_new, k, f, tableau = c.width, c.y, c.y_new, c.k, c.f, method.coefficients
    for s in unrolled(range(tableau.last + 1, len(tableau.a))):
        combine(c.y_dense, y, k, c.n, width, h, tableau.a[s])
        derivative(c, c.t + h * tableau.c[s], c.y_dense, k[width * s :], True)
    for i in range(width):
        step = y_new[i] - y[i]
        first, last = h * k[i], h * k[width * tableau.last + i]
        f[i] = step
        f[width + i] = first - step
        f[width * 2 + i] = step * 2.0 - (first + last)
    for row, weights in enumerate(tableau.dense):
        dense_row(f[width * (3 + row) :], k, width, h, weights)


def dense(c: ExplicitTable, theta: float, out: Disjoint, method: Fixed) -> None:
    width, y, f = c.width, c.y, c.f
    rest = 1.0 - theta
    for i in range(width):
        total = _EMPTY
        for row in unrolled(range(method.coefficients.rows - 1, -1, -1)):
            total = (total + f[width * row + i]) * (rest if row % 2 else theta)
        out[i] = y[i] + total


def hermite(c: ExplicitTable, theta: float, h: float, out: Disjoint, method: Fixed) -> None:
    width, y, y_new, k = c.width, c.y, c.y_new, c.k
    rest = 1.0 - theta
    for i in range(width):
        step = y_new[i] - y[i]
        bend = rest * (h * k[i] - step) - theta * (h * k[width * method.last + i] - step)
        out[i] = y[i] + theta * step + theta * rest * bend


def is_far(c: ExplicitTable, h: float) -> bool:
    return (c.stop - c.t > h * _MIN_STEPS_AHEAD) & (c.horizon - c.t > h * _MIN_STEPS_TO_TICK)


def stiffness(c: ExplicitTable, h: float, method: Fixed) -> bool:
    """Return True if stability has limited the step size for many steps (Hairer's test) and much of the run is still ahead."""
    if is_far(c, h):  # otherwise `limited_by_stability` does not need the sums
        compare_last_stages(c, method)
        return limited_by_stability(c, h, c.sums[0], c.sums[1], method)
    return limited_by_stability(c, h, 0.0, 0.0, method)


def compare_last_stages(c: ExplicitTable, method: Fixed) -> None:
    y, y_new, y_stage, k, width, above, below = c.y, c.y_new, c.y_stage, c.k, c.width, 0.0, 0.0
    for i in range(c.n):
        scale = error_weight(c, i, abs(y[i]))
        if scale > MIN_ERROR:
            rise = (k[width * method.last + i] - k[width * (method.last - 1) + i]) / scale
            run = (y_new[i] - y_stage[i]) / scale
            above += rise * rise
            below += run * run
    c.sums[0] = above
    c.sums[1] = below


def limited_by_stability(c: ExplicitTable, h: float, above: float, below: float, method: Fixed) -> bool:
    if h * h * above > below * method.coefficients.boundary**2 and is_far(c, h):
        c.mild = 0
        c.stiff += 1
        return c.stiff >= _STIFF_STEPS
    c.mild += 1
    if c.mild >= _RESET_STEPS:
        c.stiff = 0
    return False


class ExplicitRungeKutta(OneStep):
    def __init__(
        self,
        tableau: Tableau,
        library: Library,
        bound: Bound,
        tolerances: Tolerances,
        weights: ErrorWeights,
        options: StepperOptions,
    ):
        super().__init__(method_of(tableau), library, bound, tolerances, weights, {}, options.ticks, options.handler)
        self.table["watch"] = options.watch_stiffness


@dataclass(frozen=True, eq=False)
class ExplicitStepper:
    tableau: Tableau
    machine_code: Callable[[], Library]
    runs_in_lanes: ClassVar[bool] = True

    def integrator(
        self, bound: Bound, tolerances: Tolerances, weights: ErrorWeights, options: StepperOptions
    ) -> ExplicitRungeKutta:
        return ExplicitRungeKutta(self.tableau, self.machine_code(), bound, tolerances, weights, options)


def explicit_method(
    tableau: Tableau, order: int, dense: int, meaning: str, use: str, safety: float = 1e-2, least: float = 1e-15
) -> MethodEntry:
    """Return the entry of your own explicit Runge-Kutta method, for `simulate(method=...)`; arguments as for `MethodEntry`.

    The code is compiled when a run first needs it, and cached by its source code.
    """

    load = functools.partial(_stepper, tableau)
    return MethodEntry(tableau.name, order, dense, meaning, use, load, safety, least)


@functools.lru_cache(maxsize=16)
def _stepper(tableau: Tableau) -> ExplicitStepper:
    @build_once
    def machine_code() -> Library:
        return compile_procedures(procedures(method_of(tableau)))

    return ExplicitStepper(tableau, machine_code)
