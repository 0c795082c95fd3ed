"""Log of a run for robotics tools: poses of bodies as frames, their meshes, and signals over time, in MCAP or rerun files."""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.contacts.trajectory import time_series
from screwbond.models.pictures.from_results.scenes import as_scene
from screwbond.models.pictures.interpolation import Array, quaternions
from screwbond.models.pictures.parts import Frame, Solid
from screwbond.models.pictures.scene import Scene, upward
from screwbond.models.pictures.shapes.meshes import Mesh
from screwbond.models.pictures.style import rgb
from screwbond.models.pictures.web.quantities import characteristic_quantities

from bondgraph.errors import refusal
from bondgraph.output.extras import require_package
from bondgraph.output.files import atomic_file, known_ending, nonfinite_to_null
from bondgraph.output.tables import labels_of
from bondgraph.run.results.result import Result

WORLD = "world"

GREY = "#9aa3b2"


@dataclass(frozen=True, eq=False)
class LoggedFrame:
    """Moving frame, with the mesh that it carries, if any.

    `p`, `q` : positions (k, 3), m, and quaternions (k, 4), x, y, z, w, with continuous signs.
    """

    name: str
    p: Array
    q: Array
    mesh: Mesh | None = None
    colour: str = GREY


@dataclass(frozen=True, eq=False)
class LoggedSignal:
    name: str
    unit: str
    values: Array


@dataclass(frozen=True, eq=False)
class Log:
    """Contents of a log.

    Attributes
    ----------
    about : metadata of the run, by name: its model, and why it failed, if it did.
    times, signal_times : times of frames and of signals (k,), whole ns.
    up : upward direction (3,).
    """

    about: Mapping[str, str]
    times: NDArray[np.int64]
    frames: tuple[LoggedFrame, ...]
    signal_times: NDArray[np.int64]
    signals: tuple[LoggedSignal, ...]
    up: Array


def save_log(shown: Result | Scene, path: str | os.PathLike[str], *, signals: Sequence[str] | None = None) -> Path:
    """Write the frames of all bodies, their meshes and some signals of a run as a log for Foxglove, PlotJuggler, ROS or rerun.

    Parameters
    ----------
    shown : the result of a run, or a scene; a scene with fewer samples has fewer poses, but signals keep all samples.
    path : ends in ".mcap", which needs foxglove-sdk, or in ".rrd", which needs rerun-sdk.
    signals : names of quantities, of any shape; by default up to four characteristic quantities of the run.

    Both formats count time in whole ns. In MCAP, frames are `foxglove.FrameTransforms` messages on "/tf", meshes are one
    `foxglove.SceneUpdate` on "/scene", and a signal is JSON, {"value": ...}, on "/signals/NAME", with its unit in the metadata of
    its channel. In rerun, bodies are the entities world/NAME, and signals are signals/NAME.

    Returns the file written. Raises `ModelError` E160 for a run with neither frames nor signals, E579 for anything but a result
    or a scene, E682 for times that cannot be counted in whole ns, E683 for signals that the run does not have; `FileError` E414,
    E415; `ExtraError` E416 without the format's package.
    """
    package, write = LOGS[known_ending(path, *LOGS)]
    require_package(f"a log {Path(path).suffix}", package)
    contents = log_of(as_scene(shown), signals)
    with atomic_file(path) as part:
        write(part, contents)
    return Path(path)


def log_of(scene: Scene, signals: Sequence[str] | None) -> Log:
    result = scene.result
    names = (characteristic_quantities(result) if result is not None else ()) if signals is None else signals
    for name in names:
        if result is None or name not in result:
            cures = ("names of `result.names()`",) if result is not None else ("save_log(result, ...)", "signals=()")
            raise refusal("E683", f'"{name}" is not a quantity of the run, so it cannot be logged', *cures, about=scene.title)
    frames = logged_frames(scene)
    scene.need("frames or signals", frames, tuple(names))
    logged = (
        ()
        if result is None
        else tuple(LoggedSignal(name, result.program.layout.unit(name), time_series(result, name)) for name in names)
    )
    about = {"model": scene.title} | ({"run": scene.name} if scene.name else {})
    if result is not None and result.failure is not None:
        about["not ok"] = str(result.failure)
    sampled = result.t if result is not None and names else scene.t
    return Log(about, nanoseconds(scene.t, scene), frames, nanoseconds(sampled, scene), logged, upward(scene))


