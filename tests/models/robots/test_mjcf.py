"""Robots from MJCF agree with stored results of MuJoCo 4.0, and with MuJoCo itself where it is installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import Mimic, bias, chain_graph, gravity_forces, link_pose, mass_matrix
from screwbond.models.robots import Robot, read_mjcf, robot_scene

from bondgraph import ModelError, compile_model
from campaigns.mjcf_files import compare, random_file
from tests.inner.models_robots import Mesh, mesh_moments

ARM = """<mujoco model="arm">
  <compiler eulerseq="XYZ"/>
  <default>
    <joint damping="0.1"/> <geom density="900"/>
    <default class="wrist"><joint type="slide" axis="1 0 0" armature="0.3" range="-0.2 0.4"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 1" euler="0 30 10">
      <joint name="yaw" axis="0 0 1" range="-90 90"/>
      <joint name="pitch" axis="0 1 0" pos="0.1 0 0" ref="20" stiffness="4" springref="10"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.05"/>
      <frame pos="0.4 0 0.1" euler="0 0 45">
        <body name="fore" childclass="wrist">
          <joint name="reach"/>
          <geom type="box" size="0.1 0.05 0.04" pos="0.1 0 0" rgba="1 0 0 1" group="1"/>
          <geom type="ellipsoid" size="0.05 0.06 0.07" mass="0.2" contype="0" conaffinity="0"/>
          <body name="tool" pos="0.2 0 0"><joint name="roll" type="hinge" axis="1 0 0" armature="0"/>
            <inertial pos="0.05 0 0" mass="0.5" fullinertia="0.002 0.003 0.004 0.0001 0 0"/></body>
        </body>
      </frame>
    </body>
  </worldbody>
  <actuator>
    <motor name="m" joint="yaw" gear="20" ctrlrange="-1 1"/>
    <position name="s" joint="reach" kp="100" kv="5" forcerange="-30 30"/>
  </actuator>
  <sensor><jointpos joint="yaw"/></sensor>
