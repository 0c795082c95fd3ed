"""Bonds of a flat model from the user's links, with ports, dimension, domain and frame, and the names of its signals.

A property that one end of a bond leaves open comes from the other end, and junctions propagate it to all their bonds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bondgraph.errors import Place, Problem
from bondgraph.graph.draft import Draft, own_automata
from bondgraph.model.dissipation import HEAT_PORT, heat_path, heat_port
from bondgraph.model.domains import COEFFICIENTS, GENERIC, SCREW, THERMAL, Domain
from bondgraph.model.element import Element, Port, PortRef
from bondgraph.model.laws import (
    ByMode,
    IdealConstraint,
    IdealSwitch,
    Junction,
    Ratio,
    Resistor,
    SignalBlock,
    Source,
    Storage,
    Transformer,
)
from bondgraph.model.modal import parameter_values
from bondgraph.model.model import Bond, End

HEAT_FROM_POWER = (
    'the port "heat" of an R, friction or switch with heat=True, which turns power into heat: R("r", 5.0, heat=True).port("heat")'
)


@dataclass(frozen=True)
class Scope:
    """Nested graph and its prefix: the graph's path and a dot, or "" for the outermost graph."""

    graph: Draft
    prefix: str


class _BondDraft(NamedTuple):
    name: str
    ends: tuple[End, End]
    ports: tuple[Port, Port]
    place: Place | None


def join(scopes: Sequence[Scope], flat: dict[str, Element], problems: list[Problem]) -> tuple[Bond, ...]:
    for path, element in flat.items():
        for port in element.ports:
            if port.dimension is not None:
                problems += _invalid_dimensions(path, element, port)
    free = {path: element.ports for path, element in flat.items() if not isinstance(element.law, Junction)}
    drafts: list[_BondDraft] = []
    counts: dict[str, int] = {}
    for scope in scopes:
        for link in scope.graph.links:
            label = f"{_label(scope.prefix, link.tail)} -> {_label(scope.prefix, link.head)}"
            tail_end = _end(scope, link.tail, label, flat, free, link.place, problems)
            head_end = _end(scope, link.head, label, flat, free, link.place, problems)
            if tail_end is None or head_end is None:
                continue
            tail, head = tail_end[0], head_end[0]
            if tail.element == head.element:
                title = f'a bond joins {flat[tail.element].kind} "{tail.element}" to itself'
                problems.append(Problem("E126", title, (f"bond: {label}",), (link.place,), ("connect it to another element",)))
                continue
            count = counts[label] = counts.get(label, 0) + 1
            name = label if count == 1 else f"{label} ({count})"
            drafts.append(_BondDraft(name, (tail, head), (tail_end[1], head_end[1]), link.place))
    if any(free.values()):
        problems += _unconnected(scopes, flat, free)
    ports_by_id = {id(port): port for draft in drafts for port in draft.ports}
    has_properties = any(p.dimension is not None or p.domain is not None or p.frame is not None for p in ports_by_id.values())
    dimensions, domains, frames = (
        _propagated(attribute, code, drafts, flat, problems) if has_properties else {}
        for attribute, code in (("dimension", "E103"), ("domain", "E105"), ("frame", "E109"))
    )
    bonds = []
    for index, draft in enumerate(drafts):
        domain, frame = domains.get(index) or GENERIC, frames.get(index)
        dimension = dimensions.get(index) or domain.dimension
        size = dimension if isinstance(dimension, int) else 1
        bonds.append(Bond(draft.name, *draft.ends, size, domain, str(frame) if frame else None, draft.place))
    return tuple(bonds)


def _unconnected(scopes: Sequence[Scope], flat: dict[str, Element], free: dict[str, tuple[Port, ...]]) -> Iterator[Problem]:
    exposed: dict[tuple[str, str], tuple[str, str]] = {}  # path and port of the outermost graph that exposes it
    for scope in scopes:
        for part in scope.graph.parts.values():
            for name in part.ports if isinstance(part, Draft) else ():
                path, owner, port_name = _resolved(scope, PortRef(part, name))
                if isinstance(owner, Element) and owner.ports:
                    exposed.setdefault((path, port_name or owner.ports[0].name), (scope.prefix + part.name, name))
    for path, ports in free.items():
        element = flat[path]
        for port in ports:
            cures: tuple[str, ...] = ("connect it to a junction, or remove the element",)
            title = f'port "{port.name}" of {element.kind} "{path}" is not connected'
            if (path, port.name) in exposed:
                graph_path, name = exposed[path, port.name]
                title = f'port "{name}" of "{graph_path}" is not connected'
                open_end = 'Se("free") for zero effort, Sf("fixed") for zero flow'
                cures = (f'{graph_path.rpartition(".")[2]}.port("{name}") in a bond to a junction', open_end)
            yield Problem("E104", title, places=(element.place,), cures=cures)


