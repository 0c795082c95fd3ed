"""Assembly: Model and Causality -> System, one element at a time, unsorted and with aliases still in place.

Names: a bond's variables are `<bond>:effort` and `<bond>:flow`; a one-port's are also `<element>.effort` and
`<element>.flow`, a two-port's `<element>.1.effort` ...; a junction's common variable is `<junction>.flow` or `.effort`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.causality import Causality, ordered_bonds
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
from bondgraph.equations.ideal import constraint, switch
from bondgraph.equations.inertial import inertial_field
from bondgraph.equations.reaction import reaction
from bondgraph.equations.system import Clock, System, Unknown
from bondgraph.equations.transitions import dependent_resets, events_of
from bondgraph.errors import ModelError, Problem, raise_if_any
from bondgraph.graph.element import Element
from bondgraph.graph.laws import (
    ByMode,
    Gyrator,
    IdealConstraint,
    IdealSwitch,
    InertialField,
    Junction,
    Parameter,
    Reaction,
    Resistor,
    SignalBlock,
    SkewGyrator,
    Source,
    StateSpec,
    Storage,
    Transformer,
)
from bondgraph.graph.modal import choose_by, numbers_of
from bondgraph.graph.model import Bond, Model
from bondgraph.ops import (
    APPLY,
    APPLY_INVERSE,
    APPLY_TRANSPOSED,
    IDENTITY,
    NEGATE,
    TIME_DERIVATIVE,
    Op,
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
    raise_if_any(model.name, dependent_resets(model, causality))
    draft = Draft(model, causality)
    for path, element in model.elements.items():
        for name, parameter in element.parameters.items():
            for own, value in numbers_of(name, parameter).items():
                draft.declare(f"{path}.{own}", np.shape(value), parameter.unit)
                draft.parameters[f"{path}.{own}"] = np.asarray(value, dtype=float)
            if isinstance(parameter.value, ByMode):
                _by_mode(draft, path, name, parameter)
        ASSEMBLE[type(element.law)](draft, path, element)
    events = events_of(draft)
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
        clocks=tuple(draft.clocks),
    )


def _by_mode(draft: Draft, path: str, name: str, parameter: Parameter) -> None:
    """The parameter as a value that its automaton's mode chooses."""
    given = parameter.value
    states = draft.model.automata[given.automaton].states
    own = tuple(f"{path}.{key}" for key in numbers_of(name, parameter))
    chosen = draft.declare(f"{path}.{name}", draft.values[own[0]].shape, parameter.unit)
    choose = choose_by(tuple(states.index(state) for state in given.values))
    draft.state(path, choose, chosen, f"{given.automaton}.mode", *own)


def _storage(draft: Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, Storage)
    bond = draft.model.bonds_at(path)[0]
    sign, arguments = into(bond, path), law_arguments(path, element)
    given, result = (flow(bond), effort(bond)) if element.kind != "I" else (effort(bond), flow(bond))
    if path in draft.causality.derivative:
        _dependent_storage(draft, path, element, bond)
        return
    shape = draft.values[given].shape if law.rate is None else law.spec.shape
    assert shape is not None
    state, rate = f"{path}.{law.state}", f"{path}.{law.state}'"
    unit = bond.domain.displacement_unit if element.kind != "I" else bond.domain.momentum_unit
    spec = law.spec if law.spec.unit else StateSpec(
        law.spec.initial, law.spec.nominal, unit, element.symbols.get(law.state, law.spec.symbol)
    )  # fmt: skip
    declare_state(draft, path, law.state, spec, shape, rate)
    draft.declare(rate, shape, "", "")
    draft.state(path, law.output, result, state, *arguments)
    moving = signed(draft, path, given, sign)
    if law.rate is None:
        draft.same(path, rate, moving)
    else:
        draft.state(path, law.rate, rate, state, moving, *arguments)
    _account(draft, path, element, bond)


def _account(draft: Draft, path: str, element: Element, bond: Bond) -> None:
    """Stored energy, the names of the port's variables, and the power into the storage."""
    law = element.law
    assert isinstance(law, Storage)
    draft.declare(f"{path}.energy", (), "J")
    draft.state(path, law.energy, f"{path}.energy", f"{path}.{law.state}", *law_arguments(path, element))
    draft.energies.append((path, f"{path}.energy"))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, into(bond, path), None)


def _inverse(model: Model, path: str) -> Op | None:
    law = model.elements[path].law
    return law.inverse if isinstance(law, Storage) and law.rate is None else None


def _dependent_storage(draft: Draft, path: str, element: Element, bond: Bond) -> None:
    """Derivative causality: the state follows from the output that others set; its rate is what the storage takes."""
    law = element.law
    assert isinstance(law, Storage) and law.inverse is not None
    output, unknown = (effort(bond), flow(bond)) if element.kind != "I" else (flow(bond), effort(bond))
    shape = draft.values[unknown].shape
    unit = bond.domain.displacement_unit if element.kind != "I" else bond.domain.momentum_unit
    state = draft.declare(f"{path}.{law.state}", shape, unit, element.symbols.get(law.state, law.spec.symbol))
    rate = draft.declare(f"{path}.{law.state}'", shape)
    residual = draft.declare(f"{path}:residual", shape)
    draft.state(path, law.inverse, state, output, *law_arguments(path, element))
    draft.state(path, TIME_DERIVATIVE, rate, state)
    draft.state(path, combine((into(bond, path), -1)), residual, unknown, rate)
    draft.unknowns.append(Unknown(unknown, residual, path, "derivative causality"))
    _account(draft, path, element, bond)


