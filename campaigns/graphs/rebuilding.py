"""Copies of built graphs with other names, explicit ports, and redirected signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from bondgraph.graph.builder import Graph
from bondgraph.graph.draft import Link
from bondgraph.model.automata import Automaton
from bondgraph.model.element import Element, PortRef
from bondgraph.model.laws import ByMode, Junction

NOTHING: Mapping[str, str] = {}


def names_of(graph: Graph, prefix: str = "") -> list[str]:
    found = [f"{prefix}{name}" for name in dict.fromkeys([*graph.parts, *graph.automata])]
    for name, part in graph.parts.items():
        if isinstance(part, Graph):
            found += names_of(part, f"{prefix}{name}.")
    return found


def path_of(path: str, names: Mapping[str, str]) -> str:
    steps, at = [], ""
    for step in path.split("."):
        at = f"{at}.{step}" if at else step
        steps.append(names.get(at, step))
    return ".".join(steps)


def rebuilt(graph: Graph, names: Mapping[str, str] = NOTHING, elsewhere: Mapping[str, str] = NOTHING, prefix: str = "") -> Graph:
    """Return a copy that shares no graph with the original, with ports named at the ends of bonds.

    `names` renames parts by their paths; `elsewhere` maps the path of a signal to the path that is read instead.
    """
    new = Graph(names.get(prefix.removesuffix("."), graph.name))
    made: dict[int, Element | Graph] = {}

    def signal(name: str) -> str:
        for scope in (prefix, ""):
            if scope + name in elsewhere:
                return elsewhere[scope + name].removeprefix(scope)
            if f"{scope}{name.partition('.')[0]}" in names and name not in graph.inputs:
                around = path_of(scope.removesuffix("."), names) + "." if scope else ""
                return path_of(scope + name, names).removeprefix(around)
        return name

    for name, part in graph.parts.items():
        path = f"{prefix}{name}"
        own = names.get(path, name)
        if isinstance(part, Graph):
            new.parts[own] = made[id(part)] = rebuilt(part, names, elsewhere, f"{path}.")
        else:
            new.parts[own] = made[id(part)] = _element(part, own, signal)
    free = {id(part): [port.name for port in part.ports] for part in graph.parts.values() if isinstance(part, Element)}
    for link in graph.links:
        new.links.append(Link(*(_end(side, made, free) for side in (link.tail, link.head)), link.place))
    new.ports = {name: PortRef(made[id(inner.owner)], inner.name) for name, inner in graph.ports.items()}
    new.inputs, new.problems = dict(graph.inputs), list(graph.problems)
    new.exports = {name: signal(path) for name, path in graph.exports.items()}
    new.wires = {(names.get(f"{prefix}{part}", part), name): signal(source) for (part, name), source in graph.wires.items()}
    for name, automaton in graph.automata.items():
        new.automata[names.get(f"{prefix}{name}", name)] = automaton_of(automaton, signal)
    new.starts = [
        replace(s, arguments=tuple(map(signal, s.arguments)), results=tuple(map(signal, s.results))) for s in graph.starts
    ]
    return new


def _end(side: PortRef, made: Mapping[int, Element | Graph], free: Mapping[int, list[str]]) -> PortRef:
    part = side.owner
    if isinstance(part, Element) and not isinstance(part.law, Junction):
        name = side.name or free[id(part)][0]
        free[id(part)].remove(name)
        return PortRef(made[id(part)], name)
    return PortRef(made[id(part)], side.name)


def _element(part: Element, name: str, signal: Callable[[str], str]) -> Element:
    law, automaton = part.law, getattr(part.law, "automaton", None)
    if automaton is not None:
        law = replace(law, automaton=signal(automaton))
    values = {
        key: replace(p, value=replace(p.value, automaton=signal(p.value.automaton))) if isinstance(p.value, ByMode) else p
        for key, p in part.parameters.items()
    }
    own = None if part.automaton is None else automaton_of(part.automaton, signal)
    return replace(part, name=name, law=law, parameters=values, signals=tuple(map(signal, part.signals)), automaton=own)


def automaton_of(automaton: Automaton, signal: Callable[[str], str]) -> Automaton:
    edges = tuple(
        replace(
            t,
            signals=tuple(map(signal, t.signals)),
            resets=tuple((signal(state), op, tuple(map(signal, read))) for state, op, read in t.resets),
            impact=tuple(map(signal, t.impact)),
        )
        for t in automaton.transitions
    )
    return replace(automaton, name=signal(automaton.name), transitions=edges)
