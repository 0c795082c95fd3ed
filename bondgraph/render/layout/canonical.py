"""Canonical order: Sketch -> the same sketch with its nodes, edges and boxes in an order that its graph alone decides.

So a drawing does not depend on the order in which a model was built, nor on names beyond their widths: colours are refined
until neighbours tell no more nodes apart (Weisfeiler and Leman, 1968), then one of those that are still alike goes first, and so
on (McKay, 1981). Names decide only between nodes that symmetry makes equal, where the drawing is the same either way.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from bondgraph.render.sketch import Edge, Sketch

Links = Sequence[tuple[int, int, Any]]
"""(from, to, mark) of things that know each other; marks can be sorted."""
FEW = 8
"""So many alike are each tried to go first, where what follows may tell them apart after all."""


def canonical(sketch: Sketch) -> Sketch:
    """The same sketch in canonical order."""
    count = len(sketch.nodes)
    links: list[tuple[int, int, Any]] = [(edge.tail, edge.head, mark_of(edge)) for edge in sketch.edges]
    place = {box.path: count + k for k, box in enumerate(sketch.boxes)}
    links += [(k, place[node.group], (2, 0)) for k, node in enumerate(sketch.nodes) if node.group in place]
    links += [(place[box.path], place[box.parent], (2, 0)) for box in sketch.boxes if box.parent in place]
    shapes: list[Any] = [(0, node.shape, node.kind) for node in sketch.nodes] + [(1, "", "") for _ in sketch.boxes]
    sizes: list[Any] = [
        (round(node.half_width, 3), round(node.half_height, 3), round(node.below, 3), node.stacked) for node in sketch.nodes
    ]
    sizes += [(float(len(box.title)), 0.0, 0.0, False) for box in sketch.boxes]
    names = [node.name for node in sketch.nodes] + [box.path for box in sketch.boxes]
    order = ordered(links, (shapes, sizes), [_natural(name) for name in names])
    new = {old: k for k, old in enumerate(old for old in order if old < count)}
    edges = [replace(edge, tail=new[edge.tail], head=new[edge.head]) for edge in sketch.edges]
    boxes = [replace(sketch.boxes[old - count], members=_renamed(sketch, old - count, new)) for old in order if old >= count]
    return replace(
        sketch, nodes=tuple(sketch.nodes[old] for old in new), edges=tuple(sorted(edges, key=_of_edge)), boxes=tuple(boxes)
    )


def _renamed(sketch: Sketch, box: int, new: dict[int, int]) -> tuple[int, ...]:
    return tuple(sorted(new[old] for old in sketch.boxes[box].members))


def mark_of(edge: Edge) -> tuple[int, int]:
    """What an edge is: a bond of some dimension, or signals."""
    return (0, edge.bond.dimension) if edge.bond is not None else (1, 0)


def _of_edge(edge: Edge) -> tuple[Any, ...]:
    return edge.tail, edge.head, mark_of(edge), _natural(edge.bond.name if edge.bond is not None else "")


def _natural(name: str) -> list[tuple[str, int]]:
    """Sorts numbers in names as numbers: "arm 2" before "arm 10"."""
    return [(letters, int(digits or -1)) for letters, digits in re.findall(r"(\D*)(\d*)", name)]


def ordered(links: Links, marks: Sequence[Sequence[Any]], ties: Sequence[Any]) -> list[int]:
    """Things in the order that their links and marks decide, the first marks before the second; ties between things that a
    symmetry exchanges go to the smallest of `ties`."""
    around: list[list[tuple[int, Any]]] = [[] for _ in ties]
    for a, b, mark in links:
        around[a].append((b, (mark, 0)))
        around[b].append((a, (mark, 1)))
    colours = [0] * len(ties)
    for own in marks:
        colours = _refined(_ranks(list(zip(colours, own, strict=True))), around)
    while True:
        alike = _first_alike(colours)
        if not alike:
            return sorted(range(len(colours)), key=colours.__getitem__)
        alike.sort(key=lambda i: ties[i])
        tried = [_refined(_first_of(colours, i), around) for i in alike[: FEW if len(alike) <= FEW else 1]]
        colours = min(tried, key=lambda found: _certificate(found, links))


def _first_alike(colours: Sequence[int]) -> list[int]:
    """The things of the first colour that several have."""
    by_colour: dict[int, list[int]] = {}
    for i, colour in enumerate(colours):
        by_colour.setdefault(colour, []).append(i)
    return next((by_colour[colour] for colour in sorted(by_colour) if len(by_colour[colour]) > 1), [])


def _first_of(colours: Sequence[int], first: int) -> list[int]:
    """Colours in which one thing goes before those that were like it."""
    return [2 * colour + (i != first) for i, colour in enumerate(colours)]


def _refined(colours: list[int], around: Sequence[Sequence[tuple[int, Any]]]) -> list[int]:
    """Colours that tell apart all that differ in the colours around them."""
    kinds = len(set(colours))
    while True:
        seen = [(colours[i], sorted((mark, colours[j]) for j, mark in near)) for i, near in enumerate(around)]
        colours = _ranks([(own, tuple(near)) for own, near in seen])
        if (now := len(set(colours))) == kinds:
            return colours
        kinds = now


def _ranks(values: Sequence[Hashable]) -> list[int]:
    """The place of each value among the sorted ones."""
    ranks = {value: k for k, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    return [ranks[value] for value in values]


def _certificate(colours: Sequence[int], links: Links) -> list[Any]:
    """What two colourings share where a symmetry turns one into the other."""
    return [sorted(colours), sorted((colours[a], colours[b], mark) for a, b, mark in links)]
