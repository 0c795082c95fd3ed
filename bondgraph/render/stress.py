"""Stress majorisation: edges with wished lengths -> positions in the plane whose distances follow the graph's.

Deterministic: it starts from classical scaling, not from random numbers. Source: Gansner, Koren and North (2004).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def graph_distances(count: int, edges: Sequence[tuple[int, int, float]]) -> np.ndarray:
    """Shortest distances between all nodes, (count, count); separate components stand two steps apart."""
    distances = np.full((count, count), np.inf)
    np.fill_diagonal(distances, 0.0)
    for a, b, length in edges:
        if a != b:
            distances[a, b] = distances[b, a] = min(distances[a, b], length)
    for k in range(count):
        np.minimum(distances, distances[:, k, None] + distances[None, k, :], out=distances)
    reached = np.isfinite(distances)
    distances[~reached] = distances[reached].max(initial=0.0) / 2 + 2.0
    return distances


def _scaling(distances: np.ndarray) -> np.ndarray:
    """Classical scaling (Torgerson, 1952): the plane that the distances fit best, each axis with a definite sign."""
    count = len(distances)
    centring = np.eye(count) - 1.0 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    axes = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-3))
    for axis in axes.T:
        if axis[np.argmax(np.abs(axis).round(6))] < 0:
            axis *= -1.0
    angle = 2.399963 * np.arange(count)
    return axes + 0.02 * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def stress_positions(distances: np.ndarray, steps: int = 80) -> np.ndarray:
    """Positions (n, 2) that minimise sum over pairs of (|x_i - x_j| / d_ij - 1)^2."""
    count = len(distances)
    if count < 3:
        return np.stack([np.arange(count, dtype=float), np.zeros(count)], axis=1)
    weights = 1.0 / np.maximum(distances, 1e-9) ** 2
    np.fill_diagonal(weights, 0.0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights, hermitian=True)
    x = _scaling(distances)
    for _ in range(steps):
        apart = np.linalg.norm(x[:, None] - x[None], axis=2)
        pull = -weights * distances / np.maximum(apart, 1e-6)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        x = inverse @ (pull @ x)
    return x


def upright(x: np.ndarray, bonds: Sequence[tuple[int, int]]) -> np.ndarray:
    """The same positions turned so that many bonds are level or plumb and the picture is wide rather than high."""
    x = x - x.mean(axis=0)
    tails, heads = np.array(bonds, dtype=int).reshape(-1, 2).T
    best, best_score = x, -np.inf
    for angle in np.deg2rad(np.arange(0.0, 180.0, 5.0)):
        turned = x @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        along = turned[heads] - turned[tails]
        level = np.cos(4 * np.arctan2(along[:, 1], along[:, 0])).mean() if len(along) else 0.0
        wide, high = np.ptp(turned, axis=0) + 0.5
        score = level + 0.8 * np.clip(np.log(wide / high), -1.0, 0.7)
        if score > best_score + 1e-9:
            best, best_score = turned, score
    return best
