"""Routes of edges at the lowest cost: straight, slightly bent, or along corridors ("streets") between obstacles.

A detour is the cheapest path over crossings of streets and directions; corners and crowded streets cost extra (Dijkstra, 1959;
Hart, Nilsson and Raphael, 1968).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.output.progress import track
from bondgraph.render.layout.drawn_lines import CROWDING_COST, DrawnLines
from bondgraph.render.layout.line import POINT_SPACING, Route, straight, through
from bondgraph.render.layout.parts import MIRRORS, Copies, equal_parts, mark_of
from bondgraph.render.layout.spacing import frame
from bondgraph.render.reproducible import length
from bondgraph.render.sketch import Sketch, SketchNode

GAP = 5.0
"""Gap between a node's text and the end of an edge, px."""
CLEARANCE = 4.0
"""Gap between a node's text and an edge of other nodes, px."""
FULLY_CURVED = 1e6
"""Reach of a line that is curved along its whole length, px."""
DETOUR_COST, BOX_COST = 0.3, 1.0
"""Costs of each px of detour and of each px inside another box, px."""
NODE_COST, NAME_COST = 150.0, 40.0
"""Costs of each point inside a node and of each point inside a name, px."""
CORNER_COST = 30.0
"""Cost of each corner, px."""


@dataclass(frozen=True)
class Obstacles:
    nodes: np.ndarray
    low: np.ndarray
    """Left and top (m, 2) of the bodies of the nodes, including the gap around them."""
    high: np.ndarray
    names: np.ndarray
    """Rectangles (k, 2, 2) of the names: left and top, right and bottom."""
    named_nodes: np.ndarray
    frames: np.ndarray
    """Rectangles (b, 2, 2) of boxes that hold some but not all of these nodes: left and top, right and bottom."""
    around: tuple[frozenset[int], ...]


def obstacles(sketch: Sketch, where: np.ndarray, among: np.ndarray) -> Obstacles:
    half = np.array([(node.half_width + CLEARANCE, node.half_height + CLEARANCE) for node in sketch.nodes]).reshape(-1, 2)[among]
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


def clip(node: SketchNode, centre: np.ndarray, towards: np.ndarray) -> np.ndarray:
    along = towards - centre
    along = along / max(float(length(along)), 1e-9)
    if node.shape == "junction":
        return centre + along * (max(node.half_width, node.half_height) + GAP)
    half = np.array([node.half_width + GAP, node.half_height + GAP])
    return centre + along * float(np.min(half / np.maximum(np.abs(along), 1e-9)))


def within(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.all((points[:, None] > low) & (points[:, None] < high), axis=2)


def foreign_boxes(world: Obstacles, tail: int, head: int) -> np.ndarray:
    return np.array([k for k, inside in enumerate(world.around) if tail not in inside and head not in inside], dtype=int)


def price(route: Route, index: int, sketch: Sketch, world: Obstacles, lines: DrawnLines) -> float:
    edge, points = sketch.edges[index], route.points
    own_nodes = np.flatnonzero((world.nodes == edge.tail) | (world.nodes == edge.head))
    low, high = points.min(axis=0), points.max(axis=0)
    near = np.all((world.high > low) & (world.low < high), axis=1)
    near[own_nodes] = False
    cost = NODE_COST * int(within(points, world.low[near], world.high[near]).sum())
    cost += NODE_COST * int(within(points[2:-2], world.low[own_nodes] + CLEARANCE, world.high[own_nodes] - CLEARANCE).sum())
    others = (world.named_nodes != edge.tail) & (world.named_nodes != edge.head)
    cost += NAME_COST * int(within(points, world.names[others, 0], world.names[others, 1]).sum())
    foreign = foreign_boxes(world, edge.tail, edge.head)
    spacing = route.length / max(len(points) - 1, 1)
    cost += BOX_COST * spacing * int(within(points, world.frames[foreign, 0], world.frames[foreign, 1]).any(axis=1).sum())
    cost += DETOUR_COST * max(route.length - float(length(route.end - route.start)), 0.0)
    cost += CORNER_COST * (len(route.corners) - 2) * (route.reach < FULLY_CURVED)
    cost += lines.cost(route, edge)
    return float(cost)


CORNER_RADIUS = 14.0
"""Reach of the rounded corners, px."""
STREET_GAP = 9.0
"""Distance from a node to the street beside it, px; this street is omitted if another is nearer to it than `STREET_GAP` - 2."""
MAX_ACCESS = 120.0
"""Maximum distance from a node to the crossing where its edge enters a street, px."""
SHARED_POINT_COST = 30.0
"""Cost of each point that an edge shares with another edge in the same street, px."""
_MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))


