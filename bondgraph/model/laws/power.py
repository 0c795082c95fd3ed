"""Laws by which power leaves a model or enters it: resistors, reactions and sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.model.laws.law import PORT, TWO_PORTS, Demand, Law, Variable, Wish
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class Resistor(Law):
    """Dissipator: effort from flow, flow from effort, or both where the relation can be inverted."""

    effort: Op | None
    flow: Op | None
    passive: bool = False
    """Whether its author declares that it never gives power."""
    linear: bool = False
    """Whether effort and flow are each other times a number, a diagonal or a matrix, or divided by it: the only parameter."""

    @property
    def one_way(self) -> bool:
        """Whether only one of the relations is given; against it, a value is sought for which it gives the other."""
        return self.effort is None or self.flow is None

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> Demand:
        return Demand(self.effort is None, Wish.AS_GIVEN) if self.one_way else Demand(True, Wish.RATHER)


@short_repr
@dataclass(frozen=True)
class Reaction(Law):
    """Dissipator between two ports: one flow, in at port 1 and out at port 2, from the efforts of both."""

    flow: Op
    """(effort at port 1, effort at port 2, parameters, signals) -> flow."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*TWO_PORTS, "flow", "power")

    def demand(self, port: int) -> Demand:
        return Demand(True, Wish.MUST)


@short_repr
@dataclass(frozen=True)
class Source(Law):
    """Effort or flow source: value(parameters, signals)."""

    gives: Variable
    value: Op | None = None
    """None: zero by structure, which gives no power."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> Demand:
        return Demand(self.gives == "flow", Wish.MUST)
