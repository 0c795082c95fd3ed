"""A model as it was read in; in words whatever of it does not fit together out: ends, ports, names, formulas.

What a graph is given by flattening, a file only claims: here each claim is tried, so that no later stage meets a name that
leads nowhere. What a graph itself is checked for (`bondgraph.checks`) is left to these checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from bondgraph.assembly.ideal import STABILISERS
from bondgraph.errors import Problem
from bondgraph.graph.signal_names import signals_of
from bondgraph.interchange.records import KNOWN
from bondgraph.interchange.replay import Replay
from bondgraph.interchange.shapes import Owner, outs_of
from bondgraph.model import laws
from bondgraph.model.automata import Automaton
from bondgraph.model.domains import COEFFICIENTS
from bondgraph.model.element import Element
from bondgraph.model.modal import modal_parameters
from bondgraph.model.model import CollisionSet, ContactPoint, End, Model
from bondgraph.model.names import is_name
from bondgraph.model.ops import Op

WIDEST = 1000
"""Largest dimension of a bond."""
PORTS: Mapping[type[laws.Law], int | None] = {
    laws.Storage: 1,
    laws.InertialField: 1,
    laws.Resistor: 1,
    laws.Reaction: 2,
    laws.IdealConstraint: None,
    laws.IdealSwitch: 1,
    laws.Source: 1,
    laws.Transformer: 2,
    laws.Gyrator: 2,
    laws.SkewGyrator: 1,
    laws.Junction: 1,
    laws.SignalBlock: 0,
}
"""How many ports an element with a law has; a junction's one stands for all, a constraint has one for each coordinate."""


def incoherent(model: Model) -> list[Problem]:
    """E355 for what does not fit together, of the first kind that is found: the others may follow from it."""
    for finder in (_names, _elements, _bonds, _signals, _formulas, _marks):
        found = [Problem("E355", text, (), (), ("save_model writes files that fit together",)) for text in finder(model)]
        if found:
            return found[:20]
    return []


def _names(model: Model) -> Iterator[str]:
    parts: list[tuple[str, Element | Automaton]] = [*model.elements.items(), *model.automata.items()]
    for path, part in parts:
        kind = "element" if isinstance(part, Element) else "automaton"
        if path != part.name or not all(map(is_name, path.split("."))):
            yield f"{kind} {path[:60]!r} is called {part.name[:60]!r}, or that is no path of names"
    twice = [name for name, count in Counter(bond.name for bond in model.bonds).items() if count > 1]
    yield from (f"two bonds are called {name[:60]!r}" for name in twice)


def _elements(model: Model) -> Iterator[str]:
    for path, element in model.elements.items():
        law, said = element.law, f'{element.kind} "{path}"'
        count = PORTS[type(law)]
        wanted = max(law.coordinates and len(element.ports), 1) if isinstance(law, laws.IdealConstraint) else count
        if len(element.ports) != wanted or len({port.name for port in element.ports}) != len(element.ports):
            yield f"{said} has ports that its law has not"
        if isinstance(law, laws.SignalBlock) and len(law.inputs) != len(element.signals):
            yield f"{said} has {len(law.inputs)} inputs and reads {len(element.signals)} signals"
        if isinstance(law, laws.Junction) and law.type not in (0, 1):
            yield f"{said} is a junction of type {law.type}"
        if isinstance(law, laws.IdealSwitch) and "alpha1" not in element.parameters:
            yield f'{said} has no parameter "alpha1"'
        if isinstance(law, laws.IdealSwitch) and law.automaton is None:
            yield f"{said} is switched by nothing"
        if isinstance(law, laws.InertialField) and law.motion not in ("v", "p"):
            yield f"{said} has the motion {law.motion[:60]!r}"
        if isinstance(law, laws.IdealConstraint):
            yield from _constraint(said, element, law)
        linear = isinstance(law, (laws.Storage, laws.Resistor)) and law.linear
        if linear and (len(element.parameters) != 1 or not set(element.parameters) <= set(COEFFICIENTS)):
            yield f"{said} is linear, and has not one coefficient"
        for name in (*element.parameters, *law.states(), *(port.name for port in element.ports)):
            if not is_name(name.removesuffix("'")):
                yield f"{said} has something of the name {name[:60]!r}, which is no name"
        for name, parameter in element.parameters.items():
            if parameter.not_below and parameter.not_below not in element.parameters:
                yield f"{said}: {name} is not below {parameter.not_below[:60]!r}, which it has not"


