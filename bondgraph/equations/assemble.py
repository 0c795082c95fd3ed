"""Assembly: Model and Causality -> System, one element at a time, unsorted and with aliases still in place.

Names: a bond's variables are `<bond>:effort` and `<bond>:flow`; a one-port's are also `<element>.effort` and
`<element>.flow`, a two-port's `<element>.1.effort` ...; a junction's common variable is `<junction>.flow` or `.effort`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.causality import Causality, ordered_bonds
from bondgraph.equations.system import Event, Power, State, Statement, System, Unknown, Value
from bondgraph.errors import ModelError, Problem, raise_if_any
from bondgraph.graph.element import Element
from bondgraph.graph.laws import (
    Gyrator,
    IdealConstraint,
    Junction,
    Resistor,
    SignalBlock,
    SkewGyrator,
    Source,
    StateSpec,
    Storage,
    Transformer,
)
from bondgraph.graph.model import Bond, Model
from bondgraph.ops import (
    APPLY,
    APPLY_INVERSE,
    APPLY_TRANSPOSED,
    IDENTITY,
    NEGATE,
    POWER,
    STABILISED,
    TIME_DERIVATIVE,
    Op,
    as_op,
    combine,
    gate,
    zeros,
)


def assemble(model: Model, causality: Causality) -> System:
    """All statements of a model.

    Raises `ModelError` E204 where a storage has derivative causality and no formula for its state from its output, E120
    where a transition resets what is no state of its own for that causality.
    """
    stuck = [path for path in causality.derivative if _inverse(model, path) is None]
    if stuck:
        raise ModelError(model.name, [_derivative(model, path, causality.forced_by.get(path, ())) for path in stuck])
    raise_if_any(model.name, _dependent_resets(model, causality))
    draft = _Draft(model, causality)
    for path, element in model.elements.items():
        for name, parameter in element.parameters.items():
            draft.declare(f"{path}.{name}", np.shape(parameter.value), parameter.unit)
            draft.parameters[f"{path}.{name}"] = np.asarray(parameter.value, dtype=float)
        ASSEMBLE[type(element.law)](draft, path, element)
    events = _events(draft)
    return System(
        model.name,
        tuple(draft.statements),
        draft.values,
        tuple(draft.states),
        draft.parameters,
        {f"{a.name}.mode": (a.states, a.initial) for a in model.automata.values()},
        events,
        tuple(draft.energies),
        tuple(draft.powers),
        model.starts,
        dict(model.aliases),
        tuple(draft.unknowns),
    )


@dataclass
class _Draft:
    """Collects statements while the elements are visited."""

    model: Model
    causality: Causality
    statements: list[Statement] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    energies: list[tuple[str, str]] = field(default_factory=list)
    powers: list[Power] = field(default_factory=list)
    unknowns: list[Unknown] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.declare("time", (), "s", "t")
        for automaton in self.model.automata.values():
            self.declare(f"{automaton.name}.mode", (), "")
        for bond in self.model.bonds:
            shape = (bond.dimension,) if bond.dimension > 1 else ()
            self.declare(effort(bond), shape, bond.domain.effort_unit, "", bond.frame)
            self.declare(flow(bond), shape, bond.domain.flow_unit, "", bond.frame)

    def declare(
        self, name: str, shape: tuple[int, ...] | None, unit: str = "", symbol: str = "", frame: str | None = None
    ) -> str:
        self.values[name] = Value(name, shape, unit, symbol, frame)
        return name

    def state(self, element: str, op: Op, outs: str | tuple[str, ...], *args: str) -> None:
        """Append one statement."""
        self.statements.append(Statement((outs,) if isinstance(outs, str) else outs, op, args, element))

    def same(self, element: str, alias: str, value: str, symbol: str = "") -> None:
        """`alias` is another name of `value`."""
        known = self.values[value]
        self.values.setdefault(alias, Value(alias, known.shape, known.unit, symbol, known.frame))
        self.state(element, IDENTITY, alias, value)


def effort(bond: Bond) -> str:
    """Name of a bond's effort."""
    return f"{bond.name}:effort"


