"""Statements of ideal elements: constraints and switches, whose effort or flow is whatever makes another value vanish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.draft import Assembly, account_power, declare_state, effort, flow, into, name_port, signed
from bondgraph.assembly.system import Power, Unknown
from bondgraph.causality.assign import ordered_bonds
from bondgraph.model.element import Element
from bondgraph.model.gradient import partials
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Junction
from bondgraph.model.model import Bond
from bondgraph.model.ops import (
    APPLY,
    APPLY_TRANSPOSED,
    DAMPED,
    NEGATE,
    POWER,
    SLIPPING,
    STABILISED,
    TIME_DERIVATIVE,
    Op,
    choose,
    combine,
    gate,
)
from screws.scalars import array

STABILISERS = ("alpha1", "alpha0", "alpha2")
OWN = (*STABILISERS, "restitution")
"""Parameters of a constraint that are no arguments of its position."""


def constraint(draft: Assembly, path: str, element: Element) -> None:
    """The effort is unknown; what vanishes is the stabilised second derivative of the position."""
    law = element.law
    assert isinstance(law, IdealConstraint)
    mode = law.mode if law.automaton else None
    own = [f"{path}.{name}" for name in element.parameters if name not in OWN]
    port = _by_coordinates(draft, path, element, own, element.signals) if law.coordinates else _by_flow(draft, path, element)
    moving, shape = port.moving, draft.values[port.effort].shape
    assert shape is not None
    if law.position is not None:
        draft.declare(f"{path}.h", shape if law.coordinates else None)
        draft.write(path, law.position, f"{path}.h", *own, *element.signals)
    elif law.stores_position:
        declare_state(draft, path, "h", law.start, shape, f"{path}.h'")
    draft.declare(f"{path}.h'", shape)
    draft.same(path, f"{path}.h'", moving)
    draft.declare(f"{path}.multiplier", shape, port.unit, element.symbols.get("multiplier", r"\lambda"))
    draft.write(path, NEGATE, f"{path}.multiplier", port.effort)
    second, held = draft.declare(f"{path}.h''", shape), draft.declare(f"{path}:held", shape)
    draft.write(path, TIME_DERIVATIVE, second, moving)
    if law.position is not None or law.stores_position:
        alphas = (f"{path}.{name}" for name in STABILISERS)
        draft.write(path, STABILISED, held, second, moving, f"{path}.h", *alphas)
    else:
        draft.write(path, DAMPED, held, second, moving, f"{path}.alpha1")
    if law.released is not None and mode:
        arguments = (mode, moving, *own, *element.signals)
        given = draft.declare(f"{path}.released effort", shape, port.unit)
        draft.write(path, law.released, given, *arguments)
        off = draft.declare(f"{path}:off", shape)
        draft.write(path, SLIPPING, off, port.effort, given)
    else:
        off = port.effort
    _unknown(draft, path, port.effort, moving, held, off, mode, law.active, law.impulsive, "constraint", 1)
    role = "dissipated" if law.released is not None else "injected"
    if law.coordinates:
        power = draft.declare(f"{path}.power", (), "W")
        draft.write(path, POWER, power, port.effort, moving)
        given_power = draft.declare(f"{path}:given power", (), "W")
        draft.write(path, NEGATE, given_power, power)
        draft.powers.append(Power(path, given_power, role))
        return
    bond = draft.model.bonds_at(path)[0]
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, into(bond, path) * (1 if role == "dissipated" else -1), role)


@dataclass(frozen=True)
class _Held:
    """What a constraint holds: its unknown effort, and the flow into it that vanishes."""

    effort: str
    moving: str
    unit: str


def _by_flow(draft: Assembly, path: str, element: Element) -> _Held:
    """The flow of the one bond vanishes."""
    bond = draft.model.bonds_at(path)[0]
    return _Held(effort(bond), signed(draft, path, flow(bond), into(bond, path)), bond.domain.effort_unit)


def _by_coordinates(draft: Assembly, path: str, element: Element, own: list[str], signals: tuple[str, ...]) -> _Held:
    """The rate of the position, by its derivatives J_k along the flows of the ports; their efforts are J_k^T e."""
    law = element.law
    assert isinstance(law, IdealConstraint) and law.position is not None
    shape = (law.conditions,) if law.conditions > 1 else ()
    unknown = draft.declare(f"{path}.effort", shape, "", element.symbols.get("effort", ""))
    moving = draft.declare(f"{path}.flow", shape, "", element.symbols.get("flow", ""))
    terms: list[str] = []
    for k, bond in enumerate(ordered_bonds(draft.model, path)):
        inward, local = into(bond, path), element.ports[k].name
        sign = 1 if _at_common_flow(draft, bond, path) else inward
        slope = draft.declare(f"{path}.{local}.J", None)
        draft.write(path, position_slope(law.position, len(own) + k, law.conditions), slope, *own, *element.signals)
        term = draft.declare(f"{path}:rate {local}", shape)
        draft.write(path, APPLY, term, slope, signed(draft, path, flow(bond), sign))
        terms.append(term)
        if sign * inward > 0:
            draft.write(path, APPLY_TRANSPOSED, effort(bond), slope, unknown)
        else:
            given = draft.declare(f"-{effort(bond)}", draft.values[effort(bond)].shape, bond.domain.effort_unit)
            draft.write(path, APPLY_TRANSPOSED, given, slope, unknown)
            draft.write(path, NEGATE, effort(bond), given)
        name_port(draft, path, element, bond, f"{path}.{local}")
    draft.write(path, combine((1,) * len(terms)), moving, *terms)
    return _Held(unknown, moving, "")


def _at_common_flow(draft: Assembly, bond: Bond, path: str) -> bool:
    """Whether a bond ends at a 1-junction, whose flow does not know the directions of arrows."""
    other = bond.tail if bond.head.element == path else bond.head
    law = draft.model.elements[other.element].law
    return isinstance(law, Junction) and law.type == 1


def position_slope(position: Op, place: int, count: int) -> Op:
    """Derivatives of the `count` scalars of a position with respect to its argument number `place`: (), (n,) or (count, n)."""
    formula = position.function

    def slope(*arguments: Any) -> Any:
        before, at, after = arguments[:place], arguments[place], arguments[place + 1 :]

        def scalars(x: Any) -> list[Any]:
            value = formula(*before, x, *after)
            return list(np.asarray(value, dtype=object).flat) if np.ndim(value) else [value]

        found = partials(scalars, at, (*before, at, *after))
        if count > 1:
            return array([list(row) for row in found])
        return array(list(found[0])) if np.ndim(at) else found[0, 0]

    return Op(f"slope of {position.name}", slope, r"\frac{\partial h}{\partial q}")


def switch(draft: Assembly, path: str, element: Element) -> None:
    """Closed, its effort vanishes; open, its flow. Unknown is whichever of the two the rest of the graph asks it for."""
    law = element.law
    assert isinstance(law, IdealSwitch)
    bond = draft.model.bonds_at(path)[0]
    sign, shape = into(bond, path), draft.values[flow(bond)].shape
    assert shape is not None
    inward = signed(draft, path, flow(bond), sign)
    draft.declare(f"{path}.inflow", shape, bond.domain.flow_unit)
    draft.same(path, f"{path}.inflow", inward)
    mode, states = law.mode, draft.model.automata[law.automaton].states
    if draft.causality.effort_into(bond, path):
        unknown, vanishing, active, sense = flow(bond), effort(bond), law.closed, sign
    else:
        unknown, vanishing, active = effort(bond), inward, tuple(s for s in states if s not in law.closed)
        sense = 1
    second, held = draft.declare(f"{path}:rate", shape), draft.declare(f"{path}:held", shape)
    draft.write(path, TIME_DERIVATIVE, second, vanishing)
    draft.write(path, DAMPED, held, second, vanishing, f"{path}.alpha1")
    _unknown(draft, path, unknown, vanishing, held, unknown, mode, active, True, "switch", sense)
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, -sign, "injected")


def _unknown(
    draft: Assembly,
    path: str,
    unknown: str,
    vanishing: str,
    held: str,
    off: str,
    mode: str | None,
    active: tuple[str, ...],
    impulsive: bool,
    reason: str,
    sense: int,
) -> None:
    """Add an unknown such that `held` is zero in the active modes and `off` in all others."""
    shape = draft.values[unknown].shape
    residual, stopped = held, vanishing if impulsive else ""
    if mode is not None:
        states = draft.model.automata[mode.removesuffix(".mode")].states
        places = tuple(states.index(state) for state in active)
        residual = draft.declare(f"{path}:residual", shape)
        draft.write(path, choose(places), residual, mode, held, off)
        if impulsive:
            stopped = draft.declare(f"{path}:stopped", shape)
            draft.write(path, gate(places), stopped, mode, vanishing)
    draft.unknowns.append(Unknown(unknown, residual, path, reason, held, vanishing, stopped, sense=sense))
