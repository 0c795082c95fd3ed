"""References of floating networks: junctions whose common efforts, or flows, matter only as differences.

A circuit without ground determines the voltages between its nodes, but no potential. One node gets the potential zero: nothing
flows into this reference, and no difference depends on it. The same applies to 1-junctions whose flows matter only as
differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import networkx as nx

from bondgraph.elements.one_ports import Se, Sf
from bondgraph.model.laws import Junction
from bondgraph.model.model import Bond, End, Model


def with_references(model: Model) -> Model:
    """Return the model with a zero source at the first junction, by name, of each floating network."""
    elements, bonds, references = dict(model.elements), list(model.bonds), list(model.references)
    for kind, floating in _floating(model):
        first = min(floating)
        at = model.bonds_at(first)[0]
        path = f"{first} reference"
        if path in elements:
            continue
        source = (Se if kind == 0 else Sf)(path.rpartition(".")[2], domain=at.domain, dimension=at.dimension)
        elements[path] = replace(source, place=model.elements[first].place)
        name = f"{path}->{first}"
        bonds.append(Bond(name, End(path, source.ports[0].name), End(first, name), at.dimension, at.domain, at.frame, at.place))
        references.append(first)
    return replace(model, elements=elements, bonds=tuple(bonds), references=tuple(references)) if references else model


def _floating(model: Model) -> Iterator[tuple[int, list[str]]]:
    """Yield the type and the paths of junctions whose common variables have no reference."""
    types = {path: e.law.type for path, e in model.elements.items() if isinstance(e.law, Junction) and e.law.automaton is None}
    graph = nx.Graph()
    graph.add_nodes_from(types)
    ends = [(bond.tail.element, bond.head.element) for bond in model.bonds]
    graph.add_edges_from(pair for pair in ends if types.keys() >= set(pair))
    for part in nx.connected_components(graph):
        for kind in (0, 1):
            levels = [path for path in part if types[path] == kind]
            others = [path for path in part if types[path] != kind]
            inside = bool(levels) and all(_refers_to_nothing(model, path, part) for path in levels)
            if inside and all(_takes_differences(model, path, levels) for path in others):
                yield kind, levels


def _refers_to_nothing(model: Model, path: str, part: set[str]) -> bool:
    return all(end.element in part for bond in model.bonds_at(path) for end in bond.ends)


def _takes_differences(model: Model, path: str, levels: Sequence[str]) -> bool:
    """Return True if a junction adds as many common variables of the junctions `levels` as it subtracts."""
    bonds = [bond for bond in model.bonds_at(path) if any(end.element in levels for end in bond.ends)]
    return bool(bonds) and sum(1 if bond.head.element == path else -1 for bond in bonds) == 0
