"""Values of a system by name, as functions of the velocities of its independent inertias: scalars, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bondgraph.model.model import Model
from bondgraph.model.units import spread
from bondgraph.stepping.given_velocities import velocities_of
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of

Sparse = dict[tuple[int, int], Any]
"""(row, column) -> entry; the others are zero."""


class StepValues:
    """A traced system and what its values are functions of.

    `v` are the scalars of the velocities, `places` theirs in x, `labels` and `owners` a name and the inertia of each, `turns`
    whether each is the rate of an angle; `h` is the length of the step.
    """

    def __init__(self, traced: Traced, model: Model):
        self.context, self.model = traced.context, model
        self.values, self.system, self.tape = traced.values, traced.context.system, traced.context.tape
        self.x = self.context.inputs["x"]
        (self.h,) = self.tape.inputs("h", 1)
        self.places, self.labels, self.owners, self.turns = list[int](), list[str](), list[str](), list[bool]()
        for name in velocities_of(self.system, model):
            own = list(self.system.places[name])
            self.places += own
            self.owners += [name.rpartition(".")[0]] * len(own)
            units = spread(model.bonds_at(self.owners[-1])[0].domain.flow_unit, len(own)) or [""] * len(own)
            self.turns += [unit.startswith("rad") for unit in units]
            self.labels += [f"{name}[{k}]" for k in range(len(own))] if len(own) > 1 else [name]
        self.v = [self.x[k] for k in self.places]

    def at(self, name: str) -> list[Any]:
        """Scalars of a value."""
        return scalars_of(self.values[self.system.resolve(name)])

    def resting(self, scalars: Sequence[Any]) -> list[TapeScalar]:
        """Scalars with all velocities zero."""
        return self.context.without(self.v, [self.tape.scalar(s) for s in scalars])

    def slopes(self, scalars: Sequence[Any], by: Sequence[TapeScalar] | None = None) -> Sparse:
        """Nonzero derivatives (scalar, velocity), or by other inputs."""
        found = jacobian([self.tape.scalar(s) for s in scalars], self.v if by is None else by)
        return {(int(i), int(j)): v for i, j, v in zip(found.rows, found.columns, found.values, strict=True)}

    def curved(self, slopes: Sparse) -> bool:
        """Whether slopes depend on the velocities themselves."""
        return bool({scalar.index for scalar in self.v} & self.context.reached(list(slopes.values())))
