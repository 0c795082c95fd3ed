"""System with given velocities: inertias' velocities are states that no effort changes.

A time step needs the kinematics of a graph, which relate all motion to the velocities v of the independent inertias, and the
efforts of its storages, sources and resistors. The effort of a dependent inertia is zero, and the step finds the efforts of
constraints. Velocities stay constant; with inertia, velocities in body axes turn with the body (Euler's junction structure), and
the velocities of an IC coast, so that a free body keeps its momentum in the world in steps of any length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph.assembly.assemble import Writer, assemble
from bondgraph.assembly.constraints_and_switches import constraint
from bondgraph.assembly.draft import Assembly, declare_state, effort, flow, into, law_arguments, name_port
from bondgraph.assembly.storages import storage
from bondgraph.assembly.system import System
from bondgraph.causality.assign import Causality
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.mechanics import Mechanics, on_bond
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import Op, combine, zeros
from bondgraph.model.units import per_second
from bondgraph.passes.aliases import remove_aliases
from bondgraph.passes.shapes import find_shapes
from bondgraph.passes.sorting import refuse_undefined_values, sort_statements

VELOCITY = "v"
MOMENTUM, OWN_FORCE = ":momentum", ":own force"
"""Suffixes of the names of an inertia's momentum, and of the effort of an IC due to its position."""


def system_with_velocities(model: Model, causality: Causality, moving: bool) -> System:
    """Return the sorted statements of a model with given velocities.

    Parameters
    ----------
    moving : True if inertias keep momenta and have kinetic energies; else they start at rest.
    """

    def storage_law(draft: Assembly, path: str, element: Element) -> None:
        if laws.is_inertia(element.law_as(laws.Storage)):
            _inertia(draft, path, element, moving)
        else:
            storage(draft, path, element)

    def field(draft: Assembly, path: str, element: Element) -> None:
        _inertial_field(draft, path, element, moving)

    writers: Mapping[type[laws.Law], Writer] = {
        laws.Storage: storage_law,
        laws.InertialField: field,
        laws.IdealConstraint: _constraint,
    }
    named = refuse_undefined_values(remove_aliases(assemble(model, causality, writers)), model)
    return find_shapes(sort_statements(named), model)


def euler_junctions(model: Model, path: str) -> list[str]:
    """Return the Euler junction structures at the 1-junction of an I, which rotate its momentum; [] without such a
    junction, or if it has another inertia."""
    bond = model.bonds_at(path)[0]
    junction = bond.tail.element if bond.head.element == path else bond.head.element
    law = model.elements[junction].law
    if not (isinstance(law, laws.Junction) and law.type == 1 and law.automaton is None):
        return []
    near = [end.element for other in model.bonds_at(junction) for end in other.ends if end.element != junction]
    inertias = [name for name in near if laws.is_inertia(model.elements[name].law)]
    return [name for name in near if isinstance(model.elements[name].law, laws.SkewGyrator)] if inertias == [path] else []


def velocities_of(system: System, model: Model) -> list[str]:
    inertias = {path for path, element in model.elements.items() if laws.is_inertia(element.law)}
    parts = [(state.name, *state.name.rpartition(".")) for state in system.states]
    return [name for name, path, _, local in parts if local == VELOCITY and path in inertias]


def _inertia(draft: Assembly, path: str, element: Element, moving: bool) -> None:
    law, bond = element.law_as(laws.Storage), draft.bond_at(path)
    arguments = law_arguments(path, element)
    assert law.output is not None and law.inverse is not None  # otherwise it has been refused
    if path in draft.causality.derivative:
        draft.write(path, zeros(bond.shape), effort(bond))
    else:
        rate = f"{path}.{VELOCITY}'"
        turning = euler_junctions(draft.model, path) if moving else []
        if turning:
            turns = [draft.model.bonds_at(other)[0] for other in turning]
            signs = tuple(-into(turn, other) for turn, other in zip(turns, turning, strict=True))
            turning_effort = draft.declare(f"{path}:turning", bond.shape, bond.domain.effort_unit)
            draft.write(path, combine(signs), turning_effort, *map(effort, turns))
            draft.write(path, law.output, rate, turning_effort, *arguments)
        else:
            draft.write(path, zeros(bond.shape), rate)
        start = np.broadcast_to(np.asarray(law.spec.initial, dtype=float), bond.shape)
        if moving and np.any(start) and not element.signals:
            start = law.output(start[()], *(draft.parameters[name] for name in arguments))
        _velocity(draft, path, bond, start if moving and not element.signals else 0.0)
    momentum = draft.declare(f"{path}{MOMENTUM}", bond.shape, law.spec.unit or bond.domain.momentum_unit)
    draft.write(path, law.inverse, momentum, flow(bond), *arguments)
    draft.same(path, f"{path}.{law.state}", momentum, element.symbols.get(law.state, ""))
    name_port(draft, path, element, bond, path)
    if moving:
        _stored(draft, path, law.stored, momentum, *arguments)


