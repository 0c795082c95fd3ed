"""Stress majorisation: positions in the plane whose distances follow the graph's, from edges with wished lengths.

It starts from classical scaling, and is the same to the last bit everywhere. Source: Gansner, Koren and North (2004).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.render.reproducible import inverse, length, product


def graph_distances(count: int, edges: Sequence[tuple[int, int, float]]) -> np.ndarray:
    """Return shortest distances between all nodes, (count, count); separate components stand two steps apart."""
    import networkx as nx

    graph = nx.MultiGraph()
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from(edges)
    distances = nx.floyd_warshall_numpy(graph)  # sums and minima only, the same everywhere
    reached = np.isfinite(distances)
    distances[~reached] = distances[reached].max(initial=0.0) / 2 + 2.0
    return distances


def _scattered(count: int) -> np.ndarray:
    """Return distinct points (count, 2) in a square of side 1 about the origin: the golden sequence (Roberts, 2018)."""
    multiples = np.arange(1, count + 1)[:, None] * np.array([0.7548776662466927, 0.5698402909980532])
    return multiples - np.floor(multiples) - 0.5


def _scaling(distances: np.ndarray, turns: int = 60) -> np.ndarray:
    """Return classical scaling (Torgerson, 1952): the plane that the distances fit best, found by orthogonal iteration.

    If symmetry leaves the plane open, the scattered start decides.
    """
    squares = distances * distances
    rows = squares.mean(axis=1)
    inner = 0.5 * (rows[:, None] + rows[None, :] - squares - rows.mean())
    x = _scattered(len(distances))
    for _ in range(turns):
        x = product(inner, x)
        first = _unit(x[:, 0])
        x = np.stack([first, _unit(x[:, 1] - (first * x[:, 1]).sum() * first)], axis=1)
    spread = np.sqrt(squares.mean() * len(distances) / 2.0)
    return spread * x + 0.02 * _scattered(len(distances))


def _unit(direction: np.ndarray) -> np.ndarray:
    """Return a vector scaled to length 1; a zero vector, as across nodes on a line, stays zero."""
    size = float(np.sqrt((direction * direction).sum()))
    return direction / size if size > 0.0 else direction


def stress_positions(distances: np.ndarray, steps: int = 80) -> np.ndarray:
    """Return positions (n, 2) that minimise sum over pairs of (|x_i - x_j| / d_ij - 1)^2."""
    count = len(distances)
    if count < 3:
        return np.stack([np.arange(count, dtype=float), np.zeros(count)], axis=1)
    weights = 1.0 / np.maximum(distances * distances, 1e-18)
    weights[np.diag_indices(count)] = 0.0
    total = weights.sum(axis=1)
    laplacian = -weights
    laplacian[np.diag_indices(count)] = total
    mean = total.mean() / count
    solve = inverse(laplacian + mean)  # with the mean of all positions, which the distances leave open, held at zero
    x = _scaling(distances)
    for _ in range(steps):
        pull = -weights * distances / np.maximum(length(x[:, None] - x[None]), 1e-6)
        pull[np.diag_indices(count)] = -pull.sum(axis=1)
        x = product(solve, product(pull, x))
    return x


_SLOPES = np.arange(18) / 18.0
"""Tangents of half the angles that a drawing is turned by, up to a quarter turn: rational rotations."""


def upright(x: np.ndarray, bonds: Sequence[tuple[int, int]]) -> np.ndarray:
    """Turn positions so that many bonds are level or plumb and the picture is wide rather than high."""
    x = x - x.mean(axis=0)
    tails, heads = np.array(bonds, dtype=int).reshape(-1, 2).T
    best, best_score = x, -np.inf
    for quarter in (x, np.stack([-x[:, 1], x[:, 0]], axis=1)):
        for slope in _SLOPES:
            cosine, sine = (1.0 - slope * slope) / (1.0 + slope * slope), 2.0 * slope / (1.0 + slope * slope)
            turned = np.stack(
                [cosine * quarter[:, 0] - sine * quarter[:, 1], sine * quarter[:, 0] + cosine * quarter[:, 1]], axis=1
            )
            wide, high = np.ptp(turned, axis=0) + 0.5
            wideness = 2.0 * (wide / high - 1.0) / (wide / high + 1.0)  # about the logarithm of width over height
            score = _level(turned[heads] - turned[tails]) + 0.8 * min(max(wideness, -1.0), 0.7)
            if score > best_score + 1e-9:
                best, best_score = turned, score
    return best


def _level(along: np.ndarray) -> float:
    """Return the mean cosine of four times the angles of directions (k, 2): 1 for level or plumb, -1 for slanting ones."""
    if not len(along):
        return 0.0
    x, y = along[:, 0] * along[:, 0], along[:, 1] * along[:, 1]
    double = (x - y) / np.maximum(x + y, 1e-12)
    return float((2.0 * double * double - 1.0).mean())
