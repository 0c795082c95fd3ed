"""Grasp analysis agrees with closed forms, and the start posture is in equilibrium."""

from __future__ import annotations

import json

import numpy as np
import pytest
from screwbond.models.hand import (
    SCENARIOS,
    HandParameters,
    HandScenario,
    ReferenceStep,
    finger_jacobian,
    fingertip_pose,
    friction_margins,
    grasp_matrix,
    hand_jacobian,
    initial_posture,
    internal_forces,
    joint_torques,
    manipulability,
    object_manipulability,
    read_scenario,
    reference_motion,
    required_friction,
    spring_deflections,
    squeeze_forces,
    to_json,
)

from bondgraph.errors import ModelError
from tests.inner.models_hand import in_last_link, virtual_points_in_object
from tests.models.hand.hand_reference import reference

HOME = (0.0, -0.5058167754, 1.5417097332, 0.1641070423)


def test_home_joints_penetration_and_force_come_out() -> None:
    pose = initial_posture(HandParameters())
    assert np.allclose(pose.joints, HOME, atol=1e-10)
    assert np.allclose(pose.penetrations, 300.0 * 0.01 / 20300.0, rtol=1e-12)
    assert np.allclose(pose.normal_forces, 2.9557, atol=5e-5)
    given = HandParameters()
    assert np.allclose(virtual_points_in_object(given, pose), 0.02 * given.radial, atol=1e-15)
    pole = in_last_link(given, 1, pose.joints[1], pose.poles[1])
    assert np.allclose(pole, 0.012 * np.array([-np.cos(1.2), 0.0, np.sin(1.2)]), atol=1e-15)


TURNED = (float(np.cos(0.2)), 0.0, 0.0, float(np.sin(0.2)))


@pytest.mark.parametrize(
    "changes",
    [
        {"fingers": 2},
        {"fingers": 4, "object_shape": "ellipsoid", "object_size": (0.03, 0.025, 0.035)},
        {"object_shape": "ellipsoid", "object_size": (0.03, 0.025, 0.035), "object_quaternion": TURNED},
        {"object_shape": "egg", "object_size": (0.035, 0.084), "object_mass": 0.06},
    ],
)
def test_postures_are_in_equilibrium(changes) -> None:
    given = HandParameters(**changes)
    pose = initial_posture(given)
    assert np.max(np.abs(pose.forces.sum(axis=0))) < 1e-12
    moments = np.cross(pose.contact_points - np.array(given.object_position), pose.forces).sum(axis=0)
    assert np.max(np.abs(moments)) < 1e-13
    assert np.max(np.abs(joint_torques(given, pose))) < 1e-13
    for i, q in enumerate(pose.joints):
        R, centre = fingertip_pose(given, i, q)
        assert np.allclose(centre, pose.tip_centres[i], atol=1e-14)
        assert np.arccos(R[2, 2]) == pytest.approx(given.grasp_pitch, rel=1e-9)
    apart = np.linalg.norm(pose.tip_centres - pose.contact_points, axis=1)
    assert np.allclose(apart, given.tip_radius - pose.penetrations, atol=1e-14)


def test_ellipsoid_askew_needs_friction() -> None:
    shape = {"object_shape": "ellipsoid", "object_size": (0.03, 0.02, 0.03), "fingers": 2, "object_quaternion": TURNED}
    pose = initial_posture(HandParameters(**shape))
    needed = float(np.max(required_friction(pose.forces, pose.normals)))
    # Two contacts balance along the line that joins them: tan of its angle to the normals, for x = A^2 n / |A n|.
    springs = spring_deflections(HandParameters(**shape), pose)
    assert np.allclose(2e4 * np.hypot(springs[:, 1], springs[:, 2]) / (2e4 * springs[:, 3]), needed, rtol=1e-12)
    n = np.array([np.cos(0.4), -np.sin(0.4)])
    x = np.array([0.03**2, 0.02**2]) * n
    assert needed == pytest.approx(abs(n[0] * x[1] - n[1] * x[0]) / (n @ x), rel=1e-6)
    with pytest.raises(ModelError, match="E482"):
        initial_posture(HandParameters(**shape, friction=0.9 * needed))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"grip": -0.01}, "E480"),
        ({"fingers": 1}, "E480"),
        ({"link_masses": (0.1, 0.1)}, "E480"),
        ({"object_shape": "cube"}, "E480"),
        ({"object_shape": "egg", "object_size": (0.05, 0.04)}, "E480"),
        ({"object_size": (0.5,)}, "E481 the object, 1 m wide, exceeds"),
        ({"grip": 0.05}, "less than half the object's width, 0.03 m"),
        ({"object_position": (0.0, 0.0, 0.3)}, "E481"),
        ({"joint_upper": (1.0, 1.0, 1.0, 1.0)}, "E484"),
    ],
)
def test_refusals(changes, code: str) -> None:
    with pytest.raises(ModelError, match=code):
        initial_posture(HandParameters(**changes))


