"""Arrays of nearest points and of placed shapes, and small vector arithmetic over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class PlacedShapes(NamedTuple):
    """Shapes of one kind in the world, (m, ...) each."""

    R: np.ndarray
    """Axes, (m, 3, 3)."""
    p: np.ndarray
    """Origins, (m, 3), m."""
    half: np.ndarray
    """Half lengths of the cores, (m, 3), m."""
    radius: np.ndarray
    """(m,), m."""

    def take(self, rows: np.ndarray) -> PlacedShapes:
        """Select rows."""
        return PlacedShapes(self.R[rows], self.p[rows], self.half[rows], self.radius[rows])


class NearestPoints(NamedTuple):
    """Nearest points of pairs of shapes; a pair may have any number of them."""

    pair: np.ndarray
    """Index of the pair, (k,) integers."""
    p1: np.ndarray
    """On the first shape, (k, 3), m, in the world."""
    p2: np.ndarray
    """On the second, (k, 3), m."""
    normal: np.ndarray
    """Unit vectors (k, 3) from the first to the second."""
    gap: np.ndarray
    """normal . (p2 - p1), (k,), m; negative where the shapes overlap."""

    def swapped(self) -> NearestPoints:
        """Exchange the first and the second shape."""
        return NearestPoints(self.pair, self.p2, self.p1, -self.normal, self.gap)

    def take(self, rows: np.ndarray) -> NearestPoints:
        """Select rows."""
        return NearestPoints(self.pair[rows], self.p1[rows], self.p2[rows], self.normal[rows], self.gap[rows])


def concatenated(parts: list[NearestPoints]) -> NearestPoints:
    """Concatenate; an empty record for an empty list."""
    if not parts:
        return NearestPoints(np.zeros(0, dtype=np.intp), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
    return NearestPoints(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a . b over the last axis."""
    return np.einsum("...i,...i->...", a, b)


def crosses(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a x b over the last axis, at a third of the cost of `np.cross` for short arrays."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def rotate(R: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return R v for each of (m, 3, 3) and (m, 3)."""
    return np.matmul(R, v[..., None])[..., 0]


def rotate_back(R: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return R' v for each of (m, 3, 3) and (m, 3)."""
    return np.matmul(v[..., None, :], R)[..., 0, :]


def directions(v: np.ndarray, spare: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors along (k, 3) and the lengths (k,); for a zero vector the direction of `spare`, else x."""
    length = np.sqrt(dots(v, v))
    zero = length == 0.0
    if not zero.any():
        return v / length[:, None], length
    unit = np.where(zero[:, None], spare, v)
    size = np.sqrt(dots(unit, unit))
    unit = np.where((size == 0.0)[:, None], np.array([1.0, 0.0, 0.0]), unit)
    return unit / np.where(size == 0.0, 1.0, size)[:, None], length
