"""Statements of ideal elements: constraints and switches, whose effort or flow is whatever makes another value vanish."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.draft import Assembly, account_power, declare_state, effort, flow, into, keep_state, name_port, signed
from bondgraph.assembly.system import Power, Unknown
from bondgraph.causality.assign import ordered_bonds
from bondgraph.model import ops
from bondgraph.model.element import Element
from bondgraph.model.gradient import partials
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Junction, Switched
from bondgraph.model.model import Bond
from bondgraph.model.units import per_second
from screws.scalars import array

STABILISERS = ("alpha1", "alpha0", "alpha2")
OWN = (*STABILISERS, "restitution")
"""Parameters of a constraint that are no arguments of its position."""


def constraint(draft: Assembly, path: str, element: Element) -> None:
    """The effort is unknown; what vanishes is the stabilised second derivative of the position."""
    law = element.law_as(IdealConstraint)
    read = (*(f"{path}.{name}" for name in element.parameters if name not in OWN), *element.signals)
    if law.coordinates:
        force, moving = _by_coordinates(draft, path, element, read)
    else:
        bond = draft.bond_at(path)
        force, moving = effort(bond), signed(draft, path, flow(bond), into(bond, path))
    shape, unit, speed = draft.values[force].shape or (), draft.values[force].unit, draft.values[moving].unit
    place = "" if law.coordinates else draft.bond_at(path).domain.displacement_unit
    if law.position is not None:
        draft.declare(f"{path}.h", shape if law.coordinates else None, place, element.symbols.get("h", ""))
        draft.write(path, law.position, f"{path}.h", *read)
    elif law.stores_position:
        spec = replace(law.start, unit=law.start.unit or place, symbol=element.symbols.get("h", law.start.symbol))
        declare_state(draft, path, "h", spec, shape, f"{path}.h'")
    draft.declare(f"{path}.h'", shape, speed)
    draft.same(path, f"{path}.h'", moving)
    draft.declare(f"{path}.multiplier", shape, unit, element.symbols.get("multiplier", r"\lambda"))
    draft.write(path, ops.NEGATE, f"{path}.multiplier", force)
    bent = per_second(speed)
    second, held = draft.declare(f"{path}.h''", shape, bent), draft.declare(f"{path}:held", shape, bent)
    draft.write(path, ops.TIME_DERIVATIVE, second, moving)
    if law.position is not None or law.stores_position:
        draft.write(path, ops.STABILISED, held, second, moving, f"{path}.h", *(f"{path}.{name}" for name in STABILISERS))
    else:
        draft.write(path, ops.DAMPED, held, second, moving, f"{path}.alpha1")
    off = force
    if law.released is not None:
        given = draft.declare(f"{path}.released effort", shape, unit)
        for name, spec in law.noted.items():
            keep_state(draft, path, name, replace(spec, symbol=element.symbols.get(name, "")))
        draft.write(path, law.released, given, law.mode, moving, *(f"{path}.{name}" for name in law.noted), *read)
        off = draft.declare(f"{path}:off", shape, unit)
        draft.write(path, ops.SLIPPING, off, force, given)
    unknown = Unknown(force, held, path, "constraint", held, moving, moving if law.impulsive else "")
    draft.unknowns.append(unknown if law.automaton is None else _while_active(draft, law, law.active, unknown, off))
    role = "dissipated" if law.released is not None else "injected"
    if law.coordinates:
        power = draft.declare(f"{path}.power", (), "W")
        draft.write(path, ops.POWER, power, force, moving)
        given_power = draft.declare(f"{path}:given power", (), "W")
        draft.write(path, ops.NEGATE, given_power, power)
        draft.powers.append(Power(path, given_power, role))
    else:
        name_port(draft, path, element, bond, path)
        account_power(draft, path, bond, into(bond, path) * (1 if role == "dissipated" else -1), role)


def _by_coordinates(draft: Assembly, path: str, element: Element, read: tuple[str, ...]) -> tuple[str, str]:
    """The unknown effort, and the rate of the position by its derivatives J_k along the flows of the ports, whose efforts are
    J_k^T e; `read` are the arguments of the position, the coordinates as the first signals."""
    law = element.law_as(IdealConstraint)
    assert law.position is not None
    shape, first = (law.conditions,) if law.conditions > 1 else (), len(read) - len(element.signals)
    unknown = draft.declare(f"{path}.effort", shape, "", element.symbols.get("effort", ""))
    moving = draft.declare(f"{path}.flow", shape, "", element.symbols.get("flow", ""))
    terms: list[str] = []
    for k, bond in enumerate(ordered_bonds(draft.model, path)):
        inward, local = into(bond, path), element.ports[k].name
        sign = 1 if _at_common_flow(draft, bond, path) else inward
        slope = draft.declare(f"{path}.{local}.J", None)
        draft.write(path, position_slope(law.position, first + k, law.conditions), slope, *read)
        term = draft.declare(f"{path}:rate {local}", shape)
        draft.write(path, ops.APPLY, term, slope, signed(draft, path, flow(bond), sign))
        terms.append(term)
        if sign * inward > 0:
            draft.write(path, ops.APPLY_TRANSPOSED, effort(bond), slope, unknown)
        else:
            given = draft.declare(f"-{effort(bond)}", bond.shape, bond.domain.effort_unit)
            draft.write(path, ops.APPLY_TRANSPOSED, given, slope, unknown)
            draft.write(path, ops.NEGATE, effort(bond), given)
        name_port(draft, path, element, bond, f"{path}.{local}")
    draft.write(path, ops.combine((1,) * len(terms)), moving, *terms)
    return unknown, moving


def _at_common_flow(draft: Assembly, bond: Bond, path: str) -> bool:
    """Whether a bond ends at a 1-junction, whose flow does not know the directions of arrows."""
    other = bond.tail if bond.head.element == path else bond.head
    law = draft.model.elements[other.element].law
    return isinstance(law, Junction) and law.type == 1


def position_slope(position: ops.Op, place: int, count: int) -> ops.Op:
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

    return ops.Op(f"slope of {position.name}", slope, r"\frac{\partial h}{\partial q}", ops.sources_of(position))


def switch(draft: Assembly, path: str, element: Element) -> None:
    """Closed, its effort vanishes; open, its flow. Unknown is whichever of the two the rest of the graph asks it for."""
    law, bond = element.law_as(IdealSwitch), draft.bond_at(path)
    sign = into(bond, path)
    inward = signed(draft, path, flow(bond), sign)
    draft.declare(f"{path}.inflow", bond.shape, bond.domain.flow_unit)
    draft.same(path, f"{path}.inflow", inward)
    if draft.causality.effort_into(bond, path):
        value, vanishing, active, sense = flow(bond), effort(bond), law.active, sign
    else:
        states = draft.model.automata[law.automaton].states
        value, vanishing, active, sense = effort(bond), inward, tuple(s for s in states if s not in law.active), 1
    bent = per_second(draft.values[vanishing].unit)
    second, held = draft.declare(f"{path}:rate", bond.shape, bent), draft.declare(f"{path}:held", bond.shape, bent)
    draft.write(path, ops.TIME_DERIVATIVE, second, vanishing)
    draft.write(path, ops.DAMPED, held, second, vanishing, f"{path}.alpha1")
    unknown = Unknown(value, held, path, "switch", held, vanishing, vanishing, sense=sense)
    draft.unknowns.append(_while_active(draft, law, active, unknown, value))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, -sign, "injected")


def _while_active(draft: Assembly, law: Switched, active: Collection[str], unknown: Unknown, off: str) -> Unknown:
    """The unknown of what holds in the active states alone: in the others `off` is zero, and nothing stops."""
    path, shape = unknown.element, draft.values[unknown.value].shape
    places = draft.places(law, active)
    residual, stopped = draft.declare(f"{path}:residual", shape), unknown.stopped
    draft.write(path, ops.choose(places), residual, law.mode, unknown.held, off)
    if stopped:
        stopped = draft.declare(f"{path}:stopped", shape, draft.values[unknown.vanishing].unit)
        draft.write(path, ops.gate(places), stopped, law.mode, unknown.vanishing)
    return replace(unknown, residual=residual, stopped=stopped)
