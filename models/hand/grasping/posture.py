"""Start posture of the hand: places of contact, forces in equilibrium, joint angles, poles and virtual points.

Finger i touches the object where its outward normal is the finger's radial direction. The forces there balance the
object: equal along the normals as long as that does it, with the smallest additions otherwise. The pole of a tip and its
virtual point lie on the line of the contact's force, so that each finger is in equilibrium for any joint angles: a
condition more is needed to pick these, the inclination of the last link (`grasp_pitch`), with the middle joint bent
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
"""Largest resultant of contact forces that counts as equilibrium, over their size."""


@dataclass(frozen=True)
class Posture:
    """Equilibrium at the start; one row for each finger, world coordinates, SI.

    Attributes
    ----------
    joints : angles (fingers, 4), rad.
    tip_centres, contact_points, poles, virtual_points : places (fingers, 3), m. A contact point is the object's.
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


def initial_posture(given: HandParameters) -> Posture:
    """The start posture of a hand that holds its object.

    Raises `ModelError` E481 the place of contact is out of a finger's reach, E482 no contact forces balance the object (or they
    would leave the cone of friction), E484 joint limits.

    Source: Visser 2002, section 5; Murray, Li and Sastry 1994, section 5.2 (grasp map).
    """
    H = np.asarray(pose_from_state(np.array([*given.object_quaternion, *given.object_position])), dtype=float)
    R, p = H[:3, :3], H[:3, 3]
    outward = given.radial
    points = np.array([p + R @ support_point(given.surface, R.T @ e) for e in outward])
    forces = _balanced(given, points, -outward, p)
    strength = np.linalg.norm(forces, axis=1)
    lines = forces / strength[:, None]
    penetrations = -np.sum(forces * outward, axis=1) / given.normal_stiffness
    centres = points + (given.tip_radius - penetrations)[:, None] * outward
    joints = np.array([finger_angles(given, i, centre) for i, centre in enumerate(centres)])
    poles = points + penetrations[:, None] * lines
    _check_limits(given, joints)
    virtual = poles + (strength / given.finger_stiffness)[:, None] * lines
    return Posture(joints, centres, points, -outward, forces, penetrations, poles, virtual)


