"""Ideal laws, whose effort or flow is whatever another value demands: constraints and switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from bondgraph.model.laws.given import StateSpec
from bondgraph.model.laws.law import PORT, Demand, Switched, Wish
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import brief


@brief
@dataclass(frozen=True)
class IdealConstraint(Switched):
    """Ideal constraint of zero flow, whose effort is a Lagrange multiplier.

    The effort is such that h'' + a1 h' + a0 h + a2 h^3 = 0, where h' is the flow and h either its integral (a state) or
    `position`(parameters, signals): index reduction with Baumgarte stabilisation, and the cubic term of Bortoff 2020.
    A switched one holds only in the active modes of its automaton, and gives the effort `released` in the others.
    """

    position: Op | None
    start: StateSpec
    """Start value of h, where h is the integral of the flow."""
    released: Op | None = None
    """Effort while the constraint is off, (mode, flow, noted, parameters, signals); None for zero."""
    noted: Mapping[str, StateSpec] = field(default_factory=dict)
    """States that only transitions set."""
    impulsive: bool = True
    """True if an impulse sets the flow to zero where the constraint begins to hold; else the flow decays as h does."""
    stores_position: bool = True
    """True if h is a state where no position is given; else only the flow is stabilised, f' + a1 f = 0."""
    coordinates: int = 0
    """Number of coordinates, the first signals, which `position` depends on and whose rates are the flows of as many ports: then
    h' = sum of J_k f_k with J_k the derivatives of the position. 0: one port, whose flow is h' itself."""
    conditions: int = 1
    """Number of scalars of h, with coordinates."""
    measured: bool = False
    """True if the rates of the signals of `position` include corrections: then h' is its rate only without corrections, and the two
    are not compared."""

    def states(self) -> Mapping[str, StateSpec]:
        position = {"h": self.start} if self.position is None and self.stores_position else {}
        return {**position, **self.noted}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        position = ("h",) if self.position or self.stores_position else ()
        by_port = [f"{port}.{part}" for port in ports for part in ("J", "effort", "flow")] if self.coordinates else ()
        return (*PORT, "h'", "multiplier", *position, *(("h''", *self.noted) if self.noted else ()), *by_port)

    def stops(self, source: str, target: str) -> bool:
        return self.impulsive and target in self.active and source not in self.active

    def demand(self, port: int) -> Demand:
        return Demand(False, Wish.MUST)


@brief
@dataclass(frozen=True)
class IdealSwitch(Switched):
    """Ideal switch: no effort while its automaton is in one of the active (`closed`) states, no flow in all others."""

    automaton: str
    word: ClassVar[str] = "closed"

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, "inflow")

    def stops(self, source: str, target: str) -> bool:
        return (source in self.active) != (target in self.active)

    def demand(self, port: int) -> Demand:
        return Demand(True, Wish.RATHER)
