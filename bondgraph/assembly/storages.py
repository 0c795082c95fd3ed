"""Statements of storages, C, I and IC: integral causality, or derivative causality with a dependent state and unknown rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph.assembly.draft import (
    Assembly,
    account_energy,
    declare_state,
    effort,
    flow,
    into,
    law_arguments,
    signed,
    solve_for,
    variable,
)
from bondgraph.assembly.system import Unknown
from bondgraph.causality.assign import Causality
from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.laws import OTHER, InertialField, StateSpec, Storage
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import TIME_DERIVATIVE, combine
from bondgraph.model.units import per_second


def storage(draft: Assembly, path: str, element: Element) -> None:
    law, bond = element.law_as(Storage), draft.bond_at(path)
    unit = bond.domain.displacement_unit if law.gives == "effort" else bond.domain.momentum_unit
    symbol = element.symbols.get(law.state, law.spec.symbol)
    spec = replace(law.spec, unit=law.spec.unit or unit, symbol=symbol)
    if path in draft.causality.derivative:
        _dependent(draft, path, element, spec)
    else:
        _independent(draft, path, element, spec)
    account_energy(draft, path, element, law.stored, f"{path}.{law.state}" if law.output else variable(bond, law.gives))


def _independent(draft: Assembly, path: str, element: Element, spec: StateSpec) -> None:
    law, bond = element.law_as(Storage), draft.bond_at(path)
    shape = bond.shape if law.rate is None else spec.shape
    state, rate, arguments = f"{path}.{law.state}", f"{path}.{law.state}'", law_arguments(path, element)
    declare_state(draft, path, law.state, spec, shape, rate)
    draft.declare(rate, shape, per_second(spec.unit))
    if law.output is not None:
        draft.write(path, law.output, variable(bond, law.gives), state, *arguments)
    else:
        assert law.inverse is not None
        solve_for(draft, path, element, law.inverse, variable(bond, law.gives), state, law.state)
    moving = signed(draft, path, variable(bond, OTHER[law.gives]), into(bond, path))
    if law.rate is None:
        draft.same(path, rate, moving)
    else:
        draft.write(path, law.rate, rate, state, moving, *arguments)


def _dependent(draft: Assembly, path: str, element: Element, spec: StateSpec) -> None:
    """Write the statements for derivative causality: other elements set the output, which determines the state; the rate of the
    state is the input."""

    law, bond = element.law_as(Storage), draft.bond_at(path)
    output, unknown = variable(bond, law.gives), variable(bond, OTHER[law.gives])
    state = draft.declare(f"{path}.{law.state}", bond.shape, spec.unit, spec.symbol)
    unit = per_second(spec.unit)
    rate = draft.declare(f"{path}.{law.state}'", bond.shape, unit)
    residual = draft.declare(f"{path}:residual", bond.shape, unit)
    if law.inverse is None:
        assert law.output is not None
        if np.any(np.asarray(spec.initial, dtype=float)):
            draft.values[state] = replace(draft.values[state], near=spec.initial)
        solve_for(draft, path, element, law.output, state, output, law.gives[0])
    else:
        draft.write(path, law.inverse, state, output, *law_arguments(path, element))
    draft.write(path, TIME_DERIVATIVE, rate, state)
    draft.write(path, combine((into(bond, path), -1)), residual, unknown, rate)
    draft.unknowns.append(Unknown(unknown, residual, path, "derivative causality"))


def non_integral_storages(model: Model, causality: Causality) -> list[Problem]:
    """Report storages in derivative causality whose state is not an integral of their input, such as a pose (E204)."""
    problems = []
    for path in causality.derivative:
        element = model.elements[path]
        if not isinstance(element.law, Storage) or element.law.rate is None:
            continue
        others, gives = model.elements_at(causality.forced_by.get(path, ())), element.law.gives
        names = " and ".join(f'{e.kind} "{e.name}"' for e in others) or "the rest of the graph"
        cures = [f"{'a C or R' if gives == 'flow' else 'an I or R'} between it and {names}"]
        if any(isinstance(e.law, Storage) for e in others):
            cures.append("one storage instead of those that are rigidly coupled")
        why = f"its {gives} is set by {names}, and does not determine its state"
        title, lines = f'{element.kind} "{path}" has derivative causality', (element.place, *(e.place for e in others))
        problems.append(Problem("E204", title, (why,), lines, tuple(cures)))
    return problems


def inertial_field(draft: Assembly, path: str, element: Element) -> None:
    """Write the statements of an IC: q' = flow = v, and v' or p' from q, v and the effort; in derivative causality the effort
    from q, v and p'."""
    law, bond = element.law_as(InertialField), draft.bond_at(path)
    _state(draft, path, element, bond, "q", law.position, bond.domain.displacement_unit)
    write = _dependent_inertia if path in draft.causality.derivative else _independent_inertia
    write(draft, path, element, bond)
    draft.same(path, f"{path}.q'", flow(bond))
    account_energy(draft, path, element, law.energy, f"{path}.q", f"{path}.v")


def _independent_inertia(draft: Assembly, path: str, element: Element, bond: Bond) -> None:
    law = element.law_as(InertialField)
    q, motion, arguments = f"{path}.q", f"{path}.{law.motion}", law_arguments(path, element)
    unit = bond.domain.flow_unit if law.motion == "v" else bond.domain.momentum_unit
    _state(draft, path, element, bond, law.motion, law.start, unit)
    if law.motion == "v":
        draft.same(path, flow(bond), motion)
    else:
        draft.write(path, law.flow, flow(bond), q, motion, *arguments)
        draft.same(path, f"{path}.v", flow(bond), element.symbols.get("v", ""))
    inward = signed(draft, path, effort(bond), into(bond, path))
    draft.write(path, law.rate, f"{motion}'", q, f"{path}.v", inward, *arguments)


def _dependent_inertia(draft: Assembly, path: str, element: Element, bond: Bond) -> None:
    law, shape, unit = element.law_as(InertialField), bond.shape, bond.domain.effort_unit
    state = f"{path}.q", f"{path}.v", *law_arguments(path, element)
    draft.same(path, f"{path}.v", flow(bond), element.symbols.get("v", ""))
    name, symbol = (f"{path}.p", element.symbols.get("p", "")) if law.motion == "p" else (f"{path}:momentum", "p")
    p = draft.declare(name, shape, bond.domain.momentum_unit, symbol)
    rate = draft.declare(f"{p}'", shape, unit, rf"\dot {symbol}" if symbol else "")
    own_rate = draft.declare(f"{path}:own rate", shape, unit, r"\dot p^\ast")
    needed, residual = draft.declare(f"{path}:needed", shape, unit, r"\hat e"), draft.declare(f"{path}:residual", shape, unit)
    draft.write(path, law.momentum, p, *state)
    draft.write(path, TIME_DERIVATIVE, rate, p)
    draft.write(path, law.own_rate, own_rate, *state)
    draft.write(path, combine((1, -1)), needed, rate, own_rate)
    draft.write(path, combine((into(bond, path), -1)), residual, effort(bond), needed)
    draft.unknowns.append(Unknown(effort(bond), residual, path, "derivative causality"))


def _state(draft: Assembly, path: str, element: Element, bond: Bond, name: str, spec: StateSpec, unit: str) -> None:
    declared = StateSpec(spec.initial, spec.nominal, unit, element.symbols.get(name, spec.symbol))
    declare_state(draft, path, name, declared, bond.shape, f"{path}.{name}'")
    draft.declare(f"{path}.{name}'", bond.shape, per_second(unit))
