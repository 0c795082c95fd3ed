"""Joints: unit screws of the free motions of a joint, and the constraint wrenches that it transmits.

A joint of n freedoms is a set of n independent twists in one frame, the joint frame; T = screws @ q' at its reference pose, where
the frames of the two bodies coincide. The wrenches that it transmits do no work on any of these twists. Constructors raise
`GeometryError` G132 for an axis that is zero or not three finite numbers, G133 for a point that is not three finite numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from screws import twists
from screws.arrays import Pose, Vector3
from screws.calls import check_calls
from screws.errors import GeometryError
from screws.numeric_arguments import fixed_floats, floats, shown
from screws.poses import Ad, inverse, pose

__all__ = ["Joint", "cylindrical", "fixed", "free", "helical", "inline", "inplane", "planar", "prismatic", "reciprocal"]
__all__ += ["revolute", "rod", "spherical", "universal"]

ORIGIN = (0.0, 0.0, 0.0)

_INDEPENDENCE = 1e-9
"""Smallest singular value of the unit screws, relative to the largest, at which they count as independent."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint, defined by its unit screws.

    Parameters
    ----------
    name : name in messages and graphs; the default of a constructor is the kind.
    screws : (6, n) independent twists [omega; v], all in the joint frame, n from 0 to 6.
    kind : "revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar", "inline", "inplane", "rod",
        "free" or "fixed"; "general" for arbitrary screws, which do not define large motions.
    frame : (4, 4) pose of the joint's own axes in the joint frame: origin at its centre, z along its axis or normal (universal: x
        along the first axis, z normal to both).

    Raises `GeometryError` G131 for screws of another shape, and for screws that are not finite or not independent.
    """

    name: str
    screws: np.ndarray
    kind: str = "general"
    frame: np.ndarray = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        screws = _screws(self.screws, f' of joint "{self.name}"')
        if screws.shape[1]:
            values = np.linalg.svd(screws, compute_uv=False)
            if not values[-1] > _INDEPENDENCE * values[0]:
                title = f'the screws of joint "{self.name}" are not independent'
                raise GeometryError("G131", title, "only independent twists, one for each freedom")
        object.__setattr__(self, "screws", fixed_floats(screws))
        object.__setattr__(self, "frame", fixed_floats(self.frame))

    @property
    def freedoms(self) -> int:
        """Number n of independent motions."""
        return int(self.screws.shape[1])

    @property
    def constrained(self) -> np.ndarray:
        """Basis (6, 6 - n) of the constraint wrenches [tau; f] in the joint frame, which do no work on any motion of the joint.

        They are orthonormal about the joint's centre (a unit force counts as a unit moment), and along its axes where possible.
        """
        into_axes = Ad(inverse(self.frame))
        return np.asarray(into_axes.T @ reciprocal(into_axes @ self.screws), dtype=float)

    def seen_from(self, H_a_j: Pose) -> Joint:
        """Return the joint with its screws expressed in frame a, from the pose H_a_j of the present joint frame in a."""
        H = np.asarray(H_a_j, dtype=float)
        return Joint(self.name, Ad(H) @ self.screws, self.kind, H @ self.frame)


def _screws(screws: Any, where: str = "") -> np.ndarray:
    array = floats(screws, *((6, n) for n in range(7)))
    if array is None:
        title = f"the screws{where} are {shown(screws)}, not a finite array (6, n) with n <= 6"
        raise GeometryError("G131", title, "an array (6, n) of finite numbers, one twist [omega; v] in each column")
    return array


def reciprocal(screws: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (6, 6 - n) of the wrenches whose power on every column of `screws` (6, n) vanishes.

    The basis follows the coordinate axes where possible: each column is the projection of the axis with the largest remainder.
    Raises `GeometryError` G131 for an array of another shape, or one that is not finite.
    """
    screws = _screws(screws)
    n = screws.shape[1]
    basis = np.linalg.qr(screws)[0] if n else np.zeros((6, 0))
    projector = np.eye(6) - basis @ basis.T
    columns: list[tuple[int, np.ndarray]] = []
    for _ in range(6 - n):
        sizes = np.round(np.diagonal(projector), 9)
        k = int(np.argmax(sizes))
        column = projector[:, k] / np.linalg.norm(projector[:, k])
        projector = projector - np.outer(column, column)
        column = np.where(np.abs(column) < 1e-15, 0.0, column)
        columns.append((k, column))
    ordered = [column for _, column in sorted(columns, key=lambda entry: entry[0])]
    return np.array(ordered).reshape(6 - n, 6).T


