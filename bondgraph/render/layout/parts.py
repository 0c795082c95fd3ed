"""Equal parts of a sketch, by a canonical order of its nodes, edges and boxes, and their orientation in a drawing.

The canonical order depends only on the graph, so a drawing depends on neither the order in which a model was built nor its names,
except for their widths. Colours are refined until neighbours distinguish no more nodes (Weisfeiler and Leman, 1968); then one of
the nodes of the same colour gets its own colour, and the refinement continues (McKay, 1981). Names decide only between symmetric
nodes, where the drawing is the same either way, and among more than `MAX_TRIED` nodes of the same colour.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.render.sketch import Box, Edge, Sketch

Links = Sequence[tuple[int, int, Any]]
"""Links (from, to, mark); marks can be sorted."""
MAX_TRIED = 8
"""Maximum number of equal nodes that are each tried as the first, since later colours may distinguish them."""


def canonical(sketch: Sketch) -> Sketch:
    count = len(sketch.nodes)
    links: list[tuple[int, int, Any]] = [(edge.tail, edge.head, mark_of(edge)) for edge in sketch.edges]
    index_of = {box.path: count + k for k, box in enumerate(sketch.boxes)}
    links += [(k, index_of[node.group], (2, 0)) for k, node in enumerate(sketch.nodes) if node.group in index_of]
    links += [(index_of[box.path], index_of[box.parent], (2, 0)) for box in sketch.boxes if box.parent in index_of]
    shapes: list[Any] = [(0, node.shape, node.kind) for node in sketch.nodes] + [(1, "", "") for _ in sketch.boxes]
    sizes: list[Any] = [
        (round(node.half_width, 3), round(node.half_height, 3), round(node.below, 3), node.stacked) for node in sketch.nodes
    ]
    sizes += [(float(len(box.title)), 0.0, 0.0, False) for box in sketch.boxes]
    names = [node.name for node in sketch.nodes] + [box.path for box in sketch.boxes]
    order = canonical_order(links, (shapes, sizes), [_natural_sort_key(name) for name in names])
    new = {old: k for k, old in enumerate(old for old in order if old < count)}
    edges = [edge.renumbered(new) for edge in sketch.edges]
    boxes = [sketch.boxes[old - count] for old in order if old >= count]
    boxes = [replace(box, members=tuple(sorted(new[old] for old in box.members))) for box in boxes]
    return replace(
        sketch, nodes=tuple(sketch.nodes[old] for old in new), edges=tuple(sorted(edges, key=_edge_sort_key)), boxes=tuple(boxes)
    )


def mark_of(edge: Edge) -> tuple[int, int]:
    return (0, edge.bond.dimension) if edge.bond is not None else (1, 0)


def _edge_sort_key(edge: Edge) -> tuple[Any, ...]:
    return edge.tail, edge.head, mark_of(edge), _natural_sort_key(edge.bond.name if edge.bond is not None else "")


def _natural_sort_key(name: str) -> list[tuple[str, int]]:
    """Return a sort key that compares numbers in names as numbers: "arm 2" before "arm 10"."""
    return [(letters, int(digits or -1)) for letters, digits in re.findall(r"(\D*)(\d*)", name)]


def canonical_order(links: Links, marks: Sequence[Sequence[Any]], ties: Sequence[Any]) -> list[int]:
    """Return the order of items by their marks, then by their links; the smallest of `ties` decides between symmetric items."""
    around: list[list[tuple[int, Any]]] = [[] for _ in ties]
    for a, b, mark in links:
        around[a].append((b, (mark, 0)))
        around[b].append((a, (mark, 1)))
    colours = [0] * len(ties)
    for own_marks in marks:
        colours = _refined(_ranks(list(zip(colours, own_marks, strict=True))), around)
    while True:
        tied = _first_alike(colours)
        if not tied:
            return sorted(range(len(colours)), key=colours.__getitem__)
        tied.sort(key=lambda i: ties[i])
        firsts = tied[: MAX_TRIED if len(tied) <= MAX_TRIED else 1]
        # The first item precedes the items that shared its colour.
        tried = [_refined([2 * colour + (i != first) for i, colour in enumerate(colours)], around) for first in firsts]
        colours = min(tried, key=lambda trial: _certificate(trial, links))


def _first_alike(colours: Sequence[int]) -> list[int]:
    by_colour: dict[int, list[int]] = {}
    for i, colour in enumerate(colours):
        by_colour.setdefault(colour, []).append(i)
    return next((by_colour[colour] for colour in sorted(by_colour) if len(by_colour[colour]) > 1), [])


def _refined(colours: list[int], around: Sequence[Sequence[tuple[int, Any]]]) -> list[int]:
    """Return colours that distinguish all items with differently coloured neighbours."""
    kinds = len(set(colours))
    while True:
        seen = [(colours[i], sorted((mark, colours[j]) for j, mark in near)) for i, near in enumerate(around)]
        colours = _ranks([(colour, tuple(near)) for colour, near in seen])
        if (now := len(set(colours))) == kinds:
            return colours
        kinds = now


def _ranks(values: Sequence[Hashable]) -> list[int]:
    ranks = {value: k for k, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    return [ranks[value] for value in values]


def _certificate(colours: Sequence[int], links: Links) -> list[Any]:
    """Return a value that is equal for colourings that a symmetry exchanges."""
    return [sorted(colours), sorted((colours[a], colours[b], mark) for a, b, mark in links)]


MIRRORS = np.array([(1, 1), (-1, 1), (1, -1), (-1, -1)])
"""Orientations of a copy: unchanged, mirrored left to right, top to bottom, or both."""


@dataclass(frozen=True)
class Copies:
    """Equal parts, with the nodes of each in a common order."""

    members: tuple[np.ndarray, ...]


def equal_parts(sketch: Sketch) -> tuple[Copies, ...]:
    """Return nested graphs that occur more than once, with the same kinds, bonds and signals; names are ignored."""
    alike: dict[object, list[np.ndarray]] = {}
    for box in sketch.boxes:
        order, form = contents(sketch, box)
        alike.setdefault(form, []).append(order)
    return tuple(Copies(tuple(each)) for each in alike.values() if len(each) > 1)


def contents(sketch: Sketch, box: Box) -> tuple[np.ndarray, object]:
    """Return the nodes of a nested graph in an order common to its copies, and its form, which is equal for equal graphs."""
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
    order = canonical_order(
        [*links, *((a, b, (2, 0)) for a, b in walled)], [shapes], [(-count, k) for k, count in enumerate(outer)]
    )
    new = {old: k for k, old in enumerate(order)}
    form = (
        tuple(shapes[old] for old in order),
        tuple(sorted((new[a], new[b], mark) for a, b, mark in links)),
        tuple(sorted((new[a], new[b]) for a, b in walled)),
    )
    return np.array([inside[old] for old in order if old < len(inside)]), form


def components(sketch: Sketch) -> list[tuple[np.ndarray, Sketch]]:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(len(sketch.nodes)))
    graph.add_edges_from((edge.tail, edge.head) for edge in sketch.edges)
    graph.add_edges_from((box.members[0], other) for box in sketch.boxes for other in box.members)
    result = []
    for members in sorted((sorted(each) for each in nx.connected_components(graph)), key=lambda each: (-len(each), each)):
        index_of = {node: k for k, node in enumerate(members)}
        edges = [edge.renumbered(index_of) for edge in sketch.edges if edge.tail in index_of]
        boxes = [
            replace(box, members=tuple(index_of[i] for i in box.members)) for box in sketch.boxes if box.members[0] in index_of
        ]
        nodes = tuple(sketch.nodes[i] for i in members)
        result.append((np.array(members), Sketch(sketch.name, nodes, tuple(edges), tuple(boxes))))
    return result


def part_of(sketch: Sketch, box: Box, order: np.ndarray) -> Sketch:
    """Return a nested graph with its neighbours: its own nodes first, in the given order."""
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
    return Sketch(sketch.name, tuple(nodes), tuple(edge.renumbered(index_of) for edge in edges), tuple(boxes))


def with_parts_as_nodes(sketch: Sketch, parts: Sequence[np.ndarray], around: str) -> Sketch:
    index_of = {int(i): k for k, members in enumerate(parts) for i in members}
    edges = [edge.renumbered(index_of) for edge in sketch.edges]
    boxes = [
        replace(box, members=tuple(sorted({index_of[i] for i in box.members}))) for box in sketch.boxes if box.path == around
    ]
    inside = {i for box in boxes for i in box.members}
    nodes = [replace(sketch.nodes[int(members[0])], group=around if k in inside else "") for k, members in enumerate(parts)]
    return Sketch(sketch.name, tuple(nodes), tuple(edge for edge in edges if edge.tail != edge.head), tuple(boxes))


def mirror_of(cells: np.ndarray, template: np.ndarray) -> np.ndarray | None:
    shifted = cells - cells.min(axis=0)
    for mirror in MIRRORS:
        turned = template * mirror
        if np.array_equal(shifted, turned - turned.min(axis=0)):
            return mirror
    return None


def tied_steps(cells: np.ndarray, copies: Sequence[Copies], axis: int) -> list[tuple[int, int]]:
    """Return pairs of steps between columns (axis 0) or rows (1) that must be equally wide, so that copies are congruent."""
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
