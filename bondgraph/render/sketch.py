"""Sketch: Model -> nodes, edges and group boxes with the sizes of their texts, before anything has a place."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from bondgraph.errors import ModelError, Problem
from bondgraph.model.element import Element
from bondgraph.model.laws import Junction, SignalBlock
from bondgraph.model.model import Bond, Model
from bondgraph.model.names import names_of

KIND_SIZE, NAME_SIZE, LABEL_SIZE, DIGIT_SIZE = 15.0, 13.0, 11.5, 25.0
"""Font sizes, px: an element's kind, its name, a junction's name, a junction's digit."""


@dataclass(frozen=True)
class Mark:
    """What is drawn at one place: half sizes in px; `below` is the width of a name that stands beneath."""

    name: str
    shape: str
    """"element", "junction", "switch", "block", "automaton" or "folded"."""
    kind: str
    label: str
    group: str
    half_width: float
    half_height: float
    below: float = 0.0
    note: str = ""
    """Name of the automaton of a switch; what a folded graph holds."""
    stacked: bool = False
    """Whether the name stands under the kind because it is long."""


@dataclass(frozen=True)
class Edge:
    """A bond, or the signals that one node reads from another (`bond` is None)."""

    tail: int
    head: int
    bond: Bond | None


@dataclass(frozen=True)
class Box:
    """A nested graph: its path, title, the box around it (""), and the nodes inside, at any depth."""

    path: str
    title: str
    parent: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class Sketch:
    """Everything that is to be drawn."""

    name: str
    nodes: tuple[Mark, ...]
    edges: tuple[Edge, ...]
    boxes: tuple[Box, ...]
    inside: Mapping[str, str] = field(default_factory=dict)
    """Element or automaton that is not drawn -> the folded graph around it, which is."""

    def chain(self, node: int) -> tuple[str, ...]:
        """Paths of the boxes around a node, outermost first."""
        return tuple(_outer(self.nodes[node].group)) if self.nodes[node].group else ()


def _outer(path: str) -> Iterator[str]:
    """The paths of the graphs around what is in a nested graph, outermost first, its own last."""
    return itertools.accumulate(path.split("."), "{}.{}".format)


def text_width(text: str, size: float) -> float:
    """Width in px of a line in a sans-serif font, rather too wide than too narrow."""
    return size * sum(_advance(letter) for letter in text)


def _advance(letter: str) -> float:
    if letter in "ijl.,:;'|! ":
        return 0.32
    if letter in "frt()[]/-":
        return 0.42
    if letter in "mwMW":
        return 0.92
    return 0.70 if letter.isupper() else 0.60


def sketch(model: Model, folded: Collection[str] = ()) -> Sketch:
    """Nodes and edges of a model; signals between the same two nodes become one arrow.

    Every nested graph in `folded` is one node. Raises `ModelError` (E134) for a path that is no nested graph.
    """
    around = _around(model, folded)
    nodes = [_node(path, element) for path, element in model.elements.items()]
    switches: dict[str, int] = {}
    for index, (path, element) in enumerate(model.elements.items()):
        if isinstance(element.law, Junction) and element.law.automaton:
            switches.setdefault(element.law.automaton, index)
        elif path in model.automata:
            # Friction, diodes: their automaton has their name.
            switches.setdefault(path, index)
    for path in model.automata:
        if path not in switches:
            switches[path] = len(nodes)
            group, _, label = path.rpartition(".")
            half = text_width(label, LABEL_SIZE) / 2 + 8
            nodes.append(Mark(path, "automaton", "", label, group, half, 12.0))
    place = {node.name: index for index, node in reversed(list(enumerate(nodes)))}
    within = {node.name: group for node in nodes for group in (around.get(node.group),) if group is not None}
    edges = [Edge(place[bond.tail.element], place[bond.head.element], bond) for bond in model.bonds]
    edges += [Edge(tail, head, None) for tail, head in dict.fromkeys(_signals(model, place, switches, frozenset(within)))]
    count = Counter(within[path] for path in model.elements if path in within)
    drawn, edges = _fold(nodes, edges, within, count)
    boxes = []
    for path in model.groups:
        members = tuple(i for i, node in enumerate(drawn) if f"{node.group}.".startswith(f"{path}."))
        if members:
            parent, _, title = path.rpartition(".")
            boxes.append(Box(path, title, parent, members))
    return Sketch(model.name, tuple(drawn), tuple(edges), tuple(boxes), within)


