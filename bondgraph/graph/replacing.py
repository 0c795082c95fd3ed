"""Replace a part of a graph by another one with the same ports, inputs and exports."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bondgraph.errors import Problem, caller_place
from bondgraph.graph.draft import Draft, Link
from bondgraph.model.element import Element, PortRef
from bondgraph.model.laws import Junction

Part = Element | Draft


def put_in_place(graph: Draft, name: str, part: Part) -> list[Problem]:
    """Replace the part `name` of a graph by `part`; return the problems that prevent it, if any."""
    old = graph.parts.get(name)
    if old is None:
        near = difflib.get_close_matches(name, graph.parts, n=3) or list(graph.parts)
        details = (f"near it: {', '.join(near)}",) if near else ()
        return [_problem(f'"{graph.name}" has no part "{name}" to replace', details, "the name of a part", old, part)]
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
    graph.ports = {port: moved(reference) for port, reference in graph.ports.items()}
    return []


def _ports(part: Part) -> tuple[str, ...]:
    return tuple(part.ports) if isinstance(part, Draft) else tuple(port.name for port in part.ports)


def _differences(graph: Draft, old: Part, new: Part) -> list[Problem]:
    problems = []
    if new.name != old.name:
        title = f'"{old.name}" cannot be replaced by "{new.name}": another name'
        cure = f'"{old.name}" as the name of the new part, since others speak of it by that'
        problems.append(_problem(title, (), cure, old, new))
    old_ports, new_ports = _ports(old), _ports(new)
    bonds = sum(end.owner is old for link in graph.links for end in (link.tail, link.head))
    single = len(old_ports) == len(new_ports) == 1
    if (bonds > 1 and not _takes_many(new)) if single else set(old_ports) != set(new_ports):
        cure = "a part with the same ports; a nested Graph can expose them under these names"
        shown: tuple[str, ...] = (f"ports of the old part: {_all(old_ports)}", f"ports of the new one: {_all(new_ports)}")
        shown += (f"bonds at the old part: {bonds}",) if set(old_ports) == set(new_ports) else ()
        problems.append(_problem(f'"{old.name}" cannot be replaced: other ports', shown, cure, old, new))
    fed = {name for part, name in graph.wires if part == old.name}
    inputs = set(new.inputs) if isinstance(new, Draft) else set()
    declared = set(old.inputs) if isinstance(old, Draft) else set()
    if inputs != declared | fed:
        shown = (f"inputs of the old part: {_all(declared | fed)}", f"inputs of the new one: {_all(inputs)}")
        cure = "declare_input with the same names in the new part"
        problems.append(_problem(f'"{old.name}" cannot be replaced: other signal inputs', shown, cure, old, new))
    exported = set(old.exports) if isinstance(old, Draft) else set()
    missing = exported - (set(new.exports) if isinstance(new, Draft) else set())
    if missing:
        cure = "export signals of the new part under these names"
        title = f'"{old.name}" cannot be replaced: exported signals are missing'
        problems.append(_problem(title, (f"missing: {_all(missing)}",), cure, old, new))
    return problems


def _takes_many(part: Part) -> bool:
    """Return True if the one port of a part is a junction, where several bonds may end."""
    while isinstance(part, Draft) and len(part.ports) == 1:
        part = next(iter(part.ports.values())).owner
    return isinstance(part, Element) and isinstance(part.law, Junction)


def _all(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _problem(title: str, details: tuple[str, ...], cure: str, old: Part | None, new: Part) -> Problem:
    return Problem("E138", title, details, (old.place if old else None, new.place, caller_place()), (cure,))
