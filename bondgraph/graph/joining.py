"""Joining: links as the user made them -> bonds with ports, dimension, domain and frame.

What one end of a bond leaves open, the other decides, and junctions carry it on to all their bonds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bondgraph.errors import Place, Problem
from bondgraph.graph.draft import Draft
from bondgraph.model.domains import GENERIC, Domain
from bondgraph.model.element import Element, Port, PortRef
from bondgraph.model.laws import Junction
from bondgraph.model.model import Bond, End


@dataclass(frozen=True)
class Scope:
    """A graph at its place in the whole: its prefix is its path and a dot, empty for the outermost."""

    graph: Draft
    prefix: str


class _Draft(NamedTuple):
    """A bond whose properties are still being gathered."""

    name: str
    ends: tuple[End, End]
    ports: tuple[Port, Port]
    place: Place | None


def join(scopes: Sequence[Scope], flat: dict[str, Element], problems: list[Problem]) -> tuple[Bond, ...]:
    """Bonds of all graphs, with the problems of ends and unlike properties appended to `problems`."""
    for path, element in flat.items():
        for port in element.ports:
            if port.dimension is not None:
                problems += _unsound_dimensions(path, element, port)
    free = {path: element.ports for path, element in flat.items() if not isinstance(element.law, Junction)}
    drafts: list[_Draft] = []
    counts: dict[str, int] = {}
    for scope in scopes:
        for link in scope.graph.links:
            label = f"{_label(scope.prefix, link.tail)} -> {_label(scope.prefix, link.head)}"
            one = _end(scope, link.tail, label, flat, free, link.place, problems)
            other = _end(scope, link.head, label, flat, free, link.place, problems)
            if one is None or other is None:
                continue
            tail, head = one[0], other[0]
            if tail.element == head.element:
                title = f'a bond joins {flat[tail.element].kind} "{tail.element}" to itself'
                problems.append(Problem("E126", title, (f"bond: {label}",), (link.place,), ("connect it to another element",)))
                continue
            count = counts[label] = counts.get(label, 0) + 1
            name = label if count == 1 else f"{label} ({count})"
            drafts.append(_Draft(name, (tail, head), (one[1], other[1]), link.place))
    cures = ("connect it to a junction, or remove the element",)
    for path, ports in free.items():
        element = flat[path]
        for port in ports:
            title = f'port "{port.name}" of {element.kind} "{path}" is not connected'
            problems.append(Problem("E104", title, places=(element.place,), cures=cures))
    met = {id(port): port for draft in drafts for port in draft.ports}
    said = any(p.dimension is not None or p.domain is not None or p.frame is not None for p in met.values())
    dimensions, domains, frames = (
        _spread(attribute, code, drafts, flat, problems) if said else {}
        for attribute, code in (("dimension", "E103"), ("domain", "E105"), ("frame", "E109"))
    )
    bonds = []
    for index, draft in enumerate(drafts):
        domain, frame = domains.get(index) or GENERIC, frames.get(index)
        given = dimensions.get(index) or domain.dimension
        size = given if isinstance(given, int) else 1
        bonds.append(Bond(draft.name, *draft.ends, size, domain, str(frame) if frame else None, draft.place))
    return tuple(bonds)


def _unsound_dimensions(path: str, element: Element, port: Port) -> Iterator[Problem]:
    """A port whose dimension is no positive integer that its domain allows (E103)."""
    n, domain = port.dimension, port.domain
    fixed = domain.dimension if domain else None
    if isinstance(n, int) and not isinstance(n, bool) and n > 0 and fixed in (None, n):
        return
    asks = f"bonds of domain {domain.name} have dimension {fixed}" if domain and fixed else "it must be 1, 2, 3 ..."
    cures = ("another dimension" + (", or a domain whose bonds may have it" if fixed else ""),)
    yield Problem("E103", f'{element.kind} "{path}" asks for dimension {n}', (asks,), (element.place,), cures)


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
    """The element's port that a reference means: through exposed ports of nested graphs down to an element."""
    (owner, name), graph, path = reference, scope.graph, scope.prefix
    while isinstance(owner, Draft) and _holds(graph, owner):
        graph, path = owner, f"{path}{owner.name}."
        wanted = name or (next(iter(owner.ports)) if len(owner.ports) == 1 else "")
        if wanted not in owner.ports:
            title = f'graph "{owner.name}" has no port "{wanted}"'
            known = f"it exposes: {', '.join(owner.ports) or 'nothing'}"
            cures = (f'{owner.name}.port(<name>), or {owner.name}.expose("{wanted or "port"}", <element>)',)
            problems.append(Problem("E111", title, (known, f"bond: {label}"), (place,), cures))
            return None
        owner, name = owner.ports[wanted].owner, owner.ports[wanted].name
    if not _holds(graph, owner):
        return None
    element_path = path + owner.name
    element = flat.get(element_path)
    if element is None:  # of a graph that contains itself: E114 says so
        return None
    left = free.get(element_path)
    if left is None:
        return End(element_path, label), element.ports[0]
    at = next((k for k, port in enumerate(left) if port.name == name), len(left)) if name else 0
    if at >= len(left):
        details, cure = [f"bond: {label}"], "put a 0- or 1-junction where several bonds meet"
        own = [port.name for port in element.ports]
        if name and own and name not in own:
            title = f'{element.kind} "{element_path}" has no port "{name}"'
            details, cure = [f"its ports: {', '.join(own)}", *details], "name one of its ports"
        elif not element.ports:
            title = f'"{element_path}" is a signal block and has no power port'
        else:
            title = f'{element.kind} "{element_path}" has no free port for another bond'
        problems.append(Problem("E112", title, tuple(details), (element.place, place), (cure,)))
        return None
    port = left[at]
    free[element_path] = left[:at] + left[at + 1 :]
    return End(element_path, port.name), port


