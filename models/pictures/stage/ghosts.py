"""Ghosts: the poses of a solid and the present in; the samples at which it is shown once more out."""

from __future__ import annotations

import numpy as np
from screwbond.models.pictures.interpolation import Array

COVERS = 0.6
"""Two ghosts that lie less than this part of their spacing apart cover each other."""


def ghost_samples(
    poses: Array, t: Array, now: float, count: int, spacing: float, around: bool = False, since: float = -np.inf
) -> list[int]:
    """Samples of earlier (and, around, later) poses, nearest first, whose origins lie `spacing` (m) of travel apart.

    Where a path comes round again, a ghost that would cover one that is shown is left out. What was before `since` (s) does not
    count.
    """
    first = int(np.searchsorted(t, since))
    if first == len(t) or now < t[first]:
        return []
    poses, t = poses[first:], t[first:]
    travel = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1))])
    here = float(np.interp(now, t, travel))
    if around:
        # Poses before and after stand at equal distances from the present one, the earlier of two counts as nearer.
        marks = [here + spacing * step for k in range(1, count + 1) for step in (-k, k)]
    else:
        last = int(here / spacing)
        marks = [spacing * k for k in range(last, -1, -1) if here - spacing * k > 0.45 * spacing]
    least = 1e-9 * spacing  # what rounding may take from a mark at an end
    shown = [mark for mark in marks if -least <= mark <= travel[-1] + least]
    samples = [int(np.searchsorted(travel, min(mark, travel[-1]) - least)) for mark in shown[:count]]
    found: list[int] = []
    for k in samples:
        if all(np.linalg.norm(poses[k, :3, 3] - poses[j, :3, 3]) > COVERS * spacing for j in found):
            found.append(k)
    return [first + k for k in found]
