"""Surfaces of closed bodies, in two polar charts; plane, cylinder and torus, in one chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from screws.errors import GeometryError
from screws.jets import Jet, jet
from screws.numeric_arguments import reals, shown
from screws.scalars import Scalar, array, cos, sin
from screws.surfaces import checks, frames
from screws.surfaces.checks import refuse_edges
from screws.surfaces.frames import Geometry, frame, from_forms, gauss_frame
from screws.surfaces.surface import Coordinates, Surface, Values
from screws.vectors import Triple, cross, dot, length, scaled, times


class Closed:
    closed: bool = True
    letters: ClassVar[tuple[str, ...]] = ()
    latex: ClassVar[tuple[str, ...]] = ()

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        return None

    def ranges(self) -> tuple[tuple[float, float, bool], tuple[float, float, bool]]:
        return ((0.0, float(np.pi), False), (0.0, 2.0 * float(np.pi), True))


@dataclass(frozen=True)
class Sphere(Closed):
    name: str = "sphere"
    letters: ClassVar[tuple[str, ...]] = ("r",)
    latex: ClassVar[tuple[str, ...]] = (r"c = r\,n",)

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        return scaled(frames.point(q, chart), p[0])

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        n, e, g, sin_u, cos_u = frames.direction(q, chart)
        r = p[0]
        k = 1.0 / r
        return Geometry(
            frame(e, g, n, scaled(n, r)),
            array([[r, 0.0], [0.0, r * sin_u]]),
            array([[k, 0.0], [0.0, k]]),
            array([0.0, k * cos_u / sin_u]),
        )

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        return frames.in_better_chart(point)


@dataclass(frozen=True)
class Ellipsoid(Closed):
    name: str = "ellipsoid"
    letters: ClassVar[tuple[str, ...]] = ("a_x", "a_y", "a_z")
    latex: ClassVar[tuple[str, ...]] = (r"c = (a_x\,n_x, a_y\,n_y, a_z\,n_z)",)

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        return times(frames.point(q, chart), (p[0], p[1], p[2]))

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        n, e, g, sin_u, cos_u = frames.direction(q, chart)
        axes = (p[0], p[1], p[2])
        cofactors = (p[1] * p[2], p[2] * p[0], p[0] * p[1])
        c, c_s, c_t, normal = times(n, axes), times(e, axes), times(g, axes), times(n, cofactors)
        m11, area = length(c_s), length(normal)
        x, z = scaled(c_s, 1.0 / m11), scaled(normal, 1.0 / area)
        y = cross(z, x)
        # c_ss = c_tt = -c and c_st = 0 along the great circles of e and g.
        bend = -(p[0] * cofactors[0] / area)
        return from_forms(
            frame(x, y, z, c), (m11, dot(x, c_t), area / m11), (bend, 0.0, bend), (-dot(y, c), 0.0), sin_u, cos_u / sin_u
        )

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        return frames.in_better_chart(point / np.asarray(p, dtype=float))


@dataclass(frozen=True)
class ClosedFormula(Closed):
    """Surface c = formula(n, *parameters), differentiated by jets along two great circles through n."""

    formula: Callable[..., Any]
    name: str = "closed surface"

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        return triple(self.formula(array(frames.point(q, chart)), *p), self.name)

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        n, e, g, sin_u, cos_u = frames.direction(q, chart)
        seeds = array([Jet(n[i], e[i], g[i], -n[i], 0.0, -n[i]) for i in range(3)])
        return gauss_frame(*derivatives(self.formula(seeds, *p), self.name), sin_u, cos_u / sin_u)


def triple(value: Any, name: str) -> Triple:
    try:
        x, y, z = value
    except (TypeError, ValueError):
        title = f"the formula of the {name} returns {type(value).__name__} instead of three coordinates"
        raise GeometryError("G107", title, "return (x, y, z) in m") from None
    return (x, y, z)


def derivatives(value: Any, name: str) -> tuple[Triple, Triple, Triple, Triple, Triple, Triple]:
    """Return (c, c_u, c_v, c_uu, c_uv, c_vv) from the jets of a formula's result."""
    x, y, z = (jet(component).parts() for component in triple(value, name))
    return tuple(zip(x, y, z, strict=True))  # type: ignore[return-value]


