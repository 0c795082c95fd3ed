"""Solids for collision detection: balls, capsules, boxes, half-spaces and convex hulls, placed in a body.

A shape has its own frame, whose pose in the body is `position` and `quaternion`. Curved surfaces with Gauss frames are in
`screws.surfaces`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from screws.errors import GeometryError
from screws.numeric_arguments import fixed_floats, floats, length, real, reals, shown
from screws.poses import pose_from_state

UNIT_TOLERANCE = 1e-3
"""Largest deviation of a quaternion's norm from 1."""


def _length(owner: str, name: str, value: Any) -> float:
    number = real(value)
    if not 0.0 < number < np.inf:
        raise GeometryError("G141", f"{name} of a {owner} is {shown(value)}", "a positive, finite length")
    return number


@dataclass(frozen=True, kw_only=True)
class Solid:
    """Base of all shapes; holds the pose of the shape's frame in the body. Raises `GeometryError` G142 for an invalid pose, G141
    for a radius, length or edge that is not positive and finite."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Origin of the shape's frame in the body's, m."""
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Rotation from shape to body, real part first."""

    def __post_init__(self) -> None:
        p, q = reals(self.position, 3), reals(self.quaternion, 4)
        if p is None or q is None or abs(float(np.linalg.norm(q)) - 1.0) > UNIT_TOLERANCE:
            text = f"position {shown(self.position)}, quaternion {shown(self.quaternion)}"
            title = f"the pose of a {type(self).__name__} in its body is invalid: {text}"
            raise GeometryError("G142", title, "three finite numbers in m, and a unit quaternion (w, x, y, z)")
        q = q / np.linalg.norm(q)
        object.__setattr__(self, "position", tuple(map(float, p)))
        object.__setattr__(self, "quaternion", tuple(map(float, q)))

    @property
    def pose(self) -> np.ndarray:
        """H_body_shape, (4, 4)."""
        return np.asarray(pose_from_state(np.array([*self.quaternion, *self.position])), dtype=float)

    @property
    def half(self) -> np.ndarray:
        """Half lengths (3,), m, of the box around the origin that holds the core of the shape, to which `radius` is added."""
        raise NotImplementedError

    @property
    def radius(self) -> float:
        """Radius added around the core, m; 0 for sharp shapes."""
        return 0.0


@dataclass(frozen=True)
class Ball(Solid):
    """A ball about the origin of its frame.

    >>> Ball(0.1).radius
    0.1
    """

    size: float
    """Radius, m."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", _length("ball", "the radius", self.size))

    @property
    def half(self) -> np.ndarray:
        """Half lengths of a point: zero."""
        return np.zeros(3)

    @property
    def radius(self) -> float:
        """Radius of the ball."""
        return self.size


@dataclass(frozen=True)
class Capsule(Solid):
    """All points within a radius of a segment of the z axis, centred at the origin."""

    size: float
    """Radius, m."""
    length: float
    """Length of the segment between the centres of both caps, m."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", _length("capsule", "the radius", self.size))
        object.__setattr__(self, "length", _length("capsule", "the length", self.length))

    @property
    def half(self) -> np.ndarray:
        """Half lengths of the segment."""
        return np.array([0.0, 0.0, 0.5 * self.length])

    @property
    def radius(self) -> float:
        """Radius of the caps."""
        return self.size


@dataclass(frozen=True)
class Box(Solid):
    """A cuboid about the origin, with edges along the axes."""

    a: float
    """Edge along x, m."""
    b: float
    """Edge along y, m."""
    c: float
    """Edge along z, m."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a", "b", "c"):
            object.__setattr__(self, name, _length("box", f"the edge {name}", getattr(self, name)))

    @property
    def half(self) -> np.ndarray:
        """Half edges."""
        return 0.5 * np.array([self.a, self.b, self.c])


@dataclass(frozen=True)
class HalfSpace(Solid):
    """All points with z <= 0: a floor or a wall, whose outward normal is z."""

    @property
    def half(self) -> np.ndarray:
        """Infinite half lengths."""
        return np.full(3, np.inf)


@dataclass(frozen=True, eq=False)
class Hull(Solid):
    """Convex hull of points; except against half-spaces, collisions need the package `coal`. Raises `GeometryError` G143 for
    points that enclose no volume."""

    points: np.ndarray = field(repr=False)
    """Points (n, 3), m, in the shape's frame; at least four that do not lie in one plane. Points within the hull are dropped."""

    def __post_init__(self) -> None:
        super().__post_init__()
        points = floats(self.points, (length(self.points), 3))
        if points is None or len(points) < 4 or _is_flat(points):
            title = f"the points of a hull enclose no volume: {shown(self.points)}"
            raise GeometryError("G143", title, "an array (n, 3) of n >= 4 finite points that do not all lie in one plane")
        object.__setattr__(self, "points", fixed_floats(_hull_corners(points)))

    @property
    def half(self) -> np.ndarray:
        """Half lengths of the box about the shape's origin that holds all points."""
        return np.max(np.abs(self.points), axis=0)


def _is_flat(points: np.ndarray) -> bool:
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(spread[2] <= 1e-9 * spread[0])


def _hull_corners(points: np.ndarray) -> np.ndarray:
    from scipy.spatial import ConvexHull

    return points[np.sort(ConvexHull(points).vertices)]


class PlacedShapes(NamedTuple):
    """Poses and sizes of m shapes, in world or body axes."""

    R: np.ndarray
    """Axes, (m, 3, 3)."""
    p: np.ndarray
    """Origins, (m, 3), m."""
    half: np.ndarray
    """Half lengths of the cores, (m, 3), m."""
    radius: np.ndarray
    """Radii of the shapes, (m,), m."""

    def take(self, rows: np.ndarray) -> PlacedShapes:
        return PlacedShapes(self.R[rows], self.p[rows], self.half[rows], self.radius[rows])


class NearestPoints(NamedTuple):
    """Nearest points of pairs of shapes; a pair may have any number of them."""

    pair: np.ndarray
    """Index of the pair, (k,) integers."""
    p1: np.ndarray
    """Points on the first shape, (k, 3), m, in the world."""
    p2: np.ndarray
    """Points on the second shape, (k, 3), m, in the world."""
    normal: np.ndarray
    """Unit vectors (k, 3) from the first to the second."""
    gap: np.ndarray
    """Gap normal . (p2 - p1), (k,), m; negative where the shapes overlap."""

    def swapped(self) -> NearestPoints:
        return NearestPoints(self.pair, self.p2, self.p1, -self.normal, self.gap)

    def take(self, rows: np.ndarray) -> NearestPoints:
        return NearestPoints(self.pair[rows], self.p1[rows], self.p2[rows], self.normal[rows], self.gap[rows])


def concatenated(parts: list[NearestPoints]) -> NearestPoints:
    if not parts:
        return NearestPoints(np.zeros(0, dtype=np.intp), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
    return NearestPoints(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", a, b)


def crosses(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a x b over the last axis, at a third of the cost of `np.cross` for short arrays."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def rotate(R: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.matmul(R, v[..., None])[..., 0]


def rotate_back(R: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.matmul(v[..., None, :], R)[..., 0, :]


def directions(v: np.ndarray, spare: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    length = np.sqrt(dots(v, v))
    zero = length == 0.0
    if not zero.any():
        return v / length[:, None], length
    unit = np.where(zero[:, None], spare, v)
    size = np.sqrt(dots(unit, unit))
    unit = np.where((size == 0.0)[:, None], np.array([1.0, 0.0, 0.0]), unit)
    return unit / np.where(size == 0.0, 1.0, size)[:, None], length
