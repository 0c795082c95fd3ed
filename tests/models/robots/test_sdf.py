"""Robots from SDF agree with trees built by hand for random models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import BodyInertia, Link, Mimic, Tree, bias, gravity_forces, link_pose, mass_matrix
from screwbond.models.robots import read_sdf, to_urdf

from bondgraph import ModelError
from screws.joints import fixed, prismatic, revolute, spherical
from screws.poses import inverse, pose
from screws.rotations import exp, quaternion


def some_pose(rng: np.random.Generator) -> np.ndarray:
    return pose(np.asarray(exp(rng.uniform(-2.0, 2.0, 3)), dtype=float), rng.uniform(-1.0, 1.0, 3))


def numbers(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(np.asarray(values, dtype=float)))


def written(rng: np.random.Generator, H: np.ndarray, relative_to: str) -> str:
    R, frame = H[:3, :3], f' relative_to="{relative_to}"' if relative_to else ""
    angles = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])), np.arctan2(R[1, 0], R[0, 0])
    w, x, y, z = (float(value) for value in quaternion(R))
    return str(
        rng.choice(
            [
                f"<pose{frame}>{numbers(H[:3, 3])} {numbers(angles)}</pose>",
                f'<pose{frame} degrees="true">{numbers(H[:3, 3])} {numbers(np.rad2deg(angles))}</pose>',
                f'<pose{frame} rotation_format="quat_xyzw">{numbers(H[:3, 3])} {numbers([x, y, z, w])}</pose>',
            ]
        )
    )


def random_model(rng: np.random.Generator) -> tuple[str, Tree]:
    P, spare = some_pose(rng), some_pose(rng)
    at, links, text = (
        {"__model__": P, "spare": P @ spare},
        list[Link](),
        [f'<frame name="spare">{written(rng, spare, "")}</frame>'],
    )
    ends: dict[str, list[str]] = {"world": []}
    links.append(Link("world", fixed(), None))

    def placed(H: np.ndarray, default: str) -> str:
        frame = str(rng.choice([default, *at]))
        return written(rng, inverse(at[frame]) @ H, "" if frame == default else frame)

    for k in range(5):
        name, H, parent = f"link{k}", P @ some_pose(rng), str(rng.choice(["world"] + [f"link{i}" for i in range(k)]))
        kind = str(rng.choice(["revolute", "continuous", "prismatic", "ball", "fixed", "universal"]))
        J, C = np.diag(rng.uniform(0.3, 0.4, 3)), some_pose(rng)
        inertia = (
            "".join(f"<i{a}{a}>{J[i, i]!r}</i{a}{a}>" for i, a in enumerate("xyz")).replace("np.float64(", "").replace(")", "")
        )
        inertial = f"<inertial>{written(rng, C, '')}<mass>1.5</mass><inertia>{inertia}</inertia></inertial>"
        text.append(f'<link name="{name}">{placed(H, "__model__")}{inertial}</link>')
        body = BodyInertia(1.5, C[:3, :3] @ J @ C[:3, :3].T, C[:3, 3])
        A, axes, cards = P @ some_pose(rng), list[np.ndarray](), list[str]()
        at[name] = H
        end, other = some_pose(rng), str(rng.choice([*at]))
        text.append(f'<frame name="end{k}" attached_to="{name}">{written(rng, end, other)}</frame>')
        at[f"end{k}"] = at[other] @ end
        above, below = str(rng.choice([parent, *ends[parent]])), str(rng.choice([name, f"end{k}"]))
        ends[name] = [f"end{k}", f"joint{k}"]
        text.append(f'<joint name="joint{k}" type="{kind}"><parent>{above}</parent><child>{below}</child>{placed(A, below)}')
        at[f"joint{k}"] = A
        for tag in ("axis", "axis2")[: {"ball": 0, "fixed": 0, "universal": 2}.get(kind, 1)]:
            axis = rng.normal(size=3)
            axes.append(axis / np.linalg.norm(axis))
            frame = str(rng.choice(["", *at]))
            there = at[frame or f"joint{k}"][:3, :3].T @ axes[-1]
            spoken = f' expressed_in="{frame}"' if frame else ""
            cards.append(
                f"<{tag}><xyz{spoken}>{numbers(there)}</xyz><limit><lower>-2</lower><upper>inf</upper></limit>"
                f"<dynamics><damping>0.3</damping><spring_stiffness>4</spring_stiffness>"
                f"<spring_reference>0.1</spring_reference></dynamics></{tag}>"
            )
        text.append("".join(cards) + "</joint>")
        more = {"damping": 0.3, "stiffness": 4.0, "rest": 0.1}
        limits = None if kind == "continuous" else (-2.0, np.inf)
        if kind == "universal":
            links.append(Link(f"joint{k} axis", revolute(axes[0], A[:3, 3]), None, H, limits=limits, parent=parent, **more))
            links.append(Link(name, revolute(axes[1], A[:3, 3]), body, H, limits=limits, parent=f"joint{k} axis", **more))
        elif axes:
            joint = prismatic(axes[0]) if kind == "prismatic" else revolute(axes[0], A[:3, 3])
            links.append(Link(name, joint, body, H, limits=limits, parent=parent, **more))
        else:
            joint = fixed() if kind == "fixed" else replaced_axes(A[:3, 3], H)
            links.append(Link(name, joint, body, H, parent=parent))
    model = f'<sdf version="1.9"><model name="m">{written(rng, P, "")}{"".join(text)}</model></sdf>'
    return model, Tree("m", links)


def replaced_axes(point: np.ndarray, H: np.ndarray) -> object:
    return spherical((inverse(H) @ np.append(point, 1.0))[:3]).seen_from(H)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_model_agrees_with_the_tree_by_hand(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    text, tree = random_model(rng)
    (tmp_path / "m.sdf").write_text(text)
    robot = read_sdf(tmp_path / "m.sdf")
    assert set(robot.tree.coordinates) == set(tree.coordinates)
    order = [tree.coordinates.index(name) for name in robot.tree.coordinates]
    q, v = rng.uniform(-1.0, 1.0, (2, tree.freedoms))
    for link in tree.links:
        poses = [
            np.asarray(link_pose(each, each.index(link.name), at), float) for each, at in ((robot.tree, q[order]), (tree, q))
        ]
        assert np.allclose(*poses, rtol=0, atol=1e-13), link.name
    M, own = (np.asarray(mass_matrix(each, at), float) for each, at in ((tree, q), (robot.tree, q[order])))
    assert np.allclose(own, M[np.ix_(order, order)], rtol=0, atol=1e-12 * np.abs(M).max())
    h = np.asarray(bias(tree, q, v), float) + np.asarray(gravity_forces(tree, (0, 0, -9.81), q), float)
    own = np.asarray(bias(robot.tree, q[order], v[order]), float)
    own = own + np.asarray(gravity_forces(robot.tree, (0, 0, -9.81), q[order]), float)
    assert np.allclose(own, h[order], rtol=0, atol=1e-12 * np.abs(h).max())
    assert np.array_equal(robot.tree.limits, tree.limits[order]) and np.array_equal(robot.tree.damping, tree.damping[order])
    assert np.allclose(robot.tree.springs, np.array(tree.springs)[:, order], rtol=0, atol=1e-15)


ARM = """<sdf version="1.7"><model name="arm"><pose>0 0 1 0 0 0</pose>
<link name="stand"><pose>0.5 0 0 0 0 0</pose></link>
<link name="upper"><pose relative_to="shoulder"/><inertial><mass>2</mass></inertial>
<visual name="v"><geometry><capsule><radius>0.1</radius><length>0.4</length></capsule></geometry></visual></link>
<joint name="shoulder" type="revolute"><pose relative_to="stand">0 0 0.2 0 0 0</pose><parent>stand</parent><child>upper</child>
<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper><effort>30</effort></limit></axis></joint>
<link name="fore"><pose relative_to="upper">0 0 1 0 0 0</pose></link>
<joint name="elbow" type="revolute"><parent>upper</parent><child>fore</child>
<axis><xyz>0 1 0</xyz><mimic joint="shoulder"><multiplier>2</multiplier><offset>0.1</offset><reference>0.05</reference></mimic>
</axis></joint>
<plugin name="p" filename="lib.so"/></model></sdf>"""


def test_the_root_stands_where_the_file_says_and_defaults_are_those_of_sdf(tmp_path: Path) -> None:
    robot = read_sdf(_file(tmp_path, ARM), meshes="visual")
    assert np.allclose(robot.tree.base[:3, 3], (0.5, 0.0, 1.0)) and robot.joints[0].effort == 30.0
    tip = np.asarray(link_pose(robot.tree, robot.tree.index("fore"), [0.0]), dtype=float)
    assert np.allclose(tip[:3, 3], (0.5, 0.0, 2.2), rtol=0, atol=1e-15)
    assert robot.tree.links[2].mimic == Mimic("upper", 2.0, pytest.approx(0.0))
    fore = robot.tree.links[2].inertia
    assert fore is not None and fore.mass == 1.0 and np.array_equal(fore.rotational, np.eye(3))
    notes = " ".join(map(str, robot.ignored))
    assert "<plugin>" in notes and "without <inertial> (2 times, first in line 2)" in notes
    assert "<mimic" in to_urdf(robot.tree)


def _file(folder: Path, text: str) -> Path:
    (folder / "a.sdf").write_text(text)
    return folder / "a.sdf"


def test_a_placement_frame_stands_at_the_pose_of_the_model(tmp_path: Path) -> None:
    text = ARM.replace('name="arm"', 'name="arm" placement_frame="tip"').replace(
        "<plugin", '<frame name="tip" attached_to="fore"><pose>0 0.3 0.1 0 0.5 0</pose></frame><plugin'
    )
    tree = read_sdf(_file(tmp_path, text)).tree
    tip = link_pose(tree, "fore", [0.0]) @ pose(np.asarray(exp([0.0, 0.5, 0.0]), dtype=float), (0.0, 0.3, 0.1))
    assert np.allclose(tip, pose(np.eye(3), (0.0, 0.0, 1.0)), rtol=0, atol=1e-15)


def test_an_inertia_stands_in_the_frame_of_its_pose(tmp_path: Path) -> None:
    inertial = '<inertial><pose relative_to="stand">0.1 0 0.5 0 0 0</pose><mass>2</mass></inertial>'
    tree = read_sdf(_file(tmp_path, ARM.replace("<inertial><mass>2</mass></inertial>", inertial))).tree
    upper = tree.links[1].inertia
    assert upper is not None and np.allclose(upper.centre, (0.1, 0.0, 0.3), rtol=0, atol=1e-15)


def test_an_empty_frame_of_a_pose_means_nothing(tmp_path: Path) -> None:
    stand = '<link name="stand"><pose'
    tree = read_sdf(_file(tmp_path, ARM.replace(stand, f'{stand} frame=""'))).tree
    assert np.array_equal(tree.base, read_sdf(_file(tmp_path, ARM)).tree.base)


def test_axes_of_old_versions_are_those_of_the_model(tmp_path: Path) -> None:
    turned = ARM.replace('<pose relative_to="shoulder"/>', "<pose>0.5 0 0.2 0 0 1.570796</pose>").replace(
        '<pose relative_to="stand">0 0 0.2 0 0 0</pose>', ""
    )
    axes = {}
    for version in ("1.4", "1.6", "1.7"):
        robot = read_sdf(_file(tmp_path, turned.replace('version="1.7"', f'version="{version}"')))
        axes[version] = robot.tree.links[1].joint.screws[:3, 0].round(5).tolist()
    assert axes == {"1.4": [0, 1, 0], "1.6": [-1, 0, 0], "1.7": [-1, 0, 0]}
    framed = turned.replace('version="1.7"', 'version="1.6"').replace(
        "</axis>", "<use_parent_model_frame>1</use_parent_model_frame></axis>"
    )
    assert read_sdf(_file(tmp_path, framed)).tree.links[1].joint.screws[1, 0] == pytest.approx(1.0)


def test_frames_without_a_link_stand_on_the_canonical_link(tmp_path: Path) -> None:
    text = ARM.replace("<parent>stand", "<parent>a").replace(
        "<plugin", '<frame name="a" attached_to="b"/><frame name="b"/><plugin'
    )
    trees = [read_sdf(_file(tmp_path, each)).tree for each in (ARM, text)]
    assert np.array_equal(*(np.asarray(link_pose(tree, "fore", [0.3]), dtype=float) for tree in trees))
    text = text.replace('name="arm"', 'name="arm" canonical_link="fore"')
    with pytest.raises(ModelError, match="E523 joints form a cycle"):
        read_sdf(_file(tmp_path, text))


REFUSED = {
    "own child": ("<child>upper", "<child>shoulder", "E299", "shoulder -> shoulder have no pose: they form a cycle"),
    "own parent": ("<parent>stand", "<parent>shoulder", "E523", "joints form a cycle"),
    "static": ("<plugin", "<static>true</static><plugin", "E295", "all joints of a static model are fixed"),
    "weightless": ('<link name="stand">', '<link name="stand"><gravity>false</gravity>', "E295", "gravity acts on all links"),
    "another file": ("<plugin", "<include><uri>model://a</uri></include><plugin", "E295", "gz sdf -p"),
    "models in models": ("<plugin", '<model name="b"><link name="c"/></model><plugin', "E295", "nested models"),
    "screw": ('type="revolute"><pose', 'type="screw"><pose', "E525", "one of: revolute"),
    "no frame": ('relative_to="upper"', 'relative_to="uper"', "E299", '"uper" is not a frame'),
    "circle": ('<link name="stand"><pose>', '<link name="stand"><pose relative_to="upper">', "E299", "form a cycle"),
    "old frame": ('<pose relative_to="upper">', '<pose frame="upper">', "E295", "frame of <pose>"),
    "frame of a world": ("<pose>0 0 1", '<pose relative_to="table">0 0 1', "E299", 'relative to "table"'),
    "no number": ("<mass>2</mass>", "<mass>two</mass>", "E522", "<mass>two</mass> of <inertial>"),
    "entity": ("<sdf ", "<!DOCTYPE sdf [<!ENTITY a 'b'>]><sdf ", "E521", "document type"),
    "no range": ("<lower>-1", "<lower>3", "E525", "limits=False"),
    "another format": ("<sdf ", "<robot ", "E520", "not XML"),
    "two models": ("</model></sdf>", '</model><model name="b"><link name="c"/></model></sdf>', "E523", "2 models"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_elements_that_change_the_robot_are_refused_by_name_and_line(tmp_path: Path, name: str) -> None:
    there, put, code, words = REFUSED[name]
    assert there in ARM
    with pytest.raises(ModelError) as caught:
        read_sdf(_file(tmp_path, ARM.replace(there, put, 1)))
    (problem,) = caught.value.problems
    assert problem.code == code and words in str(caught.value) and "a.sdf:" in str(caught.value)


def test_refused_elements_can_be_omitted_and_are_listed(tmp_path: Path) -> None:
    text = ARM.replace("<plugin", "<static>true</static><plugin")
    robot = read_sdf(_file(tmp_path, text), omit="static")
    assert "omitted as requested: all joints of a static model are fixed" in str(robot)
    with pytest.raises(ModelError, match=r"E295 .*never refused.*statc"):
        read_sdf(_file(tmp_path, text), omit=("statc",))
