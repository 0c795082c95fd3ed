"""Runs written as logs, read by the formats' own readers, have the contents of the result."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models.pictures import Scene, Solid, save_log, scene_of

from bondgraph import Graph, I, ModelError, Se, simulate
from bondgraph.errors import ExtraError, FileError
from tests.inner.models_pictures import LoggedSignal, cuboid, log_of, unrotated_poses, write_mcap
from tests.inner.run import Result

SIGNALS = ("box 1.inertia.energy", "box 1.pose", "box 1.inertia.inertia")


def mcap_of(path: Path) -> tuple[dict[str, list[tuple[int, Any]]], dict[str, Any], dict[str, str]]:
    """Return the messages by topic with their times in ns, the channels by topic, and the metadata."""
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_protobuf.decoder").DecoderFactory()
    messages: dict[str, list[tuple[int, Any]]] = {}
    with path.open("rb") as file:
        opened = reader.make_reader(file, decoder_factories=[decoder])
        channels = {channel.topic: channel for channel in opened.get_summary().channels.values()}
        (about,) = [record.metadata for record in opened.iter_metadata()]
        for _, channel, message in opened.iter_messages():
            decode = json.loads if channel.message_encoding == "json" else decoder.decoder_for("protobuf", _)
            messages.setdefault(channel.topic, []).append((message.log_time, decode(message.data)))
    return messages, channels, about


def test_mcap_has_the_numbers_of_the_result(tumbling: Result, tmp_path: Path) -> None:
    pytest.importorskip("foxglove")
    messages, channels, about = mcap_of(save_log(tumbling, tmp_path / "run.mcap", signals=SIGNALS))
    ticks = np.rint(1e9 * tumbling.t).astype(np.int64).tolist()
    assert about == {"model": "tumbling box"}
    assert set(messages) == {"/tf", "/scene", *(f"/signals/{name}" for name in SIGNALS)}
    for name in SIGNALS:
        times, values = zip(*messages[f"/signals/{name}"], strict=True)
        wanted = np.broadcast_to(tumbling[name], (len(ticks), *tumbling.program.layout[name].shape))
        assert list(times) == ticks and np.array_equal([value["value"] for value in values], wanted)
    assert channels["/signals/box 1.inertia.energy"].metadata == {"unit": "J"}
    times, found = zip(*messages["/tf"], strict=True)
    assert list(times) == ticks and [one.transforms[0].timestamp.ToNanoseconds() for one in found] == ticks
    (names,) = {tuple((one.parent_frame_id, one.child_frame_id) for one in entry.transforms) for entry in found}
    assert names == (("world", "box 1"),)
    p = np.array([[getattr(one.transforms[0].translation, axis) for axis in "xyz"] for one in found])
    q = np.array([[getattr(one.transforms[0].rotation, axis) for axis in "wxyz"] for one in found])
    pose = tumbling["box 1.pose"]
    assert np.array_equal(p, pose[:, 4:])
    unit = pose[:, :4] / np.linalg.norm(pose[:, :4], axis=1)[:, None]
    np.testing.assert_allclose(q, np.sign(q[0] @ unit[0]) * unit, atol=1e-14)
    ((start, update),) = messages["/scene"]
    (entity,) = update.entities
    mesh: Any = scene_of(tumbling).mesh(0)
    (triangles,) = entity.triangles
    assert (start, entity.frame_id, entity.frame_locked) == (0, "box 1", True)
    assert np.array_equal([[one.x, one.y, one.z] for one in triangles.points], mesh.points)
    assert np.array_equal(triangles.indices, mesh.faces.ravel())


def test_rerun_has_the_numbers_of_the_result(tumbling: Result, tmp_path: Path) -> None:
    chunk = pytest.importorskip("rerun.chunk")
    scene = scene_of(tumbling)
    scene = replace(scene, up=np.array([0.0, -1.0, 0.0]), solids=(replace(scene.solids[0], name="box 1/a"),))
    path = save_log(scene, tmp_path / "run.rrd", signals=SIGNALS[:2])
    static: dict[str, dict[str, Any]] = {}
    moving: dict[str, dict[str, Any]] = {}
    for part in chunk.RrdReader(path).stream():
        batch = part.to_record_batch()
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns = {name: (values.cast("int64") if name == "time" else values).to_pylist() for name, values in columns.items()}
        (static if part.is_static else moving).setdefault(part.entity_path, {}).update(columns)
    energy, pose, box = (f"/{name}" for name in (r"signals/box\ 1.inertia.energy", r"signals/box\ 1.pose", r"world/box\ 1\/a"))
    assert set(moving) == {energy, pose, box}
    for columns in moving.values():
        assert columns["time"] == np.rint(1e9 * tumbling.t).tolist()
    assert np.array_equal(np.ravel(moving[energy]["Scalars:scalars"]), tumbling[SIGNALS[0]])
    assert np.array_equal(moving[pose]["Scalars:scalars"], tumbling["box 1.pose"])
    assert static[energy]["SeriesLines:names"] == [["box 1.inertia.energy, J"]]
    assert static[pose]["SeriesLines:names"][0][3] == "box 1.pose[3]"
    p, q = (np.array(moving[box][f"Transform3D:{name}"])[:, 0] for name in ("translation", "quaternion"))
    wanted = tumbling["box 1.pose"]
    assert np.array_equal(p.astype(np.float32), wanted[:, 4:].astype(np.float32))
    unit = wanted[:, [1, 2, 3, 0]] / np.linalg.norm(wanted[:, :4], axis=1)[:, None]
    np.testing.assert_allclose(q, np.sign(q[0] @ unit[0]) * unit, atol=1.2e-7)
    points = static[box]["Mesh3D:vertex_positions"][0]
    assert np.array_equal(np.float32(points), scene.mesh(0).points.astype(np.float32))
    assert json.loads(static["/about"]["TextDocument:text"][0][0]) == {"model": "tumbling box"}
    assert static["/world"]["ViewCoordinates:xyz"] == [[[3, 2, 5]]]  # right, down, forward or back


def test_values_that_are_not_finite_are_null_in_json(tumbling: Result, tmp_path: Path) -> None:
    pytest.importorskip("foxglove")
    log = log_of(scene_of(tumbling).at_times([0.5, 1.5]), ())
    rows = np.array([[1.0, np.nan], [-np.inf, 2.0]])
    odd = LoggedSignal("odd", "", rows)
    write_mcap(tmp_path / "run.mcap", replace(log, signals=(odd,), signal_times=np.array([7, 10**9])))
    messages, _, _ = mcap_of(tmp_path / "run.mcap")
    assert messages["/signals/odd"] == [(7, {"value": [1.0, None]}), (10**9, {"value": [None, 2.0]})]
    assert [tick for tick, _ in messages["/tf"]] == [5 * 10**8, 15 * 10**8]


def test_frames_have_names_of_their_own_and_meshes_their_colours(tmp_path: Path) -> None:
    pytest.importorskip("foxglove")
    poses = unrotated_poses(np.zeros((2, 3)))
    painted = cuboid([1.0, 1.0, 1.0]).painted("#ff0000")
    solids = tuple(Solid(name, poses, painted) for name in ("box", "box", "box 2", "", "world"))
    log = log_of(Scene("boxes", np.array([0.0, 1.0]), solids), None)
    assert log.signals == () and log.about == {"model": "boxes"}
    write_mcap(tmp_path / "run.mcap", log)
    ((_, update),) = mcap_of(tmp_path / "run.mcap")[0]["/scene"]
    assert [entity.id for entity in update.entities] == ["box", "box 2", "box 2 2", "body", "world 2"]
    for entity in update.entities:
        assert {(one.r, one.g, one.b, one.a) for one in entity.triangles[0].colors} == {(1.0, 0.0, 0.0, 1.0)}
        assert len(entity.triangles[0].colors) == len(painted.points)


def test_signals_are_by_default_those_that_characterise_the_run() -> None:
    """The default signal of a coil is its current; a scene with fewer samples keeps the result's signals."""
    graph = Graph("coil")
    graph.connect(Se("battery", 2.0, domain="electrical"), I("coil", inductance=0.5))
    scene = scene_of(simulate(graph, 1.0, samples=0.25, progress=False))
    log = log_of(scene.at_times([0.5]), None)
    assert log.times.tolist() == [5 * 10**8] and log.frames == ()
    assert [(signal.name, signal.unit) for signal in log.signals] == [("coil.flow", "A")]
    np.testing.assert_allclose(log.signals[0].values, 4e-9 * log.signal_times, rtol=1e-12)
    assert log_of(scene, ["coil.effort"]).signals[0].values.tolist() == [2.0] * 5


