"""Sketch of a diagram: nodes, edges and group boxes of a model with text sizes, before layout."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.errors import Problem, raise_if_any
from bondgraph.model.arguments import names_of
from bondgraph.model.dissipation import heat_path
from bondgraph.model.element import Element
from bondgraph.model.expected_units import implied_unit
from bondgraph.model.laws import ByMode, Junction, Resistor, SignalBlock
from bondgraph.model.model import Bond, End, Face, Model
from screws.errors import plural

MAX_NODES = 60
"""Number of nodes of a diagram above which nested graphs are folded by default."""


def folded_graphs(model: Model, folded: Collection[str] | None, unfolded: Collection[str]) -> tuple[str, ...]:
    """Return the paths of folded nested graphs: the named graphs, or all for "all"; for None, the graphs with an icon, then
    innermost graphs, level by level, until at most `MAX_NODES` nodes remain. Graphs in `unfolded`, and graphs around them, stay
    open.

    Raises `ModelError`: E134 for a path that is not a nested graph, E586 for a graph that is both folded and unfolded.
    """
    open_graphs = names_of(unfolded, "unfolded")
    named = () if folded is None else model.groups if folded == "all" else names_of(folded, "folded")
    groups_text = ", ".join(model.groups[:8]) or "there is none"
    problems = [
        Problem(
            "E134", f'"{path}" cannot be {done}: it is not a nested graph', cures=(f"the path of a nested graph: {groups_text}",)
        )
        for paths, done in ((named, "folded"), (open_graphs, "unfolded"))
        for path in paths
        if path not in model.groups
    ]
    around = {path for inner in open_graphs for path in enclosing(inner)}
    if folded != "all":
        problems += [
            Problem(
                "E586",
                f'"{path}" is both folded and unfolded, or contains an unfolded graph',
                cures=("the path in `folded` or in `unfolded`, not in both",),
            )
            for path in named
            if path in around
        ]
    raise_if_any(model.name, problems)
    if folded is not None:
        return tuple(path for path in named if path not in around)
    deepest = max((path.count(".") for path in model.groups), default=-1)
    with_icon = {path for path, face in model.faces.items() if face.icon} - around
    folded_groups = tuple(path for path in model.groups if path in with_icon)
    for depth in range(deepest, -1, -1):
        if _node_count(model, folded_groups) <= MAX_NODES:
            break
        deep = {path for path in model.groups if path.count(".") >= depth} - around
        folded_groups = tuple(path for path in model.groups if path in with_icon | deep)
    return folded_groups


def _node_count(model: Model, folded: Collection[str]) -> int:
    """Return the number of nodes of a diagram: elements, automata that no element shows, and folded graphs."""
    shown = {law.automaton for element in model.elements.values() if isinstance(law := element.law, Junction)} | {*model.elements}
    paths = [*model.elements, *(path for path in model.automata if path not in shown)]
    groups = [path.rpartition(".")[0] for path in paths]
    homes = [next((parent for parent in enclosing(group) if parent in folded), None) for group in groups]
    return len({home for home in homes if home}) + sum(home is None for home in homes)


def enclosing(path: str) -> Iterator[str]:
    """Return the paths of the graphs around the content of a nested graph, outermost first and its own last; empty at the top
    level."""
    return itertools.accumulate(path.split("."), "{}.{}".format) if path else iter(())


TIMES = " \N{MULTIPLICATION SIGN} "
MAX_VALUES = 4
"""Maximum number of lines of values at a node; the last line counts omitted values."""


def values_of(model: Model, path: str) -> tuple[str, ...]:
    lines = []
    for name, parameter in model.elements[path].parameters.items():
        unit = parameter.unit or implied_unit(model, path, name, parameter.value)
        lines.append(
            f"{name} = {_value_text(parameter.value)}{' ' if unit not in ('', '1') else ''}{unit if unit != '1' else ''}"
        )
    rest = len(lines) - MAX_VALUES
    return tuple(lines if rest <= 0 else [*lines[: MAX_VALUES - 1], f"and {rest + 1} more"])


def _value_text(value: Any) -> str:
    if isinstance(value, ByMode):
        return f"({', '.join(f'{state}: {_value_text(each)}' for state, each in value.values.items())})"
    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return f"{float(array):.4g}"
    if array.ndim == 1 and len(array) <= 3:
        return f"({', '.join(f'{entry:.4g}' for entry in array)})"
    return f"[{TIMES.join(map(str, array.shape))}]"


KIND_SIZE, NAME_SIZE, LABEL_SIZE, DIGIT_SIZE, VALUE_SIZE = 15.0, 13.0, 11.5, 25.0, 10.5
"""Font sizes, px: an element's kind, its name, a junction's name, a junction's digit, values of parameters."""
ICON_SIZE = 26.0
"""Side of an icon, px."""
VALUE_LINE = 13.0
"""Height of a line with a value, px."""