def _constraint(said: str, element: Element, law: laws.IdealConstraint) -> Iterator[str]:
    held = law.position is not None or law.stores_position
    if missing := set(STABILISERS if held else STABILISERS[:1]) - set(element.parameters):
        yield f'{said} has no parameter "{min(missing)}"'
    if law.released is not None and law.automaton is None:
        yield f"{said} gives an effort while it does not hold, and nothing switches it"
    if law.coordinates and (law.position is None or not 0 < law.coordinates <= len(element.signals) or law.conditions < 1):
        yield f"{said} has {law.coordinates} coordinates, which do not fit its signals"
    if law.coordinates < 0 or (law.coordinates and law.coordinates != len(element.ports)):
        yield f"{said} has {law.coordinates} coordinates and {len(element.ports)} ports"


def _bonds(model: Model) -> Iterator[str]:
    free = Counter({(path, port.name): 1 for path, e in model.elements.items() for port in e.ports if not _joins(e)})
    for bond in model.bonds:
        said = f"bond {bond.name[:80]!r}"
        if not 0 < bond.dimension <= WIDEST or bond.domain.dimension not in (None, bond.dimension):
            yield f"{said} has dimension {bond.dimension}"
        if bond.tail.element == bond.head.element:
            yield f"{said} joins an element to itself"
        for end in bond.ends:
            yield from _end(model, said, bond.name, bond.dimension, end)
            free[end.element, end.port] -= 1
    for (path, port), left in free.items():
        if left and path in model.elements and not _joins(model.elements[path]):
            yield f'port {port[:60]!r} of "{path}" has {1 - left} bonds'


def _end(model: Model, said: str, name: str, dimension: int, end: End) -> Iterator[str]:
    element = model.elements.get(end.element)
    if element is None:
        yield f"{said} ends at {end.element[:60]!r}, which is no element"
        return
    if _joins(element) and end.port != name:
        yield f"{said} ends at a junction by the name {end.port[:60]!r}"
    ports = [port for port in element.ports if _joins(element) or port.name == end.port]
    if not ports:
        yield f'{said} ends at port {end.port[:60]!r} of "{end.element}", which has none of that name'
    elif ports[0].dimension not in (None, dimension):
        yield f'{said} has dimension {dimension}, and "{end.element}" {ports[0].dimension}'


def _joins(element: Element) -> bool:
    return isinstance(element.law, laws.Junction)


def _signals(model: Model) -> Iterator[str]:
    known = Counter({"time": 1})
    for path, element in model.elements.items():
        offered = signals_of(path, element)
        known.update(set(offered) if isinstance(element.law, laws.SignalBlock) else offered)
    known.update(f"{path}.mode" for path in model.automata)
    yield from (f"two values are called {name[:60]!r}" for name, count in known.items() if count > 1)
    for path, element in model.elements.items():
        reads = [*element.signals, *(f"{given.automaton}.mode" for given in modal_parameters(element).values())]
        if isinstance(element.law, laws.Switched) and element.law.automaton is not None:
            reads.append(element.law.mode)
        yield from _unknown(known, f'{element.kind} "{path}"', reads)
        if element.automaton is not None and element.automaton is not model.automata.get(path):
            yield f'{element.kind} "{path}" has an automaton that is not in the model'
    for path, automaton in model.automata.items():
        for edge in automaton.transitions:
            yield from _unknown(known, f'automaton "{path}"', [*edge.signals, *(s for _, _, args in edge.resets for s in args)])
    for alias, path in model.aliases.items():
        if alias in known:
            yield f"two values are called {alias[:60]!r}"
        yield from _unknown(known, f"the name {alias[:60]!r}", [path])
    yield from (f'"{path[:60]}" is no element that could wait for a bond' for path in model.exposed - set(model.elements))


def _unknown(known: Mapping[str, int], said: str, reads: list[str]) -> Iterator[str]:
    yield from (f"{said} reads {name[:60]!r}, which does not exist" for name in reads if name not in known)


