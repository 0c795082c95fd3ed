"""The explicit method of order 8 as the loop around its steps, and a run, take it."""

from __future__ import annotations

from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.instants.settler import Settler
from bondgraph.run.integrators.explicit import steps
from bondgraph.run.integrators.leg import Tolerances
from bondgraph.run.integrators.one_step.driver import procedures
from bondgraph.run.integrators.one_step.integrator import OneStep
from bondgraph.run.integrators.one_step.method import Method
from bondgraph.run.ticks import Ticks


def _procedures() -> list[Procedure]:
    own = [steps.attempt(), steps.prepare_dense(), steps.dense(), steps.hermite(), steps.stiffness()]
    return [*steps.combinations(), *own]


DOP853 = Method(
    name="dop853",
    fields=steps.FIELDS,
    last=steps.STAGES,
    cubic="hermite",
    explicit=True,
    root=steps.eighth_root,
    rounding=lambda record, i, h: h * record.get("noise")[i],
    procedures=_procedures,
)


def written() -> list[Procedure]:
    """All procedures of the method, with the loops around its steps."""
    return procedures(DOP853)


@once
def machine_code() -> Library:
    """The method as machine code."""
    return compile_written(written)


class Dop853(OneStep):
    """Explicit Runge-Kutta method of order 8 with dense output, in machine code."""

    def __init__(
        self,
        bound: Bound,
        tolerances: Tolerances,
        weights: SharedWeights,
        watch_stiffness: bool,
        ticks: Ticks | None,
        settler: Settler | None = None,
    ):
        width = bound.program.states + bound.quadratures
        lengths = {"k": steps.EXTENDED * width, "f": steps.DENSE * width}
        super().__init__(DOP853, machine_code(), bound, tolerances, weights, lengths, ticks, settler)
        self.table["watch"] = watch_stiffness
