"""Consistency checks of a model that was read from a file: ends, ports, names, and formulas with their arguments.

Flattening produces consistent models, but a file may contain an inconsistent model. Everything is checked, so that no later
stage meets a dangling name. Checks of graphs (`bondgraph.checks`) are not repeated here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from bondgraph.assembly.constraints_and_switches import NOT_IN_POSITION, STABILISERS
from bondgraph.assembly.draft import law_arguments
from bondgraph.assembly.system import System
from bondgraph.errors import Problem
from bondgraph.graph.joining import signals_of
from bondgraph.interchange.formulas import Shape
from bondgraph.interchange.recording import Replay
from bondgraph.interchange.records import BUILTIN
from bondgraph.model import laws
from bondgraph.model.arguments import is_name
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.dissipation import HeatFlow, ResistorField, heat_path
from bondgraph.model.domains import COEFFICIENTS
from bondgraph.model.element import Element
from bondgraph.model.mechanics import Mechanics
from bondgraph.model.modal import modal_parameters
from bondgraph.model.model import CollisionSet, ContactPoint, End, Model
from bondgraph.model.ops import Op
from screws.errors import plural

Names = tuple[str, ...]
LawArguments = Callable[[str, Element, Any], Mapping[str, Names]]
"""Function (path, element, its law) -> names of the arguments of each formula, by the field of the law that holds it."""


def _storage(path: str, element: Element, law: laws.Storage) -> dict[str, Names]:
    state, arguments = f"{path}.{law.state}", law_arguments(path, element)
    input, output = f"{path}.{laws.OTHER[law.gives]}", f"{path}.{law.gives}"
    first_arguments: dict[str, Names] = {"output": (state,), "energy": (state,), "rate": (state, input), "inverse": (output,)}
    return {name: (*first, *arguments) for name, first in first_arguments.items()}


def _inertial(path: str, element: Element, law: laws.InertialField) -> dict[str, Names]:
    q, v, arguments = f"{path}.q", f"{path}.v", law_arguments(path, element)
    first_arguments: dict[str, Names] = {
        "flow": (q, f"{path}.{law.motion}"),
        "rate": (q, v, f"{path}.effort"),
        "energy": (q, v),
        "momentum": (q, v),
        "own_rate": (q, v),
    }
    return {name: (*first, *arguments) for name, first in first_arguments.items()}


def _of_constraint(path: str, element: Element, law: laws.IdealConstraint) -> dict[str, Names]:
    inputs = (*(f"{path}.{name}" for name in element.parameters if name not in NOT_IN_POSITION), *element.signals)
    stored = (f"{path}.{name}" for name in law.noted)
    return {"position": inputs, "released": (law.mode, f"{path}.h'", *stored, *inputs)}


def _arguments(*fields: str, first: Names = ()) -> LawArguments:
    """Return a function that gives the arguments of `fields`: the element's variables `first`, then parameters and signals."""

    def arguments(path: str, element: Element, law: laws.Law) -> dict[str, Names]:
        first_arguments = tuple(f"{path}.{name}" for name in first)
        return dict.fromkeys(fields, (*first_arguments, *law_arguments(path, element)))

    return arguments


def _resistor(path: str, element: Element, law: laws.Resistor) -> dict[str, Names]:
    arguments = law_arguments(path, element)
    effort, flow = f"{path}.effort", f"{path}.flow"
    return {"effort": (flow, *arguments), "flow": (effort, *arguments), "relation": (effort, flow, *arguments)}


def _resistor_field(path: str, element: Element, law: ResistorField) -> dict[str, Names]:
    return {"formula": (f"{path}:{law.takes}s", *law_arguments(path, element))}


def _heat_flow(path: str, element: Element, law: HeatFlow) -> dict[str, Names]:
    temperatures = [f"{path}.{port.name}.effort" for port in element.ports] if len(element.ports) > 1 else [f"{path}.effort"]
    return {"heat": (*temperatures, *law_arguments(path, element))}


