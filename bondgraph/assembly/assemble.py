"""Assembly: Model and Causality -> System, one element at a time, unsorted and with several names for one value.

Names: a bond's variables are `<bond>:effort` and `<bond>:flow`; a one-port's are also `<element>.effort` and
`<element>.flow`, a two-port's `<element>.1.effort` ...; a junction's common variable is `<junction>.flow` or `.effort`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bondgraph.assembly.draft import (
    Assembly,
    account_power,
    declare_state,
    effort,
    flow,
    into,
    keep_state,
    law_arguments,
    name_port,
    seek,
    signed,
    variable,
)
from bondgraph.assembly.ideal import constraint, switch
from bondgraph.assembly.inertial import inertial_field
from bondgraph.assembly.patterns import Patterns
from bondgraph.assembly.storages import storage, storages_that_cannot_follow
from bondgraph.assembly.structure import gyrator, junction, reaction, skew_gyrator, transformer
from bondgraph.assembly.system import Clock, System
from bondgraph.assembly.transitions import dependent_resets, events_of
from bondgraph.assembly.units import parameter_unit
from bondgraph.causality.assign import Causality
from bondgraph.errors import raise_if_any, refusal
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.modal import choose_by, numbers_of
from bondgraph.model.model import Model
from bondgraph.model.ops import NEGATE, zeros
from bondgraph.model.units import per_second

Writer = Callable[[Assembly, str, Element], None]


def assemble(model: Model, causality: Causality, writers: Mapping[type[laws.Law], Writer] | None = None) -> System:
    """All statements of a model; `writers` write those of some laws in another form than `ASSEMBLE` does.

    Raises `ModelError` E204 where a storage has derivative causality and its state is no integral of what it takes, E120
    where a transition resets what is no state of its own for that causality.
    """
    raise_if_any(model.name, storages_that_cannot_follow(model, causality))
    raise_if_any(model.name, dependent_resets(model, causality))
    draft = Assembly(model, causality)
    own = dict(writers or {})

    def write(draft: Assembly, path: str, element: Element) -> None:
        write_element(draft, path, element, own.get(type(element.law)))

    patterns = Patterns(model, causality, frozenset(own))
    for path, element in model.elements.items():
        patterns.write(draft, path, element, write)
    events = events_of(draft)
    return System(
        model.name,
        tuple(draft.statements),
        draft.values,
        tuple(draft.states),
        draft.parameters,
        {f"{a.name}.mode": (tuple(a.states), a.initial) for a in model.automata.values()},
        events,
        tuple(draft.energies),
        tuple(draft.powers),
        model.starts,
        dict(model.aliases),
        tuple(draft.unknowns),
        clocks=tuple(draft.clocks),
        same=tuple(draft.equal),
    )


def write_element(draft: Assembly, path: str, element: Element, writer: Writer | None = None) -> None:
    """What one element says, by a writer of its own or the one of its law."""
    _declare_parameters(draft, path, element)
    (writer or writer_of(element))(draft, path, element)


def _declare_parameters(draft: Assembly, path: str, element: Element) -> None:
    for name, parameter in element.parameters.items():
        for own, value in numbers_of(name, parameter).items():
            unit = parameter.unit or parameter_unit(draft.model, path, name, value)
            draft.declare(f"{path}.{own}", np.shape(value), unit, element.symbols.get(own, ""))
            draft.parameters[f"{path}.{own}"] = np.asarray(value, dtype=float)
        if isinstance(parameter.value, laws.ByMode):
            _by_mode(draft, path, name, parameter)


def writer_of(element: Element) -> Writer:
    """What writes the statements of an element; `ModelError` E172 where nothing does."""
    law = type(element.law)
    if law not in ASSEMBLE:
        title = f'{element.kind} "{element.name}" has a law without statements'
        cure = f"bondgraph.assembly.assemble.ASSEMBLE[{law.__name__}] = a function (draft, path, element) that writes them"
        raise refusal("E172", title, cure, about=element.name, why=f"its law is a {law.__name__}", places=(element.place,))
    return ASSEMBLE[law]


def _by_mode(draft: Assembly, path: str, name: str, parameter: laws.Parameter) -> None:
    """The parameter as a value that its automaton's mode chooses."""
    given = parameter.value
    states = draft.model.automata[given.automaton].states
    own = tuple(f"{path}.{key}" for key in numbers_of(name, parameter))
    known = draft.values[own[0]]
    chosen = draft.declare(f"{path}.{name}", known.shape, known.unit, draft.model.elements[path].symbols.get(name, ""))
    choose = choose_by(tuple(states.index(state) for state in given.values))
    draft.write(path, choose, chosen, f"{given.automaton}.mode", *own)


