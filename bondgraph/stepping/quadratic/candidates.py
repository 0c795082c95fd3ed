"""Contact candidates, points where bodies may touch, found from their poses at every step, and the rows of contacts in the
quadratic program.

The contacts of a graph (`Model.contacts`) have coordinates that are states. Boxes, meshes and piles touch at different points in
every step; a `Candidates` object finds these points from the poses. A stepper accepts any object with this protocol.

The rows of a contact come from its friction cone, faceted or exact. A contact with gap d, normal row n, slip rows D and
coefficient mu allows a step dq where, for every facet e_j of its cone,

    d + (n + mu e_j . D) dq >= -mu s

with s = 0 for the convex law (Anitescu 2006) and s = |D dq| for Coulomb's law. The multiplier of a facet is a force along its
edge: normal force = sum of the multipliers, friction = mu times their sum with weights e_j. The exact cone is d + n dq + mu s >=
mu |D dq|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bondgraph.errors import refusal
from bondgraph.model.model import CollisionSet
from screws.errors import plural
from screws.shapes import candidates

CONE = "cone"
FACETS = (4, 8, 16, 32)
"""Allowed numbers of facets if slip has two directions; for one direction there are two facets."""


def check_facets(facets: int | str, name: str) -> int | str:
    if facets == CONE or (isinstance(facets, int) and not isinstance(facets, bool) and facets in FACETS):
        return facets
    counts = ", ".join(map(str, FACETS))
    raise refusal("E501", f"a cone cannot have {facets!r} facets", f'one of {counts}, or "{CONE}"', about=name, places=())


def directions(slips: int, facets: int | str) -> np.ndarray:
    """Return facets e_j (facets, slips) for a number of slip directions; for an exact cone with two, the axes (2, 2).

    >>> directions(1, 8).tolist()
    [[1.0], [-1.0]]
    >>> directions(0, 8).shape
    (1, 0)
    """
    if slips == 0:
        return np.zeros((1, 0))
    if slips == 1:
        return np.array([[1.0], [-1.0]])
    if facets == CONE:
        return np.eye(2)
    count = int(facets)
    # only sines in the first quadrant, so that opposite facets cancel exactly
    first = [(math.cos(angle), math.sin(angle)) for angle in (2.0 * math.pi * k / count for k in range(count // 4))]
    half = [*first, *((-y, x) for x, y in first)]
    return np.array([*half, *((-x, -y) for x, y in half)])


@dataclass(frozen=True, eq=False)
class Cone:
    """Rows of one contact in the quadratic program of a step."""

    path: str
    first: int
    facets: np.ndarray
    """Facets (rows, slips), or, for the exact cone, the axes (2, 2), whose rows follow a row for the normal."""
    exact: bool
    """True if the rows, one for the normal and one for each slip, form a second-order cone."""
    slip: int
    """First row of the contact among the slips of all contacts."""
    along: tuple[int, ...] = ()
    """Indices of the contact's slip components that motion can change."""

    @property
    def slips(self) -> int:
        return int(self.facets.shape[1])

    @property
    def rows(self) -> int:
        return len(self.facets) + self.exact

    @property
    def has_friction(self) -> bool:
        return self.slips > 0


