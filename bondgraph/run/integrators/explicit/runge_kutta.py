"""An explicit Runge-Kutta method bound to a run -> legs."""

from __future__ import annotations

from bondgraph.emit.llvm import Library
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.instants.settler import Settler
from bondgraph.run.integrators.explicit.steps import Tableau, method_of
from bondgraph.run.integrators.leg import Tolerances
from bondgraph.run.integrators.one_step.integrator import OneStep
from bondgraph.run.ticks import Ticks


class ExplicitRungeKutta(OneStep):
    """The method of a tableau, with dense output, in machine code (`library`); where it is to `watch_stiffness`, it ends a leg
    in a model that is stiff."""

    def __init__(
        self,
        tableau: Tableau,
        library: Library,
        bound: Bound,
        tolerances: Tolerances,
        weights: SharedWeights,
        watch_stiffness: bool,
        ticks: Ticks | None,
        settler: Settler | None,
    ):
        width = bound.program.states + bound.quadratures
        lengths = {"k": len(tableau.a) * width, "f": tableau.rows * width, "squares": len(tableau.errors) * width}
        super().__init__(method_of(tableau), library, bound, tolerances, weights, lengths, ticks, settler)
        self.table["watch"] = watch_stiffness
