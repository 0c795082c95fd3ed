"""Inverse inertia and effective mass at a point of a chain, under the four assumptions of Wang, Dehio and Kheddar 2022 (WA22),
section III.

W (3, 3) is in the axes of the link that carries the point; an impulse f at the point changes its velocity by W f. J is the
body Jacobian of the point, angular rows first (the paper has linear rows first).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.chains import BodyInertia, Tree, body_jacobian, combined_inertia, link_pose, mass_matrix
from screwbond.models.chains.dynamics import mass_problems
from screwbond.models.contacts import COMPONENTS

from bondgraph.errors import ModelError, refusal
from screws.inertia import spatial_inertia
from screws.numeric_arguments import reals
from screws.poses import Ad, inverse
from screws.rotations import tilde

Vector = Sequence[float] | np.ndarray

SINGULAR = 1e-12
"""Largest eigenvalue that counts as zero, for a matrix scaled to a unit diagonal."""


@dataclass(frozen=True, eq=False)
class StrikingPoint:
    """Point on a link of a chain in a configuration.

    Parameters
    ----------
    chain, q : the chain, or a tree, and its joint coordinates (n,), rad or m.
    link : index of the link that carries the point.
    point : (3,) in the frame of this link, m.
    """

    chain: Tree
    q: np.ndarray
    link: int
    point: np.ndarray

    @cached_property
    def frame(self) -> np.ndarray:
        """Pose (4, 4) of the point in the world, in the axes of its link."""
        H = np.asarray(link_pose(self.chain, self.link, self.q), dtype=float)
        return H @ np.block([[np.eye(3), self.point[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Jacobian (6, n) from joint velocities to the link's twist about the point, [omega; v]."""
        J = np.asarray(body_jacobian(self.chain, self.link, self.q), dtype=float)
        return np.vstack([J[:3], J[3:] - _tilde(self.point) @ J[:3]])

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        return np.asarray(mass_matrix(self.chain, self.q), dtype=float)

    @cached_property
    def mobility(self) -> np.ndarray:
        J = self.jacobian
        return np.asarray(J @ np.linalg.solve(self.mass_matrix, J.T), dtype=float)

    @cached_property
    def composite(self) -> BodyInertia:
        """All moving links, with joints locked, as one body in the frame of the point."""
        to_point = inverse(self.frame)
        parts = []
        for k in moving_links(self.chain):
            H = to_point @ link_pose(self.chain, k, self.q)
            inertia = self.chain.links[k].inertia
            assert inertia is not None
            centre = H[:3, :3] @ inertia.centre + H[:3, 3]
            parts.append(replace(inertia, rotational=H[:3, :3] @ inertia.rotational @ H[:3, :3].T, centre=centre))
        return combined_inertia(*parts)

    @cached_property
    def composite_jacobian(self) -> np.ndarray:
        """Jacobian (6, n) from joint velocities to the twist, about the point, of a composite body that has the momentum of
        the links (9)."""
        momentum = np.zeros((6, self.chain.freedoms))
        inertia = np.zeros((6, 6))
        for k in moving_links(self.chain):
            body = self.chain.links[k].inertia
            assert body is not None
            to_link = Ad(inverse(np.asarray(link_pose(self.chain, k, self.q), dtype=float)) @ self.frame)
            M = np.asarray(spatial_inertia(body.mass, body.rotational, body.centre), dtype=float)
            momentum += np.asarray(to_link.T @ M @ np.asarray(body_jacobian(self.chain, k, self.q)), dtype=float)
            inertia += np.asarray(to_link.T @ M @ to_link, dtype=float)
        return np.asarray(np.linalg.solve(inertia, momentum), dtype=float)

    def approach(self, n: np.ndarray, speed: float) -> np.ndarray:
        """Return the minimum-norm joint velocities (n,) that move the point at `speed` (m/s) against the unit normal n without
        rotation of its link."""
        twist = np.concatenate([np.zeros(3), -speed * n])
        return np.asarray(np.linalg.lstsq(self.jacobian, twist, rcond=None)[0], dtype=float)