def _resistor(draft: Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, Resistor)
    bond = draft.model.bonds_at(path)[0]
    sign, arguments = into(bond, path), law_arguments(path, element)
    if not draft.causality.effort_into(bond, path):
        assert law.effort is not None
        draft.state(path, law.effort, effort(bond), signed(draft, path, flow(bond), sign), *arguments)
    elif sign > 0:
        assert law.flow is not None
        draft.state(path, law.flow, flow(bond), effort(bond), *arguments)
    else:
        assert law.flow is not None
        inward = draft.declare(f"{path}.inward flow", draft.values[flow(bond)].shape, bond.domain.flow_unit)
        draft.state(path, law.flow, inward, effort(bond), *arguments)
        draft.state(path, NEGATE, flow(bond), inward)
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, sign, "dissipated")


def _source(draft: Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, Source)
    bond = draft.model.bonds_at(path)[0]
    name = effort(bond) if element.kind == "Se" else flow(bond)
    op = law.value
    if op.name == "zero":
        shape = draft.values[name].shape
        op = Op("zero", lambda: np.zeros(shape) if shape else 0.0, "0")
    draft.state(path, op, name, *law_arguments(path, element))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, -into(bond, path), None if op.name == "zero" else "supplied")


def _two_port(draft: Draft, path: str, element: Element) -> tuple[Bond, Bond, int, str]:
    """Bonds at port 1 and 2, the sign that turns f1 into f2 for these arrows, and the name of the ratio."""
    one, two = ordered_bonds(draft.model, path)
    law = element.law
    assert isinstance(law, (Transformer, Gyrator))
    local = "N" if isinstance(law, Transformer) else "r"
    shape = () if law.invertible else None
    ratio = draft.declare(f"{path}.{local}", shape, "", element.symbols.get("matrix", ""))
    draft.state(path, law.matrix, ratio, *law_arguments(path, element))
    name_port(draft, path, element, one, f"{path}.1")
    name_port(draft, path, element, two, f"{path}.2")
    return one, two, -into(one, path) * into(two, path), ratio


def _transposed(element: Element) -> Op:
    """N^T x; a scalar ratio is its own transpose."""
    law = element.law
    return APPLY if isinstance(law, (Transformer, Gyrator)) and law.invertible else APPLY_TRANSPOSED


def _transformer(draft: Draft, path: str, element: Element) -> None:
    one, two, sign, ratio = _two_port(draft, path, element)
    transposed = _transposed(element)
    if draft.causality.effort_into(two, path):
        draft.state(path, APPLY, flow(two), ratio, signed(draft, path, flow(one), sign))
        draft.state(path, transposed, effort(one), ratio, effort(two))
    else:
        draft.state(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, flow(two), sign))
        draft.state(path, APPLY_INVERSE, effort(two), ratio, effort(one))


def _gyrator(draft: Draft, path: str, element: Element) -> None:
    one, two, _, ratio = _two_port(draft, path, element)
    s1, s2 = into(one, path), -into(two, path)
    if not draft.causality.effort_into(one, path):
        draft.state(path, APPLY, effort(one), ratio, signed(draft, path, flow(two), s2))
        draft.state(path, _transposed(element), effort(two), ratio, signed(draft, path, flow(one), s1))
    else:
        draft.state(path, APPLY_INVERSE, flow(two), ratio, signed(draft, path, effort(one), s2))
        draft.state(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, effort(two), s1))


def _skew_gyrator(draft: Draft, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, SkewGyrator)
    bond = draft.model.bonds_at(path)[0]
    matrix = draft.declare(f"{path}.J", None, "", element.symbols.get("matrix", ""))
    draft.state(path, law.matrix, matrix, *law_arguments(path, element))
    draft.state(path, APPLY, effort(bond), matrix, signed(draft, path, flow(bond), into(bond, path)))
    name_port(draft, path, element, bond, path)


def _junction(draft: Draft, path: str, element: Element) -> None:
    """The strong bond brings the common variable in; the others' balance goes out on it."""
    law = element.law
    assert isinstance(law, Junction)
    bonds = draft.model.bonds_at(path)
    strong = next(b for b in bonds if draft.causality.effort_into(b, path) is (law.type == 0))
    weak = [b for b in bonds if b is not strong]
    common, other = (effort, flow) if law.type == 0 else (flow, effort)
    signs = tuple(-into(strong, path) * into(b, path) for b in weak)
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


def _block(draft: Draft, path: str, element: Element) -> None:
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
        rate = names[law.rates[name]] if name in law.rates else draft.declare(f"{path}.{name}'", spec.shape)
        if name not in law.rates:
            draft.state(path, zeros(spec.shape), rate)
        declare_state(draft, path, name, spec, spec.shape, rate)
    draft.clocks += [Clock(path, names[when]) for when in law.breaks]
    if law.updates and law.offset is not None:
        updates = tuple((names[state], names[value]) for state, value in law.updates.items())
        period = None if law.period is None else names[law.period]
        draft.clocks.append(Clock(path, names[law.offset], period, updates))


ASSEMBLE = {
    Storage: _storage,
    InertialField: inertial_field,
    IdealConstraint: constraint,
    IdealSwitch: switch,
    Resistor: _resistor,
    Reaction: reaction,
    Source: _source,
    Transformer: _transformer,
    Gyrator: _gyrator,
    SkewGyrator: _skew_gyrator,
    Junction: _junction,
    SignalBlock: _block,
}
"""Kind of law -> how its statements are written."""


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
