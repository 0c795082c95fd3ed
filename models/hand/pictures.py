"""Pictures of a hand's run: figures 6 and 7 of Visser 2002, grasp over time, 3-D scene, movie and page."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.hand.graph import GRASP, OBJECT, TIP, Hand, finger_name
from screwbond.models.hand.run import HandRun, Study, rotation_vectors
from screwbond.models.hand.scenarios import HandParameters
from screwbond.models.pictures import (
    Curve,
    EventMark,
    Frame,
    Look,
    Panel,
    Scene,
    Solid,
    movie,
    page,
    plots,
    save_scene,
    scene_of,
    still,
)
from screwbond.models.pictures.from_results.contacts import balance_panels
from screwbond.models.pictures.from_results.links import link_poses
from screwbond.models.pictures.interpolation import Array, poses, unrotated_poses
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.pictures.scene import Camera
from screwbond.models.pictures.shapes.meshes import Mesh, along, cylinder, globe, joined
from screwbond.models.pictures.stage.posters import annotate, camera_of, to_image
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.style import AMBER, AXES, BLUE, PATHS, font, save_image
from screwbond.models.studies.tasks import Picture, plot

from bondgraph.output.plot_style import CYCLE, INK, MUTED, PAPER

LINK, JOINT, PALM = "#ccd4df", "#98a5b8", "#eef1f5"
VIEW, UP = np.array([0.30, -0.88, 0.34]), np.array([0.0, 0.0, 1.0])
FRAMES = {"reference": (1.25, 0.6), "virtual": (1.0, 0.9), "object": (0.75, 1.2)}
"""Relative length and thickness of the axes of each frame of the trajectory."""

NAMES = {"reference": "reference", "virtual": "virtual object", "object": "object"}


def hand_scene(run: HandRun, finger: int = 0) -> Scene:
    parameters, arrays = run.hand.parameters, run.trajectory
    tips = {f"{finger_name(i)}.{TIP}": f"tip {i}" for i in range(parameters.fingers)}
    colours = {OBJECT: AMBER, **dict.fromkeys(tips, BLUE)}
    base_scene = scene_of(run.result, run.title, names={OBJECT: "object", **tips}, colours=colours)
    (object_index,) = {contact.solids[1] for contact in base_scene.contacts}
    solids = [replace(solid, called="the tips", ghosts=None) for solid in base_scene.solids[: parameters.fingers + 1]]
    solids[object_index] = replace(solids[object_index], called="the object", ghosts=run.time_of_loss())
    contacts = tuple(replace(contact, pushing=True, show_gap=False, mark=None) for contact in base_scene.contacts)
    gaps, forces, *coordinates = base_scene.panels[: 2 + parameters.fingers]
    ledger = run.result.ledger
    energies = {"stored": ledger.stored, "dissipated": ledger.dissipated + ledger.lost, "minus supplied": -ledger.supplied}
    end = display_end(run)
    scene = replace(
        base_scene,
        solids=(*solids, *palm_and_links(parameters, skeleton(parameters, arrays["joints"]))),
        contacts=contacts,
        # The controller's springs join coincident frames, and would hide them.
        springs=(),
        frames=(*_frames(run), *_finger_numbers(run)),
        panels=(gaps, forces, coordinates[finger], *balance_panels(energies, None)),
        event_marks=hand_event_marks(run),
        name="",
        size=0.75 * solids[object_index].size,
        view=VIEW,
        up=UP,
        slow_motion=_loss_interval(run, end),
    )
    return scene.at_times(scene.t[scene.t <= end])


def skeleton(parameters: HandParameters, joints: Array) -> Array:
    """Return the positions (k, n, 5, 3) of bases, joints 2 to 4 and tip centres for joint angles (k, n, 4), m."""
    fingers = [link_poses(Hand(parameters).chain(i), joints[:, i])[..., :3, 3] for i in range(parameters.fingers)]
    ends = np.transpose(fingers, (2, 0, 1, 3))
    return np.concatenate([np.broadcast_to(parameters.bases[:, None], (*ends.shape[:2], 1, 3)), ends], axis=2)


def palm_and_links(parameters: HandParameters, positions: Array) -> list[Solid]:
    identity_poses = unrotated_poses(np.zeros((len(positions), 3)))
    radius = parameters.link_radius
    palm = cylinder(parameters.base_radius + 2.6 * radius, -0.009, -0.003, 96).painted(PALM)
    bases = [cylinder(1.5 * radius, -0.0035, 0.0005, 40).at(*base).painted(JOINT) for base in parameters.bases]
    solids = [Solid("palm", identity_poses, joined(palm, *bases), look=Look.OPAQUE)]
    for j, length in enumerate(parameters.link_lengths):
        link = _link(radius, length, knuckle=j > 0, cap=j == 3)
        for i in range(parameters.fingers):
            start, end = positions[:, i, j], positions[:, i, j + 1]
            solids.append(Solid(f"link {j + 1} of finger {i}", along(end - start, start), link, look=Look.OPAQUE))
    return solids


def _link(radius: float, length: float, knuckle: bool, cap: bool) -> Mesh:
    parts = [cylinder(radius, 0.0, length, 40).painted(LINK)]
    if knuckle:
        parts.append(globe(1.25 * radius).painted(JOINT))
    if cap:
        parts.append(globe(radius, length).painted(LINK))
    return joined(*parts)


def _frames(run: HandRun) -> list[Frame]:
    frames = []
    for name, (length, thickness) in FRAMES.items():
        rows = run.trajectory[name]
        label = ("", "") if name == "object" else (NAMES[name], "")
        frames.append(Frame(poses(rows[:, 4:], rows[:, :4]), 1.87 * length, 1.2 * thickness, label))
    return frames


def _finger_numbers(run: HandRun) -> list[Frame]:
    count, bases = len(run.result.t), run.hand.parameters.bases
    return [Frame(unrotated_poses(np.tile(base, (count, 1))), 0.0, label=(str(i), "")) for i, base in enumerate(bases)]


def hand_event_marks(run: HandRun) -> tuple[EventMark, ...]:
    marks = []
    for event in run.events():
        where, colour = ("", AXES[0]) if event["where"] == GRASP else (f", {event['where']},", MUTED)
        marks.append(EventMark(event["time"], f"{event['kind']}{where} at {event['time']:.3f} s", event["internal"], colour))
    return tuple(marks)


def display_end(run: HandRun) -> float:
    lost, arrays = run.time_of_loss(), run.trajectory
    if lost is None:
        return float(arrays["t"][-1])
    first = int(np.searchsorted(arrays["t"], lost))
    distance = np.linalg.norm(arrays["object"][:, 4:] - arrays["object"][min(first, len(arrays["t"]) - 1), 4:], axis=1)
    size = float(np.ptp(run.hand.parameters.surface.grid(17, 17).reshape(-1, 3), axis=0).max())
    beyond = np.flatnonzero((distance > 1.5 * size) & (arrays["t"] > lost))
    return float(arrays["t"][beyond[0] if len(beyond) else -1])


def _loss_interval(run: HandRun, end: float) -> tuple[tuple[float, float], ...]:
    lost = run.time_of_loss()
    return () if lost is None else ((max(0.0, min(lost, end) - (end - lost) - 0.1), end),)


LINE_STYLES = {"reference": (INK, 1), "virtual": (PATHS[1], 0), "object": (PATHS[0], 0)}


def figure7(run: HandRun, path: str | os.PathLike[str], dpi: int = 160) -> None:
    shown = run.trajectory["t"] <= _end_time(run)
    arrays = {name: run.trajectory[name][shown] for name in NAMES}
    positions = {name: rows[:, 4:] for name, rows in arrays.items()}
    turns = {name: rotation_vectors(rows) for name, rows in arrays.items()}
    panels = []
    for title, unit, values, threshold in (
        ("$@$", "m", positions, 1e-3 * _largest_range(positions)),
        ("rotation about $@$", "rad", turns, 1e-3),
    ):
        for i, axis in enumerate("xyz"):
            components = {name: columns[:, i] for name, columns in values.items()}
            if _largest_range(components) > threshold:
                curves = tuple(Curve(NAMES[name], component, *LINE_STYLES[name]) for name, component in components.items())
                panels.append(Panel(title.replace("@", axis), unit, curves))
    _write_panels(run, path, dpi, run.title, run.trajectory["t"][shown], panels)


def _largest_range(series: dict[str, Array]) -> float:
    return max(float(np.ptp(values, axis=0).max()) for values in series.values())


def grasp_plot(run: HandRun, grasp: Study, path: str | os.PathLike[str], dpi: int = 160) -> None:
    shown, normal = grasp.t <= _end_time(run), run.trajectory["normal"][np.isin(run.trajectory["t"], grasp.t)]
    friction_curves, mu = _finger_curves(grasp.required[shown]), run.hand.parameters.friction
    if mu is not None:
        friction_curves += (Curve(rf"$\mu = {mu:g}$", np.full(len(friction_curves[0].values), mu), AXES[0]),)
    values = grasp.manipulability[shown].T
    singular = tuple(Curve(f"σ{chr(0x2081 + i)}", course, CYCLE[i % len(CYCLE)]) for i, course in enumerate(values))
    panels = [
        Panel("normal force", "N", _finger_curves(np.where(normal > 0.0, normal, np.nan)[shown])),
        Panel("tangential /\nnormal force", "", friction_curves),
        Panel("internal force", "N", (Curve("", grasp.internal[shown], INK),)),
        Panel("singular values", "", singular, log=True),
        Panel("finger\nextension", "", _finger_curves(grasp.extension[shown])),
        Panel("path on the\nobject", "m", _finger_curves(grasp.path2[shown])),
    ]
    _write_panels(run, path, dpi, "Grasp: " + run.title[:1].lower() + run.title[1:], grasp.t[shown], panels)


def _finger_curves(values: Array) -> tuple[Curve, ...]:
    return tuple(Curve(f"finger {i}", column, CYCLE[i % len(CYCLE)], dashed=i % 3) for i, column in enumerate(values.T))


def _write_panels(run: HandRun, path: str | os.PathLike[str], dpi: int, title: str, t: Array, panels: list[Panel]) -> None:
    plots(Scene(title, t, panels=tuple(panels), event_marks=hand_event_marks(run)), path, dpi)


def _end_time(run: HandRun) -> float:
    lost, end = run.time_of_loss(), float(run.result.t[-1])
    return end if lost is None else min(end, lost + 0.01 * end)


def pictures_of(run: HandRun, grasp: Study) -> dict[str, Picture]:
    end = display_end(run)
    seconds = float(np.clip(end, 6.0, 12.0))

    @cache
    def scene() -> Scene:
        # Plot the contact that needs the most friction.
        return hand_scene(run, int(np.argmax(np.max(np.nan_to_num(grasp.required, nan=-1.0), axis=0))))

    loss_picture = {"lost.png": Picture(lambda path: still(scene(), path, end, size=(1280, 960)), rendering_problem, 3.0)}
    return {
        "page.html": Picture(lambda path: page(scene(), path, seconds=seconds)),
        "scene.glb": Picture(lambda path: save_scene(scene(), path, seconds=seconds)),
        "figure7.png": plot(lambda path: figure7(run, path)),
        "grasp.png": plot(lambda path: grasp_plot(run, grasp, path)),
        "figure6.png": Picture(lambda path: figure6(run, path), rendering_problem, 5.0),
        **(loss_picture if run.time_of_loss() is not None else {}),
        "movie.mp4": Picture(
            lambda path, progress: movie(scene(), path, seconds=9.0, fps=24, progress=progress), rendering_problem, 40.0, bar=True
        ),
    }


def figure6(run: HandRun, path: Path, t: float | None = None, size: tuple[int, int] = (1760, 992)) -> None:
    """Draw the hand, and a close-up with the frames of reference, virtual object and object, at a time (s): by default at the
    end, or shortly before the object is lost."""
    from PIL import Image

    lost = run.time_of_loss()
    time = (float(run.result.t[-1]) if lost is None else 0.9 * lost) if t is None else t
    left = (round(0.56 * size[0]), size[1])
    right = (size[0] - left[0], size[1])
    image = Image.new("RGB", size, PAPER)
    scale = size[1] / 900
    scene = hand_scene(run)
    frames = [replace(frame, label=("", "")) for frame in scene.frames[: len(FRAMES)]]
    scene = replace(scene, frames=tuple(frames))
    with Stage(scene, (2 * left[0], 2 * left[1]), ghosts=0) as stage:
        camera = camera_of(stage, [time], left, (24, 88, 24, 104))
        now = stage.show(time, camera)
        left_image = to_image(stage.image(), left)
        annotate(left_image, stage, now, camera, scale, [f"t = {time:.2f} s"])
    close_up = replace(scene, solids=tuple(solid for solid in scene.solids if solid.look is Look.GLASS))
    with Stage(close_up, (2 * right[0], 2 * right[1]), ghosts=0) as stage:
        camera = camera_of(stage, [time], right, (8, 32, 152, 32))
        now = stage.show(time, camera)
        right_image = to_image(stage.image(), right)
        _name_frames(right_image, stage, now, camera, scale)
    image.paste(left_image, (0, 0))
    image.paste(right_image, (left[0], 0))
    save_image(image, path)


def _name_frames(image: Any, stage: Stage, now: Scene, camera: Camera, scale: float) -> None:
    from PIL import ImageDraw

    draw, text = ImageDraw.Draw(image), font(round(19 * scale))
    ends = [
        camera.pixels([f.poses[0, :3, 3] + stage.axis * f.length * f.poses[0, :3, axis] for f in now.frames], image.size)
        for axis in (0, 2)
    ]
    # Choose the axes whose tips are farther apart in the picture.
    tips = max(ends, key=lambda pixels: min(float(np.linalg.norm(pixels[a] - pixels[b])) for a, b in ((0, 1), (1, 2), (0, 2))))
    x = image.size[0] - 175 * scale
    rows = float(np.mean(tips[:, 1])) + scale * np.array([-85.0, -35.0, 15.0])
    for row, index in zip(rows, np.argsort(tips[:, 1]), strict=True):
        name = list(NAMES.values())[index]
        draw.line([tuple(tips[index]), (x - 8 * scale, row)], fill=INK, width=max(1, round(1.2 * scale)))
        draw.text((x, row), name, font=text, fill=INK, anchor="lm", stroke_width=round(3 * scale), stroke_fill=PAPER)