def _invalid_dimensions(path: str, element: Element, port: Port) -> Iterator[Problem]:
    n, domain = port.dimension, port.domain
    fixed = domain.dimension if domain else None
    if isinstance(n, int) and not isinstance(n, bool) and n > 0 and fixed in (None, n):
        return
    why = f"bonds of domain {domain.name} have dimension {fixed}" if domain and fixed else "it must be 1, 2, 3 ..."
    cures = ("another dimension" + (", or a domain whose bonds may have it" if fixed else ""),)
    yield Problem("E103", f'{element.kind} "{path}" has dimension {n!r}', (why,), (element.place,), cures)


def _label(prefix: str, reference: PortRef) -> str:
    owner, name = reference
    return f"{prefix}{owner.name}.{name}" if name else prefix + owner.name


def _end(
    scope: Scope,
    reference: PortRef,
    label: str,
    flat: dict[str, Element],
    free: dict[str, tuple[Port, ...]],
    place: Place | None,
    problems: list[Problem],
) -> tuple[End, Port] | None:
    path, owner, name = _resolved(scope, reference)
    if isinstance(owner, Draft):
        title = f'graph "{owner.name}" has no port "{name}"'
        why = f"it exposes: {', '.join(owner.ports) or 'nothing'}"
        cures = (f'{owner.name}.port(<name>), or {owner.name}.expose("{name or "port"}", <element>)',)
        problems.append(Problem("E111", title, (why, f"bond: {label}"), (place,), cures))
    if not isinstance(owner, Element):
        return None
    element_path = heat_path(path) if owner.heat and name == HEAT_PORT else path
    element = flat.get(element_path)
    if element is None:  # deeper than `MAX_DEPTH`: E159 reports it
        return None
    remaining = free.get(element_path)
    if remaining is None:
        return End(element_path, label), element.ports[0]
    at = next((k for k, port in enumerate(remaining) if port.name == name), len(remaining)) if name else 0
    if at >= len(remaining):
        details, cure = [f"bond: {label}"], "put a 0- or 1-junction where several bonds meet"
        port_names = [port.name for port in element.ports]
        if name and port_names and name not in port_names:
            title = f'{element.kind} "{element_path}" has no port "{name}"'
            details, cure = [f"its ports: {', '.join(port_names)}", *details], "name one of its ports"
            if name == HEAT_PORT and isinstance(element.law, Resistor | IdealConstraint | IdealSwitch):
                cure = f'heat=True of {element.kind} "{element_path}", which gives it this port'
        elif not element.ports:
            title = f'"{element_path}" is a signal block and has no power port'
            signal = f"{owner.name}.{element.law.signals(())[-1]}"
            cure = f'a source that reads its signal: Se("name", lambda y: y, signals=["{signal}"]), or Sf for a flow'
        elif name in port_names and remaining:
            title = f'port "{name}" of {element.kind} "{element_path}" already has a bond'
            details = [f"free: {', '.join(port.name for port in remaining)}", *details]
        else:
            title = f'{element.kind} "{element_path}" has no free port for another bond'
        problems.append(Problem("E112", title, tuple(details), (element.place, place), (cure,)))
        return None
    port = remaining[at]
    free[element_path] = remaining[:at] + remaining[at + 1 :]
    return End(element_path, port.name), port


def _resolved(scope: Scope, reference: PortRef) -> tuple[str, Element | Draft | None, str]:
    """Follow a reference through exposed ports of nested graphs; return the path of the element, the element, and the name of its
    port. A nested graph without such a port is returned instead of the element; None for a part that is not in the graph."""
    (owner, name), graph, path = reference, scope.graph, scope.prefix
    while isinstance(owner, Draft) and _holds(graph, owner):
        graph, path = owner, f"{path}{owner.name}."
        port_name = name or (next(iter(owner.ports)) if len(owner.ports) == 1 else "")
        if port_name not in owner.ports:
            return path, owner, port_name
        owner, name = owner.ports[port_name].owner, owner.ports[port_name].name
    return path + owner.name, owner if _holds(graph, owner) else None, name


