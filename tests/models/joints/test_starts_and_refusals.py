"""Impossible joints, and starts too far from a joint, are refused."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import Graph, ModelError, compile_model
from screws import joints
from screws.errors import GeometryError
from screws.poses import pose_state
from tests.models.joints.jointed import INERTIA, at, hinge


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: joint_graph("j", joints.Joint("own", np.eye(6)[:, :1])), "E456"),
        (lambda: joint_graph("j", "revolute"), "E456"),
        (lambda: joint_graph("j", joints.free(), frame_a=np.eye(3)), "E457"),
        (lambda: joint_graph("j", joints.free(), frame_a="here"), "E457"),
        (lambda: joint_graph("j", joints.free(), largest_gap="small"), "E151"),
        (lambda: joint_graph("j", joints.free(), largest_tilt=float("nan")), "E151"),
        (lambda: attach_joint(Graph("g"), joint_graph("j", joints.spherical()), ground("a"), "b"), "E458"),
        (lambda: attach_joint(Graph("g"), "j", ground("a"), ground("b")), "E458"),
        (lambda: joint_graph("j", joints.free(), frame_b=np.diag([1.0, 1.0, -1.0, 1.0])), "E457"),
    ],
)
def test_bad_input_is_refused(make, code):
    with pytest.raises((ModelError, GeometryError)) as refused:
        make()
    assert code in str(refused.value) and "try:" in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "state", "said"),
    [
        ("revolute", (0.0, 1.0, 0.0, 0.0, 0, 0, 0), "3.142 rad"),
        ("fixed", (np.cos(1.5), np.sin(1.5), 0.0, 0.0, 0, 0, 0), "3 rad"),
        ("spherical", (1.0, 0.0, 0.0, 0.0, 0.3, 0, 0), "0.3 m"),
        ("universal", (np.cos(0.25), 0.0, 0.0, np.sin(0.25), 0, 0, 0), "rad"),
    ],
)
def test_a_start_far_from_the_joint_is_refused_with_the_amount(kind, state, said):
    """Reversed poses are refused, although the closures vanish there."""
    made = {
        "revolute": joints.revolute((0, 0, 1)),
        "fixed": joints.fixed(),
        "spherical": joints.spherical(),
        "universal": joints.universal((1, 0, 0), (0, 1, 0)),
    }
    body = rigid_body("b", mass=1.0, inertia=INERTIA, quaternion=state[:4], position=state[4:])
    graph = attach_joint(Graph("far"), joint_graph("elbow", made[kind]), ground("floor"), body)
    with pytest.raises(ModelError, match="E455") as refused:
        compile_model(graph)
    assert said in str(refused.value) and '"elbow"' in str(refused.value)


def test_pose_states_of_frames_are_parameters():
    graph, _ = hinge(0.1)
    compiled = compile_model(graph)
    axis = joints.revolute((0, -1, 0)).frame
    longer = pose_state(np.asarray(at(0, 0, 0.305) @ axis, dtype=float))
    result = compiled.simulate(1.0, samples=0.02, rtol=1e-10, progress=False, parameters={"hinge.relative pose.frame b": longer})
    h = result["hinge.violation"]
    t = result.t
    found = np.linalg.norm(h[:, 2:], axis=1)
    assert np.isclose(found[0], 0.005) and np.abs(found - 0.005 * (1 + 5 * t) * np.exp(-5 * t)).max() < 1e-9
