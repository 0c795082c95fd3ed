"""Cost of a drawing on the grid: long edges, crossings, nodes in the way of an edge, wide boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.render.layout.grid import Nesting
from bondgraph.render.layout.parts import Copies
from bondgraph.render.sketch import Sketch

REACH_X, REACH_Y = 0.46, 0.34
"""Half axes, in cells, of the ellipse around a node that an edge should not touch."""


@dataclass(frozen=True)
class Prices:
    """Edges of a sketch as arrays, the costs of their faults (bonds are dear, signals cheap), and pairs that may meet."""

    tails: np.ndarray
    heads: np.ndarray
    length: np.ndarray
    slant: np.ndarray
    cross: np.ndarray
    forward: np.ndarray
    loose: np.ndarray
    """Edges that are not inside a block, in which nothing changes."""
    pairs: tuple[np.ndarray, np.ndarray]
    """Pairs of edges without a common node, of which one is loose."""
    passing_costs: np.ndarray
    """(edges, nodes): cost of an edge that passes a node, 0 at its own ends."""
    edges_at: tuple[np.ndarray, ...]
    """Node -> its edges."""
    neighbours: tuple[np.ndarray, ...]
    """Node -> the nodes at the other ends of its edges."""
    other_edges: tuple[np.ndarray, ...]
    """Node -> all other edges."""
    crossing_costs: tuple[np.ndarray, ...]
    """Node -> (its edges, all others): cost of their crossing, 0 if they have a node in common."""


def prices(sketch: Sketch, blocks: Sequence[Copies] = ()) -> Prices:
    """Return prices of all edges of a sketch; parallel edges count once. Blocks are boxes that stay unchanged inside."""
    bond_ends = {frozenset((edge.tail, edge.head)) for edge in sketch.edges if edge.bond is not None}
    kept: dict[frozenset[int], int] = {}
    for index, edge in enumerate(sketch.edges):
        ends = frozenset((edge.tail, edge.head))
        if len(ends) == 2 and (edge.bond is not None or ends not in bond_ends):
            kept.setdefault(ends, index)
    edges = [sketch.edges[i] for i in kept.values()]
    bond = np.array([edge.bond is not None for edge in edges], dtype=bool)
    tails, heads = np.array([(edge.tail, edge.head) for edge in edges], dtype=int).reshape(-1, 2).T
    count = len(sketch.nodes)
    foreign = np.ones((len(edges), count))
    foreign[np.arange(len(edges)), tails] = foreign[np.arange(len(edges)), heads] = 0.0
    first, second = np.triu_indices(len(edges), 1)
    home = np.arange(count)
    for block in blocks:
        for members in block.members:
            home[members] = -1 - members[0]
    loose = home[tails] != home[heads]
    apart = (foreign[first, tails[second]] * foreign[first, heads[second]] > 0.0) & (loose[first] | loose[second])
    at = tuple(np.flatnonzero((tails == node) | (heads == node)) for node in range(count))
    rest = tuple(np.setdiff1d(np.arange(len(edges)), e) for e in at)
    cross = np.where(bond, 2.2, 0.8)
    fouls = [
        np.minimum(cross[e][:, None], cross[r]) * foreign[e][:, tails[r]] * foreign[e][:, heads[r]]
        for e, r in zip(at, rest, strict=True)
    ]
    return Prices(
        tails,
        heads,
        np.where(bond, 1.0, 0.35),
        np.where(bond, 1.8, 0.15),
        cross,
        np.where(bond, 0.03, 0.06),
        np.flatnonzero(loose),
        (first[apart], second[apart]),
        np.where(bond, 4.0, 1.6)[:, None] * foreign,
        at,
        tuple(np.where(tails[e] == node, heads[e], tails[e]) for node, e in enumerate(at)),
        rest,
        tuple(fouls),
    )


def crossings(p: np.ndarray, q: np.ndarray, r: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return True where segments pq and rs cross inside both; coordinates first, (2, ...), arrays that broadcast."""
    dx, dy, ex, ey = q[0] - p[0], q[1] - p[1], s[0] - r[0], s[1] - r[1]
    one = (dx * (r[1] - p[1]) - dy * (r[0] - p[0])) * (dx * (s[1] - p[1]) - dy * (s[0] - p[0]))
    two = (ex * (p[1] - r[1]) - ey * (p[0] - r[0])) * (ex * (q[1] - r[1]) - ey * (q[0] - r[0]))
    return (one < -1e-9) & (two < -1e-9)


