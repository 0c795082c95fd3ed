"""Explicit Runge-Kutta methods bound to a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_procedures
from bondgraph.methods import MethodEntry
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.explicit import Tableau, method_of
from bondgraph.run.steppers.integrator import OneStep
from bondgraph.run.steppers.segment import Tolerances
from bondgraph.run.steppers.stepper import StepperOptions


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
    """Code of the method of a tableau."""

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
    """The entry of an explicit Runge-Kutta method of your own, for `simulate(method=...)`; arguments as of `MethodEntry`.

    Its code is compiled when a run first needs it, and kept in the cache by its text.
    """

    @build_once
    def machine_code() -> Library:
        return compile_procedures(procedures(method_of(tableau)))

    stepper = ExplicitStepper(tableau, machine_code)
    return MethodEntry(tableau.name, order, dense, meaning, use, safety, least, False, False, lambda: stepper)
