"""Detours: obstacles -> a way for an edge along streets between them, short, with few corners, clear of nodes and lines.

The shortest path over crossings of the streets and directions (Dijkstra, 1959; Hart, Nilsson and Raphael, 1968).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.render.layout.line import STEP, Route, through
from bondgraph.render.layout.obstacles import CORNER, CROWD, FOREIGN, LONG, NAME, Surroundings, clip, crowded, foreign, within
from bondgraph.render.reproducible import length
from bondgraph.render.sketch import Sketch

REACH = 14.0
"""Of the rounded corners, px."""
BESIDE = 9.0
"""From a node's room to the street beside it, px; streets are not nearer to each other than `BESIDE` - 2."""
LANE = 5.0
"""A line that is nearer to a street than this stands in its way, px."""
FIRST = 120.0
"""How far a node may be from the crossing where its edge comes to a street, px."""
MET = 30.0
"""What a place of another bond costs that one meets on a street, px."""
_MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))


@dataclass(frozen=True)
class Streets:
    """Level and plumb lines at ys and xs, in sections from crossing to crossing."""

    xs: np.ndarray
    ys: np.ndarray
    in_nodes: tuple[np.ndarray, np.ndarray]
    """(m, x, y) for level and plumb sections: whether they pass through a node's room."""
    in_names: tuple[np.ndarray, np.ndarray]
    """(x, y): how many names they pass through."""
    in_frames: tuple[np.ndarray, np.ndarray]
    """(b, x, y): whether they are in a box."""


