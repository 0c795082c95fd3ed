"""Routes: centres of nodes -> the line of every edge: straight where it can be, bent a little, or round what is in its way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.render.layout.canonical import mark_of
from bondgraph.render.layout.detours import Streets, detour, streets
from bondgraph.render.layout.line import Route, straight
from bondgraph.render.layout.obstacles import BESIDES, Surroundings, clip, obstacles, price
from bondgraph.render.layout.parts import MIRRORS, Copies, equal_parts
from bondgraph.render.reproducible import length
from bondgraph.render.sketch import Sketch


def routes(sketch: Sketch, where: np.ndarray) -> tuple[Route, ...]:
    """One route per edge: those inside of equal parts, which are alike, then the other bonds, then signals around them."""
    found: dict[int, Route] = {}
    for copies in sorted(equal_parts(sketch), key=lambda each: len(each.members[0])):
        for like, part in zip(_mirrored(sketch, where, copies), copies.members, strict=True):
            edges = _inside(sketch, part)
            if like is None:
                _find(sketch, where, edges, found, part)
                continue
            mirror, shift = like
            for edge, original in zip(edges, _inside(sketch, copies.members[0]), strict=True):
                found.setdefault(edge, Route(found[original].corners * mirror + shift, found[original].reach))
    _find(sketch, where, range(len(sketch.edges)), found, np.array(range(len(sketch.nodes)), dtype=int))
    return tuple(found[i] for i in range(len(sketch.edges)))


def _mirrored(sketch: Sketch, where: np.ndarray, copies: Copies) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """(mirror, shift) from the first copy to each, None for the first and where they are not congruent."""
    first = copies.members[0]
    sizes = np.array([(node.half_width, node.half_height) for node in sketch.nodes]).reshape(-1, 2)
    found: list[tuple[np.ndarray, np.ndarray] | None] = [None]
    for other in copies.members[1:]:
        like = [(mirror, where[other[0]] - mirror * where[first[0]]) for mirror in MIRRORS]
        same = [np.allclose(where[first] * mirror + shift, where[other], atol=1e-6) for mirror, shift in like]
        congruent = any(same) and np.allclose(sizes[first], sizes[other], atol=0.05)
        found.append(like[same.index(True)] if congruent else None)
    return found


def _inside(sketch: Sketch, part: np.ndarray) -> list[int]:
    """The edges between nodes of a part, in an order that is that of its copies too."""
    place = {int(node): k for k, node in enumerate(part)}
    edges = [
        (place[edge.tail], place[edge.head], mark_of(edge), index)
        for index, edge in enumerate(sketch.edges)
        if edge.tail in place and edge.head in place
    ]
    return [index for *_, index in sorted(edges)]


def _find(sketch: Sketch, where: np.ndarray, edges: Sequence[int] | range, found: dict[int, Route], among: np.ndarray) -> None:
    """Add the routes of edges that have none, in view of the nodes `among` which they go; first those that go straight."""
    world = obstacles(sketch, where, among)
    inside = {int(i) for i in among}
    drawn = [i for i, edge in enumerate(sketch.edges) if i in found and edge.tail in inside and edge.head in inside]
    town: Streets | None = None
    pairs: dict[frozenset[int], int] = {}
    for edge in (sketch.edges[i] for i in drawn):
        pairs[frozenset((edge.tail, edge.head))] = pairs.get(frozenset((edge.tail, edge.head)), 0) + 1
    for bonds in (True, False):
        barred = []
        for index in (i for i in edges if i not in found and (sketch.edges[i].bond is not None) == bonds):
            edge = sketch.edges[index]
            ends = frozenset((edge.tail, edge.head))
            used = pairs.get(ends, 0)
            pairs[ends] = used + 1
            best, cost = _direct(sketch, where, index, used, world, [(i, found[i]) for i in drawn])
            if cost > BARRED:
                barred.append((index, used))
            else:
                found[index] = best
                drawn.append(index)
        for index, used in barred:
            lines = [(i, found[i]) for i in drawn]
            best, cost = _direct(sketch, where, index, used, world, lines)
            if cost > BARRED:
                town = town or streets(world)
                round_about = detour(sketch, where, index, town, world, lines)
                if round_about is not None and price(round_about, index, sketch, world, lines) < cost:
                    best = round_about
            found[index] = best
            drawn.append(index)


SIDE = 34.0
"""How far an edge beside another one between the same nodes bends away from it, px, at most at first."""
BARRED = 110.0
"""Price of a direct way, px, from which a way round is looked for."""


def _direct(
    sketch: Sketch, where: np.ndarray, index: int, used: int, world: Surroundings, lines: Sequence[tuple[int, Route]]
) -> tuple[Route, float]:
    """The best straight or bent route, and its price beside that of a straight line of its length in the open."""
    edge = sketch.edges[index]
    long = float(length(where[edge.head] - where[edge.tail]))
    choices = [_bent(sketch, where, edge.tail, edge.head, bulge) for bulge in _bulges(used, edge.bond is None, long)]
    prices = [45.0 * k + price(route, index, sketch, world, lines) for k, route in enumerate(choices)]
    best = int(np.argmin(prices))
    return choices[best], prices[best]


def _bulges(used: int, signal: bool, long: float) -> Sequence[float]:
    """Bulges to try, as parts of the edge's length, the most wanted first; parallel edges leave the line free."""
    if used:
        side = 1.0 if used % 2 else -1.0
        first = min(0.16, SIDE / max(long, 1.0)) * ((used + 1) // 2) * side
        return (first, -first, first * 1.6, -first * 1.6, first * 2.4)
    steps = (0.12, 0.2, 0.3) if signal else (0.12, 0.2)
    return (0.0, *(bulge * side for bulge in steps for side in (1.0, -1.0)))


def _bent(sketch: Sketch, where: np.ndarray, tail: int, head: int, bulge: float) -> Route:
    a, b = where[tail], where[head]
    across = np.array([a[1] - b[1], b[0] - a[0]])
    control = (a + b) / 2 + 2 * bulge * across
    start, end = clip(sketch.nodes[tail], a, control), clip(sketch.nodes[head], b, control)
    return straight(start, end) if bulge == 0 else Route(np.array([start, control, end]), BESIDES)