def touches(p: np.ndarray, q: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return how deep segments pq cut into the ellipses around nodes, 0 to 1; coordinates first, arrays that broadcast."""
    ax, ay = (p[0] - centre[0]) / REACH_X, (p[1] - centre[1]) / REACH_Y
    dx, dy = (q[0] - p[0]) / REACH_X, (q[1] - p[1]) / REACH_Y
    along = -(ax * dx + ay * dy) / np.maximum(dx * dx + dy * dy, 1e-12)
    np.clip(along, 0.0, 1.0, out=along)
    inside = 1.0 - (ax + along * dx) ** 2 - (ay + along * dy) ** 2
    return np.where(inside > 0, 0.5 + 0.5 * inside, 0.0)


def _edge_costs(price: Prices, at: np.ndarray | slice, dx: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Return the cost of edges by themselves; (dx, dy) runs from tail to head."""
    x, y = np.abs(dx), np.abs(dy)
    slanting = np.minimum(x, y)
    return (
        price.length[at] * (np.sqrt(x * x + 1.2544 * y * y) + 0.06 * (x + y) * np.sqrt(x + y))
        + price.slant[at] * np.where(slanting > 0, 0.7 + 0.25 * slanting, 0.0)
        - price.forward[at] * dx
    )


def lower_bounds(trials: np.ndarray, price: Prices, boxes: Nesting) -> np.ndarray:
    """Return the cost of many drawings (k, n, 2) without that of crossings and touches, which take longer to find."""
    x = _planes(trials)
    along = x.take(price.heads, axis=2) - x.take(price.tails, axis=2)
    cost = _edge_costs(price, slice(None), along[0], along[1]).sum(axis=1)
    for inside in boxes.members:
        part = x.take(inside, axis=2)
        cost += 0.25 * (part.max(axis=2) - part.min(axis=2)).sum(axis=0)
    return np.asarray(cost)


def total_costs(trials: np.ndarray, price: Prices, boxes: Nesting) -> np.ndarray:
    """Return the cost of many whole drawings (k, n, 2)."""
    x = _planes(trials)
    a, b = x.take(price.tails, axis=2), x.take(price.heads, axis=2)
    i, j = price.pairs
    crossed = crossings(a.take(i, axis=2), b.take(i, axis=2), a.take(j, axis=2), b.take(j, axis=2))
    a, b = a.take(price.loose, axis=2), b.take(price.loose, axis=2)
    touched = touches(a[..., None], b[..., None], x[:, :, None]) * price.passing_costs[price.loose]
    crossings_cost = (crossed * np.minimum(price.cross[i], price.cross[j])).sum(axis=1)
    return np.asarray(lower_bounds(trials, price, boxes) + crossings_cost + touched.sum(axis=(1, 2)))


def total_cost(cells: np.ndarray, price: Prices, boxes: Nesting) -> float:
    """Return the cost of a whole drawing."""
    return float(total_costs(cells[None], price, boxes)[0])


def _planes(trials: np.ndarray) -> np.ndarray:
    """Return trials (k, n, 2) with coordinates first, (2, k, n), contiguous in memory."""
    return np.ascontiguousarray(trials.transpose(2, 0, 1), dtype=float)


def node_costs(node: int, candidates: np.ndarray, cells: np.ndarray, price: Prices, boxes: Nesting) -> np.ndarray:
    """Return the part of the total cost that depends on one node, for every candidate cell (k, 2)."""
    x, p = cells.T.astype(float), candidates.T.astype(float)
    at, rest = price.edges_at[node], price.other_edges[node]
    a, b = x.take(price.tails[rest], axis=1), x.take(price.heads[rest], axis=1)
    cost = (touches(a[:, None], b[:, None], p[:, :, None]) * price.passing_costs[rest, node]).sum(axis=1)
    q = x.take(price.neighbours[node], axis=1)[:, None]
    along = np.where(price.tails[at] == node, 1.0, -1.0) * (q - p[:, :, None])
    cost += _edge_costs(price, at, along[0], along[1]).sum(axis=1)
    p, q = p[:, :, None, None], q[..., None]
    cost += (crossings(p, q, a[:, None, None], b[:, None, None]) * price.crossing_costs[node]).sum(axis=(1, 2))
    cost += (touches(p, q, x[:, None, None]) * price.passing_costs[at]).sum(axis=(1, 2))
    for g in boxes.around[node]:
        inside = boxes.members[g][boxes.members[g] != node]
        if len(inside):
            low = np.minimum(x[:, inside].min(axis=1)[:, None], candidates.T)
            high = np.maximum(x[:, inside].max(axis=1)[:, None], candidates.T)
            cost += 0.25 * (high - low).sum(axis=0)
    return np.asarray(cost)
