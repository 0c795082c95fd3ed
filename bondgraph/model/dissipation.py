"""Laws of dissipators with several ports: R-fields, and heat that flows between temperatures and produces entropy (RS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.model.element import Element, Port
from bondgraph.model.laws import OTHER, PORT, TWO_PORTS, CausalityPreference, CausalityRequest, IdealSwitch, Law, Variable
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr

HEAT_PORT = "heat"
"""Name of the port at which the power of an R, friction or switch leaves as heat."""


@short_repr
@dataclass(frozen=True)
class ResistorField(Law):
    """Dissipator with n ports of dimension 1, whose flows are positive into the element; its formula gives all flows from all
    efforts, or all efforts from all flows.

    At a port where the graph sets the variable that the formula gives, Newton iteration solves for the variable that the formula
    takes.
    """

    gives: Variable
    formula: Op
    """Operation (the other variable (n,), parameters, signals) -> the variable `gives` (n,)."""
    passive: bool = False
    """True if the user declares that the formula never supplies power."""

    @property
    def takes(self) -> Variable:
        return OTHER[self.gives]

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*(f"{port}.{which}" for port in ports for which in ("effort", "flow")), "power")

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(self.gives == "flow", CausalityPreference.AS_GIVEN)


@short_repr
@dataclass(frozen=True)
class HeatFlow(Law):
    """Irreversible transducer (RS): heat that flows out at its only port, or in at port 1 and out at port 2.

    The entropy flow of a port is heat / temperature; on a pseudo-bond the flow is the heat itself. The element conserves power.

    Source: Thoma 1975; Karnopp, Margolis and Rosenberg 2012, chapter 12.
    """

    heat: Op | None = None
    """Operation (temperature of each port, parameters, signals) -> heat, W; None if the element's signal is the heat."""
    sense: int = 1
    """-1 if the signal is the power out of its element, as for a switch; else 1."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT if len(ports) == 1 else (*TWO_PORTS, "power", "entropy")

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(True, CausalityPreference.MUST)


DISSIPATED: tuple[Op, ...] = (Op("heat", lambda power: power, "#1"), Op("heat", lambda power: -power, "-#1"))
"""Operations from the power into a dissipator, or out of it, to its heat. They do not apply to impulses: the energy that an
impulse dissipates is not the impulse times an effort or flow, because these jump at the same instant."""


def heat_path(path: str) -> str:
    """Return the path of an element's heat port, which is an element of its own in the flat model."""
    return f"{path}.{HEAT_PORT}"


def heat_port(path: str, element: Element) -> Element:
    """Return the heat port of a dissipator: all its power flows out there as heat. The power of a switch counts as outgoing."""
    law, ports = HeatFlow(sense=-1 if isinstance(element.law, IdealSwitch) else 1), (Port(HEAT_PORT, 1),)
    return Element("RS", heat_path(path), law, ports, signals=(f"{path}.power",), place=element.place)