def streets(world: Surroundings) -> Streets:
    """Streets through the middle of all nodes and beside them."""
    lines = []
    for axis in (0, 1):
        low, high = world.low[:, axis], world.high[:, axis]
        middles = sorted(set(((low + high) / 2).round(3).tolist()))
        edges = sorted({*(low - BESIDE).round(3).tolist(), *(high + BESIDE).round(3).tolist()})
        kept = list(middles)
        for edge in edges:
            if all(abs(edge - other) >= BESIDE - 2.0 for other in kept):
                kept.append(edge)
        lines.append(np.array(sorted(kept)))
    xs, ys = lines

    def sections(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m, x, y) for both kinds: whether they meet rectangles (m, 2)."""
        left, top = low[:, 0, None, None], low[:, 1, None, None]
        right, bottom = high[:, 0, None, None], high[:, 1, None, None]
        x, y = xs[None, :, None], ys[None, None, :]
        level = (x[:, :-1] < right) & (x[:, 1:] > left) & (y > top) & (y < bottom)
        plumb = (x > left) & (x < right) & (y[:, :, :-1] < bottom) & (y[:, :, 1:] > top)
        return level, plumb

    names = sections(world.names[:, 0], world.names[:, 1])
    return Streets(
        xs,
        ys,
        sections(world.low, world.high),
        (names[0].sum(axis=0), names[1].sum(axis=0)),
        sections(world.frames[:, 0], world.frames[:, 1]),
    )


def detour(
    sketch: Sketch, where: np.ndarray, index: int, town: Streets, world: Surroundings, lines: Sequence[tuple[int, Route]]
) -> Route | None:
    """The cheapest way of an edge along streets among lines (edge, route) that are drawn; None where there is none."""
    edge = sketch.edges[index]
    if edge.tail == edge.head:
        return None
    costs = _costs(sketch, index, town, world, lines)
    away = _ends(sketch, where, edge.tail, town, world, lines)
    back = _ends(sketch, where, edge.head, town, world, lines)
    found = _shortest(town, costs, away, back, where[edge.head])
    if found is None:
        return None
    corners = [np.array([town.xs[i], town.ys[j]]) for i, j in found]
    start = clip(sketch.nodes[edge.tail], where[edge.tail], corners[0])
    end = clip(sketch.nodes[edge.head], where[edge.head], corners[-1])
    return through([start, *corners, end], REACH)


def _costs(
    sketch: Sketch, index: int, town: Streets, world: Surroundings, lines: Sequence[tuple[int, Route]]
) -> tuple[list[list[float]], list[list[float]]]:
    """What level and plumb sections cost; infinite where a node is in the way."""
    edge = sketch.edges[index]
    own = (world.nodes == edge.tail) | (world.nodes == edge.head)
    strange = foreign(world, edge.tail, edge.head)
    spans = (np.diff(town.xs)[:, None], np.diff(town.ys)[None, :])
    met = _met(sketch, town, lines)
    share = 1.0 if edge.bond is not None else 0.4
    found = []
    for kind in (0, 1):
        foreign_here = town.in_frames[kind][strange].any(axis=0)
        cost = spans[kind] * (LONG + FOREIGN * foreign_here) + share * MET * met[kind]
        cost = cost + NAME * town.in_names[kind] * np.maximum(spans[kind] / STEP, 1.0) * 0.5
        blocked = town.in_nodes[kind][~own].any(axis=0) | town.in_nodes[kind][own].any(axis=0)
        found.append(np.where(blocked, np.inf, cost).tolist())
    return found[0], found[1]


def _met(sketch: Sketch, town: Streets, lines: Sequence[tuple[int, Route]]) -> tuple[np.ndarray, np.ndarray]:
    """How many places of lines are on level and plumb sections."""
    level, plumb = np.zeros((len(town.xs) - 1, len(town.ys))), np.zeros((len(town.xs), len(town.ys) - 1))
    for other, line in lines:
        weight = 1.0 if sketch.edges[other].bond is not None else 0.4
        points = line.places
        for kind, (found, along, across) in enumerate(((level, town.xs, town.ys), (plumb, town.ys, town.xs))):
            here, there = points[:, kind], points[:, 1 - kind]
            section = np.searchsorted(along, here) - 1
            for side in (0, 1):
                street = np.searchsorted(across, there) - side
                good = (section >= 0) & (section < len(along) - 1) & (street >= 0) & (street < len(across))
                good &= np.abs(across[np.clip(street, 0, len(across) - 1)] - there) < LANE
                pair = (section[good], street[good]) if kind == 0 else (street[good], section[good])
                np.add.at(found, pair, weight)
    return level, plumb


Ends = dict[tuple[int, int], tuple[float, float, float]]
"""Crossing -> what it costs to come there from a node, and the direction (x, y)."""


def _ends(
    sketch: Sketch, where: np.ndarray, node: int, town: Streets, world: Surroundings, lines: Sequence[tuple[int, Route]]
) -> Ends:
    """Crossings to which one comes straight from a node."""
    centre = where[node]
    here = int(np.flatnonzero(world.nodes == node)[0])
    grid = [
        (i, j)
        for i in np.flatnonzero(np.abs(town.xs - centre[0]) < FIRST + 60.0)
        for j in np.flatnonzero(np.abs(town.ys - centre[1]) < FIRST)
    ]
    points = np.array([(town.xs[i], town.ys[j]) for i, j in grid]).reshape(-1, 2)
    free = ~within(points, world.low[here : here + 1], world.high[here : here + 1])[:, 0]
    start = np.array([clip(sketch.nodes[node], centre, point) for point in points]).reshape(-1, 2)
    far = length(points - start)
    free &= far < FIRST
    close = np.all((world.high > points.min(axis=0)) & (world.low < points.max(axis=0)), axis=1)
    others = np.flatnonzero(close & (world.nodes != node))
    shares = np.linspace(0.0, 1.0, 13)[:, None]
    leaving = [
        line.leaving if sketch.edges[k].tail == node else -line.arriving
        for k, line in lines
        if node in (sketch.edges[k].tail, sketch.edges[k].head)
    ]
    found: Ends = {}
    for k in np.flatnonzero(free).tolist():
        way = start[k] + shares * (points[k] - start[k])
        if within(way, world.low[others], world.high[others]).any():
            continue
        along = points[k] - centre
        along = along / max(float(length(along)), 1e-9)
        cost = LONG * float(far[k]) + CROWD * sum(crowded(along, each) for each in leaving)
        if min(abs(float(along[0])), abs(float(along[1]))) > 1e-6:
            cost += CORNER
        if float(far[k]) < 16.0:
            cost += CORNER
        found[int(grid[k][0]), int(grid[k][1])] = (cost, float(along[0]), float(along[1]))
    return found


def _turn(cosine: float) -> float:
    """What a change of direction costs, by its cosine."""
    return 0.0 if cosine > 0.999 else CORNER if cosine > 0.5 else CORNER + 10.0 if cosine > -0.1 else np.inf


def _shortest(
    town: Streets, costs: tuple[list[list[float]], list[list[float]]], away: Ends, back: Ends, goal: np.ndarray
) -> list[tuple[int, int]] | None:
    """Crossings of the cheapest way, where it turns and where it does not."""
    level, plumb = costs
    xs, ys = town.xs.tolist(), town.ys.tolist()
    goal_x, goal_y = float(goal[0]), float(goal[1])

    def ahead(i: int, j: int) -> float:
        """At least what is left, but for what lies in the last step."""
        return LONG * max(abs(xs[i] - goal_x) + abs(ys[j] - goal_y) - 2.0 * FIRST, 0.0)

    least: dict[tuple[int, int, int], float] = {}
    before: dict[tuple[int, int, int], tuple[int, int, int] | None] = {}
    queue: list[tuple[float, float, tuple[int, int, int]]] = []

    def reach(cost: float, state: tuple[int, int, int], last: tuple[int, int, int] | None) -> None:
        if cost < least.get(state, np.inf) - 1e-9:
            least[state], before[state] = cost, last
            heapq.heappush(queue, (cost + ahead(state[0], state[1]), cost, state))

    for (i, j), (cost, x, y) in sorted(away.items()):
        for way, (dx, dy) in enumerate(_MOVES):
            if (turn := _turn(x * dx + y * dy)) < np.inf:
                reach(cost + turn, (i, j, way), None)
    best, last = np.inf, None
    while queue and queue[0][0] < best:
        _, cost, state = heapq.heappop(queue)
        if cost > least[state]:
            continue
        i, j, way = state
        dx, dy = _MOVES[way]
        if (i, j) in back:
            own, x, y = back[i, j]
            whole = cost + own + _turn(-(x * dx + y * dy))
            if whole < best - 1e-9:
                best, last = whole, state
        k, m = i + dx, j + dy
        if 0 <= k < len(xs) and 0 <= m < len(ys):
            section = level[min(i, k)][j] if dx else plumb[i][min(j, m)]
            if section < np.inf:
                reach(cost + section, (k, m, way), state)
        for turned in range(4):
            if turned // 2 != way // 2:
                reach(cost + CORNER + 10.0, (i, j, turned), state)
    if last is None:
        return None
    found = []
    state_or_none: tuple[int, int, int] | None = last
    while state_or_none is not None:
        found.append(state_or_none[:2])
        state_or_none = before[state_or_none]
    return found[::-1]