def test_a_reference_that_jumps_is_refused() -> None:
    with pytest.raises(ModelError, match="E483"):
        HandScenario("jump", 2.0, (ReferenceStep(1.0, 1.0, (0.1, 0.0, 0.0)),))


def test_reference_moves_as_its_steps_say() -> None:
    steps = (*SCENARIOS["rotate"].steps, ReferenceStep(1.0, 3.0, (0.01, 0.0, 0.02)))
    parameters = HandParameters(object_quaternion=TURNED, object_position=(0.001, 0.0, 0.09))
    given = SCENARIOS["rotate"].changed(steps=steps, parameters=parameters)
    motion = reference_motion(steps, parameters.object_position, parameters.object_quaternion)
    for t in (0.0, 1.3, 2.2, 3.5, 6.0):
        pose, velocity = reference(given, t)
        twist = motion.twist(t)
        assert np.allclose(motion.pose(t), pose, atol=1e-14)
        assert np.allclose(twist[:3], velocity[:3], atol=1e-14)
        assert np.allclose(twist[3:] + np.cross(twist[:3], pose[4:]), velocity[3:], atol=1e-14)
    for t in (1.3, 2.2, 3.5):
        h = 1e-5
        q, before, after = (reference(given, time)[0] for time in (t, t - h, t + h))
        rate = (after - before) / (2.0 * h)
        omega = 2.0 * (q[0] * rate[1:4] - rate[0] * q[1:4] - np.cross(rate[1:4], q[1:4]))
        assert np.allclose(reference(given, t)[1], [*omega, *rate[4:]], atol=1e-8)


def test_files_come_back_and_name_their_faults(tmp_path) -> None:
    changed = HandParameters(fingers=4, friction=0.5, object_shape="ellipsoid", object_size=(0.03, 0.03, 0.02))
    given = SCENARIOS["rotate"].changed(parameters=changed)
    path = tmp_path / "rotate.json"
    path.write_text(to_json(given))
    assert read_scenario(path) == given
    values = json.loads(path.read_text())
    values["parameters"]["fingrs"] = 3
    values["motion"][0]["to"] = "late"
    path.write_text(json.dumps(values))
    with pytest.raises(ModelError) as caught:
        read_scenario(path)
    assert {problem.code for problem in caught.value.problems} == {"E404", "E405"}
    path.write_text(json.dumps({"t_end": 2.0, "motion": [], "parameters": {"object_size": [0.3]}}))
    with pytest.raises(ModelError) as caught:
        read_scenario(path)
    assert str(caught.value).startswith('1 problem in "rotate.json"\nE481') and "created at" not in str(caught.value)


def test_antipodal_grasp() -> None:
    points, normals = np.array([[0.1, 0, 0], [-0.1, 0, 0]]), np.array([[-1.0, 0, 0], [1.0, 0, 0]])
    N = internal_forces(grasp_matrix(points, normals))
    assert N.shape == (6, 1) and np.allclose(np.abs(N[:, 0]), [np.sqrt(0.5), 0, 0, np.sqrt(0.5), 0, 0])
    assert np.linalg.matrix_rank(grasp_matrix(points, normals)) == 5
    assert np.linalg.matrix_rank(grasp_matrix(points, normals, model="soft")) == 6
    # The line between the points must lie in both cones: the second point lowered by tan(.2) * .2.
    tilted = points - np.array([[0, 0, 0], [0, 0.2 * np.tan(0.2), 0]])
    assert squeeze_forces(tilted, normals, 1.1 * np.tan(0.2), edges=64) is not None
    assert squeeze_forces(tilted, normals, 0.9 * np.tan(0.2), edges=64) is None


