"""For public robots, mass matrix, forces, inverse dynamics and Jacobians agree with Pinocchio to 1e-12."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import (
    bias,
    body_jacobian,
    centroidal_momentum,
    chain_graph,
    gravity_forces,
    inverse_dynamics,
    jacobian,
    link_pose,
    mass_matrix,
)
from screwbond.models.impact import effective_mass
from screwbond.models.robots import Robot, read_urdf

from bondgraph import ModelError, compile_model
from tests.models.robots.public_robots import PinocchioRobot, pinocchio, public_urdf

DATA = Path(__file__).parents[1] / "data" / "urdf"
CHAINS = ("xarm7.urdf", "/ur5_robot.urdf", "/z1.urdf", "so100.urdf", "/kinova.urdf")
"""Chains with, in turn, seven joints, frames turned by pi to nine decimals, a gripper, oblique axes, and continuous
joints."""

BRANCHED = ("panda_description/urdf/panda.urdf", "allegro_left_hand.urdf", "solo12.urdf", "baxter.urdf", "/talos_full_v2.urdf")
"""Trees with, in turn, two fingers, one of which mimics the other; four fingers; four legs; two arms with mimic grippers;
and 44 joints."""


def followed(text: str, joints: Sequence[str], own: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return S (m, n) and s (m,) with which the positions of all moving joints are S q + s, from the elements <mimic>."""
    from lxml import etree

    S, s = np.zeros((len(joints), len(own))), np.zeros(len(joints))
    mimics = {element.getparent().get("name"): element for element in etree.fromstring(text.encode()).iter("mimic")}
    for i, name in enumerate(joints):
        mimic = mimics.get(name)
        leader = name if mimic is None else mimic.get("joint")
        S[i, own.index(leader)] = 1.0 if mimic is None else float(mimic.get("multiplier", "1"))
        s[i] = 0.0 if mimic is None else float(mimic.get("offset", "0"))
    return S, s


def compare(robot: Robot, text: str, samples: int = 4) -> None:
    tree, rng = robot.tree, np.random.default_rng(5)
    names = [joint.name for joint in robot.joints]
    reference, (S, s) = PinocchioRobot(text, names), followed(text, names, list(robot.coordinates))
    for _ in range(samples):
        q, (v, a) = rng.uniform(-2.0, 2.0, tree.freedoms), rng.normal(size=(2, tree.freedoms))
        at, rate = S @ q + s, S @ v
        pairs = {
            "M": (mass_matrix(tree, q), S.T @ reference.mass(at) @ S),
            "h": (bias(tree, q, v), S.T @ reference.coriolis(at, rate)),
            "g": (gravity_forces(tree, (0.0, 0.0, -9.81), q), S.T @ reference.weight(at)),
            "tau": (inverse_dynamics(tree, q, v, a, (0.0, 0.0, -9.81)), S.T @ reference.efforts(at, rate, S @ a)),
        }
        pairs["momentum"] = centroidal_momentum(tree, q, v), reference.momentum(at, rate)
        last = tree.links[-1].name
        pairs["J"] = jacobian(tree, last, q), reference.world_jacobian(last, at) @ S
        pairs |= {
            link.name: (body_jacobian(tree, k, q), reference.jacobian(link.name, at) @ S) for k, link in enumerate(tree.links)
        }
        for what, (own, other) in pairs.items():
            size = max(float(np.abs(other).max()), 1e-3)
            assert np.abs(np.asarray(own, dtype=float) - other).max() < 1e-12 * size, what


@pytest.mark.parametrize("name", [*CHAINS, *BRANCHED])
def test_a_public_robot_agrees_with_pinocchio(name: str) -> None:
    path = public_urdf(name)
    compare(read_urdf(path, meshes=False), path.read_text())


@pytest.mark.parametrize("name", ["two_links.urdf", "gripper.urdf"])
def test_own_files_agree_with_pinocchio(name: str) -> None:
    compare(read_urdf(DATA / name), (DATA / name).read_text())