def flow(bond: Bond) -> str:
    """Name of a bond's flow."""
    return f"{bond.name}:flow"


def _into(bond: Bond, path: str) -> int:
    """+1 where the half arrow points into the element, else -1."""
    return 1 if bond.head.element == path else -1


def _law_arguments(path: str, element: Element) -> tuple[str, ...]:
    return (*(f"{path}.{name}" for name in element.parameters), *element.signals)


def _signed(draft: _Draft, path: str, value: str, sign: int) -> str:
    if sign > 0:
        return value
    negative = draft.declare(f"-{value}", draft.values[value].shape, draft.values[value].unit)
    draft.state(path, NEGATE, negative, value)
    return negative


def _name_port(draft: _Draft, path: str, element: Element, bond: Bond, prefix: str) -> None:
    local = prefix.removeprefix(path).removeprefix(".")
    for variable, name in (("effort", effort(bond)), ("flow", flow(bond))):
        key = f"{local}.{variable}" if local else variable
        draft.same(path, f"{prefix}.{variable}", name, element.symbols.get(key, ""))


def _declare_state(draft: _Draft, path: str, name: str, spec: StateSpec, shape: tuple[int, ...], rate: str) -> None:
    full = f"{path}.{name}"
    draft.declare(full, shape, spec.unit, spec.symbol)
    draft.states.append(State(full, _filled(spec.initial, shape), _filled(spec.nominal, shape), rate))