def _inertial_field(draft: Assembly, path: str, element: Element, moving: bool) -> None:
    """Add the statements of an IC: its position moves with the flow, and its momentum and effort follow from position and
    velocity."""
    law, bond = element.law_as(laws.InertialField), draft.bond_at(path)
    arguments, q, v = law_arguments(path, element), f"{path}.q", f"{path}.{VELOCITY}"
    position = laws.StateSpec(law.position.initial, law.position.nominal, bond.domain.displacement_unit)
    draft.declare(f"{q}'", bond.shape, per_second(position.unit))
    declare_state(draft, path, "q", position, bond.shape, f"{q}'")
    force, rest = draft.declare(f"{path}{OWN_FORCE}", bond.shape, bond.domain.effort_unit), f"{path}:at rest"
    draft.declare(rest, bond.shape, bond.domain.flow_unit)
    draft.write(path, zeros(bond.shape), rest)
    draft.write(path, law.own_rate, force, q, rest, *arguments)
    if path in draft.causality.derivative:
        draft.write(path, zeros(bond.shape), effort(bond))
        draft.same(path, v, flow(bond))
    else:
        if moving:
            reaction = draft.declare(f"{path}:borne", bond.shape, bond.domain.effort_unit)
            draft.write(path, combine((-1,)), reaction, force)
            draft.write(path, _acceleration(law), f"{v}'", q, v, reaction, *arguments)
        else:
            draft.write(path, zeros(bond.shape), f"{v}'")
        start = law.start.initial
        if moving and law.motion == "p" and np.any(start) and not element.signals:
            position_start = np.broadcast_to(np.asarray(law.position.initial, dtype=float), bond.shape)[()]
            start = law.flow(position_start, start, *(draft.parameters[name] for name in arguments))
        _velocity(draft, path, bond, start if moving else 0.0)
    draft.same(path, f"{q}'", flow(bond))
    momentum = draft.declare(f"{path}{MOMENTUM}", bond.shape, bond.domain.momentum_unit)
    draft.write(path, law.momentum, momentum, q, v, *arguments)
    name_port(draft, path, element, bond, path)
    _stored(draft, path, law.energy, q, v if moving else rest, *arguments)


def _acceleration(law: laws.InertialField) -> Op:
    if law.motion == "v":
        return law.rate
    assert law.mechanics is not None  # otherwise it has been refused
    return Op("acceleration", on_bond(law.mechanics, Mechanics.acceleration, 3))


def _velocity(draft: Assembly, path: str, bond: Bond, start: Any) -> None:
    initial = np.broadcast_to(np.asarray(start, dtype=float), bond.shape)
    rate = draft.declare(f"{path}.{VELOCITY}'", bond.shape, per_second(bond.domain.flow_unit))
    declare_state(draft, path, VELOCITY, laws.StateSpec(initial, unit=bond.domain.flow_unit), bond.shape, rate)
    draft.same(path, flow(bond), f"{path}.{VELOCITY}")


def _stored(draft: Assembly, path: str, energy: Any, *arguments: str) -> None:
    stored = draft.declare(f"{path}.energy", (), "J")
    draft.write(path, energy, stored, *arguments)
    draft.energies.append((path, stored))


def _constraint(draft: Assembly, path: str, element: Element) -> None:
    """Add the statements of a constraint without effort: the step returns its position to zero, so no derivatives along the
    motion are needed."""
    constraint(draft, path, element)
    unknown = draft.unknowns.pop()
    dropped = {f"{path}.h''", f"{path}:held", unknown.residual}
    draft.statements = [s for s in draft.statements if not dropped.intersection(s.outs)]
    for name in dropped & draft.values.keys():
        del draft.values[name]
    draft.write(path, zeros(draft.values[unknown.value].shape or ()), unknown.value)
    draft.powers.pop()
