"""The twists of joints are reciprocal in every frame to the wrenches that the joints transmit."""

from __future__ import annotations

import numpy as np
import pytest

from screws import joints, poses
from screws.errors import GeometryError
from screws.poses import Ad, inverse

RNG = np.random.default_rng(11)
POINT = np.array([0.3, -1.2, 0.7])


def every_joint(axis=(0.2, -0.5, 0.9), point=POINT):
    other = np.cross(axis, (1.0, 0.3, 0.0)) + 0.2 * np.asarray(axis)
    return [
        joints.revolute(axis, point),
        joints.prismatic(axis),
        joints.helical(axis, point, 0.13),
        joints.cylindrical(axis, point),
        joints.universal(axis, other, point),
        joints.spherical(point),
        joints.planar(axis, point),
        joints.inline(axis, point),
        joints.inplane(axis, point),
        joints.rod(point, np.add(point, axis)),
        joints.free(),
        joints.fixed(),
    ]


@pytest.mark.parametrize("joint", every_joint(), ids=lambda joint: joint.kind)
def test_motions_and_transmitted_wrenches_are_reciprocal_and_complete(joint):
    freedoms = {"revolute": 1, "prismatic": 1, "helical": 1, "cylindrical": 2, "universal": 2, "spherical": 3, "planar": 3}
    freedoms |= {"inline": 4, "inplane": 5, "rod": 5}
    n = {**freedoms, "free": 6, "fixed": 0}[joint.kind]
    assert joint.freedoms == n and joint.screws.shape == (6, n) and joint.constrained.shape == (6, 6 - n)
    assert np.allclose(joint.constrained.T @ joint.screws, 0.0, atol=1e-14)
    about_centre = Ad(joint.frame).T @ joint.constrained
    assert np.allclose(about_centre.T @ about_centre, np.eye(6 - n), atol=1e-13)


@pytest.mark.parametrize("joint", every_joint(), ids=lambda joint: joint.kind)
def test_change_of_frame(joint):
    H = poses.exp(RNG.normal(size=6))
    seen = joint.seen_from(H)
    assert np.allclose(seen.screws, Ad(H) @ joint.screws)
    wrenches = Ad(inverse(H)).T @ joint.constrained
    assert np.allclose(wrenches.T @ seen.screws, 0.0, atol=1e-13)
    together = np.hstack([wrenches, seen.constrained])
    assert (np.linalg.matrix_rank(together) if together.size else 0) == 6 - joint.freedoms  # NumPy 2.0 rejects empty matrices


def test_transmitted_wrenches_are_readable():
    hinge = joints.revolute((0, 0, 2.0), POINT)
    assert np.allclose(hinge.screws[:, 0], [0, 0, 1, *np.cross(POINT, (0, 0, 1))])
    about = Ad(joints.revolute((0, 0, 1), POINT).frame).T @ hinge.constrained
    assert np.array_equal(np.round(about, 12), np.eye(6)[:, [0, 1, 3, 4, 5]])
    ball = joints.spherical(POINT)
    for k in range(3):
        force = np.eye(3)[k]
        assert np.allclose(ball.constrained[:, k], [*np.cross(POINT, force), *force])
    cross = joints.universal((1, 0, 0), (0, 1, 0))
    assert np.allclose(cross.constrained, np.eye(6)[:, [2, 3, 4, 5]])


def test_motions_satisfy_joint_constraints():
    axis, turn = np.array([0.0, 0.6, 0.8]), 0.9
    for joint in (joints.revolute(axis, POINT), joints.cylindrical(axis, POINT), joints.spherical(POINT)):
        H = poses.exp(turn * joint.screws[:, 0])
        assert np.allclose(H @ np.append(POINT, 1.0), np.append(POINT, 1.0))
    H = poses.exp(joints.planar(axis, POINT).screws @ np.array([0.3, -0.2, 1.1]))
    assert np.allclose(H[:3, :3] @ axis, axis) and np.isclose(axis @ (H[:3, :3] @ POINT + H[:3, 3] - POINT), 0.0)
    assert joints.helical(axis, POINT, 0.0).kind == "revolute"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: joints.revolute((0, 0, 0)), "G132"),
        (lambda: joints.prismatic((1, np.nan, 0)), "G132"),
        (lambda: joints.planar((1, 0)), "G132"),
        (lambda: joints.universal((1, 0, 0), (-2, 0, 0)), "G132"),
        (lambda: joints.revolute((0, 0, 1), (0, np.inf, 0)), "G133"),
        (lambda: joints.helical((0, 0, 1), pitch=np.inf), "G133"),
        (lambda: joints.Joint("own", np.zeros((3, 1))), "G131"),
        (lambda: joints.Joint("own", np.ones((6, 2))), "G131"),
        (lambda: joints.Joint("own", np.zeros((6, 1))), "G131"),
    ],
)
def test_bad_input_is_refused(make, code):
    with pytest.raises(GeometryError) as refused:
        make()
    assert refused.value.code == code and str(refused.value).count("try:") == 1
