"""Statements of an IC element: its configuration, the flow out and the rate of its motion; or, moved by others, its effort."""

from __future__ import annotations

from bondgraph.assembly.draft import Assembly, account_energy, declare_state, effort, flow, into, law_arguments, signed
from bondgraph.assembly.system import Unknown
from bondgraph.model.element import Element
from bondgraph.model.laws import InertialField, StateSpec
from bondgraph.model.model import Bond
from bondgraph.model.ops import TIME_DERIVATIVE, combine
from bondgraph.model.units import per_second


def inertial_field(draft: Assembly, path: str, element: Element) -> None:
    """q' = flow = v, and v' or p' from q, v and the effort; in derivative causality the effort from q, v and p'."""
    law, bond = element.law_as(InertialField), draft.bond_at(path)
    _state(draft, path, element, bond, "q", law.position, bond.domain.displacement_unit)
    write = _moved if path in draft.causality.derivative else _moving
    write(draft, path, element, bond)
    draft.same(path, f"{path}.q'", flow(bond))
    account_energy(draft, path, element, law.energy, f"{path}.q", f"{path}.v")


def _moving(draft: Assembly, path: str, element: Element, bond: Bond) -> None:
    """Integral causality: v or p is a state, and sets the flow."""
    law = element.law_as(InertialField)
    q, motion, arguments = f"{path}.q", f"{path}.{law.motion}", law_arguments(path, element)
    unit = bond.domain.flow_unit if law.motion == "v" else bond.domain.momentum_unit
    _state(draft, path, element, bond, law.motion, law.start, unit)
    if law.motion == "v":
        draft.same(path, flow(bond), motion)
    else:
        draft.write(path, law.flow, flow(bond), q, motion, *arguments)
        draft.same(path, f"{path}.v", flow(bond), element.symbols.get("v", ""))
    pushed = signed(draft, path, effort(bond), into(bond, path))
    draft.write(path, law.rate, f"{motion}'", q, f"{path}.v", pushed, *arguments)


def _moved(draft: Assembly, path: str, element: Element, bond: Bond) -> None:
    """Derivative causality: others set the flow, and the effort is what its momentum then takes, p' - dT/dq + dV/dq."""
    law, shape, unit = element.law_as(InertialField), bond.shape, bond.domain.effort_unit
    state = f"{path}.q", f"{path}.v", *law_arguments(path, element)
    draft.same(path, f"{path}.v", flow(bond), element.symbols.get("v", ""))
    name, symbol = (f"{path}.p", element.symbols.get("p", "")) if law.motion == "p" else (f"{path}:momentum", "p")
    p = draft.declare(name, shape, bond.domain.momentum_unit, symbol)
    rate = draft.declare(f"{p}'", shape, unit, rf"\dot {symbol}" if symbol else "")
    own = draft.declare(f"{path}:own rate", shape, unit, r"\dot p^\ast")
    needed, residual = draft.declare(f"{path}:needed", shape, unit, r"\hat e"), draft.declare(f"{path}:residual", shape, unit)
    draft.write(path, law.momentum, p, *state)
    draft.write(path, TIME_DERIVATIVE, rate, p)
    draft.write(path, law.own_rate, own, *state)
    draft.write(path, combine((1, -1)), needed, rate, own)
    draft.write(path, combine((into(bond, path), -1)), residual, effort(bond), needed)
    draft.unknowns.append(Unknown(effort(bond), residual, path, "derivative causality"))


def _state(draft: Assembly, path: str, element: Element, bond: Bond, name: str, spec: StateSpec, unit: str) -> None:
    declared = StateSpec(spec.initial, spec.nominal, unit, element.symbols.get(name, spec.symbol))
    declare_state(draft, path, name, declared, bond.shape, f"{path}.{name}'")
    draft.declare(f"{path}.{name}'", bond.shape, per_second(unit))