def revolute(axis: Vector3, point: Vector3 = ORIGIN, name: str = "revolute") -> Joint:
    """Return a revolute joint: rotation about the line through `point` (m) along `axis`; one freedom (rad)."""
    a, p = _direction(name, axis), _point(name, point)
    return Joint(name, twists.revolute(a, p)[:, None], "revolute", _frame(a, p))


def prismatic(axis: Vector3, name: str = "prismatic") -> Joint:
    """Return a prismatic joint: translation along `axis`; one freedom (m)."""
    a = _direction(name, axis)
    return Joint(name, twists.prismatic(a)[:, None], "prismatic", _frame(a, np.zeros(3)))


def helical(axis: Vector3, point: Vector3 = ORIGIN, pitch: float = 0.0, name: str = "helical") -> Joint:
    """Return a helical joint about the line through `point` (m) along `axis`, `pitch` in m/rad; one freedom (rad). Zero pitch
    gives a revolute joint. Raises `GeometryError` G133 for a pitch that is not finite."""
    a, p = _direction(name, axis), _point(name, point)
    if not np.isfinite(pitch):
        raise GeometryError("G133", f'the pitch of joint "{name}" is {pitch}', "a finite pitch in m/rad")
    return Joint(name, twists.helical(a, p, pitch)[:, None], "helical" if pitch else "revolute", _frame(a, p))


def cylindrical(axis: Vector3, point: Vector3 = ORIGIN, name: str = "cylindrical") -> Joint:
    """Return a cylindrical joint: rotation about, and translation along, one line; two freedoms (rad, m)."""
    a, p = _direction(name, axis), _point(name, point)
    return Joint(name, np.column_stack([twists.revolute(a, p), twists.prismatic(a)]), "cylindrical", _frame(a, p))


def universal(axis1: Vector3, axis2: Vector3, point: Vector3 = ORIGIN, name: str = "universal") -> Joint:
    """Return a universal joint: crossing axes through `point` (m), the second of which moves with the first; two freedoms
    (rad). Raises `GeometryError` G132 for parallel axes."""
    a, b, p = _direction(name, axis1), _direction(name, axis2), _point(name, point)
    normal = np.cross(a, b)
    if np.linalg.norm(normal) < 1e-3:
        title = f'the axes of the universal joint "{name}" are parallel'
        raise GeometryError("G132", title, "two axes at an angle to each other, ideally 90 degrees")
    z = normal / np.linalg.norm(normal)
    R = np.column_stack([a, np.cross(z, a), z])
    return Joint(name, np.column_stack([twists.revolute(a, p), twists.revolute(b, p)]), "universal", pose(R, p))


def spherical(point: Vector3 = ORIGIN, name: str = "spherical") -> Joint:
    """Return a spherical joint: all rotations about `point` (m), along the axes of the joint frame; three freedoms (rad)."""
    p = _point(name, point)
    return Joint(name, np.column_stack([twists.revolute(e, p) for e in np.eye(3)]), "spherical", pose(np.eye(3), p))


def planar(normal: Vector3, point: Vector3 = ORIGIN, name: str = "planar") -> Joint:
    """Return a planar joint: two translations perpendicular to `normal`, and the rotation about the line along `normal` through
    `point` (m); three freedoms (m, m, rad)."""
    n, p = _direction(name, normal), _point(name, point)
    frame = _frame(n, p)
    sliding = [twists.prismatic(frame[:3, k]) for k in (0, 1)]
    return Joint(name, np.column_stack([*sliding, twists.revolute(n, p)]), "planar", frame)


