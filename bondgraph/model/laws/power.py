"""Laws by which power leaves a model or enters it: resistors, reactions and sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.model.laws.law import PORT, TWO_PORTS, Demand, Law, Variable, Wish
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import brief


@brief
@dataclass(frozen=True)
class Resistor(Law):
    """Dissipator: effort from flow, flow from effort, or both where the relation can be inverted."""

    effort: Op | None
    flow: Op | None
    passive: bool = False
    """True if its author declares that it never gives power."""
    linear: bool = False
    """True if effort and flow are proportional by a number, a diagonal or a matrix, the only parameter."""

    @property
    def one_way(self) -> bool:
        """True if only one of the relations is given; the other causality solves it by Newton iteration."""
        return self.effort is None or self.flow is None

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> Demand:
        return Demand(self.effort is None, Wish.AS_GIVEN) if self.one_way else Demand(True, Wish.RATHER)


@brief
@dataclass(frozen=True)
class Reaction(Law):
    """Dissipator between two ports: one flow, in at port 1 and out at port 2, from the efforts of both."""

    flow: Op
    """Operation (effort at port 1, effort at port 2, parameters, signals) -> flow."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*TWO_PORTS, "flow", "power")

    def demand(self, port: int) -> Demand:
        return Demand(True, Wish.MUST)


@brief
@dataclass(frozen=True)
class Source(Law):
    """Effort or flow source: value(parameters, signals)."""

    gives: Variable
    value: Op | None = None
    """Value of the source; None for a structural zero, which gives no power."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> Demand:
        return Demand(self.gives == "flow", Wish.MUST)
