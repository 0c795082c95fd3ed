"""Reduction of a graph that shows a fault to a small graph that still shows it."""

from __future__ import annotations

import copy
from collections.abc import Callable

from bondgraph.graph.builder import Graph
from bondgraph.model.element import Element

MOST_TRIES = 150


def smallest(graph: Graph, shows: Callable[[Graph], bool]) -> Graph:
    """Leave out parts one by one, nested graphs as a whole, while the remaining graph still shows the fault."""
    tries, again = 0, True
    while again:
        again = False
        for name in list(graph.parts):
            tries += 1
            if tries > MOST_TRIES:
                return graph
            less = without(graph, name)
            if less.links and shows(less):
                graph, again = less, True
    return graph


def without(graph: Graph, name: str) -> Graph:
    less = copy.copy(graph)
    less.parts = {key: part for key, part in graph.parts.items() if key != name}
    less.links = [link for link in graph.links if name not in (link.tail.owner.name, link.head.owner.name)]
    return less


def written(graph: Graph) -> str:
    lines = []
    for name, part in graph.parts.items():
        if isinstance(part, Element):
            numbers = ", ".join(f"{key} {parameter.value}" for key, parameter in part.parameters.items())
            reads = f" of {', '.join(part.signals)}" if part.signals else ""
            lines.append(f"{part.kind} {name}: {numbers}{reads}")
        else:
            lines.append(f"{name}: [{written(part)}]")
    bonds = [f"{_end(link.tail)} -> {_end(link.head)}" for link in graph.links]
    return "; ".join(lines) + " | " + ", ".join(bonds)


def _end(reference: object) -> str:
    owner, name = reference.owner.name, reference.name  # type: ignore[attr-defined]
    return f"{owner}.{name}" if name else owner
