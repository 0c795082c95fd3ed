"""Interpolation of arrays and poses between samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

JUMP_ANGLE = np.radians(60.0)
"""Angle between two samples above which a frame jumps instead of turning."""


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Indices of the samples before and after each of j times, and the position between these samples (0 to 1)."""

    low: NDArray[np.intp]
    high: NDArray[np.intp]
    part: Array

    @classmethod
    def of(cls, t: Array, times: ArrayLike) -> Interpolation:
        at = np.atleast_1d(np.asarray(times, dtype=float))
        low = np.clip(np.searchsorted(t, at, side="right") - 1, 0, max(len(t) - 2, 0))
        high = np.minimum(low + 1, len(t) - 1)
        step = np.where(high > low, t[high] - t[low], 1.0)
        return cls(low, high, np.clip((at - t[low]) / step, 0.0, 1.0))

    def values(self, samples: Array) -> Array:
        w = self.part.reshape((-1,) + (1,) * (samples.ndim - 1))
        return (1.0 - w) * samples[self.low] + w * samples[self.high]

    def poses(self, samples: Array, jumps: bool = False) -> Array:
        """Interpolate poses (j, 4, 4) between samples (k, 4, 4), rotations along the shortest path; with `jumps`, take the nearer
        sample where two differ by more than 60 degrees, as Gauss frames do at a chart change."""
        from scipy.spatial.transform import Rotation

        before, after = (Rotation.from_matrix(samples[k, :3, :3]) for k in (self.low, self.high))
        turn, part = (before.inv() * after).as_rotvec(), self.part[:, None]
        if jumps:
            part = np.where(np.linalg.norm(turn, axis=1, keepdims=True) > JUMP_ANGLE, part >= 0.5, part)
        H = unrotated_poses(self.values(samples[:, :3, 3]))
        H[:, :3, :3] = (before * Rotation.from_rotvec(part * turn)).as_matrix()
        return H


def unrotated_poses(positions: ArrayLike) -> Array:
    p = np.asarray(positions, dtype=float)
    H = np.tile(np.eye(4), (len(p), 1, 1))
    H[:, :3, 3] = p
    return H


def turned_poses(positions: ArrayLike, angle: ArrayLike) -> Array:
    H = unrotated_poses(positions)
    c, s = np.cos(angle), np.sin(angle)
    H[:, 0, 0], H[:, 0, 1], H[:, 1, 0], H[:, 1, 1] = c, -s, s, c
    return H


def poses(p: ArrayLike, q_wxyz: ArrayLike) -> Array:
    from scipy.spatial.transform import Rotation

    H = unrotated_poses(p)
    H[:, :3, :3] = Rotation.from_quat(np.roll(q_wxyz, -1, axis=1)).as_matrix()
    return H


def quaternions(H: Array) -> Array:
    """Return quaternions (k, 4), real part first, of poses (k, 4, 4), with continuous signs."""
    from scipy.spatial.transform import Rotation

    q = np.roll(Rotation.from_matrix(H[:, :3, :3]).as_quat(), 1, axis=1)
    signs = np.concatenate([[1.0], np.where(np.sum(q[1:] * q[:-1], axis=1) < 0.0, -1.0, 1.0)])
    return q * np.cumprod(signs)[:, None]


def in_body_axes(H: Array, points: Array) -> Array:
    return np.einsum("kji,kj->ki", H[:, :3, :3], points - H[:, :3, 3])
