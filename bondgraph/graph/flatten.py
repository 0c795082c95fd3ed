"""Flattening of a `Graph` with its nested graphs into one `Model`, or the problems that prevent it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bondgraph.errors import Place, Problem, Records
from bondgraph.graph.draft import Draft, own_automata
from bondgraph.graph.joining import Scope, SignalNames, heat_ports, join, signal_names
from bondgraph.model.automata import Automaton, Start
from bondgraph.model.dissipation import HEAT_PORT, heat_path
from bondgraph.model.element import Element
from bondgraph.model.expected_units import expected_unit
from bondgraph.model.laws import Junction, Switched
from bondgraph.model.modal import modal_parameters
from bondgraph.model.model import Collider, CollisionSet, ContactPoint, End, Face, Model, SignalEntry, Visible
from screws.names import similar_names


def flatten(graph: Draft) -> tuple[Model, list[Problem]]:
    """Return the flat model and all problems (the model is only valid without problems)."""
    problems: list[Problem] = []
    scopes = list(_scopes(graph, "", 0, problems))
    for each in dict.fromkeys(scope.graph for scope in scopes):
        problems += each.problems
    elements = {
        scope.prefix + name: part for scope in scopes for name, part in scope.graph.parts.items() if isinstance(part, Element)
    }
    heat = heat_ports(scopes)
    ambient = tuple(path for path, element in elements.items() if element.heat and heat_path(path) not in heat)
    names = signal_names(scopes, {**elements, **heat}, problems)
    aliases = _aliases(scopes, names, problems)
    resolver = _Resolver({scope.prefix: scope for scope in scopes}, names, aliases, problems, ambient)
    flat = {path: _flat_element(path, element, resolver) for path, element in elements.items()}
    flat |= {path: replace(flat[path], heat=False) for path in ambient}
    flat = dict(itertools.chain.from_iterable(_with_heat_port(path, element, heat) for path, element in flat.items()))
    automata = {
        scope.prefix + name: _flat_automaton(scope.prefix, automaton, resolver)
        for scope in scopes
        for name, automaton in own_automata(scope.graph).items()
    }
    starts = tuple(_flat_start(scope.prefix, start, resolver, automata) for scope in scopes for start in scope.graph.starts)
    bonds = Records(join(scopes, flat, problems))
    groups = tuple(scope.prefix.removesuffix(".") for scope in scopes if scope.prefix)
    faces = {scope.prefix.removesuffix("."): _face(scope) for scope in scopes if scope.prefix}
    exposed = frozenset(
        scope.prefix + port.owner.name
        for scope in scopes
        for port in scope.graph.ports.values()
        if isinstance(port.owner, Element)
    )
    contacts = tuple(_flat_contact(scope.prefix, contact, resolver) for scope in scopes for contact in scope.graph.contacts)
    collisions = tuple(_flat_collisions(scope.prefix, each, resolver) for scope in scopes for each in scope.graph.collisions)
    visible_parts = (_flat_visible(scope.prefix, each, resolver) for scope in scopes for each in scope.graph.visible)
    visible = tuple(each for each in visible_parts if each is not None)
    model = Model(graph.name, flat, bonds, automata, starts, aliases, groups, exposed, contacts, collisions, visible)
    return replace(model, ambient=ambient, faces=faces), problems


def described_parts(graph: Draft) -> Iterator[str]:
    model, _ = flatten(graph)
    for path in model.elements:
        yield _described(model, path)


def described_part(find: Callable[[], Draft | None], path: str) -> str:
    graph = find()
    model = None if graph is None else flatten(graph)[0]
    element = None if model is None else model.elements.get(path)
    if model is None or element is None or len(model.bonds_at(path)) < len(element.ports):
        return ""
    return _described(model, path)


def _described(model: Model, path: str) -> str:
    element, bonds = model.elements[path], model.bonds_at(path)
    joined = len(bonds) >= len(element.ports)
    units = {key: expected_unit(model, path, key, each, each.value) for key, each in element.parameters.items() if joined}
    return element.described(path, tuple(dict.fromkeys(bond.domain for bond in bonds)), units)


def _with_heat_port(path: str, element: Element, heat: Mapping[str, Element]) -> Iterator[tuple[str, Element]]:
    yield path, element
    if element.heat:
        yield heat_path(path), heat[heat_path(path)]


def _face(scope: Scope) -> Face:
    ports = dict[str, End]()
    for name, reference in scope.graph.ports.items():
        prefix, owner, port = scope.prefix, reference.owner, reference.name
        while isinstance(owner, Draft) and (behind := owner.ports.get(port or next(iter(owner.ports), ""))) is not None:
            prefix, owner, port = f"{prefix}{owner.name}.", behind.owner, behind.name
        if isinstance(owner, Element):
            one = port or (owner.ports[0].name if len(owner.ports) == 1 else "")
            ports[name] = End(prefix + owner.name, "" if isinstance(owner.law, Junction) else one)
    return Face(scope.graph.icon, ports)


def _flat_element(path: str, element: Element, resolver: _Resolver) -> Element:
    if path == element.name and _is_flat(element):
        return element
    signals = tuple(resolver.resolve(_prefix(path), s, path, element.place) for s in element.signals)

    def automaton(name: str) -> str:
        return resolver.automaton(name, _prefix(path), path, element.place)

    values = {
        name: replace(element.parameters[name], value=replace(modal, automaton=automaton(modal.automaton)))
        for name, modal in modal_parameters(element).items()
    }
    law = element.law
    if isinstance(law, Switched) and law.automaton is not None:
        flat = automaton(law.automaton)
        law = law if flat == law.automaton else replace(law, automaton=flat)
    if path == element.name and signals == element.signals and law is element.law and not values:
        return element
    return replace(element, name=path, law=law, signals=signals, parameters={**element.parameters, **values})


def _is_flat(element: Element) -> bool:
    return not (element.signals or isinstance(element.law, Switched) or modal_parameters(element))


def _scopes(graph: Draft, prefix: str, depth: int, problems: list[Problem]) -> Iterator[Scope]:
    yield Scope(graph, prefix)
    for name, part in graph.parts.items():
        if not isinstance(part, Draft):
            continue
        if depth == MAX_DEPTH:
            title = f'graph "{part.name}" is nested {MAX_DEPTH} deep'
            cures = ("place parts side by side in one Graph and connect them",)
            problems.append(Problem("E159", title, (f"inside: {prefix[:60]} ...",), (part.place,), cures))
        else:
            yield from _scopes(part, f"{prefix}{name}.", depth + 1, problems)


MAX_DEPTH = 100


def _prefix(path: str) -> str:
    return path[: path.rfind(".") + 1]


def _aliases(scopes: list[Scope], names: SignalNames, problems: list[Problem]) -> dict[str, str]:
    aliases = {scope.prefix + name: scope.prefix + path for scope in scopes for name, path in scope.graph.exports.items()}
    places = {scope.prefix: scope.graph.place for scope in scopes}
    for name, path in list(aliases.items()):
        if name in names:
            details = ("one of the values is an exported signal",)
            problems.append(Problem("E101", f'two values are called "{name}"', details, cures=("export it under another name",)))
        seen = {name}
        while path in aliases and path not in seen:
            seen.add(path)
            path = aliases[path]
        if path not in names:
            problems.append(_unknown(path, f'the export "{name}"', places[_prefix(name)], names))
        aliases[name] = path
    return aliases


def _unknown(reference: str, user: str, place: Place | None, names: Iterable[str]) -> Problem:
    near = similar_names(reference, names, most=3)
    title, cure = f'{user} reads the signal "{reference}"', "name a state, an effort or flow, or an output as <element>.<signal>"
    if reference.endswith(".mode"):
        name = reference.removesuffix(".mode")
        title, cure = f'{user} follows the automaton "{name}"', f'graph.add_automaton(Automaton("{name}", ...))'
    details = (f"similar names: {', '.join(near)}",) if near else ()
    return Problem("E106", f"{title}, which does not exist", details, (place,), (cure,))


@dataclass(frozen=True)
class _Resolver:
    scopes: dict[str, Scope]
    names: SignalNames
    aliases: dict[str, str]
    problems: list[Problem]
    ambient: tuple[str, ...] = ()

    def resolve(self, prefix: str, reference: str, user: str, place: Place | None) -> str:
        """Return the full path of a signal named `reference` in the graph with this prefix: in this graph, or in the nearest
        graph around it that has such a signal."""
        around: str | None = prefix
        while around is not None:
            scope, outside = self.scopes.get(around), _around(around)  # None for a name with a dot (E102)
            if scope is not None and reference in scope.graph.inputs:
                return self._source_of(around, reference, user, place)
            candidate = self.aliases.get(around + reference, around + reference)
            if candidate in self.names:
                return candidate
            around = outside
        problem = _unknown(prefix + reference, f'"{user}"', place, {*self.names, *self.aliases})
        if (owner := (prefix + reference).rpartition(f".{HEAT_PORT}.")[0]) in self.ambient:
            cure = f'connect the port "{HEAT_PORT}" of "{owner}" to a temperature: an open port has no temperature'
            problem = replace(problem, cures=(cure,))
        self.problems.append(problem)
        return reference

    def automaton(self, name: str, prefix: str, user: str, place: Place | None) -> str:
        return self.resolve(prefix, f"{name}.mode", user, place).removesuffix(".mode")

    def _source_of(self, prefix: str, reference: str, user: str, place: Place | None) -> str:
        inside, around = self.scopes[prefix].graph, _around(prefix)
        source = None if around is None else self.scopes[around].graph.wires.get((inside.name, reference))
        if around is not None and source is not None:
            return self.resolve(around, source, user, place)
        title = f'signal input "{reference}" of "{prefix.removesuffix(".") or inside.name}" has no source'
        wire = f'graph.wire(<signal>, {inside.name}, "{reference}") in the enclosing graph'
        cures = (f"{inside.fed_by} instead of graph.add or graph.connect",) if inside.fed_by else (wire,)
        self.problems.append(Problem("E108", title, (f'"{user}" reads it',), (place,), cures))
        return reference


def _around(prefix: str) -> str | None:
    return _prefix(prefix.removesuffix(".")) if prefix else None


def _flat_automaton(prefix: str, automaton: Automaton, resolver: _Resolver) -> Automaton:
    path = prefix + automaton.name

    def full(reference: str, user: str = path) -> str:
        return resolver.resolve(prefix, reference, user, automaton.place)

    return replace(
        automaton,
        name=path,
        transitions=tuple(
            replace(
                t,
                signals=tuple(map(full, t.signals)),
                resets=tuple((full(state, f"{path} (reset)"), op, tuple(map(full, args))) for state, op, args in t.resets),
                impact=tuple(prefix + element for element in t.impact),
            )
            for t in automaton.transitions
        ),
    )


def _flat_start(prefix: str, start: Start, resolver: _Resolver, automata: dict[str, Automaton]) -> Start:
    user = f"{prefix}start values"
    return replace(
        start,
        arguments=tuple(resolver.resolve(prefix, a, user, None) for a in start.arguments),
        results=tuple(prefix + r if prefix + r in automata else resolver.resolve(prefix, r, user, None) for r in start.results),
    )


def _flat_contact(prefix: str, contact: ContactPoint, resolver: _Resolver) -> ContactPoint:
    path = (prefix + contact.path).removesuffix(".")
    user = f"{path} (contact)"

    def full(reference: str) -> str:
        return resolver.resolve(prefix, reference, user, None)

    def entry(local: SignalEntry) -> SignalEntry:
        return SignalEntry(full(local.signal), local.index)

    return replace(
        contact,
        path=path,
        gap=full(contact.gap),
        gap_rate=full(contact.gap_rate),
        normal=None if contact.normal is None else entry(contact.normal),
        slip=tuple(map(entry, contact.slip)),
        friction=None if contact.friction is None else full(contact.friction),
        off=tuple((resolver.automaton(automaton, prefix, user, None), state) for automaton, state in contact.off),
        ignored=tuple(map(full, contact.ignored)),
        frames=tuple(map(full, contact.frames)),
        stepped=tuple(map(full, contact.stepped)),
        penetration=None if contact.penetration is None else entry(contact.penetration),
    )


def _flat_collisions(prefix: str, collisions: CollisionSet, resolver: _Resolver) -> CollisionSet:
    def flat(body: Collider) -> Collider:
        path = prefix + body.path

        def full(reference: str) -> str:
            return resolver.resolve(prefix, reference, f"{path} (collisions)", None)

        momentum = None if body.momentum is None else full(body.momentum)
        return Collider(path, full(body.pose), full(body.twist), momentum, body.fixed)

    return replace(collisions, bodies=tuple(map(flat, collisions.bodies)))


def _flat_visible(prefix: str, visible: Visible, resolver: _Resolver) -> Visible | None:
    """Return the flat visible part; None if its signals do not exist, since other readers of these signals report the error."""
    path, missing = (prefix + visible.path).removesuffix("."), replace(resolver, problems=[])
    signals = {use: missing.resolve(prefix, signal, path, None) for use, signal in visible.signals.items()}
    return None if missing.problems else replace(visible, path=path, signals=signals)