def nanoseconds(t: Array, scene: Scene) -> NDArray[np.int64]:
    ticks = np.rint(1e9 * t)
    if np.any(np.diff(ticks) <= 0.0) or not (ticks[0] >= 0.0 and ticks[-1] < 2.0**63):
        span = f"from {t[0]:g} to {t[-1]:g} s, with steps down to {np.diff(t).min(initial=np.inf):g} s"
        why = f"the samples run {span}; a log counts whole ns from 0 s to 292 years"
        cures = ("samples in these bounds: scene_of(result).at_times(times) with signals=()", 'simulate(..., sink="run.parquet")')
        raise refusal("E682", "a log cannot have these times", *cures, about=scene.title, why=why)
    return ticks.astype(np.int64)


def logged_frames(scene: Scene) -> tuple[LoggedFrame, ...]:
    taken, frames = {WORLD}, []

    def add(name: str, part: Solid | Frame, mesh: Mesh | None = None, colour: str = GREY) -> None:
        count, free = 1, name
        while free in taken:
            count += 1
            free = f"{name} {count}"
        taken.add(free)
        frames.append(LoggedFrame(free, part.poses[:, :3, 3], np.roll(quaternions(part.poses), -1, axis=1), mesh, colour))

    for k, solid in enumerate(scene.solids):
        add(solid.name or "body", solid, scene.mesh(k, 41, 61), solid.colour)
    for frame in scene.all_frames:
        # The solid already stands for the frame of its body.
        if frame.length > 0.0 and not any(np.array_equal(frame.poses, solid.poses) for solid in scene.solids):
            add("".join(frame.label) or "frame", frame)
    return tuple(frames)


def write_mcap(path: Path, log: Log) -> None:
    import foxglove
    from foxglove.channels import FrameTransformsChannel, SceneUpdateChannel
    from foxglove.messages import SceneUpdate

    context = foxglove.Context()
    with foxglove.open_mcap(path, context=context) as writer:
        writer.write_metadata("screwbond", dict(log.about))
        if log.frames:
            entities = [_entity(frame) for frame in log.frames if frame.mesh is not None and len(frame.mesh.faces)]
            start = int(log.times[0])
            SceneUpdateChannel("/scene", context=context).log(SceneUpdate(entities=entities), log_time=start)
        streams = [_transforms(FrameTransformsChannel("/tf", context=context), log)] if log.frames else []
        for signal in log.signals:
            kind: dict[str, Any] = {"type": "number"}
            for _ in signal.values.shape[1:]:
                kind = {"type": "array", "items": kind}
            schema = {"type": "object", "title": signal.name, "properties": {"value": kind}}
            about = {"unit": signal.unit}
            channel = foxglove.Channel(f"/signals/{signal.name}", schema=schema, metadata=about, context=context)
            streams.append(_values(channel, log.signal_times, signal))
        for tick, channel, message in heapq.merge(*streams, key=lambda entry: entry[0]):
            channel.log(message, log_time=tick)


Messages = Iterator[tuple[int, Any, Any]]


