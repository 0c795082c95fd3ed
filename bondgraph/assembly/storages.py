"""Statements of storages: integral causality, or derivative causality, where the state follows and its rate is unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph.assembly.draft import Assembly, account_energy, declare_state, into, law_arguments, seek, signed, variable
from bondgraph.assembly.system import Unknown
from bondgraph.causality.assign import Causality
from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.laws import OTHER, StateSpec, Storage
from bondgraph.model.model import Model
from bondgraph.model.ops import TIME_DERIVATIVE, combine
from bondgraph.model.units import per_second


def storage(draft: Assembly, path: str, element: Element) -> None:
    """The state is the integral of what flows in (or as its own law says) and the output follows from it; or the reverse."""
    law, bond = element.law_as(Storage), draft.bond_at(path)
    unit = bond.domain.displacement_unit if law.gives == "effort" else bond.domain.momentum_unit
    symbol = element.symbols.get(law.state, law.spec.symbol)
    spec = replace(law.spec, unit=law.spec.unit or unit, symbol=symbol)
    if path in draft.causality.derivative:
        _dependent(draft, path, element, spec)
    else:
        _independent(draft, path, element, spec)
    account_energy(draft, path, element, law.energy, f"{path}.{law.state}")


def _independent(draft: Assembly, path: str, element: Element, spec: StateSpec) -> None:
    """Integral causality: the rate of the state is what flows in (or the law's own), the output follows from the state."""
    law, bond = element.law_as(Storage), draft.bond_at(path)
    shape = bond.shape if law.rate is None else spec.shape
    state, rate, arguments = f"{path}.{law.state}", f"{path}.{law.state}'", law_arguments(path, element)
    declare_state(draft, path, law.state, spec, shape, rate)
    draft.declare(rate, shape, per_second(spec.unit))
    draft.write(path, law.output, variable(bond, law.gives), state, *arguments)
    moving = signed(draft, path, variable(bond, OTHER[law.gives]), into(bond, path))
    if law.rate is None:
        draft.same(path, rate, moving)
    else:
        draft.write(path, law.rate, rate, state, moving, *arguments)


def _dependent(draft: Assembly, path: str, element: Element, spec: StateSpec) -> None:
    """Derivative causality: the state follows from the output that others set; its rate is what the storage takes."""
    law, bond = element.law_as(Storage), draft.bond_at(path)
    output, unknown = variable(bond, law.gives), variable(bond, OTHER[law.gives])
    state = draft.declare(f"{path}.{law.state}", bond.shape, spec.unit, spec.symbol)
    unit = per_second(spec.unit)
    rate = draft.declare(f"{path}.{law.state}'", bond.shape, unit)
    residual = draft.declare(f"{path}:residual", bond.shape, unit)
    if law.inverse is None:
        if np.any(np.asarray(spec.initial, dtype=float)):
            draft.values[state] = replace(draft.values[state], near=spec.initial)
        seek(draft, path, element, law.output, state, output, law.gives)
    else:
        draft.write(path, law.inverse, state, output, *law_arguments(path, element))
    draft.write(path, TIME_DERIVATIVE, rate, state)
    draft.write(path, combine((into(bond, path), -1)), residual, unknown, rate)
    draft.unknowns.append(Unknown(unknown, residual, path, "derivative causality"))


def storages_that_cannot_follow(model: Model, causality: Causality) -> list[Problem]:
    """Storages in derivative causality whose state is no integral of what they take, such as a pose (E204)."""
    found = []
    for path in causality.derivative:
        element = model.elements[path]
        if not isinstance(element.law, Storage) or element.law.rate is None:
            continue
        others, gives = model.elements_at(causality.forced_by.get(path, ())), element.law.gives
        names = " and ".join(f'{e.kind} "{e.name}"' for e in others) or "the rest of the graph"
        cures = [f"{'a C or R' if gives == 'flow' else 'an I or R'} between it and {names}"]
        if any(isinstance(e.law, Storage) for e in others):
            cures.append("one storage in place of those that are rigidly coupled")
        why = f"its {gives} is set by {names}, and does not say what its state is"
        title, places = f'{element.kind} "{path}" has derivative causality', (element.place, *(e.place for e in others))
        found.append(Problem("E204", title, (why,), places, tuple(cures)))
    return found
