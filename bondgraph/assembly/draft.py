"""Draft of a system: statements, values and roles collected while the elements of a model are visited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.assembly.system import Clock, Power, State, Statement, Unknown, Value
from bondgraph.causality.assign import Causality
from bondgraph.elements.curves import Curve
from bondgraph.model.element import Element
from bondgraph.model.laws import StateSpec, Switched, Variable
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import HEAT_FLOW, IDENTITY, NEGATE, POWER, SOUGHT, Op, share_of, zeros
from bondgraph.model.units import per_second


@dataclass
class Assembly:
    model: Model
    causality: Causality
    statements: list[Statement] = field(default_factory=list)
    equal: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of names for the same value."""
    values: dict[str, Value] = field(default_factory=dict)
    variables: dict[str, tuple[str, str]] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    energies: list[tuple[str, str]] = field(default_factory=list)
    powers: list[Power] = field(default_factory=list)
    unknowns: list[Unknown] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)
    heat_shares: Mapping[str, float] | None = None
    """Heat shares if an element is assembled apart from its model; None to use the model's heat shares."""

    def __post_init__(self) -> None:
        self.declare("time", (), "s", "t")
        for automaton in self.model.automata.values():
            self.declare(f"{automaton.name}.mode", (), "")
        types: dict[tuple[int, int, str | None], tuple[Value, Value]] = {}
        for bond in self.model.bonds:
            kind = bond.dimension, id(bond.domain), bond.frame
            if kind not in types:
                of_effort, of_flow = bond.domain.effort_unit, bond.domain.flow_unit
                types[kind] = Value(bond.shape, of_effort, "", bond.frame), Value(bond.shape, of_flow, "", bond.frame)
            names = self.variables[bond.name] = f"{bond.name}:effort", f"{bond.name}:flow"
            self.values[names[0]], self.values[names[1]] = types[kind]

    def declare(
        self, name: str, shape: tuple[int, ...] | None, unit: str = "", symbol: str = "", frame: str | None = None
    ) -> str:
        self.values[name] = Value(shape, unit, symbol, frame)
        return name

    def bond_at(self, path: str) -> Bond:
        return self.model.bonds_at(path)[0]

    def places(self, law: Switched, states: Iterable[str]) -> tuple[int, ...]:
        return tuple(map(self.model.automata[str(law.automaton)].states.index, states))

    def write(self, element: str, op: Op, outs: str | tuple[str, ...], *args: str) -> None:
        """Append a statement; an identity makes both names aliases instead."""
        names = (outs,) if isinstance(outs, str) else outs
        if op is IDENTITY:
            self.equal.append((names[0], args[0]))
        else:
            self.statements.append(Statement(names, op, args, element))

    def same(self, element: str, alias: str, value: str, symbol: str = "") -> None:
        original = self.values[value]
        self.values.setdefault(alias, Value(original.shape, original.unit, symbol, original.frame))
        self.equal.append((alias, value))


def effort(bond: Bond) -> str:
    return f"{bond.name}:effort"


def flow(bond: Bond) -> str:
    return f"{bond.name}:flow"


def variable(bond: Bond, which: Variable) -> str:
    return f"{bond.name}:{which}"


def into(bond: Bond, path: str) -> int:
    """Return +1 if the half arrow points into the element, else -1."""
    return 1 if bond.head.element == path else -1


def law_arguments(path: str, element: Element) -> tuple[str, ...]:
    return (*(f"{path}.{name}" for name in element.parameters), *element.signals)


def signed(draft: Assembly, path: str, value: str, sign: int) -> str:
    if sign > 0:
        return value
    negative = draft.declare(f"-{value}", draft.values[value].shape, draft.values[value].unit)
    draft.write(path, NEGATE, negative, value)
    return negative


def solve_for(draft: Assembly, path: str, element: Element, op: Op, value: str, output: str, letter: str) -> None:
    """Write `value` as the solution of output = op(value): an algebraic loop of one statement; `letter` is the symbol of the
    output."""
    if isinstance(op.function, Curve):
        gives = {"e": "effort", "f": "flow"}.get(letter, "state")
        op.function.need_monotone(f'{element.kind} "{path}", whose {gives} is set by other elements,', path, (element.place,))
    kind = draft.values[output]
    computed = draft.declare(f"{path}:by relation", kind.shape, kind.unit, rf"\hat {letter}")
    draft.write(path, op, computed, value, *law_arguments(path, element))
    draft.write(path, SOUGHT, value, value, output, computed)


def name_port(draft: Assembly, path: str, element: Element, bond: Bond, prefix: str) -> None:
    for which in ("effort", "flow"):
        name = f"{prefix}.{which}"
        draft.same(path, name, f"{bond.name}:{which}", element.symbols.get(name.removeprefix(f"{path}."), ""))


def declare_state(
    draft: Assembly, path: str, name: str, spec: StateSpec, shape: tuple[int, ...], rate: str, held: bool = False
) -> None:
    full = f"{path}.{name}"
    draft.declare(full, shape, spec.unit, spec.symbol)
    hint = 0.0 if spec.nominal is None else spec.nominal
    draft.states.append(State(full, filled(spec.initial, shape), filled(hint, shape), rate, held=held))


def keep_state(draft: Assembly, path: str, name: str, spec: StateSpec) -> None:
    """Declare a state that only transitions and ticks change."""
    rate = draft.declare(f"{path}.{name}'", spec.shape, per_second(spec.unit))
    draft.write(path, zeros(spec.shape), rate)
    declare_state(draft, path, name, spec, spec.shape, rate, held=True)


def filled(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    numbers = np.asarray(value, dtype=float)
    return numbers if numbers.shape == shape else np.broadcast_to(numbers, shape)


def account_energy(draft: Assembly, path: str, element: Element, energy: Op, *state: str) -> None:
    bond = draft.bond_at(path)
    stored = draft.declare(f"{path}.energy", (), bond.domain.energy_unit)
    if bond.domain.pseudo:
        draft.write(path, HEAT_FLOW, stored, *state)
    else:
        draft.write(path, energy, stored, *state, *law_arguments(path, element))
    draft.energies.append((path, stored))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, into(bond, path), None)


def account_power(draft: Assembly, path: str, bond: Bond, sign: int, role: str | None) -> None:
    """Add the element's power to the energy ledger: power in, or power out for a source. The power of a pseudo-bond is the share
    of its flow that leaves the model (`Model.heat_shares`). Power that leaves through a heat port counts as converted, because
    it stays in the model."""
    unit = bond.domain.power_unit
    name = draft.declare(f"{path}.power", (), unit)
    raw = name if sign > 0 else draft.declare(f"{path}.power along the arrow", (), unit, r"\bar P")
    if bond.domain.pseudo:
        shares = draft.model.heat_shares if draft.heat_shares is None else draft.heat_shares
        share = shares.get(path, 1.0)
        draft.write(path, share_of(share), raw, *((flow(bond),) if share else ()))
    else:
        draft.write(path, POWER, raw, effort(bond), flow(bond))
    if sign < 0:
        draft.write(path, NEGATE, name, raw)
    if role == "dissipated" and draft.model.elements[path].heat:
        role = "converted"
    if role:
        draft.powers.append(Power(path, name, role))