</mujoco>
"""

Q, V = np.array([0.3, -0.5, 0.1, 0.7]), np.array([0.2, 1.1, -0.4, 0.9])

MASS_MATRIX = np.array(
    [
        [3.7586647948593233e-01, -1.4690206866995462e-01, 3.3765590127133499e-01, 1.0635632852516164e-03],
        [-1.4690206866995462e-01, 5.9578722277263885e-01, 1.5132085117392111e-01, 1.4682960720897433e-03],
        [3.3765590127133499e-01, 1.5132085117392111e-01, 2.4399999999999999e00, -2.9528596028935288e-18],
        [1.0635632852516164e-03, 1.4682960720897433e-03, -2.9528596028935288e-18, 2.0000000000000091e-03],
    ]
)
FORCES = np.array([3.5797191787132472e00, -1.1340421730445872e01, 6.5684151582281292e00, -3.5633378582361486e-04])
TOOL = np.array(
    [
        [0.3225139182651161, -0.8583516850891508, 0.3990202466415673, 0.4105331466686051],
        [0.8830032033049748, 0.1209516783619, -0.4535151976004694, 0.3871880192330529],
        [0.3410133655422252, 0.4986011193389508, 0.7969358872051816, 1.2479626568622968],
    ]
)
AFTER_A_SECOND = np.array([-1.126785338480637, 1.7025426896350284, 4.1917133542787335, 0.7877640960046292])


def read(folder: Path, text: str = ARM, **settings: object) -> Robot:
    (folder / "arm.xml").write_text(text)
    return read_mjcf(folder / "arm.xml", **settings)  # type: ignore[arg-type]


def test_mass_matrix_forces_and_poses_are_those_of_mujoco(tmp_path: Path) -> None:
    tree = read(tmp_path).tree
    M = np.asarray(mass_matrix(tree, Q), dtype=float)
    h = np.asarray(bias(tree, Q, V), dtype=float) + np.asarray(gravity_forces(tree, (0, 0, -9.81), Q), dtype=float)
    assert np.allclose(M, MASS_MATRIX, rtol=0, atol=1e-12) and np.allclose(h, FORCES, rtol=0, atol=1e-11)
    tip = np.asarray(link_pose(tree, tree.index("tool"), Q), dtype=float)
    assert np.allclose(tip[:3], TOOL, rtol=0, atol=1e-14)


def test_a_frame_moves_the_joints_and_inertia_in_it_and_keeps_their_order(tmp_path: Path) -> None:
    pitch = '<joint name="pitch" axis="0 1 0" pos="0.1 0 0" ref="20" stiffness="4" springref="10"/>'
    roll = '<joint name="roll" type="hinge" axis="1 0 0" armature="0"/>'
    inertial = '<inertial pos="0.05 0 0" mass="0.5" fullinertia="0.002 0.003 0.004 0.0001 0 0"/>'
    turned = pitch.replace("0 1 0", "1 0 0").replace("0.1 0 0", "0 0.1 0"), inertial.replace("0.05 0 0", "0 0 0")
    text = ARM.replace(pitch, f'<frame pos="0.4 0 0" euler="0 0 90"><frame pos="0 0.2 0">{turned[0]}</frame></frame>')
    text = text.replace(roll, f'<frame childclass="main" pos="3 0 0">{roll}</frame>')
    text = text.replace(inertial, f'<frame pos="0.05 0 0">{turned[1]}</frame>')
    tree = read(tmp_path, text).tree
    assert tree.coordinates == read(tmp_path).tree.coordinates
    assert np.allclose(np.asarray(mass_matrix(tree, Q), dtype=float), MASS_MATRIX, rtol=0, atol=1e-12)
    with pytest.raises(ModelError, match="E522 <joint> of <frame> is unknown"):
        read(tmp_path, ARM.replace("<worldbody>", "<worldbody><frame><joint/></frame>"))


def test_joints_limits_springs_drives_and_notes(tmp_path: Path) -> None:
    robot = read(tmp_path)
    tree = robot.tree
    assert tree.coordinates == ("yaw", "upper", "fore", "tool") and [joint.name for joint in robot.joints] == [
        "yaw",
        "pitch",
        "reach",
        "roll",
    ]
    right = np.pi / 2.0
    assert np.allclose(tree.limits[0], (-right, right)) and np.array_equal(tree.limits[2], (-0.2, 0.4))
    assert np.isinf(tree.limits[1]).all()
    stiffness, rest = tree.springs
    assert stiffness.tolist() == [0, 4, 0, 0] and rest[1] == pytest.approx(np.deg2rad(10.0))
    assert [link.armature for link in tree.links if link.joint.freedoms] == [0, 0, 0.3, 0] and np.all(tree.damping == 0.1)
    motor, servo = robot.drives
    assert (motor.kind, motor.gear, motor.effort) == ("motor", 20.0, 20.0)
    assert (servo.kind, servo.gain, servo.damping, servo.effort) == ("position", 100.0, 5.0, 30.0)
    assert robot.effort_limits.tolist() == [20.0, np.inf, 30.0, np.inf]
    notes = str(robot)
    assert "<sensor> (line 28): sensors are parts" in notes and "shapes of the type plane (line 8): not drawn" in notes


def test_pictures_show_groups_or_shapes_that_collide(tmp_path: Path) -> None:
    seen, solid = read(tmp_path, meshes="visual"), read(tmp_path)
    assert [len(robot.visuals) for robot in (seen, solid)] == [3, 2]
    scene = robot_scene(seen, seen.position({"yaw": 0.2}))
    assert [part.name for part in scene.solids] == ["upper", "fore"]
    assert seen.visuals[1].colour == "#ff0000"


def test_a_run_with_spring_and_armature_agrees_with_mujoco(tmp_path: Path) -> None:
    """The stored results are those of MuJoCo's Runge-Kutta method at a step size of 0.1 ms."""
    tree = read(tmp_path, limits=False).tree
    graph = chain_graph(tree, gravity=(0, 0, -9.81), position=Q, velocity=V)
    result = compile_model(graph).simulate(1.0, rtol=1e-10, samples=0.5, progress=False)
    assert np.allclose(result["mechanism.q"][-1], AFTER_A_SECOND, rtol=0, atol=1e-8)


def test_a_random_file_agrees_with_mujoco(tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="NOT COMPARED WITH MUJOCO: it is not installed (pip install mujoco)")
    (tmp_path / "a.xml").write_text(random_file(np.random.default_rng(23)))
    robot = read_mjcf(tmp_path / "a.xml", meshes=False)
    assert max(compare(robot, tmp_path / "a.xml", np.random.default_rng(1)).values()) < 1e-11


