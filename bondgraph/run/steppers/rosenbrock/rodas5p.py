"""Rodas5P as a method for the integration loop, and bound to a run."""

from __future__ import annotations

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.linear import system
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.rosenbrock import coefficients, quadratures, steps
from bondgraph.run.steppers.rosenbrock.fields import FIELDS
from bondgraph.run.steppers.segment import Tolerances


def _procedures() -> list[Procedure]:
    stages = [steps.combination(stage) for stage in range(1, coefficients.STAGES)]
    inside = [steps.prepare_dense(), steps.inside(), quadratures.inside(), steps.dense(), steps.look()]
    step_parts = [quadratures.integrals(), steps.drift(), steps.jacobian(), steps.factors(), steps.unknowns(), steps.attempt()]
    return [*system.procedures(), *stages, *inside, *step_parts]


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
        lengths |= {"flows": len(quadratures.NODES) * powered, "nonzeros": int(self._system["count"])}
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