def _around(model: Model, folded: Collection[str]) -> dict[str, str]:
    """Nested graph -> the outermost folded graph that it is or lies in."""
    folded = model.groups if folded == "all" else names_of(folded, "folded")
    unknown = [path for path in folded if path not in model.groups]
    if unknown:
        known = ", ".join(model.groups[:8]) or "there is none"
        cures = (f"the path of a nested graph: {known}",)
        raise ModelError(
            model.name, [Problem("E134", f'"{path}" cannot be folded: it is no nested graph', cures=cures) for path in unknown]
        )
    found = {path: [whole for whole in _outer(path) if whole in folded] for path in model.groups}
    return {path: around[0] for path, around in found.items() if around}


def _fold(
    nodes: list[Mark], edges: list[Edge], within: Mapping[str, str], count: Mapping[str, int]
) -> tuple[list[Mark], list[Edge]]:
    """One node for each folded graph, in the place of its first element; edges inside it go."""
    drawn: list[Mark] = []
    new: dict[str, int] = {}
    for node in nodes:
        name = within.get(node.name, node.name)
        if name not in new or name == node.name:
            new[name] = len(drawn)
            drawn.append(node if name == node.name else _folded(name, count[name]))
    place = [new[within.get(node.name, node.name)] for node in nodes]
    moved = [Edge(place[edge.tail], place[edge.head], edge.bond) for edge in edges]
    kept = [edge for edge, old in zip(moved, edges, strict=True) if edge.tail != edge.head or old.tail == old.head]
    return drawn, list(dict.fromkeys(kept))


def _folded(path: str, count: int) -> Mark:
    group, _, label = path.rpartition(".")
    note = f"{count} element" + "s" * (count != 1)
    half = max(text_width(label, NAME_SIZE) * 1.06, text_width(note, LABEL_SIZE - 1.0)) / 2 + 14
    return Mark(path, "folded", "", label, group, half, 23.0, note=note)


def _signals(model: Model, place: dict[str, int], switches: dict[str, int], hidden: Collection[str]) -> Iterator[tuple[int, int]]:
    """(source, reader) of every signal; a guard's signals go to the switch that its automaton moves.

    Junctions that are drawn carry their automaton's name, and need no arrow from it.
    """
    switched = {
        place[path] for path, element in model.elements.items() if isinstance(element.law, Junction) and path not in hidden
    }
    readers = [(element.reads, place[path]) for path, element in model.elements.items()]
    readers += [(each.signals, switches[path]) for path, automaton in model.automata.items() for each in automaton.transitions]
    for signal, reader in ((signal, reader) for signals, reader in readers for signal in signals):
        path = model.aliases.get(signal, signal)
        while path and path not in model.elements and path not in switches:
            path = path.rpartition(".")[0]
        source = switches[path] if path in switches else place.get(path, reader)
        if source != reader and not (path in switches and reader in switched):
            yield source, reader


def _node(path: str, element: Element) -> Mark:
    group, _, label = path.rpartition(".")
    law = element.law
    if isinstance(law, Junction):
        below = text_width(label, LABEL_SIZE)
        if law.automaton:
            note = law.automaton.rpartition(".")[2]
            half = max(25.0, text_width(note, LABEL_SIZE) / 2 + 6)
            return Mark(path, "switch", element.kind, label, group, half, 24.0, below, note)
        return Mark(path, "junction", element.kind, label, group, 11.0, 13.0, below)
    if isinstance(law, SignalBlock):
        return Mark(path, "block", element.kind, label, group, text_width(label, LABEL_SIZE) / 2 + 9, 13.0)
    kind, name = text_width(element.kind, KIND_SIZE), text_width(label, NAME_SIZE)
    if name > 62:
        return Mark(path, "element", element.kind, label, group, max(kind, name) / 2 + 2, 16.0, stacked=True)
    return Mark(path, "element", element.kind, label, group, (kind + 9 + name) / 2 + 2, 10.0)