def force_matrices(cones: tuple[Cone, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the matrices that map the rows' multipliers to normal forces (contacts, rows) and to slip forces over mu (slips,
    rows), and the contact of each row (rows,)."""
    rows, slips = sum(cone.rows for cone in cones), sum(cone.slips for cone in cones)
    normal, tangent, owner = np.zeros((len(cones), rows)), np.zeros((slips, rows)), np.zeros(rows, dtype=int)
    for k, cone in enumerate(cones):
        span, along = slice(cone.first, cone.first + cone.rows), slice(cone.slip, cone.slip + cone.slips)
        owner[span] = k
        if cone.exact:
            normal[k, cone.first] = 1.0
            tangent[along, cone.first + 1 : cone.first + cone.rows] = cone.facets
        else:
            normal[k, span] = 1.0
            tangent[along, span] = cone.facets.T
    return normal, tangent, owner


WORLD = -1
"""Index of a body that never moves."""


@dataclass(frozen=True)
class TouchingBody:
    """Body in the graph; its contacts are found from its pose.

    Parameters
    ----------
    name : name in messages.
    pose : signal of its pose in the world, (7,) with the quaternion first, or (4, 4).
    twist : signal of its world twist T_0_0_b, (6,) [omega; v].
    """

    name: str
    pose: str
    twist: str


@dataclass(frozen=True, eq=False)
class Pairs:
    """Contact points of pairs of bodies, one row each.

    Parameters
    ----------
    body1, body2 : (k,) indices among the bodies of their `Candidates`, or `WORLD`.
    p1, p2 : (k, 3) the nearest points of both bodies, world coordinates, m.
    normal : (k, 3) unit vectors from body 1 to body 2, world coordinates.
    gap : (k,) m, negative where the bodies overlap.
    friction, restitution : (k,) coefficients.
    """

    body1: np.ndarray
    body2: np.ndarray
    p1: np.ndarray
    p2: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray

    def __len__(self) -> int:
        return len(self.gap)


class Candidates(Protocol):
    """Search for contact points."""

    @property
    def bodies(self) -> Sequence[TouchingBody]:
        """Bodies whose poses the search needs."""
        ...

    def __call__(self, poses: np.ndarray, /) -> Pairs:
        """Return points where bodies may touch; `poses` (bodies, 4, 4), H_0_b, are taken at the end of a step in which only
        sources move bodies."""
        ...


class Shapes:
    """Candidates of the bodies with shapes that may touch anywhere (`Model.collisions`)."""

    def __init__(self, sets: Sequence[CollisionSet], reach: float):
        colliders = {body.path: body for each in sets for body in each.bodies}
        self.bodies = tuple(TouchingBody(body.path, body.pose, body.twist) for body in colliders.values())
        self._sets, self._number = tuple(sets), {path: k for k, path in enumerate(colliders)}
        solids = [solid for each in sets for _, solid in each.shapes]
        sizes = [float(np.min(solid.half)) + solid.radius for solid in solids if np.all(np.isfinite(solid.half))]
        self.reach = reach if np.isfinite(reach) else min(sizes, default=1.0)
        """Largest gap of a candidate, m: by default the smallest half width of a shape."""
        self._arranged = tuple(each.arranged(range(len(each.bodies))) for each in sets)

    def __call__(self, poses: np.ndarray, /) -> Pairs:
        parts = []
        for each, arranged in zip(self._sets, self._arranged, strict=True):
            numbers = np.array([self._number[body.path] for body in each.bodies], dtype=np.intp)
            pairs = candidates(arranged, poses[numbers, :3, :3], poses[numbers, :3, 3], self.reach)
            if len(pairs) > each.max_contacts:
                title = f"{plural(len(pairs), 'candidate')} for contact, more than max_contacts={each.max_contacts}"
                cures = (f"collisions(..., max_contacts={2 * len(pairs)})", f"a reach below {self.reach:g} m")
                raise refusal("E514", title, *cures, about="collisions", places=())
            mu, e = np.full(len(pairs), each.friction), np.full(len(pairs), each.restitution)
            parts.append((numbers[pairs.body1], numbers[pairs.body2], pairs.p1, pairs.p2, pairs.normal, pairs.gap, mu, e))
        return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class PairRows:
    """Rows of pairs in a quadratic program: for each pair its facets, or, with exact cones, the normal and two slips."""

    pairs: Pairs
    A: np.ndarray
    """Matrix of the rows, (rows, n)."""
    lower: np.ndarray
    """Lower bounds, (rows,)."""
    slip: np.ndarray
    """Matrix of the slips, (2 k, n)."""
    drift: np.ndarray
    """Slips in the step due to sources alone, (2 k,), m."""
    moved: np.ndarray
    """Changes of the gaps due to sources alone, (k,), m."""
    tangents: np.ndarray
    """Directions of slip, (k, 2, 3), world coordinates."""
    facets: np.ndarray
    """Facets (facets, 2), or the axes of an exact cone."""
    exact: bool

    @property
    def rows_per_pair(self) -> int:
        return len(self.facets) + self.exact

    def slip_terms(self, s: np.ndarray) -> np.ndarray:
        """Return the terms mu s, for slips s (k,), in the bounds (rows,)."""
        by = np.zeros((len(s), self.rows_per_pair))
        by[:, : 1 if self.exact else self.rows_per_pair] = (self.pairs.friction * s)[:, None]
        return by.ravel()

    def lengths(self, along: np.ndarray) -> np.ndarray:
        """Return the length (k,) of slips (k, 2), in the norm of the facets or of the exact cone."""
        return np.asarray(np.linalg.norm(along, axis=1) if self.exact else np.max(along @ self.facets.T, axis=1))

    def forces(self, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return normal forces (k,) and friction on body 2 along the tangents (k, 2), N."""
        rows = multipliers.reshape(len(self.pairs), self.rows_per_pair)
        normal = rows[:, 0] if self.exact else rows.sum(axis=1)
        along = rows[:, 1:] if self.exact else rows
        return normal, self.pairs.friction[:, None] * (along @ self.facets)


def pair_rows(pairs: Pairs, motion: tuple[np.ndarray, np.ndarray], v: np.ndarray | None, h: float, facets: int | str) -> PairRows:
    """Return the rows of pairs.

    Parameters
    ----------
    motion : d(twist)/dv (bodies, 6, n), and the twists (bodies, 6) due to sources alone.
    v : velocities before the step (n,), for restitution; None without restitution.
    h : step size, s.
    facets : number of facets of each cone, or "cone".
    """
    J, carried = motion
    n, k = J.shape[2], len(pairs)
    first, second = _tangents(pairs.normal)
    # (k, 3 directions, 3): normal, then two slips; a row [p x e, e] times the twist is the velocity along e of the point p
    along = np.stack([pairs.normal, first, second], axis=1)
    rows, rate = np.zeros((k, 3, n)), np.zeros((k, 3))
    for sign, body, point in ((1.0, pairs.body2, pairs.p2), (-1.0, pairs.body1, pairs.p1)):
        real = np.flatnonzero(body >= 0)
        if len(real):
            screw = np.concatenate([np.cross(point[real, None, :], along[real]), along[real]], axis=2)
            rows[real] += sign * np.matmul(screw, J[body[real]])
            rate[real] += sign * np.matmul(screw, carried[body[real], :, None])[:, :, 0]
    exact = facets == CONE
    edges = directions(2, facets)
    bound = -pairs.gap
    if v is not None and np.any(pairs.restitution):
        before = rows[:, 0] @ v
        rebound = -h * rate[:, 0] - pairs.restitution * h * np.minimum(before + rate[:, 0], 0.0)
        meets = (pairs.gap + h * before <= 0.0) & (pairs.restitution > 0.0)
        bound = np.where(meets, np.maximum(bound, rebound), bound)
    mu, drift = pairs.friction[:, None, None], h * rate[:, 1:]
    friction = mu * np.matmul(edges, rows[:, 1:])
    bounds = -pairs.friction[:, None] * (drift @ edges.T)
    if exact:
        A, lower = np.concatenate([rows[:, :1], friction], axis=1), np.concatenate([bound[:, None], bounds], axis=1)
    else:
        A, lower = friction + rows[:, :1], bounds + bound[:, None]
    return PairRows(
        pairs,
        A.reshape(-1, n),
        lower.ravel(),
        rows[:, 1:].reshape(-1, n),
        drift.ravel(),
        h * rate[:, 0],
        along[:, 1:],
        edges,
        exact,
    )


def _tangents(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    axis = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
    first = np.cross(normal, axis)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return first, np.cross(normal, first)


def poses_from(numbers: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return poses (bodies, 4, 4) from concatenated signals with 7 or 16 entries each."""
    poses = np.zeros((len(sizes), 4, 4))
    poses[:, 3, 3] = 1.0
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    flat = [k for k, size in enumerate(sizes) if size == 7]
    for k in (k for k, size in enumerate(sizes) if size != 7):
        poses[k] = numbers[starts[k] : starts[k] + 16].reshape(4, 4)
    if flat:
        states = numbers[starts[flat][:, None] + np.arange(7)]
        w, x, y, z = (states[:, :4] / np.linalg.norm(states[:, :4], axis=1, keepdims=True)).T
        poses[flat, :3, :3] = np.stack(
            [
                np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1),
                np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1),
                np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1),
            ],
            axis=1,
        )
        poses[flat, :3, 3] = states[:, 4:]
    return poses
