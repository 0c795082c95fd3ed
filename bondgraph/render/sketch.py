"""Sketch: Model -> nodes, edges and group boxes with the sizes of their texts, before anything has a place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bondgraph.model.element import Element
from bondgraph.model.laws import Junction, SignalBlock
from bondgraph.model.model import Bond, Model
from bondgraph.render.folding import folds, outer
from bondgraph.render.values import values_of

KIND_SIZE, NAME_SIZE, LABEL_SIZE, DIGIT_SIZE, VALUE_SIZE = 15.0, 13.0, 11.5, 25.0, 10.5
"""Font sizes, px: an element's kind, its name, a junction's name, a junction's digit, values of parameters."""
VALUE_LINE = 13.0
"""Height of a value's line, px."""


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
    values: tuple[str, ...] = ()
    """Values of its parameters, a line each, under all else."""


@dataclass(frozen=True)
class Edge:
    """A bond, or the signals that one node reads from another (`bond` is None)."""

    tail: int
    head: int
    bond: Bond | None
    number: int = 0
    """Of the bond, counted from 1 in the order of the model."""


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
        return tuple(outer(self.nodes[node].group))


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


def sketch(model: Model, folded: Collection[str] | None = (), unfolded: Collection[str] = (), values: bool = False) -> Sketch:
    """Nodes and edges of a model; signals between the same two nodes become one arrow.

    Every nested graph that `folds` finds is one node. With `values`, elements tell their parameters.
    """
    around = _around(model, folds(model, folded, unfolded))
    nodes = [_node(path, element, values_of(model, path) if values else ()) for path, element in model.elements.items()]
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
    edges = [Edge(place[bond.tail.element], place[bond.head.element], bond, k) for k, bond in enumerate(model.bonds, start=1)]
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
    found = {path: [whole for whole in outer(path) if whole in folded] for path in model.groups}
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
    moved = [replace(edge, tail=place[edge.tail], head=place[edge.head]) for edge in edges]
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
    readers: list[tuple[Sequence[str], int]] = [(element.reads, place[path]) for path, element in model.elements.items()]
    readers += [(each.signals, switches[path]) for path, automaton in model.automata.items() for each in automaton.transitions]
    for signal, reader in ((signal, reader) for signals, reader in readers for signal in signals):
        path = model.aliases.get(signal, signal)
        while path and path not in model.elements and path not in switches:
            path = path.rpartition(".")[0]
        source = switches[path] if path in switches else place.get(path, reader)
        if source != reader and not (path in switches and reader in switched):
            yield source, reader


def _node(path: str, element: Element, values: tuple[str, ...]) -> Mark:
    group, _, label = path.rpartition(".")
    law = element.law
    if isinstance(law, Junction):
        below = text_width(label, LABEL_SIZE)
        if law.automaton:
            note = law.automaton.rpartition(".")[2]
            half = max(25.0, text_width(note, LABEL_SIZE) / 2 + 6)
            return Mark(path, "switch", element.kind, label, group, half, 24.0, below, note)
        return Mark(path, "junction", element.kind, label, group, 11.0, 13.0, below)
    told = max((text_width(line, VALUE_SIZE) for line in values), default=0.0) / 2
    more = VALUE_LINE / 2 * len(values)
    if isinstance(law, SignalBlock):
        half = max(text_width(label, LABEL_SIZE) / 2, told) + 9
        return Mark(path, "block", element.kind, label, group, half, 13.0 + more, values=values)
    kind, name = text_width(element.kind, KIND_SIZE), text_width(label, NAME_SIZE)
    if name > 62:
        half = max(kind / 2, name / 2, told) + 2
        return Mark(path, "element", element.kind, label, group, half, 16.0 + more, stacked=True, values=values)
    half = max((kind + 9 + name) / 2, told) + 2
    return Mark(path, "element", element.kind, label, group, half, 10.0 + more, values=values)
