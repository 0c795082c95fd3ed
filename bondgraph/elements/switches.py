"""Ideal switching elements: switch and diode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bondgraph.model.arguments import bounded
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, one_port
from bondgraph.model.laws import IdealSwitch
from bondgraph.model.names import names_of
from bondgraph.model.ops import Op


def Switch(
    name: str,
    *,
    automaton: str,
    closed: Sequence[str],
    alpha1: float = 10.0,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Return an ideal switch: no effort while the automaton is in one of the `closed` states, no flow in all others.

    Where it closes on charged capacitors or opens on a current, an impulse redistributes charge or flux, which are conserved, and
    the ledger books the energy as lost. Rounding errors decay with `alpha1`, 1/s.
    """
    law = IdealSwitch(automaton, active=names_of(closed, "closed"))
    return one_port("Sw", name, law, {"alpha1": bounded(alpha1)}, dimension=1, domain=domain, symbols=symbols)


def Diode(
    name: str,
    *,
    initial: str = "open",
    alpha1: float = 10.0,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Return an ideal diode: it conducts flow into the element without effort, and blocks flow out of it.

    The sense of positive power is into the element, as for any one-port, for both directions of the half arrow at its bond. At a
    1-junction the diode conducts along the arrow if that points to it, and reversing the arrow reverses the diode. At a 0-junction
    it conducts from the node to ground. One that feeds a node needs its own 1-junction, `j = J1("j")`:
    `connect(j, d).connect(j, node)` conducts from ground into the node.

    Its automaton has its name and the states "open" and "closed"; it opens as the flow falls through zero and closes as the
    effort rises through zero. Signals: `<name>.mode`, `<name>.inflow` (the flow into it; the negative of the bond's
    where the arrow points away).
    """
    closes = Transition("open", "closed", Op("e", lambda e: e, "#1"), (f"{name}.effort",), kind=f"{name} closes")
    opens = Transition("closed", "open", Op("-f", lambda f: -f, "-#1"), (f"{name}.inflow",), kind=f"{name} opens")
    law = IdealSwitch(name, active=("closed",))
    element = one_port("Diode", name, law, {"alpha1": bounded(alpha1)}, dimension=1, domain=domain, symbols=symbols)
    return replace(element, automaton=Automaton(name, ("open", "closed"), initial, (closes, opens)))
