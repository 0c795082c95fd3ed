"""Changes of a graph under construction: replace or remove a part, remove a bond."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bondgraph.errors import ByName, Problem, caller_place
from bondgraph.graph.draft import Draft, Link
from bondgraph.model.dissipation import HEAT_PORT
from bondgraph.model.element import Element, PortRef
from bondgraph.model.laws import Junction
from screws.names import similar_names

Contents = Element | Draft


def replace_part(graph: Draft, name: str, part: Contents) -> list[Problem]:
    old = graph.parts.get(name)
    if old is None:
        return [_unknown(graph, name, "replace")]
    problems = _differences(graph, old, part)
    if problems:
        return problems
    has_one_port = len(_ports(old)) == 1

    def moved(reference: PortRef) -> PortRef:
        if reference.owner is not old:
            return reference
        return PortRef(part, "" if has_one_port else reference.name)

    graph.parts[name] = part
    graph.links = [Link(moved(link.tail), moved(link.head), link.place) for link in graph.links]
    graph.ports = ByName({port: moved(reference) for port, reference in graph.ports.items()})
    return []


def remove_part(graph: Draft, name: str, part: Contents | None = None) -> list[Problem]:
    old = graph.parts.get(name)
    if old is None:
        return [_unknown(graph, name, "remove")]
    if part not in (None, old):
        title = f'the part to remove is not the part "{name}" of "{graph.name}"'
        return [Problem("E138", title, (), (old.place, caller_place()), (f'graph.remove("{name}")',))]
    del graph.parts[name]
    graph.links = [link for link in graph.links if old not in (link.tail.owner, link.head.owner)]
    graph.ports = ByName({port: reference for port, reference in graph.ports.items() if reference.owner is not old})
    graph.wires = {end: source for end, source in graph.wires.items() if end[0] != name}
    return []


def remove_bond(graph: Draft, tail: Any, head: Any) -> list[Problem]:
    ends = []
    for end in (tail, head):
        part: Any = graph.parts.get(end) if isinstance(end, str) else end.owner if isinstance(end, PortRef) else end
        name = end if isinstance(end, str) else part.name
        if part is None or graph.parts.get(name) is not part:
            return [_unknown(graph, name, "disconnect")]
        ends.append(end if isinstance(end, PortRef) else PortRef(part, ""))
    joins = [link for link in graph.links if _joins(link, *ends) or _joins(link, *reversed(ends))]
    if len(joins) == 1:
        graph.links.remove(joins[0])
        return []
    first, second = (f"{end.owner.name}.{end.name}" if end.name else end.owner.name for end in ends)
    title = f'"{graph.name}" has {len(joins) or "no"} bond{"s" if joins else ""} between "{first}" and "{second}"'
    cure = 'their ports, such as part.port("1")' if joins else "two parts that `connect` has joined"
    return [Problem("E138", title, (), (caller_place(), *(link.place for link in joins)), (cure,))]


def _joins(link: Link, tail: PortRef, head: PortRef) -> bool:
    """Return True if a link runs from one end to the other; an end without a port matches any port of its part."""
    return all(wanted in (end, PortRef(end.owner, "")) for end, wanted in ((link.tail, tail), (link.head, head)))


def _unknown(graph: Draft, name: str, verb: str) -> Problem:
    near = similar_names(name, graph.parts, most=3)
    listed = near or list(graph.parts)
    details = (f"{'similar names' if near else 'parts'}: {', '.join(listed)}",) if listed else ()
    title = f'"{graph.name}" has no part "{name}" to {verb}'
    return Problem("E138", title, details, (caller_place(),), ("the name of a part",))


def _ports(part: Contents) -> tuple[str, ...]:
    if isinstance(part, Draft):
        return tuple(part.ports)
    return (*(port.name for port in part.ports), *((HEAT_PORT,) if part.heat else ()))


def _differences(graph: Draft, old: Contents, new: Contents) -> list[Problem]:
    problems = []
    if new.name != old.name:
        title = f'"{old.name}" cannot be replaced by "{new.name}": the names differ'
        cure = f'"{old.name}" as the name of the new part, because other parts refer to it by this name'
        problems.append(_problem(title, (), cure, old, new))
    old_ports, new_ports = _ports(old), _ports(new)
    bonds = sum(end.owner is old for link in graph.links for end in (link.tail, link.head))
    single = len(old_ports) == len(new_ports) == 1
    if (bonds > 1 and not _ends_at_junction(new)) if single else set(old_ports) != set(new_ports):
        cure = "a part with the same ports; a nested Graph can expose them under these names"
        cure = "a part that takes several bonds, such as a junction" if single else cure
        shown: tuple[str, ...] = (f"ports of the old part: {_all(old_ports)}", f"ports of the new part: {_all(new_ports)}")
        shown += (f"bonds at the old part: {bonds}",) if set(old_ports) == set(new_ports) else ()
        title = f'"{old.name}" cannot be replaced: the {"new part takes only one bond" if single else "ports differ"}'
        problems.append(_problem(title, shown, cure, old, new))
    fed = {name for part, name in graph.wires if part == old.name}
    inputs = set(new.inputs) if isinstance(new, Draft) else set()
    declared = set(old.inputs) if isinstance(old, Draft) else set()
    if inputs != declared | fed:
        shown = (f"inputs of the old part: {_all(declared | fed)}", f"inputs of the new part: {_all(inputs)}")
        cure = "declare_input with the same names in the new part"
        problems.append(_problem(f'"{old.name}" cannot be replaced: the signal inputs differ', shown, cure, old, new))
    exported = set(old.exports) if isinstance(old, Draft) else set()
    missing = exported - (set(new.exports) if isinstance(new, Draft) else set())
    if missing:
        cure = "export signals of the new part under these names"
        title = f'"{old.name}" cannot be replaced: exported signals are missing'
        problems.append(_problem(title, (f"missing: {_all(missing)}",), cure, old, new))
    return problems


def _ends_at_junction(part: Contents) -> bool:
    """Return True if the only port of a part is a junction, where several bonds may end."""
    while isinstance(part, Draft) and len(part.ports) == 1:
        part = next(iter(part.ports.values())).owner
    return isinstance(part, Element) and isinstance(part.law, Junction)


def _all(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _problem(title: str, details: tuple[str, ...], cure: str, old: Contents, new: Contents) -> Problem:
    return Problem("E138", title, details, (old.place, new.place, caller_place()), (cure,))
