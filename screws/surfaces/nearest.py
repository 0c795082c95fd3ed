"""Projection of a point onto a surface: coordinates of the nearest surface point, by a Newton iteration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from screws.arrays import Vector3
from screws.errors import GeometryError
from screws.surfaces import checks, frames
from screws.surfaces.frames import Geometry
from screws.surfaces.surface import Surface


class Samples(NamedTuple):
    """Sample points of a surface: q (k, 2), chart (k,), points (k, 3), outward normals (k, 3)."""

    q: np.ndarray
    chart: np.ndarray
    points: np.ndarray
    normals: np.ndarray


def sample(surface: Surface, coordinates: Sequence[tuple[np.ndarray, float]]) -> Samples:
    frames = [surface.geometry(q, chart).H for q, chart in coordinates]
    return Samples(
        np.array([q for q, _ in coordinates], dtype=float),
        np.array([chart for _, chart in coordinates], dtype=float),
        np.array([H[:3, 3] for H in frames], dtype=float),
        np.array([H[:3, 2] for H in frames], dtype=float),
    )


@lru_cache(maxsize=256)
def bounded_samples(surface: Surface, count: int = 400) -> Samples:
    if surface.closed:
        return sample(surface, [frames.in_better_chart(n) for n in checks.sphere_points(count)])
    (u0, u1, _), (v0, v1, _) = surface.shape.ranges()
    steps = (np.arange(int(np.sqrt(count))) + 0.5) / int(np.sqrt(count))
    return sample(surface, [(np.array([u0 + a * (u1 - u0), v0 + b * (v1 - v0)]), 0.0) for a in steps for b in steps])


def after_step(surface: Surface, q: np.ndarray, chart: float, M: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, float]:
    """Return coordinates and chart after a tangential step (2,) in m along the Gauss frame's x and y."""
    dv = step[1] / M[1, 1]
    new = np.array([q[0] + (step[0] - M[0, 1] * dv) / M[0, 0], q[1] + dv], dtype=float)
    if surface.closed and np.sin(new[0]) < frames.MARGIN:
        n = frames.point(new, chart)
        return np.array(frames.coordinates(n, 1.0 - chart), dtype=float), 1.0 - chart
    return new, chart


def nearest_coordinates(surface: Surface, point: Vector3, parameters: Sequence[float] | None = None) -> tuple[np.ndarray, float]:
    """Find the coordinates (2,) and chart of the surface point nearest to `point` (3,), on a closed surface in the chart whose
    pole is far from this point; on an open surface, they may lie beyond its edge.

    Raises `GeometryError` G109 if the iteration does not converge, as it may near a centre of curvature.
    """
    point = np.asarray(point, dtype=float)
    if surface.closed and not np.any(point):
        raise _no_nearest_point(surface, point)
    start = surface.shape.guess(point, surface.values() if parameters is None else parameters)
    if start is None:
        samples = bounded_samples(surface)
        best = int(np.argmin(np.sum((samples.points - point) ** 2, axis=1)))
        start = samples.q[best], float(samples.chart[best])
    q, chart = start
    previous = np.inf
    for _ in range(60):
        geometry: Geometry = surface.geometry(q, chart, parameters)
        H = np.asarray(geometry.H, dtype=float)
        offset = point - H[:3, 3]
        tangential = H[:3, :2].T @ offset
        residual = float(np.hypot(*tangential))
        if residual <= 1e-15 * surface.size or (residual <= 1e-12 * surface.size and residual >= 0.5 * previous):
            return normalised(surface, q, chart)
        previous = residual
        # Newton on the tangential offset: its derivative is -(I + h K), h the height over the surface.
        slope = np.eye(2) + float(H[:3, 2] @ offset) * np.asarray(geometry.K, dtype=float)
        step = np.linalg.solve(slope, tangential) if np.linalg.eigvalsh(slope)[0] > 0.1 else tangential
        step *= min(1.0, 0.3 * surface.size / max(float(np.hypot(*step)), 1e-300))
        q, chart = after_step(surface, q, chart, np.asarray(geometry.M, dtype=float), step)
    raise _no_nearest_point(surface, point)


def _no_nearest_point(surface: Surface, point: np.ndarray) -> GeometryError:
    title = f"no nearest point of the {surface.name} was found for ({', '.join(f'{x:.6g}' for x in point)}) m"
    return GeometryError("G109", title, "a point on or near the surface, away from its centres of curvature")


def normalised(surface: Surface, q: np.ndarray, chart: float) -> tuple[np.ndarray, float]:
    if surface.closed:
        n = frames.point(q, chart)
        new_chart = frames.better_chart(np.array(n))
        return np.array(frames.coordinates(n, new_chart), dtype=float), new_chart
    q = np.array(q, dtype=float)
    for k, (start, stop, periodic) in enumerate(surface.shape.ranges()):
        if periodic:
            q[k] = start + (q[k] - start) % (stop - start)
    return q, chart
