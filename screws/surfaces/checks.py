"""Checks of a new surface: sizes, regularity of the chart, orientation, edges and tips; each raises a GeometryError."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from screws.errors import GeometryError, ScrewbondError
from screws.numeric_arguments import real, reals, shown
from screws.surfaces import frames
from screws.surfaces.frames import Geometry
from screws.surfaces.surface import Surface


@contextlib.contextmanager
def evaluating(name: str, arguments: str) -> Iterator[None]:
    try:
        yield
    except ScrewbondError:
        raise
    except Exception as error:
        title = f"the formula of the {name} fails: {type(error).__name__}: {error}"
        cure = f"a formula of {arguments} with functions of screws.scalars (sin, sqrt, where ...) instead of math, NumPy and `if`"
        raise GeometryError("G107", title, cure) from error


def check_positive(kind: str, **sizes: Any) -> None:
    for name, value in sizes.items():
        number = real(value)
        if not (np.isfinite(number) and number > 0.0):
            raise GeometryError("G101", f"{name} of the {kind} is {shown(value)} m", "a positive, finite length in m")


def checked_parameters(kind: str, parameters: Any) -> dict[str, float]:
    for key, value in dict(parameters or {}).items():
        if not np.isfinite(real(value)):
            raise GeometryError("G101", f"the parameter {key} of the {kind} is {shown(value)}", "a finite number")
    return {str(key): real(value) for key, value in dict(parameters or {}).items()}


def checked_range(kind: str, axis: str, limits: Any) -> tuple[float, float]:
    interval = reals(limits, 2)
    if interval is None or not interval[0] < interval[1]:
        ends = " to ".join(shown(end) for end in limits) if np.ndim(limits) == 1 and len(limits) == 2 else shown(limits)
        raise GeometryError("G101", f"the range of {axis} of the {kind} is {ends}", "two finite, ascending numbers")
    return float(interval[0]), float(interval[1])


def sphere_points(count: int) -> np.ndarray:
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    r, angle = np.sqrt(1.0 - z * z), np.pi * (1.0 + np.sqrt(5.0)) * k
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def area_element(geometry: Geometry) -> float:
    return float(geometry.M[0, 0] * geometry.M[1, 1])


def _evaluate(surface: Surface, q: Sequence[float], chart: float) -> Geometry:
    with np.errstate(all="ignore"):
        try:
            geometry = surface.geometry(q, chart)
        except ZeroDivisionError:
            geometry = None
    if geometry is not None:
        numbers = [np.asarray(part, dtype=float) for part in (geometry.H, geometry.M, geometry.K, geometry.T)]
        if all(np.all(np.isfinite(part)) for part in numbers) and area_element(geometry) > 1e-9 * surface.size**2:
            return geometry
    point = np.asarray(surface.point(q, chart), dtype=float)
    where = f"at (u, v) = ({q[0]:.4g}, {q[1]:.4g}), chart {int(chart)}, point ({', '.join(f'{x:.4g}' for x in point)}) m"
    title = f"the chart of the {surface.name} degenerates {where}: c_u and c_v are parallel, zero or not finite there"
    cure = "a formula with continuous second derivatives whose c_u and c_v are independent everywhere in its range"
    raise GeometryError("G105", title, cure)


def check_closed_surface(surface: Surface, count: int = 120) -> None:
    """Refuse a closed surface that is irregular (G105) or turned inside out (G104)."""
    before, volume = _mean_volume(surface, count // 3), _mean_volume(surface, count)
    while abs(volume - before) > 0.5 * abs(volume) and count < 4000:
        count *= 3
        volume, before = _mean_volume(surface, count), volume
    if abs(volume) < 1e-9 * surface.size**3:
        title = f"the {surface.name} does not enclose a volume"
        raise GeometryError("G105", title, "a formula c(n) that maps the sphere one to one onto the surface of a solid")
    _refuse_inward(surface, volume)


def _mean_volume(surface: Surface, count: int) -> float:
    """Return the mean of c . (c_u x c_v) over the sphere, the enclosed volume up to a factor."""
    volume = 0.0
    for n in sphere_points(count):
        for chart in (0.0, 1.0):
            q = frames.coordinates(tuple(n), chart)
            if np.sin(q[0]) < frames.MARGIN:
                continue
            geometry = _evaluate(surface, q, chart)
            if chart == frames.better_chart(n):
                volume += float(geometry.H[:3, 3] @ geometry.H[:3, 2]) * area_element(geometry) / np.sin(q[0])
    return volume / count


def check_patch(surface: Surface, inside: Any, count: int = 12) -> None:
    """Refuse a single chart that is not finite in its whole range, irregular (G105), or turned inward (G104), if `inside` or two
    periodic coordinates define the side of the material."""
    ranges = surface.shape.ranges()
    _check_finite(surface, count)
    steps = [np.linspace(a, b, count + 1) for a, b, _ in ranges]
    us, vs = ([0.5 * (a + b) for a, b in pairwise(step)] for step in steps)
    geometries = [_evaluate(surface, (u, v), 0.0) for u in us for v in vs]
    if inside is not None:
        _check_outward(surface, inside)
    elif all(periodic for _, _, periodic in ranges):
        _refuse_inward(surface, sum(float(g.H[:3, 3] @ g.H[:3, 2]) * area_element(g) for g in geometries))


def _check_finite(surface: Surface, count: int) -> None:
    (u0, u1, _), (v0, v1, _) = surface.shape.ranges()
    for u in np.linspace(u0, u1, count + 1):
        for v in np.linspace(v0, v1, count + 1):
            c = _point(surface, (float(u), float(v)))
            if not np.all(np.isfinite(c)):
                title = f"the formula of the {surface.name} gives ({', '.join(f'{x:.4g}' for x in c)}) m at (u, v) = "
                title += f"({u:.4g}, {v:.4g}), which lies in its range u = {u0:g} to {u1:g}, v = {v0:g} to {v1:g}"
                raise GeometryError("G105", title, "ranges in which the formula is finite, corners included")


def _point(surface: Surface, q: tuple[float, float]) -> np.ndarray:
    with np.errstate(all="ignore"):
        try:
            return np.asarray(surface.point(q), dtype=float)
        except (ZeroDivisionError, OverflowError, ValueError):
            return np.full(3, np.nan)


def _check_outward(surface: Surface, inside: Any) -> None:
    """Refuse a chart whose normal points towards `inside`, a point of the material (G104), and a point that does not
    determine the side (G116)."""
    point = reals(inside, 3)
    if point is None:
        title = f"the point inside the {surface.name} is {shown(inside)}"
        raise GeometryError("G116", title, "three finite numbers (x, y, z), m, within the material near the surface")
    q = _nearest(surface, point)
    geometry = _evaluate(surface, q, 0.0)
    line = np.asarray(geometry.H[:3, 3], dtype=float) - point
    height, distance = float(line @ geometry.H[:3, 2]), float(np.linalg.norm(line))
    if abs(height) <= 1e-6 * max(distance, 1e-3 * surface.size):
        where = "on it" if distance <= 1e-6 * surface.size else f"beside its edge at (u, v) = ({q[0]:.4g}, {q[1]:.4g})"
        title = f"the point inside the {surface.name}, ({', '.join(f'{x:.4g}' for x in point)}) m, lies {where}"
        cure = "a point within the material, under the middle of the patch"
        raise GeometryError("G116", f"{title}: it does not determine the side of the material", cure)
    _refuse_inward(surface, height)


def _nearest(surface: Surface, point: np.ndarray) -> tuple[float, float]:
    """Return the coordinates of the nearest point of a single chart to a point (3,), edges included, by refining the grid in the
    best two ninths of its range."""
    ranges = surface.shape.ranges()

    def search(windows: list[tuple[float, float]]) -> tuple[float, float, float]:
        grid = [(float(u), float(v)) for u in np.linspace(*windows[0], 5) for v in np.linspace(*windows[1], 5)]
        return min((float(np.sum((_point(surface, q) - point) ** 2)), *q) for q in grid)

    edges = [np.linspace(a, b, 4) for a, b, _ in ranges]
    results = [search([one, two]) for one in pairwise(edges[0]) for two in pairwise(edges[1])]
    best = min(results)
    for _, u, v in sorted(results)[:2]:
        q = (u, v)
        half = [(b - a) / 12.0 for a, b, _ in ranges]
        for _ in range(12):
            windows = [
                (x - h, x + h) if periodic else (max(a, x - h), min(b, x + h))
                for x, h, (a, b, periodic) in zip(q, half, ranges, strict=True)
            ]
            near = search(windows)
            best, q = min(best, near), near[1:]
            half = [0.5 * h for h in half]
    return best[1:]


def _refuse_inward(surface: Surface, outward: float) -> None:
    if not outward > 0.0:
        title = f"the normal c_u x c_v of the {surface.name} points into the material"
        exchange = "" if surface.closed else "exchange u and v, or "
        raise GeometryError("G104", title, f"{exchange}reverse the sign of one coordinate")


_BEND = 0.05
"""Threshold, rad: an interval is examined if the normal turns this much more than the curvature at its ends explains."""
_STEP = 4.0
"""Turn of the normal, rad, that counts as much as a step of the point by the surface's size."""
_SHARPEST = 1e-6
"""Width of an interval, relative to the size of the surface, below which a normal that still turns by `_BEND` indicates an
edge."""
_SMOOTH = 0.5
"""Ratio of the jumps after and before halving an interval; smaller ratios twice in a row indicate a smooth surface."""
_CURVED, _GROWTH, _WINDOWS, _TIP = 0.5, 1.5, 24, 1e5
"""Curvature times size above which a grid point may be near a tip; smallest growth of the curvature in each window of half the
width; number of windows; curvature times size of a tip."""
_CAP = 0.45
"""Half-angle, rad, of the polar caps, which the other chart of a closed surface covers."""


