"""Sketch: Model -> nodes, edges and group boxes with the sizes of their texts, before anything has a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bondgraph.graph.element import Element
from bondgraph.graph.laws import Junction, SignalBlock
from bondgraph.graph.model import Bond, Model

KIND_SIZE, NAME_SIZE, LABEL_SIZE, DIGIT_SIZE = 15.0, 13.0, 11.5, 25.0
"""Font sizes, px: an element's kind, its name, a junction's name, a junction's digit."""


@dataclass(frozen=True)
class Node:
    """What is drawn at one place: half sizes in px; `below` is the width of a name that stands beneath."""

    name: str
    shape: str
    """"element", "junction", "switch", "block" or "automaton"."""
    kind: str
    label: str
    group: str
    half_width: float
    half_height: float
    below: float = 0.0
    note: str = ""
    """Name of the automaton of a switch."""
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
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    boxes: tuple[Box, ...]

    def chain(self, node: int) -> tuple[str, ...]:
        """Paths of the boxes around a node, outermost first."""
        parts = self.nodes[node].group.split(".") if self.nodes[node].group else []
        return tuple(".".join(parts[: depth + 1]) for depth in range(len(parts)))


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


def sketch(model: Model) -> Sketch:
    """Nodes and edges of a model; signals between the same two nodes become one arrow."""
    nodes = [_node(path, element) for path, element in model.elements.items()]
    switches: dict[str, int] = {}
    for index, element in enumerate(model.elements.values()):
        if isinstance(element.law, Junction) and element.law.automaton:
            switches.setdefault(element.signals[0].removesuffix(".mode"), index)
    for path in model.automata:
        if path not in switches:
            switches[path] = len(nodes)
            group, _, label = path.rpartition(".")
            half = text_width(label, LABEL_SIZE) / 2 + 8
            nodes.append(Node(path, "automaton", "", label, group, half, 12.0))
    place = {node.name: index for index, node in reversed(list(enumerate(nodes)))}
    edges = [Edge(place[bond.tail.element], place[bond.head.element], bond) for bond in model.bonds]
    edges += [Edge(tail, head, None) for tail, head in dict.fromkeys(_signals(model, place, switches))]
    boxes = []
    for path in model.groups:
        members = tuple(i for i, node in enumerate(nodes) if f"{node.group}.".startswith(f"{path}."))
        if members:
            parent, _, title = path.rpartition(".")
            boxes.append(Box(path, title, parent, members))
    return Sketch(model.name, tuple(nodes), tuple(edges), tuple(boxes))


def _signals(model: Model, place: dict[str, int], switches: dict[str, int]) -> Iterator[tuple[int, int]]:
    """(source, reader) of every signal; a guard's signals go to the switch that its automaton moves."""
    for path, element in model.elements.items():
        yield from _arrows(element.signals, place[path], model, place, switches)
    for path, automaton in model.automata.items():
        for transition in automaton.transitions:
            yield from _arrows(transition.signals, switches[path], model, place, switches)


def _arrows(
    signals: tuple[str, ...], reader: int, model: Model, place: dict[str, int], switches: dict[str, int]
) -> Iterator[tuple[int, int]]:
    for signal in signals:
        path = model.aliases.get(signal, signal)
        while path and path not in model.elements and path not in switches:
            path = path.rpartition(".")[0]
        source = switches[path] if path in switches else place.get(path, reader)
        shared = path in switches and _is_junction(model, reader)
        if source != reader and not shared:
            yield source, reader


def _is_junction(model: Model, node: int) -> bool:
    """Whether a node is a junction: switched ones carry their automaton's name and need no arrow from it."""
    elements = list(model.elements.values())
    return node < len(elements) and isinstance(elements[node].law, Junction)


def _node(path: str, element: Element) -> Node:
    group, _, label = path.rpartition(".")
    law = element.law
    if isinstance(law, Junction):
        below = text_width(label, LABEL_SIZE)
        if law.automaton:
            note = element.signals[0].removesuffix(".mode").rpartition(".")[2]
            half = max(25.0, text_width(note, LABEL_SIZE) / 2 + 6)
            return Node(path, "switch", element.kind, label, group, half, 24.0, below, note)
        return Node(path, "junction", element.kind, label, group, 11.0, 13.0, below)
    if isinstance(law, SignalBlock):
        return Node(path, "block", element.kind, label, group, text_width(label, LABEL_SIZE) / 2 + 9, 13.0)
    kind, name = text_width(element.kind, KIND_SIZE), text_width(label, NAME_SIZE)
    if name > 62:
        return Node(path, "element", element.kind, label, group, max(kind, name) / 2 + 2, 16.0, stacked=True)
    return Node(path, "element", element.kind, label, group, (kind + 9 + name) / 2 + 2, 10.0)