def _holds(graph: Draft, part: Element | Draft) -> bool:
    """Whether a part is that of its name; of a second one E101 has told already."""
    return graph.parts.get(part.name) is part


def _spread(attribute: str, code: str, drafts: list[_Draft], flat: dict[str, Element], problems: list[Problem]) -> dict[int, Any]:
    """Value of one attribute for every bond, by its place: given at an end, or carried through junctions (and 1:n elements)."""
    values: dict[int, tuple[object, str]] = {}
    queue: deque[int] = deque()
    told: set[tuple[str, str]] = set()
    silent: set[int] = set()  # ports, by identity: many elements share one
    for index, draft in enumerate(drafts):
        tail, head = draft.ports
        if id(tail) in silent and id(head) in silent:
            continue
        for end, port in zip(draft.ends, draft.ports, strict=True):
            given = getattr(port, attribute)
            if given is None and attribute == "dimension" and port.domain is not None:
                given = port.domain.dimension
            if given is None:
                silent.add(id(port))
                continue
            if index in values and values[index][0] != given:
                problems.append(_clash(attribute, code, draft, values[index], (given, end.element), flat))
            elif index not in values:
                values[index] = (given, end.element)
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
                first, second = sorted((agreed[end.element][1], values[index][1]))
                if agreed[end.element][0] != values[index][0] and (first, second) not in told:
                    told.add((first, second))
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
    attribute: str, code: str, draft: _Draft, first: tuple[object, str], second: tuple[object, str], flat: dict[str, Element]
) -> Problem:
    def said(entry: tuple[object, str]) -> str:
        value, path = entry
        shown = value.name if isinstance(value, Domain) else value
        return f'{flat[path].kind} "{path}" asks for {attribute} {shown}'

    first, second = sorted((first, second), key=lambda entry: entry[1])
    title = f'bond "{draft.name}" joins unlike {attribute}s'
    cures = ("put a TF, GY or MTF between them that says how the one becomes the other",)
    return Problem(code, title, (said(first), said(second)), (flat[first[1]].place, flat[second[1]].place, draft.place), cures)
