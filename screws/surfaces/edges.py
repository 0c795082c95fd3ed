"""Search a new surface for edges, tips and steps, where it has no tangent plane; each refusal is a GeometryError."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from screws.errors import GeometryError
from screws.surfaces import charts
from screws.surfaces.frames import Geometry
from screws.surfaces.surface import Surface

_BEND = 0.05
"""Turn of the normal, rad, beyond what the curvature at both ends of an interval explains, from which it is looked into."""
_STEP = 4.0
"""Turn of the normal, rad, that counts as much as a step of the point by the surface's size."""
_SHARPEST = 1e-6
"""Interval in sizes within which a normal that still turns by `_BEND` has an edge."""
_SMOOTH = 0.5
"""Share of its jump that is left in half of an interval: two times less than this, and the surface is smooth there."""
_CURVED, _GROWTH, _LOOKS, _TIP = 0.5, 1.5, 24, 1e5
"""Curvature times size from which a grid point may be near a tip; least growth of the curvature in each window of half the width
that leads to it; number of windows; curvature times size of a tip."""
_CAP = 0.45
"""Half the angle of the polar caps of a closed surface, rad, which its other chart covers."""


@dataclass(frozen=True)
class SurfacePoint:
    """Point of a surface with its normal and their derivatives along u and v, all (3,) or (3, 2)."""

    q: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    tangents: np.ndarray
    bend: np.ndarray
    curvature: float


def refuse_edges(surface: Surface, lines: int = 10) -> None:
    """Refuse a surface whose normal or point jumps anywhere along a grid, or whose curvature grows without bound (G105)."""
    for chart, us, vs in _grids(surface, lines):
        grid = [[_point(surface, np.array([u, v]), chart) for v in vs] for u in us]
        for line in [*grid, *zip(*grid, strict=True)]:
            for a, b in pairwise(line):
                _refuse_jump(surface, chart, a, b)
        _refuse_tip(surface, chart, [point for line in grid for point in line if point is not None], (us, vs))


def _grids(surface: Surface, lines: int) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Return charts with the coordinates of grid lines in them, which avoid the middle, where symmetric formulas are special."""
    if not surface.closed:
        (u0, u1, _), (v0, v1, _) = surface.shape.ranges()
        yield 0.0, u0 + np.linspace(0.004, 0.997, lines) * (u1 - u0), v0 + np.linspace(0.006, 0.995, lines) * (v1 - v0)
        return
    low, cap = float(np.arcsin(charts.MARGIN)), np.linspace(-_CAP, 1.03 * _CAP, lines // 2)
    yield 0.0, np.linspace(low + 1e-3, np.pi - low - 2e-3, lines), np.linspace(-np.pi, np.pi, 2 * lines) + 0.0123
    for pole in (-0.5 * np.pi, 0.5 * np.pi):
        yield 1.0, 0.5 * np.pi + cap, pole + cap


def _point(surface: Surface, q: np.ndarray, chart: float) -> SurfacePoint | None:
    """Return a point of a surface; None where the formula has no finite value."""
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
    """Return by how much normal or point change from a to b beyond their mean slope, rad."""
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
        middle = _point(surface, q, chart)
        if middle is None:
            return
        before, a, b = jump, *max(((a, middle), (middle, b)), key=lambda ends: _jump(surface, *ends))
        jump = _jump(surface, a, b)
        shrunk = shrunk + 1 if jump < _SMOOTH * before else 0


def _refuse_tip(surface: Surface, chart: float, points: Sequence[SurfacePoint], lines: tuple[np.ndarray, np.ndarray]) -> None:
    """Refuse a tip: the curvature keeps growing in smaller and smaller windows around the most curved point of a grid."""
    sharpest = max(points, key=lambda point: point.curvature, default=None)
    if sharpest is None:
        return
    reach, expected = np.array([line[1] - line[0] for line in lines]), max(_CURVED / surface.size, 0.3 * sharpest.curvature)
    for _ in range(_LOOKS):
        if sharpest.curvature < expected:
            return
        around = (_point(surface, sharpest.q + reach * (np.array(corner) - 1.0), chart) for corner in np.ndindex(3, 3))
        sharpest = max((point for point in around if point is not None), key=lambda point: point.curvature, default=sharpest)
        reach, expected = 0.5 * reach, _GROWTH * expected
    if sharpest.curvature * surface.size > _TIP:
        raise _edge(surface, chart, sharpest.q, "a tip")


def _edge(surface: Surface, chart: float, q: np.ndarray, kind: str) -> GeometryError:
    point = np.asarray(surface.point(q, chart), dtype=float)
    where = f"({', '.join(f'{x:.4g}' for x in point)}) m, (u, v) = ({q[0]:.4g}, {q[1]:.4g})"
    title = f"the {surface.name} has {kind} at {where}: there is no tangent plane, and a contact needs one"
    cure = "a round transition: sqrt(x * x + r * r) in place of absolute(x), or a surface for each smooth side"
    return GeometryError("G105", title, cure)