@dataclass(frozen=True)
class SketchNode:
    """Drawn node, with half sizes in px; `below` is the width of a name below it."""

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
    """Name of the automaton of a switch; content of a folded graph."""
    stacked: bool = False
    """True if the name is long and therefore drawn below the kind of the element."""
    values: tuple[str, ...] = ()
    icon: str = ""
    """SVG path data in a unit box, at the top."""


@dataclass(frozen=True)
class Edge:
    """Bond, or the signals that one node reads from another (`bond` is None)."""

    tail: int
    head: int
    bond: Bond | None
    number: int = 0
    """Number of the bond, counted from 1 in model order."""
    ports: tuple[str, str] = ("", "")
    """Names of the ports of folded graphs at the tail and the head."""
    label_width: float = 0.0
    """Width in px of the wider label of the bond, 0 for a short label, which every bond has space for."""

    def renumbered(self, new: Mapping[int, int] | Sequence[int]) -> Edge:
        return replace(self, tail=new[self.tail], head=new[self.head])


@dataclass(frozen=True)
class Box:
    """Nested graph: its path, title, the path of the box around it ("" for none), and the nodes inside, at any depth."""

    path: str
    title: str
    parent: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class Sketch:
    name: str
    nodes: tuple[SketchNode, ...]
    edges: tuple[Edge, ...]
    boxes: tuple[Box, ...]
    inside: Mapping[str, str] = field(default_factory=dict)
    """Folded graph that is drawn for each hidden element or automaton."""

    def chain(self, node: int) -> tuple[str, ...]:
        return tuple(enclosing(self.nodes[node].group))


def text_width(text: str, size: float) -> float:
    """Return the width in px of a line in a sans-serif font, estimated generously."""
    return size * sum(_advance(letter) for letter in text)


def _advance(letter: str) -> float:
    if letter in "ijl.,:;'|! ":
        return 0.32
    if letter in "frt()[]/-":
        return 0.42
    if letter in "mwMW":
        return 0.92
    return 0.70 if letter.isupper() else 0.60


def sketch(
    model: Model,
    folded: Collection[str] | None = (),
    unfolded: Collection[str] = (),
    values: bool = False,
    names: Mapping[str, str] | None = None,
) -> Sketch:
    """Return the nodes and edges of a model; signals between the same two nodes become one arrow.

    Every nested graph from `folded_graphs` is a single node. With `values`, elements show their parameters. `names` are shown
    instead of the last parts of these paths.

    Raises `ModelError`: E131 for a name of something else, and the errors of `folded_graphs`.
    """
    names = _checked_names(model, names or {})
    around = _around(model, folded_graphs(model, folded, unfolded))
    heat = {heat_path(path): path for path, element in model.elements.items() if element.heat}
    elements = {path: element for path, element in model.elements.items() if path not in heat}
    nodes = [
        _node(path, element, _label(path, names), values_of(model, path) if values else ()) for path, element in elements.items()
    ]
    switches: dict[str, int] = {}
    for index, (path, element) in enumerate(elements.items()):
        if isinstance(element.law, Junction) and element.law.automaton:
            switches.setdefault(element.law.automaton, index)
        elif path in model.automata:
            # Automata of dry friction and diodes have the name of their element.
            switches.setdefault(path, index)
    for path in model.automata:
        if path not in switches:
            switches[path] = len(nodes)
            label = _label(path, names)
            half = text_width(label, LABEL_SIZE) / 2 + 8
            nodes.append(SketchNode(path, "automaton", "", label, path.rpartition(".")[0], half, 12.0))
    index_of = {node.name: index for index, node in reversed(list(enumerate(nodes)))}
    index_of |= {port: index_of[path] for port, path in heat.items()}
    within = {node.name: group for node in nodes for group in (around.get(node.group),) if group is not None}
    edges = [
        Edge(index_of[bond.tail.element], index_of[bond.head.element], bond, k) for k, bond in enumerate(model.bonds, start=1)
    ]
    edges += [Edge(tail, head, None) for tail, head in dict.fromkeys(_signals(model, index_of, switches, frozenset(within)))]
    count = Counter(within[path] for path in model.elements if path in within)
    edges = [edge if edge.bond is None else replace(edge, ports=_port_names(model, edge.bond, within)) for edge in edges]
    folded_nodes = {
        path: _folded(path, _label(path, names), count[path], model.faces.get(path, Face()).icon) for path in set(within.values())
    }
    drawn, edges = _fold(nodes, edges, within, folded_nodes)
    boxes = []
    for path in model.groups:
        members = tuple(i for i, node in enumerate(drawn) if f"{node.group}.".startswith(f"{path}."))
        if members:
            boxes.append(Box(path, _label(path, names), path.rpartition(".")[0], members))
    return Sketch(model.name, tuple(drawn), tuple(edges), tuple(boxes), within)


def _checked_names(model: Model, names: Mapping[str, str]) -> Mapping[str, str]:
    drawn = {*model.elements, *model.automata, *model.groups}
    cures = (f"names by the paths of elements: {', '.join(list(model.elements)[:8])}",)
    title = 'a name is given for "{}", which is not in "{}"'
    raise_if_any(
        model.name, [Problem("E131", title.format(path, model.name), cures=cures) for path in names if path not in drawn]
    )
    return names


