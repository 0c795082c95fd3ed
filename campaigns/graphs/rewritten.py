"""A built graph written in another way: parts moved into nested graphs, connected in another order, under other names ..."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph.graph.builder import Graph
from bondgraph.graph.draft import Link
from bondgraph.graph.element import Element, PortRef
from bondgraph.graph.laws import ByMode, Junction


def nested(graph: Graph, rng: np.random.Generator) -> Graph:
    """A flat graph with some junctions, and what hangs on them alone, inside of two nested graphs."""
    parts = {name: part for name, part in graph.parts.items() if isinstance(part, Element)}
    home = dict.fromkeys(parts, "")
    ends = [(link.tail.owner.name, link.head.owner.name) for link in graph.links]
    for name, part in parts.items():
        if isinstance(part.law, Junction) and part.law.automaton is None:
            home[name] = ("", "left", "right")[rng.integers(3)]
    for name, part in parts.items():
        own = [pair for pair in ends if name in pair]
        if len(own) == 1 and not isinstance(part.law, Junction) and _is_free(part):
            home[name] = home.get(own[0][own[0][0] == name], "")
    inner = {where: Graph(where) for where in ("left", "right") if where in home.values()}
    new = Graph(graph.name)
    for name, part in graph.parts.items():
        where = inner.get(home.get(name, ""), new)
        where.add(_reading(part, home) if isinstance(part, Element) else part)
        if where is not new and isinstance(parts[name].law, Junction):
            where.expose(name, where.parts[name])
    for where in inner.values():
        new.add(where)

    def end(reference: PortRef, here: Graph) -> PortRef:
        name = reference.owner.name
        where = inner.get(home.get(name, ""), new)
        return PortRef(where.parts[name], reference.name) if where is here else where.port(name)

    for link in graph.links:
        homes = [inner.get(home.get(side.owner.name, ""), new) for side in (link.tail, link.head)]
        here = homes[0] if homes[0] is homes[1] else new
        here.links.append(Link(end(link.tail, here), end(link.head, here), link.place))
    for automaton in graph.automata.values():
        new.add_automaton(
            replace(
                automaton,
                transitions=tuple(
                    replace(
                        t,
                        signals=tuple(_moved(s, home) for s in t.signals),
                        resets=tuple(
                            (_moved(state, home), op, tuple(_moved(s, home) for s in read))
                            for state, op, read in t.resets
                        ),
                    )
                    for t in automaton.transitions
                ),
            )
        )
    return new


def _is_free(part: Element) -> bool:
    """Whether no automaton decides anything about a part."""
    return (
        part.automaton is None
        and getattr(part.law, "automaton", None) is None
        and not any(isinstance(p.value, ByMode) for p in part.parameters.values())
    )


def _moved(signal: str, home: dict[str, str]) -> str:
    where = home.get(signal.partition(".")[0], "")
    return f"{where}.{signal}" if where else signal


def _reading(part: Element, home: dict[str, str]) -> Element:
    return replace(part, signals=tuple(_moved(signal, home) for signal in part.signals))
