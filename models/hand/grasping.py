"""Grasp of the hand: initial contact points, equilibrium forces and joint angles, and the analysis of grasps.

Finger i touches the object where the object's outward normal is the finger's radial direction. The forces there balance the
object: equal along the normals if possible, with the smallest additions otherwise. The pole of a tip and its virtual point lie on
the line of the contact force, so that each finger is in equilibrium for any joint angles. The inclination `grasp_pitch` of the
last link and an inward bend of the middle joint select these angles.

Wrenches are [moment; force] about the object's centre. With the contact models "frictionless", "point" and "soft", a finger
exerts a normal force, any force, or any force and a moment about the normal. Source: Murray, Li and Sastry 1994, chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from screwbond.models.hand.scenarios import HandParameters

from bondgraph.errors import Problem, raise_if_any, refusal
from bondgraph.model.arguments import refused
from screws.arrays import ArrayShape, Count, Matrix, Points
from screws.contact import closest_points
from screws.poses import inverse, pose, pose_from_state
from screws.rotations import rotation, tilde
from screws.surfaces import Surface, nearest_coordinates, sphere

FingerAngles = Annotated[np.ndarray, ArrayShape((4,))]
HandAngles = Annotated[np.ndarray, ArrayShape(("n", 4))]
GraspMatrix = Annotated[np.ndarray, ArrayShape((6, "columns"))]


@dataclass(frozen=True)
class Manipulability:
    """Singular values of a Jacobian in descending order, their product, and the ratio of the smallest to the largest."""

    singular_values: np.ndarray
    volume: float
    isotropy: float


CONTACT_MODELS = ("frictionless", "point", "soft")


def grasp_matrix(
    points: Points, normals: Points | None, centre: np.ndarray | tuple[float, ...] = (0.0, 0.0, 0.0), model: str = "point"
) -> np.ndarray:
    """Return the grasp matrix G (6, columns): the object's wrench is G @ (contact forces, finger after finger).

    Parameters
    ----------
    points : contact points (n, 3), m.
    normals : unit normals into the object (n, 3); not needed for "point".
    centre : point about which moments are taken, m.
    model : "frictionless" (1 column per contact), "point" (3, world axes), "soft" (4: world axes, moment about the normal).

    Raises `ModelError` E150 for an unknown model, or without the normals that it needs.
    """
    arms = np.asarray(points, dtype=float) - np.asarray(centre, dtype=float)
    if model not in CONTACT_MODELS:
        names = ", ".join(f'"{name}"' for name in CONTACT_MODELS)
        raise refused("model", model, f"one of {names}", 'model="point"', "grasp_matrix")
    if model != "point" and normals is None:
        raise refused("normals", normals, f'(n, 3) for the model "{model}"', 'unit normals into the object, or model="point"')
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
        else:
            columns.append(np.hstack([force, np.concatenate([n, np.zeros(3)])[:, None]]))
    return np.hstack(columns)


def internal_forces(G: GraspMatrix, tolerance: float = 1e-9) -> np.ndarray:
    """Return an orthonormal basis (columns, k) of the null space of a grasp matrix: forces that squeeze but move nothing.

    Moments are scaled by the largest lever arm in G.
    """
    arm = _largest_arm(G)
    _, singular_values, V = np.linalg.svd(np.vstack([G[:3] / arm, G[3:]]))
    return V[int(np.sum(singular_values > tolerance * singular_values[0])) :].T


def friction_margins(forces: np.ndarray, normals: np.ndarray, friction: float) -> np.ndarray:
    """Return mu N - |F_t| (..., n), N, for contact forces and normals (..., n, 3) into the object; it is negative outside the
    friction cone."""
    normal = np.sum(forces * normals, axis=-1)
    return friction * normal - np.linalg.norm(forces - normal[..., None] * normals, axis=-1)


def required_friction(forces: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the smallest friction coefficient (..., n) that carries the forces, |F_t| / N, or inf where a force pulls."""
    normal = np.sum(forces * normals, axis=-1)
    tangential = np.linalg.norm(forces - normal[..., None] * normals, axis=-1)
    return np.where(normal > 0.0, tangential / np.where(normal > 0.0, normal, 1.0), np.inf)


def squeeze_forces(
    points: Points, normals: Points, friction: float, model: str = "point", edges: Count = 16
) -> np.ndarray | None:
    """Return internal forces (n, 3) inside all friction cones, with normal parts that sum to n, or None if there are none.

    A linear program maximises the distance from the faces of inscribed pyramids. If it has a solution and G has rank six,
    the grasp has force closure (Murray, Li and Sastry 1994, prop. 5.3). The moments of the model "soft" have no limit.

    Raises `ModelError` E150 for another model than "point" or "soft".
    """
    if model not in CONTACT_MODELS[1:]:
        raise refused("model", model, '"point" or "soft"', 'model="point"', "squeeze_forces")
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


