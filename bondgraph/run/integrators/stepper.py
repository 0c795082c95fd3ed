"""What a method of integration offers to a run: its machine code, and an integrator bound to the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bondgraph.emit.llvm import Library
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.instants.settler import Settler
from bondgraph.run.integrators.leg import Tolerances
from bondgraph.run.integrators.one_step.integrator import OneStep
from bondgraph.run.ticks import Ticks


@dataclass(frozen=True, eq=False)
class StepperOptions:
    """Options of an integrator: kind of linear algebra, whether to report stiffness, clocks and event handler, if any."""

    linear: str = "auto"
    watch_stiffness: bool = False
    ticks: Ticks | None = None
    settler: Settler | None = None


class MethodCode(Protocol):
    """Code of a method: what `MethodEntry.load` gives."""

    @property
    def machine_code(self) -> Callable[[], Library]:
        """Compile the loop around its steps, once in a process."""

    def integrator(self, bound: Bound, tolerances: Tolerances, weights: SharedWeights, options: StepperOptions) -> OneStep:
        """Bind the method to a run."""
