"""Grasp analysis: grasp matrix, internal forces, force closure, manipulability and margins of friction.

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
    """Singular values of a Jacobian in descending order, their product, and the ratio of the least to the largest."""

    singular_values: np.ndarray
    volume: float
    isotropy: float


def grasp_matrix(
    points: np.ndarray, normals: np.ndarray | None, centre: np.ndarray | tuple[float, ...] = (0.0, 0.0, 0.0), model: str = "point"
) -> np.ndarray:
    """Return the grasp matrix G (6, columns): the object's wrench is G @ (contact forces, finger after finger).

    Parameters
    ----------
    points : contact points (n, 3), m.
    normals : unit normals into the object (n, 3); None for "point", which needs none.
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
    """Return an orthonormal basis (columns, k) of the null space of a grasp matrix: forces that squeeze and move nothing.

    Moments are weighed against forces by the largest arm in G.
    """
    arm = _largest_arm(G)
    _, singular_values, V = np.linalg.svd(np.vstack([G[:3] / arm, G[3:]]))
    return V[int(np.sum(singular_values > tolerance * singular_values[0])) :].T


def friction_margins(forces: np.ndarray, normals: np.ndarray, friction: float) -> np.ndarray:
    """Return mu N - |F_t| (..., n), N, of contact forces and normals (..., n, 3) into the object; negative outside the cone."""
    normal = np.sum(forces * normals, axis=-1)
    return friction * normal - np.linalg.norm(forces - normal[..., None] * normals, axis=-1)