def test_ball_and_free_joints_equalities_and_names(tmp_path: Path) -> None:
    text = """<mujoco><compiler angle="radian"/><worldbody>
      <body name="a.b"><freejoint/><geom size="0.1"/>
        <body><joint type="ball"/><geom size="0.1"/>
          <body name="c"><joint name="j" ref="0.2"/><joint name="k" ref="0.5"/><geom size="0.1" pos="1 0 0"/></body></body></body>
      </worldbody><equality><joint joint1="k" joint2="j" polycoef="0.1 2"/></equality></mujoco>"""
    robot = read(tmp_path, text)
    assert robot.tree.coordinates == (*(f"a_b {k}" for k in range(1, 7)), "body 1", "body 2", "body 3", "j")
    (driven,) = [link for link in robot.tree.links if link.mimic is not None]
    assert driven.mimic == Mimic("j", 2.0, pytest.approx(0.1 + 0.5 - 2.0 * 0.2))
    (driven,) = [link for link in read(tmp_path, text.replace("0.1 2", "0.1")).tree.links if link.mimic is not None]
    assert driven.mimic == Mimic("j", 1.0, pytest.approx(0.1 + 0.5 - 0.2)), "missing coefficients are those of y = x"
    assert "rigid here, elastic in MuJoCo" in str(robot) and '"a.b" becomes "a_b"' in str(robot)


def test_included_files_lie_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    part = '<mujocoinclude><body name="part"><joint damping="-1"/><geom size="0.1"/></body></mujocoinclude>'
    (tmp_path / "parts" / "p.xml").write_text(part)
    text = '<mujoco><worldbody><include file="parts/p.xml"/></worldbody></mujoco>'
    with pytest.raises(ModelError, match=r"E522 damping=\"-1\" of <joint> of <body> \"part\"[^$]*p\.xml:1"):
        read(tmp_path, text)
    (tmp_path / "parts" / "p.xml").write_text(part.replace("-1", "1"))
    assert read(tmp_path, text).tree.coordinates == ("part",)
    twice = text.replace("<worldbody>", '<worldbody><include file="parts/p.xml"/>')
    for broken, words in ((twice, "included only once"), (text.replace("parts/p", "../p"), "not in the folder")):
        with pytest.raises(ModelError, match=f"E297 .*[^$]*{words}"):
            read(tmp_path, broken)


TETRAHEDRON = "v 0 0 0\nv 0.3 0 0\nv 0 0.3 0\nv 0 0 0.3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
OPEN_MASS = 3.0
"""Mass, kg, that MuJoCo 4.0 computes in single precision for the tetrahedron without its last face."""

OF_A_MESH = (
    '<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><body name="b"><freejoint/>'
    '<geom type="mesh" mesh="m" density="1000"/></body></worldbody></mujoco>'
)


def test_volume_and_moments_of_a_closed_mesh() -> None:
    """A cube's corner of edge a has volume V = a^3 / 6, centre a / 4, and inertia 3 V a^2 / 40 on and V a^2 / 80 off the
    diagonal."""
    corners = 0.3 * np.vstack([np.zeros(3), np.eye(3)]) + 1.0
    mesh = Mesh(corners, corners, np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]))
    expected = 0.0045 * 0.09 * (3.0 / 40.0 * np.eye(3) + (np.ones((3, 3)) - np.eye(3)) / 80.0)
    for rule in ("legacy", "exact"):
        terms = mesh_moments(mesh, rule)
        assert terms is not None and terms[0] == pytest.approx(0.0045) and np.allclose(terms[2], 1.075)
        assert np.allclose(terms[1], expected, rtol=0, atol=1e-15)
    opened = replace(mesh, faces=mesh.faces[:3])
    assert mesh_moments(opened, "exact") is None
    legacy = mesh_moments(opened, "legacy")
    assert legacy is not None and 1000.0 * legacy[0] == pytest.approx(OPEN_MASS, rel=1e-6)


@pytest.mark.release
def test_the_mass_of_a_mesh_is_that_of_its_volume(tmp_path: Path) -> None:
    (tmp_path / "m.obj").write_text(TETRAHEDRON)
    body = read(tmp_path, OF_A_MESH).tree.links[1].inertia
    assert body is not None and body.mass == pytest.approx(4.5) and np.allclose(body.centre, 0.075)
    (tmp_path / "m.obj").write_text(TETRAHEDRON.replace("f 2 3 4", ""))
    assert read(tmp_path, OF_A_MESH).tree.links[1].inertia.mass == pytest.approx(OPEN_MASS, rel=1e-6)  # type: ignore[union-attr]
    with pytest.raises(ModelError, match=r"E298 .*surface is not closed[^$]*<inertial> in the body"):
        read(tmp_path, OF_A_MESH.replace('file="m.obj"', 'file="m.obj" inertia="exact"'))
    with pytest.raises(ModelError, match=r"E298 .*surface is not closed"):
        read(tmp_path, OF_A_MESH.replace("<asset>", '<compiler exactmeshinertia="true"/><asset>'))


