"""Grasp analysis: contact points and normals in; grasp matrix, internal forces, manipulability, margins of friction out.

Wrenches are [moment; force] about the object's centre. Contact models, with the components that a finger can exert:
"frictionless" (normal force), "point" (force), "soft" (force and moment about the normal).
Source: Murray, Li and Sastry 1994, chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from screwbond.models.hand.parameters import HandParameters

from screws.rotations import tilde


@dataclass(frozen=True)
class Manipulability:
    """Singular values (falling) of a Jacobian, their product, and the ratio of the least to the largest."""

    singular_values: np.ndarray
    volume: float
    isotropy: float


def grasp_matrix(
    points: np.ndarray, normals: np.ndarray | None, centre: np.ndarray | tuple[float, ...] = (0.0, 0.0, 0.0), model: str = "point"
) -> np.ndarray:
    """Grasp matrix G (6, columns): the object's wrench is G @ (contact forces, finger after finger).

    Parameters
    ----------
    points : contact points (n, 3), m.
    normals : unit normals into the object (n, 3); "point" does without them (None).
    centre : point about which moments are taken, m.
    model : "frictionless" (1 column a contact), "point" (3, world axes), "soft" (4: world axes, moment about the normal).
    """
    arms = np.asarray(points, dtype=float) - np.asarray(centre, dtype=float)
    if model != "point" and normals is None:
        raise ValueError(f'contact model "{model}" needs normals')
    columns = []
    for i, arm in enumerate(arms):
        force = np.vstack([np.asarray(tilde(arm), dtype=float), np.eye(3)])
        if model == "point":
            columns.append(force)
            continue
        assert normals is not None
        n = np.asarray(normals[i], dtype=float)
        if model == "frictionless":
            columns.append(force @ n[:, None])
        elif model == "soft":
            columns.append(np.hstack([force, np.concatenate([n, np.zeros(3)])[:, None]]))
        else:
            raise ValueError(f'contact model "{model}" is none of "frictionless", "point", "soft"')
    return np.hstack(columns)


def internal_forces(G: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """Orthonormal basis (columns, k) of the null space of a grasp matrix: forces that squeeze and move nothing.

    Moments are weighed against forces by the largest arm in G.
    """
    largest = _scale(G)
    _, sizes, V = np.linalg.svd(np.vstack([G[:3] / largest, G[3:]]))
    return V[int(np.sum(sizes > tolerance * sizes[0])) :].T


def friction_margins(forces: np.ndarray, normals: np.ndarray, friction: float) -> np.ndarray:
    """mu N - |F_t| (..., n) of contact forces (..., n, 3) on the object, normals into it (..., n, 3), N; negative outside."""
    normal = np.sum(forces * normals, axis=-1)
    return friction * normal - np.linalg.norm(forces - normal[..., None] * normals, axis=-1)


def required_friction(forces: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Least coefficient of friction (..., n) that carries the forces, |F_t| / N; inf where a force pulls."""
    normal = np.sum(forces * normals, axis=-1)
    tangential = np.linalg.norm(forces - normal[..., None] * normals, axis=-1)
    return np.where(normal > 0.0, tangential / np.where(normal > 0.0, normal, 1.0), np.inf)


def squeeze_forces(
    points: np.ndarray, normals: np.ndarray, friction: float, model: str = "point", edges: int = 16
) -> np.ndarray | None:
    """Internal forces (n, 3) inside all cones of friction with the sum of normal forces n, or None where there are none.

    The cones are replaced by inscribed pyramids; the answer keeps the greatest distance from their sides. With it and a G
    of rank six the grasp has force closure (Murray, Li and Sastry 1994, prop. 5.3).
    """
    from scipy.optimize import linprog

    points, normals = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
    G = grasp_matrix(points, normals, points.mean(axis=0), model)
    count, width = len(points), G.shape[1] // len(points)
    columns = G.shape[1]
    angles = 2.0 * np.pi * np.arange(edges) / edges
    inner = friction * np.cos(np.pi / edges)
    sides, total = [], np.zeros(columns + 1)
    for i, n in enumerate(normals):
        t1, t2 = _tangents(n)
        force = slice(width * i, width * i + 3)
        total[force] = n
        for angle in angles:
            row = np.zeros(columns + 1)
            row[force] = np.cos(angle) * t1 + np.sin(angle) * t2 - inner * n
            row[-1] = 1.0
            sides.append(row)
    scale = _scale(G)
    balance = np.vstack([np.vstack([G[:3] / scale, G[3:]]), np.zeros(columns)])
    equal = np.hstack([balance, np.zeros((7, 1))])
    equal[-1] = total
    found = linprog(
        np.array([0.0] * columns + [-1.0]),
        np.array(sides),
        np.zeros(len(sides)),
        equal,
        np.array([0.0] * 6 + [count]),
        bounds=[(None, None)] * columns + [(None, 1.0)],
    )
    if not found.success or found.x[-1] <= 1e-9:
        return None
    return found.x[:-1].reshape(count, width)[:, :3]