ARGUMENTS: dict[type[laws.Law], LawArguments] = {
    laws.Storage: _storage,
    laws.InertialField: _inertial,
    laws.Resistor: _resistor,
    ResistorField: _resistor_field,
    laws.Reaction: _arguments("flow", first=("1.effort", "2.effort")),
    HeatFlow: _heat_flow,
    laws.IdealConstraint: _of_constraint,
    laws.IdealSwitch: _arguments(),
    laws.Source: _arguments("value"),
    laws.Transformer: _arguments("matrix"),
    laws.Gyrator: _arguments("matrix"),
    laws.SkewGyrator: _arguments("matrix"),
    laws.Junction: _arguments(),
    laws.SignalBlock: _arguments(),
}
"""For each kind of law, the function that returns the arguments of its formulas, except formulas in records inside the law."""


def action_arguments(path: str, element: Element) -> dict[str, Names]:
    arguments = law_arguments(path, element)
    return {"forward": (*arguments, f"{path}.1.flow"), "transposed": (*arguments, f"{path}.2.effort")}


def mechanics_arguments(path: str, element: Element) -> dict[str, Names]:
    q, v, arguments = f"{path}.q", f"{path}.v", law_arguments(path, element)
    first_arguments: dict[str, Names] = {"inertia": (q,), "kinetic": (q, v), "potential": (q,), "bias": (q, v)}
    first_arguments["solution"] = (q, v, f"{path}.effort")
    return {name: (*first, *arguments) for name, first in first_arguments.items()}


VECTOR_ARGUMENTS = {"inertia": 1, "kinetic": 2, "potential": 1, "bias": 2, "solution": 3}
"""Number of leading arguments that are vectors, for each formula of a mechanism."""


def equation_arguments(path: str, element: Element, law: laws.SignalBlock, arguments: Sequence[str]) -> Names:
    outs = (out for equation in law.equations for out in equation.outs)
    names = {local: f"{path}.{local}" for local in (*element.parameters, *law.kept, *outs)}
    names |= dict(zip(law.inputs, element.signals, strict=True))
    return tuple(names[local] for local in arguments)


@dataclass
class FormulaOwner:
    model: Model
    path: str = ""

    @property
    def element(self) -> Element:
        return self.model.elements[self.path]

    def arguments(self, record: Any, name: str, index: int = 0) -> tuple[str, ...] | None:
        if isinstance(record, Transition):
            return tuple(record.signals if name == "guard" else record.resets[index][2])
        if isinstance(record, laws.Equation):
            return equation_arguments(self.path, self.element, self.element.law_as(laws.SignalBlock), record.args)
        if isinstance(record, laws.Action):
            return action_arguments(self.path, self.element)[name]
        if isinstance(record, Mechanics):
            return mechanics_arguments(self.path, self.element)[name]
        law_arguments = ARGUMENTS.get(type(record))
        return None if law_arguments is None else law_arguments(self.path, self.element, record).get(name)


def argument_shapes(system: System, record: Any, name: str, arguments: Sequence[str]) -> list[Shape] | None:
    shapes = []
    for index, argument in enumerate(arguments):
        value = system.values.get(system.resolve(argument))
        if value is None or value.shape is None:
            return None
        shape = value.shape
        if isinstance(record, Mechanics) and not record.scalar and index < VECTOR_ARGUMENTS[name]:
            shape = shape or (1,)  # one coordinate is an array with one entry
        shapes.append(shape)
    return shapes


def result_count(record: Any) -> int:
    return len(record.outs) if isinstance(record, laws.Equation) else 1


MAX_DIMENSION = 1000
"""Maximum dimension of a bond in a file."""
PORTS: Mapping[type[laws.Law], int | None] = {
    laws.Storage: 1,
    laws.InertialField: 1,
    laws.Resistor: 1,
    ResistorField: None,
    laws.Reaction: 2,
    HeatFlow: None,
    laws.IdealConstraint: None,
    laws.IdealSwitch: 1,
    laws.Source: 1,
    laws.Transformer: 2,
    laws.Gyrator: 2,
    laws.SkewGyrator: 1,
    laws.Junction: 1,
    laws.SignalBlock: 0,
}
"""Number of ports of an element with each kind of law, None if it varies. One port represents all ports of a junction; a
constraint has one port for each coordinate, or one without coordinates, and an R-field any number."""


