"""Statements of an IC element: two states, the flow out, the rate of the motion from the effort, and the energy."""

from __future__ import annotations

from bondgraph.equations.draft import (
    Draft,
    account_power,
    declare_state,
    effort,
    flow,
    into,
    law_arguments,
    name_port,
    signed,
)
from bondgraph.graph.element import Element
from bondgraph.graph.laws import InertialField, StateSpec


def inertial_field(draft: Draft, path: str, element: Element) -> None:
    """q' = flow = v, and v' or p' from q, v and the effort."""
    law = element.law
    assert isinstance(law, InertialField)
    bond = draft.model.bonds_at(path)[0]
    sign, arguments = into(bond, path), law_arguments(path, element)
    shape = draft.values[flow(bond)].shape
    assert shape is not None
    q, motion = f"{path}.q", f"{path}.{law.motion}"
    moving = bond.domain.flow_unit if law.motion == "v" else bond.domain.momentum_unit
    for name, spec, unit in (("q", law.position, bond.domain.displacement_unit), (law.motion, law.start, moving)):
        declared = StateSpec(spec.initial, spec.nominal, unit, element.symbols.get(name, spec.symbol))
        declare_state(draft, path, name, declared, shape, f"{path}.{name}'")
        draft.declare(f"{path}.{name}'", shape)
    if law.motion == "v":
        draft.same(path, flow(bond), motion)
        v = motion
    else:
        draft.state(path, law.flow, flow(bond), q, motion, *arguments)
        draft.same(path, v := f"{path}.v", flow(bond), element.symbols.get("v", ""))
    draft.same(path, f"{path}.q'", flow(bond))
    draft.state(path, law.rate, f"{path}.{law.motion}'", q, v, signed(draft, path, effort(bond), sign), *arguments)
    draft.declare(f"{path}.energy", (), "J")
    draft.state(path, law.energy, f"{path}.energy", q, v, *arguments)
    draft.energies.append((path, f"{path}.energy"))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, sign, None)
