"""Pictures of a hand's run: figures 6 and 7 of Visser 2002, the loss of the object, grasp over time, movie and page."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.hand.pictures.plots import figure7, grasp_plot
from screwbond.models.hand.pictures.scene import FRAMES, NAMES, display_end, hand_scene
from screwbond.models.hand.studies.course import Study
from screwbond.models.hand.studies.run import HandRun
from screwbond.models.pictures import Look, Scene, movie, page, still
from screwbond.models.pictures.camera import Camera
from screwbond.models.pictures.figures import save_image
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.pictures.stage.stage import Stage
from screwbond.models.pictures.stage.stills import annotate, camera_of, to_image
from screwbond.models.pictures.style import INK, PAPER, font
from screwbond.models.studies.artefacts import Picture, plot


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