def inconsistencies(model: Model) -> list[Problem]:
    """Return an E355 for each inconsistency, at most 20, that the first unsuccessful check finds: those of later checks may only
    be consequences."""
    for check in (_names, _elements, _bonds, _signals, _formulas, _pictures_and_collisions):
        problems = [Problem("E355", text, (), (), ("a file written by save_model, unchanged",)) for text in check(model)]
        if problems:
            return problems[:20]
    return []


def _names(model: Model) -> Iterator[str]:
    parts: list[tuple[str, Element | Automaton]] = [*model.elements.items(), *model.automata.items()]
    for path, part in parts:
        kind = "element" if isinstance(part, Element) else "automaton"
        if path != part.name or not all(map(is_name, path.split("."))):
            yield f"{kind} {path[:60]!r} is called {part.name[:60]!r}, which is a different or invalid path"
    twice = [name for name, count in Counter(bond.name for bond in model.bonds).items() if count > 1]
    yield from (f"several bonds are called {name[:60]!r}" for name in twice)


def _elements(model: Model) -> Iterator[str]:
    for path, element in model.elements.items():
        law, label = element.law, f'{element.kind} "{path}"'
        count = PORTS[type(law)]
        expected = max(len(element.ports), 1) if count is None else count
        if isinstance(law, laws.IdealConstraint) and not law.coordinates:
            expected = 1
        expected = min(max(len(element.ports), 1), 2) if isinstance(law, HeatFlow) else expected
        if element.heat and not isinstance(getattr(model.elements.get(heat_path(path)), "law", None), HeatFlow):
            yield f"{label} has a heat port that is not in the model"
        if isinstance(law, HeatFlow) and law.heat is None and (len(element.ports), len(element.signals)) != (1, 1):
            yield f"{label} does not turn the power of an element into heat"
        if len(element.ports) != expected or len({port.name for port in element.ports}) != len(element.ports):
            yield f"{label} has ports that do not match its law"
        if isinstance(law, laws.SignalBlock) and len(law.inputs) != len(element.signals):
            yield f"{label} has {plural(len(law.inputs), 'input')} but reads {plural(len(element.signals), 'signal')}"
        if isinstance(law, laws.Storage) and law.output is None and (law.inverse is None or law.rate is not None):
            yield f"{label} has no law"
        if isinstance(law, laws.Resistor) and law.effort is None and law.flow is None and law.relation is None:
            yield f"{label} has no law"
        if isinstance(law, laws.Junction) and law.type not in (0, 1):
            yield f"{label} is a junction of type {law.type}"
        if isinstance(law, laws.IdealSwitch) and "alpha1" not in element.parameters:
            yield f'{label} has no parameter "alpha1"'
        if isinstance(law, laws.IdealSwitch) and law.automaton is None:
            yield f"{label} has no automaton that switches it"
        if isinstance(law, laws.InertialField) and law.motion not in ("v", "p"):
            yield f"{label} has the unknown motion {law.motion[:60]!r}"
        if isinstance(law, laws.IdealConstraint):
            yield from _constraint(label, element, law)
        linear = isinstance(law, (laws.Storage, laws.Resistor)) and law.linear
        if linear and (len(element.parameters) != 1 or not set(element.parameters) <= set(COEFFICIENTS)):
            yield f"{label} is linear but does not have exactly one coefficient"
        library = law.library if isinstance(law, laws.SignalBlock) else None
        foreign = () if library is None else (*library.states, *library.parameters)
        for name in (*element.parameters, *law.states(), *(port.name for port in element.ports)):
            if name not in foreign and not is_name(name.removesuffix("'")):
                yield f"{label} has a parameter, state or port with the invalid name {name[:60]!r}"
        for name, parameter in element.parameters.items():
            if parameter.not_below and parameter.not_below not in element.parameters:
                yield f"{label}: {name} must not be below {parameter.not_below[:60]!r}, which does not exist"


def _constraint(label: str, element: Element, law: laws.IdealConstraint) -> Iterator[str]:
    has_position = law.position is not None or law.stores_position
    if missing := set(STABILISERS if has_position else STABILISERS[:1]) - set(element.parameters):
        yield f'{label} has no parameter "{min(missing)}"'
    if law.released is not None and law.automaton is None:
        yield f"{label} has an effort while it is inactive, but no automaton switches it"
    if law.coordinates and (law.position is None or not 0 < law.coordinates <= len(element.signals) or law.conditions < 1):
        yield f"{label} has {plural(law.coordinates, 'coordinate')}, which do not match its signals"
    if law.coordinates < 0 or (law.coordinates and law.coordinates != len(element.ports)):
        yield f"{label} has {plural(law.coordinates, 'coordinate')} but {plural(len(element.ports), 'port')}"