def heat_ports(scopes: Sequence[Scope]) -> dict[str, Element]:
    ends = (_resolved(scope, end) for scope in scopes for link in scope.graph.links for end in (link.tail, link.head))
    return {
        heat_path(path): heat_port(path, owner)
        for path, owner, name in ends
        if isinstance(owner, Element) and owner.heat and name == HEAT_PORT
    }


def _holds(graph: Draft, part: Element | Draft) -> bool:
    """Return True if this part is registered under its name; E101 has reported a second part with the name."""
    return graph.parts.get(part.name) is part


def _propagated(
    attribute: str, code: str, drafts: list[_BondDraft], flat: dict[str, Element], problems: list[Problem]
) -> dict[int, Any]:
    """Propagate one attribute from the ends that declare it through junctions (and a dimension through two-ports with a scalar
    ratio); return it by the index of the bond."""
    values: dict[int, tuple[object, str]] = {}
    queue: deque[int] = deque()
    reported: set[tuple[object, str]] = set()
    silent: set[int] = set()  # ids of ports: many elements share one
    for index, draft in enumerate(drafts):
        tail, head = draft.ports
        if id(tail) in silent and id(head) in silent:
            continue
        for end, port in zip(draft.ends, draft.ports, strict=True):
            value = getattr(port, attribute)
            if value is None and attribute == "dimension" and port.domain is not None:
                value = port.domain.dimension
            if value is None:
                silent.add(id(port))
                continue
            if index in values and values[index][0] != value:
                problems.append(_clash(attribute, code, draft, values[index], (value, end.element), flat))
                reported |= {values[index], (value, end.element)}
            elif index not in values:
                values[index] = (value, end.element)
                queue.append(index)
    if not values:
        return {}
    members: dict[str, list[int]] = {}
    for index, draft in enumerate(drafts):
        for end in draft.ends:
            law = flat[end.element].law
            if isinstance(law, Junction) or (attribute == "dimension" and _keeps_dimension(flat[end.element])):
                members.setdefault(end.element, []).append(index)
    agreed: dict[str, tuple[object, str]] = {}
    while queue:
        index = queue.popleft()
        for end in drafts[index].ends:
            if end.element not in members:
                continue
            if end.element in agreed:
                pair = {agreed[end.element], values[index]}
                if agreed[end.element][0] != values[index][0] and not pair & reported:
                    reported |= pair
                    problems.append(_clash(attribute, code, drafts[index], agreed[end.element], values[index], flat))
                continue
            agreed[end.element] = values[index]
            for other in members[end.element]:
                if other not in values:
                    values[other] = values[index]
                    queue.append(other)
    return {index: value for index, (value, _) in values.items()}


def _keeps_dimension(element: Element) -> bool:
    return len(element.ports) == 2 and all(port.dimension is None for port in element.ports)


def _clash(
    attribute: str, code: str, draft: _BondDraft, first: tuple[object, str], second: tuple[object, str], flat: dict[str, Element]
) -> Problem:
    def request(entry: tuple[object, str]) -> str:
        value, path = entry
        shown = value.name if isinstance(value, Domain) else value
        word = _implying(flat[path]) if attribute == "domain" else None
        return f'{flat[path].kind} "{path}" has {attribute} {shown}' + (f", because of its {word}" if word else "")

    first, second = sorted((first, second), key=lambda entry: entry[1])
    title = f'bond "{draft.name}" joins different {attribute}s'
    cures: tuple[str, ...] = ("put a TF, GY or MTF between them that converts one into the other",)
    if {getattr(value, "pseudo", False) for value, _ in (first, second)} == {True, False}:
        cures = (HEAT_FROM_POWER,)
        if THERMAL in (first[0], second[0]):
            cures = ('domain="thermal" for both, or domain="heat" for both: an entropy flow cannot be connected to a heat flow',)
    if attribute == "domain":
        storages = [path.rpartition(".")[2] for _, path in (first, second) if _implying(flat[path])]
        cures = (*(f'I("{name}", inertia=...) without a domain' for name in storages), *cures)
    if attribute == "dimension" and (turned := _transposed(draft, first[0], second[0], flat)):
        cures = (turned,)
    requests, places = (request(first), request(second)), (flat[first[1]].place, flat[second[1]].place, draft.place)
    pushing = next((flat[path] for _, path in (first, second) if isinstance(flat[path].law, Source)), None)
    if attribute == "dimension" and pushing is not None and any(_is_of_screws(flat[path]) for _, path in (first, second)):
        return _no_screw(code, title, pushing, requests, places)
    return Problem(code, title, requests, places, cures)