def _transforms(channel: Any, log: Log) -> Messages:
    from foxglove.messages import FrameTransform, FrameTransforms, Quaternion, Timestamp, Vector3

    tracks = [(frame.name, frame.p.tolist(), frame.q.tolist()) for frame in log.frames]
    for k, tick in enumerate(log.times.tolist()):
        now = Timestamp(sec=tick // 10**9, nsec=tick % 10**9)
        placed = [
            FrameTransform(
                timestamp=now,
                parent_frame_id=WORLD,
                child_frame_id=name,
                translation=Vector3(**dict(zip("xyz", p[k], strict=True))),
                rotation=Quaternion(**dict(zip("xyzw", q[k], strict=True))),
            )
            for name, p, q in tracks
        ]
        yield tick, channel, FrameTransforms(transforms=placed)


def _values(channel: Any, times: NDArray[np.int64], signal: LoggedSignal) -> Messages:
    for tick, value in zip(times.tolist(), signal.values.tolist(), strict=True):
        yield tick, channel, {"value": nonfinite_to_null(value)}


def _entity(frame: LoggedFrame) -> Any:
    from foxglove.messages import Color, Point3, SceneEntity, TriangleListPrimitive

    assert frame.mesh is not None
    shades = np.array([rgb(frame.colour)]) / 255.0 if frame.mesh.colours is None else frame.mesh.colours
    colours = [Color(r=red, g=green, b=blue, a=1.0) for red, green, blue in shades.tolist()]
    shape = TriangleListPrimitive(
        points=[Point3(x=x, y=y, z=z) for x, y, z in frame.mesh.points.tolist()],
        indices=frame.mesh.faces.ravel().tolist(),
        color=colours[0],
        colors=None if frame.mesh.colours is None else colours,
    )
    return SceneEntity(frame_id=frame.name, id=frame.name, frame_locked=True, triangles=[shape])


def write_rrd(path: Path, log: Log) -> None:
    import rerun

    recording = rerun.RecordingStream("screwbond")
    recording.save(path)
    recording.send_recording_name(log.about["model"])
    recording.log("about", rerun.TextDocument(json.dumps(dict(log.about), ensure_ascii=False)), static=True)
    axis = int(np.argmax(np.abs(log.up)))
    if abs(log.up[axis]) > 1.0 - 1e-9:
        view = f"RIGHT_HAND_{'XYZ'[axis]}_{'UP' if log.up[axis] > 0.0 else 'DOWN'}"
        recording.log(WORLD, getattr(rerun.ViewCoordinates, view), static=True)
    times = rerun.TimeColumn("time", duration=log.times.astype("timedelta64[ns]"))
    for frame in log.frames:
        entity = rerun.new_entity_path([WORLD, frame.name])
        if frame.mesh is not None and len(frame.mesh.faces):
            recording.log(entity, _mesh(rerun, frame), static=True)
        recording.send_columns(entity, [times], rerun.Transform3D.columns(translation=frame.p, quaternion=frame.q))
    times = rerun.TimeColumn("time", duration=log.signal_times.astype("timedelta64[ns]"))
    for signal in log.signals:
        entity, rows = rerun.new_entity_path(["signals", signal.name]), signal.values.reshape(len(log.signal_times), -1)
        shape = signal.values.shape[1:]
        labels = labels_of(signal.name, shape) if shape or not signal.unit else [f"{signal.name}, {signal.unit}"]
        recording.log(entity, rerun.SeriesLines(names=labels), static=True)
        columns = rerun.Scalars.columns(scalars=rows.ravel()).partition(lengths=[rows.shape[1]] * len(rows))
        recording.send_columns(entity, [times], columns)
    recording.flush()
    recording.disconnect()


def _mesh(rerun: Any, frame: LoggedFrame) -> Any:
    assert frame.mesh is not None
    painted = frame.mesh.colours is not None
    look = (
        {"vertex_colors": np.rint(255.0 * np.asarray(frame.mesh.colours)).astype(np.uint8)}
        if painted
        else {"albedo_factor": rgb(frame.colour)}
    )
    return rerun.Mesh3D(
        vertex_positions=frame.mesh.points, triangle_indices=frame.mesh.faces, vertex_normals=frame.mesh.normals, **look
    )


LOGS: Mapping[str, tuple[str, Callable[[Path, Log], None]]] = {".mcap": ("foxglove", write_mcap), ".rrd": ("rerun", write_rrd)}
