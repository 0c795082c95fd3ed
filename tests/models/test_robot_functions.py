"""Robot functions and their blocks give poses, inverse dynamics, Jacobians and inverse kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from screwbond.models.chains import (
    Chain,
    Link,
    Mimic,
    Tree,
    bias,
    body_twists,
    chain_graph,
    cylinder_inertia,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    inverse_dynamics_block,
    inverse_kinematics,
    jacobian,
    jacobian_block,
    kinetic_energy,
    link_pose,
    link_pose_state,
    mass_matrix,
    potential,
)
from screwbond.models.robots import read_urdf

from bondgraph import Block, Graph, Se, compile_model
from screws import joints, pose, pose_state
from tests.inner.models_chains import rotation_vectors
from tests.models.robots.public_robots import public_urdf
from tests.models.test_forces import refused

GRAVITY = (1.0, 2.0, -9.81)
RNG = np.random.default_rng(3)


def link(name: str, joint: Any, x: float, **options: Any) -> Link:
    bar = cylinder_inertia(1.0 + x, 0.05, (0.0, 0.0, 0.0), (0.3, 0.1, 0.0))
    return Link(name, joint, bar, pose(np.eye(3), (x, 0.0, 0.0)), **options)


def branched() -> Tree:
    base = np.eye(4)
    base[:3] = [[0.0, 0.0, 1.0, 0.2], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -0.1]]
    return Tree(
        "branched",
        (
            link("a", joints.revolute((0, 0, 1)), 0.0),
            link("b", joints.revolute((0, 1, 1) / np.sqrt(2), (0.3, 0, 0)), 0.3),
            link("c", joints.prismatic((1, 0, 0)), 0.5),
            link("d", joints.helical((0, 1, 0), (0.3, 0, 0), 0.1), 0.3, parent="a"),
            link("e", joints.revolute((0, 0, 1), (0.6, 0, 0)), 0.6, mimic=Mimic("d", -2.0, 0.1)),
        ),
        base,
    )


def two_links(**limits: Any) -> Chain:
    y = (0, 1, 0)
    return Chain(
        "arm",
        (
            link("upper", joints.revolute(y), 0.0, limits=limits.get("upper")),
            link("fore", joints.revolute(y, (0.3, 0, 0)), 0.3, limits=limits.get("fore")),
        ),
    )


def test_rows_of_poses_equal_single_poses() -> None:
    tree = branched()
    q, v, a = RNG.normal(size=(3, 2, 3, tree.freedoms))
    for formula in (
        lambda q, v, a: mass_matrix(tree, q),
        lambda q, v, a: bias(tree, q, v),
        lambda q, v, a: kinetic_energy(tree, q, v),
        lambda q, v, a: potential(tree, GRAVITY, q),
        lambda q, v, a: gravity_forces(tree, GRAVITY, q),
        lambda q, v, a: inverse_dynamics(tree, q, v, a, GRAVITY),
        lambda q, v, a: forward_dynamics(tree, q, v, effort=a, gravity=GRAVITY),
        lambda q, v, a: body_twists(tree, q, v),
        lambda q, v, a: link_pose_state(tree, 4, q),
        lambda q, v, a: jacobian(tree, "e", q, at=(0.1, 0.2, 0.3)),
        lambda q, v, a: jacobian(tree, "c", q, "link"),
    ):
        rows = formula(q, v, a)
        single = np.array([[formula(*state) for state in zip(*plane, strict=True)] for plane in zip(q, v, a, strict=True)])
        assert rows.dtype == float and np.allclose(rows, single.astype(float), rtol=1e-13, atol=1e-13)


def test_one_velocity_serves_all_rows() -> None:
    tree, q, v = branched(), RNG.normal(size=(3, 4)), np.ones(4)
    assert np.array_equal(bias(tree, q, v), bias(tree, q, np.tile(v, (3, 1))))


def test_inverse_dynamics_is_the_inverse_of_forward_dynamics() -> None:
    tree = branched()
    q, v, effort = RNG.normal(size=(3, 5, tree.freedoms))
    a = forward_dynamics(tree, q, v, effort, GRAVITY)
    assert np.allclose(inverse_dynamics(tree, q, v, a, GRAVITY), effort, atol=1e-12)


def test_a_jacobian_is_the_derivative_of_the_point_in_named_axes() -> None:
    tree, at, h = branched(), np.array([0.2, -0.1, 0.3]), 1e-6
    q = RNG.normal(size=tree.freedoms)
    H = link_pose(tree, 4, q)
    ahead, behind = (link_pose(tree, 4, q + sign * h * np.eye(4)) for sign in (1.0, -1.0))
    v = ((ahead - behind) @ [*at, 1.0])[:, :3].T / (2 * h)
    omega = rotation_vectors(ahead[:, :3, :3] @ behind[:, :3, :3].transpose(0, 2, 1)).T / (2 * h)
    assert np.allclose(jacobian(tree, "e", q, at=at), [*omega, *v], atol=1e-8)
    turned = H[:3, :3].T
    assert np.allclose(jacobian(tree, "e", q, "link", at), [*turned @ omega, *turned @ v], atol=1e-8)


def test_blocks_hold_an_arm_by_its_own_efforts() -> None:
    arm, q, v, a = two_links(), np.array([0.4, -0.9]), np.array([0.3, 0.2]), np.array([1.5, -2.0])
    moving = chain_graph(arm, gravity=(0, 0, -9.81), position=q, velocity=v)
    motors = Se("motors", lambda tau: tau, signals=["inverse.effort"], dimension=2)
    graph = Graph("held").connect(motors, moving.port("joints"))
    graph.add(
        Block("goal", [("a", lambda a: a, ["a0"])], parameters={"a0": a}),
        inverse_dynamics_block("inverse", arm, "arm.q", "arm.v", "goal.a", gravity=(0, 0, -9.81)),
        jacobian_block("tip", arm, "fore", "arm.q", at=(0.25, 0, 0)),
    )
    compiled = compile_model(graph, backend="numpy")
    x, m = compiled.initial()
    rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
    assert np.allclose(rates[2:4], a, atol=1e-12)
    J = compiled.simulate(1e-3, samples=[0.0])["tip.J"][0]
    assert np.array_equal(J, jacobian(arm, "fore", q, at=(0.25, 0, 0)))


def test_two_links_reach_a_point_as_the_cosine_rule_says() -> None:
    arm, goal = two_links(), np.array([0.35, 0.0, -0.25])
    solution = inverse_kinematics(arm, "fore", goal, at=(0.25, 0, 0), start=(0.0, 1.0))
    elbow = np.arccos((goal @ goal - 0.3**2 - 0.25**2) / (2 * 0.3 * 0.25))
    assert solution.reached and abs(solution.q[1]) == pytest.approx(elbow, abs=1e-7)
    other = inverse_kinematics(arm, 1, goal, at=(0.25, 0, 0), start=-np.array(solution.q))
    assert other.q[1] == pytest.approx(-solution.q[1], abs=1e-7) and "reached" in str(other)


def test_out_of_reach_the_nearest_pose_is_found_and_refused_by_default() -> None:
    goal = np.array([0.8, 0.0, -0.6])
    stretched = inverse_kinematics(two_links(), "fore", goal, at=(0.25, 0, 0), nearest=True)
    assert not stretched.reached and stretched.position_error == pytest.approx(1.0 - 0.55, rel=1e-9)
    assert np.allclose(stretched.q, [np.arctan2(0.6, 0.8), 0.0], atol=1e-4) and np.allclose(stretched.gradient, 0, atol=1e-4)
    refused("E340", "0.45 m", lambda: inverse_kinematics(two_links(), "fore", goal, at=(0.25, 0, 0)))
    refused("E340", "singular", lambda: inverse_kinematics(two_links(), "fore", goal, at=(0.25, 0, 0)))
    limited = two_links(upper=(-0.5, 0.5), fore=(-0.5, 0.5))
    held = inverse_kinematics(limited, "fore", goal, at=(0.25, 0, 0), nearest=True)
    assert held.q[0] == 0.5 and held.at_limits() == ["upper at 0.5"] and held.gradient[0] > 0.0
    many = [[0.53, 0.0, -0.1], goal, goal]
    refused("E340", "goal 1 and 1 more", lambda: inverse_kinematics(limited, "fore", many, at=(0.25, 0, 0)))


def test_inverse_kinematics_keeps_hinges_near_the_start() -> None:
    """A helical joint turns 9 rad to rise by 0.9 m; hinges stay within half a turn of the start."""
    helix = Chain("screw", (link("nut", joints.helical((0, 0, 1), pitch=0.1), 0.0),))
    assert inverse_kinematics(helix, "nut", (0.0, 0.0, 0.9)).q[0] == pytest.approx(9.0)
    arm, goal = two_links(), link_pose(two_links(), two_links().links[1].name, (0.3, 0.7))
    assert np.allclose(inverse_kinematics(arm, "fore", goal, start=(6.0, -6.0)).q, [0.3 + 2 * np.pi, 0.7 - 2 * np.pi])


def test_a_half_turn_is_the_full_angle_away() -> None:
    axis = RNG.normal(size=3)
    axis /= np.linalg.norm(axis)
    R = np.array([rodrigues(axis * angle) for angle in (1e-9, 0.3, 2.0, np.pi - 1e-9, np.pi)])
    for vector, angle in zip(rotation_vectors(R), (1e-9, 0.3, 2.0, np.pi - 1e-9, np.pi), strict=True):
        assert np.allclose(np.abs(vector @ axis), angle, rtol=1e-7) and np.linalg.norm(vector) == pytest.approx(angle, rel=1e-7)


def rodrigues(vector: np.ndarray) -> np.ndarray:
    angle = np.linalg.norm(vector)
    x, y, z = vector / angle
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def test_random_poses_of_a_public_robot_are_reached_within_its_limits() -> None:
    tree = read_urdf(public_urdf("/z1.urdf"), meshes=False).tree
    q = RNG.uniform(tree.limits[:, 0], tree.limits[:, 1], (3, tree.freedoms))
    goals = np.array([pose_state(H) for H in link_pose(tree, len(tree.links) - 1, q)], dtype=float)
    solution = inverse_kinematics(tree, tree.links[-1].name, goals)
    assert solution.q.shape == q.shape and solution.reached.all() and "3 of 3" in str(solution)
    assert np.all((solution.q >= tree.limits[:, 0]) & (solution.q <= tree.limits[:, 1]))
    H = link_pose(tree, len(tree.links) - 1, solution.q)
    assert np.allclose([np.abs(pose_state(x) @ g - g[4:] @ g[4:]) for x, g in zip(H, goals, strict=True)], 1.0, atol=1e-8)


def test_arrays_of_wrong_shape_are_refused() -> None:
    arm = two_links(upper=(-1.0, 1.0))
    refused("E338", "its shape is (2, 3)", lambda: mass_matrix(arm, np.zeros((2, 3))))
    refused("E338", "its shape is (3,)", lambda: jacobian(arm, "fore", (0.0, 0.0, 0.0)))
    refused("E338", "its shape is ()", lambda: mass_matrix(arm, 0.1))
    refused("E338", "an entry is not a finite number", lambda: mass_matrix(arm, None))
    refused("E338", "acceleration does not match", lambda: inverse_dynamics(arm, (0.0, 0.0), (0.0, 0.0), (0.0,)))
    refused("E338", "q (3, 2), v (4, 2)", lambda: bias(arm, np.zeros((3, 2)), np.zeros((4, 2))))
    refused("E338", "is not a tree", lambda: jacobian("arm", "fore", (0.0, 0.0)))
    for call in (potential, gravity_forces):
        refused("E338", "is -9.81", lambda call=call: call(arm, -9.81, (0.0, 0.0)))
    for call in (inverse_dynamics, forward_dynamics):
        refused("E338", "is (0, -9.81)", lambda call=call: call(arm, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0, -9.81)))
    refused("E338", "orthogonal R of determinant 1", lambda: inverse_kinematics(arm, "fore", np.diag([1.0, 1.0, -1.0, 1.0])))
    refused("E338", "the norm 1", lambda: inverse_kinematics(arm, "fore", np.ones(7)))
    refused("E338", "the goal is 'home'", lambda: inverse_kinematics(arm, "fore", "home"))
    refused("E338", "shape (0, 3)", lambda: inverse_kinematics(arm, "fore", np.zeros((0, 3))))
    refused("E338", "not a finite number", lambda: bias(arm, [[0.0, np.nan]], [0.0, 0.0]))
    refused("E338", "shape (3,) with NaN", lambda: inverse_kinematics(arm, "fore", (np.nan, 0.0, 0.0)))
    refused("E338", "orthogonal R", lambda: inverse_kinematics(arm, "fore", 2.0 * np.eye(4)))
    refused("E338", "starts=0", lambda: inverse_kinematics(arm, "fore", (0.0, 0.0, 0.0), starts=0))
    refused("E338", "do not match 1 goal", lambda: inverse_kinematics(arm, "fore", (0.3, 0.0, 0.0), start=np.zeros((2, 2))))
    refused("E339", "upper (-1 to 1 rad)", lambda: inverse_kinematics(arm, "fore", (0.3, 0.0, 0.0), start=(2.0, 0.0)))
    refused("E341", "(0.0, 1.0)", lambda: jacobian_block("J", arm, "fore", "arm.q", at=(0.0, 1.0)))
    refused("E338", "gravity", lambda: inverse_dynamics_block("b", arm, "q", "v", "a", gravity=(0.0, np.nan, 0.0)))
    refused("E454", "no link 2", lambda: jacobian(arm, 2, (0.0, 0.0)))
    refused("E341", "'tool'", lambda: jacobian(arm, "fore", (0.0, 0.0), "tool"))
    refused("E454", "hand", lambda: inverse_kinematics(arm, "hand", (0.3, 0.0, 0.0)))
