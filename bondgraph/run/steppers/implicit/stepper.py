"""Implicit method bound to a run, with its linear systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from bondgraph.emit.llvm import Library
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.linear.layout import MatrixLayout
from bondgraph.run.linear.system import table_of
from bondgraph.run.program import Program
from bondgraph.run.steppers.integrator import OneStep, StepperOptions
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.segment import Tolerances

Systems = Mapping[str, Callable[[Program, str], MatrixLayout]]
"""Mapping from fields of a method's table to functions that return the layout of the linear system in that field, for a program
and a kind of linear algebra."""


class ImplicitMethod(OneStep):
    def __init__(
        self, stepper: ImplicitStepper, bound: Bound, tolerances: Tolerances, weights: ErrorWeights, options: StepperOptions
    ):
        self._systems = {name: table_of(layout(bound.program, options.linear)) for name, layout in stepper.systems.items()}
        nonzeros = int(self._systems["system"]["count"])
        library = stepper.machine_code()
        sizes = {"nonzero_count": nonzeros}
        super().__init__(stepper.method, library, bound, tolerances, weights, sizes, options.ticks, options.handler)
        for name, system in self._systems.items():
            self.table.point(name, system)
        self.table["nonzero_count"] = nonzeros


@dataclass(frozen=True, eq=False)
class ImplicitStepper:
    """Code of an implicit method; the system named "system" is that of its Jacobian."""

    method: Method
    machine_code: Callable[[], Library]
    systems: Systems
    runs_in_lanes: ClassVar[bool] = False

    def integrator(self, bound: Bound, tolerances: Tolerances, weights: ErrorWeights, options: StepperOptions) -> ImplicitMethod:
        return ImplicitMethod(self, bound, tolerances, weights, options)