def _bonds(model: Model) -> Iterator[str]:
    free = Counter({(path, port.name): 1 for path, e in model.elements.items() for port in e.ports if not _is_junction(e)})
    for bond in model.bonds:
        label = f"bond {bond.name[:80]!r}"
        if not 0 < bond.dimension <= MAX_DIMENSION or bond.domain.dimension not in (None, bond.dimension):
            yield f"{label} has dimension {bond.dimension}"
        if bond.tail.element == bond.head.element:
            yield f"{label} joins an element to itself"
        for end in bond.ends:
            yield from _end(model, label, bond.name, bond.dimension, end)
            free[end.element, end.port] -= 1
    for (path, port), missing in free.items():
        if missing and path in model.elements and not _is_junction(model.elements[path]):
            yield f'port {port[:60]!r} of "{path}" has {plural(1 - missing, "bond")}'


def _end(model: Model, label: str, name: str, dimension: int, end: End) -> Iterator[str]:
    element = model.elements.get(end.element)
    if element is None:
        yield f"{label} ends at {end.element[:60]!r}, which is not an element"
        return
    if _is_junction(element) and end.port != name:
        yield f"{label} ends at port {end.port[:60]!r} of a junction, whose ports have the names of their bonds"
    ports = [port for port in element.ports if _is_junction(element) or port.name == end.port]
    if not ports:
        yield f'{label} ends at port {end.port[:60]!r} of "{end.element}", which does not exist'
    elif ports[0].dimension not in (None, dimension):
        yield f'{label} has dimension {dimension}, but "{end.element}" has {ports[0].dimension}'


def _is_junction(element: Element) -> bool:
    return isinstance(element.law, laws.Junction)


def _signals(model: Model) -> Iterator[str]:
    names = Counter({"time": 1})
    for path, element in model.elements.items():
        offered = signals_of(path, element)
        names.update(set(offered) if isinstance(element.law, laws.SignalBlock) else offered)
    names.update(f"{path}.mode" for path in model.automata)
    yield from (f"several values are called {name[:60]!r}" for name, count in names.items() if count > 1)
    for path, element in model.elements.items():
        reads = [*element.signals, *(f"{modal.automaton}.mode" for modal in modal_parameters(element).values())]
        if isinstance(element.law, laws.Switched) and element.law.automaton is not None:
            reads.append(element.law.mode)
        yield from _unknown_reads(names, f'{element.kind} "{path}"', reads)
        if element.automaton is not None and element.automaton is not model.automata.get(path):
            yield f'{element.kind} "{path}" has an automaton that is not in the model'
    for path, automaton in model.automata.items():
        for edge in automaton.transitions:
            yield from _unknown_reads(
                names, f'automaton "{path}"', [*edge.signals, *(s for _, _, args in edge.resets for s in args)]
            )
    for alias, path in model.aliases.items():
        if alias in names:
            yield f"several values are called {alias[:60]!r}"
        yield from _unknown_reads(names, f"the name {alias[:60]!r}", [path])
    yield from (f'"{path[:60]}" is exposed but is not an element' for path in model.exposed - set(model.elements))


def _unknown_reads(names: Mapping[str, int], label: str, reads: list[str]) -> Iterator[str]:
    yield from (f"{label} reads {name[:60]!r}, which does not exist" for name in reads if name not in names)


def _formulas(model: Model) -> Iterator[str]:
    owner = FormulaOwner(model)
    for path, element in model.elements.items():
        owner.path = path
        yield from _check_record(owner, element.law, f'{element.kind} "{path}"')
    for path, automaton in model.automata.items():
        owner.path = path
        for edge in automaton.transitions:
            yield from _check_formula(owner, edge, "guard", 0, edge.guard, f'automaton "{path}"')
            for index, (_, op, _) in enumerate(edge.resets):
                yield from _check_formula(owner, edge, "resets", index, op, f'automaton "{path}"')


