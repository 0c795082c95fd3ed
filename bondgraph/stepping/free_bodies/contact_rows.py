"""Candidates, twists and inertias in -> the rows of a step's contacts, and impulses of the step before as a guess, out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.stepping.free_bodies.gauss_seidel import Contacts
from screws.shapes import PointPairs
from screws.shapes.nearest_points import crosses, dots

__all__ = ["Touch", "contact_rows", "guess"]

RECOVERY = 0.2
"""Share of an overlap that a step takes back: all at once, and bodies would leave with the speed that this needs."""


@dataclass(frozen=True, eq=False)
class Touch:
    """Candidates of one step with the friction and restitution of each."""

    pairs: PointPairs
    friction: np.ndarray
    restitution: np.ndarray


def tangents(normal: np.ndarray) -> np.ndarray:
    """Rows (n, 3, 3): each normal, and two unit vectors perpendicular to it and each other."""
    helper = np.where(np.abs(normal[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = crosses(normal, helper)
    first /= np.sqrt(dots(first, first))[:, None]
    return np.stack([normal, first, crosses(normal, first)], axis=1)


def contact_rows(
    touch: Touch, inverse: np.ndarray, before: np.ndarray, coming: np.ndarray, h: float
) -> tuple[Contacts, np.ndarray]:
    """Rows of a step of h seconds, and the directions (k, 3, 3) that they are along.

    inverse : M^-1 in world coordinates, (bodies, 6, 6), zero for bodies that nothing moves.
    before, coming : twists (bodies, 6) at the start of the step, and at its end without contacts.
    """
    pairs = touch.pairs
    along = tangents(pairs.normal)
    J1 = -np.concatenate([crosses(pairs.p1[:, None, :], along), along], axis=2)
    J2 = np.concatenate([crosses(pairs.p2[:, None, :], along), along], axis=2)
    response = np.concatenate([np.matmul(J1, inverse[pairs.body1]), np.matmul(J2, inverse[pairs.body2])], axis=2)
    approach = dots(J1[:, 0], before[pairs.body1]) + dots(J2[:, 0], before[pairs.body2])
    arriving = dots(J1[:, 0], coming[pairs.body1]) + dots(J2[:, 0], coming[pairs.body2])
    b = np.zeros((len(pairs), 3))
    open_yet = np.where(pairs.gap > 0.0, pairs.gap, RECOVERY * pairs.gap) / h
    bounces = (pairs.gap + h * arriving <= 0.0) & (touch.restitution > 0.0)
    b[:, 0] = np.where(bounces, np.minimum(open_yet, touch.restitution * np.minimum(approach, 0.0)), open_yet)
    bodies = np.stack([pairs.body1, pairs.body2], axis=1)
    return Contacts(bodies, np.concatenate([J1, J2], axis=2), response, b, touch.friction), along


def guess(pairs: PointPairs, along: np.ndarray, last: tuple[PointPairs, np.ndarray] | None) -> np.ndarray:
    """Impulses (k, 3) of the nearest contact between the same shapes in the step before; zero where there was none.

    last : the candidates of that step, and their impulses in the world (k, 3).
    """
    out = np.zeros((len(pairs), 3))
    if last is None or not len(last[0]) or not len(pairs):
        return out
    earlier, impulses = last
    count = 1 + int(max(pairs.shape2.max(), earlier.shape2.max()))
    key, known = pairs.shape1 * count + pairs.shape2, earlier.shape1 * count + earlier.shape2
    low, high = np.searchsorted(known, key, "left"), np.searchsorted(known, key, "right")
    nearest, best = np.full(len(pairs), np.inf), np.full(len(pairs), -1)
    for k in range(int((high - low).max())):
        row = np.minimum(low + k, len(known) - 1)
        away = dots(pairs.p1 - earlier.p1[row], pairs.p1 - earlier.p1[row])
        nearer = (low + k < high) & (away < nearest)
        nearest, best = np.where(nearer, away, nearest), np.where(nearer, row, best)
    # Each impulse once: two contacts near an old one would take it twice.
    order = np.lexsort((nearest, best))
    first = order[np.flatnonzero(np.diff(best[order], prepend=-1) != 0)]
    first = first[best[first] >= 0]
    out[first] = np.matmul(along[first], impulses[best[first]][..., None])[..., 0]
    return out
