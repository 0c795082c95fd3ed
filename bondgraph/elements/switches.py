"""Ideal switching elements: switch, diode, and dry friction with an exact stick state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.model.arguments import bounded
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, one_port
from bondgraph.model.laws import IdealConstraint, IdealSwitch, StateSpec
from bondgraph.model.names import names_of
from bondgraph.model.ops import Op
from screws.scalars import equal, where


def Switch(
    name: str,
    *,
    automaton: str,
    closed: Sequence[str],
    alpha1: float = 10.0,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Ideal switch: no effort while the automaton is in one of the `closed` states, no flow in all others.

    Where it closes on charged capacitors or opens on a current, what is stored is shared out by an impulse: charge and
    flux are conserved, and the ledger books the energy as lost. What rounding leaves decays with `alpha1`, 1/s.
    """
    law = IdealSwitch(automaton, active=names_of(closed, "closed"))
    return one_port("Sw", name, law, {"alpha1": bounded(alpha1)}, (), 1, domain, symbols)


def Diode(
    name: str,
    *,
    initial: str = "open",
    alpha1: float = 10.0,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Ideal diode: conducts flow into the element without effort, and blocks flow out of it.

    Into the element is the sense of positive power, as for any one-port, whichever way the half arrow is drawn at its bond.
    At a 1-junction the diode conducts along the arrow if that points to it, and turning the arrow turns the diode. At a
    0-junction it conducts from the node to ground. One that feeds a node has a 1-junction of its own, `j = J1("j")`:
    `connect(j, d).connect(j, node)` conducts from ground into the node.

    Its automaton has its name and the states "open" and "closed"; it opens as the flow falls through zero and closes as the
    effort rises through zero. Signals: `<name>.mode`, `<name>.inflow` (the flow into it; where the arrow points away, the
    negative of the bond's).
    """
    closes = Transition("open", "closed", Op("e", lambda e: e, "#1"), (f"{name}.effort",), kind=f"{name} closes")
    opens = Transition("closed", "open", Op("-f", lambda f: -f, "-#1"), (f"{name}.inflow",), kind=f"{name} opens")
    law = IdealSwitch(name, active=("closed",))
    made = one_port("Diode", name, law, {"alpha1": bounded(alpha1)}, (), 1, domain, symbols)
    return replace(made, automaton=Automaton(name, ("open", "closed"), initial, (closes, opens)))


STICK, FORWARD, BACKWARD = "stick", "forward", "backward"
_LETTERS = {"limit": r"e_{\mathrm{C}}", "stick_limit": r"e_{\mathrm{S}}", "viscous": "b"}


def Friction(
    name: str,
    limit: Any,
    *,
    stick_limit: Any = None,
    viscous: float = 0.0,
    scale: Callable[..., Any] | None = None,
    signals: Sequence[str] = (),
    initial: str = STICK,
    alpha1: float = 10.0,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Dry friction (Coulomb) with an exact stick state: it sticks, without any flow, while the effort that this takes
    is below `stick_limit` (by default `limit`); else it slips with the effort `limit` + `viscous` |f| against the flow.

    Its automaton has its name and the states "stick", "forward" and "backward"; where its parts move against each other at the
    start it begins slipping. `scale`(*signals) multiplies both limits,
    for example the normal force where the limits are coefficients of friction; a run in which it becomes negative ends there.

    Parameters
    ----------
    limit, stick_limit : effort while it slips, and from which it slips (with `scale`: per unit of it), zero or more, the
        second no less than the first.
    viscous : additional effort per flow, zero or more.

    Source: Coulomb 1785; state machine as in Karnopp 1985.
    """
    signals = names_of(signals, "signals")
    values = {
        "limit": bounded(limit),
        "stick_limit": bounded(limit if stick_limit is None else stick_limit, not_below="limit"),
        "viscous": bounded(viscous),
        "alpha1": bounded(alpha1),
    }

    def size(*given: Any) -> Any:
        return scale(*given) if scale is not None else 1.0

    def slip(mode: Any, flow: Any, limit: Any, _: Any, viscous: Any, *given: Any) -> Any:
        sense = where(equal(mode, 1.0), 1.0, -1.0)
        return sense * limit * size(*given) + viscous * flow

    def exceeds(sign: float) -> Callable[..., Any]:
        return lambda effort, most, *given: sign * effort - most * size(*given)

    limits = (f"{name}.effort", f"{name}.stick_limit", *signals)
    edges = [
        Transition(STICK, FORWARD, Op("e - limit", exceeds(1.0)), limits, kind=f"{name} slips"),
        Transition(STICK, BACKWARD, Op("-e - limit", exceeds(-1.0)), limits, kind=f"{name} slips back"),
        Transition(FORWARD, STICK, Op("-f", lambda f: -f, "-#1"), (f"{name}.h'",), kind=f"{name} sticks"),
        Transition(BACKWARD, STICK, Op("f", lambda f: f, "#1"), (f"{name}.h'",), kind=f"{name} sticks"),
    ]
    if scale is not None:
        negative, kind = Op("-scale", lambda *given: -scale(*given)), f"{name} has a negative scale"
        wrong = f'the scale of friction "{name}" is negative, so that it would drive: a normal force is positive where it presses'
        edges += [Transition(state, state, negative, signals, kind=kind, error=wrong) for state in (STICK, FORWARD, BACKWARD)]
    still = StateSpec(np.zeros(()))
    law = IdealConstraint(None, still, Op("friction", slip), stores_position=False, automaton=name, active=(STICK,))
    made = one_port("friction", name, law, values, signals, 1, domain, {**_LETTERS, **(symbols or {})})
    return replace(made, automaton=Automaton(name, (STICK, FORWARD, BACKWARD), initial, tuple(edges)))
