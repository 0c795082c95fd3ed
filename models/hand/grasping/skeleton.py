"""Skeleton of a hand: joint angles in; places of its joints out, which its pictures are made from."""

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