def sphere(radius: float) -> Surface:
    """Return a sphere about the object origin; `radius` in m. Raises `GeometryError` G101 unless it is positive and finite."""
    checks.check_positive("sphere", radius=radius)
    return Surface(Sphere(), {"radius": float(radius)}, float(radius))


def ellipsoid(semi_axes: Sequence[float]) -> Surface:
    """Return an ellipsoid about the object origin with semi-axes (a, b, c) along x, y, z, m.

    Raises `GeometryError` G101 unless they are three positive, finite lengths.
    """
    axes = reals(semi_axes, 3)
    if axes is None:
        title = f"the semi-axes of the ellipsoid are {shown(semi_axes)}"
        raise GeometryError("G101", title, "three positive, finite lengths (a, b, c) in m")
    sizes = dict(zip("abc", map(float, axes), strict=True))
    checks.check_positive("ellipsoid", **sizes)
    return Surface(Ellipsoid(), sizes, max(sizes.values()))


def closed_surface(
    formula: Callable[..., Any], parameters: Mapping[str, float] | None = None, name: str = "closed surface"
) -> Surface:
    """Return the closed surface c = formula(n, *parameters) with n = (nx, ny, nz) on the unit sphere, an array (3,).

    Parameters
    ----------
    formula : plain formula of any scalar (functions from `screws.scalars`) that returns (x, y, z), m.
    parameters : numbers by name; passed to the formula in this order and kept as run-time inputs.

    Raises `GeometryError` G101 for a parameter that is not a number, G104 for an inward normal, G105 for a surface that is not
    regular or has a sharp edge or tip, G107 if the formula fails or does not return three coordinates.

    >>> pebble = closed_surface(lambda n, a: (a * n[0], a * n[1], 0.5 * a * n[2]), {"a": 0.02})
    >>> pebble.point((1.5707963267948966, 0.0)).round(6).tolist()
    [0.02, 0.0, 0.0]
    """
    if not callable(formula):
        raise GeometryError("G107", f"the formula of the {name} is not a function", "a function of n and the parameters")
    numbers = checks.checked_parameters(name, parameters)
    with checks.evaluating(name, ", ".join(["n", *numbers])):
        return checked_surface(ClosedFormula(formula, name), numbers)


def checked_surface(shape: Any, parameters: dict[str, float]) -> Surface:
    unsized = Surface(shape, parameters, 1.0)
    points = np.array([unsized.point(*frames.in_better_chart(n)) for n in checks.sphere_points(60)], dtype=float)
    size = float(np.max(np.ptp(points, axis=0))) / 2.0 if np.all(np.isfinite(points)) else 1.0
    surface = Surface(shape, parameters, size)
    checks.check_closed_surface(surface)
    refuse_edges(surface)
    return surface


_TURN = 2.0 * float(np.pi)
_INFINITE = (-float("inf"), float("inf"), False)


