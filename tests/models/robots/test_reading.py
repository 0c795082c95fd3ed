"""Robots from URDF agree with matrices written by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import (
    Chain,
    body_jacobian,
    chain_graph,
    gravity_forces,
    kinetic_energy,
    link_pose,
    mass_matrix,
    potential,
)
from screwbond.models.robots import Robot, read_urdf

from bondgraph import ModelError, compile_model
from bondgraph.errors import ExtraError
from tests.inner.models_robots import JOINTS

DATA = Path(__file__).parents[1] / "data" / "urdf"


def turn(roll: float, pitch: float, yaw: float) -> np.ndarray:
    def about(k: int, angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        R = np.eye(3)
        i, j = (k + 1) % 3, (k + 2) % 3
        R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
        return R

    return about(2, yaw) @ about(1, pitch) @ about(0, roll)


def placed(xyz: tuple[float, ...], rpy: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = turn(*rpy), xyz
    return H


def spun(axis: tuple[float, ...], angle: float) -> np.ndarray:
    a = np.array(axis) / np.linalg.norm(axis)
    K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    H = np.eye(4)
    H[:3, :3] = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return H


def two_links() -> Robot:
    return read_urdf(DATA / "two_links.urdf")


def poses_by_hand(q: np.ndarray) -> dict[str, np.ndarray]:
    """Return the poses of the links of two_links.urdf, whose values are repeated here."""
    upper = placed((0, 0, 0.05), (0.3, -0.2, 0.5)) @ spun((0, 1, 0), q[0])
    fore = upper @ placed((0, 0, 0.5), (-0.4, 0.1, 0)) @ spun((1, 1, 0), q[1])
    return {"stand": np.eye(4), "upper": upper, "fore": fore, "tool": fore @ placed((0, 0.1, 0.3), (0, 0, 1.2))}


def masses_by_hand(q: np.ndarray) -> list[tuple[float, np.ndarray, np.ndarray]]:
    H = poses_by_hand(q)
    upper = H["upper"] @ placed((0.01, 0.02, 0.25), (0.1, 0.2, 0.3))
    fore, tool = H["fore"] @ placed((0, 0, 0.15)), H["tool"] @ placed((0.02, 0, 0))
    J1 = np.array([[0.05, 0.001, -0.002], [0.001, 0.06, 0.003], [-0.002, 0.003, 0.03]])
    own = [(2.0, upper, J1), (1.0, fore, np.diag([0.01, 0.012, 0.004])), (0.5, tool, np.zeros((3, 3)))]
    return [(m, A[:3, 3], A[:3, :3] @ J @ A[:3, :3].T) for m, A, J in own]


def test_poses_of_all_links_agree_with_products_of_matrices_by_hand() -> None:
    chain = two_links().tree
    assert [link.name for link in chain.links] == ["stand", "upper", "fore", "tool"]
    for q in np.random.default_rng(1).uniform(-3.0, 3.0, (5, 2)):
        for name, H in poses_by_hand(q).items():
            assert np.allclose(np.asarray(link_pose(chain, chain.index(name), q), float), H, rtol=0, atol=1e-14), name


def test_mass_matrix_and_weight_agree_with_energies_by_hand() -> None:
    """M follows from the kinetic energy by finite differences, and the gravity forces follow from the heights of the masses."""
    chain, step = two_links().tree, 1e-5
    for q in np.random.default_rng(2).uniform(-3.0, 3.0, (3, 2)):
        M, g = np.zeros((2, 2)), np.zeros(2)
        ahead = [[masses_by_hand(q + s * step * e) for s in (1, -1)] for e in np.eye(2)]
        turned = [[poses_by_hand(q + s * step * e) for s in (1, -1)] for e in np.eye(2)]
        for i, (m, _, J) in enumerate(masses_by_hand(q)):
            link = ("upper", "fore", "tool")[i]
            v = [(a[i][1] - b[i][1]) / (2 * step) for a, b in ahead]
            now = poses_by_hand(q)[link][:3, :3]
            spins = [(a[link] - b[link])[:3, :3] / (2 * step) @ now.T for a, b in turned]
            w = [np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]]) / 2 for S in spins]
            M += [[m * v[a] @ v[b] + w[a] @ J @ w[b] for b in (0, 1)] for a in (0, 1)]
            g += [m * 9.81 * v[a][2] for a in (0, 1)]
        # Central differences with a step of 1e-5: 1e-10 of truncation, 1e-11 of rounding.
        assert np.allclose(np.asarray(mass_matrix(chain, q), float), M, rtol=0, atol=1e-8)
        assert np.allclose(np.asarray(gravity_forces(chain, (0, 0, -9.81), q), float), g, rtol=0, atol=1e-7)


def test_fixed_links_join_their_body_and_keep_their_frame() -> None:
    links = {link.name: link for link in two_links().tree.links}
    assert links["tool"].inertia is None and links["tool"].joint.freedoms == 0
    body = links["fore"].inertia
    assert body is not None and body.mass == 1.5
    spot = (placed((0, 0.1, 0.3), (0, 0, 1.2)) @ placed((0.02, 0, 0)))[:3, 3]
    assert np.allclose(body.centre, (np.array([0, 0, 0.15]) + 0.5 * spot) / 1.5, rtol=0, atol=1e-15)


def test_limits_damping_and_motor_data_are_kept() -> None:
    robot = two_links()
    assert np.array_equal(robot.tree.limits, [[-2.0, 1.5], [-np.inf, np.inf]])
    assert np.array_equal(robot.tree.damping, [0.02, 0.0])
    shoulder, elbow = robot.joints
    assert (shoulder.effort, shoulder.velocity, shoulder.friction, shoulder.link) == (10.0, 3.0, 0.1, "upper")
    assert (elbow.effort, elbow.velocity, elbow.friction, elbow.kind) == (None, None, 0.0, "continuous")
    assert not np.isfinite(read_urdf(DATA / "two_links.urdf", limits=False).tree.limits).any()


def test_ignored_elements_are_listed_with_their_lines() -> None:
    robot = two_links()
    listed = {one.what: one for one in robot.ignored}
    assert set(listed) == {
        "effort limits",
        "velocity limits",
        "friction of joints",
        "1 shape <visual>",
        "<transmission>",
        "<gazebo>",
    }
    lines = (DATA / "two_links.urdf").read_text().splitlines()
    assert [lines[n - 1].strip()[:13] for n in listed["<transmission>"].lines] == ["<transmission"]
    assert [lines[n - 1].strip() for n in listed["effort limits"].lines] == ['<joint name="shoulder" type="revolute">']
    text = str(robot)
    assert all(str(one) in text for one in robot.ignored) and "3.5 kg that move" in text


def test_a_tip_ends_the_chain_and_omitted_links_are_listed() -> None:
    robot = read_urdf(DATA / "gripper.urdf", tip="left")
    assert [link.name for link in robot.tree.links] == ["arm", "palm", "camera", "left"]
    palm = robot.tree.links[1].inertia
    assert palm is not None and palm.mass == pytest.approx(0.9, rel=1e-15)  # with the camera
    assert any(one.what == "1 link: right" for one in robot.ignored)
    # A fixed frame is a tip too; its body is then the last.
    camera = read_urdf(DATA / "gripper.urdf", tip="camera")
    assert [link.name for link in camera.tree.links] == ["arm", "palm", "camera"]
    assert np.asarray(body_jacobian(camera.tree, 2, [0.3]), float)[:3, 0] == pytest.approx(turn(0.6, 0, 0).T @ [0, 0, 1])
    # Links fixed to the tip itself are beyond it.
    assert [link.name for link in read_urdf(DATA / "gripper.urdf", tip="palm").tree.links] == ["arm", "palm"]


def test_a_base_cuts_the_robot_below() -> None:
    whole, part = two_links(), read_urdf(DATA / "two_links.urdf", base="upper")
    assert [link.name for link in part.tree.links] == ["upper", "fore", "tool"]
    q = np.array([0.0, 0.7])
    seen = [np.asarray(link_pose(whole.tree, k, q), float) for k in (1, 3)]
    assert np.allclose(np.asarray(link_pose(part.tree, 2, q[1:]), float), np.linalg.solve(*seen), rtol=0, atol=1e-14)


def test_a_robot_without_branches_is_a_chain() -> None:
    assert isinstance(two_links().tree, Chain)
    finger = read_urdf(DATA / "gripper.urdf", tip=("left", "camera")).tree
    assert isinstance(finger, Chain) and [link.name for link in finger.links] == ["arm", "palm", "camera", "left"]
    assert not isinstance(read_urdf(DATA / "gripper.urdf").tree, Chain)


def test_prismatic_and_planar_joints() -> None:
    robot = read_urdf(DATA / "slider.urdf", packages={"parts": DATA})
    chain = robot.tree
    assert chain.coordinates == ("carriage", "puck 1", "puck 2", "puck 3")
    q = robot.position({"slide": 0.3, "table": (0.1, -0.2, 0.5)})
    assert np.array_equal(q, [0.3, 0.1, -0.2, 0.5])
    carriage = placed((0.1, 0, 0), (0, 0.5, 0)) @ placed((0, 0, -0.3))
    assert np.allclose(np.asarray(link_pose(chain, 1, q), float), carriage, rtol=0, atol=1e-15)
    puck = carriage @ placed((0, 0, 0.2)) @ placed((0.1, -0.2, 0)) @ spun((0, 0, 1), 0.5)
    assert np.allclose(np.asarray(link_pose(chain, 2, q), float), puck, rtol=0, atol=1e-15)
    M = np.asarray(mass_matrix(chain, q), float)
    assert np.allclose(np.diagonal(M), [5.5, 1.5, 1.5, 0.03], rtol=1e-14)


def test_names_with_dots_become_names_of_parts(tmp_path: Path) -> None:
    """A dot separates a part from its contents, so names with dots would not be valid names of ports."""
    text = (DATA / "two_links.urdf").read_text().replace('"fore"', '"fore.1"').replace(' name="two links"', "")
    path = tmp_path / "arm.v2.urdf"
    path.write_text(text)
    robot = read_urdf(path, tip="fore.1")
    assert robot.name == "arm_v2" and robot.tree.coordinates == ("upper", "fore_1")
    (note,) = [one for one in robot.ignored if "dots" in one.what]
    assert '"fore.1" becomes "fore_1"' in str(note) and [text.splitlines()[n - 1].strip() for n in note.lines] == [
        '<link name="fore.1">'
    ]
    result = compile_model(chain_graph(robot.tree, "arm", ports=["fore_1"])).simulate(0.1, progress=False)
    assert np.allclose(result["fore_1.pose"][0, 4:], poses_by_hand(np.zeros(2))["fore"][:3, 3], rtol=0, atol=1e-14)
    path.write_text(text.replace('"upper"', '"fore:1"'))
    with pytest.raises(ModelError, match="E523 two links"):
        read_urdf(path)


def test_a_tree_with_a_joint_that_follows_another() -> None:
    robot = read_urdf(DATA / "gripper.urdf")
    tree = robot.tree
    assert tree.coordinates == ("palm", "left") and robot.joints[2].leader == "left slide"
    q = robot.position({"wrist": 0.3, "left slide": 0.01})
    apart = [np.asarray(link_pose(tree, tree.index(name), q), float)[:3, 3] for name in ("left", "right")]
    assert np.allclose(apart[0] - apart[1], 0.06 * turn(0, 0, 0.3)[:, 0], rtol=0, atol=1e-15)
    turned = (0.001 + 1e-5 + 0.1 * 0.05**2) + 2 * (5e-6 + 0.05 * 0.03**2)  # palm and camera, and the fingers
    assert np.allclose(np.asarray(mass_matrix(tree, q), float), np.diag([turned, 0.1]), rtol=0, atol=1e-15)
    assert "left slide" in str(robot).splitlines()[4]


def test_multipliers_and_offsets_of_joints_that_follow(tmp_path: Path) -> None:
    text = (DATA / "gripper.urdf").read_text()
    text = text.replace('<mimic joint="left slide"/>', '<mimic joint="left slide" multiplier="-2" offset="0.01"/>')
    text = text.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><mimic joint="right slide" multiplier="10" offset="0.2"/>')
    (tmp_path / "a.urdf").write_text(text)
    tree = read_urdf(tmp_path / "a.urdf", limits=False).tree
    assert tree.coordinates == ("left",)
    slide = -2 * 0.03 + 0.01
    wanted = turn(0, 0, 10 * slide + 0.2) @ [-0.02 - slide, 0, 0.08]
    assert np.allclose(np.asarray(link_pose(tree, tree.index("right"), [0.03]), float)[:3, 3], wanted, rtol=0, atol=1e-15)
    # With limits: the slide of the left finger, from 0 to 0.04, also limits the right one here.
    (tmp_path / "b.urdf").write_text(text.replace('<mimic joint="right slide" multiplier="10" offset="0.2"/>', ""))
    assert np.allclose(read_urdf(tmp_path / "b.urdf").tree.limits[1], [0.0, 0.005], rtol=0, atol=1e-15)


def test_a_base_that_floats() -> None:
    robot = read_urdf(DATA / "gripper.urdf", base="palm", floating=True)
    tree = robot.tree
    assert tree.coordinates[:6] == tuple(f"palm {k}" for k in range(1, 7)) and tree.freedoms == 7
    q = robot.position({"palm": (0.1, -0.2, 0.3, 1.0, 2.0, 3.0), "left slide": 0.02})
    assert np.array_equal(q, [0.1, -0.2, 0.3, 1.0, 2.0, 3.0, 0.02])
    M = np.asarray(mass_matrix(tree, q), float)
    assert np.allclose(M[3:6, 3:6], 1.0 * np.eye(3), rtol=0, atol=1e-14)  # 0.8 + 0.1 + 2 * 0.05 kg


def test_the_centre_of_mass_of_a_floating_robot_falls_freely() -> None:
    robot = read_urdf(DATA / "two_links.urdf", base="upper", floating=True, limits=False)
    tree, g, t_end = robot.tree, 9.81, 0.5
    v0 = np.array([0.5, -1.0, 2.0, 0.0, 0.0, 0.0, 6.0])
    graph = chain_graph(tree, "robot", gravity=(0, 0, -g), velocity=v0, limits="ignore")
    result = compile_model(graph).simulate(t_end, rtol=1e-10, progress=False)
    q, v = result["mechanism.q"], result["mechanism.v"]
    height = [float(potential(tree, (0, 0, -g), q[k])) / (3.5 * g) for k in (0, -1)]
    start = float((mass_matrix(tree, q[0]) @ v0)[5]) / 3.5  # of the centre of mass, along z
    assert height[1] - height[0] == pytest.approx(start * t_end - 0.5 * g * t_end**2, abs=1e-8)
    total = [float(kinetic_energy(tree, q[k], v[k])) + 3.5 * g * height[k] for k in (0, -1)]
    assert total[1] == pytest.approx(total[0], rel=1e-8)


def test_without_lxml_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    with pytest.raises(ExtraError, match=r"E416 a robot from URDF .*screwbond\[urdf\]"):
        two_links()


def test_a_floating_joint_has_six_coordinates(tmp_path: Path) -> None:
    text = (DATA / "two_links.urdf").read_text().replace('type="revolute"', 'type="floating"')
    (tmp_path / "a.urdf").write_text(text)
    assert read_urdf(tmp_path / "a.urdf").tree.coordinates == (*(f"upper {k}" for k in range(1, 7)), "fore")


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_a_number_for_one_freedom_is_not_one_for_lengths_and_angles(tmp_path: Path, kind: str) -> None:
    """Rates of the angles of a floating joint are no angular velocity, so damping of them would depend on the start of the
    angles."""
    text = f"""<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1"/></inertial></link><joint name="j" type="{kind}"><parent link="a"/><child link="b"/>
      <dynamics damping="2" friction="1"/><limit effort="0" velocity="3"/></joint></robot>"""
    (tmp_path / "a.urdf").write_text(text)
    robot = read_urdf(tmp_path / "a.urdf")
    assert not robot.tree.damping.any() and robot.joints[0].friction == 0.0
    assert np.isinf([*robot.effort_limits, *robot.speed_limits]).all()
    assert f'damping, friction and limits of joint "j" (line 2): {kind} joints have none' in str(robot)


def test_all_kinds_of_urdf_are_in_the_table() -> None:
    assert set(JOINTS) == {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"}


def test_a_robot_falls_and_its_energy_is_accounted_for() -> None:
    robot = two_links()
    graph = chain_graph(robot.tree, "robot", gravity=(0, 0, -9.81), position=robot.position({"elbow": 0.4}), limits="ignore")
    result = compile_model(graph).simulate(1.0, rtol=1e-9, progress=False)
    q, v = result["mechanism.q"], result["mechanism.v"]
    total = [float(kinetic_energy(robot.tree, q[k], v[k])) + float(potential(robot.tree, (0, 0, -9.81), q[k])) for k in (0, -1)]
    lost = 0.02 * np.trapezoid(v[:, 0] ** 2, result.t)
    assert total[0] - total[1] > 1e-3
    assert total[0] - total[1] == pytest.approx(lost, rel=1e-2)  # the trapezoidal rule on the samples
    assert abs(result.ledger.residual[-1]) < 1e-6 * abs(total[0] - total[1]) + 1e-7


def test_import_of_models_stays_light() -> None:
    heavy = ("trimesh", "lxml", "pyvista", "scipy")
    script = (
        f"import sys; from screwbond.models.robots import read_urdf; print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.strip() == "[]"


def test_a_robot_has_the_limits_of_its_file() -> None:
    robot = read_urdf(DATA / "gripper.urdf", meshes=False)
    given = {joint.name: joint for joint in robot.joints}
    for name, indices in robot.coordinates.items():
        for values, value in ((robot.effort_limits, given[name].effort), (robot.speed_limits, given[name].velocity)):
            assert values.shape == (robot.tree.freedoms,) and np.all(values[indices] == (np.inf if value is None else value))


def test_a_mimic_joint_limits_the_speed_of_its_leader_and_no_effort(tmp_path: Path) -> None:
    def joint(name: str, parent: str, child: str, limits: str, mimic: str = "") -> str:
        mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
        ends = f'<parent link="{parent}"/><child link="{child}"/>'
        return f'<link name="{child}">{mass}</link><joint name="{name}" type="continuous">{ends}<limit {limits}/>{mimic}</joint>'

    first = joint("j", "a", "b", 'effort="5" velocity="2"')
    second = joint("k", "b", "c", 'effort="3" velocity="3"', '<mimic joint="j" multiplier="-4" offset="1"/>')
    third = joint("l", "c", "d", 'effort="1" velocity="1"', '<mimic joint="k" multiplier="0.5"/>')
    for parts, speed in (((first,), 2.0), ((first, second), 0.75), ((first, second, third), 0.5)):
        (tmp_path / "a.urdf").write_text(f'<robot name="r"><link name="a"/>{"".join(parts)}</robot>')
        robot = read_urdf(tmp_path / "a.urdf")
        assert robot.speed_limits == pytest.approx([speed]) and robot.effort_limits == pytest.approx([5.0])
