"""Statements of ideal elements: constraints and switches, whose effort or flow is whatever makes another value vanish."""

from __future__ import annotations

from bondgraph.equations.draft import Draft, account_power, declare_state, effort, flow, into, name_port, signed
from bondgraph.equations.system import Unknown
from bondgraph.graph.element import Element
from bondgraph.graph.laws import IdealConstraint, IdealSwitch
from bondgraph.ops import (
    DAMPED,
    NEGATE,
    SLIPPING,
    STABILISED,
    TIME_DERIVATIVE,
    choose,
    gate,
)

STABILISERS = ("alpha1", "alpha0", "alpha2")
OWN = (*STABILISERS, "restitution")
"""Parameters of a constraint that are no arguments of its position."""


def constraint(draft: Draft, path: str, element: Element) -> None:
    """The effort is unknown; what vanishes is the stabilised second derivative of the position."""
    law = element.law
    assert isinstance(law, IdealConstraint)
    bond = draft.model.bonds_at(path)[0]
    sign, shape = into(bond, path), draft.values[flow(bond)].shape
    assert shape is not None
    moving = signed(draft, path, flow(bond), sign)
    mode = element.signals[-1] if law.automaton else None
    signals = element.signals[:-1] if law.automaton else element.signals
    own = [f"{path}.{name}" for name in element.parameters if name not in OWN]
    if law.position is not None:
        draft.declare(f"{path}.h", None)
        draft.state(path, law.position, f"{path}.h", *own, *signals)
    elif law.stores_position:
        declare_state(draft, path, "h", law.start, shape, f"{path}.h'")
    draft.declare(f"{path}.h'", shape)
    draft.same(path, f"{path}.h'", moving)
    draft.declare(f"{path}.multiplier", shape, bond.domain.effort_unit, element.symbols.get("multiplier", r"\lambda"))
    draft.state(path, NEGATE, f"{path}.multiplier", effort(bond))
    second, held = draft.declare(f"{path}.h''", shape), draft.declare(f"{path}:held", shape)
    draft.state(path, TIME_DERIVATIVE, second, moving)
    if law.position is not None or law.stores_position:
        alphas = (f"{path}.{name}" for name in STABILISERS)
        draft.state(path, STABILISED, held, second, moving, f"{path}.h", *alphas)
    else:
        draft.state(path, DAMPED, held, second, moving, f"{path}.alpha1")
    if law.released is not None and mode:
        arguments = (mode, moving, *own, *signals)
        given = draft.declare(f"{path}.released effort", shape, bond.domain.effort_unit)
        draft.state(path, law.released, given, *arguments)
        off = draft.declare(f"{path}:off", shape)
        draft.state(path, SLIPPING, off, effort(bond), given)
    else:
        off = effort(bond)
    _unknown(draft, path, effort(bond), moving, held, off, mode, law.active, law.impulsive, "constraint", 1)
    name_port(draft, path, element, bond, path)
    if law.released is None:
        account_power(draft, path, bond, -sign, "injected")
    else:
        account_power(draft, path, bond, sign, "dissipated")


def switch(draft: Draft, path: str, element: Element) -> None:
    """Closed, its effort vanishes; open, its flow. Unknown is whichever of the two the rest of the graph asks it for."""
    law = element.law
    assert isinstance(law, IdealSwitch)
    bond = draft.model.bonds_at(path)[0]
    sign, shape = into(bond, path), draft.values[flow(bond)].shape
    assert shape is not None
    inward = signed(draft, path, flow(bond), sign)
    draft.declare(f"{path}.inflow", shape, bond.domain.flow_unit)
    draft.same(path, f"{path}.inflow", inward)
    mode = element.signals[-1]
    states = draft.model.automata[mode.removesuffix(".mode")].states
    if draft.causality.effort_into(bond, path):
        unknown, vanishing, active, sense = flow(bond), effort(bond), law.closed, sign
    else:
        unknown, vanishing, active = effort(bond), inward, tuple(s for s in states if s not in law.closed)
        sense = 1
    second, held = draft.declare(f"{path}:rate", shape), draft.declare(f"{path}:held", shape)
    draft.state(path, TIME_DERIVATIVE, second, vanishing)
    draft.state(path, DAMPED, held, second, vanishing, f"{path}.alpha1")
    _unknown(draft, path, unknown, vanishing, held, unknown, mode, active, True, "switch", sense)
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, -sign, "injected")


def _unknown(
    draft: Draft,
    path: str,
    unknown: str,
    vanishing: str,
    held: str,
    off: str,
    mode: str | None,
    active: tuple[str, ...],
    impulsive: bool,
    reason: str,
    sense: int,
) -> None:
    """Add an unknown such that `held` is zero in the active modes and `off` in all others."""
    shape = draft.values[unknown].shape
    residual, stopped = held, vanishing if impulsive else ""
    if mode is not None:
        states = draft.model.automata[mode.removesuffix(".mode")].states
        places = tuple(states.index(state) for state in active)
        residual = draft.declare(f"{path}:residual", shape)
        draft.state(path, choose(places), residual, mode, held, off)
        if impulsive:
            stopped = draft.declare(f"{path}:stopped", shape)
            draft.state(path, gate(places), stopped, mode, vanishing)
    draft.unknowns.append(Unknown(unknown, residual, path, reason, held, vanishing, stopped, sense=sense))
