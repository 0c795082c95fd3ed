"""Obstacles: cost of a line that passes through nodes, their names and boxes or through other lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.render.layout.cost import crossings
from bondgraph.render.layout.line import Route
from bondgraph.render.layout.spacing import frame
from bondgraph.render.reproducible import dot, length
from bondgraph.render.sketch import Mark, Sketch

GAP = 5.0
"""Gap between a node's text and the end of an edge, px."""
ROOM = 4.0
"""Gap between a node's text and a foreign edge, px."""
FULLY_CURVED = 1e6
"""Reach of a line that bends all along, px."""
LONG, FOREIGN, NODE, NAME, CROSS, CROWD, CORNER = 0.3, 0.25, 150.0, 40.0, 60.0, 120.0, 30.0
"""Costs, in px: px of detour, px in a foreign box, point in a node, in a name, crossing, parallel line at a node, corner."""


@dataclass(frozen=True)
class Obstacles:
    """Obstacles between some nodes of a drawing."""

    nodes: np.ndarray
    """(m,): the nodes."""
    low: np.ndarray
    """(m, 2): left and top of their bodies, with the gap around them."""
    high: np.ndarray
    names: np.ndarray
    """(k, 2, 2): left and top, right and bottom of the names."""
    named_nodes: np.ndarray
    """(k,): nodes of the names."""
    frames: np.ndarray
    """(b, 2, 2): left and top, right and bottom of boxes that are around some of these nodes, not all."""
    around: tuple[frozenset[int], ...]
    """Nodes in each box."""


def obstacles(sketch: Sketch, where: np.ndarray, among: np.ndarray) -> Obstacles:
    """Return the obstacles between some nodes."""
    half = np.array([(node.half_width + ROOM, node.half_height + ROOM) for node in sketch.nodes]).reshape(-1, 2)[among]
    named = np.array([i for i in among.tolist() if sketch.nodes[i].below], dtype=int)
    below = np.array([(sketch.nodes[i].below / 2 + 2, sketch.nodes[i].half_height + 9) for i in named]).reshape(-1, 2)
    middle = where[named] + below * np.array([0.0, 1.0])
    across = np.stack([below[:, 0], np.full(len(named), 8.0)], axis=1)
    inside = frozenset(among.tolist())
    boxes = [box for box in sketch.boxes if inside.intersection(box.members) and not inside <= frozenset(box.members)]
    frames = np.array([frame(sketch, box, where) for box in boxes]).reshape(-1, 2, 2)
    return Obstacles(
        among,
        where[among] - half,
        where[among] + half,
        np.stack([middle - across, middle + across], axis=1),
        named,
        frames,
        tuple(frozenset(box.members) for box in boxes),
    )


def clip(node: Mark, centre: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """Return the point where an edge from a node's centre leaves the gap around its text."""
    along = towards - centre
    along = along / max(float(length(along)), 1e-9)
    if node.shape == "junction":
        return centre + along * (max(node.half_width, node.half_height) + GAP)
    half = np.array([node.half_width + GAP, node.half_height + GAP])
    return centre + along * float(np.min(half / np.maximum(np.abs(along), 1e-9)))


def within(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return (k, m): True where points (k, 2) are inside of rectangles (m, 2)."""
    return np.all((points[:, None] > low) & (points[:, None] < high), axis=2)


def foreign(world: Obstacles, tail: int, head: int) -> np.ndarray:
    """Return indices of the boxes that hold neither end."""
    return np.array([k for k, inside in enumerate(world.around) if tail not in inside and head not in inside], dtype=int)


def price(route: Route, index: int, sketch: Sketch, world: Obstacles, lines: Sequence[tuple[int, Route]]) -> float:
    """Return the cost of a route of an edge, in px, among the drawn lines (edge, route)."""
    edge, points = sketch.edges[index], route.points
    own_nodes = np.flatnonzero((world.nodes == edge.tail) | (world.nodes == edge.head))
    low, high = points.min(axis=0), points.max(axis=0)
    near = np.all((world.high > low) & (world.low < high), axis=1)
    near[own_nodes] = False
    cost = NODE * int(within(points, world.low[near], world.high[near]).sum())
    cost += NODE * int(within(points[2:-2], world.low[own_nodes] + ROOM, world.high[own_nodes] - ROOM).sum())
    others = (world.named_nodes != edge.tail) & (world.named_nodes != edge.head)
    cost += NAME * int(within(points, world.names[others, 0], world.names[others, 1]).sum())
    strange = foreign(world, edge.tail, edge.head)
    spacing = route.length / max(len(points) - 1, 1)
    cost += FOREIGN * spacing * int(within(points, world.frames[strange, 0], world.frames[strange, 1]).any(axis=1).sum())
    cost += LONG * max(route.length - float(length(route.end - route.start)), 0.0)
    cost += CORNER * (len(route.corners) - 2) * (route.reach < FULLY_CURVED)
    cost += _of_lines(route, index, sketch, lines)
    return float(cost)


def _of_lines(route: Route, index: int, sketch: Sketch, lines: Sequence[tuple[int, Route]]) -> float:
    """Return the cost of other lines: crossings, and those that leave the same node in nearly the same direction."""
    if not lines:
        return 0.0
    edge = sketch.edges[index]
    weights = np.array([1.0 if sketch.edges[i].bond is not None else 0.4 for i, _ in lines])
    weights = weights if edge.bond is not None else 0.4 * weights + 0.1
    cost = 0.0
    for (other, line), weight in zip(lines, weights.tolist(), strict=True):
        met = sketch.edges[other]
        cost += CROSS * weight * _crossed(route, line)
        if edge.tail in (met.tail, met.head):
            cost += CROWD * weight * crowded(route.leaving, line.leaving if edge.tail == met.tail else -line.arriving)
        if edge.head in (met.tail, met.head):
            cost += CROWD * weight * crowded(-route.arriving, line.leaving if edge.head == met.tail else -line.arriving)
    return cost


def crowded(one: np.ndarray, other: np.ndarray) -> float:
    """Return 0 to 1: how close two directions are; 0 from some 35 degrees on."""
    return max(0.0, (float(dot(one, other)) - 0.82) / 0.18)


def _crossed(one: Route, other: Route) -> int:
    """Return the number of crossings of two lines."""
    (left, top, right, bottom), (west, north, east, south) = one.extent, other.extent
    if right < west or east < left or bottom < north or south < top:
        return 0
    p, q = one.chords[:-1].T[:, :, None], one.chords[1:].T[:, :, None]
    return int(crossings(p, q, other.chords[:-1].T[:, None], other.chords[1:].T[:, None]).sum())
