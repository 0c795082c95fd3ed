"""Surfaces with a single chart: plane, cylinder, torus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from screws.errors import GeometryError
from screws.scalars import Scalar, array, cos, sin
from screws.surfaces import checks
from screws.surfaces.frames import Geometry, frame
from screws.surfaces.surface import Coordinates, Surface, Values
from screws.vectors import Triple

_TURN = 2.0 * float(np.pi)
_INFINITE = (-float("inf"), float("inf"), False)


@dataclass(frozen=True)
class Plane:
    """c = (u, v, 0), material below."""

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
    """c = (r cos u, r sin u, v), infinitely long."""

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
    """c = ((R + r sin u) cos v, (R + r sin u) sin v, r cos u)."""

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
    """Return the plane z = 0 of the object frame, material below; `extent` (m) is half the side of its picture."""
    checks.check_positive("plane", extent=extent)
    return Surface(Plane(), {}, float(extent))


def cylinder(radius: float, extent: float | None = None) -> Surface:
    """Return an infinitely long cylinder about the z axis, radius in m; `extent` (m) is half the length of its picture."""
    checks.check_positive("cylinder", radius=radius)
    size = 2.0 * radius if extent is None else extent
    checks.check_positive("cylinder", extent=size)
    return Surface(Cylinder(), {"radius": float(radius)}, float(size))


def torus(R: float, r: float) -> Surface:
    """Return a torus about the z axis: centre circle of radius R, tube of radius r, m.

    Raises `GeometryError` G101 sizes not positive, G106 tube not thinner than R: the surface would cut itself.
    """
    checks.check_positive("torus", R=R, r=r)
    if r >= R:
        raise GeometryError("G106", f"the torus with R = {R:g} m and r = {r:g} m cuts itself", "a tube with r < R")
    return Surface(Torus(), {"R": float(R), "r": float(r)}, float(R + r))