def inline(axis: Vector3, point: Vector3 = ORIGIN, name: str = "inline") -> Joint:
    """Return a joint that keeps one point of body b, `point` (m), on the line along `axis` of body a: four freedoms (m, rad, rad,
    rad), a translation along the line and all rotations about the point.

    If it closes a planar loop of hinges whose axes are parallel to `axis`, it constrains only motions that the other hinges leave
    free.
    """
    a, p = _direction(name, axis), _point(name, point)
    frame = _frame(a, p)
    return Joint(name, np.column_stack([twists.prismatic(a), *_rotations(frame)]), "inline", frame)


def inplane(normal: Vector3, point: Vector3 = ORIGIN, name: str = "inplane") -> Joint:
    """Return a joint that keeps one point of body b, `point` (m), in the plane of body a perpendicular to `normal`: five freedoms
    (m, m, rad, rad, rad), two translations in the plane and all rotations about the point."""
    n, p = _direction(name, normal), _point(name, point)
    frame = _frame(n, p)
    sliding = [twists.prismatic(frame[:3, k]) for k in (0, 1)]
    return Joint(name, np.column_stack([*sliding, *_rotations(frame)]), "inplane", frame)


def rod(end_a: Vector3, end_b: Vector3, name: str = "rod") -> Joint:
    """Return a massless rod of fixed length from the point `end_a` (m) of body a to `end_b` of body b, with a spherical joint at
    each end; five freedoms (rad): two rotations of the rod about axes normal to it through its end on a, and three of body b
    about the rod's end on b.

    Raises `GeometryError` G133 for ends that coincide.
    """
    a, b = _point(name, end_a), _point(name, end_b)
    if not np.linalg.norm(b - a) > 0.0:
        raise GeometryError(
            "G133", f'both ends of the rod "{name}" are {a.tolist()}', "two different points, or a spherical joint at one point"
        )
    frame = _frame((b - a) / np.linalg.norm(b - a), b)
    swings = [twists.revolute(frame[:3, k], a) for k in (0, 1)]
    return Joint(name, np.column_stack([*swings, *_rotations(frame)]), "rod", frame)


def free(name: str = "free") -> Joint:
    """Return a joint without constraint, with six freedoms: rotations and translations along the joint frame's axes (rad, m)."""
    return Joint(name, np.eye(6), "free")


def fixed(name: str = "fixed") -> Joint:
    """Return a joint without freedoms: both bodies move as one."""
    return Joint(name, np.zeros((6, 0)), "fixed")


def _rotations(frame: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(twists.revolute(frame[:3, k], frame[:3, 3])) for k in range(3)]


def _frame(axis: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) with z along the axis; x and y along coordinate axes where the axis allows it."""
    k = int(np.argmax(np.abs(axis)))
    x = np.eye(3)[(k + 1) % 3]
    x = x - (x @ axis) * axis
    x = x / np.linalg.norm(x)
    return pose(np.column_stack([x, np.cross(axis, x), axis]), point)


def _direction(name: str, axis: Vector3) -> np.ndarray:
    a = floats(axis, (3,))
    length = float(np.linalg.norm(a)) if a is not None else 0.0
    if a is None or not length > 0.0:
        defect = "not three finite numbers" if a is None else "which has no direction"
        title = f'an axis of joint "{name}" is {shown(axis)}, {defect}'
        raise GeometryError("G132", title, "three finite numbers, not all zero")
    return a / length


def _point(name: str, point: Vector3) -> np.ndarray:
    p = floats(point, (3,))
    if p is None:
        raise GeometryError("G133", f'the point of joint "{name}" is {point!r}', "three finite numbers, in m")
    return p


check_calls(__name__)
