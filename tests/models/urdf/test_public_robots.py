"""Public robots: mass matrix, Coriolis forces, weight and Jacobians against Pinocchio to 1e-12."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from bondgraph import ModelError
from models.chains import bias, body_jacobian, gravity_forces, mass_matrix
from models.urdf import Robot, read_urdf
from tests.models.urdf.public_robots import Judge, public_urdf

DATA = Path(__file__).parents[1] / "data" / "urdf"
ROBOTS = ("xarm7.urdf", "/ur5_robot.urdf", "/z1.urdf", "so100.urdf", "/kinova.urdf")
"""Seven joints; frames turned by pi to nine decimals; a gripper; oblique axes; continuous joints."""


def compare(robot: Robot, judge: Judge, samples: int = 4) -> None:
    chain, rng = robot.chain, np.random.default_rng(5)
    for _ in range(samples):
        q, v = rng.uniform(-2.0, 2.0, chain.freedoms), rng.normal(size=chain.freedoms)
        pairs = {
            "M": (mass_matrix(chain, q), judge.mass(q)),
            "h": (bias(chain, q, v), judge.coriolis(q, v)),
            "g": (gravity_forces(chain, (0.0, 0.0, -9.81), q), judge.weight(q)),
        }
        pairs |= {link.name: (body_jacobian(chain, k, q), judge.jacobian(link.name, q)) for k, link in enumerate(chain.links)}
        for what, (own, other) in pairs.items():
            size = max(float(np.abs(other).max()), 1e-3)
            assert np.abs(np.asarray(own, dtype=float) - other).max() < 1e-12 * size, what


@pytest.mark.parametrize("name", ROBOTS)
def test_a_public_robot_agrees_with_pinocchio(name: str) -> None:
    path = public_urdf(name)
    robot = read_urdf(path, meshes=False)
    compare(robot, Judge(path.read_text(), [joint.name for joint in robot.joints]))


def test_own_files_agree_with_pinocchio() -> None:
    robot = read_urdf(DATA / "two_links.urdf")
    compare(robot, Judge((DATA / "two_links.urdf").read_text(), ["shoulder", "elbow"]))


def test_the_panda_up_to_its_flange_agrees_with_pinocchio() -> None:
    """Of the same file without what is beyond: hand and fingers."""
    from lxml import etree

    path = public_urdf("panda_description/urdf/panda.urdf")
    robot = read_urdf(path, tip="panda_link8", meshes=False)
    root = etree.parse(str(path)).getroot()
    beyond = {"panda_hand", "panda_leftfinger", "panda_rightfinger", "panda_hand_tcp"}
    for element in list(root):
        child = element.find("child")
        if element.get("name") in beyond or (child is not None and child.get("link") in beyond):
            root.remove(element)
    compare(robot, Judge(etree.tostring(root, encoding="unicode"), [f"panda_joint{k}" for k in range(1, 8)]))
    assert {"panda_hand", "panda_leftfinger"} <= set(robot.ignored[0].what.removeprefix("4 links: ").split(", "))


def test_every_public_robot_is_read_or_refused_for_a_reason() -> None:
    """Nothing else is raised by any of some seventy files; what is refused has lines and advice."""
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
            assert robot.chain.freedoms and str(robot)
    print(f"\n{read} of {len(files)} public robots read, example-robot-data {importlib.metadata.version('example-robot-data')}")
    assert read > 15