@dataclass(frozen=True)
class SurfacePoint:
    """Point (3,) and normal (3,) of a surface, with their derivatives along u and v, `tangents` (3, 2) and `bend` (3, 2)."""

    q: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    tangents: np.ndarray
    bend: np.ndarray
    curvature: float


def refuse_edges(surface: Surface, lines: int = 10) -> None:
    """Refuse a surface whose normal or position jumps along a grid, or whose curvature grows without bound (G105)."""
    for chart, us, vs in _grids(surface, lines):
        grid = [[_edge_point(surface, np.array([u, v]), chart) for v in vs] for u in us]
        for line in [*grid, *zip(*grid, strict=True)]:
            for a, b in pairwise(line):
                _refuse_jump(surface, chart, a, b)
        _refuse_tip(surface, chart, [point for line in grid for point in line if point is not None], (us, vs))


def _grids(surface: Surface, lines: int) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Return charts with the coordinates of their grid lines, which avoid the middle, where symmetric formulas are
    special."""
    if not surface.closed:
        (u0, u1, _), (v0, v1, _) = surface.shape.ranges()
        yield 0.0, u0 + np.linspace(0.004, 0.997, lines) * (u1 - u0), v0 + np.linspace(0.006, 0.995, lines) * (v1 - v0)
        return
    low, cap = float(np.arcsin(frames.MARGIN)), np.linspace(-_CAP, 1.03 * _CAP, lines // 2)
    yield 0.0, np.linspace(low + 1e-3, np.pi - low - 2e-3, lines), np.linspace(-np.pi, np.pi, 2 * lines) + 0.0123
    for pole in (-0.5 * np.pi, 0.5 * np.pi):
        yield 1.0, 0.5 * np.pi + cap, pole + cap


def _edge_point(surface: Surface, q: np.ndarray, chart: float) -> SurfacePoint | None:
    with np.errstate(all="ignore"):
        try:
            geometry: Geometry = surface.geometry(q, chart)
        except ZeroDivisionError:
            return None
    H, M, K = (np.asarray(part, dtype=float) for part in (geometry.H, geometry.M, geometry.K))
    if not (np.isfinite(H).all() and np.isfinite(M).all() and np.isfinite(K).all()):
        return None
    tangents = H[:3, :2] @ M
    return SurfacePoint(q, H[:3, 3], H[:3, 2], tangents, H[:3, :2] @ K @ M, float(np.abs(K).max()))


def _jump(surface: Surface, a: SurfacePoint, b: SurfacePoint) -> float:
    """Return how much more the normal or position changes from a to b than its mean slope explains, rad."""
    dq = b.q - a.q
    turn = b.normal - a.normal - 0.5 * (a.bend + b.bend) @ dq
    step = b.position - a.position - 0.5 * (a.tangents + b.tangents) @ dq
    return max(float(np.linalg.norm(turn)), _STEP * float(np.linalg.norm(step)) / surface.size)


def _refuse_jump(surface: Surface, chart: float, a: SurfacePoint | None, b: SurfacePoint | None) -> None:
    """Refuse an edge or a step between two points of a grid, by halving the interval with the larger jump."""
    if a is None or b is None:
        return
    jump, shrunk = _jump(surface, a, b), 0
    while jump > _BEND and shrunk < 2:
        q, width = 0.5 * (a.q + b.q), float(np.linalg.norm(b.position - a.position))
        if width < _SHARPEST * surface.size or np.abs(b.q - a.q).max() < 1e-12 * np.abs(q).max():
            raise _edge(surface, chart, q, "an edge, a tip or a step")
        middle = _edge_point(surface, q, chart)
        if middle is None:
            return
        before, a, b = jump, *max(((a, middle), (middle, b)), key=lambda ends: _jump(surface, *ends))
        jump = _jump(surface, a, b)
        shrunk = shrunk + 1 if jump < _SMOOTH * before else 0


def _refuse_tip(surface: Surface, chart: float, points: Sequence[SurfacePoint], lines: tuple[np.ndarray, np.ndarray]) -> None:
    """Refuse a tip, where the curvature keeps growing in smaller and smaller windows around the most curved point of a
    grid."""
    sharpest = max(points, key=lambda point: point.curvature, default=None)
    if sharpest is None:
        return
    reach, expected = np.array([line[1] - line[0] for line in lines]), max(_CURVED / surface.size, 0.3 * sharpest.curvature)
    for _ in range(_WINDOWS):
        if sharpest.curvature < expected:
            return
        around = (_edge_point(surface, sharpest.q + reach * (np.array(corner) - 1.0), chart) for corner in np.ndindex(3, 3))
        sharpest = max((point for point in around if point is not None), key=lambda point: point.curvature, default=sharpest)
        reach, expected = 0.5 * reach, _GROWTH * expected
    if sharpest.curvature * surface.size > _TIP:
        raise _edge(surface, chart, sharpest.q, "a tip")


def _edge(surface: Surface, chart: float, q: np.ndarray, kind: str) -> GeometryError:
    point = np.asarray(surface.point(q, chart), dtype=float)
    where = f"({', '.join(f'{x:.4g}' for x in point)}) m, (u, v) = ({q[0]:.4g}, {q[1]:.4g})"
    title = f"the {surface.name} has {kind} at {where}: there is no tangent plane, and a contact needs one"
    cure = "a round transition: sqrt(x * x + r * r) instead of absolute(x), or a surface for each smooth side"
    return GeometryError("G105", title, cure)