REFUSED = {
    "tendon": ("<sensor>", "<tendon><fixed/></tendon><sensor>", "E295", "a tree has no tendons"),
    "loop": ("<sensor>", '<equality><connect body1="tool" anchor="0 0 0"/></equality><sensor>', "E295", "joint_graph"),
    "muscle": ("</actuator>", '<muscle name="z" joint="yaw"/></actuator>', "E295", '<muscle> "z" of <actuator>'),
    "fluid": ("<default>", '<option density="1000"/><default>', "E295", "density of <option>"),
    "no constraints": (
        "<default>",
        '<option><flag constraint="disable"/></option><default>',
        "E295",
        "constraint of <flag> of <option>",
    ),
    "no springs": ("<default>", '<option><flag spring="disable"/></option><default>', "E295", "spring of <flag> of <option>"),
    "no drives": ("<default>", '<option actuatorgroupdisable="2"/><default>', "E295", "actuatorgroupdisable of <option>"),
    "macro": ("</worldbody>", '<replicate count="3"/></worldbody>', "E295", "mj_saveLastXML"),
    "global": ('eulerseq="XYZ"', 'coordinate="global"', "E295", "MuJoCo 2.3.3"),
    "gravity compensation": ('name="fore"', 'name="fore" gravcomp="1"', "E295", "gravcomp of <body>"),
    "typo": ('armature="0.3"', 'armatur="0.3"', "E522", "armatur of <joint> of <default> is unknown to this reader"),
    "class": ('childclass="wrist"', 'childclass="wrst"', "E296", "one of: wrist"),
    "joint": ('joint="yaw" gear', 'joint="yew" gear', "E296", "one of: yaw, pitch"),
    "range": ('range="-90 90"', 'range="90 -90"', "E525", "limits=False"),
    "number": ('mass="0.5"', 'mass="half"', "E522", 'mass="half" of <inertial> of <body> "tool"'),
    "damped ball": ('axis="0 1 0" pos="0.1 0 0" ref="20"', 'type="ball"', "E295", "rates are not its angular velocity"),
    "entity": ("<mujoco ", "<!DOCTYPE mujoco [<!ENTITY a 'b'>]><mujoco ", "E521", "document type"),
    "other loop": ("<sensor>", '<equality><joint joint1="yaw"/></equality><sensor>', "E295", "linear in a second joint"),
    "two equalities": (
        "<sensor>",
        '<equality><joint joint1="roll" joint2="yaw"/><joint joint1="roll" joint2="reach" polycoef="0.5"/></equality><sensor>',
        "E295",
        "an earlier equality determines this joint",
    ),
    "inactive equalities": ("<default>", '<default><equality active="false"/>', "E295", "active of <equality> of <default>"),
    "servo": ('kv="5"', 'dampratio="1"', "E295", "kv as a number"),
    "size": ('size="0.05"', 'size="0"', "E522", "1 positive number"),
    "fitted": ('type="box" size="0.1 0.05 0.04"', 'type="box" mesh="m"', "E298", 'a box fitted to the mesh "m"'),
    "quaternion": ('euler="0 30 10"', 'quat="0 0 0 0"', "E522", "is not w x y z, not all zero"),
    "axis": ('name="yaw" axis="0 0 1"', 'name="yaw" axis="0 0 0"', "E522", "no direction"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_elements_that_change_the_robot_are_refused_by_name_and_line(tmp_path: Path, name: str) -> None:
    there, put, code, words = REFUSED[name]
    assert there in ARM
    with pytest.raises(ModelError) as caught:
        read(tmp_path, ARM.replace(there, put, 1))
    assert code in {problem.code for problem in caught.value.problems}
    assert words in str(caught.value) and "arm.xml:" in str(caught.value)


def test_refused_elements_can_be_omitted_and_are_listed(tmp_path: Path) -> None:
    text = ARM.replace("<sensor>", "<tendon><fixed/></tendon><sensor>").replace(
        "</actuator>", '<motor tendon="t"/><muscle joint="yaw"/></actuator>'
    )
    robot = read(tmp_path, text, omit=("tendon", "muscle"))
    assert len(robot.drives) == 2 and "omitted as requested: a tree has no tendons" in str(robot)
    assert not read(tmp_path, text, omit=("tendon", "muscle", "actuator")).drives
    with pytest.raises(ModelError, match=r"E295 .*never refused.*tendn"):
        read(tmp_path, text, omit=("tendn",))
