"""Numbers of a body's shape in -> frozen records of balls, capsules, boxes, half-spaces and hulls, placed in the body.

A shape has its own frame; `position` and `quaternion` say where that lies in the body. These are solids that a search for
contact candidates knows; a curved surface whose Gauss frame matters is one of `screws.surfaces`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from screws.errors import GeometryError
from screws.given import fixed_floats, floats, real, reals, shown
from screws.poses import pose_from_state

__all__ = ["Ball", "Box", "Capsule", "HalfSpace", "Hull", "Solid"]

UNIT_TOLERANCE = 1e-3
"""A quaternion whose norm is off by more than this is refused."""


def _length(owner: str, name: str, value: Any) -> float:
    number = real(value)
    if not 0.0 < number < np.inf:
        raise GeometryError("G141", f"{name} of a {owner} is {shown(value)}", "a positive, finite length")
    return number


@dataclass(frozen=True, kw_only=True)
class Solid:
    """What every shape has: where its frame lies in the body. Raises `GeometryError` G142 for a place that is none."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Origin of the shape's frame in the body's, m."""
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Shape to body, real part first."""

    def __post_init__(self) -> None:
        p, q = reals(self.position, 3), reals(self.quaternion, 4)
        if p is None or q is None or abs(float(np.linalg.norm(q)) - 1.0) > UNIT_TOLERANCE:
            given = f"position {shown(self.position)}, quaternion {shown(self.quaternion)}"
            title = f"the place of a {type(self).__name__} in its body is none: {given}"
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
        """Half lengths (3,), m, of the box around the origin that holds the core of the shape, which `radius` thickens."""
        raise NotImplementedError

    @property
    def radius(self) -> float:
        """Of the ball that is moved over the core, m; 0 for sharp shapes."""
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
        """A point."""
        return np.zeros(3)

    @property
    def radius(self) -> float:
        """The ball's own."""
        return self.size


@dataclass(frozen=True)
class Capsule(Solid):
    """All points within a radius of a segment of the z axis, whose middle is the origin."""

    size: float
    """Radius, m."""
    length: float
    """Of the segment between the centres of both caps, m."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", _length("capsule", "the radius", self.size))
        object.__setattr__(self, "length", _length("capsule", "the length", self.length))

    @property
    def half(self) -> np.ndarray:
        """A segment."""
        return np.array([0.0, 0.0, 0.5 * self.length])

    @property
    def radius(self) -> float:
        """Of the caps."""
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
        """Of all three edges."""
        return 0.5 * np.array([self.a, self.b, self.c])


@dataclass(frozen=True)
class HalfSpace(Solid):
    """All points with z <= 0: a floor or a wall, whose outward normal is z."""

    @property
    def half(self) -> np.ndarray:
        """Without end."""
        return np.full(3, np.inf)


@dataclass(frozen=True, eq=False)
class Hull(Solid):
    """The convex hull of points; what is found of it beyond half-spaces needs the package `coal`."""

    points: np.ndarray = field(repr=False)
    """(n, 3), m, in the shape's frame; at least four that do not lie in one plane. Points within the hull are dropped."""

    def __post_init__(self) -> None:
        super().__post_init__()
        listed = isinstance(self.points, (list, tuple)) or (isinstance(self.points, np.ndarray) and self.points.ndim > 0)
        count = len(self.points) if listed else 0
        given = floats(self.points, (count, 3))
        if given is None or len(given) < 4 or _flat(given):
            title = f"the points of a hull enclose no volume: {shown(self.points)}"
            raise GeometryError("G143", title, "an array (n, 3) of finite numbers, n >= 4, that do not lie in one plane")
        object.__setattr__(self, "points", fixed_floats(_extreme(given)))

    @property
    def half(self) -> np.ndarray:
        """Of the box about the shape's origin that holds all points."""
        return np.max(np.abs(self.points), axis=0)


def _flat(points: np.ndarray) -> bool:
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(spread[2] <= 1e-9 * spread[0])


def _extreme(points: np.ndarray) -> np.ndarray:
    """The corners of the hull among the points."""
    from scipy.spatial import ConvexHull

    return points[np.sort(ConvexHull(points).vertices)]