def required_friction(forces: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the least coefficient of friction (..., n) that carries the forces, |F_t| / N; inf where a force pulls."""
    normal = np.sum(forces * normals, axis=-1)
    tangential = np.linalg.norm(forces - normal[..., None] * normals, axis=-1)
    return np.where(normal > 0.0, tangential / np.where(normal > 0.0, normal, 1.0), np.inf)


def squeeze_forces(
    points: np.ndarray, normals: np.ndarray, friction: float, model: str = "point", edges: int = 16
) -> np.ndarray | None:
    """Return internal forces (n, 3) inside all cones of friction with the sum of normal forces n, or None.

    A linear program maximises the distance from the sides of inscribed pyramids. If it has a solution and G has rank six,
    the grasp has force closure (Murray, Li and Sastry 1994, prop. 5.3).
    """
    from scipy.optimize import linprog

    points, normals = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
    G = grasp_matrix(points, normals, points.mean(axis=0), model)
    count, width = len(points), G.shape[1] // len(points)
    columns = G.shape[1]
    angles = 2.0 * np.pi * np.arange(edges) / edges
    inner = friction * np.cos(np.pi / edges)
    inequalities, normal_sum = [], np.zeros(columns + 1)
    for i, n in enumerate(normals):
        t1, t2 = _tangents(n)
        force = slice(width * i, width * i + 3)
        normal_sum[force] = n
        for angle in angles:
            row = np.zeros(columns + 1)
            row[force] = np.cos(angle) * t1 + np.sin(angle) * t2 - inner * n
            row[-1] = 1.0
            inequalities.append(row)
    scale = _largest_arm(G)
    balance = np.vstack([np.vstack([G[:3] / scale, G[3:]]), np.zeros(columns)])
    equalities = np.hstack([balance, np.zeros((7, 1))])
    equalities[-1] = normal_sum
    solution = linprog(
        np.array([0.0] * columns + [-1.0]),
        np.array(inequalities),
        np.zeros(len(inequalities)),
        equalities,
        np.array([0.0] * 6 + [count]),
        bounds=[(None, None)] * columns + [(None, 1.0)],
    )
    if not solution.success or solution.x[-1] <= 1e-9:
        return None
    return solution.x[:-1].reshape(count, width)[:, :3]


def fingertip_pose(parameters: HandParameters, finger: int, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation (3, 3) of a finger's last link to the world, and the tip's centre (3,), m."""
    s = np.cumsum(joints[1:])
    radial, across, up = _finger_axes(parameters, finger, joints[0])
    lengths = np.array(parameters.link_lengths[1:])
    centre = parameters.bases[finger] - (np.sin(s) @ lengths) * radial + (parameters.link_lengths[0] + np.cos(s) @ lengths) * up
    c, sn = np.cos(s[-1]), np.sin(s[-1])
    return np.stack([c * radial + sn * up, across, c * up - sn * radial], axis=1), centre


def finger_jacobian(parameters: HandParameters, finger: int, joints: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the Jacobian (6, 4) of the last link: angular velocity, and velocity of the link's point that is at `place` (3,)."""
    s = np.cumsum(joints[1:])
    radial, across, up = _finger_axes(parameters, finger, joints[0])
    joint = parameters.bases[finger] + parameters.link_lengths[0] * up
    columns = [np.concatenate([up, np.cross(up, place - parameters.bases[finger])])]
    for j, length in enumerate(parameters.link_lengths[1:]):
        columns.append(np.concatenate([-across, np.cross(-across, place - joint)]))
        joint = joint + length * (np.cos(s[j]) * up - np.sin(s[j]) * radial)
    return np.stack(columns, axis=1)


def hand_jacobian(parameters: HandParameters, joints: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the block-diagonal Jacobian (3 n, 4 n): joint rates -> velocities of the tips' points at `points` (n, 3)."""
    n = parameters.fingers
    J = np.zeros((3 * n, 4 * n))
    for i in range(n):
        J[3 * i : 3 * i + 3, 4 * i : 4 * i + 4] = finger_jacobian(parameters, i, joints[i], points[i])[3:]
    return J


def manipulability(J: np.ndarray) -> Manipulability:
    """Return the singular values of a Jacobian; their product is the volume of the velocity ellipsoid (Yoshikawa 1985)."""
    values = np.linalg.svd(J, compute_uv=False)
    return Manipulability(values, float(np.prod(values)), float(values[-1] / values[0]) if values[0] > 0.0 else 0.0)


def object_manipulability(parameters: HandParameters, joints: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the singular values (6,) of pinv(G^T) J, joint rates -> object twist where the tips roll, about the contacts'
    mean."""
    points = np.asarray(points, dtype=float)
    G = grasp_matrix(points, None, points.mean(axis=0))
    return np.linalg.svd(np.linalg.pinv(G.T) @ hand_jacobian(parameters, joints, points), compute_uv=False)


def finger_extension(parameters: HandParameters, joints: np.ndarray) -> np.ndarray:
    """Return the stretch (..., n) of each finger at the angles (..., n, 4): distance from joint 2 to the tip's centre over the
    length of the links between; 1 at the end of its reach."""
    s = np.cumsum(np.asarray(joints, dtype=float)[..., 1:], axis=-1)
    lengths = np.array(parameters.link_lengths[1:])
    return np.hypot(np.sin(s) @ lengths, np.cos(s) @ lengths) / lengths.sum()


def skeleton(parameters: HandParameters, joints: np.ndarray) -> np.ndarray:
    """Return the positions (..., n, 5, 3) of bases, joints 2 to 4 and tip centres for joint angles (..., n, 4), m."""
    turn = parameters.azimuths + joints[..., 0]
    inward, up = -np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1), np.array([0.0, 0.0, 1.0])
    s = np.cumsum(joints[..., 1:], axis=-1)
    points = [np.broadcast_to(parameters.bases, inward.shape)]
    points.append(points[0] + parameters.link_lengths[0] * up)
    for j, length in enumerate(parameters.link_lengths[1:]):
        points.append(points[-1] + length * (np.sin(s[..., j, None]) * inward + np.cos(s[..., j, None]) * up))
    return np.stack(points, axis=-2)


def _finger_axes(parameters: HandParameters, finger: int, turn: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    angle = parameters.azimuths[finger] + turn
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c, s, 0.0]), np.array([-s, c, 0.0]), np.array([0.0, 0.0, 1.0])


def _largest_arm(G: np.ndarray) -> float:
    """Return the largest arm in a grasp matrix, m; 1 where all forces meet in the centre."""
    largest = float(np.max(np.abs(G[:3])))
    return largest if largest > 1e-12 * float(np.max(np.abs(G))) else 1.0


def _tangents(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    t1 = t1 / np.linalg.norm(t1)
    return t1, np.cross(n, t1)