def _check_record(owner: FormulaOwner, record: Any, label: str) -> Iterator[str]:
    for each in fields(record):
        value = getattr(record, each.name)
        if isinstance(value, (Op, Replay)):
            yield from _check_formula(owner, record, each.name, 0, value, label)
        elif is_dataclass(value):
            yield from _check_record(owner, value, label)
        elif isinstance(value, tuple):
            for entry in value:
                if isinstance(entry, laws.Equation):
                    yield from _check_record(owner, entry, label)


def _check_formula(owner: FormulaOwner, record: Any, name: str, index: int, value: Any, label: str) -> Iterator[str]:
    try:
        arguments = owner.arguments(record, name, index)
    except KeyError:
        return  # E118 reports the unknown local name
    function, results = value.function if isinstance(value, Op) else value, result_count(record)
    if arguments is None:
        yield f"{label} has a formula {name}, which its law does not use"
    elif any(value is operation for operation in BUILTIN.values()):
        if isinstance(record, laws.Equation) and (len(arguments), results) != (1, 1):
            expected = f"{len(arguments)} and {results} are expected"
            yield f"{label}: its formula {name} takes one argument and returns one result, but {expected}"
    elif isinstance(function, Replay):
        formula = function.formula
        if len(formula.arguments) != len(arguments) or len(formula.results) != results:
            counts = f"{plural(len(formula.arguments), 'argument')} and {plural(len(formula.results), 'result')}"
            yield f"{label}: its formula {name} has {counts}, but {len(arguments)} and {results} are expected"


def _pictures_and_collisions(model: Model) -> Iterator[str]:
    signals = {signal for path, element in model.elements.items() for signal in signals_of(path, element)}
    signals |= {f"{path}.mode" for path in model.automata}
    twice = [path for path, count in Counter(point.path for point in model.contacts).items() if count > 1]
    yield from (f"several contacts are called {path[:60]!r}" for path in twice)
    for point in model.contacts:
        yield from _contact(model, signals, point)
    for picture in model.visible:
        yield from (
            f'"{picture.path}" in pictures reads {s[:60]!r}, which does not exist'
            for s in set(picture.signals.values()) - signals
        )
    for collisions in model.collisions:
        yield from _collision_set(signals, collisions)


def _contact(model: Model, signals: set[str], point: ContactPoint) -> Iterator[str]:
    entries = [*point.slip, *(entry for entry in (point.normal, point.penetration) if entry is not None)]
    needed = {point.gap, point.gap_rate, *(entry.signal for entry in entries), *point.ignored, *point.frames, *point.stepped}
    needed |= set() if point.friction is None else {point.friction}
    yield from (f'contact "{point.path}" reads {name[:60]!r}, which does not exist' for name in needed - signals)
    for automaton, state in point.off:
        if automaton not in model.automata or state not in model.automata[automaton].states:
            yield f'contact "{point.path}" is off in {state[:60]!r} of {automaton[:60]!r}, which does not exist'


def _collision_set(signals: set[str], collisions: CollisionSet) -> Iterator[str]:
    for body in collisions.bodies:
        needed = {body.pose, body.twist, *([] if body.momentum is None else [body.momentum])}
        yield from (f'collisions of "{body.path}" need {name[:60]!r}, which does not exist' for name in needed - signals)
    numbers, with_shape = set(range(len(collisions.bodies))), {index for index, _ in collisions.shapes}
    pairs = (*collisions.exclude, *(collisions.only or ()))
    named = with_shape.union(*pairs)
    yield from (f"collisions name body number {index}, which does not exist" for index in named - numbers)
    yield from (f'"{collisions.bodies[index].path}" has no shape to collide with' for index in numbers - with_shape)
    yield from (f"collisions pair body number {i} with itself" for i, j in pairs if i == j)
    e, mu = collisions.restitution, collisions.friction
    if not (0.0 <= mu < float("inf") and 0.0 <= e <= 1.0 and collisions.max_contacts > 0):
        yield f"collisions have friction {mu}, restitution {e} and {collisions.max_contacts} candidates, one of which is invalid"
    rolling, spinning = collisions.rolling_friction, collisions.spinning_friction
    if not (0.0 <= rolling < float("inf") and 0.0 <= spinning < float("inf")):
        yield f"collisions have rolling friction {rolling} m and spinning friction {spinning} m, one of which is invalid"