def _transposed(draft: _BondDraft, first: object, second: object, flat: dict[str, Element]) -> str:
    """Return the cure if the other port of a transformer or gyrator has the dimension that this end lacks."""
    for end in draft.ends:
        ports = flat[end.element].ports
        if isinstance(flat[end.element].law, Ratio) and {port.dimension for port in ports} == {first, second}:
            one, two = (port.dimension for port in ports)
            rows, columns = (two, one) if isinstance(flat[end.element].law, Transformer) else (one, two)
            return f'a matrix of shape ({columns}, {rows}), the transpose, in {flat[end.element].kind} "{end.element}"'
    return ""


def _implying(element: Element) -> str | None:
    word = next(iter(element.parameters)) if isinstance(element.law, Storage) and element.law.linear else ""
    return word if word in COEFFICIENTS and COEFFICIENTS[word].domains == (element.domain,) else None


def _is_of_screws(element: Element) -> bool:
    return SCREW in (element.domain, *(port.domain for port in element.ports))


def _no_screw(code: str, title: str, source: Element, requests: tuple[str, ...], places: tuple[Place | None, ...]) -> Problem:
    name, is_effort = source.name, source.law_as(Source).gives == "effort"
    if is_effort:
        what, at_a_point, others = "wrench, [torque about the origin of its frame; force]", "(*np.cross(p, f), *f)", "a force f"
    else:
        what, at_a_point, others = "twist, [angular velocity; velocity]", "(*omega, *(v - np.cross(omega, p)))", "a velocity v"
    cures = [f'{source.kind}("{name}", {at_a_point}) for {others} at the point p of the frame of the bond']
    if is_effort:
        moving = "lambda s: np.array([*np.cross(s[4:], f), *f])"
        cures.append(f'{source.kind}("{name}", {moving}, signals=["body.pose"]) for {others} at the origin of a body that moves')
    return Problem(code, title, (*requests, f"a bond to a body carries a {what}"), places, tuple(cures))


def signals_of(path: str, element: Element) -> list[str]:
    """Return the names of all signals of an element, `<path>.<local>`; a name listed twice is ambiguous."""
    start = f"{path}."
    return [start + name for name in _local_names(element)]


def _local_names(element: Element) -> tuple[str, ...]:
    names: list[str] = []
    for key, parameter in element.parameters.items():
        names.append(key)
        if isinstance(parameter.value, ByMode):
            names += parameter_values(key, parameter)
    return (*names, *element.law.signals([port.name for port in element.ports]))


class SignalNames:
    """Names of a model's signals, listed only for elements that are looked up."""

    def __init__(self, elements: Mapping[str, Element], others: Mapping[str, None]):
        self._elements = elements
        self._others = others
        self._cache: dict[str, frozenset[str]] = {}

    def __contains__(self, name: str) -> bool:
        dot = name.find(".")
        while dot >= 0:
            path = name[:dot]
            if path in self._elements and name[dot + 1 :] in self._signals(path):
                return True
            dot = name.find(".", dot + 1)
        return name in self._others

    def __iter__(self) -> Iterator[str]:
        yield from self._others
        for path, element in self._elements.items():
            yield from signals_of(path, element)

    def _signals(self, path: str) -> frozenset[str]:
        names = self._cache.get(path)
        if names is None:
            names = self._cache[path] = frozenset(_local_names(self._elements[path]))
        return names


def signal_names(scopes: list[Scope], elements: Mapping[str, Element], problems: list[Problem]) -> SignalNames:
    """Return all signals of a model; report two with the same name, except within a block, whose names `checks.check_blocks`
    compares."""

    def twice(signal: str, why: str, place: Place | None, what: str) -> None:
        cures = (f"give the {what} another name",)
        problems.append(Problem("E101", f'two values are called "{signal}"', (why,), (place,), cures))

    for path, element in elements.items():
        local_names = _local_names(element)
        if len(set(local_names)) == len(local_names) or isinstance(element.law, SignalBlock):
            continue
        seen: set[str] = set()
        for name in local_names:
            if name in seen:
                why = f'{element.kind} "{path}" already has a value of this name'
                twice(f"{path}.{name}", why, element.place, "parameter")
            seen.add(name)
    others = dict[str, None](time=None)
    names = SignalNames(elements, others)
    for scope in scopes:
        for name, automaton in own_automata(scope.graph).items():
            signal = f"{scope.prefix}{name}.mode"
            if signal in names:
                twice(signal, "one of the values is an automaton's mode", automaton.place, "automaton")
            others[signal] = None
    return names
