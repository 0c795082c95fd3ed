"""Rodas5P as a method for the integration loop, and bound to a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
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
    moved, total = write.local(0.0), write.local(0.0)
    with write.loop(many) as i:
        values = [k[i], *(flows[many * node + i] for node in range(1, len(NODES) - 1)), k[record.get("width") * LAST + i]]
        gained = write.value(0.0, "double")
        for node, (value, weight) in enumerate(zip(values, WEIGHTS, strict=True)):
            flows[many * node + i] = h * value
            gained = gained + value * weight
        y_new[i] = y[i] + h * gained
        moved.set(write.intrinsic("maxnum", moved.get(), write.intrinsic("fabs", y_new[i])))
    with write.loop(many) as i:
        error = write.value(0.0, "double")
        for node, weight in enumerate(ERROR):
            error = error + flows[many * node + i] * weight
        # The error weight follows from the largest power: one that is only rounding has no size of its own.
        scale = error_weight(write, record, n + i, moved.get()) + h * record.get("noise")[n + i]
        part = error / scale
        total.set(total.get() + part * part)
    write.give(total.get())
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
    dense_parts = [steps.prepare_dense(), steps.inside(), inside(), steps.dense(), steps.look()]
    step_parts = [integrals(), steps.drift(), steps.jacobian(), steps.factors(), steps.unknowns()]
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
        lengths |= {"flows": len(NODES) * powered, "nonzeros": int(self._system["count"])}
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
