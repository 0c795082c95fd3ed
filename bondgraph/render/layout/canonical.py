"""Canonical order of a sketch's nodes, edges and boxes, which depends on its graph alone.

So a drawing depends neither on the order in which a model was built, nor on names beyond their widths: colours are refined until
neighbours distinguish no more nodes (Weisfeiler and Leman, 1968), then one of the nodes that are still alike goes first, and so
on (McKay, 1981). Names decide only between symmetric nodes, where the drawing is the same either way.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from bondgraph.render.sketch import Edge, Sketch

Links = Sequence[tuple[int, int, Any]]
"""(from, to, mark) of linked things; marks can be sorted."""
MAX_TRIED = 8
"""Maximum number of equal nodes of which each is tried first, since later colours may distinguish them."""


def canonical(sketch: Sketch) -> Sketch:
    """Return the sketch in canonical order."""
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
    """Return the mark of an edge: a bond of some dimension, or signals."""
    return (0, edge.bond.dimension) if edge.bond is not None else (1, 0)


def _of_edge(edge: Edge) -> tuple[Any, ...]:
    return edge.tail, edge.head, mark_of(edge), _natural(edge.bond.name if edge.bond is not None else "")


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a sort key with the numbers in names as numbers: "arm 2" before "arm 10"."""
    return [(letters, int(digits or -1)) for letters, digits in re.findall(r"(\D*)(\d*)", name)]


def ordered(links: Links, marks: Sequence[Sequence[Any]], ties: Sequence[Any]) -> list[int]:
    """Return the order that links and marks determine, the first marks first; the smallest of `ties` decides symmetric ones."""
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
        tried = [_refined(_first_of(colours, i), around) for i in tied[: MAX_TRIED if len(tied) <= MAX_TRIED else 1]]
        colours = min(tried, key=lambda trial: _certificate(trial, links))


def _first_alike(colours: Sequence[int]) -> list[int]:
    """Return the things of the first colour that several have."""
    by_colour: dict[int, list[int]] = {}
    for i, colour in enumerate(colours):
        by_colour.setdefault(colour, []).append(i)
    return next((by_colour[colour] for colour in sorted(by_colour) if len(by_colour[colour]) > 1), [])


def _first_of(colours: Sequence[int], first: int) -> list[int]:
    """Return colours in which one thing goes before those that were like it."""
    return [2 * colour + (i != first) for i, colour in enumerate(colours)]


def _refined(colours: list[int], around: Sequence[Sequence[tuple[int, Any]]]) -> list[int]:
    """Return colours that distinguish all things with different colours around them."""
    kinds = len(set(colours))
    while True:
        seen = [(colours[i], sorted((mark, colours[j]) for j, mark in near)) for i, near in enumerate(around)]
        colours = _ranks([(colour, tuple(near)) for colour, near in seen])
        if (now := len(set(colours))) == kinds:
            return colours
        kinds = now


def _ranks(values: Sequence[Hashable]) -> list[int]:
    """Return the rank of each value among the sorted ones."""
    ranks = {value: k for k, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    return [ranks[value] for value in values]


def _certificate(colours: Sequence[int], links: Links) -> list[Any]:
    """Return a certificate of a colouring, equal for colourings that a symmetry exchanges."""
    return [sorted(colours), sorted((colours[a], colours[b], mark) for a, b, mark in links)]
