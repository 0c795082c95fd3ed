"""Runs written as animated glTF have the motion of the result, as an independent reader finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models.pictures import Force, Frame, Look, Scene, Solid, Trail, save_scene

from bondgraph import Graph, ModelError, Se
from bondgraph.errors import FileError
from screws.surfaces import egg
from tests.inner.models_pictures import (
    GltfDraft,
    Mesh,
    SpringDrawing,
    carried_poses,
    circle,
    cuboid,
    cylinder,
    linear_colour,
    scene_bytes,
    sheet,
    turned_poses,
    unrotated_poses,
)
from tests.inner.run import Result
from tests.models.pictures.files.glb_reader import Glb

T = np.linspace(2.0, 4.0, 41)


@pytest.fixture(scope="module")
def parts() -> Scene:
    shift, ramp = np.zeros((41, 3)), np.linspace(0.0, 1.0, 41)
    shift[:, 0] = ramp
    wheel = turned_poses(shift, 20.0 * ramp)
    ends = np.stack([np.cos(3.0 * ramp), np.sin(3.0 * ramp), 1.0 + ramp], axis=1)
    newtons = np.outer(np.maximum(ramp - 0.5, 0.0), [0.0, 3.0, 4.0])
    striped = replace(cuboid([0.2, 0.2, 0.4]).painted("#ff8000"), lines=np.array([[0, 1], [1, 2]]))
    solids = (
        Solid("egg <1> Ω", wheel, egg(0.1, 0.15)),
        Solid("crate", unrotated_poses(shift), striped, look=Look.OPAQUE),
        Solid("twin", unrotated_poses(shift + np.array([0.0, 1.0, 0.0])), striped, look=Look.OPAQUE),
        Solid("sheet", unrotated_poses(0.0 * shift - 0.5), cylinder(0.5, 0.0, 0.1), "#204060", look=Look.VEIL),
        Solid("floor", unrotated_poses(0.0 * shift), sheet(circle(2.0)), look=Look.WALL, framed=False),
    )
    path = Trail(shift[:, [1, 2, 0]], np.tile([1.0, 0.0, 0.0], (41, 1)), "#123456", "path", on=0)
    frames = (Frame(wheel, label=("O", "1")), Frame(wheel, label=("C", "1"), shown=T > 3.0), Frame(wheel, shown=T > 9.0))
    springs = (SpringDrawing("spring", shift, ends), SpringDrawing("bush", shift, shift))
    forces = (Force(shift, newtons, "on egg"), Force(shift, newtons, "push", pushing=True), Force(shift, 0.0 * newtons))
    return Scene("parts", T, solids, frames=frames, paths=(path,), springs=springs, forces=forces, name="run 1")


@pytest.fixture(scope="module")
def read(parts: Scene) -> Glb:
    return Glb.of(scene_bytes(parts))


def test_the_structure_is_that_of_the_specification(read: Glb) -> None:
    read.check()
    document = read.document
    assert document["scenes"][0]["name"] == "parts"
    assert document["scenes"][0]["extras"] == {"model": "parts", "run": "run 1", "starts at, s": 2.0, "takes, s": 2.0}
    wanted = ["world", "egg <1> Ω", "crate", "twin", "sheet", "floor", "O1", "C1", "path", "spring", "bush"]
    assert read.names == [*wanted, "force on egg", "shaft", "head", "force push", "shaft", "head", "camera"]
    assert read.node("egg <1> Ω")["children"] == [read.names.index("path")]
    assert read.node("crate")["mesh"] == read.node("twin")["mesh"]
    np.testing.assert_array_equal(read.times(), (T - 2.0).astype(np.float32))


def test_the_motion_of_a_run_is_that_of_the_result(tumbling: Result, tmp_path: Path) -> None:
    path = save_scene(tumbling, tmp_path / "box.glb")
    assert path == tmp_path / "box.glb"
    read = Glb.of(path.read_bytes())
    read.check()
    pose = tumbling["box 1.pose"]
    np.testing.assert_array_equal(read.course("box 1", "translation"), pose[:, 4:].astype(np.float32))
    q = read.course("box 1", "rotation")
    wanted = pose[:, [1, 2, 3, 0]]
    # The result's own quaternions turn continuously, too.
    assert (np.sum(wanted[1:] * wanted[:-1], axis=1) > 0.0).all()
    sign = np.sign(q[0] @ wanted[0])
    np.testing.assert_allclose(q, sign * wanted / np.linalg.norm(wanted, axis=1)[:, None], atol=1.2e-7)
    # The result turns by more than a full turn, so signs from single matrices would have jumped.
    assert q.min() < -0.9 and q.max() > 0.9


def test_bodies_at_rest_have_no_animation(read: Glb) -> None:
    animated = {(channel["target"]["node"], channel["target"]["path"]) for channel in read.document["animations"][0]["channels"]}
    number = read.names.index("crate")
    assert (number, "translation") in animated and (number, "rotation") not in animated
    assert "rotation" not in read.node("crate")
    assert read.node("sheet")["translation"] == [-0.5] * 3


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (0.6, 0.0, -0.8)])
def test_up_becomes_y_and_the_camera_sees_everything(parts: Scene, up: tuple[float, float, float]) -> None:
    scene = replace(parts, up=np.array(up), view=np.array([0.8, 0.0, 0.6]))
    read = Glb.of(scene_bytes(scene))
    np.testing.assert_allclose(read.placed("world", [up])[0, 0], [0.0, 1.0, 0.0], atol=1e-7)
    camera, node = read.document["cameras"][0]["perspective"], read.node("camera")
    corners = [parts.mesh(0, 41, 61).points, parts.mesh(1).points]
    seen = np.concatenate(
        [read.placed(name, points).reshape(-1, 3) for name, points in zip(read.names[1:3], corners, strict=True)]
    )
    axes = read.placed("camera", np.eye(3))[0] - node["translation"]  # right, up, back
    right, upward, back = axes @ (seen - node["translation"]).T
    half = np.tan(0.5 * camera["yfov"])
    assert (camera["znear"] < -back).all() and (-back < camera["zfar"]).all()
    assert (np.abs(upward / back) < half).all() and (np.abs(right / back) < half * camera["aspectRatio"]).all()
    # Upright: the upward direction has no sideways part, and the view is from above as specified.
    assert abs(axes[0] @ up) < 1e-6 and axes[1] @ up > 0.0


def test_colours_and_looks(read: Glb) -> None:
    shown = [node["name"] for node in read.document["nodes"] if "mesh" in node]
    material = {name: read.document["materials"][read.primitives(name)[0]["material"]] for name in shown}
    glass, paint, veil = material["egg <1> Ω"], material["crate"], material["sheet"]
    assert glass["alphaMode"] == "BLEND" and glass["pbrMetallicRoughness"]["baseColorFactor"][:3] == list(
        linear_colour("#e6a756")
    )
    assert paint["pbrMetallicRoughness"]["baseColorFactor"] == [1.0] * 4 and "alphaMode" not in paint
    # Only the front of a wall shows, but both sides of other open meshes.
    assert "doubleSided" not in material["floor"] and material["path"]["doubleSided"]
    assert veil["extensions"] == {"KHR_materials_unlit": {}} and "extensions" not in paint
    faces, lines = read.primitives("crate")
    np.testing.assert_allclose(
        np.unique(read.array(faces["attributes"]["COLOR_0"]), axis=0), [linear_colour("#ff8000")], rtol=1e-6
    )
    assert lines["mode"] == 1 and read.array(lines["indices"]).tolist() == [0, 1, 1, 2]
    np.testing.assert_array_equal(read.array(faces["attributes"]["POSITION"]), cuboid([0.2, 0.2, 0.4]).points.astype(np.float32))


def test_a_frame_is_hidden_while_it_is_not_shown(read: Glb) -> None:
    np.testing.assert_array_equal(read.course("C1", "scale"), np.repeat((T > 3.0)[:, None], 3, axis=1))
    (channel,) = (
        one
        for one in read.document["animations"][0]["channels"]
        if one["target"] == {"node": read.names.index("C1"), "path": "scale"}
    )
    assert read.document["animations"][0]["samplers"][channel["sampler"]]["interpolation"] == "STEP"
    points = read.array(read.primitives("O1")[0]["attributes"]["POSITION"])
    np.testing.assert_allclose(points.max(axis=0), points.max(), rtol=1e-6)
    tip = points[np.argmax(points[:, 0])]  # the x axis is red
    colours = read.array(read.primitives("O1")[0]["attributes"]["COLOR_0"])
    np.testing.assert_allclose(colours[np.argmax(points[:, 0])], linear_colour("#d1383d"), rtol=1e-6)
    assert abs(tip[1]) < 1e-3 * tip[0]


def test_springs_end_where_they_are_fixed(parts: Scene, read: Glb) -> None:
    spring = parts.springs[0]
    ends = read.placed("spring", [[0.0, 0.0, 0.0], [0.0, 0.0, spring.length]])
    np.testing.assert_allclose(ends[:, 0], spring.starts, atol=1e-6)
    np.testing.assert_allclose(ends[:, 1], spring.ends, atol=1e-6)
    assert np.ptp(read.placed("bush", [[0.0, 0.0, 1.0]])[:, 0] - parts.springs[1].starts) < 1e-6


def test_a_path_is_on_its_solid(parts: Scene, read: Glb) -> None:
    points = read.array(read.primitives("path")[0]["attributes"]["POSITION"]).reshape(-1, 8, 3)
    np.testing.assert_allclose(points.mean(axis=1), parts.paths[0].points, atol=1e-6)


def test_arrows_have_the_length_of_their_forces(parts: Scene, read: Glb) -> None:
    """An arrow no longer than its head is hidden."""
    vector = parts.forces[0].newtons / parts.scale[0]
    shown = read.course("force on egg", "scale")[:, 0] == 1.0
    assert shown.any() and not shown.all() and np.array_equal(shown, read.course("force push", "scale")[:, 0])
    lengths = np.linalg.norm(vector, axis=1)
    assert lengths[shown].min() > lengths[~shown].max()
    tip = read.course("head", "translation")
    np.testing.assert_allclose(tip[:, 2], lengths, rtol=1e-6, atol=1e-9)
    tips = np.stack([read.placed("force on egg", tip[k : k + 1])[k, 0] for k in np.flatnonzero(shown)])
    np.testing.assert_allclose(tips, (parts.forces[0].points + vector)[shown], atol=1e-6)
    starts = read.course("force push", "translation")
    np.testing.assert_allclose(starts, parts.forces[1].points - vector, atol=1e-6)
    # The shaft ends inside of the head.
    shaft = read.course("shaft", "scale")[shown, 2]
    height = -read.array(read.primitives("head")[0]["attributes"]["POSITION"])[:, 2].min()
    assert ((shaft < lengths[shown]) & (shaft > lengths[shown] - height)).all()


def test_a_carried_frame_does_not_turn_about_its_axis() -> None:
    """Parallel transport around a circle of latitude turns a frame by the solid angle above it, 2 pi (1 - cos a)."""
    turn, a = np.linspace(0.0, 2.0 * np.pi, 2001), 0.4
    z = np.stack([np.sin(a) * np.cos(turn), np.sin(a) * np.sin(turn), np.full_like(turn, np.cos(a))], axis=1)
    H = carried_poses(3.0 * z, 2.0 * z)
    np.testing.assert_allclose(H[:, :3, 2], z, atol=1e-15)
    np.testing.assert_allclose(H[:, :3, 3], 2.0 * z)
    x, y = H[0, :3, 0], H[0, :3, 1]
    angle = np.arctan2(H[-1, :3, 0] @ y, H[-1, :3, 0] @ x)
    assert angle == pytest.approx(2.0 * np.pi * (1.0 - np.cos(a)), rel=1e-5)
    rest = carried_poses(np.array([[0.0, 0, 0], [0.0, 2.0, 0], [0, 0, 0], [0, -2.0, 0.0]]), np.zeros((4, 3)))
    np.testing.assert_allclose(rest[:, :3, 2], [[0, 1, 0], [0, 1, 0], [0, 1, 0], [0, -1, 0]], atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(rest[:, :3, :3]), 1.0)


def test_animation_takes_the_requested_time(parts: Scene) -> None:
    assert Glb.of(scene_bytes(parts, 10.0)).times()[-1] == 10.0
    for seconds in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ModelError, match=r"E680 .*\n.*\n?.*try: seconds=10\.0"):
            scene_bytes(parts, seconds)


def test_times_that_are_one_in_32_bits_keep_their_last_sample(parts: Scene) -> None:
    t = T.copy()
    t[20] = t[21] - 1e-12
    read = Glb.of(scene_bytes(replace(parts, t=t)))
    read.check()
    np.testing.assert_array_equal(read.times(), np.delete(t - 2.0, 20).astype(np.float32))
    np.testing.assert_array_equal(
        read.course("crate", "translation"), np.delete(parts.solids[1].poses[:, :3, 3], 20, axis=0).astype(np.float32)
    )


def test_a_scene_of_one_moment_stands_still(parts: Scene) -> None:
    read = Glb.of(scene_bytes(parts.at_times([3.0])))
    read.check()
    assert "animations" not in read.document
    assert read.node("crate")["translation"] == [0.5, 0.0, 0.0]


@pytest.mark.parametrize("count", [0xFFFF - 1, 0xFFFF])
def test_indices_are_as_wide_as_they_must_be(count: int) -> None:
    points, draft = np.random.default_rng(0).normal(size=(count, 3)), GltfDraft(T)
    made = draft.mesh("dots", Mesh(points, points, np.array([[0, 1, count - 1]])), draft.material("grey", (0.5, 0.5, 0.5)))
    read = Glb.of(draft.binary({"name": "dots"}, draft.node("dots", mesh=made)))
    read.check()
    index = read.array(read.primitives("dots")[0]["indices"])
    assert index.dtype == (np.uint16 if count < 0xFFFF else np.uint32) and index.tolist() == [0, 1, count - 1]


def test_invalid_scenes_are_refused(parts: Scene, tmp_path: Path) -> None:
    far = replace(parts.solids[1], poses=unrotated_poses(np.linspace(0.0, 1e39, 41)[:, None] * [1.0, 0.0, 0.0]), framed=False)
    cases: list[tuple[str, Any, str]] = [
        (
            'E681 "crate" has values that are not finite as 32-bit',
            replace(parts, solids=(far,), paths=(), up=np.array([0, 0, 1.0])),
            "a.glb",
        ),
        ("E160", Scene("nothing", T), "a.glb"),
        ("E579", Graph("g").add(Se("source", 1.0)), "a.glb"),
    ]
    for message, shown, name in cases:
        with pytest.raises(ModelError, match=message):
            save_scene(shown, tmp_path / name)
    with pytest.raises(FileError, match="E415"):
        save_scene(parts, tmp_path / "a.gltf")
    assert not list(tmp_path.iterdir())
