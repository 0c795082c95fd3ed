"""Model and causality -> System in which velocities are given: those of inertias are states that stay, and nothing accelerates.

What a step of time needs of a graph is its kinematics: how everything moves with the velocities v of the independent inertias,
and what efforts its storages, sources and resistors give. Momenta follow from velocities, dependent inertias take no effort, and
what holds a constraint is found by the step, not here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from bondgraph.assembly.assemble import Writer, assemble
from bondgraph.assembly.draft import Assembly, declare_state, effort, flow, law_arguments, name_port
from bondgraph.assembly.ideal import constraint
from bondgraph.assembly.storages import storage
from bondgraph.assembly.system import System
from bondgraph.causality.assign import Causality
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import zeros
from bondgraph.model.units import per_second
from bondgraph.passes.alias import remove_aliases
from bondgraph.passes.rings import refuse_rings
from bondgraph.passes.shapes import find_shapes
from bondgraph.passes.sort import sort_statements

MOMENTUM, OWN_FORCE = "p", ":own force"
"""Names of the momentum of an inertia, and of the effort of an IC that comes from its place and velocity."""


def held_system(model: Model, causality: Causality, moving: bool, ignored: Collection[str]) -> System:
    """Sorted statements with given velocities.

    Parameters
    ----------
    moving : whether inertias keep their start velocities and kinetic energies; else they start at rest and have none.
    ignored : states of storages that are not there.
    """

    def kept(draft: Assembly, path: str, element: Element) -> None:
        law = element.law_as(laws.Storage)
        if law.gives == "flow":
            _inertia(draft, path, element, moving)
            return
        storage(draft, path, element)
        if f"{path}.{law.state}" in ignored:
            draft.energies.pop()

    def field(draft: Assembly, path: str, element: Element) -> None:
        _inertial_field(draft, path, element, moving)

    writers: Mapping[type[laws.Law], Writer] = {laws.Storage: kept, laws.InertialField: field, laws.IdealConstraint: _constraint}
    named = refuse_rings(remove_aliases(assemble(model, causality, writers)), model)
    return find_shapes(sort_statements(named), model)


def _inertia(draft: Assembly, path: str, element: Element, moving: bool) -> None:
    """An I: its flow is a state that stays, or is set by others; its momentum follows."""
    law, bond = element.law_as(laws.Storage), draft.bond_at(path)
    arguments = law_arguments(path, element)
    if path in draft.causality.derivative:
        draft.write(path, zeros(bond.shape), effort(bond))
    else:
        start = np.zeros(bond.shape)
        if moving and np.any(np.asarray(law.spec.initial)) and not element.signals:
            numbers = [draft.parameters[name] for name in arguments]
            start = np.asarray(law.output(np.broadcast_to(law.spec.initial, bond.shape)[()], *numbers), dtype=float)
        _velocity(draft, path, bond, start)
    momentum = draft.declare(f"{path}.{law.state}", bond.shape, law.spec.unit or bond.domain.momentum_unit)
    assert law.inverse is not None  # else it is refused before
    draft.write(path, law.inverse, momentum, flow(bond), *arguments)
    name_port(draft, path, element, bond, path)
    if moving:
        _stored(draft, path, law.energy, momentum, *arguments)


def _inertial_field(draft: Assembly, path: str, element: Element, moving: bool) -> None:
    """An IC: its place moves with its flow; momentum and own effort follow from place and velocity."""
    law, bond = element.law_as(laws.InertialField), draft.bond_at(path)
    arguments = law_arguments(path, element)
    position = laws.StateSpec(law.position.initial, law.position.nominal, bond.domain.displacement_unit)
    declare_state(draft, path, "q", position, bond.shape, f"{path}.q'")
    draft.declare(f"{path}.q'", bond.shape, per_second(position.unit))
    if path in draft.causality.derivative:
        draft.write(path, zeros(bond.shape), effort(bond))
        draft.same(path, f"{path}.v", flow(bond))
    else:
        start = np.zeros(bond.shape)
        if moving:
            start = np.broadcast_to(np.asarray(law.start.initial, dtype=float), bond.shape)
        if moving and law.motion == "p" and np.any(start) and not element.signals:
            numbers = [draft.parameters[name] for name in arguments]
            q = np.broadcast_to(np.asarray(law.position.initial, dtype=float), bond.shape)[()]
            start = np.asarray(law.flow(q, start[()], *numbers), dtype=float)
        _velocity(draft, path, bond, start)
    draft.same(path, f"{path}.q'", flow(bond))
    here = f"{path}.q", f"{path}.v", *arguments
    draft.declare(f"{path}.{MOMENTUM}", bond.shape, bond.domain.momentum_unit)
    draft.write(path, law.momentum, f"{path}.{MOMENTUM}", *here)
    draft.declare(f"{path}{OWN_FORCE}", bond.shape, bond.domain.effort_unit)
    draft.write(path, law.own_rate, f"{path}{OWN_FORCE}", *here)
    name_port(draft, path, element, bond, path)
    velocity = f"{path}.v"
    if not moving:
        velocity = draft.declare(f"{path}:at rest", bond.shape, bond.domain.flow_unit)
        draft.write(path, zeros(bond.shape), velocity)
    _stored(draft, path, law.energy, f"{path}.q", velocity, *arguments)


def _velocity(draft: Assembly, path: str, bond: Bond, start: Any) -> None:
    """The state that stays, and the flow that it is."""
    rate = draft.declare(f"{path}.v'", bond.shape, per_second(bond.domain.flow_unit))
    draft.write(path, zeros(bond.shape), rate)
    declare_state(draft, path, "v", laws.StateSpec(start, unit=bond.domain.flow_unit), bond.shape, rate)
    draft.same(path, flow(bond), f"{path}.v")


def _stored(draft: Assembly, path: str, energy: Any, *arguments: str) -> None:
    stored = draft.declare(f"{path}.energy", (), "J")
    draft.write(path, energy, stored, *arguments)
    draft.energies.append((path, stored))


def _constraint(draft: Assembly, path: str, element: Element) -> None:
    """No effort: the step sees to it that the position returns to zero; nothing is differentiated along the motion."""
    constraint(draft, path, element)
    unknown = draft.unknowns.pop()
    late = {f"{path}.h''", f"{path}:held", unknown.residual}
    draft.statements = [s for s in draft.statements if not late.intersection(s.outs)]
    for name in late & draft.values.keys():
        del draft.values[name]
    draft.write(path, zeros(draft.values[unknown.value].shape or ()), unknown.value)
    draft.powers.pop()


def velocities_of(system: System, model: Model) -> list[str]:
    """States that are velocities of independent inertias, by name."""
    cut = [(state.name, *state.name.rpartition(".")) for state in system.states]
    known = model.elements
    return [name for name, path, _, local in cut if local == "v" and path in known and isinstance(known[path].law, laws.Storing)]
