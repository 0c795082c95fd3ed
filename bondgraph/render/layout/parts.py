"""Parts: Sketch -> nested graphs that are copies of each other, which are drawn alike, and how each copy stands in a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.render.sketch import Box, Mark, Sketch

MIRRORS = np.array([(1, 1), (-1, 1), (1, -1), (-1, -1)])
"""The ways in which a copy may stand: as it is, mirrored left to right, top to bottom, or both."""


@dataclass(frozen=True)
class Copies:
    """Equal parts: the nodes of each, in an order that is common to all."""

    members: tuple[np.ndarray, ...]


def equal_parts(sketch: Sketch) -> tuple[Copies, ...]:
    """Nested graphs that occur more than once: the same names and kinds, the same bonds and signals."""
    alike: dict[object, list[np.ndarray]] = {}
    for box in sketch.boxes:
        alike.setdefault(contents(sketch, box), []).append(ordered(sketch, box))
    return tuple(Copies(tuple(each)) for each in alike.values() if len(each) > 1)


def contents(sketch: Sketch, box: Box) -> object:
    """All that is drawn inside of a nested graph, without its own name."""

    def local(node: Mark) -> Mark:
        return replace(node, name=node.name.removeprefix(box.path), group=node.group.removeprefix(box.path))

    inside = set(box.members)
    edges = [edge for edge in sketch.edges if edge.tail in inside and edge.head in inside]
    return frozenset(local(sketch.nodes[i]) for i in box.members), frozenset(
        (local(sketch.nodes[edge.tail]).name, local(sketch.nodes[edge.head]).name, edge.bond.dimension if edge.bond else 0)
        for edge in edges
    )


def ordered(sketch: Sketch, box: Box) -> np.ndarray:
    """The nodes of a nested graph, in an order that is that of its copies too."""
    return np.array(sorted(box.members, key=lambda i: sketch.nodes[i].name.removeprefix(box.path)))


def part_of(sketch: Sketch, box: Box) -> Sketch:
    """A nested graph with what it is bonded to around it: first its own nodes, in their order."""
    inside = [int(i) for i in ordered(sketch, box)]
    own = set(inside)
    edges = [edge for edge in sketch.edges if edge.tail in own or edge.head in own]
    around = dict.fromkeys(end for edge in edges for end in (edge.tail, edge.head) if end not in own)
    place = {node: k for k, node in enumerate([*inside, *around])}
    nodes = [sketch.nodes[i] for i in inside] + [replace(sketch.nodes[i], group="") for i in around]
    boxes = [
        replace(each, parent="" if each is box else each.parent, members=tuple(place[i] for i in each.members))
        for each in sketch.boxes
        if each is box or each.path.startswith(f"{box.path}.")
    ]
    moved = [replace(edge, tail=place[edge.tail], head=place[edge.head]) for edge in edges]
    return Sketch(sketch.name, tuple(nodes), tuple(moved), tuple(boxes))


def shrunk(sketch: Sketch, parts: Sequence[np.ndarray], around: str) -> Sketch:
    """Every part as one node, with no box but the one of the path `around`, where there is one."""
    place = {int(i): k for k, members in enumerate(parts) for i in members}
    edges = [replace(edge, tail=place[edge.tail], head=place[edge.head]) for edge in sketch.edges]
    boxes = [replace(box, members=tuple(sorted({place[i] for i in box.members}))) for box in sketch.boxes if box.path == around]
    inside = {i for box in boxes for i in box.members}
    nodes = [replace(sketch.nodes[int(members[0])], group=around if k in inside else "") for k, members in enumerate(parts)]
    return Sketch(sketch.name, tuple(nodes), tuple(edge for edge in edges if edge.tail != edge.head), tuple(boxes))


def standing(cells: np.ndarray, template: np.ndarray) -> np.ndarray | None:
    """The first of `MIRRORS` in which cells (n, 2) are a template (n, 2), None where they are not."""
    own = cells - cells.min(axis=0)
    for mirror in MIRRORS:
        turned = template * mirror
        if np.array_equal(own, turned - turned.min(axis=0)):
            return mirror
    return None


def tied(cells: np.ndarray, copies: Sequence[Copies], axis: int) -> list[tuple[int, int]]:
    """Pairs of steps between columns (axis 0) or rows (1) that are as wide as each other, so that copies are congruent."""
    found = []
    for each in copies:
        template = cells[each.members[0]]
        low = int(template[:, axis].min())
        count = int(template[:, axis].max()) - low
        for other in each.members[1:]:
            mirror = standing(cells[other], template - template.min(axis=0))
            if mirror is not None:
                start = int(cells[other][:, axis].min())
                found += [(low + k, start + (k if mirror[axis] > 0 else count - 1 - k)) for k in range(count)]
    return found
