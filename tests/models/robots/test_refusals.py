"""Each bad URDF file is refused with a code, a line and advice that works."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import chain_graph, link_pose, mass_matrix
from screwbond.models.impact import effective_mass
from screwbond.models.robots import read_urdf, robot_scene

from bondgraph import ModelError
from tests.inner.models_robots import document

DATA = Path(__file__).parents[1] / "data" / "urdf"
GOOD = (DATA / "two_links.urdf").read_text()
GRIPPER = (DATA / "gripper.urdf").read_text()


def refused(path: Path, text: str | bytes | None = None, **settings: object) -> ModelError:
    if text is not None:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ModelError) as caught:
        read_urdf(path, **settings)  # type: ignore[arg-type]
    return caught.value


def codes(error: ModelError) -> list[str]:
    return [problem.code for problem in error.problems]


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


CHANGES = {
    # A change of two_links.urdf: (old text, new text, code, where, words of the message).
    "not closed": ('</link>\n  <joint name="elbow"', '\n  <joint name="elbow"', "E520", None, "not XML"),
    "another format": ('<robot name="two links">', '<sdf name="two links">', "E520", None, "not XML"),
    "no number": ('<mass value="2"/>', '<mass value="two"/>', "E522", '<mass value="two"', 'value="two"'),
    "nan": ('<mass value="2"/>', '<mass value="nan"/>', "E522", '<mass value="nan"', "is not zero, or a number"),
    "infinite": ('xyz="0 0 0.5" rpy', 'xyz="0 inf 0.5" rpy', "E522", 'xyz="0 inf', "three numbers from"),
    "underscores": ('<mass value="2"/>', '<mass value="1_0"/>', "E522", '<mass value="1_0"', "is not zero, or a number"),
    "two numbers": ('<axis xyz="0 2 0"/>', '<axis xyz="0 2"/>', "E522", '<axis xyz="0 2"/>', "three"),
    "no mass": ('<mass value="2"/>', "", "E522", None, "no <mass>"),
    "no moment": ('iyy="0.012"', "", "E522", 'ixx="0.01"', "no iyy"),
    "two inertials": (
        '<inertial>\n      <origin xyz="0 0 0.15"/>',
        "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial><inertial>\n      <origin xyz=\"0 0 0.15\"/>",
        "E522",
        '<link name="fore">',
        "2 elements <inertial>",
    ),
    "negative damping": ('damping="0.02"', 'damping="-0.02"', "E522", 'damping="-0.02"', "non-negative"),
    "no radius": ('<sphere radius="0.06"/>', "<sphere/>", "E522", "<sphere/>", "no radius"),
    "flat box": ('size="0.2 0.2 0.1"', 'size="0.2 0 0.1"', "E522", "<box", "three lengths"),
    "no shape": ('<geometry><sphere radius="0.06"/></geometry>', "<geometry/>", "E522", "<geometry/>", "one of <box>"),
    "no direction": ('<axis xyz="0 2 0"/>', '<axis xyz="0 0 0"/>', "E522", '<joint name="shoulder"', "no direction"),
    "hardly a direction": ('<axis xyz="0 2 0"/>', '<axis xyz="0 1e-320 0"/>', "E522", '<joint name="shoulder"', "no direction"),
    "tiny sphere": ('<sphere radius="0.06"/>', '<sphere radius="1e-300"/>', "E522", '<sphere radius="1e-300"/>', "1e-12"),
    "heavier than a mountain": ('<mass value="2"/>', '<mass value="1e200"/>', "E522", '<mass value="1e200"/>', "1e+12"),
    "unprintable": ('<child link="fore"/>', '<child link="fo&#9;re"/>', "E522", "fo&#9;re", "printed"),
    "no parent": ('<parent link="upper"/>', "", "E522", '<joint name="elbow"', "no <parent>"),
    "no name": ('<link name="fore">', "<link>", "E522", "<link>", "no name"),
    "unknown child": ('<child link="fore"/>', '<child link="four"/>', "E523", '<joint name="elbow"', "fore"),
    "two parents": (
        '<parent link="fore"/>\n    <child link="tool"/>',
        '<parent link="stand"/>\n    <child link="fore"/>',
        "E523",
        '<joint name="elbow"',
        "is the child of two joints",
    ),
    "two links of one name": (
        '<link name="tool">',
        '<link name="fore">',
        "E523",
        '<link name="fore">\n    <inertial>\n      <origin xyz="0.02',
        "another name",
    ),
    "circle": (
        '<parent link="stand"/>',
        '<parent link="tool"/>',
        "E523",
        '<joint name="shoulder"',
        "cycle: upper -> fore -> tool -> upper",
    ),
    "apart": (
        '<parent link="fore"/>\n    <child link="tool"/>',
        '<parent link="fore"/>\n    <child link="end"/>',
        "E523",
        None,
        "not a link",
    ),
    "unknown kind": ('type="continuous"', 'type="helical"', "E525", '<joint name="elbow"', "one of: revolute"),
    "limits the wrong way": ('lower="-2" upper="1.5"', 'lower="2" upper="1.5"', "E525", '<joint name="shoulder"', "limits=False"),
    "negative mass": ('<mass value="2"/>', '<mass value="-2"/>', "E522", '<mass value="-2"', "zero, or"),
    "mimics nobody": (
        '<axis xyz="1 1 0"/>',
        '<axis xyz="1 1 0"/><mimic joint="nobody"/>',
        "E528",
        '<joint name="elbow"',
        "which does not exist",
    ),
    "mimics a misspelled joint": (
        '<axis xyz="1 1 0"/>',
        '<axis xyz="1 1 0"/><mimic joint="sholder"/>',
        "E528",
        '<joint name="elbow"',
        'try: "shoulder" as its leader',
    ),
    "mimics itself": (
        '<axis xyz="1 1 0"/>',
        '<axis xyz="1 1 0"/><mimic joint="elbow"/>',
        "E528",
        '<joint name="elbow"',
        "itself",
    ),
    "mimics what is fixed": (
        '<axis xyz="1 1 0"/>',
        '<axis xyz="1 1 0"/><mimic joint="mount"/>',
        "E528",
        '<joint name="elbow"',
        "fixed",
    ),
    "mimics nothing": (
        '<axis xyz="1 1 0"/>',
        '<axis xyz="1 1 0"/><mimic joint="shoulder" multiplier="0"/>',
        "E528",
        '<joint name="elbow"',
        "never",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    there, put, code, where, words = CHANGES[name]
    assert GOOD.count(there) == 1
    text = GOOD.replace(there, put)
    error = refused(tmp_path / "bad.urdf", text)
    found = [problem for problem in error.problems if problem.code == code]
    assert found, error
    assert words in str(error)
    assert all(problem.cures for problem in error.problems)
    lines = {place.line for problem in found for place in problem.places if place}
    assert lines and (where is None or line_of(text, where) in lines), (lines, str(error))


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    text = GOOD.replace('<mass value="2"/>', '<mass value="nan"/>').replace('lower="-2"', 'lower="2"')
    text = text.replace('<sphere radius="0.06"/>', '<mesh filename="gone.stl"/>').replace('type="continuous"', 'type="helical"')
    assert sorted(codes(refused(tmp_path / "bad.urdf", text))) == ["E522", "E525", "E525", "E527"]


def test_a_body_whose_inertia_cannot_be_read_is_not_called_massless(tmp_path: Path) -> None:
    text = GOOD.replace('<mass value="1"/>', '<mass value="one"/>')
    assert codes(refused(tmp_path / "bad.urdf", text)) == ["E522"]


def bomb(kind: str) -> str:
    laughs = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
    entities = {
        "laughs": '<!ENTITY l0 "ha">' + laughs,
        "file": '<!ENTITY l9 SYSTEM "file:///etc/passwd">',
        "network": '<!ENTITY l9 SYSTEM "http://127.0.0.1:9/x">',
    }
    return f"<!DOCTYPE robot [{entities[kind]}]>"


@pytest.mark.parametrize("kind", ["laughs", "file", "network"])
@pytest.mark.parametrize("where", ["text", "attribute"])
def test_entities_are_never_expanded(tmp_path: Path, kind: str, where: str) -> None:
    used = GOOD.replace("<type>simple", "<type>&l9;") if where == "text" else GOOD.replace('name="upper"', 'name="&l9;"')
    for text in (
        used.replace("<robot", bomb(kind) + "\n<robot", 1),
        used.replace("<robot", bomb(kind) + "\n<robot", 1).encode("utf-16"),
    ):
        given = (
            text
            if isinstance(text, str)
            else text.decode("utf-16").replace('version="1.0"', 'version="1.0" encoding="utf-16"').encode("utf-16")
        )
        error = refused(tmp_path / "bomb.urdf", given)
        assert codes(error) == ["E521"] and "delete the line" in str(error)
    assert error.problems[0].places[0] is not None
    without = re.sub(r"<!DOCTYPE.*\]>\n", "", used.replace("<robot", bomb(kind) + "\n<robot", 1)).replace("&l9;", "upper")
    (tmp_path / "mended.urdf").write_text(without)
    assert read_urdf(tmp_path / "mended.urdf").tree.freedoms == 2


def test_missing_or_oversized_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such file" in str(refused(tmp_path / "none.urdf"))
    assert "folder" in str(refused(tmp_path))
    assert codes(refused(tmp_path / "empty.urdf", "")) == ["E520"]
    assert codes(refused(tmp_path / "noise.urdf", bytes(range(256)))) == ["E520"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.urdf")
        assert "not a regular file" in str(refused(tmp_path / "pipe.urdf"))
    monkeypatch.setattr(document, "MAX_BYTES", 2**20)
    (tmp_path / "good.urdf").write_text(GOOD)
    assert read_urdf(tmp_path / "good.urdf").name == "two links"
    assert "too large" in str(refused(tmp_path / "huge.urdf", GOOD + " " * 2**20))


def test_files_with_very_many_elements_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path / "many.urdf", GOOD.replace("</robot>", '<link name="a"/>' * document.MAX_ELEMENTS + "</robot>"))
    assert codes(error) == ["E520"] and "too large" in str(error)


def test_deeply_nested_files_are_refused(tmp_path: Path) -> None:
    text = GOOD.replace("<type>simple</type>", "<a>" * 5000 + "</a>" * 5000)
    error = refused(tmp_path / "deep.urdf", text)
    assert codes(error) == ["E520"] and "256 deep" in str(error)


def test_a_long_chain_of_fixed_links_is_read(tmp_path: Path) -> None:
    more = "".join(
        f'<link name="x{k}"/><joint name="j{k}" type="fixed"><parent link="{f"x{k - 1}" if k else "tool"}"/>'
        f'<child link="x{k}"/></joint>'
        for k in range(2000)
    )
    (tmp_path / "long.urdf").write_text(GOOD.replace("</robot>", more + "</robot>"))
    assert len(read_urdf(tmp_path / "long.urdf").tree.links) == 2004


def test_other_formats_and_macros_are_distinguished(tmp_path: Path) -> None:
    assert "SDF" in str(refused(tmp_path / "a.urdf", "<sdf version='1.7'><model/></sdf>"))
    macros = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm side="left"/></robot>'
    assert "xacro a.urdf > robot.urdf" in str(refused(tmp_path / "a.urdf", macros))
    # The name alone does no harm: expanded files contain it.
    (tmp_path / "b.urdf").write_text(GOOD.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"', 1))
    assert read_urdf(tmp_path / "b.urdf").tree.freedoms == 2


def test_a_robot_without_links_or_motion(tmp_path: Path) -> None:
    assert codes(refused(tmp_path / "a.urdf", "<robot name='r'/>")) == ["E523"]
    (tmp_path / "b.urdf").write_text("<robot name='r'><link name='a'/></robot>")
    robot = read_urdf(tmp_path / "b.urdf")
    assert robot.tree.freedoms == 0 and "no joint moves" in str(robot) and "floating=True" in str(robot)
    with pytest.raises(ModelError, match=r"E450 .*nothing can move[^$]*floating=True"):
        chain_graph(robot.tree)
    for wrong in (lambda: robot.position([0.1]), lambda: effective_mass(robot.tree, [], kind="projection")):  # type: ignore[arg-type]
        with pytest.raises(ModelError, match=r"E529|E542"):
            wrong()
    assert robot.position({}).shape == (0,) and robot_scene(robot, [], frames=("a",)).frames
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    (tmp_path / "c.urdf").write_text(f"<robot name='r'><link name='a'>{body}</link></robot>")
    assert read_urdf(tmp_path / "c.urdf", floating=True).tree.freedoms == 6
    error = refused(DATA / "two_links.urdf", tip="stand")
    assert codes(error) == ["E524"] and 'only "stand" is selected' in str(error) and "floating=True" in str(error)


def test_massless_bodies(tmp_path: Path) -> None:
    """A massless body that carries other bodies forms a universal joint; dynamics are refused if no mass moves with a joint."""
    gone = re.sub(r'(<link name="upper">\s*)<inertial>.*?</inertial>', r"\1", GOOD, count=1, flags=re.DOTALL)
    (tmp_path / "universal.urdf").write_text(gone)
    upper = read_urdf(tmp_path / "universal.urdf").tree.links[1]
    assert upper.inertia is None and upper.joint.freedoms == 1
    none = re.sub(r"<inertial>.*?</inertial>", "", gone, flags=re.DOTALL)
    (tmp_path / "none.urdf").write_text(none)
    robot = read_urdf(tmp_path / "none.urdf")
    assert [link.inertia for link in robot.tree.links] == [None] * 4 and "no mass of upper, fore" in str(robot)
    for act in (lambda: mass_matrix(robot.tree, [0.1, 0.2]), lambda: chain_graph(robot.tree)):
        with pytest.raises(ModelError, match=r'E538 chain "two links": no mass moves with "upper", "fore"[^$]*tip='):
            act()


def test_base_and_tip_and_the_advice_about_them(tmp_path: Path) -> None:
    path = DATA / "two_links.urdf"
    error = refused(path, tip="tol")
    assert codes(error) == ["E524"] and "one of: tool" in str(error)
    assert codes(refused(path, base="nobody", tip="tol")) == ["E524", "E524"]
    error = refused(path, base="fore", tip="upper")
    assert 'base="upper", tip="fore"' in str(error)
    assert read_urdf(path, base="upper", tip="fore").tree.freedoms == 1
    error = refused(DATA / "gripper.urdf", base="left", tip="right")
    assert codes(error) == ["E524"] and "carries no links" in str(error)
    assert codes(refused(path, tip="stand")) == ["E524"]
    assert codes(refused(path, tip=3)) == codes(refused(path, base=3)) == codes(refused(path, tip=("tool", None))) == ["E524"]


def test_limits_without_travel_can_be_omitted(tmp_path: Path) -> None:
    error = refused(tmp_path / "one.urdf", GOOD.replace('lower="-2" upper="1.5"', 'lower="1" upper="1"'))
    assert codes(error) == ["E525"] and "limits=False" in str(error)
    assert read_urdf(tmp_path / "one.urdf", limits=False).tree.freedoms == 2
    (tmp_path / "none.urdf").write_text(GOOD.replace('lower="-2" upper="1.5"', ""))
    robot = read_urdf(tmp_path / "none.urdf")
    assert not np.isfinite(robot.tree.limits).any()
    assert any(one.what == 'limits of joint "shoulder"' for one in robot.ignored)
    (tmp_path / "turning.urdf").write_text(GOOD.replace('type="revolute"', 'type="continuous"'))
    robot = read_urdf(tmp_path / "turning.urdf")
    assert not np.isfinite(robot.tree.limits).any()
    assert any(str(one) == 'position limits of joint "shoulder" (line 8): continuous joints have none' for one in robot.ignored)


def test_mimic_and_the_advice_about_it(tmp_path: Path) -> None:
    path = DATA / "gripper.urdf"
    error = refused(path, tip="right")
    assert codes(error) == ["E528"] and 'tip=("left", ...)' in str(error) and 'tip="palm"' in str(error)
    assert read_urdf(path, tip=("left", "right")).tree.coordinates == ("palm", "left")
    assert read_urdf(path, tip="palm").tree.coordinates == ("palm",)
    error = refused(tmp_path / "a.urdf", GRIPPER.replace('<mimic joint="left slide"/>', '<mimic joint="left slide" offset="1"/>'))
    assert codes(error) == ["E528"] and "allow no motion" in str(error) and len(error.problems[0].places) == 2
    assert read_urdf(tmp_path / "a.urdf", limits=False).tree.freedoms == 2
    loop = GRIPPER.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><mimic joint="right slide"/>')
    loop = loop.replace('<mimic joint="left slide"/>', '<mimic joint="wrist"/>')
    error = refused(tmp_path / "b.urdf", loop)
    assert codes(error) == ["E528", "E528"] and "itself follows it" in str(error)
    planar = GRIPPER.replace('<joint name="left slide" type="prismatic">', '<joint name="left slide" type="planar">')
    assert codes(refused(tmp_path / "c.urdf", planar)) == ["E528"]


def test_meshes_that_are_missing_and_the_advice_about_them(tmp_path: Path) -> None:
    path = DATA / "slider.urdf"
    error = refused(path)
    assert codes(error) == ["E527"] and "meshes=False" in str(error) and 'packages={"name": "folder"}' in str(error)
    assert read_urdf(path, meshes=False).visuals == ()
    assert len(read_urdf(path, packages={"parts": DATA}).visuals) == 1
    assert codes(refused(path, packages={"parts": tmp_path})) == ["E527"]
    assert codes(refused(path, packages={"parts": tmp_path / "nowhere"})) == ["E527"]
    assert codes(refused(path, meshes="pretty")) == ["E527"]
    assert codes(refused(path, packages="parts")) == ["E527"]
    assert codes(refused(path, packages={"parts": 3})) == ["E527"]
    (tmp_path / "parts").mkdir()
    error = refused(tmp_path / "parts" / "a.urdf", path.read_text())
    assert f"there is no wedge.stl in {(tmp_path / 'parts').resolve()}" in str(error)
    local = path.read_text().replace("package://parts/", "")
    assert "packages=" not in str(refused(tmp_path / "b.urdf", local))


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("gone.stl", None, "there is no file"),
        ("http://127.0.0.1:9/a.stl", None, "network"),
        ("noise.stl", b"\x00\x01noise", "cannot be read|contains no triangles"),
        ("empty.obj", b"", "gone|cannot be read|contains no triangles"),
        ("list.txt", b"1 2 3", "not one of stl"),
        ("bomb.dae", b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "document type"),
        (
            "points.stl",
            b"solid a\nfacet normal 0 0 1\nouter loop\nvertex nan 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid",
            "",
        ),
    ],
)
def test_meshes_that_are_none(tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    error = refused(tmp_path / "a.urdf", GOOD.replace('<sphere radius="0.06"/>', f'<mesh filename="{name}"/>'))
    assert codes(error) == ["E527"] and re.search(words, str(error)), error


def test_random_changes_of_a_file_are_read_or_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    odd = (
        "nan",
        "-1",
        "0",
        "1e400",
        "1e-320",
        "",
        "fixed",
        "floating",
        "planar",
        "upper",
        "left",
        "elbow",
        "<",
        '"',
        "é",
        "1 2",
        "0 0 0",
    )
    read = 0
    for _ in range(120):
        text = (GOOD, GRIPPER)[rng.integers(2)]
        for _ in range(rng.integers(1, 3)):
            values = list(re.finditer(r'="([^"<]*)"', text))
            elements = list(re.finditer(r"<\w+[^<>]*/>", text))
            value, one, other = (some[rng.integers(len(some))] for some in (values, elements, elements))
            start, end, new = (
                (*value.span(1), odd[rng.integers(len(odd))]),
                (*one.span(), ""),
                (*one.span(), other.group()),
                (*value.span(1), values[rng.integers(len(values))].group(1)),
            )[rng.integers(4)]
            text = text[:start] + new + text[end:]
        path = tmp_path / "changed.urdf"
        path.write_text(text, encoding="utf-8")
        try:
            robot = read_urdf(path, floating=bool(rng.integers(2)))
        except ModelError as error:
            assert all(problem.cures and any(problem.places) for problem in error.problems), error
        else:
            read += 1
            q = np.full(robot.tree.freedoms, 0.1)
            assert all(np.all(np.isfinite(np.asarray(link_pose(robot.tree, k, q), float))) for k in range(len(robot.tree.links)))
            try:
                M = np.asarray(mass_matrix(robot.tree, q), dtype=float)
            except ModelError as error:
                assert {problem.code for problem in error.problems} <= {"E526", "E538"} and "refuse" in str(robot)
            else:
                # Positive up to rounding: a file that is read has no negative kinetic energy.
                assert np.all(np.isfinite(M)) and np.linalg.eigvalsh(M)[0] >= -1e-12 * np.abs(M).max()
    assert 10 < read < 115


def test_positions_by_name(tmp_path: Path) -> None:
    robot = read_urdf(DATA / "two_links.urdf")
    for values in ({"knee": 1.0}, {"elbow": "up"}, {"elbow": (1.0, 2.0)}, {"elbow": float("nan")}, {"mount": 0.0}):
        with pytest.raises(ModelError, match="E529"):
            robot.position(values)
    with pytest.raises(ModelError, match=r"E529.*\n.*\n.*shoulder, elbow"):
        robot.position({"knee": 1.0})
    with pytest.raises(ModelError, match=r"E529.*without names\n.*\n.*shoulder"):
        robot.position([0.0, 0.0])  # type: ignore[arg-type]
    for arguments in ((np.zeros(3),), (np.zeros((4, 2)), np.zeros(3)), ([np.nan, 0.0],), (None,), ("home",), ({"elbow": 1.0},)):
        with pytest.raises(ModelError, match="E529"):
            robot_scene(robot, *arguments)
    with pytest.raises(ModelError, match=r"E529.*nobody"):
        robot_scene(robot, np.zeros(2), frames=("nobody",))
