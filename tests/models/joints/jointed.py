"""Bodies on a joint of each kind, and a hinge, for tests."""

from __future__ import annotations

import numpy as np
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import Graph, compile_model
from screws import joints, poses
from screws.poses import pose
from screws.rotations import quaternion

G = np.array([0.0, 0.0, -9.81])
INERTIA = (2e-3, 3e-3, 4.5e-3)
PSI, PITCH, LENGTH = 1.1, 0.03, 0.4
EYE = np.eye(3)


def at(*point):
    return pose(EYE, point)


def numbers(kind):
    return {"universal": (PSI,), "helical": (PITCH,), "rod": (LENGTH,)}.get(kind, ())


def joint_of(kind):
    axis, point = np.array([0.36, 0.48, 0.8]), np.array([0.1, -0.2, 0.15])
    other = np.cos(PSI) * axis + np.sin(PSI) * np.array([0.8, -0.6, 0.0])
    return {
        "revolute": lambda: joints.revolute(axis, point),
        "prismatic": lambda: joints.prismatic(axis),
        "helical": lambda: joints.helical(axis, point, PITCH),
        "cylindrical": lambda: joints.cylindrical(axis, point),
        "universal": lambda: joints.universal(axis, other, point),
        "spherical": lambda: joints.spherical(point),
        "planar": lambda: joints.planar(axis, point),
        "inline": lambda: joints.inline(axis, point),
        "inplane": lambda: joints.inplane(axis, point),
        "rod": lambda: joints.rod(point, point + LENGTH * axis),
        "free": joints.free,
        "fixed": joints.fixed,
    }[kind]()


def simulated(graph, t_end=2.0, samples=0.02, rtol=1e-10, **more):
    result = compile_model(graph).simulate(t_end, samples=samples, rtol=rtol, progress=False, **more)
    assert result.ok, result
    return result


def closed_pose(joint, q):
    """Return H_A_B in the joint's axes after the motions q, each about its screw, in series."""
    H = np.eye(4)
    for k in range(joint.freedoms):
        H = H @ poses.exp(joint.screws[:, k] * q[k])
    return np.asarray(poses.inverse(joint.frame) @ H @ joint.frame, dtype=float)


def pair(kind, turn=None, off=True, gravity=G):
    rng = np.random.default_rng(3)
    joint = joint_of(kind)
    frame_a, frame_b = (np.asarray(poses.exp(0.4 * rng.normal(size=6)), dtype=float) for _ in range(2))
    H_0_a = np.asarray(poses.exp(rng.normal(size=6)), dtype=float)
    q = rng.uniform(-0.5, 0.5, size=joint.freedoms)
    H_j = joint.frame @ closed_pose(joint, q) @ poses.inverse(joint.frame)
    miss = poses.exp(1e-3 * rng.normal(size=6)) if off else np.eye(4)
    H_0_b = np.asarray(H_0_a @ frame_a @ miss @ H_j @ poses.inverse(frame_b), dtype=float)
    v_a, w_a, v_b, w_b = rng.normal(size=(4, 3))
    Q = np.eye(4) if turn is None else turn
    graph = Graph("pair")
    bodies = []
    turned = Q[:3, :3]
    for name, H, v, w in (("a", Q @ H_0_a, v_a, w_a), ("b", Q @ H_0_b, v_a + 0.02 * v_b, w_a + 0.02 * w_b)):
        start = {
            "position": H[:3, 3],
            "quaternion": quaternion(H[:3, :3]),
            "velocity": turned @ v,
            "angular_velocity": turned @ w,
        }
        bodies.append(rigid_body(name, mass=0.7, inertia=INERTIA, gravity=turned @ gravity, **start))
    tie = joint_graph("joint", joint, frame_a=frame_a, frame_b=frame_b, closing="smooth" if off else "impulse")
    return attach_joint(graph, tie, *bodies)


def hinge(theta=0.0, length=0.3, mass=0.7, gravity=G):
    """Return the graph of a pendulum about the world's y axis, which hangs at theta = 0, and its joint."""
    graph, floor = Graph("pendulum"), ground("floor")
    half = -0.5 * theta
    bob = rigid_body(
        "bob",
        mass=mass,
        inertia=INERTIA,
        quaternion=(np.cos(half), 0, np.sin(half), 0),
        gravity=gravity,
        position=(length * np.sin(theta), 0, -length * np.cos(theta)),
    )
    joint = joint_graph("hinge", joints.revolute((0, -1, 0)), frame_b=at(0, 0, length))
    return attach_joint(graph, joint, floor, bob), joint