@dataclass(frozen=True)
class RoutingGrid:
    """Streets: horizontal and vertical lines at ys and xs, in sections from crossing to crossing."""

    xs: np.ndarray
    ys: np.ndarray
    in_nodes: tuple[np.ndarray, np.ndarray]
    """Masks (x, y) of the horizontal and the vertical sections that pass through a node's rectangle."""
    in_names: tuple[np.ndarray, np.ndarray]
    """Number of names, (x, y), through which each horizontal and each vertical section passes."""
    in_frames: tuple[np.ndarray, np.ndarray]
    """Masks (b, x, y) of the horizontal and the vertical sections that are in a box."""


def routing_grid(world: Obstacles) -> RoutingGrid:
    lines = []
    for axis in (0, 1):
        low, high = world.low[:, axis], world.high[:, axis]
        middles = sorted(set(((low + high) / 2).round(3).tolist()))
        edges = sorted({*(low - STREET_GAP).round(3).tolist(), *(high + STREET_GAP).round(3).tolist()})
        kept = list(middles)
        for edge in edges:
            if all(abs(edge - other) >= STREET_GAP - 2.0 for other in kept):
                kept.append(edge)
        lines.append(np.array(sorted(kept)))
    xs, ys = lines

    def sections(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        left, top = low[:, 0, None, None], low[:, 1, None, None]
        right, bottom = high[:, 0, None, None], high[:, 1, None, None]
        x, y = xs[None, :, None], ys[None, None, :]
        horizontal = (x[:, :-1] < right) & (x[:, 1:] > left) & (y > top) & (y < bottom)
        vertical = (x > left) & (x < right) & (y[:, :, :-1] < bottom) & (y[:, :, 1:] > top)
        return horizontal, vertical

    nodes, names = sections(world.low, world.high), sections(world.names[:, 0], world.names[:, 1])
    return RoutingGrid(
        xs,
        ys,
        (np.any(nodes[0], axis=0), np.any(nodes[1], axis=0)),
        (names[0].sum(axis=0), names[1].sum(axis=0)),
        sections(world.frames[:, 0], world.frames[:, 1]),
    )


def detour(
    sketch: Sketch, where: np.ndarray, index: int, grid: RoutingGrid, world: Obstacles, lines: DrawnLines, budget: Budget
) -> Route | None:
    edge = sketch.edges[index]
    if edge.tail == edge.head:
        return None
    costs = _costs(sketch, index, grid, world, lines)
    away = _ends(sketch, where, edge.tail, grid, world, lines)
    back = _ends(sketch, where, edge.head, grid, world, lines)
    path = _shortest(grid, costs, away, back, where[edge.head], budget)
    if path is None:
        return None
    corners = [np.array([grid.xs[i], grid.ys[j]]) for i, j in path]
    start = clip(sketch.nodes[edge.tail], where[edge.tail], corners[0])
    end = clip(sketch.nodes[edge.head], where[edge.head], corners[-1])
    return through([start, *corners, end], CORNER_RADIUS)


def _costs(
    sketch: Sketch, index: int, grid: RoutingGrid, world: Obstacles, lines: DrawnLines
) -> tuple[list[list[float]], list[list[float]]]:
    edge = sketch.edges[index]
    foreign = foreign_boxes(world, edge.tail, edge.head)
    spans = (np.diff(grid.xs)[:, None], np.diff(grid.ys)[None, :])
    occupancy = lines.occupancy(grid.xs, grid.ys)
    share = 1.0 if edge.bond is not None else 0.4
    costs = []
    for kind in (0, 1):
        foreign_here = grid.in_frames[kind][foreign].any(axis=0)
        cost = spans[kind] * (DETOUR_COST + BOX_COST * foreign_here) + share * SHARED_POINT_COST * occupancy[kind]
        cost = cost + NAME_COST * grid.in_names[kind] * np.maximum(spans[kind] / POINT_SPACING, 1.0) * 0.5
        costs.append(np.where(grid.in_nodes[kind], np.inf, cost).tolist())
    return costs[0], costs[1]


MAX_STEPS = 250_000
"""Number of steps of the searches for detours in one picture; the lines that are left when it is used up are direct."""


@dataclass
class Budget:
    """Steps that are left to the searches for detours."""

    steps: int


Ends = dict[tuple[int, int], tuple[float, float, float]]
"""Cost of the path from a node to each crossing, and the direction (x, y) of this path."""


def _ends(sketch: Sketch, where: np.ndarray, node: int, grid: RoutingGrid, world: Obstacles, lines: DrawnLines) -> Ends:
    centre = where[node]
    here = int(np.flatnonzero(world.nodes == node)[0])
    near_crossings = [
        (i, j)
        for i in np.flatnonzero(np.abs(grid.xs - centre[0]) < MAX_ACCESS + 60.0)
        for j in np.flatnonzero(np.abs(grid.ys - centre[1]) < MAX_ACCESS)
    ]
    points = np.array([(grid.xs[i], grid.ys[j]) for i, j in near_crossings]).reshape(-1, 2)
    free = ~within(points, world.low[here : here + 1], world.high[here : here + 1])[:, 0]
    start = np.array([clip(sketch.nodes[node], centre, point) for point in points]).reshape(-1, 2)
    far = length(points - start)
    free &= far < MAX_ACCESS
    close = np.all((world.high > points.min(axis=0)) & (world.low < points.max(axis=0)), axis=1)
    others = np.flatnonzero(close & (world.nodes != node))
    shares = np.linspace(0.0, 1.0, 13)[:, None]
    directions = points - centre
    directions = directions / np.maximum(length(directions), 1e-9)[:, None]
    reached = np.flatnonzero(free)
    crowding = lines.crowding(node, directions[reached])
    ends: Ends = {}
    for k, crowded in zip(reached.tolist(), crowding, strict=True):
        approach = start[k] + shares * (points[k] - start[k])
        if within(approach, world.low[others], world.high[others]).any():
            continue
        along, cost = directions[k], DETOUR_COST * float(far[k]) + CROWDING_COST * crowded
        if min(abs(float(along[0])), abs(float(along[1]))) > 1e-6:
            cost += CORNER_COST
        if float(far[k]) < 16.0:
            cost += CORNER_COST
        ends[int(near_crossings[k][0]), int(near_crossings[k][1])] = (cost, float(along[0]), float(along[1]))
    return ends


def _turn_cost(cosine: float) -> float:
    return 0.0 if cosine > 0.999 else CORNER_COST if cosine > 0.5 else CORNER_COST + 10.0 if cosine > -0.1 else np.inf


def _shortest(
    grid: RoutingGrid,
    costs: tuple[list[list[float]], list[list[float]]],
    away: Ends,
    back: Ends,
    goal: np.ndarray,
    budget: Budget,
) -> list[tuple[int, int]] | None:
    horizontal, vertical = costs
    xs, ys = grid.xs.tolist(), grid.ys.tolist()
    goal_x, goal_y = float(goal[0]), float(goal[1])

    def ahead(i: int, j: int) -> float:
        """Return a lower bound of the remaining cost, without the last step."""
        return DETOUR_COST * max(abs(xs[i] - goal_x) + abs(ys[j] - goal_y) - 2.0 * MAX_ACCESS, 0.0)

    least: dict[tuple[int, int, int], float] = {}
    before: dict[tuple[int, int, int], tuple[int, int, int] | None] = {}
    queue: list[tuple[float, float, tuple[int, int, int]]] = []

    def reach(cost: float, state: tuple[int, int, int], last: tuple[int, int, int] | None) -> None:
        if cost < least.get(state, np.inf) - 1e-9:
            least[state], before[state] = cost, last
            heapq.heappush(queue, (cost + ahead(state[0], state[1]), cost, state))

    for (i, j), (cost, x, y) in sorted(away.items()):
        for heading, (dx, dy) in enumerate(_MOVES):
            if (turn := _turn_cost(x * dx + y * dy)) < np.inf:
                reach(cost + turn, (i, j, heading), None)
    best, last = np.inf, None
    while queue and queue[0][0] < best and budget.steps > 0:
        _, cost, state = heapq.heappop(queue)
        budget.steps -= 1
        if cost > least[state]:
            continue
        i, j, heading = state
        dx, dy = _MOVES[heading]
        if (i, j) in back:
            end_cost, x, y = back[i, j]
            total = cost + end_cost + _turn_cost(-(x * dx + y * dy))
            if total < best - 1e-9:
                best, last = total, state
        k, m = i + dx, j + dy
        if 0 <= k < len(xs) and 0 <= m < len(ys):
            section = horizontal[min(i, k)][j] if dx else vertical[i][min(j, m)]
            if section < np.inf:
                reach(cost + section, (k, m, heading), state)
        for turned in range(4):
            if turned // 2 != heading // 2:
                reach(cost + CORNER_COST + 10.0, (i, j, turned), state)
    if last is None:
        return None
    path = []
    state_or_none: tuple[int, int, int] | None = last
    while state_or_none is not None:
        path.append(state_or_none[:2])
        state_or_none = before[state_or_none]
    return path[::-1]


def routes(sketch: Sketch, where: np.ndarray) -> tuple[Route, ...]:
    """Return a route for each edge, found first inside equal parts, which are routed alike if they are congruent, then for other
    bonds, then for signals."""
    route_of: dict[int, Route] = {}
    for copies in sorted(equal_parts(sketch), key=lambda each: len(each.members[0])):
        for like, part in zip(_mirrored(sketch, where, copies), copies.members, strict=True):
            edges = _edges_inside(sketch, part)
            if like is None:
                _add_routes(sketch, where, edges, route_of, part)
                continue
            mirror, shift = like
            for edge, original in zip(edges, _edges_inside(sketch, copies.members[0]), strict=True):
                route_of.setdefault(edge, Route(route_of[original].corners * mirror + shift, route_of[original].reach))
    _add_routes(sketch, where, range(len(sketch.edges)), route_of, np.array(range(len(sketch.nodes)), dtype=int))
    return tuple(route_of[i] for i in range(len(sketch.edges)))


def _mirrored(sketch: Sketch, where: np.ndarray, copies: Copies) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """Return (mirror, shift) from the first copy to each; None for the first and for copies that are not congruent."""
    first = copies.members[0]
    sizes = np.array([(node.half_width, node.half_height) for node in sketch.nodes]).reshape(-1, 2)
    result: list[tuple[np.ndarray, np.ndarray] | None] = [None]
    for other in copies.members[1:]:
        like = [(mirror, where[other[0]] - mirror * where[first[0]]) for mirror in MIRRORS]
        same = [np.allclose(where[first] * mirror + shift, where[other], atol=1e-6) for mirror, shift in like]
        congruent = any(same) and np.allclose(sizes[first], sizes[other], atol=0.05)
        result.append(like[same.index(True)] if congruent else None)
    return result


def _edges_inside(sketch: Sketch, part: np.ndarray) -> list[int]:
    """Return the edges between nodes of a part, in an order common to its copies."""
    index_of = {int(node): k for k, node in enumerate(part)}
    edges = [
        (index_of[edge.tail], index_of[edge.head], mark_of(edge), index)
        for index, edge in enumerate(sketch.edges)
        if edge.tail in index_of and edge.head in index_of
    ]
    return [index for *_, index in sorted(edges)]


def _add_routes(
    sketch: Sketch, where: np.ndarray, edges: Sequence[int] | range, route_of: dict[int, Route], among: np.ndarray
) -> None:
    world = obstacles(sketch, where, among)
    inside = {int(i) for i in among}
    lines, budget = DrawnLines(sketch), Budget(MAX_STEPS)
    grid: RoutingGrid | None = None
    pairs: dict[frozenset[int], int] = {}
    for i, edge in enumerate(sketch.edges):
        if i not in route_of or edge.tail not in inside or edge.head not in inside:
            continue
        lines.add(i, route_of[i])
        pairs[frozenset((edge.tail, edge.head))] = pairs.get(frozenset((edge.tail, edge.head)), 0) + 1
    for bonds in (True, False):
        obstructed = []
        for index in (i for i in edges if i not in route_of and (sketch.edges[i].bond is not None) == bonds):
            edge = sketch.edges[index]
            ends = frozenset((edge.tail, edge.head))
            used = pairs.get(ends, 0)
            pairs[ends] = used + 1
            best, cost = _direct(sketch, where, index, used, world, lines)
            if cost > MAX_DIRECT_COST:
                obstructed.append((index, used, best))
            else:
                route_of[index] = best
                lines.add(index, best)
        for index, used, best in track(obstructed, "draw lines around nodes"):
            cost = 0.0
            if budget.steps > 0:
                best, cost = _direct(sketch, where, index, used, world, lines)
            if cost > MAX_DIRECT_COST:
                grid = grid or routing_grid(world)
                round_about = detour(sketch, where, index, grid, world, lines, budget)
                if round_about is not None and price(round_about, index, sketch, world, lines) < cost:
                    best = round_about
            route_of[index] = best
            lines.add(index, best)


MAX_BULGE = 34.0
"""Maximum bulge, px, that is tried first for the second and third of parallel edges; later edges start from its multiples."""
MAX_DIRECT_COST = 110.0
"""Cost of a direct line above which a detour is tried, px."""
BULGE_COST = 45.0
"""Cost of a bulge for each bulge that is tried before it, px."""


def _direct(sketch: Sketch, where: np.ndarray, index: int, used: int, world: Obstacles, lines: DrawnLines) -> tuple[Route, float]:
    edge = sketch.edges[index]
    long = float(length(where[edge.head] - where[edge.tail]))
    best, least = None, 0.0
    for k, bulge in enumerate(_bulges(used, edge.bond is None, long)):
        if best is not None and least <= BULGE_COST * k:
            break  # no price is negative
        route = _bent(sketch, where, edge.tail, edge.head, bulge)
        cost = BULGE_COST * k + price(route, index, sketch, world, lines)
        if best is None or cost < least:
            best, least = route, cost
    assert best is not None
    return best, least


def _bulges(used: int, signal: bool, long: float) -> Sequence[float]:
    if used:
        side = 1.0 if used % 2 else -1.0
        first = min(0.16, MAX_BULGE / max(long, 1.0)) * ((used + 1) // 2) * side
        return (first, -first, first * 1.6, -first * 1.6, first * 2.4)
    steps = (0.12, 0.2, 0.3) if signal else (0.12, 0.2)
    return (0.0, *(bulge * side for bulge in steps for side in (1.0, -1.0)))


def _bent(sketch: Sketch, where: np.ndarray, tail: int, head: int, bulge: float) -> Route:
    a, b = where[tail], where[head]
    across = np.array([a[1] - b[1], b[0] - a[0]])
    control = (a + b) / 2 + 2 * bulge * across
    start, end = clip(sketch.nodes[tail], a, control), clip(sketch.nodes[head], b, control)
    return straight(start, end) if bulge == 0 else Route(np.array([start, control, end]), FULLY_CURVED)
