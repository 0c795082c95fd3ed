"""Trees agree with products of exponentials, sums over bodies and Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.chains import (
    BodyInertia,
    Chain,
    Link,
    Mimic,
    Tree,
    ball_inertia,
    bias,
    body_jacobian,
    body_twists,
    chain_graph,
    gravity_forces,
    kinetic_energy,
    link_pose,
    link_pose_state,
    mass_matrix,
    potential,
    space_jacobian,
)

from bondgraph import Constraint, Graph, ModelError, Se, compile_model
from screws import joints, pose, pose_from_state, spatial_inertia
from screws.poses import Ad, exp, inverse, vee
from tests.models.test_chains import anything, difference

G = np.array([0.3, -2.0, -9.81])


def inertia(rng: np.random.Generator) -> BodyInertia:
    A = 0.1 * rng.normal(size=(3, 3))
    J = A @ A.T
    return BodyInertia(rng.uniform(0.5, 2.0), np.trace(J) * np.eye(3) - J, 0.2 * rng.normal(size=3))


def torso(seed: int = 4, driven: bool = False) -> Tree:
    rng = np.random.default_rng(seed)

    def place() -> np.ndarray:
        return np.asarray(exp(rng.normal(size=6)), dtype=float)

    def three() -> np.ndarray:
        return 0.3 * rng.normal(size=3)

    right = Mimic("left elbow", -0.7, 0.3) if driven else None
    finger = Mimic("right elbow", 0.1) if driven else None
    links = (
        Link("trunk", joints.universal([0, 0, 1], [1, 0, 0], three()), inertia(rng), place()),
        Link("left shoulder", joints.spherical(three()), inertia(rng), place()),
        Link("left elbow", joints.revolute(three(), three()), inertia(rng), place()),
        Link("right shoulder", joints.cylindrical(three(), three()), None, place(), parent="trunk"),
        Link("right elbow", joints.helical(three(), three(), 0.05), inertia(rng), place(), mimic=right),
        Link("right hand", joints.fixed(), inertia(rng), place()),
        Link("right finger", joints.prismatic(three()), inertia(rng), place(), mimic=finger),
        Link("head", joints.revolute(three(), three()), inertia(rng), place(), parent="trunk"),
        Link("tail", joints.revolute(three(), three()), inertia(rng), place(), parent=None),
    )
    return Tree("torso", links, place())


CARRIED_BY = {
    "left shoulder": "trunk",
    "left elbow": "left shoulder",
    "right shoulder": "trunk",
    "right elbow": "right shoulder",
    "right hand": "right elbow",
    "right finger": "right hand",
    "head": "trunk",
}


def of_joints(tree: Tree, q: np.ndarray) -> dict[str, np.ndarray]:
    found, at = {}, 0
    for link in tree.links:
        if link.mimic is None:
            found[link.name] = q[at : at + link.joint.freedoms]
            at += link.joint.freedoms
    for link in tree.links:
        if link.mimic is not None:
            found[link.name] = link.mimic.factor * found[link.mimic.link] + link.mimic.offset
    assert at == len(q)
    return found


def product_of_exponentials(tree: Tree, link: int, q: np.ndarray) -> np.ndarray:
    named, positions = {x.name: x for x in tree.links}, of_joints(tree, q)
    way = [tree.links[link].name]
    while way[0] in CARRIED_BY:
        way.insert(0, CARRIED_BY[way[0]])
    H = np.array(tree.base)
    for name in way:
        for screw, x in zip(named[name].joint.screws.T, positions[name], strict=True):
            H = H @ np.asarray(exp(screw * x), dtype=float)
    return H @ tree.links[link].home


@pytest.fixture(params=[torso(), torso(6), torso(driven=True)], ids=["torso", "another", "driven"])
def case(request):
    tree = request.param
    rng = np.random.default_rng(5)
    return tree, rng.normal(size=tree.freedoms), rng.normal(size=tree.freedoms)


def test_poses_and_jacobians(case):
    tree, q, v = case
    twists = body_twists(tree, q, v)
    for k in range(len(tree.links)):
        H = product_of_exponentials(tree, k, q)
        assert np.abs(link_pose(tree, k, q) - H).max() < 1e-13
        assert np.abs(pose_from_state(link_pose_state(tree, k, q)) - H).max() < 1e-13
        body = body_jacobian(tree, k, q)
        assert np.abs(space_jacobian(tree, k, q) - Ad(H) @ body).max() < 1e-12
        slopes = [difference(lambda x, k=k: product_of_exponentials(tree, k, x), q, i) for i in range(len(q))]
        columns = np.array([vee(inverse(H) @ slope) for slope in slopes]).T
        assert np.abs(columns - body).max() < 1e-10
        assert np.abs(twists[k] - body @ v).max() < 1e-12


def test_mass_matrix_velocity_forces_and_weight(case):
    """M is the sum of J^T I J over the bodies, h consists of the Christoffel forces of M, and the gravity forces are the
    gradient of the potential."""
    tree, q, v = case
    M = mass_matrix(tree, q)
    total = np.zeros_like(M, dtype=float)
    for k, link in enumerate(tree.links):
        if link.inertia is not None:
            J = body_jacobian(tree, k, q)
            total += J.T @ spatial_inertia(link.inertia.mass, link.inertia.rotational, link.inertia.centre) @ J
    assert np.abs(M - total).max() < 1e-12 * np.abs(M).max()
    assert kinetic_energy(tree, q, v) == pytest.approx(0.5 * v @ M @ v, rel=1e-13)

    rate = difference(lambda s: mass_matrix(tree, q + s[0] * v), np.zeros(1), 0)
    h = rate @ v - [difference(lambda x: kinetic_energy(tree, x, v), q, i) for i in range(len(q))]
    assert np.abs(bias(tree, q, v) - h).max() < 1e-9 * np.abs(h).max()

    def weight(x: np.ndarray) -> float:
        places = [product_of_exponentials(tree, k, x) for k in range(len(tree.links))]
        bodies = [(link.inertia, H) for link, H in zip(tree.links, places, strict=True) if link.inertia is not None]
        return -sum(body.mass * G @ (H @ [*body.centre, 1.0])[:3] for body, H in bodies)

    assert potential(tree, G, q) == pytest.approx(weight(q), rel=1e-12)
    forces = [difference(weight, q, i) for i in range(len(q))]
    assert np.abs(gravity_forces(tree, G, q) - forces).max() < 1e-10 * np.abs(forces).max()


def test_branches_do_not_know_each_other():
    tree = torso()
    q = np.linspace(-1.0, 1.0, tree.freedoms)
    M, names = mass_matrix(tree, q), list(tree.coordinates)
    head, tail, elbow = (names.index(name) for name in ("head", "tail", "left elbow"))
    assert M[head, elbow] == M[head, tail] == M[tail, names.index("trunk 1")] == 0.0
    assert not space_jacobian(tree, tree.index("head"), q)[:, elbow].any()


def test_a_serial_tree_is_the_chain():
    chain = anything()
    tree = Tree(chain.name, chain.links, chain.base)
    parents = [None, *(link.name for link in chain.links)]
    named = [Link(x.name, x.joint, x.inertia, x.home, parent=p) for x, p in zip(chain.links, parents, strict=False)]
    q, v = np.linspace(-1, 1, chain.freedoms), np.linspace(2, -1, chain.freedoms)
    for other in (tree, Tree(chain.name, tuple(named), chain.base), Chain(chain.name, tuple(named), chain.base)):
        assert np.array_equal(mass_matrix(other, q), mass_matrix(chain, q))
        assert np.array_equal(bias(other, q, v), bias(chain, q, v))


def pinocchio_model(tree: Tree):
    pin = pytest.importorskip("pinocchio", reason="NOT COMPARED WITH PINOCCHIO: it is not installed (pip install pin)")
    model, ends = pin.Model(), {}
    model.gravity.linear = G
    for link, parent in zip(tree.links, tree.parents, strict=True):
        number, home = ends[parent] if parent >= 0 else (0, inverse(tree.base))
        for k, screw in enumerate(link.joint.screws.T):
            omega, v = screw[:3], screw[3:]
            point = np.cross(omega, v)
            kind = pin.JointModelRevoluteUnaligned(omega) if omega.any() else pin.JointModelPrismaticUnaligned(v)
            here = pose(np.eye(3), point)
            H = np.asarray(inverse(home), dtype=float) @ here
            number = model.addJoint(number, kind, pin.SE3(H), f"{link.name} {k}")
            home = here
        if link.inertia is not None:
            body = pin.Inertia(link.inertia.mass, link.inertia.centre, link.inertia.rotational)
            model.appendBodyToJoint(number, body, pin.SE3(np.asarray(inverse(home) @ link.home, dtype=float)))
        frame = pin.SE3(np.asarray(inverse(home) @ link.home, dtype=float))
        model.addFrame(pin.Frame(link.name, number, 0, frame, pin.FrameType.OP_FRAME))
        ends[tree.index(link.name)] = (number, home)
    return pin, model, model.createData()


def without_pitch(tree: Tree) -> Tree:
    turning = joints.revolute([0.1, 0.2, 1.0], [0.3, 0.0, 0.1])
    links = [
        Link(x.name, turning if x.joint.kind == "helical" else x.joint, x.inertia, x.home, parent=x.parent) for x in tree.links
    ]
    return Tree(tree.name, tuple(links), tree.base)


def test_against_pinocchio():
    tree = without_pitch(torso())
    pin, model, data = pinocchio_model(tree)
    order = [int(model.joints[k].idx_v) for k in range(1, model.njoints)]
    rng = np.random.default_rng(8)
    q, v = rng.normal(size=tree.freedoms), rng.normal(size=tree.freedoms)
    theirs_q, theirs_v = np.zeros(model.nq), np.zeros(model.nv)
    theirs_q[order], theirs_v[order] = q, v
    M = pin.crba(model, data, theirs_q)
    M = np.triu(M) + np.triu(M, 1).T
    ours = mass_matrix(tree, q).astype(float)
    assert np.abs(ours - M[np.ix_(order, order)]).max() < 1e-12 * np.abs(M).max()
    h = pin.nonLinearEffects(model, data, theirs_q, theirs_v)[order]
    ours = (bias(tree, q, v) + gravity_forces(tree, G, q)).astype(float)
    assert np.abs(ours - h).max() < 1e-12 * np.abs(h).max()
    pin.forwardKinematics(model, data, theirs_q)
    for k, link in enumerate(tree.links):
        J = pin.computeFrameJacobian(model, data, theirs_q, model.getFrameId(link.name), pin.ReferenceFrame.LOCAL)[:, order]
        J = np.concatenate([J[3:], J[:3]])
        assert np.abs(body_jacobian(tree, k, q).astype(float) - J).max() < 1e-12 * max(np.abs(J).max(), 1.0)


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
@pytest.mark.parametrize("driven", [False, True])
def test_energy_of_free_motion(form, driven):
    tree = torso(driven=driven)
    n = tree.freedoms
    part = chain_graph(tree, form=form, gravity=G, ports=["head", "right finger"], velocity=np.linspace(-1.0, 1.0, n))
    graph = Graph("top").connect(part.port("joints"), Se("idle", dimension=n))
    result = compile_model(graph).simulate(0.5, rtol=1e-10, samples=0.05, progress=False)
    assert result.ok
    stored = result.ledger.stored
    assert np.abs(stored - stored[0]).max() < 1e-8 * result.ledger.in_play
    q = result["torso.q"][-1]
    assert np.abs(q).max() > 0.3, "it moves"
    for name in ("head", "right finger"):
        H = product_of_exponentials(tree, tree.index(name), q)
        assert np.abs(pose_from_state(result[f"torso.{name}.pose"][-1]) - H).max() < 1e-12


def gripper(mimic: Mimic | None, **options) -> Tree:
    rng = np.random.default_rng(2)
    return Tree(
        "gripper",
        (
            Link("hand", joints.revolute([0, 1, 0]), inertia(rng)),
            Link("left", joints.prismatic([1, 0, 0]), inertia(rng), damping=0.3, limits=(0.0, 0.4)),
            Link("right", joints.prismatic([1, 0, 0]), inertia(rng), parent="hand", mimic=mimic, damping=0.2, **options),
        ),
    )


def test_a_driven_joint_is_a_constraint_that_is_solved():
    """Elimination of q_right = 0.1 - q_left gives the same motion as a Constraint between free jaws."""
    start = np.array([0.4, 0.03])
    pushed = {"gravity": G, "limits": "ignore"}
    one = chain_graph(gripper(Mimic("left", -1.0, 0.1)), position=start, velocity=[1.0, 0.2], **pushed)
    graph = Graph("one").connect(one.port("joints"), Se("idle", dimension=2))
    one_run = compile_model(graph).simulate(0.4, rtol=1e-10, samples=0.1, progress=False)
    three = chain_graph(gripper(None), position=[*start, 0.1 - start[1]], velocity=[1.0, 0.2, -0.2], **pushed)
    held = Constraint("gear", position=lambda q: q[1] + q[2] - 0.1, coordinates={"gripper.q": 3}, dimension=1)
    other = compile_model(Graph("three").connect(three.port("joints"), held)).simulate(
        0.4, rtol=1e-10, samples=0.1, progress=False
    )
    q = other["gripper.q"]
    assert np.abs(one_run["gripper.q"] - q[:, :2]).max() < 1e-7 * np.abs(q).max()
    assert np.abs(q[:, 1] + q[:, 2] - 0.1).max() < 1e-9


def test_jaws_of_one_mass_that_part_are_a_mass():
    body = ball_inertia(0.3, 0.02)
    jaws = (Link("left", joints.prismatic([1, 0, 0]), body), Link("right", joints.prismatic([1, 0, 0]), body, parent=None))
    pair = Tree("pair", (jaws[0], replace(jaws[1], mimic=Mimic("left", -1.0))))
    assert mass_matrix(pair, [0.1]) == pytest.approx(np.array([[0.6]]))
    assert chain_graph(pair).chain.freedoms == 1


def test_driven_joints_bring_their_damping_and_limits():
    tree = gripper(Mimic("left", -2.0, 0.3), limits=(-0.1, 0.2))
    assert tree.coordinates == ("hand", "left") and tree.is_angle == (True, False)
    assert tree.damping == pytest.approx([0.0, 0.3 + 4.0 * 0.2])
    assert tree.limits[1] == pytest.approx([0.05, 0.2])
    assert link_pose(tree, 2, [0.0, 0.1])[0, 3] == pytest.approx(0.1)


TURN = joints.revolute([0, 0, 1])
BALL = ball_inertia(1.0, 0.1)


@pytest.mark.parametrize(
    ("code", "words", "links"),
    [
        ("E535", "not a link", [Link("a", TURN, BALL), Link("b", TURN, BALL, parent="c")]),
        ("E535", "cycle", [Link("a", TURN, BALL, parent="b"), Link("b", TURN, BALL)]),
        ("E535", "cycle", [Link("a", TURN, BALL, parent="a")]),
        ("E535", "precedes its parent", [Link("a", TURN, BALL, parent="b"), Link("b", TURN, BALL, parent=None)]),
        ("E537", "cannot mimic", [Link("a", TURN, BALL), Link("b", TURN, BALL, mimic=Mimic("c"))]),
        ("E537", "cannot mimic", [Link("a", TURN, BALL), Link("b", TURN, BALL, mimic="a")]),
        ("E537", "nothing drives", [Link("a", TURN, BALL), Link("b", TURN, BALL, mimic=Mimic("b"))]),
        ("E537", "nothing drives", [Link("a", TURN, BALL, mimic=Mimic("b")), Link("b", TURN, BALL, mimic=Mimic("a"))]),
        ("E537", "freedoms", [Link("a", joints.spherical(), BALL), Link("b", TURN, BALL, mimic=Mimic("a"))]),
        ("E537", "freedoms", [Link("a", TURN, BALL), Link("b", joints.fixed(), BALL, mimic=Mimic("a"))]),
        ("E537", "not zero", [Link("a", TURN, BALL), Link("b", TURN, BALL, mimic=Mimic("a", 0.0))]),
        ("E537", "not zero", [Link("a", TURN, BALL), Link("b", TURN, BALL, mimic=Mimic("a", 1.0, np.nan))]),
        (
            "E537",
            "no range of motion",
            [Link("a", TURN, BALL, limits=(0.0, 1.0)), Link("b", TURN, BALL, limits=(2.0, 3.0), mimic=Mimic("a"))],
        ),
        ("E450", "two links", [Link("a", TURN, BALL), Link("a", TURN, BALL, parent=None)]),
    ],
)
def test_refused_trees(code, words, links):
    with pytest.raises(ModelError, match=words) as caught:
        Tree("bad", tuple(links))
    assert [problem.code for problem in caught.value.problems] == [code]
    assert caught.value.problems[0].cures and 'tree "bad"' in str(caught.value)


def test_a_chain_does_not_branch():
    with pytest.raises(ModelError, match="E536") as caught:
        Chain("fork", (Link("a", TURN, BALL), Link("b", TURN, BALL), Link("c", TURN, BALL, parent="a")))
    assert "Tree(" in str(caught.value) and "c" in str(caught.value)


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_freedom_that_moves_no_mass_is_named(unit):
    leaf = Link("leaf", joints.revolute([0, 1, 0], [0, 0, unit]), None)
    arm = Link("arm", TURN, ball_inertia(1.0, 0.1 * unit, [unit, 0, 0]))
    other = Link("other", joints.prismatic([0, 0, 1]), ball_inertia(1e-9, 1e-4 * unit, [unit, 0, 0]), parent="arm")
    with pytest.raises(ModelError, match=r'E538 tree "bare": no mass moves with "leaf"'):
        chain_graph(Tree("bare", (arm, leaf, other)))
    beyond = Link("beyond", joints.revolute([1, 0, 0]), ball_inertia(1e-9, 1e-4 * unit, [0, 0, 2 * unit]))
    assert chain_graph(Tree("whole", (arm, leaf, beyond, other))).chain.freedoms == 4
