"""URDF files as people publish them are read as their authors intended.

The arm has two joints about z, at 0 and 0.4 m, and on each a body of 2 kg with its centre 0.2 m from the joint.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import chain_graph, link_pose, mass_matrix
from screwbond.models.robots import Robot, read_urdf

from bondgraph import ModelError

BODY = '<inertial><origin xyz="0.2 0 0"/><mass value="2"/><inertia ixx="0.01" iyy="0.03" izz="0.03"/></inertial>'
ARM = f"""<robot name="arm"><link name="stand"/>
<joint name="a" type="revolute"><parent link="stand"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="20" velocity="2"/></joint>
<link name="upper">{BODY}</link>
<joint name="b" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="20" velocity="2"/></joint>
<link name="fore">{BODY}</link>
<joint name="t" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0.4 0 0"/></joint><link name="tool"/></robot>
"""
STAND = '<link name="stand"/>\n<joint name="a" type="revolute"><parent link='
FORE, Q, LENGTH, CENTRE = f'<link name="fore">{BODY}', np.array([0.3, -0.4]), 0.4, 0.2


def shape(kind: str, solid: str) -> tuple[str, str]:
    return FORE, f"{FORE}<{kind}><geometry>{solid}</geometry></{kind}>"


SLOPPY = {
    # A change of the arm: (old text, new text, what is listed, its lines).
    "XML of version 0.0": ("<robot", '<?xml version="0.0" ?>\n<robot', "the version of XML", (1,)),
    "a line before the declaration": ("<robot", '\n<?xml version="1.0" ?>\n<robot', "an XML declaration after the first", (2,)),
    "hyphens in a comment": ("<robot", "<!-- a -- b -->\n<robot", "comments with a double hyphen", (1,)),
    "text after the end": ("</robot>\n", "</robot>\n<robot/> end\0", "text after the end", (9,)),
    "a prefix": ("</robot>", '<gazebo><sensor:camera name="c"/></gazebo></robot>', "prefixes without a namespace", (8,)),
    "a namespace": ('<robot name="arm"', '<robot xmlns="http://drake.mit.edu" name="arm"', "the namespace", (1,)),
    "no declared world": (f'{STAND}"stand"/>', f'{STAND[20:]}"world"/>', 'parent "world" without', (2,)),
    "limits of -1": ('effort="20" velocity="2"', 'effort="-1" velocity="-1"', "negative effort limits", (2, 5)),
    "limits of 0": ('lower="-1" upper="1"', 'lower="0" upper="0.0"', 'limits of joint "a"', (2,)),
    "a sphere of size zero": (*shape("collision", '<sphere radius="0.0"/>'), "<collision> of size zero", (7,)),
    "a box of size zero": (*shape("visual", '<box size="0 0 0"/>'), "<visual> of size zero", (7,)),
    "a flat box": (*shape("visual", '<box size="0.1 0 0.1"/>'), "<visual> with errors", (7,)),
    "a scale with one number": (*shape("visual", '<mesh filename="a.stl" scale="1"/>'), "<visual> with errors", (7,)),
    "no geometry": (FORE, f"{FORE}<collision/>", "<collision> with errors", (7,)),
    "two materials": (
        FORE,
        f"{FORE}<visual><geometry><sphere radius='1'/></geometry><material name='a'/><material name='b'/></visual>",
        "further <material> of <visual>",
        (7,),
    ),
    "a colour of bytes": (
        "</robot>",
        '<material name="r"><color rgba="255 0 0 255"/></material></robot>',
        "<color> that is not four",
        (8,),
    ),
    "a colour of three numbers": (
        FORE,
        f"{FORE}<visual><geometry><sphere radius='1'/></geometry><material name='a'><color rgba='1 0 0'/></material></visual>",
        "<color> that is not four",
        (7,),
    ),
    "an axis twice": ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><axis xyz="0 0 1"/>', "further <axis> of <joint>", (2, 5)),
    "a link twice": ('<link name="tool"/>', '<link name="tool"/>\n<link name="tool"> </link>', "repeated <link>", (9,)),
    "a few femtograms": (
        '<link name="tool"/>',
        '<link name="tool"><inertial><mass value="4e-15"/><inertia ixx="0" iyy="0" izz="0"/></inertial></link>',
        "",
        (),
    ),
}


def read(tmp_path: Path, text: str, **settings: object) -> Robot:
    (tmp_path / "arm.urdf").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_urdf(tmp_path / "arm.urdf", **{"meshes": False, **settings})  # type: ignore[arg-type]


def check_poses(robot: Robot) -> None:
    angles = np.cumsum(Q)
    tip = LENGTH * np.array([np.cos(angles).sum(), np.sin(angles).sum(), 0.0])
    H = np.asarray(link_pose(robot.tree, robot.tree.index("tool"), Q), dtype=float)
    assert np.allclose(H[:3, 3], tip, rtol=0, atol=1e-15)
    assert np.allclose(H[:2, 0], [np.cos(angles[1]), np.sin(angles[1])], rtol=0, atol=1e-15)


def mass_by_hand(upper: tuple[float, float] = (2.0, 0.03), fore: tuple[float, float] = (2.0, 0.03)) -> np.ndarray:
    outer = fore[0] * CENTRE**2 + fore[1]
    coupling = fore[0] * LENGTH * CENTRE * np.cos(Q[1])
    inner = upper[0] * CENTRE**2 + upper[1] + fore[0] * LENGTH**2 + 2 * coupling + outer
    return np.array([[inner, outer + coupling], [outer + coupling, outer]])


def check_mass(robot: Robot, M: np.ndarray) -> None:
    assert np.allclose(np.asarray(mass_matrix(robot.tree, Q), dtype=float), M, rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", SLOPPY)
def test_a_sloppy_file_is_read_and_ignored_elements_are_listed(tmp_path: Path, name: str) -> None:
    there, put, listed, lines = SLOPPY[name]
    assert there in ARM
    robot = read(tmp_path, ARM.replace(there, put))
    check_poses(robot)
    check_mass(robot, mass_by_hand())
    notes = [note for note in robot.ignored if listed and note.what.startswith(listed)]
    assert [note.lines for note in notes] == ([lines] if listed else [])
    assert all(str(note) in str(robot) for note in notes)


def test_the_graph_of_a_sloppy_file_is_that_of_a_tidy_one(tmp_path: Path) -> None:
    text = ARM
    for name, (there, put, _, _) in SLOPPY.items():
        if name not in ("limits of 0", "no declared world", "a line before the declaration", "a few femtograms"):
            text = text.replace(there, put)
    tidy, sloppy = (read(tmp_path, each).tree for each in (ARM, text))
    assert np.array_equal(tidy.limits, sloppy.limits)
    for q in np.random.default_rng(1).uniform(-3.0, 3.0, (3, 2)):
        assert np.array_equal(mass_matrix(tidy, q), mass_matrix(sloppy, q))


def test_faulty_visuals_only_warn(tmp_path: Path) -> None:
    for kind in ("visual", "collision"):
        point = read(tmp_path, ARM.replace(*shape(kind, '<sphere radius="0"/>')), meshes=kind)
        assert point.visuals == ()
        text = ARM.replace(*shape(kind, '<box size="0.1 0 0.1"/>'))
        with pytest.raises(ModelError, match=r"E522 size=[^$]*meshes=False"):
            read(tmp_path, text, meshes=kind)
        other = {"visual": "collision", "collision": "visual"}[kind]
        assert any(note.what == f"<{kind}> with errors" for note in read(tmp_path, text, meshes=other).ignored)


MASSLESS = {
    # Links without <inertial>: those that the refusal names; None: M(q) is that of the other body.
    "the last": (("fore",), '"fore"'),
    "all": (("upper", "fore"), '"upper", "fore"'),
    "the first": (("upper",), None),
}


@pytest.mark.parametrize("name", MASSLESS)
def test_only_dynamics_refuse_a_robot_without_mass(tmp_path: Path, name: str) -> None:
    bare, named = MASSLESS[name]
    text = ARM
    for link in bare:
        text = text.replace(f'<link name="{link}">{BODY}', f'<link name="{link}">')
    robot = read(tmp_path, text)
    check_poses(robot)
    if named is None:
        check_mass(robot, mass_by_hand(upper=(0.0, 0.0)))
        assert not any("no mass" in note.what for note in robot.ignored)
        return
    for act in (lambda: mass_matrix(robot.tree, Q), lambda: chain_graph(robot.tree)):
        with pytest.raises(ModelError, match=f'E538 chain "arm": no mass moves with {named}\n[^$]*tip='):
            act()
    assert f"no mass of {', '.join(bare)}" in str(robot)
    if bare == ("fore",):  # the advice
        part = read(tmp_path, text, tip="upper")
        assert np.asarray(mass_matrix(part.tree, Q[:1]), float) == pytest.approx(2.0 * CENTRE**2 + 0.03, rel=1e-14)
        assert read(tmp_path, text.replace('"b" type="revolute"', '"b" type="fixed"')).tree.freedoms == 1


UNREAL = {
    # Mass and moments that no rigid body has: (mass, izz, words of the note, True if M(q) has them).
    "a plate of the wrong kind": (2.0, 0.3, "exceeds the sum of the other two; kept as in the file", True),
    "a point": (2.0, 0.0, "not positive definite", True),
    "a flywheel without mass": (0.0, 0.03, "the mass is 0 kg; kept as in the file", True),
    "a negative moment": (2.0, -0.03, "computing M(q) or building the graph raises E526", False),
}


@pytest.mark.parametrize("name", UNREAL)
def test_an_inertia_that_no_body_has_is_kept_and_listed(tmp_path: Path, name: str) -> None:
    mass, izz, words, usable = UNREAL[name]
    body = BODY.replace('<mass value="2"', f'<mass value="{mass}"').replace('izz="0.03"', f'izz="{izz}"')
    robot = read(tmp_path, ARM.replace(FORE, f'<link name="fore">{body}'))
    check_poses(robot)
    (note,) = [note for note in robot.ignored if note.what == 'no rigid body can have the inertia of "fore"']
    assert words in note.why and note.lines == (7,)
    if usable:
        check_mass(robot, mass_by_hand(fore=(mass, izz)))
        assert chain_graph(robot.tree, position=Q).chain is robot.tree
        return
    for act in (lambda: mass_matrix(robot.tree, Q), lambda: chain_graph(robot.tree)):
        with pytest.raises(
            ModelError, match=r'E526 chain "arm": the kinetic energy of "fore" could be negative\n[^$]*arm.urdf:7'
        ):
            act()


def test_a_robot_that_does_not_move_has_poses(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace('"revolute"', '"fixed"'))
    H = np.asarray(link_pose(robot.tree, robot.tree.index("tool"), []), dtype=float)
    assert np.allclose(H[:3, 3], [0.8, 0.0, 0.0], rtol=0, atol=1e-15) and mass_matrix(robot.tree, []).shape == (0, 0)
    assert read(tmp_path, ARM.replace('"revolute"', '"fixed"'), floating=True).tree.freedoms == 6


DOUBTFUL = {
    # A change of the arm with several meanings: (old text, new text, words of the refusal).
    "two links of one name": ('<link name="tool"/>', '<link name="tool"/><link name="tool"><inertial/></link>', "E522|E523"),
    "two unlike links": ('<link name="tool"/>', f'<link name="tool"/><link name="tool">{BODY}</link>', "E523 two links are"),
    "two axes": ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><axis xyz="0 1 0"/>', "E522 <joint> .* has 2 elements <axis>"),
    "another parent": ('"stand"/><child', '"wrld"/><child', r'E523 .*"wrld"[^$]*<link name="wrld"/>'),
    "joints after the end": ("</robot>\n", '</robot>\n<joint name="c"/>', "E520 .*Extra content[^$]*before the end of the"),
    "an open element": ('<link name="tool"/>', '<link name="tool">', "E520 .*mismatch"),
    "many slips hide an error": (
        "<robot",
        '<?xml version="0.0"?><robot><z>' + "<a:b/>" * 200 + "</y><robot",
        "E520 .*(prefix|mismatch)",
    ),
    "a macro": ("</robot>", '<xacro:arm side="left"/></robot>', "E520 .*1 xacro element[^$]*xacro arm.urdf > robot.urdf"),
    "a macro's number": ('xyz="0.4 0 0"', 'xyz="${length} 0 0"', r"E522 [\s\S]*xacro arm.urdf > robot.urdf"),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_file_with_several_meanings_is_refused(tmp_path: Path, name: str) -> None:
    there, put, words = DOUBTFUL[name]
    assert there in ARM
    with pytest.raises(ModelError, match=words):
        read(tmp_path, ARM.replace(there, put))


@pytest.mark.parametrize("slip", ["XML of version 0.0", "a line before the declaration", "hyphens in a comment", "a prefix"])
def test_no_slip_opens_the_door_to_entities(tmp_path: Path, slip: str) -> None:
    there, put, _, _ = SLOPPY[slip]
    bomb = '<!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY b "ha">]>'
    text = ARM.replace(there, put).replace("<robot", f"{bomb}<robot").replace('name="tool"', 'name="&b;"')
    with pytest.raises(ModelError, match="E521"):
        read(tmp_path, text)