def _filled(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    numbers = np.asarray(value, dtype=float)
    return numbers if numbers.shape == shape else np.broadcast_to(numbers, shape)


def _storage(draft: _Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, Storage)
    bond = draft.model.bonds_at(path)[0]
    sign, arguments = _into(bond, path), _law_arguments(path, element)
    given, result = (flow(bond), effort(bond)) if element.kind == "C" else (effort(bond), flow(bond))
    if path in draft.causality.derivative:
        _dependent_storage(draft, path, element, bond)
        return
    shape = draft.values[given].shape if law.rate is None else law.spec.shape
    assert shape is not None
    state, rate = f"{path}.{law.state}", f"{path}.{law.state}'"
    unit = bond.domain.displacement_unit if element.kind == "C" else bond.domain.momentum_unit
    spec = law.spec if law.spec.unit else StateSpec(
        law.spec.initial, law.spec.nominal, unit, element.symbols.get(law.state, law.spec.symbol)
    )  # fmt: skip
    _declare_state(draft, path, law.state, spec, shape, rate)
    draft.declare(rate, shape, "", "")
    draft.state(path, law.output, result, state, *arguments)
    moving = _signed(draft, path, given, sign)
    if law.rate is None:
        draft.same(path, rate, moving)
    else:
        draft.state(path, law.rate, rate, state, moving, *arguments)
    _account(draft, path, element, bond)


def _account(draft: _Draft, path: str, element: Element, bond: Bond) -> None:
    """Stored energy, the names of the port's variables, and the power into the storage."""
    law = element.law
    assert isinstance(law, Storage)
    draft.declare(f"{path}.energy", (), "J")
    draft.state(path, law.energy, f"{path}.energy", f"{path}.{law.state}", *_law_arguments(path, element))
    draft.energies.append((path, f"{path}.energy"))
    _name_port(draft, path, element, bond, path)
    _power(draft, path, bond, _into(bond, path), None)


def _inverse(model: Model, path: str) -> Op | None:
    law = model.elements[path].law
    return law.inverse if isinstance(law, Storage) and law.rate is None else None


def _dependent_storage(draft: _Draft, path: str, element: Element, bond: Bond) -> None:
    """Derivative causality: the state follows from the output that others set; its rate is what the storage takes."""
    law = element.law
    assert isinstance(law, Storage) and law.inverse is not None
    output, unknown = (effort(bond), flow(bond)) if element.kind == "C" else (flow(bond), effort(bond))
    shape = draft.values[unknown].shape
    unit = bond.domain.displacement_unit if element.kind == "C" else bond.domain.momentum_unit
    state = draft.declare(f"{path}.{law.state}", shape, unit, element.symbols.get(law.state, law.spec.symbol))
    rate = draft.declare(f"{path}.{law.state}'", shape)
    residual = draft.declare(f"{path}:residual", shape)
    draft.state(path, law.inverse, state, output, *_law_arguments(path, element))
    draft.state(path, TIME_DERIVATIVE, rate, state)
    draft.state(path, combine((_into(bond, path), -1)), residual, unknown, rate)
    draft.unknowns.append(Unknown(unknown, residual, path, "derivative causality"))
    _account(draft, path, element, bond)


def _constraint(draft: _Draft, path: str, element: Element) -> None:
    """The effort is unknown; the residual is the stabilised second derivative of the position."""
    law = element.law
    assert isinstance(law, IdealConstraint)
    bond = draft.model.bonds_at(path)[0]
    sign, shape = _into(bond, path), draft.values[flow(bond)].shape
    assert shape is not None
    moving = _signed(draft, path, flow(bond), sign)
    position = f"{path}.h"
    if law.position is None:
        _declare_state(draft, path, "h", law.start, shape, f"{path}.h'")
        draft.declare(f"{path}.h'", shape)
        draft.same(path, f"{path}.h'", moving)
    else:
        own = [n for n in element.parameters if n not in ("alpha1", "alpha0", "alpha2")]
        draft.declare(position, None)
        draft.state(path, law.position, position, *(f"{path}.{n}" for n in own), *element.signals)
    second = draft.declare(f"{path}.h''", shape)
    residual = draft.declare(f"{path}:residual", shape)
    draft.state(path, TIME_DERIVATIVE, second, moving)
    alphas = (f"{path}.{name}" for name in ("alpha1", "alpha0", "alpha2"))
    draft.state(path, STABILISED, residual, second, moving, position, *alphas)
    draft.unknowns.append(Unknown(effort(bond), residual, path, "constraint"))
    _name_port(draft, path, element, bond, path)
    _power(draft, path, bond, -sign, "injected")


def _power(draft: _Draft, path: str, bond: Bond, sign: int, role: str | None) -> None:
    """Power into the element (for a source: out of it), and its part in the ledger."""
    name = draft.declare(f"{path}.power", (), "W")
    raw = name if sign > 0 else draft.declare(f"{path}.power along the arrow", (), "W")
    draft.state(path, POWER, raw, effort(bond), flow(bond))
    if sign < 0:
        draft.state(path, NEGATE, name, raw)
    if role:
        draft.powers.append(Power(path, name, role))


def _resistor(draft: _Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, Resistor)
    bond = draft.model.bonds_at(path)[0]
    sign, arguments = _into(bond, path), _law_arguments(path, element)
    if not draft.causality.effort_into(bond, path):
        assert law.effort is not None
        draft.state(path, law.effort, effort(bond), _signed(draft, path, flow(bond), sign), *arguments)
    elif sign > 0:
        assert law.flow is not None
        draft.state(path, law.flow, flow(bond), effort(bond), *arguments)
    else:
        assert law.flow is not None
        inward = draft.declare(f"{path}.inward flow", draft.values[flow(bond)].shape, bond.domain.flow_unit)
        draft.state(path, law.flow, inward, effort(bond), *arguments)
        draft.state(path, NEGATE, flow(bond), inward)
    _name_port(draft, path, element, bond, path)
    _power(draft, path, bond, sign, "dissipated")


def _source(draft: _Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, Source)
    bond = draft.model.bonds_at(path)[0]
    name = effort(bond) if element.kind == "Se" else flow(bond)
    op = law.value
    if op.name == "zero":
        shape = draft.values[name].shape
        op = Op("zero", lambda: np.zeros(shape) if shape else 0.0, "0")
    draft.state(path, op, name, *_law_arguments(path, element))
    _name_port(draft, path, element, bond, path)
    _power(draft, path, bond, -_into(bond, path), None if op.name == "zero" else "supplied")


def _two_port(draft: _Draft, path: str, element: Element) -> tuple[Bond, Bond, int, str]:
    """Bonds at port 1 and 2, the sign that turns f1 into f2 for these arrows, and the name of the ratio."""
    one, two = ordered_bonds(draft.model, path)
    law = element.law
    assert isinstance(law, (Transformer, Gyrator))
    local = "N" if isinstance(law, Transformer) else "r"
    shape = () if law.invertible else None
    ratio = draft.declare(f"{path}.{local}", shape, "", element.symbols.get("matrix", ""))
    draft.state(path, law.matrix, ratio, *_law_arguments(path, element))
    _name_port(draft, path, element, one, f"{path}.1")
    _name_port(draft, path, element, two, f"{path}.2")
    return one, two, -_into(one, path) * _into(two, path), ratio


def _transposed(element: Element) -> Op:
    """N^T x; a scalar ratio is its own transpose."""
    law = element.law
    return APPLY if isinstance(law, (Transformer, Gyrator)) and law.invertible else APPLY_TRANSPOSED


def _transformer(draft: _Draft, path: str, element: Element) -> None:
    one, two, sign, ratio = _two_port(draft, path, element)
    transposed = _transposed(element)
    if draft.causality.effort_into(two, path):
        draft.state(path, APPLY, flow(two), ratio, _signed(draft, path, flow(one), sign))
        draft.state(path, transposed, effort(one), ratio, effort(two))
    else:
        draft.state(path, APPLY_INVERSE, flow(one), ratio, _signed(draft, path, flow(two), sign))
        draft.state(path, APPLY_INVERSE, effort(two), ratio, effort(one))


def _gyrator(draft: _Draft, path: str, element: Element) -> None:
    one, two, _, ratio = _two_port(draft, path, element)
    s1, s2 = _into(one, path), -_into(two, path)
    if not draft.causality.effort_into(one, path):
        draft.state(path, APPLY, effort(one), ratio, _signed(draft, path, flow(two), s2))
        draft.state(path, _transposed(element), effort(two), ratio, _signed(draft, path, flow(one), s1))
    else:
        draft.state(path, APPLY_INVERSE, flow(two), ratio, _signed(draft, path, effort(one), s2))
        draft.state(path, APPLY_INVERSE, flow(one), ratio, _signed(draft, path, effort(two), s1))


def _skew_gyrator(draft: _Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, SkewGyrator)
    bond = draft.model.bonds_at(path)[0]
    matrix = draft.declare(f"{path}.J", None, "", element.symbols.get("matrix", ""))
    draft.state(path, law.matrix, matrix, *_law_arguments(path, element))
    draft.state(path, APPLY, effort(bond), matrix, _signed(draft, path, flow(bond), _into(bond, path)))
    _name_port(draft, path, element, bond, path)


def _junction(draft: _Draft, path: str, element: Element) -> None:
    """The strong bond brings the common variable in; the others' balance goes out on it."""
    law = element.law
    assert isinstance(law, Junction)
    bonds = draft.model.bonds_at(path)
    strong = next(b for b in bonds if draft.causality.effort_into(b, path) is (law.type == 0))
    weak = [b for b in bonds if b is not strong]
    common, other = (effort, flow) if law.type == 0 else (flow, effort)
    signs = tuple(-_into(strong, path) * _into(b, path) for b in weak)
    shared, balance = common(strong), other(strong)
    label = f"{path}.effort" if law.type == 0 else f"{path}.flow"
    symbol = element.symbols.get("effort" if law.type == 0 else "flow", "")
    if law.automaton is None:
        draft.same(path, label, shared, symbol)
        for bond in weak:
            draft.same(path, common(bond), shared)
        shape = draft.values[balance].shape or ()
        draft.state(path, _balance(signs) if weak else zeros(shape), balance, *(other(b) for b in weak))
        return
    mode = element.signals[0]
    states = draft.model.automata[mode.removesuffix(".mode")].states
    gated = gate(tuple(states.index(state) for state in law.active))
    draft.declare(label, draft.values[shared].shape, draft.values[shared].unit, symbol)
    draft.state(path, gated, label, mode, shared)
    for bond in weak:
        draft.same(path, common(bond), label)
    joined = draft.declare(f"{path}.balance", draft.values[balance].shape, draft.values[balance].unit)
    draft.state(path, _balance(signs), joined, *(other(b) for b in weak))
    draft.state(path, gated, balance, mode, joined)


def _balance(signs: tuple[int, ...]) -> Op:
    """Signed sum of the weak bonds' variables; with a single one it is that variable itself."""
    return IDENTITY if signs == (1,) else combine(signs)


def _block(draft: _Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, SignalBlock)
    names = {local: f"{path}.{local}" for local in (*element.parameters, *law.states)}
    names |= dict(zip(law.inputs, element.signals, strict=True))
    for equation in law.equations:
        for out in equation.outs:
            names[out] = draft.declare(f"{path}.{out}", None, law.units.get(out, ""), law.symbols.get(out, ""))
    for equation in law.equations:
        draft.state(path, equation.op, tuple(names[o] for o in equation.outs), *(names[a] for a in equation.args))
    for name, spec in law.states.items():
        _declare_state(draft, path, name, spec, spec.shape, names[law.rates[name]])


ASSEMBLE = {
    Storage: _storage,
    IdealConstraint: _constraint,
    Resistor: _resistor,
    Source: _source,
    Transformer: _transformer,
    Gyrator: _gyrator,
    SkewGyrator: _skew_gyrator,
    Junction: _junction,
    SignalBlock: _block,
}
"""Kind of law -> how its statements are written."""


def _events(draft: _Draft) -> tuple[Event, ...]:
    events = []
    for slot, automaton in enumerate(draft.model.automata.values()):
        for index, transition in enumerate(automaton.transitions):
            prefix = f"{automaton.name}:{index}"
            guard = draft.declare(f"{prefix} guard", (), "")
            draft.state(automaton.name, as_op(transition.guard, "guard"), guard, *transition.signals)
            resets = []
            for state, op, args in transition.resets:
                value = draft.declare(f"{prefix} {state}", None, "")
                draft.state(automaton.name, as_op(op, "reset"), value, *args)
                resets.append((state, value))
            events.append(
                Event(
                    automaton.name,
                    slot,
                    automaton.states.index(transition.source),
                    automaton.states.index(transition.target),
                    guard,
                    tuple(resets),
                    transition.kind or f"{automaton.name}: {transition.source} to {transition.target}",
                    transition.internal,
                    transition.error,
                )
            )
    return tuple(events)


def _dependent_resets(model: Model, causality: Causality) -> list[Problem]:
    """Resets of states that follow from others."""
    dependent = {f"{path}.{model.elements[path].law.state}": path for path in causality.derivative}  # type: ignore[union-attr]
    return [
        Problem(
            "E120",
            f'automaton "{automaton.name}" resets "{target}", which is no independent state',
            (f"it follows from {' and '.join(causality.forced_by.get(dependent[target], ())) or 'others'}",),
            (automaton.place,),
            ("reset the storage that it follows",),
        )
        for automaton in model.automata.values()
        for transition in automaton.transitions
        for target, _, _ in transition.resets
        if target in dependent
    ]


def _derivative(model: Model, path: str, forced_by: Sequence[str]) -> Problem:
    element = model.elements[path]
    variable, between = ("flow", "a C or R") if element.kind == "I" else ("effort", "an I or R")
    others = [model.elements[other] for other in forced_by if other in model.elements]
    names = " and ".join(f'{e.kind} "{e.name}"' for e in others) or "the rest of the graph"
    cures = [f"{between} between it and {names}"]
    if any(isinstance(e.law, Storage) for e in others):
        cures.append("one storage in place of those that are rigidly coupled")
    return Problem(
        "E204",
        f'{element.kind} "{path}" has derivative causality',
        (f"its {variable} is set by {names}, so its state is not independent",),
        (element.place, *(e.place for e in others)),
        tuple(cures),
    )
