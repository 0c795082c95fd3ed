"""Assembly: write the statements of a model, one element at a time, unsorted and with several names for one value.

Names: a bond's variables are `<bond>:effort` and `<bond>:flow`; a one-port's are also `<element>.effort` and
`<element>.flow`, a two-port's `<element>.1.effort` ...; a junction's common variable is `<junction>.flow` or `.effort`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bondgraph.assembly.constraints_and_switches import constraint, switch
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
    signed,
    solve_for,
    variable,
)
from bondgraph.assembly.letters import set_letters
from bondgraph.assembly.patterns import Patterns
from bondgraph.assembly.storages import inertial_field, non_integral_storages, storage
from bondgraph.assembly.system import Clock, ModeSignal, Power, System
from bondgraph.assembly.transitions import dependent_resets, events_of
from bondgraph.causality.assign import Causality
from bondgraph.causality.rings import Term
from bondgraph.errors import raise_if_any, refusal
from bondgraph.model import laws
from bondgraph.model.dissipation import DISSIPATED, HeatFlow, ResistorField
from bondgraph.model.element import Element
from bondgraph.model.expected_units import across_unit, conversion_of, conversions, expected_unit, implied_unit, ratio_unit
from bondgraph.model.laws import OTHER, Action, Gyrator, Junction, Ratio, Reaction, SkewGyrator, Transformer, Variable
from bondgraph.model.modal import parameter_values, value_by_mode
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import (
    APPLY,
    APPLY_INVERSE,
    APPLY_TRANSPOSED,
    IDENTITY,
    NEGATE,
    POWER,
    SOUGHT,
    Op,
    combine,
    entry,
    gate,
    stack,
    zeros,
)
from bondgraph.model.units import per_second
from bondgraph.units import in_si


def junction(draft: Assembly, path: str, element: Element) -> None:
    """Write the statements of a junction: the strong bond sets the common variable, and receives the balance of the other
    bonds."""
    law, bonds = element.law_as(Junction), draft.model.bonds_at(path)
    strong = next(b for b in bonds if draft.causality.effort_into(b, path) is (law.type == 0))
    weak = [b for b in bonds if b is not strong]
    common: Variable = "effort" if law.type == 0 else "flow"
    shared, balance = variable(strong, common), variable(strong, OTHER[common])
    label, symbol = f"{path}.{common}", element.symbols.get(common, "")
    signs = tuple(-into(strong, path) * into(b, path) for b in weak)
    total = IDENTITY if signs == (1,) else combine(signs) if weak else zeros(strong.shape)
    terms = [variable(bond, OTHER[common]) for bond in weak]
    if path in draft.causality.ties and law.automaton is None:
        tied = draft.causality.ties[path]
        signs, terms = tuple(term.sign for term in tied), [_tied(draft, path, term) for term in tied]
        total = IDENTITY if signs == (1,) else combine(signs) if signs else zeros(strong.shape)
    if law.automaton is None:
        draft.same(path, label, shared, symbol)
        for bond in weak:
            draft.same(path, variable(bond, common), shared)
        draft.write(path, total, balance, *terms)
        return
    gated = gate(draft.places(law, law.active))
    draft.declare(label, strong.shape, draft.values[shared].unit, symbol)
    draft.write(path, gated, label, law.mode, shared)
    for bond in weak:
        draft.same(path, variable(bond, common), label)
    joined = draft.declare(f"{path}.balance", strong.shape, draft.values[balance].unit)
    draft.write(path, total, joined, *terms)
    draft.write(path, gated, balance, law.mode, joined)


def _tied(draft: Assembly, path: str, term: Term) -> str:
    name = f"{term.bond}:{term.variable}"
    for ratio, exponent in term.ratios:
        law = draft.model.elements[ratio].law_as(Ratio)
        product = draft.declare(f"{path}:{ratio} {exponent} {name}", None)
        draft.write(path, APPLY if exponent > 0 else APPLY_INVERSE, product, f"{ratio}.{law.letter}", name)
        name = product
    return name


def transformer(draft: Assembly, path: str, element: Element) -> None:
    law = element.law_as(Transformer)
    one, two, ratio = _two_port(draft, path, element)
    sign = -into(one, path) * into(two, path)
    if draft.causality.effort_into(two, path):
        products = law.action or Action(APPLY, _transposed(law))
        arguments = law_arguments(path, element) if law.action else (ratio,)
        draft.write(path, products.forward, flow(two), *arguments, signed(draft, path, flow(one), sign))
        draft.write(path, products.transposed, effort(one), *arguments, effort(two))
    else:
        draft.write(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, flow(two), sign))
        draft.write(path, APPLY_INVERSE, effort(two), ratio, effort(one))


def gyrator(draft: Assembly, path: str, element: Element) -> None:
    one, two, ratio = _two_port(draft, path, element)
    s1, s2 = into(one, path), -into(two, path)
    if not draft.causality.effort_into(one, path):
        draft.write(path, APPLY, effort(one), ratio, signed(draft, path, flow(two), s2))
        draft.write(path, _transposed(element.law_as(Gyrator)), effort(two), ratio, signed(draft, path, flow(one), s1))
    else:
        draft.write(path, APPLY_INVERSE, flow(two), ratio, signed(draft, path, effort(one), s2))
        draft.write(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, effort(two), s1))


def _two_port(draft: Assembly, path: str, element: Element) -> tuple[Bond, Bond, str]:
    law = element.law_as(Ratio)
    one, two = draft.model.bonds_by_port(path)
    shape = () if law.invertible else None
    ratio = draft.declare(f"{path}.{law.letter}", shape, ratio_unit(element, one, two), element.symbols.get("matrix", ""))
    draft.write(path, law.matrix, ratio, *law_arguments(path, element))
    name_port(draft, path, element, one, f"{path}.1")
    name_port(draft, path, element, two, f"{path}.2")
    return one, two, ratio


def _transposed(law: Ratio) -> Op:
    return APPLY if law.invertible else APPLY_TRANSPOSED


def skew_gyrator(draft: Assembly, path: str, element: Element) -> None:
    law = element.law_as(SkewGyrator)
    bond = draft.bond_at(path)
    matrix = draft.declare(f"{path}.J", None, across_unit(bond.domain), element.symbols.get("matrix", ""))
    draft.write(path, law.matrix, matrix, *law_arguments(path, element))
    draft.write(path, APPLY, effort(bond), matrix, signed(draft, path, flow(bond), into(bond, path)))
    name_port(draft, path, element, bond, path)


def reaction(draft: Assembly, path: str, element: Element) -> None:
    law = element.law_as(Reaction)
    one, two = draft.model.bonds_by_port(path)
    through = draft.declare(f"{path}.flow", (), one.domain.flow_unit, element.symbols.get("flow", ""))
    draft.write(path, law.flow, through, effort(one), effort(two), *law_arguments(path, element))
    for bond, sign, label in ((one, into(one, path), "1"), (two, -into(two, path), "2")):
        draft.write(path, IDENTITY if sign > 0 else NEGATE, flow(bond), through)
        name_port(draft, path, element, bond, f"{path}.{label}")
    power = draft.declare(f"{path}.power", (), one.domain.power_unit)
    draft.write(path, POWER_BETWEEN, power, effort(one), effort(two), through)
    draft.powers.append(Power(path, power, "dissipated"))


def heat_flow(draft: Assembly, path: str, element: Element) -> None:
    """Write the statements for the heat that enters at port 1 and leaves at port 2 (or leaves at the only port), the flows of the
    bonds, and the entropy produced between two true bonds."""
    law, bonds = element.law_as(HeatFlow), draft.model.bonds_by_port(path)
    heat = draft.declare(f"{path}.power", (), "W", element.symbols.get("power", r"\dot Q"))
    if law.heat is None:
        draft.write(path, DISSIPATED[law.sense < 0], heat, *element.signals)
        draft.powers.append(Power(path, heat, "received"))
    else:
        draft.write(path, law.heat, heat, *map(effort, bonds), *law_arguments(path, element))
    entropies = []
    for port, bond, sense in zip(element.ports, bonds, (1, -1)[-len(bonds) :], strict=True):
        carried = heat
        if not bond.domain.pseudo:
            carried = draft.declare(f"{path}:entropy {port.name}", (), bond.domain.flow_unit, r"\dot S")
            draft.write(path, PER_TEMPERATURE, carried, heat, effort(bond))
            entropies.append(carried)
        draft.write(path, IDENTITY if sense * into(bond, path) > 0 else NEGATE, flow(bond), carried)
        name_port(draft, path, element, bond, f"{path}.{port.name}" if len(bonds) > 1 else path)
    if len(bonds) > 1:
        produced = draft.declare(f"{path}.entropy", (), bonds[0].domain.flow_unit, element.symbols.get("entropy", ""))
        draft.write(path, combine((-1, 1)), produced, *entropies)


PER_TEMPERATURE = Op("entropy flow", lambda heat, temperature: heat / temperature, r"#1 / #2")
POWER_BETWEEN = Op("power", lambda first, second, through: (first - second) * through, r"(#1 - #2)\,#3")


Writer = Callable[[Assembly, str, Element], None]


def assemble(model: Model, causality: Causality, writers: Mapping[type[laws.Law], Writer] | None = None) -> System:
    """Write all statements of a model; `writers` replace entries of `ASSEMBLE`.

    Raises `ModelError` E204 if a storage has derivative causality and its state is not an integral of its input, E120 if a
    transition resets a dependent state, E110 for the letter of a quantity that an element does not have.
    """
    raise_if_any(model.name, non_integral_storages(model, causality))
    raise_if_any(model.name, dependent_resets(model, causality))
    draft = Assembly(model, causality)
    custom = dict(writers or {})

    def write(draft: Assembly, path: str, element: Element) -> None:
        write_element(draft, path, element, custom.get(type(element.law)))

    patterns = Patterns(model, causality, frozenset(custom))
    for path, element in model.elements.items():
        patterns.write(draft, path, element, write)
    raise_if_any(model.name, set_letters(model, draft.values))
    events = events_of(draft)
    return System(
        model.name,
        tuple(draft.statements),
        draft.values,
        tuple(draft.states),
        draft.parameters,
        {f"{a.name}.mode": ModeSignal(a.name, k, tuple(a.states), a.initial) for k, a in enumerate(model.automata.values())},
        events,
        tuple(draft.energies),
        tuple(draft.powers),
        model.starts,
        dict(model.aliases),
        tuple(draft.unknowns),
        clocks=tuple(draft.clocks),
        same=tuple(draft.equal),
        conversions=conversions(model),
    )


def write_element(draft: Assembly, path: str, element: Element, writer: Writer | None = None) -> None:
    _declare_parameters(draft, path, element)
    (writer or writer_of(element))(draft, path, element)


def _declare_parameters(draft: Assembly, path: str, element: Element) -> None:
    for name, parameter in element.parameters.items():
        for key, value in parameter_values(name, parameter).items():
            unit = parameter.unit or implied_unit(draft.model, path, name, value)
            draft.declare(f"{path}.{key}", np.shape(value), unit, element.symbols.get(key, ""))
            draft.parameters[f"{path}.{key}"] = np.asarray(value, dtype=float)
        if isinstance(parameter.value, laws.ByMode):
            _by_mode(draft, path, name, parameter)


def writer_of(element: Element) -> Writer:
    law = type(element.law)
    if law not in ASSEMBLE:
        title = f'{element.kind} "{element.name}" has a law without statements'
        cure = f"bondgraph.assembly.assemble.ASSEMBLE[{law.__name__}] = a function (draft, path, element) that writes them"
        raise refusal("E172", title, cure, about=element.name, why=f"its law is a {law.__name__}", places=(element.place,))
    return ASSEMBLE[law]


def _by_mode(draft: Assembly, path: str, name: str, parameter: laws.Parameter) -> None:
    by_mode = parameter.value
    states = draft.model.automata[by_mode.automaton].states
    names = tuple(f"{path}.{key}" for key in parameter_values(name, parameter))
    first, value = draft.values[names[0]], next(iter(by_mode.values.values()))
    unit = first.unit
    if parameter.unit and conversion_of(draft.model, path, name, parameter, value) is not None:
        unit = expected_unit(draft.model, path, name, parameter, value) or in_si(unit)
    selected = draft.declare(f"{path}.{name}", first.shape, unit, draft.model.elements[path].symbols.get(name, ""))
    choose = value_by_mode(tuple(states.index(state) for state in by_mode.values))
    draft.write(path, choose, selected, f"{by_mode.automaton}.mode", *names)


def _resistor(draft: Assembly, path: str, element: Element) -> None:
    """Write e = effort(f) or f = flow(e); with only the other formula, or g(e, f) = 0, solve a loop of one unknown."""
    law, bond = element.law_as(laws.Resistor), draft.bond_at(path)
    sign, inward = into(bond, path), flow(bond)
    gives_flow = draft.causality.effort_into(bond, path)
    if not gives_flow:
        inward = signed(draft, path, inward, sign)
    elif sign < 0:
        inward = draft.declare(f"{path}.inward flow", bond.shape, bond.domain.flow_unit)
        draft.write(path, NEGATE, flow(bond), inward)
    argument, result = (effort(bond), inward) if gives_flow else (inward, effort(bond))
    relation, inverse = (law.flow, law.effort) if gives_flow else (law.effort, law.flow)
    if relation is not None:
        draft.write(path, relation, result, argument, *law_arguments(path, element))
    elif law.relation is not None:
        zero = draft.declare(f"{path}:zero", bond.shape, "", "0")
        draft.write(path, zeros(bond.shape), zero)
        variables = (argument, result) if gives_flow else (result, argument)
        computed = draft.declare(f"{path}:by relation", bond.shape, "", r"\hat g")
        draft.write(path, law.relation, computed, *variables, *law_arguments(path, element))
        draft.write(path, SOUGHT, result, result, zero, computed)
    else:
        assert inverse is not None
        solve_for(draft, path, element, inverse, result, argument, "e" if gives_flow else "f")
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, sign, "dissipated")


def _resistor_field(draft: Assembly, path: str, element: Element) -> None:
    law, ports = element.law_as(ResistorField), element.ports
    efforts, flows, solved = list[str](), list[str](), list[bool]()
    for port, bond in zip(ports, draft.model.bonds_by_port(path), strict=True):
        gives_flow, sign = draft.causality.effort_into(bond, path), into(bond, path)
        inward = flow(bond) if gives_flow else signed(draft, path, flow(bond), sign)
        if gives_flow and sign < 0:
            inward = draft.declare(f"{path}.{port.name}.inward flow", (), bond.domain.flow_unit)
            draft.write(path, NEGATE, flow(bond), inward)
        efforts.append(effort(bond))
        flows.append(inward)
        solved.append(gives_flow != (law.gives == "flow"))
        name_port(draft, path, element, bond, f"{path}.{port.name}")
    inputs, outputs = (efforts, flows) if law.gives == "flow" else (flows, efforts)
    vector = draft.declare(f"{path}:{law.takes}s", (len(ports),), "", rf"\mathbf {law.takes[0]}")
    results = draft.declare(f"{path}:{law.gives}s", (len(ports),), "", rf"\mathbf {law.gives[0]}")
    draft.write(path, stack(len(ports)), vector, *inputs)
    draft.write(path, law.formula, results, vector, *law_arguments(path, element))
    for k, port in enumerate(ports):
        if solved[k]:
            computed = draft.declare(
                f"{path}.{port.name}:by relation", (), draft.values[outputs[k]].unit, rf"\hat {law.gives[0]}"
            )
            draft.write(path, entry(k), computed, results)
            draft.write(path, SOUGHT, inputs[k], inputs[k], outputs[k], computed)
        else:
            draft.write(path, entry(k), outputs[k], results)
    power = draft.declare(f"{path}.power", (), draft.model.bonds_at(path)[0].domain.power_unit)
    draft.write(path, POWER, power, vector, results)
    draft.powers.append(Power(path, power, "dissipated"))


def _source(draft: Assembly, path: str, element: Element) -> None:
    law, bond = element.law_as(laws.Source), draft.bond_at(path)
    value = zeros(bond.shape) if law.value is None else law.value
    draft.write(path, value, variable(bond, law.gives), *law_arguments(path, element))
    name_port(draft, path, element, bond, path)
    powerless = law.value is None and not bond.domain.pseudo
    account_power(draft, path, bond, -into(bond, path), None if powerless else "supplied")


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
        numbers = tuple(names[each] for each in element.parameters)
        draft.clocks.append(Clock(path, names[law.offset], period, updates, library=law.library, parameters=numbers))
    if law.delay is not None:
        updates = tuple((names[state], names[value]) for state, value in law.updates.items())
        draft.clocks.append(Clock(path, "", None, updates, names[law.delay], law.history))


ASSEMBLE: dict[type[laws.Law], Writer] = {
    laws.Storage: storage,
    laws.InertialField: inertial_field,
    laws.IdealConstraint: constraint,
    laws.IdealSwitch: switch,
    laws.Resistor: _resistor,
    laws.Reaction: reaction,
    HeatFlow: heat_flow,
    ResistorField: _resistor_field,
    laws.Source: _source,
    laws.Transformer: transformer,
    laws.Gyrator: gyrator,
    laws.SkewGyrator: skew_gyrator,
    laws.Junction: junction,
    laws.SignalBlock: _block,
}
