"""Ideal laws, whose effort or flow is whatever another value demands: constraints and switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from bondgraph.model.laws.given import StateSpec
from bondgraph.model.laws.law import PORT, Demand, Switched, Wish
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class IdealConstraint(Switched):
    """No flow, by whatever effort that takes: the effort is a Lagrange multiplier.

    It is such that h'' + a1 h' + a0 h + a2 h^3 = 0, where h' is the flow and h either its integral (a state) or
    `position`(parameters, signals): index reduction with Baumgarte's stabilisation, and the cubic term of Bortoff 2020.
    A switched one holds only in the active modes of its automaton, and gives the effort `released` in the others.
    """

    position: Op | None
    start: StateSpec
    """Of h, where it is the integral of the flow."""
    released: Op | None = None
    """Effort while it does not hold, (mode, flow, noted, parameters, signals); None: zero."""
    noted: Mapping[str, StateSpec] = field(default_factory=dict)
    """States that transitions alone set."""
    impulsive: bool = True
    """Whether the flow jumps to zero where it begins to hold, by an impulse; else it decays as h does."""
    stores_position: bool = True
    """Whether h is a state where no position is given; else the flow alone is stabilised, f' + a1 f = 0."""
    coordinates: int = 0
    """Count of coordinates, the first signals, of which `position` is a function and whose rates are the flows of as many
    ports: then h' = sum of J_k f_k with J_k the derivatives of the position. 0: one port, whose flow is h' itself."""
    conditions: int = 1
    """Of one with coordinates: count of the scalars of h."""
    measured: bool = False
    """Whether the rates of what `position` reads hold corrections beside the motion: then h' is its rate only where there is
    nothing to correct, and the two are not compared."""

    def states(self) -> Mapping[str, StateSpec]:
        position = {"h": self.start} if self.position is None and self.stores_position else {}
        return {**position, **self.noted}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        position = ("h",) if self.position or self.stores_position else ()
        own = [f"{port}.{part}" for port in ports for part in ("J", "effort", "flow")] if self.coordinates else ()
        return (*PORT, "h'", "multiplier", *position, *(("h''", *self.noted) if self.noted else ()), *own)

    def stops(self, source: str, target: str) -> bool:
        return self.impulsive and target in self.active and source not in self.active

    def demand(self, port: int) -> Demand:
        return Demand(False, Wish.MUST)


@short_repr
@dataclass(frozen=True)
class IdealSwitch(Switched):
    """No effort while its automaton is in one of the active states (`closed` ones), no flow in all others."""

    automaton: str
    word: ClassVar[str] = "closed"

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, "inflow")

    def stops(self, source: str, target: str) -> bool:
        return (source in self.active) != (target in self.active)

    def demand(self, port: int) -> Demand:
        return Demand(True, Wish.RATHER)
