"""Interface of an integration method to a run: its machine code, and an integrator bound to the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bondgraph.emit.llvm import Library
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.handler import Settler
from bondgraph.run.steppers.integrator import OneStep
from bondgraph.run.steppers.segment import Tolerances


@dataclass(frozen=True, eq=False)
class StepperOptions:
    """Options of an integrator: kind of linear algebra, whether to report stiffness, clocks and event handler, if any."""

    linear: str = "auto"
    watch_stiffness: bool = False
    ticks: ClockSchedule | None = None
    settler: Settler | None = None


class MethodCode(Protocol):
    """Code of a method: what `MethodEntry.load` gives."""

    @property
    def machine_code(self) -> Callable[[], Library]:
        """Compile the loop around its steps, once in a process."""

    def integrator(self, bound: Bound, tolerances: Tolerances, weights: SharedWeights, options: StepperOptions) -> OneStep:
        """Bind the method to a run."""