def test_invalid_grasps_are_refused() -> None:
    with pytest.raises(ModelError, match=r"E150 `model` .* cannot be 'hard'"):
        grasp_matrix(np.eye(3), None, model="hard")
    with pytest.raises(ModelError, match="E150 `normals` cannot be None"):
        grasp_matrix(np.eye(3), None, model="soft")
    with pytest.raises(ModelError, match=r"E150 `model` .* cannot be 'frictionless'"):
        squeeze_forces(np.eye(3), np.eye(3), 0.5, model="frictionless")


def test_three_fingers_in_a_plane() -> None:
    r = 0.03
    a = 2.0 * np.pi * np.arange(3) / 3
    outward = np.stack([np.cos(a), np.sin(a), 0 * a], axis=1)
    G = grasp_matrix(r * outward, -outward, model="frictionless")
    N = internal_forces(G)
    assert N.shape == (3, 1) and np.allclose(np.abs(N), np.sqrt(1.0 / 3.0))
    G = grasp_matrix(r * outward, None)
    # G G^T of three points on a circle in the plane z = 0: moments r^2 (3/2, 3/2, 3), forces 3.
    assert np.allclose(G @ G.T, np.diag([1.5 * r * r, 1.5 * r * r, 3.0 * r * r, 3.0, 3.0, 3.0]), atol=1e-15)
    assert internal_forces(G).shape == (9, 3) and np.max(np.abs(G @ internal_forces(G))) < 1e-14
    forces = squeeze_forces(r * outward, -outward, 0.5)
    assert forces is not None and np.allclose(forces, -outward, atol=0.3)
    assert np.all(friction_margins(forces, -outward, 0.5) > 0.0)


def test_margins_in_closed_form() -> None:
    forces = np.array([[[0.3, 0.4, 2.0], [0.0, 0.0, -1.0]]])
    normals = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert np.allclose(friction_margins(forces, normals, 0.5), [[0.5, -0.5]])
    assert np.allclose(required_friction(forces, normals), [[0.25, np.inf]])


def test_jacobians() -> None:
    given, random = HandParameters(), np.random.default_rng(2)
    q, h = np.array(HOME) + 0.2 * random.normal(size=4), 1e-6
    _, centre = fingertip_pose(given, 1, q)
    J = finger_jacobian(given, 1, q, centre)
    for j, e in enumerate(np.eye(4)):
        (Rp, cp), (Rm, cm) = fingertip_pose(given, 1, q + h * e), fingertip_pose(given, 1, q - h * e)
        assert np.allclose(J[3:, j], (cp - cm) / (2.0 * h), atol=1e-9)
        W = (Rp - Rm) / (2.0 * h) @ fingertip_pose(given, 1, q)[0].T
        assert np.allclose(J[:3, j], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-9)
    straight = np.array([[0.0, 0.0, 0.0, 0.0]] * 3)
    tips = np.array([fingertip_pose(given, i, s)[1] for i, s in enumerate(straight)])
    found = manipulability(finger_jacobian(given, 0, straight[0], tips[0])[3:])
    # Straight up: joint 1 moves nothing, the others move along e_r alone: .12, .07, .03 m.
    assert np.allclose(found.singular_values, [np.sqrt(0.12**2 + 0.07**2 + 0.03**2), 0.0, 0.0], atol=1e-15)
    assert found.volume == pytest.approx(0.0, abs=1e-30) and hand_jacobian(given, straight, tips).shape == (9, 12)
    home = initial_posture(given)
    assert object_manipulability(given, home.joints, home.contact_points)[-1] > 1e-3
