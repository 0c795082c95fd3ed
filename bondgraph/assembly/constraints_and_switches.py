"""Statements of ideal elements: constraints (by index reduction) and switches, whose unknown effort or flow holds a value at
zero."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.draft import Assembly, account_power, declare_state, effort, flow, into, keep_state, name_port, signed
from bondgraph.assembly.system import Power, Unknown
from bondgraph.model import ops
from bondgraph.model.element import Element
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Junction, Switched
from bondgraph.model.mechanics import partials
from bondgraph.model.model import Bond
from bondgraph.model.units import per_second
from screws.scalars import array

STABILISERS = ("alpha1", "alpha0", "alpha2")
NOT_IN_POSITION = (*STABILISERS, "restitution")
"""Parameters of a constraint that are not arguments of its position."""


def constraint(draft: Assembly, path: str, element: Element) -> None:
    """Write the statements of a constraint after index reduction."""
    law = element.law_as(IdealConstraint)
    read = (*(f"{path}.{name}" for name in element.parameters if name not in NOT_IN_POSITION), *element.signals)
    if law.coordinates:
        force, moving = _by_coordinates(draft, path, element, read)
    else:
        bond = draft.bond_at(path)
        force, moving = effort(bond), signed(draft, path, flow(bond), into(bond, path))
    shape, unit, speed = draft.values[force].shape or (), draft.values[force].unit, draft.values[moving].unit
    length = "" if law.coordinates else draft.bond_at(path).domain.displacement_unit
    if law.position is not None:
        draft.declare(f"{path}.h", shape if law.coordinates else None, length, element.symbols.get("h", ""))
        draft.write(path, law.position, f"{path}.h", *read)
    elif law.stores_position:
        spec = replace(law.start, unit=law.start.unit or length, symbol=element.symbols.get("h", law.start.symbol))
        declare_state(draft, path, "h", spec, shape, f"{path}.h'")
    draft.declare(f"{path}.h'", shape, speed)
    draft.same(path, f"{path}.h'", moving)
    draft.declare(f"{path}.multiplier", shape, unit, element.symbols.get("multiplier", r"\lambda"))
    draft.write(path, ops.NEGATE, f"{path}.multiplier", force)
    if law.automaton is not None and not law.active:
        _without_influence(draft, path, element, force, moving, read)
        return
    if not law.coordinates and draft.causality.effort_into(draft.bond_at(path), path):
        _giving_flow(draft, path, element, force, moving, read)
        return
    acceleration = per_second(speed)
    second, held = draft.declare(f"{path}.h''", shape, acceleration), draft.declare(f"{path}:held", shape, acceleration)
    draft.write(path, ops.TIME_DERIVATIVE, second, moving)
    if law.position is not None or law.stores_position:
        draft.write(path, ops.STABILISED, held, second, moving, f"{path}.h", *(f"{path}.{name}" for name in STABILISERS))
    else:
        draft.write(path, ops.DAMPED, held, second, moving, f"{path}.alpha1")
    off = force
    if law.released is not None:
        released = draft.declare(f"{path}.released effort", shape, unit)
        _release(draft, path, element, released, moving, read)
        off = draft.declare(f"{path}:off", shape, unit)
        draft.write(path, ops.SLIPPING, off, force, released)
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


def _release(draft: Assembly, path: str, element: Element, effort: str, moving: str, read: Sequence[str]) -> None:
    """Write the effort while the constraint is off, and declare the states that it reads."""
    law = element.law_as(IdealConstraint)
    assert law.released is not None
    for name, spec in law.noted.items():
        keep_state(draft, path, name, replace(spec, symbol=element.symbols.get(name, "")))
    draft.write(path, law.released, effort, law.mode, moving, *(f"{path}.{name}" for name in law.noted), *read)


def _without_influence(draft: Assembly, path: str, element: Element, force: str, moving: str, read: Sequence[str]) -> None:
    """Write the statements of friction whose effort has no influence on its flow: the effort is the released effort in every
    state."""
    law, bond = element.law_as(IdealConstraint), draft.bond_at(path)
    if law.noted:
        rate = draft.declare(f"{path}.h''", draft.values[moving].shape, per_second(draft.values[moving].unit))
        draft.write(path, ops.TIME_DERIVATIVE, rate, moving)
    _release(draft, path, element, force, moving, read)
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, into(bond, path), "dissipated")


def _giving_flow(draft: Assembly, path: str, element: Element, force: str, moving: str, read: Sequence[str]) -> None:
    """Write the statements of dry friction between springs, without inertia: the springs set the effort, and the flow, which is
    zero during stick, is the unknown."""
    law, bond = element.law_as(IdealConstraint), draft.bond_at(path)
    shape, unit = bond.shape, draft.values[force].unit
    released, excess = draft.declare(f"{path}.released effort", shape, unit), draft.declare(f"{path}:excess", shape, unit)
    _release(draft, path, element, released, moving, read)
    draft.write(path, ops.SLIPPING, excess, force, released)
    second, held = (draft.declare(f"{path}:{name}", shape, per_second(unit)) for name in ("rate", "held"))
    draft.write(path, ops.TIME_DERIVATIVE, second, excess)
    draft.write(path, ops.DAMPED, held, second, excess, f"{path}.alpha1")
    sense = into(bond, path)
    unknown = Unknown(flow(bond), held, path, "friction", held, excess, excess, sense=sense)
    draft.unknowns.append(_while_active(draft, law, law.active, unknown, flow(bond)))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, sense, "dissipated")


def _by_coordinates(draft: Assembly, path: str, element: Element, read: tuple[str, ...]) -> tuple[str, str]:
    """Declare the unknown effort e, and write the rate of the position, sum of J_k flow_k, and the efforts J_k^T e of the ports.

    `read` are the arguments of the position, with the coordinates as the first signals.
    """
    law = element.law_as(IdealConstraint)
    assert law.position is not None
    shape, first = (law.conditions,) if law.conditions > 1 else (), len(read) - len(element.signals)
    unknown = draft.declare(f"{path}.effort", shape, "", element.symbols.get("effort", ""))
    moving = draft.declare(f"{path}.flow", shape, "", element.symbols.get("flow", ""))
    terms: list[str] = []
    for k, bond in enumerate(draft.model.bonds_by_port(path)):
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
            negative = draft.declare(f"-{effort(bond)}", bond.shape, bond.domain.effort_unit)
            draft.write(path, ops.APPLY_TRANSPOSED, negative, slope, unknown)
            draft.write(path, ops.NEGATE, effort(bond), negative)
        name_port(draft, path, element, bond, f"{path}.{local}")
    draft.write(path, ops.combine((1,) * len(terms)), moving, *terms)
    return unknown, moving


def _at_common_flow(draft: Assembly, bond: Bond, path: str) -> bool:
    """Return True if a bond ends at a 1-junction, whose flow is independent of the directions of arrows."""
    other = bond.tail if bond.head.element == path else bond.head
    law = draft.model.elements[other.element].law
    return isinstance(law, Junction) and law.type == 1


def position_slope(position: ops.Op, index: int, count: int) -> ops.Op:
    """Return the operation for the derivatives of the `count` scalars of a position with respect to its argument `index`: (),
    (n,) or (count, n)."""
    formula = position.function

    def slope(*arguments: Any) -> Any:
        before, at, after = arguments[:index], arguments[index], arguments[index + 1 :]

        def scalars(x: Any) -> list[Any]:
            value = formula(*before, x, *after)
            return list(np.asarray(value, dtype=object).flat) if np.ndim(value) else [value]

        derivatives = partials(scalars, at, (*before, at, *after))
        if count > 1:
            return array([list(row) for row in derivatives])
        return array(list(derivatives[0])) if np.ndim(at) else derivatives[0, 0]

    return ops.Op(f"slope of {position.name}", slope, r"\frac{\partial h}{\partial q}", ops.sources_of(position))


def switch(draft: Assembly, path: str, element: Element) -> None:
    """Write the statements of a switch: its effort is zero if closed, and its flow if open; causality determines which of the two
    is the unknown."""
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
    unit = per_second(draft.values[vanishing].unit)
    second, held = draft.declare(f"{path}:rate", bond.shape, unit), draft.declare(f"{path}:held", bond.shape, unit)
    draft.write(path, ops.TIME_DERIVATIVE, second, vanishing)
    draft.write(path, ops.DAMPED, held, second, vanishing, f"{path}.alpha1")
    unknown = Unknown(value, held, path, "switch", held, vanishing, vanishing, sense=sense)
    draft.unknowns.append(_while_active(draft, law, active, unknown, value))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, -sign, "injected")


def _while_active(draft: Assembly, law: Switched, active: Collection[str], unknown: Unknown, off: str) -> Unknown:
    """Return the unknown with a residual that applies in the active states only; in all other states `off` is zero and no impulse
    acts."""
    path, shape = unknown.element, draft.values[unknown.value].shape
    states = draft.places(law, active)
    residual, stopped = draft.declare(f"{path}:residual", shape), unknown.stopped
    draft.write(path, ops.choose(states), residual, law.mode, unknown.held, off)
    if stopped:
        stopped = draft.declare(f"{path}:stopped", shape, draft.values[unknown.vanishing].unit)
        draft.write(path, ops.gate(states), stopped, law.mode, unknown.vanishing)
    return replace(unknown, residual=residual, stopped=stopped)