def fingertip_pose(parameters: HandParameters, finger: int, joints: FingerAngles) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation (3, 3) from a finger's last link to the world, and the tip's centre (3,), m."""
    s = np.cumsum(joints[1:])
    radial, across, up = _finger_axes(parameters, finger, joints[0])
    lengths = np.array(parameters.link_lengths[1:])
    centre = parameters.bases[finger] - (np.sin(s) @ lengths) * radial + (parameters.link_lengths[0] + np.cos(s) @ lengths) * up
    c, sn = np.cos(s[-1]), np.sin(s[-1])
    return np.stack([c * radial + sn * up, across, c * up - sn * radial], axis=1), centre


def finger_jacobian(parameters: HandParameters, finger: int, joints: FingerAngles, place: np.ndarray) -> np.ndarray:
    """Return the Jacobian (6, 4) of the last link: angular velocity, and velocity of the link's point at `place` (3,)."""
    s = np.cumsum(joints[1:])
    radial, across, up = _finger_axes(parameters, finger, joints[0])
    joint = parameters.bases[finger] + parameters.link_lengths[0] * up
    columns = [np.concatenate([up, np.cross(up, place - parameters.bases[finger])])]
    for j, length in enumerate(parameters.link_lengths[1:]):
        columns.append(np.concatenate([-across, np.cross(-across, place - joint)]))
        joint = joint + length * (np.cos(s[j]) * up - np.sin(s[j]) * radial)
    return np.stack(columns, axis=1)


def hand_jacobian(parameters: HandParameters, joints: HandAngles, points: Points) -> np.ndarray:
    """Return the block-diagonal Jacobian (3 n, 4 n) from joint rates to velocities of the tips at `points` (n, 3)."""
    from scipy.linalg import block_diag

    rows = enumerate(zip(joints, points, strict=True))
    return np.asarray(block_diag(*(finger_jacobian(parameters, i, q, point)[3:] for i, (q, point) in rows)))


def manipulability(J: Matrix) -> Manipulability:
    """Return the singular values of a Jacobian, their product and their ratio; the volume of the velocity ellipsoid is
    proportional to the product (Yoshikawa 1985)."""
    values = np.linalg.svd(J, compute_uv=False)
    return Manipulability(values, float(np.prod(values)), float(values[-1] / values[0]) if values[0] > 0.0 else 0.0)


def object_manipulability(parameters: HandParameters, joints: HandAngles, points: Points) -> np.ndarray:
    """Return the singular values (6,) of pinv(G^T) J, which maps joint rates to the object's twist about the mean contact point,
    for rolling tips."""
    points = np.asarray(points, dtype=float)
    G = grasp_matrix(points, None, points.mean(axis=0))
    return np.linalg.svd(np.linalg.pinv(G.T) @ hand_jacobian(parameters, joints, points), compute_uv=False)


def finger_extension(parameters: HandParameters, joints: np.ndarray) -> np.ndarray:
    """Return the extension (..., n) of each finger at the angles (..., n, 4): the distance from joint 2 to the tip's centre,
    divided by the length of the links between them, so that it is 1 at full reach."""
    s = np.cumsum(np.asarray(joints, dtype=float)[..., 1:], axis=-1)
    lengths = np.array(parameters.link_lengths[1:])
    return np.hypot(np.sin(s) @ lengths, np.cos(s) @ lengths) / lengths.sum()


def _finger_axes(parameters: HandParameters, finger: int, turn: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    angle = parameters.azimuths[finger] + turn
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c, s, 0.0]), np.array([-s, c, 0.0]), np.array([0.0, 0.0, 1.0])


def _largest_arm(G: np.ndarray) -> float:
    largest = float(np.max(np.abs(G[:3])))
    return largest if largest > 1e-12 * float(np.max(np.abs(G))) else 1.0