def striking_point(chain: Tree, q: Vector, point: Vector = (0.0, 0.0, 0.0), link: str | None = None) -> StrikingPoint:
    """Return the `point` (3,) in the frame of a `link` (by name; None: the last) of a chain at the joint coordinates q (n,).

    Raises `ModelError` E541 for arguments that do not match the chain, E542 for a singular mass matrix.
    """
    about = getattr(chain, "name", "an impact")
    if not isinstance(chain, Tree):
        title = f"{chain!r} ({type(chain).__name__}) is not a chain"
        raise refusal("E541", title, "Chain(name, links), Tree(name, links)", about=str(about))
    names = [each.name for each in chain.links]
    if link is not None and link not in names:
        title = f'chain "{chain.name}" has no link {link!r} that could hit a wall'
        raise refusal("E541", title, "a name from this list, or None for the last", about=about, why=f"links: {', '.join(names)}")
    angles, where = reals(q, chain.freedoms), reals(point, 3)
    if angles is None or where is None:
        what = f"the configuration is {q!r}" if angles is None else f"the point is {point!r}"
        cure = f"{chain.freedoms} finite numbers" if angles is None else "three finite numbers in the frame of the link, m"
        why = f"coordinates: {', '.join(chain.coordinates)}" if angles is None else ()
        raise refusal("E541", f'impact of chain "{chain.name}": {what}', cure, about=about, why=why)
    strike = StrikingPoint(chain, angles, len(names) - 1 if link is None else names.index(link), where)
    problems = mass_problems(chain, chain.name)
    if problems or not chain.freedoms:
        cure = "mass on the outer links, and joints that move them"
        title = f'the mass matrix of chain "{chain.name}" is singular'
        raise refusal("E542", title, cure, about=about, why=tuple(problem.title for problem in problems))
    M = strike.mass_matrix
    diagonal = np.diag(M)
    if not np.all(diagonal > 0.0) or np.linalg.eigvalsh(M / np.sqrt(np.outer(diagonal, diagonal)))[0] <= SINGULAR:
        title = f'the mass matrix of chain "{chain.name}" is singular'
        cure = "mass on the outer links, and independent freedoms"
        raise refusal("E542", title, cure, about=about, why=f"its diagonal: {', '.join(f'{x:g}' for x in diagonal)}")
    return strike


def moving_links(chain: Tree) -> list[int]:
    return [
        k
        for k, (link, carrier) in enumerate(zip(chain.links, chain.sections.carrier, strict=True))
        if carrier and link.inertia is not None
    ]


def inverse_inertia(
    chain: Tree, q: Vector, point: Vector = (0.0, 0.0, 0.0), *, kind: str = "composite", link: str | None = None
) -> np.ndarray:
    """Return the inverse inertia matrix W (3, 3), 1/kg, in the axes of the link.

    Parameters
    ----------
    q : joint coordinates (n,), rad or m.
    point : contact point (3,) in the frame of the link, m.
    kind : assumption about the joints, a key of `KINDS`:
        "momentum": joints free, no moment acts, W = [J M^-1 J^T]_vv (2);
        "projection": joints free, the link does not rotate, W^-1 = [(J M^-1 J^T)^-1]_vv (3);
        "composite": joints locked, W = 1/m - p~ Ic^-1 p~ (11), of all links except the base;
        "flexibility": composite, plus the motion of the point relative to the composite body, joints free (12). Not symmetric: no
        system without sources has this matrix, so it has no graph.
    link : name of the link; None: the last.

    Raises `ModelError` E541 for arguments that do not match the chain or an unknown kind, E542 for a singular mass
    matrix or a rank of J that is too low.
    """
    return kind_of(kind, chain).matrix(striking_point(chain, q, point, link))


def effective_mass(
    chain: Tree,
    q: Vector,
    point: Vector = (0.0, 0.0, 0.0),
    normal: Vector = (0.0, 0.0, 1.0),
    *,
    kind: str = "composite",
    link: str | None = None,
) -> float:
    """Return the effective mass (kg) of a chain's point at a rigid wall, under an assumption of `inverse_inertia`.

    The mass is 1 / (n . W n), WA22 (22), and for the projection n . W^-1 n, as in (4), since the velocity stays along the normal.

    Parameters
    ----------
    normal : direction of the impact (3,) in the axes of the link, of any nonzero length.

    Raises `ModelError` E541 for arguments that do not match the chain, an unknown kind or a normal without direction, E542 if the
    chain cannot move in this direction.
    """
    return mass_at(striking_point(chain, q, point, link), normal, kind)


def mass_at(where: StrikingPoint, normal: Vector, kind: str) -> float:
    n = direction(where.chain, normal)
    W = need_mobile(where, n, kind)
    return float(n @ np.linalg.solve(W, n)) if kind_of(kind, where.chain).constrains_all else 1.0 / float(n @ W @ n)


def need_mobile(where: StrikingPoint, n: np.ndarray, kind: str) -> np.ndarray:
    """Return the inverse inertia matrix W (3, 3) of a kind; raise E542 if the point cannot move along n."""
    W = kind_of(kind, where.chain).matrix(where)
    if n @ W @ n <= SINGULAR * np.trace(W):
        title = f'no joint of chain "{where.chain.name}" moves the point along the normal ({_numbers(n)})'
        cure = 'another normal or configuration; for an effective mass, kind="composite"'
        raise refusal("E542", title, cure, about=where.chain.name)
    return W


