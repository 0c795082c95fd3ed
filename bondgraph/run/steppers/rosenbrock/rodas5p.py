"""Rodas5P as a method for the integration loop, and bound to a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.linear import system
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.method import Method, error_weight
from bondgraph.run.steppers.rosenbrock import coefficients, steps
from bondgraph.run.steppers.rosenbrock.steps import FIELDS, LAST, record_of
from bondgraph.run.steppers.segment import Tolerances

NODES = (0.0, 0.5 - math.sqrt(3.0 / 28.0), 0.5, 0.5 + math.sqrt(3.0 / 28.0), 1.0)
WEIGHTS = (1.0 / 20.0, 49.0 / 180.0, 16.0 / 45.0, 49.0 / 180.0, 1.0 / 20.0)
ERROR = (2.0 / 15.0, -14.0 / 45.0, 16.0 / 45.0, -14.0 / 45.0, 2.0 / 15.0)
"""Difference between these weights and those of order 4 without the midpoint."""


WIDTH = 2.0**-17
"""Largest relative change of a state in the central difference of `corrected_powers`: its square is about rounding over it."""
STRAIGHT = 2.0**-8
"""Largest second difference of the powers, relative to the first, with which that difference counts; if it is larger where the
states change in proportion to their sizes so far, they change in proportion to their present values."""
SIGNIFICANT = 0.1
"""Part of the tolerance from which a correction of an integrated power counts."""


def along(nodes: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Integrate the Lagrange polynomials of nodes from 0; return for each integral the coefficients of x, x^2, ..."""
    polynomials = []
    for node in nodes:
        terms, scale = [1.0], 1.0
        for other in nodes:
            if other != node:
                terms = [low - other * high for low, high in zip([0.0, *terms], [*terms, 0.0], strict=True)]
                scale *= node - other
        polynomials.append(tuple(term / scale / (power + 1) for power, term in enumerate(terms)))
    return tuple(polynomials)


def integrals() -> Procedure:
    """Compute the integrated powers at the end of the step just attempted, into y_new; return the sum of the squares of their
    errors over the tolerance."""
    write = Procedure("power_integrals", {"c": "ptr", "h": "double"}, "double", internal=True)
    record, c, h, t = record_of(write), write["c"], write["h"], record_of(write).get("t")
    n, many, flows, state = (record.get(name) for name in ("n", "quadratures", "flows", "y_dense"))
    y, y_new, k = (record.get(name).at(n) for name in ("y", "y_new", "k"))
    for node in range(1, len(NODES) - 1):
        write.call("states_inside", [c, write.value(NODES[node], "double"), state])
        now = clock_time(write, record, t + h * NODES[node])
        write.call(record.get("powers"), [now, state, record.get("p"), record.get("m"), flows.at(many * node)])
    moved, total, excused = write.local(0.0), write.local(0.0), write.local(0, "i64")
    with write.loop(many) as i:
        values = [k[i], *(flows[many * node + i] for node in range(1, len(NODES) - 1)), k[record.get("width") * LAST + i]]
        gained = write.value(0.0, "double")
        for node, (value, weight) in enumerate(zip(values, WEIGHTS, strict=True)):
            flows[many * node + i] = h * value
            gained = gained + value * weight
        y_new[i] = y[i] + h * gained
        moved.set(write.intrinsic("maxnum", moved.get(), write.intrinsic("fabs", y_new[i])))
    with write.loop(many) as i:
        # The error weight follows from the largest power: one that is only rounding has no size of its own.
        scale, noise = error_weight(write, record, n + i, moved.get()), h * record.get("noise")[n + i]
        with write.when(noise > scale):
            excused.set(1)
        part = _error(write, flows, many, i) / (scale + noise)
        total.set(total.get() + part * part)
    with write.when((excused.get() + record.get("fast")).equals(0)):
        write.give(total.get())
    write.call("correct_powers", [c, h])
    changes, significant = flows.at(many * len(NODES)), write.local(0, "i64")
    with write.loop(many) as i:
        change = write.value(0.0, "double")
        for node, weight in enumerate(WEIGHTS):
            change = change + changes[many * node + i] * weight
        with write.when(write.intrinsic("fabs", change) > error_weight(write, record, n + i, moved.get()) * SIGNIFICANT):
            significant.set(1)
    with write.when(significant.get().equals(0)):
        write.give(total.get())
    for sums in (moved, total):
        sums.set(0.0)
    with write.loop(many) as i:
        gained = write.value(0.0, "double")
        for node, weight in enumerate(WEIGHTS):
            flows[many * node + i] = flows[many * node + i] + changes[many * node + i]
            gained = gained + flows[many * node + i] * weight
        y_new[i] = y[i] + gained
        moved.set(write.intrinsic("maxnum", moved.get(), write.intrinsic("fabs", y_new[i])))
    with write.loop(many) as i:
        part = _error(write, flows, many, i) / (error_weight(write, record, n + i, moved.get()) + h * record.get("noise")[n + i])
        total.set(total.get() + part * part)
    write.give(total.get())
    return write


def _error(write: Procedure, flows: Temporary, many: Temporary, i: Temporary) -> Temporary:
    """Return the error of an integrated power over the step just attempted, J."""
    error = write.value(0.0, "double")
    for node, weight in enumerate(ERROR):
        error = error + flows[many * node + i] * weight
    return error


