"""Step of an explicit Runge-Kutta method: stages, error estimate, dense output, and stiffness detection.

E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993, II.4 to II.6. The error is measured in the
Euclidean norm of the weighted components, not in their root mean square, so that quiet components do not hide an active one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_procedures
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.methods import MethodEntry
from bondgraph.run.accuracy.reference.natural_scales import MIN_ERROR
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.method import Method, error_weight, with_method_fields
from bondgraph.run.steppers.segment import Tolerances

# f: coefficients of the dense output; k has the rates of all stages; squares: squares of the errors.
FIELDS = with_method_fields("f squares")

# Hairer's test: h |lambda| beyond the stability boundary in this many steps in a row (`_RESET_STEPS` good ones reset the count).
# A change of method is worth it only if this many steps are still ahead.
_STIFF_STEPS, _RESET_STEPS, _MIN_STEPS_AHEAD = 15, 6, 20_000.0
# Another method would restart at every tick, at the cost of this many steps of this one.
_MIN_STEPS_TO_TICK = 200.0

Weights = Mapping[int, float]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit method whose last stage is the end of the step.

    Parameters
    ----------
    name : of the method.
    a : weights of the rates for the argument of each stage, followed by those of stages for the dense output alone.
    c : times of all stages, as fractions of the step.
    last : index of the stage at the end of the step.
    errors : weights of the error estimate; a second estimate keeps the first from being zero by chance.
    dense : rows of the dense output from the fourth on, which do not follow from both ends.
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
    root: Callable[[Procedure, Temporary], Temporary]

    @property
    def rows(self) -> int:
        """Number of rows of the dense output."""
        return 3 + len(self.dense)


def method_of(tableau: Tableau) -> Method:
    """Return the method of a tableau for the integration loop."""
    parts = [_squares, _attempt, _prepare_dense, _dense, _hermite, _held_down, _stiffness]
    return Method(
        name=tableau.name,
        fields=FIELDS,
        last=tableau.last,
        cubic="hermite",
        explicit=True,
        root=tableau.root,
        rounding=lambda record, i, h: h * record.get("noise")[i],
        procedures=lambda: [*_stage_procedures(tableau), *(part(tableau) for part in parts)],
    )


_COMBINE = {"out": "ptr noalias", "y": "ptr", "k": "ptr", "width": "i64", "h": "double"}


def _record(write: Procedure) -> Record:
    """Return the table passed as argument c."""
    return Record(write["c"], FIELDS)


def _combination(name: str, weights: Mapping[int, float], on_top: bool = True) -> Procedure:
    """Compute out = y + h sum_j weights[j] k[j]; without y if not `on_top`."""
    write = Procedure(name, _COMBINE, internal=True)
    starts = [(write["k"].at(write["width"] * j), weight) for j, weight in weights.items()]
    with write.loop(write["width"]) as i:
        total = starts[0][0][i] * starts[0][1]
        for start, weight in starts[1:]:
            total = total + start[i] * weight
        total = total * write["h"]
        write["out"][i] = write["y"][i] + total if on_top else total
    write.give()
    return write


def _stage_procedures(tableau: Tableau) -> list[Procedure]:
    """Return the linear combinations of the rates: stage1 ..., except the last; solution, dense3 ..."""
    stages = [stage for stage in range(1, len(tableau.a)) if stage != tableau.last]
    procedures = [_combination(f"stage{stage}", tableau.a[stage]) for stage in stages]
    procedures.append(_combination("solution", tableau.a[tableau.last]))
    return procedures + [_combination(f"dense{3 + row}", weights, on_top=False) for row, weights in enumerate(tableau.dense)]


def _attempt(tableau: Tableau) -> Procedure:
    """Compute all stages of a step of length h from (t, y) into k, y_stage and y_new; return error over tolerance."""
    write = Procedure("attempt", {"c": "ptr", "h": "double", "t_new": "double"}, "double", internal=True)
    record = _record(write)
    width, h, t = record.get("width"), write["h"], record.get("t")
    y, y_new, y_stage, k = (record.get(name) for name in ("y", "y_new", "y_stage", "k"))
    for s in range(1, tableau.last):
        write.call(f"stage{s}", [y_stage, y, k, width, h])
        # Integrals of powers do not need stages whose weight is zero.
        full = write.value(int(s in tableau.a[tableau.last]), "i64")
        write.call("derivative", [write["c"], t + h * tableau.c[s], y_stage, k.at(width * s), full])
    write.call("solution", [y_new, y, k, width, h])
    write.call("derivative", [write["c"], write["t_new"], y_new, k.at(width * tableau.last), write.value(1, "i64")])
    n, moved = record.get("n"), write.local(0.0)
    with write.loop(width, n) as i:
        moved.set(write.intrinsic("maxnum", moved.get(), write.intrinsic("fabs", y_new[i])))
    squares = [record.get("squares").at(width * index) for index in range(len(tableau.errors))]
    write.call("squares", [write["c"], *squares, h, moved.get()])
    totals = [write.local(0.0) for _ in squares]
    with write.loop(width) as i:
        for total, square in zip(totals, squares, strict=True):
            total.set(total.get() + square[i])
    top = totals[0].get()
    denominator = top if len(totals) == 1 else top + totals[1].get() * 0.01
    scaled = write.intrinsic("fabs", h) * top / write.intrinsic("sqrt", denominator)
    write.give(write.select(denominator.equals(0.0), 0.0, scaled))
    return write


def _squares(tableau: Tableau) -> Procedure:
    """Compute, for each component, the squares of its errors over the error weight; their sum, which depends on the order, is not
    vectorised. `moved` is the largest integrated power."""
    outs = {f"square{index}": "ptr noalias" for index in range(len(tableau.errors))}
    write = Procedure("squares", {"c": "ptr", **outs, "h": "double", "moved": "double"}, internal=True)
    record, size_of_step = _record(write), write.intrinsic("fabs", write["h"])
    n, width, y, y_new, k, noise = (record.get(name) for name in ("n", "width", "y", "y_new", "k", "noise"))
    with write.loop(width) as i:
        size = write.intrinsic("maxnum", write.intrinsic("fabs", y[i]), write.intrinsic("fabs", y_new[i]))
        # Errors of integrated powers are relative to the largest of them: one that is only rounding has no size of its own.
        scale = error_weight(write, record, i, write.select(i < n, size, write["moved"])) + size_of_step * noise[i]
        for out, weights in zip(outs, tableau.errors, strict=True):
            error = write.value(0.0, "double")
            for j, weight in weights.items():
                error = error + k[width * j + i] * weight
            error = error / scale
            write[out][i] = error * error
    write.give()
    return write


def _prepare_dense(tableau: Tableau) -> Procedure:
    """Compute the coefficients of the dense output over the step just attempted."""
    write = Procedure("prepare_dense", {"c": "ptr", "h": "double"}, internal=True)
    record = _record(write)
    width, h, t = record.get("width"), write["h"], record.get("t")
    y, y_new, y_stage, k, f = (record.get(name) for name in ("y", "y_new", "y_dense", "k", "f"))
    for s in range(tableau.last + 1, len(tableau.a)):
        write.call(f"stage{s}", [y_stage, y, k, width, h])
        rates = k.at(width * s)
        write.call("derivative", [write["c"], t + h * tableau.c[s], y_stage, rates, write.value(1, "i64")])
    with write.loop(width) as i:
        step = y_new[i] - y[i]
        first, last = h * k[i], h * k[width * tableau.last + i]
        f[i] = step
        f[width + i] = first - step
        f[width * 2 + i] = step * 2.0 - (first + last)
    for row in range(3, tableau.rows):
        write.call(f"dense{row}", [f.at(width * row), y, k, width, h])
    write.give()
    return write


def _dense(tableau: Tableau) -> Procedure:
    """Evaluate the dense output at the fraction theta of the step."""
    arguments = {"c": "ptr", "theta": "double", "out": "ptr noalias"}
    write = Procedure("dense", arguments, internal=True)
    record = _record(write)
    width, y, f, theta = record.get("width"), record.get("y"), record.get("f"), write["theta"]
    rest, last = 1.0 - theta, tableau.rows - 1
    with write.loop(width) as i:
        total = f[width * last + i] * (rest if last % 2 else theta)
        for row in range(last - 1, -1, -1):
            total = (total + f[width * row + i]) * (rest if row % 2 else theta)
        write["out"][i] = y[i] + total
    write.give()
    return write


def _hermite(tableau: Tableau) -> Procedure:
    """Evaluate the cubic Hermite interpolant at the fraction theta of the step, without evaluating the rates."""
    write = Procedure("hermite", {"c": "ptr", "theta": "double", "h": "double", "out": "ptr noalias"}, internal=True)
    record = _record(write)
    width, y, y_new, k = (record.get(name) for name in ("width", "y", "y_new", "k"))
    theta, h = write["theta"], write["h"]
    rest = 1.0 - theta
    with write.loop(width) as i:
        step = y_new[i] - y[i]
        bend = rest * (h * k[i] - step) - theta * (h * k[width * tableau.last + i] - step)
        write["out"][i] = y[i] + theta * step + theta * rest * bend
    write.give()
    return write


def _stiffness(tableau: Tableau) -> Procedure:
    """Return 1 if stability has limited the step size for many steps (Hairer's test), and much of the run is still ahead."""
    write = Procedure("stiffness", {"c": "ptr", "h": "double"}, "i64", internal=True)
    record, h = _record(write), write["h"]
    k, width = record.get("k"), record.get("width")
    above, below = write.local(0.0), write.local(0.0)
    # Otherwise `held_down` does not need the sums.
    with write.when(is_far(record, h)), write.loop(record.get("n")) as i:
        scale = error_weight(write, record, i, write.intrinsic("fabs", record.get("y")[i]))
        with write.when(scale > MIN_ERROR):
            rise = (k[width * tableau.last + i] - k[width * (tableau.last - 1) + i]) / scale
            run = (record.get("y_new")[i] - record.get("y_stage")[i]) / scale
            above.set(above.get() + rise * rise)
            below.set(below.get() + run * run)
    write.give(write.call("held_down", [write["c"], h, above.get(), below.get()], "i64"))
    return write


def is_far(record: Record, h: Temporary) -> Temporary:
    """Return 1 if enough of the run is still ahead, in steps of length h, to make another method worth it."""
    t = record.get("t")
    return (record.get("stop") - t > h * _MIN_STEPS_AHEAD) & (record.get("horizon") - t > h * _MIN_STEPS_TO_TICK)


def _held_down(tableau: Tableau) -> Procedure:
    """Test stiffness from sums of squares: the differences of rates (`above`) and states (`below`) between the last stage and the
    end of the step."""
    write = Procedure("held_down", {"c": "ptr", "h": "double", "above": "double", "below": "double"}, "i64")
    record, h, above, below = _record(write), write["h"], write["above"], write["below"]
    beyond = h * h * above > below * tableau.boundary**2
    with write.when(beyond & is_far(record, h)):
        record.set("mild", 0)
        record.count("stiff")
        write.give(write.select(record.get("stiff") >= _STIFF_STEPS, 1, 0, "i64"))
    record.count("mild")
    with write.when(record.get("mild") >= _RESET_STEPS):
        record.set("stiff", 0)
    write.give(0)
    return write


class ExplicitRungeKutta(OneStep):
    """Explicit Runge-Kutta method of a tableau, with dense output, in machine code (`library`); with `watch_stiffness` it ends a
    segment where the model is stiff."""

    def __init__(
        self,
        tableau: Tableau,
        library: Library,
        bound: Bound,
        tolerances: Tolerances,
        weights: SharedWeights,
        options: StepperOptions,
    ):
        width = bound.program.states + bound.quadratures
        lengths = {"k": len(tableau.a) * width, "f": tableau.rows * width, "squares": len(tableau.errors) * width}
        super().__init__(method_of(tableau), library, bound, tolerances, weights, lengths, options.ticks, options.settler)
        self.table["watch"] = options.watch_stiffness


@dataclass(frozen=True, eq=False)
class ExplicitStepper:
    """Code of a tableau's method."""

    tableau: Tableau
    machine_code: Callable[[], Library]

    def integrator(
        self, bound: Bound, tolerances: Tolerances, weights: SharedWeights, options: StepperOptions
    ) -> ExplicitRungeKutta:
        """Bind the method to a run."""
        return ExplicitRungeKutta(self.tableau, self.machine_code(), bound, tolerances, weights, options)


def explicit_method(
    tableau: Tableau, order: int, dense: int, meaning: str, use: str, safety: float = 1e-2, least: float = 1e-15
) -> MethodEntry:
    """Return the entry of an explicit Runge-Kutta method of your own, for `simulate(method=...)`; arguments as for `MethodEntry`.

    Its code is compiled when a run first needs it, and cached by its text.
    """

    load = functools.partial(_stepper, tableau)
    return MethodEntry(tableau.name, order, dense, meaning, use, safety, least, False, False, load)


@functools.lru_cache(maxsize=16)
def _stepper(tableau: Tableau) -> ExplicitStepper:
    """Return the code of a tableau, which is compiled once."""

    @build_once
    def machine_code() -> Library:
        return compile_procedures(procedures(method_of(tableau)))

    return ExplicitStepper(tableau, machine_code)
