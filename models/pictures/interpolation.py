"""Values between samples: times of samples and times asked for in; arrays and poses at the latter out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

JUMP = np.cos(np.radians(30.0))
"""Cosine of half the turn between two samples from which a frame jumps."""


@dataclass(frozen=True, eq=False)
class Between:
    """For each of j times: the samples before and after it, and how far it is from the first to the second (0 to 1)."""

    low: NDArray[np.intp]
    high: NDArray[np.intp]
    part: Array

    @classmethod
    def of(cls, t: Array, times: ArrayLike) -> Between:
        """Of samples at t (k,), s; times outside are those of the nearest end."""
        at = np.atleast_1d(np.asarray(times, dtype=float))
        low = np.clip(np.searchsorted(t, at, side="right") - 1, 0, max(len(t) - 2, 0))
        high = np.minimum(low + 1, len(t) - 1)
        step = np.where(high > low, t[high] - t[low], 1.0)
        return cls(low, high, np.clip((at - t[low]) / step, 0.0, 1.0))

    def values(self, samples: Array) -> Array:
        """Linear between samples (k, ...)."""
        w = self.part.reshape((-1,) + (1,) * (samples.ndim - 1))
        return (1.0 - w) * samples[self.low] + w * samples[self.high]

    def poses(self, samples: Array, jumps: bool = False) -> Array:
        """Poses (j, 4, 4) between samples (k, 4, 4), rotations along the shortest way; with `jumps` the nearer sample's where two
        differ by more than 60 degrees, as Gauss frames do at a change of chart."""
        a, b = quaternions(samples[self.low]), quaternions(samples[self.high])
        cosine = np.sum(a * b, axis=1, keepdims=True)
        b, cosine = np.where(cosine < 0.0, -b, b), np.abs(cosine)
        angle = np.arccos(np.clip(cosine, 0.0, 1.0))
        w = self.part[:, None]
        near = angle < 1e-6
        sine = np.where(near, 1.0, np.sin(angle))
        mixed = np.where(near, 1.0 - w, np.sin((1.0 - w) * angle) / sine) * a
        mixed = mixed + np.where(near, w, np.sin(w * angle) / sine) * b
        if jumps:
            mixed = np.where(cosine < JUMP, np.where(w < 0.5, a, b), mixed)
        return poses(self.values(samples[:, :3, 3]), mixed)


def poses(p: ArrayLike, q_wxyz: ArrayLike) -> Array:
    """Poses (k, 4, 4) of positions (k, 3) and quaternions (k, 4)."""
    p, q = np.asarray(p, dtype=float), np.asarray(q_wxyz, dtype=float)
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    H = np.zeros((len(p), 4, 4))
    H[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1)
    H[:, 1, :3] = np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1)
    H[:, 2, :3] = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    H[:, :3, 3], H[:, 3, 3] = p, 1.0
    return H


def quaternions(H: Array) -> Array:
    """Quaternions (k, 4), real part first, of the rotations of poses (k, 4, 4), with signs that do not jump."""
    R = H[:, :3, :3]
    # Four times the outer product q q^T: its largest column is safe to divide by (Shepperd, 1978).
    trace = R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2]
    outer = np.empty((len(R), 4, 4))
    outer[:, 0, 0] = 1.0 + trace
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        outer[:, i + 1, i + 1] = 1.0 + 2.0 * R[:, i, i] - trace
        outer[:, 0, i + 1] = outer[:, i + 1, 0] = R[:, k, j] - R[:, j, k]
        outer[:, j + 1, k + 1] = outer[:, k + 1, j + 1] = R[:, k, j] + R[:, j, k]
    best = np.argmax(np.einsum("kii->ki", outer), axis=1)
    q = outer[np.arange(len(R)), best]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    turned = np.concatenate([[1.0], np.where(np.sum(q[1:] * q[:-1], axis=1) < 0.0, -1.0, 1.0)])
    return q * np.cumprod(turned)[:, None]


def seen_from(H: Array, points: Array) -> Array:
    """Points (k, 3) of the world in the axes of poses (k, 4, 4)."""
    return np.einsum("kji,kj->ki", H[:, :3, :3], points - H[:, :3, 3])
