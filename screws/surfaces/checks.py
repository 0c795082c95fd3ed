"""Checks of a new surface: sizes, regularity of the chart, orientation; each refusal is a GeometryError."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from screws.errors import GeometryError
from screws.surfaces import charts
from screws.surfaces.frames import Geometry

if TYPE_CHECKING:
    from screws.surfaces.surface import Surface


def positive(kind: str, **sizes: float) -> None:
    """Refuse sizes that are not positive and finite (G101)."""
    for name, value in sizes.items():
        if not (np.isfinite(value) and value > 0.0):
            raise GeometryError("G101", f"{name} of the {kind} is {value:g} m", "a positive, finite length in m")


def sphere_points(count: int) -> np.ndarray:
    """Unit vectors (count, 3), spread evenly along a spiral."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    r, angle = np.sqrt(1.0 - z * z), np.pi * (1.0 + np.sqrt(5.0)) * k
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def area_element(geometry: Geometry) -> float:
    """|c_u x c_v| of a geometry."""
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
    raise GeometryError(
        "G105",
        f"the chart of the {surface.name} degenerates at (u, v) = ({q[0]:.4g}, {q[1]:.4g}), chart {int(chart)}, "
        f"point ({', '.join(f'{x:.4g}' for x in point)}) m: c_u and c_v are parallel, zero or not finite there",
        "a formula with continuous second derivatives whose c_u and c_v are independent everywhere in its range",
    )


def closed_surface_is_sound(surface: Surface, count: int = 120) -> None:
    """Refuse a closed surface that is irregular (G105) or turned inside out (G104); sampled in both charts."""
    volume = 0.0
    for n in sphere_points(count):
        for chart in (0.0, 1.0):
            q = charts.coordinates(tuple(n), chart)
            if np.sin(q[0]) < charts.MARGIN:
                continue
            geometry = _evaluate(surface, q, chart)
            if chart == charts.better_chart(n):
                volume += float(geometry.H[:3, 3] @ geometry.H[:3, 2]) * area_element(geometry) / np.sin(q[0])
    if abs(volume) < 1e-9 * count * surface.size**3:
        raise GeometryError(
            "G105",
            f"the {surface.name} encloses no volume",
            "a formula c(n) that maps the sphere one to one on a solid",
        )
    _refuse_inward(surface, volume)


def patch_is_sound(surface: Surface, inside: Sequence[float] | None, count: int = 12) -> None:
    """Refuse a single chart that is irregular (G105) or, where the material's side is known, turned inward (G104)."""
    ranges = surface.shape.ranges()
    steps = [np.linspace(a, b, count + 1) for a, b, _ in ranges]
    us, vs = ([0.5 * (a + b) for a, b in pairwise(step)] for step in steps)
    geometries = [_evaluate(surface, (u, v), 0.0) for u in us for v in vs]
    if inside is not None:
        seen = [(g.H[:3, 3] - np.asarray(inside, dtype=float), g.H[:3, 2]) for g in geometries]
        line, normal = min(seen, key=lambda pair: float(pair[0] @ pair[0]))
        _refuse_inward(surface, float(line @ normal))
    elif all(periodic for _, _, periodic in ranges):
        _refuse_inward(surface, sum(float(g.H[:3, 3] @ g.H[:3, 2]) * area_element(g) for g in geometries))


def _refuse_inward(surface: Surface, outward: float) -> None:
    if not outward > 0.0:
        raise GeometryError(
            "G104",
            f"the normal c_u x c_v of the {surface.name} points into the material",
            "exchange u and v, or reverse the sign of one coordinate",
        )
