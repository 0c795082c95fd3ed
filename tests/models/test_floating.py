"""A floating tree agrees with rigid bodies and joints: its lone root, the momentum of the whole tree, its free fall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.chains import BodyInertia, Link, Tree, ball_inertia, chain_graph, link_pose, mass_matrix, space_jacobian
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import Graph, ModelError, Se, compile_model
from screws import joints, pose_from_state, spatial_inertia
from screws.poses import Ad, inverse

SETTINGS = {"rtol": 1e-10, "samples": 0.1, "progress": False}
HULL = BodyInertia(2.0, (0.1, 0.2, 0.25), (0.02, -0.01, 0.03))


def floating(arms: bool = True) -> Tree:
    links = [Link("hull", joints.free(), HULL)]
    if arms:
        links += [
            Link("arm", joints.revolute((0.2, 1, 0), (0.3, 0, 0)), ball_inertia(0.5, 0.1, (0.5, 0, 0)), damping=0.1),
            Link("tool", joints.prismatic((1, 0, 0)), ball_inertia(0.2, 0.05, (0.7, 0, 0.1)), parent="hull"),
        ]
    return Tree("probe", tuple(links))


@pytest.mark.parametrize("apart", [0.3, 1e-2])
def test_a_free_root_is_a_rigid_body(apart):
    """The second angle comes so close to 90 degrees that the other two angles turn by pi almost instantly."""
    spin = np.array([apart, 2.0, 0.1 * apart])
    part = chain_graph(floating(arms=False), velocity=[*spin, 0.1, 0.2, 0.3], ports=["hull"], gravity=(0, 0, -1.0))
    one = compile_model(Graph("tree").connect(Se("idle", dimension=6), part.port("joints"))).simulate(3.0, **SETTINGS)
    velocity = np.array([0.1, 0.2, 0.3]) + np.cross(spin, HULL.centre)
    body = rigid_body(
        "hull",
        mass=HULL.mass,
        inertia=HULL.rotational,
        centre_of_mass=HULL.centre,
        angular_velocity=spin,
        velocity=velocity,
        gravity=(0, 0, -1.0),
    )
    other = compile_model(body).simulate(3.0, **SETTINGS)
    assert one.ok and other.ok
    assert np.ptp(one["probe.q"][:, 2]) > 2.5, "the coordinates change fast"
    for H, H_body in zip(one["probe.hull.pose"], other["pose"], strict=True):
        assert np.abs(pose_from_state(H) - pose_from_state(H_body)).max() < 1e-6


def test_nothing_starts_where_the_angles_end():
    words = r"E454.*singular at the start position\n.*freedoms that move no mass: hull 1, hull 3\n(.*\n)*.*replace\(tree, base="
    with pytest.raises(ModelError, match=words):
        chain_graph(floating(), position=[0, np.pi / 2, 0, 0, 0, 0, 0, 0])


def test_an_everywhere_singular_mechanism_gets_other_advice():
    bodies = {"one": None, "other": ball_inertia(1.0, 0.1, (0.5, 0, 0))}
    links = [Link(name, joints.revolute((0, 0, 1)), body) for name, body in bodies.items()]
    with pytest.raises(ModelError, match=r"E454.*singular\n(?s:.*): one, other\n(?s:.*)independent freedoms"):
        chain_graph(Tree("double", tuple(links)))


def test_a_tree_starts_upright_on_a_base_that_is_turned():
    turned, spin, weight = np.eye(4), np.array([0.4, -0.3, 2.0]), (0.3, 0.0, -1.0)
    turned[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    tree = replace(floating(arms=False), base=turned)
    part = chain_graph(tree, velocity=[*spin, 0, 0, 0], ports=["hull"], gravity=weight)
    one = compile_model(Graph("tree").connect(Se("idle", dimension=6), part.port("joints"))).simulate(1.0, **SETTINGS)
    about = turned[:3, :3] @ spin
    body = rigid_body(
        "hull",
        mass=HULL.mass,
        inertia=HULL.rotational,
        centre_of_mass=HULL.centre,
        quaternion=(np.sqrt(0.5), 0, np.sqrt(0.5), 0),
        angular_velocity=about,
        velocity=np.cross(about, turned[:3, :3] @ HULL.centre),
        gravity=weight,
    )
    other = compile_model(body).simulate(1.0, **SETTINGS)
    for H, H_body in zip(one["probe.hull.pose"], other["pose"], strict=True):
        assert np.abs(pose_from_state(H) - pose_from_state(H_body)).max() < 1e-7


def momentum(tree: Tree, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    total = np.zeros(6)
    for k, link in enumerate(tree.links):
        H = link_pose(tree, k, q).astype(float)
        M = spatial_inertia(link.inertia.mass, link.inertia.rotational, link.inertia.centre)
        into = np.asarray(Ad(inverse(H)), dtype=float)
        total += into.T @ M @ into @ (space_jacobian(tree, k, q) @ v).astype(float)
    return total


def test_motors_inside_leave_the_momentum():
    tree = floating()
    start = np.array([0.3, -0.2, 0.5, 0.1, 0.0, 0.2, 0.4, -0.3])
    part = chain_graph(tree, velocity=start, joint_ports=["arm", "tool"])
    graph = Graph("top").connect(Se("torque", lambda t: 1.0 - t, signals=["time"]), part.port("joint arm"))
    graph.connect(Se("force", lambda q: -3.0 * q[7], signals=["probe.q"]), part.port("joint tool"))
    run = compile_model(graph).simulate(2.0, **SETTINGS)
    before = momentum(tree, np.zeros(8), start)
    assert np.abs(run["probe.q"][-1, 6:]).max() > 0.3, "they move"
    for q, v in zip(run["probe.q"], run["probe.v"], strict=True):
        assert np.abs(momentum(tree, q, v) - before).max() < 1e-7 * np.abs(before).max()


def test_all_falls_alike():
    tree = floating()
    part = chain_graph(tree, gravity=(0, 0, -9.81), position=[0, 0, 0, 1.0, 2.0, 3.0, 0.4, 0.2])
    run = compile_model(Graph("top").connect(Se("idle", dimension=8), part.port("joints"))).simulate(0.5, **SETTINGS)
    assert run["probe.q"][-1] == pytest.approx([0, 0, 0, 1.0, 2.0, 3.0 - 9.81 * 0.125, 0.4, 0.2], abs=1e-8)
    assert np.linalg.eigvalsh(mass_matrix(tree, run["probe.q"][-1]).astype(float))[0] > 0.0
    assert run.statistics.steps < 1000, "quantities that are zero by symmetry do not shorten steps"


def test_a_floating_tree_can_be_tied_to_a_body():
    tree = floating()
    part = chain_graph(tree, ports=["tool"], gravity=(0, 0, -9.81))
    graph, hinge = Graph("top"), joint_graph("hinge", joints.revolute((0, 1, 0)))
    attach_joint(graph, hinge, ground("wall"), part.link("tool"))
    run = compile_model(graph).simulate(0.6, **SETTINGS)
    assert run.ok and np.abs(run["hinge.violation"]).max() < 1e-8
    assert np.abs(run["hinge.q"]).max() > 0.3, "it swings"
    lost = run.ledger.dissipated[-1]
    assert np.abs(run.ledger.residual).max() < 1e-7 * run.ledger.in_play and lost > 0.0
