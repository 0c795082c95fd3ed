"""Pictures of a delta robot in motion: still, film and poster, with title, legend and the names of the frames. Needs pyvista."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from models.delta.pictures.scene import DeltaStage
from models.delta.studies.pick_and_place import Tracking, plot_tracking
from models.delta.studies.run import DeltaRun
from models.pictures.camera import Camera
from models.pictures.figures import save_image
from models.pictures.movies import pace, write_images
from models.pictures.overlay import Label, draw_heading, draw_labels, draw_legend
from models.pictures.scene import picture
from models.pictures.style import PATHS


def still(
    run: DeltaRun,
    path: str | os.PathLike[str],
    t: float,
    *,
    title: str = "Delta robot",
    size: tuple[int, int] = (1600, 1200),
    **options: Any,
) -> None:
    """Write the picture of a run at a time (s) as PNG; options as of `DeltaStage`."""
    with DeltaStage(run, (2 * size[0], 2 * size[1]), **options) as stage:
        save_image(dressed(stage, t, size, title, stage.camera(insets(size, 2.0))), path)


def insets(size: tuple[int, int], larger: float = 1.0) -> tuple[int, int, int, int]:
    """Room for words at the sides of a picture, in pixels of a window so many times larger."""
    scale = larger * size[1] / 720
    return round(40 * scale), round(56 * scale), round(40 * scale), round(36 * scale)


def dressed(stage: DeltaStage, t: float, size: tuple[int, int], title: str, camera: Camera, lines: tuple[str, ...] = ()) -> Any:
    """The stage at a time (s) with title, legend and the names of the frames, as a Pillow image of a size."""
    k = stage.show(t, camera)
    image = picture(stage.image(), size)
    scale = size[1] / 720
    taken = [draw_heading(image, title, [f"t = {stage.run.t[k]:.3f} s", *lines], (28 * scale, 26 * scale), scale)]
    entries = [(PATHS[0], "way of the gripper")]
    if stage.cut:
        entries.append(("#2a9d8a", "workspace at x₁ = 0; the brighter, the more dexterous"))
    taken.append(draw_legend(image, entries, None, (30 * scale, size[1] - 30 * scale), scale))
    labels = []
    for name, index, H in zip(("0", "A", "A", "A", "T"), ("", "1", "2", "3", ""), stage.frames(k), strict=True):
        ends = camera.pixels(np.vstack([H[:3, 3], H[:3, 3] + stage.triad * H[:3, :3].T]), size)
        away = -np.sum(ends[1:] - ends[0], axis=0)
        labels.append(Label(name, index, (float(ends[0, 0]), float(ends[0, 1])), (float(away[0]), float(away[1]))))
    if stage.triads:
        draw_labels(image, labels, np.zeros((0, 2)), taken, scale, steady=True)
    return image


def film(
    tracking: Tracking,
    path: str | os.PathLike[str],
    *,
    seconds: float | None = None,
    fps: int = 30,
    size: tuple[int, int] = (1280, 720),
    title: str = "Delta robot: pick and place",
    progress: bool | None = None,
    **options: Any,
) -> Path:
    """Write a movie of a motion under control, with the tool's error; by default in real time.

    Parameters
    ----------
    path, fps, size, progress : as of `models.pictures.movies`: GIF where there is no ffmpeg.
    seconds : length of the movie, s.
    options : as of `DeltaStage`.
    """
    run = tracking.run
    length = float(run.t[-1] - run.t[0])
    seconds = length if seconds is None else seconds
    away = 1e3 * np.linalg.norm(tracking.error, axis=1)

    def images(count: int, fps: int, size: tuple[int, int]) -> Iterator[Any]:
        # A quarter more pixels each way, averaged: the cheapest smooth edges in software rendering.
        with DeltaStage(run, (5 * size[0] // 4, 5 * size[1] // 4), **options) as stage:
            camera = stage.camera(insets(size, 1.25))
            for t in np.linspace(run.t[0], run.t[-1], count):
                off = away[int(np.argmin(np.abs(run.t - t)))]
                yield dressed(stage, float(t), size, title, camera, (pace(length / seconds), f"tool {off:.2f} mm off its motion"))

    return write_images(path, images, seconds, fps, size, progress)


def poster(
    tracking: Tracking,
    path: str | os.PathLike[str],
    t: float | None = None,
    *,
    title: str = "Delta robot: pick and place",
    **options: Any,
) -> None:
    """Write one composed picture as PNG, 2400 by 2400 pixels: the robot at a time (s), and below it how well it follows."""
    from PIL import Image

    run = tracking.run
    t = float(run.t[int(0.36 * (len(run.t) - 1))]) if t is None else t
    size, foot = (2400, 1560), 840
    page = Image.new("RGB", (size[0], size[1] + foot), "#ffffff")
    with DeltaStage(run, (2 * size[0], 2 * size[1]), background=("#ffffff", "#ffffff"), **options) as stage:
        page.paste(dressed(stage, t, size, title, stage.camera(insets(size, 2.0))), (0, 0))
    plot = BytesIO()
    plot_tracking(tracking, plot, title="", dpi=240, size=(size[0] / 240, foot / 240), mark=t)
    plot.seek(0)
    page.paste(Image.open(plot).convert("RGB"), (0, size[1]))
    save_image(page, path)