@pytest.mark.parametrize("times", [(0.0, 1.4e-9, 1.6e-9, 1.9e-9), (-1.0, 0.0), (0.0, 1e10)])
def test_times_that_whole_ns_cannot_tell_are_refused(times: tuple[float, ...]) -> None:
    solid = Solid("box", unrotated_poses(np.zeros((len(times), 3))), cuboid([1.0, 1.0, 1.0]))
    with pytest.raises(ModelError, match=r"E682 a log cannot have these times\n.*whole ns from 0 s to 292 years"):
        log_of(Scene("box", np.array(times), (solid,)), None)


def test_the_way_out_of_times_that_are_too_close() -> None:
    graph = Graph("coil")
    graph.connect(Se("battery", 2.0, domain="electrical"), I("coil", inductance=0.5))
    scene = scene_of(simulate(graph, 1.0, samples=np.array([0.0, 1e-10, 0.5, 1.0]), progress=False))
    scene = replace(scene, solids=(Solid("coil", unrotated_poses(np.zeros((4, 3))), cuboid([1.0, 1.0, 1.0])),))
    for signals in ((), ("coil.flow",)):
        with pytest.raises(ModelError, match=r"E682(.*\n)*.*scene_of\(result\)\.at_times\(times\) with signals=\(\)"):
            log_of(scene, signals)
    assert log_of(scene.at_times([0.0, 0.5, 1.0]), ()).times.tolist() == [0, 5 * 10**8, 10**9]


def test_unsupported_logs_are_refused(tumbling: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scene_of(tumbling)
    with pytest.raises(ModelError, match=r'E683 "box 1.posse" is not a quantity of the run(.*\n)*.*result\.names'):
        log_of(scene, ["box 1.posse"])
    with pytest.raises(ModelError, match=r'E683 "box 1.pose" is not a quantity(.*\n)*.*save_log\(result'):
        log_of(replace(scene, result=None), ["box 1.pose"])
    with pytest.raises(ModelError, match="E160"):
        log_of(Scene("nothing", np.array([0.0])), None)
    with pytest.raises(FileError, match="E415"):
        save_log(tumbling, tmp_path / "run.bag")
    monkeypatch.setitem(sys.modules, "foxglove", None)
    with pytest.raises(ExtraError, match=r'E416(.*\n)*.*pip install "screwbond\[mcap\]"'):
        save_log(tumbling, tmp_path / "run.mcap")
    monkeypatch.setitem(sys.modules, "foxglove", object())
    with pytest.raises(ModelError, match="E579"):
        save_log(Graph("g").add(Se("source", 1.0)), tmp_path / "run.mcap")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