def _tangents(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    t1 = t1 / np.linalg.norm(t1)
    return t1, np.cross(n, t1)


BALANCE = 1e-9
"""Largest resultant of contact forces that counts as equilibrium, relative to their size."""


@dataclass(frozen=True)
class Posture:
    """Initial equilibrium, with one row per finger, in world coordinates and SI units.

    Attributes
    ----------
    joints : angles (fingers, 4), rad.
    tip_centres, contact_points, poles, virtual_points : positions (fingers, 3), m. Contact points are on the object.
    normals : unit vectors (fingers, 3) from the tip into the object.
    forces : force of each finger on the object (fingers, 3), N.
    penetrations : minus the gaps (fingers,), m.
    """

    joints: np.ndarray
    tip_centres: np.ndarray
    contact_points: np.ndarray
    normals: np.ndarray
    forces: np.ndarray
    penetrations: np.ndarray
    poles: np.ndarray
    virtual_points: np.ndarray

    @property
    def normal_forces(self) -> np.ndarray:
        """Normal part of each force (fingers,), N."""
        return np.sum(self.forces * self.normals, axis=1)

    @property
    def tangential_forces(self) -> np.ndarray:
        """Tangential part of each force on the object (fingers, 3), N."""
        return self.forces - self.normal_forces[:, None] * self.normals


def initial_posture(parameters: HandParameters) -> Posture:
    """Return the initial posture of a hand that holds its object.

    Raises `ModelError` E481 for a contact point out of a finger's reach, E482 where no contact forces in the friction cones
    balance the object, E484 beyond joint limits.

    Source: Visser 2002, section 5; Murray, Li and Sastry 1994, section 5.2 (grasp map).
    """
    H = np.asarray(pose_from_state(np.array([*parameters.object_quaternion, *parameters.object_position])), dtype=float)
    R, p = H[:3, :3], H[:3, 3]
    outward = parameters.radial
    points = np.array([p + R @ support_point(parameters.surface, R.T @ e) for e in outward])
    forces = _balanced_forces(parameters, points, -outward, p)
    strength = np.linalg.norm(forces, axis=1)
    directions = forces / strength[:, None]
    penetrations = -np.sum(forces * outward, axis=1) / parameters.normal_stiffness
    centres = points + (parameters.tip_radius - penetrations)[:, None] * outward
    joints = np.array([finger_angles(parameters, i, centre) for i, centre in enumerate(centres)])
    poles = points + penetrations[:, None] * directions
    _check_limits(parameters, joints)
    virtual = poles + (strength / parameters.finger_stiffness)[:, None] * directions
    return Posture(joints, centres, points, -outward, forces, penetrations, poles, virtual)


def support_point(surface: Surface, direction: np.ndarray) -> np.ndarray:
    """Return the point (3,) of a closed convex surface around its origin where the outward normal is a given unit vector."""
    from scipy.optimize import least_squares

    start, chart = nearest_coordinates(surface, surface.size * direction)

    def slopes(q: np.ndarray) -> np.ndarray:
        return np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, :2].T @ direction

    solution = least_squares(slopes, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return np.asarray(surface.point(solution.x, chart), dtype=float)


def _balanced_forces(parameters: HandParameters, points: np.ndarray, inward: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the forces on the object (fingers, 3), N, that are closest to equal forces along the normals and have zero resultant
    force and moment."""
    series = 1.0 / (1.0 / parameters.normal_stiffness + 1.0 / parameters.finger_stiffness)
    equal_forces = series * parameters.grip * inward
    length = float(np.max(np.linalg.norm(points - centre, axis=1)))
    scale = np.array([1.0 / length] * 3 + [1.0] * 3)
    G = scale[:, None] * np.hstack([grasp_matrix(point[None], None, centre) for point in points])
    forces = equal_forces.ravel() - np.linalg.pinv(G) @ (G @ equal_forces.ravel())
    residual = float(np.max(np.abs(G @ forces)))
    forces = forces.reshape(-1, 3)
    normal = np.sum(forces * inward, axis=1)
    tangential = np.linalg.norm(forces - normal[:, None] * inward, axis=1)
    limit = np.inf if parameters.friction is None else parameters.friction
    if residual > BALANCE * series * parameters.grip or np.any(normal <= 0.0) or np.any(tangential > limit * normal + 1e-12):
        details = tuple(
            f"finger {i}: normal {n:.4g} N, tangential {t:.4g} N" for i, (n, t) in enumerate(zip(normal, tangential, strict=True))
        )
        title = "the grasp has no equilibrium: no contact forces inside the friction cones balance the object"
        cure = "rotate the object so that normals oppose each other, change the number of fingers, or increase the friction"
        raise refusal("E482", title, cure, about="hand", why=details, places=())
    return forces


def finger_angles(parameters: HandParameters, finger: int, centre: np.ndarray) -> np.ndarray:
    """Solve the inverse kinematics of a finger: angles (4,), rad, for the tip's centre (3,) and the pitch `grasp_pitch`.

    Joint 1 turns the finger's plane to the point; the others form a planar chain with a fixed last direction, of which joint 3
    bends inward.
    """
    _, l2, l3, l4 = parameters.link_lengths
    offset = centre - parameters.bases[finger]
    radial = parameters.radial[finger]
    across = np.array([-radial[1], radial[0], 0.0])
    inward = float(np.hypot(offset @ radial, offset @ across))
    turn = float(np.arctan2(-(offset @ across), -(offset @ radial)))
    if abs(turn) > np.pi / 2.0:
        inward, turn = -inward, turn - np.copysign(np.pi, turn)
    pitch = parameters.grasp_pitch
    x, y = inward - l4 * np.sin(pitch), offset[2] - parameters.link_lengths[0] - l4 * np.cos(pitch)
    cosine = (x * x + y * y - l2 * l2 - l3 * l3) / (2.0 * l2 * l3)
    if abs(cosine) > 1.0:
        position = ", ".join(f"{c:.4g}" for c in centre)
        title = f"finger {finger} cannot reach the object: its tip would have to be at ({position}) m"
        allowed = f"the links allow {abs(l2 - l3):.4g} to {l2 + l3:.4g} m"
        why = f"joint 4 would be {np.hypot(x, y):.4g} m from joint 2; {allowed}"
        cure = "move the object, or change grasp_pitch, the link lengths or the object's size"
        raise refusal("E481", title, cure, about="hand", why=why, places=())
    third = float(np.arccos(cosine))
    second = float(np.arctan2(x, y) - np.arctan2(l3 * np.sin(third), l2 + l3 * np.cos(third)))
    return np.array([turn, second, third, pitch - second - third])


def _check_limits(parameters: HandParameters, joints: np.ndarray) -> None:
    lower, upper = np.array(parameters.joint_lower), np.array(parameters.joint_upper)
    beyond, cure = [], "move the object, change grasp_pitch, or widen joint_lower and joint_upper"
    for i, j in np.argwhere((joints < lower) | (joints > upper)):
        title = f"joint {j + 1} of finger {i} starts at {joints[i, j]:.4g} rad, outside {lower[j]:g} to {upper[j]:g} rad"
        beyond.append(Problem("E484", title, cures=(cure,)))
    raise_if_any("hand", beyond)


def in_last_link(parameters: HandParameters, finger: int, joints: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return coordinates (3,) of a world point, m, in the frame of a finger's last link: origin at the tip's centre, z along the
    link, y = e_t (at zero angles, all frames are parallel to e_r, e_t, z)."""
    R, centre = fingertip_pose(parameters, finger, joints)
    return R.T @ (np.asarray(point, dtype=float) - centre)


def joint_torques(parameters: HandParameters, posture: Posture) -> np.ndarray:
    """Return the joint torques (fingers, 4), N m, of pole springs and contact forces together, which are zero in equilibrium."""

    def torques(points: np.ndarray, forces: np.ndarray) -> np.ndarray:
        rows = enumerate(zip(posture.joints, points, forces, strict=True))
        return np.array([finger_jacobian(parameters, i, q, point)[3:].T @ force for i, (q, point, force) in rows])

    pull = parameters.finger_stiffness * (posture.virtual_points - posture.poles)
    return torques(posture.poles, pull) - torques(posture.contact_points, posture.forces)


def virtual_points_in_object(parameters: HandParameters, posture: Posture) -> np.ndarray:
    R = np.asarray(rotation(np.array(parameters.object_quaternion)), dtype=float)
    return (posture.virtual_points - np.array(parameters.object_position)) @ R


def spring_deflections(parameters: HandParameters, posture: Posture) -> np.ndarray:
    """Return start values (fingers, 4) of the contact springs on (omega_z, v_x, v_y, v_z), along the axes of C2, rad and m.

    C2 is the initial frame of the contact component, where body 1 is the tip with the frame of `fingertip_pose` and body 2 the
    object.
    """
    H_0_2 = np.asarray(pose_from_state(np.array([*parameters.object_quaternion, *parameters.object_position])), dtype=float)
    tip, deflections = sphere(parameters.tip_radius), np.zeros((parameters.fingers, 4))
    for i, joints in enumerate(posture.joints):
        R, centre = fingertip_pose(parameters, i, joints)
        closest = closest_points(tip, parameters.surface, np.asarray(inverse(pose(R, centre)) @ H_0_2, dtype=float))
        C2 = H_0_2[:3, :3] @ np.asarray(parameters.surface.geometry(closest.q2, closest.chart2).H, dtype=float)[:3, :3]
        deflections[i, 1:3] = -(C2.T @ posture.tangential_forces[i])[:2] / parameters.tangential_stiffness
        deflections[i, 3] = posture.penetrations[i]
    return deflections
