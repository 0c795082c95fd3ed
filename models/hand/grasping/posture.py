"""Start posture of the hand: contact points, forces in equilibrium, joint angles, poles and virtual points.

Finger i touches the object where its outward normal is the finger's radial direction. The forces there balance the
object: equal along the normals if possible, with the smallest additions otherwise. The pole of a tip and its
virtual point lie on the line of the contact's force, so that each finger is in equilibrium for any joint angles: one
more condition selects these, the inclination of the last link (`grasp_pitch`), with the middle joint bent
inward. The object, the virtual object and the reference have one pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from screwbond.models.hand.grasping.grasp import finger_jacobian, fingertip_pose, grasp_matrix
from screwbond.models.hand.parameters import HandParameters

from bondgraph.errors import Problem, raise_if_any, refusal
from screws.contact import closest_points
from screws.poses import inverse, pose, pose_from_state
from screws.rotations import rotation
from screws.surfaces import Surface, nearest_coordinates, sphere

BALANCE = 1e-9
"""Largest resultant of contact forces in equilibrium, relative to their size."""


@dataclass(frozen=True)
class Posture:
    """Equilibrium at the start; one row for each finger, world coordinates, SI.

    Attributes
    ----------
    joints : angles (fingers, 4), rad.
    tip_centres, contact_points, poles, virtual_points : positions (fingers, 3), m. A contact point is the object's.
    normals : unit vectors (fingers, 3) from the tip into the object.
    forces : of each finger on the object (fingers, 3), N.
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
    """Return the start posture of a hand that holds its object.

    Raises `ModelError` E481 for a contact point out of a finger's reach, E482 where no contact forces in the cones of friction
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
    """Return the point (3,) of a closed convex surface around its origin where the outward normal is this unit vector."""
    from scipy.optimize import least_squares

    start, chart = nearest_coordinates(surface, surface.size * direction)

    def slopes(q: np.ndarray) -> np.ndarray:
        return np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, :2].T @ direction

    solution = least_squares(slopes, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return np.asarray(surface.point(solution.x, chart), dtype=float)


def _balanced_forces(parameters: HandParameters, points: np.ndarray, inward: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return forces on the object (fingers, 3) without a resultant, closest to equal ones along the normals, N."""
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
        title = "the grasp has no equilibrium: no contact forces inside the cones of friction balance the object"
        cure = "turn the object so that opposite normals meet, another number of fingers, more friction"
        raise refusal("E482", title, cure, about="hand", why=details, places=())
    return forces


def finger_angles(parameters: HandParameters, finger: int, centre: np.ndarray) -> np.ndarray:
    """Solve the inverse kinematics of a finger: angles (4,), rad, for a tip's centre (3,) and the pitch `grasp_pitch`.

    Joint 1 turns the finger's plane to the point; the other three form a planar chain with a fixed last direction. Of its
    two solutions this is the one whose third joint bends inward.
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
        cure = "move the object, change grasp_pitch, the lengths of the links or the object's size"
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
    link, y = e_t (all frames are parallel to e_r, e_t, z while the angles are zero)."""
    R, centre = fingertip_pose(parameters, finger, joints)
    return R.T @ (np.asarray(point, dtype=float) - centre)


def joint_torques(parameters: HandParameters, posture: Posture) -> np.ndarray:
    """Return the torques (fingers, 4) of contact forces and pole springs on the joints: zero in equilibrium, N m."""

    def torques(points: np.ndarray, forces: np.ndarray) -> np.ndarray:
        rows = enumerate(zip(posture.joints, points, forces, strict=True))
        return np.array([finger_jacobian(parameters, i, q, point)[3:].T @ force for i, (q, point, force) in rows])

    pull = parameters.finger_stiffness * (posture.virtual_points - posture.poles)
    return torques(posture.poles, pull) - torques(posture.contact_points, posture.forces)


def virtual_points_in_object(parameters: HandParameters, posture: Posture) -> np.ndarray:
    """Return the virtual points in coordinates of the virtual object (fingers, 3), m."""
    R = np.asarray(rotation(np.array(parameters.object_quaternion)), dtype=float)
    return (posture.virtual_points - np.array(parameters.object_position)) @ R


def spring_deflections(parameters: HandParameters, posture: Posture) -> np.ndarray:
    """Return start values (fingers, 4) of the contact springs on (omega_z, v_x, v_y, v_z), along the axes of C2, rad and m.

    C2 is that of the contact component at its start: tip = body 1 with the frame of `fingertip_pose`, object = body 2.
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