@dataclass(frozen=True)
class Plane:
    """Plane c = (u, v, 0), with the material below."""

    name: str = "plane"
    closed: bool = False
    letters: ClassVar[tuple[str, ...]] = ()
    latex: ClassVar[tuple[str, ...]] = ("c = (u, v, 0)",)

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        return (q[0], q[1], 0.0)

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        H = array([[1.0, 0.0, 0.0, q[0]], [0.0, 1.0, 0.0, q[1]], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        return Geometry(H, np.eye(2), np.zeros((2, 2)), np.zeros(2))

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        return np.array([point[0], point[1]], dtype=float), 0.0

    def ranges(self) -> tuple[tuple[float, float, bool], tuple[float, float, bool]]:
        return (_INFINITE, _INFINITE)


@dataclass(frozen=True)
class Cylinder:
    name: str = "cylinder"
    closed: bool = False
    letters: ClassVar[tuple[str, ...]] = ("r",)
    latex: ClassVar[tuple[str, ...]] = (r"c = (r \cos u, r \sin u, v)",)

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        return (p[0] * cos(q[0]), p[0] * sin(q[0]), q[1])

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        r, s, c = p[0], sin(q[0]), cos(q[0])
        return Geometry(
            frame((-s, c, 0.0), (0.0, 0.0, 1.0), (c, s, 0.0), (r * c, r * s, q[1])),
            array([[r, 0.0], [0.0, 1.0]]),
            array([[1.0 / r, 0.0], [0.0, 0.0]]),
            np.zeros(2),
        )

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        return np.array([np.arctan2(point[1], point[0]), point[2]], dtype=float), 0.0

    def ranges(self) -> tuple[tuple[float, float, bool], tuple[float, float, bool]]:
        return ((-0.5 * _TURN, 0.5 * _TURN, True), _INFINITE)


@dataclass(frozen=True)
class Torus:
    name: str = "torus"
    closed: bool = False
    letters: ClassVar[tuple[str, ...]] = ("R", "r")
    latex: ClassVar[tuple[str, ...]] = (r"c = ((R + r \sin u) \cos v, (R + r \sin u) \sin v, r \cos u)",)

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        rim = p[0] + p[1] * sin(q[0])
        return (rim * cos(q[1]), rim * sin(q[1]), p[1] * cos(q[0]))

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        r, su, cu, sv, cv = p[1], sin(q[0]), cos(q[0]), sin(q[1]), cos(q[1])
        rim = p[0] + r * su
        over = 1.0 / rim
        return Geometry(
            frame((cu * cv, cu * sv, -su), (-sv, cv, 0.0), (su * cv, su * sv, cu), (rim * cv, rim * sv, r * cu)),
            array([[r, 0.0], [0.0, rim]]),
            array([[1.0 / r, 0.0], [0.0, su * over]]),
            array([0.0, cu * over]),
        )

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        rim = float(np.hypot(point[0], point[1]))
        u = np.arctan2(rim - p[0], point[2])
        return np.array([u, np.arctan2(point[1], point[0])], dtype=float), 0.0

    def ranges(self) -> tuple[tuple[float, float, bool], tuple[float, float, bool]]:
        return ((-0.5 * _TURN, 0.5 * _TURN, True), (-0.5 * _TURN, 0.5 * _TURN, True))


def plane(extent: float = 1.0) -> Surface:
    """Return the plane z = 0 of the object frame, with the material below; `extent` (m) is half the side of its picture.

    Raises `GeometryError` G101 unless the extent is positive and finite.
    """
    checks.check_positive("plane", extent=extent)
    return Surface(Plane(), {}, float(extent))


def cylinder(radius: float, extent: float | None = None) -> Surface:
    """Return an infinitely long cylinder about the z axis; `radius` in m; `extent` (m) is half the length of its picture, by
    default the diameter. Raises `GeometryError` G101 unless both are positive and finite."""
    checks.check_positive("cylinder", radius=radius)
    size = 2.0 * radius if extent is None else extent
    checks.check_positive("cylinder", extent=size)
    return Surface(Cylinder(), {"radius": float(radius)}, float(size))


def torus(R: float, r: float) -> Surface:
    """Return a torus about the z axis: centre circle of radius R, tube of radius r, m.

    Raises `GeometryError` G101 for sizes that are not positive, G106 if r is not less than R: the surface would intersect itself.
    """
    checks.check_positive("torus", R=R, r=r)
    if r >= R:
        raise GeometryError("G106", f"the torus with R = {R:g} m and r = {r:g} m intersects itself", "a tube with r < R")
    return Surface(Torus(), {"R": float(R), "r": float(r)}, float(R + r))
