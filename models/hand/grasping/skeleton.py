"""Where the joints of a hand are, and poses along its links: what its pictures are made from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.hand.parameters import HandParameters

Array = NDArray[np.float64]


def skeleton(given: HandParameters, joints: Array) -> Array:
    """Places (..., n, 5, 3) of bases, joints 2 to 4 and tip centres for joint angles (..., n, 4), m."""
    turn = given.azimuths + joints[..., 0]
    inward = -np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1)
    up = np.array([0.0, 0.0, 1.0])
    s = np.cumsum(joints[..., 1:], axis=-1)
    places = [np.broadcast_to(given.bases, inward.shape), np.broadcast_to(given.bases, inward.shape)]
    places[1] = places[0] + given.link_lengths[0] * up
    for j in range(3):
        along = np.sin(s[..., j, None]) * inward + np.cos(s[..., j, None]) * up
        places.append(places[-1] + given.link_lengths[j + 1] * along)
    return np.stack(places, axis=-2)


def along(axis: Array, origin: Array) -> Array:
    """Poses (..., 4, 4) whose z axes have given directions (..., 3) at places (..., 3)."""
    least = np.eye(3)[np.argmin(np.abs(axis), axis=-1)]
    x = np.cross(axis, least)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    H = np.zeros((*np.shape(axis)[:-1], 4, 4))
    H[..., :3, :3] = np.stack([x, np.cross(axis, x), axis], axis=-1)
    H[..., :3, 3] = origin
    H[..., 3, 3] = 1.0
    return H