def corrected_powers() -> Procedure:
    """Compute corrections of the powers at the nodes of the step just attempted, times the step size, into the rows behind those
    of `flows`, for states that rounding or the error of the dense output takes off the slow manifold.

    A fast process near equilibrium, such as a reaction whose forward and reverse rates nearly cancel, turns the least such error
    d into a large power. The slopes s of the dense output are the true rates, so that (1 - h GAMMA J) d = h GAMMA (f - s) gives
    the change d of the states after which their rates f are s. The power follows by its first and second derivatives along d,
    from central differences so wide that rounding does not count.
    """
    write = Procedure("correct_powers", {"c": "ptr", "h": "double"}, internal=True)
    record, c, h, t = record_of(write), write["c"], write["h"], record_of(write).get("t")
    n, many, p, m = (record.get(name) for name in ("n", "quadratures", "p", "m"))
    state, off, ahead, beyond = (record.get(name) for name in ("y_dense", "rate", "ahead", "beyond"))
    flows = record.get("flows")
    changes, above, below = (flows.at(many * row) for row in (len(NODES), 2 * len(NODES), 2 * len(NODES) + 1))
    for node, theta in enumerate(NODES):
        now = clock_time(write, record, t + h * theta)
        write.call("states_inside", [c, write.value(theta, "double"), state])
        write.call("slopes_inside", [c, write.value(theta, "double"), beyond])
        write.call("derivative", [c, t + h * theta, state, ahead, write.value(0, "i64")])
        with write.loop(n) as i:
            record.get("rest")[i] = beyond[i] * -coefficients.GAMMA
        write.call("unknowns", [c, h, ahead, write.value(0.0, "double"), off])
        differs = write.local(1, "i64")
        for sizes in (record.get("size"), None):
            furthest, first, second = write.local(0.0), write.local(0.0), write.local(0.0)
            with write.loop(n) as i:
                magnitude = write.intrinsic("fabs", state[i])
                magnitude = magnitude if sizes is None else write.intrinsic("maxnum", magnitude, sizes[i])
                furthest.set(write.intrinsic("maxnum", furthest.get(), write.intrinsic("fabs", off[i]) / magnitude))
            wide = WIDTH / furthest.get()
            with write.when((furthest.get() > 0.0) & differs.get().equals(1)):
                with write.loop(n) as i:
                    ahead[i] = state[i] + wide * off[i]
                    beyond[i] = state[i] - wide * off[i]
                write.call(record.get("powers"), [now, ahead, p, m, above])
                write.call(record.get("powers"), [now, beyond, p, m, below])
                with write.loop(many) as i:
                    change = h * (above[i] - below[i])
                    bend = h * (above[i] + below[i]) - 2.0 * flows[many * node + i]
                    first.set(first.get() + write.intrinsic("fabs", change))
                    second.set(second.get() + write.intrinsic("fabs", bend))
                    changes[many * node + i] = (change + bend / wide) / (2.0 * wide)
                straight = second.get() <= STRAIGHT * first.get()
                straight = straight if sizes is not None else straight | (wide > 1.0)
                differs.set(write.select(straight, 0, 1, "i64"))
        with write.when(differs.get().equals(1)), write.loop(many) as i:
            changes[many * node + i] = 0.0
    write.give()
    return write


def inside() -> Procedure:
    """Evaluate the integrated powers at the fraction theta of the step."""
    write = Procedure("powers_inside", {"c": "ptr", "theta": "double", "out": "ptr noalias"}, internal=True)
    record, theta = record_of(write), write["theta"]
    n, many, flows = record.get("n"), record.get("quadratures"), record.get("flows")
    parts = []
    for terms in along(NODES):
        total = write.value(terms[-1], "double")
        for term in reversed(terms[:-1]):
            total = total * theta + term
        parts.append(total * theta)
    y, out = record.get("y").at(n), write["out"].at(n)
    with write.loop(many) as i:
        gained = write.value(0.0, "double")
        for node, part in enumerate(parts):
            gained = gained + flows[many * node + i] * part
        out[i] = y[i] + gained
    write.give()
    return write


def _procedures() -> list[Procedure]:
    stages = [steps.combination(stage) for stage in range(1, coefficients.STAGES)]
    dense_parts = [steps.prepare_dense(), steps.inside(), steps.slopes(), inside(), steps.dense(), steps.look()]
    step_parts = [steps.drift(), steps.jacobian(), steps.factors(), steps.unknowns(), corrected_powers(), integrals()]
    step_parts += [steps.damps_growth(), steps.attempt(), steps.foresee(RODAS5P)]
    return [*system.procedures(), *stages, *dense_parts, *step_parts]


RODAS5P = Method(
    name="rodas5p",
    fields=FIELDS,
    last=steps.LAST,
    cubic="look_inside",
    explicit=False,
    root=steps.fifth_root,
    rounding=steps.rounding,
    procedures=_procedures,
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

    def __init__(self, bound: Bound, tolerances: Tolerances, weights: SharedWeights, options: StepperOptions):
        program = bound.program
        n, powered = program.states, bound.quadratures
        self._system = system.table_of(program.matrix_layout(options.linear))
        lengths = dict.fromkeys(("rate", "drift", "ahead", "beyond", "rest"), n)
        lengths |= {"k": 2 * (n + powered), "u": coefficients.STAGES * n, "f": steps.DENSE * n}
        lengths |= {"flows": (2 * len(NODES) + 2) * powered, "nonzeros": int(self._system["count"])}
        super().__init__(RODAS5P, machine_code(), bound, tolerances, weights, lengths, options.ticks, options.settler)
        self.table.point("system", self._system.address)
        self.table["nonzero_count"] = self._system["count"]


class RosenbrockStepper:
    """Code of the method."""

    machine_code = staticmethod(machine_code)

    def integrator(self, bound: Bound, tolerances: Tolerances, weights: SharedWeights, options: StepperOptions) -> Rodas5P:
        """Bind the method to a run."""
        return Rodas5P(bound, tolerances, weights, options)


STEPPER = RosenbrockStepper()
