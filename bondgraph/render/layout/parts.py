"""Equal parts of a sketch: nested graphs that are copies of each other and drawn alike, and their orientation in a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.render.layout.canonical import mark_of, ordered
from bondgraph.render.sketch import Box, Sketch

MIRRORS = np.array([(1, 1), (-1, 1), (1, -1), (-1, -1)])
"""Orientations of a copy: as it is, mirrored left to right, top to bottom, or both."""


@dataclass(frozen=True)
class Copies:
    """Equal parts: the nodes of each, in an order that is common to all."""

    members: tuple[np.ndarray, ...]


def equal_parts(sketch: Sketch) -> tuple[Copies, ...]:
    """Return nested graphs that occur more than once: the same kinds, the same bonds and signals; names do not count."""
    alike: dict[object, list[np.ndarray]] = {}
    for box in sketch.boxes:
        order, form = contents(sketch, box)
        alike.setdefault(form, []).append(order)
    return tuple(Copies(tuple(each)) for each in alike.values() if len(each) > 1)


def contents(sketch: Sketch, box: Box) -> tuple[np.ndarray, object]:
    """Return the nodes of a nested graph, in an order common to its copies; and its form: equal graphs have equal ones."""
    inside = list(box.members)
    index_of = {node: k for k, node in enumerate(inside)}
    inner = [each for each in sketch.boxes if not box.path or each.path.startswith(f"{box.path}.")]
    walls = {each.path: len(inside) + k for k, each in enumerate(inner)}
    links: list[tuple[int, int, tuple[int, int]]] = []
    outer = [0] * (len(inside) + len(inner))
    for edge in sketch.edges:
        ends = [index_of[end] for end in (edge.tail, edge.head) if end in index_of]
        if len(ends) == 2:
            links.append((ends[0], ends[1], mark_of(edge)))
        elif ends:
            outer[ends[0]] += 1
    walled = [(index_of[node], walls[sketch.nodes[node].group]) for node in inside if sketch.nodes[node].group in walls]
    walled += [(walls[each.path], walls[each.parent]) for each in inner if each.parent in walls]
    shapes = [(0, sketch.nodes[node].shape, sketch.nodes[node].kind) for node in inside] + [(1, "", "")] * len(inner)
    order = ordered([*links, *((a, b, (2, 0)) for a, b in walled)], [shapes], [(-count, k) for k, count in enumerate(outer)])
    new = {old: k for k, old in enumerate(order)}
    form = (
        tuple(shapes[old] for old in order),
        tuple(sorted((new[a], new[b], mark) for a, b, mark in links)),
        tuple(sorted((new[a], new[b]) for a, b in walled)),
    )
    return np.array([inside[old] for old in order if old < len(inside)]), form


def components(sketch: Sketch) -> list[tuple[np.ndarray, Sketch]]:
    """Return connected components by bonds, signals and boxes: nodes, and the sketch of these alone; the largest first."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(len(sketch.nodes)))
    graph.add_edges_from((edge.tail, edge.head) for edge in sketch.edges)
    graph.add_edges_from((box.members[0], other) for box in sketch.boxes for other in box.members)
    result = []
    for members in sorted((sorted(each) for each in nx.connected_components(graph)), key=lambda each: (-len(each), each)):
        index_of = {node: k for k, node in enumerate(members)}
        edges = [
            replace(edge, tail=index_of[edge.tail], head=index_of[edge.head]) for edge in sketch.edges if edge.tail in index_of
        ]
        boxes = [
            replace(box, members=tuple(index_of[i] for i in box.members)) for box in sketch.boxes if box.members[0] in index_of
        ]
        nodes = tuple(sketch.nodes[i] for i in members)
        result.append((np.array(members), Sketch(sketch.name, nodes, tuple(edges), tuple(boxes))))
    return result


def part_of(sketch: Sketch, box: Box, order: np.ndarray) -> Sketch:
    """Return a nested graph with its neighbours around it: first its own nodes, in the order given."""
    inside = [int(i) for i in order]
    own_nodes = set(inside)
    edges = [edge for edge in sketch.edges if edge.tail in own_nodes or edge.head in own_nodes]
    around = dict.fromkeys(end for edge in edges for end in (edge.tail, edge.head) if end not in own_nodes)
    index_of = {node: k for k, node in enumerate([*inside, *around])}
    nodes = [sketch.nodes[i] for i in inside] + [replace(sketch.nodes[i], group="") for i in around]
    boxes = [
        replace(each, parent="" if each is box else each.parent, members=tuple(index_of[i] for i in each.members))
        for each in sketch.boxes
        if each is box or each.path.startswith(f"{box.path}.")
    ]
    moved = [replace(edge, tail=index_of[edge.tail], head=index_of[edge.head]) for edge in edges]
    return Sketch(sketch.name, tuple(nodes), tuple(moved), tuple(boxes))


def shrunk(sketch: Sketch, parts: Sequence[np.ndarray], around: str) -> Sketch:
    """Return a sketch with every part as one node, and no box but the one of the path `around`, if there is one."""
    index_of = {int(i): k for k, members in enumerate(parts) for i in members}
    edges = [replace(edge, tail=index_of[edge.tail], head=index_of[edge.head]) for edge in sketch.edges]
    boxes = [
        replace(box, members=tuple(sorted({index_of[i] for i in box.members}))) for box in sketch.boxes if box.path == around
    ]
    inside = {i for box in boxes for i in box.members}
    nodes = [replace(sketch.nodes[int(members[0])], group=around if k in inside else "") for k, members in enumerate(parts)]
    return Sketch(sketch.name, tuple(nodes), tuple(edge for edge in edges if edge.tail != edge.head), tuple(boxes))


def mirror_of(cells: np.ndarray, template: np.ndarray) -> np.ndarray | None:
    """Return the first of `MIRRORS` in which cells (n, 2) are a template (n, 2), None if they are not."""
    shifted = cells - cells.min(axis=0)
    for mirror in MIRRORS:
        turned = template * mirror
        if np.array_equal(shifted, turned - turned.min(axis=0)):
            return mirror
    return None


def tied(cells: np.ndarray, copies: Sequence[Copies], axis: int) -> list[tuple[int, int]]:
    """Return pairs of steps between columns (axis 0) or rows (1) with equal widths, so that copies are congruent."""
    pairs = []
    for each in copies:
        template = cells[each.members[0]]
        low = int(template[:, axis].min())
        count = int(template[:, axis].max()) - low
        for other in each.members[1:]:
            mirror = mirror_of(cells[other], template - template.min(axis=0))
            if mirror is not None:
                start = int(cells[other][:, axis].min())
                pairs += [(low + k, start + (k if mirror[axis] > 0 else count - 1 - k)) for k in range(count)]
    return pairs