def _formulas(model: Model) -> Iterator[str]:
    """Formulas whose arguments or results are not as many as they are given names."""
    owner = Owner(model)
    for path, element in model.elements.items():
        owner.path = path
        yield from _of_record(owner, element.law, f'{element.kind} "{path}"')
    for path, automaton in model.automata.items():
        owner.path = path
        for edge in automaton.transitions:
            yield from _one(owner, edge, "guard", 0, edge.guard, f'automaton "{path}"')
            for index, (_, op, _) in enumerate(edge.resets):
                yield from _one(owner, edge, "resets", index, op, f'automaton "{path}"')


def _of_record(owner: Owner, record: Any, said: str) -> Iterator[str]:
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, (Op, Replay)):
            yield from _one(owner, record, field.name, 0, value, said)
        elif is_dataclass(value):
            yield from _of_record(owner, value, said)
        elif isinstance(value, tuple):
            for entry in value:
                if isinstance(entry, laws.Equation):
                    yield from _of_record(owner, entry, said)


def _one(owner: Owner, record: Any, name: str, index: int, given: Any, said: str) -> Iterator[str]:
    try:
        arguments = owner.arguments(record, name, index)
    except KeyError:
        return  # a local name that is not there: E118 says so
    function = given.function if isinstance(given, Op) else given
    if arguments is None:
        yield f"{said} has a formula {name} that its law has not"
    elif any(given is operation for operation in KNOWN.values()):
        if isinstance(record, laws.Equation) and (len(arguments), outs_of(record)) != (1, 1):
            yield f"{said}: its formula {name} is of one argument; {len(arguments)} and {outs_of(record)} results are needed"
    elif isinstance(function, Replay):
        formula = function.formula
        if len(formula.arguments) != len(arguments) or len(formula.results) != outs_of(record):
            counts = f"{len(formula.arguments)} arguments and {len(formula.results)} results"
            yield f"{said}: its formula {name} has {counts}; {len(arguments)} and {outs_of(record)} are needed"


def _marks(model: Model) -> Iterator[str]:
    known = {signal for path, element in model.elements.items() for signal in signals_of(path, element)}
    known |= {f"{path}.mode" for path in model.automata}
    twice = [path for path, count in Counter(point.path for point in model.contacts).items() if count > 1]
    yield from (f"two contacts are called {path[:60]!r}" for path in twice)
    for point in model.contacts:
        yield from _contact(model, known, point)
    for one in model.visible:
        yield from (f'"{one.path}" in pictures reads {s[:60]!r}, which does not exist' for s in set(one.signals.values()) - known)
    for collisions in model.collisions:
        yield from _colliding(known, collisions)


def _contact(model: Model, known: set[str], point: ContactPoint) -> Iterator[str]:
    entries = [*point.slip, *(() if point.normal is None else (point.normal,))]
    read = {point.gap, point.gap_rate, *(entry.signal for entry in entries), *point.ignored, *point.frames, *point.stepped}
    read |= set() if point.friction is None else {point.friction}
    yield from (f'contact "{point.path}" reads {name[:60]!r}, which does not exist' for name in read - known)
    for automaton, state in point.off:
        if automaton not in model.automata or state not in model.automata[automaton].states:
            yield f'contact "{point.path}" is off in {state[:60]!r} of {automaton[:60]!r}, which does not exist'


def _colliding(known: set[str], collisions: CollisionSet) -> Iterator[str]:
    for body in collisions.bodies:
        read = {body.pose, body.twist, *([] if body.momentum is None else [body.momentum])}
        yield from (f'"{body.path}" collides by {name[:60]!r}, which does not exist' for name in read - known)
    numbers, shaped = set(range(len(collisions.bodies))), {index for index, _ in collisions.shapes}
    pairs = (*collisions.exclude, *(collisions.only or ()))
    named = shaped.union(*pairs)
    yield from (f"there is no body number {index} that could collide" for index in named - numbers)
    yield from (f'"{collisions.bodies[index].path}" has no shape to collide with' for index in numbers - shaped)
    yield from (f"body number {i} would collide with itself" for i, j in pairs if i == j)
    e, mu = collisions.restitution, collisions.friction
    if not (0.0 <= mu < float("inf") and 0.0 <= e <= 1.0 and collisions.max_contacts > 0):
        yield f"bodies collide with friction {mu}, restitution {e} and {collisions.max_contacts} candidates"