def _label(path: str, names: Mapping[str, str]) -> str:
    return names.get(path, path.rpartition(".")[2])


def _around(model: Model, folded: Collection[str]) -> dict[str, str]:
    """Return, for each nested graph that is folded or lies in a folded graph, the outermost folded graph."""
    enclosing_folded = {path: [parent for parent in enclosing(path) if parent in folded] for path in model.groups}
    return {path: around[0] for path, around in enclosing_folded.items() if around}


def _port_names(model: Model, bond: Bond, within: Mapping[str, str]) -> tuple[str, str]:
    def port(end: End) -> str:
        face = model.faces.get(within.get(end.element, ""), Face())
        names = (name for name, inner in face.ports.items() if inner in (end, End(end.element, "")))
        return next(names, "") if face.icon else ""

    return port(bond.tail), port(bond.head)


def _fold(
    nodes: list[SketchNode], edges: list[Edge], within: Mapping[str, str], folded: Mapping[str, SketchNode]
) -> tuple[list[SketchNode], list[Edge]]:
    drawn: list[SketchNode] = []
    new: dict[str, int] = {}
    for node in nodes:
        name = within.get(node.name, node.name)
        if name not in new or name == node.name:
            new[name] = len(drawn)
            drawn.append(node if name == node.name else folded[name])
    new_index = [new[within.get(node.name, node.name)] for node in nodes]
    moved = [edge.renumbered(new_index) for edge in edges]
    kept = [edge for edge, old in zip(moved, edges, strict=True) if edge.tail != edge.head or old.tail == old.head]
    return drawn, list(dict.fromkeys(kept))


def _folded(path: str, label: str, count: int, icon: str) -> SketchNode:
    group = path.rpartition(".")[0]
    if icon:
        half = max(text_width(label, NAME_SIZE) * 1.06, ICON_SIZE) / 2 + 10
        return SketchNode(path, "folded", "", label, group, half, ICON_SIZE / 2 + 14.0, icon=icon)
    note = plural(count, "element")
    half = max(text_width(label, NAME_SIZE) * 1.06, text_width(note, LABEL_SIZE - 1.0)) / 2 + 14
    return SketchNode(path, "folded", "", label, group, half, 23.0, note=note)


def _signals(
    model: Model, index_of: dict[str, int], switches: dict[str, int], hidden: Collection[str]
) -> Iterator[tuple[int, int]]:
    """Yield (source, reader) of every signal; signals of a guard go to the element that its automaton switches.

    Drawn junctions show the name of their automaton, and need no arrow from it.
    """
    switched = {
        index_of[path] for path, element in model.elements.items() if isinstance(element.law, Junction) and path not in hidden
    }
    readers: list[tuple[Sequence[str], int]] = [(element.reads, index_of[path]) for path, element in model.elements.items()]
    readers += [(each.signals, switches[path]) for path, automaton in model.automata.items() for each in automaton.transitions]
    for signal, reader in ((signal, reader) for signals, reader in readers for signal in signals):
        path = model.aliases.get(signal, signal)
        while path and path not in model.elements and path not in switches:
            path = path.rpartition(".")[0]
        source = switches[path] if path in switches else index_of.get(path, reader)
        if source != reader and not (path in switches and reader in switched):
            yield source, reader


def _node(path: str, element: Element, label: str, values: tuple[str, ...]) -> SketchNode:
    group, law = path.rpartition(".")[0], element.law
    if isinstance(law, Junction):
        below = text_width(label, LABEL_SIZE)
        if law.automaton:
            note = law.automaton.rpartition(".")[2]
            half = max(25.0, text_width(note, LABEL_SIZE) / 2 + 6)
            return SketchNode(path, "switch", element.kind, label, group, half, 24.0, below, note)
        return SketchNode(path, "junction", element.kind, label, group, 11.0, 13.0, below)
    value_width = max((text_width(line, VALUE_SIZE) for line in values), default=0.0) / 2
    more = VALUE_LINE / 2 * len(values) + (ICON_SIZE / 2 if element.icon else 0.0)
    if isinstance(law, SignalBlock):
        half = max(text_width(label, LABEL_SIZE) / 2, value_width) + 9
        return SketchNode(path, "block", element.kind, label, group, half, 13.0 + more, values=values)
    letters = "RS" if element.heat and isinstance(law, Resistor) else element.kind
    kind, name = text_width(letters, KIND_SIZE), text_width(label, NAME_SIZE)
    if name > 62:
        half = max(kind / 2, name / 2, value_width) + 2
        return SketchNode(
            path, "element", letters, label, group, half, 16.0 + more, stacked=True, values=values, icon=element.icon
        )
    half = max((kind + 9 + name) / 2, value_width) + 2
    return SketchNode(path, "element", letters, label, group, half, 10.0 + more, values=values, icon=element.icon)