def test_a_floating_quadruped_agrees_with_pinocchio() -> None:
    """Pinocchio's free joint has the base's twist, here J q', as its velocity, so M = S^T M' S with the rows of J in S."""
    path = public_urdf("a1.urdf")
    robot, pin = read_urdf(path, floating=True, meshes=False), pinocchio()
    tree, rng = robot.tree, np.random.default_rng(7)
    model = pin.buildModelFromXML(path.read_text(), pin.JointModelFreeFlyer())
    data = model.createData()
    joints = [model.joints[model.getJointId(joint.name)] for joint in robot.joints[1:]]
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, tree.freedoms)
        at = pin.neutral(model)
        at[:7] = pin.SE3ToXYZQUAT(pin.SE3(np.asarray(link_pose(tree, 0, q), dtype=float)))
        S = np.zeros((model.nv, tree.freedoms))
        J = np.asarray(body_jacobian(tree, 0, q), dtype=float)
        S[:3], S[3:6] = J[3:], J[:3]
        for k, joint in enumerate(joints, start=6):
            at[joint.idx_q], S[joint.idx_v, k] = q[k], 1.0
        M = pin.crba(model, data, at)
        wanted = S.T @ (np.triu(M) + np.triu(M, 1).T) @ S
        assert np.abs(np.asarray(mass_matrix(tree, q), dtype=float) - wanted).max() < 1e-12 * np.abs(wanted).max()
        weight = S.T @ pin.computeGeneralizedGravity(model, data, at)
        assert np.abs(np.asarray(gravity_forces(tree, (0, 0, -9.81), q), float) - weight).max() < 1e-12 * np.abs(weight).max()


def test_the_panda_up_to_its_flange_agrees_with_pinocchio() -> None:
    from lxml import etree

    path = public_urdf("panda_description/urdf/panda.urdf")
    robot = read_urdf(path, tip="panda_link8", meshes=False)
    root = etree.parse(str(path)).getroot()
    beyond = {"panda_hand", "panda_leftfinger", "panda_rightfinger", "panda_hand_tcp"}
    for element in list(root):
        child = element.find("child")
        if element.get("name") in beyond or (child is not None and child.get("link") in beyond):
            root.remove(element)
    compare(robot, etree.tostring(root, encoding="unicode"))
    assert {"panda_hand", "panda_leftfinger"} <= set(robot.ignored[0].what.removeprefix("4 links: ").split(", "))


def test_the_panda_strikes_with_the_masses_of_the_paper() -> None:
    """The masses are those of Wang 2022 at one pose, without the hand."""
    robot = read_urdf(public_urdf("panda_description/urdf/panda.urdf"), tip="panda_link8", meshes=False)
    q = robot.position({f"panda_joint{k}": angle for k, angle in enumerate((0, -1, 0, -3, 0, 2, 1), start=1)}) * np.pi / 4
    for kind, mass in (("projection", 4.316), ("composite", 8.696), ("momentum", 2.966)):
        assert effective_mass(robot.tree, q, kind=kind, link="panda_link8") == pytest.approx(mass, abs=5e-4)


def test_a_graph_accelerates_as_pinocchio_says() -> None:
    path = public_urdf("allegro_left_hand.urdf")
    robot, rng = read_urdf(path, meshes=False), np.random.default_rng(11)
    n = robot.tree.freedoms
    q, v = rng.uniform(0.0, 0.5, n), rng.normal(size=n)
    graph = chain_graph(robot.tree, "hand", gravity=(0, 0, -9.81), position=q, velocity=v, limits="ignore")
    compiled = compile_model(graph)
    x, m = compiled.initial()
    rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
    reference = PinocchioRobot(path.read_text(), [joint.name for joint in robot.joints])
    torque = -reference.weight(q) - reference.coriolis(q, v) - robot.tree.damping * v
    wanted = np.linalg.solve(reference.mass(q), torque)
    assert np.abs(rates[n:] - wanted).max() < 1e-9 * np.abs(wanted).max() and np.allclose(rates[:n], v, rtol=1e-15)


def test_every_public_robot_is_read_or_refused_for_a_reason() -> None:
    folder = public_urdf("xarm7.urdf").parents[2]
    files = sorted(folder.rglob("*.urdf"))
    assert len(files) > 50
    read = 0
    for path in files:
        try:
            robot = read_urdf(path, meshes=False)
        except ModelError as error:
            for problem in error.problems:
                assert problem.code in {"E523", "E524", "E525", "E526", "E528"}, (path.name, problem)
                assert problem.cures and any(problem.places), problem
        else:
            read += 1
            assert str(robot)
    print(f"\n{read} of {len(files)} public robots read, example-robot-data {importlib.metadata.version('example-robot-data')}")
    assert read > 15