def support_point(surface: Surface, direction: np.ndarray) -> np.ndarray:
    """Point (3,) of a closed convex surface round its origin where the outward normal is the given unit vector."""
    from scipy.optimize import least_squares

    start, chart = nearest_coordinates(surface, surface.size * direction)

    def across(q: np.ndarray) -> np.ndarray:
        return np.asarray(surface.geometry(q, chart).H, dtype=float)[:3, :2].T @ direction

    found = least_squares(across, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return np.asarray(surface.point(found.x, chart), dtype=float)


def _balanced(given: HandParameters, points: np.ndarray, inward: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Forces on the object (fingers, 3) without a resultant, closest to equal ones along the normals, N."""
    series = 1.0 / (1.0 / given.normal_stiffness + 1.0 / given.finger_stiffness)
    wanted = series * given.grip * inward
    length = float(np.max(np.linalg.norm(points - centre, axis=1)))
    scale = np.array([1.0 / length] * 3 + [1.0] * 3)
    G = scale[:, None] * np.hstack([grasp_matrix(point[None], None, centre) for point in points])
    forces = wanted.ravel() - np.linalg.pinv(G) @ (G @ wanted.ravel())
    rest = float(np.max(np.abs(G @ forces)))
    forces = forces.reshape(-1, 3)
    normal = np.sum(forces * inward, axis=1)
    tangential = np.linalg.norm(forces - normal[:, None] * inward, axis=1)
    limit = np.inf if given.friction is None else given.friction
    if rest > BALANCE * series * given.grip or np.any(normal <= 0.0) or np.any(tangential > limit * normal + 1e-12):
        details = tuple(
            f"finger {i}: normal {n:.4g} N, tangential {t:.4g} N" for i, (n, t) in enumerate(zip(normal, tangential, strict=True))
        )
        title = "the grasp has no equilibrium: no contact forces inside the cones of friction balance the object"
        cure = "turn the object so that opposite normals meet, another number of fingers, more friction"
        raise refusal("E482", title, cure, about="hand", why=details, places=())
    return forces


def finger_angles(given: HandParameters, finger: int, centre: np.ndarray) -> np.ndarray:
    """Angles (4,) that bring a tip's centre (3,) to a place, the last link inclined by `grasp_pitch`, rad.

    Joint 1 turns the finger's plane to the place; the other three form a planar chain with a given last direction, of
    whose two solutions the one is taken whose third joint bends inward.
    """
    _, l2, l3, l4 = given.link_lengths
    away = centre - given.bases[finger]
    radial = given.radial[finger]
    across = np.array([-radial[1], radial[0], 0.0])
    inward = float(np.hypot(away @ radial, away @ across))
    turn = float(np.arctan2(-(away @ across), -(away @ radial)))
    if abs(turn) > np.pi / 2.0:
        inward, turn = -inward, turn - np.copysign(np.pi, turn)
    pitch = given.grasp_pitch
    x, y = inward - l4 * np.sin(pitch), away[2] - given.link_lengths[0] - l4 * np.cos(pitch)
    cosine = (x * x + y * y - l2 * l2 - l3 * l3) / (2.0 * l2 * l3)
    if abs(cosine) > 1.0:
        place = ", ".join(f"{c:.4g}" for c in centre)
        title = f"finger {finger} cannot reach the object: its tip would have to be at ({place}) m"
        allowed = f"the links allow {abs(l2 - l3):.4g} to {l2 + l3:.4g} m"
        why = f"joint 4 would be {np.hypot(x, y):.4g} m from joint 2; {allowed}"
        cure = "move the object, change grasp_pitch, the lengths of the links or the object's size"
        raise refusal("E481", title, cure, about="hand", why=why, places=())
    third = float(np.arccos(cosine))
    second = float(np.arctan2(x, y) - np.arctan2(l3 * np.sin(third), l2 + l3 * np.cos(third)))
    return np.array([turn, second, third, pitch - second - third])


def _check_limits(given: HandParameters, joints: np.ndarray) -> None:
    lower, upper = np.array(given.joint_lower), np.array(given.joint_upper)
    beyond, cure = [], "move the object, change grasp_pitch, or widen joint_lower and joint_upper"
    for i, j in np.argwhere((joints < lower) | (joints > upper)):
        title = f"joint {j + 1} of finger {i} starts at {joints[i, j]:.4g} rad, outside {lower[j]:g} to {upper[j]:g} rad"
        beyond.append(Problem("E484", title, cures=(cure,)))
    raise_if_any("hand", beyond)


def in_last_link(given: HandParameters, finger: int, joints: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Coordinates (3,) of a world point in the frame of a finger's last link: origin at the tip's centre, z along the link,
    y = e_t (all frames are parallel to e_r, e_t, z while the angles are zero), m."""
    R, centre = fingertip_pose(given, finger, joints)
    return R.T @ (np.asarray(place, dtype=float) - centre)


def joint_torques(given: HandParameters, posture: Posture) -> np.ndarray:
    """Torques (fingers, 4) of contact forces and pole springs on the joints: zero in equilibrium, N m."""

    def torques(places: np.ndarray, forces: np.ndarray) -> np.ndarray:
        rows = enumerate(zip(posture.joints, places, forces, strict=True))
        return np.array([finger_jacobian(given, i, q, place)[3:].T @ force for i, (q, place, force) in rows])

    pull = given.finger_stiffness * (posture.virtual_points - posture.poles)
    return torques(posture.poles, pull) - torques(posture.contact_points, posture.forces)


def virtual_points_in_object(given: HandParameters, posture: Posture) -> np.ndarray:
    """Virtual points in coordinates of the virtual object (fingers, 3), m."""
    R = np.asarray(rotation(np.array(given.object_quaternion)), dtype=float)
    return (posture.virtual_points - np.array(given.object_position)) @ R


def spring_deflections(given: HandParameters, posture: Posture) -> np.ndarray:
    """Start values (fingers, 4) of the contact springs on (omega_z, v_x, v_y, v_z), along the axes of C2, rad and m.

    C2 is that of the contact component at its start: tip = body 1 with the frame of `fingertip_pose`, object = body 2.
    """
    H_0_2 = np.asarray(pose_from_state(np.array([*given.object_quaternion, *given.object_position])), dtype=float)
    tip, found = sphere(given.tip_radius), np.zeros((given.fingers, 4))
    for i, joints in enumerate(posture.joints):
        R, centre = fingertip_pose(given, i, joints)
        at = closest_points(tip, given.surface, np.asarray(inverse(pose(R, centre)) @ H_0_2, dtype=float))
        C2 = H_0_2[:3, :3] @ np.asarray(given.surface.geometry(at.q2, at.chart2).H, dtype=float)[:3, :3]
        found[i, 1:3] = -(C2.T @ posture.tangential_forces[i])[:2] / given.tangential_stiffness
        found[i, 3] = posture.penetrations[i]
    return found
