"""Statements of storages: integral causality, or derivative causality, where the state follows and its rate is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bondgraph.assembly.draft import (
    Assembly,
    account_power,
    declare_state,
    into,
    law_arguments,
    name_port,
    seek,
    signed,
    variable,
)
from bondgraph.assembly.system import Unknown
from bondgraph.causality.assign import Causality
from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.laws import OTHER, StateSpec, Storage, storing
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import TIME_DERIVATIVE, combine


def storage(draft: Assembly, path: str, element: Element) -> None:
    """Integral causality: the rate of the state is what flows in (or the law's own), the output follows from the state."""
    law = element.law
    assert isinstance(law, Storage)
    bond = draft.model.bonds_at(path)[0]
    sign, arguments = into(bond, path), law_arguments(path, element)
    given, result = variable(bond, OTHER[law.gives]), variable(bond, law.gives)
    if path in draft.causality.derivative:
        _dependent_storage(draft, path, element, bond)
        return
    shape = draft.values[given].shape if law.rate is None else law.spec.shape
    assert shape is not None
    state, rate = f"{path}.{law.state}", f"{path}.{law.state}'"
    unit = _state_unit(bond, law)
    spec = (
        law.spec
        if law.spec.unit
        else StateSpec(law.spec.initial, law.spec.nominal, unit, element.symbols.get(law.state, law.spec.symbol))
    )
    declare_state(draft, path, law.state, spec, shape, rate)
    draft.declare(rate, shape, "", "")
    draft.write(path, law.output, result, state, *arguments)
    moving = signed(draft, path, given, sign)
    if law.rate is None:
        draft.same(path, rate, moving)
    else:
        draft.write(path, law.rate, rate, state, moving, *arguments)
    _account(draft, path, element, bond)


def _state_unit(bond: Bond, law: Storage) -> str:
    """That of the integral of what it takes."""
    return bond.domain.displacement_unit if law.gives == "effort" else bond.domain.momentum_unit


def _account(draft: Assembly, path: str, element: Element, bond: Bond) -> None:
    """Stored energy, the names of the port's variables, and the power into the storage."""
    law = element.law
    assert isinstance(law, Storage)
    draft.declare(f"{path}.energy", (), "J")
    draft.write(path, law.energy, f"{path}.energy", f"{path}.{law.state}", *law_arguments(path, element))
    draft.energies.append((path, f"{path}.energy"))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, into(bond, path), None)


def _dependent_storage(draft: Assembly, path: str, element: Element, bond: Bond) -> None:
    """Derivative causality: the state follows from the output that others set; its rate is what the storage takes."""
    law = element.law
    assert isinstance(law, Storage)
    output, unknown = variable(bond, law.gives), variable(bond, OTHER[law.gives])
    shape = draft.values[unknown].shape
    unit = _state_unit(bond, law)
    state = draft.declare(f"{path}.{law.state}", shape, unit, element.symbols.get(law.state, law.spec.symbol))
    rate = draft.declare(f"{path}.{law.state}'", shape)
    residual = draft.declare(f"{path}:residual", shape)
    if law.inverse is None:
        if np.any(np.asarray(law.spec.initial, dtype=float)):
            draft.values[state] = replace(draft.values[state], near=law.spec.initial)
        seek(draft, path, element, law.output, state, output, law.gives)
    else:
        draft.write(path, law.inverse, state, output, *law_arguments(path, element))
    draft.write(path, TIME_DERIVATIVE, rate, state)
    draft.write(path, combine((into(bond, path), -1)), residual, unknown, rate)
    draft.unknowns.append(Unknown(unknown, residual, path, "derivative causality"))
    _account(draft, path, element, bond)


def storages_that_cannot_follow(model: Model, causality: Causality) -> list[Problem]:
    """Storages in derivative causality whose state is no integral of what they take, such as a pose (E204)."""
    laws = {path: model.elements[path].law for path in causality.derivative}
    stuck = [path for path, law in laws.items() if isinstance(law, Storage) and law.rate is not None]
    return [_derivative(model, path, causality.forced_by.get(path, ())) for path in stuck]


def _derivative(model: Model, path: str, forced_by: Sequence[str]) -> Problem:
    element = model.elements[path]
    gives = storing(element.law).gives
    between = "a C or R" if gives == "flow" else "an I or R"
    others = [model.elements[other] for other in forced_by if other in model.elements]
    names = " and ".join(f'{e.kind} "{e.name}"' for e in others) or "the rest of the graph"
    cures = [f"{between} between it and {names}"]
    if any(isinstance(e.law, Storage) for e in others):
        cures.append("one storage in place of those that are rigidly coupled")
    title = f'{element.kind} "{path}" has derivative causality'
    places = (element.place, *(e.place for e in others))
    return Problem("E204", title, (f"its {gives} is set by {names}, and does not say what its state is",), places, tuple(cures))