def _resistor(draft: Assembly, path: str, element: Element) -> None:
    """e = effort(f) or f = flow(e); against the only relation, the value that it takes is sought: a loop of one unknown."""
    law, bond = element.law_as(laws.Resistor), draft.bond_at(path)
    sign, inward = into(bond, path), flow(bond)
    gives_flow = draft.causality.effort_into(bond, path)
    if not gives_flow:
        inward = signed(draft, path, inward, sign)
    elif sign < 0:
        inward = draft.declare(f"{path}.inward flow", bond.shape, bond.domain.flow_unit)
        draft.write(path, NEGATE, flow(bond), inward)
    taken, given = (effort(bond), inward) if gives_flow else (inward, effort(bond))
    relation, inverse = (law.flow, law.effort) if gives_flow else (law.effort, law.flow)
    if relation is not None:
        draft.write(path, relation, given, taken, *law_arguments(path, element))
    else:
        assert inverse is not None
        seek(draft, path, element, inverse, given, taken, "effort" if gives_flow else "flow")
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, sign, "dissipated")


def _source(draft: Assembly, path: str, element: Element) -> None:
    law, bond = element.law_as(laws.Source), draft.bond_at(path)
    value = zeros(bond.shape) if law.value is None else law.value
    draft.write(path, value, variable(bond, law.gives), *law_arguments(path, element))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, -into(bond, path), None if law.value is None else "supplied")


def _block(draft: Assembly, path: str, element: Element) -> None:
    law = element.law_as(laws.SignalBlock)
    names = {local: f"{path}.{local}" for local in (*element.parameters, *law.kept)}
    names |= dict(zip(law.inputs, element.signals, strict=True))
    implied = {rate: per_second(law.kept[state].unit) for state, rate in law.rates.items()}
    implied |= {value: law.kept[state].unit for state, value in law.updates.items()}
    for equation in law.equations:
        for out in equation.outs:
            unit = law.units.get(out) or implied.get(out, "")
            names[out] = draft.declare(f"{path}.{out}", None, unit, law.symbols.get(out, ""))
    for equation in law.equations:
        draft.write(path, equation.op, tuple(names[o] for o in equation.outs), *(names[a] for a in equation.args))
    for name, spec in law.kept.items():
        if name in law.rates:
            declare_state(draft, path, name, spec, spec.shape, names[law.rates[name]])
        else:
            keep_state(draft, path, name, spec)
    draft.clocks += [Clock(path, names[when]) for when in law.breaks]
    if law.updates and law.offset is not None:
        updates = tuple((names[state], names[value]) for state, value in law.updates.items())
        period = None if law.period is None else names[law.period]
        draft.clocks.append(Clock(path, names[law.offset], period, updates))


ASSEMBLE: dict[type[laws.Law], Writer] = {
    laws.Storage: storage,
    laws.InertialField: inertial_field,
    laws.IdealConstraint: constraint,
    laws.IdealSwitch: switch,
    laws.Resistor: _resistor,
    laws.Reaction: reaction,
    laws.Source: _source,
    laws.Transformer: transformer,
    laws.Gyrator: gyrator,
    laws.SkewGyrator: skew_gyrator,
    laws.Junction: junction,
    laws.SignalBlock: _block,
}
"""Kind of law -> what writes its statements; a law of your own is one more entry."""
