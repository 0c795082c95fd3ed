"""Heat ports: the law of heat that flows between temperatures and produces entropy (RS), and the ports of dissipators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.model.element import Element, Port
from bondgraph.model.laws import PORT, TWO_PORTS, CausalityPreference, CausalityRequest, IdealSwitch, Law
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr

HEAT_PORT = "heat"
"""Name of the second port of a dissipator."""


@short_repr
@dataclass(frozen=True)
class HeatFlow(Law):
    """Irreversible transducer (RS): heat that flows out at its only port, or in at port 1 and out at port 2.

    The entropy flow of a port is heat / temperature; of a pseudo-bond the flow is the heat itself. It takes no power.

    Source: Thoma 1975; Karnopp, Margolis and Rosenberg 2012, chapter 12.
    """

    heat: Op | None = None
    """Operation (temperature of each port, parameters, signals) -> heat, W; None for the power that its signal gives."""
    sense: int = 1
    """-1 where that signal counts power out of its element, as of a switch."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT if len(ports) == 1 else (*TWO_PORTS, "power", "entropy")

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(True, CausalityPreference.MUST)


DISSIPATED: tuple[Op, ...] = (Op("heat", lambda power: power, "#1"), Op("heat", lambda power: -power, "-#1"))
"""Operations from the power of a dissipator, into it or out of it, to its heat. They do not act in an impulse, whose energy is
lost: that is no product of the impulse with an effort or flow, which jumps at the same instant."""


def heat_path(path: str) -> str:
    """Return the path of the heat port of the element at a path, which is an element of the flat model."""
    return f"{path}.{HEAT_PORT}"


def heat_port(path: str, element: Element) -> Element:
    """Return the heat port of a dissipator: all its power flows out there as heat. That of a switch counts out of it."""
    law, ports = HeatFlow(sense=-1 if isinstance(element.law, IdealSwitch) else 1), (Port(HEAT_PORT, 1),)
    return Element("RS", heat_path(path), law, ports, signals=(f"{path}.power",), place=element.place)