def fingertip_pose(given: HandParameters, finger: int, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) of a finger's last link to the world, and the tip's centre (3,), m."""
    s = np.cumsum(joints[1:])
    radial, across, up = _axes(given, finger, joints[0])
    lengths = np.array(given.link_lengths[1:])
    centre = given.bases[finger] - (np.sin(s) @ lengths) * radial + (given.link_lengths[0] + np.cos(s) @ lengths) * up
    c, sn = np.cos(s[-1]), np.sin(s[-1])
    return np.stack([c * radial + sn * up, across, c * up - sn * radial], axis=1), centre


def finger_jacobian(given: HandParameters, finger: int, joints: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Jacobian (6, 4) of the last link: angular velocity, and velocity of the link's point that is at `place` (3,)."""
    s = np.cumsum(joints[1:])
    radial, across, up = _axes(given, finger, joints[0])
    joint = given.bases[finger] + given.link_lengths[0] * up
    columns = [np.concatenate([up, np.cross(up, place - given.bases[finger])])]
    for j, length in enumerate(given.link_lengths[1:]):
        columns.append(np.concatenate([-across, np.cross(-across, place - joint)]))
        joint = joint + length * (np.cos(s[j]) * up - np.sin(s[j]) * radial)
    return np.stack(columns, axis=1)


def hand_jacobian(given: HandParameters, joints: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Block diagonal (3 n, 4 n): joint rates -> velocities of the tips' points at `points` (n, 3)."""
    n = given.fingers
    J = np.zeros((3 * n, 4 * n))
    for i in range(n):
        J[3 * i : 3 * i + 3, 4 * i : 4 * i + 4] = finger_jacobian(given, i, joints[i], points[i])[3:]
    return J


def manipulability(J: np.ndarray) -> Manipulability:
    """Singular values of a Jacobian; source: Yoshikawa 1985 (their product is the volume of the ellipsoid of velocities)."""
    values = np.linalg.svd(J, compute_uv=False)
    return Manipulability(values, float(np.prod(values)), float(values[-1] / values[0]) if values[0] > 0.0 else 0.0)


def object_manipulability(given: HandParameters, joints: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Singular values (6,) of joint rates -> object twist where the tips roll: pinv(G^T) J, about the contacts' mean."""
    points = np.asarray(points, dtype=float)
    G = grasp_matrix(points, None, points.mean(axis=0))
    return np.linalg.svd(np.linalg.pinv(G.T) @ hand_jacobian(given, joints, points), compute_uv=False)


def finger_extension(given: HandParameters, joints: np.ndarray) -> np.ndarray:
    """How far each finger is stretched (..., n) at the angles (..., n, 4): joint 2 to the tip's centre over the length of
    the links between; 1 at the end of its reach."""
    s = np.cumsum(np.asarray(joints, dtype=float)[..., 1:], axis=-1)
    lengths = np.array(given.link_lengths[1:])
    return np.hypot(np.sin(s) @ lengths, np.cos(s) @ lengths) / lengths.sum()


def skeleton(given: HandParameters, joints: np.ndarray) -> np.ndarray:
    """Places (..., n, 5, 3) of bases, joints 2 to 4 and tip centres for joint angles (..., n, 4), m."""
    turn = given.azimuths + joints[..., 0]
    inward, up = -np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1), np.array([0.0, 0.0, 1.0])
    s = np.cumsum(joints[..., 1:], axis=-1)
    places = [np.broadcast_to(given.bases, inward.shape)]
    places.append(places[0] + given.link_lengths[0] * up)
    for j, length in enumerate(given.link_lengths[1:]):
        places.append(places[-1] + length * (np.sin(s[..., j, None]) * inward + np.cos(s[..., j, None]) * up))
    return np.stack(places, axis=-2)


def _axes(given: HandParameters, finger: int, turn: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    angle = given.azimuths[finger] + turn
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c, s, 0.0]), np.array([-s, c, 0.0]), np.array([0.0, 0.0, 1.0])


def _scale(G: np.ndarray) -> float:
    """Largest arm in a grasp matrix; 1 where all forces meet in the centre, m."""
    largest = float(np.max(np.abs(G[:3])))
    return largest if largest > 1e-12 * float(np.max(np.abs(G))) else 1.0


def _tangents(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    t1 = t1 / np.linalg.norm(t1)
    return t1, np.cross(n, t1)
