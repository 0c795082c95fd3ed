"""Initial guesses for the search for closest points: samples of both surfaces, and well-spaced pairs among the best of
them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from screws.errors import GeometryError
from screws.surfaces.closed import Cylinder, Plane
from screws.surfaces.nearest import Samples, bounded_samples, nearest_coordinates, sample
from screws.surfaces.surface import Surface


@dataclass(frozen=True, eq=False)
class Bodies:
    """Surfaces of two bodies, each in its own object frame, and the pose (4, 4) of the second in the first."""

    surface1: Surface
    surface2: Surface
    H_1_2: np.ndarray

    @property
    def length(self) -> float:
        return min(self.surface1.size, self.surface2.size)

    def in_first(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        R, p = self.H_1_2[:3, :3], self.H_1_2[:3, 3]
        return samples.points @ R.T + p, samples.normals @ R.T

    def in_second(self, points: np.ndarray) -> np.ndarray:
        return (points - self.H_1_2[:3, 3]) @ self.H_1_2[:3, :3]


class Pair(NamedTuple):
    q1: np.ndarray
    chart1: float
    q2: np.ndarray
    chart2: float


def samples_of(surface: Surface, around: np.ndarray) -> Samples:
    """Sample a surface; an unbounded one only near the points `around` (k, 3), in its object frame."""
    if isinstance(surface.shape, Plane):
        return sample(surface, [(point[:2], 0.0) for point in around])
    if isinstance(surface.shape, Cylinder):
        low, high = float(np.min(around[:, 2])), float(np.max(around[:, 2]))
        steps = np.linspace(low, high, 24)
        turns = np.linspace(-np.pi, np.pi, 24, endpoint=False)
        return sample(surface, [(np.array([u, v]), 0.0) for u in turns for v in steps])
    return bounded_samples(surface)


def common_samples(bodies: Bodies) -> tuple[Samples, Samples]:
    surface1, surface2 = bodies.surface1, bodies.surface2
    if not isinstance(surface1.shape, (Plane, Cylinder)):
        first = bounded_samples(surface1)
        return first, samples_of(surface2, bodies.in_second(first.points))
    if not isinstance(surface2.shape, (Plane, Cylinder)):
        second = bounded_samples(surface2)
        return samples_of(surface1, bodies.in_first(second)[0]), second
    # Two unbounded surfaces have closest points only if they are skew cylinders: the feet of the common normal of their axes.
    foot1, foot2 = _axis_feet(bodies.H_1_2[:3, 2], bodies.H_1_2[:3, 3])
    reach = 2.0 * (surface1.size + surface2.size)
    line = np.linspace(-reach, reach, 9)[:, None] * np.array([0.0, 0.0, 1.0])
    around1, around2 = (np.array([0.0, 0.0, foot]) + line for foot in (foot1, foot2))
    if isinstance(surface2.shape, Plane):
        around2 = bodies.in_second(around1)
    return samples_of(surface1, around1), samples_of(surface2, around2)


def _axis_feet(direction: np.ndarray, origin: np.ndarray) -> tuple[float, float]:
    """Return heights on the z axis and on the line origin + t direction where the two lines are closest; 0, 0 if parallel."""
    cosine = float(direction[2])
    sine_square = 1.0 - cosine * cosine
    if sine_square < 1e-12:
        return 0.0, 0.0
    along, height = float(direction @ origin), float(origin[2])
    t = (cosine * height - along) / sine_square
    return height + t * cosine, t


def starting_pairs(bodies: Bodies, first: Samples, second: Samples, count: int = 20) -> list[Pair]:
    """Return initial guesses for the Newton iteration: the nearest samples, those of the largest separation, the projected pairs,
    and one pair for each of at most `count` nearly stationary regions."""
    points2, normals2 = bodies.in_first(second)
    offset = points2[None, :, :] - first.points[:, None, :]
    square = np.einsum("ijk,ijk->ij", offset, offset)
    height = np.einsum("ijk,ik->ij", offset, first.normals)
    facing = first.normals @ normals2.T
    score = (square - height * height) / bodies.length**2 + 2.0 * (1.0 + facing)

    def pair(i: int, j: int) -> Pair:
        return Pair(first.q[i], float(first.chart[i]), second.q[j], float(second.chart[j]))

    pairs = [pair(*(int(k) for k in np.unravel_index(np.argmin(square), square.shape)))]
    # For convex bodies the gap is the largest separation over all directions.
    separation = np.min(points2 @ first.normals.T, axis=0) - np.einsum("ij,ij->i", first.points, first.normals)
    widest = int(np.argmax(separation))
    pairs.append(pair(widest, int(np.argmin(points2 @ first.normals[widest]))))
    pairs += _projected_pairs(bodies, first, second)

    count_taken, covered = 0, np.zeros(len(first.points), dtype=bool)
    for flat in np.argsort(score, axis=None)[: 40 * count]:
        i, j = divmod(int(flat), score.shape[1])
        if not covered[i]:
            similar = np.linalg.norm(first.normals - first.normals[i], axis=1) <= 0.3
            covered |= similar & (np.linalg.norm(first.points - first.points[i], axis=1) <= 0.3 * bodies.length)
            pairs.append(pair(i, j))
            count_taken += 1
        if count_taken == count:
            break
    return pairs


def facing_pair(bodies: Bodies, rounds: int = 4) -> Pair | None:
    """Return a pair of facing points near the closest points, by alternating projections from the centre of one body; None
    if both are unbounded or a projection fails."""
    surface1, surface2, R, p = bodies.surface1, bodies.surface2, bodies.H_1_2[:3, :3], bodies.H_1_2[:3, 3]
    try:
        if not isinstance(surface2.shape, (Plane, Cylinder)):
            q1, chart1 = nearest_coordinates(surface1, R @ bounded_samples(surface2).points.mean(axis=0) + p)
        elif not isinstance(surface1.shape, (Plane, Cylinder)):
            q1, chart1 = nearest_coordinates(surface1, bounded_samples(surface1).points.mean(axis=0))
        else:
            return None
        for _ in range(rounds):
            q2, chart2 = nearest_coordinates(surface2, bodies.in_second(surface1.point(q1, chart1)))
            q1, chart1 = nearest_coordinates(surface1, R @ surface2.point(q2, chart2) + p)
    except GeometryError:
        return None
    return Pair(q1, chart1, q2, chart2)


def _projected_pairs(bodies: Bodies, first: Samples, second: Samples) -> list[Pair]:
    surface1, surface2, R, p = bodies.surface1, bodies.surface2, bodies.H_1_2[:3, :3], bodies.H_1_2[:3, 3]
    points2, normals2 = bodies.in_first(second)
    pairs: list[Pair] = []
    try:
        q1, chart1 = nearest_coordinates(surface1, points2.mean(axis=0))
        z1 = surface1.geometry(q1, chart1).H[:3, 2]
        j = int(np.argmin(normals2 @ z1))
        pairs.append(Pair(q1, chart1, second.q[j], float(second.chart[j])))
        q2, chart2 = nearest_coordinates(surface2, bodies.in_second(first.points.mean(axis=0)))
        z2 = R @ surface2.geometry(q2, chart2).H[:3, 2]
        i = int(np.argmin(first.normals @ z2))
        pairs.append(Pair(first.q[i], float(first.chart[i]), q2, chart2))
        for _ in range(8):
            q2, chart2 = nearest_coordinates(surface2, bodies.in_second(surface1.point(q1, chart1)))
            q1, chart1 = nearest_coordinates(surface1, R @ surface2.point(q2, chart2) + p)
        pairs.append(Pair(q1, chart1, q2, chart2))
    except GeometryError:
        pass  # a projection from a centre of curvature fails; the sampled pairs remain
    return pairs