def locked_ratio(where: StrikingPoint, normal: Vector) -> float:
    """Return the composite body's speed at the point, relative to the point's speed (WA22, table I).

    The point moves against the normal without rotation of its link, with minimum-norm joint velocities. The ratio is 1 if no part
    of the arm moves relative to the point, as with locked joints; (9) assumes this.

    Raises `ModelError` E541 for a normal without direction, E542 if the point cannot move in this direction.
    """
    n = direction(where.chain, normal)
    need_mobile(where, n, "projection")
    return float(-(n @ (where.composite_jacobian @ where.approach(n, 1.0))[3:]))


def direction(chain: Tree, normal: Vector) -> np.ndarray:
    n = reals(normal, 3)
    size = 0.0 if n is None else float(np.max(np.abs(n)))
    if n is None or size == 0.0:
        title = f'impact of chain "{chain.name}": the normal is {normal!r}'
        raise refusal("E541", title, "three finite numbers, not all zero", about=chain.name)
    return np.asarray(n / size / np.linalg.norm(n / size), dtype=float)


def _momentum(where: StrikingPoint) -> np.ndarray:
    return where.mobility[3:, 3:]


def _projection(where: StrikingPoint) -> np.ndarray:
    # (3) by the Schur complement: a moment keeps the link from rotating.
    A = where.mobility
    size = np.sqrt(np.abs(np.diag(A)))
    unmoved = np.concatenate([part <= SINGULAR * np.max(part) for part in (size[:3], size[3:])])
    if np.any(unmoved):
        names = ", ".join(np.array(COMPONENTS)[unmoved])
        raise _rank_error(where.chain, f"no joint contributes to {names} of the point's twist, in the axes of the link")
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    if values[0] <= SINGULAR:
        wrench = vectors[:, 0] / size
        moment, force = (_numbers(part) for part in np.split(wrench / np.max(np.abs(wrench)), 2))
        raise _rank_error(
            where.chain, f"no joint yields to the moment ({moment}) with the force ({force}), in the axes of the link"
        )
    return A[3:, 3:] - A[3:, :3] @ np.linalg.solve(A[:3, :3], A[:3, 3:])


def _rank_error(chain: Tree, why: str) -> ModelError:
    title = f'the joints of chain "{chain.name}" cannot move the point in all six directions, as kind "projection" needs'
    cure = 'another configuration, q (in the command, --q); for an effective mass, kind="momentum"'
    return refusal("E542", title, cure, about=chain.name, why=why)


def _composite(where: StrikingPoint) -> np.ndarray:
    body = where.composite
    lever = _tilde(-body.centre)
    return np.eye(3) / body.mass - lever @ np.linalg.solve(body.rotational, lever)


def _flexibility(where: StrikingPoint) -> np.ndarray:
    """Return W of (12) to (14), from the point's velocity relative to a composite body with the same momentum."""
    J = where.jacobian
    return _composite(where) + (J - where.composite_jacobian)[3:] @ np.linalg.solve(where.mass_matrix, J[3:].T)


@dataclass(frozen=True, eq=False)
class Assumption:
    """Assumption about the joints in an impact.

    Parameters
    ----------
    name, matrix : display name, and function that returns W at a point.
    source : equation in the paper.
    constrains_all : True if all six components of the twist come to rest, False if only the normal component does.
    """

    name: str
    matrix: Callable[[StrikingPoint], np.ndarray]
    source: str
    constrains_all: bool = False


KINDS: dict[str, Assumption] = {
    "projection": Assumption("projection", _projection, "WA22 (3)", constrains_all=True),
    "composite": Assumption("composite rigid body", _composite, "WA22 (11)"),
    "momentum": Assumption("generalised momentum", _momentum, "WA22 (2)"),
    "flexibility": Assumption("composite with joint flexibility", _flexibility, "WA22 (12)"),
}
"""The four assumptions of the paper."""


def kind_of(kind: Any, chain: Tree) -> Assumption:
    if not isinstance(kind, str) or kind not in KINDS:
        title = f"there is no inverse inertia matrix of the kind {kind!r}"
        raise refusal("E541", title, f"one of {', '.join(KINDS)}", about=getattr(chain, "name", "an impact"))
    return KINDS[kind]


def _tilde(p: np.ndarray) -> np.ndarray:
    return np.asarray(tilde(p), dtype=float)


def _numbers(values: Any) -> str:
    return ", ".join(f"{value + 0.0:.3g}" for value in np.round(np.asarray(values, dtype=float), 9))
