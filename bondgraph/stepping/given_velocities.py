"""Model and causality -> System in which velocities are given: those of inertias are states that no effort changes.

What a step of time needs of a graph is its kinematics: how everything moves with the velocities v of the independent inertias,
and what efforts its storages, sources and resistors give. Dependent inertias take no effort, and what holds a constraint is found
by the step, not here.

Velocities stay as they are; with inertia those in the axes of a body turn with it (Euler's junction structure), and those of an
IC coast, so that a free body keeps its momentum in the world however long the step is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from bondgraph.assembly.assemble import Writer, assemble
from bondgraph.assembly.draft import Assembly, declare_state, effort, flow, into, law_arguments, name_port
from bondgraph.assembly.ideal import constraint
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
"""Name of the state of an inertia."""
MOMENTUM, OWN_FORCE = ":momentum", ":own force"
"""Names of the momentum that a velocity makes, and of the effort of an IC that comes from its place."""


def held_system(model: Model, causality: Causality, moving: bool, ignored: Collection[str]) -> System:
    """Sorted statements with given velocities.

    Parameters
    ----------
    moving : whether inertias keep momenta and have kinetic energies; else they start at rest.
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
    named = refuse_undefined_values(remove_aliases(assemble(model, causality, writers)), model)
    return find_shapes(sort_statements(named), model)


def turned_by(model: Model, path: str) -> list[str]:
    """Euler junction structures at the 1-junction of an I: what they do to its momentum is part of its motion."""
    bond = model.bonds_at(path)[0]
    junction = bond.tail.element if bond.head.element == path else bond.head.element
    law = model.elements[junction].law
    if not (isinstance(law, laws.Junction) and law.type == 1 and law.automaton is None):
        return []
    near = [end.element for other in model.bonds_at(junction) for end in other.ends if end.element != junction]
    one = [name for name in near if is_inertia(model.elements[name].law)]
    return [name for name in near if isinstance(model.elements[name].law, laws.SkewGyrator)] if one == [path] else []


def is_inertia(law: laws.Law) -> bool:
    """Whether a law is that of an I or IC."""
    return isinstance(law, laws.Storing) and law.gives == "flow"


def velocities_of(system: System, model: Model) -> list[str]:
    """States that are velocities of independent inertias, by name."""
    cut = [(state.name, *state.name.rpartition(".")) for state in system.states]
    known = model.elements
    return [name for name, path, _, local in cut if local == VELOCITY and path in known and is_inertia(known[path].law)]


def _inertia(draft: Assembly, path: str, element: Element, moving: bool) -> None:
    """An I: its flow is a state, or is set by others; its momentum follows."""
    law, bond = element.law_as(laws.Storage), draft.bond_at(path)
    arguments = law_arguments(path, element)
    if path in draft.causality.derivative:
        draft.write(path, zeros(bond.shape), effort(bond))
    else:
        rate = f"{path}.{VELOCITY}'"
        turning = turned_by(draft.model, path) if moving else []
        if turning:
            turns = [draft.model.bonds_at(other)[0] for other in turning]
            signs = tuple(-into(turn, other) for turn, other in zip(turns, turning, strict=True))
            taken = draft.declare(f"{path}:turning", bond.shape, bond.domain.effort_unit)
            draft.write(path, combine(signs), taken, *map(effort, turns))
            draft.write(path, law.output, rate, taken, *arguments)
        else:
            draft.write(path, zeros(bond.shape), rate)
        start = np.broadcast_to(np.asarray(law.spec.initial, dtype=float), bond.shape)
        if moving and np.any(start) and not element.signals:
            start = law.output(start[()], *(draft.parameters[name] for name in arguments))
        _velocity(draft, path, bond, start if moving and not element.signals else 0.0)
    assert law.inverse is not None  # else it is refused before
    made = draft.declare(f"{path}{MOMENTUM}", bond.shape, law.spec.unit or bond.domain.momentum_unit)
    draft.write(path, law.inverse, made, flow(bond), *arguments)
    draft.same(path, f"{path}.{law.state}", made, element.symbols.get(law.state, ""))
    name_port(draft, path, element, bond, path)
    if moving:
        _stored(draft, path, law.energy, made, *arguments)


def _inertial_field(draft: Assembly, path: str, element: Element, moving: bool) -> None:
    """An IC: its place moves with its flow; momentum and own effort follow from place and velocity."""
    law, bond = element.law_as(laws.InertialField), draft.bond_at(path)
    arguments, q, v = law_arguments(path, element), f"{path}.q", f"{path}.{VELOCITY}"
    position = laws.StateSpec(law.position.initial, law.position.nominal, bond.domain.displacement_unit)
    draft.declare(f"{q}'", bond.shape, per_second(position.unit))
    declare_state(draft, path, "q", position, bond.shape, f"{q}'")
    own, rest = draft.declare(f"{path}{OWN_FORCE}", bond.shape, bond.domain.effort_unit), f"{path}:at rest"
    draft.declare(rest, bond.shape, bond.domain.flow_unit)
    draft.write(path, zeros(bond.shape), rest)
    draft.write(path, law.own_rate, own, q, rest, *arguments)
    if path in draft.causality.derivative:
        draft.write(path, zeros(bond.shape), effort(bond))
        draft.same(path, v, flow(bond))
    else:
        if moving:
            borne = draft.declare(f"{path}:borne", bond.shape, bond.domain.effort_unit)
            draft.write(path, combine((-1,)), borne, own)
            draft.write(path, _acceleration(law), f"{v}'", q, v, borne, *arguments)
        else:
            draft.write(path, zeros(bond.shape), f"{v}'")
        start = law.start.initial
        if moving and law.motion == "p" and np.any(start) and not element.signals:
            place = np.broadcast_to(np.asarray(law.position.initial, dtype=float), bond.shape)[()]
            start = law.flow(place, start, *(draft.parameters[name] for name in arguments))
        _velocity(draft, path, bond, start if moving else 0.0)
    draft.same(path, f"{q}'", flow(bond))
    made = draft.declare(f"{path}{MOMENTUM}", bond.shape, bond.domain.momentum_unit)
    draft.write(path, law.momentum, made, q, v, *arguments)
    name_port(draft, path, element, bond, path)
    _stored(draft, path, law.energy, q, v if moving else rest, *arguments)


def _acceleration(law: laws.InertialField) -> Op:
    """v' from place, velocity and effort, in whichever form the element is."""
    if law.motion == "v":
        return law.rate
    assert law.mechanics is not None  # else it is refused before
    return Op("acceleration", on_bond(law.mechanics, Mechanics.acceleration, 3))


def _velocity(draft: Assembly, path: str, bond: Bond, start: Any) -> None:
    """The state, and the flow that it is."""
    given = np.broadcast_to(np.asarray(start, dtype=float), bond.shape)
    rate = draft.declare(f"{path}.{VELOCITY}'", bond.shape, per_second(bond.domain.flow_unit))
    declare_state(draft, path, VELOCITY, laws.StateSpec(given, unit=bond.domain.flow_unit), bond.shape, rate)
    draft.same(path, flow(bond), f"{path}.{VELOCITY}")


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
