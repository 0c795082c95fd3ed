"""Pictures of a hand's run: figures 6 and 7 of Visser 2002, the loss of the object, grasp over time, movie and page."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.hand.pictures.scene import FRAMES, NAMES, display_end, hand_event_marks, hand_scene
from screwbond.models.hand.studies.course import Study
from screwbond.models.hand.studies.run import HandRun, rotation_vectors
from screwbond.models.pictures import Curve, Look, Panel, Scene, movie, page, plots, still
from screwbond.models.pictures.camera import Camera
from screwbond.models.pictures.figures import save_image
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.stage.stills import annotate, camera_of, to_image
from screwbond.models.pictures.style import AXES, PAPER, PATHS, font
from screwbond.models.studies.artefacts import Picture, plot

from bondgraph.output.plot_style import CYCLE, INK

LINE_STYLES = {"reference": (INK, 1), "virtual": (PATHS[1], 0), "object": (PATHS[0], 0)}
"""Colour and dash pattern of each frame of the trajectory."""


def figure7(run: HandRun, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Plot positions of reference, virtual object and object, and their rotations if there are any."""
    shown = run.trajectory["t"] <= _end_time(run)
    arrays = {name: run.trajectory[name][shown] for name in NAMES}
    positions = {name: rows[:, 4:] for name, rows in arrays.items()}
    turns = {name: rotation_vectors(rows) for name, rows in arrays.items()}
    panels = []
    for title, unit, values, threshold in (
        ("$@$", "m", positions, 1e-3 * _largest_range(positions)),
        ("turn about $@$", "rad", turns, 1e-3),
    ):
        for i, axis in enumerate("xyz"):
            components = {name: columns[:, i] for name, columns in values.items()}
            if _largest_range(components) > threshold:
                curves = tuple(Curve(NAMES[name], component, *LINE_STYLES[name]) for name, component in components.items())
                panels.append(Panel(title.replace("@", axis), unit, curves))
    _write_panels(run, path, dpi, run.title, run.trajectory["t"][shown], panels)


def _largest_range(series: dict[str, Array]) -> float:
    """Return the largest range of any of these series (k, ...)."""
    return max(float(np.ptp(values, axis=0).max()) for values in series.values())


def grasp_plot(run: HandRun, grasp: Study, path: str | os.PathLike[str], dpi: int = 160) -> None:
    """Plot normal forces, friction used and allowed, internal force, manipulability, stretch and contact paths."""
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
        Panel("stretch of\nfingers", "", _finger_curves(grasp.extension[shown])),
        Panel("path on the\nobject", "m", _finger_curves(grasp.path2[shown])),
    ]
    _write_panels(run, path, dpi, "Grasp: " + run.title[:1].lower() + run.title[1:], grasp.t[shown], panels)


def _finger_curves(values: Array) -> tuple[Curve, ...]:
    """Return a curve for each finger, from values (k, n)."""
    return tuple(Curve(f"finger {i}", column, CYCLE[i % len(CYCLE)], dashed=i % 3) for i, column in enumerate(values.T))


def _write_panels(run: HandRun, path: str | os.PathLike[str], dpi: int, title: str, t: Array, panels: list[Panel]) -> None:
    plots(Scene(title, t, panels=tuple(panels), event_marks=hand_event_marks(run)), path, dpi)


def _end_time(run: HandRun) -> float:
    """Return the end of the plots, s: shortly after a loss, since the object then flies on for ever."""
    lost, end = run.time_of_loss(), float(run.result.t[-1])
    return end if lost is None else min(end, lost + 0.01 * end)


def pictures_of(run: HandRun, grasp: Study) -> dict[str, Picture]:
    """Return page.html, figure7.png, grasp.png, figure6.png, movie.mp4, and lost.png if the object is lost."""
    end = display_end(run)

    @cache
    def scene() -> Scene:
        # Plot the contact that needs most friction.
        return hand_scene(run, int(np.argmax(np.max(np.nan_to_num(grasp.required, nan=-1.0), axis=0))))

    def film(path: Path, progress: bool) -> None:
        movie(scene(), path, seconds=9.0, fps=24, progress=progress)

    loss_picture = {"lost.png": Picture(lambda path: still(scene(), path, end, size=(1280, 960)), rendering_problem, 3.0)}
    return {
        "page.html": Picture(lambda path: page(scene(), path, seconds=float(np.clip(end, 6.0, 12.0)))),
        "figure7.png": plot(lambda path: figure7(run, path)),
        "grasp.png": plot(lambda path: grasp_plot(run, grasp, path)),
        "figure6.png": Picture(lambda path: figure6(run, path), rendering_problem, 5.0),
        **(loss_picture if run.time_of_loss() is not None else {}),
        "movie.mp4": Picture(film, rendering_problem, 40.0, bar=True),
    }


def figure6(run: HandRun, path: Path, t: float | None = None, size: tuple[int, int] = (1760, 992)) -> None:
    """Draw hand and close-up with the frames of reference, virtual object and object at a time (s), by default the end."""
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
    """Write the names of the three frames in a column on the right, with lines to the tips of their x or z axes."""
    from PIL import ImageDraw

    draw, text = ImageDraw.Draw(image), font(round(19 * scale))
    ends = [
        camera.pixels([f.poses[0, :3, 3] + stage.axis * f.length * f.poses[0, :3, axis] for f in now.frames], image.size)
        for axis in (0, 2)
    ]
    # Take the axes whose tips lie farther apart in the picture.
    tips = max(ends, key=lambda pixels: min(float(np.linalg.norm(pixels[a] - pixels[b])) for a, b in ((0, 1), (1, 2), (0, 2))))
    x = image.size[0] - 175 * scale
    rows = float(np.mean(tips[:, 1])) + scale * np.array([-85.0, -35.0, 15.0])
    for row, index in zip(rows, np.argsort(tips[:, 1]), strict=True):
        name = list(NAMES.values())[index]
        draw.line([tuple(tips[index]), (x - 8 * scale, row)], fill=INK, width=max(1, round(1.2 * scale)))
        draw.text((x, row), name, font=text, fill=INK, anchor="lm", stroke_width=round(3 * scale), stroke_fill=PAPER)
